"""fuse-gelu: x * (1 + Erf(x / sqrt(2))) / 2 and its tanh approximation are Gelu, where the operator set has it."""

from __future__ import annotations

import math
from typing import ClassVar

from maxfold.model.graph import Node, Tensor
from maxfold.model.view import View
from maxfold.passes.driver import SingleRulePass
from maxfold.passes.nodes import made_by
from maxfold.passes.patterns import Fused, absorbed, factor, is_about, is_type, orders, scalar_maker
from maxfold.passes.rule import Decline, Match

_GELU_OPSET = 20
_REASON = "Gelu rounds differently; only with --math relaxed"


class FuseGelu(SingleRulePass):
    """Gelu with and without approximation from its parts, the half at any place of the product.

    Removes all nodes of the pattern but one.
    """

    name: ClassVar[str] = "fuse-gelu"
    summary: ClassVar[str] = "make Gelu of its parts"
    mode: ClassVar[str] = "relaxed"
    operators: ClassVar[frozenset[tuple[str, str]]] = frozenset({("", "Mul"), ("", "Div")})

    def match(self, node: Node, view: View) -> Match | Decline | None:
        """Declines where an inner result is needed elsewhere, or the type is not float32."""
        opset = view.opset(node)
        if opset is None or opset < _GELU_OPSET:
            return None
        found = _halved_product(node, view) or _product_of_half(node, view)
        if found is None:
            return None
        x, approximate, inner = found
        if not is_type(x, ("FLOAT",), view):
            return Decline(f"{x.name!r} is not known to be float32")
        attributes = {"approximate": approximate} if approximate != "none" else {}
        return absorbed(Fused(node, "Gelu", (x,), attributes, inner), view, _REASON)


_Found = tuple[Tensor, str, tuple[Node, ...]]


def _halved_product(node: Node, view: View) -> _Found | None:
    """(x * (1 + f(x))) * 0.5"""
    half = factor(node, view)
    product = None if half is None else made_by(half[0], "Mul", view)
    if half is None or product is None or not is_about(half[1], 0.5, half[0], view):
        return None
    for x, gate in orders(product, "Mul", view):
        found = _gate(gate, x, view)
        if found is not None:
            return x, found[0], (product, *found[1])
    return None


def _product_of_half(node: Node, view: View) -> _Found | None:
    """(x * 0.5) * (1 + f(x)), and x * ((1 + f(x)) * 0.5)"""
    for left, right in orders(node, "Mul", view):
        maker = view.producer(left)
        half = factor(maker, view)
        if half is None or maker is None or not is_about(half[1], 0.5, half[0], view):
            continue
        for x, gate in ((half[0], right), (right, half[0])):
            found = _gate(gate, x, view)
            if found is not None:
                return x, found[0], (maker, *found[1])
    return None


def _gate(gate: Tensor, x: Tensor, view: View) -> tuple[str, tuple[Node, ...]] | None:
    """The kind of Gelu and the nodes of 1 + f(x)."""
    plus = scalar_maker(gate, "Add", view)
    if plus is None or plus.value != 1:
        return None
    erf = made_by(plus.variable, "Erf", view)
    if erf is not None:
        maker = view.producer(erf.inputs[0])
        scale = factor(maker, view)
        if maker is None or scale is None or scale[0] is not x or not is_about(scale[1], math.sqrt(0.5), x, view):
            return None
        return "none", (plus.node, erf, maker)
    tanh = made_by(plus.variable, "Tanh", view)
    inner = None if tanh is None else _tanh_argument(tanh.inputs[0], x, view)
    return None if tanh is None or inner is None else ("tanh", (plus.node, tanh, *inner))


def _tanh_argument(tensor: Tensor, x: Tensor, view: View) -> tuple[Node, ...] | None:
    """sqrt(2 / pi) * (x + 0.044715 * x**3)"""
    outer = view.producer(tensor)
    scale = factor(outer, view)
    if outer is None or scale is None or not is_about(scale[1], math.sqrt(2 / math.pi), x, view):
        return None
    total = made_by(scale[0], "Add", view)
    if total is None:
        return None
    for left, right in orders(total, "Add", view):
        cubic = view.producer(right)
        weight = factor(cubic, view)
        if left is not x or cubic is None or weight is None or not is_about(weight[1], 0.044715, x, view):
            continue
        cube = _cube(weight[0], x, view)
        if cube is not None:
            return (outer, total, cubic, *cube)
    return None


def _cube(tensor: Tensor, x: Tensor, view: View) -> tuple[Node, ...] | None:
    power = scalar_maker(tensor, "Pow", view)
    if power is not None:
        return (power.node,) if power.variable is x and power.value == 3 and not power.is_left else None
    product = made_by(tensor, "Mul", view)
    if product is None:
        return None
    for left, right in orders(product, "Mul", view):
        square = made_by(right, "Mul", view)
        if left is x and square is not None and list(square.inputs) == [x, x]:
            return product, square
    return None
