"""Reductions: axes are an attribute or an input in ONNX, an input in OpenVINO."""

from __future__ import annotations

from collections.abc import Callable

from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.pair import BROADCAST
from maxfold.passes.conversion.parts.run_time_axes import run_time_axes, squeezed
from maxfold.passes.conversion.row import Row, ToOnnx, ToOpenvino, both, from_onnx, from_openvino
from maxfold.passes.conversion.sites.onnx_site import OnnxSite
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite
from maxfold.passes.conversion.versions import needs_opset

# The operator set from which ONNX has the axes as an input.
_AXES_INPUT = {"ReduceSum": 13}
_AXES_INPUT_OF_OTHERS = 18
# The first operator set in which ONNX reduces booleans by ReduceMax and ReduceMin.
_BOOLEANS = 20
_NUMPY = {BROADCAST: "numpy"}

# (site, data, axes as a tensor or None to reduce nothing, keep_dims) -> result
_Body = Callable[[OpenvinoSite, Tensor, Tensor | None, bool], Tensor]


def _reduction(body: _Body) -> ToOpenvino:
    def convert(site: OpenvinoSite) -> None:
        axes = _axes(site)
        site.result(body(site, site.input(0), axes, bool(site.attribute("keepdims", 1))))

    return convert


def _axes(site: OpenvinoSite) -> Tensor | None:
    """The axes as a tensor of the target that is never empty; None where nothing is reduced."""
    # It is about a node without axes.
    site.ignore("noop_with_empty_axes")
    if not site.has_input(1):
        return _no_axes(site)
    shape = site.shape(1)
    if shape is None or len(shape) != 1 or shape[0] is None:
        raise UnsupportedError("how many axes it has is known at run time only")
    return site.input(1) if shape[0] else _no_axes(site)


def _no_axes(site: OpenvinoSite) -> Tensor | None:
    """All axes, or none, where the node names none."""
    rank = site.rank(0)
    if site.attribute("noop_with_empty_axes", 0) or rank == 0:
        return None
    return site.constant(range(rank), "int64")


def _reduced(op: str, opset: int = 1) -> _Body:
    def body(site: OpenvinoSite, data: Tensor, axes: Tensor | None, keep: bool) -> Tensor:
        if axes is None:
            return data
        open_axes = _open_axes(site)
        result: Tensor = site.add(op, [data, axes], {"keep_dims": keep or open_axes is not None}, opset=opset)
        return result if keep or open_axes is None else squeezed(site, result, axes, *open_axes)

    return body


def _open_axes(site: OpenvinoSite) -> tuple[int, int] | None:
    """The rank and the number of axes that are computed at run time, where OpenVINO does not know how many are left."""
    found = run_time_axes(site)
    return None if found is None or found[1] < 2 else found


def _norm(op: str) -> _Body:
    def body(site: OpenvinoSite, data: Tensor, axes: Tensor | None, keep: bool) -> Tensor:
        result: Tensor = site.add("Abs", [data]) if axes is None else _reduced(op, 4)(site, data, axes, keep)
        return result

    return body


def _extreme(op: str) -> _Body:
    """ReduceMax or ReduceMin; of booleans as numbers, since OpenVINO's CPU reduces booleans over known axes only."""

    def body(site: OpenvinoSite, data: Tensor, axes: Tensor | None, keep: bool) -> Tensor:
        if axes is None or site.kind(0) != "bool":
            return _reduced(op)(site, data, axes, keep)
        numbers = site.add("Convert", [data], {"destination_type": "u8"})
        result: Tensor = site.add("Convert", [_reduced(op)(site, numbers, axes, keep)], {"destination_type": "boolean"})
        return result

    return body


def _sum_square(site: OpenvinoSite, data: Tensor, axes: Tensor | None, keep: bool) -> Tensor:
    return _reduced("ReduceSum")(site, site.add("Multiply", [data, data], _NUMPY), axes, keep)


def _log_sum(site: OpenvinoSite, data: Tensor, axes: Tensor | None, keep: bool) -> Tensor:
    _require_float(site)
    result: Tensor = site.add("Log", [_reduced("ReduceSum")(site, data, axes, keep)])
    return result


def _log_sum_exp(site: OpenvinoSite, data: Tensor, axes: Tensor | None, keep: bool) -> Tensor:
    """With the largest value taken out of the exponent first, unless that is infinite."""
    _require_float(site)
    if axes is None:
        return data
    dtype = site.dtype(0)
    assert dtype is not None
    largest = site.add("ReduceMax", [data, axes], {"keep_dims": True})
    zero = site.constant(0, dtype.numpy)
    infinite = site.add("IsInf", [largest], {"detect_negative": True, "detect_positive": True}, opset=10)
    shift = site.add("Select", [infinite, zero, largest], _NUMPY)
    powers = site.add("Exp", [site.add("Subtract", [data, shift], _NUMPY)])
    logarithm = site.add("Log", [site.add("ReduceSum", [powers, axes], {"keep_dims": True})])
    total: Tensor = site.add("Add", [logarithm, shift], _NUMPY)
    if keep:
        return total
    open_axes = _open_axes(site)
    return site.add("Squeeze", [total, axes]) if open_axes is None else squeezed(site, total, axes, *open_axes)


def _require_float(site: OpenvinoSite) -> None:
    if site.kind(0) != "float":
        raise UnsupportedError("of integers it is not covered")


def _to_onnx(onnx: str) -> ToOnnx:
    def convert(site: OnnxSite) -> None:
        site.result(_reduced_in_onnx(site, onnx, site.input(0)))

    return convert


