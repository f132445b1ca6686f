"""Kernels of product.py: ONNX's node tests, older versions, what is declined."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxfold.passes.kernels.product import PRODUCT
from tests.passes.kernels.hand_cases import declined, evaluated, iota
from tests.passes.kernels.node_cases import Case, assert_case, cases
from tests.passes.outcome import outcome
from tests.text import model

TRAINING = {"test_batchnorm_epsilon_training_mode", "test_batchnorm_example_training_mode"}
CASES = [case for kernel in PRODUCT for case in cases(kernel.operator) if case.name not in TRAINING]
INFINITY = np.full((1, 1), np.inf, np.float32)


def zeros(*shape: int) -> Any:
    return np.zeros(shape, np.float32)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_node_tests(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize(
    ("a", "b"),
    [((3,), (3,)), ((3,), (3, 2)), ((2, 3), (3,)), ((4, 1, 2, 3), (5, 3, 2)), ((2, 0), (0, 3)), ((0, 2), (2, 3))],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64, np.int32, np.uint64, ml_dtypes.bfloat16])
def test_matmul_is_that_of_numpy(a: tuple[int, ...], b: tuple[int, ...], dtype: Any) -> None:
    left, right = iota(*a).astype(dtype), (iota(*b) - 2).astype(dtype)
    (value,) = evaluated("MatMul", [left, right], {}, 13)
    expected = np.matmul(left.astype(np.float64), right.astype(np.float64)) if dtype != np.uint64 else left @ right
    np.testing.assert_array_equal(value, np.asarray(expected).astype(dtype))


def test_integers_wrap_around() -> None:
    (value,) = evaluated("MatMul", [np.array([[2**30, 2**30]], np.int32), np.array([[2], [2]], np.int32)], {}, 9)
    assert value.tolist() == [[0]]


@pytest.mark.parametrize(
    ("attributes", "opset", "shape"),
    [
        ({}, 1, (2, 4)),
        ({"broadcast": 1}, 6, (4,)),
        ({"alpha": 0.5, "beta": 2.0}, 7, (2, 1)),
        ({"transA": 1, "transB": 1}, 11, ()),
        ({"alpha": 3.0}, 13, None),
    ],
)
def test_gemm(attributes: dict[str, Any], opset: int, shape: tuple[int, ...] | None) -> None:
    a, b = iota(2, 3), iota(3, 4)
    given_a = a.T if attributes.get("transA") else a
    given_b = b.T if attributes.get("transB") else b
    more = [] if shape is None else [iota(*shape)]
    (value,) = evaluated(
        "Gemm", [np.ascontiguousarray(given_a), np.ascontiguousarray(given_b), *more], attributes, opset
    )
    added = 0 if shape is None else iota(*shape) * attributes.get("beta", 1)
    np.testing.assert_array_equal(value, a @ b * attributes.get("alpha", 1) + added)


@pytest.mark.parametrize(
    ("a_point", "b_point"),
    [(None, None), (3, None), ([1, 2], [[4, 5, 6]]), ([[1], [2]], [4, 5, 6]), ([7], 9)],
)
def test_matmul_integer(a_point: Any, b_point: Any) -> None:
    a, b = np.array([[1, 255], [3, 4]], np.uint8), np.array([[5, 6, 7], [128, 0, 1]], np.uint8)
    points = [None if point is None else np.array(point, np.uint8) for point in (a_point, b_point)]
    (value,) = evaluated("MatMulInteger", [a, b, *points], {}, 10)
    left = a.astype(int) - (0 if a_point is None else np.array(a_point).reshape(-1, 1))
    right = b.astype(int) - (0 if b_point is None else np.array(b_point).reshape(1, -1))
    assert value.tolist() == (left @ right).tolist()


EQUATIONS = ["ij,jk->ik", "ij,jk", "ij->", "ii", "ii->i", "...ij,...jk->...ik", "i,j->ij", "ij,ij->j", "b...,b...->..."]


@pytest.mark.parametrize("equation", [*EQUATIONS, " i j , j k -> k i ", "...ii->...i", "ij...->...ji"])
@given(st.integers(1, 3), st.sampled_from([np.float32, np.int32, np.float64]))
def test_einsum_is_that_of_numpy(equation: str, size: int, dtype: Any) -> None:
    terms = equation.replace(" ", "").split("->")[0].split(",")
    inputs = [iota(*[size] * (len(term.replace("...", "")) + term.count("..."))).astype(dtype) for term in terms]
    (value,) = evaluated("Einsum", inputs, {"equation": equation}, 12)
    np.testing.assert_array_equal(value, np.einsum(equation.replace(" ", ""), *inputs))


def test_einsum_broadcasts_an_ellipsis() -> None:
    a, b = iota(2, 1, 2, 3), iota(4, 3, 2)
    (value,) = evaluated("Einsum", [a, b], {"equation": "...ij,...jk->...ik"}, 12)
    np.testing.assert_array_equal(value, a @ b)


@pytest.mark.parametrize(
    ("opset", "attributes"),
    [
        (1, {"is_test": 1, "consumed_inputs": [0, 0, 0, 1, 1]}),
        (6, {"is_test": 1}),
        (7, {}),
        (9, {}),
        (14, {}),
        (15, {}),
    ],
)
def test_batch_normalization(opset: int, attributes: dict[str, Any]) -> None:
    x = iota(2, 2, 3)
    rows = [np.array(row, np.float32) for row in ([2, 3], [1, -1], [4, 5], [0.75, 3.0])]
    (value,) = evaluated("BatchNormalization", [x, *rows], {**attributes, "epsilon": 0.25}, opset)
    expected = (x - [[4], [5]]) / np.sqrt([[1.0], [3.25]]) * [[2], [3]] + [[1], [-1]]
    np.testing.assert_array_equal(value, expected.astype(np.float32))


def test_layer_normalization_rounds_in_two_stages() -> None:
    x, scale = np.array([[1, 2, 4]], np.float16), np.array([3, 3, 3], np.float16)
    values = evaluated("LayerNormalization", [x, scale], {"epsilon": 0.0}, 17, 3)
    wide = x.astype(np.float64)
    normalized = ((wide - wide.mean()) / wide.std()).astype(np.float16)
    np.testing.assert_array_equal(values[0], (normalized.astype(np.float64) * 3).astype(np.float16))
    assert [item.dtype for item in values] == [np.float16, np.float32, np.float32]
    np.testing.assert_array_equal(values[1], [[np.float32(7 / 3)]])


@pytest.mark.parametrize(
    ("operator", "inputs", "attributes", "opset", "reason"),
    [
        ("MatMul", [iota(), iota(1)], {}, 13, "a scalar is no matrix"),
        ("MatMul", [iota(2, 3), iota(2, 3)], {}, 13, "shapes (2, 3) and (2, 3) are none of matrices to multiply"),
        (
            "MatMul",
            [iota(2, 1, 1), iota(3, 1, 1)],
            {},
            13,
            "shapes (2,) and (3,) do not broadcast: 2 meets 3 in dimension -1",
        ),
        ("MatMul", [zeros(1 << 16, 1), zeros(1, (1 << 14) + 1)], {}, 13, f"it takes more than {1 << 30} products"),
        ("Gemm", [iota(2), iota(2, 2)], {}, 13, "shapes (2,) and (2, 2) are not both of matrices"),
        ("Gemm", [iota(2, 2), iota(2, 2), iota(2)], {}, 6, "C of shape (2,) does not become (2, 2)"),
        ("Gemm", [iota(1, 2), iota(2, 2), iota(2, 2)], {}, 13, "C of shape (2, 2) does not become (1, 2)"),
        (
            "Gemm",
            [iota(2, 2).astype(np.int32)] * 2,
            {"alpha": 0.5},
            13,
            "integers times 0.5 are rounded in no specified way",
        ),
        (
            "Gemm",
            [iota(1, 1), iota(1, 1), INFINITY],
            {"beta": 0.0},
            13,
            "0 times what is not finite is NaN to some and 0 to others",
        ),
        (
            "MatMulInteger",
            [np.ones((2, 2), np.uint8), np.ones((2, 2), np.uint8), np.ones(3, np.uint8)],
            {},
            10,
            "zero points of shape (3,) are none for (2, 2)",
        ),
        (
            "MatMulInteger",
            [np.full((1, 40000), 255, np.uint8), np.full((40000, 1), 255, np.uint8)],
            {},
            10,
            "a sum is beyond 32 bits",
        ),
        ("Einsum", [iota(2, 2)], {"equation": "ij,jk"}, 12, "'ij,jk' is not of 1 operands"),
        ("Einsum", [iota(2, 2)], {"equation": "i"}, 12, "'i' is no term for rank 2"),
        ("Einsum", [iota(2)], {"equation": "1"}, 12, "'1' is no term for rank 1"),
        ("Einsum", [iota(2)], {"equation": "i->j"}, 12, "'j' is no result of 'i'"),
        ("Einsum", [iota(2), iota(3)], {"equation": "i,i"}, 12, "a dimension of the equation is 2 and 3"),
        ("Einsum", [zeros(1 << 12), zeros(1 << 11)], {"equation": "i,j"}, 12, f"it takes more than {1 << 22} products"),
        ("BatchNormalization", [iota(1, 1)] + [iota(1)] * 4, {}, 6, "it trains, or normalizes not by channel"),
        (
            "BatchNormalization",
            [iota(1, 1)] + [iota(1)] * 4,
            {"training_mode": 1},
            14,
            "it trains, or normalizes not by channel",
        ),
        (
            "BatchNormalization",
            [iota(1, 1)] + [iota(1)] * 4,
            {"spatial": 0},
            7,
            "it trains, or normalizes not by channel",
        ),
        (
            "BatchNormalization",
            [iota(1, 2)] + [iota(1)] * 4,
            {},
            9,
            "statistics are not of the channels of shape (1, 2)",
        ),
        ("LayerNormalization", [iota(2).astype(np.float64)] * 2, {}, 17, "it does not compute in float"),
        ("LayerNormalization", [iota(2), iota(2)], {"stash_type": 16}, 17, "it does not compute in float"),
        ("LayerNormalization", [iota(1), iota(2)], {}, 17, "input 1 of shape (2,) does not become (1,)"),
        ("LayerNormalization", [iota(0), iota(1)], {}, 17, "nothing has no mean"),
        ("LpNormalization", [np.array([1e-300])], {}, 22, "squares are too small for a norm"),
        ("LpNormalization", [iota(1)], {"p": 3}, 22, "p 3 is neither 1 nor 2"),
        ("LRN", [iota(2, 2)], {"size": 1}, 13, "size 1 is none for channels of shape (2, 2)"),
    ],
)
def test_declines(operator: str, inputs: list[Any], attributes: dict[str, Any], opset: int, reason: str) -> None:
    assert declined(operator, inputs, attributes, opset) == reason


@pytest.mark.parametrize(("size", "before", "after"), [(1, 0, 0), (2, 0, 1), (3, 1, 1), (4, 1, 2), (9, 4, 4)])
def test_lrn_sums_the_channels_around(size: int, before: int, after: int) -> None:
    x = iota(1, 4, 1, 2) - 3
    attributes = {"size": size, "alpha": 0.5, "beta": 2.0, "bias": 2.0}
    (value,) = evaluated("LRN", [x], attributes, 1)
    for channel in range(4):
        squares = (x[0, max(0, channel - before) : channel + after + 1].astype(np.float64) ** 2).sum(0)
        expected = x[0, channel] / (2 + 0.5 / size * squares) ** 2
        np.testing.assert_array_equal(value[0, channel], expected.astype(np.float32))


def test_lp_normalization() -> None:
    x = np.array([[3, -4], [0, 2]], np.float32)
    assert evaluated("LpNormalization", [x], {}, 1)[0].tolist() == [[np.float32(0.6), np.float32(-0.8)], [0, 1]]
    (value,) = evaluated("LpNormalization", [x], {"p": 1, "axis": 0}, 22)
    np.testing.assert_array_equal(value, (x / np.array([3, 6], np.float64)).astype(np.float32))


@pytest.mark.parametrize(
    ("operator", "attributes"), [("MatMul", {}), ("Gemm", {}), ("Einsum", {"equation": "ij,jk->ik"})]
)
def test_what_leaves_the_range_on_the_way_is_left_to_the_runtime(operator: str, attributes: dict[str, Any]) -> None:
    left, right = np.array([[1e30, 1e30]], np.float32), np.array([[1e30], [-1e30]], np.float32)
    reason = declined(operator, [left, right], attributes)
    assert reason == "numbers on the way to the result are larger than the type has"
    (made,) = evaluated(operator, [left, -np.abs(right)], attributes)
    assert made.tolist() == [[-np.inf]]


def test_layer_normalization_of_nothing() -> None:
    source = model(
        "g () => (float[0,3] y) { y = LayerNormalization(x, s) }",
        constants={"x": np.zeros((0, 3), np.float32), "s": np.ones(3, np.float32)},
    )
    assert outcome("fold-constants", source).changes == 1
