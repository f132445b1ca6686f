"""Random models with bodies that never run, whose nodes could never succeed, and nodes that only kernels accept.

    untaken_model(seed)       such a model, with two sets of values for its inputs, always the same

Branches that are not taken and loops that make no round hold wrong targets, shapes that do not fit, divisions by zero
and indices out of range, all behind values that are computed, so that a runtime loads the file. What decides whether
they run is constant, given, or computed from shapes. In the main graph stand nodes that run although a static check
would refuse them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

import numpy as np
from onnx import GraphProto, ValueInfoProto, helper

from tests.random_models import OPSETS, WHOLE, NoModelError, RandomModel, assemble, step
from tests.random_models.builder import SETS, Builder, Scope, Value
from tests.random_models.control import like
from tests.random_models.trial import Refused, Session
from tests.random_models.values import BOOL, F32, I64, Array

Step = Callable[[Builder], object]
# How often a model has to give the same.
_STEADY = 3


def untaken_model(seed: int) -> RandomModel:
    """The model of a seed, of 4 to 25 steps. Raises `NoModelError` where ONNX Runtime does not run it as meant."""
    source = random.Random(seed)
    b = Builder(seed, source.choice(OPSETS), finite=True, half=False)
    WHOLE.inputs(b)
    others: Step = partial(step, kind=WHOLE)
    makers: tuple[Step, ...] = (others, partial(untaken, step=others), lenient)
    for _ in range(source.randint(4, 25)):
        with suppress(Refused):
            _make(b, source.choices(makers, (10, 10, 3))[0])
    values = {name: value.arrays for name, value in b.known.items()}
    made = RandomModel(assemble(b), b.feeds, b.draws, True, values)
    try:
        sessions = [Session(made.model) for _ in range(_STEADY)]
        results = [(number, run(feeds)) for number, feeds in enumerate(made.feed_sets) for run in sessions]
    except Exception as error:
        raise NoModelError(f"seed {seed}: {error}") from error
    for number, arrays in results:
        for item, array in zip(made.model.graph.output, arrays, strict=True):
            # ONNX Runtime gives garbage for some loops without a round, and beside empty operands of Concat.
            if not np.array_equal(array, values[item.name][number], equal_nan=array.dtype.kind == "f"):
                raise NoModelError(f"seed {seed}: {item.name} is another in the whole model")
    return made


def _make(b: Builder, maker: Step) -> None:
    """What a maker makes, where the model still loads with it. Raises `Refused` where it does not, and for chance."""
    scope, inputs = b.scope, list(b.inputs)
    saved = Scope(list(scope.nodes), list(scope.initializers), list(scope.values), dict(scope.constants))
    maker(b)
    if any(b.draws):
        b.scope, b.inputs, b.draws = saved, inputs, [{} for _ in b.draws]
        raise Refused("chance")
    graph = helper.make_graph(scope.nodes, "so far", b.inputs, [], initializer=scope.initializers)
    graph.output.extend(ValueInfoProto(name=name) for node in scope.nodes for name in node.output)
    try:
        Session(helper.make_model(graph, opset_imports=[helper.make_opsetid("", b.opset)], ir_version=8))
    except Exception as error:
        b.scope, b.inputs = saved, inputs
        raise Refused(str(error)) from error


def untaken(b: Builder, step: Step) -> Value:
    """An If with a branch that is not taken, or a Loop without a round."""
    return b.random.choice((_branch, _branch, _loop))(b, step)


def _branch(b: Builder, step: Step) -> Value:
    test = _false(b)
    wanted = b.pick(F32)

    def taken() -> list[Value]:
        for _ in range(b.random.randint(0, 2)):
            _try(b, step)
        return [like(b, wanted)]

    live, dead = b.body("taken", [], taken), _dead(b, [], 1)
    if b.chance(0.3):
        return b.emit("If", b.emit("Not", test), then_branch=live, else_branch=dead)
    return b.emit("If", test, then_branch=dead, else_branch=live)


def _loop(b: Builder, step: Step) -> Value:
    carried = b.pick(F32)
    number = Value(b.name("step"), (np.array(0),) * SETS)
    go = Value(b.name("go"), (np.array(True),) * SETS)
    inner = Value(b.name("carried"), carried.arrays)
    body = _dead(b, [number, go, inner], 1)
    if b.chance(0.3):
        return b.emit("Loop", b.scalar(3), _false(b), carried, body=body)
    return b.emit("Loop", _zero(b), None, carried, body=body)


def _try(b: Builder, step: Step) -> None:
    try:
        step(b)
    except Refused:
        return


def _false(b: Builder) -> Value:
    """A condition that never holds."""
    how = b.random.randrange(5)
    if how == 0:
        return b.constant(np.array(False))
    if how == 1:
        return _given(b, np.array(False))
    x = b.pick(F32, least=1)
    size = b.emit("Gather", b.emit("Shape", x), b.scalar(0))
    if how == 2:
        return b.emit("Equal", size, b.scalar(77))
    if how == 3:
        return b.emit("Less", b.emit("Size", x), b.scalar(0))
    return b.emit("Not", b.emit("Equal", size, b.emit("Identity", size)))


def _zero(b: Builder) -> Value:
    """A number of rounds that is 0."""
    how = b.random.randrange(3)
    if how == 0:
        return b.scalar(0)
    if how == 1:
        return _given(b, np.array(0))
    size = b.emit("Size", b.pick(F32))
    return b.emit("Sub", size, size)


def _given(b: Builder, array: Array) -> Value:
    """An input of the model that is always fed one value."""
    if b.depth:
        raise Refused("inside")
    value = b.input(array.dtype, ())
    for feed in b.feeds:
        feed[value.name] = array
    given = Value(value.name, (array,) * SETS)
    b.known[value.name] = given
    b.scope.values[-1] = given
    return given


def _dead(b: Builder, inputs: Sequence[Value], results: int) -> GraphProto:
    """A body that never runs."""

    def fill() -> list[Value]:
        blind = _Blind(b)
        for _ in range(b.random.randint(1, 6)):
            blind.step()
        made = [Value(blind.result(), (np.zeros((), np.float32),) * SETS) for _ in range(results)]
        more = [b.emit("Identity", inputs[1])] if inputs else []
        return [*more, *made]

    body = b.body("dead", inputs, fill)
    for item in body.output[-results:]:
        item.type.tensor_type.ClearField("shape")
    return body


class _Blind:
    """Nodes that nobody runs: FLOAT tensors and vectors of INT64, of which no shape is known."""

    def __init__(self, b: Builder) -> None:
        self.b = b
        self.random: random.Random = b.random
        self.floats = [value.name for value in b.scope.values if value.dtype == F32]
        self.vectors = [value.name for value in b.scope.values if value.dtype == I64 and value.rank == 1]

    def node(self, operator: str, *inputs: str, outputs: int = 1, **attributes: object) -> str:
        names = [self.b.name(f"dead_{operator.lower()}") for _ in range(outputs)]
        self.b.scope.nodes.append(helper.make_node(operator, inputs, names, **attributes))
        return names[self.random.randrange(outputs)]

    def ints(self, *items: int) -> str:
        return self.b.ints(*items).name

    def some(self, count: int | None = None) -> str:
        size = self.random.randint(1, 3) if count is None else count
        return self.ints(*(self.random.choice((-1, 0, 1, 1, 2, 3, 3, 4, 7)) for _ in range(size)))

    def tensor(self) -> str:
        if not self.floats or self.b.chance(0.1):
            shape = tuple(self.random.choice((1, 2, 3)) for _ in range(self.random.randint(0, 3)))
            return self.b.constant(np.ones(shape, np.float32)).name
        return self.random.choice(self.floats[-4:] if self.b.chance(0.6) else self.floats)

    def vector(self, count: int | None = None) -> str:
        """Integers that somebody has to compute."""
        how = self.random.randrange(9)
        if how == 0 and self.vectors and count is None:
            return self.random.choice(self.vectors)
        if how == 1:
            return self.some(count)
        if how == 2:
            return self.node("Add", self.some(count), self.ints(self.random.choice((0, 1, 2))))
        if how == 3:
            return self.node("Identity", self.some(count))
        if how == 4:
            return self.node("Cast", self.node("Cast", self.some(count), to=1), to=7)
        shape = self.node("Shape", self.tensor())
        if how == 5 and count is None:
            return self.node("Add", shape, self.ints(self.random.choice((0, 1, -1))))
        picked = self.node("Gather", shape, self.ints(self.random.choice((0, 0, 1, -1))), axis=0)
        changed = self.node(self.random.choice(("Add", "Mul", "Sub", "Div", "Mod")), picked, self.some(1))
        if count == 1:
            return changed
        rest = self.some(1 if count is None else count - 1)
        return self.node("Concat", *self.random.sample((changed, rest), 2), axis=0)

    def step(self) -> None:
        if self.b.chance(0.3):
            self.vectors.append(self.vector())
            return
        self.floats.append(self.random.choice(self.makers())())

    def result(self) -> str:
        """The result of a body, made in it."""
        return self.node(self.random.choice(("Identity", "Neg")), self.tensor())

    def makers(self) -> list[Callable[[], str]]:
        x, y, v, n = self.tensor, self.tensor, self.vector, self.node
        axis = self.random.choice((0, 1, -1))
        found: list[Callable[[], str]] = [
            lambda: n("Expand", x(), v()),
            lambda: n("Expand", x(), v()),
            lambda: n("Reshape", x(), v()),
            lambda: n("Reshape", x(), v()),
            lambda: n("Tile", x(), v()),
            lambda: n("ConstantOfShape", v()),
            lambda: n("MatMul", x(), y()),
            lambda: n("Add", x(), y()),
            lambda: n("Identity", x()),
            lambda: n("Concat", x(), y(), axis=axis),
            lambda: n("Gather", x(), v(), axis=axis),
            lambda: n("Slice", x(), v(1), v(1), v(1)),
            lambda: n("Pad", x(), v()),
            lambda: n("Transpose", x()),
            lambda: n("Flatten", x(), axis=axis),
            lambda: n("Gemm", x(), y()),
            lambda: n("TopK", x(), v(1), outputs=2),
            lambda: n("Where", n("Less", x(), y()), x(), y()),
            lambda: n("Cast", n("Div", v(), v()), to=1),
            lambda: n("Cast", n("Range", *(n("Squeeze", v(1)) for _ in range(3))), to=1),
            lambda: n("GatherND", x(), n("Unsqueeze", v(), self.ints(0)) if self.b.opset >= 13 else v()),
            lambda: n("Conv", x(), y()),
            lambda: n("Cast", n("Shape", x()), to=1),
        ]
        if self.b.opset >= 13:
            found += [
                lambda: n("Squeeze", x(), v(1)),
                lambda: n("Unsqueeze", x(), v(1)),
                lambda: n("Split", x(), v(2), outputs=2, axis=axis),
                lambda: n("ReduceSum", x(), v(1)),
            ]
        if self.b.depth == 1:
            found += [self.inner, self.rounds]
        return found

    def inner(self) -> str:
        """An If further in."""
        b = self.b
        test = next((value.name for value in b.scope.values if value.dtype == BOOL and value.rank == 0), "")
        if not test:
            return self.tensor()
        return self.node("If", test, then_branch=_dead(b, [], 1), else_branch=_dead(b, [], 1))

    def rounds(self) -> str:
        """A Loop further in, which would run once."""
        b = self.b
        carried = next((value for value in reversed(b.scope.values) if value.dtype == F32), None)
        if carried is None:
            return self.tensor()
        number = Value(b.name("step"), (np.array(0),) * SETS)
        go = Value(b.name("go"), (np.array(True),) * SETS)
        inner = Value(b.name("carried"), carried.arrays)
        trips = self.node("Identity", b.scalar(1).name) if b.chance(0.5) else b.scalar(1).name
        return self.node("Loop", trips, "", carried.name, body=_dead(b, [number, go, inner], 1))


def lenient(b: Builder) -> Value:
    """A node that runs although its operands have a form that static checks refuse."""
    x = b.pick(F32, least=1)
    size = b.emit("Slice", b.emit("Shape", x), b.ints(0), b.ints(1))
    one = b.emit("Div", size, size)
    how = b.random.randrange(8)
    if how == 0:
        return b.emit("Cast", b.emit("Range", b.emit("Sub", one, one), size, one), to=1)
    none = b.emit("Sub", one, one)
    if how == 1:
        empty = b.emit("ConstantOfShape", b.emit("Concat", none, b.ints(b.random.choice((1, 5))), axis=0))
        return b.emit("Concat", *b.random.sample((empty, x), 2), axis=b.random.choice((0, -1)))
    if how == 2:
        return b.emit("Expand", x, b.emit("Reshape", one, b.ints()))
    if how == 3:
        scalar = b.emit("Reshape", b.emit("ReduceMax", x, keepdims=0), b.emit("Slice", one, b.ints(0), b.ints(0)))
        return b.emit("Cast", b.emit("ArgMax", scalar, axis=0, keepdims=b.random.choice((0, 1))), to=1)
    if how == 4:
        return b.emit("PRelu", x, b.emit("Expand", b.weights(F32, ()), b.emit("Concat", one, size, axis=0)))
    if how == 5:
        return b.emit("ConstantOfShape", b.emit("Reshape", size, b.emit("Concat", one, one, axis=0)))
    if how == 6:
        empty = b.emit("Expand", b.emit("ConstantOfShape", none), none)
        return b.emit("Concat", *b.random.sample((empty, x), 2), axis=0)
    return b.emit("Cast", b.emit("Div", b.emit("ConstantOfShape", none), b.emit("Sub", size, size)), to=1)
