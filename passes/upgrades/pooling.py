"""Pooling and transposed convolution: where the text of a newer version differs, nodes are let through that it
cannot concern.

Source: the operators' specifications, the versions named in `ADAPTERS`.
"""

from __future__ import annotations

from collections.abc import Mapping

from maxfold.passes.upgrades.draft import Adapter, Draft, Facts, Refusal


def _power(draft: Draft, facts: Facts) -> None:
    """`p` was a float in version 1."""
    if draft.op == "LpPool" and draft.attribute("kernel_shape") is None:
        raise Refusal("attribute 'kernel_shape' is missing")
    power = draft.attribute("p")
    if power is None:
        return
    if power != int(power):
        raise Refusal(f"p = {power} is not whole")
    draft.attributes["p"] = int(power)


def _last_window(draft: Draft, facts: Facts) -> None:
    """Version 22 leaves out windows that start in the padding at the end; with `ceil_mode`, earlier ones had them."""
    if not draft.attribute("ceil_mode", 0) or draft.attribute("auto_pad", "NOTSET") not in ("NOTSET", ""):
        return
    kernel = draft.attribute("kernel_shape", [])
    ones, zeros = [1] * len(kernel), [0] * (2 * len(kernel))
    strides, dilations = draft.attribute("strides", ones), draft.attribute("dilations", ones)
    pads = draft.attribute("pads", zeros)
    shape = facts.shape(draft.input(0)) or ()
    sizes = shape[2:] if len(shape) == len(kernel) + 2 else [None] * len(kernel)
    for axis, size in enumerate(sizes):
        window = (kernel[axis] - 1) * dilations[axis] + 1
        begin, end = pads[axis], pads[axis + len(kernel)]
        if end + strides[axis] <= window:
            continue
        if size is None or _start_of_last(begin + size + end, window, strides[axis]) >= begin + size:
            raise Refusal("a window may start in the padding at the end, which version 22 leaves out")


def _start_of_last(padded: int, window: int, stride: int) -> int:
    """Where the last window begins in a padded dimension if their number is rounded up."""
    return -(-(padded - window) // stride) * stride


def _conv_transpose(draft: Draft, facts: Facts) -> None:
    """Which side gets the odd element of padding is the other one in the text of version 11."""
    if draft.attribute("auto_pad", "NOTSET") in ("SAME_UPPER", "SAME_LOWER"):
        raise Refusal("what auto_pad 'SAME_UPPER' and 'SAME_LOWER' mean was written differently")
    if draft.attribute("output_shape") is not None:
        raise Refusal("how 'output_shape' divides the padding was written differently")


ADAPTERS: Mapping[tuple[str, int], Adapter] = {
    ("AveragePool", 22): _last_window,
    ("ConvTranspose", 11): _conv_transpose,
    ("GlobalLpPool", 2): _power,
    ("LpPool", 2): _power,
    ("MaxPool", 22): _last_window,
}
