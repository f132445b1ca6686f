"""What a rule is: it looks, and says what it would do or why not; the driver does the rest."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

from maxfold.model.edit import Edit
from maxfold.model.graph import Node
from maxfold.model.records import frequent_value, frozen, options
from maxfold.model.view import View

__all__ = [
    "Decline",
    "DeclineRecord",
    "Match",
    "NoteRecord",
    "Pass",
    "PassResult",
    "Progress",
    "Rule",
    "frozen",
    "options",
]

Progress = Callable[[str, int, int], None]
"""Called with the name of the pass, the steps done and the steps known so far."""


@frequent_value
class Decline:
    """Why a rewrite that was considered is not done.

    `relaxed_gain` counts the nodes that would go if `--math relaxed` were allowed.
    """

    reason: str
    relaxed_gain: int = 0


class Match(Protocol):
    """A rewrite that has been decided on: all its state, and the edit that carries it out.

    A tensor that is still there afterwards holds what it held, to rounding in relaxed mode, in the same type and shape:
    what has been derived of it stays in use. What a node is to make otherwise is a new tensor, by `Edit.renew`.

    A match may have a `note`, which the reader of the report should know: that a result may differ in the last place.
    """

    def apply(self, edit: Edit) -> None:
        """Changes the model. Cannot fail."""


class Rule(ABC):
    """One rewrite. Frozen: what a match finds lives in the match.

    `operators` lists (domain, operator) of the nodes that `match` is called with, "" for ONNX's own domain; such a node
    is no call of a model-local function. `results` is how many named results such a node has (unnamed ones may follow);
    None leaves that to the rule.
    Every rule reduces a measure (nodes, operands), which is why the driver ends.
    """

    __slots__ = ()
    operators: ClassVar[frozenset[tuple[str, str]]]
    results: ClassVar[int | None] = 1

    @abstractmethod
    def match(self, node: Node, view: View) -> Match | Decline | None:
        """A rewrite of the node, the reason against it, or None where there is nothing to consider. Pure."""


@dataclass(frozen=True, slots=True)
class DeclineRecord:
    """A decline as it is reported: which pass, at which node (or tensor), and why."""

    rule: str
    node: str
    operator: str
    reason: str
    relaxed_gain: int = 0


@dataclass(frozen=True, slots=True)
class NoteRecord:
    """What the reader of a report should know of a rewrite that was done: which pass, at which node, and what."""

    rule: str
    node: str
    operator: str
    note: str


@dataclass(frozen=True, slots=True)
class PassResult:
    """What one run of a pass did."""

    name: str
    changes: int
    declines: tuple[DeclineRecord, ...]
    elapsed_seconds: float
    notes: tuple[NoteRecord, ...] = ()


@options
class Pass(ABC):
    """A named step over a whole model. Its fields are its options; a subclass with some is a frozen dataclass too.

    `makes` are the operators that ONNX defines by others and that it makes of others.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    mode: ClassVar[str] = "exact"
    makes: ClassVar[frozenset[str]] = frozenset()

    @abstractmethod
    def run(self, edit: Edit, progress: Progress | None = None) -> PassResult:
        """Runs over the model once, to the end of what it can do; `edit` is flushed."""
