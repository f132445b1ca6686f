"""Casts, selection by a condition, and operators that hand their input on."""

from __future__ import annotations

import ml_dtypes

from maxfold.model import dtypes
from maxfold.model.dtypes import DType
from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.pair import BROADCAST, PDPD_AXIS
from maxfold.passes.conversion.parts.compressed_weights import widened_weights
from maxfold.passes.conversion.parts.forms import same_to_onnx
from maxfold.passes.conversion.parts.normal_floats import decoded
from maxfold.passes.conversion.parts.operands import shape_vector
from maxfold.passes.conversion.parts.scalars import dtype_of, number_of
from maxfold.passes.conversion.parts.tensors import is_used
from maxfold.passes.conversion.row import Row, both, from_onnx
from maxfold.passes.conversion.sites.onnx_site import OnnxSite
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite

_NUMPY = {BROADCAST: "numpy"}
_HALF, _SINGLE = (dtypes.from_openvino(name) for name in ("f16", "f32"))
# The types whose casts ONNX saturates unless told otherwise, and OpenVINO never.
_FLOAT8 = ("FLOAT8E4M3FN", "FLOAT8E5M2")
_CAST_LIKE_OPSET, _SATURATE_OPSET = 15, 19
_CAST_LIMITS = (
    "Numbers out of range are undefined from floating point to integer, and wrap around between integers; OpenVINO's "
    "CPU computes 64-bit integers in 32 bits, makes false of NaN, and NaN of some numbers next to float8e5m2's range. "
    "Casts from and to strings, to types that OpenVINO lacks and to float8e8m0 (which round differently) are refused "
    "from ONNX; those to types below 8 bits take 32-bit integers on the way, since OpenVINO's do not always wrap."
)


def _cast_to_openvino(site: OpenvinoSite) -> None:
    to = _named_type(site.attribute("to"))
    source = _castable(site, to)
    if source is site.input(0) and dtype_of(site) is to:
        site.result(source)
        return
    site.result(site.add("Convert", [source], {"destination_type": to.openvino}))


def _named_type(value: int | None) -> DType:
    """The type that Cast's attribute names."""
    found = None if value is None else dtypes.from_onnx(value)
    if found is None:
        raise UnsupportedError(f"its attribute 'to' has the value {value!r}, which is no type")
    return found


def _castable(site: OpenvinoSite, to: DType) -> Tensor:
    """The input, made ready for OpenVINO's Convert to have ONNX's result."""
    # Only casts to 8-bit floats look at them, `round_mode` only the one that is refused here.
    site.ignore("saturate", "round_mode")
    source = dtype_of(site)
    if to.openvino is None:
        raise UnsupportedError(f"OpenVINO has no {to}")
    if "string" in (source.kind, to.kind):
        raise UnsupportedError(f"OpenVINO has no cast from {source} to {to}")
    if to.kind in ("int", "uint") and to.bits < 8:
        return site.input(0) if source is to else wrapped(site, to)
    if to.name == "FLOAT8E8M0":
        raise UnsupportedError(f"a cast to {to} rounds in a way that OpenVINO does not have")
    if to.name in _FLOAT8 and site.attribute("saturate", 1) and source is not to:
        return _saturated(site, source, to)
    return site.input(0)


def wrapped(site: OpenvinoSite, to: DType) -> Tensor:
    """The input as 32-bit integers that are what wraps around in a type of fewer bits."""
    x = site.add("Convert", [site.input(0)], {"destination_type": "i32"})
    mask, lowest = site.constant(2**to.bits - 1, "int32"), site.constant(2 ** (to.bits - 1), "int32")
    if to.kind == "int":
        x = site.add("Add", [x, lowest], _NUMPY)
    x = site.add("BitwiseAnd", [x, mask], _NUMPY, opset=13)
    result: Tensor = site.add("Subtract", [x, lowest], _NUMPY) if to.kind == "int" else x
    return result


def _saturated(site: OpenvinoSite, source: DType, to: DType) -> Tensor:
    """The input held within the range of an 8-bit type; NaN stays NaN, which a Clamp would not let through."""
    x = site.input(0)
    if source.kind != "float" or source.bits < 16:
        x = site.add("Convert", [x], {"destination_type": "f32"})
    largest = float(ml_dtypes.finfo(to.numpy).max)  # type: ignore[no-untyped-call]
    clamped = site.add("Clamp", [x], {"min": -largest, "max": largest})
    result: Tensor = site.add("Select", [site.add("IsNaN", [x], opset=10), x, clamped], _NUMPY)
    return result


