"""The comparisons see what they are there to see."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.model.openvino.document import file_differences
from tests.model.openvino.ir_text import ADDED, IR, WEIGHTS, edges, net, operator, parameter, passed, result, unary
from tests.model.openvino.oracle import Oracle

_RT = '<rt_info><attribute name="fused_names" version="0" value="a"/></rt_info>'
_TWO = net([parameter(0, "x"), operator(1, "ReLU"), operator(2, "Exp"), result(3, "a"), result(4, "b")],
           "0.0-1.0 0.0-2.0 1.1-3.0 2.1-4.0").holding(None)  # fmt: skip

PAIRS: dict[str, tuple[IR, IR]] = {
    "a bit of a weight": (ADDED, ADDED.holding(WEIGHTS[:-1] + b"\x41")),
    "the sign of a zero": (ADDED, ADDED.holding(WEIGHTS.replace(b"\0\0\0\x80", b"\0\0\0\0"))),
    "shape of a constant": (ADDED, ADDED.but('shape="2, 3"', 'shape="6"').but('shape="2,3"', 'shape="6"')),
    "name of a layer": (ADDED, ADDED.but('name="c"', 'name="d"')),
    "name of the net": (ADDED, ADDED.but('name="n"', 'name="m"')),
    "name of a tensor": (ADDED, ADDED.but('names="add2"', 'names="add3"')),
    "a second name": (ADDED, ADDED.but('names="add2"', 'names="add2,add3"')),
    "an attribute": (unary("Elu", 'alpha="1"'), unary("Elu", 'alpha="1.0000001"')),
    "operator set": (unary("SoftMax", 'axis="1"', "opset1"), unary("SoftMax", 'axis="1"', "opset8")),
    "rt_info of a layer": (ADDED, ADDED.but("<data auto", f"{_RT}<data auto")),
    "rt_info of a port": (ADDED, ADDED.but('names="add2"/>', f'names="add2">{_RT}</port>')),
    "rt_info of the model": (ADDED, ADDED.but("<rt_info/>", '<rt_info><a value="1"/></rt_info>')),
    "an interval": (passed('shape="1..5" element_type="f32"'), passed('shape="1..6" element_type="f32"')),
    "an element type": (passed('shape="1" element_type="f32"'), passed('shape="1" element_type="f16"')),
    "order of results": (_TWO, _TWO.but(result(3, "a"), "").but("</layers>", result(3, "a") + "</layers>")),
    "source of a result": (_TWO, _TWO.but(edges("2.1-4.0"), edges("1.1-4.0"))),
    "an unused Parameter": (ADDED, ADDED.but("</layers>", parameter(9, "z") + "</layers>")),
}


@pytest.mark.parametrize("name", PAIRS)
def test_a_difference_is_seen(name: str, oracle: Oracle, tmp_path: Path) -> None:
    one, other = (ir.write(tmp_path, f"m{number}") for number, ir in enumerate(PAIRS[name]))
    assert oracle.compare(one, one) == []
    assert file_differences(one, one) == []
    assert oracle.compare(one, other) != []
    assert file_differences(one, other) != []


def _set(path: str, key: str, value: str) -> Callable[[ET.Element], None]:
    def change(root: ET.Element) -> None:
        for element in root.findall(path)[:1]:
            assert element.get(key) != value
            element.set(key, value)

    return change


IN_BODIES: dict[str, tuple[str, Callable[[ET.Element], None]]] = {
    "name of a layer inside": ("loop", _set(".//body/layers/layer[@type='Add']", "name", "other")),
    "a constant inside": ("loop", _set(".//body/layers/layer[@type='Const']/data", "offset", "3")),
    "start of slices": ("iterator", _set(".//port_map/input[@axis]", "start", "2")),
    "axis of slices": ("loop", _set(".//port_map/output[@axis]", "axis", "1")),
    "an attribute in a branch": (
        "if",
        _set(".//then_body/layers/layer/data[@auto_broadcast]", "auto_broadcast", "none"),
    ),
    "id of a variable": ("state", _set(".//layer[@type='ReadValue']/data", "variable_shape", "2,?")),
    "layout": ("rt_info", _set(".//attribute[@layout]", "layout", "[N,H,W,C]")),
    "user data": ("rt_info", _set(".//user_data", "value", "other")),
}


@pytest.mark.parametrize("name", IN_BODIES)
def test_a_difference_inside_is_seen(name: str, oracle: Oracle, tmp_path: Path) -> None:
    model, change = IN_BODIES[name]
    one, other = tmp_path / "one.xml", tmp_path / "other.xml"
    oracle.make(model, one)
    tree = ET.parse(one)
    change(tree.getroot())
    tree.write(other, encoding="utf-8")
    other.with_suffix(".bin").write_bytes(one.with_suffix(".bin").read_bytes())
    assert oracle.compare(one, one) == []
    assert oracle.compare(one, other) != []
    assert file_differences(one, one) == []
    assert file_differences(one, other) != []


def test_a_difference_of_outputs_is_seen(oracle: Oracle, tmp_path: Path) -> None:
    one, other = ADDED.write(tmp_path, "one"), ADDED.holding(WEIGHTS[:-1] + b"\x41").write(tmp_path, "other")
    assert oracle.run(one, one) == []
    assert oracle.run(one, other)


def test_a_crash_is_no_difference_but_an_error(oracle: Oracle, tmp_path: Path) -> None:
    crashing = unary("ReadValue", 'variable_type="f32" variable_shape="2,3"', "opset6").write(tmp_path)
    assert oracle.error(crashing) is not None
    assert oracle.error(ADDED.write(tmp_path, "good")) is None
