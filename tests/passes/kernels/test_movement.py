"""Kernels of movement.py: ONNX's node tests, older versions, what is declined."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxfold.passes.kernels.movement import MOVEMENT
from tests.passes.kernels.hand_cases import declined, evaluated, ints, iota, some_values, types_of
from tests.passes.kernels.node_cases import Case, assert_case, cases

CASES = [case for kernel in MOVEMENT for case in cases(kernel.operator)]
LEAST, MOST = -(2**63), 2**63 - 1


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_node_tests(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize(
    ("attributes", "opset", "axis"), [({}, 1, 1), ({"axis": 0}, 4, 0), ({"axis": -1}, 11, 1), ({"axis": -2}, 13, 0)]
)
def test_concat(attributes: dict[str, int], opset: int, axis: int) -> None:
    a = iota(2, 2)
    np.testing.assert_array_equal(
        evaluated("Concat", [a, a + 9], attributes, opset)[0], np.concatenate([a, a + 9], axis)
    )
    np.testing.assert_array_equal(evaluated("Concat", [a], attributes, opset)[0], a)


@pytest.mark.parametrize(
    ("more", "attributes", "opset", "sizes"),
    [
        ([np.array([1, 4], np.float32)], {}, 1, [1, 4]),
        ([], {"split": [2, 3]}, 1, [2, 3]),
        ([], {"split": [0, 5]}, 2, [0, 5]),
        ([], {"split": [3, 2], "axis": -1}, 11, [3, 2]),
        ([], {}, 2, [5]),
        ([ints(1, 1, 3)], {}, 13, [1, 1, 3]),
        ([], {"num_outputs": 2}, 18, [3, 2]),
        ([None], {"num_outputs": 3}, 18, [2, 2, 1]),
    ],
)
def test_split(more: list[Any], attributes: dict[str, Any], opset: int, sizes: list[int]) -> None:
    parts = evaluated("Split", [iota(5), *more], attributes, opset, len(sizes))
    assert [len(part) for part in parts] == sizes
    np.testing.assert_array_equal(np.concatenate(parts), iota(5))


@pytest.mark.parametrize(
    ("starts", "ends", "axes", "steps", "expected"),
    [
        ([1], [3], None, None, [1, 2]),
        ([-2], [MOST], None, None, [3, 4]),
        ([-99], [99], None, None, [0, 1, 2, 3, 4]),
        ([3], [1], None, None, []),
        ([9], [10], None, None, []),
        ([0], [5], [0], [2], [0, 2, 4]),
        ([1], [5], [-1], [3], [1, 4]),
        ([-1], [LEAST], [0], [-1], [4, 3, 2, 1, 0]),
        ([MOST], [-6], [0], [-2], [4, 2, 0]),
        ([3], [0], [0], [-1], [3, 2, 1]),
        ([0], [LEAST], [0], [LEAST], [0]),
        ([0], [MOST], [0], [MOST], [0]),
        ([0], [3], [0], [-1], []),
    ],
)
def test_slice(starts: Any, ends: Any, axes: Any, steps: Any, expected: list[int]) -> None:
    more = [None if item is None else ints(*item) for item in (axes, steps)]
    assert evaluated("Slice", [iota(5), ints(*starts), ints(*ends), *more], {}, 13)[0].tolist() == expected
    if steps is None and (axes is None or axes[0] >= 0):
        attributes = {name: value for name, value in (("starts", starts), ("ends", ends), ("axes", axes)) if value}
        assert evaluated("Slice", [iota(5)], attributes, 1)[0].tolist() == expected


@given(st.integers(0, 5), st.data())
def test_slice_is_that_of_python(size: int, data: st.DataObject) -> None:
    near = st.integers(-size, size + 2)
    start, end, step = data.draw(near), data.draw(near), data.draw(st.sampled_from([1, 2, 3, -1, -2]))
    (value,) = evaluated("Slice", [iota(size), ints(start), ints(end), ints(0), ints(step)], {}, 13)
    assert value.tolist() == iota(size)[start:end:step].tolist()


@pytest.mark.parametrize(
    ("attributes", "opset", "expected"),
    [
        ({"paddings": [1, 2]}, 1, [0, 0, 1, 2, 0, 0]),
        ({"pads": [1, 2], "value": 0.1}, 2, [0.1, 0, 1, 2, 0.1, 0.1]),
        ({"pads": [-1, 1]}, 2, [1, 2, 0]),
        ({"pads": [2, 1], "mode": "reflect"}, 2, [2, 1, 0, 1, 2, 1]),
        ({"pads": [2, 1], "mode": "edge"}, 2, [0, 0, 0, 1, 2, 2]),
    ],
)
def test_pad_by_attributes(attributes: dict[str, Any], opset: int, expected: list[float]) -> None:
    (value,) = evaluated("Pad", [iota(3)], attributes, opset)
    assert value.tolist() == [np.float32(item) for item in expected]


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge", "wrap"])
def test_pad_is_that_of_numpy(mode: Any) -> None:
    pads, data = [1, 0, 2, 2, 1, 0], iota(3, 2, 4)
    (value,) = evaluated("Pad", [data, ints(*pads)], {"mode": mode}, 19)
    np.testing.assert_array_equal(value, np.pad(data, list(zip(pads[:3], pads[3:], strict=True)), mode=mode))
    (value,) = evaluated("Pad", [data, ints(1, 2), None, ints(-1)], {"mode": mode}, 19)
    np.testing.assert_array_equal(value, np.pad(data, [(0, 0), (0, 0), (1, 2)], mode=mode))


def test_pad_wraps_more_than_once() -> None:
    assert evaluated("Pad", [iota(2), ints(3, 4)], {"mode": "wrap"}, 19)[0].tolist() == [1, 0, 1, 0, 1, 0, 1, 0, 1]


@pytest.mark.parametrize(
    ("pads", "expected"), [((-2, 2), [2, 0, 0]), ((3, -2), [0, 0, 0, 0]), ((-3, 1), [0]), ((0, -3), [])]
)
def test_pad_removes(pads: tuple[int, int], expected: list[int]) -> None:
    assert evaluated("Pad", [iota(3), ints(*pads)], {}, 13)[0].tolist() == expected


@pytest.mark.parametrize(
    ("dtype", "value"),
    [(ml_dtypes.bfloat16, 3), (np.bool_, True), (object, "x"), (ml_dtypes.int4, -8), (np.complex64, 1j)],
)
def test_pad_of_other_types(dtype: Any, value: Any) -> None:
    data, filler = np.array([value, value], dtype), np.array(value, dtype)
    zero = "" if dtype is object else np.zeros((), dtype)
    assert evaluated("Pad", [data, ints(1, 0)], {})[0].tolist() == [zero, value, value]
    assert evaluated("Pad", [data, ints(0, 1), filler], {})[0].tolist() == [value] * 3


def test_tile() -> None:
    np.testing.assert_array_equal(evaluated("Tile", [iota(2, 3), ints(2, 0)], {}, 6)[0], np.zeros((4, 0)))
    np.testing.assert_array_equal(evaluated("Tile", [iota(2, 3), ints(3, 2)], {}, 13)[0], np.tile(iota(2, 3), (3, 2)))
    count, axis = np.array(2, np.float32), np.array([1], np.float32)
    np.testing.assert_array_equal(evaluated("Tile", [iota(2, 3), count, axis], {}, 1)[0], np.tile(iota(2, 3), 2))


@pytest.mark.parametrize("diagonal", [-9, -1, 0, 2, 9])
@pytest.mark.parametrize("upper", [0, 1])
def test_trilu(diagonal: int, upper: int) -> None:
    data = iota(2, 3, 4) + 1
    expected = (np.triu if upper else np.tril)(data, diagonal)
    np.testing.assert_array_equal(evaluated("Trilu", [data, np.array(diagonal)], {"upper": upper}, 14)[0], expected)


@pytest.mark.parametrize(("opset", "mode"), [(1, None), (11, "DCR"), (11, "CRD"), (28, "DCR"), (28, "CRD")])
def test_depth_and_space(opset: int, mode: str | None) -> None:
    attributes: dict[str, Any] = {"blocksize": 2} if mode is None else {"blocksize": 2, "mode": mode}
    data = iota(1, 8, 2, 3)
    (space,) = evaluated("DepthToSpace", [data], attributes, opset)
    for c, y, x in np.ndindex(2, 4, 6):
        block = y % 2 * 2 + x % 2
        channel = c * 4 + block if mode == "CRD" else block * 2 + c
        assert space[0, c, y, x] == data[0, channel, y // 2, x // 2]
    if opset in (1, 28):
        np.testing.assert_array_equal(evaluated("SpaceToDepth", [space], attributes, opset)[0], data)


def test_reverse_sequence() -> None:
    (value,) = evaluated("ReverseSequence", [iota(3, 2), ints(0, 3)], {}, 10)
    assert value.tolist() == [[0, 5], [2, 3], [4, 1]]


@pytest.mark.parametrize("name", types_of("Pad"))
def test_every_type_is_moved(name: str) -> None:
    values = some_values(name)
    first, *_, last = items = values.tolist()
    assert evaluated("Pad", [values, ints(1, 1)], {"mode": "edge"})[0].tolist() == [first, *items, last]
    assert evaluated("Pad", [values, ints(0, 2), values[1:2]])[0].tolist() == [*items, items[1], items[1]]
    if name == "FLOAT8E8M0":
        assert declined("Pad", [values, ints(0, 1)]) == "float8e8m0 has no zero"


@pytest.mark.parametrize(
    ("operator", "inputs", "attributes", "opset", "reason"),
    [
        ("Concat", [iota(2, 3), iota(2, 2)], {"axis": 0}, 13, "shapes (2, 3) and (2, 2) do not join at axis 0"),
        ("Concat", [iota(2), iota(2, 2)], {"axis": 0}, 13, "shapes (2,) and (2, 2) do not join at axis 0"),
        ("Concat", [iota()], {"axis": 0}, 13, "axis 0 is outside rank 0"),
        ("Concat", [iota(2)], {"axis": -1}, 4, "axis -1 is negative before opset 11"),
        ("Concat", [iota(2)], {}, 4, "attribute axis is not a known integer"),
        ("Split", [iota(4), ints(1, 2, 1)], {}, 13, "parts of [1, 2, 1] are no 2 parts of 4"),
        ("Split", [iota(4), ints(1, 2)], {}, 13, "parts of [1, 2] are no 2 parts of 4"),
        ("Split", [iota(4), ints(5, -1)], {}, 13, "parts of [5, -1] are no 2 parts of 4"),
        ("Split", [iota(5)], {}, 13, "5 is not split into 2 equal parts"),
        ("Split", [iota(4)], {}, 18, "attribute num_outputs is not a known integer"),
        ("Split", [iota(4), ints(2, 2)], {"num_outputs": 2}, 18, "how to split is given in two ways"),
        ("Split", [iota(5)], {"num_outputs": 4}, 18, "parts of [2, 2, 2, -1] are no 2 parts of 5"),
        ("Slice", [iota(4), ints(0), ints(1), ints(0), ints(0)], {}, 13, "a step is 0"),
        (
            "Slice",
            [iota(4), ints(0), ints(1), ints(0, 1)],
            {},
            13,
            "starts, ends, axes and steps are not of one length",
        ),
        ("Slice", [iota(4), ints(0, 0), ints(1, 1), ints(0, -1)], {}, 13, "axes [0, -1] name a dimension twice"),
        ("Slice", [iota(4), ints(0, 0), ints(1, 1)], {}, 13, "axis 1 is outside rank 1"),
        ("Slice", [iota(4), ints(0), ints(1), ints(-1)], {}, 10, "axis -1 is negative before opset 11"),
        (
            "Slice",
            [iota(4), ints(-5), ints(LEAST), ints(0), ints(-1)],
            {},
            13,
            "a start before the first element goes back, which runtimes disagree on",
        ),
        (
            "Slice",
            [iota(4), ints(3), ints(2**31 - 1), ints(0), ints(-1)],
            {},
            13,
            "an end of INT_MAX goes back, which runtimes disagree on",
        ),
        ("Slice", [iota(4)], {"starts": [0]}, 1, "attribute ends is not a known list of integers"),
        ("Pad", [iota(4), ints(1)], {}, 13, "1 pads are not two for each of 1 axes"),
        ("Pad", [iota(4), ints(-3, -2)], {}, 13, "more is removed than the 4 elements that there are"),
        ("Pad", [iota(4), ints(4, 0)], {"mode": "reflect"}, 13, "pads (4, 0) are more than 4 elements reflect"),
        ("Pad", [iota(4), ints(1, 1)], {"mode": "wrap"}, 18, "mode 'wrap' is not known"),
        ("Pad", [iota(4), ints(-1, 1)], {"mode": "edge"}, 18, "mode edge of opset 18 says nothing of negative pads"),
        ("Pad", [iota(4)], {"paddings": [-1, 1]}, 1, "mode constant of opset 1 says nothing of negative pads"),
        ("Pad", [iota(0), ints(1, 1)], {"mode": "edge"}, 18, "an empty dimension has no elements to pad with"),
        ("Pad", [iota(4), ints(1, 1), iota(2)], {}, 18, "input 2 has shape (2,), and is no scalar"),
        ("Split", [iota(4), np.array([np.nan, 4], np.float32)], {}, 1, "[nan, 4.0] are no whole numbers"),
        ("Tile", [iota(4), iota(1) + 0.5, iota(1)], {}, 1, "[0.5] are no whole numbers"),
        ("Tile", [iota(4), ints(1, 1)], {}, 13, "[1, 1] repeats no data of rank 1"),
        ("Tile", [iota(4), ints(-1)], {}, 13, "[-1] repeats no data of rank 1"),
        ("Trilu", [iota(4)], {}, 14, "shape (4,) has no matrices"),
        ("Trilu", [np.array([["a"]], object)], {}, 14, "strings have no zero"),
        ("DepthToSpace", [iota(1, 3, 1, 1)], {"blocksize": 2}, 13, "shape (1, 3, 1, 1) has no blocks of 2"),
        ("DepthToSpace", [iota(1, 4, 1, 1)], {"blocksize": 2, "mode": "X"}, 13, "mode 'X' is not known"),
        ("SpaceToDepth", [iota(1, 1, 2, 3)], {"blocksize": 2}, 13, "shape (1, 1, 2, 3) has no blocks of 2"),
        ("SpaceToDepth", [iota(2, 2)], {"blocksize": 2}, 13, "shape (2, 2) has no blocks of 2"),
        ("ReverseSequence", [iota(2, 2), ints(3, 1)], {}, 10, "lengths [3, 1] are none of 2 sequences of up to 2"),
        (
            "ReverseSequence",
            [iota(2, 2), ints(1, 1)],
            {"time_axis": 1},
            10,
            "axes 1 and 1 are not the first two of shape (2, 2)",
        ),
    ],
)
def test_declines(operator: str, inputs: list[Any], attributes: dict[str, Any], opset: int, reason: str) -> None:
    assert declined(operator, inputs, attributes, opset, 2 if operator == "Split" else 1) == reason
