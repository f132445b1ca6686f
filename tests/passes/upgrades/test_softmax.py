"""Softmax, LogSoftmax and Hardmax before version 13 see a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from tests.passes.upgrades.running import (
    assert_exact,
    attributes_of,
    newest_runnable,
    node_model,
    operators,
    random_array,
    refusal,
    upgraded,
)
from tests.run import Array

X = random_array(2, 3, 4, 5)

FAMILY = ("Softmax", "LogSoftmax", "Hardmax")


def source(operator: str, data: Array, opset: int = 11, *, dynamic: bool = False, **attributes: Any) -> ModelProto:
    return node_model(operator, {"x": data}, opset, dynamic=dynamic, **attributes)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("axis", [None, 0, 1, 2, 3, -1, -2, -4])
@pytest.mark.parametrize("operator", FAMILY)
def test_every_axis(operator: str, axis: int | None, dynamic: bool) -> None:
    attributes = {} if axis is None else {"axis": axis}
    targets = (14, 17, newest_runnable()) if dynamic else (13, 14, newest_runnable())
    assert_exact(source(operator, X, dynamic=dynamic, **attributes), {"x": X}, targets)


@pytest.mark.parametrize("opset", [7, 10])
@pytest.mark.parametrize("operator", FAMILY)
def test_older_versions(operator: str, opset: int) -> None:
    for data in (X, random_array(3, 7), random_array(2, 500, 1, 1)):
        assert_exact(source(operator, data, opset), {"x": data}, (11, 13, newest_runnable()))


def test_ties_and_extremes() -> None:
    data = np.array([[[1, 1], [1, 0]], [[np.inf, 1], [-np.inf, 3e38]]], np.float32)
    for operator in FAMILY:
        assert_exact(source(operator, data), {"x": data}, (13,))


@pytest.mark.parametrize("shape", [(2, 0, 3), (2, 3, 0), (0, 2, 3)])
@pytest.mark.parametrize("dynamic", [False, True])
def test_empty_tensors(shape: tuple[int, ...], dynamic: bool) -> None:
    data = np.zeros(shape, np.float32)
    assert_exact(source("Softmax", data, dynamic=dynamic), {"x": data}, (14, 17))


def test_one_axis_needs_no_matrix() -> None:
    for data, axis in ((random_array(2, 3), 1), (random_array(2, 3, 4), 2), (random_array(2, 3, 1, 1), 1)):
        after = upgraded(source("Softmax", data, axis=axis), 13)
        assert operators(after) == ["Softmax"]
        assert attributes_of(after, "Softmax") == {"axis": axis}
    after = upgraded(source("Softmax", random_array(2, 3), 7), 13)
    assert attributes_of(after, "Softmax") == {"axis": 1}


def test_the_matrix() -> None:
    assert operators(upgraded(source("Softmax", X, axis=2), 13)) == ["Flatten", "Softmax", "Reshape"]
    after = upgraded(source("Softmax", X, dynamic=True, axis=2), 14)
    assert operators(after) == ["Flatten", "Softmax", "Shape", "Reshape"]
    assert attributes_of(after, "Softmax") == {"axis": -1}
    assert attributes_of(after, "Flatten") == {"axis": 2}
    assert attributes_of(after, "Reshape") == {"allowzero": 1}


def test_an_unknown_rank() -> None:
    model = source("Softmax", X, axis=2)
    for info in (*model.graph.input, *model.graph.output):
        info.type.tensor_type.ClearField("shape")
    assert "takes opset 14" in refusal(model, 13)
    assert operators(upgraded(model, 14, check=False)) == ["Flatten", "Softmax", "Shape", "Reshape"]
    model.graph.node[0].attribute[0].i = -1
    assert operators(upgraded(model, 13, check=False)) == ["Softmax"]


def test_refusals() -> None:
    assert "takes opset 14 or newer" in refusal(source("Softmax", X, dynamic=True), 13)
    assert "axis 4 is outside its input of rank 4" in refusal(source("Softmax", X, axis=4), 13)
