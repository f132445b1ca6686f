"""Kernels of shape.py: ONNX's node tests, older versions, what is declined."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxfold.passes.kernels.shape import SHAPE
from tests.passes.kernels.hand_cases import (
    call_of,
    declined,
    evaluated,
    ints,
    iota,
    some_values,
    tensor_attribute,
    types_of,
)
from tests.passes.kernels.node_cases import Case, assert_case, cases
from tests.passes.kernels.reference import Array, bits_of
from tests.passes.kernels.strategies import arrays, dtypes, shapes

CASES = [case for kernel in SHAPE for case in cases(kernel.operator)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_node_tests(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize(
    ("operator", "shape", "more", "attributes", "opset", "expected"),
    [
        ("Reshape", (2, 3), [], {"shape": [3, -1]}, 1, (3, 2)),
        ("Reshape", (2, 3), [], {"shape": [0, -1, 1], "consumed_inputs": [0]}, 1, (2, 3, 1)),
        ("Reshape", (2, 3), [ints(6)], {}, 5, (6,)),
        ("Reshape", (1, 1), [ints()], {}, 13, ()),
        ("Reshape", (0, 3), [ints(3, 0)], {"allowzero": 1}, 14, (3, 0)),
        ("Reshape", (0, 3), [ints(0, 5, 0)], {"allowzero": 1}, 14, (0, 5, 0)),
        ("Reshape", (0, 3), [ints(0, 3, 1)], {}, 14, (0, 3, 1)),
        ("Reshape", (0, 3), [ints(3, -1)], {}, 14, (3, 0)),
        ("Flatten", (2, 3, 4), [], {}, 1, (2, 12)),
        ("Flatten", (2, 3, 4), [], {"axis": 3}, 1, (24, 1)),
        ("Flatten", (2, 3, 4), [], {"axis": -1}, 11, (6, 4)),
        ("Flatten", (), [], {"axis": 0}, 11, (1, 1)),
        ("Squeeze", (1, 3, 1), [], {}, 1, (3,)),
        ("Squeeze", (1, 3, 1), [], {"axes": [2]}, 1, (1, 3)),
        ("Squeeze", (1, 3, 1), [], {"axes": [-1, 0]}, 11, (3,)),
        ("Squeeze", (1, 3, 1), [None], {}, 13, (3,)),
        ("Squeeze", (1, 3, 1), [ints(-3)], {}, 13, (3, 1)),
        ("Unsqueeze", (3,), [], {"axes": [2, 0]}, 1, (1, 3, 1)),
        ("Unsqueeze", (3,), [], {"axes": [-1]}, 11, (3, 1)),
        ("Unsqueeze", (), [ints(0, -1)], {}, 13, (1, 1)),
        ("Identity", (2, 0), [], {}, 1, (2, 0)),
    ],
)
def test_same_data_in_another_shape(
    operator: str, shape: tuple[int, ...], more: list[Any], attributes: dict[str, Any], opset: int, expected: Any
) -> None:
    data = iota(*shape)
    (value,) = evaluated(operator, [data, *more], attributes, opset)
    assert value.shape == expected
    assert value.ravel().tolist() == data.ravel().tolist()
    assert not np.shares_memory(value, data)


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [(None, None, [2, 3, 4]), (1, None, [3, 4]), (-2, -1, [3]), (-9, 9, [2, 3, 4]), (2, 1, []), (5, None, [])],
)
def test_shape_of_a_part(start: int | None, end: int | None, expected: list[int]) -> None:
    attributes = {name: value for name, value in (("start", start), ("end", end)) if value is not None}
    assert evaluated("Shape", [iota(2, 3, 4)], attributes, 15)[0].tolist() == expected


def test_shape_and_size_of_the_first_version() -> None:
    assert evaluated("Shape", [iota(2, 3)], {}, 1)[0].tolist() == [2, 3]
    assert evaluated("Size", [iota(2, 3)], {}, 1)[0].tolist() == 6
    assert evaluated("Shape", [iota()], {}, 13)[0].tolist() == []


@pytest.mark.parametrize(("shape", "target", "expected"), [((3, 1), (2, 1, 6), (2, 3, 6)), ((), (0,), (0,))])
def test_expand(shape: tuple[int, ...], target: tuple[int, ...], expected: tuple[int, ...]) -> None:
    (value,) = evaluated("Expand", [iota(*shape), ints(*target)], {}, 8)
    assert value.shape == expected
    np.testing.assert_array_equal(value, np.broadcast_to(iota(*shape), expected))


@pytest.mark.parametrize(
    ("value", "opset"),
    [
        (np.array([7], np.int64), 9),
        (np.array(-0.0, np.float16), 9),
        (np.array([True]), 9),
        (np.array([1.5], ml_dtypes.bfloat16), 20),
        (np.array([3], ml_dtypes.int4), 21),
    ],
)
def test_constant_of_shape(value: Array, opset: int) -> None:
    (result,) = evaluated("ConstantOfShape", [ints(2, 2)], {"value": tensor_attribute(value)}, opset)
    assert (result.dtype, result.tobytes()) == (value.dtype, value.tobytes() * 4)
    (zero,) = evaluated("ConstantOfShape", [ints()], {}, opset)
    assert (zero.dtype, zero.tolist()) == (np.dtype(np.float32), 0.0)


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({}, [[1, 0, 0], [0, 1, 0]]),
        ({"k": 1}, [[0, 1, 0], [0, 0, 1]]),
        ({"k": -1}, [[0, 0, 0], [1, 0, 0]]),
        ({"k": 9}, [[0, 0, 0], [0, 0, 0]]),
        ({"dtype": 7}, [[1, 0, 0], [0, 1, 0]]),
    ],
)
def test_eye_like(attributes: dict[str, int], expected: list[list[int]]) -> None:
    (value,) = evaluated("EyeLike", [np.zeros((2, 3), np.int32)], attributes, 9)
    assert value.tolist() == expected
    assert value.dtype == (np.int64 if "dtype" in attributes else np.int32)


@pytest.mark.parametrize(
    ("dtype", "values", "opset", "expected"),
    [
        (np.int32, (10, 4, -2), 11, [10, 8, 6]),
        (np.int64, (-(2**63), 2**63 - 1, 2**62), 11, [-(2**63), -(2**62), 0, 2**62]),
        (np.int16, (0, 0, 1), 11, []),
        (np.float32, (0, 0.7, 0.25), 11, [0, 0.25, 0.5]),
        (np.float64, (3, -1, 1), 11, []),
        (np.float16, (1, 5, 2), 27, [1, 3]),
        (ml_dtypes.bfloat16, (256, 250, -2), 27, [256, 254, 252]),
    ],
)
def test_range(dtype: Any, values: tuple[float, ...], opset: int, expected: list[float]) -> None:
    (value,) = evaluated("Range", [np.array(item, dtype) for item in values], {}, opset)
    assert (value.dtype, value.tolist()) == (np.dtype(dtype), expected)


def test_transpose_reverses_by_default() -> None:
    np.testing.assert_array_equal(evaluated("Transpose", [iota(2, 3, 4)], {}, 1)[0], iota(2, 3, 4).T)


TENTH, ONE, MANY, MINUS_ZERO, INFINITY = (np.array(item, np.float32) for item in (0.1, 1, 2**24, -0.0, np.inf))


@pytest.mark.parametrize(
    ("operator", "inputs", "attributes", "opset", "reason"),
    [
        ("Reshape", [iota(4), ints(-1, -1)], {}, 13, "[-1, -1] is no shape to reshape to"),
        ("Reshape", [iota(4), ints(-2)], {}, 13, "[-2] is no shape to reshape to"),
        ("Reshape", [iota(4), ints(4, 0)], {}, 13, "a 0 of [4, 0] copies no dimension of (4,)"),
        ("Reshape", [iota(4), ints(3, -1)], {}, 13, "the -1 of [3, -1] has no size for shape (4,)"),
        ("Reshape", [iota(0, 3), ints(0, -1)], {}, 13, "the -1 of [0, -1] has no size for shape (0, 3)"),
        ("Reshape", [iota(0), ints(0, -1)], {"allowzero": 1}, 14, "0 and -1 are together in a shape with allowzero"),
        ("Reshape", [iota(4), ints(5)], {}, 13, "shape (4,) has not as many elements as (5,)"),
        ("Reshape", [iota(4), ints(4).reshape(1, 1)], {}, 13, "input 1 has shape (1, 1), and not one dimension"),
        ("Reshape", [iota(4)], {}, 1, "attribute shape is not a known list of integers"),
        ("Flatten", [iota(2, 3)], {"axis": -1}, 9, "axis -1 is negative before opset 11"),
        ("Flatten", [iota(2, 3)], {"axis": 3}, 13, "axis 3 is outside rank 2"),
        ("Squeeze", [iota(1, 2)], {"axes": [-2]}, 1, "axis -2 is negative before opset 11"),
        ("Squeeze", [iota(1, 2), ints(1)], {}, 13, "dimensions [1] of (1, 2) are not all 1"),
        ("Squeeze", [iota(1, 2), ints()], {}, 13, "axes is empty, which means no axis to some and all to others"),
        ("Unsqueeze", [iota(2), ints(0, -3)], {}, 13, "axes [0, -3] name a dimension twice"),
        ("Unsqueeze", [iota(2)], {}, 11, "axes is left out"),
        ("Unsqueeze", [iota(2), ints(2)], {}, 13, "axis 2 is outside rank 2"),
        ("Expand", [iota(3), ints(2)], {}, 13, "shapes (3,) and (2,) do not broadcast: 3 meets 2 in dimension -1"),
        ("ConstantOfShape", [ints(-1)], {}, 9, "(-1,) has a negative size"),
        (
            "ConstantOfShape",
            [ints(1)],
            {"value": tensor_attribute(np.zeros(2, np.float32))},
            9,
            "attribute value is not a tensor of one element",
        ),
        (
            "ConstantOfShape",
            [ints(1)],
            {"value": tensor_attribute(np.zeros(1, ml_dtypes.bfloat16))},
            9,
            "ConstantOfShape of opset 9 has no result of type bfloat16",
        ),
        ("EyeLike", [iota(2)], {}, 9, "shape (2,) is no matrix"),
        ("EyeLike", [iota(2, 2)], {"dtype": 8}, 9, "EyeLike of opset 9 has no result of type string"),
        ("EyeLike", [iota(2, 2)], {"dtype": 99}, 9, "element type 99 is not known"),
        ("Range", [ints(0, 1), ints(1), ints(1)], {}, 11, "input 0 has shape (2,), and is no scalar"),
        ("Range", [ints(0), ints(1), ints(0)], {}, 11, "delta is 0"),
        ("Range", [ONE, INFINITY, ONE], {}, 11, "start, limit or delta is not finite"),
        ("Range", [ONE, ONE * 2, TENTH], {}, 11, "the numbers are rounded, and runtimes do so at different steps"),
        (
            "Range",
            [MANY, np.float32(2**24 + 4), ONE],
            {},
            11,
            "the numbers are rounded, and runtimes do so at different steps",
        ),
        ("Range", [MINUS_ZERO, ONE, ONE], {}, 11, "start is -0.0, which some runtimes make +0.0"),
        ("Range", [ONE - 1, TENTH * 3, TENTH], {}, 11, "how many numbers there are depends on rounding"),
        ("Transpose", [iota(2, 2)], {"perm": [0, 0]}, 13, "perm [0, 0] is no permutation of 2 axes"),
        ("Transpose", [iota(2, 2)], {"perm": [0]}, 13, "perm [0] is no permutation of 2 axes"),
        ("Shape", [iota(2)], {"start": 1.0}, 15, "attribute start is not a known integer"),
        ("Shape", [iota(2)], {"start": 1}, 13, "attribute start is not one of the operator's in this opset"),
    ],
)
def test_declines(operator: str, inputs: list[Any], attributes: dict[str, Any], opset: int, reason: str) -> None:
    assert declined(operator, inputs, attributes, opset) == reason


def test_nothing_is_allocated_to_know_a_type() -> None:
    kernels = {kernel.operator: kernel for kernel in SHAPE}
    huge = ints(2**40, 2**40)
    for operator, inputs in (("Expand", [np.ones((), np.float32), huge]), ("ConstantOfShape", [huge])):
        (result,) = kernels[operator].results(call_of(inputs))
        assert result.shape == (2**40, 2**40)


@pytest.mark.parametrize("name", types_of("Reshape"))
def test_every_type_keeps_its_bits(name: str) -> None:
    values = some_values(name)
    for operator, more in (("Identity", []), ("Reshape", [ints(3)]), ("Transpose", []), ("Unsqueeze", [ints(0)])):
        (value,) = evaluated(operator, [values, *more])
        assert value.dtype == values.dtype
        assert value.ravel().tolist() == values.tolist()


@given(st.data())
def test_moving_keeps_nan_bits(data: st.DataObject) -> None:
    values = data.draw(arrays(data.draw(dtypes()), data.draw(shapes(max_rank=4))))
    permutation = data.draw(st.permutations(range(values.ndim)))
    (value,) = evaluated("Transpose", [values], {"perm": list(permutation)}, 13)
    assert value.shape == tuple(values.shape[axis] for axis in permutation)
    back = [permutation.index(axis) for axis in range(values.ndim)]
    assert bits_of(evaluated("Transpose", [value], {"perm": back}, 13)[0]) == bits_of(values)
