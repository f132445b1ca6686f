"""Shapes that are computed although they say no more than what reads them, or what it reads.

OpenVINO's own converter leaves them out too; what its CPU makes of a written file keeps some of them.
"""

from __future__ import annotations

import numpy as np

from maxfold.model.edit import Edit
from maxfold.model.graph import Constant, Node, Tensor
from maxfold.model.inference.symbolic import Expr
from maxfold.model.view import View, domain_of
from maxfold.passes.bypass_expand import BypassExpand
from maxfold.passes.driver import RulePass, run_rule_passes
from maxfold.passes.nodes import integer
from maxfold.passes.settle_reshapes import SettleReshapes

_PASSES: tuple[RulePass, ...] = (BypassExpand(), SettleReshapes())


def settle_shapes(edit: Edit) -> None:
    """Takes out each Expand and ConstantOfShape for operators that broadcast, and what Reshape can copy from data."""
    for node in [node for node in edit.nodes() if edit.is_operator(node, "ConstantOfShape")]:
        _expand_constant(node, edit)
    found = [node for node in edit.nodes() if _has_shape(node, edit)]
    if not found:
        return
    run_rule_passes(_PASSES, edit)
    copied = [node for node in found if edit.is_live(node) and node.op == "Reshape" and _copies(node, edit)]
    if copied:
        edit.flush()
        edit.take_touched()


def _expand_constant(node: Node, edit: Edit) -> None:
    """Makes a ConstantOfShape for operators that broadcast what it becomes in an IR: an Expand of its value."""
    value = node.attrs.get("value")
    if not any((domain_of(reader), reader.op) in BypassExpand.operators for reader in edit.consumers(node.outputs[0])):
        return
    if len(node.inputs) != 1 or not (value is None or isinstance(value, Constant)):
        return
    number = np.zeros(1, np.float32) if value is None else value.values
    if number.size == 1:
        scalar = edit.add_constant(number.reshape(()), like=node.outputs[0])
        edit.become(node, "Expand", [scalar, node.inputs[0]])


def _has_shape(node: Node, view: View) -> bool:
    if len(node.inputs) != 2:
        return False
    is_computed = view.producer(node.inputs[1]) is not None
    return view.is_operator(node, "Expand") or (is_computed and view.is_operator(node, "Reshape"))


def _copies(node: Node, edit: Edit) -> bool:
    """Makes an element of a joined target 0 that always equals the dimension in its place. Exact: 0 copies it."""
    joined = edit.producer(node.inputs[1])
    if joined is None or not edit.is_operator(joined, "Concat") or joined.scope is not node.scope:
        return False
    if integer(node, "allowzero", 0) != 0 or not edit.is_single_use(joined.outputs[0]):
        return False
    places = enumerate(_places(joined, edit))
    copied = {index for index, (part, place) in places if _copied(part, place, node, edit)}
    if not copied:
        return False
    zero = edit.add_constant(np.zeros(1, np.int64), like=node.outputs[0])
    makers = [maker for tensor in joined.inputs if (maker := edit.producer(tensor)) is not None]
    edit.set_inputs(joined, [zero if index in copied else part for index, part in enumerate(joined.inputs)])
    edit.renew(joined.outputs[0])
    edit.remove_unused(makers)
    return True


def _places(joined: Node, view: View) -> list[tuple[Tensor, int]]:
    """The inputs of a Concat of vectors, each with the place of its first element, as far as that is known."""
    found: list[tuple[Tensor, int]] = []
    place = 0
    for tensor in joined.inputs:
        found.append((tensor, place))
        dims = view.dims(tensor)
        if dims is None or len(dims) != 1 or not isinstance(dims[0], int):
            break
        place += dims[0]
    return found


def _copied(part: Tensor, place: int, node: Node, view: View) -> bool:
    """Whether a part of a target is one computed element that is the dimension of the data in that place."""
    value, dims = view.value(part), view.dims(node.inputs[0])
    if isinstance(part, Constant) or value is None or dims is None or place >= len(dims):
        return False
    elements = value.elements or ()
    return len(elements) == 1 and isinstance(elements[0], Expr) and elements[0] == dims[place]
