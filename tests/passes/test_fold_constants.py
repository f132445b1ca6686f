"""fold-constants: what folds, into what, and each reason for not folding."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto

from maxfold.model import read_onnx
from maxfold.model.data import StoredData
from maxfold.model.edit import Edit
from maxfold.model.storage import ComputedSource
from maxfold.passes.fold_constants import FoldConstants
from tests.passes.outcome import BOUND, outcome
from tests.text import Array, golden, model

F32 = np.float32


def folded(source: ModelProto, **options: Any) -> str:
    result = outcome("fold-constants", source, **options)
    assert result.declines == ()
    return result.text


def declined(source: ModelProto, **options: Any) -> list[str]:
    result = outcome("fold-constants", source, **options)
    assert result.changes == 0
    return result.reasons


def two_constants(a: Array, b: Array, operator: str = "Add", *, opset: int = 17, attributes: str = "") -> ModelProto:
    """`y = operator(a, b)` of two constants, with an unrelated input."""
    element_type = TensorProto.DataType.Name(onnx.helper.np_dtype_to_tensor_dtype(a.dtype)).lower()
    dims = ",".join(f"N{axis}" for axis in range(max(a.ndim, b.ndim)))
    shape = f"[{dims}]" if dims else ""
    graph = f"g (float x) => ({element_type}{shape} y) {{ y = {operator}{attributes}(a, b) }}"
    return model(graph, opset=opset, constants={"a": a, "b": b})


def test_a_chain_folds_to_its_end() -> None:
    source = model("""
        g (float[2] x) => (float[2] z) <float[2] a = {1, 2}, float[2] b = {3, 1}, float c = {0.5}> {
            s = Add(a, b)
            m = Max(s, b)
            t = Add(m, c)
            z = Mul(t, x)
        }""")
    assert folded(source) == golden("""
        a = float[2] {1.0, 2.0}
        b = float[2] {3.0, 1.0}
        c = float {0.5}
        s = float[2] {4.0, 3.0}
        m = float[2] {4.0, 3.0}
        t = float[2] {4.5, 3.5}
        z = Mul(t, x)
        """)


def test_constant_nodes_fold_like_initializers() -> None:
    source = model("""
        g (int64 x) => (int64[2] z) {
            a = Constant<value_ints = [1, 2]>()
            b = Constant<value_int = 10>()
            s = Add(a, b)
            z = Add(s, x)
        }""")
    assert folded(source) == golden("""
        s = int64[2] {11, 12}
        a = Constant<value_ints=[1, 2]>()
        b = Constant<value_int=10>()
        z = Add(s, x)
        """)


def test_a_graph_output_may_become_constant() -> None:
    source = two_constants(np.array([1, 5], np.int64), np.array([2, 3], np.int64), "Max")
    assert folded(source).splitlines()[-1] == "y = int64[2] {2, 5}"


def test_a_folded_result_is_an_initializer_only_where_the_version_allows_it() -> None:
    source = two_constants(np.array(1, np.int64), np.array(2, np.int64))
    source.ir_version = 3
    source.graph.input.extend(onnx.helper.make_tensor_value_info(name, TensorProto.INT64, []) for name in ("a", "b"))
    assert folded(source).splitlines()[-1] == "y = Constant<value=int64 {3}>()"


@pytest.mark.parametrize(
    ("operator", "opset", "operands", "expected"),
    [
        ("Max", 8, [np.array([[1], [2]], F32), np.array([[0, 3]], F32)], [[1, 3], [2, 3]]),
        ("Max", 13, [np.array(7, np.uint64), np.zeros((0, 3), np.uint64)], np.zeros((0, 3))),
        ("Max", 6, [np.array([1, 2], F32), np.array([2, 1], F32)], [2, 2]),
        ("Add", 7, [np.ones((2, 1, 2), F32), np.ones((3, 1), F32)], np.full((2, 3, 2), 2)),
        ("Add", 14, [np.array(250, np.uint8), np.array(10, np.uint8)], 4),
    ],
)  # fmt: skip
def test_broadcasting(operator: str, opset: int, operands: list[Array], expected: Any) -> None:
    source = two_constants(operands[0], operands[1], operator, opset=opset)
    result = outcome("fold-constants", source).after
    value = onnx.numpy_helper.to_array(result.graph.initializer[-1])
    np.testing.assert_array_equal(value, np.array(expected, value.dtype))
    assert result.graph.initializer[-1].name == "y"
    assert value.shape == np.shape(expected)


def test_legacy_attributes_decide_the_alignment() -> None:
    a, b = np.zeros((2, 2), F32), np.array([1, 2], F32)
    legacy = two_constants(a, b, opset=6, attributes="<broadcast = 1, axis = 0>")
    assert folded(legacy).splitlines()[-1] == "y = float[2,2] {1.0, 1.0, 2.0, 2.0}"
    suffix = two_constants(a, b, opset=6, attributes="<broadcast = 1>")
    assert folded(suffix).splitlines()[-1] == "y = float[2,2] {1.0, 2.0, 1.0, 2.0}"


def test_one_operand_of_max_is_enough() -> None:
    source = model("g (float x) => (float y) <float a = {3}> { y = Max(a) }")
    assert folded(source).splitlines()[-1] == "y = float {3.0}"


def test_a_repeated_constant_is_read_once() -> None:
    source = model("g (int32 x) => (int32[1] y) <int32[1] a = {2147483647}> { y = Add(a, a) }")
    assert folded(source).splitlines()[-1] == "y = int32[1] {-2}"


def test_declarations_of_folded_results_go_and_others_stay() -> None:
    source = model("""
        g (float[2] x) => (float[2] z) <float[2] a = {1, 2}, float[2] b = {3, 1}, float[2] s, float[2] n> {
            s = Add(a, b)
            n = Neg(x)
            z = Mul(s, n)
        }""")
    result = outcome("fold-constants", source)
    assert [info.name for info in result.after.graph.value_info] == ["n"]


def test_a_node_without_constants_is_no_candidate() -> None:
    source = model("g (float x, float w) => (float y, float z) <float a = {1}> { y = Add(x, a)\n z = Max(x, w) }")
    assert declined(source) == []


def test_declines_a_default_that_the_caller_may_override() -> None:
    source = model("g (float a) => (float y) <float a = {1}, float b = {2}> { y = Add(a, b) }")
    assert declined(source) == ["'a' is a graph input with a default value, which the caller may override"]


def test_declines_what_training_changes() -> None:
    source = two_constants(np.array(1, F32), np.array(2, F32))
    binding = source.training_info.add().update_binding.add()
    binding.key, binding.value = "b", "new b"
    assert declined(source) == [f"'b' {BOUND}"]


@pytest.mark.parametrize("name", ["a", "y", "the node"])
def test_declines_what_is_to_be_kept(name: str) -> None:
    source = two_constants(np.array(1, F32), np.array(2, F32))
    source.graph.node[0].name = "the node"
    assert declined(source, keep=[name]) == ["'a' is to be kept" if name == "a" else "it is to be kept"]


def test_declines_an_element_type_that_is_not_known() -> None:
    source = model("g (float x) => (float y) { y = Add(a, b) }")
    for name in ("a", "b"):
        source.graph.initializer.add(name=name, data_type=1000, raw_data=b"1234")
    assert declined(source, check=False) == ["'a' has an element type that is not known"]


def test_declines_where_no_operator_set_is_imported() -> None:
    source = two_constants(np.array(1, F32), np.array(2, F32))
    source.opset_import[0].domain = "other"
    assert declined(source, check=False) == ["the model imports no operator set for domain ''"]


def with_opset(version: int) -> ModelProto:
    source = two_constants(np.array(1, F32), np.array(2, F32))
    source.opset_import[0].version = version
    return source


def three_inputs() -> ModelProto:
    source = two_constants(np.array(1, F32), np.array(2, F32))
    source.graph.node[0].input.append("a")
    return source


@pytest.mark.parametrize(
    ("build", "reason"),
    [
        (lambda: with_opset(0), "no kernel for Add of operator set 0"),
        (lambda: with_opset(999), "opset 999 is unknown: the installed onnx package knows opsets up to "),
        (three_inputs, "Add version 14 does not take 3 inputs"),
        (lambda: two_constants(np.array(True), np.array(False)), "Add version 14 does not take bool as input 0"),
        (lambda: two_constants(np.array(1, np.int8), np.array(2, np.int8), "Max", opset=11),
         "Max version 8 does not take int8 as input 0"),
        (lambda: two_constants(np.array(1, ml_dtypes.bfloat16), np.array(2, ml_dtypes.bfloat16), "Max", opset=12),
         "Max version 12 does not take bfloat16 as input 0"),
        (lambda: two_constants(np.array(1, F32), np.array(2, np.float64)),
         "Add version 14 takes one type, but input 0 is float and input 1 double"),
        (lambda: two_constants(np.zeros(2, F32), np.zeros(3, F32)),
         "shapes (2,) and (3,) do not broadcast: 2 meets 3 in dimension -1"),
        (lambda: two_constants(np.zeros((1, 2), F32), np.zeros(2, F32), "Max", opset=6),
         "shapes (1, 2) and (2,) differ and nothing broadcasts them"),
        (lambda: two_constants(np.zeros((2, 3), F32), np.zeros(3, F32), opset=6),
         "shapes (2, 3) and (3,) differ and nothing broadcasts them"),
        (lambda: two_constants(np.zeros(2, F32), np.zeros(2, F32), attributes="<axis = 0>"),
         "attribute axis is not one of the operator's in this opset"),
        (lambda: two_constants(np.zeros(2, F32), np.zeros(2, F32), opset=6, attributes="<broadcast = 2>"),
         "attribute broadcast is 2, neither 0 nor 1"),
        (lambda: two_constants(np.zeros(2, F32), np.zeros(2, F32), opset=6, attributes="<axis = 0.5>"),
         "attribute axis is not a known integer"),
    ],
)  # fmt: skip
def test_declines_what_the_operator_does_not_take(build: Callable[[], ModelProto], reason: str) -> None:
    (found,) = declined(build(), check=False)
    assert found.startswith(reason)


def test_declines_a_constant_that_cannot_be_decoded() -> None:
    source = two_constants(np.array(1, F32), np.array(2, F32))
    source.graph.initializer[0].segment.begin = 1
    (reason,) = declined(source, check=False)
    assert reason.startswith("tensor 'a' cannot be decoded")


def test_strings_stay() -> None:
    source = model("g (float x) => (string y) { y = Add(a, b) }")
    for name in ("a", "b"):
        source.graph.initializer.add(name=name, data_type=TensorProto.STRING, string_data=[b"text"], dims=[1])
    assert declined(source, check=False) == ["Add version 14 does not take string as input 0"]


def outer_sum(rows: int, columns: int, *, used_elsewhere: bool = False) -> ModelProto:
    source = two_constants(np.zeros((rows, 1), F32), np.zeros((1, columns), F32))
    if used_elsewhere:
        source.graph.node.add(op_type="Mul", input=["a", "x"], output=["n"])
        source.graph.output.append(onnx.helper.make_tensor_value_info("n", TensorProto.FLOAT, [rows, 1]))
    return source


@pytest.mark.parametrize(
    ("source", "limit", "growth"),
    [
        # 4 * 64 * 64 bytes, less the 2 * 4 * 64 that go.
        (outer_sum(64, 64), 16384 - 512 - 1, 16384 - 512),
        (outer_sum(64, 64, used_elsewhere=True), 16384 - 256 - 1, 16384 - 256),
        (outer_sum(1 << 20, 1 << 20), 1 << 40, (4 << 40) - (8 << 20)),
        (two_constants(np.zeros(2, F32), np.zeros(2, F32)), -9, -8),
    ],
)
def test_declines_where_the_file_would_grow(source: ModelProto, limit: int, growth: int) -> None:
    assert declined(source, max_growth_bytes=limit) == [
        f"the file would grow by {growth} bytes, more than {limit}; --max-growth allows more"
    ]
    if growth < 1 << 20:
        assert outcome("fold-constants", source, max_growth_bytes=limit + 1).changes == 1


def test_growth_is_counted_net_of_a_constant_read_twice() -> None:
    source = two_constants(np.zeros(100, F32), np.zeros(100, F32))
    source.graph.node[0].input[1] = "a"
    assert folded(source, max_growth_bytes=0).splitlines()[-1] == "y = float[100] {100 values}"


def test_what_a_graph_returns_does_not_count_as_gone() -> None:
    source = two_constants(np.zeros(100, F32), np.zeros((), F32))
    source.graph.output.append(onnx.helper.make_tensor_value_info("a", TensorProto.FLOAT, [100]))
    assert declined(source, max_growth_bytes=395) == [
        "the file would grow by 396 bytes, more than 395; --max-growth allows more"
    ]


@pytest.mark.parametrize("outputs", [[], [""], ["p", "q"]])
@pytest.mark.parametrize("operator", ["Add", "Max"])
def test_a_malformed_count_of_results_is_left_alone(operator: str, outputs: list[str]) -> None:
    source = model("g (float x) => (float y) <float a = {1}, float b = {2}> { y = Neg(x) }")
    source.graph.node.add(op_type=operator, input=["a", "b"], output=outputs)
    if "q" in outputs:
        source.graph.output.append(onnx.helper.make_tensor_value_info("q", TensorProto.FLOAT, []))
    result = outcome("fold-constants", source, check=False)
    assert result.changes == 0
    assert result.after.graph.node[1] == source.graph.node[1]


GATES = """
    g (float[1,64] x) => (float[192,64] y)
    <int64[1] a = {0}, int64[1] b = {64}, int64[1] c = {128}, int64[1] d = {192}> {
        p = Slice(w, a, b, a)
        q = Slice(w, b, c, a)
        r = Slice(w, c, d, a)
        t = Concat <axis = 0> (q, r, p)
        y = Mul(t, x)
    }"""


def test_a_weight_that_is_cut_apart_and_put_together_again() -> None:
    """No part alone may be folded, since the whole would stay beside it; all of them may."""
    weight = np.arange(192 * 64, dtype=np.float32).reshape(192, 64)
    result = outcome("fold-constants", model(GATES, constants={"w": weight}), max_growth_bytes=1024)
    assert [node.op_type for node in result.after.graph.node] == ["Mul"]
    folded = next(tensor for tensor in result.after.graph.initializer if tensor.name == "t")
    expected = np.concatenate([weight[64:128], weight[128:], weight[:64]])
    np.testing.assert_array_equal(onnx.numpy_helper.to_array(folded), expected)


@pytest.mark.parametrize(
    ("change", "options"),
    [
        (lambda text: text.replace("y = Mul(t, x)", "y = Mul(t, w)"), {}),
        (lambda text: text.replace("r = Slice(w, c, d, a)", "s = Neg(x)\n r = Gemm(w, s)"), {}),
        (lambda text: text, {"keep": ["w"]}),
    ],
)
def test_a_weight_that_stays_is_not_cut_apart(change: Callable[[str], str], options: dict[str, Any]) -> None:
    weight = np.arange(192 * 64, dtype=np.float32).reshape(192, 64)
    source = model(change(GATES), constants={"w": weight})
    assert outcome("fold-constants", source, max_growth_bytes=1024, check=False, **options).changes == 0


def test_a_stored_weight_gets_another_shape_where_it_lies(tmp_path: Path) -> None:
    source = model(
        "g (float[65536] x) => (float[65536] y) { d = Reshape(w, s)\n y = Mul(x, d) }",
        constants={"w": np.arange(65536, dtype=np.float32).reshape(64, 1024), "s": np.array([-1], np.int64)},
    )
    path = tmp_path / "m.onnx"
    onnx.save(source, path)
    loaded = read_onnx(path)
    region = next(constant for constant in loaded.constants() if constant.name == "w").data.region  # type: ignore[attr-defined]
    assert FoldConstants().run(Edit(loaded)).changes == 1
    folded = next(constant for constant in loaded.constants() if constant.name == "d")
    assert isinstance(folded.data, StoredData)
    assert folded.data.region is region
    assert folded.values.tolist() == list(range(65536))


def test_a_large_weight_is_turned_when_it_is_written() -> None:
    weight = np.arange(1 << 19, dtype=np.float32).reshape(512, 1024)
    source = model(
        "g (float[2,1024] x) => (float[2,512] y) { t = Transpose(w)\n y = MatMul(x, t) }", constants={"w": weight}
    )
    loaded = read_onnx(source.SerializeToString())
    assert FoldConstants().run(Edit(loaded)).changes == 1
    turned = next(constant for constant in loaded.constants() if constant.name == "t")
    assert isinstance(turned.data, StoredData)
    assert isinstance(turned.data.region.source, ComputedSource)
    np.testing.assert_array_equal(turned.values, weight.T, strict=True)
    after = outcome("fold-constants", source).after
    written = next(tensor for tensor in after.graph.initializer if tensor.name == "t")
    np.testing.assert_array_equal(onnx.numpy_helper.to_array(written), weight.T)


def test_a_quantized_weight_is_not_turned_while_another_reader_keeps_it() -> None:
    source = model(
        "g (float x) => (int8[A,B] y, int64[C,D] z) { y = Transpose(w)\n z = ArgMax<axis = 0>(w) }",
        constants={"w": np.zeros((400, 400), np.int8)},
    )
    assert outcome("fold-constants", source).changes == 0
