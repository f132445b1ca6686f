"""share-constants: equal means same type, shape and bytes; each reason for keeping two equal ones."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper

from tests.passes.outcome import BOUND, Outcome, outcome
from tests.text import golden, model

F32 = np.float32


def shared(source: ModelProto, **options: Any) -> Outcome:
    return outcome("share-constants", source, **options)


def reading(constants: list[TensorProto]) -> ModelProto:
    """A model with one custom node that reads every constant."""
    node = helper.make_node("Read", [tensor.name for tensor in constants], ["y"], domain="custom")
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [])
    graph = helper.make_graph([node], "g", [], [y], initializer=constants)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("custom", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def inputs(result: Outcome) -> list[str]:
    return list(result.after.graph.node[0].input)


def test_the_first_of_equal_constants_stays() -> None:
    source = model("""
        g (float[2] a) => (float[2] y) <float[2] k = {1, 2}, float[2] l = {1, 2}, float[2] m = {2, 1}> {
            p = Add(a, l)
            c = Constant<value = float[2] {2, 1}>()
            q = Mul(p, k)
            d = Constant<value_floats = [1.0, 2.0]>()
            r = Mul(q, c)
            s = Mul(r, d)
            y = Mul(s, m)
        }""")
    assert shared(source).text == golden("""
        k = float[2] {1.0, 2.0}
        m = float[2] {2.0, 1.0}
        p = Add(a, k)
        q = Mul(p, k)
        r = Mul(q, m)
        s = Mul(r, k)
        y = Mul(s, m)
        """)


def test_a_constant_node_that_stays_stands_before_all_readers() -> None:
    source = model("""
        g (float[2] a) => (float[2] y) {
            c = Constant<value = float[2] {2, 1}>()
            p = Add(a, c)
            d = Constant<value = float[2] {2, 1}>()
            q = Add(p, d)
            y = Add(q, c)
        }""")
    result = shared(source)
    assert result.changes == 1
    assert result.text.splitlines()[0] == "c = Constant<value=float[2] {2.0, 1.0}>()"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (np.array(0.0, F32), np.array(-0.0, F32)),
        (np.array([1, 2], F32), np.array([[1, 2]], F32)),
        (np.array(1, np.int32), np.array(1, np.uint32)),
        (np.array(1, np.float16), np.array(1, ml_dtypes.bfloat16)),
        (np.array([0x7FC00000], np.uint32).view(F32), np.array([0x7FC00001], np.uint32).view(F32)),
        (np.zeros((0, 2), F32), np.zeros((2, 0), F32)),
        (np.array([1, 2], np.int64), np.array([1, 3], np.int64)),
    ],
)
def test_different_bytes_types_or_shapes_stay_apart(a: Any, b: Any) -> None:
    tensors = [onnx.numpy_helper.from_array(array, name) for name, array in (("a", a), ("b", b))]
    assert shared(reading(tensors)).changes == 0


@pytest.mark.parametrize("place", ["first", "middle", "last", "between samples"])
def test_one_different_byte_in_a_large_constant_is_seen(place: str) -> None:
    a, b = np.zeros(100_000, np.uint8), np.zeros(100_000, np.uint8)
    b[{"first": 0, "middle": 50_000, "last": -1, "between samples": 77_777}[place]] = 1
    tensors = [onnx.numpy_helper.from_array(array, name) for name, array in (("a", a), ("b", b), ("c", a))]
    result = shared(reading(tensors))
    assert inputs(result) == ["a", "b", "a"]


def test_equal_values_in_other_fields_are_equal() -> None:
    typed = helper.make_tensor("a", TensorProto.FLOAT, [2], [1.0, float("nan")])
    raw = onnx.numpy_helper.from_array(np.array([1, np.nan], F32), "b")
    half = helper.make_tensor("c", TensorProto.FLOAT16, [2], [1.0, 2.0])
    half_raw = onnx.numpy_helper.from_array(np.array([1, 2], np.float16), "d")
    four = helper.make_tensor("e", TensorProto.INT4, [3], [1, -2, 3])
    four_raw = TensorProto(name="f", data_type=TensorProto.INT4, dims=[3], raw_data=b"\xe1\x03")
    result = shared(reading([typed, raw, half, half_raw, four, four_raw]))
    assert inputs(result) == ["a", "a", "c", "c", "e", "e"]


def test_strings_are_shared() -> None:
    tensors = [
        TensorProto(name=name, data_type=TensorProto.STRING, dims=[2], string_data=texts)
        for name, texts in (
            ("a", [b"x", b"yz"]),
            ("b", [b"xy", b"z"]),
            ("c", [b"x", b"yz"]),
            ("d", [b"x\x002:yz", b""]),
        )
    ]
    assert inputs(shared(reading(tensors))) == ["a", "b", "a", "d"]


def test_sparse_and_unknown_types_are_left_alone() -> None:
    values = onnx.numpy_helper.from_array(np.array([1.0], F32), "s")
    indices = onnx.numpy_helper.from_array(np.array([1], np.int64), "")
    source = reading([TensorProto(name=name, data_type=1000, raw_data=b"12") for name in "ab"])
    for name in ("s", "t"):
        sparse = helper.make_sparse_tensor(values, indices, [3])
        sparse.values.name = name
        source.graph.sparse_initializer.append(sparse)
        source.graph.node[0].input.append(name)
    assert shared(source, check=False).changes == 0


def test_constants_of_different_graphs_stay_apart() -> None:
    source = model("""
        g (bool c, float a) => (float y) <float k = {1}> {
            p = Add(a, k)
            y = If (c) <
                then_branch = t () => (float q) <float l = {1}, float m = {1}> { r = Add(p, l)
                    q = Mul(r, m) },
                else_branch = e () => (float s) <float l = {1}> { s = Mul(k, l) }
            >
        }""")
    assert shared(source).text == golden("""
        k = float {1.0}
        p = Add(a, k)
        y = If(c)
          then_branch() => q
            l = float {1.0}
            r = Add(p, l)
            q = Mul(r, l)
          else_branch() => s
            l = float {1.0}
            s = Mul(k, l)
        """)


def test_readers_in_inner_graphs_follow() -> None:
    source = model("""
        g (bool c, float a) => (float y) <float k = {1}, float l = {1}> {
            p = Add(a, k)
            y = If (c) <
                then_branch = t () => (float q) { q = Add(p, l) },
                else_branch = e () => (float s) { s = Mul(k, l) }
            >
        }""")
    assert "l" not in {item.name for item in shared(source).after.graph.initializer}


def three(**options: Any) -> ModelProto:
    return model("g (float a) => (float y) <float k = {1}, float l = {1}> { p = Add(a, k)\n y = Mul(p, l) }", **options)


@pytest.mark.parametrize("name", ["k", "l"])
def test_declines_what_is_to_be_kept(name: str) -> None:
    result = shared(three(), keep=[name])
    assert (result.changes, result.reasons) == (0, [f"{name!r} is to be kept"])


def test_declines_what_training_changes() -> None:
    source = three()
    binding = source.training_info.add().update_binding.add()
    binding.key, binding.value = "l", "new l"
    result = shared(source)
    assert (result.changes, result.reasons) == (0, [f"'l' {BOUND}"])


def test_declines_a_default_that_the_caller_may_override() -> None:
    source = three()
    source.graph.input.append(helper.make_tensor_value_info("k", TensorProto.FLOAT, []))
    result = shared(source)
    reason = "'k' is a graph input with a default value, which the caller may override"
    assert (result.changes, result.reasons) == (0, [reason])


def test_a_graph_output_stays_and_its_twins_go() -> None:
    source = three()
    source.graph.output.append(helper.make_tensor_value_info("l", TensorProto.FLOAT, []))
    assert shared(source).text == "l = float {1.0}\np = Add(a, l)\ny = Mul(p, l)"


def test_declines_two_graph_outputs() -> None:
    source = three()
    source.graph.output.extend(helper.make_tensor_value_info(name, TensorProto.FLOAT, []) for name in ("k", "l"))
    result = shared(source)
    assert (result.changes, result.reasons) == (0, ["'l' is an input or output of its graph"])


def test_declines_an_input_of_an_old_file() -> None:
    source = three(ir_version=3)
    for name in ("k", "l"):
        source.graph.input.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, []))
    result = shared(source)
    assert (result.changes, result.reasons) == (0, ["'l' is an input or output of its graph"])


def test_declines_where_an_inner_graph_hides_the_name() -> None:
    source = model("""
        g (bool c, float a) => (float y) <float k = {1}, float l = {1}> {
            p = Add(a, k)
            y = If (c) <
                then_branch = t () => (float q) { k = Neg(p)
                    q = Add(k, l) },
                else_branch = e () => (float s) { s = Mul(p, l) }
            >
        }""")
    result = shared(source, check=False)
    assert (result.changes, result.reasons) == (0, ["'k' is hidden by another tensor of that name in an inner graph"])


def test_one_that_cannot_be_shared_does_not_stop_the_others() -> None:
    source = model("""
        g (float k, float a) => (float y) <float k = {1}, float l = {1}, float m = {1}> {
            p = Add(a, k)
            q = Add(p, l)
            y = Add(q, m)
        }""")
    assert shared(source).text == golden("""
        k = float {1.0}
        l = float {1.0}
        p = Add(a, k)
        q = Add(p, l)
        y = Add(q, l)
        """)


def test_unused_twins_go_without_a_word() -> None:
    source = model("g (float a) => (float y) <float k = {1}, float l = {1}> { y = Add(a, k) }")
    result = shared(source)
    assert result.declines == ()
