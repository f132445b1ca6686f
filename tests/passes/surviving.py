"""What every rewrite promises of tensors that it leaves in place: they hold what they held.

    with Watch(feed_sets).watching():
        ...                                  passes run; each single application of a rule is looked at

After each application the model is run as it stands, with all results of its main graph as outputs. Then

- whatever was a result before and still is one holds the same, up to rounding;
- all facts that inference still has of it are true: types, dims and values, with one size for each symbol everywhere;
- they do not contradict what is derived anew, in subgraphs too;
- so is what the file declares of it, if it was before.
"""

from __future__ import annotations

import io
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import numpy as np
from onnx import ModelProto, TensorProto, ValueInfoProto

from maxfold.model import write_onnx
from maxfold.model.edit import Edit
from maxfold.model.graph import Constant, Node, Tensor, subgraphs
from maxfold.model.inference import Inference, PartialValue
from maxfold.model.inference.facts import Fact
from maxfold.model.inference.symbolic import Atom, Dim
from maxfold.model.types import declared_shape
from maxfold.model.view import domain_of
from maxfold.passes import driver
from tests.random_models.trial import Session
from tests.text import Array

_CHANCE = {
    "RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli", "Multinomial", "Dropout",
}  # fmt: skip
# Of the largest magnitude of a result: folding may round the last place otherwise, relaxed mode any.
_TOLERANCES = {2: 2e-2, 4: 2e-4, 8: 2e-4}

State = dict[Tensor, list[Array]]


