"""remove-no-op-resize: Resize to the size that is there gives its input."""

from __future__ import annotations

from typing import ClassVar

from maxfold.model.graph import Constant, Node
from maxfold.model.view import View
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.nodes import bypassed, operand, text
from maxfold.passes.operands import all_equal_bits
from maxfold.passes.remove_no_op_reshape import has_dims_of
from maxfold.passes.rule import Decline, Match

# Of these each place of the result is a whole place of the input if sizes are equal.
_WHOLE_PLACES = ("align_corners", "asymmetric", "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel")
# From this operator set on Resize has regions of interest and sizes.
_SIZES_OPSET = 11


class RemoveNoOpResize(SingleRulePass):
    """Every scale is 1, or every size that of the input. Removes one node.

    Exact where elements are copied ("nearest"). Interpolation computes x * 1 + y * 0, which is not x beside an infinite
    y or for x = -0.0, and needs `--math relaxed`.
    """

    name: ClassVar[str] = "remove-no-op-resize"
    summary: ClassVar[str] = "remove Resize and Upsample that keep every size"
    mode: ClassVar[str] = "exact, more with relaxed"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Resize"), ("", "Upsample")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where the result may be cropped, or interpolated in exact mode."""
        source = operand(node, 0)
        if source is None or not _keeps_sizes(node, view):
            return None
        if text(node, "coordinate_transformation_mode", "half_pixel") not in _WHOLE_PLACES:
            return Decline("its coordinates may lie between elements or outside")
        match = bypassed(node, source, view)
        if text(node, "mode", "nearest") == "nearest" or view.math == "relaxed" or isinstance(match, Decline):
            return match
        return Decline("interpolation by a factor of 1 is not exact beside infinities; only with --math relaxed", 1)


def _keeps_sizes(node: Node, view: View) -> bool:
    has_sizes = node.op == "Resize" and (view.opset(node) or 0) >= _SIZES_OPSET
    scales = operand(node, 2 if has_sizes else 1)
    if scales is None or (has_sizes and operand(node, 3) is not None):
        return has_sizes and operand(node, 3) is not None and has_dims_of(node.outputs[0], node.inputs[0], view)
    return isinstance(scales, Constant) and view.constant(scales) is not None and all_equal_bits(scales, 1)
