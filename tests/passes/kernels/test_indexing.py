"""Kernels of indexing.py: ONNX's node tests, older versions, what is declined."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxfold.passes.kernels.call import KernelError
from maxfold.passes.kernels.indexing import INDEXING
from tests.passes.kernels.hand_cases import declined, evaluated, ints, iota, some_values, types_of
from tests.passes.kernels.node_cases import Case, assert_case, cases
from tests.passes.kernels.reference import Array

CASES = [case for kernel in INDEXING for case in cases(kernel.operator)]
DECLINED = {
    "test_scatter_elements_with_duplicate_indices",
    "test_scatter_elements_with_reduction_mul",
    "test_scatternd_add",
    "test_scatternd_multiply",
}
"""They update one float several times."""

NAN, ZERO, MINUS_ZERO = (np.array([item], np.float32) for item in (np.nan, 0.0, -0.0))
STRINGS = some_values("STRING")
TWICE = "an element is updated twice, in an order that is not specified"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_node_tests(case: Case) -> None:
    if case.name in DECLINED:
        with pytest.raises(KernelError, match="order that is not specified"):
            case.kernel.evaluate(case.call)
        return
    assert_case(case)


@given(st.lists(st.integers(1, 3), min_size=1, max_size=3), st.data())
def test_gather_family(shape: list[int], data: st.DataObject) -> None:
    values = iota(*shape)
    axis = data.draw(st.integers(-values.ndim, values.ndim - 1))
    size = values.shape[axis]
    indices = np.array(data.draw(st.lists(st.integers(-size, size - 1), max_size=4)), np.int32)
    np.testing.assert_array_equal(
        evaluated("Gather", [values, indices], {"axis": axis}, 13)[0], np.take(values, indices, axis)
    )
    places = np.array([[data.draw(st.integers(-item, item - 1)) for item in shape] for _ in range(2)])
    for named in range(1, values.ndim + 1):
        (value,) = evaluated("GatherND", [values, places[:, :named]], {}, 13)
        assert value.tolist() == [values[tuple(row)].tolist() for row in places[:, :named].tolist()]


def test_gather_of_the_first_version() -> None:
    assert evaluated("Gather", [iota(3), np.array(1, np.int64)], {}, 1)[0].tolist() == 1
    assert evaluated("Gather", [iota(2, 3), ints(2)], {"axis": -1}, 1)[0].tolist() == [[2], [5]]


def test_gather_elements_of_a_part() -> None:
    (value,) = evaluated("GatherElements", [iota(3, 3), np.array([[2, -1], [0, 1]])], {"axis": 1}, 11)
    assert value.tolist() == [[2, 2], [3, 4]]


def test_gather_nd_of_batches() -> None:
    data, indices = iota(2, 3, 4, 5), np.array([[[[1], [0]]] * 3, [[[3], [-1]]] * 3])
    (value,) = evaluated("GatherND", [data, indices], {"batch_dims": 2}, 12)
    assert value.shape == (2, 3, 2, 5)
    for a, b, place in np.ndindex(2, 3, 2):
        np.testing.assert_array_equal(value[a, b, place], data[a, b, indices[a, b, place, 0]])


@pytest.mark.parametrize(("operator", "opset"), [("Scatter", 9), ("ScatterElements", 11), ("ScatterElements", 16)])
def test_scatter(operator: str, opset: int) -> None:
    (value,) = evaluated(operator, [iota(2, 3), np.array([[2, 0]]), iota(1, 2) + 7], {"axis": 1}, opset)
    assert value.tolist() == [[8, 1, 7], [3, 4, 5]]


@pytest.mark.parametrize(
    ("dtype", "reduction", "expected"),
    [
        (np.int8, "add", [100 + 100 - 256 + 7, 5]),
        (np.int8, "mul", [(100 * 100 * 7 + 128) % 256 - 128, 5]),
        (np.uint8, "max", [100, 5]),
        (np.int32, "min", [7, 5]),
    ],
)
def test_scatter_of_integers_reduces_repeated_places(dtype: Any, reduction: str, expected: list[int]) -> None:
    data, updates = np.array([100, 5], dtype), np.array([100, 7], dtype)
    attributes = {"reduction": reduction}
    assert evaluated("ScatterElements", [data, ints(0, 0), updates], attributes, 18)[0].tolist() == expected
    assert evaluated("ScatterND", [data, ints(0, -2).reshape(2, 1), updates], attributes, 18)[0].tolist() == expected


def test_scatter_rounds_once_and_keeps_other_nan_bits() -> None:
    data = np.array([256, 1], ml_dtypes.bfloat16)
    data.view(np.uint16)[1] = 0xFFC1
    one = np.array([1], ml_dtypes.bfloat16)
    (value,) = evaluated("ScatterElements", [data, ints(0), one], {"reduction": "add"}, 16)
    assert value.view(np.uint16).tolist() == [0x4380, 0xFFC1]
    (value,) = evaluated("ScatterElements", [data, ints(1), one], {"reduction": "mul"}, 16)
    assert value.view(np.uint16).tolist() == [0x4380, 0x7FC0]


@pytest.mark.parametrize("name", types_of("Gather"))
def test_every_type_is_gathered_and_scattered(name: str) -> None:
    values = some_values(name, 2)
    first, last = values.tolist()
    assert evaluated("Gather", [values, ints(1, 0, 1)])[0].tolist() == [last, first, last]
    assert evaluated("GatherElements", [values, ints(-1)])[0].tolist() == [last]
    assert evaluated("GatherND", [values, ints(1)])[0].tolist() == last
    assert evaluated("ScatterND", [values, ints(1).reshape(1, 1), values[:1]])[0].tolist() == [first, first]
    assert evaluated("OneHot", [ints(1), ints(2), values], {}, 28)[0].tolist() == [values.tolist()]
    assert evaluated("Compress", [values, np.array([False, True])], {}, 28)[0].tolist() == [last]


@pytest.mark.parametrize(("opset", "negative"), [(9, [0, 0, 0]), (11, [0, 0, 1])])
def test_one_hot(opset: int, negative: list[int]) -> None:
    indices, depth, values = ints(0, 3, -1), np.array(3.7, np.float32), ints(0, 1)
    expected = [[1, 0, 0], [0, 0, 0], negative]
    assert evaluated("OneHot", [indices, depth, values], {}, opset)[0].tolist() == expected
    (by_class,) = evaluated("OneHot", [indices + 0.5 * (indices == 0), depth, values], {"axis": 0}, opset)
    assert by_class.T.tolist() == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.array([[0, np.nan], [-0.0, 2]], np.float32), [[0, 1], [1, 1]]),
        (np.array([True, False]), [[0]]),
        (np.array([0, 3], ml_dtypes.bfloat16), [[1]]),
        (np.zeros((0, 2), np.int8), [[], []]),
    ],
)
def test_nonzero(values: Array, expected: list[list[int]]) -> None:
    assert evaluated("NonZero", [values])[0].tolist() == expected


def test_compress() -> None:
    assert evaluated("Compress", [iota(2, 2), np.array([False, True, True])], {}, 9)[0].tolist() == [1, 2]
    assert evaluated("Compress", [iota(2, 2), np.array([True])], {"axis": 1}, 9)[0].tolist() == [[0], [2]]


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float16, np.float64, ml_dtypes.bfloat16])
def test_top_k_takes_the_first_of_equals(dtype: Any) -> None:
    values = np.array([[1, 3], [0, 3], [1, 0]], dtype)
    largest = evaluated("TopK", [values, ints(2)], {"axis": 0}, 24, 2)
    assert [item.tolist() for item in largest] == [[[1, 3], [1, 3]], [[0, 0], [2, 1]]]
    smallest = evaluated("TopK", [values, ints(2)], {"axis": 0, "largest": 0}, 24, 2)
    assert [item.tolist() for item in smallest] == [[[0, 0], [1, 3]], [[1, 2], [0, 0]]]


def test_top_k_of_older_versions() -> None:
    for more, attributes, opset in (([], {"k": 2}, 1), ([ints(2)], {}, 10)):
        values, places = evaluated("TopK", [iota(1, 3), *more], attributes, opset, 2)
        assert (values.tolist(), places.tolist()) == ([[2, 1]], [[2, 1]])
    least = np.array([-(2**63), 0], np.int64)
    assert evaluated("TopK", [least, ints(1)], {}, 11, 2)[1].tolist() == [1]


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({}, [[1, 2, 3], [1, 3, 0], [2, 0, 2, 1], [1, 1, 2]]),
        ({"sorted": 0}, [[3, 1, 2], [0, 1, 3], [0, 1, 0, 2], [2, 1, 1]]),
        ({"axis": -1}, [[1, 2, 3], [1, 3, 0], [2, 0, 2, 1], [1, 1, 2]]),
    ],
)
def test_unique(attributes: dict[str, int], expected: list[list[int]]) -> None:
    results = evaluated("Unique", [np.array([3, 1, 3, 2], np.float32)], attributes, 11, 4)
    assert [item.tolist() for item in results] == expected


@pytest.mark.parametrize(
    ("attributes", "opset", "expected"),
    [
        ({}, 1, [[0, 1]]),
        ({"axis": 1, "keepdims": 0}, 1, [0, 1, 0]),
        ({"axis": -1}, 11, [[0], [1], [0]]),
        ({"axis": 0, "select_last_index": 1, "keepdims": 0}, 12, [2, 1]),
    ],
)
def test_arg_max(attributes: dict[str, int], opset: int, expected: list[Any]) -> None:
    values = np.array([[7, 1], [2, 9], [7, 7]], np.int32)
    assert evaluated("ArgMax", [values], attributes, opset)[0].tolist() == expected
    assert evaluated("ArgMin", [-values], attributes, opset)[0].tolist() == expected


@pytest.mark.parametrize(
    ("operator", "inputs", "attributes", "opset", "reason"),
    [
        ("Gather", [iota(3), ints(3)], {}, 13, "an index is outside -3 to 2"),
        ("Gather", [iota(3), ints(-1)], {}, 1, "an index is outside 0 to 2"),
        ("Gather", [iota(), ints(0)], {}, 13, "axis 0 is outside rank 0"),
        ("Gather", [iota(0), ints(0)], {}, 13, "an index is outside 0 to -1"),
        ("GatherElements", [iota(2, 2), ints(0)], {}, 13, "indices of shape (1,) do not fit data of shape (2, 2)"),
        (
            "GatherElements",
            [iota(1, 1), ints(0, 0).reshape(1, 2)],
            {},
            13,
            "indices of shape (1, 2) do not fit data of shape (1, 1)",
        ),
        ("GatherND", [iota(2), ints(0, 0)], {}, 13, "indices of shape (2,) do not index data of shape (2,)"),
        ("GatherND", [iota(2), ints(0)], {"batch_dims": 1}, 13, "shapes (2,) and (1,) do not share 1 batch dimensions"),
        ("GatherND", [iota(2), ints(2)], {}, 13, "an index is outside -2 to 1"),
        ("ScatterElements", [iota(2), ints(0, 0), iota(2)], {}, 13, TWICE),
        ("ScatterElements", [iota(2), ints(0, -2), iota(2)], {}, 13, TWICE),
        ("ScatterND", [iota(2), ints(0, 0).reshape(2, 1), iota(2)], {}, 13, TWICE),
        ("ScatterND", [iota(2), ints(0), iota(2)], {}, 13, "updates have shape (2,) and not ()"),
        (
            "ScatterElements",
            [iota(2), ints(0), iota(2)],
            {},
            13,
            "updates of shape (2,) are none for indices of shape (1,)",
        ),
        ("ScatterElements", [iota(2), ints(0), iota(1)], {"reduction": "max"}, 16, "reduction 'max' is not known"),
        (
            "ScatterElements",
            [some_values("STRING"), ints(0), some_values("STRING", 1)],
            {"reduction": "add"},
            18,
            "string has no add",
        ),
        (
            "ScatterElements",
            [iota(2), ints(0, 0), iota(2)],
            {"reduction": "add"},
            18,
            "a float is updated twice, in an order that is not specified",
        ),
        (
            "ScatterElements",
            [ZERO, ints(0), MINUS_ZERO],
            {"reduction": "max"},
            18,
            "zeros of both signs meet",
        ),
        ("OneHot", [NAN, ints(1), ints(0, 1)], {}, 11, "an index or a depth is no 64-bit integer"),
        ("OneHot", [ints(1), ints(-1), ints(0, 1)], {}, 11, "depth -1 or values of shape (2,) are not right"),
        ("OneHot", [ints(1), ints(1), ints(1)], {}, 11, "depth 1 or values of shape (1,) are not right"),
        ("NonZero", [STRINGS], {}, 13, "strings have no zero"),
        ("NonZero", [np.array(3)], {}, 13, "runtimes disagree on the shape that a scalar gives"),
        (
            "Compress",
            [iota(1), np.array([True, False])],
            {},
            11,
            "a condition of shape (2,) does not choose from 1 elements",
        ),
        ("Compress", [iota(1), np.array([True])], {"axis": -1}, 9, "axis -1 is negative before opset 11"),
        ("TopK", [iota(2), ints(3)], {}, 11, "there are no top 3 of 2"),
        ("TopK", [iota(2), ints()], {}, 11, "there are no top 0 of 2"),
        ("TopK", [iota(2), ints(2)], {"sorted": 0}, 11, "without sorting the order is not specified"),
        ("TopK", [NAN, ints(1)], {}, 11, "a NaN has no place in an order"),
        ("TopK", [iota(2, 2), ints(1)], {"axis": -2}, 10, "axis -2 is negative before opset 11"),
        ("Unique", [NAN], {}, 11, "a NaN has no place in an order"),
        ("Unique", [MINUS_ZERO], {}, 11, "-0.0 is and is not another value than 0.0"),
        ("Unique", [STRINGS], {}, 11, "string has no order to sort by"),
        ("Unique", [iota(0)], {}, 11, "there are no values"),
        ("ArgMax", [NAN], {}, 13, "a NaN has no place in an order"),
        ("ArgMin", [iota(2, 0)], {"axis": 1}, 13, "an empty dimension has no greatest or least element"),
        ("ArgMin", [iota(2)], {"axis": -1}, 1, "axis -1 is negative before opset 11"),
    ],
)
def test_declines(operator: str, inputs: list[Any], attributes: dict[str, Any], opset: int, reason: str) -> None:
    assert declined(operator, inputs, attributes, opset, {"TopK": 2, "Unique": 4}.get(operator, 1)) == reason
