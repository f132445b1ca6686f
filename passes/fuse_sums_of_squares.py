"""fuse-sums-of-squares: normalizations divide by a root of a sum of squares, and what follows takes in the factor."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from maxfold.model.data import Array
from maxfold.model.edit import Edit
from maxfold.model.graph import Constant, Node, Tensor
from maxfold.model.view import View
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.nodes import too_large, why_not_absorbed
from maxfold.passes.normalization import TYPES
from maxfold.passes.operands import Growing
from maxfold.passes.root_mean_square import RootMeanSquare, root_mean_square
from maxfold.passes.rule import Decline, Match, frozen
from maxfold.passes.runtime_patterns import why_protected
from maxfold.passes.scaling import Multiplied, Scaling, growth_of, multiplied

_RELAXED = "weights that take in a factor round differently; only with --math relaxed"


@frozen
class _Summed:
    """A pattern whose mean becomes a sum, the node of the squares that goes, and the constants that change."""

    found: RootMeanSquare
    epsilon: Array
    constants: Multiplied

    def apply(self, edit: Edit) -> None:
        """Makes the mean a ReduceSumSquare of what was squared."""
        found = self.found
        place = _constant_index(found.plus, found.mean)
        square = found.inner[-1]
        self.constants.apply(edit)
        for node in found.inner:
            if node is not square:
                edit.renew(node.outputs[0])
        inputs: list[Tensor] = [found.d, *found.mean.inputs[1:]]
        edit.become(found.mean, "ReduceSumSquare", inputs, dict(found.mean.attrs))
        inputs = list(found.plus.inputs)
        inputs[place] = edit.add_constant(self.epsilon, like=inputs[place])
        edit.set_inputs(found.plus, inputs)
        edit.remove_unused([square])


def _constant_index(plus: Node, mean: Node) -> int:
    return 1 if plus.inputs[0] is mean.outputs[0] else 0


class FuseSumsOfSquares(Growing, SingleRulePass):
    """d / Sqrt(ReduceMean(d * d) + e) over n elements is sqrt(n) * d / Sqrt(ReduceSumSquare(d) + n * e).

    Removes one node, where a scale or a weight behind it takes in sqrt(n). Those along the last axes are left to
    runtimes, which fuse them.
    `max_growth_bytes`: how much the file may grow where these are used elsewhere too.
    """

    name: ClassVar[str] = "fuse-sums-of-squares"
    summary: ClassVar[str] = "let normalizations divide by the root of a sum of squares"
    mode: ClassVar[str] = "relaxed"
    makes: ClassVar[frozenset[str]] = frozenset(("ReduceSumSquare",))
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Div"), ("", "Mul")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where an inner result is needed elsewhere, and where the file would grow."""
        found = root_mean_square(node, view)
        if found is None:
            return None
        dtype, shape = view.dtype(found.d), view.shape(found.d)
        if dtype is None or dtype.name not in TYPES or shape is None:
            return None
        rank = len(shape)
        sizes = [shape[axis] for axis in {axis % rank for axis in found.axes if -rank <= axis < rank}]
        if len(sizes) != len(found.axes) or not all(isinstance(size, int) and size > 0 for size in sizes):
            return None
        count = math.prod(size for size in sizes if size is not None)
        plan = Scaling(view, node)
        if not view.use_count(node.outputs[0]) or not plan.divide_readers(node.outputs[0], math.sqrt(count)):
            return None
        blocked = why_protected(node, view) or why_not_absorbed(found.inner, node, view)
        if blocked is not None:
            return Decline(blocked)
        growth = growth_of(plan, view)
        if growth > self.max_growth_bytes:
            return Decline(too_large(growth, self.max_growth_bytes))
        if view.math == "exact":
            return Decline(_RELAXED, relaxed_gain=1)
        constants = multiplied(plan)
        if constants is None:
            return Decline("the new weights would not be finite, or too small for their type")
        constant = found.plus.inputs[_constant_index(found.plus, found.mean)]
        shape_of_one = constant.data.shape if isinstance(constant, Constant) else ()
        epsilon = np.full(shape_of_one, found.epsilon * count, dtype.numpy)
        return _Summed(found, epsilon, constants)
