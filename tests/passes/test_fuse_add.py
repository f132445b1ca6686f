"""fuse-add: which additions go or join, exactly and relaxed, and each reason for not doing it."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto

from tests.passes.outcome import BOUND, Outcome, outcome
from tests.text import Array, model

F32 = np.float32
ORDER = "float addition may round differently in another order; only with --math relaxed"


def fused(source: ModelProto, **options: Any) -> Outcome:
    return outcome("fuse-add", source, **options)


def nodes(result: Outcome) -> str:
    """The text of the nodes alone."""
    return "\n".join(result.text.splitlines()[len(result.after.graph.initializer) :])


def constant(result: Outcome, name: str) -> Array:
    """The values of an initializer."""
    return onnx.numpy_helper.to_array(next(item for item in result.after.graph.initializer if item.name == name))


def type_name(dtype: Any) -> str:
    return TensorProto.DataType.Name(onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))).lower()


def zero_model(values: Array, *, declared: str = "[2,3]", result: str = "[N,M]", opset: int = 17) -> ModelProto:
    """`s = a + z`, read by an Identity that makes the graph's output."""
    name = type_name(values.dtype)
    graph = f"g ({name}{declared} a) => ({name}{result} y) {{ s = Add(a, z)\n y = Identity(s) }}"
    return model(graph, opset=opset, constants={"z": values})


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.uint64])
@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3), (1, 1)])
def test_an_integer_zero_goes(dtype: Any, shape: tuple[int, ...]) -> None:
    result = fused(zero_model(np.zeros(shape, dtype)))
    assert nodes(result) == "y = Identity(a)"


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_negative_zero_goes_and_positive_zero_only_relaxed(dtype: Any) -> None:
    negative, positive = zero_model(np.array(-0.0, dtype)), zero_model(np.array(0.0, dtype))
    assert nodes(fused(negative)) == "y = Identity(a)"
    result = fused(positive)
    assert (result.changes, result.reasons) == (0, ["x + 0.0 is not x for x = -0.0; only with --math relaxed"])
    assert [decline.relaxed_gain for decline in result.declines] == [1]
    assert nodes(fused(positive, math="relaxed")) == "y = Identity(a)"


def test_zeros_of_both_signs_are_not_negative_zero() -> None:
    mixed = zero_model(np.array([-0.0, 0.0, -0.0], F32))
    assert fused(mixed).changes == 0
    assert fused(mixed, math="relaxed").changes in (0, 1)


def test_the_zero_may_be_the_first_operand() -> None:
    source = model("g (int64[2] a) => (int64[2] y) <int64 z = {0}> { s = Add(z, a)\n y = Neg(s) }")
    assert nodes(fused(source)) == "y = Neg(a)"


def test_the_result_takes_the_place_of_the_operand() -> None:
    source = model(
        "g (int64[2] a) => (int64[2] y, int64[2] w) <int64 z = {0}> { n = Neg(a)\n w = Abs(n)\n y = Add(n, z) }"
    )
    assert nodes(fused(source)) == "y = Neg(a)\nw = Abs(y)"


def test_declarations_of_what_is_renamed_or_gone_go() -> None:
    source = model("""
        g (int64[2] a) => (int64[2] y, int64[2] w) <int64 z = {0}, int64[2] n, int64[2] m, int64[2] b> {
            n = Neg(a)
            y = Add(n, z)
            m = Add(y, z)
            b = Abs(m)
            w = Neg(b)
        }""")
    result = fused(source)
    assert nodes(result) == "y = Neg(a)\nb = Abs(y)\nw = Neg(b)"
    assert [info.name for info in result.after.graph.value_info] == ["b"]


@pytest.mark.parametrize(
    ("values", "declared"),
    [
        (np.zeros(2, np.int64), "[1]"),
        (np.zeros(2, np.int64), "[N]"),
        (np.zeros((1, 2), np.int64), "[2]"),
        (np.zeros((1, 1, 1), np.int64), "[2,2]"),
        (np.zeros((1,), np.int64), ""),
    ],
)
def test_declines_where_the_zero_may_widen_the_result(values: Array, declared: str) -> None:
    dims = ",".join(f"N{axis}" for axis in range(max(values.ndim, declared.count(",") + bool(declared))))
    result = fused(zero_model(values, declared=declared, result=f"[{dims}]"))
    assert result.changes == 0
    assert result.reasons == [f"'z' is zero but its shape {list(values.shape)} may widen the result"]


