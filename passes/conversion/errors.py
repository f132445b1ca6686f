"""Why a model cannot be converted: everything at once, by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from maxfold.model.errors import ModelError

_SHOWN = 12


class UnsupportedError(Exception):
    """One node that cannot be converted; the text is the reason.

    `opset` is the first version of ONNX's operator set that can say it, None where no version that is written can.
    """

    def __init__(self, reason: str, opset: int | None = None) -> None:
        super().__init__(reason)
        self.opset = opset


class InsideError(Exception):
    """Nodes of a body cannot be converted, which has been noted of each of them."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """An operator that cannot be converted for one reason: how many nodes, and one of them; `opset` is the first
    version of ONNX's operator set with which it can, None where that is not all it needs."""

    operator: str
    reason: str
    count: int
    example: str
    opset: int | None = None


class ConversionError(ModelError):
    """A model that holds what the other format, or the conversion table, does not have.

    `refusals` lists everything, the most frequent first; the message names as much as fits in a line.
    """

    def __init__(self, target: str, refusals: Sequence[Refusal]) -> None:
        self.refusals = tuple(refusals)
        shown = "; ".join(
            f"{refusal.operator}: {refusal.reason} ({_nodes(refusal.count)}, such as {refusal.example!r})"
            for refusal in self.refusals[:_SHOWN]
        )
        rest = len(self.refusals) - _SHOWN
        more = f"; and {rest} more kinds" if rest > 0 else ""
        super().__init__(f"cannot be converted to {target}: {shown}{more}; see 'maxfold ops' for what can")

    @property
    def opset(self) -> int | None:
        """The version of ONNX's operator set that is enough for all of them, None where none is."""
        wanted = [refusal.opset for refusal in self.refusals if refusal.opset is not None]
        return max(wanted) if len(wanted) == len(self.refusals) else None


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"
