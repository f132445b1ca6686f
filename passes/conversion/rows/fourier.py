"""OpenVINO's Fourier transforms to ONNX's DFT, which is about one axis, and Col2Im."""

from __future__ import annotations

import numpy as np

from maxfold.model.dtypes import DType
from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.parts.operands import int64_vector, positive_axis, transposed
from maxfold.passes.conversion.parts.tensors import narrowed, widened
from maxfold.passes.conversion.row import Row, ToOnnx, from_openvino
from maxfold.passes.conversion.sites.onnx_site import OnnxSite

# From this operator set on the axis of DFT is an input.
_AXIS_INPUT = 20
_IMAGE_RANK = 2


def _axes(site: OnnxSite, rank: int) -> list[int]:
    """The axes, counted from the front among `rank` dimensions."""
    axes = [positive_axis(axis, rank) for axis in site.integers_of(1, "its axes")]
    if len(set(axes)) != len(axes):
        raise UnsupportedError("its axes name one axis twice")
    return axes


def _lengths(site: OnnxSite, count: int) -> list[int | None]:
    """The length along each axis, None for that of the data."""
    if not site.has_input(2):
        return [None] * count
    given = site.integers_of(2, "its signal_size")
    if len(given) != count:
        raise UnsupportedError(f"its signal_size has {len(given)} elements for {count} axes")
    return [None if length == -1 else length for length in given]


def _transformed(site: OnnxSite, data: Tensor, axis: int, length: int | None, **flags: int) -> Tensor:
    """DFT along an axis."""
    operands = [data]
    attributes: dict[str, int] = {name: value for name, value in flags.items() if value}
    if length is not None or site.opset >= _AXIS_INPUT:
        operands.append(site.omitted() if length is None else site.constant(length, "int64"))
    if site.opset >= _AXIS_INPUT:
        operands.append(site.constant(axis, "int64"))
    else:
        attributes["axis"] = axis
    made: Tensor = site.add("DFT", operands, attributes)
    return made


def _in_batch(site: OnnxSite, data: Tensor, rank: int) -> tuple[Tensor, int]:
    """Data with a dimension in front, without which ONNX has none, and how many were added."""
    if rank > 2:
        return data, 0
    return site.add("Unsqueeze", [data, site.constant([0], "int64")]), 1


def _without_batch(site: OnnxSite, data: Tensor, added: int) -> Tensor:
    result: Tensor = site.add("Squeeze", [data, site.constant([0], "int64")]) if added else data
    return result


def _complex(is_inverse: int) -> ToOnnx:
    """DFT or IDFT, of which the last dimension is that of the parts."""

    def convert(site: OnnxSite) -> None:
        rank = site.rank(0)
        axes = _axes(site, rank - 1)
        data, _, back = widened(site)
        data, added = _in_batch(site, data, rank)
        for axis, length in zip(axes, _lengths(site, len(axes)), strict=True):
            data = _transformed(site, data, axis + added, length, inverse=is_inverse)
        site.result(_kept(site, narrowed(site, _without_batch(site, data, added), back)))

    return convert


def _kept(site: OnnxSite, tensor: Tensor) -> Tensor:
    """A result that is none of the inputs."""
    kept: Tensor = site.add("Identity", [tensor]) if tensor is site.input(0) else tensor
    return kept


def _rdft_to_onnx(site: OnnxSite) -> None:
    """Half the spectrum along the last of the axes, then the others."""
    rank = site.rank(0)
    axes = _axes(site, rank)
    if not axes:
        raise UnsupportedError("it has no axes")
    lengths = _lengths(site, len(axes))
    data, _, back = widened(site)
    data, added = _in_batch(site, site.add("Unsqueeze", [data, site.constant([-1], "int64")]), rank + 1)
    data = _transformed(site, data, axes[-1] + added, lengths[-1], onesided=1)
    for axis, length in zip(axes[:-1], lengths[:-1], strict=True):
        data = _transformed(site, data, axis + added, length)
    site.result(narrowed(site, _without_batch(site, data, added), back))


def _irdft_to_onnx(site: OnnxSite) -> None:
    """Real data of half a spectrum: its real part, where what stands for two frequencies counts twice."""
    rank = site.rank(0)
    axes = _axes(site, rank - 1)
    if not axes:
        raise UnsupportedError("it has no axes")
    lengths = _lengths(site, len(axes))
    data, _, back = widened(site)
    data, added = _in_batch(site, data, rank)
    for axis, length in zip(axes[:-1], lengths[:-1], strict=True):
        data = _transformed(site, data, axis + added, length, inverse=1)
    given, length = (site.shape(0) or ())[axes[-1]], lengths[-1]
    if length is None:
        if given is None:
            raise UnsupportedError("the size of the half spectrum is not known")
        length = 2 * (given - 1)
    if length < 1:
        raise UnsupportedError(f"it makes {length} elements")
    real = _real(site, data, axes[-1] + added, length, rank + added)
    site.result(narrowed(site, _without_batch(site, real, added), back))


