"""Arithmetic with two or more operands."""

from __future__ import annotations

from onnx import TensorProto

from maxfold.model.dtypes import DTYPES, DType
from maxfold.model.graph import Tensor
from maxfold.passes.conversion.pair import BROADCAST, broadcast_operands
from maxfold.passes.conversion.parts.compressed_weights import dequantized
from maxfold.passes.conversion.parts.scalars import dtype_of
from maxfold.passes.conversion.parts.tensors import scalar_like
from maxfold.passes.conversion.row import Row, both, from_onnx, from_openvino, pair
from maxfold.passes.conversion.sites.onnx_site import OnnxSite
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite

_NAN = (
    "ONNX gives NaN where any operand is NaN; OpenVINO's CPU gives its second operand there. Which of +0 and -0 is "
    "the result is open on both sides."
)
_OVERFLOW = "Integers wrap around in ONNX; OpenVINO's CPU saturates 8-bit ones and computes 64-bit ones in 32 bits."
_WEIGHTS = (
    "Weights stored in 8 or 4 bits, converted, less a zero point and times a scale become DequantizeLinear, where the "
    "operator set has it for their types and blocks."
)
_IN_FLOAT = "OpenVINO's CPU computes integers in float32, exact up to 2^24."
_PYTHON_DIVISION = "m_pythondiv"
_NUMPY = {BROADCAST: "numpy"}
_F32, _F64 = (next(dtype for dtype in DTYPES if dtype.openvino == name) for name in ("f32", "f64"))


def _multiply_to_openvino(site: OpenvinoSite) -> None:
    site.result(site.add("Multiply", site.inputs(), _NUMPY))


def _multiply_to_onnx(site: OnnxSite) -> None:
    operands = broadcast_operands(site)
    weights = dequantized(site, *operands) if site.dtype(0) is _F32 else None
    site.result(weights or site.add("Mul", operands))


def _divide_to_openvino(site: OpenvinoSite) -> None:
    """Integers divide towards zero in ONNX, which is m_pythondiv = false; for others the flag says nothing."""
    dtype = site.dtype(0)
    is_float = dtype is not None and dtype.kind == "float"
    site.result(site.add("Divide", site.inputs(), {BROADCAST: "numpy", _PYTHON_DIVISION: is_float}))


def _divide_to_onnx(site: OnnxSite) -> None:
    """OpenVINO's CPU divides integers towards zero, with m_pythondiv or without, and those who write IR count on it:
    OpenVINO's own reader of ONNX has the flag for ONNX's Div."""
    site.ignore(_PYTHON_DIVISION)
    site.result(site.add("Div", broadcast_operands(site)))


def _mod_to_openvino(site: OpenvinoSite) -> None:
    site.result(site.add("Mod" if site.attribute("fmod", 0) else "FloorMod", site.inputs(), _NUMPY))


def _mod_to_onnx(site: OnnxSite) -> None:
    site.result(site.add("Mod", broadcast_operands(site), {"fmod": 1}))


def _floor_mod_to_onnx(site: OnnxSite) -> None:
    a, b = broadcast_operands(site)
    if site.kind(0) != "float":
        site.result(site.add("Mod", [a, b], {"fmod": 0}))
        return
    quotient = site.add("Floor", [site.add("Div", [a, b])])
    site.result(site.add("Sub", [a, site.add("Mul", [quotient, b])]))


def _power_to_openvino(site: OpenvinoSite) -> None:
    """The base says what the result is; both operands are computed with in a type that holds them."""
    operands = site.inputs()
    base, exponent = dtype_of(site, 0), dtype_of(site, 1)
    computed = _power_type(base, exponent)
    for index, dtype in enumerate((base, exponent)):
        if dtype is not computed:
            operands[index] = site.add("Convert", [operands[index]], {"destination_type": computed.openvino})
    result = site.add("Power", operands, _NUMPY)
    if computed is not base:
        result = site.add("Convert", [result], {"destination_type": base.openvino})
    site.result(result)


