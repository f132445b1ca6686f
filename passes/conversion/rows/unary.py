"""Elementwise operators with one input that need no parameters."""

from __future__ import annotations

from onnx import TensorProto

from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.pair import BROADCAST
from maxfold.passes.conversion.parts.forms import same_to_onnx, same_to_openvino
from maxfold.passes.conversion.parts.scalars import dtype_of
from maxfold.passes.conversion.parts.tensors import scalar_like
from maxfold.passes.conversion.row import Row, ToOnnx, both, from_onnx, from_openvino, pair
from maxfold.passes.conversion.sites.onnx_site import OnnxSite
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite

_FLOATS_ONLY = "ONNX has it for floating-point types only."
APPROXIMATE = "1e-5 relative"
# Operators of the first operator set had this hint, which means nothing.
# IsInf takes other types than float and double from here on.
_ALL_FLOATS_OPSET = 20
_HALF_EVEN, _HALF_AWAY = "half_to_even", "half_away_from_zero"


def _rounding_to_onnx(operator: str) -> ToOnnx:
    """A rounding operator. ONNX's take no integers, which are their own result."""

    def convert(site: OnnxSite) -> None:
        site.result(site.add(operator if site.kind(0) == "float" else "Identity", site.inputs()))

    return convert


def _erf_to_openvino(site: OpenvinoSite) -> None:
    if site.kind(0) != "float":
        raise UnsupportedError("how its result is rounded to integers is not specified")
    site.result(site.add("Erf", site.inputs()))


def _reciprocal_to_openvino(site: OpenvinoSite) -> None:
    data = {BROADCAST: "numpy", "m_pythondiv": True}
    site.result(site.add("Divide", [scalar_like(site, 1), site.input(0)], data))


def _round_to_openvino(site: OpenvinoSite) -> None:
    site.result(site.add("Round", site.inputs(), {"mode": _HALF_EVEN}, opset=5))


def _round_to_onnx(site: OnnxSite) -> None:
    mode = site.text("mode").lower()
    if mode not in (_HALF_EVEN, _HALF_AWAY):
        raise UnsupportedError(f"its mode {mode!r} is not covered")
    if mode == _HALF_EVEN or site.kind(0) != "float":
        _rounding_to_onnx("Round")(site)
        return
    # Up from .5 on, by size; adding .5 first would round up the number just below it.
    x = site.input(0)
    size = site.add("Abs", [x])
    whole = site.add("Floor", [size])
    is_up = site.add("GreaterOrEqual", [site.add("Sub", [size, whole]), scalar_like(site, 0.5)])
    rounded = site.add("Add", [whole, site.add("Cast", [is_up], {"to": dtype_of(site).onnx})])
    site.result(site.add("Mul", [site.add("Sign", [x]), rounded]))


def _is_inf_to_openvino(site: OpenvinoSite) -> None:
    data = {name: bool(site.attribute(name, 1)) for name in ("detect_negative", "detect_positive")}
    site.result(site.add("IsInf", site.inputs(), data, opset=10))


def _is_inf_to_onnx(site: OnnxSite) -> None:
    attributes = {name: int(site.flag(name)) for name in ("detect_negative", "detect_positive")}
    site.result(site.add("IsInf", [_widened(site)], attributes))


def _is_finite_to_onnx(site: OnnxSite) -> None:
    is_not = site.add("Or", [site.add("IsNaN", site.inputs()), site.add("IsInf", [_widened(site)])])
    site.result(site.add("Not", [is_not]))


def _widened(site: OnnxSite) -> Tensor:
    """The input in a type that the written IsInf takes; a wider type has the same infinities."""
    if site.opset >= _ALL_FLOATS_OPSET or dtype_of(site).name in ("FLOAT", "DOUBLE"):
        return site.input(0)
    widened: Tensor = site.add("Cast", site.inputs(), {"to": TensorProto.FLOAT})
    return widened


ROWS: tuple[Row, ...] = (
    *pair("Abs", "Abs-1"),
    *pair("Neg", "Negative-1"),
    *pair("Sign", "Sign-1"),
    *both("Ceil", "Ceiling-1", same_to_openvino("Ceiling-1"), _rounding_to_onnx("Ceil")),
    *both("Floor", "Floor-1", same_to_openvino("Floor-1"), _rounding_to_onnx("Floor")),
    *both(
        "Round",
        "Round-5",
        _round_to_openvino,
        _round_to_onnx,
        limits="half_away_from_zero becomes Floor and a comparison; OpenVINO's CPU rounds 0.49999997 up there.",
    ),
    *from_onnx("Reciprocal", "Divide-1", _reciprocal_to_openvino, tolerance="1e-6 relative"),
    *pair("Sqrt", "Sqrt-1", tolerance="1e-6 relative", limits=_FLOATS_ONLY),
    *pair("Exp", "Exp-1", tolerance=APPROXIMATE, limits=_FLOATS_ONLY),
    *pair("Log", "Log-1", tolerance=APPROXIMATE, limits=_FLOATS_ONLY),
    *both("Erf", "Erf-1", _erf_to_openvino, same_to_onnx("Erf"), tolerance=APPROXIMATE, limits=_FLOATS_ONLY),
    *(
        row
        for operation in (
            "Sin-1",
            "Cos-1",
            "Tan-1",
            "Asin-1",
            "Acos-1",
            "Atan-1",
            "Sinh-1",
            "Cosh-1",
            "Asinh-4",
            "Acosh-4",
            "Atanh-4",
        )
        for row in pair(operation.partition("-")[0], operation, tolerance=APPROXIMATE, limits=_FLOATS_ONLY)
    ),
    *pair("IsNaN", "IsNaN-10"),
    *both(
        "IsInf",
        "IsInf-10",
        _is_inf_to_openvino,
        _is_inf_to_onnx,
        limits="OpenVINO's CPU computes float64 in float32, where it finds no infinities.",
    ),
    *from_openvino("IsFinite-10", "IsInf", _is_finite_to_onnx, limits="Becomes IsNaN, IsInf, Or and Not."),
)
