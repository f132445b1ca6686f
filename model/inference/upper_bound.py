"""What static checks of a file may ever know of its tensors, whatever rewrites do that keep every value.

onnx's checker, and a runtime that loads a file, look at every node with what they know of its inputs. They know less
than `Inference` derives as long as a value is computed, and more where the file declares what nobody can derive.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import onnx

from maxfold.model.graph import Constant, Graph, Node, Tensor
from maxfold.model.inference import fallback
from maxfold.model.inference.call import Call
from maxfold.model.inference.control import FIXED_INPUTS, trip_count
from maxfold.model.inference.engine import Inference, operator_domain
from maxfold.model.inference.facts import Fact, PartialValue, Unknown
from maxfold.model.inference.symbolic import Dim, symbol
from maxfold.model.types import declared_shape

if TYPE_CHECKING:
    from maxfold.model.view import View

Shape = tuple[int | None, ...]


class UpperBound(Inference):
    """What is derived, what is declared, and what a Loop leaves that turns out to run once, or never.

    `declared` gives shapes that the file declares.
    """

    def __init__(self, view: View, declared: Mapping[Tensor, Shape]) -> None:
        super().__init__(view)
        self._declared_shapes = declared
        self._trips: dict[Node, int | None] = {}

    def _constant(self, constant: Constant) -> Fact:
        return Fact(constant.data.dtype, constant.data.shape)

    def _is_relied_on(self, constant: Constant) -> bool:
        """onnx's checker believes a default value, although the caller may give another."""
        return True

    def _store(self, tensor: Tensor, fact: Fact) -> None:
        super()._store(tensor, fact)
        shape = self._declared_shapes.get(tensor)
        if shape is not None:
            found = self._facts[tensor]
            dims = believed(tensor, found.dims, shape)
            self._facts[tensor] = Fact(found.dtype, dims, found.value, found.proto, is_named=True)

    def _sources(self, tensor: Tensor) -> list[Tensor]:
        sources = super()._sources(tensor)
        holder = None if tensor.inputs else tensor.scope.parent
        if sources and holder is not None and holder.op == "Loop":
            return [*sources, *holder.inputs[:FIXED_INPUTS]]
        return sources

    def _input(self, tensor: Tensor) -> Fact:
        fact = super()._input(tensor)
        holder = tensor.scope.parent
        if holder is None or holder.op != "Loop" or tensor not in tensor.scope.inputs:
            return fact
        index = tensor.scope.inputs.index(tensor)
        if index < FIXED_INPUTS or index >= len(holder.inputs) or self._count(holder) is None:
            return fact
        return self.known(holder.inputs[index])

    def _infer(self, node: Node) -> list[Fact]:
        found = super()._infer(node)
        if not found or any(fact.dtype is None or fact.dims is None for fact in found):
            found = self._completed(node, found)
        body = node.attrs.get("body") if node.op == "Loop" and found else None
        if not isinstance(body, Graph):
            return found
        carried = len(node.inputs) - FIXED_INPUTS
        count = self._count(node)
        results = [self.known(tensor) for tensor in body.outputs[1:]]
        collected = [fact if fact.dims is None else Fact(fact.dtype, (count, *fact.dims)) for fact in results[carried:]]
        if count is None:
            return [*found[:carried], *collected]
        return [*(results if count else map(self.known, node.inputs[FIXED_INPUTS:])), *collected][: len(found)]

    def replace_fact(self, tensor: Tensor, fact: Fact) -> None:
        """Lets another thing be known of a tensor; what follows from it stays as it is."""
        self._facts[tensor] = fact
        self._trips.clear()

    def input_again(self, tensor: Tensor) -> Fact:
        """What is derived now of an input of a body."""
        for source in self._sources(tensor):
            self.fact(source)
        return self.as_named(tensor, self._input(tensor))

    def results_again(self, node: Node) -> list[Fact]:
        """What is derived now of a node's results."""
        for source in self._sources(node.outputs[0]) if node.outputs else ():
            self.fact(source)
        return [self.as_named(*pair) for pair in zip(node.outputs, self._infer(node), strict=False)]

    def as_named(self, tensor: Tensor, fact: Fact) -> Fact:
        """A fact with symbols for dims that are not known."""
        return fact if fact.is_named else self._named(tensor, fact)

    def _completed(self, node: Node, found: list[Fact]) -> list[Fact]:
        """What onnx says beside; its rules are not those of runtimes in all cases, but those of static checks."""
        domain = operator_domain(node)
        version = self._version(node, domain)
        try:
            more = [] if version is None else fallback.infer(Call(self, node, version), domain)
        except Unknown:
            return found
        pairs = itertools.zip_longest(found, more, fillvalue=Fact())
        return [
            Fact(own.dtype or other.dtype, other.dims if own.dims is None else own.dims, own.value, own.proto)
            for own, other in pairs
        ]

    def _count(self, node: Node) -> int | None:
        """How often a Loop runs, where that is 0 or 1 and provable."""
        if node not in self._trips:
            body = node.attrs.get("body")
            is_loop = isinstance(body, Graph) and bool(body.outputs) and self.view.is_operator(node, "Loop")
            self._trips[node] = trip_count(node, body, self._value) if is_loop else None  # type: ignore[arg-type]
        return self._trips[node]

    def _value(self, tensor: Tensor) -> PartialValue | None:
        """What is known of a number of trips or a condition; the one that a body returns is not asked for here."""
        return self.known(tensor).value or self.view.value(tensor)


def believed(tensor: Tensor, dims: tuple[Dim | None, ...] | None, shape: Shape) -> tuple[Dim | None, ...]:
    """Derived dims, and declared ones where nothing else is known."""
    if dims is None:
        dims = tuple(symbol(f"{tensor.name}.{axis}") for axis in range(len(shape)))
    if len(dims) != len(shape):
        return dims
    return tuple(dim if isinstance(dim, int) or size is None else size for dim, size in zip(dims, shape, strict=True))


def declared_shapes(view: View) -> dict[Tensor, Shape]:
    """The shapes that a file declares of its tensors, in all scopes."""
    found: dict[Tensor, Shape] = {}
    for scope in view.model.scopes():
        infos = {info.name: info for info in scope.value_info if info.name not in scope.forgotten}
        infos.update(scope.input_info)
        _declare(found, [(tensor, infos.get(tensor.name)) for tensor in scope.inputs])
        for node in scope.nodes if infos else ():
            _declare(found, [(tensor, infos.get(tensor.name)) for tensor in node.outputs])
        _declare(found, zip(scope.outputs, scope.output_info, strict=False))
    return found


def _declare(found: dict[Tensor, Shape], pairs: Iterable[tuple[Tensor, onnx.ValueInfoProto | None]]) -> None:
    for tensor, info in pairs:
        shape = None if info is None else declared_shape(info)
        if shape is not None:
            found[tensor] = tuple(None if size is None or size < 0 else size for size in shape)
