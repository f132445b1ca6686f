"""Sizes for open dimensions, and values that fit them."""

from __future__ import annotations

import numpy as np
import pytest

from maxfold.model.dtypes import DTYPES
from maxfold.optimizer import load
from maxfold.optimizer.feeds import draw
from maxfold.optimizer.index_bounds import index_bounds
from maxfold.optimizer.runtimes import Dim, Port
from maxfold.optimizer.sizes import SIZES, Sizes, drawn_shape
from tests.text import model

CHOICE = Sizes(batch=2, channels=3, space=64, other=8)


def port(name: str, *shape: Dim, dtype: str = "FLOAT") -> Port:
    found = next(item for item in DTYPES if item.name == dtype)
    return Port((name,), f"tensor({found})", found, shape)


@pytest.mark.parametrize(
    ("shape", "drawn"),
    [
        (("N", "M"), [2, 8]),
        ((None, 3, None, None), [2, 3, 64, 64]),
        ((None, None, None, 3), [2, 64, 64, 3]),
        ((None, None, None, None), [2, 3, 64, 64]),
        ((None, 1, None, None, None), [2, 1, 64, 64, 64]),
        (("batch", "sequence", 80), [2, 8, 80]),
        ((2, None, 128), [2, 2, 128]),
        (("sequence", "batch_size", 80), [2, 2, 80]),
        (("N", "past + 1", "2*past"), [2, 9, 16]),
        (("N", "2*\u00b2"), [2, 16]),
        ((), []),
    ],
)
def test_kinds_of_axes(shape: tuple[Dim, ...], drawn: list[int]) -> None:
    assert drawn_shape(port("x", *shape), CHOICE, {}, 2) == drawn


def test_volumes_stay_small() -> None:
    shapes = [drawn_shape(port("x", None, None, None, None, None), sizes, {}, 2) for sizes in SIZES]
    assert max(max(shape[2:]) for shape in shapes) == 64


def test_a_symbol_has_one_size() -> None:
    symbols = {"M": 5}
    assert drawn_shape(port("x", "N", "M"), CHOICE, symbols, 2) == [2, 5]
    assert drawn_shape(port("y", 1, 1, "N"), CHOICE, symbols, 2) == [1, 1, 2]


def test_bounds_of_openvino_hold() -> None:
    bounded = Port(("x",), "f32", port("x").dtype, (None, None), bounds=((1, 1), (100, None)))
    assert drawn_shape(bounded, CHOICE, {}, 2) == [1, 100]


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("attention_mask", 1, 1),
        ("token_type_ids", 0, 1),
        ("sr", 16000, 16000),
        ("sampling_rate", 16000, 16000),
        ("input_lengths", 8, 8),
        ("ids", 0, 2),
    ],
)
def test_integers_are_what_their_name_says(name: str, least: int, most: int) -> None:
    (drawn,) = draw([port(name, "N", "M", dtype="INT64")], CHOICE, {}, np.random.default_rng(0))
    assert (drawn.min(), drawn.max()) == (least, most)


@pytest.mark.parametrize("dtype", ["INT64", "BOOL", "FLOAT"])
def test_masks_of_padded_data(dtype: str) -> None:
    (drawn,) = draw([port("mask", 50, 1, 7, dtype=dtype)], CHOICE, {}, np.random.default_rng(0), is_padded=True)
    assert set(map(int, drawn.reshape(-1))) == {0, 1}
    assert set(drawn.sum(axis=-1).reshape(-1)) == set(range(1, 7))
    assert (np.diff(drawn.astype(int)) <= 0).all()


def test_lengths_of_padded_data() -> None:
    ports = [port("lengths", 100, dtype="INT64"), port("x", 100, 7)]
    (drawn, _) = draw(ports, CHOICE, {}, np.random.default_rng(0), is_padded=True)
    assert set(drawn) == set(range(1, 7))


@pytest.mark.parametrize("shape", [(), (0,), (3, 0)])
def test_masks_without_elements(shape: tuple[int, ...]) -> None:
    (drawn,) = draw([port("mask", *shape)], CHOICE, {}, np.random.default_rng(0), is_padded=True)
    assert drawn.shape == shape


@pytest.mark.parametrize(
    ("body", "bound"),
    [
        ("y = Gather(table, x)", 7),
        ("i = Cast<to = 6>(x)\n u = Unsqueeze(i, o)\n y = Gather<axis = 1>(table, u)", 4),
        ("a = Gather<axis = 1>(table, x)\n b = Gather(table, x)\n y = Add(a, b)", 4),
        ("y = OneHot(x, o, v)", 1),
        ("n = Neg(x)\n y = Gather(table, n)", None),
    ],
)
def test_indices_stay_inside(body: str, bound: int | None) -> None:
    source = model(
        f"g (int64[N] x) => (float[A] y) {{ {body} }}", opset=17,
        constants={"table": np.zeros((7, 4), np.float32), "o": np.array([1]), "v": np.zeros(2, np.float32)},
    )  # fmt: skip
    bounds = index_bounds(load(source.SerializeToString()))
    assert bounds == ({} if bound is None else {"x": bound})
    (drawn,) = draw([port("x", 500, dtype="INT64")], SIZES[0], {}, np.random.default_rng(0), bounds)
    assert drawn.max() == (2 if bound is None else bound - 1)
