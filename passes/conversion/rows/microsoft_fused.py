"""ONNX Runtime's own operators that stand for several of ONNX's: products and sums with an activation, normalizations
of a sum, and forms of Gelu. All their attributes are asked for, since no schema names defaults."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.pair import BROADCAST
from maxfold.passes.conversion.parts.scalars import dtype_of
from maxfold.passes.conversion.parts.tensors import scalar_like
from maxfold.passes.conversion.row import Row, from_onnx
from maxfold.passes.conversion.rows.convolution import convolved, filter_shape, with_bias
from maxfold.passes.conversion.rows.normalization import affine, mvn
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite

_NUMPY = {BROADCAST: "numpy"}
_DOMAIN = "com.microsoft"
_LEAST_BATCH_RANK = 3

# How many parameters an activation has, and what makes it.
_Activation = Callable[[OpenvinoSite, Tensor, Sequence[float]], Tensor]


def _plain(operation: str, opset: int = 1) -> _Activation:
    def make(site: OpenvinoSite, x: Tensor, parameters: Sequence[float]) -> Tensor:
        made: Tensor = site.add(operation, [x], opset=opset)
        return made

    return make


def _leaky(site: OpenvinoSite, x: Tensor, parameters: Sequence[float]) -> Tensor:
    made: Tensor = site.add("PReLU", [x, site.constant([parameters[0]], dtype_of(site).numpy)])
    return made


def _elu(site: OpenvinoSite, x: Tensor, parameters: Sequence[float]) -> Tensor:
    made: Tensor = site.add("Elu", [x], {"alpha": float(parameters[0])})
    return made


def _clip(site: OpenvinoSite, x: Tensor, parameters: Sequence[float]) -> Tensor:
    low, high = map(float, parameters)
    made: Tensor = site.add("Clamp", [x], {"min": low, "max": high})
    return made


def _hard_sigmoid(site: OpenvinoSite, x: Tensor, parameters: Sequence[float]) -> Tensor:
    made: Tensor = site.add("HardSigmoid", [x, *(scalar_like(site, float(value)) for value in parameters)])
    return made


_GEMM_ACTIVATIONS: dict[str, tuple[int, _Activation]] = {
    "Relu": (0, _plain("ReLU")), "Tanh": (0, _plain("Tanh")), "Sigmoid": (0, _plain("Sigmoid")),
    "Softplus": (0, _plain("SoftPlus", 4)), "Softsign": (0, _plain("SoftSign", 9)),
    "LeakyRelu": (1, _leaky), "Elu": (1, _elu), "HardSigmoid": (2, _hard_sigmoid),
}  # fmt: skip
_CONV_ACTIVATIONS: dict[str, tuple[int, _Activation]] = {
    "Relu": (0, _plain("ReLU")), "Tanh": (0, _plain("Tanh")), "Sigmoid": (0, _plain("Sigmoid")),
    "HardSwish": (0, _plain("HSwish", 4)), "LeakyRelu": (1, _leaky), "Clip": (2, _clip),
    "HardSigmoid": (2, _hard_sigmoid),
}  # fmt: skip


def _activated(
    site: OpenvinoSite, x: Tensor, known: dict[str, tuple[int, _Activation]], parameters: Sequence[float]
) -> Tensor:
    """The result of the activation that an attribute names. Raises `UnsupportedError`."""
    name = site.attribute("activation")
    if name not in known:
        raise UnsupportedError(f"its activation {name!r} is not covered")
    count, make = known[name]
    if len(parameters) != count:
        raise UnsupportedError(f"its activation {name} has {len(parameters)} parameters instead of {count}")
    return make(site, x, parameters)


def _gelu_to_openvino(site: OpenvinoSite) -> None:
    site.result(site.add("Gelu", [_with_addend(site)], {"approximation_mode": "ERF"}, opset=7))


def _fast_gelu_to_openvino(site: OpenvinoSite) -> None:
    site.result(site.add("Gelu", [_with_addend(site)], {"approximation_mode": "TANH"}, opset=7))


def _with_addend(site: OpenvinoSite) -> Tensor:
    """The first input plus the second, where there is one."""
    x = site.input(0)
    return site.add("Add", [x, site.input(1)], _NUMPY) if site.has_input(1) else x


def _quick_gelu_to_openvino(site: OpenvinoSite) -> None:
    alpha = scalar_like(site, float(site.attribute("alpha", 1.702)))
    site.result(site.add("Swish", [site.input(0), alpha], opset=4))


def _fused_matmul_to_openvino(site: OpenvinoSite) -> None:
    operands = [_batch_first(site, index, side) for index, side in enumerate("AB")]
    flags = {f"transpose_{side.lower()}": bool(site.attribute(f"trans{side}", 0)) for side in "AB"}
    result = site.add("MatMul", operands, flags)
    site.result(_scaled(site, result, float(site.attribute("alpha", 1.0))))


def _scaled(site: OpenvinoSite, x: Tensor, factor: float) -> Tensor:
    return x if factor == 1 else site.add("Multiply", [x, scalar_like(site, factor)], _NUMPY)


def _batch_first(site: OpenvinoSite, index: int, side: str) -> Tensor:
    """An operand with the batch in front, which a flag says to stand behind the rows."""
    if not site.attribute(f"transBatch{side}", 0):
        return site.input(index)
    rank = site.rank(index)
    if rank < _LEAST_BATCH_RANK:
        raise UnsupportedError(f"its operand {side} of {rank} dimensions has no batch to transpose")
    order = site.constant([*range(1, rank - 1), 0, rank - 1], "int64")
    made: Tensor = site.add("Transpose", [site.input(index), order])
    return made


def _fused_gemm_to_openvino(site: OpenvinoSite) -> None:
    flags = {"transpose_a": bool(site.attribute("transA", 0)), "transpose_b": bool(site.attribute("transB", 0))}
    result = site.add("MatMul", [site.input(0), site.input(1)], flags)
    result = _scaled(site, result, float(site.attribute("alpha", 1.0)))
    beta = float(site.attribute("beta", 1.0))
    if site.has_input(2):
        result = site.add("Add", [result, _scaled(site, site.input(2), beta)], _NUMPY)
    given = [site.attribute(f"activation_{name}") for name in ("alpha", "beta", "gamma")]
    site.result(_activated(site, result, _GEMM_ACTIVATIONS, [value for value in given if value is not None]))


def _fused_conv_to_openvino(site: OpenvinoSite) -> None:
    shape = filter_shape(site, 1)
    result = with_bias(site, convolved(site, site.input(0), site.input(1), shape), len(shape))
    if site.has_input(3):
        result = site.add("Add", [result, site.input(3)], _NUMPY)
    parameters = site.attribute("activation_params") or []
    if "activation" in site.node.attrs:
        result = _activated(site, result, _CONV_ACTIVATIONS, parameters)
    site.result(result)


def _skip_sum(site: OpenvinoSite, bias: int) -> Tensor:
    total = site.add("Add", [site.input(0), site.input(1)], _NUMPY)
    if site.has_input(bias):
        total = site.add("Add", [total, site.input(bias)], _NUMPY)
    made: Tensor = total
    return made


def _widened(site: OpenvinoSite, x: Tensor) -> Tensor:
    """A tensor of the first input's type in f32, where that is narrower."""
    return x if dtype_of(site).name == "FLOAT" else site.add("Convert", [x], {"destination_type": "f32"})