def _power_type(base: DType, exponent: DType) -> DType:
    if base is exponent:
        return base
    if base.kind != "float":
        # A fractional exponent makes fractions of integers; 32-bit integers need more than float32.
        return base if exponent.kind != "float" else _F64
    if base.bits < _F32.bits:
        return exponent if exponent.kind == "float" and exponent.bits >= _F32.bits else _F32
    return exponent if exponent.kind == "float" and exponent.bits > base.bits else base


def _power_to_onnx(site: OnnxSite) -> None:
    """ONNX has powers of two integer types; the other ones that int64 holds go through it, and uint64 through the
    float64 in which ONNX Runtime computes all of them."""
    operands, dtype = broadcast_operands(site), dtype_of(site)
    if dtype.kind == "float" or dtype.name in ("INT32", "INT64"):
        site.result(site.add("Pow", operands))
        return
    to = TensorProto.DOUBLE if dtype.name == "UINT64" else TensorProto.INT64
    wide = [site.add("Cast", [operand], {"to": to}) for operand in operands]
    site.result(site.add("Cast", [site.add("Pow", wide)], {"to": dtype.onnx}))


def _sum(site: OpenvinoSite) -> Tensor:
    total, *rest = site.inputs()
    for operand in rest:
        total = site.add("Add", [total, operand], _NUMPY)
    return total


def _sum_to_openvino(site: OpenvinoSite) -> None:
    site.result(_sum(site))


def _mean_to_openvino(site: OpenvinoSite) -> None:
    total = _sum(site)
    if site.input_count > 1:
        count = scalar_like(site, site.input_count)
        total = site.add("Divide", [total, count], {BROADCAST: "numpy", _PYTHON_DIVISION: True})
    site.result(total)


def _squared_difference_to_onnx(site: OnnxSite) -> None:
    difference = site.add("Sub", broadcast_operands(site))
    site.result(site.add("Mul", [difference, difference]))


ROWS: tuple[Row, ...] = (
    *pair("Add", "Add-1", operands="broadcast", limits=_OVERFLOW),
    *pair("Sub", "Subtract-1", operands="broadcast", limits=_OVERFLOW),
    *both("Mul", "Multiply-1", _multiply_to_openvino, _multiply_to_onnx, limits=f"{_OVERFLOW} {_WEIGHTS}"),
    *both(
        "Div",
        "Divide-1",
        _divide_to_openvino,
        _divide_to_onnx,
        tolerance="exact for integers, 1e-6 relative for others",
        limits="Integers are divided towards zero also with m_pythondiv, which asks for minus infinity, as OpenVINO's "
        f"CPU does it. {_IN_FLOAT} Division of integers by zero is undefined.",
    ),
    *pair("Max", "Maximum-1", operands="chain", limits=_NAN),
    *pair("Min", "Minimum-1", operands="chain", limits=_NAN),
    *both(
        "Mod",
        "Mod-1",
        _mod_to_openvino,
        _mod_to_onnx,
        tolerance="exact for integers, the rounding of a - trunc(a / b) * b for others",
        limits="fmod 0 becomes FloorMod. ONNX's remainder of floating-point numbers is exact; OpenVINO's CPU rounds "
        f"the quotient, and gives NaN where an operand is infinite. {_IN_FLOAT}",
    ),
    *from_openvino(
        "FloorMod-1",
        "Mod",
        _floor_mod_to_onnx,
        tolerance="exact for integers, the rounding of a - floor(a / b) * b for others",
        limits="Floating-point numbers become Div, Floor, Mul and Sub, which OpenVINO's CPU computes too.",
    ),
    *both(
        "Pow",
        "Power-1",
        _power_to_openvino,
        _power_to_onnx,
        tolerance="1e-5 relative",
        limits="Operands of two types are computed with in one that holds both, and the result gets the base's type. "
        f"Integers that ONNX has no powers of go through int64. {_IN_FLOAT}",
    ),
    *from_onnx("Sum", "Add-1", _sum_to_openvino, tolerance="the order of additions"),
    *from_onnx(
        "Mean", "Add-1", _mean_to_openvino, tolerance="the order of additions", limits="A chain of Add and a Divide."
    ),
    *from_openvino(
        "SquaredDifference-1", "Mul", _squared_difference_to_onnx, limits=f"Becomes Sub and Mul. {_OVERFLOW}"
    ),
)