def _real(site: OnnxSite, data: Tensor, axis: int, length: int, rank: int) -> Tensor:
    """`length` real elements along an axis of `rank` dimensions. What the spectrum has not is 0."""
    half = length // 2 + 1
    factors = np.full(half, 2, np.float32)
    factors[0] = 1
    if length % 2 == 0:
        factors[-1] = 1
    shape = site.shape(0)
    given = None if shape is None else shape[axis - (rank - len(shape))]
    first, along, wanted = (site.constant([value], "int64") for value in (0, axis, half))
    if given is None or half < given:
        data = site.add("Slice", [data, first, wanted, along])
    dtype = site.dtype(0)
    wide = np.float64 if dtype is not None and dtype.name == "DOUBLE" else np.float32
    sizes = [-1 if place == axis else 1 for place in range(rank)]
    scale: Tensor = site.constant(factors[:given].reshape(sizes), wide)
    if given is None:
        there = site.add("Gather", [site.add("Shape", [data]), along])
        scale = site.add("Slice", [scale, first, there, along])
    whole = _transformed(site, site.add("Mul", [data, scale]), axis, length, inverse=1)
    real: Tensor = site.add("Gather", [whole, site.constant(0, "int64")], {"axis": -1})
    return real


def _stft_to_onnx(site: OnnxSite) -> None:
    """Frames of real signals, of which half the spectrum is made; a shorter window stands in the middle."""
    rank = site.rank(0)
    if rank not in (1, 2):
        raise UnsupportedError(f"its signal has {rank} dimensions")
    size = site.integers_of(2, "its frame_size")[0]
    window, (signal, wide, back) = site.input(1), widened(site)
    if back is not None:
        window = site.add("Cast", [window], {"to": wide.onnx})
    window = _in_the_middle(site, window, size)
    if rank == 1:
        signal = site.add("Unsqueeze", [signal, site.constant([0], "int64")])
    signal = site.add("Unsqueeze", [signal, site.constant([-1], "int64")])
    step = site.add("Reshape", [int64_vector(site, 3), site.constant([], "int64")])
    frames = site.add("STFT", [signal, step, window, site.constant(size, "int64")], {"onesided": 1})
    if site.flag("transpose_frames"):
        frames = transposed(site, frames, [0, 2, 1, 3])
    if rank == 1:
        frames = site.add("Squeeze", [frames, site.constant([0], "int64")])
    site.result(narrowed(site, frames, back))


def _istft_to_onnx(site: OnnxSite) -> None:
    """The signals of all frames, laid over each other and divided by the squares of the windows that meet."""
    rank = site.rank(0)
    if rank not in (3, 4):
        raise UnsupportedError(f"its spectra have {rank} dimensions")
    size = site.integers_of(2, "its frame_size")[0]
    data, wide, back = widened(site)
    window = site.input(1)
    if back is not None:
        window = site.add("Cast", [window], {"to": wide.onnx})
    window = _in_the_middle(site, window, size)
    if rank == 3:
        data = site.add("Unsqueeze", [data, site.constant([0], "int64")])
    frames = _real(site, data, 1, size, 4)
    frames = site.add("Transpose", [frames], {"perm": [0, 2, 1]})
    if site.flag("normalized"):
        frames = site.add("Mul", [frames, site.constant(np.sqrt(size), wide.numpy)])
    frames = site.add("Mul", [frames, window])
    sums = _overlapped(site, frames, window, size, wide)
    start = size // 2 if site.flag("center") else 0
    signal = _cut(site, sums, start)
    if rank == 3:
        signal = site.add("Squeeze", [signal, site.constant([0], "int64")])
    site.result(narrowed(site, signal, back))


def _overlapped(site: OnnxSite, frames: Tensor, window: Tensor, size: int, wide: DType) -> Tensor:
    """Frames of [batch, frames, size] one step after the other."""
    zero, one = site.constant(0, "int64"), site.constant(1, "int64")
    shape = site.add("Shape", [frames])
    batch, count = (site.add("Gather", [shape, site.constant([axis], "int64")]) for axis in (0, 1))
    step = int64_vector(site, 3)
    first = site.add("Mul", [site.add("Range", [zero, site.add("Squeeze", [count]), one]), step])
    inner = site.constant(np.arange(size), "int64")
    places = site.add("Add", [site.add("Unsqueeze", [first, site.constant([1], "int64")]), inner])
    column = site.add("Reshape", [places, site.constant([-1, 1], "int64")])
    last = site.add("Mul", [site.add("Sub", [count, one]), step])
    total = site.add("Add", [last, site.constant([size], "int64")])
    nothing = site.constant(0, wide.numpy)
    # Scattered along the first dimension.
    rows = site.add("Reshape", [frames, site.add("Concat", [batch, site.constant([-1], "int64")], {"axis": 0})])
    rows = site.add("Transpose", [rows], {"perm": [1, 0]})
    start = site.add("Expand", [nothing, site.add("Concat", [total, batch], {"axis": 0})])
    sums = site.add("ScatterND", [start, column, rows], {"reduction": "add"})
    squares = site.add("Expand", [site.add("Mul", [window, window]), site.add("Shape", [places])])
    squares = site.add("Reshape", [squares, site.constant([-1], "int64")])
    weights = site.add("ScatterND", [site.add("Expand", [nothing, total]), column, squares], {"reduction": "add"})
    weights = site.add("Unsqueeze", [weights, site.constant([1], "int64")])
    is_none = site.add("Equal", [weights, nothing])
    weights = site.add("Where", [is_none, site.constant(1, wide.numpy), weights])
    signal: Tensor = site.add("Transpose", [site.add("Div", [sums, weights])], {"perm": [1, 0]})
    return signal


