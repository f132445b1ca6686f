"""What is checked of each node around its row, so that rows see only what their operator allows.

Before: numbers of inputs and results, attributes and types, as the operator's schema of the node's version says. After:
that every result which somebody reads was made.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeAlias

import onnx

from maxfold.model.attributes import encode
from maxfold.model.graph import Graph, Node, Tensor
from maxfold.model.onnx_inference import infer_outputs
from maxfold.model.openvino.operations import operation
from maxfold.model.view import View
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.signature_table import signature

# Operator, operator set, types of the inputs, attributes, number of results.
_Likeness: TypeAlias = tuple[str, int, tuple[object, ...], tuple[object, ...], int]

# What XML 1.0 can hold, as text or as a reference.
_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

# Inputs that are lists by the operator's text, which onnx's inference does not look at.
_VECTORS: dict[str, tuple[int, ...]] = {
    "ConstantOfShape": (0,), "Conv": (2,), "ConvTranspose": (2,),
    "Expand": (1,), "GroupNormalization": (1, 2),
    "InstanceNormalization": (1, 2), "Pad": (1, 3), "Reshape": (1,), "Resize": (1, 2, 3), "ReverseSequence": (1,),
    "Slice": (1, 2, 3, 4), "Split": (1,), "Squeeze": (1,), "Tile": (1, 2), "TopK": (1,), "Unsqueeze": (1,),
    "Upsample": (1,),
}  # fmt: skip
# A single axis may be a scalar, as onnx's own functions write it; both runtimes take it.
_SCALARS = frozenset({"Unsqueeze"})
# Of recurrent operators each operand has a rank of its own.
_LSTM_RANKS = (3, 3, 3, 2, 1, 3, 3, 2)
_EXACT_RANKS: dict[str, tuple[int, ...]] = {"GRU": _LSTM_RANKS[:6], "LSTM": _LSTM_RANKS, "RNN": _LSTM_RANKS[:6]}
_SAME_RANK = frozenset({"GatherElements", "Scatter", "ScatterElements"})

_LEAST_RANKS = {
    "GroupNormalization": 2,
    "Hardmax": 1,
    "LRN": 2,
    "LayerNormalization": 1,
    "LpNormalization": 1,
    "MeanVarianceNormalization": 1,
}
# Attributes that name a dimension of the first input, but for operators that count otherwise.
_AXES = ("axis", "batch_axis", "time_axis")
# By the operator's text nothing else, which no schema says.
_AXES_OF_SEQUENCES = (0, 1)
_OTHER_AXES = frozenset({
    "Add", "And", "DequantizeLinear", "Div", "Equal", "Flatten", "Greater", "Less", "Mul", "OneHot", "Or", "Pow",
    "QuantizeLinear", "Softmax", "LogSoftmax", "Sub", "Xor",
})  # fmt: skip


class OnnxChecks:
    """The checks of ONNX nodes. Nodes that differ in names only are judged once."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._wrong: dict[_Likeness, str | None] = {}
        self._misfits: dict[_Likeness, str | None] = {}
        self._latest: tuple[Node, _Likeness] | None = None

    def before(self, node: Node) -> None:
        """Raises `UnsupportedError` for a node that its operator's schema does not allow."""
        _raise_if(_once(self._wrong, self._likeness(node), lambda: self._why_wrong(node)))

    def after(self, node: Node) -> None:
        """Raises `UnsupportedError` where onnx's own inference finds that shapes or attributes of a node that its row
        has taken do not belong together."""
        if node.op == "Split" and len(node.inputs) == 1 and "num_outputs" not in node.attrs:
            # Equal parts of a size that is not known, as before operator set 18, which has no word for them.
            return
        if any(isinstance(value, Graph) for value in node.attrs.values()):
            # The nodes of its bodies are checked one by one.
            return
        if len(node.inputs) > 1 or node.attrs:
            _raise_if(_once(self._misfits, self._likeness(node), lambda: self._why_misfit(node)))

    def _opset(self, node: Node) -> int:
        return self._view.opset(node) or 1

    def _likeness(self, node: Node) -> _Likeness:
        """All that the checks look at; a node is asked about twice, before its row and after it."""
        if self._latest is None or self._latest[0] is not node:
            self._latest = node, self._likened(node)
        return self._latest[1]

    def _likened(self, node: Node) -> _Likeness:
        view = self._view
        types = tuple((view.dtype(item), view.shape(item)) if item.name else None for item in node.inputs)
        attributes = tuple((name, _spelled(value)) for name, value in node.attrs.items())
        return node.op, self._opset(node), types, attributes, len(node.outputs)

    def _why_wrong(self, node: Node) -> str | None:
        opset = self._opset(node)
        found = signature(node.op, "", opset)
        if found is None:
            return f"it does not exist in operator set {opset}"
        unknown = found.unknown(node.attrs)
        if unknown:
            return f"its attribute {unknown[0]!r} does not exist in operator set {opset}"
        unreadable = sorted(name for name, value in node.attrs.items() if isinstance(value, bytes))
        if unreadable:
            return f"its attribute {unreadable[0]!r} is text that is not UTF-8"
        dtypes = [self._view.dtype(tensor) for tensor in node.inputs]
        return (
            found.why_not_attributes(node.attrs)
            or found.why_not_inputs([bool(tensor.name) for tensor in node.inputs], dtypes)
            or found.why_not_results(len(node.outputs))
            or _why_not_ranks(node, self._view)
        )

    def _why_misfit(self, node: Node) -> str | None:
        view, opset = self._view, self._opset(node)
        proto = onnx.NodeProto(op_type=node.op)
        proto.attribute.extend(encode(name, value) for name, value in node.attrs.items())
        types: dict[str, onnx.TypeProto] = {}
        for index, tensor in enumerate(node.inputs):
            proto.input.append(str(index) if tensor.name else "")
            dtype = view.dtype(tensor) if tensor.name else None
            if dtype is not None and dtype.onnx is not None:
                types[str(index)] = onnx.helper.make_tensor_type_proto(dtype.onnx, view.shape(tensor))
        proto.output.extend(f"result {index}" for index in range(len(node.outputs)))
        try:
            schema = onnx.defs.get_schema(node.op, opset)
            infer_outputs(schema, proto, types, {}, [onnx.helper.make_opsetid("", opset)])
        except onnx.shape_inference.InferenceError as error:
            return f"its operands do not fit: {one_line(error)}"
        except (onnx.checker.ValidationError, RuntimeError, ValueError, KeyError):
            return None
        return None


