"""Steps from versions whose text left something open, read as ONNX Runtime and OpenVINO read them.

Who runs a converted model gets what these give for the original, so conversion takes these steps; an upgraded file has
to be equal by the text of the specification alone.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from maxfold.passes.upgrades import normalization, operands, pooling, softmax
from maxfold.passes.upgrades.draft import Adapter, Draft, Facts, Refusal, as_int64
from maxfold.passes.upgrades.first_versions import ADAPTERS as FIRST_VERSIONS


def _unchanged(draft: Draft, facts: Facts) -> None:
    """What the newer version says is what runtimes do for the older one."""


def _resize_coordinates(draft: Draft, facts: Facts) -> None:
    """Coordinates are divided by the scales, and the nearest element is the one below."""
    draft.attributes.update(coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    draft.inputs = [draft.input(0), np.zeros(0, np.float32), draft.input(1)]


def _resize_sizes(draft: Draft, facts: Facts) -> None:
    """Sizes go before scales; `tf_half_pixel_for_nn`, which has gone from ONNX, is left for rows that know it."""
    if draft.input(3) is not None:
        draft.set_input(2, None)


def _is_test(draft: Draft, facts: Facts) -> None:
    """A Dropout that drops nothing is none; statistics of each element may follow."""
    if draft.op == "Dropout" and draft.attribute("ratio", 0.5) == 0:
        draft.take("is_test")
        return
    if draft.op == "BatchNormalization" and draft.attribute("is_test", 0):
        draft.take("is_test")
        normalization.inference_only(draft)
        return
    normalization.ADAPTERS["Dropout", 7](draft, facts)


def _spatial(draft: Draft, facts: Facts) -> None:
    """Statistics of each element rather than of each channel, as numpy broadcasts them."""
    if draft.take("spatial", 1):
        return
    normalization.inference_only(draft)
    dtype = facts.dtype(draft.input(0))
    if dtype is None:
        raise Refusal("the element type of its input is not known")
    epsilon = np.array(draft.attribute("epsilon", 1e-5), dtype.numpy)
    data, scale, shift, mean, variance = draft.inputs
    deviation = Draft("Sqrt", [Draft("Add", [variance, epsilon])])
    normalized = Draft("Div", [Draft("Sub", [data, mean]), deviation])
    draft.op, draft.inputs, draft.attributes = "Add", [Draft("Mul", [normalized, scale]), shift], {}


def _group_normalization(draft: Draft, facts: Facts) -> None:
    """Scale and bias are of each group, to which channels come where they cannot be written out for each channel."""
    try:
        normalization.ADAPTERS["GroupNormalization", 21](draft, facts)
    except Refusal:
        _normalize_groups(draft, facts)


def _normalize_groups(draft: Draft, facts: Facts) -> None:
    groups = draft.attribute("num_groups")
    if not isinstance(groups, int):
        raise Refusal("attribute 'num_groups' is missing")
    for index in (1, 2):
        if facts.shape(draft.input(index)) not in (None, (None,), (groups,)):
            raise Refusal(f"its scale and bias are not of {groups} groups")
    data = draft.input(0)
    inner = Draft("Reshape", [data, as_int64([0, groups, -1])])
    epsilon = {"epsilon": draft.attribute("epsilon", 1e-5)}
    normalized = Draft("InstanceNormalization", [inner, draft.input(1), draft.input(2)], epsilon)
    draft.op, draft.inputs, draft.attributes = "Reshape", [normalized, Draft("Shape", [data])], {}


def _paddings(draft: Draft, facts: Facts) -> None:
    """In the order of the text, not in that of its example."""
    paddings = draft.take("paddings")
    if paddings is None:
        raise Refusal("attribute 'paddings' is missing")
    draft.attributes["pads"] = paddings


def _split(draft: Draft, facts: Facts) -> None:
    """Lengths that are a constant input, and the first axis where none is named."""
    draft.attributes.setdefault("axis", 0)
    lengths = facts.constant(draft.input(1))
    if lengths is not None:
        draft.attributes["split"] = [int(length) for length in lengths.reshape(-1)]
        draft.inputs = draft.inputs[:1]
    FIRST_VERSIONS["Split", 2](draft, facts)


def _equal_parts(draft: Draft, facts: Facts) -> None:
    """From version 18 on the last of `num_outputs` may be smaller, so that parts of a size that is not known have none:
    then what says nothing goes on to mean equal parts."""
    shape, axis = facts.shape(draft.input(0)) or (), draft.attribute("axis", 0)
    if -len(shape) <= axis < len(shape) and shape[axis] is not None:
        operands.ADAPTERS["Split", 18](draft, facts)


def _axes(draft: Draft, facts: Facts) -> None:
    """No axes in a list are all of them, as where there is no list."""
    if not draft.attribute("axes", [0]):
        draft.take("axes")
    operands.ADAPTERS["ReduceSum", 13](draft, facts)


def _conv_transpose(draft: Draft, facts: Facts) -> None:
    """Both sides get the same where padding is even, whichever gets the odd element."""
    shape = facts.shape(draft.input(1)) or ()
    kernel = [size for size in shape[2:] if size is not None]
    spatial = len(shape) - 2
    if spatial < 1 or len(kernel) != spatial or draft.attribute("output_shape") is not None:
        pooling.ADAPTERS["ConvTranspose", 11](draft, facts)
        return
    ones, zeros = [1] * spatial, [0] * spatial
    strides, dilations = draft.attribute("strides", ones), draft.attribute("dilations", ones)
    extra = draft.attribute("output_padding", zeros)
    spans = [(size - 1) * dilation + 1 for size, dilation in zip(kernel, dilations, strict=True)]
    totals = [span - stride + more for span, stride, more in zip(spans, strides, extra, strict=True)]
    if any(total > 0 and total % 2 for total in totals):
        pooling.ADAPTERS["ConvTranspose", 11](draft, facts)


def _clip(draft: Draft, facts: Facts) -> None:
    low, high = (draft.attribute(name) for name in ("min", "max"))
    if low is not None and high is not None and not low <= high:
        raise Refusal(f"its min {low} is not below its max {high}")
    operands.ADAPTERS["Clip", 11](draft, facts)


def _softmax(draft: Draft, facts: Facts) -> None:
    """Of no elements there is nothing to compute; OpenVINO folds the Reshape that undoes a Flatten of them wrongly."""
    if 0 not in (facts.shape(draft.input(0)) or ()):
        softmax.ADAPTERS["Softmax", 13](draft, facts)
        return
    draft.op, draft.inputs, draft.attributes = "Identity", draft.inputs[:1], {}


_REDUCTIONS = (*(key for key, adapter in operands.ADAPTERS.items() if key[0].startswith("Reduce")),)

ADAPTERS: Mapping[tuple[str, int], Adapter] = {
    **dict.fromkeys(_REDUCTIONS, _axes),
    ("AveragePool", 22): _unchanged,
    ("BatchNormalization", 7): _is_test,
    ("BatchNormalization", 9): _spatial,
    ("Clip", 11): _clip,
    ("ConvTranspose", 11): _conv_transpose,
    ("Dropout", 7): _is_test,
    ("Dropout", 22): _unchanged,
    ("GroupNormalization", 21): _group_normalization,
    ("MaxPool", 22): _unchanged,
    ("OneHot", 11): _unchanged,
    ("Pad", 2): _paddings,
    ("Resize", 11): _resize_coordinates,
    ("Resize", 13): _resize_sizes,
    **{(operator, 13): _softmax for operator in ("Hardmax", "LogSoftmax", "Softmax")},
    ("Split", 2): _split,
    ("Split", 18): _equal_parts,
}
