"""OpenVINO's operations: which version an operator set has, how many inputs and results, and which attributes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from maxfold.model.errors import ModelError
from maxfold.model.openvino import text
from maxfold.model.openvino.operation_table import ABSENT, LINES, SHARED

NEWEST = 16
"""The last operator set of which all operations are listed."""

_NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf|infinity|nan)", re.IGNORECASE)
_WORDS = {"number": "a number", "numbers": "a list of numbers", "flag": "a flag"}
# What an attribute is where its line says no more.
_NOTHING = {"flag": "false", "integer": "0", "number": "0"}
# Children of a layer that are attributes in the graph: bodies, and what their ports are.
_PARTS = ("body", "map")


@dataclass(frozen=True, slots=True)
class Attribute:
    """What an attribute's text means ("text", "texts", "flag", "integer", "integers", "number", "numbers", "type",
    "shape"; "body" and "map" are children of the layer), and what the reader takes where it is missing, None where it
    then refuses the layer or makes nothing of use of it. One that is not read has been given by old writers only."""

    kind: str
    default: str | None
    is_read: bool = True

    @property
    def is_required(self) -> bool:
        """Whether a layer must have it."""
        return self.default is None

    def is_default(self, value: object) -> bool:
        """Whether a value is what the reader takes where the attribute is missing."""
        if self.default is None or self.kind in _PARTS:
            return False
        return _meaning(text.spell(value), self.kind) == _meaning(self.default, self.kind)


@dataclass(frozen=True, slots=True)
class Operation:
    """One version of an operation: spans of how many inputs and results it may have (lowest and highest, None: no
    end)."""

    type: str
    version: int
    inputs: tuple[tuple[int, int | None], ...]
    results: tuple[tuple[int, int | None], ...]
    attributes: Mapping[str, Attribute]

    @property
    def name(self) -> str:
        """Type and version, as specifications write them."""
        return f"{self.type}-{self.version}"

    def takes(self, count: int) -> bool:
        """Whether it may have so many inputs."""
        return _is_between(count, self.inputs)

    def gives(self, count: int) -> bool:
        """Whether it may have so many results."""
        return _is_between(count, self.results)

    def why_not(self, inputs: int, results: int, attributes: Mapping[str, object]) -> str | None:
        """Why a layer is none of this operation, by its counts and attributes; None where it is."""
        if not self.takes(inputs):
            return f"{self.name} does not take {inputs} inputs"
        if not self.gives(results):
            return f"{self.name} does not have {results} results"
        unknown = sorted(attributes.keys() - self.attributes.keys())
        if unknown:
            return f"its attribute {unknown[0]!r} is none of {self.name}"
        missing = sorted(
            name for name, known in self.attributes.items() if known.is_required and name not in attributes
        )
        if missing:
            return f"its attribute {missing[0]!r} is missing"
        reasons = (_why_not_of_kind(name, value, self.attributes[name].kind) for name, value in attributes.items())
        return next((reason for reason in reasons if reason is not None), None)


def _is_between(count: int, spans: tuple[tuple[int, int | None], ...]) -> bool:
    return any(least <= count and (most is None or count <= most) for least, most in spans)


def _why_not_of_kind(name: str, value: object, kind: str) -> str | None:
    if kind in _PARTS:
        return None
    what = f"its attribute {name!r}"
    try:
        value = text.spell(value)
    except TypeError:
        return f"{what} is no text"
    try:
        if kind == "integer":
            text.integer(value, what)
        elif kind == "integers":
            text.integers(value, what)
        elif kind == "type":
            text.element_type(value, what)
        elif kind == "shape":
            text.partial_shape(value, what)
    except ModelError as error:
        return str(error)
    is_valid = {
        "number": _is_number(value),
        "numbers": all(map(_is_number, _items(value))),
        "flag": text.is_boolean(value),
    }.get(kind, True)
    return None if is_valid else f"{what} is {value[:40]!r}, not {_WORDS[kind]}"


def _is_number(value: str) -> bool:
    return _NUMBER.fullmatch(value.strip()) is not None


def _items(value: str) -> list[str]:
    """The parts of a list; empty text is an empty list."""
    return [item.strip() for item in value.split(",")] if value.strip() else []


def _meaning(value: str, kind: str) -> object:
    """What tells a value from another; OpenVINO reads words in any case. Of a kind that it is not, the text."""
    if _why_not_of_kind("", value, kind) is not None:
        return value
    if kind == "flag":
        return text.boolean(value, default=False)
    if kind in ("integer", "number"):
        return float(value) if kind == "number" else int(value)
    items = [item.lower() for item in _items(value)]
    return [float(item) for item in items] if kind in ("integers", "numbers") else items


def operation(kind: str, opset: int) -> Operation | None:
    """The version of an operation that an operator set has, None where it has none."""
    found = [version for version in OPERATIONS.get(kind, ()) if version.version <= opset]
    return found[-1] if found and opset not in ABSENT.get(kind, ()) else None


def canonical_type(written: str) -> str:
    """The usual spelling of a layer's type, which OpenVINO reads in any case; one that is not known stays as it is."""
    return _SPELLINGS.get(written.lower(), written)


def _parsed(lines: str) -> dict[str, tuple[Operation, ...]]:
    found: dict[str, tuple[Operation, ...]] = {}
    for line in re.sub(r"\n +", " ", lines).split("\n"):
        if line:
            made = _operation(line)
            found[made.type] = (*found.get(made.type, ()), made)
    return found


def _operation(line: str) -> Operation:
    kind, version, inputs, results, *attributes = line.split()
    listed = " ".join(SHARED.get(item, item) for item in attributes).split()
    return Operation(kind, int(version), _spans(inputs), _spans(results), dict(map(_attribute, listed)))


def _attribute(written: str) -> tuple[str, Attribute]:
    name, _, rest = written.partition(":")
    kind, _, default = rest.rstrip("!~").partition("=")
    given = None if rest.endswith("!") else default or _NOTHING.get(kind, "")
    return name, Attribute(kind, given, not rest.endswith("~"))


def _spans(written: str) -> tuple[tuple[int, int | None], ...]:
    return tuple(map(_span, written.split(",")))


def _span(written: str) -> tuple[int, int | None]:
    if written.endswith("+"):
        return int(written[:-1]), None
    low, _, high = written.partition("-")
    return int(low), int(high or low)


OPERATIONS = _parsed(LINES)
"""All known versions of each operation, oldest first."""

BODY_TYPES = {
    kind: tuple(name for name, attribute in versions[-1].attributes.items() if attribute.kind in _PARTS)
    for kind, versions in OPERATIONS.items()
    if any(attribute.kind in _PARTS for attribute in versions[-1].attributes.values())
}
"""The children of each layer type that hold bodies and maps, in the order in which OpenVINO writes them."""

# Beside operations: what has no operands, and what only a later operator set has.
_OTHERS = ("Const", "Parameter", "Result", "ErfInv")
_SPELLINGS = {name.lower(): name for name in (*OPERATIONS, *_OTHERS)} | {"constant": "Const"}