def _narrowed(site: OpenvinoSite, x: Tensor) -> Tensor:
    dtype = dtype_of(site)
    return x if dtype.name == "FLOAT" else site.add("Convert", [x], {"destination_type": dtype.openvino})


def _inverse_root(site: OpenvinoSite, squares: Tensor, epsilon: float) -> Tensor:
    """1 / sqrt(mean + epsilon) of squares of f32 along the last axis."""
    mean = site.add("ReduceMean", [squares, site.constant([-1], "int64")], {"keep_dims": True})
    root = site.add("Sqrt", [site.add("Add", [mean, site.constant(epsilon, np.float32)], _NUMPY)])
    made: Tensor = site.add("Divide", [site.constant(1, np.float32), root], {**_NUMPY, "m_pythondiv": True})
    return made


def _skip_layer_to_openvino(site: OpenvinoSite) -> None:
    _check_float(site)
    epsilon = float(site.attribute("epsilon", 1e-12))
    total = _skip_sum(site, 4)
    data = _widened(site, total)
    normalized = _narrowed(site, mvn(site, data, [-1], epsilon))
    made = affine(site, normalized, site.input(2), site.input(3) if site.has_input(3) else None)
    mean = inverse = total
    if site.has_output(1) or site.has_output(2):
        mean = site.add("ReduceMean", [data, site.constant([-1], "int64")], {"keep_dims": True})
        centred = site.add("Subtract", [data, mean], _NUMPY)
        inverse = _inverse_root(site, site.add("Multiply", [centred, centred], _NUMPY), epsilon)
    site.result(made, mean, inverse, total)


