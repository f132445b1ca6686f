"""What OpenVINO cannot read, or reads as something else, is carried through as it stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from maxfold.model import ModelError
from tests.model.openvino.document import file_differences
from tests.model.openvino.ir_text import ADD, ADDED, IR, layer, net, operator, parameter, passed, port, result, unary
from tests.model.openvino.oracle import Oracle
from tests.model.openvino.rewriting import both_files, rewrite

_DATA = 'alpha="1" beta="[1, 2]" gamma="a &lt; b &amp; &quot;c&quot;" delta="" Epsilon="é"'
_NESTED = '<invented><part a="1">text</part><layers><layer id="0"/></layers></invented>'


def _in_the_middle(kind: str, version: str, extra: str = "") -> IR:
    layers = [
        parameter(0, "x"),
        layer(f"1 odd {kind} {version}", _DATA, inputs=1, outputs=[port("a"), port("b"), port()], extra=extra),
        operator(2, "Add", 2, ADD),
        result(3),
    ]
    return net(layers, "0.0-1.0 1.1-2.0 1.3-2.1 2.2-3.0").holding(None)


UNKNOWN = {
    "type": _in_the_middle("NotYetInvented", "opset1"),
    "type of an extension": _in_the_middle("FlashAttention", "extension"),
    "type and operator set": _in_the_middle("NotYetInvented", "my_domain"),
    "operator set": _in_the_middle("Split", "opset99"),
    "odd operator set": _in_the_middle("Split", "é"),
    "type with a dot": _in_the_middle("org.openvino.Custom", "extension"),
    "type with elements inside": _in_the_middle("NotYetInvented", "extension", _NESTED),
    "type without outputs": ADDED.but("</layers>", layer("9 sink Print extension", _DATA, inputs=1) + "</layers>").but(
        "</edges>", '<edge from-layer="2" from-port="2" to-layer="9" to-port="0"/></edges>'
    ),
    "type without inputs": ADDED.but(
        "</layers>", layer("9 source Random extension", _DATA, outputs=[port("r")]) + "</layers>"
    ),
    "ReLU of the newest operator set": unary("ReLU", version="opset17"),
}


@pytest.mark.parametrize("ir", UNKNOWN.values(), ids=UNKNOWN)
def test_unknown_layers_come_back(ir: IR, tmp_path: Path) -> None:
    source, first, second = ir.write(tmp_path), tmp_path / "first.xml", tmp_path / "second.xml"
    rewrite(source, first)
    assert file_differences(source, first, ports=False) == []
    rewrite(first, second)
    assert both_files(first) == both_files(second)


def test_they_are_unknown(oracle: Oracle, tmp_path: Path) -> None:
    readable = [name for name, ir in UNKNOWN.items() if oracle.error(ir.write(tmp_path)) is None]
    # Of these two nothing is needed for a result.
    assert readable == ["type without outputs", "type without inputs"]


NEITHER = {
    **{f"integer {text!r}": unary("SoftMax", f'axis="{text}"') for text in ("+1", "abc", "")},
    **{f"float {text!r}": unary("Elu", f'alpha="{text}"') for text in ("abc", "", "1,5")},
    "unknown enumeration": ADDED.but(ADD, 'auto_broadcast="sideways"'),
    "missing attribute": unary("ShapeOf", None, "opset3"),
    "too few inputs": net([parameter(0, "x"), operator(1, "Add", 1, ADD), result(2)], "0.0-1.0 1.1-2.0").holding(None),
    "shapes that do not fit": ADDED.but('shape="2,3"', 'shape="4,5"'),
    "huge dimension of a Parameter": passed(f'shape="{"9" * 20},1" element_type="f32"'),
    "Constant": ADDED.but('type="Const"', 'type="Constant"'),
    "CONST": ADDED.but('type="Const"', 'type="CONST"'),
    "PARAMETER": ADDED.but('type="Parameter"', 'type="PARAMETER"'),
    "result": ADDED.but('type="Result"', 'type="result"'),
    "dim 1..2": ADDED.but('names="add2"/>', 'names="add2"><dim>1..2</dim></port>'),
    "element type F32 of a Parameter": ADDED.but('shape="2,3" element_type="f32"', 'shape="2,3" element_type="F32"'),
    "If of an older operator set": unary("If", None, "opset5"),
}


@pytest.mark.parametrize("ir", NEITHER.values(), ids=NEITHER)
def test_nonsense_is_refused_or_comes_back(ir: IR, tmp_path: Path) -> None:
    source, target = ir.write(tmp_path), tmp_path / "target.xml"
    try:
        rewrite(source, target)
    except ModelError as refusal:
        message = str(refusal)
        assert message.isprintable()
        assert "m.xml" in message
        assert not target.exists()
        return
    assert file_differences(source, target, ports=False) == []


@pytest.mark.parametrize("behind", ["text", "<net/>", "&"])
def test_what_stands_behind_the_root_does_not_count(behind: str, oracle: Oracle, tmp_path: Path) -> None:
    source, target = ADDED.but("</net>", f"</net>{behind}").write(tmp_path), tmp_path / "target.xml"
    try:
        rewrite(source, target)
    except ModelError as refusal:
        assert "m.xml" in str(refusal)  # noqa: PT017  # either is right
        return
    assert oracle.compare(source, target) == []
