"""Places where ONNX Runtime does not find a Gelu that it finds elsewhere, so that rewrites put none there.

It takes a Mul that makes x for the half of x * (1 + Erf(..)) * 0.5. It leaves the approximation by Tanh as it is where
a graph returns it.
"""

from __future__ import annotations

from maxfold.model.graph import Node, Tensor
from maxfold.model.view import View


def why_not_found(old: Tensor, new: Tensor, view: View) -> str | None:
    """Why a Gelu would not be found any more if all that read `old` read `new`, None where none is there."""
    maker = view.producer(new)
    if maker is None or not view.is_operator(maker, "Mul"):
        return None
    if _is_returned(old, view) and _is_gated(maker, new, "Tanh", view):
        return f"{new.name!r} is a Gelu, which runtimes do not fuse where a graph returns it"
    if any(_is_gated(reader, old, "Erf", view) for reader in view.consumers(old)):
        return f"{old.name!r} goes into a Gelu, which runtimes do not fuse behind a Mul"
    return None


def _is_returned(tensor: Tensor, view: View) -> bool:
    """Whether a graph returns a tensor that is more than another name; runtimes remove Identity themselves."""
    maker = view.producer(tensor)
    if maker is not None and view.is_operator(maker, "Identity"):
        return False
    names = [reader.outputs[0] for reader in view.consumers(tensor) if view.is_operator(reader, "Identity")]
    return any(view.is_graph_output(item) for item in (tensor, *names))


def _is_gated(node: Node, tensor: Tensor, operator: str, view: View) -> bool:
    """Whether a node multiplies by the sum of something and a result of the operator; `tensor` is not that sum."""
    if not view.is_operator(node, "Mul"):
        return False
    sums = [view.producer(item) for item in node.inputs if item is not tensor]
    return any(
        view.is_operator(made, operator)
        for sum_ in sums
        if sum_ is not None and view.is_operator(sum_, "Add")
        for made in map(view.producer, sum_.inputs)
        if made is not None
    )
