"""Which results of a body may share memory with an input of it, and a copy that shares none.

Source: OpenVINO 2026.4, by running it. Its CPU plugin lets operations that only move data work in place, and leaves out
those that change nothing. Before the next iteration of a Loop or TensorIterator it writes slices and states into the
memory of a body's inputs, one after the other: a state whose next value is still in the memory of another input is
then lost (two states that change places become equal).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from maxfold.model.dtypes import DType
from maxfold.model.graph import Constant, Graph, Node, Tensor
from maxfold.model.openvino.ir import PortMapEntry
from maxfold.model.openvino.operations import BODY_TYPES
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.sites.openvino_body import Body

# Operations that compute their result, of whatever operands: never in the memory of one that others write to.
_COMPUTING = frozenset({
    "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceiling", "Convolution", "Cos", "Cosh", "CumSum", "Elu",
    "Equal", "Erf", "Exp", "Floor", "Gelu", "Greater", "GreaterEqual", "GroupConvolution", "HSigmoid", "HSwish",
    "HardSigmoid", "If", "IsFinite", "IsInf", "IsNaN", "LSTMCell", "LSTMSequence", "Less", "LessEqual", "Log",
    "LogicalNot", "Loop", "MVN", "MatMul", "Mish", "Negative", "NonZero", "NotEqual", "PRelu", "RandomUniform", "Range",
    "ReLU", "Round", "Select", "Selu", "ShapeOf", "Sigmoid", "Sign", "Sin", "Sinh", "SoftMax", "SoftPlus", "SoftSign",
    "Sqrt", "Swish", "Tan", "Tanh", "TensorIterator", "TopK",
})  # fmt: skip
# Those that compute where no operand is a constant, which may be one that changes nothing.
_COMBINING = frozenset({
    "Add", "Divide", "FloorMod", "LogicalAnd", "LogicalOr", "LogicalXor", "Maximum", "Minimum", "Mod", "Multiply",
    "Power", "SquaredDifference", "Subtract",
})  # fmt: skip


# How many inputs of layers with bodies no body reads, but decide what they give.
_UNMAPPED = {"If": 1, "Loop": 2}


def may_share(tensor: Tensor, others: Collection[Tensor]) -> bool:
    """Whether a tensor of a body may be in the memory of one of others."""
    pending, seen = [tensor], {tensor}
    while pending:
        current = pending.pop()
        if current in others:
            return True
        for node in current.inputs:
            computes = node.op in _COMPUTING or (
                node.op in _COMBINING and not any(isinstance(operand, Constant) for operand in node.inputs)
            )
            found = [] if computes else [operand for operand in node.inputs if operand not in seen]
            pending += found
            seen.update(found)
    return False


def is_read(tensor: Tensor, results: Iterable[Tensor]) -> bool:
    """Whether results depend on the value of a tensor of a body, and not on its shape alone."""
    return tensor in _read(results)


def _read(results: Iterable[Tensor]) -> set[Tensor]:
    """All tensors of a graph whose values results depend on."""
    pending = list(results)
    seen = set(pending)
    while pending:
        current = pending.pop()
        for node in current.inputs:
            found = [operand for operand in _operands(node, current) if operand not in seen]
            pending += found
            seen.update(found)
    return seen


def _operands(node: Node, result: Tensor) -> list[Tensor]:
    """The inputs of a node that one of its results depends on."""
    if node.op == "ShapeOf":
        return []
    maps = [name for name in BODY_TYPES.get(node.op, ()) if name.endswith("port_map")]
    port = len(node.inputs) + next(place for place, output in enumerate(node.outputs) if output is result)
    found = {id(tensor): tensor for tensor in node.inputs[: _UNMAPPED.get(node.op, 0) if maps else None]}
    for name in maps:
        found |= {id(tensor): tensor for tensor in _operands_of_body(node, name, port)}
    return list(found.values())


def _operands_of_body(node: Node, name: str, port: int) -> Iterator[Tensor]:
    """The inputs of a layer that the result of a port depends on by one of its bodies."""
    body: Graph = node.attrs[name.replace("port_map", "body")]
    entries: list[PortMapEntry] = node.attrs[name]
    outputs = {entry.body_output for entry in entries if entry.attributes["external_port_id"] in (str(port), "-1")}
    count = 0
    while count < len(outputs):
        count = len(outputs)
        read = _read(body.outputs[place] for place in outputs if place is not None)
        for edge in node.attrs.get("back_edges", ()):
            if body.inputs[edge.body_input] in read:
                outputs.add(edge.body_output)
    outputs.discard(None)
    read = _read(body.outputs[place] for place in outputs if place is not None)
    for entry in entries:
        place = int(entry.attributes["external_port_id"])
        if entry.body_input is not None and place >= 0 and body.inputs[entry.body_input] in read:
            yield node.inputs[place]


def copied(body: Body, tensor: Tensor, dtype: DType | None) -> Tensor:
    """A tensor's values in memory of their own: the larger of equal ones. OpenVINO leaves out a Convert or an Identity,
    and works in place in a Reshape."""
    if dtype is None or dtype.kind not in ("bool", "int", "uint", "float"):
        raise UnsupportedError(f"the next value of a state of {dtype or 'an unknown type'} is another of its inputs")
    return body.add("LogicalOr" if dtype.kind == "bool" else "Maximum", [tensor, tensor], {"auto_broadcast": "numpy"})
