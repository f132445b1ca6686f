"""Division by a norm, and normalization over neighbouring channels."""

from __future__ import annotations

from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.pair import BROADCAST
from maxfold.passes.conversion.parts.operands import transposed
from maxfold.passes.conversion.parts.tensors import narrowed, widened
from maxfold.passes.conversion.row import Row, both, from_onnx, from_openvino
from maxfold.passes.conversion.sites.onnx_site import OnnxSite
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite

_NUMPY = {BROADCAST: "numpy"}
# ONNX Runtime's LRN takes four dimensions, and no others.
_LRN_RANK = 4


def _lp_to_openvino(site: OpenvinoSite) -> None:
    """The data divided by its norm, which counts as 1 where it is 0."""
    axis, p, dtype = site.attribute("axis", -1), site.attribute("p", 2), site.dtype(0)
    if dtype is None or p not in (1, 2):
        raise UnsupportedError(f"its p {p} is not 1 or 2, or its element type is not known")
    axes = site.constant([axis], "int64")
    norm = site.add(f"ReduceL{p}", [site.input(0), axes], {"keep_dims": True}, opset=4)
    zero, one = (site.constant(value, dtype.numpy) for value in (0, 1))
    is_zero = site.add("Equal", [norm, zero], _NUMPY)
    divisor = site.add("Select", [is_zero, one, norm], _NUMPY)
    site.result(site.add("Divide", [site.input(0), divisor], {**_NUMPY, "m_pythondiv": True}))


def _normalize_to_onnx(site: OnnxSite) -> None:
    axes, mode = site.integers_of(1, "its axes"), site.text("eps_mode").lower()
    if not axes:
        raise UnsupportedError("it has no axes")
    if mode not in ("add", "max"):
        raise UnsupportedError(f"its eps_mode {mode!r} is not covered")
    data, dtype, back = widened(site)
    epsilon = site.constant(site.floating("eps"), dtype.numpy)
    if site.opset >= 18:
        squares = site.add("ReduceSumSquare", [data, site.constant(axes, "int64")], {"keepdims": 1})
    else:
        squares = site.add("ReduceSumSquare", [data], {"keepdims": 1, "axes": axes})
    norm = site.add("Sqrt", [site.add("Add" if mode == "add" else "Max", [squares, epsilon])])
    site.result(narrowed(site, site.add("Div", [data, norm]), back))


def _lrn_to_openvino(site: OpenvinoSite) -> None:
    attributes = {
        "alpha": float(site.attribute("alpha", 1e-4)), "beta": float(site.attribute("beta", 0.75)),
        "bias": float(site.attribute("bias", 1.0)), "size": _odd(site.attribute("size")),
    }  # fmt: skip
    site.result(site.add("LRN", [site.input(0), site.constant([1], "int64")], attributes))


def _lrn_to_onnx(site: OnnxSite) -> None:
    axes, rank = site.integers_of(1, "its axes"), site.rank(0)
    axis = axes[0] % rank if rank >= 2 and len(axes) == 1 else 0
    if axis == 0:
        raise UnsupportedError(f"its axes {axes} are not the channels alone, nor one axis after them")
    if rank > _LRN_RANK:
        raise UnsupportedError(f"ONNX Runtime takes no {rank} dimensions")
    order = list(range(rank))
    order[1], order[axis] = axis, 1
    attributes = {name: site.floating(name) for name in ("alpha", "beta", "bias")}
    attributes["size"] = _odd(site.integer("size"))
    data = transposed(site, site.input(0), order)
    if rank == _LRN_RANK:
        site.result(transposed(site, site.add("LRN", [data], attributes), order))
        return
    missing = site.constant(list(range(rank, _LRN_RANK)), "int64")
    normalized = site.add("LRN", [site.add("Unsqueeze", [data, missing])], attributes)
    site.result(transposed(site, site.add("Squeeze", [normalized, missing]), order))


def _odd(size: int) -> int:
    if size < 1:
        raise UnsupportedError(f"its size {size} is not positive")
    if size % 2 == 0:
        raise UnsupportedError(f"its size {size} is even, so that it has no middle")
    return size


ROWS: tuple[Row, ...] = (
    *from_onnx("LpNormalization", "ReduceL2-4", _lp_to_openvino, tolerance="1e-5 relative", limits="p is 1 or 2."),
    *from_openvino(
        "NormalizeL2-1",
        "Div",
        _normalize_to_onnx,
        tolerance="1e-5 relative",
        limits="Axes must be known and not empty.",
    ),
    *both(
        "LRN",
        "LRN-1",
        _lrn_to_openvino,
        _lrn_to_onnx,
        tolerance="1e-4 relative",
        limits="Over channels, back also over one axis after them and of 4 dimensions at most, of an odd size.",
    ),
)
