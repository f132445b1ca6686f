"""Attributes that a row does not ask for: fine at their default, else refused unless the row says that none matters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino
import pytest
from openvino import opset1, opset8, opset12, opset13

from maxfold.model.openvino.operations import canonical_type
from maxfold.optimizer import load
from maxfold.optimizer.api import convert
from maxfold.passes.conversion import ConversionError
from maxfold.passes.conversion.row import from_onnx, from_openvino
from maxfold.passes.conversion.sites.onnx_site import OnnxSite
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite
from maxfold.passes.conversion.table import make_table
from maxfold.passes.conversion.to_onnx import convert_to_onnx
from maxfold.passes.conversion.to_openvino import convert_to_openvino
from tests.passes.conversion.judged import one_node


def _to_openvino(site: OpenvinoSite) -> None:
    site.result(site.add("ReLU", [site.input(0)]))


def _to_onnx(site: OnnxSite) -> None:
    site.result(site.add("Relu", [site.input(0)]))


def _ignoring(convert: Callable[[Any], None], *names: str) -> Callable[[Any], None]:
    def converting(site: Any) -> None:
        site.ignore(*names)
        convert(site)

    return converting


def _reason(convert: Callable[[], object]) -> str | None:
    """Why a conversion is refused."""
    try:
        convert()
    except ConversionError as error:
        return error.refusals[0].reason
    return None


def _onnx_reason(operator: str, opset: int = 17, *, ignored: tuple[str, ...] = (), **attributes: Any) -> str | None:
    """Why a node is refused whose row asks for nothing."""
    made, _ = one_node(operator, {"x": np.ones((1, 2, 3), np.float32)}, opset=opset, **attributes)
    rows = from_onnx(operator, "ReLU-1", _ignoring(_to_openvino, *ignored))
    return _reason(lambda: convert_to_openvino(load(made), make_table(rows)))


def _layer_reason(made: Any, folder: Path, *ignored: str) -> str | None:
    """As `_onnx_reason`, for an OpenVINO operation on a Parameter."""
    openvino.serialize(openvino.Model([made.output(0)], [made.input_value(0).get_node()]), folder / "made.xml")
    rows = from_openvino(f"{canonical_type(made.get_type_name())}-1", "Relu", _ignoring(_to_onnx, *ignored))
    return _reason(lambda: convert_to_onnx(load(folder / "made.xml"), make_table(rows)))


@pytest.mark.parametrize(
    ("operator", "opset", "attributes", "covered"),
    [
        ("Elu", 17, {}, True),
        ("Elu", 17, {"alpha": 1.0}, True),
        ("Elu", 17, {"alpha": 2.0}, False),
        ("Softmax", 17, {"axis": -1}, True),
        # The default of the newest version, which rows see, of a node that says the same.
        ("Softmax", 11, {"axis": -1}, True),
        ("Softmax", 11, {"axis": 2}, False),
        ("Gelu", 20, {"approximate": "none"}, True),
        ("Gelu", 20, {"approximate": "tanh"}, False),
        ("MeanVarianceNormalization", 17, {"axes": [0, 2, 3]}, True),
        ("MeanVarianceNormalization", 17, {"axes": [0, 2]}, False),
        # What has no default does something, whatever it is.
        ("Transpose", 17, {"perm": [0, 1, 2]}, False),
        # A hint that never changed a result.
        ("Elu", 5, {"consumed_inputs": [1]}, True),
        ("Softplus", 5, {"consumed_inputs": [1]}, False),
    ],
)
def test_nodes(operator: str, opset: int, attributes: dict[str, Any], covered: bool) -> None:
    reason = _onnx_reason(operator, opset, **attributes)
    assert reason == (None if covered else f"its attribute {next(iter(attributes))!r} is not covered")
    assert _onnx_reason(operator, opset, ignored=tuple(attributes), **attributes) is None


def test_layers(tmp_path: Path) -> None:
    x = opset1.parameter([1, 2, 4, 4], np.float32)
    for made, name in (
        (opset1.elu(x, 0.0), None),
        (opset1.elu(x, 1.0), "alpha"),
        # The default of OpenVINO's reader, not that of whoever makes a node.
        (opset8.softmax(x, 1), None),
        (opset8.softmax(x, -1), "axis"),
        (opset13.gelu(x, "ERF"), None),
        (opset13.gelu(x, "TANH"), "approximation_mode"),
    ):
        reason = _layer_reason(made, tmp_path)
        assert reason == (None if name is None else f"its attribute {name!r} is not covered")
        assert _layer_reason(made, tmp_path, *([] if name is None else [name])) is None


def test_what_openvino_does_not_read(tmp_path: Path) -> None:
    x = opset1.parameter([2], np.float32)
    one = opset1.constant(np.array([1]))
    made = opset12.pad(x, one, one, "constant", opset1.constant(np.float32(0)))
    openvino.serialize(openvino.Model([made], [x]), tmp_path / "made.xml")
    text = (tmp_path / "made.xml").read_text(encoding="utf-8")
    assert text.count('pad_mode="constant"') == 1
    text = text.replace('pad_mode="constant"', 'pad_mode="constant" pad_value="7" other="1"')
    (tmp_path / "made.xml").write_text(text, encoding="utf-8")
    converted = convert(load(tmp_path / "made.xml"), to="onnx")
    assert [node.op for node in converted.nodes()] == ["Pad"]
    assert [(item.what, item.count) for item in converted.lost] == [
        (f"the attribute {name!r} of Pad, which OpenVINO ignores", 1) for name in ("other", "pad_value")
    ]


def test_missing_attributes_are_as_the_version_reads_them(tmp_path: Path) -> None:
    """Of SoftMax, whose first version takes axis 0 and whose second takes axis 1."""
    x = opset1.parameter([2, 3], np.float32)
    for made, axis in ((opset1.softmax(x, 1), 0), (opset8.softmax(x, 0), 1)):
        openvino.serialize(openvino.Model([made], [x]), tmp_path / "made.xml")
        text = (tmp_path / "made.xml").read_text(encoding="utf-8")
        written = f'<data axis="{made.get_attributes()["axis"]}" />'
        assert text.count(written) == 1
        (tmp_path / "made.xml").write_text(text.replace(written, ""), encoding="utf-8")
        read = openvino.Core().read_model(tmp_path / "made.xml")
        node = next(node for node in read.get_ops() if node.get_type_name() == "Softmax")
        assert node.get_attributes() == {"axis": axis}
        assert next(convert(load(tmp_path / "made.xml"), to="onnx").nodes()).attrs == {"axis": axis}


def test_references_are_no_defaults() -> None:
    made, _ = one_node("Elu", {"x": np.ones(3, np.float32)}, opset=17)
    made.graph.node[0].attribute.append(
        onnx.AttributeProto(name="alpha", type=onnx.AttributeProto.FLOAT, ref_attr_name="a")
    )
    rows = from_onnx("Elu", "ReLU-1", _to_openvino)
    assert _reason(lambda: convert_to_openvino(load(made), make_table(rows))) == "its attribute 'alpha' is not covered"


def test_rows_of_their_own_ignore_what_changes_nothing() -> None:
    """Of training, of inputs that are not there, and of what another attribute decides."""
    x = np.ones((1, 1, 4, 4), np.float32)
    for operator, opset, attributes in (
        ("Dropout", 11, {"ratio": 0.3}),
        ("Dropout", 12, {"seed": 7}),
        ("ReduceSum", 11, {"axes": [1]}),
        ("MaxPool", 17, {"kernel_shape": [2, 2], "auto_pad": "SAME_UPPER", "pads": [0, 0, 0, 0]}),
        ("Cast", 19, {"to": onnx.TensorProto.INT32, "saturate": 0}),
    ):
        made, _ = one_node(operator, {"x": x}, opset=opset, **attributes)
        assert convert(load(made), to="openvino"), operator


def test_normalizations_ignore_how_training_goes_on() -> None:
    ones = np.ones(2, np.float32)
    inputs = {"x": np.ones((1, 2, 3), np.float32), "scale": ones, "bias": ones, "mean": ones, "variance": ones}
    made, _ = one_node("BatchNormalization", inputs, opset=17, constants=("scale",), momentum=0.1)
    assert [node.op for node in convert(load(made), to="openvino").nodes()] == ["BatchNormInference"]
