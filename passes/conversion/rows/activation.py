"""Activation functions, elementwise and with fixed parameters."""

from __future__ import annotations

import math

from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.pair import BROADCAST
from maxfold.passes.conversion.parts.forms import same_to_openvino
from maxfold.passes.conversion.parts.scalars import dtype_of, number_of
from maxfold.passes.conversion.parts.tensors import scalar_like
from maxfold.passes.conversion.row import Row, both, from_onnx, from_openvino, pair
from maxfold.passes.conversion.rows.unary import APPROXIMATE
from maxfold.passes.conversion.sites.onnx_site import OnnxSite
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite

_NUMPY = {BROADCAST: "numpy"}
_DIVIDE = {BROADCAST: "numpy", "m_pythondiv": True}
_SINGLE_BITS = 32
# The operator sets that introduced operators which are spelled out in earlier ones.
_HARD_SWISH_OPSET, _MISH_OPSET, _GELU_OPSET = 14, 18, 20
_SELU_ALPHA, _SELU_GAMMA = 1.67326319217681884765625, 1.05070102214813232421875
# Narrower integers have no Max in ONNX Runtime.
_RELU_BITS = 32
_GELU_MODES = {"none": "ERF", "tanh": "TANH"}


def _selu_to_openvino(site: OpenvinoSite) -> None:
    alpha, gamma = site.attribute("alpha", _SELU_ALPHA), site.attribute("gamma", _SELU_GAMMA)
    if not alpha or not gamma:
        raise UnsupportedError("of its alpha and gamma one is 0, for which OpenVINO's CPU takes the default")
    site.result(site.add("Selu", [site.input(0), scalar_like(site, alpha), scalar_like(site, gamma)]))


def _selu_to_onnx(site: OnnxSite) -> None:
    attributes = {"alpha": number_of(site, 1, "alpha"), "gamma": number_of(site, 2, "lambda")}
    site.result(site.add("Selu", [site.input(0)], attributes))


def _hard_sigmoid_to_openvino(site: OpenvinoSite) -> None:
    alpha, beta = site.attribute("alpha", 0.2), site.attribute("beta", 0.5)
    if not alpha or not beta:
        # For a 0 OpenVINO's CPU takes the default.
        product = site.add("Multiply", [site.input(0), scalar_like(site, alpha)], _NUMPY)
        total = site.add("Add", [product, scalar_like(site, beta)], _NUMPY)
        site.result(site.add("Clamp", [total], {"min": 0.0, "max": 1.0}))
        return
    site.result(site.add("HardSigmoid", [site.input(0), scalar_like(site, alpha), scalar_like(site, beta)]))


def _relu_to_onnx(site: OnnxSite) -> None:
    """ONNX Runtime has the Max of most integers, the Relu of hardly any."""
    x, dtype = site.input(0), dtype_of(site)
    if dtype.kind == "float" or dtype.bits < _RELU_BITS:
        site.result(site.add("Relu", [x]))
    else:
        site.result(site.add("Max", [x, scalar_like(site, 0)]))


def _has_kernel(site: OnnxSite) -> bool:
    """Whether ONNX Runtime computes HardSigmoid and HardSwish in the input's element type, or in float32 for it."""
    return dtype_of(site).bits <= _SINGLE_BITS


def _hard_sigmoid(site: OnnxSite, alpha: float, beta: float) -> Tensor:
    """HardSigmoid of the first input; its formula, min(max(alpha * x + beta, 0), 1), in float64."""
    x = site.input(0)
    result: Tensor
    if _has_kernel(site):
        result = site.add("HardSigmoid", [x], {"alpha": alpha, "beta": beta})
    else:
        line = site.add("Add", [site.add("Mul", [x, scalar_like(site, alpha)]), scalar_like(site, beta)])
        result = site.add("Clip", [line, scalar_like(site, 0), scalar_like(site, 1)])
    return result


def _hard_sigmoid_to_onnx(site: OnnxSite) -> None:
    site.result(_hard_sigmoid(site, number_of(site, 1, "alpha"), number_of(site, 2, "beta")))


def _h_sigmoid_to_onnx(site: OnnxSite) -> None:
    site.result(_hard_sigmoid(site, 1 / 6, 0.5))