def test_an_empty_constant_is_not_zero() -> None:
    assert fused(zero_model(np.zeros((0, 1), np.int64), declared="[1,1]")).changes == 0


def test_declines_a_zero_before_operator_set_7() -> None:
    source = model("g (int64[2] a) => (int64[2] y) <int64[2] z = {0, 0}> { s = Add(a, z)\n y = Cast<to = 7>(s) }",
                   opset=6, ir_version=4)  # fmt: skip
    result = fused(source)
    assert (result.changes, result.reasons) == (0, ["Add before operator set 7 broadcasts by attributes"])


@pytest.mark.parametrize(
    ("keep", "training", "reason"),
    [
        (["z"], False, "'z' is to be kept"),
        (["s"], False, "it is to be kept"),
        ([], True, f"'z' {BOUND}"),
    ],
)
def test_declines_a_zero_that_may_change(keep: list[str], training: bool, reason: str) -> None:
    source = zero_model(np.zeros((), np.int64))
    if training:
        binding = source.training_info.add().update_binding.add()
        binding.key, binding.value = "z", "new z"
    result = fused(source, keep=keep)
    assert result.changes == 0
    assert set(result.reasons) == {reason}


def test_declines_a_zero_that_the_caller_may_override() -> None:
    source = model("g (int64 a, int64 z) => (int64 y) <int64 z = {0}> { s = Add(a, z)\n y = Neg(s) }")
    reason = "'z' is a graph input with a default value, which the caller may override"
    assert set(fused(source).reasons) == {reason}
    source.ir_version = 3
    assert nodes(fused(source)) == "y = Neg(a)"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("y = Add(a, z)\n n = Neg(a)", "'y' is a graph output and 'a' is not made by a node beside it"),
        ("n = Neg(a)\n y = Add(n, z)", "'y' and 'n' are both graph outputs"),
    ],
)
def test_declines_a_result_that_cannot_be_renamed(body: str, reason: str) -> None:
    source = model(f"g (int64 a) => (int64 y, int64 n) <int64 z = {{0}}> {{ {body} }}")
    result = fused(source)
    assert (result.changes, result.reasons) == (0, [reason])


CHAINS = [
    ("p = Add(a, k)\n y = Add(p, l)", "y = Add(a, y_constant)"),
    ("p = Add(k, a)\n y = Add(l, p)", "y = Add(y_constant, a)"),
    ("p = Add(a, k)\n q = Add(p, b)\n y = Add(q, l)", "q_new = Add(a, b)\ny = Add(q_new, y_constant)"),
    ("p = Add(a, k)\n q = Add(b, l)\n y = Add(p, q)", "p_new = Add(a, p_constant)\ny = Add(p_new, b)"),
    ("p = Add(a, k)\n q = Add(p, l)\n y = Add(q, m)", "y = Add(a, y_constant)"),
    ("p = Add(a, k)\n q = Add(b, l)\n r = Add(m, p)\n y = Add(r, q)", "r_new = Add(r_constant, a)\ny = Add(r_new, b)"),
]


@pytest.mark.parametrize(("body", "expected"), CHAINS)
@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.float32, np.float16])
def test_chains(body: str, expected: str, dtype: Any) -> None:
    name = type_name(dtype)
    values = {key: np.array([value], dtype) for key, value in zip("klm", (200, 100, 50), strict=True)}
    source = model(f"g ({name}[N] a, {name}[N] b) => ({name}[N] y) {{ {body} }}", constants=values)
    is_float = np.dtype(dtype).kind == "f"
    result = fused(source, math="relaxed" if is_float else "exact")
    assert nodes(result) == expected
    (added,) = (item for item in result.after.graph.initializer if item.name.endswith("_constant"))
    total = sum((values[key] for key in "klm" if f" {key}" in body.replace("(", " ")), np.zeros(1, dtype))
    np.testing.assert_array_equal(onnx.numpy_helper.to_array(added), total)
    if is_float:
        exact = fused(source)
        assert (exact.changes, exact.reasons) == (0, [ORDER])