def _spelled(value: Any) -> object:
    """What tells an attribute from others: large values are told by what they are, not by what is in them."""
    return repr(value) if isinstance(value, (int, float, str, bytes, list, tuple)) else id(value)


def _once(known: dict[_Likeness, str | None], likeness: _Likeness, judge: Callable[[], str | None]) -> str | None:
    if likeness not in known:
        known[likeness] = judge()
    return known[likeness]


def _raise_if(reason: str | None) -> None:
    if reason is not None:
        raise UnsupportedError(reason)


def _why_not_ranks(node: Node, view: View) -> str | None:
    ranks = [view.rank(tensor) if tensor.name else None for tensor in node.inputs]
    allowed = (None, 0, 1) if node.op in _SCALARS else (None, 1)
    for index, rank in enumerate(ranks):
        if index in _VECTORS.get(node.op, ()) and rank not in allowed:
            return f"its input {index} has {rank} dimensions instead of one"
    for index, (rank, wanted) in enumerate(zip(ranks, _EXACT_RANKS.get(node.op, ()), strict=False)):
        if rank not in (None, wanted):
            return f"its input {index} has {rank} dimensions instead of {wanted}"
    first = ranks[0] if ranks else None
    reason = None if first is None else _why_not_axes(node, first)
    known = [rank for rank in ranks if rank is not None]
    if reason is None and node.op in _SAME_RANK and len(set(known)) > 1:
        return f"its inputs have {', '.join(map(str, known))} dimensions instead of as many each"
    return reason


def _why_not_axes(node: Node, rank: int) -> str | None:
    if rank < _LEAST_RANKS.get(node.op, 0):
        return f"its input 0 has {rank} dimensions, which are too few"
    for name in () if node.op in _OTHER_AXES else _AXES:
        axis = node.attrs.get(name)
        if isinstance(axis, int) and not -rank <= axis < rank:
            return f"its {name} {axis} does not exist in {rank} dimensions"
        if name != "axis" and axis not in (None, *_AXES_OF_SEQUENCES):
            return f"its {name} {axis} is neither 0 nor 1"
    return None


def one_line(error: Exception) -> str:
    """What onnx says of a node, without the place in onnx's own source."""
    return " ".join(str(error).split()).rpartition("Error] ")[2]


def check_openvino(node: Node) -> None:
    """Raises `UnsupportedError` for a layer that its operation, of the version of its operator set, does not allow.

    Attributes that it does not have are nothing to OpenVINO: old writers gave more of them.
    """
    version = node.domain.removeprefix("openvino.opset")
    found = operation(node.op, int(version)) if version.isdecimal() else None
    if found is None:
        raise UnsupportedError(f"its version {version!r} is not covered")
    known = {name: value for name, value in node.attrs.items() if name in found.attributes}
    reason = found.why_not(len(node.inputs), len(node.outputs), known)
    if reason is not None:
        raise UnsupportedError(reason)


def is_writable(text: str) -> bool:
    """Whether XML can hold a text."""
    return _UNWRITABLE.search(text) is None


def check_name(name: str) -> None:
    """Raises `UnsupportedError` for a name with characters that XML cannot hold."""
    if not is_writable(name):
        raise UnsupportedError(f"the name {name!r} has a character that XML cannot hold; rename it")


def check_results(node: Node, made: Mapping[Tensor, Tensor], returned: Collection[Tensor]) -> None:
    """Raises `UnsupportedError` where a row left a result unmade that a node reads or the graph returns."""
    for index, tensor in enumerate(node.outputs):
        if tensor not in made and (tensor.outputs or tensor in returned):
            raise UnsupportedError(f"its result {index} is not covered")
