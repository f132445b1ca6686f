"""Takes a whole model to a newer version of ONNX's own operator set, node by node."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import field
from functools import cache
from typing import Any

import numpy as np
import onnx

from maxfold.model.edit import Edit
from maxfold.model.errors import ModelError
from maxfold.model.graph import Function, Node, Tensor, new_variable
from maxfold.model.model import ONNX_DOMAINS, Model
from maxfold.model.records import frozen_value
from maxfold.model.view import domain_of
from maxfold.passes import upgrades
from maxfold.passes.signature import is_of_kind
from maxfold.passes.signature_table import HINT, had_hint, signature
from maxfold.passes.upgrades import Adapter, Draft, Facts, Refusal

Adapters = Mapping[tuple[str, int], Adapter]


def upgrade(edit: Edit, target: int) -> int:
    """Returns the number of changes. Raises `ModelError`, and changes nothing, where a node has no equal there."""
    versions = _versions(edit.model)
    _check_target(target, versions, edit.model)
    if all(version == target for version in versions):
        return 0
    reason = edit.why_frozen_anywhere()
    if reason is not None:
        raise ModelError(f"opset {target} is out of reach: static checks know more in newer versions, and {reason}")
    drafts, refusals = _plan(edit, target)
    refusals.raise_if_any()
    _carry_out_all(drafts, edit)
    edit.set_opset(target)
    return len(drafts) + 1


def upgrade_all_that_go(edit: Edit, target: int, left: Collection[Node] = ()) -> dict[Node, str]:
    """Takes a model to `target` with all nodes that have an equal there; returns the others and the reasons.

    Nodes in `left` are not looked at. The others stay as they are, in a model of an operator set that is not theirs:
    whoever asks refuses them. What static checks will find in the result does not matter. Raises `ModelError` where the
    versions of the model are not clear.
    """
    if all(version == target for version in _versions(edit.model)):
        return {}
    drafts, refusals = _plan(edit, target, left, {**upgrades.ADAPTERS, **upgrades.CUSTOMARY})
    _carry_out_all(drafts, edit)
    # A rewritten node gives what it gave, but for masks of Dropout.
    edit.set_opset(target, keeps_types=not any(draft.retyped for draft in drafts))
    return refusals.by_node()


def _carry_out_all(drafts: list[Draft], edit: Edit) -> None:
    for draft in drafts:
        _carry_out(draft, edit)
    edit.flush()
    edit.take_touched()


def _versions(model: Model) -> list[int]:
    """The versions of ONNX's operator set that hold in the model and its functions, where they import it."""
    found: list[int] = []
    for root in model.roots():
        imports = root.import_domains if isinstance(root, Function) else model.proto.opset_import
        versions = {entry.version for entry in imports or () if entry.domain in ONNX_DOMAINS}
        if len(versions) > 1:
            raise ModelError(f"{root.name!r} imports ONNX's operator set in two versions, {sorted(versions)}")
        found += versions or ([1] if root is model.graph and not imports else [])
    return found


def _check_target(target: int, versions: list[int], model: Model) -> None:
    newest = onnx.defs.onnx_opset_version()
    if not 1 <= target <= newest:
        raise ModelError(
            f"opset {target} is not known to the installed onnx {onnx.__version__}; give one from 1 to {newest}"
        )
    if any(version > target for version in versions):
        raise ModelError(
            f"the model is at opset {max(versions)}, and can only be upgraded; give --opset {max(versions)} or more"
        )
    if model.proto.training_info and any(version < target for version in versions):
        raise ModelError("the model has training information, which cannot be upgraded; remove it first")
    if model.ir_version < 2:
        raise ModelError("the model has IR version 1, whose attributes have no types; export it again")


@frozen_value
class _Refusals:
    """Nodes that have no equal at the target, by step and reason."""

    target: int
    found: dict[tuple[str, str], list[Node]] = field(default_factory=dict)

    def add(self, node: Node, step: str, reason: str) -> None:
        self.found.setdefault((step, reason), []).append(node)

    def by_node(self) -> dict[Node, str]:
        """The first reason against each node."""
        reasons: dict[Node, str] = {}
        for (step, reason), nodes in self.found.items():
            for node in nodes:
                reasons.setdefault(node, f"its step {step} is not covered: {reason}")
        return reasons

    def raise_if_any(self) -> None:
        """All steps first, since a message is cut in its middle where it gets too long."""
        if not self.found:
            return
        counts: dict[str, int] = {}
        for (step, _), nodes in self.found.items():
            counts[step] = counts.get(step, 0) + len(nodes)
        steps = ", ".join(f"{step} ({count} node{'s' * (count > 1)})" for step, count in counts.items())
        examples = "; ".join(f"{_name(nodes[0])!r}: {reason}" for (_, reason), nodes in self.found.items())
        advice = "give a lower --opset, or export the model again"
        raise ModelError(f"opset {self.target} is out of reach for {steps}; {examples}; {advice}")


def _name(node: Node) -> str:
    return node.name or next((tensor.name for tensor in node.outputs if tensor.name), "")