def _convert_to_onnx(site: OnnxSite) -> None:
    name = site.text("destination_type")
    to = dtypes.from_openvino(name)
    if to is None or to.onnx is None:
        raise UnsupportedError(f"ONNX has no {name}")
    to = site.type_of(to)
    weights = decoded(site, to)
    if weights is None and (site.dtype(0), to) == (_HALF, _SINGLE):
        weights = widened_weights(site, site.input(0))
    if weights is not None:
        site.result(weights)
    elif site.dtype(0) is to:
        site.result(site.add("Identity", site.inputs()))
    else:
        site.result(site.add("Cast", site.inputs(), {"to": to.onnx, **_without_saturation(site, to)}))


def _without_saturation(site: OnnxSite, to: DType | None) -> dict[str, int]:
    """The attribute by which a cast to an 8-bit type (or to one that is not known) does not saturate."""
    may_saturate = site.opset >= _SATURATE_OPSET and (to is None or to.name in _FLOAT8)
    return {"saturate": 0} if may_saturate else {}


def _cast_like_to_openvino(site: OpenvinoSite) -> None:
    source = _castable(site, dtype_of(site, 1))
    site.result(site.add("ConvertLike", [source, site.input(1)]))


def _convert_like_to_onnx(site: OnnxSite) -> None:
    if site.opset < _CAST_LIKE_OPSET:
        site.result(site.add("Cast", [site.input(0)], {"to": dtype_of(site, 1).onnx}))
    else:
        site.result(site.add("CastLike", site.inputs(), _without_saturation(site, site.dtype(1))))


def _where_to_openvino(site: OpenvinoSite) -> None:
    site.result(site.add("Select", site.inputs(), _NUMPY))


def _select_to_onnx(site: OnnxSite) -> None:
    mode = site.text(BROADCAST).lower()
    if mode not in ("numpy", "none", "explicit"):
        raise UnsupportedError(f"its auto_broadcast {mode!r} is not covered")
    # Only pdpd has an axis.
    site.ignore(PDPD_AXIS)
    site.result(site.add("Where", site.inputs()))


def _identity_to_openvino(site: OpenvinoSite) -> None:
    site.result(site.input(0))


def _dropout_to_openvino(site: OpenvinoSite) -> None:
    if _is_training(site):
        raise UnsupportedError("it is in training mode")
    # They say what training does.
    site.ignore("seed")
    x = site.input(0)
    if not is_used(site, 1):
        site.result(x)
        return
    kept = site.constant(True, "bool")
    site.result(x, site.add("Broadcast", [kept, shape_vector(site, x)], {"mode": "numpy"}, opset=3))


def _is_training(site: OpenvinoSite) -> bool:
    """Whether elements are dropped; none are at a ratio of 0."""
    if not site.has_input(2) or not number_of(site, 2, "whether it is in training mode"):
        return False
    return not site.has_input(1) or number_of(site, 1, "its ratio") != 0


ROWS: tuple[Row, ...] = (
    *both("Cast", "Convert-1", _cast_to_openvino, _convert_to_onnx, limits=_CAST_LIMITS),
    *both(
        "CastLike",
        "ConvertLike-1",
        _cast_like_to_openvino,
        _convert_like_to_onnx,
        limits=f"Becomes Cast below operator set 15. {_CAST_LIMITS}",
    ),
    *both(
        "Where",
        "Select-1",
        _where_to_openvino,
        _select_to_onnx,
        limits="Broadcasting by pdpd is refused. OpenVINO's CPU selects no strings.",
    ),
    *both(
        "Identity",
        "Identity-16",
        _identity_to_openvino,
        same_to_onnx("Identity"),
        limits="ONNX's Identity becomes another name for its input, and a Convert where both are inputs or outputs.",
    ),
    *from_onnx(
        "Dropout",
        "Identity-1",
        _dropout_to_openvino,
        limits="Becomes another name for its input, or a Convert; training mode is refused unless the ratio is 0.",
    ),
)
