"""An ONNX model in the one form that rows know: one operator set, no calls, no branches and loops that are decided.

All of it is done to a copy: the caller's model stays what it is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import onnx

from maxfold.model.edit import Edit
from maxfold.model.graph import Function, Node, Tensor, scopes_of
from maxfold.model.model import Model
from maxfold.model.model_copies import copy_model
from maxfold.model.names import forget_wishes
from maxfold.model.records import frozen_value
from maxfold.model.view import domain_of
from maxfold.passes.conversion.check import OnnxChecks
from maxfold.passes.conversion.computed_shapes import settle_shapes
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.masked_rows import spell_out
from maxfold.passes.conversion.origins import Origins
from maxfold.passes.conversion.versions import NEWEST_ONNX
from maxfold.passes.conversion.walk import Source
from maxfold.passes.driver import RulePass, run_rule_passes
from maxfold.passes.expansion import expand, has_body
from maxfold.passes.fuse_sequences import FuseSequences
from maxfold.passes.inline_constant_if import InlineConstantIf
from maxfold.passes.inline_functions import inline_calls, with_callers
from maxfold.passes.remove_failing_branch import RemoveFailingBranch
from maxfold.passes.rule import DeclineRecord
from maxfold.passes.unroll_loop import UnrollLoop
from maxfold.passes.upgrades.upgrading import upgrade_all_that_go

_DECIDED: tuple[RulePass, ...] = (InlineConstantIf(), RemoveFailingBranch(), UnrollLoop(), FuseSequences())

# Operators that go on under another name.
_RENAMED = frozenset({"Scatter", "Upsample"})


@frozen_value
class Prepared:
    """A copy of a model as rows see it.

    `refused` are the nodes of it that cannot be converted, each with the reason, `sources` what nodes that the file
    has were before. `foreign` are tensors that the file does not have, or has in a graph inside, and `silent` the nodes
    of which nothing is left that could say what they said.
    """

    view: Edit
    refused: Mapping[Node, str]
    sources: Mapping[Node, Source]
    foreign: Collection[Tensor]
    silent: Collection[str]

    @property
    def model(self) -> Model:
        """The copy."""
        return self.view.model

    def source(self, node: Node) -> Source:
        """The node that the file has for a node."""
        return self.sources.get(node) or Source.of(node)


def prepare(model: Model, rows: Collection[str]) -> Prepared:
    """Copies a model, checks its nodes by the schemas of its own version, and brings the copy to the version of rows.

    `rows` are the operators that have one. Raises `ModelError` where the model's versions are not clear.
    """
    copy = copy_model(model)
    if copy.has_new_names:
        forget_wishes(copy)
    target = min(NEWEST_ONNX, onnx.defs.onnx_opset_version())
    if "" not in copy.opsets(copy.graph):
        # It has none of ONNX's own operators, but its functions may.
        copy.proto.opset_import.add(domain="", version=target)
    # An IR declares a dimension of 0 too, and OpenVINO goes by it.
    edit = Edit(copy, believes_zero=True, is_checked=False)
    origins = Origins(copy.graph)
    _, declines = inline_calls(edit)
    _decide(edit)
    sources = {node: Source.of(node) for node in edit.nodes()}
    refused = _wrong(edit, rows)
    # At its own version it is defined as the model meant it, by operators that may be easier to bring further.
    _expand(edit, rows, refused, sources, origins)
    versions = [copy.opsets(root).get("", target) for root in copy.roots()]
    inside: dict[Function, str] = {}
    if versions[0] <= target and min(versions) < target:
        for node, reason in upgrade_all_that_go(edit, target, refused).items():
            refused.setdefault(node, reason)
        inside = _refused_inside(copy, refused)
        _, declines = inline_calls(edit, inside)
    refused.update(_calls(edit, declines, inside))
    refused.update(_expand(edit, rows, refused, sources, origins))
    settle_shapes(edit)
    spell_out(edit)
    if any(node.op in ("Loop", "Scan") for node in edit.nodes()):
        edit.forget_types(settles_loops=True)
    # What is said of values that are gone is said to be lost.
    edit.model.graph.forgotten = set(model.graph.forgotten)
    foreign, silent = origins.hand_on()
    return Prepared(edit, refused, sources, foreign, silent)


def _expand(
    edit: Edit, rows: Collection[str], refused: Collection[Node], sources: dict[Node, Source], origins: Origins
) -> dict[Node, str]:
    """Puts what ONNX defines operators by in the place of those that have no row; returns those that are left."""
    opset = edit.model.opsets(edit.model.graph).get("", 0)
    left: dict[Node, str] = {}

    def is_wanted(node: Node) -> bool:
        return node.op not in rows and node not in refused and has_body(node.op, opset)

    def settle(body: Edit) -> str | None:
        _decide(body)
        missing = [node.op for node in body.nodes() if not (node.op in rows or has_body(node.op, opset))]
        return f"nor is {missing[0]}, of which it is made" if missing else None

    expansion = expand(edit, is_wanted, settle)
    origins.note(expansion)
    for node, reason in expansion.refused.items():
        left[node] = f"the operator is not covered: {reason}"
    for node, made in expansion.made.items():
        sources.update(dict.fromkeys(made, sources.get(node) or Source.of(node)))
    return left


def _refused_inside(model: Model, refused: Mapping[Node, str]) -> dict[Function, str]:
    """The functions with nodes that cannot come along, which their copies could not either, and why."""
    found: dict[Function, str] = {}
    for function in model.functions:
        for scope in scopes_of(function):
            for node in scope.nodes:
                if node in refused:
                    found.setdefault(function, f"{node.op} in {function.name!r}: {refused[node]}")
    return with_callers(found, model)


def _calls(edit: Edit, declines: Collection[DeclineRecord], inside: Mapping[Function, str]) -> dict[Node, str]:
    """The calls that are left."""
    reasons = {(decline.node, decline.operator): decline.reason for decline in declines}
    found: dict[Node, str] = {}
    for node in edit.nodes() if edit.model.functions else ():
        if edit.is_function_call(node):
            named = next((tensor.name for tensor in node.outputs if tensor.name), "")
            function = edit.called_function(node)
            reason = "" if function is None else inside.get(function, "")
            reason = reason or reasons.get((node.name or named, node.op), "")
            found[node] = f"it calls a model-local function that cannot be inlined: {reason}".rstrip(": ")
    return found


def _decide(edit: Edit) -> None:
    """Resolves branches and loops whose course is known, and sequences whose members are."""
    operators = {operator for entry in _DECIDED for rule in entry.rules() for _, operator in rule.operators}
    if any(node.op in operators for node in edit.nodes()):
        run_rule_passes(_DECIDED, edit)


def _wrong(edit: Edit, rows: Collection[str]) -> dict[Node, str]:
    """The nodes that their operator's schema does not allow; others than those with a row are refused anyway."""
    checks = OnnxChecks(edit)
    wrong: dict[Node, str] = {}
    for scope in edit.model.scopes():
        for node in scope.nodes:
            if domain_of(node) or edit.is_function_call(node) or not (node.op in rows or node.op in _RENAMED):
                continue
            try:
                checks.before(node)
            except UnsupportedError as error:
                wrong[node] = str(error)
    return wrong
