"""Normalization with statistics that are given, or taken over some axes."""

from __future__ import annotations

import numpy as np

from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.pair import BROADCAST
from maxfold.passes.conversion.parts.scalars import dtype_of
from maxfold.passes.conversion.parts.tensors import narrowed, per_channel, reshaped, widened
from maxfold.passes.conversion.row import Row, both, from_onnx
from maxfold.passes.conversion.sites.onnx_site import OnnxSite
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite
from maxfold.passes.conversion.sites.site import Site

_NUMPY = {BROADCAST: "numpy"}
_FLOAT = 1


def _batch_to_openvino(site: OpenvinoSite) -> None:
    epsilon = float(site.attribute("epsilon", 1e-5))
    if site.attribute("training_mode", 0):
        _batch_in_training(site, epsilon)
        return
    _require_inference(site)
    dtypes = [site.dtype(index) for index in range(5)]
    first = dtypes[0]
    if first is None:
        raise UnsupportedError("the element type of its input is not known")
    operands = site.inputs()
    is_mixed = any(dtype is not None and dtype.name != first.name for dtype in dtypes)
    if is_mixed:
        operands = [converted(site, operand, "f32") for operand in operands]
    result = site.add("BatchNormInference", operands, {"epsilon": epsilon}, opset=5)
    site.result(converted(site, result, str(first.openvino)) if is_mixed else result)


def _require_inference(site: OpenvinoSite) -> None:
    """Raises `UnsupportedError` for results that only training has."""
    if any(site.has_output(index) for index in range(1, site.output_count)):
        raise UnsupportedError("it gives statistics, but is not in training mode")
    # How training keeps its statistics.
    site.ignore("momentum")


def _batch_in_training(site: OpenvinoSite, epsilon: float) -> None:
    """Statistics of the batch itself, which move those that are given: they are computed in float32 where types are
    narrower or differ."""
    rank, momentum = site.rank(0), float(site.attribute("momentum", 0.9))
    dtypes = [dtype_of(site, index) for index in (0, 3)]
    is_single = all(site.dtype(index) is dtypes[0] for index in range(5)) and dtypes[0].bits >= 32
    operands = site.inputs() if is_single else [converted(site, operand, "f32") for operand in site.inputs()]
    data, scale, shift, *running = operands
    computed = dtypes[0].numpy if is_single else np.float32
    axes = site.constant([0, *range(2, rank)], "int64")
    mean = site.add("ReduceMean", [data, axes], {"keep_dims": True})
    centred = site.add("Subtract", [data, mean], _NUMPY)
    variance = site.add("ReduceMean", [site.add("Multiply", [centred, centred], _NUMPY), axes], {"keep_dims": True})
    deviation = site.add("Sqrt", [site.add("Add", [variance, site.constant(epsilon, computed)], _NUMPY)])
    normalized = site.add("Divide", [centred, deviation], {**_NUMPY, "m_pythondiv": True})
    results = [affine(site, normalized, per_channel(site, scale, rank), per_channel(site, shift, rank))]
    for index, (old, new) in enumerate(zip(running, (mean, variance), strict=True), 1):
        if not site.has_output(index):
            break
        kept = site.add("Multiply", [old, site.constant(momentum, computed)], _NUMPY)
        flat = reshaped(site, new, [-1])
        moved = site.add("Multiply", [flat, site.constant(1 - momentum, computed)], _NUMPY)
        results.append(site.add("Add", [kept, moved], _NUMPY))
    if not is_single:
        narrow = [str(dtypes[min(index, 1)].openvino) for index in range(len(results))]
        results = [converted(site, made, to) for made, to in zip(results, narrow, strict=True)]
    site.result(*results)


def affine(site: OpenvinoSite, data: Tensor, scale: Tensor | None, shift: Tensor | None) -> Tensor:
    """The data times a scale plus a shift, where there are any."""
    if scale is not None:
        data = site.add("Multiply", [data, scale], _NUMPY)
    if shift is not None:
        data = site.add("Add", [data, shift], _NUMPY)
    return data


