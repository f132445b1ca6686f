"""Pairs of operators that mean the same, as data; the walks read them in both directions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.sites.onnx_site import OnnxSite
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite

BROADCAST = "auto_broadcast"
PDPD_AXIS = "auto_broadcast.auto_broadcast_axis"
KINDS = ("number", "integer", "flag", "integers", "text")
OPERANDS = ("same", "broadcast", "chain")


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of both sides. `kind` says what it is, `words` which texts are the same; what ONNX has no name for
    is `fixed`."""

    onnx: str
    openvino: str
    kind: str
    words: Mapping[str, str]
    fixed: str = ""

    def to_openvino(self, site: OpenvinoSite) -> Any:
        """The value for the operation."""
        if self.fixed:
            return self.fixed
        value = site.attribute(self.onnx)
        if self.words:
            return _word(self.words, value, self.onnx)
        return bool(value) if self.kind == "flag" else value

    def to_onnx(self, site: OnnxSite) -> Any:
        """The value for the operator. Raises `UnsupportedError` where it has none."""
        if self.fixed:
            return _word({self.fixed: self.fixed}, site.text(self.openvino).lower(), self.openvino)
        if self.words:
            said = {theirs: ours for ours, theirs in self.words.items()}
            return _word(said, site.text(self.openvino).lower(), self.openvino)
        value = _READERS[self.kind](site, self.openvino)
        return int(value) if self.kind == "flag" else value


@dataclass(frozen=True, slots=True)
class Pair:
    """An ONNX operator and an OpenVINO operation, which operator set `since` introduced, of the same meaning."""

    onnx: str
    openvino: str
    since: int
    attributes: tuple[Attribute, ...] = ()
    operands: str = "same"
    tolerance: str = "exact"
    limits: str = ""

    @staticmethod
    def of(onnx: str, openvino: str, since: int, attributes: str, operands: str, tolerance: str, limits: str) -> Pair:
        """A pair whose attributes are written as `row.pair` says. Raises `ValueError` where they are not."""
        if operands not in OPERANDS:
            raise ValueError(f"operands are one of {', '.join(OPERANDS)}, not {operands!r}")
        return Pair(onnx, openvino, since, tuple(map(_parsed, attributes.split())), operands, tolerance, limits)

    def to_openvino(self, site: OpenvinoSite) -> None:
        """The operation of a node."""
        data = {attribute.openvino: attribute.to_openvino(site) for attribute in self.attributes}
        if self.operands != "same":
            data[BROADCAST] = "numpy"
        first, *others = site.inputs()
        if self.operands != "chain":
            site.result(site.add(self.openvino, [first, *others], data, opset=self.since))
            return
        for operand in others:
            first = site.add(self.openvino, [first, operand], data, opset=self.since)
        site.result(first)

    def to_onnx(self, site: OnnxSite) -> None:
        """The node of an operation."""
        values = {item.onnx: item.to_onnx(site) for item in self.attributes if not item.fixed}
        for item in self.attributes:
            if item.fixed:
                item.to_onnx(site)
        operands = site.inputs() if self.operands == "same" else broadcast_operands(site)
        site.result(site.add(self.onnx, operands, values))


def broadcast_operands(site: OnnxSite) -> list[Tensor]:
    """The operands of a binary OpenVINO operation, the second one reshaped where `pdpd` aligns it by an axis."""
    a, b = site.inputs()
    mode = site.text(BROADCAST).lower()
    # Only pdpd has an axis, and a scalar has no place.
    site.ignore(PDPD_AXIS)
    if mode in ("numpy", "none", "explicit") or (mode == "pdpd" and site.rank(1) == 0):
        return [a, b]
    if mode != "pdpd":
        raise UnsupportedError(f"its auto_broadcast {mode!r} is not covered")
    axis = site.integer(PDPD_AXIS)
    if axis == -1:
        return [a, b]
    trailing = _trailing_ones(site.rank(0), site.rank(1), axis)
    if not trailing:
        return [a, b]
    axes = site.constant([site.rank(1) + index for index in range(trailing)], "int64")
    return [a, site.add("Unsqueeze", [b, axes])]


def _trailing_ones(a_rank: int, b_rank: int, axis: int) -> int:
    """How many dimensions of 1 the second operand needs at its end to start at `axis` of the first."""
    trailing = a_rank - axis - b_rank
    if trailing < 0 or axis < 0:
        raise UnsupportedError(f"its second operand of {b_rank} dimensions does not fit at axis {axis} of {a_rank}")
    return trailing


def _parsed(written: str) -> Attribute:
    names, _, kind = written.partition(":")
    onnx, is_renamed, openvino = names.partition("=")
    if not onnx:
        return Attribute("", openvino, "text", {}, fixed=kind)
    words = dict(word.split("=") for word in kind.split("|")) if "=" in kind else {}
    if not words and kind not in KINDS:
        raise ValueError(f"the kind of {written!r} is none of {', '.join(KINDS)}")
    return Attribute(onnx, openvino if is_renamed else onnx, "text" if words else kind, words)


def _word(words: Mapping[str, str], value: object, name: str) -> str:
    found = words.get(value) if isinstance(value, str) else None
    if found is None:
        raise UnsupportedError(f"its {name} {value!r} is not covered")
    return found


_READERS: dict[str, Callable[[OnnxSite, str], Any]] = {
    "number": OnnxSite.floating,
    "integer": OnnxSite.integer,
    "flag": OnnxSite.flag,
    "integers": OnnxSite.integers,
    "text": OnnxSite.text,
}
