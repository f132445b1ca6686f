"""Constants, names and state that OpenVINO reads."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from tests.model.openvino.ir_text import (
    ADD,
    ADDED,
    IR,
    WEIGHTS,
    constant,
    held,
    layer,
    net,
    operator,
    parameter,
    port,
    result,
    unary,
)


def strings(texts: Sequence[bytes]) -> bytes:
    """How a string constant is stored: count, offsets from 0 on, text."""
    offsets = np.cumsum([0, *map(len, texts)])
    return struct.pack(f"<{len(texts) + 2}i", len(texts), *offsets) + b"".join(texts)


def several(*constants: tuple[str, str, int, int], weights: bytes) -> IR:
    """Constants of (element type, shape, offset, size), each with a Result."""
    layers = [constant(number, f"c{number}", *parts) for number, parts in enumerate(constants)]
    layers += [result(100 + number, f"y{number}") for number in range(len(constants))]
    links = " ".join(f"{number}.0-{100 + number}.0" for number in range(len(constants)))
    return net(layers, links).holding(weights)


_SIGNALLING = struct.pack("<4I", 0x7F800001, 0xFFC12345, 0x80000000, 1)
_WORDS = (b"a", b"", "grün".encode(), b"x" * 40, b"nul\0inside")

CONSTANTS: dict[str, IR] = {
    "odd offset": held("f32", "2, 3", b"abc" + WEIGHTS, 3),
    "f64 at an odd offset": held("f64", "3", b"x" + WEIGHTS, 1),
    "bytes behind": held("f32", "2, 3", WEIGHTS + b"left over", 0, 24),
    "size too large": held("f32", "2, 3", WEIGHTS + b"123456"),
    "overlapping": several(("f32", "6", 0, 24), ("f32", "4", 8, 16), ("i8", "5", 3, 5), weights=WEIGHTS),
    "one range twice": several(("f32", "6", 0, 24), ("f32", "2, 3", 0, 24), weights=WEIGHTS),
    "one range, two types": several(("f32", "6", 0, 24), ("i32", "6", 0, 24), ("u8", "24", 0, 24), weights=WEIGHTS),
    "the same bytes twice": several(("f32", "6", 0, 24), ("f32", "6", 24, 24), weights=WEIGHTS * 2),
    "order of the file reversed": several(("f32", "2", 16, 8), ("f32", "2", 8, 8), ("f32", "2", 0, 8), weights=WEIGHTS),
    "gaps": several(("f32", "2", 1, 8), ("f32", "2", 13, 8), weights=WEIGHTS),
    "scalar": held("f32", "", WEIGHTS[:4]),
    "empty": held("f32", "2, 0, 3", b""),
    "empty at the end": held("f32", "0", WEIGHTS, 24, 0),
    "empty beside others": several(("f32", "0", 8, 0), ("f32", "2", 8, 8), ("u1", "0, 4", 0, 0), weights=WEIGHTS),
    "shape without blanks": held("f32", "2,3", WEIGHTS),
    "shape with blanks": held("f32", " 2 ,  3", WEIGHTS),
    "shape with a comma behind": held("f32", "2, 3,", WEIGHTS),
    "boolean that is not 0 or 1": held("boolean", "6", bytes([0, 1, 2, 255, 128, 0])),
    "NaN with payloads, -0, a denormal": held("f32", "4", _SIGNALLING),
    "unused bits set": several(("u4", "3", 0, 2), ("u1", "5", 2, 1), ("i4", "", 3, 1), weights=b"\xff\xfe\xfd\xfc"),
    "packed, size too large": held("u4", "3", b"\x21\x43\x65"),
    "strings": held("string", "5", strings(_WORDS)),
    "strings at an odd offset": held("string", "5, 1", b"x" + strings(_WORDS), 1),
    "strings, none": held("string", "0", strings([])),
    "string scalar": held("string", "", strings([b"one"])),
    "unused constant": ADDED.but("</layers>", constant(9, "unused") + "</layers>"),
}


def named(text: str) -> IR:
    """A model whose operator's output has that `names` attribute."""
    return unary("ReLU").but('names="relu1"', f'names="{text}"')


_OUTPUT_NAMES = {"a": "a", "a comma": "a\\,b,c", "nothing": "", "blanks": " a , b", "twice": "a,a"}

