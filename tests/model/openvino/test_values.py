"""What a program that loads an IR sees: values of constants, and what the model says of itself."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maxfold.model import ModelError, read_openvino
from tests.model.openvino.accepted_weights import strings
from tests.model.openvino.ir_text import ADDED, WEIGHTS, held
from tests.model.openvino.made import ELEMENT_TYPES
from tests.model.openvino.oracle import Oracle
from tests.model.openvino.rewriting import both_files

# Stored bytes and what OpenVINO's Convert makes of them.
VALUES: dict[str, tuple[bytes, list[Any]]] = {
    "u2": (b"\x21\x43", [1, 0, 2, 0, 3, 0, 0, 1]),
    "u4": (b"\x21\x43\x65\x87", [1, 2, 3, 4, 5, 6, 7, 8]),
    "i4": (b"\x21\x43\x65\x87", [1, 2, 3, 4, 5, 6, 7, -8]),
    "f4e2m1": (b"\x21\x43\x65\x87", [0.5, 1, 1.5, 2, 3, 4, 6, -0.0]),
    "f8e4m3": (b"\x38\xb8\x00\x7e", [1, -1, 0, 448]),
    "f8e5m2": (b"\x3c\xbc\x7c\x40", [1, -1, math.inf, 2]),
    "f8e8m0": (b"\x7f\x80\x7e", [1, 2, 0.5]),
    "boolean": (b"\x00\x01\x02\xff", [False, True, True, True]),
    "bf16": (b"\x80\x3f\x00\xc0", [1, -2]),
    "f16": (b"\x00\x3c\x00\xc0", [1, -2]),
    "f32": (WEIGHTS, [1.5, -2, 0.25, 3, -0.0, 7]),
    "f64": (np.array([0.1, -3], "<f8").tobytes(), [0.1, -3]),
    "i8": (b"\xff\x80", [-1, -128]),
    "u8": (b"\xff\x80", [255, 128]),
    "i16": (b"\xfe\xff", [-2]),
    "u16": (b"\xfe\xff", [65534]),
    "i32": (b"\xfe\xff\xff\xff", [-2]),
    "u32": (b"\xfe\xff\xff\xff", [4294967294]),
    "i64": (b"\xfe" + b"\xff" * 7, [-2]),
    "u64": (b"\xfe" + b"\xff" * 7, [18446744073709551614]),
    "string": (strings([b"a", b"", "é".encode()]), ["a", "", "é"]),
}
NOT_DECODED = ("u1", "u3", "u6", "nf4")


def test_every_element_type_is_here() -> None:
    assert {*VALUES, *NOT_DECODED} == {*ELEMENT_TYPES, "string"}


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("shift", [0, 1])
def test_values(kind: str, shift: int, tmp_path: Path) -> None:
    data, expected = VALUES[kind]
    model = read_openvino(held(kind, str(len(expected)), b"x" * shift + data, shift).write(tmp_path))
    (constant,) = model.constants()
    array = constant.data.array()
    assert array.shape == (len(expected),)
    assert [str(item) for item in array.tolist()] == [str(type(item)(right)) for item, right in zip(
        array.tolist(), expected, strict=True)]  # fmt: skip
    with pytest.raises(ValueError, match="read-only"):
        array[0] = array[0]


@pytest.mark.parametrize("kind", NOT_DECODED)
def test_values_that_are_only_carried(kind: str, tmp_path: Path) -> None:
    model = read_openvino(held(kind, "8", b"\x21\x43\x65\x87\xa9\xcb").write(tmp_path))
    (constant,) = model.constants()
    with pytest.raises(ModelError):
        constant.data.array()


def test_shapes_of_packed_and_empty_constants(tmp_path: Path) -> None:
    for kind, shape, data in (("u4", (3,), b"\x21\x43"), ("u4", (), b"\x21"), ("f32", (2, 0, 3), b"")):
        text = ", ".join(map(str, shape))
        (constant,) = read_openvino(held(kind, text, data).write(tmp_path)).constants()
        assert constant.data.array().shape == constant.data.shape == shape
        assert constant.data.nbytes == len(data)


def test_what_the_model_says_of_itself(tmp_path: Path) -> None:
    path = ADDED.write(tmp_path)
    model = read_openvino(path)
    assert model.format == "openvino"
    assert model.path == path
    assert model.file_bytes == sum(len(data or b"") for data in both_files(path))
    assert model.constant_bytes() == len(WEIGHTS)
    assert model.node_count() == 2
    assert [node.op for node in model.nodes()] == ["Add", "ReLU"]
    assert [node.domain for node in model.nodes()] == ["openvino.opset1"] * 2


_REWRITE = """
import sys
from maxfold.model import read_openvino, write_openvino
write_openvino(read_openvino(sys.argv[1]), sys.argv[2])
"""


@pytest.mark.parametrize("name", ["loop", "names", "mixed fp16"])
def test_same_bytes_in_every_process(name: str, oracle: Oracle, tmp_path: Path) -> None:
    oracle.make(name, tmp_path / "m.xml")
    for seed in ("1", "2"):
        command = [sys.executable, "-c", _REWRITE, str(tmp_path / "m.xml"), str(tmp_path / f"{seed}.xml")]
        subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": seed}, timeout=60, check=True)
    assert both_files(tmp_path / "1.xml") == both_files(tmp_path / "2.xml")