def _plan(
    edit: Edit, target: int, left: Collection[Node] = (), adapters: Adapters = upgrades.ADAPTERS
) -> tuple[list[Draft], _Refusals]:
    """Drafts of all nodes that change, and those that cannot."""
    refusals = _Refusals(target)
    facts = Facts(edit, target)
    drafts: list[Draft] = []
    for node in edit.nodes():
        if domain_of(node) or node in left or edit.is_function_call(node):
            continue
        opset = edit.opset(node)
        if opset is None:
            refusals.add(node, node.op, "the model imports no version of ONNX's operator set")
            continue
        if _since(node.op, opset) is None:
            refusals.add(node, node.op, f"it is no operator of opset {opset}")
            continue
        is_hinted = HINT in node.attrs and had_hint(node.op)
        if not is_hinted and _next_change(node.op, opset, target) is None:
            continue
        wrong = _wrong_attribute(node, opset)
        if wrong is not None:
            refusals.add(node, node.op, f"its attribute {wrong!r} is of another kind")
            continue
        draft = Draft.of(node)
        # Files that were upgraded by others may have it in versions that never had it.
        if is_hinted:
            draft.attributes.pop(HINT)
        if not _take_steps(draft, opset, adapters, facts, refusals) or not _is_changed(draft):
            continue
        if edit.is_kept(node):
            refusals.add(node, node.op, "it is to be kept, and has to change")
            continue
        drafts.append(draft)
    return drafts, refusals


def _wrong_attribute(node: Node, opset: int) -> str | None:
    """An attribute that is not what its operator's schema says, such as a list for a number."""
    found = signature(node.op, "", opset)
    known = {} if found is None else found.attributes
    wrong = (name for name, value in node.attrs.items() if name in known and not is_of_kind(value, known[name].kind))
    return next(wrong, None)


def _take_steps(draft: Draft, opset: int, adapters: Adapters, facts: Facts, refusals: _Refusals) -> bool:
    """Takes a draft, and all that its adapters put before it, to the target; returns whether that went."""
    node = draft.node
    assert node is not None
    pending = [(draft, opset)]
    seen = {draft}
    while pending:
        item, at = pending.pop()
        version = _next_change(item.op, at, facts.target)
        if version is None:
            continue
        key = item.op, version
        adapter = adapters.get(key)
        try:
            if adapter is None:
                raise Refusal(upgrades.REFUSED.get(key, "the step is not known"))
            adapter(item, facts)
        except Refusal as refusal:
            refusals.add(node, f"{key[0]} {_since(key[0], version - 1)} -> {version}", str(refusal))
            return False
        pending.append((item, version))
        for new in _new_drafts(item):
            if new not in seen:
                seen.add(new)
                pending.append((new, version))
    return True


def _new_drafts(draft: Draft) -> Iterator[Draft]:
    """The drafts that stand before one, at any distance."""
    for value in draft.inputs:
        if isinstance(value, Draft):
            yield value
            yield from _new_drafts(value)


@cache
def _since(operator: str, opset: int) -> int | None:
    """The version of an operator that holds in an operator set version, None where it has none."""
    found = signature(operator, "", opset)
    return None if found is None else found.version


@cache
def _steps(operator: str, opset: int, target: int) -> tuple[int, ...]:
    """The versions of an operator after that of `opset`, up to that of `target`, oldest first."""
    found: list[int] = []
    version = target
    while version > opset:
        since = _since(operator, version)
        if since is None or since <= opset:
            break
        found.append(since)
        version = since - 1
    return tuple(reversed(found))


@cache
def _next_change(operator: str, opset: int, target: int) -> int | None:
    """The first of those versions that is not what the one before it is."""
    return next((step for step in _steps(operator, opset, target) if (operator, step) not in upgrades.UNCHANGED), None)


def _is_changed(draft: Draft) -> bool:
    node = draft.node
    assert node is not None
    if draft.op != node.op or draft.retyped or _changed_attributes(draft, node):
        return True
    values = [tensor if tensor.name else None for tensor in node.inputs]
    return len(values) != len(draft.inputs) or any(
        old is not new for old, new in zip(values, draft.inputs, strict=True)
    )


def _changed_attributes(draft: Draft, node: Node) -> dict[str, Any]:
    """The attributes that are other than those of the node; None for those that go."""
    changed: dict[str, Any] = dict.fromkeys(name for name in node.attrs if name not in draft.attributes)
    changed.update((name, value) for name, value in draft.attributes.items() if node.attrs.get(name) is not value)
    return changed


def _carry_out(draft: Draft, edit: Edit) -> None:
    """Makes a node what its draft says."""
    node = draft.node
    assert node is not None
    inputs = [_tensor(value, node, edit) for value in draft.inputs]
    if draft.op != node.op:
        edit.set_operator(node, draft.op)
    for name, value in _changed_attributes(draft, node).items():
        edit.set_attribute(node, name, value)
    edit.set_inputs(node, inputs)
    for index in draft.retyped:
        edit.forget_declaration(node.outputs[index])


def _tensor(value: upgrades.Value | None, node: Node, edit: Edit) -> Tensor:
    """The tensor of the graph that a draft's input becomes."""
    if value is None:
        return new_variable("", node.scope)
    if isinstance(value, np.ndarray):
        return edit.add_constant(value, like=node.outputs[0])
    if not isinstance(value, Draft):
        return value
    inputs = [_tensor(item, node, edit) for item in value.inputs]
    made = edit.add_node(value.op, inputs, before=node, domain=node.domain or "", attributes=value.attributes)
    return made.outputs[0]
