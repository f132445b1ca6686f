"""IR files that OpenVINO refuses or that crash it, and what the message about each must name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

from tests.model.openvino.accepted_weights import state, strings
from tests.model.openvino.ir_text import (
    ADD,
    ADDED,
    IR,
    WEIGHTS,
    edges,
    held,
    layer,
    net,
    operator,
    parameter,
    passed,
    port,
    result,
    unary,
)
from tests.model.openvino.oracle import Oracle


@dataclass(frozen=True)
class Bad:
    """`names` is a regular expression for what the message must contain, beside the path.

    `lenient` ones OpenVINO reads, by guessing or as a model that nobody meant.
    """

    ir: IR
    names: str = ""
    lenient: bool = False


_TEXT = str(ADDED.xml)


def _text(xml: str | bytes, *, lenient: bool = False) -> Bad:
    return Bad(IR(xml), lenient=lenient)


DOCUMENTS: dict[str, Bad] = {
    "empty": _text(""),
    "blanks": _text(" \n"),
    "declaration alone": _text('<?xml version="1.0"?>'),
    "no XML": _text("this is a text"),
    "binary": _text(bytes(range(256)) * 40),
    "an ONNX model": _text(b"\x08\x0a\x12\x06pytest:\x10\x0a\x04Relu"),
    "cut short in a tag": _text(_TEXT[:300]),
    "cut short before the end": _text(_TEXT.partition("<edges>")[0]),
    "cut short in the last tag": _text(_TEXT[:-3]),
    "unclosed element": _text(_TEXT.replace("</layers>", "")),
    "one attribute twice": Bad(ADDED.but('name="c"', 'name="c" name="d"'), lenient=True),
    "attribute without quotes": Bad(ADDED.but('name="c"', "name=c")),
    "bare ampersand": Bad(ADDED.but('name="c"', 'name="a & b"'), lenient=True),
    "bare less-than": Bad(ADDED.but('name="c"', 'name="a < b"'), lenient=True),
    "unknown entity": Bad(ADDED.but('name="c"', 'name="&unknown;"'), lenient=True),
    "null character": Bad(ADDED.but('name="c"', 'name="c\0"')),
    "invalid UTF-8": _text(_TEXT.encode().replace(b'name="c"', b'name="\xff\xfe\xfd"'), lenient=True),
    "unknown encoding": Bad(ADDED.but('version="1.0"?', 'version="1.0" encoding="no-such"?'), lenient=True),
    "another root": _text("<model><net/></model>"),
    "root in capitals": _text(_TEXT.replace("net", "NET"), lenient=True),
    "HTML": _text("<!DOCTYPE html><html><head><title>404</title></head></html>"),
    "no layers": _text('<net name="n" version="11"><edges/></net>', lenient=True),
    "empty net": _text('<net name="n" version="11"/>', lenient=True),
    "empty layers": _text('<net name="n" version="11"><layers/><edges/></net>', lenient=True),
    **{
        f"version {version!r}": Bad(ADDED.but('version="11"', f'version="{version}"'), "version")
        for version in ("5", "6", "7", "9", "12", "", "eleven", "-11", "1e1", "99999999999999999999999")
    },
    "no version": Bad(ADDED.but(' version="11"', ""), "version"),
}

LAYERS: dict[str, Bad] = {
    "no id": Bad(ADDED.but('<layer id="1" ', "<layer "), "id"),
    "empty id": Bad(ADDED.but('<layer id="1"', '<layer id=""'), "id"),
    "id is a word": Bad(ADDED.but('<layer id="1"', '<layer id="one"'), "id|one"),
    "no name": Bad(ADDED.but('name="c" ', ""), "name"),
    "no type": Bad(ADDED.but('type="Const" ', ""), "type"),
    "no version": Bad(ADDED.but('type="Const" version="opset1"', 'type="Const"'), "version"),
    "one id twice": Bad(ADDED.but('<layer id="3"', '<layer id="2"'), "2"),
    "no data of a Parameter": Bad(ADDED.but('<data shape="2,3" element_type="f32"/>', ""), r"\bx\b"),
    "no data of a Const": Bad(ADDED.but('<data element_type="f32" shape="2, 3" offset="0" size="24"/>', ""), r"\bc\b"),
    "no Result": Bad(net([parameter(0, "x"), operator(1, "ReLU")], "0.0-1.0").holding(None), "Result", lenient=True),
    "a Result without an input port": Bad(
        net([parameter(0, "x"), layer("1 y Result opset1")], "").holding(None), "input|port|y"
    ),
    **{
        f"element type {name!r} of a Parameter": Bad(
            passed(f'shape="2,3" element_type="{name}"'), r"element[ _]type|\bx\b"
        )
        for name in ("FP32", "float", "f32 ", "", "f33", "complex64", "i2")
    },
    **{
        f"shape {text!r} of a Parameter": Bad(passed(f'shape="{text}" element_type="f32"'), "the shape of layer 'x'")
        for text in ("a", "2;3", "2,x", "1...3", "...,3", "3,...", "1.5", "3.0")
    },
    "negative dimension of a Parameter": Bad(passed('shape="-2,3" element_type="f32"'), r"\bx\b", lenient=True),
}

PORTS: dict[str, Bad] = {
    "no output precision": Bad(ADDED.but('precision="FP32" names="add2"', 'names="add2"'), "precision"),
    "unknown output precision": Bad(ADDED.but('precision="FP32" names="add2"', 'precision="BLA" names="add2"'), "BLA"),
    **{
        f"dim {text!r}": Bad(
            ADDED.but('names="add2"/>', f'names="add2"><dim>{text}</dim></port>'), "dim|number|integer"
        )
        for text in ("?", "-2", "", "abc")
    },
    **{
        f"edge without {key}": Bad(ADDED.but(edges("1.0-2.1"), edges("1.0-2.1").replace(f"{key}=", "other=")), key)
        for key in ("from-layer", "from-port", "to-layer", "to-port")
    },
    "no edge to a port": Bad(ADDED.but(edges("1.0-2.1"), ""), "2|1"),
    "no edges": Bad(unary("ReLU").but(f"<edges>\n{edges('0.0-1.0 1.1-2.0')}</edges>", ""), "edge"),
    "two edges to a port": Bad(ADDED.but(edges("1.0-2.1"), edges("1.0-2.1 0.0-2.1")), "2"),
    "one edge twice": Bad(ADDED.but(edges("1.0-2.1"), edges("1.0-2.1 1.0-2.1")), "2"),
    "edge from a layer that is not there": Bad(ADDED.but(edges("1.0-2.1"), edges("77.0-2.1")), "77"),
    "edge from a port that is not there": Bad(ADDED.but(edges("1.0-2.1"), edges("1.77-2.1")), "77"),
    "edge from an input port": Bad(ADDED.but(edges("2.2-3.0"), edges("2.0-3.0")), "2"),
    "edge to a layer that is not there": Bad(
        ADDED.but(edges("1.0-2.1"), edges("1.0-2.1 1.0-77.0")), "77", lenient=True
    ),
    "edge to a port that is not there": Bad(ADDED.but(edges("1.0-2.1"), edges("1.0-2.1 1.0-2.77")), "77"),
    "edge to an output port": Bad(ADDED.but(edges("1.0-2.1"), edges("1.0-2.1 1.0-2.2")), "2"),
    "edge with words": Bad(ADDED.but(edges("1.0-2.1"), edges("c.zero-2.1")), r"\bc\b|zero"),
    "a layer that feeds itself": Bad(
        net([operator(0, "ReLU"), result(1)], "0.1-0.0 0.1-1.0").holding(None), "cycle|itself|loop"
    ),
    "a cycle": Bad(
        net(
            [parameter(0, "x"), operator(1, "Add", 2, ADD), operator(2, "ReLU"), operator(3, "Exp"), result(4)],
            "0.0-1.0 3.1-1.1 1.2-2.0 2.1-3.0 3.1-4.0",
        ).holding(None),
        "cycle|itself|loop",
    ),
    "two output ports of one id": Bad(
        unary("ReLU").but('names="relu1"/>', 'names="relu1"/><port id="1" precision="FP32"/>'), "port|1"
    ),
}


def _constant_with(**changes: str) -> IR:
    """The constant of `ADDED` with other data; an empty text takes one away."""
    data = {"element_type": "f32", "shape": "2, 3", "offset": "0", "size": "24"}
    before = " ".join(f'{key}="{value}"' for key, value in data.items())
    data.update(changes)
    return ADDED.but(before, " ".join(f'{key}="{value}"' for key, value in data.items() if value != "away"))


_HUGE = ("9223372036854775807", "9223372036854775808", "18446744073709551615", "18446744073709551616", "1" + "0" * 5000)
_SHAPES = {
    "larger than the data": "2, 4",
    "negative": "-2, -3",
    "of 2^64 elements": "4294967296, 4294967296",
    "that wraps around to 6": "6, 6148914691236517206, 3",
    "of a huge dimension": "99999999999999999999999",
    "of words": "a, b",
    "dynamic": "?, 3",
}

CONSTANTS: dict[str, Bad] = {
    "no weights": Bad(ADDED.holding(None), r"m\.bin"),
    "empty weights": Bad(ADDED.holding(b""), r"m\.bin"),
    "weights cut short": Bad(ADDED.holding(WEIGHTS[:-1]), r"m\.bin"),
    "weights of another model": Bad(ADDED.holding(b"x"), r"m\.bin"),
    **{f"no {key}": Bad(_constant_with(**{key: "away"}), key) for key in ("element_type", "shape", "offset", "size")},
    **{
        f"element type {name!r}": Bad(_constant_with(element_type=name), r"element[ _]type|\bc\b")
        for name in ("FP32", "float", "f32 ", "", "F32")
    },
    "element type dynamic": Bad(_constant_with(element_type="dynamic"), r"element type|\bc\b", lenient=True),
    "size too small": Bad(_constant_with(size="23"), "23|24"),
    "size 0": Bad(_constant_with(size="0"), "24|0"),
    "size negative": Bad(_constant_with(size="-24"), r"size|\bc\b"),
    "size beyond the file": Bad(_constant_with(size="25"), "25|24"),
    "offset beyond the file": Bad(_constant_with(offset="24"), "24"),
    "end beyond the file": Bad(_constant_with(offset="1"), "1|25"),
    "offset negative": Bad(_constant_with(offset="-1"), r"offset|-1|\bc\b"),
    **{f"offset {text[:25]}": Bad(_constant_with(offset=text), r"offset|\bc\b") for text in _HUGE},
    **{f"size {text[:25]}": Bad(_constant_with(size=text), r"size|\bc\b") for text in _HUGE},
    "offset and size wrap around": Bad(_constant_with(offset="18446744073709551592", size="48"), r"\bc\b"),
    "offset is a word": Bad(_constant_with(offset="start"), "offset|start"),
    "offset empty": Bad(_constant_with(offset=""), "offset"),
    "shape of floats": Bad(_constant_with(shape="2.0, 3.0"), "the shape of layer 'c'", lenient=True),
    **{f"shape {name}": Bad(_constant_with(shape=text), r"shape|\bc\b") for name, text in _SHAPES.items()},
    "packed, too small": Bad(held("u4", "5", b"\x21\x43"), r"\bc\b"),
    "u1, too small": Bad(held("u1", "9", b"\x21"), r"\bc\b"),
    "u3, too small": Bad(held("u3", "9", b"\x21" * 3), r"\bc\b"),
    "strings, count too large": Bad(held("string", "3", strings([b"a", b"b"])), r"\bc\b", lenient=True),
    "strings, cut short": Bad(held("string", "2", strings([b"a", b"bcd"])[:-1]), r"\bc\b"),
    "strings, empty": Bad(held("string", "1", b""), r"\bc\b"),
    "strings, offsets descend": Bad(
        held("string", "2", strings([b"abc", b"def"]).replace(b"\x03\0\0\0\x06", b"\x07\0\0\0\x06")), "c"
    ),
}

STATE: dict[str, Bad] = {
    "no variable_id of a ReadValue": Bad(state('variable_type="f32" variable_shape="2,3"'), "variable_id"),
    "no variable_id of an Assign": Bad(
        state('variable_id="v" variable_type="f32" variable_shape="2,3"', 'other="v"'), "variable_id"
    ),
    "no data of a ReadValue": Bad(
        net(
            [parameter(0, "x"), layer("1 read ReadValue opset6", inputs=1, outputs=[port()]), result(2)],
            "0.0-1.0 1.1-2.0",
        ).holding(None),
        "variable_id",
    ),
    "Assign of an unknown variable": Bad(state('variable_id="v"', 'variable_id="w"'), "w"),
}

GROUPS = {"document": DOCUMENTS, "layer": LAYERS, "port": PORTS, "constant": CONSTANTS, "state": STATE}


def break_body(oracle: Oracle, name: str, folder: Path) -> Path:
    """Makes a model with bodies and breaks one of its maps; `name` is in `BODIES`."""
    model, part = BODIES[name]
    path = folder / "m.xml"
    oracle.make(model, path)
    tree = ET.parse(path)
    for parent in list(tree.getroot().iter()):
        for child in parent.findall(part):
            if name.endswith("nothing inside"):
                child.set("internal_layer_id", "4711")
            else:
                parent.remove(child)
    tree.write(path, encoding="utf-8")
    return path


BODIES = {
    "no port_map of an iterator": ("iterator", "port_map"),
    "no body of an iterator": ("iterator", "body"),
    "no port_map of a Loop": ("loop", "port_map"),
    "no body of a Loop": ("loop", "body"),
    "no execution condition": ("loop", "output[@purpose='execution_condition']"),
    "no then_body": ("if", "then_body"),
    "no else_body": ("if", "else_body"),
    "no else_port_map": ("if", "else_port_map"),
    "no entry for an output": ("iterator", "output[@external_port_id='3']"),
    "an input leads to nothing inside": ("iterator", "input[@external_port_id='0']"),
    "an output leads to nothing inside": ("loop", "output[@axis]"),
}
"""Which model, and which elements of it."""
