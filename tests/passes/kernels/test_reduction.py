"""Kernels of reduction.py: ONNX's node tests, older versions, what is declined."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxfold.passes.kernels.reduction import REDUCTION, halved
from tests.passes.kernels.hand_cases import declined, evaluated, ints, iota, types_of
from tests.passes.kernels.node_cases import Case, assert_case, cases
from tests.passes.kernels.reference import Array
from tests.passes.kernels.strategies import BY_NAME

CASES = [case for kernel in REDUCTION for case in cases(kernel.operator)]
NAN, INFINITY = np.array([np.nan], np.float32), np.array([np.inf], np.float32)
ROWS = np.array([[3, -1, 2], [0.5, 4, -8]], np.float32)

FORMULAS: dict[str, Callable[[list[float]], float]] = {
    "ReduceSum": math.fsum,
    "ReduceMean": lambda row: math.fsum(row) / len(row),
    "ReduceProd": math.prod,
    "ReduceL1": lambda row: math.fsum(map(abs, row)),
    "ReduceL2": lambda row: math.sqrt(math.fsum(x * x for x in row)),
    "ReduceSumSquare": lambda row: math.fsum(x * x for x in row),
    "ReduceLogSum": lambda row: math.log(math.fsum(row)),
    "ReduceLogSumExp": lambda row: math.log(math.fsum(map(math.exp, row))),
    "ReduceMax": max,
    "ReduceMin": min,
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_node_tests(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("operator", FORMULAS)
@pytest.mark.parametrize(
    ("attributes", "opset"),
    [({"axes": [1]}, 1), ({"axes": [-1]}, 11), ({"axes": [-1], "keepdims": 0}, 11), ({"keepdims": 0}, 18)],
)
def test_reduction_is_its_formula(operator: str, attributes: dict[str, Any], opset: int) -> None:
    values = np.abs(ROWS) if operator == "ReduceLogSum" else ROWS
    by_input = opset == 18
    inputs = [values, ints(-1)] if by_input else [values]
    if operator == "ReduceSum" and opset >= 13 and not by_input:
        return
    (value,) = evaluated(operator, inputs, attributes, opset)
    expected = np.array([FORMULAS[operator](row) for row in values.astype(np.float64).tolist()], np.float32)
    np.testing.assert_array_equal(value.reshape(-1), expected)
    assert value.shape == ((2, 1) if attributes.get("keepdims", 1) else (2,))


def test_all_axes_or_none() -> None:
    for inputs in ([ROWS], [ROWS, None], [ROWS, ints()]):
        assert evaluated("ReduceSum", inputs, {}, 13)[0].tolist() == [[0.5]]
        (value,) = evaluated("ReduceSumSquare", inputs, {"noop_with_empty_axes": 1}, 18)
        np.testing.assert_array_equal(value, ROWS * ROWS)
    assert evaluated("ReduceMax", [iota()], {}, 13)[0].shape == ()


@pytest.mark.parametrize(
    ("operator", "dtype", "expected"),
    [
        ("ReduceSum", np.int32, 0),
        ("ReduceProd", np.float16, 1),
        ("ReduceL1", np.float64, 0),
        ("ReduceL2", np.float32, 0),
        ("ReduceSumSquare", np.int64, 0),
        ("ReduceLogSum", np.float32, -np.inf),
        ("ReduceLogSumExp", np.float32, -np.inf),
        ("ReduceMax", np.float32, -np.inf),
        ("ReduceMin", ml_dtypes.bfloat16, np.inf),
        ("ReduceMax", np.int8, -128),
        ("ReduceMin", np.uint8, 255),
        ("ReduceMax", np.bool_, False),
    ],
)
def test_reduction_of_nothing(operator: str, dtype: Any, expected: float) -> None:
    assert evaluated(operator, [np.zeros((2, 0), dtype), ints(1)], {"keepdims": 0}, 20)[0].tolist() == [expected] * 2


@pytest.mark.parametrize("operator", ["ReduceSum", "ReduceProd", "ReduceMax", "CumSum"])
def test_every_type(operator: str) -> None:
    for name in types_of(operator):
        values = np.array([1, 1], BY_NAME[name].numpy)
        (value,) = evaluated(operator, [values, ints(0).reshape(()) if operator == "CumSum" else ints(0)])
        assert value.tolist() == {"ReduceSum": [2], "CumSum": [1, 2]}.get(operator, [1])


def test_integers_wrap_around() -> None:
    big = np.array([2**31 - 1, 2], np.int32)
    assert evaluated("CumSum", [big, np.array(0)])[0].tolist() == [2**31 - 1, -(2**31) + 1]


@pytest.mark.parametrize(
    ("operator", "values"),
    [
        ("ReduceSum", np.array([2**31 - 1, 2], np.int32)),
        ("ReduceSum", np.array([-(2**63), -(2**63), 4], np.int64)),
        ("ReduceSum", np.array([2**53, 1], np.int64)),
        ("ReduceProd", np.array([2**63, 2], np.uint64)),
        ("ReduceSumSquare", np.array([2**27, 1], np.int64)),
    ],
)
def test_large_integers_are_left_to_the_runtime(operator: str, values: Array) -> None:
    """Some runtimes add them up as doubles."""
    assert declined(operator, [values]) == f"{operator} of integers of this size is not the same in every runtime"


def test_one_rounding() -> None:
    half = np.array([2048, 1, 1], np.float16)
    assert evaluated("ReduceSum", [half])[0].tolist() == [2050]
    assert evaluated("ReduceSum", [np.array([256, 1, 1], ml_dtypes.bfloat16)])[0].tolist() == [258]
    assert evaluated("ReduceProd", [np.array([1e30, 1e30, 1e-30], np.float32)])[0].tolist() == [np.float32(1e30)]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8, 13])
def test_halving_uses_every_element_once(size: int) -> None:
    assert halved(np.add, np.arange(size)[None]).tolist() == [size * (size - 1) // 2]


def test_nan_and_infinities() -> None:
    (value,) = evaluated("ReduceLogSumExp", [np.array([[np.inf, 1], [-np.inf, -np.inf], [1, np.nan]]), ints(1)], {}, 18)
    np.testing.assert_array_equal(value, [[np.inf], [-np.inf], [np.nan]])
    (value,) = evaluated("ReduceSum", [np.array([np.inf, -np.inf], np.float32)])
    assert value.view(np.uint32).tolist() == [0x7FC00000]


@pytest.mark.parametrize(
    ("exclusive", "reverse", "expected"),
    [(0, 0, [1, 3, 6]), (1, 0, [0, 1, 3]), (0, 1, [6, 5, 3]), (1, 1, [5, 3, 0])],
)
@pytest.mark.parametrize("dtype", [np.int32, np.float32, np.float16, np.float64, ml_dtypes.bfloat16])
def test_cum_sum(exclusive: int, reverse: int, expected: list[int], dtype: Any) -> None:
    values, opset = np.array([[1, 2, 3]], dtype), 11 if dtype in (np.int32, np.float32, np.float64) else 14
    attributes = {"exclusive": exclusive, "reverse": reverse}
    assert evaluated("CumSum", [values, np.array(-1, np.int32)], attributes, opset)[0].tolist() == [expected]


def test_cum_sum_of_nothing() -> None:
    assert evaluated("CumSum", [iota(0, 2), np.array(0)], {"exclusive": 1})[0].shape == (0, 2)


@pytest.mark.parametrize("opset", [1, 11, 13])
@given(st.lists(st.floats(-20, 20, width=32), min_size=4, max_size=4))
def test_softmax_flattens_before_13(opset: int, numbers: list[float]) -> None:
    values = np.array(numbers, np.float32).reshape(1, 2, 2)
    rows = [numbers] if opset < 13 else [[numbers[0], numbers[2]], [numbers[1], numbers[3]]]
    powers = [[math.exp(x - max(row)) for x in row] for row in rows]
    expected = np.array([[x / math.fsum(row) for x in row] for row in powers], np.float32)
    expected = expected.reshape(1, 2, 2) if opset < 13 else expected.T.reshape(1, 2, 2)
    (value,) = evaluated("Softmax", [values], {"axis": 1}, opset)
    np.testing.assert_allclose(value, expected, rtol=2e-7)
    (logarithm,) = evaluated("LogSoftmax", [values], {"axis": 1}, opset)
    np.testing.assert_allclose(np.exp(logarithm.astype(np.float64)), value, rtol=1e-5)
    (hard,) = evaluated("Hardmax", [values], {"axis": 1}, opset)
    assert hard.sum() == len(rows)
    assert (values[hard == 1].max() == values.max()).all()


def test_defaults_of_the_axis() -> None:
    assert evaluated("Hardmax", [iota(2, 2, 2)], {}, 11)[0].sum() == 2
    assert evaluated("Hardmax", [iota(2, 2, 2)], {}, 13)[0].sum() == 4
    assert evaluated("Hardmax", [np.ones((1, 3), np.float16)], {}, 13)[0].tolist() == [[1, 0, 0]]
    assert evaluated("Softmax", [iota(2, 0)], {}, 13)[0].shape == (2, 0)
    assert evaluated("Hardmax", [iota(2, 0)], {}, 13)[0].shape == (2, 0)


@pytest.mark.parametrize(
    ("operator", "inputs", "attributes", "opset", "reason"),
    [
        ("ReduceSum", [ROWS], {"axes": [-1]}, 1, "axis -1 is negative before opset 11"),
        ("ReduceSum", [ROWS], {"axes": []}, 11, "the attribute axes is empty, which is not specified"),
        ("ReduceSum", [ROWS, ints(0, -2)], {}, 13, "axes [0, -2] name a dimension twice"),
        ("ReduceSum", [ROWS, ints(2)], {}, 13, "axis 2 is outside rank 2"),
        ("ReduceMean", [iota(0)], {}, 13, "the mean of nothing is not defined"),
        ("ReduceMean", [ints(1, 2)], {}, 13, "ReduceMean of integers is rounded in no specified way"),
        ("ReduceLogSum", [ints(1, 2)], {}, 13, "ReduceLogSum of integers is rounded in no specified way"),
        ("ReduceMax", [iota(0)], {}, 13, "ReduceMax of nothing is not defined before opset 18"),
        ("ReduceMax", [NAN], {}, 13, "a NaN has no place in an order"),
        ("ReduceMin", [np.array([0.0, -0.0], np.float32)], {}, 13, "zeros of both signs meet"),
        ("CumSum", [ROWS, np.array(2)], {}, 14, "axis 2 is outside rank 2"),
        ("CumSum", [ROWS, ints(0, 1)], {}, 14, "input 1 has shape (2,), and is no scalar"),
        ("Softmax", [INFINITY], {}, 13, "an infinity is normalized in no specified way"),
        ("Softmax", [iota()], {}, 13, "axis -1 is outside rank 0"),
        ("Softmax", [ROWS], {"axis": -1}, 1, "axis -1 is negative before opset 11"),
        ("Hardmax", [NAN], {}, 13, "a NaN has no place in an order"),
    ],
)
def test_declines(operator: str, inputs: list[Array], attributes: dict[str, Any], opset: int, reason: str) -> None:
    assert declined(operator, inputs, attributes, opset) == reason


def test_global_pools_of_the_first_version() -> None:
    assert evaluated("GlobalAveragePool", [iota(1, 2, 3)], {}, 1)[0].tolist() == [[[1], [4]]]
    assert evaluated("GlobalMaxPool", [iota(1, 2, 2, 2)], {}, 1)[0].tolist() == [[[[3]], [[7]]]]
    assert declined("GlobalMaxPool", [iota(1, 2)], {}, 1) == "shape (1, 2) has no space to pool"
    assert declined("GlobalAveragePool", [iota(1, 2, 0)], {}, 1) == "shape (1, 2, 0) has no space to pool"


@pytest.mark.parametrize(
    ("operator", "row"),
    [
        ("ReduceSum", [3e38, 3e38, -3e38]),
        ("ReduceMean", [3e38, 3e38]),
        ("ReduceL2", [1e30, 1e30]),
        ("ReduceLogSum", [3e38, 3e38]),
    ],
)
def test_what_leaves_the_range_on_the_way_is_left_to_the_runtime(operator: str, row: list[float]) -> None:
    reason = declined(operator, [np.array([row], np.float32)], {"keepdims": 1}, 17)
    assert reason == "numbers on the way to the result are larger than the type has"
    assert evaluated(operator, [np.array([row], np.float64)], {"keepdims": 1}, 17)[0].shape == (1, 1)


def test_sums_that_overflow_are_infinite() -> None:
    (made,) = evaluated("ReduceSum", [np.array([3e38, 3e38], np.float32)], {"keepdims": 0}, 12)
    assert made == np.inf
