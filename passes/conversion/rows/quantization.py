"""Real numbers to integers and back: QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from maxfold.model.data import Array
from maxfold.model.dtypes import DType
from maxfold.model.dtypes import from_onnx as type_of
from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.parts import blocks as by_block
from maxfold.passes.conversion.parts.quantized import (
    NUMPY,
    aligned,
    byte_steps,
    converted,
    faked,
    faked_and_back,
    input_type,
    is_zero,
    placed_value,
    real,
    rounded,
    why_not_faked,
)
from maxfold.passes.conversion.row import Row, from_onnx
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite

_WIDE = ("f32", "f16", "bf16")
_EXACT_BITS = 8
_CHANNELS, _CHANNEL_RANKS = 1, (2, 4, 5)


def _rank(site: OpenvinoSite) -> int | None:
    shape = site.shape(0)
    return None if shape is None else len(shape)


def _block_size(site: OpenvinoSite) -> int:
    size = site.attribute("block_size", 0) if not site.node.domain or site.node.domain == "ai.onnx" else 0
    return int(size)


def _output_type(site: OpenvinoSite, otherwise: DType) -> DType:
    """The type that an attribute names, or another; one that OpenVINO has. Raises `UnsupportedError`."""
    named = site.attribute("output_dtype", 0)
    dtype = type_of(named) if named else otherwise
    if dtype is None or dtype.openvino is None:
        raise UnsupportedError(f"OpenVINO has no {dtype or named}")
    return dtype


def dequantize_to_openvino(site: OpenvinoSite) -> None:
    """Integers to real numbers."""
    dtype, scale_type = input_type(site, 0), input_type(site, 1)
    to = _output_type(site, scale_type)
    if to.openvino not in _WIDE:
        raise UnsupportedError(f"a result of {to} is not covered")
    # The difference of two numbers of 8 bits is exact in all of these types, so that only the product is rounded.
    wide = to.openvino if to is scale_type and dtype.bits <= _EXACT_BITS else "f32"
    assert wide is not None
    has_zero_point = not is_zero(site, 2)
    fake = _with_its_quantization(site) if to.openvino == wide == "f32" else None
    if fake is not None:
        result = fake
    elif _block_size(site):
        result = _blocks_to_real(site, dtype, scale_type, wide, has_zero_point=has_zero_point)
    else:
        axis, rank = site.attribute("axis", 1), _rank(site)
        scale = converted(site, aligned(site, 1, rank, axis), scale_type, wide)
        zero_point = aligned(site, 2, rank, axis) if has_zero_point else None
        result = real(site, site.input(0), dtype, scale, zero_point, wide)
    if wide != to.openvino:
        result = site.add("Convert", [result], {"destination_type": to.openvino})
    site.result(result)


def _with_its_quantization(site: OpenvinoSite) -> Tensor | None:
    """Both steps as one FakeQuantize, where the integers are made with the same constants, as OpenVINO's own conversion
    writes them: its CPU then finds the products between them."""
    before = site.maker_of(0, "QuantizeLinear")
    if before is None or before.input_count != site.input_count or _block_size(before) or _block_size(site):
        return None
    if any(not _is_same(before, site, index) for index in range(1, site.input_count)):
        return None
    # Of one scale for all it says nothing.
    axis = site.attribute("axis", 1)
    if not _is_per_tensor(site) and before.attribute("axis", 1) != axis:
        return None
    to = input_type(site, 0)
    if to.kind == "float":
        return None
    x = converted(before, before.input(0), input_type(before, 0), "f32")
    known = _fake_parameters(before, to)
    return None if known is None else faked_and_back(site, x, *known, to)


def _is_per_tensor(site: OpenvinoSite) -> bool:
    return site.shape(1) in ((), (1,))


def _is_same(before: OpenvinoSite, site: OpenvinoSite, index: int) -> bool:
    """Whether both steps have one scale, or zero point, that is constant."""
    own, other = site.value(index), before.value(index)
    if own is None or other is None:
        return own is other and not site.has_input(index) and not before.has_input(index)
    return own.dtype == other.dtype and np.array_equal(own, other)


def _blocks_to_real(site: OpenvinoSite, dtype: DType, scale_type: DType, wide: str, *, has_zero_point: bool) -> Tensor:
    blocks = by_block.blocks_of(site, site.attribute("axis", 1), _block_size(site))
    x, scale = site.input(0), converted(site, site.input(1), scale_type, wide)
    if blocks.is_even:
        scale = by_block.beside(site, blocks, scale, site.shape(1))
        zero_point = by_block.beside(site, blocks, site.input(2), site.shape(2)) if has_zero_point else None
        numbers = real(site, by_block.split(site, blocks, x), dtype, scale, zero_point, wide)
        return by_block.joined(site, blocks, numbers)
    repeated = by_block.repeater(site, blocks, x)
    numbers = converted(site, x, dtype, wide)
    if has_zero_point:
        zero_point = repeated(converted(site, site.input(2), dtype, wide))
        numbers = site.add("Subtract", [numbers, zero_point], NUMPY)
    result: Tensor = site.add("Multiply", [numbers, repeated(scale)], NUMPY)
    return result


def quantize_to_openvino(site: OpenvinoSite) -> None:
    """Real numbers to integers, or to floats of 8 bits or less."""
    # It says in which type the quotient is made; here it is f32, the widest of them.
    site.ignore("precision")
    dtype, scale_type = input_type(site, 0), input_type(site, 1)
    unsigned = type_of(2)
    assert unsigned is not None
    to = input_type(site, 2) if site.has_input(2) else _output_type(site, unsigned)
    # Where there is a zero point it is of its type.
    site.ignore("output_dtype")
    x, has_zero_point = converted(site, site.input(0), dtype, "f32"), not is_zero(site, 2)
    axis, size = site.attribute("axis", 1), _block_size(site)
    if size:
        site.result(_quantized_blocks(site, x, to, axis, size, has_zero_point=has_zero_point))
        return
    if to.kind != "float":
        # Only 8-bit floats ask whether numbers out of range are saturated; integers always are.
        site.ignore("saturate")
        known = _fake_parameters(site, to)
        if known is not None:
            site.result(faked(site, x, *known, to))
            return
    rank = _rank(site)
    quotient = site.add("Divide", [x, converted(site, aligned(site, 1, rank, axis), scale_type, "f32")], NUMPY)
    if to.kind == "float":
        site.result(_narrow_float(site, quotient, to))
        return
    zero_point = converted(site, aligned(site, 2, rank, axis), to, "f32") if has_zero_point else None
    site.result(rounded(site, quotient, zero_point, to))


def _fake_parameters(site: OpenvinoSite, to: DType) -> tuple[Array, Array] | None:
    """The scale and the zero point of a QuantizeLinear that becomes a FakeQuantize, None for one that does not."""
    axis, rank = site.attribute("axis", 1), _rank(site)
    factor = placed_value(site, 1, aligned(site, 1, rank, axis))
    shift: Array | None = np.zeros((), np.int64)
    if not is_zero(site, 2):
        shift = placed_value(site, 2, aligned(site, 2, rank, axis))
    if factor is None or shift is None or not _may_fake(site, factor, rank, axis):
        return None
    factor = factor.astype(np.float32)
    return (factor, shift) if why_not_faked(factor, shift, to) is None else None


def _may_fake(site: OpenvinoSite, scale: Array, rank: int | None, axis: int) -> bool:
    """Whether OpenVINO's CPU has FakeQuantize for such scales: along the axis of channels, if it folds no constant."""
    if scale.ndim == 0 or site.value(0) is not None:
        return True
    return rank in _CHANNEL_RANKS and axis in (_CHANNELS, _CHANNELS - (rank or 0))


