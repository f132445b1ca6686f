"""Activations that change their quantized type, with the zero points of all that write and read them."""

from __future__ import annotations

from collections.abc import Callable

from maxfold.model.data import Array
from maxfold.model.edit import Edit
from maxfold.model.graph import Constant, Node
from maxfold.model.view import View
from maxfold.passes.nodes import operand
from maxfold.passes.operands import why_not_merged
from maxfold.passes.rule import Decline, Match, frozen

_ZERO_POINT = 2


@frozen
class _Requantized:
    """A QuantizeLinear, the DequantizeLinear nodes that read it, and the new zero points of all."""

    zero_points: tuple[tuple[Node, Array], ...]

    def apply(self, edit: Edit) -> None:
        """The quantized tensor is a new one, of another type."""
        edit.renew(self.zero_points[0][0].outputs[0])
        for node, zero_point in self.zero_points:
            inputs = list(node.inputs)
            inputs[_ZERO_POINT] = edit.add_constant(zero_point, like=inputs[_ZERO_POINT])
            edit.set_inputs(node, inputs)


def requantized(
    node: Node, dtype_name: str, moved: Callable[[Constant], Array | str], view: View
) -> Match | Decline | None:
    """A QuantizeLinear to a type and all that reads it, with zero points of another type.

    `moved` gives the new zero point for an old one, or why there is none.
    """
    source, result = operand(node, 0), node.outputs[0]
    dtype = view.dtype(result)
    if source is None or isinstance(source, Constant) or dtype is None or dtype.name != dtype_name:
        return None
    if "output_dtype" in node.attrs:
        return None
    if view.is_graph_output(result):
        return Decline(f"{result.name!r} is a graph output")
    readers = view.consumers(result)
    reason = view.why_fixed(result)
    zero_points: list[tuple[Node, Array]] = []
    for item in (node, *readers):
        is_reader = item is node or (view.is_operator(item, "DequantizeLinear") and item.inputs[0] is result)
        zero_point = operand(item, _ZERO_POINT)
        if not is_reader or view.is_kept(item):
            return Decline(f"{result.name!r} is read by {item.op}, as {dtype_name}")
        if not isinstance(zero_point, Constant):
            return Decline("a zero point is not constant")
        reason = reason or why_not_merged(zero_point, view)
        found = reason or moved(zero_point)
        if isinstance(found, str):
            return Decline(found)
        zero_points.append((item, found))
    return _Requantized(tuple(zero_points)) if readers else None
