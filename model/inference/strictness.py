"""Where static checks are stricter than kernels: nodes of these operators run, and would not load if more were known.

Measured: ONNX Runtime 1.32 runs each of them, with its operands unknown when it loads, in forms that onnx's inference,
or the constructor of a kernel, refuses as soon as they are known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from maxfold.model.graph import Graph, Node
from maxfold.model.inference import microsoft
from maxfold.model.inference.call import normal_axis
from maxfold.model.inference.engine import Inference, operator_domain
from maxfold.model.inference.facts import Unknown
from maxfold.model.inference.symbolic import Dim
from maxfold.model.types import declared_shape

Check = Callable[[Inference, Node], str | None]

# From here on an end of a Slice stands for the end of any axis.
_FAR = 2**31 - 1
# What a runtime says may be another thing, and another version of onnx may say nothing.
_UNUSUAL = "its operands have a form that only kernels take"
# Attributes of a convolution that have an entry for each spatial axis, or two.
_SPATIAL = {"dilations": 1, "kernel_shape": 1, "pads": 2, "strides": 1}
_SPATIAL_FROM = 2
# Where Resize has its scales from operator set 11 on; its sizes follow.
_SCALES = 2
# Attributes of Resize by which a list is not about all axes, or not alone.
_STRETCHED = frozenset(("axes", "keep_aspect_ratio_policy"))


def _dims(known: Inference, node: Node, index: int) -> Sequence[Dim] | None:
    """The dims of an input, None where it is left out or its rank is not known."""
    tensor = node.inputs[index] if index < len(node.inputs) else None
    return None if tensor is None or not tensor.name else known.dims(tensor)


def _of_rank(rank: int, *indices: int) -> Check:
    """Operators of which these inputs are meant to have one rank."""

    def check(known: Inference, node: Node) -> str | None:
        ranks = [len(dims) for index in indices if (dims := _dims(known, node, index)) is not None]
        return _said(known, node) if any(own != rank for own in ranks) else None

    return check


def _said(known: Inference, node: Node) -> str:
    return known.refusal(node) or _UNUSUAL


def _with_axis(known: Inference, node: Node) -> str | None:
    """Operators that look for an extreme along an axis: kernels take a scalar."""
    return _said(known, node) if _dims(known, node, 0) == () else None


def _reduced(known: Inference, node: Node) -> str | None:
    """Operators that reduce: kernels take a scalar, whatever the axes are."""
    has_axes = "axes" in node.attrs or _dims(known, node, 1) is not None
    return _said(known, node) if has_axes and _dims(known, node, 0) == () else None


def _along_axis(known: Inference, node: Node) -> str | None:
    """Operators along one axis: kernels do not look at it where there is nothing to do."""
    dims, axis = _dims(known, node, 0), node.attrs.get("axis", -1)
    is_inside = dims is None or not isinstance(axis, int) or -len(dims) <= axis < len(dims)
    return None if is_inside else _said(known, node)


def _concat(known: Inference, node: Node) -> str | None:
    """Concat: of empty operands neither rank nor sizes are compared; onnx takes the result's sizes from them too."""
    shapes = [known.dims(tensor) for tensor in node.inputs]
    ranked = [shape for shape in shapes if shape is not None]
    axis = node.attrs.get("axis", 1)
    if not ranked or not isinstance(axis, int) or not -len(ranked[0]) <= axis < len(ranked[0]):
        return None
    if len({len(shape) for shape in ranked}) > 1:
        return _said(known, node)
    axis %= len(ranked[0])
    beside = [(*shape[:axis], *shape[axis + 1 :]) for shape in ranked]
    empty = [sizes for sizes, shape in zip(beside, ranked, strict=True) if 0 in shape]
    result = known.dims(node.outputs[0]) if empty else None
    if result is not None:
        beside += [(*result[:axis], *result[axis + 1 :])]
    is_open = any(not _is_told(result, sizes, axis) for sizes in empty)
    return _said(known, node) if is_open or _differ(beside) else None


def _is_told(result: Sequence[Dim] | None, sizes: Sequence[Dim], axis: int) -> bool:
    """Whether a result is known to have the sizes beside the axis that an empty operand has."""
    if result is None:
        return False
    beside = (*result[:axis], *result[axis + 1 :])
    if len(beside) != len(sizes):
        return False
    return all(size == dim for size, dim in zip(sizes, beside, strict=True) if isinstance(size, int))


