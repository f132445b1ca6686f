"""The configurations in which models are run to compare them give right results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino
import pytest
from openvino import opset13

from maxfold.optimizer.runtimes import open_runtime

STEP = 0.125


@pytest.mark.parametrize("channels", [(), (4,)])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("levels", [2, 4, 16, 25, 26, 32, 255, 256])
def test_quantization_behind_a_scale_and_a_shift(levels: int, dtype: Any, channels: Any, tmp_path: Path) -> None:
    random = np.random.default_rng(levels)
    # All values are whole steps, so that nothing is rounded and no order of operations matters.
    x = random.integers(-40, 41, (1, 4, 5, 5)).astype(np.float32) * np.float32(STEP)
    scale = random.choice([1, 2, 4], (1, *(channels or (1,)), 1, 1)).astype(dtype)
    shift = random.integers(-9, 10, scale.shape).astype(dtype) * dtype(STEP)
    low = -(levels // 2) * STEP
    high = low + (levels - 1) * STEP
    data = opset13.parameter([1, 4, 5, 5], np.float32)
    converted = opset13.convert(data, np.dtype(dtype).name.replace("float", "f"))
    scaled = opset13.multiply(converted, opset13.constant(scale))
    bounds = [opset13.constant(np.full((1, 1, 1, 1), bound, dtype)) for bound in (low, high)]
    quantized = opset13.fake_quantize(opset13.add(scaled, opset13.constant(shift)), *bounds, *bounds, levels)
    openvino.serialize(openvino.Model([opset13.convert(quantized, "f32")], [data]), tmp_path / "m.xml")
    expected = np.clip(x * scale.astype(np.float32) + shift.astype(np.float32), low, high)
    np.testing.assert_array_equal(open_runtime(tmp_path / "m.xml").run([x])[0], expected)


def test_each_run_is_the_first_of_what_was_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Later runs of one compiled model are not always right in OpenVINO, and begin with the state that earlier left."""
    compiled: list[Any] = []
    used: list[Any] = []

    def compile_model(core: Any, *arguments: Any) -> Any:
        compiled.append(original(core, *arguments))
        return compiled[-1]

    def create_infer_request(model: Any) -> Any:
        used.append(model)
        return create(model)

    original, create = openvino.Core.compile_model, openvino.CompiledModel.create_infer_request
    monkeypatch.setattr(openvino.Core, "compile_model", compile_model)
    monkeypatch.setattr(openvino.CompiledModel, "create_infer_request", create_infer_request)
    data = opset13.parameter([2], np.float32)
    openvino.serialize(openvino.Model([opset13.negative(data)], [data]), tmp_path / "m.xml")
    model = open_runtime(tmp_path / "m.xml")
    x = np.array([1, -2], np.float32)
    for _ in range(3):
        np.testing.assert_array_equal(model.run([x])[0], -x)
    assert len(compiled) == 3
    assert [any(one is other for other in used) for one in compiled] == [True] * 3