def _hard_swish_to_openvino(site: OpenvinoSite) -> None:
    site.result(site.add("HSwish", site.inputs(), opset=4))


def _h_swish_to_onnx(site: OnnxSite) -> None:
    x = site.input(0)
    if site.opset >= _HARD_SWISH_OPSET and _has_kernel(site):
        site.result(site.add("HardSwish", [x]))
    else:
        site.result(site.add("Mul", [x, _hard_sigmoid(site, 1 / 6, 0.5)]))


def _swish_to_openvino(site: OpenvinoSite) -> None:
    alpha = site.attribute("alpha", 1.0)
    site.result(site.add("Swish", [site.input(0), scalar_like(site, alpha)], opset=4))


def _swish_to_onnx(site: OnnxSite) -> None:
    x = site.input(0)
    scaled = x
    if site.has_input(1):
        beta = site.value(1)
        if beta is None or beta.size != 1 or float(beta.reshape(-1)[0]) != 1:
            scaled = site.add("Mul", [x, site.input(1)])
    site.result(site.add("Mul", [x, site.add("Sigmoid", [scaled])]))


def _mish_to_onnx(site: OnnxSite) -> None:
    x = site.input(0)
    if site.opset >= _MISH_OPSET:
        site.result(site.add("Mish", [x]))
    else:
        site.result(site.add("Mul", [x, site.add("Tanh", [site.add("Softplus", [x])])]))


def _gelu_to_openvino(site: OpenvinoSite) -> None:
    approximate = site.attribute("approximate", "none")
    mode = _GELU_MODES.get(approximate)
    if mode is None:
        raise UnsupportedError(f"its approximate {approximate!r} is neither none nor tanh")
    site.result(site.add("Gelu", site.inputs(), {"approximation_mode": mode}, opset=7))


def _gelu_to_onnx(site: OnnxSite) -> None:
    mode = site.text("approximation_mode").lower()
    if mode not in ("erf", "tanh"):
        raise UnsupportedError(f"its approximation_mode {mode!r} is not covered")
    x = site.input(0)
    if site.opset >= _GELU_OPSET:
        site.result(site.add("Gelu", [x], {"approximate": "none" if mode == "erf" else "tanh"}))
        return
    # x / 2 * (1 + erf(x / sqrt(2))), or tanh(sqrt(2 / pi) * (x + 0.044715 x^3)) in erf's place.
    if mode == "erf":
        inner = site.add("Erf", [site.add("Div", [x, scalar_like(site, math.sqrt(2))])])
    else:
        cube = site.add("Mul", [site.add("Mul", [x, x]), x])
        bent = site.add("Add", [x, site.add("Mul", [cube, scalar_like(site, 0.044715)])])
        inner = site.add("Tanh", [site.add("Mul", [bent, scalar_like(site, math.sqrt(2 / math.pi))])])
    product = site.add("Mul", [x, site.add("Add", [inner, scalar_like(site, 1)])])
    site.result(site.add("Mul", [product, scalar_like(site, 0.5)]))


def _thresholded_relu_to_openvino(site: OpenvinoSite) -> None:
    """A Select, since a product with 0 would make NaN of an infinity."""
    x = site.input(0)
    is_above = site.add("Greater", [x, scalar_like(site, site.attribute("alpha", 1.0))], _NUMPY)
    site.result(site.add("Select", [is_above, x, scalar_like(site, 0)], _NUMPY))


def _celu_to_openvino(site: OpenvinoSite) -> None:
    """Elu of x / alpha below zero; Elu itself where alpha is 1."""
    x, alpha = site.input(0), float(site.attribute("alpha", 1.0))
    if not alpha > 0:
        raise UnsupportedError(f"its alpha {alpha} is not positive")
    if alpha == 1:
        site.result(site.add("Elu", [x], {"alpha": alpha}))
        return
    below = site.add("Elu", [site.add("Divide", [x, scalar_like(site, alpha)], _DIVIDE)], {"alpha": alpha})
    is_above = site.add("Greater", [x, scalar_like(site, 0)], _NUMPY)
    site.result(site.add("Select", [is_above, x, below], _NUMPY))


