"""If, Loop and Scan: what passes between a node and its subgraphs.

Only what holds in every iteration is said of the inputs of a body: a loop may change the shape that it carries.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from maxfold.model import dtypes
from maxfold.model.graph import Graph, Node, Tensor, subgraphs
from maxfold.model.inference.call import Call, normal_axis
from maxfold.model.inference.facts import UNKNOWN, Element, Fact, PartialValue, Unknown
from maxfold.model.inference.symbolic import Dim

if TYPE_CHECKING:
    from maxfold.model.inference.engine import Inference

# Inputs of a Loop, and of its body, before the values that it carries.
FIXED_INPUTS = 2


def sources_of_input(tensor: Tensor) -> list[Tensor]:
    """The outer tensors that say something of an input of a body."""
    holder = tensor.scope.parent
    if holder is None or holder.op not in ("Loop", "Scan") or tensor not in tensor.scope.inputs:
        return []
    index = _outer_index(holder, tensor)
    return [holder.inputs[index]] if 0 <= index < len(holder.inputs) else []


def input_fact(engine: Inference, holder: Node, tensor: Tensor) -> Fact:
    """What is known of an input of a node's subgraph in every iteration."""
    if tensor not in tensor.scope.inputs or (holder.domain or "") not in ("", "ai.onnx"):
        return UNKNOWN
    if engine.view.is_function_call(holder):
        return UNKNOWN
    index = tensor.scope.inputs.index(tensor)
    if holder.op == "Loop" and index < FIXED_INPUTS:
        # ONNX Runtime lets both be of shape [] or [1], whatever the body declares.
        return Fact(dtypes.from_onnx(7 if index == 0 else 9))
    outer = _outer_index(holder, tensor)
    if holder.op not in ("Loop", "Scan") or not 0 <= outer < len(holder.inputs):
        return UNKNOWN
    fact = engine.known(holder.inputs[outer])
    if holder.op == "Loop" or fact.proto is not None:
        return Fact(fact.dtype, proto=fact.proto)
    return _scan_input(engine, holder, index, fact)


def _outer_index(holder: Node, tensor: Tensor) -> int:
    """Which input of a Loop or Scan an input of its body is taken from."""
    index = tensor.scope.inputs.index(tensor)
    # Scan-8 has its optional sequence lengths in front.
    if holder.op == "Scan" and len(holder.inputs) == len(tensor.scope.inputs) + 1:
        return index + 1
    return index


def _scan_input(engine: Inference, holder: Node, index: int, fact: Fact) -> Fact:
    """State variables may change their shape; scan inputs are slices along an axis."""
    version = engine.view.opset(holder)
    count = holder.attrs.get("num_scan_inputs")
    axes = holder.attrs.get("scan_input_axes")
    if version is None or version < 9 or not isinstance(count, int) or fact.dims is None:
        return Fact(fact.dtype)
    slot = index - (len(holder.inputs) - count)
    if slot < 0:
        return Fact(fact.dtype)
    try:
        axis = normal_axis(axes[slot] if axes else 0, len(fact.dims))
    except (Unknown, LookupError, TypeError):
        return Fact(fact.dtype)
    return Fact(fact.dtype, fact.dims[:axis] + fact.dims[axis + 1 :])


def trip_count(node: Node, body: Graph, value: Callable[[Tensor], PartialValue | None]) -> int | None:
    """0 or 1 where a Loop provably runs that often, None for all else; `value` says what is known of a tensor."""
    given = [tensor if tensor.name else None for tensor in node.inputs[:FIXED_INPUTS]]
    count, condition = (*given, None, None)[:FIXED_INPUTS]
    most = math.inf if count is None else _integer(value(count))
    first = True if condition is None else _truth(value(condition))
    if first is False or (most is not None and most <= 0):
        return 0
    if first is None or most is None:
        return None
    return 1 if most == 1 or _truth(value(body.outputs[0])) is False else None


def _element(value: PartialValue | None) -> Element:
    return None if value is None or len(value.elements) != 1 else value.elements[0]


def _truth(value: PartialValue | None) -> bool | None:
    element = _element(value)
    return element if isinstance(element, bool) else None


def _integer(value: PartialValue | None) -> int | None:
    element = _element(value)
    return element if isinstance(element, int) and not isinstance(element, bool) else None


def if_(call: Call) -> list[Fact]:
    """If: what both branches agree on, or what the branch gives that a known condition takes."""
    branches = [call.attribute("then_branch"), call.attribute("else_branch")]
    if not all(isinstance(branch, Graph) for branch in branches):
        raise Unknown
    condition = call.numbers(0)
    if condition is not None and len(condition) == 1:
        branches = [branches[0 if condition[0] else 1]]
    results = [[call.engine.whole(output) for output in branch.outputs] for branch in branches]
    if len(results) == 1:
        return results[0]
    return [_joined(left, right) for left, right in zip(*results, strict=False)]


def loop(call: Call) -> list[Fact]:
    """Loop: the types of what it carries and of what it collects; no shape is known."""
    (body,) = subgraphs(call.node)
    carried = [call.fact(index) if call.has(index) else UNKNOWN for index in range(2, call.input_count)]
    collected = [call.engine.known(output) for output in body.outputs[1 + len(carried) :]]
    return [*_without_shapes(carried), *(Fact(fact.dtype) for fact in collected)]


def scan(call: Call) -> list[Fact]:
    """Scan: the types of its results."""
    (body,) = subgraphs(call.node)
    return [Fact(call.engine.known(output).dtype) for output in body.outputs]


def _without_shapes(facts: list[Fact]) -> list[Fact]:
    return [Fact(fact.dtype, proto=fact.proto) for fact in facts]


def _joined(left: Fact, right: Fact) -> Fact:
    dtype = left.dtype if left.dtype is right.dtype else None
    proto = left.proto if left.proto is not None and left.proto == right.proto else None
    if left.dims is None or right.dims is None or len(left.dims) != len(right.dims):
        return Fact(dtype, proto=proto)
    dims: list[Dim | None] = [one if one == other else None for one, other in zip(left.dims, right.dims, strict=True)]
    return Fact(dtype, tuple(dims), _joined_value(left.value, right.value), proto)


def _joined_value(left: PartialValue | None, right: PartialValue | None) -> PartialValue | None:
    if left is None or right is None or left.shape != right.shape:
        return None
    pairs = zip(left.elements, right.elements, strict=True)
    return PartialValue(left.shape, tuple(one if one == other else None for one, other in pairs))


SHAPE_FUNCTIONS: dict[str, Callable[[Call], list[Fact]]] = {"If": if_, "Loop": loop, "Scan": scan}
