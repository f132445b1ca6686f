"""fuse-max in OpenVINO IR: Maximum stays binary; results stay the same bits.

Where neither operand is greater (NaN, both zeros), OpenVINO's CPU gives the second one. It does not on every processor,
so OpenVINO itself is only asked about numbers, and the rule is applied here.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import pytest
from openvino import opset1

from maxfold.optimizer import load, optimize
from tests.passes.ir import constant, parameter, results_of, rewritten, types_of, write

SPECIAL = np.array([np.nan, -0.0, 0.0, np.inf, -np.inf, 1.5, -2.5, 65504.0], np.float32)


def values(seed: int) -> Any:
    """Ordinary and special values in an order of its own."""
    random = np.random.default_rng(seed)
    return random.permutation(np.concatenate([SPECIAL, random.standard_normal(8).astype(np.float32)]))


def by_rule(path: Path, inputs: Sequence[Any]) -> list[Any]:
    """The results of a model of Maximum and Relu (of which 0 is the second operand), by the rule above."""
    model = openvino.Core().read_model(path)
    known = dict(zip((item.get_friendly_name() for item in model.get_parameters()), inputs, strict=True))
    results = []
    for node in model.get_ordered_ops():
        kind, name = node.get_type_name(), node.get_friendly_name()
        operands = [known[port.get_node().get_friendly_name()] for port in node.input_values()]
        if kind == "Constant":
            known[name] = node.data
        elif kind == "Result":
            results += operands
        elif kind != "Parameter":
            first, second = operands if kind == "Maximum" else (*operands, np.float32(0))
            known[name] = np.where(first > second, first, second)
    return results


def check_same(path: Path, target: Path, count: int) -> None:
    """Both files give the same bits: by the rule for all values, in OpenVINO for numbers."""
    for seed in range(4):
        special = [values(seed * 10 + index) for index in range(count)]
        numbers = [np.where(np.isnan(array), np.float32(2), array) for array in special]
        for run, inputs in ((by_rule, special), (by_rule, numbers), (results_of, numbers)):
            for before, after in zip(run(path, inputs), run(target, inputs), strict=True):
                np.testing.assert_array_equal(before.view(np.uint32), after.view(np.uint32))


@pytest.mark.parametrize("first", [True, False], ids=["constants first", "constants second"])
def test_constants_merge(tmp_path: Path, first: bool) -> None:
    x = parameter("x", [16])

    def maximum(operand: Any, number: float) -> Any:
        pair = (constant([number]), operand) if first else (operand, constant([number]))
        return opset1.maximum(*pair)

    path = write(tmp_path / "m.xml", [maximum(maximum(maximum(x, 1.0), 3.0), 2.0)], [x])
    target, report, model = rewritten(path)
    assert types_of(target) == ["Maximum"]
    assert [constant.values.tolist() for constant in model.constants()] == [[3.0]]
    assert report.nodes_before - report.nodes_after == 2
    check_same(path, target, 1)


@pytest.mark.parametrize("shape", ["inner first", "inner second", "outer first", "the same twice"])
def test_repeated_operands_go(tmp_path: Path, shape: str) -> None:
    x, y = parameter("x", [16]), parameter("y", [16])
    inner = opset1.maximum(x, y)
    made = {
        "inner first": lambda: opset1.maximum(inner, y),
        "inner second": lambda: opset1.maximum(y, inner),
        "outer first": lambda: opset1.maximum(x, inner),
        "the same twice": lambda: opset1.maximum(inner, inner),
    }[shape]()
    path = write(tmp_path / "m.xml", [opset1.relu(made)], [x, y])
    target, _, _ = rewritten(path)
    assert types_of(target) == ["Maximum", "Relu"]
    check_same(path, target, 2)


def test_a_repeated_first_operand_stays(tmp_path: Path) -> None:
    x, y = parameter("x", [16]), parameter("y", [16])
    path = write(tmp_path / "m.xml", [opset1.relu(opset1.maximum(opset1.maximum(x, y), x))], [x, y])
    target, report, _ = rewritten(path)
    assert types_of(target) == ["Maximum", "Maximum", "Relu"]
    assert not report.changed
    check_same(path, target, 2)


REASONS = {
    "sides": "where x is NaN, OpenVINO gives another operand if the constants change sides",
    "nan": "OpenVINO's CPU and its folding give different operands where one is NaN",
    "zeros": "OpenVINO's CPU and its folding give different zeros where +0 and -0 meet",
    "used": "has 2 uses",
    "larger": "would be larger merged than they are apart",
}


@pytest.mark.parametrize("name", REASONS)
def test_declines(tmp_path: Path, name: str) -> None:
    x = parameter("x", [16, 1])
    first, second = constant([1.0]), constant([2.0])
    if name == "nan":
        second = constant([np.nan])
    if name == "zeros":
        first, second = constant([0.0]), constant([-0.0])
    if name == "larger":
        first, second = constant([[1.0], [2.0]] * 8), constant([[1.0, 2.0, 3.0, 4.0]])
    inner = opset1.maximum(x, first)
    outer = opset1.maximum(second, inner) if name == "sides" else opset1.maximum(inner, second)
    results = [outer, inner] if name == "used" else [outer]
    path = write(tmp_path / "m.xml", [opset1.relu(item) for item in results], [x])
    model = load(path)
    report = optimize(model)
    assert not report.changed
    assert any(REASONS[name] in decline.reason for decline in report.declines), report.declines


def test_a_second_run_changes_nothing(tmp_path: Path) -> None:
    x = parameter("x", [16])
    node = x
    for number in range(6):
        node = opset1.maximum(node, constant([float(number)]))
    target, _, _ = rewritten(write(tmp_path / "m.xml", [node], [x]))
    before = target.read_bytes(), target.with_suffix(".bin").read_bytes()
    again, report, _ = rewritten(target)
    assert not report.changed
    assert (again.read_bytes(), again.with_suffix(".bin").read_bytes()) == before