def _quantized_blocks(
    site: OpenvinoSite, x: Tensor, to: DType, axis: int, size: int, *, has_zero_point: bool
) -> Tensor:
    blocks = by_block.blocks_of(site, axis, size)
    scale = converted(site, site.input(1), input_type(site, 1), "f32")
    repeated = by_block.repeater(site, blocks, site.input(0))
    quotient = site.add("Divide", [x, repeated(scale)], NUMPY)
    if to.kind == "float":
        return _narrow_float(site, quotient, to)
    site.ignore("saturate")
    zero_point = repeated(converted(site, site.input(2), to, "f32")) if has_zero_point else None
    return rounded(site, quotient, zero_point, to)


def _narrow_float(site: OpenvinoSite, quotient: Tensor, to: DType) -> Tensor:
    """Quotients as floats of 8 or 4 bits; their zero point is 0 by definition. NaN, which a Clamp does not let through,
    stays NaN."""
    if not site.attribute("saturate", 1):
        raise UnsupportedError(
            "its attribute 'saturate' is 0, and OpenVINO's cast treats numbers out of range otherwise"
        )
    largest = float(ml_dtypes.finfo(to.numpy).max)  # type: ignore[no-untyped-call]
    clamped = site.add("Clamp", [quotient], {"min": -largest, "max": largest})
    held = site.add("Select", [site.add("IsNaN", [quotient], opset=10), quotient, clamped], NUMPY)
    made: Tensor = site.add("Convert", [held], {"destination_type": to.openvino})
    return made


