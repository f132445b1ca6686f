"""d / Sqrt(ReduceMean(d * d) + epsilon), with which normalizations end; the root may be a power."""

from __future__ import annotations

from maxfold.model.graph import Node, Tensor
from maxfold.model.records import frozen_value
from maxfold.model.view import View
from maxfold.passes.nodes import axes, integer, made_by, operand
from maxfold.passes.patterns import orders, scalar_maker, scalar_step


@frozen_value
class RootMeanSquare:
    """d / Sqrt(ReduceMean(d * d, axes) + epsilon), which `last` computes; `mean` and `plus` are nodes of it."""

    d: Tensor
    axes: tuple[int, ...]
    epsilon: float
    last: Node
    mean: Node
    plus: Node
    inner: tuple[Node, ...]

    def trailing(self, view: View) -> int | None:
        """How many axes it is along if these are the last ones, None where they are not known to be."""
        count = len(self.axes)
        if sorted(self.axes) == list(range(-count, 0)):
            return count
        rank = view.rank(self.d)
        if rank is None:
            return None
        places = sorted(axis % rank for axis in self.axes if -rank <= axis < rank)
        return count if places == list(range(rank - count, rank)) else None


def root_mean_square(node: Node, view: View) -> RootMeanSquare | None:
    """A Div, or a Mul by an inverse, as the end of such a pattern."""
    if view.is_operator(node, "Div") and len(node.inputs) == 2:
        return _of(node, node.inputs[0], node.inputs[1], (), view)
    for d, inverse in orders(node, "Mul", view):
        maker = made_by(inverse, "Reciprocal", view)
        root = None if maker is None else operand(maker, 0)
        if maker is None:
            step = scalar_step(made_by(inverse, "Div", view), "Div", view)
            if step is None or not step.is_left or step.value != 1:
                continue
            maker, root = step.node, step.variable
        found = None if root is None else _of(node, d, root, (maker,), view)
        if found is not None:
            return found
    return None


def _of(last: Node, d: Tensor, root: Tensor, inner: tuple[Node, ...], view: View) -> RootMeanSquare | None:
    sqrt = _root(root, view)
    plus = None if sqrt is None else scalar_maker(sqrt.inputs[0], "Add", view)
    mean = None if plus is None else made_by(plus.variable, "ReduceMean", view)
    if sqrt is None or plus is None or mean is None or integer(mean, "keepdims", 1) != 1:
        return None
    square = view.producer(mean.inputs[0])
    places = axes(mean, 1, view)
    if square is None or not places or not _is_square(square, d, view):
        return None
    return RootMeanSquare(
        d, tuple(places), plus.value, last, mean, plus.node, (*inner, sqrt, plus.node, mean, square)
    )  # fmt: skip


def _root(tensor: Tensor, view: View) -> Node | None:
    """The node that makes a square root, by an operator or as a power."""
    power = scalar_maker(tensor, "Pow", view)
    if power is not None:
        return None if power.is_left or power.value != 0.5 else power.node
    return made_by(tensor, "Sqrt", view)


def _is_square(node: Node, d: Tensor, view: View) -> bool:
    power = scalar_step(node, "Pow", view)
    if power is not None:
        return power.value == 2 and not power.is_left and _is_same(power.variable, d, view)
    if not view.is_operator(node, "Mul") or len(node.inputs) != 2:
        return False
    return node.inputs[0] is node.inputs[1] and _is_same(node.inputs[0], d, view)


def _is_same(tensor: Tensor, d: Tensor, view: View) -> bool:
    """Whether two tensors are one, or equal differences, which some exporters compute twice."""
    if tensor is d:
        return True
    own, other = made_by(tensor, "Sub", view), made_by(d, "Sub", view)
    return own is not None and other is not None and list(own.inputs) == list(other.inputs)
