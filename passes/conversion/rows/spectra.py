"""Fourier transforms. ONNX marks real data by a last dimension of 1, OpenVINO has operations of their own for them."""

from __future__ import annotations

from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.pair import BROADCAST
from maxfold.passes.conversion.parts.operands import one_integer, openvino_scalar, positive_axis, shape_vector
from maxfold.passes.conversion.parts.scalars import dtype_of
from maxfold.passes.conversion.parts.tensors import reshaped
from maxfold.passes.conversion.row import Row, from_onnx
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite

_NUMPY = {BROADCAST: "numpy"}
_LENGTH, _AXIS = 1, 2


def _dft_to_openvino(site: OpenvinoSite) -> None:
    rank = site.rank(0)
    axis = _axis(site, rank)
    length = reshaped(site, site.input(_LENGTH), [1]) if site.has_input(_LENGTH) else None
    is_inverse, is_one_sided = bool(site.attribute("inverse", 0)), bool(site.attribute("onesided", 0))
    if not is_one_sided:
        site.result(
            _transform(site, "IDFT" if is_inverse else "DFT", _complex(site, site.input(0), rank), axis, length)
        )
    elif is_inverse:
        site.result(_real(site, axis, length, rank))
    else:
        site.result(_half(site, axis, length, rank))


def _axis(site: OpenvinoSite, rank: int) -> Tensor:
    """The axis as a vector of one, counted from the front: OpenVINO does not count the last dimension."""
    if site.has_input(_AXIS) and site.value(_AXIS) is None:
        vector = reshaped(site, site.input(_AXIS), [1])
        counted: Tensor = site.add("FloorMod", [vector, site.constant(rank, "int64")], _NUMPY)
        return counted
    given = one_integer(site, _AXIS, "its axis") if site.has_input(_AXIS) else -2
    axis = positive_axis(given, rank)
    if axis == rank - 1:
        raise UnsupportedError(f"its axis {given} is that of the real and imaginary parts")
    return site.constant([axis], "int64")


def _transform(site: OpenvinoSite, op: str, data: Tensor, axis: Tensor, length: Tensor | None) -> Tensor:
    operands = [data, axis] if length is None else [data, axis, length]
    transformed: Tensor = site.add(op, operands, opset=7 if op in ("DFT", "IDFT") else 9)
    return transformed


def _parts(site: OpenvinoSite) -> int:
    """1 for real and 2 for complex data."""
    shape = site.shape(0)
    parts = shape[-1] if shape else None
    if parts not in (1, 2):
        raise UnsupportedError("whether its input is real or complex is not known")
    return parts


def _complex(site: OpenvinoSite, data: Tensor, rank: int) -> Tensor:
    """Data with imaginary parts, which are 0 of real ones."""
    if _parts(site) == 2:
        return data
    bounds = [site.constant([0] * (rank - 1) + [end], "int64") for end in (0, 1)]
    zero = site.constant(0, dtype_of(site).numpy)
    padded: Tensor = site.add("Pad", [data, *bounds, zero], {"pad_mode": "constant"})
    return padded


def _half(site: OpenvinoSite, axis: Tensor, length: Tensor | None, rank: int) -> Tensor:
    """The half of the spectrum of real data that says the rest."""
    if _parts(site) != 1:
        raise UnsupportedError("ONNX has half a spectrum of real data only")
    if not _has_open_axis(site) and (length is None or _is_at_most_input(site, rank)):
        return _transform(site, "RDFT", site.add("Squeeze", [site.input(0), _last(site)]), axis, length)
    # OpenVINO's CPU does not pad for RDFT, and its process ends for an axis that is computed.
    whole = _transform(site, "DFT", _complex(site, site.input(0), rank), axis, length)
    if length is None:
        length = _gathered(site, shape_vector(site, site.input(0)), axis)
    return _first(site, whole, _half_of(site, length), axis)


def _real(site: OpenvinoSite, axis: Tensor, length: Tensor | None, rank: int) -> Tensor:
    """The real data of half a spectrum."""
    if _parts(site) != 2:
        raise UnsupportedError("ONNX takes half a spectrum as complex data only")
    if _has_open_axis(site):
        raise UnsupportedError("its axis is computed at run time, which ends OpenVINO's process")
    if length is not None and not _has_enough(site, rank):
        raise UnsupportedError("its dft_length may need more of the spectrum than there is")
    result: Tensor = site.add("Unsqueeze", [_transform(site, "IRDFT", site.input(0), axis, length), _last(site)])
    return result


def _last(site: OpenvinoSite) -> Tensor:
    return site.constant([-1], "int64")


def _has_open_axis(site: OpenvinoSite) -> bool:
    return site.has_input(_AXIS) and site.value(_AXIS) is None


def _sizes(site: OpenvinoSite, rank: int) -> tuple[int, int] | None:
    """The length that is asked for and that of the input, where they are known."""
    wanted, given, shape = site.value(_LENGTH), site.value(_AXIS), site.shape(0)
    if wanted is None or shape is None or _has_open_axis(site):
        return None
    own = shape[positive_axis(-2 if given is None else int(given.reshape(-1)[0]), rank)]
    return None if own is None else (int(wanted.reshape(-1)[0]), own)


