"""A path where a model is wanted is refused in one line that says what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from maxfold.optimizer import convert, diff, inspect, save

CALLS: dict[str, Callable[[Any], object]] = {
    "convert": lambda given: convert(given, to="openvino"),
    "diff": lambda given: diff(given, given),
    "inspect": inspect,
    "save": lambda given: save(given, "other.onnx"),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_path_is_no_model(name: str) -> None:
    with pytest.raises(TypeError, match=rf"^{name} takes a Model, not str: load\(\) it first$"):
        CALLS[name]("m.onnx")