def test_constants_of_other_shapes_join_where_that_is_not_larger() -> None:
    source = model(
        "g (int64[N,M] a) => (int64[N,M] y) { p = Add(a, k)\n q = Add(p, l)\n y = Add(q, m) }",
        constants={"k": np.array(1), "l": np.array([[1, 2, 3]]), "m": np.array([[1], [2], [3]])},
    )
    result = fused(source)
    assert nodes(result) == "q_new = Add(a, l)\ny = Add(q_new, y_constant)"
    assert result.reasons == ["constants of shapes [3, 1] and [1, 3] would be larger merged than they are apart"]


def test_one_constant_read_twice_is_added_twice() -> None:
    source = model("g (int64 a) => (int64 y) <int64 k = {5}> { p = Add(a, k)\n y = Add(p, k) }")
    result = fused(source)
    assert nodes(result) == "y = Add(a, y_constant)"
    assert constant(result, "y_constant").tolist() == 10


def test_constants_are_added_as_often_as_they_are_read() -> None:
    source = model("""
        g (int64 a) => (int64 y) <int64 k = {5}, int64 l = {100}> {
            p = Add(a, k)
            q = Add(p, l)
            y = Add(q, k)
        }""")
    result = fused(source)
    if result.changes:
        assert constant(result, result.after.graph.node[-1].input[1]).tolist() == 110
    else:
        assert result.reasons == ["'k' is added twice"]


def test_two_uses_of_a_sum_are_two_sums() -> None:
    source = model(
        "g (int64 a) => (int64 y) <int64 k = {5}, int64 l = {1}> { p = Add(a, k)\n q = Add(p, p)\n y = Add(q, l) }"
    )
    result = fused(source)
    assert (result.changes, result.reasons) == (0, ["'p' has 2 uses"])


@pytest.mark.parametrize(
    ("head", "more", "keep", "reason"),
    [
        ("(int64[N] y, int64[N] p)", "", [], "'p' is a graph output"),
        ("(int64[N] y, int64[N] w)", "w = Neg(p)", [], "'p' has 2 uses"),
        ("(int64[N] y)", "", ["p"], "'p' is to be kept"),
    ],
)
def test_declines_an_inner_sum_that_is_needed(head: str, more: str, keep: list[str], reason: str) -> None:
    source = model(
        f"g (int64[N] a) => {head} <int64 k = {{1}}, int64 l = {{2}}> {{ p = Add(a, k)\n y = Add(p, l)\n {more} }}"
    )
    result = fused(source, keep=keep)
    assert (result.changes, [found for found in result.reasons if found != "it is to be kept"]) == (0, [reason])