@dataclass
class Watch:
    """Looks at a model after each application of a rule, run on sets of finite values for its inputs.

    `applied` counts the applications that were looked at, by the class of the match.
    """

    feed_sets: Sequence[Mapping[str, Array]]
    applied: Counter[str] = field(default_factory=Counter)
    _state: State | None = None
    _true: set[str] = field(default_factory=set)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Rules that are applied inside are looked at."""
        original = driver._apply

        def apply(match: Any, node: Any, tally: Any, edit: Edit) -> None:
            if self._state is None:
                self.begin(edit)
            original(match, node, tally, edit)
            self.look(edit, f"{tally.name}, {type(match).__name__}, at {node.name or node.outputs[0].name!r}")
            self.applied[type(match).__name__] += 1

        with mock.patch.object(driver, "_apply", apply):
            yield

    def begin(self, edit: Edit) -> None:
        """Takes the model as it is for the original."""
        self._state = _results(_proto(edit), edit, self.feed_sets)
        self._true = {info.name for info in edit.model.graph.value_info if self._is_true(info, edit)}

    def look(self, edit: Edit, what: str) -> None:
        """Compares the model as it is now with what it was. Raises `AssertionError` with `what` was done to it."""
        inference = edit._inference
        with _unseen(edit):
            state = _results(_proto(edit), edit, self.feed_sets)
            _assert_not_contradicted(inference, edit, what)
        before, self._state = self._state, state
        if before is None or not state:
            return
        for tensor, arrays in state.items():
            for own, right in zip(arrays, before.get(tensor, arrays), strict=True):
                _assert_close(own, right, edit.math, f"{what}: {tensor.name!r}")
        rounding = _TOLERANCES[4] if edit.math == "relaxed" else 0.0
        for number in range(len(self.feed_sets)):
            _assert_facts(inference, {tensor: arrays[number] for tensor, arrays in state.items()}, rounding, what)
        for info in edit.model.graph.value_info:
            if info.name in self._true and info.name not in edit.model.graph.forgotten:
                assert self._is_true(info, edit), f"{what}: the declaration of {info.name!r} is false"

    def _is_true(self, info: ValueInfoProto, edit: Edit) -> bool:
        shape = declared_shape(info)
        found = [arrays for tensor, arrays in (self._state or {}).items() if tensor.name == info.name]
        if shape is None or not found:
            return True
        return all(
            len(shape) == array.ndim and all(dim in (None, size) for dim, size in zip(shape, array.shape, strict=True))
            for array in found[0]
        )


@contextmanager
def _unseen(edit: Edit) -> Iterator[None]:
    """The lists are brought up to date, and nothing that has been derived is forgotten by that."""
    inference, remembered, is_outdated = edit._inference, dict(edit._remembered), edit._is_outdated
    edit.flush()
    yield
    edit._inference, edit._is_outdated = inference, is_outdated
    edit._remembered.update(remembered)


def _proto(edit: Edit) -> ModelProto:
    edit.flush()
    stream = io.BytesIO()
    write_onnx(edit.model, stream)
    return ModelProto.FromString(stream.getvalue())


def _results(proto: ModelProto, edit: Edit, feed_sets: Sequence[Mapping[str, Array]]) -> State:
    """What all results of the main graph hold for each set; nothing where ONNX Runtime does not run the model."""
    graph = edit.model.graph
    made = {tensor.name: tensor for node in graph.nodes for tensor in node.outputs if tensor.name}
    if any(node.op in _CHANCE or _is_misread(node, edit) for node in edit.model.nodes()):
        return {}
    given = {info.name for info in proto.graph.output}
    kinds = {name: edit.dtype(tensor) for name, tensor in made.items()}
    for name, tensor in made.items():
        kind = kinds[name]
        if name not in given and kind is not None and kind.onnx is not None and tensor.inputs:
            info = ValueInfoProto(name=name)
            info.type.tensor_type.elem_type = kind.onnx
            proto.graph.output.append(info)
    try:
        session = Session(proto)
        found = [session(feeds) for feeds in feed_sets]
    except Exception:
        return {}
    names = [info.name for info in proto.graph.output]
    state: State = {}
    for position, name in enumerate(names):
        if name in made:
            state[made[name]] = [arrays[position] for arrays in found]
    inputs = {tensor.name: tensor for tensor in graph.inputs if not isinstance(tensor, Constant)}
    for name in inputs.keys() & feed_sets[0].keys():
        state[inputs[name]] = [np.asarray(feeds[name]) for feeds in feed_sets]
    return state


def _is_misread(node: Node, edit: Edit) -> bool:
    """Whether ONNX Runtime breaks on a node (results without names, a graph that returns a tensor twice), takes it for
    an operator though it calls a function of that name, or may not come to an end."""
    if node.op == "Loop" and not node.inputs[0].name:
        return True
    if domain_of(node) == "" and edit.is_function_call(node):
        return True
    repeats = any(len(set(scope.outputs)) < len(scope.outputs) for scope in subgraphs(node))
    return repeats or not all(tensor.name for tensor in node.outputs)


def _assert_close(own: Array, right: Array, mode: str, what: str) -> None:
    assert (own.dtype, own.shape) == (right.dtype, right.shape), f"{what}: another type or shape than before"
    if own.dtype.kind != "f":
        # Relaxed rounding may turn what is compared or chosen.
        assert mode == "relaxed" or own.tolist() == right.tolist(), f"{what}: {own} is not {right}"
        return
    with np.errstate(all="ignore"):
        ours, theirs = own.astype(np.float64), right.astype(np.float64)
        finite = np.isfinite(theirs)
        bound = _TOLERANCES[own.dtype.itemsize] * max(1.0, float(np.abs(theirs[finite]).max(initial=0.0)))
        same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs)) | (np.abs(ours - theirs) <= bound)
    assert same.all() or (mode == "relaxed" and not finite.all()), f"{what}: {own} is not {right}"


def _assert_facts(inference: Inference, state: Mapping[Tensor, Array], rounding: float, what: str) -> None:
    """All facts that are still there hold of these results, floats to `rounding`."""
    sizes: dict[Atom, int] = {}
    facts = {tensor: inference._facts[tensor] for tensor in state if tensor in inference._facts}
    for tensor, fact in facts.items():
        array = state[tensor]
        assert fact.dtype is None or fact.dtype.numpy == array.dtype, f"{what}: {tensor.name!r} is no {fact.dtype}"
        if fact.dims is None:
            continue
        assert len(fact.dims) == array.ndim, f"{what}: {tensor.name!r} is not of rank {len(fact.dims)}"
        for dim, size in zip(fact.dims, array.shape, strict=True):
            atom = _symbol(dim)
            if atom is not None:
                sizes.setdefault(atom, size)
    for tensor, fact in facts.items():
        array = state[tensor]
        told = f"{what}: of {tensor.name!r}, {array.dtype}{list(array.shape)}, {fact} is false"
        assert fact.dims is None or all(
            _holds(dim, size, sizes, 0.0) for dim, size in zip(fact.dims, array.shape, strict=True)
        ), told
        if fact.value is not None and fact.value.shape == array.shape:
            elements = array.reshape(-1).tolist()
            assert all(
                _holds(known, element, sizes, rounding)
                for known, element in zip(fact.value.elements, elements, strict=True)
            ), f"{told}: {elements}"
        else:
            assert fact.value is None, told


def _symbol(dim: object) -> Atom | None:
    if isinstance(dim, (int, float)) or dim is None or len(dim.terms) != 1:  # type: ignore[attr-defined]
        return None
    ((monomial, factor),) = dim.terms.items()  # type: ignore[attr-defined]
    is_symbol = factor == 1 and len(monomial) == 1 and monomial[0].kind == "symbol"
    return monomial[0] if is_symbol else None


def _holds(dim: Any, actual: float, sizes: Mapping[Atom, int], rounding: float) -> bool:
    """Whether a dim or an element is that number, as far as all its symbols are known."""
    if dim is None:
        return True
    try:
        known = _number(dim, sizes)
    except LookupError:
        return True
    if known == actual or not isinstance(known, float):
        return known == actual
    return math.isclose(known, actual, rel_tol=rounding) or (math.isnan(known) and math.isnan(actual))


def _number(dim: Dim, sizes: Mapping[Atom, int]) -> int:
    """Raises `LookupError` for a symbol whose size is not known."""
    if isinstance(dim, (int, float)):
        return dim
    total = 0
    for monomial, factor in dim.terms.items():
        for atom in monomial:
            factor *= _atom(atom, sizes)
        total += factor
    return total


def _atom(atom: Atom, sizes: Mapping[Atom, int]) -> int:
    if atom.kind == "symbol":
        return sizes[atom]
    members = list(atom.arguments)
    numbers = [_number(member, sizes) for member in members]
    match atom.kind:
        case "sum":
            return numbers[0]
        case "product":
            return numbers[0] * numbers[-1]
        case "min":
            return min(numbers)
        case "max":
            return max(numbers)
        case "broadcast":
            return next((number for number in numbers if number != 1), 1)
        case "nonzero":
            return numbers[0] or numbers[1]
        case "floor_div":
            return numbers[0] // numbers[1] if numbers[1] else sizes[atom]
        case "truncated_div":
            return int(numbers[0] / numbers[1])
    raise AssertionError(f"an atom of kind {atom.kind!r}")


def _assert_not_contradicted(inference: Inference, edit: Edit, what: str) -> None:
    """No fact that is still there says another thing than what is derived anew."""
    fresh = Inference(edit)
    for node in edit.model.nodes():
        for tensor in node.outputs:
            cached = inference._facts.get(tensor)
            if cached is not None and tensor.name:
                derived = fresh.fact(tensor)
                assert not _differ(cached, derived), f"{what}: of {tensor.name!r}, {cached} is now {derived}"


def _differ(left: Fact, right: Fact) -> bool:
    if left.dtype is not None and right.dtype is not None and left.dtype is not right.dtype:
        return True
    if left.dims is not None and right.dims is not None and _differ_in(left.dims, right.dims):
        return True
    values = (left.value, right.value)
    return all(isinstance(value, PartialValue) for value in values) and _values_differ(*values)  # type: ignore[arg-type]


def _values_differ(left: PartialValue, right: PartialValue) -> bool:
    return left.shape != right.shape or _differ_in(left.elements, right.elements)


def _differ_in(left: Sequence[object], right: Sequence[object]) -> bool:
    if len(left) != len(right):
        return True
    pairs = zip(left, right, strict=True)
    return any(isinstance(one, int) and isinstance(other, int) and one != other for one, other in pairs)


def feed_sets(source: ModelProto) -> list[dict[str, Array]] | None:
    """Two sets of finite values for the inputs of a model, of other sizes where dimensions are open.

    None where an input is no tensor of numbers, or its rank is open.
    """
    given = {tensor.name for tensor in source.graph.initializer}
    sets: list[dict[str, Array]] = []
    for seed, size in enumerate((3, 2)):
        random = np.random.default_rng(seed)
        feeds: dict[str, Array] = {}
        for info in source.graph.input:
            tensor = info.type.tensor_type
            if info.name in given and source.ir_version >= 4:
                continue
            kind = TensorProto.DataType.Name(tensor.elem_type)
            if not info.type.HasField("tensor_type") or not tensor.HasField("shape") or kind not in _FED:
                return None
            shape = [dim.dim_value if dim.HasField("dim_value") else size for dim in tensor.shape.dim]
            if np.prod(shape) > 1 << 20:
                return None
            drawn = (
                random.standard_normal(shape) if "FLOAT" in kind or kind == "DOUBLE" else random.integers(0, 2, shape)
            )
            feeds[info.name] = np.asarray(drawn).astype(_FED[kind])
        sets.append(feeds)
    return sets


_FED: dict[str, Any] = {
    "FLOAT": np.float32, "DOUBLE": np.float64, "FLOAT16": np.float16, "INT64": np.int64, "INT32": np.int32,
    "INT8": np.int8, "INT16": np.int16, "UINT8": np.uint8, "UINT16": np.uint16, "UINT32": np.uint32,
    "UINT64": np.uint64, "BOOL": np.bool_,
}  # fmt: skip
