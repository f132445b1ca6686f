"""Pooling. The two formats agree on windows inside the padded input, and differ on those that reach beyond it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.pair import BROADCAST
from maxfold.passes.conversion.parts.scalars import dtype_of
from maxfold.passes.conversion.parts.tensors import is_used
from maxfold.passes.conversion.parts.windows import (
    Window,
    onnx_window,
    openvino_window,
    overhangs,
    without_dilated_automatic_padding,
)
from maxfold.passes.conversion.row import Row, ToOpenvino, both, from_onnx
from maxfold.passes.conversion.sites.onnx_site import OnnxSite
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite
from maxfold.passes.conversion.sites.site import Shape, Site
from maxfold.passes.conversion.versions import needs_opset

_ROUNDINGS = ("floor", "ceil", "ceil_torch")
# The operator sets in which ONNX gives AveragePool dilations, and OpenVINO gives them to MaxPool and to AvgPool.
_AVERAGE_DILATIONS = 19
_OPENVINO_DILATIONS = {"MaxPool": 8, "AvgPool": 16}
_INT32 = 6


def _max_to_openvino(site: OpenvinoSite) -> None:
    kernel, window, is_ceil = onnx_pooling(site)
    is_column_major = bool(site.attribute("storage_order", 0)) and site.has_output(1)
    attributes = {
        **window.openvino(), "kernel": kernel, "rounding_type": "ceil_torch" if is_ceil else "floor",
        "index_element_type": "i64", "axis": 0,
    }  # fmt: skip
    values, indices = site.add("MaxPool", [site.input(0)], attributes, opset=14 if is_ceil else 8, outputs=2)
    site.result(values, _column_major(site, indices) if is_column_major else indices)


def _column_major(site: OpenvinoSite, indices: Tensor) -> Tensor:
    """Indices that count the first of the spatial dimensions fastest, of such that count the last one fastest."""
    sizes = (site.shape(0) or ())[2:]
    total = _product(sizes)
    added: list[Tensor] = []
    for index in reversed(range(len(sizes))):
        size = site.constant(sizes[index], "int64")
        place = site.add("FloorMod", [indices, size], {BROADCAST: "numpy"})
        indices = site.add("Divide", [indices, size], {BROADCAST: "numpy", "m_pythondiv": True})
        step = site.constant(_product(sizes[:index]), "int64")
        added.append(site.add("Multiply", [place, step], {BROADCAST: "numpy"}))
    result: Tensor = site.add("Multiply", [indices, site.constant(total, "int64")], {BROADCAST: "numpy"})
    for item in added:
        result = site.add("Add", [result, item], {BROADCAST: "numpy"})
    return result


def _max_to_onnx(site: OnnxSite) -> None:
    kernel, window = _openvino_kernel(site, "MaxPool")
    is_ceil = _rounding(site, kernel, window) != "floor"
    attributes = {
        **window.onnx(), "dilations": window.dilations, "kernel_shape": kernel, "ceil_mode": int(is_ceil)
    }  # fmt: skip
    if not is_used(site, 1):
        # They are about indices.
        site.ignore("axis", "index_element_type")
        site.result(site.add("MaxPool", [site.input(0)], attributes))
        return
    values, indices = site.add("MaxPool", [site.input(0)], attributes, outputs=2)
    site.result(values, _openvino_indices(site, indices))


def _openvino_indices(site: OnnxSite, indices: Tensor) -> Tensor:
    """Indices into the dimensions from `axis` on, of the type that the operation gives."""
    rank = site.rank(0)
    axis = site.integer("axis") % rank
    if axis:
        inner = _product((site.shape(0) or ())[axis:])
        indices = site.add("Mod", [indices, site.constant(inner, "int64")])
    kind = site.text("index_element_type").lower()
    if kind not in ("i32", "i64"):
        raise UnsupportedError(f"its index_element_type {kind!r} is not covered")
    return indices if kind == "i64" else site.add("Cast", [indices], {"to": _INT32})


def _product(dims: Shape) -> int:
    result = 1
    for dim in dims:
        if dim is None:
            raise UnsupportedError("its indices need an input of a known shape")
        result *= dim
    return result


def averaged(site: OpenvinoSite, data: Tensor, dtype: Any) -> Tensor:
    """AvgPool with the node's attributes, of a tensor that stands for its first input, of a type of numpy's."""
    kernel, window, is_ceil = onnx_pooling(site)
    excludes = not site.attribute("count_include_pad", 0)
    rounding = "ceil_torch" if is_ceil else "floor"
    if is_ceil and not excludes and _is_padded(window):
        tails = _tails(site, kernel, window)
        if max(tails) <= 0:
            rounding = "floor"
        else:
            # ONNX counts padding but nothing beyond it; OpenVINO then counts whole windows. Padding that is data
            # makes the two the same.
            data = _padded_in_openvino(site, data, dtype, kernel, window, tails)
            window, excludes = _unpadded(window), True
    is_dilated = max(window.dilations) > 1
    attributes = {
        **window.openvino(), "kernel": kernel, "exclude-pad": excludes, "rounding_type": rounding,
    }  # fmt: skip
    opset = 16 if is_dilated else 14 if rounding == "ceil_torch" else 1
    if not is_dilated:
        del attributes["dilations"]
    made: Tensor = site.add("AvgPool", [data], attributes, opset=opset)
    return made


def _average_to_openvino(site: OpenvinoSite) -> None:
    site.result(averaged(site, site.input(0), dtype_of(site).numpy))


def _average_to_onnx(site: OnnxSite) -> None:
    kernel, window = _openvino_kernel(site, "AvgPool")
    rounding, excludes = _rounding(site, kernel, window), site.flag("exclude-pad")
    data = site.input(0)
    if rounding != "floor" and not excludes and _is_padded(window):
        tails = _tails(site, kernel, window)
        rounding = "floor"
        if max(tails) > 0:
            # OpenVINO counts whole windows here, ONNX only what is inside the padding: so the padding is made larger.
            ends = [end + max(tail, 0) for end, tail in zip(window.pads_end, tails, strict=True)]
            pads = site.constant([0, 0, *window.pads_begin, 0, 0, *ends], "int64")
            data, window = site.add("Pad", [data, pads]), _unpadded(window)
    attributes = {
        **window.onnx(), "kernel_shape": kernel, "count_include_pad": int(not excludes),
        "ceil_mode": int(rounding != "floor"),
    }  # fmt: skip
    if max(window.dilations) > 1:
        if site.opset < _AVERAGE_DILATIONS:
            raise needs_opset("dilation", _AVERAGE_DILATIONS)
        attributes["dilations"] = window.dilations
    site.result(site.add("AveragePool", [data], attributes))


def onnx_pooling(site: OpenvinoSite) -> tuple[list[int], Window, bool]:
    """The kernel, how it slides, and whether sizes are rounded up. Raises `UnsupportedError`."""
    given = site.attribute("kernel_shape")
    if given is None:
        raise UnsupportedError("its attribute 'kernel_shape' is missing")
    kernel = [int(size) for size in given]
    window = onnx_window(site, len(kernel))
    pads = zip(_spans(kernel, window), window.pads_begin, window.pads_end, strict=True)
    if any(span <= max(before, after) for span, before, after in pads):
        raise UnsupportedError(f"its window of {_spans(kernel, window)} fits into its padding")
    is_ceil = _is_ceil(site, window)
    shape = site.shape(0)
    if shape is None or len(shape) != window.rank + 2:
        return kernel, window, is_ceil
    over = overhangs(shape[2:], _spans(kernel, window), window)
    for axis, overhang in enumerate(over):
        if not overhang:
            continue
        # Rounded up, there is one window, which reaches beyond the input; OpenVINO wants it inside.
        if not is_ceil or overhang >= window.strides[axis] or window.dilations[axis] > 1:
            raise UnsupportedError(f"its window of {_spans(kernel, window)} is larger than its padded input")
        kernel[axis] -= overhang
    if min(kernel) < 1:
        raise UnsupportedError("its padded input is empty")
    return kernel, window, is_ceil


def _openvino_kernel(site: OnnxSite, op: str) -> tuple[list[int], Window]:
    kernel = site.integers("kernel")
    has_dilations = site.version >= _OPENVINO_DILATIONS[op]
    window = openvino_window(site, len(kernel), has_dilations=has_dilations)
    shape = site.shape(0)
    sizes = [None] * window.rank if shape is None else shape[2:]
    window = without_dilated_automatic_padding(window, _spans(kernel, window), sizes)
    if any(max(pads) >= size for *pads, size in zip(window.pads_begin, window.pads_end, kernel, strict=True)):
        # It compares them with the kernel, however dilated.
        raise UnsupportedError(f"ONNX Runtime takes no padding as large as its kernel of {kernel}")
    return kernel, window


def _is_ceil(site: OpenvinoSite, window: Window) -> bool:
    """Whether sizes are rounded up; automatic padding leaves nothing to round."""
    if not site.attribute("ceil_mode", 0) or window.mode != "explicit":
        return False
    if site.attribute("auto_pad", "NOTSET") == "VALID" and max(window.strides) > 1:
        raise UnsupportedError("ceil_mode with auto_pad VALID is read in two ways; export it with pads")
    return True


def _rounding(site: OnnxSite, kernel: list[int], window: Window) -> str:
    """The rounding that OpenVINO does. Raises `UnsupportedError` where it leaves a window wholly in the padding."""
    rounding = site.text("rounding_type").lower()
    if rounding not in _ROUNDINGS:
        raise UnsupportedError(f"its rounding_type {rounding!r} is not covered")
    if window.mode != "explicit":
        return "floor"
    if rounding != "ceil":
        return rounding
    spans = _spans(kernel, window)
    # The last window starts before the padding at the end, whatever the size of the input is.
    if all(end + stride <= span for end, stride, span in zip(window.pads_end, window.strides, spans, strict=True)):
        return rounding
    if min(_tails(site, kernel, window)) < 0:
        raise UnsupportedError("its rounding_type 'ceil' leaves a window wholly in the padding")
    return rounding


def _tails(site: Site, kernel: list[int], window: Window) -> list[int]:
    """How far the last window reaches beyond the padded input in each dimension when sizes are rounded up.

    0 where it does not, minus what is left over where it would start in the padding at the end and so is left out.
    """
    shape = site.shape(0)
    sizes = [] if shape is None else [dim for dim in shape[2:] if dim is not None]
    if len(sizes) != window.rank:
        raise UnsupportedError("rounding up with padding needs an input of a known shape")
    tails = []
    for index, (size, span) in enumerate(zip(sizes, _spans(kernel, window), strict=True)):
        stride, begin, end = window.strides[index], window.pads_begin[index], window.pads_end[index]
        left = (size + begin + end - span) % stride
        start = size + begin + end - span - left + stride
        tails.append(0 if not left else -left if start >= size + begin else stride - left)
    return tails


def _spans(kernel: Sequence[int], window: Window) -> list[int]:
    return [(size - 1) * dilation + 1 for size, dilation in zip(kernel, window.dilations, strict=True)]


def _is_padded(window: Window) -> bool:
    return any((*window.pads_begin, *window.pads_end))


def _unpadded(window: Window) -> Window:
    none = [0] * window.rank
    return Window(window.strides, window.dilations, none, none, "explicit")


def _padded_in_openvino(
    site: OpenvinoSite, data: Tensor, dtype: Any, kernel: list[int], window: Window, tails: list[int]
) -> Tensor:
    """The data with its padding of 0; without what no window would reach, so that none starts there."""
    ends = [end + min(tail, 0) for end, tail in zip(window.pads_end, tails, strict=True)]
    if min(ends) < 0:
        raise UnsupportedError(f"ceil_mode with padding and strides above its kernel {kernel} is not covered")
    bounds = [site.constant([0, 0, *pads], "int64") for pads in (window.pads_begin, ends)]
    operands = [data, *bounds, site.constant(0, dtype)]
    result: Tensor = site.add("Pad", operands, {"pad_mode": "constant"})
    return result


def _global(op: str) -> ToOpenvino:
    """Reduces all spatial dimensions."""

    def convert(site: OpenvinoSite) -> None:
        rank = site.rank(0)
        if rank < 3:
            raise UnsupportedError(f"of {rank} dimensions it has nothing to pool")
        axes = site.constant(range(2, rank), "int64")
        site.result(site.add(op, [site.input(0), axes], {"keep_dims": True}))

    return convert


def _global_lp(site: OpenvinoSite) -> None:
    """The norm over all spatial dimensions."""
    rank, p = site.rank(0), site.attribute("p", 2)
    if rank < 3 or p not in (1, 2):
        raise UnsupportedError(f"of {rank} dimensions and p = {p} it is not covered")
    axes = site.constant(range(2, rank), "int64")
    site.result(site.add(f"ReduceL{int(p)}", [site.input(0), axes], {"keep_dims": True}, opset=4))


_CEIL = (
    "OpenVINO's rounding_type 'ceil' is refused where it leaves a window wholly in the padding. From ONNX, a window "
    "larger than its padded input is refused unless ceil_mode makes a result of it. "
    "To ONNX, dilated windows with automatic padding need known sizes where they stride, and padding is smaller than "
    "the kernel."
)

ROWS: tuple[Row, ...] = (
    *both(
        "MaxPool",
        "MaxPool-1",
        _max_to_openvino,
        _max_to_onnx,
        limits=f"{_CEIL} Indices by storage_order 1 need an input whose spatial sizes are known.",
    ),
    *both("AveragePool", "AvgPool-1", _average_to_openvino, _average_to_onnx, tolerance="1e-5 relative", limits=_CEIL),
    *from_onnx("GlobalAveragePool", "ReduceMean-1", _global("ReduceMean"), tolerance="1e-5 relative"),
    *from_onnx("GlobalMaxPool", "ReduceMax-1", _global("ReduceMax")),
    *from_onnx("GlobalLpPool", "ReduceL2-4", _global_lp, tolerance="1e-5 relative", limits="p is 1 or 2."),
)