def test_declines_an_inner_sum_of_another_graph() -> None:
    source = model("""
        g (bool c, int64[N] a) => (int64[N] y) <int64 k = {1}, int64 l = {2}> {
            p = Add(a, k)
            y = If (c) <
                then_branch = t () => (int64[N] q) { q = Add(p, l) },
                else_branch = e () => (int64[N] r) { r = Neg(a) }
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
    source = model("g (int64 a) => (int64 y) <int64 k = {1}, int64 l = {2}> { p = Add(a, k)\n y = Add(p, l) }")
    if training:
        binding = source.training_info.add().update_binding.add()
        binding.key, binding.value = "k", "new k"
    result = fused(source, keep=keep)
    assert result.changes == 0
    assert set(result.reasons) == {reason}


def test_one_constant_that_may_change_does_not_stop_the_others() -> None:
    source = model(
        """
        g (int64 a) => (int64 y) <int64 k = {1}, int64 l = {2}, int64 m = {4}> {
            p = Add(a, k)
            q = Add(p, l)
            y = Add(q, m)
        }"""
    )
    result = fused(source, keep=["k"])
    assert nodes(result) == "p = Add(a, k)\ny = Add(p, y_constant)"


def test_declines_merging_what_is_used_elsewhere_and_large() -> None:
    source = model(
        """
        g (int32[4] a) => (int32[4] y, int32[4] v, int32[4] w) {
            p = Add(a, k)
            y = Add(p, l)
            v = Neg(k)
            w = Neg(l)
        }""",
        constants={"k": np.full(4, 1, np.int32), "l": np.full(4, 2, np.int32)},
    )
    result = fused(source, max_growth_bytes=15)
    assert result.changes == 0
    assert result.reasons == [
        "merging constants: the file would grow by 16 bytes, more than 15; --max-growth allows more"
    ]
    assert fused(source, max_growth_bytes=16).changes == 1


def test_declines_a_sum_of_constants_that_overflows() -> None:
    source = model(
        "g (float a) => (float y) { p = Add(a, k)\n y = Add(p, l) }",
        constants={"k": np.array(3e38, F32), "l": np.array(1e38, F32)},
    )
    result = fused(source, math="relaxed")
    assert (result.changes, result.reasons) == (0, ["the sum of the constants overflows"])
    assert fused(source).changes == 0


def test_infinities_that_were_there_are_no_overflow() -> None:
    source = model(
        "g (float a) => (float y) { p = Add(a, k)\n y = Add(p, l) }",
        constants={"k": np.array(np.inf, F32), "l": np.array(1e38, F32)},
    )
    assert nodes(fused(source, math="relaxed")) == "y = Add(a, y_constant)"


@pytest.mark.parametrize(
    ("opset", "dtype", "reason"),
    [
        (6, np.int64, "Add before operator set 7 broadcasts by attributes"),
        (13, np.int8, "Add version 13 does not take int8 as input 0"),
        (999, np.int64, "opset 999 is unknown: the installed onnx package knows opsets up to "),
    ],
)
def test_declines_what_the_operator_does_not_take(opset: int, dtype: Any, reason: str) -> None:
    name = type_name(dtype)
    one = np.ones(1, dtype)
    source = model(
        f"g ({name}[1] a) => ({name}[1] y) {{ p = Add(a, k)\n y = Add(p, l) }}", constants={"k": one, "l": one * 2}
    )
    source.opset_import[0].version = opset
    result = fused(source, check=False)
    assert result.changes == 0
    assert [found[: len(reason)] for found in result.reasons] == [reason]


def test_malformed_nodes_stay() -> None:
    for inputs, outputs in (
        (["a"], ["m"]),
        (["a", "z", "z"], ["m"]),
        (["a", "z"], []),
        (["a", "z"], [""]),
        (["z"], []),
    ):
        source = model("g (int64 a) => (int64 y) <int64 z = {0}> { y = Neg(a) }")
        source.graph.node.add(op_type="Add", input=inputs, output=outputs)
        result = fused(source, check=False)
        assert result.changes == 0
        assert result.after.graph.node[1] == source.graph.node[1]


def test_two_results_stay_two() -> None:
    source = model("g (int64 a) => (int64 y) <int64 z = {0}> { y = Neg(n)\n }")
    source.graph.node.add(op_type="Add", input=["a", "z"], output=["m", "n"])
    result = fused(source, check=False)
    assert result.changes == 0


@pytest.mark.parametrize(
    ("consumers", "is_dropped"),
    [
        ("y = Relu(p)", False),
        ("y = Sigmoid(p)", True),
        ("q = Exp(p)\n r = Softmax(p)\n y = Add(q, r)", True),
        ("q = Exp(p)\n r = Sqrt(p)\n y = Mul(q, r)", False),
        # One or more, and a zero of whatever sign.
        ("q = Exp(p)\n r = Sqrt(p)\n y = Add(q, r)", True),
        ("y = Mul(p, x)", False),
    ],
)
def test_plus_zero_goes_where_nobody_sees_the_sign_of_a_zero(consumers: str, is_dropped: bool) -> None:
    source = model(f"g (float[3] x) => (float[3] y) <float z = {{0}}> {{ p = Add(x, z)\n {consumers} }}")
    assert outcome("fuse-add", source).changes == is_dropped
