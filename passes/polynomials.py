"""Polynomials of one tensor, in all the ways to multiply and add them up."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice, product

from maxfold.model.graph import Node, Tensor
from maxfold.model.records import frozen_value
from maxfold.model.view import View
from maxfold.passes.patterns import factor, orders, scalar_step

# Of the longest form that exporters write: k * (x * (1 + c * (x * x))).
_DEPTH = 6
_HIGHEST_POWER = 4


@frozen_value
class Polynomial:
    """The coefficients by power, and the nodes that compute it, the last one first; a product's shorter side leads."""

    coefficients: Mapping[int, float]
    nodes: tuple[Node, ...] = ()


def polynomial(tensor: Tensor, x: Tensor, view: View, depth: int = _DEPTH) -> Polynomial | None:
    """The polynomial of x that a tensor is; None where it is none, or one of many steps or a high power."""
    if tensor is x:
        return Polynomial({1: 1.0})
    node = view.producer(tensor)
    if node is None or depth == 0 or len(node.outputs) != 1:
        return None
    return _with_number(node, x, view, depth - 1) or _of_two(node, x, view, depth - 1)


def _with_number(node: Node, x: Tensor, view: View, depth: int) -> Polynomial | None:
    """One polynomial times a number, plus a number, or x to a power."""
    scale = factor(node, view)
    if scale is not None:
        scaled = polynomial(scale[0], x, view, depth)
        return None if scaled is None else _of(node, _product(scaled.coefficients, {0: scale[1]}), scaled)
    plus = scalar_step(node, "Add", view)
    if plus is not None:
        raised = polynomial(plus.variable, x, view, depth)
        return None if raised is None else _of(node, _sum(raised.coefficients, {0: plus.value}), raised)
    power = scalar_step(node, "Pow", view)
    if power is None or power.is_left or power.variable is not x or power.value not in (2, 3):
        return None
    return Polynomial({int(power.value): 1.0}, (node,))


def _of_two(node: Node, x: Tensor, view: View, depth: int) -> Polynomial | None:
    """The sum or the product of two polynomials."""
    for operator, combine in (("Add", _sum), ("Mul", _product)):
        for left, right in islice(orders(node, operator, view), 1):
            first = polynomial(left, x, view, depth)
            second = None if first is None else polynomial(right, x, view, depth)
            if first is not None and second is not None:
                pair = sorted((first, second), key=lambda item: len(item.nodes))
                return _of(node, combine(first.coefficients, second.coefficients), *pair)
    return None


def _of(node: Node, coefficients: dict[int, float], *operands: Polynomial) -> Polynomial | None:
    """What a node makes of polynomials; a node that both need is told once."""
    if max(coefficients) > _HIGHEST_POWER:
        return None
    nodes = dict.fromkeys(inner for item in operands for inner in item.nodes)
    return Polynomial(coefficients, (node, *nodes))


def _sum(left: Mapping[int, float], right: Mapping[int, float]) -> dict[int, float]:
    return {power: left.get(power, 0.0) + right.get(power, 0.0) for power in {*left, *right}}


def _product(left: Mapping[int, float], right: Mapping[int, float]) -> dict[int, float]:
    found: dict[int, float] = {}
    for power, other in product(left, right):
        found[power + other] = found.get(power + other, 0.0) + left[power] * right[other]
    return found
