"""What a run of rules notes about the mode: where it mattered."""

from __future__ import annotations

from collections.abc import Callable

from maxfold.model.graph import Node, Tensor
from maxfold.model.inference import Fact


class MathLog:
    """Whether somebody asked for the mode since that was last cleared, and what came of it.

    At `undecided` nodes a rule asked and did nothing, and so did passes named in `undecided_passes`, which look at
    whole scopes: in the other mode they might do more. What was known then of a node's tensors is kept, since rewrites
    may take away what it was derived from. `rounded` are the nodes that rewrites that asked have changed or given other
    operands: in relaxed mode, these may be rounded otherwise.
    """

    def __init__(self) -> None:
        self.has_asked = False
        self.undecided: dict[Node, dict[Tensor, Fact]] = {}
        self.undecided_passes: set[str] = set()
        self.rounded: dict[Node, None] = {}

    def note_decline(self, node: Node, known: Callable[[Tensor], Fact]) -> None:
        """Rules looked at a node and did nothing."""
        if self.has_asked and node not in self.undecided:
            self.undecided[node] = {tensor: known(tensor) for tensor in (*node.inputs, *node.outputs)}