def _skip_simplified_to_openvino(site: OpenvinoSite) -> None:
    _check_float(site)
    if site.has_output(1):
        raise UnsupportedError("its result 1 is not covered")
    total = _skip_sum(site, 3)
    data = _widened(site, total)
    squares = site.add("Power", [data, site.constant(2, np.float32)], _NUMPY)
    inverse = _inverse_root(site, squares, float(site.attribute("epsilon", 1e-12)))
    normalized = _narrowed(site, site.add("Multiply", [data, inverse], _NUMPY))
    made = site.add("Multiply", [normalized, site.input(2)], _NUMPY)
    site.result(made, total, inverse, total)


def _check_float(site: OpenvinoSite) -> None:
    if dtype_of(site).name not in ("FLOAT", "FLOAT16", "BFLOAT16"):
        raise UnsupportedError(f"a sum of {dtype_of(site)} is not covered")


_APPROXIMATE = "1e-5 relative"
_NORMALIZED = "1e-4 relative, 1e-5 absolute"

ROWS: tuple[Row, ...] = (
    *from_onnx(f"{_DOMAIN}.Gelu", "Gelu-7", _gelu_to_openvino, tolerance=_APPROXIMATE),
    *from_onnx(f"{_DOMAIN}.BiasGelu", "Gelu-7", _gelu_to_openvino, tolerance=_APPROXIMATE),
    *from_onnx(f"{_DOMAIN}.FastGelu", "Gelu-7", _fast_gelu_to_openvino, tolerance=_APPROXIMATE),
    *from_onnx(f"{_DOMAIN}.QuickGelu", "Swish-4", _quick_gelu_to_openvino, tolerance=_APPROXIMATE),
    *from_onnx(f"{_DOMAIN}.FusedMatMul", "MatMul-1", _fused_matmul_to_openvino, tolerance=_APPROXIMATE),
    *from_onnx(f"{_DOMAIN}.TransposeMatMul", "MatMul-1", _fused_matmul_to_openvino, tolerance=_APPROXIMATE),
    *from_onnx(
        f"{_DOMAIN}.FusedGemm", "MatMul-1", _fused_gemm_to_openvino, tolerance=_APPROXIMATE,
        limits=f"Activations: {', '.join(sorted(_GEMM_ACTIVATIONS))}.",
    ),
    *from_onnx(
        f"{_DOMAIN}.FusedConv", "Convolution-1", _fused_conv_to_openvino, tolerance="1e-4 relative, 1e-5 absolute",
        limits=f"1 to 3 spatial dimensions. Activations: {', '.join(sorted(_CONV_ACTIVATIONS))}.",
    ),
    *from_onnx(f"{_DOMAIN}.SkipLayerNormalization", "MVN-6", _skip_layer_to_openvino, tolerance=_NORMALIZED),
    *from_onnx(
        f"{_DOMAIN}.SkipSimplifiedLayerNormalization", "ReduceMean-1", _skip_simplified_to_openvino,
        tolerance=_NORMALIZED, limits="Its second result, which ONNX Runtime leaves 0, is refused.",
    ),
)  # fmt: skip
