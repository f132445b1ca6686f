"""Random models for whole-pipeline tests: valid, runnable in ONNX Runtime, full of what passes look for.

    random_model(seed)        a model of 5 to 40 nodes, and values for its inputs; the same for the same seed

Constants come as initializers, Constant nodes and defaults that a caller may override, some equal, some neutral;
results are read often, by branches and loop bodies too, which reuse local names; outputs are taken from anywhere.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Shape: TypeAlias = tuple[int, ...]

FLOAT, DOUBLE, INT32, INT64, BOOL = (
    TensorProto.FLOAT,
    TensorProto.DOUBLE,
    TensorProto.INT32,
    TensorProto.INT64,
    TensorProto.BOOL,
)
SHAPES: tuple[Shape, ...] = ((), (1,), (3,), (2, 3), (2, 1), (1, 1, 3), (0, 3))


@dataclass(frozen=True)
class Value:
    """A tensor that a node may read."""

    name: str
    kind: int
    shape: Shape


@dataclass(frozen=True)
class RandomModel:
    """A model and one set of values for its inputs, those with a default too."""

    model: ModelProto
    feeds: dict[str, Array]
    has_max: bool


@dataclass
class _Scope:
    nodes: list[NodeProto] = field(default_factory=list)
    initializers: list[TensorProto] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)


def random_model(seed: int, *, finite: bool = False) -> RandomModel:
    """The model of a seed. With `finite`, no value is infinite or NaN and sums stay far from overflow."""
    return _Builder(random.Random(seed), finite).build()


class _Builder:
    def __init__(self, source: random.Random, finite: bool) -> None:
        self.random = source
        self.finite = finite
        self.count = 0
        self.has_max = False
        self.inputs: list[ValueInfoProto] = []
        self.feeds: dict[str, Array] = {}

    def build(self) -> RandomModel:
        scope = _Scope()
        for _ in range(self.random.randint(2, 4)):
            self.input(scope, self.random.choice((FLOAT, FLOAT, DOUBLE, INT64, INT32)), self.random.choice(SHAPES))
        self.input(scope, BOOL, ())
        for _ in range(self.random.randint(5, 40)):
            self.node(scope, depth=0)
        outputs = self.random.sample(scope.values, min(len(scope.values), self.random.randint(1, 4)))
        outputs.append(next(value for value in reversed(scope.values) if value.kind != BOOL))
        graph = helper.make_graph(
            scope.nodes, "random", self.inputs,
            [_info(value, symbolic=True) for value in dict.fromkeys(outputs)], initializer=scope.initializers,
        )  # fmt: skip
        opset = self.random.choice((13, 15, 17, 20))
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
        return RandomModel(model, self.feeds, self.has_max)

    def name(self, base: str) -> str:
        self.count += 1
        return f"{base}{self.count}"

    def input(self, scope: _Scope, kind: int, shape: Shape) -> None:
        value = Value(self.name("x"), kind, shape)
        self.inputs.append(_info(value, symbolic=self.random.random() < 0.5))
        self.feeds[value.name] = self.array(kind, shape)
        scope.values.append(value)

    def array(self, kind: int, shape: Shape) -> Array:
        dtype = helper.tensor_dtype_to_np_dtype(kind)
        if kind == BOOL:
            return np.array(self.random.random() < 0.5)
        if kind in (INT32, INT64):
            pool: list[Any] = [0, 1, -1, 2, 5]
            if not self.finite:
                pool += [int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)]
        else:
            pool = (
                [0.0, 1.0, 0.5, -2.0, 3.25, 0.1]
                if self.finite
                else [0.0, -0.0, 1.0, 0.1, -2.5, 1e30, np.inf, -np.inf, np.nan]
            )
        if self.random.random() < 0.5:
            return np.full(shape, self.random.choice(pool), dtype)
        size = int(np.prod(shape))
        return np.array([self.random.choice(pool) for _ in range(size)], dtype).reshape(shape)

    def constant(self, scope: _Scope, kind: int, shape: Shape, *, is_main: bool) -> Value:
        """A constant; with a fixed small pool of values, equal ones are common."""
        value = Value(self.name("k"), kind, shape)
        array = self.array(kind, shape)
        neutral = -np.inf if array.dtype.kind == "f" else np.iinfo(array.dtype).min
        if not self.finite and self.random.random() < 0.2:
            array = np.full(shape, neutral, array.dtype)
        tensor = numpy_helper.from_array(array, value.name)
        how = self.random.random()
        if how < 0.4:
            scope.nodes.append(helper.make_node("Constant", [], [value.name], value=tensor))
            return value
        scope.initializers.append(tensor)
        if is_main and how > 0.9:
            self.inputs.append(_info(value, symbolic=False))
            if self.random.random() < 0.5:
                self.feeds[value.name] = self.array(kind, shape)
        return value

    def operand(self, scope: _Scope, kind: int, shape: Shape, *, is_main: bool) -> Value:
        """A value of a kind whose shape broadcasts with one, or a new constant."""
        fitting = [value for value in scope.values if value.kind == kind and _broadcast(value.shape, shape) is not None]
        if fitting and self.random.random() < 0.6:
            return self.random.choice(fitting[-6:] if self.random.random() < 0.7 else fitting)
        shapes = [other for other in SHAPES if _broadcast(other, shape) is not None]
        value = self.constant(scope, kind, self.random.choice(shapes), is_main=is_main)
        if self.random.random() < 0.4:
            scope.values.append(value)
        return value

    def node(self, scope: _Scope, depth: int) -> None:
        makers: list[Callable[[_Scope, int], Value | None]] = [*[self.chain] * 8, *[self.unary] * 3]
        makers += [self.cast, self.shape_of, self.folded, self.folded]
        if depth < 2:
            makers += [self.branches, self.loop]
        made = self.random.choice(makers)(scope, depth)
        if made is not None:
            scope.values.append(made)

    def pick(self, scope: _Scope) -> Value:
        numeric = [value for value in scope.values if value.kind != BOOL]
        return self.random.choice(numeric[-4:] if self.random.random() < 0.7 else numeric)

    def emit(
        self, scope: _Scope, operator: str, inputs: list[Value], kind: int, shape: Shape, **attributes: Any
    ) -> Value:
        value = Value(self.name(operator[0].lower()), kind, shape)
        node_name = self.random.choice(("", value.name, f"node {value.name}"))
        scope.nodes.append(
            helper.make_node(operator, [item.name for item in inputs], [value.name], name=node_name, **attributes)
        )
        return value

    def chain(self, scope: _Scope, depth: int) -> Value | None:
        """Add or Max of a recent value and others."""
        operator = self.random.choice(("Add", "Max"))
        operands = [self.pick(scope)]
        shape = operands[0].shape
        for _ in range(1 if operator == "Add" else self.random.choice((0, 1, 1, 1, 2, 3))):
            other = self.operand(scope, operands[0].kind, shape, is_main=depth == 0)
            shape = _broadcast(shape, other.shape) or ()
            operands.append(other)
        self.random.shuffle(operands)
        self.has_max |= operator == "Max"
        return self.emit(scope, operator, operands, operands[0].kind, shape)

    def unary(self, scope: _Scope, depth: int) -> Value | None:
        value = self.pick(scope)
        operators = ["Identity", "Neg", "Abs"] + (["Relu"] if value.kind in (FLOAT, DOUBLE) else [])
        return self.emit(scope, self.random.choice(operators), [value], value.kind, value.shape)

    def cast(self, scope: _Scope, depth: int) -> Value | None:
        value = self.pick(scope)
        wider = INT64 if value.kind == INT32 else DOUBLE
        return self.emit(scope, "Cast", [value], wider, value.shape, to=wider)

    def shape_of(self, scope: _Scope, depth: int) -> Value | None:
        value = self.pick(scope)
        return self.emit(scope, "Shape", [value], INT64, (len(value.shape),)) if len(value.shape) in (1, 3) else None

    def folded(self, scope: _Scope, depth: int) -> Value | None:
        """A node that reads constants alone."""
        kind, shape = self.random.choice((FLOAT, DOUBLE, INT64, INT32)), self.random.choice(SHAPES)
        operator = self.random.choice(("Add", "Max"))
        self.has_max |= operator == "Max"
        a = self.constant(scope, kind, shape, is_main=depth == 0)
        b = self.constant(scope, kind, self.random.choice((shape, ())), is_main=depth == 0)
        return self.emit(scope, operator, [a, b], kind, shape)

    def branches(self, scope: _Scope, depth: int) -> Value | None:
        value = self.pick(scope)
        graphs = {name: self.body(scope, value, depth + 1) for name in ("then_branch", "else_branch")}
        condition = Value(next(item.name for item in scope.values if item.kind == BOOL), BOOL, ())
        return self.emit(scope, "If", [condition], value.kind, value.shape, **graphs)

    def body(self, outer: _Scope, like: Value, depth: int) -> GraphProto:
        """A branch that gives a result of the type of `like`; its local names occur in other branches too."""
        scope = _Scope(values=list(outer.values))
        count = self.count
        is_reset = self.random.random() < 0.5
        if is_reset:
            self.count = 1000 * depth
        for _ in range(self.random.randint(0, 4)):
            self.node(scope, depth)
        constant = self.constant(scope, like.kind, (), is_main=False)
        result = self.emit(scope, "Add", [like, constant], like.kind, like.shape)
        made = {name for node in scope.nodes for name in node.output}
        fitting = [
            value
            for value in scope.values
            if value.name in made and (value.kind, value.shape) == (like.kind, like.shape)
        ]
        result = self.random.choice([result, *fitting])
        if is_reset:
            self.count = count
        return helper.make_graph(
            scope.nodes, "body", [], [_info(result, symbolic=True)], initializer=scope.initializers
        )

    def loop(self, scope: _Scope, depth: int) -> Value | None:
        """Two rounds over one carried value."""
        value = self.pick(scope)
        carried = Value(self.name("carried"), value.kind, value.shape)
        step, go = Value(self.name("step"), INT64, ()), Value(self.name("go"), BOOL, ())
        inner = _Scope(values=[*scope.values, carried])
        for _ in range(self.random.randint(0, 3)):
            self.node(inner, depth + 1)
        constant = self.constant(inner, value.kind, (), is_main=False)
        operator = self.random.choice(("Add", "Max"))
        self.has_max |= operator == "Max"
        result = self.emit(inner, operator, [carried, constant], value.kind, value.shape)
        more = self.emit(inner, "Identity", [go], BOOL, ())
        body = helper.make_graph(
            inner.nodes, "loop", [_info(step), _info(go), _info(carried, symbolic=True)],
            [_info(more), _info(result, symbolic=True)], initializer=inner.initializers,
        )  # fmt: skip
        rounds = Value(self.name("rounds"), INT64, ())
        scope.initializers.append(numpy_helper.from_array(np.array(2), rounds.name))
        return self.emit(scope, "Loop", [rounds, Value("", BOOL, ()), value], value.kind, value.shape, body=body)


def _broadcast(a: Shape, b: Shape) -> Shape | None:
    try:
        return np.broadcast_shapes(a, b)
    except ValueError:
        return None


def _info(value: Value, *, symbolic: bool = False) -> ValueInfoProto:
    dims = [f"{value.name}_{axis}" if symbolic else size for axis, size in enumerate(value.shape)]
    return helper.make_tensor_value_info(value.name, value.kind, dims)