def _shrink_to_openvino(site: OpenvinoSite) -> None:
    """x + bias below -lambd, x - bias above lambd, and 0 between them."""
    x, bias, lambd = site.input(0), float(site.attribute("bias", 0.0)), float(site.attribute("lambd", 0.5))
    dtype = dtype_of(site)
    if dtype.kind != "float":
        largest = 2 ** (dtype.bits - 1) - 1
        if dtype.kind != "int" or not bias.is_integer() or not max(abs(bias), abs(lambd)) <= largest:
            raise UnsupportedError(f"its bias {bias} and lambd {lambd} cannot be computed with in {dtype}")
        # Integers are above a fraction where they are above its floor.
        lambd = float(math.floor(lambd))
    low, high = scalar_like(site, -lambd), scalar_like(site, lambd)
    above = _shrunk(site, x, high, bias, "Greater", "Subtract")
    below = _shrunk(site, x, low, bias, "Less", "Add")
    inner = site.add("Select", [above[0], above[1], scalar_like(site, 0)], _NUMPY)
    site.result(site.add("Select", [below[0], below[1], inner], _NUMPY))


def _shrunk(
    site: OpenvinoSite, x: Tensor, bound: Tensor, bias: float, comparison: str, operation: str
) -> tuple[Tensor, Tensor]:
    """Where x lies beyond a bound, and what it becomes there."""
    is_beyond = site.add(comparison, [x, bound], _NUMPY)
    return is_beyond, site.add(operation, [x, scalar_like(site, bias)], _NUMPY) if bias else x


ROWS: tuple[Row, ...] = (
    *both(
        "Relu",
        "ReLU-1",
        same_to_openvino("ReLU-1"),
        _relu_to_onnx,
        limits="OpenVINO's CPU gives 0 for NaN, and computes integers in float32. Wide integers become Max.",
    ),
    *pair("Sigmoid", "Sigmoid-1", tolerance=APPROXIMATE),
    *pair("Tanh", "Tanh-1", tolerance=APPROXIMATE),
    *pair("Softplus", "SoftPlus-4", tolerance=APPROXIMATE),
    *pair("Softsign", "SoftSign-9", tolerance=APPROXIMATE),
    *pair("Elu", "Elu-1", "alpha:number", tolerance=APPROXIMATE),
    *both(
        "Selu",
        "Selu-1",
        _selu_to_openvino,
        _selu_to_onnx,
        tolerance=APPROXIMATE,
        limits="The inputs alpha and lambda of Selu must be constant, and none of them 0 on the way to OpenVINO.",
    ),
    *both(
        "HardSigmoid",
        "HardSigmoid-1",
        _hard_sigmoid_to_openvino,
        _hard_sigmoid_to_onnx,
        tolerance=APPROXIMATE,
        limits="The inputs alpha and beta of HardSigmoid must be constant.",
    ),
    *from_openvino("HSigmoid-5", "HardSigmoid", _h_sigmoid_to_onnx, tolerance=APPROXIMATE),
    *both("HardSwish", "HSwish-4", _hard_swish_to_openvino, _h_swish_to_onnx, tolerance=APPROXIMATE),
    *both(
        "Swish", "Swish-4", _swish_to_openvino, _swish_to_onnx, tolerance=APPROXIMATE, limits="Becomes Sigmoid and Mul."
    ),
    *both(
        "Mish",
        "Mish-4",
        same_to_openvino("Mish-4"),
        _mish_to_onnx,
        tolerance=APPROXIMATE,
        limits="Becomes Softplus, Tanh and Mul below operator set 18.",
    ),
    *both(
        "Gelu",
        "Gelu-2",
        _gelu_to_openvino,
        _gelu_to_onnx,
        tolerance=APPROXIMATE,
        limits="Becomes its formula below operator set 20.",
    ),
    *from_onnx("ThresholdedRelu", "Select-1", _thresholded_relu_to_openvino, limits="Becomes Greater and Select."),
    *from_onnx(
        "Celu",
        "Elu-1",
        _celu_to_openvino,
        tolerance=APPROXIMATE,
        limits="Becomes Elu, with Divide, Greater and Select where alpha is not 1. No negative alpha.",
    ),
    *from_onnx(
        "Shrink",
        "Select-1",
        _shrink_to_openvino,
        limits="Becomes Less, Greater and Select. Unsigned integers are refused, and fractions added to integers.",
    ),
)
