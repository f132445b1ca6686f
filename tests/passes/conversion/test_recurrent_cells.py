"""LSTM, GRU and RNN in elementwise operations: what OpenVINO's sequences lack."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from tests.passes.conversion import harness
from tests.passes.conversion.judged import assert_refused_in_openvino, assert_same_in_openvino, floats
from tests.passes.conversion.test_recurrent import ATOL, HIDDEN, KINDS, RTOL, cell

COUNTS = {"LSTM": 3, "GRU": 2, "RNN": 1}
ALL = ("b", "lengths", "h", "c")
FUNCTIONS: list[tuple[str, list[float], list[float]]] = [
    ("Elu", [], []), ("Elu", [0.4], []), ("LeakyRelu", [0.3], []), ("ThresholdedRelu", [0.2], []),
    ("LeakyRelu", [], []),
    ("ScaledTanh", [0.7], [0.8]), ("HardSigmoid", [], []), ("HardSigmoid", [0.4], [0.3]), ("Softsign", [], []),
    ("Softplus", [], []), ("Affine", [0.5], [0.1]),
]  # fmt: skip


def peeping(model: onnx.ModelProto, *, directions: int) -> onnx.ModelProto:
    """An LSTM whose gates see its memory."""
    node = model.graph.node[0]
    node.input.extend([""] * (7 - len(node.input)))
    node.input.append("p")
    model.graph.initializer.append(onnx.numpy_helper.from_array(floats(directions, 3 * HIDDEN, seed=9) / 2, "p"))
    return model


@pytest.mark.parametrize("op", KINDS)
@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize(("name", "alphas", "betas"), FUNCTIONS)
def test_activations(op: str, place: int, name: str, alphas: list[float], betas: list[float], tmp_path: Path) -> None:
    count = COUNTS[op]
    if place >= count:
        return
    names = ["Sigmoid", "Tanh", "Tanh"][:count]
    names[place] = name
    more: dict[str, Any] = {"activations": names}
    more |= {f"activation_{key}": values for key, values in (("alpha", alphas), ("beta", betas)) if values}
    model, inputs = cell(op, given=ALL, dynamic=("x", *ALL[1:]), **more)
    assert_same_in_openvino(model, inputs, tmp_path, rtol=RTOL, atol=ATOL)


@pytest.mark.parametrize("op", KINDS)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("given", [(), ("b",), ("b", "lengths"), ("h", "c"), ALL])
@pytest.mark.parametrize("dynamic", [(), ("x", "lengths", "h", "c")])
@pytest.mark.parametrize("clip", [0.0, 0.5])
def test_inputs(
    op: str, direction: str, given: Sequence[str], dynamic: Sequence[str], clip: float, tmp_path: Path
) -> None:
    more: dict[str, Any] = {"clip": clip} if clip else {}
    directions = 2 if direction == "bidirectional" else 1
    more["activations"] = ["Softsign", "Elu", "Tanh"][: COUNTS[op]] * directions
    model, inputs = cell(op, direction=direction, given=given, dynamic=dynamic, **more)
    assert_same_in_openvino(model, inputs, tmp_path, rtol=RTOL, atol=ATOL)


@pytest.mark.parametrize("op", KINDS)
@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("name", ["Softsign", "Elu", "Softplus", "HardSigmoid"])
@pytest.mark.parametrize("batch", [1, 3])
def test_no_state_is_lost(op: str, place: int, name: str, batch: int, tmp_path: Path) -> None:
    """Where OpenVINO's CPU computes in place what it can."""
    if place >= COUNTS[op]:
        return
    names = ["Sigmoid", "Tanh", "Tanh"][: COUNTS[op]]
    names[place] = name
    model, inputs = cell(op, size=(6, batch), activations=names)
    assert_same_in_openvino(model, inputs, tmp_path, rtol=RTOL, atol=ATOL)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("given", [(), ("b", "lengths"), ALL])
@pytest.mark.parametrize("dynamic", [(), ("x", "lengths", "h", "c")])
@pytest.mark.parametrize("attributes", [{}, {"input_forget": 1}, {"clip": 0.4}])
def test_peepholes(
    direction: str, given: Sequence[str], dynamic: Sequence[str], attributes: dict[str, Any], tmp_path: Path
) -> None:
    model, inputs = cell("LSTM", direction=direction, given=given, dynamic=dynamic, **attributes)
    peeping(model, directions=2 if direction == "bidirectional" else 1)
    assert_same_in_openvino(model, inputs, tmp_path, rtol=RTOL, atol=ATOL)


@pytest.mark.parametrize("given", [(), ALL])
@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
def test_coupled_gates(given: Sequence[str], direction: str, tmp_path: Path) -> None:
    model, inputs = cell("LSTM", direction=direction, given=given, input_forget=1)
    assert_same_in_openvino(model, inputs, tmp_path, rtol=RTOL, atol=ATOL)


@pytest.mark.parametrize("given", [(), ("b",), ALL])
@pytest.mark.parametrize("dynamic", [(), ("x", "lengths", "h", "c")])
def test_reset_after_the_product(given: Sequence[str], dynamic: Sequence[str], tmp_path: Path) -> None:
    model, inputs = cell("GRU", given=given, dynamic=dynamic, activations=["Sigmoid", "Elu"], linear_before_reset=1)
    assert_same_in_openvino(model, inputs, tmp_path, rtol=RTOL, atol=ATOL)


@pytest.mark.parametrize("op", KINDS)
def test_directions_with_functions_of_their_own(op: str, tmp_path: Path) -> None:
    count = COUNTS[op]
    names = [*["Sigmoid", "Tanh", "Tanh"][:count], *["HardSigmoid", "Relu", "LeakyRelu"][:count]]
    model, inputs = cell(op, direction="bidirectional", given=ALL, activations=names, activation_alpha=[0.3])
    assert_same_in_openvino(model, inputs, tmp_path, rtol=RTOL, atol=ATOL)


@pytest.mark.parametrize("constants", [(), ("r",)])
def test_weights_computed_at_run_time(constants: Sequence[str], tmp_path: Path) -> None:
    model, inputs = cell("LSTM", given=("b",), constants=constants, input_forget=1, direction="bidirectional")
    assert_same_in_openvino(model, inputs, tmp_path, rtol=RTOL, atol=ATOL)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float16, 5e-3), (np.float64, 1e-5)])
def test_element_types(dtype: Any, tolerance: float, tmp_path: Path) -> None:
    plain, inputs = cell("LSTM", given=ALL, input_forget=1)
    onnx.save(plain, tmp_path / "plain.onnx")
    expected = harness.run_onnx(tmp_path / "plain.onnx", inputs)
    model, inputs = cell("LSTM", given=ALL, input_forget=1, dtype=dtype)
    assert_same_in_openvino(model, inputs, tmp_path, expected=expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", ["Affine", "ScaledTanh"])
def test_parameters_without_a_default_are_refused(name: str, tmp_path: Path) -> None:
    model, _ = cell("RNN", activations=[name], activation_alpha=[0.5])
    assert_refused_in_openvino(model, tmp_path, f"its activation '{name.lower()}' has no default")


def test_activations_that_do_not_exist_are_refused(tmp_path: Path) -> None:
    model, _ = cell("RNN", activations=["Swish"])
    assert_refused_in_openvino(model, tmp_path, "its activation 'swish' does not exist")
