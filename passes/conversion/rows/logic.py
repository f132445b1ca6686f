"""Logic on booleans, and on the bits of integers."""

from __future__ import annotations

from onnx import TensorProto

from maxfold.model.dtypes import DType
from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.pair import BROADCAST, broadcast_operands
from maxfold.passes.conversion.parts.forms import same_to_openvino
from maxfold.passes.conversion.parts.scalars import dtype_of
from maxfold.passes.conversion.parts.tensors import scalar_like
from maxfold.passes.conversion.row import Row, ToOnnx, both, from_onnx, from_openvino, pair
from maxfold.passes.conversion.sites.onnx_site import OnnxSite
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite

_BITWISE_LIMITS = "ONNX has it from operator set 18 on; booleans become the logical operator in every one."
_NUMPY = {BROADCAST: "numpy"}
_SHIFTS = {"LEFT": "BitwiseLeftShift", "RIGHT": "BitwiseRightShift"}
# The unsigned type of the same width, for shifting the bits of a signed one.
_UNSIGNED = {
    "INT8": TensorProto.UINT8,
    "INT16": TensorProto.UINT16,
    "INT32": TensorProto.UINT32,
    "INT64": TensorProto.UINT64,
}
_SHIFT_LIMITS = (
    "Before operator set 28 a shift by the width of the type or more is undefined; OpenVINO's CPU takes the amount "
    "modulo 32. Signed integers are shifted as unsigned ones in the operator sets that are written."
)


def _bitwise(onnx: str, logical: str) -> tuple[Row, ...]:
    def to_openvino(site: OpenvinoSite) -> None:
        site.result(site.add(onnx, site.inputs(), _NUMPY, opset=13))

    def to_onnx(site: OnnxSite) -> None:
        site.result(site.add(logical if site.kind(0) == "bool" else onnx, broadcast_operands(site)))

    return both(onnx, f"{onnx}-13", to_openvino, to_onnx, limits=_BITWISE_LIMITS)


def _xor_to_openvino(site: OpenvinoSite) -> None:
    site.result(site.add("LogicalXor", site.inputs(), _NUMPY, opset=2))


def _xor_to_onnx(site: OnnxSite) -> None:
    site.result(site.add("Xor", broadcast_operands(site)))


def _bitwise_not_to_onnx(site: OnnxSite) -> None:
    site.result(site.add("Not" if site.kind(0) == "bool" else "BitwiseNot", site.inputs()))


def _shift_to_openvino(site: OpenvinoSite) -> None:
    direction = site.attribute("direction")
    operation = _SHIFTS.get(direction)
    if operation is None:
        raise UnsupportedError(f"its direction {direction!r} is neither LEFT nor RIGHT")
    shifted = site.add(operation, site.inputs(), _NUMPY, opset=15)
    if not _is_within_width(site):
        shifted = _shifted_out(site, shifted, direction)
    site.result(shifted)


def _is_within_width(site: OpenvinoSite) -> bool:
    """Whether all amounts are known, and leave bits of the type."""
    amounts, bits = site.value(1), dtype_of(site).bits
    return amounts is not None and all(0 <= int(amount) < bits for amount in amounts.reshape(-1))


def _shifted_out(site: OpenvinoSite, shifted: Tensor, direction: str) -> Tensor:
    """The result of a shift, and what is left of no bits where the amount is negative or too large."""
    x, amount = site.inputs()
    zero, dtype = scalar_like(site, 0), dtype_of(site)
    left: Tensor = zero
    if dtype.kind == "int" and direction == "RIGHT":
        left = site.add("Select", [site.add("Less", [x, zero], _NUMPY), scalar_like(site, -1), zero], _NUMPY)
    is_small = site.add("Less", [amount, scalar_like(site, dtype.bits)], _NUMPY)
    is_within = site.add("LogicalAnd", [is_small, site.add("GreaterEqual", [amount, zero], _NUMPY)], _NUMPY)
    result: Tensor = site.add("Select", [is_within, shifted, left], _NUMPY)
    return result


def _shift_to_onnx(direction: str) -> ToOnnx:
    """A shift of unsigned integers; signed ones are shifted as the unsigned ones of the same bits."""

    def convert(site: OnnxSite) -> None:
        a, b = broadcast_operands(site)
        dtype = dtype_of(site)
        if dtype.kind != "int":
            site.result(site.add("BitShift", [a, b], {"direction": direction}))
            return
        if direction == "LEFT":
            site.result(_shifted(site, a, b, dtype, direction))
            return
        # The right shift fills up with the sign: ~(~a >> b) below zero, where ~a is -1 - a.
        is_negative = site.add("Less", [a, scalar_like(site, 0)])
        ones = scalar_like(site, -1)
        folded = site.add("Where", [is_negative, site.add("Sub", [ones, a]), a])
        shifted = _shifted(site, folded, b, dtype, direction)
        site.result(site.add("Where", [is_negative, site.add("Sub", [ones, shifted]), shifted]))

    return convert


def _shifted(site: OnnxSite, a: Tensor, b: Tensor, dtype: DType, direction: str) -> Tensor:
    """A shift of signed integers by their bits; ONNX's Cast between integers of one width keeps the bits."""
    unsigned = _UNSIGNED.get(dtype.name)
    if unsigned is None:
        raise UnsupportedError(f"ONNX shifts no {dtype}")
    bits, amount = (site.add("Cast", [tensor], {"to": unsigned}) for tensor in (a, b))
    shifted = site.add("BitShift", [bits, amount], {"direction": direction})
    result: Tensor = site.add("Cast", [shifted], {"to": dtype.onnx})
    return result


ROWS: tuple[Row, ...] = (
    *pair("And", "LogicalAnd-1", operands="broadcast"),
    *pair("Or", "LogicalOr-1", operands="broadcast"),
    # Written as OpenVINO writes it; it reads operator set 1 as well.
    *from_onnx("Xor", "LogicalXor-2", _xor_to_openvino),
    *from_openvino("LogicalXor-1", "Xor", _xor_to_onnx),
    *pair("Not", "LogicalNot-1"),
    *_bitwise("BitwiseAnd", "And"),
    *_bitwise("BitwiseOr", "Or"),
    *_bitwise("BitwiseXor", "Xor"),
    *both(
        "BitwiseNot", "BitwiseNot-13", same_to_openvino("BitwiseNot-13"), _bitwise_not_to_onnx, limits=_BITWISE_LIMITS
    ),
    *from_onnx("BitShift", "BitwiseLeftShift-15", _shift_to_openvino, limits=_SHIFT_LIMITS),
    *from_openvino("BitwiseLeftShift-15", "BitShift", _shift_to_onnx("LEFT"), limits=_SHIFT_LIMITS),
    *from_openvino("BitwiseRightShift-15", "BitShift", _shift_to_onnx("RIGHT"), limits=_SHIFT_LIMITS),
)
