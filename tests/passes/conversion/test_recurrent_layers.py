"""Sequences and cells of LSTM, GRU and RNN from OpenVINO to ONNX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino
import openvino.opset1 as first
import openvino.opset5 as ov
import pytest
from openvino.op import Parameter, Result

from maxfold.model import ModelError
from maxfold.optimizer import load, save
from maxfold.optimizer.api import convert
from tests.passes.conversion import harness, judged
from tests.passes.conversion.judged import assert_refused_in_onnx, assert_same_in_onnx, floats

BATCH, LENGTH, SIZE, HIDDEN = 3, 5, 4, 2
GATES = {"lstm": 4, "gru": 3, "rnn": 1}
SEQUENCES = {"lstm": "LSTMSequence", "gru": "GRUSequence", "rnn": "RNNSequence"}
CELLS = {"lstm": "LSTMCell", "gru": "GRUCell", "rnn": "RNNCell"}
ACTIVATIONS = {
    "lstm": (["sigmoid", "tanh", "tanh"], ["sigmoid", "relu", "tanh"]),
    "gru": (["sigmoid", "tanh"], ["sigmoid", "relu"]),
    "rnn": (["tanh"], ["relu"]),
}


def placed(value: Any, *, is_constant: bool, is_dynamic: bool = False) -> Any:
    if is_constant:
        return ov.constant(value)
    shape = [-1] * value.ndim if is_dynamic else list(value.shape)
    return Parameter(openvino.Type(value.dtype), openvino.PartialShape(shape))


def operands(kind: str, directions: int, *, is_split: bool = False) -> list[Any]:
    """Data, states, lengths, weights and bias of a sequence."""
    gates = GATES[kind]
    states = [floats(BATCH, directions, HIDDEN, seed=seed) for seed in range(2 if kind == "lstm" else 1)]
    return [
        floats(BATCH, LENGTH, SIZE), *states, np.array([LENGTH, 2, 3], np.int32),
        floats(directions, gates * HIDDEN, SIZE, seed=3), floats(directions, gates * HIDDEN, HIDDEN, seed=4),
        floats(directions, (gates + is_split) * HIDDEN, seed=5),
    ]  # fmt: skip


def sequence(kind: str, inputs: list[Any], direction: str, activations: list[str], **more: Any) -> Any:
    make = getattr(ov, f"{kind}_sequence")
    return make(*inputs, HIDDEN, direction, activations=activations, **more)


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("form", ["constant", "dynamic", "bounded", "relu"])
def test_sequences(kind: str, direction: str, form: str, tmp_path: Path) -> None:
    values = operands(kind, 2 if direction == "bidirectional" else 1)
    is_constant, is_dynamic = form != "dynamic", form == "dynamic"
    nodes = [
        placed(value, is_constant=is_constant and index >= len(values) - 3, is_dynamic=is_dynamic and index == 0)
        for index, value in enumerate(values)
    ]
    made = sequence(
        kind, nodes, direction, ACTIVATIONS[kind][form == "relu"], **({"clip": 0.4} if form == "bounded" else {})
    )
    assert made.get_type_name() == SEQUENCES[kind]
    parameters = [node for node in nodes if isinstance(node, Parameter)]
    given = [value for node, value in zip(nodes, values, strict=True) if isinstance(node, Parameter)]
    results = [Result(output) for output in made.outputs()]
    model = assert_same_in_onnx(results, parameters, given, tmp_path, rtol=1e-5, atol=1e-6)
    operators = [node.op_type for node in model.graph.node]
    assert operators.count(kind.upper()) == 1
    assert not set(operators) - {kind.upper(), "Transpose", "Identity", "Split", "Concat"}


@pytest.mark.parametrize("is_constant", [False, True])
def test_a_gate_that_is_reset_later(is_constant: bool, tmp_path: Path) -> None:
    values = operands("gru", 1, is_split=True)
    nodes = [placed(value, is_constant=is_constant and index > 2) for index, value in enumerate(values)]
    made = sequence("gru", nodes, "forward", ACTIVATIONS["gru"][0], linear_before_reset=True)
    parameters = [node for node in nodes if isinstance(node, Parameter)]
    results = [Result(output) for output in made.outputs()]
    assert_same_in_onnx(results, parameters, values[: len(parameters)], tmp_path, rtol=1e-5, atol=1e-6)


def test_lengths_of_all_data_are_left_out(tmp_path: Path) -> None:
    values = operands("lstm", 1)
    x = Parameter(openvino.Type.f32, openvino.PartialShape([-1, -1, SIZE]))
    shape = ov.shape_of(x)
    length, batch = (ov.gather(shape, ov.constant([axis]), ov.constant(0)) for axis in (1, 0))
    state = ov.broadcast(ov.constant(np.float32(0.5)), ov.concat([batch, ov.constant(np.array([1, HIDDEN]))], 0))
    made = sequence("lstm", [x, state, state, ov.broadcast(length, batch), *map(ov.constant, values[4:])], "forward",
                    ACTIVATIONS["lstm"][0])  # fmt: skip
    model = assert_same_in_onnx([Result(made.output(0))], [x], values[:1], tmp_path, rtol=1e-5, atol=1e-6)
    (lstm,) = [node for node in model.graph.node if node.op_type == "LSTM"]
    assert lstm.input[4] == ""


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("form", ["constant", "computed", "bounded"])
def test_cells(kind: str, form: str, tmp_path: Path) -> None:
    sequences = operands(kind, 1)
    values = [sequences[0][:, 0], *(value[:, 0] for value in sequences[1:-4]), *(value[0] for value in sequences[-3:])]
    nodes = [
        placed(value, is_constant=form != "computed" and index >= len(values) - 3) for index, value in enumerate(values)
    ]
    make = getattr(ov, f"{kind}_cell")
    bound = 0.3 if form == "bounded" else 0.0
    made = make(*nodes, HIDDEN, ACTIVATIONS[kind][0], activations_alpha=[], activations_beta=[], clip=bound)
    assert made.get_type_name() == CELLS[kind]
    parameters = [node for node in nodes if isinstance(node, Parameter)]
    results = [Result(output) for output in made.outputs()]
    assert_same_in_onnx(results, parameters, values[: len(parameters)], tmp_path, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("kind", "activations", "reason"),
    [
        ("lstm", ["hardsigmoid", "tanh", "tanh"], "its activations hardsigmoid, tanh, tanh are not covered"),
        ("rnn", ["elu"], "its activations elu are not covered"),
    ],
)
def test_other_activations(kind: str, activations: list[str], reason: str, tmp_path: Path) -> None:
    values = operands(kind, 1)
    nodes = [placed(value, is_constant=index > 0) for index, value in enumerate(values)]
    made = sequence(kind, nodes, "forward", activations)
    assert_refused_in_onnx([Result(made.output(0))], [nodes[0]], tmp_path, reason)


@pytest.mark.parametrize("gates", ["fico", None, "icof", "ifco"])
def test_cells_of_the_first_version(gates: str | None, tmp_path: Path) -> None:
    """They say in which order their gates are, at which OpenVINO does not look."""
    x, *states = (value[:, 0] for value in operands("lstm", 1)[:3])
    weights = [value[0] for value in operands("lstm", 1)[4:]]
    values = [x, *states, *weights]
    nodes = [placed(value, is_constant=index > 0) for index, value in enumerate(values)]
    made = first.lstm_cell(*nodes, HIDDEN)
    openvino.serialize(openvino.Model([made.output(0)], [nodes[0]]), tmp_path / "cell.xml")
    text = (tmp_path / "cell.xml").read_text()
    text = text.replace('weights_format="fico"', "" if gates is None else f'weights_format="{gates}"')
    (tmp_path / "cell.xml").write_text(text)
    if gates not in ("fico", None):
        with pytest.raises(ModelError, match=f"its gates are in the order '{gates}'"):
            convert(load(tmp_path / "cell.xml"), to="onnx")
        return
    save(convert(load(tmp_path / "cell.xml"), to="onnx"), tmp_path / "cell.onnx")
    expected = harness.run_openvino(tmp_path / "cell.xml", values[:1])
    harness.assert_close(harness.run_onnx(tmp_path / "cell.onnx", values[:1]), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("operator", ["LSTM", "GRU", "RNN"])
def test_there_and_back(operator: str, tmp_path: Path) -> None:
    for case in harness.cases_of(operator):
        if "peephole" in case.name:
            continue
        judged.judge("round", case, tmp_path, refused={}, limited={}, rtol=1e-5, atol=1e-6)