def _logical_to_onnx(onnx: str) -> ToOnnx:
    """Booleans are reduced as numbers before ONNX can do it itself."""

    def convert(site: OnnxSite) -> None:
        if site.opset >= _BOOLEANS:
            site.result(_reduced_in_onnx(site, onnx, site.input(0)))
            return
        numbers = site.add("Cast", [site.input(0)], {"to": 2})
        site.result(site.add("Cast", [_reduced_in_onnx(site, onnx, numbers)], {"to": 9}))

    return convert


def _reduced_in_onnx(site: OnnxSite, onnx: str, data: Tensor) -> Tensor:
    keep = int(site.flag("keep_dims"))
    known = site.value(1)
    takes_input = site.opset >= _AXES_INPUT.get(onnx, _AXES_INPUT_OF_OTHERS)
    result: Tensor
    if known is None:
        if not takes_input:
            raise needs_opset("that its axes are computed at run time", _AXES_INPUT_OF_OTHERS)
        listed = site.add("Reshape", [site.input(1), site.constant([-1], "int64")])
        axes = site.add("Cast", [listed], {"to": 7})
        result = site.add(onnx, [data, axes], {"keepdims": keep, "noop_with_empty_axes": 1})
        return result
    axes_list = site.integers_of(1, "its axes")
    if not axes_list:
        op = "Abs" if onnx in ("ReduceL1", "ReduceL2") else "Identity"
        result = site.add(op, [data])
    elif takes_input:
        result = site.add(onnx, [data, site.constant(axes_list, "int64")], {"keepdims": keep})
    else:
        result = site.add(onnx, [data], {"keepdims": keep, "axes": axes_list})
    return result


def _arg(mode: str) -> ToOpenvino:
    """ArgMax or ArgMin: the index that TopK gives of one value, counted from the end for the last of equal values."""

    def convert(site: OpenvinoSite) -> None:
        rank = site.rank(0)
        if rank == 0:
            raise UnsupportedError("of a scalar it is not covered")
        axis = site.attribute("axis", 0) % rank
        data = site.input(0)
        is_last = bool(site.attribute("select_last_index", 0))
        size = (site.shape(0) or ())[axis]
        if is_last:
            if size is None:
                raise UnsupportedError("its attribute 'select_last_index' needs a known size of the axis")
            backwards: list[Tensor] = [site.constant(range(size - 1, -1, -1), "int64"), site.constant(axis, "int64")]
            data = site.add("Gather", [data, *backwards], {"batch_dims": 0}, opset=8)
        attributes = {"axis": axis, "mode": mode, "sort": "value", "index_element_type": "i64", "stable": True}
        index = site.add("TopK", [data, site.constant(1, "int64")], attributes, opset=11, outputs=2)[1]
        if is_last and size is not None:
            index = site.add("Subtract", [site.constant(size - 1, "int64"), index], _NUMPY)
        if not site.attribute("keepdims", 1):
            index = site.add("Squeeze", [index, site.constant([axis], "int64")])
        site.result(index)

    return convert


_INTEGERS = "OpenVINO's CPU reduces integers in f32."
_EXTREMES = (
    "NaN is the result in ONNX where any element is NaN; OpenVINO's CPU gives another element. Over nothing, ONNX "
    "gives an infinity and OpenVINO's CPU the type's largest or lowest value."
)
_NAN = "NaN is found in ONNX; OpenVINO's CPU finds another element."
_ROUNDING = "1e-5 relative"
_SQUARES = "Squares that overflow are infinite."


def _row(onnx: str, openvino: str, body: _Body, limits: str) -> tuple[Row, ...]:
    return both(onnx, openvino, _reduction(body), _to_onnx(onnx), tolerance=_ROUNDING, limits=limits)


def _sums(onnx: str, body: _Body, limits: str) -> tuple[Row, ...]:
    return from_onnx(onnx, "ReduceSum-1", _reduction(body), tolerance=_ROUNDING, limits=limits)


ROWS: tuple[Row, ...] = (
    *_row("ReduceSum", "ReduceSum-1", _reduced("ReduceSum"), _INTEGERS),
    *_row("ReduceMean", "ReduceMean-1", _reduced("ReduceMean"), _INTEGERS),
    *_row("ReduceProd", "ReduceProd-1", _reduced("ReduceProd"), _INTEGERS),
    *_row("ReduceMax", "ReduceMax-1", _extreme("ReduceMax"), _EXTREMES),
    *_row("ReduceMin", "ReduceMin-1", _extreme("ReduceMin"), _EXTREMES),
    *_row("ReduceL1", "ReduceL1-4", _norm("ReduceL1"), _INTEGERS),
    *_row("ReduceL2", "ReduceL2-4", _norm("ReduceL2"), _SQUARES),
    *_sums("ReduceSumSquare", _sum_square, _SQUARES),
    *_sums("ReduceLogSum", _log_sum, "Integers are refused."),
    *_sums("ReduceLogSumExp", _log_sum_exp, "Integers are refused."),
    *from_openvino("ReduceLogicalOr-1", "ReduceMax", _logical_to_onnx("ReduceMax")),
    *from_openvino("ReduceLogicalAnd-1", "ReduceMin", _logical_to_onnx("ReduceMin")),
    *from_onnx("ArgMax", "TopK-11", _arg("max"), limits=_NAN),
    *from_onnx("ArgMin", "TopK-11", _arg("min"), limits=_NAN),
)
