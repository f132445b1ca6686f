"""Gelu from its parts, in all the ways that exporters write it: x * (1 + f(x)) / 2, where f is Erf or a Tanh."""

from __future__ import annotations

import math
from collections.abc import Mapping

from maxfold.model.graph import Node, Tensor
from maxfold.model.records import frozen_value
from maxfold.model.view import View
from maxfold.passes.nodes import made_by
from maxfold.passes.patterns import factor, is_about, orders, scalar_maker
from maxfold.passes.polynomials import polynomial

_ERF_SCALE = math.sqrt(0.5)
TANH_SCALE = math.sqrt(2 / math.pi)
CUBIC = 0.044715
_KINDS = {"Erf": "none", "Tanh": "tanh"}


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
        kind = self.view.producer(plus.variable)
        if kind is None or not any(self.view.is_operator(kind, operator) for operator in _KINDS):
            return None
        argument = polynomial(kind.inputs[0], x, self.view)
        if argument is None or not self._is_argument(kind.op, argument.coefficients, x):
            return None
        return _KINDS[kind.op], (plus.node, kind, *argument.nodes)

    def _is_argument(self, operator: str, coefficients: Mapping[int, float], x: Tensor) -> bool:
        """x / sqrt(2) for Erf, sqrt(2 / pi) * (x + 0.044715 * x**3) for Tanh."""
        powers = sorted(coefficients)
        if operator == "Erf":
            return powers == [1] and self._is(coefficients[1], _ERF_SCALE, x)
        is_cubic = powers == [1, 3] and self._is(coefficients[1], TANH_SCALE, x)
        return is_cubic and self._is(coefficients[3] / coefficients[1], CUBIC, x)

    def _is(self, value: float, expected: float, tensor: Tensor) -> bool:
        if self.tolerance is None:
            return is_about(value, expected, tensor, self.view)
        return abs(value - expected) <= self.tolerance * abs(expected)
