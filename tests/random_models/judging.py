"""Judging an optimized random model against the original, in ONNX Runtime without optimizations.

Exact mode must give the same bits. There are three exceptions, each taken only where it applies:

- Which of two zeros a Max, Clip or Pad gives is nobody's promise: in models with one, +0.0 equals -0.0.
- A constant that is folded through a function which nobody rounds correctly (Exp, Softmax, ReduceSum, MatMul, ...) may
  differ from the runtime's in the last place; what depends on it may differ by `ROUNDING` of its largest magnitude.
- The runtime computes in FLOAT16 only now and then; what depends on FLOAT16 arithmetic may differ by `HALF_ROUNDING`.

Relaxed mode may differ by `RELAXED` of the largest magnitude. A result that differs by more is still right if the
original is as unstable: then the same difference, or a larger one, appears when the results of those nodes that
may round otherwise are moved by a few units in the last place, or the operands of Max and Min change places.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping

import numpy as np
import onnx
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from tests.random_models import RandomModel
from tests.random_models.builder import DRAWN
from tests.random_models.trial import Session, captured, subgraphs
from tests.random_models.values import Array

ROUNDING, HALF_ROUNDING, RELAXED = 1e-6, 4e-3, 1e-4
SAME, ROUNDED, UNSTABLE = "same bits", "rounded", "unstable"
_STEPS: dict[int, float] = {TensorProto.FLOAT: 2.0**-20, TensorProto.DOUBLE: 2.0**-48, TensorProto.FLOAT16: 2.0**-9}
_MARGIN = 32

# Operators that give the bits of the specification, or that only move, choose or convert elements.
_EXACT = frozenset({
    "Abs", "Add", "And", "ArgMax", "ArgMin", "BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor",
    "Cast", "CastLike", "Ceil", "Clip", "Compress", "Concat", "Constant", "ConstantOfShape", "DepthToSpace",
    "DequantizeLinear", "Div", "Dropout", "Equal", "Expand", "EyeLike", "Flatten", "Floor", "Gather",
    "GatherElements", "GatherND", "GlobalMaxPool", "Greater", "GreaterOrEqual", "Hardmax", "Identity", "IsInf",
    "IsNaN", "LeakyRelu", "Less", "LessOrEqual", "MatMulInteger", "Max", "MaxPool", "Min", "Mod", "Mul", "Neg",
    "NonZero", "Not", "OneHot", "Or", "PRelu", "Pad", "QuantizeLinear", "Range", "Reciprocal", "ReduceMax",
    "ReduceMin", "Relu", "Reshape", "Round", "ScatterElements", "ScatterND", "Shape", "Sign", "Size", "Slice",
    "SpaceToDepth", "Split", "Sqrt", "Squeeze", "Sub", "ThresholdedRelu", "Tile", "TopK", "Transpose", "Trilu",
    "Unsqueeze", "Where", "Xor",
})  # fmt: skip
# Those of them whose results relaxed mode may round otherwise.
_ARITHMETIC = frozenset({"Add", "Sub", "Mul", "Div", "DequantizeLinear", "Sqrt", "Reciprocal", "LeakyRelu", "PRelu"})
# Operators that are never computed in another precision.
_MOVES = frozenset({
    "Cast", "CastLike", "Compress", "Concat", "Constant", "ConstantOfShape", "DepthToSpace", "Expand", "Flatten",
    "Gather", "GatherElements", "GatherND", "Identity", "Pad", "Reshape", "ScatterElements", "ScatterND", "Slice",
    "SpaceToDepth", "Split", "Squeeze", "Tile", "Transpose", "Trilu", "Unsqueeze", "Where",
})  # fmt: skip
_SWAPPED = frozenset({"Max", "Min"})


def judge(
    case: RandomModel,
    after: ModelProto,
    *,
    relaxed: bool = False,
    rounded: bool = False,
    inexact: Container[str] = (),
    zeros_vary: bool = False,
) -> str:
    """How the results of an optimized model are right: `SAME`, `ROUNDED` or `UNSTABLE`.

    `rounded`: the report says that a constant was folded whose last place may differ from the runtime's. Operators in
    `inexact` may differ as if `relaxed`. With `zeros_vary` signs of zeros do not count.
    Raises `AssertionError` where a result is wrong.
    """
    before = pinned(case.model, case.draws[0])
    run, run_after = Session(before), Session(pinned(after, case.draws[0]))
    sources = Sources(before, relaxed=relaxed, rounded=rounded, zeros_vary=case.has_max, inexact=inexact)
    skip_special = relaxed and not case.finite
    worst = SAME
    for number, (feeds, draws) in enumerate(zip(case.feed_sets, case.draws, strict=True)):
        fed = {**feeds, **draws}
        expected, actual = run(fed), run_after(fed)
        assert len(actual) == len(expected)
        variants: list[list[Array]] | None = None
        for position, (own, right) in enumerate(zip(actual, expected, strict=True)):
            if same(own, right, zeros_differ=not (case.has_max or relaxed or zeros_vary)):
                continue
            name = before.graph.output[position].name
            worst = worst if worst == UNSTABLE else ROUNDED
            if close(own, right, sources.tolerance(name), skip_special=skip_special):
                continue
            worst = UNSTABLE
            variants = variants or [Session(model)(fed) for model in sources.variants()]
            moved = [found[position] for found in variants]
            assert is_unstable(own, right, moved, skip_special=skip_special), (
                f"feeds {number}, output {name}: {own} is not {right}"
            )
    return worst


def pinned(model: ModelProto, draws: Mapping[str, Array]) -> ModelProto:
    """A copy in which the results of nodes of chance are graph inputs, so that both models draw the same.

    A node is known by its name: one that was merged with another gives the other's values, and one that was folded
    gives none of them.
    """
    copy = ModelProto()
    copy.CopyFrom(model)
    used: dict[str, None] = {}

    def replace(node: NodeProto) -> list[NodeProto]:
        if not node.name.startswith(DRAWN):
            return [node]
        names = {f"{node.name} {position}": output for position, output in enumerate(node.output) if output}
        used.update(dict.fromkeys(names))
        return [helper.make_node("Identity", [name], [output]) for name, output in names.items()]

    _replace_nodes(copy, replace)
    for name in used:
        kind = helper.np_dtype_to_tensor_dtype(draws[name].dtype)
        copy.graph.input.append(helper.make_tensor_value_info(name, kind, None))
    return copy


class Sources:
    """The results of a model that may round otherwise after a rewrite, and what depends on them."""

    def __init__(
        self,
        model: ModelProto,
        *,
        relaxed: bool,
        rounded: bool = False,
        zeros_vary: bool = False,
        inexact: Container[str] = (),
    ) -> None:
        self._model = model
        self._inexact = inexact
        self._relaxed = relaxed
        self._rounded = rounded
        self._swaps = zeros_vary
        self._names: dict[str, None] = {}
        self._half: set[str] = set()
        self._loose: set[str] = set()
        self._far: set[str] = set()
        self._kinds: dict[str, int] = {}
        # Names that branches give to results of several types.
        self._shared: set[str] = set()
        for graph in _graphs(onnx.shape_inference.infer_shapes(model).graph):
            for item in (*graph.value_info, *graph.input, *graph.output):
                kind = item.type.tensor_type.elem_type
                if self._kinds.setdefault(item.name, kind) != kind:
                    self._shared.add(item.name)
        inputs = {item.name for item in model.graph.input}
        self._visit(model.graph, {item.name for item in model.graph.initializer} - inputs)

    def tolerance(self, output: str) -> float:
        """By how much of its largest magnitude a graph output may differ; 0 where only the same bits are right."""
        if output in self._half:
            return HALF_ROUNDING
        if self._relaxed or output in self._far:
            return RELAXED
        return ROUNDING if output in self._loose else 0.0

    def variants(self) -> Iterator[ModelProto]:
        """Models that are as right as the original."""
        for signs in ((1, 1), (1, -1), (-1, 1)):
            if self._names:
                yield self._moved(signs)
        if self._swaps:
            copy = ModelProto()
            copy.CopyFrom(self._model)
            for graph in _graphs(copy.graph):
                for node in graph.node:
                    if node.op_type in _SWAPPED:
                        node.input[:] = reversed(node.input)
            yield copy

    def _visit(self, graph: GraphProto, constants: set[str]) -> None:
        constants.update(item.name for item in graph.initializer if graph is not self._model.graph)
        for node in graph.node:
            read = [name for name in node.input if name]
            read += [name for inner in subgraphs(node) for name in captured(inner)]
            is_constant = all(name in constants for name in read) or node.op_type in ("Shape", "Size")
            for inner in subgraphs(node):
                self._visit(inner, constants)
            kind = next((self._kinds[name] for name in node.output if self._kinds.get(name) in _STEPS), None)
            is_half = kind == TensorProto.FLOAT16 and node.op_type not in _MOVES
            is_folded = self._rounded and is_constant and node.op_type not in _EXACT
            is_relaxed = self._relaxed and (node.op_type not in _EXACT or node.op_type in _ARITHMETIC)
            is_inexact = node.op_type in self._inexact
            if kind is not None and (is_half or is_folded or is_relaxed or is_inexact):
                self._names.update((name, None) for name in node.output if self._kinds.get(name) in _STEPS)
            inner_names = {name for inner in subgraphs(node) for item in inner.node for name in item.output}
            depends = {*read, *inner_names}
            if is_half or depends & self._half:
                self._half.update(node.output)
            if is_folded or depends & self._loose:
                self._loose.update(node.output)
            if is_inexact or depends & self._far:
                self._far.update(node.output)
            if is_constant:
                constants.update(node.output)
            elif node.op_type == "If" and node.input[0] in constants:
                # What the branch that is taken returns may be constant, though it captures what is not.
                returned = zip(*([item.name for item in inner.output] for inner in subgraphs(node)), strict=True)
                both = zip(node.output, returned, strict=True)
                constants.update(name for name, names in both if constants.issuperset(names))

    def _moved(self, signs: tuple[int, int]) -> ModelProto:
        """The model with each result that may round otherwise a little larger or smaller."""
        copy = ModelProto()
        copy.CopyFrom(self._model)
        count = 0

        def replace(node: NodeProto) -> list[NodeProto]:
            nonlocal count
            made = [node]
            for position, name in enumerate(node.output):
                if name not in self._names or name in self._shared:
                    continue
                kind = self._kinds[name]
                dtype = helper.tensor_dtype_to_np_dtype(kind)
                count += 1
                factor = np.array(1 + signs[count % 2] * _STEPS[kind], dtype)
                node.output[position] = f"{name} before"
                constant = helper.make_node("Constant", [], [f"{name} by"], value=numpy_helper.from_array(factor))
                made += [constant, helper.make_node("Mul", [f"{name} before", f"{name} by"], [name])]
            return made

        _replace_nodes(copy, replace)
        return copy


def _graphs(graph: GraphProto) -> list[GraphProto]:
    """A graph and those inside, the inner ones last."""
    found = [graph]
    for node in graph.node:
        for inner in subgraphs(node):
            found += _graphs(inner)
    return found


def _replace_nodes(model: ModelProto, replace: Callable[[NodeProto], list[NodeProto]]) -> None:
    """Replaces each node in place; the graphs inside come first, since those around them copy them."""
    for graph in reversed(_graphs(model.graph)):
        nodes = [made for node in graph.node for made in replace(node)]
        copies = [NodeProto.FromString(node.SerializeToString()) for node in nodes]
        del graph.node[:]
        graph.node.extend(copies)


def same(own: Array, right: Array, *, zeros_differ: bool) -> bool:
    """Same type, shape and bits; any NaN equals any other."""
    assert own.dtype == right.dtype, f"{own.dtype} is not {right.dtype}"
    if own.shape != right.shape:
        return False
    if own.dtype.kind != "f":
        return bool((own == right).all())
    equal = (own == right) & ((np.signbit(own) == np.signbit(right)) | (not zeros_differ))
    return bool((equal | (np.isnan(own) & np.isnan(right))).all())


def close(own: Array, right: Array, tolerance: float, *, skip_special: bool) -> bool:
    if not tolerance or own.dtype.kind != "f" or own.shape != right.shape:
        return False
    return _distance(own, right, skip_special=skip_special) <= tolerance


def _distance(own: Array, right: Array, *, skip_special: bool) -> float:
    """The largest difference over the largest magnitude; infinite where only one is finite, unless that is skipped."""
    if own.shape != right.shape:
        return np.inf
    with np.errstate(all="ignore"):
        ours, theirs = own.astype(np.float64), right.astype(np.float64)
        both = np.isfinite(ours) & np.isfinite(theirs)
        same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
        if not skip_special and not (both | same).all():
            return np.inf
        if not both.any():
            return 0.0
        apart = np.abs(ours - theirs)[both].max()
        return float(apart / max(np.abs(theirs[both]).max(), 1e-3))


def is_unstable(own: Array, right: Array, moved: list[Array], *, skip_special: bool) -> bool:
    """Whether models that are as right as the original are as far from it, or other in what is not a float."""
    if own.dtype.kind != "f":
        return any(item.shape != right.shape or bool((item != right).any()) for item in moved)
    if not moved:
        return False
    most = max(_distance(item, right, skip_special=skip_special) for item in moved)
    return _distance(own, right, skip_special=skip_special) <= _MARGIN * most
