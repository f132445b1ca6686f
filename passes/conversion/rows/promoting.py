"""Types that two operands are brought to, and numbers rounded to 8 bits: ConvertPromoteTypes and FakeConvert."""

from __future__ import annotations

from maxfold.model import dtypes
from maxfold.model.dtypes import DTYPES, DType
from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.parts.scalars import dtype_of
from maxfold.passes.conversion.row import Row, from_openvino
from maxfold.passes.conversion.sites.onnx_site import OnnxSite
from maxfold.passes.conversion.versions import needs_opset

_CATEGORIES = ("bool", "int", "float")
_FLOAT = next(dtype for dtype in DTYPES if dtype.name == "FLOAT")
_SIGNED = {dtype.bits: dtype for dtype in DTYPES if dtype.kind == "int"}
_LONG_BITS = 64
_FLOAT8 = {"f8e4m3": "FLOAT8E4M3FN", "f8e5m2": "FLOAT8E5M2"}
_FLOAT8_OPSET = 19


def _promote_to_onnx(site: OnnxSite) -> None:
    # It says which types OpenVINO does not read, and changes nothing of the others.
    site.ignore("promote_unsafe")
    wanted = _promoted(site, dtype_of(site, 0), dtype_of(site, 1))
    site.result(*(_converted(site, index, wanted) for index in (0, 1)))


def _converted(site: OnnxSite, index: int, wanted: DType) -> Tensor:
    if dtype_of(site, index) is wanted:
        same: Tensor = site.add("Identity", [site.input(index)])
        return same
    converted: Tensor = site.add("Cast", [site.input(index)], {"to": wanted.onnx})
    return converted


def _promoted(site: OnnxSite, a: DType, b: DType) -> DType:
    """The common type, of a tensor and a scalar that of the tensor unless the scalar is of a higher category."""
    category = [_category(dtype) for dtype in (a, b)]
    by_scalars = site.flag("pytorch_scalar_promotion")
    target = site.text("u64_integer_promotion_target")
    if by_scalars and (site.rank(0) == 0) != (site.rank(1) == 0):
        tensor = 1 if site.rank(0) == 0 else 0
        return (a, b)[tensor] if category[tensor] >= category[1 - tensor] else (a, b)[1 - tensor]
    if a is b:
        return a
    if category[0] != category[1]:
        return a if category[0] > category[1] else b
    if a.kind == b.kind:
        return (a if a.bits > b.bits else b) if a.bits != b.bits else _FLOAT
    signed, unsigned = (a, b) if a.kind == "int" else (b, a)
    if signed.bits > unsigned.bits:
        return signed
    if unsigned.bits < _LONG_BITS:
        return _SIGNED[2 * unsigned.bits]
    found = dtypes.from_openvino(target.lower())
    if found is None or found.onnx is None:
        raise UnsupportedError(f"its u64_integer_promotion_target {target!r} is not covered")
    return found


def _category(dtype: DType) -> int:
    kind = "int" if dtype.kind == "uint" else dtype.kind
    if kind not in _CATEGORIES or (dtype.bits < 16 and kind == "float"):
        raise UnsupportedError(f"of {dtype} it is not covered")
    return _CATEGORIES.index(kind)


def _fake_convert_to_onnx(site: OnnxSite) -> None:
    """Scaled and shifted numbers as those of 8 bits next to them, none of which is infinite, and back."""
    name = site.text("destination_type").lower()
    if name not in _FLOAT8:
        raise UnsupportedError(f"its destination_type {name!r} is not covered")
    if site.opset < _FLOAT8_OPSET:
        raise needs_opset("a cast to numbers of 8 bits", _FLOAT8_OPSET)
    dtype = dtype_of(site)
    narrow = next(item for item in DTYPES if item.name == _FLOAT8[name])
    scaled = site.add("Mul", [site.input(0), site.input(1)])
    if site.has_input(2):
        scaled = site.add("Sub", [scaled, site.input(2)])
    rounded = site.add("Cast", [scaled], {"to": narrow.onnx, "saturate": 1})
    back = site.add("Cast", [rounded], {"to": dtype.onnx})
    if site.has_input(2):
        back = site.add("Add", [back, site.input(2)])
    site.result(site.add("Div", [back, site.input(1)]))


ROWS: tuple[Row, ...] = (
    *from_openvino("ConvertPromoteTypes-14", "Cast", _promote_to_onnx),
    *from_openvino(
        "FakeConvert-13",
        "Cast",
        _fake_convert_to_onnx,
        limits="NaN stays NaN; OpenVINO's CPU makes the lowest number of it.",
    ),
)
