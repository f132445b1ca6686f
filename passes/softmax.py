"""Softmax and LogSoftmax from their parts: Exp of x less its maximum, over the sum of all along one axis."""

from __future__ import annotations

from maxfold.model.graph import Node, Tensor
from maxfold.model.records import frozen_value
from maxfold.model.view import View
from maxfold.passes.nodes import axes, integer, made_by
from maxfold.passes.patterns import orders

# What exporters put behind a reduction without keepdims.
_RESHAPES = ("Reshape", "Unsqueeze")
_MOST_STEPS = 2


@frozen_value
class FoundSoftmax:
    """The operator along one axis of `x`, counted from its last (-1); `inner` are the nodes before the last one."""

    operator: str
    x: Tensor
    axis: int
    inner: tuple[Node, ...]


@frozen_value
class _Column:
    """A reduction of `x` along one axis, counted from the last; `nodes` end with it."""

    x: Tensor
    axis: int
    nodes: tuple[Node, ...]


def softmax(node: Node, view: View) -> FoundSoftmax | None:
    """The pattern that ends with a node.

    Softmax is e / ReduceSum(e), or e * Reciprocal(ReduceSum(e)), and LogSoftmax d - Log(ReduceSum(e)), where e is
    Exp(d), and d is x - ReduceMax(x).
    """
    if view.is_operator(node, "Div") and len(node.inputs) == 2:
        return _softmax(node.inputs[0], node.inputs[1], (), view)
    if view.is_operator(node, "Sub") and len(node.inputs) == 2:
        return _log_softmax(node.inputs[0], node.inputs[1], view)
    for power, inverse in orders(node, "Mul", view):
        maker = made_by(inverse, "Reciprocal", view)
        found = None if maker is None else _softmax(power, maker.inputs[0], (maker,), view)
        if found is not None:
            return found
    return None


def _softmax(power: Tensor, total: Tensor, inner: tuple[Node, ...], view: View) -> FoundSoftmax | None:
    exp, sum_ = made_by(power, "Exp", view), _column(total, "ReduceSum", view)
    if exp is None or sum_ is None or sum_.x is not power:
        return None
    return _found("Softmax", exp, sum_, inner, view)


def _log_softmax(difference: Tensor, logarithm: Tensor, view: View) -> FoundSoftmax | None:
    log = made_by(logarithm, "Log", view)
    sum_ = None if log is None else _column(log.inputs[0], "ReduceSum", view)
    exp = None if sum_ is None else made_by(sum_.x, "Exp", view)
    if log is None or sum_ is None or exp is None or exp.inputs[0] is not difference:
        return None
    return _found("LogSoftmax", exp, sum_, (log,), view)


def _found(operator: str, exp: Node, sum_: _Column, inner: tuple[Node, ...], view: View) -> FoundSoftmax | None:
    minus = made_by(exp.inputs[0], "Sub", view)
    if minus is None or len(minus.inputs) != 2:
        return None
    x, highest = minus.inputs
    most = _column(highest, "ReduceMax", view)
    if most is None or most.x is not x or most.axis != sum_.axis:
        return None
    return FoundSoftmax(operator, x, most.axis, (*inner, *sum_.nodes, exp, minus, *most.nodes))


def _column(tensor: Tensor, operator: str, view: View) -> _Column | None:
    """A tensor that is another one reduced along one axis, which stays with a size of 1."""
    steps: list[Node] = []
    maker = view.producer(tensor)
    while maker is not None and len(steps) < _MOST_STEPS and any(view.is_operator(maker, item) for item in _RESHAPES):
        steps.append(maker)
        maker = view.producer(maker.inputs[0])
    if maker is None or not view.is_operator(maker, operator) or not maker.inputs:
        return None
    x = maker.inputs[0]
    named, rank = axes(maker, 1, view), view.rank(x)
    if named is None or len(named) != 1 or not (named[0] == -1 if rank is None else -rank <= named[0] < rank):
        return None
    axis = -1 if rank is None else named[0] % rank - rank
    keeps_axis = not steps and integer(maker, "keepdims", 1) == 1
    return _Column(x, axis, (*steps, maker)) if keeps_axis or _is_column(tensor, x, axis, view) else None


def _is_column(tensor: Tensor, x: Tensor, axis: int, view: View) -> bool:
    """Whether a tensor is known to have the dimensions of x, and 1 along an axis."""
    own, other = view.dims(tensor), view.dims(x)
    if own is None or other is None or len(own) != len(other):
        return False
    place = len(other) + axis
    return all(dim == (1 if index == place else other[index]) for index, dim in enumerate(own))
