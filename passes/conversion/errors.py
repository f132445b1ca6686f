"""Why a model cannot be converted: everything at once, by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from maxfold.model.errors import ModelError

_SHOWN = 12


class UnsupportedError(Exception):
    """One node that cannot be converted; the text is the reason."""


class InsideError(Exception):
    """Nodes of a body cannot be converted, which has been noted of each of them."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """An operator that cannot be converted for one reason: how many nodes, and one of them."""

    operator: str
    reason: str
    count: int
    example: str


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


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"
