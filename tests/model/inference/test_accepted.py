"""Nodes that are accepted without asking onnx: onnx accepts them too."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, defs, helper, numpy_helper

from maxfold.model import read_onnx
from maxfold.model.inference import Inference, accepted, fallback
from maxfold.model.inference.call import Call
from maxfold.model.inference.strictness import STRICT
from maxfold.model.view import View
from tests.text import model

_FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.INT64)
_INTEGERS = (TensorProto.INT64, TensorProto.INT32, TensorProto.FLOAT)
# The plain form: the types and the ranks of the inputs, how many results there may be, and operator sets.
_FORMS: dict[str, tuple[list[tuple[int, int]], int, tuple[int, ...]]] = {
    "CumSum": ([(1, 2), (7, 0)], 1, (11, 14)),
    "GRU": ([(1, 3), (1, 3), (1, 3), (1, 2), (6, 1), (1, 3)], 2, (1, 3, 7, 14, 22)),
    "GatherND": ([(1, 3), (7, 2)], 1, (11, 12, 13)),
    "LSTM": ([(1, 3), (1, 3), (1, 3), (1, 2), (6, 1), (1, 3), (1, 3), (1, 2)], 3, (1, 7, 14, 22)),
    "RNN": ([(1, 3), (1, 3), (1, 3), (1, 2), (6, 1), (1, 3)], 2, (1, 7, 14, 22)),
    "TopK": ([(1, 2), (7, 1)], 2, (1, 10, 11, 24)),
    "Trilu": ([(1, 2), (7, 0)], 1, (14,)),
}
_ATTRIBUTES: dict[str, Callable[[random.Random], Any]] = {
    "axis": lambda draw: draw.choice([-3, -1, 0, 1, 2, 1.5]),
    "batch_dims": lambda draw: draw.choice([0, 0, 1, 2, -1]),
    "direction": lambda draw: draw.choice(["forward", "reverse", "bidirectional", "sideways", 1]),
    "hidden_size": lambda draw: draw.choice([3, 3, 0, -1, "3"]),
    "k": lambda draw: draw.choice([1, 9]),
    "layout": lambda draw: draw.choice([0, 1, 2]),
    "upper": lambda draw: draw.choice([0, 1]),
}


def _drawn(operator: str, seed: int) -> ModelProto:
    """A node of an operator, often of its plain form."""
    draw = random.Random(seed)
    forms, results, opsets = _FORMS[operator]
    inputs, names, constants = [], [], []
    count = draw.randint(len(forms) - 1, len(forms) + 1) if draw.random() < 0.3 else len(forms)
    for index in range(count):
        kind, rank = forms[min(index, len(forms) - 1)]
        if draw.random() < 0.1:
            kind = draw.choice(_FLOATS if kind == TensorProto.FLOAT else _INTEGERS)
        rank += draw.choice([-1, 1, 2]) if draw.random() < 0.15 else 0
        name = f"i{index}"
        if index and draw.random() < 0.1:
            names.append("")
            continue
        names.append(name)
        shape: list[int | str] | None = [draw.choice([1, 2, 3, "N"]) for _ in range(max(0, rank))]
        if kind == TensorProto.INT64 and index and draw.random() < 0.7:
            size = [1 if item == "N" else int(item) for item in shape or []]
            values = np.array(draw.choices([0, 1, 2, 5, -1], k=int(np.prod(size)))).reshape(size).astype(np.int64)
            constants.append(numpy_helper.from_array(values, name))
            continue
        inputs.append(helper.make_tensor_value_info(name, kind, None if draw.random() < 0.05 else shape))
    attributes = {name: make(draw) for name, make in _ATTRIBUTES.items() if draw.random() < 0.2}
    outputs = [f"o{index}" for index in range(draw.randint(1, results))]
    node = helper.make_node(operator, names, outputs, **attributes)
    graph = helper.make_graph([node], "g", inputs, [helper.make_empty_tensor_value_info("o0")], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", draw.choice(opsets))], ir_version=10)


@pytest.mark.parametrize("operator", sorted(accepted._PLAIN))
def test_onnx_accepts_what_is_accepted(operator: str) -> None:
    seen: Counter[tuple[bool, bool]] = Counter()
    for seed in range(600):
        loaded = read_onnx(_drawn(operator, seed).SerializeToString())
        (node,) = loaded.graph.nodes
        known = Inference(View(loaded))
        for tensor in node.inputs:
            known.fact(tensor)
        version = known._version(node, "")
        if version is None:
            continue
        call = Call(known, node, version)
        is_accepted, reason = accepted.is_accepted(call), fallback.refusal(call, "")
        assert not is_accepted or reason is None, (seed, node, reason)
        seen[is_accepted, reason is None] += 1
    # Not of one kind alone: the checks say yes, and no, and are not much stricter than they need to be.
    assert seen[True, True] > 60
    assert seen[False, True] + seen[False, False] > 40


def test_a_plain_lstm_needs_no_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    """The schemas of all operators take 7 MB as soon as one is asked for."""
    source = model(
        "g (float[S,B,4] x) => (float[S,1,B,3] y) { y = LSTM<hidden_size = 3>(x, w, r) }",
        constants={"w": np.zeros((1, 12, 4), np.float32), "r": np.zeros((1, 12, 3), np.float32)},
    )
    loaded = read_onnx(source.SerializeToString())
    (node,) = loaded.graph.nodes
    monkeypatch.setattr(fallback, "refusal", lambda *_: pytest.fail("onnx is asked"))
    assert STRICT["LSTM"](Inference(View(loaded)), node) is None


def test_onnx_is_not_asked_for_operators_of_other_domains(monkeypatch: pytest.MonkeyPatch) -> None:
    source = model("g (float[2] x) => (float[2] y) { y = com.example.Thing(x) }", domains='"com.example" : 1')
    loaded = read_onnx(source.SerializeToString())
    (node,) = loaded.graph.nodes
    monkeypatch.setattr(defs, "get_schema", lambda *_: pytest.fail("onnx is asked"))
    known = Inference(View(loaded))
    assert known.fact(node.outputs[0]).dims is None
    assert known.refusal(node) is None
