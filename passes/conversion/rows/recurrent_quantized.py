"""DynamicQuantizeLSTM of ONNX Runtime: an LSTM with weights of 8 bits, whose data and states are rounded to 8 bits, the
data once and the state in every step, each over its own range.

Source: ONNX Runtime 1.24 and its documentation of `com.microsoft`. It gives each of its threads some rows, of which the
states have a range of their own; here all rows have one, as with one thread.
"""

from __future__ import annotations

import numpy as np

from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.parts.quantized import byte_steps
from maxfold.passes.conversion.parts.recurrent_activations import activations_of
from maxfold.passes.conversion.parts.recurrent_cells import LSTM, Fixed, Weights, composed, with_peepholes
from maxfold.passes.conversion.parts.recurrent_inputs import Layout, R, W, X, layout_of
from maxfold.passes.conversion.parts.recurrent_steps import NUMPY, Step, along, product
from maxfold.passes.conversion.row import Row, from_onnx
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite

_GATES = 4
# Of each of the weights: its scale, and behind that its zero point.
_SCALES = {W: 8, R: 10}


def _to_openvino(site: OpenvinoSite) -> None:
    functions = activations_of(site, ("sigmoid", "tanh", "tanh"), layout_of(site).directions)
    weights_of = with_peepholes(_weights)
    site.result(*composed(site, LSTM, layout_of(site), functions, weights_of))


def _weights(site: OpenvinoSite, layout: Layout, place: int) -> Weights:
    """Products of integers, which f32 holds as exactly as it needs, times both scales."""
    centred, scale = _rounded(site, site.input(X), 3)
    data = product(site, centred, _integers(site, W, place), is_transposed=False)
    data = site.add("Multiply", [data, site.add("Multiply", [scale, _scale(site, W, place)], NUMPY)], NUMPY)
    width = _GATES * layout.hidden
    scales = _scale(site, R, place)

    def times(step: Step, state: Tensor) -> Tensor:
        rounded, step_scale = _rounded(step.site, state, 2)
        result = product(step.site, rounded, step.fixed["recurrent"], is_transposed=False)
        return step.add("Multiply", result, step.add("Multiply", step_scale, step.fixed["scales"]))

    shape = (width,) if len(site.shape(_SCALES[R]) or ()) > 1 else ()
    fixed: Fixed = {"recurrent": (_integers(site, R, place), (layout.hidden, width)), "scales": (scales, shape)}
    return Weights(data, times, fixed)


def _rounded(site: OpenvinoSite, x: Tensor, rank: int) -> tuple[Tensor, Tensor]:
    """A tensor in steps of a 255th of its range, which has 0 in it, and the length of a step."""
    zero = site.constant(0, np.float32)
    axes = site.constant(list(range(rank)), "int64")
    low, high = (
        site.add(choose, [site.add(reduce, [x, axes], {"keep_dims": False}), zero], NUMPY)
        for reduce, choose in (("ReduceMin", "Minimum"), ("ReduceMax", "Maximum"))
    )
    width = site.add("Subtract", [high, low], NUMPY)
    step = byte_steps(site, width)
    is_flat = site.add("Equal", [width, zero], NUMPY)
    step = site.add("Select", [is_flat, site.constant(1, np.float32), step], NUMPY)
    # How many steps the lowest is below 0.
    below = _whole(site, site.add("Divide", [site.add("Subtract", [zero, low], NUMPY), step], NUMPY))
    counted = site.add("Add", [_whole(site, site.add("Divide", [x, step], NUMPY)), below], NUMPY)
    held = site.add("Clamp", [counted], {"min": 0.0, "max": 255.0})
    return site.add("Subtract", [held, below], NUMPY), step


def _whole(site: OpenvinoSite, x: Tensor) -> Tensor:
    made: Tensor = site.add("Round", [x], {"mode": "half_to_even"}, opset=5)
    return made


def _integers(site: OpenvinoSite, index: int, place: int) -> Tensor:
    """The weights of a direction, [inputs, gates * hidden], less their zero points."""
    weights: Tensor = site.add("Convert", [along(site, site.input(index), place)], {"destination_type": "f32"})
    zero_point = _SCALES[index] + 1
    if not site.has_input(zero_point):
        return weights
    moved = site.add("Convert", [along(site, site.input(zero_point), place)], {"destination_type": "f32"})
    result: Tensor = site.add("Subtract", [weights, moved], NUMPY)
    return result


def _scale(site: OpenvinoSite, index: int, place: int) -> Tensor:
    if site.shape(_SCALES[index]) is None:
        raise UnsupportedError("the rank of the scale of its weights is not known")
    return along(site, site.input(_SCALES[index]), place)


ROWS: tuple[Row, ...] = from_onnx(
    "com.microsoft.DynamicQuantizeLSTM", "TensorIterator-1", _to_openvino,
    tolerance="1e-5, a step where a quotient is half-way between two",
    limits="ONNX Runtime with several threads rounds the states of some rows by ranges of their own.",
)  # fmt: skip
