"""Makers of If, Loop and Scan, whose bodies read outer values and make nodes of all kinds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.random_models.builder import SETS, Builder, Value
from tests.random_models.elementwise import truth
from tests.random_models.trial import Refused
from tests.random_models.values import BOOL, F32, NUMBERS

DEEPEST = 2
Step = Callable[[Builder], object]


def fill(b: Builder, step: Step) -> None:
    """Up to four more nodes."""
    for _ in range(b.random.randint(0, 4)):
        try:
            step(b)
        except Refused:
            continue


def like(b: Builder, value: Value) -> Value:
    """A value of the dtype and rank of another, made here most of the time."""
    found = b.find(lambda item: item.dtype == value.dtype and item.rank == value.rank)
    if found is not None and b.chance(0.6):
        return found
    if value.dtype == BOOL:
        return b.emit("Not", value)
    if value.dtype not in NUMBERS:
        return b.emit("Identity", value)
    return b.emit("Add", value, b.weights(value.dtype, ()))


def condition(b: Builder) -> Value:
    """A constant condition or a computed one."""
    if b.chance(0.45):
        value = b.constant(np.array(b.chance(0.5)))
        return b.emit("Not", value) if b.chance(0.2) else value
    value = truth(b)
    if value.rank == 0:
        return value
    for array in value.arrays:
        if not array.size:
            raise Refused("no condition")
    flat = b.emit("Reshape", value, b.ints(-1))
    return b.emit("Gather", flat, b.scalar(0))


def branches(b: Builder, step: Step) -> Value:
    """If of one or two outputs."""
    test = condition(b)
    models = [b.pick() for _ in range(b.random.choice((1, 1, 2)))]

    def results() -> list[Value]:
        fill(b, step)
        return [like(b, value) for value in models]

    then, other = b.body("then", [], results), b.body("else", [], results)
    made = b.emit_all("If", [test], len(models), then_branch=then, else_branch=other)
    return made[0]


def loop(b: Builder, step: Step) -> Value:
    """Loop over one or two carried values, with a result of each round sometimes."""
    carried = [b.pick() for _ in range(b.random.choice((1, 1, 2)))]
    has_results = b.chance(0.4)
    # Without a round, what the results of all rounds look like is nobody's knowledge.
    rounds = b.scalar(b.random.choice((1, 2, 3) if has_results else (0, 1, 2, 3)))
    test = b.constant(np.array(has_results or b.chance(0.9))) if b.chance(0.4) else None
    number = Value(b.name("step"), (np.array(0),) * SETS)
    go = Value(b.name("go"), (np.array(True),) * SETS)
    inner = [Value(b.name("carried"), value.arrays) for value in carried]

    def results() -> list[Value]:
        fill(b, step)
        more = go if b.chance(0.8) else b.emit("Less", number, b.scalar(1))
        next_values = [like(b, value) for value in inner]
        if any(old.shape != new.shape for old, new in zip(inner, next_values, strict=True)):
            raise Refused("the shape changes from round to round")
        return [more, *next_values, *([b.pick()] if has_results else [])]

    body = b.body("rounds", [number, go, *inner], results)
    return b.emit_all("Loop", [rounds, test, *carried], len(carried) + has_results, body=body)[0]


def scan(b: Builder, step: Step) -> Value:
    """Scan along the first axis."""
    values = b.pick(F32, least=1)
    if any(not array.shape[0] for array in values.arrays):
        raise Refused("nothing to scan")
    start = b.weights(F32, values.shape[1:]) if values.is_static else b.scalar(0, F32)
    state = Value(b.name("state"), start.arrays)
    item = Value(b.name("item"), tuple(array[0] for array in values.arrays))

    def results() -> list[Value]:
        total = b.emit("Add", state, item if values.is_static else b.emit("ReduceSum", item, keepdims=0))
        fill(b, step)
        return [total, like(b, item)]

    body = b.body("scan", [state, item], results)
    return b.emit_all("Scan", [start, values], 2, body=body, num_scan_inputs=1)[1]


def control(b: Builder, step: Step) -> Value:
    """One of the nodes with bodies."""
    if b.depth >= DEEPEST:
        raise Refused("deep enough")
    return b.random.choice((branches, branches, loop, scan))(b, step)
