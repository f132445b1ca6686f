"""What an operator's schema says of its nodes: how many inputs and results, of which types, with which attributes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from onnx import AttributeProto

from maxfold.model.attributes import AttributeRef, encode
from maxfold.model.dtypes import DType
from maxfold.model.errors import ModelError
from maxfold.model.graph import Constant, Graph
from maxfold.model.records import frozen_value

_KINDS: dict[int, str] = {
    AttributeProto.FLOAT: "a number", AttributeProto.INT: "an integer", AttributeProto.STRING: "text",
    AttributeProto.TENSOR: "a tensor", AttributeProto.GRAPH: "a graph", AttributeProto.FLOATS: "a list of numbers",
    AttributeProto.INTS: "a list of integers", AttributeProto.STRINGS: "a list of texts",
    AttributeProto.TENSORS: "a list of tensors", AttributeProto.GRAPHS: "a list of graphs",
    AttributeProto.SPARSE_TENSOR: "a sparse tensor", AttributeProto.SPARSE_TENSORS: "a list of sparse tensors",
    AttributeProto.TYPE_PROTO: "a type", AttributeProto.TYPE_PROTOS: "a list of types",
}  # fmt: skip
_PLURALS = frozenset(kind for kind, words in _KINDS.items() if words.startswith("a list"))


@frozen_value
class Formal:
    """One formal input or result: `variable` is the type variable whose members agree, None where each goes alone.

    `types` are those that it may have, as schemas write them: "tensor(float)".
    """

    variable: str | None
    types: frozenset[str]
    is_optional: bool


@frozen_value
class Attribute:
    """The kind of an attribute (of AttributeProto), and whether a node must have it."""

    kind: int
    is_required: bool


@frozen_value
class Signature:
    """One version of an operator; the last formal input repeats where the highest count exceeds their number.

    `input_counts` and `result_counts` are the lowest and the highest number that a node may have. A deprecated version
    has been replaced in the same operator set or in the next one.
    """

    operator: str
    version: int
    inputs: tuple[Formal, ...]
    results: tuple[Formal, ...]
    input_counts: tuple[int, int]
    result_counts: tuple[int, int]
    attributes: Mapping[str, Attribute]
    is_deprecated: bool

    @property
    def name(self) -> str:
        """Operator and version, in words."""
        return f"{self.operator} version {self.version}"

    def unknown(self, attributes: Iterable[str]) -> list[str]:
        """The names of attributes that this version does not have, sorted."""
        return sorted(set(attributes) - self.attributes.keys())

    def why_not_attributes(self, attributes: Mapping[str, Any]) -> str | None:
        """Why known attributes are not those of a node: one of another kind, or one is missing; None where they are."""
        for name, value in attributes.items():
            expected = self.attributes[name].kind
            if not is_of_kind(value, expected):
                return f"its attribute {name!r} is not {_KINDS.get(expected, 'of a known kind')}"
        missing = sorted(
            name for name, formal in self.attributes.items() if formal.is_required and name not in attributes
        )
        return f"its attribute {missing[0]!r} is missing" if missing else None

    def why_not_inputs(self, given: Sequence[bool], dtypes: Sequence[DType | None]) -> str | None:
        """Why these are not the inputs of a node, None where they are.

        `given` says which are not left out, `dtypes` their element types, None where unknown.
        """
        least, most = self.input_counts
        if not least <= len(given) <= most:
            return f"{self.name} does not take {len(given)} inputs"
        bound: dict[str, tuple[int, DType]] = {}
        for position, (is_given, dtype) in enumerate(zip(given, dtypes, strict=True)):
            formal = self.inputs[min(position, len(self.inputs) - 1)]
            if not is_given and not formal.is_optional:
                return f"{self.name} needs input {position}, which is left out"
            if not is_given or dtype is None:
                continue
            if f"tensor({dtype})" not in formal.types:
                return f"{self.name} does not take {dtype} as input {position}"
            if formal.variable is None:
                continue
            first, expected = bound.setdefault(formal.variable, (position, dtype))
            if dtype != expected:
                return f"{self.name} takes one type, but input {first} is {expected} and input {position} {dtype}"
        return None

    def why_not_results(self, count: int) -> str | None:
        """Why a node cannot have so many results, None where it can."""
        least, most = self.result_counts
        return None if least <= count <= most else f"{self.name} does not have {count} results"


def is_of_kind(value: Any, kind: int) -> bool:
    """Whether an attribute's Python value is of a kind of AttributeProto. An empty list is a list of anything."""
    if isinstance(value, AttributeRef):
        return True
    if isinstance(value, (list, tuple)) and not value:
        return kind in _PLURALS
    return _kind_of(value) == kind


def _kind_of(value: Any) -> int:
    simple = _SIMPLE_KINDS.get(type(value))
    if simple is not None:
        return simple
    if isinstance(value, Graph):
        return int(AttributeProto.GRAPH)
    if isinstance(value, Constant):
        return int(AttributeProto.TENSOR)
    items = value if isinstance(value, (list, tuple)) else ()
    kinds = set(map(type, items))
    if kinds == {int} and min(items) >= -(2**63) and max(items) < 2**63:
        return int(AttributeProto.INTS)
    if kinds == {float}:
        return int(AttributeProto.FLOATS)
    if items and isinstance(items[0], (Graph, Constant)):
        return int(AttributeProto.GRAPHS if isinstance(items[0], Graph) else AttributeProto.TENSORS)
    try:
        return int(encode("value", value).type)
    except ModelError:
        return int(AttributeProto.UNDEFINED)


_SIMPLE_KINDS: dict[type, int] = {
    float: AttributeProto.FLOAT, int: AttributeProto.INT, str: AttributeProto.STRING, bytes: AttributeProto.STRING,
}  # fmt: skip
