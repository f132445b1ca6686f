"""What passes of one's own stand on: these names, and the methods of `View` and `Edit` listed here, are stable.

docs/own-passes.md shows how a pass is written, tested and run.
"""

from __future__ import annotations

from maxfold.model.dtypes import DType
from maxfold.model.edit import Edit
from maxfold.model.errors import ModelError
from maxfold.model.graph import Constant, Graph, Node, Tensor
from maxfold.model.inference import PartialValue
from maxfold.model.view import View
from maxfold.passes.driver import RulePass, SingleRulePass
from maxfold.passes.nodes import (
    axes,
    bypassed,
    integer,
    integers,
    known_integers,
    made_by,
    number,
    operand,
    scalar,
    text,
    why_not_absorbed,
)
from maxfold.passes.rule import Decline, Match, Pass, PassResult, Progress, Rule

__all__ = [
    "Constant",
    "DType",
    "Decline",
    "Edit",
    "Graph",
    "Match",
    "ModelError",
    "Node",
    "PartialValue",
    "Pass",
    "PassResult",
    "Progress",
    "Rule",
    "RulePass",
    "SingleRulePass",
    "Tensor",
    "View",
    "axes",
    "bypassed",
    "integer",
    "integers",
    "known_integers",
    "made_by",
    "number",
    "operand",
    "scalar",
    "text",
    "why_not_absorbed",
]

STABLE_VIEW = (
    "nodes", "opset", "is_operator", "producer", "consumers", "only_consumer", "use_count", "is_single_use",
    "is_graph_input", "is_graph_output", "is_kept", "constant", "why_not_constant", "dtype", "shape", "dims", "rank",
    "value", "why_fixed", "why_not_replaceable", "remembered",
)  # fmt: skip
"""The methods of `View` that stay; beside them its `model`, `math` and `keep`."""

STABLE_EDIT = (
    "add_node", "add_constant", "omitted", "become", "set_inputs", "set_attribute", "fold", "replace_uses", "renew",
    "remove_node", "remove_unused", "flush",
)  # fmt: skip
"""The methods of `Edit`, which is a `View`, that stay."""