def _is_at_most_input(site: OpenvinoSite, rank: int) -> bool:
    sizes = _sizes(site, rank)
    return sizes is not None and sizes[0] <= sizes[1]


def _has_enough(site: OpenvinoSite, rank: int) -> bool:
    """Whether there is all of the spectrum that OpenVINO reads, since it takes anything for what is not there."""
    sizes = _sizes(site, rank)
    return sizes is not None and sizes[0] // 2 + 1 <= sizes[1]


def _half_of(site: OpenvinoSite, length: Tensor) -> Tensor:
    """How many elements half a spectrum has, as a vector of one."""
    known = site.value(_LENGTH) if site.has_input(_LENGTH) else None
    if known is not None:
        return site.constant([int(known.reshape(-1)[0]) // 2 + 1], "int64")
    long = site.add("Convert", [length], {"destination_type": "i64"})
    half = site.add("Divide", [long, site.constant(2, "int64")], {**_NUMPY, "m_pythondiv": True})
    count: Tensor = site.add("Add", [half, site.constant(1, "int64")], _NUMPY)
    return count


def _first(site: OpenvinoSite, data: Tensor, count: Tensor, axis: Tensor) -> Tensor:
    start, step = site.constant([0], "int64"), site.constant([1], "int64")
    part: Tensor = site.add("Slice", [data, start, count, step, axis], opset=8)
    return part


def _stft_to_openvino(site: OpenvinoSite) -> None:
    parts, is_one_sided = _parts(site), bool(site.attribute("onesided", 1))
    if parts == 2 and is_one_sided:
        raise UnsupportedError("ONNX has half a spectrum of real data only")
    size = _frame_size(site)
    window = site.input(2) if site.has_input(2) else _ones(site, size)
    step = openvino_scalar(site, 1)
    if is_one_sided:
        signal = site.add("Squeeze", [site.input(0), _last(site)])
        site.result(site.add("STFT", [signal, window, size, step], {"transpose_frames": False}, opset=15))
        return
    frames = site.add("Multiply", [_frames(site, size, step), reshaped(site, window, [1, 1, -1, 1])], _NUMPY)
    site.result(_transform(site, "DFT", _complex(site, frames, 4), site.constant([2], "int64"), None))


def _frame_size(site: OpenvinoSite) -> Tensor:
    """The length of a frame: the one given, that of the window, or that of the signal."""
    if site.has_input(3):
        return openvino_scalar(site, 3)
    source, axis = (site.input(2), 0) if site.has_input(2) else (site.input(0), 1)
    return _dimension(site, source, axis)


def _dimension(site: OpenvinoSite, data: Tensor, axis: int) -> Tensor:
    return _gathered(site, shape_vector(site, data), site.constant(axis, "int64"))


def _gathered(site: OpenvinoSite, vector: Tensor, places: Tensor) -> Tensor:
    gathered: Tensor = site.add("Gather", [vector, places, site.constant(0, "int64")], {"batch_dims": 0}, opset=8)
    return gathered


def _ones(site: OpenvinoSite, size: Tensor) -> Tensor:
    one = site.constant(1, dtype_of(site).numpy)
    ones: Tensor = site.add("Broadcast", [one, reshaped(site, size, [1])], {"mode": "numpy"}, opset=3)
    return ones


def _frames(site: OpenvinoSite, size: Tensor, step: Tensor) -> Tensor:
    """All frames of the signal: [batch, frames, size, parts]."""
    zero, one = site.constant(0, "int64"), site.constant(1, "int64")
    size, step = (site.add("Convert", [item], {"destination_type": "i64"}) for item in (size, step))
    beyond = site.add("Subtract", [_dimension(site, site.input(0), 1), size], _NUMPY)
    stop, to = site.add("Add", [beyond, one], _NUMPY), {"output_type": "i64"}
    starts = reshaped(site, site.add("Range", [zero, stop, step], to, opset=4), [-1, 1])
    places = site.add("Add", [starts, site.add("Range", [zero, size, one], to, opset=4)], _NUMPY)
    frames: Tensor = site.add("Gather", [site.input(0), places, one], {"batch_dims": 0}, opset=8)
    return frames


_ROUNDING = "1e-4 relative, 1e-5 absolute of the largest value"

ROWS: tuple[Row, ...] = (
    *from_onnx(
        "DFT",
        "DFT-7",
        _dft_to_openvino,
        tolerance=_ROUNDING,
        limits="Data must be known to be real or complex. Half a spectrum that is, or may be, shorter than its "
        "dft_length needs is refused, and so is one whose axis is computed at run time, for real data.",
    ),
    *from_onnx(
        "STFT",
        "STFT-15",
        _stft_to_openvino,
        tolerance=_ROUNDING,
        limits="Becomes Gather, Multiply and DFT where the spectrum is whole.",
    ),
)  # fmt: skip