def converted(site: OpenvinoSite, tensor: Tensor, openvino_type: str) -> Tensor:
    """A tensor of another element type, by OpenVINO's name."""
    result: Tensor = site.add("Convert", [tensor], {"destination_type": openvino_type})
    return result


def mvn(site: OpenvinoSite, data: Tensor, axes: list[int], epsilon: float, mode: str = "INSIDE_SQRT") -> Tensor:
    """The data less its mean, divided by its standard deviation, over some axes."""
    attributes = {"eps": epsilon, "normalize_variance": True, "eps_mode": mode}
    result: Tensor = site.add("MVN", [data, site.constant(axes, "int64")], attributes, opset=6)
    return result


def _batch_to_onnx(site: OnnxSite) -> None:
    operands = site.inputs()
    if site.version < 5:
        gamma, beta, data, mean, variance = operands
        operands = [data, gamma, beta, mean, variance]
    site.result(site.add("BatchNormalization", operands, {"epsilon": site.floating("epsilon")}))


def _instance_to_openvino(site: OpenvinoSite) -> None:
    rank = site.rank(0)
    normalized = mvn(site, site.input(0), list(range(2, rank)), float(site.attribute("epsilon", 1e-5)))
    scale, shift = (per_channel(site, site.input(index), rank) for index in (1, 2))
    site.result(affine(site, normalized, scale, shift))


def _layer_to_openvino(site: OpenvinoSite) -> None:
    rank, dtype = site.rank(0), site.dtype(0)
    if dtype is None or site.attribute("stash_type", _FLOAT) != _FLOAT:
        raise UnsupportedError("it computes in a type other than float")
    axes = list(range(site.attribute("axis", -1) % rank, rank))
    epsilon = float(site.attribute("epsilon", 1e-5))
    is_narrow = dtype.name in ("FLOAT16", "BFLOAT16")
    data = converted(site, site.input(0), "f32") if is_narrow else site.input(0)
    normalized = mvn(site, data, axes, epsilon)
    if is_narrow:
        normalized = converted(site, normalized, str(dtype.openvino))
    scaled = affine(site, normalized, site.input(1), site.input(2) if site.has_input(2) else None)
    if not (site.has_output(1) or site.has_output(2)):
        site.result(scaled)
        return
    keep = {"keep_dims": True}
    mean = site.add("ReduceMean", [data, site.constant(axes, "int64")], keep)
    centred = site.add("Subtract", [data, mean], _NUMPY)
    squares = site.add("Multiply", [centred, centred], _NUMPY)
    variance = site.add("ReduceMean", [squares, site.constant(axes, "int64")], keep)
    computed = np.float32 if is_narrow else dtype.numpy
    deviation = site.add("Sqrt", [site.add("Add", [variance, site.constant(epsilon, computed)], _NUMPY)])
    inverse = site.add("Divide", [site.constant(1, computed), deviation], {**_NUMPY, "m_pythondiv": True})
    site.result(scaled, mean, inverse)


def _require_groups(site: Site, groups: int) -> None:
    shape = site.shape(0)
    channels = shape[1] if shape is not None and len(shape) > 1 else None
    if groups < 1 or (channels is not None and channels % groups):
        raise UnsupportedError(f"its {channels} channels do not divide into {groups} groups")


def _group_to_openvino(site: OpenvinoSite) -> None:
    groups, epsilon = site.attribute("num_groups"), float(site.attribute("epsilon", 1e-5))
    _require_groups(site, groups)
    if site.attribute("stash_type", _FLOAT) != _FLOAT:
        raise UnsupportedError("it computes in a type other than float")
    attributes = {"num_groups": groups, "epsilon": epsilon}
    site.result(site.add("GroupNormalization", site.inputs(), attributes, opset=12))


