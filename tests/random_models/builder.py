"""Building a random model node by node; each node has run in ONNX Runtime before it becomes part of the model."""

from __future__ import annotations

import random
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from tests.random_models import trial
from tests.random_models.trial import Refused
from tests.random_models.values import F16, F32, I64, NUMBERS, Array, Dtype, Shape, draw

SETS = 2
_MOST_ELEMENTS = 3000
_LARGEST = 1e6
# How names of nodes of chance begin; what follows is another number for each.
DRAWN = "drawn "
RANDOM_OPERATORS = frozenset(
    {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli", "Multinomial"}
)


@dataclass(frozen=True, eq=False)
class Value:
    """A tensor, with what it holds for each set of feeds."""

    name: str
    arrays: tuple[Array, ...]
    is_constant: bool = False

    @property
    def dtype(self) -> Dtype:
        return self.arrays[0].dtype

    @property
    def kind(self) -> int:
        """The ONNX element type."""
        return int(helper.np_dtype_to_tensor_dtype(self.dtype))

    @property
    def rank(self) -> int:
        return self.arrays[0].ndim

    @property
    def shape(self) -> Shape:
        """The shape for the first set of feeds."""
        shape: Shape = self.arrays[0].shape
        return shape

    @property
    def is_static(self) -> bool:
        return all(array.shape == self.shape for array in self.arrays)

    def fits(self, other: Value) -> bool:
        """Whether the two broadcast."""
        try:
            for own, others in zip(self.arrays, other.arrays, strict=True):
                np.broadcast_shapes(own.shape, others.shape)
        except ValueError:
            return False
        return True


@dataclass
class Scope:
    """A graph in the making; `values` are those that its nodes may read, outer ones first."""

    nodes: list[NodeProto] = field(default_factory=list)
    initializers: list[TensorProto] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    constants: dict[tuple[str, Shape, bytes], Value] = field(default_factory=dict)


class Builder:
    """What makers of nodes work with."""

    def __init__(
        self, seed: int, opset: int, *, finite: bool, half: bool, operators: Container[str] | None = None
    ) -> None:
        self.random = random.Random(seed)
        self.source = np.random.default_rng(seed)
        self.opset = opset
        self.finite = finite
        self.half = half
        # What nodes may be; there are then no defaults either.
        self.operators = operators
        self.depth = 0
        self.count = 0
        self.scope = Scope()
        self.known: dict[str, Value] = {}
        self.inputs: list[ValueInfoProto] = []
        self.feeds: list[dict[str, Array]] = [{} for _ in range(SETS)]
        self.draws: list[dict[str, Array]] = [{} for _ in range(SETS)]
        self.batch = tuple(self.random.sample((1, 2, 3, 4), SETS))

    def name(self, base: str) -> str:
        """A name that nothing visible has."""
        self.count += 1
        return f"{base}{self.count}"

    def chance(self, probability: float) -> bool:
        """True with a probability."""
        return self.random.random() < probability

    def add(self, value: Value) -> Value:
        """Makes a value known to the nodes that follow."""
        self.scope.values.append(value)
        self.known[value.name] = value
        return value

    def input(self, dtype: Dtype, dims: Sequence[int | str]) -> Value:
        """A new graph input; the dim "N" is the batch, another number for each set of feeds."""
        name = self.name("x")
        arrays = []
        for batch in self.batch:
            shape = tuple(batch if dim == "N" else int(dim) for dim in dims)
            arrays.append(draw(self.source, dtype, shape, finite=self.finite))
        value = Value(name, tuple(arrays))
        declared = [dim if dim == "N" or self.chance(0.8) else f"{name}_{axis}" for axis, dim in enumerate(dims)]
        self.inputs.append(helper.make_tensor_value_info(name, value.kind, declared))
        for feed, array in zip(self.feeds, arrays, strict=True):
            feed[name] = array
        return self.add(value)

    def constant(self, array: Array, *, free: bool = False) -> Value:
        """A constant. `free`: nothing depends on its values, so that a default may be overridden by others."""
        key = (array.dtype.str, array.shape, array.tobytes())
        if key in self.scope.constants and self.chance(0.4):
            return self.scope.constants[key]
        value = Value(self.name("k"), (array,) * SETS, is_constant=True)
        how = self.random.random()
        if self.depth == 0 and how > 0.93 and self.operators is None:
            return self.default(value, free=free)
        if how < 0.4:
            self.scope.nodes.append(_constant_node(value.name, array, short=self.chance(0.5) and self.opset >= 12))
        else:
            self.scope.initializers.append(numpy_helper.from_array(array, value.name))
        self.scope.constants[key] = value
        self.known[value.name] = value
        return value

    def default(self, value: Value, *, free: bool) -> Value:
        """An input with a default, which the last set of feeds overrides."""
        array = value.arrays[0]
        self.scope.initializers.append(numpy_helper.from_array(array, value.name))
        self.inputs.append(helper.make_tensor_value_info(value.name, value.kind, array.shape))
        fed = draw(self.source, array.dtype, array.shape, finite=self.finite) if free else array
        self.feeds[-1][value.name] = fed
        return self.add(Value(value.name, (*value.arrays[:-1], fed)))

    def ints(self, *items: int, dtype: Dtype = I64) -> Value:
        """A constant vector."""
        return self.constant(np.array(items, dtype))

    def scalar(self, item: float, dtype: Dtype = I64) -> Value:
        """A constant of rank 0."""
        return self.constant(np.array(item, dtype))

    def weights(self, dtype: Dtype, shape: Shape) -> Value:
        """A constant of drawn values."""
        value = self.constant(draw(self.source, dtype, shape, finite=self.finite), free=True)
        if self.chance(0.3) and value.name not in {item.name for item in self.scope.values}:
            self.add(value)
        return value

    def find(self, wanted: Callable[[Value], bool]) -> Value | None:
        """A value of a kind, a recent one most of the time."""
        found = [value for value in self.scope.values if wanted(value)]
        if not found:
            return None
        return self.random.choice(found[-5:] if self.chance(0.7) else found)

    def pick(self, *dtypes: Dtype, rank: int | None = None, least: int = 0, static: bool = False) -> Value:
        """A value of one of the dtypes (default: numbers) and of a rank, or of `least` at least; may be a new one."""
        kinds = dtypes or (NUMBERS if not self.half else (*NUMBERS, F16))

        def wanted(value: Value) -> bool:
            is_rank = value.rank >= least if rank is None else value.rank == rank
            return value.dtype in kinds and is_rank and (value.is_static or not static)

        found = self.find(wanted) if self.chance(0.95) else None
        if found is not None:
            return found
        size = self.random.randint(least, max(3, least)) if rank is None else rank
        shape = tuple(self.random.choice((1, 2, 3, 4)) for _ in range(size))
        dtype = self.random.choice(kinds)
        if self.depth == 0 and self.chance(0.6):
            has_batch = size > 1 and not static and self.chance(0.6)
            return self.input(dtype, ("N", *shape[1:]) if has_batch else shape)
        return self.add(self.constant(draw(self.source, dtype, shape, finite=self.finite), free=True))

    def partner(self, value: Value, probability: float = 0.5) -> Value:
        """A value or constant of the same dtype that broadcasts with another one."""
        found = self.find(lambda item: item.dtype == value.dtype and item.fits(value))
        if found is not None and self.chance(probability):
            return found
        return self.weights(value.dtype, self.shape_for(value))

    def shape_for(self, value: Value) -> Shape:
        """The shape of a constant that broadcasts with a value; it may raise the rank."""
        sizes = zip(*(array.shape for array in value.arrays), strict=True)
        dims = tuple(size[0] if len(set(size)) == 1 and self.chance(0.6) else 1 for size in sizes)
        keep = self.random.choice((0, 0, 1, value.rank, value.rank))
        dims = dims[len(dims) - min(keep, len(dims)) :]
        return (1, *dims) if self.chance(0.08) and len(dims) < 4 else dims

    def emit(self, operator: str, *inputs: Value | None, **attributes: Any) -> Value:
        """A node of one output."""
        (value,) = self.emit_all(operator, inputs, 1, **attributes)
        return value

    def emit_all(self, operator: str, inputs: Iterable[Value | None], outputs: int, **attributes: Any) -> list[Value]:
        """A node. Raises `Refused` where ONNX Runtime does not run it or its results are too large."""
        operands = list(inputs)
        while operands and operands[-1] is None:
            operands.pop()
        names = [self.name(operator[0].lower()) for _ in range(outputs)]
        is_drawn = operator in RANDOM_OPERATORS or attributes.pop("is_drawn", False)
        node_name = self.random.choice(("", names[0], f"node {names[0]}"))
        node = helper.make_node(
            operator, ["" if item is None else item.name for item in operands], names,
            name=f"{DRAWN}{len(self.draws[0])}" if is_drawn else node_name, **attributes,
        )  # fmt: skip
        is_constant = all(item is None or item.is_constant for item in operands) and not is_drawn
        results = self._run(node, is_drawn=is_drawn)
        self.scope.nodes.append(node)
        return [self.add(Value(name, held, is_constant)) for name, held in zip(node.output, results, strict=True)]

    def emit_group(self, nodes: Sequence[NodeProto], results: Sequence[str]) -> list[Value]:
        """Nodes between which sequences pass; only the `results` are values."""
        if self.operators is not None and any(node.op_type not in self.operators for node in nodes):
            raise Refused("not to be part of the model")
        made = {name for node in nodes for name in node.output}
        known = {name: self.known[name] for node in nodes for name in node.input if name and name not in made}
        feeds = [{name: value.arrays[number] for name, value in known.items()} for number in range(SETS)]
        dtypes = {name: value.kind for name, value in known.items()}
        found = trial.run_nodes(nodes, results, self.opset, feeds, dtypes)
        for arrays in found:
            _accept(arrays, self.finite)
        self.scope.nodes.extend(nodes)
        return [self.add(Value(name, held)) for name, held in zip(results, found, strict=True)]

    def append(self, copy: NodeProto) -> Value:
        """A copy of a node of one output, under another name."""
        copy.output[0] = copy.name = self.name("again")
        (held,) = self._run(copy, is_drawn=False)
        self.scope.nodes.append(copy)
        return self.add(Value(copy.output[0], held))

    def _run(self, node: NodeProto, *, is_drawn: bool) -> list[tuple[Array, ...]]:
        if self.operators is not None and node.op_type not in self.operators:
            raise Refused("not to be part of the model")
        read = dict.fromkeys(name for name in node.input if name)
        for graph in trial.subgraphs(node):
            read.update(dict.fromkeys(trial.captured(graph)))
        known = {name: self.known[name] for name in read}
        feeds = [{name: value.arrays[number] for name, value in known.items()} for number in range(SETS)]
        dtypes = {name: value.kind for name, value in known.items()}
        results = trial.run_nodes([node], list(node.output), self.opset, feeds, dtypes)
        if is_drawn:
            results = [self._redrawn(node.name, position, found) for position, found in enumerate(results)]
        for arrays in results:
            _accept(arrays, self.finite)
        return results

    def _redrawn(self, node_name: str, position: int, found: tuple[Array, ...]) -> tuple[Array, ...]:
        """Values for a result of a node of chance, so that no runtime's own chance decides a test."""
        for draws, array in zip(self.draws, found, strict=True):
            fixed = draw(self.source, array.dtype, array.shape, finite=True)
            draws[f"{node_name} {position}"] = np.abs(fixed) if array.dtype.kind in "iu" else fixed
        return tuple(draws[f"{node_name} {position}"] for draws in self.draws)

    def body(self, name: str, inputs: Sequence[Value], fill: Callable[[], Sequence[Value]]) -> GraphProto:
        """A graph inside a node; its local names may be those of a sibling."""
        outer, count, known = self.scope, self.count, dict(self.known)
        self.scope, self.depth = Scope(values=list(outer.values)), self.depth + 1
        is_reset = self.chance(0.5)
        if is_reset:
            self.count = 1000 * self.depth
        try:
            for value in inputs:
                self.add(value)
            results = fill()
            made = {item for node in self.scope.nodes for item in node.output}
            # A result is made here and given once; ONNX Runtime gives garbage for one that is given twice.
            results = [
                item if item.name in made and item not in results[:place] else self.emit("Identity", item)
                for place, item in enumerate(results)
            ]
            return helper.make_graph(
                self.scope.nodes, name, [info(item) for item in inputs], [info(item) for item in results],
                initializer=self.scope.initializers,
            )  # fmt: skip
        finally:
            self.scope, self.depth, self.known = outer, self.depth - 1, known
            self.count = count if is_reset else self.count


def info(value: Value, dims: Sequence[int | str | None] | None = None) -> ValueInfoProto:
    """The declaration of a value; without dims only its rank is said."""
    return helper.make_tensor_value_info(value.name, value.kind, [None] * value.rank if dims is None else dims)


def _constant_node(name: str, array: Array, *, short: bool) -> NodeProto:
    if short and array.dtype in (F32, I64) and array.ndim < 2 and array.size:
        base = "value_float" if array.dtype == F32 else "value_int"
        if array.ndim:
            return helper.make_node("Constant", [], [name], **{f"{base}s": array.tolist()})
        return helper.make_node("Constant", [], [name], **{base: array.item()})
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array, name))


def _accept(arrays: tuple[Array, ...], finite: bool) -> None:
    """Raises `Refused` where results are large, of several ranks, or in a finite model far from small."""
    if any(array.dtype.kind not in "fiub" for array in arrays):
        raise Refused("no plain tensor")
    if any(array.size > _MOST_ELEMENTS for array in arrays):
        raise Refused("too large")
    if len({array.ndim for array in arrays}) > 1:
        raise Refused("several ranks")
    for array in arrays:
        if finite and array.dtype.kind == "f" and not (np.abs(array.astype(np.float64)) <= _LARGEST).all():
            raise Refused("not finite")
