"""Random numbers: RandomUniform and Multinomial of OpenVINO.

What is drawn is distributed alike; the numbers are others, since each runtime has a generator of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxfold.model import dtypes
from maxfold.model.dtypes import DType
from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.parts.operands import index_type, int64_vector, onnx_scalar
from maxfold.passes.conversion.parts.scalars import dtype_of
from maxfold.passes.conversion.row import Row, from_openvino
from maxfold.passes.conversion.sites.onnx_site import OnnxSite

_FLOAT, _DOUBLE, _INT32, _INT64 = 1, 11, 6, 7
_RANK = 2


def _seed(site: OnnxSite) -> dict[str, float]:
    """The seed, where the operation has one: with both at 0 OpenVINO takes another each time, as ONNX without."""
    total = site.integer("global_seed") + site.integer("op_seed")
    return {"seed": float(total)} if total else {}


def _random_uniform_to_onnx(site: OnnxSite) -> None:
    name = site.text("output_type").lower()
    wanted = dtypes.from_openvino(name)
    if wanted is None or wanted.kind not in ("float", "int", "uint"):
        raise UnsupportedError(f"its output_type {name!r} is not covered")
    if site.text("alignment").lower() not in ("tensorflow", "pytorch"):
        raise UnsupportedError(f"its alignment {site.text('alignment')!r} is not covered")
    if wanted.kind != "float":
        site.result(_integers(site, wanted))
        return
    computed = _DOUBLE if wanted.name == "DOUBLE" else _FLOAT
    low, high = site.value(1), site.value(2)
    if low is not None and high is not None:
        bounds = {"low": float(low.reshape(-1)[0]), "high": float(high.reshape(-1)[0])}
        drawn = _drawn(site, computed, bounds)
    else:
        first, end = (site.add("Cast", [onnx_scalar(site, index)], {"to": computed}) for index in (1, 2))
        scaled = site.add("Mul", [_drawn(site, computed, {}), site.add("Sub", [end, first])])
        drawn = site.add("Add", [scaled, first])
    site.result(drawn if wanted.onnx == computed else site.add("Cast", [drawn], {"to": wanted.onnx}))


def _drawn(site: OnnxSite, onnx_type: int, bounds: dict[str, float]) -> Tensor:
    """Numbers from 0 up to 1, or between other bounds."""
    attributes: dict[str, Any] = {"dtype": onnx_type, **bounds, **_seed(site)}
    shape = site.value(0)
    if shape is not None:
        sizes = [int(size) for size in shape.reshape(-1)]
        drawn: Tensor = site.add("RandomUniform", [], {"shape": sizes, **attributes})
        return drawn
    likeness = site.add("ConstantOfShape", [int64_vector(site, 0)])
    return site.add("RandomUniformLike", [likeness], attributes)  # type: ignore[no-any-return]


def _integers(site: OnnxSite, wanted: DType) -> Tensor:
    """The integers from the first bound up to the one before the second."""
    first, end = (site.add("Cast", [onnx_scalar(site, index)], {"to": _DOUBLE}) for index in (1, 2))
    count = site.add("Sub", [end, first])
    chosen = site.add("Floor", [site.add("Mul", [_drawn(site, _DOUBLE, {}), count])])
    # A product may be rounded up to the number of them.
    last = site.add("Sub", [count, site.constant(1, np.float64)])
    chosen = site.add("Add", [site.add("Min", [chosen, last]), first])
    drawn: Tensor = site.add("Cast", [chosen], {"to": wanted.onnx})
    return drawn


def _multinomial_to_onnx(site: OnnxSite) -> None:
    if site.rank(0) != _RANK:
        raise UnsupportedError(f"its probabilities have {site.rank(0)} dimensions instead of {_RANK}")
    to = _INT32 if index_type(site, "convert_type") == "INT32" else _INT64
    logarithms, dtype = site.input(0), dtype_of(site)
    if dtype.onnx != _FLOAT:
        logarithms = site.add("Cast", [logarithms], {"to": _FLOAT})
    if not site.flag("log_probs"):
        logarithms = site.add("Log", [logarithms])
    if site.flag("with_replacement"):
        count = site.integers_of(1, "its num_samples")[0]
        attributes = {"sample_size": count, "dtype": to, **_seed(site)}
        drawn = site.add("Multinomial", [logarithms], attributes)
    else:
        drawn = site.add("Cast", [_without_replacement(site, logarithms)], {"to": to})
    site.result(drawn)


def _without_replacement(site: OnnxSite, logarithms: Tensor) -> Tensor:
    """The classes of the largest logarithms with noise of Gumbel's distribution added, in their order."""
    # Never 0, of which there is no logarithm.
    attributes = {"dtype": _FLOAT, "low": float(np.finfo(np.float32).tiny), "high": 1.0, **_seed(site)}
    uniform = site.add("RandomUniformLike", [logarithms], attributes)
    noise = site.add("Log", [site.add("Neg", [site.add("Log", [uniform])])])
    scores = site.add("Sub", [logarithms, noise])
    count = site.add("Reshape", [int64_vector(site, 1), site.constant([1], "int64")])
    _, classes = site.add("TopK", [scores, count], {"axis": -1}, outputs=2)
    chosen: Tensor = classes
    return chosen


_OTHERS = "The numbers are others, of the same distribution; a seed stays one, as the sum of both that OpenVINO has."

ROWS: tuple[Row, ...] = (
    *from_openvino(
        "RandomUniform-8", "RandomUniform", _random_uniform_to_onnx, tolerance="in distribution", limits=_OTHERS
    ),
    *from_openvino(
        "Multinomial-13",
        "Multinomial",
        _multinomial_to_onnx,
        tolerance="in distribution",
        limits=f"{_OTHERS} How many are drawn with replacement must be known.",
    ),
)
