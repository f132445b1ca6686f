"""fuse-max: which trees become one node, with which operands, and each reason for not doing it."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto

from tests.passes.outcome import BOUND, Outcome, outcome
from tests.text import golden, model

INF = float("inf")
F32 = np.float32


def fused(source: ModelProto, **options: Any) -> Outcome:
    return outcome("fuse-max", source, **options)


def nodes(result: Outcome) -> str:
    """The text of the nodes alone."""
    first = len(result.after.graph.initializer)
    return "\n".join(result.text.splitlines()[first:])


def constant(result: Outcome, name: str) -> Any:
    """The values of an initializer."""
    return onnx.numpy_helper.to_array(next(item for item in result.after.graph.initializer if item.name == name))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("p = Max(a, b)\n y = Max(p, c)", "y = Max(a, b, c)"),
        ("p = Max(a, b)\n y = Max(c, p)", "y = Max(c, a, b)"),
        ("p = Max(a, b)\n q = Max(c, d)\n y = Max(p, q)", "y = Max(a, b, c, d)"),
        ("p = Max(a, b)\n q = Max(p, c)\n y = Max(d, q, p2)\n p2 = Max(c, d)", "y = Max(d, a, b, c)"),
        ("p = Max(a, b, a)\n y = Max(b, p, p2)\n p2 = Max(a)", "y = Max(b, a)"),
        ("p = Max(a)\n q = Max(p)\n r = Max(q, q)\n y = Relu(r)", "y = Relu(a)"),
        ("p = Max(a, b)\n q = Neg(p)\n r = Max(q, c)\n y = Max(r, d)", "p = Max(a, b)\nq = Neg(p)\ny = Max(q, c, d)"),
        ("p = Max(a, b)\n y = Max(p, p)", "y = Max(a, b)"),
    ],
)
def test_trees(body: str, expected: str) -> None:
    head = "g (float[N] a, float[N] b, float[N] c, float[N] d) => (float[N] y)"
    source = model(f"{head} {{ {body} }}")
    if "p2 = " in body:
        source = sorted_model(source)
    assert fused(source).text == expected


def sorted_model(source: ModelProto) -> ModelProto:
    return outcome("sort-nodes", source).after


def test_constants_merge_where_the_first_stood() -> None:
    source = model("""
        g (float[N] a, float[N] b) => (float[N] y) <float[2] k = {1, 5}, float[2] l = {3, 2}> {
            p = Max(a, k)
            q = Max(p, b)
            y = Max(l, q)
        }""")
    result = fused(source)
    assert nodes(result) == "y = Max(y_constant, a, b)"
    assert constant(result, "y_constant").tolist() == [3, 5]
    assert {item.name for item in result.after.graph.initializer} == {"k", "l", "y_constant"}


def test_shapes_merge_where_that_is_not_larger() -> None:
    source = model("""
        g (float[N,M] a) => (float[N,M] y) <float k = {2}, float[1,3] l = {1, 2, 3}, float[3,1] m = {0, 9, 1}> {
            p = Max(a, k)
            q = Max(p, l)
            y = Max(q, m)
        }""")
    result = fused(source)
    assert nodes(result) == "y = Max(a, y_constant, m)"
    assert constant(result, "y_constant").tolist() == [[2, 2, 3]]


def test_constant_nodes_merge_too() -> None:
    source = model("""
        g (int32[N] a) => (int32[N] y) {
            k = Constant<value = int32[1] {4}>()
            p = Max(k, a)
            l = Constant<value = int32 {7}>()
            y = Max(p, l)
        }""")
    assert fused(source).text == golden("""
        y_constant = int32[1] {7}
        k = Constant<value=int32[1] {4}>()
        l = Constant<value=int32 {7}>()
        y = Max(y_constant, a)
        """)


def test_a_constant_read_twice_is_one_operand() -> None:
    source = model("g (float a) => (float y) <float k = {2}> { p = Max(k, a)\n y = Max(k, p) }")
    assert nodes(fused(source)) == "y = Max(k, a)"


@pytest.mark.parametrize(
    ("dtype", "lowest", "opset"),
    [
        (np.float32, -INF, 8), (np.float64, -INF, 8), (np.float16, -INF, 8), (np.int8, -128, 12),
        (np.int64, -(2**63), 12), (np.uint8, 0, 12), (np.uint64, 0, 13), (np.int32, -(2**31), 20),
    ],
)  # fmt: skip
def test_the_lowest_value_goes(dtype: Any, lowest: Any, opset: int) -> None:
    name = TensorProto.DataType.Name(onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))).lower()
    graph = f"g ({name}[2,3] a) => ({name}[2,3] y) {{ n = Max(a, k)\n y = Identity(n) }}"
    for shape in ((), (1,), (3,), (1, 3), (2, 1)):
        source = model(graph, opset=opset, constants={"k": np.full(shape, lowest, dtype)})
        assert nodes(fused(source)) == "y = Identity(a)"
    for value in (
        np.full((1, 1, 3), lowest, dtype),
        np.zeros((0,) * 0, dtype) + dtype(1),
        np.array([lowest, 1, lowest], dtype),
    ):
        source = model(
            graph.replace("[2,3] y", "[N,M] y" if value.ndim < 3 else "[N,M,K] y"), opset=opset, constants={"k": value}
        )
        assert nodes(fused(source)) == "n = Max(a, k)\ny = Identity(n)"


@pytest.mark.parametrize("declared", ["[N]", "[N,3]", "[1]", "[3]"])
def test_the_lowest_value_stays_where_it_may_widen_the_result(declared: str) -> None:
    source = model(
        f"g (float{declared} a) => (float[K,L] y) {{ n = Max(a, k)\n y = Identity(n) }}",
        constants={"k": np.full((2, 3), -INF, F32)},
    )
    assert nodes(fused(source)) == "n = Max(a, k)\ny = Identity(n)"


def test_another_operand_may_keep_the_shape() -> None:
    source = model(
        "g (float[N] a, float[2,1] b, float[1,3] c) => (float[2,3] y) { y = Max(a, k, b, c) }",
        constants={"k": np.full((2, 3), -INF, F32)},
    )
    assert nodes(fused(source)) == "y = Max(a, b, c)"


def test_neutral_constants_do_not_vouch_for_each_other() -> None:
    low = np.full((1, 3), -INF, F32)
    source = model("g (float[N] a) => (float[K,M] y) { y = Max(a, k, l) }", constants={"k": low, "l": low[:, :1]})
    result = fused(source)
    assert [len(node.input) for node in result.after.graph.node] == [2]
    assert result.after.graph.node[0].input[0] == "a"


def test_negative_infinity_in_a_part_is_not_neutral() -> None:
    values = np.array([-INF, 0], F32)
    source = model("g (float[2] a) => (float[2] y) { y = Max(a, k) }", constants={"k": values})
    assert fused(source).changes == 0


def test_an_empty_constant_is_not_neutral() -> None:
    source = model("g (float[1] a) => (float[K] y) { y = Max(a, k) }", constants={"k": np.zeros(0, F32)})
    assert fused(source).changes == 0


@pytest.mark.parametrize("opset", [1, 6])
def test_before_operator_set_8_trees_fuse_too(opset: int) -> None:
    attributes = "<consumed_inputs = [0, 0]>" if opset == 1 else ""
    source = model(
        f"g (float[2] a, float[2] b) => (float[2] y) <float[2] k = {{1, 2}}, float[2] l = {{2, 1}}> {{"
        f" p = Max{attributes}(a, k)\n q = Max(p, b)\n y = Max{attributes}(q, l) }}",
        opset=opset,
        ir_version=4,
    )
    assert nodes(fused(source)) == "y = Max(a, y_constant, b)"


def test_declarations_of_inner_results_go() -> None:
    source = model("g (float a, float b) => (float y) <float p> { p = Max(a, b)\n y = Max(p, a) }")
    assert list(fused(source).after.graph.value_info) == []


def test_a_tie_keeps_the_file_as_it_is() -> None:
    source = model("g (float a, float b) => (float y) <float k = {1}> { y = Max(a, k, b) }")
    result = fused(source)
    assert (result.changes, result.declines) == (0, ())


INNER = "g (float[N] a, float[N] b) => (float[N] y) { p = Max(a, b)\n y = Max(p, b) }"


def test_declines_an_inner_result_that_the_graph_returns() -> None:
    source = model(INNER.replace("(float[N] y)", "(float[N] y, float[N] p)"))
    result = fused(source)
    assert (result.changes, result.reasons) == (0, ["'p' is a graph output"])


def test_declines_an_inner_result_with_more_readers() -> None:
    source = model(INNER.replace("(float[N] y)", "(float[N] y, float[N] z)").replace(" }", "\n z = Neg(p) }"))
    result = fused(source)
    assert (result.changes, result.reasons) == (0, ["'p' has 2 uses"])


@pytest.mark.parametrize("name", ["p", "inner"])
def test_declines_an_inner_node_that_is_to_be_kept(name: str) -> None:
    source = model(INNER)
    source.graph.node[0].name = "inner"
    result = fused(source, keep=[name])
    assert result.changes == 0
    assert sorted(result.reasons) == ["'p' is to be kept", "it is to be kept"]


def test_declines_an_inner_result_of_another_graph() -> None:
    source = model("""
        g (bool c, float[N] a, float[N] b) => (float[N] y) {
            p = Max(a, b)
            y = If (c) <
                then_branch = t () => (float[N] q) { q = Max(p, a) },
                else_branch = e () => (float[N] r) { r = Neg(a) }
            >
        }""")
    result = fused(source)
    assert (result.changes, result.reasons) == (0, ["'p' is made in another graph"])


@pytest.mark.parametrize(
    ("keep", "training", "reason"),
    [
        (["k"], False, "'k' is to be kept"),
        ([], True, f"'k' {BOUND}"),
    ],
)
def test_declines_constants_that_may_change(keep: list[str], training: bool, reason: str) -> None:
    source = model("g (float a) => (float y) <float k = {1}, float l = {2}> { y = Max(a, k, l) }")
    if training:
        binding = source.training_info.add().update_binding.add()
        binding.key, binding.value = "k", "new k"
    result = fused(source, keep=keep)
    assert (result.changes, result.reasons) == (0, [reason])


def test_declines_a_default_that_the_caller_may_override() -> None:
    source = model("g (float a, float k) => (float y) <float k = {1}, float l = {2}> { y = Max(a, k, l) }")
    result = fused(source)
    reason = "'k' is a graph input with a default value, which the caller may override"
    assert (result.changes, result.reasons) == (0, [reason])


def test_declines_constants_that_would_be_larger_merged() -> None:
    source = model(
        "g (float[N,M] a) => (float[N,M] y) { y = Max(a, k, l) }",
        constants={"k": np.zeros((3, 1), F32), "l": np.ones((1, 3), F32)},
    )
    result = fused(source)
    assert result.changes == 0
    assert result.reasons == ["constants of shapes [3, 1] and [1, 3] would be larger merged than they are apart"]


def test_declines_merging_what_is_used_elsewhere_and_large() -> None:
    source = model(
        "g (float[4] a) => (float[4] y, float[4] z, float[4] w) { y = Max(a, k, l)\n z = Neg(k)\n w = Neg(l) }",
        constants={"k": np.zeros(4, F32), "l": np.ones(4, F32)},
    )
    result = fused(source, max_growth_bytes=15)
    assert result.changes == 0
    assert result.reasons == [
        "merging constants: the file would grow by 16 bytes, more than 15; --max-growth allows more"
    ]
    assert fused(source, max_growth_bytes=16).changes == 1


@pytest.mark.parametrize(
    ("opset", "dtype", "reason"),
    [
        (11, np.int64, "Max version 8 does not take int64 as input 0"),
        (999, np.float32, "opset 999 is unknown: the installed onnx package knows opsets up to "),
        (0, np.float32, "no kernel for Max of operator set 0"),
    ],
)
def test_declines_constants_that_the_operator_does_not_take(opset: int, dtype: Any, reason: str) -> None:
    one = np.ones(1, dtype)
    source = model("g (float x) => (float y) { y = Neg(x)\n z = Max(a, k, l) }", constants={"k": one, "l": one * 2})
    source.graph.input.append(
        onnx.helper.make_tensor_value_info("a", onnx.helper.np_dtype_to_tensor_dtype(one.dtype), [1])
    )
    source.opset_import[0].version = opset
    result = fused(source, check=False)
    assert result.changes == 0
    assert [found[: len(reason)] for found in result.reasons] == [reason]


def test_declines_a_result_that_cannot_be_renamed() -> None:
    constant_only = model("g (float a) => (float a2, float y) <float k = {1}> { a2 = Neg(a)\n y = Max(k, k) }")
    result = fused(constant_only)
    assert nodes(result) == "a2 = Neg(a)\ny = Max(k)"
    assert result.reasons == ["'y' is a graph output and 'k' a constant"]

    from_input = model("g (float a) => (float y) { y = Max(a) }")
    assert fused(from_input).reasons == ["'y' is a graph output and 'a' is not made by a node beside it"]

    twice = model("g (float a) => (float n, float y) { n = Neg(a)\n y = Max(n) }")
    assert fused(twice).reasons == ["'y' and 'n' are both graph outputs"]

    kept = model("g (float a) => (float y) { n = Neg(a)\n y = Max(n) }")
    assert fused(kept, keep=["n"]).reasons == ["'n' is to be kept"]
    assert nodes(fused(kept)) == "y = Neg(a)"


def test_no_operands_no_result_nothing_happens() -> None:
    for inputs, outputs in (([], ["m"]), (["a"], []), (["a"], [""]), (["a", "a"], ["m", "n"]), ([""], ["m"])):
        source = model("g (float a) => (float y) { y = Neg(a) }")
        source.graph.node.add(op_type="Max", input=inputs, output=outputs)
        if "n" in outputs:
            source.graph.output.append(onnx.helper.make_tensor_value_info("n", TensorProto.FLOAT, []))
        result = fused(source, check=False)
        assert result.after.graph.node[0] == source.graph.node[0]
        assert list(result.after.graph.node[1].output) == outputs
