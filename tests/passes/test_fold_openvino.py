"""fold-constants in OpenVINO IR: as OpenVINO folds, and only where its CPU would compute the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from openvino import opset1

from maxfold.model import ModelError
from maxfold.optimizer import load, optimize, save
from tests.passes.ir import constant, parameter, results_of, rewritten, types_of, write

DTYPES = [np.float32, np.float16, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
SHAPES = [((3,), (3,)), ((2, 3), (3,)), ((), (2, 1)), ((8, 1, 6, 1), (7, 1, 5)), ((2, 1), (1, 4))]


@pytest.mark.parametrize("operation", ["add", "maximum"])
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.__name__)
def test_every_type_and_shape(tmp_path: Path, operation: str, dtype: Any) -> None:
    random = np.random.default_rng(1)
    for index, (a_shape, b_shape) in enumerate(SHAPES):
        a, b = (random.integers(1, 60, shape).astype(dtype) for shape in (a_shape, b_shape))
        made = getattr(opset1, operation)(constant(a, dtype), constant(b, dtype))
        expected = a + b if operation == "add" else np.maximum(a, b)
        x = parameter("x", expected.shape, dtype)
        folder = tmp_path / str(index)
        folder.mkdir()
        path = write(folder / "m.xml", [opset1.add(x, made)], [x])
        target, _, model = rewritten(path)
        assert types_of(target) == ["Add"]
        folded = next(model.constants())
        np.testing.assert_array_equal(folded.values, expected, strict=True)
        zeros = np.zeros(expected.shape, dtype)
        np.testing.assert_array_equal(results_of(target, [zeros])[0], results_of(path, [zeros])[0])


def edited(path: Path, old: str, new: str) -> Path:
    """The file with one text in it replaced."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("data", "folded"),
    [
        ('auto_broadcast="none"', True),
        ('auto_broadcast="NUMPY"', True),
        ("", True),
        ('auto_broadcast="pdpd" auto_broadcast.auto_broadcast_axis="1"', True),
        ('auto_broadcast="pdpd" auto_broadcast.auto_broadcast_axis="-1"', True),
        ('auto_broadcast="pdpd"', True),
        ('auto_broadcast="sideways"', False),
        ('invented="1"', False),
    ],
)
def test_broadcast_attributes(tmp_path: Path, data: str, folded: bool) -> None:
    x = parameter("x", [2, 3])
    total = opset1.add(constant(np.ones((2, 3))), constant(np.arange(6).reshape(2, 3)))
    path = write(tmp_path / "m.xml", [opset1.subtract(x, total)], [x])
    text = path.read_text(encoding="utf-8")
    layer = text.index('type="Add"')
    start = text.index("<data", layer)
    end = text.index("/>", start) + 2
    path.write_text(text[:start] + (f"<data {data} />" if data else "") + text[end:], encoding="utf-8")
    axis_1 = 'axis="1"' in data
    report = optimize(load(path))
    assert report.changed == (folded and not axis_1)


@pytest.mark.parametrize(
    ("a_shape", "b_shape", "axis", "expected"),
    [((2, 3, 4), (3,), 1, (1, 3, 1)), ((2, 2, 2), (2,), 0, (2, 1, 1)), ((2, 3, 4), (4,), -1, (1, 1, 4))],
)
def test_pdpd_aligns_by_its_axis(
    tmp_path: Path, a_shape: Any, b_shape: Any, axis: int, expected: tuple[int, ...]
) -> None:
    a, b = np.arange(np.prod(a_shape)).reshape(a_shape), np.arange(1, np.prod(b_shape) + 1).reshape(b_shape)
    x = parameter("x", a_shape)
    aligned = constant(b.reshape(expected))
    path = write(tmp_path / "m.xml", [opset1.subtract(x, opset1.add(constant(a), aligned))], [x])
    edited(path, f'shape="{", ".join(map(str, expected))}"', f'shape="{", ".join(map(str, b_shape))}"')
    text = path.read_text(encoding="utf-8")
    place = text.index('auto_broadcast="numpy"', text.index('type="Add"'))
    pdpd = f'auto_broadcast="pdpd" auto_broadcast.auto_broadcast_axis="{axis}"'
    path.write_text(text[:place] + pdpd + text[place + len('auto_broadcast="numpy"') :], encoding="utf-8")
    target, _, model = rewritten(path)
    np.testing.assert_array_equal(next(model.constants()).values, a + b.reshape(expected))
    zeros = np.zeros(a_shape, np.float32)
    np.testing.assert_array_equal(results_of(target, [zeros])[0], results_of(path, [zeros])[0])


@pytest.mark.parametrize(
    ("operation", "dtype", "a", "b", "reason"),
    [
        ("add", np.uint8, [255], [1], "saturates 8-bit sums"),
        ("add", np.int8, [127], [1], "saturates 8-bit sums"),
        ("add", np.int64, [1 << 40], [1], "more than 31 bits"),
        ("add", np.int64, [(1 << 31) - 1], [1], "more than 31 bits"),
        ("maximum", np.uint32, [0xFFFFFFFF], [1], "more than 31 bits"),
        ("add", np.float64, [1], [2], "f64 in f32"),
        ("maximum", np.float32, [np.nan], [1], "one is NaN"),
        ("maximum", np.float32, [0.0], [-0.0], "different zeros"),
    ],
)
def test_declines_what_openvino_computes_in_two_ways(
    tmp_path: Path, operation: str, dtype: Any, a: Any, b: Any, reason: str
) -> None:
    x = parameter("x", [1], dtype)
    made = getattr(opset1, operation)(constant(a, dtype), constant(b, dtype))
    report = optimize(load(write(tmp_path / "m.xml", [opset1.multiply(x, made)], [x])))
    assert not report.changed
    assert reason in report.declines[0].reason


def test_compressed_constants_stay_compressed(tmp_path: Path) -> None:
    x = parameter("x", [4])
    half = opset1.convert(constant([1, 2, 3, 4], np.float16), "f32")
    path = write(tmp_path / "m.xml", [opset1.add(x, opset1.add(half, constant([1, 1, 1, 1])))], [x])
    target, report, model = rewritten(path)
    assert not report.changed
    assert types_of(target) == ["Add", "Add", "Convert"]
    assert "float16" in {str(constant.dtype) for constant in model.constants()}


def test_a_model_of_both_formats_is_not_mixed_up(tmp_path: Path) -> None:
    x = parameter("x", [1])
    model = load(write(tmp_path / "m.xml", [opset1.relu(x)], [x]))
    with pytest.raises(ModelError, match="convert it first"):
        save(model, tmp_path / "m.onnx")