def _cut(site: OnnxSite, signal: Tensor, start: int) -> Tensor:
    """A signal without what centered frames have in front and behind, or of a length that is asked for."""
    along = site.constant([1], "int64")
    if not site.has_input(4):
        if not start:
            return signal
        bounds = [site.constant([bound], "int64") for bound in (start, -start)]
        cut: Tensor = site.add("Slice", [signal, *bounds, along])
        return cut
    length = site.add("Reshape", [int64_vector(site, 4), site.constant([1], "int64")])
    first = site.constant([start], "int64")
    kept = site.add("Slice", [signal, first, site.add("Add", [length, first]), along])
    there = site.add("Gather", [site.add("Shape", [kept]), along])
    none = site.constant([0, 0, 0], "int64")
    pads = site.add("Concat", [none, site.add("Sub", [length, there])], {"axis": 0})
    padded: Tensor = site.add("Pad", [kept, pads])
    return padded


def _in_the_middle(site: OnnxSite, window: Tensor, size: int) -> Tensor:
    """A window of as many elements as a frame."""
    shape = site.shape(1)
    if shape is None or len(shape) != 1 or (shape[0] or 0) > size:
        raise UnsupportedError(f"its window is no vector of up to {size} elements")
    known = shape[0]
    if known == size:
        return window
    if known is not None:
        before = (size - known) // 2
        pads: Tensor = site.constant([before, size - known - before], "int64")
    else:
        missing = site.add("Sub", [site.constant([size], "int64"), site.add("Shape", [window])])
        first = site.add("Div", [missing, site.constant([2], "int64")])
        pads = site.add("Concat", [first, site.add("Sub", [missing, first])], {"axis": 0})
    padded: Tensor = site.add("Pad", [window, pads])
    if known is None:
        site.declare(padded, window, (size,))
    return padded


def _col2im_to_onnx(site: OnnxSite) -> None:
    rank = site.rank(0)
    data, added = site.input(0), 0
    if rank == _IMAGE_RANK:
        data, added = site.add("Unsqueeze", [data, site.constant([0], "int64")]), 1
    lists = {name: site.integers(name) for name in ("strides", "dilations", "pads_begin", "pads_end")}
    attributes = {
        "strides": lists["strides"] or [1, 1],
        "dilations": lists["dilations"] or [1, 1],
        "pads": [*(lists["pads_begin"] or [0, 0]), *(lists["pads_end"] or [0, 0])],
    }
    dtype = site.dtype(0)
    to = None
    if dtype is not None and dtype.name != "FLOAT":
        if dtype.kind != "float" or dtype.bits > 32:
            raise UnsupportedError(f"ONNX Runtime has none of {dtype}")
        data, to = site.add("Cast", [data], {"to": 1}), dtype.onnx
    image = site.add("Col2Im", [data, int64_vector(site, 1), int64_vector(site, 2)], attributes)
    site.result(narrowed(site, _without_batch(site, image, added), to))


_ROUNDING = "1e-4 relative, 1e-5 absolute of the largest value"
_AT_RUN_TIME = "Axes and sizes that are computed at run time are refused."

ROWS: tuple[Row, ...] = (
    *from_openvino("DFT-7", "DFT", _complex(0), tolerance=_ROUNDING, limits=_AT_RUN_TIME),
    *from_openvino("IDFT-7", "DFT", _complex(1), tolerance=_ROUNDING, limits=_AT_RUN_TIME),
    *from_openvino("RDFT-9", "DFT", _rdft_to_onnx, tolerance=_ROUNDING, limits=_AT_RUN_TIME),
    *from_openvino(
        "IRDFT-9",
        "DFT",
        _irdft_to_onnx,
        tolerance=_ROUNDING,
        limits=f"{_AT_RUN_TIME} What a spectrum lacks of its signal_size is 0; OpenVINO's CPU takes anything for it.",
    ),
    *from_openvino("STFT-15", "STFT", _stft_to_onnx, tolerance=_ROUNDING, limits="The size of frames is known."),
    *from_openvino("ISTFT-16", "ScatterND", _istft_to_onnx, tolerance=_ROUNDING, limits="The size of frames is known."),
    *from_openvino("Col2Im-15", "Col2Im", _col2im_to_onnx, tolerance="the order of additions"),
)