NAMES: dict[str, IR] = {
    **{
        f"names {text!r}": named(text)
        for text in ("a,b", "b,a", "a\\,b", "a\\,b,c", " a ,b ", "a,,b", ",", "", "a,a", "日本,é", "x\\\\,y", "a\\b")
    },
    "names end in a backslash": named("a\\"),
    "no names": unary("ReLU").but('names="relu1"', ""),
    "no names of a Parameter": unary("ReLU").but('names="x"', ""),
    "several names of a Parameter": unary("ReLU").but('names="x"', 'names="x,y,z"'),
    "one name for two ports": ADDED.but('names="add2"', 'names="relu3"'),
    "name of a Result is that of a Parameter": unary("ReLU").but('names="relu1"', 'names="x"'),
    **{
        f"output_names: {name}": net([parameter(0, "x"), result(1, "y", f'output_names="{text}"')], "0.0-1.0").holding(
            None
        )
        for name, text in _OUTPUT_NAMES.items()
    },
    **{
        f"output_names of an operator: {name}": net(
            [parameter(0, "x"), operator(1, "ReLU"), result(2, "y", f'output_names="{text}"')], "0.0-1.0 1.1-2.0"
        ).holding(None)
        for name, text in _OUTPUT_NAMES.items()
    },
}

_VARIABLE = 'variable_id="v"'
_FULL = 'variable_id="v" variable_type="f32" variable_shape="2,3"'
_INITIAL = "0.0-1.0 1.1-2.0 0.0-2.1 2.2-3.0 2.2-4.0"


def state(read: str, assign: str = _VARIABLE, version: str = "opset6", *, write: bool = True) -> IR:
    """y = v = (v, at first x) + x."""
    layers = [
        parameter(0, "x"),
        layer(f"1 read ReadValue {version}", read, inputs=1, outputs=[port("read")]),
        operator(2, "Add", 2, ADD),
        *([layer(f"3 assign Assign {version}", assign, inputs=1, outputs=[port()])] if write else []),
        result(4),
    ]
    links = _INITIAL if write else _INITIAL.replace("2.2-3.0 ", "")
    return net(layers, links).holding(None)


def _two_variables() -> IR:
    layers = [
        layer("9 assign_b Assign opset6", 'variable_id="b"', inputs=1, outputs=[port()]),
        parameter(0, "x"),
        layer("1 read_b ReadValue opset6", _FULL.replace('"v"', '"b"'), inputs=1, outputs=[port()]),
        layer("2 read_a ReadValue opset6", _FULL.replace('"v"', '"a"'), inputs=1, outputs=[port()]),
        operator(3, "Add", 2, ADD),
        result(4),
        layer("8 assign_a Assign opset6", 'variable_id="a"', inputs=1, outputs=[port()]),
    ]
    return net(layers, "0.0-1.0 0.0-2.0 1.1-3.0 2.1-3.1 3.2-4.0 3.2-9.0 0.0-8.0").holding(None)


def _without_initial_value() -> IR:
    layers = [
        parameter(0, "x"),
        layer("1 read ReadValue opset6", _FULL, outputs=[port("read")]),
        operator(2, "Add", 2, ADD),
        layer("3 assign Assign opset6", _VARIABLE, inputs=1, outputs=[port()]),
        result(4),
    ]
    return net(layers, "1.0-2.0 0.0-2.1 2.2-3.0 2.2-4.0").holding(None)


STATE: dict[str, IR] = {
    "version 6": state(_FULL),
    "version 3": state(_VARIABLE, version="opset3"),
    "no variable_type, no variable_shape": state(_VARIABLE),
    "dynamic variable": state('variable_id="v" variable_type="dynamic" variable_shape="..."'),
    "interval": state('variable_id="v" variable_type="f32" variable_shape="1..2,?"'),
    "odd id": state(_FULL.replace('"v"', '"a,b &lt; é"'), 'variable_id="a,b &lt; é"'),
    "never written": state(_FULL, write=False),
    "two variables": _two_variables(),
    "no initial value": _without_initial_value(),
    "Assign without an output port": state(_FULL).but(
        '<layer id="3" name="assign" type="Assign" version="opset6"><data variable_id="v"/>'
        '<input><port id="0" precision="FP32"/></input><output><port id="1" precision="FP32"/></output>',
        '<layer id="3" name="assign" type="Assign" version="opset6"><data variable_id="v"/>'
        '<input><port id="0" precision="FP32"/></input>',
    ),
}
