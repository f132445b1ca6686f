"""Whether a file still loads if a rewrite makes more known of a tensor.

What static checks may ever know is derived once for a round, and grows by what rewrites make known: only what follows
from that is looked at, so that many rewrites together take no longer than one look at the whole model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from maxfold.model.fragile import fragile_in_call, is_fragile_kind, refusal_of, shown
from maxfold.model.graph import Function, Graph, Node, Tensor, scopes_of, subgraphs
from maxfold.model.inference import Dim, Fact, PartialValue
from maxfold.model.inference.facts import Element
from maxfold.model.inference.upper_bound import UpperBound, believed, declared_shapes
from maxfold.model.types import declared_shape

if TYPE_CHECKING:
    from maxfold.model.view import View


def refusal_under(view: View, given: Mapping[Tensor, Fact]) -> str | None:
    """Why the file would not load any more if that were known of some tensors, None where it would.

    Who asks makes it known if nothing speaks against it.
    """
    if view.model.format != "onnx":
        return None
    if any(isinstance(_root(tensor.scope), Function) for tensor in given):
        return _refusal_in_function(view, given)
    return view.remembered(_Suppositions).refusal_under(given)


def ever_known(view: View, tensor: Tensor) -> Fact:
    """What static checks may ever know of a tensor: more than is derived where the file declares it."""
    if view.model.format != "onnx" or isinstance(_root(tensor.scope), Function):
        return view.fact(tensor)
    return view.remembered(_Suppositions).fact(tensor)


def refusal_as_output(view: View, result: Tensor, tensor: Tensor) -> str | None:
    """Why the file would not load any more if others that read a tensor read an output of a graph instead.

    An output has a declared shape, which static checks believe.
    """
    if view.use_count(tensor) < 2:
        return None
    outputs = zip(result.scope.outputs, result.scope.output_info, strict=False)
    shape = next((declared_shape(info) for output, info in outputs if output is result), None)
    if shape is None:
        return None
    fact = ever_known(view, tensor)
    dims = believed(tensor, fact.dims, shape)
    if dims == fact.dims:
        return None
    return refusal_under(view, {tensor: Fact(fact.dtype, dims, fact.value, fact.proto, is_named=True)})


def _root(scope: Graph) -> Graph:
    while scope.parent is not None:
        scope = scope.parent.scope
    return scope


def _refusal_in_function(view: View, given: Mapping[Tensor, Fact]) -> str | None:
    """What each call makes known inside is not followed: nothing fragile may depend on it."""
    found: set[Node] = set()
    pending = list(given)
    while pending:
        for node in view.consumers(pending.pop()):
            if node not in found:
                found.add(node)
                pending += [*node.outputs, *_inputs_inside(node)]
    for node in found:
        if is_fragile_kind(node, view) and view.why_frozen(node) is None:
            return f"{shown(node)}, in a function, might be refused when the file is loaded"
    return None


def _inputs_inside(node: Node) -> list[Tensor]:
    return [tensor for scope in subgraphs(node) for tensor in scope.inputs] if node.attrs else []


class _Suppositions:
    """What static checks may know of a model, and what it would be with more."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._known = UpperBound(view, declared_shapes(view))
        for scope in scopes_of(view.model.graph):
            for node in scope.nodes:
                for tensor in node.outputs:
                    self._known.fact(tensor)

    def fact(self, tensor: Tensor) -> Fact:
        """What may be known of a tensor."""
        self._known.fact(tensor)
        return self._known.whole(tensor)

    def refusal_under(self, given: Mapping[Tensor, Fact]) -> str | None:
        """See the function; what is refused is forgotten again."""
        before: dict[Tensor, Fact] = {}
        pending: dict[Node, None] = {}
        for tensor, fact in given.items():
            self._learn(tensor, fact, before, pending)
        while pending:
            node = next(iter(pending))
            del pending[node]
            self._follow(node, before, pending)
            refusal = self._refusal(node)
            if refusal is not None:
                for tensor, fact in before.items():
                    self._known.replace_fact(tensor, fact)
                return f"{shown(refusal[0])} would be refused when the file is loaded: {refusal[1]}"
        return None

    def _follow(self, node: Node, before: dict[Tensor, Fact], pending: dict[Node, None]) -> None:
        """Derives again what a node, which reads something that more is known of, says of its results."""
        for tensor in _inputs_inside(node):
            self._learn(tensor, self._known.input_again(tensor), before, pending)
        for tensor, fact in zip(node.outputs, self._known.results_again(node), strict=False):
            if tensor.name:
                self._learn(tensor, fact, before, pending)

    def _learn(self, tensor: Tensor, fact: Fact, before: dict[Tensor, Fact], pending: dict[Node, None]) -> None:
        """Adds to what is known of a tensor; all that depend on it are looked at if that is more."""
        old = self._known.fact(tensor)
        new = _more(old, self._known.as_named(tensor, fact))
        if new == old:
            return
        before.setdefault(tensor, old)
        self._known.replace_fact(tensor, new)
        pending.update(dict.fromkeys(self._view.consumers(tensor)))
        holder = tensor.scope.parent
        if holder is not None and self._view.is_graph_output(tensor):
            pending[holder] = None

    def _refusal(self, node: Node) -> tuple[Node, str] | None:
        view = self._view
        if view.is_function_call(node):
            found = fragile_in_call(node, self._known)
            return next((pair for pair in found if view.why_frozen(pair[0]) is None), None)
        if not is_fragile_kind(node, view) or view.why_frozen(node) is not None:
            return None
        refusal = refusal_of(node, self._known)
        return None if refusal is None else (node, refusal)


def _more(old: Fact, new: Fact) -> Fact:
    """What two facts of one tensor say together; symbols of the old one stay."""
    if old.dims is None or new.dims is None:
        dims = new.dims if old.dims is None else old.dims
    else:
        dims = _numbers_of_both(old.dims, new.dims)
    value = old.value or new.value
    if old.value is not None and new.value is not None and old.value.shape == new.value.shape:
        value = PartialValue(old.value.shape, _numbers_of_both(old.value.elements, new.value.elements))
    return Fact(old.dtype or new.dtype, dims, value, old.proto or new.proto, is_named=True)


def _numbers_of_both(old: tuple[Dim | Element, ...], new: tuple[Dim | Element, ...]) -> tuple[Any, ...]:
    if len(old) != len(new):
        return old
    return tuple(
        other if isinstance(other, int) and not isinstance(own, int) else own
        for own, other in zip(old, new, strict=True)
    )