def _prelu(known: Inference, node: Node) -> str | None:
    """PRelu: kernels broadcast the input to the slope too; for onnx the result is like the input."""
    dims, result = _dims(known, node, 0), known.dims(node.outputs[0])
    return None if dims is None or result is None or not _differ([dims, result]) else _UNUSUAL


def _non_zero(known: Inference, node: Node) -> str | None:
    """NonZero: for onnx a scalar has no index, for kernels one."""
    return _UNUSUAL if _dims(known, node, 0) == () else None


def _slice(known: Inference, node: Node) -> str | None:
    """Slice backwards to the largest end: for onnx there is nothing, for kernels all from the start to the first."""
    ends, steps = (known.value(node.inputs[place]) if place < len(node.inputs) else None for place in (2, 4))
    if ends is None or steps is None:
        return None
    pairs = zip(ends.elements, steps.elements, strict=False)
    numbers = [(end, step) for end, step in pairs if isinstance(end, int) and isinstance(step, int)]
    return _UNUSUAL if any(step < 0 and end >= _FAR for end, step in numbers) else None


def _squeeze(known: Inference, node: Node) -> str | None:
    """Squeeze: for onnx an empty list of axes is none, for kernels it is all axes."""
    return _UNUSUAL if _dims(known, node, 1) == (0,) and _dims(known, node, 0) != () else None


def _conv(known: Inference, node: Node) -> str | None:
    """Convolutions: kernels read no more of a list than there are axes, and take an empty window."""
    dims, weight = _dims(known, node, 0), _dims(known, node, 1)
    if weight is not None and 0 in weight:
        return _said(known, node)
    if dims is None:
        return None
    lengths = ((node.attrs.get(name), count * (len(dims) - _SPATIAL_FROM)) for name, count in _SPATIAL.items())
    is_odd = any(isinstance(value, list) and len(value) != length for value, length in lengths)
    return _said(known, node) if is_odd else None


def _reshape(known: Inference, node: Node) -> str | None:
    """Reshape: a 0 beside a -1 that copies nothing; a target of another rank than 1."""
    if len(node.inputs) < 2:
        return None
    dims, value = _dims(known, node, 1), known.value(node.inputs[1])
    is_flat = dims is None or len(dims) == 1
    has_both = value is not None and 0 in value.elements and -1 in value.elements
    return None if is_flat and not (has_both and node.attrs.get("allowzero")) else _said(known, node)


def _split(known: Inference, node: Node) -> str | None:
    """Split: without sizes and their number, or with an empty list of sizes."""
    dims = _dims(known, node, 1)
    is_given = dims is not None or "split" in node.attrs or "num_outputs" in node.attrs
    if dims == (0,):
        return _said(known, node)
    return None if is_given else known.refusal(node)


def _divisor(known: Inference, node: Node) -> str | None:
    """Div and Mod of integers: ONNX Runtime makes no kernel for a constant divisor with a 0 in it."""
    value = known.value(node.inputs[1]) if len(node.inputs) > 1 else None
    is_zero = value is not None and any(element == 0 for element in value.elements if isinstance(element, int))
    return "it divides by 0" if is_zero else None


def _always(known: Inference, node: Node) -> str | None:
    """Operators that are too rare to be looked at closely here."""
    return known.refusal(node)


def _resize(known: Inference, node: Node) -> str | None:
    """Resize: one list that has an entry for each axis is right; other forms are too rare to be looked at here."""
    dims = _dims(known, node, 0)
    lists = [(index, tensor) for index, tensor in enumerate(node.inputs) if index >= _SCALES and tensor.name]
    if dims is None or len(lists) != 1 or not _STRETCHED.isdisjoint(node.attrs):
        return known.refusal(node)
    index, tensor = lists[0]
    fact = known.fact(tensor)
    is_right = fact.dtype is not None and fact.dtype.name == ("FLOAT" if index == _SCALES else "INT64")
    return None if is_right and fact.dims == (len(dims),) else known.refusal(node)


def _loop(known: Inference, node: Node) -> str | None:
    """Loop: the condition that it is given may have another rank than its body declares."""
    body = node.attrs.get("body")
    if not isinstance(body, Graph):
        return None
    for index, tensor in enumerate(body.inputs[:2]):
        info = body.input_info.get(tensor.name)
        declared = None if info is None else declared_shape(info)
        dims = _dims(known, node, index)
        if index == 1 and declared is not None and dims is not None and len(declared) != len(dims):
            return f"its body declares {tensor.name!r} with another rank"
    return None


