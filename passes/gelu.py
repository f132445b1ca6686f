"""Gelu from its parts, in all the ways that exporters write it: x * (1 + f(x)) / 2, where f is Erf or a Tanh."""

from __future__ import annotations

import math

from maxfold.model.graph import Node, Tensor
from maxfold.model.records import frozen_value
from maxfold.model.view import View
from maxfold.passes.nodes import made_by
from maxfold.passes.patterns import factor, is_about, orders, scalar_maker

_ERF_SCALE = math.sqrt(0.5)
TANH_SCALE = math.sqrt(2 / math.pi)
CUBIC = 0.044715


@frozen_value
class FoundGelu:
    """Gelu of `x`, by Erf ("none") or by its approximation ("tanh"); `inner` are the nodes before its last one.

    `half` is the node that halves, `place` says what: "x", the "gate" or the "product". `argument` are the nodes before
    Erf or Tanh, the last one first.
    """

    x: Tensor
    approximate: str
    inner: tuple[Node, ...]
    half: Node
    place: str
    argument: tuple[Node, ...]


def gelu(node: Node, view: View, tolerance: float | None = None) -> FoundGelu | None:
    """The Gelu that ends with a node. `tolerance` is relative, for its constants; the default is the type's own."""
    finder = _Finder(view, tolerance)
    return finder.halved_product(node) or finder.product_of_half(node)


@frozen_value
class _Finder:
    view: View
    tolerance: float | None

    def halved_product(self, node: Node) -> FoundGelu | None:
        """(x * (1 + f(x))) * 0.5"""
        half = factor(node, self.view)
        product = None if half is None else made_by(half[0], "Mul", self.view)
        if half is None or product is None or not self._is(half[1], 0.5, half[0]):
            return None
        for x, gate in orders(product, "Mul", self.view):
            found = self._gate(gate, x)
            if found is not None:
                return FoundGelu(x, found[0], (product, *found[1]), node, "product", found[1][2:])
        return None

    def product_of_half(self, node: Node) -> FoundGelu | None:
        """(x * 0.5) * (1 + f(x)), and x * ((1 + f(x)) * 0.5)"""
        for left, right in orders(node, "Mul", self.view):
            maker = self.view.producer(left)
            half = factor(maker, self.view)
            if half is None or maker is None or not self._is(half[1], 0.5, half[0]):
                continue
            for x, gate, place in ((half[0], right, "x"), (right, half[0], "gate")):
                found = self._gate(gate, x)
                if found is not None:
                    return FoundGelu(x, found[0], (maker, *found[1]), maker, place, found[1][2:])
        return None

    def _gate(self, gate: Tensor, x: Tensor) -> tuple[str, tuple[Node, ...]] | None:
        """The kind of Gelu and the nodes of 1 + f(x)."""
        plus = scalar_maker(gate, "Add", self.view)
        if plus is None or plus.value != 1:
            return None
        erf = made_by(plus.variable, "Erf", self.view)
        if erf is not None:
            maker = self._scaled(erf.inputs[0], x, _ERF_SCALE)
            return None if maker is None else ("none", (plus.node, erf, maker))
        tanh = made_by(plus.variable, "Tanh", self.view)
        inner = None if tanh is None else self._cubic(tanh.inputs[0], x) or self._squared(tanh.inputs[0], x)
        return None if tanh is None or inner is None else ("tanh", (plus.node, tanh, *inner))

    def _scaled(self, tensor: Tensor, x: Tensor, number: float) -> Node | None:
        """The node that multiplies x by a number."""
        maker = self.view.producer(tensor)
        scale = factor(maker, self.view)
        return maker if scale is not None and scale[0] is x and self._is(scale[1], number, x) else None

    def _cubic(self, tensor: Tensor, x: Tensor) -> tuple[Node, ...] | None:
        """sqrt(2 / pi) * (x + 0.044715 * x**3)"""
        outer = self.view.producer(tensor)
        scale = factor(outer, self.view)
        if outer is None or scale is None or not self._is(scale[1], TANH_SCALE, x):
            return None
        total = made_by(scale[0], "Add", self.view)
        for left, right in () if total is None else orders(total, "Add", self.view):
            cubic = self.view.producer(right)
            weight = factor(cubic, self.view)
            if left is not x or cubic is None or weight is None or not self._is(weight[1], CUBIC, x):
                continue
            cube = self._cube(weight[0], x)
            if cube is not None and total is not None:
                return (outer, total, cubic, *cube)
        return None

    def _cube(self, tensor: Tensor, x: Tensor) -> tuple[Node, ...] | None:
        power = scalar_maker(tensor, "Pow", self.view)
        if power is not None:
            return (power.node,) if power.variable is x and power.value == 3 and not power.is_left else None
        product = made_by(tensor, "Mul", self.view)
        for left, right in () if product is None else orders(product, "Mul", self.view):
            square = made_by(right, "Mul", self.view)
            if left is x and product is not None and square is not None and list(square.inputs) == [x, x]:
                return product, square
        return None

    def _squared(self, tensor: Tensor, x: Tensor) -> tuple[Node, ...] | None:
        """(sqrt(2 / pi) * x) * (1 + 0.044715 * x * x), and sqrt(2 / pi) * (x * (1 + 0.044715 * x * x))"""
        outer = self.view.producer(tensor)
        if outer is None:
            return None
        for left, right in orders(outer, "Mul", self.view):
            scaled = self._scaled(left, x, TANH_SCALE)
            sum_ = None if scaled is None else self._one_and_square(right, x)
            if scaled is not None and sum_ is not None:
                return (outer, scaled, *sum_)
        scale = factor(outer, self.view)
        product = None if scale is None else made_by(scale[0], "Mul", self.view)
        if scale is None or product is None or not self._is(scale[1], TANH_SCALE, x):
            return None
        for left, right in orders(product, "Mul", self.view):
            sum_ = self._one_and_square(right, x) if left is x else None
            if sum_ is not None:
                return (outer, product, *sum_)
        return None

    def _one_and_square(self, tensor: Tensor, x: Tensor) -> tuple[Node, ...] | None:
        plus = scalar_maker(tensor, "Add", self.view)
        if plus is None or plus.value != 1:
            return None
        last = self.view.producer(plus.variable)
        scale = factor(last, self.view)
        square = None if scale is None else made_by(scale[0], "Mul", self.view)
        if last is not None and scale is not None and square is not None and list(square.inputs) == [x, x]:
            return (plus.node, last, square) if self._is(scale[1], CUBIC, x) else None
        for left, right in () if last is None else orders(last, "Mul", self.view):
            scaled = self._scaled(right, x, CUBIC) if left is x else None
            if scaled is not None and last is not None:
                return plus.node, last, scaled
        return None

    def _is(self, value: float, expected: float, tensor: Tensor) -> bool:
        if self.tolerance is None:
            return is_about(value, expected, tensor, self.view)
        return abs(value - expected) <= self.tolerance * abs(expected)
