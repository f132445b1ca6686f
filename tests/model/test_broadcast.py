"""Broadcast shapes against numpy, against index arithmetic, and against each rule's own examples."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxfold.model.broadcast import (
    BroadcastError,
    align,
    equal_shape,
    legacy_align,
    legacy_shape,
    numpy_shape,
    pdpd_shape,
)
from tests.passes.kernels.strategies import broadcast_shapes, legacy_shapes, pdpd_shapes, shapes

Shape = tuple[int, ...]


@given(data=st.data(), count=st.integers(0, 5))
def test_numpy_shape_is_numpys(data: st.DataObject, count: int) -> None:
    drawn = data.draw(broadcast_shapes(count))
    assert numpy_shape(*drawn) == np.broadcast_shapes(*drawn)
    assert numpy_shape(*map(list, drawn)) == numpy_shape(*drawn)


@given(drawn=st.lists(shapes(max_rank=4), min_size=1, max_size=4))
def test_numpy_shape_refuses_what_numpy_refuses(drawn: list[Shape]) -> None:
    try:
        expected = np.broadcast_shapes(*drawn)
    except ValueError:
        with pytest.raises(BroadcastError):
            numpy_shape(*drawn)
    else:
        assert numpy_shape(*drawn) == expected


@pytest.mark.parametrize(
    ("drawn", "expected"),
    [
        # The examples of "Broadcasting in ONNX".
        ([(2, 3, 4, 5), ()], (2, 3, 4, 5)),
        ([(2, 3, 4, 5), (5,)], (2, 3, 4, 5)),
        ([(4, 5), (2, 3, 4, 5)], (2, 3, 4, 5)),
        ([(1, 4, 5), (2, 3, 1, 1)], (2, 3, 4, 5)),
        ([(3, 4, 5), (2, 1, 1, 1)], (2, 3, 4, 5)),
        ([(8, 1, 6, 1), (7, 1, 5)], (8, 7, 6, 5)),
        ([], ()),
        ([(), ()], ()),
        ([(0,), (1,), ()], (0,)),
        ([(2, 0, 3), (1, 3)], (2, 0, 3)),
        ([(1 << 70, 1), (1 << 80,)], (1 << 70, 1 << 80)),
    ],
)
def test_numpy_shape(drawn: list[Shape], expected: Shape) -> None:
    assert numpy_shape(*drawn) == expected


@pytest.mark.parametrize(
    ("drawn", "reason"),
    [
        ([(2, 3), (2,)], "shapes (2, 3) and (2,) do not broadcast: 3 meets 2 in dimension -1"),
        ([(1, 3), (4, 1), (5, 3)], "shapes (4, 1) and (5, 3) do not broadcast: 4 meets 5 in dimension -2"),
        ([(0,), (2,)], "shapes (0,) and (2,) do not broadcast: 0 meets 2 in dimension -1"),
        ([(2, -1)], "shape (2, -1) has a negative size"),
    ],
)
def test_numpy_shape_reasons(drawn: list[Shape], reason: str) -> None:
    with pytest.raises(BroadcastError) as error:
        numpy_shape(*drawn)
    assert str(error.value) == reason


def test_equal_shape() -> None:
    assert equal_shape((2, 3)) == (2, 3)
    assert equal_shape((2, 3), [2, 3], (2, 3)) == (2, 3)
    assert equal_shape((), ()) == ()


@pytest.mark.parametrize(
    ("drawn", "reason"),
    [
        ([(2, 3), (1, 3)], "shapes (2, 3) and (1, 3) differ and nothing broadcasts them"),
        ([(2,), (2,), ()], "shapes (2,) and () differ and nothing broadcasts them"),
        ([(), (1,)], "shapes () and (1,) differ and nothing broadcasts them"),
        ([(-1,), (-1,)], "shape (-1,) has a negative size"),
    ],
)
def test_equal_shape_reasons(drawn: list[Shape], reason: str) -> None:
    with pytest.raises(BroadcastError) as error:
        equal_shape(*drawn)
    assert str(error.value) == reason


@pytest.mark.parametrize(
    ("b", "axis", "aligned"),
    [
        # The examples of ONNX Add-6, with a of (2, 3, 4, 5).
        ((), None, (1, 1, 1, 1)),
        ((1, 1), None, (1, 1, 1, 1)),
        ((5,), None, (1, 1, 1, 5)),
        ((4, 5), None, (1, 1, 4, 5)),
        ((3, 4), 1, (1, 3, 4, 1)),
        ((2,), 0, (2, 1, 1, 1)),
        # Beyond them.
        ((2, 3, 4, 5), None, (2, 3, 4, 5)),
        ((2, 3, 4, 5), 0, (2, 3, 4, 5)),
        ((3, 4), -3, (1, 3, 4, 1)),
        ((5,), -1, (1, 1, 1, 5)),
        ((1,), 7, (1, 1, 1, 1)),
    ],
)
def test_legacy(b: Shape, axis: int | None, aligned: Shape) -> None:
    a = (2, 3, 4, 5)
    assert legacy_align(a, b, axis) == aligned
    assert legacy_shape(a, b, axis) == a


@given(drawn=legacy_shapes())
def test_legacy_align_makes_numpy_do_it(drawn: tuple[Shape, Shape, int | None]) -> None:
    a, b, axis = drawn
    aligned = legacy_align(a, b, axis)
    assert len(aligned) == len(a)
    assert math.prod(aligned) == math.prod(b)
    assert np.broadcast_shapes(a, aligned) == legacy_shape(a, b, axis) == a


def test_legacy_axis_decides_on_square_shapes() -> None:
    assert legacy_align((3, 3), (3,), 0) == (3, 1)
    assert legacy_align((3, 3), (3,), 1) == legacy_align((3, 3), (3,), None) == (1, 3)


@pytest.mark.parametrize(
    ("a", "b", "axis", "reason"),
    [
        ((3,), (2, 3), None, "shape (2, 3) has more dimensions than shape (3,) that it is broadcast to"),
        ((), (1,), None, "shape (1,) has more dimensions than shape () that it is broadcast to"),
        ((2, 3, 4), (3,), None, "shape (3,) is not found in shape (2, 3, 4) at the end"),
        ((2, 3, 4), (3,), 0, "shape (3,) is not found in shape (2, 3, 4) at axis 0"),
        ((2, 3, 4), (3, 1), 1, "shape (3, 1) is not found in shape (2, 3, 4) at axis 1"),
        ((2, 1, 4), (3, 4), 1, "shape (3, 4) is not found in shape (2, 1, 4) at axis 1"),
        ((1,), (0,), None, "shape (0,) is not found in shape (1,) at the end"),
        ((2, 3), (2, 3), 1, "shape (2, 3) does not fit into 2 dimensions at axis 1"),
        ((2, 3), (2, 3), -1, "shape (2, 3) does not fit into 2 dimensions at axis -1"),
        ((2, 3), (3,), 2, "shape (3,) does not fit into 2 dimensions at axis 2"),
        ((2, 3), (3,), -3, "shape (3,) does not fit into 2 dimensions at axis -3"),
        ((2, 3), (-3,), None, "shape (-3,) has a negative size"),
    ],
)
def test_legacy_reasons(a: Shape, b: Shape, axis: int | None, reason: str) -> None:
    with pytest.raises(BroadcastError) as error:
        legacy_shape(a, b, axis)
    assert str(error.value) == reason


@pytest.mark.parametrize(
    ("a", "b", "axis"),
    [
        ((2, 3, 4), (3,), 1),
        ((2, 3, 4), (2,), 0),
        ((2, 3, 4), (4,), -1),
        ((2, 3, 4), (2, 3), 0),
        ((2, 3, 4), (1, 3), 0),
        ((2, 3, 4), (3, 1), 1),
        ((2, 3, 4), (1, 4), 1),
        ((2, 3, 4), (), 0),
        ((2, 3), (2, 3), 0),
        ((2, 0, 3), (3,), 2),
        ((2, 0), (1,), 1),
        ((), (), 0),
        ((), (), -1),
    ],
)
def test_pdpd(a: Shape, b: Shape, axis: int) -> None:
    assert pdpd_shape(a, b, axis) == a
    assert np.broadcast_shapes(a, align(b, len(a), axis)) == a


@given(drawn=pdpd_shapes())
def test_pdpd_gives_the_first_shape(drawn: tuple[Shape, Shape, int]) -> None:
    a, b, axis = drawn
    assert pdpd_shape(a, b, axis) == np.broadcast_shapes(a, align(b, len(a), axis)) == a


@pytest.mark.parametrize(
    ("a", "b", "axis", "reason"),
    [
        ((2, 3, 4), (4,), 0, "shape (4,) does not broadcast to shape (2, 3, 4) at axis 0: 4 meets 2"),
        ((2, 1, 4), (2, 3, 4), 0, "shape (2, 3, 4) does not broadcast to shape (2, 1, 4) at axis 0"),
        ((1,), (0,), 0, "shape (0,) does not broadcast to shape (1,) at axis 0: 0 meets 1 in dimension 0"),
        ((3,), (2, 3, 4), 1, "shape (2, 3, 4) does not fit into 1 dimensions at axis 1"),
        ((3,), (1, 3), -1, "shape (1, 3) does not fit into 1 dimensions at axis -1"),
        ((2, 3), (3, 1), 1, "shape (3, 1) does not fit into 2 dimensions at axis 1"),
        ((2, 3), (2, 3), 1, "shape (2, 3) does not fit into 2 dimensions at axis 1"),
        ((2, 3), (3,), -2, "shape (3,) does not fit into 2 dimensions at axis -2"),
        ((2, 3), (), 3, "shape () does not fit into 2 dimensions at axis 3"),
        ((2, -3), (2,), 0, "shape (2, -3) has a negative size"),
    ],
)
def test_pdpd_reasons(a: Shape, b: Shape, axis: int, reason: str) -> None:
    with pytest.raises(BroadcastError) as error:
        pdpd_shape(a, b, axis)
    assert str(error.value).startswith(reason)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("b", "rank", "axis", "expected"),
    [
        ((3,), 3, 1, (1, 3, 1)),
        ((3,), 3, -1, (1, 1, 3)),
        ((3, 4), 4, 0, (3, 4, 1, 1)),
        ((), 2, 2, (1, 1)),
        ((), 0, -1, ()),
        ((2, 3), 2, -1, (2, 3)),
    ],
)
def test_align(b: Shape, rank: int, axis: int, expected: Shape) -> None:
    assert align(b, rank, axis) == expected


@pytest.mark.parametrize(("rank", "axis"), [(2, 2), (2, -2), (0, 0), (0, -1)])
def test_align_refuses_what_does_not_fit(rank: int, axis: int) -> None:
    with pytest.raises(BroadcastError, match=f"does not fit into {rank} dimensions at axis {axis}$"):
        align((3,), rank, axis)