def dynamically_quantized(site: OpenvinoSite) -> tuple[Tensor, Tensor, Tensor]:
    """The first input as bytes that span its range and 0, their scale and zero point."""
    x, rank, unsigned = site.input(0), _rank(site), type_of(2)
    assert unsigned is not None
    flat = x
    if rank is None:
        flat, rank = site.add("Reshape", [x, site.constant([-1], "int64")], {"special_zero": False}), 1
    zero = site.constant(0, np.float32)
    ends: list[Tensor] = []
    for reduce, choose in (("ReduceMin", "Minimum"), ("ReduceMax", "Maximum")):
        axes = site.constant(list(range(rank)), "int64")
        found = site.add(reduce, [flat, axes], {"keep_dims": False}) if rank else flat
        ends.append(site.add(choose, [found, zero], NUMPY))
    low, high = ends
    width = site.add("Subtract", [high, low], NUMPY)
    scale = byte_steps(site, width)
    # The lowest integer is 0.
    from_zero = site.add("Divide", [site.add("Subtract", [zero, low], NUMPY), scale], NUMPY)
    zero_point = rounded(site, from_zero, None, unsigned)
    quotient = site.add("Divide", [x, scale], NUMPY)
    result = rounded(site, quotient, converted(site, zero_point, unsigned, "f32"), unsigned)
    return result, scale, zero_point


def _dynamic_to_openvino(site: OpenvinoSite) -> None:
    site.result(*dynamically_quantized(site))


_ROUNDED = (
    "Quotients are made in f32: where one comes next to half-way between two integers, the other one may be given."
)

_STEP = "1 step, where a quotient is half-way between two"

ROWS: tuple[Row, ...] = (
    *from_onnx(
        "QuantizeLinear", "FakeQuantize-1", quantize_to_openvino, tolerance=_STEP,
        limits=f"{_ROUNDED} Becomes a FakeQuantize where scale and zero point are constants, the result has 8 bits and "
        "ties are the same; else a division and a Round. Floats that are not saturated are refused.",
    ),
    *from_onnx(
        "DequantizeLinear", "Multiply-1", dequantize_to_openvino,
        tolerance="1e-6 of the largest result",
        limits="Becomes Convert, Subtract and Multiply, or one FakeQuantize with the QuantizeLinear before it.",
    ),
    *from_onnx(
        "DynamicQuantizeLinear", "Round-5", _dynamic_to_openvino, tolerance=_STEP,
        limits=f"{_ROUNDED} Of zeros alone the scale is 0, of an infinite range NaN.",
    ),
)  # fmt: skip
