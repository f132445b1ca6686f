"""Strides, dilations and padding of operators that slide a window: what convolutions and pooling share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.sites.onnx_site import OnnxSite
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite

_MODES = {"SAME_UPPER": "same_upper", "SAME_LOWER": "same_lower"}
_ONNX_MODES = {openvino: onnx for onnx, openvino in _MODES.items()}
_MAX_SPATIAL_RANK = 3


@dataclass(frozen=True, slots=True)
class Window:
    """How a window slides over the spatial dimensions.

    `mode` is "explicit", "same_upper" or "same_lower"; padding is all 0 unless it is explicit. VALID is explicit
    padding of 0.
    """

    strides: list[int]
    dilations: list[int]
    pads_begin: list[int]
    pads_end: list[int]
    mode: str

    @property
    def rank(self) -> int:
        """The number of spatial dimensions."""
        return len(self.strides)

    def openvino(self) -> dict[str, object]:
        """The attributes that all of OpenVINO's operations with windows have."""
        return {
            "strides": self.strides, "dilations": self.dilations, "pads_begin": self.pads_begin,
            "pads_end": self.pads_end, "auto_pad": self.mode,
        }  # fmt: skip

    def onnx(self) -> dict[str, object]:
        """The attributes that all of ONNX's operators with windows have; dilations are left to the operator."""
        if self.mode != "explicit":
            return {"auto_pad": _ONNX_MODES[self.mode], "strides": self.strides}
        return {"pads": [*self.pads_begin, *self.pads_end], "strides": self.strides}


def onnx_window(site: OpenvinoSite, rank: int) -> Window:
    """The window of an ONNX operator over `rank` spatial dimensions. Raises `UnsupportedError`."""
    if not 1 <= rank <= _MAX_SPATIAL_RANK:
        raise UnsupportedError(f"it has {rank} spatial dimensions; OpenVINO has 1 to {_MAX_SPATIAL_RANK}")
    strides = _checked(site.attribute("strides"), "strides", rank, 1)
    dilations = _checked(site.attribute("dilations"), "dilations", rank, 1)
    mode = site.attribute("auto_pad", "NOTSET")
    # Automatic padding, and none, go before it.
    site.ignore("pads")
    if mode in _MODES:
        return Window(strides, dilations, [0] * rank, [0] * rank, _MODES[mode])
    if mode not in ("NOTSET", "VALID", ""):
        raise UnsupportedError(f"its auto_pad {mode!r} is not covered")
    given = site.attribute("pads") if mode != "VALID" else None
    pads = _checked(given, "pads", 2 * rank, 0)
    return Window(strides, dilations, pads[:rank], pads[rank:], "explicit")


def openvino_window(site: OnnxSite, rank: int, *, has_dilations: bool = True) -> Window:
    """The window of an OpenVINO operation over `rank` spatial dimensions. Raises `UnsupportedError`."""
    strides = _checked(_integers(site, "strides"), "strides", rank, 1)
    listed = _integers(site, "dilations") if has_dilations else None
    dilations = _checked(listed, "dilations", rank, 1)
    mode = site.text("auto_pad").lower()
    # Automatic padding, and none, go before them.
    site.ignore("pads_begin", "pads_end")
    if mode in _ONNX_MODES:
        return Window(strides, dilations, [0] * rank, [0] * rank, mode)
    if mode not in ("explicit", "notset", "valid"):
        raise UnsupportedError(f"its auto_pad {mode!r} is not covered")
    is_explicit = mode != "valid"
    begin = _checked(_integers(site, "pads_begin") if is_explicit else None, "pads_begin", rank, 0)
    end = _checked(_integers(site, "pads_end") if is_explicit else None, "pads_end", rank, 0)
    return Window(strides, dilations, begin, end, "explicit")


def without_dilated_automatic_padding(window: Window, spans: Sequence[int], sizes: Sequence[int | None]) -> Window:
    """The window with its automatic padding written out where it is dilated, which ONNX Runtime does not take.

    Raises `UnsupportedError` where the padding depends on a size that is not known: left as it is, ONNX Runtime refuses
    convolutions, and pools as if nothing were dilated.
    """
    if window.mode == "explicit" or max(window.dilations) == 1:
        return window
    totals = []
    for span, stride, size in zip(spans, window.strides, sizes, strict=True):
        if size is None and stride > 1:
            raise UnsupportedError("its automatic padding of dilated windows needs an input of a known shape")
        left = 0 if size is None or size % stride == 0 else stride - size % stride
        totals.append(max(0, span - stride + left))
    smaller = [total // 2 for total in totals]
    larger = [total - half for total, half in zip(totals, smaller, strict=True)]
    begin, end = (smaller, larger) if window.mode == "same_upper" else (larger, smaller)
    return Window(window.strides, window.dilations, begin, end, "explicit")


def overhangs(sizes: Sequence[int | None], spans: Sequence[int | None], window: Window) -> list[int]:
    """By how much a window that spans more than the padded input is larger than it, in each dimension; else 0.

    It is 0 as well where a size is not known: only when it is run does OpenVINO refuse the model then.
    """
    if window.mode != "explicit":
        return [0] * window.rank
    return [
        0 if size is None or span is None else max(0, span - size - begin - end)
        for size, span, begin, end in zip(sizes, spans, window.pads_begin, window.pads_end, strict=True)
    ]


def check_fits(site: OpenvinoSite, kernel: Sequence[int | None], window: Window) -> None:
    """Raises `UnsupportedError` where the window is larger than the padded input, so that there is no result."""
    shape = site.shape(0)
    if shape is None or len(shape) != window.rank + 2:
        return
    spans = [
        None if size is None else (size - 1) * dilation + 1
        for size, dilation in zip(kernel, window.dilations, strict=True)
    ]
    if any(overhangs(shape[2:], spans, window)):
        raise UnsupportedError(f"its window of {spans} is larger than its padded input")


def check_kernel_shape(site: OpenvinoSite, kernel: Sequence[int | None]) -> None:
    """Raises `UnsupportedError` where the attribute `kernel_shape` is not the shape of the filter."""
    given = site.attribute("kernel_shape")
    if given is None:
        return
    if len(given) != len(kernel) or any(dim not in (None, size) for dim, size in zip(kernel, given, strict=True)):
        raise UnsupportedError(f"its kernel_shape {list(given)} is not the shape of its filter")


def _integers(site: OnnxSite, name: str) -> list[int] | None:
    """A list of integers, None where it is missing or empty and so all at its default."""
    return site.integers(name) or None


def _checked(values: Sequence[int] | None, name: str, count: int, lowest: int) -> list[int]:
    if values is None:
        return [lowest] * count
    listed = [int(value) for value in values]
    if len(listed) != count:
        raise UnsupportedError(f"its {name} {listed} are not {count} numbers")
    if any(value < lowest for value in listed):
        raise UnsupportedError(f"its {name} {listed} are below {lowest}")
    return listed