def _group_to_onnx(site: OnnxSite) -> None:
    groups, epsilon, rank = site.integer("num_groups"), site.floating("epsilon"), site.rank(0)
    _require_groups(site, groups)
    if site.kind(0) != "float":
        raise UnsupportedError(f"of {site.dtype(0)} ONNX does not have it")
    if site.opset >= 21:
        attributes = {"num_groups": groups, "epsilon": epsilon}
        site.result(site.add("GroupNormalization", site.inputs(), attributes))
        return
    dtype = site.dtype(0)
    assert dtype is not None
    inner = site.add("Reshape", [site.input(0), site.constant([0, groups, -1], "int64")])
    ones, zeros = (site.constant(np.full(groups, value), dtype.numpy) for value in (1, 0))
    normalized = site.add("InstanceNormalization", [inner, ones, zeros], {"epsilon": epsilon})
    back = site.add("Reshape", [normalized, site.add("Shape", [site.input(0)])])
    scale, shift = (per_channel(site, site.input(index), rank) for index in (1, 2))
    site.result(site.add("Add", [site.add("Mul", [back, scale]), shift]))


def _mean_variance_to_openvino(site: OpenvinoSite) -> None:
    """ONNX adds 1e-9 to the standard deviation."""
    axes = list(site.attribute("axes", [0, 2, 3]))
    site.result(mvn(site, site.input(0), axes, 1e-9, "OUTSIDE_SQRT"))


def _mvn_to_onnx(site: OnnxSite) -> None:
    """Step by step: ONNX has only special cases of it."""
    axes = _mvn_axes(site)
    data, dtype, back = widened(site)
    centred = site.add("Sub", [data, _mean(site, data, axes)])
    if not site.flag("normalize_variance"):
        # They belong to the division that is not made.
        site.ignore("eps", "eps_mode")
        site.result(narrowed(site, centred, back))
        return
    variance = _mean(site, site.add("Mul", [centred, centred]), axes)
    epsilon = site.constant(site.floating("eps"), dtype.numpy)
    mode = site.text("eps_mode").upper() if site.version >= 6 else "INSIDE_SQRT"
    if mode == "INSIDE_SQRT":
        deviation = site.add("Sqrt", [site.add("Add", [variance, epsilon])])
    elif mode == "OUTSIDE_SQRT":
        deviation = site.add("Add", [site.add("Sqrt", [variance]), epsilon])
    else:
        raise UnsupportedError(f"its eps_mode {mode!r} is not covered")
    site.result(narrowed(site, site.add("Div", [centred, deviation]), back))


def _mean(site: OnnxSite, data: Tensor, axes: list[int]) -> Tensor:
    result: Tensor
    if site.opset >= 18:
        result = site.add("ReduceMean", [data, site.constant(axes, "int64")], {"keepdims": 1})
    else:
        result = site.add("ReduceMean", [data], {"keepdims": 1, "axes": axes})
    return result


def _mvn_axes(site: OnnxSite) -> list[int]:
    """The axes; before operator set 6 they are an attribute, or all but the batch or but batch and channel."""
    if site.version >= 6:
        axes = site.integers_of(1, "its axes")
    else:
        first = 1 if site.flag("across_channels") else 2
        axes = site.integers("reduction_axes") or list(range(first, site.rank(0)))
    if not axes:
        raise UnsupportedError("it has no axes")
    return axes


_ROUNDING = "Sums are made in another order."

ROWS: tuple[Row, ...] = (
    *both(
        "BatchNormalization",
        "BatchNormInference-1",
        _batch_to_openvino,
        _batch_to_onnx,
        tolerance="1e-4 relative, 1e-6 absolute",
        limits="In training mode it becomes the operations that compute the statistics of the batch.",
    ),
    *from_onnx(
        "InstanceNormalization",
        "MVN-6",
        _instance_to_openvino,
        tolerance="1e-4 relative, 1e-5 absolute",
        limits=_ROUNDING,
    ),
    *from_onnx(
        "LayerNormalization", "MVN-6", _layer_to_openvino, tolerance="1e-4 relative, 1e-5 absolute", limits=_ROUNDING
    ),
    *both(
        "MeanVarianceNormalization",
        "MVN-1",
        _mean_variance_to_openvino,
        _mvn_to_onnx,
        tolerance="1e-4 relative, 1e-5 absolute",
        limits=_ROUNDING,
    ),
    *both(
        "GroupNormalization",
        "GroupNormalization-12",
        _group_to_openvino,
        _group_to_onnx,
        tolerance="1e-4 relative, 1e-5 absolute",
        limits=_ROUNDING,
    ),
)
