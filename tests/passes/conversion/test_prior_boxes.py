"""PriorBox and PriorBoxClustered to ONNX: constants of the same bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino
import openvino.opset1 as ov1
import openvino.opset8 as ov8
import pytest
from openvino.op import Parameter, Result
from openvino.utils.node_factory import NodeFactory

from maxfold.optimizer import load, save
from maxfold.optimizer.api import convert
from tests.passes.conversion import harness
from tests.passes.conversion.judged import assert_refused_in_onnx, assert_same_in_onnx

CLUSTERED = {
    "width": [9.4, 25.1, 14.7], "height": [15.0, 39.6, 25.5], "clip": False, "step": 0.0, "step_w": 16.0,
    "step_h": 8.0, "offset": 0.5, "variance": [0.1, 0.1, 0.2, 0.2],
}  # fmt: skip
PRIOR = {
    "min_size": [16.0], "max_size": [38.4], "aspect_ratio": [2.0, 3.0], "density": [], "fixed_ratio": [],
    "fixed_size": [], "clip": False, "flip": True, "step": 16.0, "offset": 0.3, "variance": [0.1, 0.1, 0.2, 0.2],
    "scale_all_sizes": True,
}  # fmt: skip


def clustered(height_and_width: Any, image: Any, data: dict[str, Any]) -> Any:
    """The operation; the function for it wants steps above 0."""
    return NodeFactory("opset1").create("PriorBoxClustered", [height_and_width, image], data)


def operands(is_static: bool = True) -> tuple[list[Any], list[Any], list[Any]]:
    """Parameters, arrays for them, and the sizes of a layer and of an image, made of shapes as real files make them."""
    shapes = [[1, 2, 3, 5], [1, 3, 48, 83]]
    parameters = [
        Parameter(openvino.Type.f32, openvino.PartialShape(shape if is_static else [-1] * 4)) for shape in shapes
    ]
    arrays = [np.zeros(shape, np.float32) for shape in shapes]
    sizes = [ov8.gather(ov8.shape_of(item), np.asarray([2, 3]), np.int64(0)) for item in parameters]
    return parameters, arrays, sizes


def check(operation: Any, data: dict[str, Any], folder: Path) -> None:
    parameters, arrays, sizes = operands()
    made = Result(operation(*sizes, data).output(0))
    assert_same_in_onnx([made], parameters, arrays, folder, rtol=0, atol=0)


@pytest.mark.parametrize("is_clipped", [False, True])
@pytest.mark.parametrize("variance", [[], [0.3], [0.1, 0.1, 0.2, 0.2]])
@pytest.mark.parametrize("name", ["PriorBox", "PriorBoxClustered"])
def test_many_boxes_take_the_room_of_a_row_and_a_column(
    name: str, variance: list[float], is_clipped: bool, tmp_path: Path
) -> None:
    data = {**(PRIOR if name == "PriorBox" else CLUSTERED), "variance": variance, "clip": is_clipped}
    sizes = [ov1.constant(np.asarray(size, np.int64)) for size in ([20, 32], [320, 517])]
    made = NodeFactory("opset1").create(name, sizes, data)
    x = Parameter(openvino.Type.f32, openvino.PartialShape([1]))
    parts = [Result(ov1.add(x, made).output(0))]
    model = assert_same_in_onnx(parts, [x], [np.zeros(1, np.float32)], tmp_path, rtol=0, atol=0)
    assert model.ByteSize() < np.prod(list(made.output(0).shape)) * 4 / 5


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"clip": True},
        {"step_w": 0.0, "step_h": 0.0},
        {"step_w": 0.0, "step_h": 0.0, "step": 16.0},
        {"step_w": 0.0},
        {"offset": 0.25},
        {"variance": []},
        {"variance": [0.3]},
        {"width": [3.0], "height": [4.0]},
    ],
    ids=str,
)
def test_clustered_boxes_are_those_of_openvino(change: dict[str, Any], tmp_path: Path) -> None:
    check(clustered, {**CLUSTERED, **change}, tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"clip": True},
        {"flip": False},
        {"step": 0.0},
        {"variance": []},
        {"variance": [0.3]},
        {"aspect_ratio": []},
        {"aspect_ratio": [1.0, 2.0, 0.5]},
        {"min_size": [16.0, 24.0], "max_size": [38.4]},
        {"min_size": [16.0, 24.0], "max_size": [38.4, 50.0]},
        {"max_size": []},
    ],
    ids=str,
)
@pytest.mark.parametrize("operation", [ov1.prior_box, ov8.prior_box], ids=["1", "8"])
def test_boxes_are_those_of_openvino(operation: Any, change: dict[str, Any], tmp_path: Path) -> None:
    check(operation, {**PRIOR, **change}, tmp_path)


def test_the_box_of_the_largest_size_may_come_last(tmp_path: Path) -> None:
    data = {**PRIOR, "min_max_aspect_ratios_order": False}
    sizes = [ov8.constant(np.asarray(size)) for size in ([3, 5], [48, 83])]
    made = ov8.prior_box(*sizes, data)
    parameter = Parameter(openvino.Type.f32, openvino.Shape([1]))
    result = Result(ov8.add(made, parameter).output(0))
    assert_same_in_onnx([result], [parameter], [np.zeros(1, np.float32)], tmp_path, rtol=0, atol=0)


@pytest.mark.parametrize(
    ("operation", "change", "reason"),
    [
        (ov8.prior_box, {"fixed_size": [15.0], "density": [2.0], "min_size": []}, "its boxes of a fixed size"),
        (ov8.prior_box, {"scale_all_sizes": False}, "its attribute 'scale_all_sizes' is false"),
    ],
    ids=["fixed", "scaled"],
)
def test_what_is_not_covered_is_refused(operation: Any, change: dict[str, Any], reason: str, tmp_path: Path) -> None:
    parameters, _, sizes = operands()
    made = Result(operation(*sizes, {**PRIOR, **change}).output(0))
    assert_refused_in_onnx([made], parameters, tmp_path, reason)


def test_sizes_that_are_not_known_are_refused(tmp_path: Path) -> None:
    parameters, _, sizes = operands(is_static=False)
    for made in (ov8.prior_box(*sizes, PRIOR), clustered(*sizes, CLUSTERED)):
        reason = "its layer's size is computed at run time"
        assert_refused_in_onnx([Result(made.output(0))], parameters, tmp_path, reason)


def test_attributes_of_old_writers_that_openvino_does_not_read_change_nothing(tmp_path: Path) -> None:
    parameters, arrays, sizes = operands()
    openvino.serialize(openvino.Model([clustered(*sizes, CLUSTERED).output(0)], parameters), tmp_path / "old.xml")
    text = (tmp_path / "old.xml").read_text().replace(' width="', ' flip="1" img_h="0" visualize="x" width="')
    (tmp_path / "old.xml").write_text(text)
    model = openvino.Core().read_model(tmp_path / "old.xml")
    assert 'flip="1"' in text
    wanted = openvino.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})(arrays)[0]

    save(convert(load(tmp_path / "old.xml"), to="onnx"), tmp_path / "old.onnx")
    np.testing.assert_array_equal(harness.run_onnx(tmp_path / "old.onnx", arrays)[0], wanted)