def _scan(known: Inference, node: Node) -> str | None:
    """Scan: lengths of what is scanned, and shapes that the body declares or changes."""
    body, count = node.attrs.get("body"), node.attrs.get("num_scan_inputs")
    if not isinstance(body, Graph) or not isinstance(count, int) or len(body.inputs) != len(node.inputs):
        return None
    states = len(node.inputs) - count
    axes = node.attrs.get("scan_input_axes") or [0] * count
    lengths: set[int] = set()
    for index, tensor in enumerate(body.inputs):
        dims = _dims(known, node, index)
        if dims is None:
            continue
        given = list(dims)
        if index >= states:
            try:
                length = given.pop(normal_axis(axes[index - states], len(dims)))
            except (Unknown, LookupError, TypeError):
                return "one of its axes is outside of the tensor"
            lengths |= {length} if isinstance(length, int) else set()
        info = body.input_info.get(tensor.name)
        declared = None if info is None else declared_shape(info)
        left = known.dims(body.outputs[index]) if index < states and index < len(body.outputs) else None
        if _differ([shape for shape in (given, declared, left) if shape is not None]):
            return f"{tensor.name!r} in its body has another shape"
    return "its inputs have several lengths" if len(lengths) > 1 else None


def _differ(shapes: Sequence[Sequence[Dim | None]]) -> bool:
    if len({len(shape) for shape in shapes}) > 1:
        return True
    return any(len({dim for dim in dims if isinstance(dim, int)}) > 1 for dims in zip(*shapes, strict=True))


STRICT: dict[str, Check] = {
    **dict.fromkeys(("ArgMax", "ArgMin"), _with_axis),
    **dict.fromkeys(
        (
            "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin",
            "ReduceProd", "ReduceSum", "ReduceSumSquare",
        ), _reduced,
    ),
    **dict.fromkeys(("Hardmax", "LogSoftmax", "Softmax"), _along_axis),
    **dict.fromkeys(("Conv", "ConvInteger", "ConvTranspose", "QLinearConv"), _conv),
    **dict.fromkeys(("Div", "Mod"), _divisor),
    **dict.fromkeys(
        (
            "AffineGrid", "Attention", "BlackmanWindow", "CenterCropPad", "Col2Im", "Compress", "CumSum", "DFT",
            "DeformConv", "Einsum", "GRU", "GatherND", "HammingWindow", "HannWindow", "LSTM", "MaxRoiPool", "MaxUnpool",
            "MelWeightMatrix", "NegativeLogLikelihoodLoss", "NonMaxSuppression", "OneHot", "RNN", "STFT",
            "SoftmaxCrossEntropyLoss", "SplitToSequence", "TopK", "Trilu", "Upsample",
        ), _always,
    ),
    "Concat": _concat,
    "ConstantOfShape": _of_rank(1, 0),
    "Dropout": _of_rank(0, 1, 2),
    "Expand": _of_rank(1, 1),
    "Gemm": _of_rank(2, 0, 1),
    "Loop": _loop,
    "NonZero": _non_zero,
    "PRelu": _prelu,
    "Pad": _of_rank(1, 1),
    "Range": _of_rank(0, 0, 1, 2),
    "Reshape": _reshape,
    "Resize": _resize,
    "Scan": _scan,
    "Split": _split,
    "Slice": _slice,
    "Squeeze": _squeeze,
}  # fmt: skip


def is_strict(node: Node) -> bool:
    """Whether static checks may refuse a node that its kernel takes."""
    return node.op in STRICT or _has_row(node)


def why_refused(known: Inference, node: Node) -> str | None:
    """Why static checks refuse such a node of which so much is known, None where they do not."""
    if _has_row(node):
        return None if known.view.is_function_call(node) else known.refusal(node)
    strict = STRICT.get(node.op)
    if strict is None or not known.view.is_operator(node, node.op):
        return None
    for tensor in node.inputs:
        known.fact(tensor)
    return strict(known, node)


def _has_row(node: Node) -> bool:
    """Whether it is one of ONNX Runtime's own operators, of each of which its row says what it takes."""
    return microsoft.row_of(operator_domain(node), node.op) is not None
