"""Makers of shape arithmetic: what exporters compute from the shapes of inputs, and all that uses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.random_models.builder import Builder, Value
from tests.random_models.trial import Refused
from tests.random_models.values import F32, I32, I64

_LONGEST = 8
_LARGEST = 1 << 40


def inputs(b: Builder) -> None:
    """Tensors of open and of known sizes; what they hold hardly matters."""
    dims: tuple[tuple[int | str, ...], ...] = (("N", 3), ("N",), (2, "N"), ("N", 2, 3), (3,), (2,), (1, 4), ("N", "N"))
    for _ in range(b.random.randint(2, 3)):
        b.input(F32, b.random.choice(dims))
    shape(b)


def whole(b: Builder) -> Value:
    """A short vector of integers, or one number."""
    found = b.find(
        lambda value: value.dtype == I64 and value.rank < 2 and all(a.size <= _LONGEST for a in value.arrays)
    )
    return shape(b) if found is None or b.chance(0.1) else found


def number(b: Builder, value: Value) -> Value:
    """A constant that a value can be combined with; it may raise the rank or the length."""
    drawn = b.source.integers(-3, 10, b.random.choice(((), (), (1,), b.shape_for(value))))
    return b.constant(np.asarray(drawn, I64))


def other(b: Builder, value: Value) -> Value:
    """Another vector or number that a value can be combined with."""
    found = b.find(lambda item: item.dtype == I64 and item.rank < 2 and item.fits(value))
    return found if found is not None and b.chance(0.6) else number(b, value)


def shape(b: Builder) -> Value:
    """Shape, of a part of the axes sometimes."""
    x = b.find(lambda value: value.dtype == F32)
    if x is None:
        raise Refused("no tensor")
    ends: dict[str, Any] = {"start": b.random.randint(-2, 1)} if b.opset >= 15 and b.chance(0.3) else {}
    return b.emit("Size", x) if b.chance(0.05) else b.emit("Shape", x, **ends)


def part(b: Builder) -> Value:
    """One or some elements of a vector."""
    value = whole(b)
    if value.rank != 1 or not value.is_static or not value.shape[0]:
        raise Refused("no vector")
    place = b.random.randrange(-value.shape[0], value.shape[0])
    if b.chance(0.5):
        return b.emit("Gather", value, b.scalar(place) if b.chance(0.6) else b.ints(place))
    return b.emit("Slice", value, b.ints(b.random.randint(0, 1)), b.ints(b.random.choice((1, 2, -1, 1 << 62))))


def arithmetic(b: Builder) -> Value:
    """One operation of two vectors or numbers."""
    value = whole(b)
    operator = b.random.choice(("Add", "Add", "Sub", "Mul", "Max", "Min", "Div", "Mod"))
    right = other(b, value)
    if operator in ("Div", "Mod"):
        right = b.constant(np.asarray(b.source.integers(1, 5, b.shape_for(value)), I64))
    pair = (right, value) if operator not in ("Div", "Mod") and b.chance(0.4) else (value, right)
    return checked(b, lambda: b.emit(operator, *pair))


def checked(b: Builder, make: Callable[[], Value]) -> Value:
    """What is made, if it stays in the range of sizes."""
    made = make()
    if any(array.size and np.abs(array.astype(np.float64)).max() > _LARGEST for array in made.arrays):
        raise Refused("too large")
    return made


def tree(b: Builder) -> Value:
    """A tree of one operation over variables and constants, in one of its orders."""
    operator = b.random.choice(("Add", "Add", "Add", "Mul", "Max", "Min"))
    made = whole(b)
    for _ in range(b.random.randint(2, 4)):
        right = number(b, made) if b.chance(0.6) else other(b, made)
        pair = (right, made) if b.chance(0.3) else (made, right)
        made = checked(b, lambda pair=pair: b.emit(operator, *pair))  # type: ignore[misc]
    return made


def equal_trees(b: Builder) -> Value:
    """One sum in two orders, with a constant on the way that only one of them has."""
    first = whole(b)
    second, constant = other(b, first), number(b, first)
    one = b.emit("Add", b.emit("Add", first, constant), second)
    b.emit(b.random.choice(("Neg", "Abs")), b.emit("Add", one, number(b, one)))
    return b.emit("Add", b.emit("Add", second, first), constant)


def joined(b: Builder) -> Value:
    """Vectors and numbers in a row."""
    items = [whole(b) for _ in range(b.random.randint(2, 3))]
    return b.emit("Concat", *(item if item.rank else b.emit("Reshape", item, b.ints(1)) for item in items), axis=0)


def narrowed(b: Builder) -> Value:
    """Through another type and back."""
    value = b.emit("Cast", whole(b), to=b.random.choice((6, 6, 1, 11, 9)))
    if value.dtype == I32 and b.chance(0.6):
        value = b.emit(b.random.choice(("Add", "Mul")), value, b.constant(np.array(b.random.randint(0, 4), I32)))
    return b.emit("Cast", value, to=7)


def chosen(b: Builder) -> Value:
    """Where, or a comparison as a number."""
    value = whole(b)
    test = b.emit(b.random.choice(("Equal", "Less", "Greater")), value, other(b, value))
    if b.chance(0.3):
        return b.emit("Cast", test, to=7)
    return b.emit("Where", test, value, other(b, value))


def reduced(b: Builder) -> Value:
    """All elements as one."""
    value = whole(b)
    if value.rank != 1:
        raise Refused("no vector")
    operator = b.random.choice(("ReduceProd", "ReduceMax", "ReduceMin"))
    return checked(b, lambda: b.emit(operator, value, keepdims=b.random.randint(0, 1)))


def one_sign(b: Builder) -> Value:
    """Neg or Abs, which end an arithmetic that is wanted for itself."""
    return b.emit(b.random.choice(("Neg", "Abs")), whole(b))


def used(b: Builder) -> Value:
    """A tensor whose shape was computed."""
    value = whole(b)
    if value.rank != 1 or not value.is_static:
        raise Refused("no vector")
    sizes = b.emit("Min", b.emit("Max", value, b.scalar(b.random.randint(0, 1))), b.scalar(4))
    if b.chance(0.4):
        return b.emit("ConstantOfShape", sizes)
    x = b.find(lambda item: item.dtype == F32)
    if x is None:
        raise Refused("no tensor")
    if b.chance(0.4):
        return b.emit("Reshape", x, b.emit("Concat", sizes, b.ints(-1), axis=0))
    return b.emit(b.random.choice(("Expand", "Tile")), x, sizes)


def widened(b: Builder) -> Value:
    """Float tensors whose shapes come from operands on the way: constants that only some sums need."""
    x = b.find(lambda value: value.dtype == F32 and 0 < value.rank < 4)
    if x is None:
        raise Refused("no tensor")
    made = x
    for _ in range(b.random.randint(2, 4)):
        made = b.emit("Add", made, b.partner(x, 0.3))
    return made


def tested(b: Builder) -> Value:
    """A condition that follows from sizes."""
    value = whole(b)
    return b.emit(b.random.choice(("Equal", "Less", "Greater")), value, number(b, value))


MAKERS = {
    shape: 6, part: 6, arithmetic: 10, tree: 6, equal_trees: 4, joined: 3, narrowed: 3, chosen: 3, reduced: 2,
    one_sign: 2, used: 4, widened: 3, tested: 1,
}  # fmt: skip
