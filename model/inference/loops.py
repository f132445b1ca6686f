"""Loop and Scan: shapes that hold in every iteration, found by supposing those of the first.

A state is supposed to have the shape that it starts with. Dimensions that the body gives back otherwise are open, until
all that is supposed comes back: then it holds in every iteration, by induction, and after the last one. The shape of a
Loop's number of the iteration and condition, of which ONNX Runtime knows two, is taken as the body declares it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from maxfold.model.graph import Graph, Node, Tensor, subgraphs
from maxfold.model.inference.call import normal_axis
from maxfold.model.inference.control import FIXED_INPUTS
from maxfold.model.inference.facts import Fact, Unknown
from maxfold.model.inference.symbolic import Dim
from maxfold.model.order import sorted_nodes

if TYPE_CHECKING:
    from maxfold.model.inference.engine import Inference

_Dims: TypeAlias = tuple[Dim | None, ...] | None

# Loops in loops are looked into for each supposition of those around them.
_DEEPEST = 4


def settle(inference: Inference, graph: Graph, depth: int = 0) -> None:
    """Supposes what holds in all loops of a graph, of which nothing has been asked yet."""
    for node in sorted_nodes(graph):
        bodies = subgraphs(node)
        if not bodies:
            continue
        if node.op in ("Loop", "Scan") and len(bodies) == 1 and not node.domain and depth < _DEEPEST:
            _settle_loop(inference, node, bodies[0], depth)
        for body in bodies:
            settle(inference, body, depth + 1)


def counter_shape(tensor: Tensor) -> tuple[int, ...]:
    """The shape of a Loop's number of the iteration or condition in its body: [1] where that is declared, else []."""
    return (1,) if tensor.shape is not None and len(tensor.shape) == 1 else ()


def _settle_loop(inference: Inference, node: Node, body: Graph, depth: int) -> None:
    first = FIXED_INPUTS if node.op == "Loop" else 0
    skipped = 1 if node.op == "Loop" else 0
    scanned = node.attrs.get("num_scan_inputs", 0) if node.op == "Scan" else 0
    if len(node.inputs) < first or len(body.inputs) != len(node.inputs) or not isinstance(scanned, int):
        return
    states = len(node.inputs) - first - scanned
    results = body.outputs[skipped:]
    if states < 0 or len(results) != len(node.outputs) or states > len(results):
        return
    facts = [inference.fact(tensor) for tensor in node.inputs[first : first + states]]
    inputs = body.inputs[first : first + states]
    fixed = {tensor: Fact(inference.fact(tensor).dtype, counter_shape(tensor)) for tensor in body.inputs[:first]}
    supposed: list[_Dims] = [fact.dims for fact in facts]
    while True:
        given = {
            tensor: Fact(fact.dtype, dims, proto=fact.proto)
            for tensor, fact, dims in zip(inputs, facts, supposed, strict=True)
        }
        inside = inference.apart()
        inside.suppose(fixed | given)
        settle(inside, body, depth + 1)
        found = [_common(dims, inside.fact(result).dims) for dims, result in zip(supposed, results, strict=False)]
        if found == supposed:
            break
        supposed = found
    inference.suppose(fixed | given)
    made = {
        output: Fact(fact.dtype, dims, proto=fact.proto)
        for output, fact, dims in zip(node.outputs, facts, supposed, strict=False)
    }
    for slot, (output, result) in enumerate(zip(node.outputs[states:], results[states:], strict=True)):
        fact = inside.fact(result)
        made[output] = Fact(fact.dtype, _collected(node, slot, fact.dims), proto=fact.proto)
    inference.suppose(made)


def _common(supposed: _Dims, found: _Dims) -> _Dims:
    """What of a supposed shape comes back."""
    if supposed is None or found is None or len(supposed) != len(found):
        return None
    return tuple(dim if dim is not None and dim == other else None for dim, other in zip(supposed, found, strict=True))


def _collected(node: Node, slot: int, dims: _Dims) -> _Dims:
    """The shape of what is collected; sizes that may be other ones in each iteration are open."""
    if dims is None:
        return None
    axes = node.attrs.get("scan_output_axes") if node.op == "Scan" else None
    sizes = [dim if isinstance(dim, int) else None for dim in dims]
    try:
        axis = normal_axis(axes[slot] if axes else 0, len(dims) + 1)
    except (Unknown, LookupError, TypeError):
        return None
    return (*sizes[:axis], None, *sizes[axis:])
