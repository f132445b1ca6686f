"""Inputs that cannot be used end in one clear line; inputs that are only unusual do not."""

from __future__ import annotations

import io
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from google.protobuf.message import DecodeError
from onnx import AttributeProto, ModelProto, TensorProto, helper

from maxfold.model import ModelError, read_onnx, read_openvino, write_onnx
from tests.model import every_field
from tests.model.bad_files import BAD_FILES, HUGE_SHAPES, BadFile
from tests.model.external import external_tensor_model, scattered_model
from tests.model.odd_models import one_node_model
from tests.model.protobuf import assert_same
from tests.model.tensors import raw_tensor, typed_tensor
from tests.model.wire import VARINT, tag, varint

MOST_SECONDS = 5.0
MOST_CHARACTERS = 600


def assert_clear(error: ModelError, pattern: str) -> None:
    """The message is one line, fit for a terminal, not too long, and names what it is about."""
    message = str(error)
    assert message.isprintable(), repr(message[:300])
    assert len(message) < MOST_CHARACTERS, message[:300]
    assert re.search(pattern, message), message


@pytest.mark.parametrize("bad", BAD_FILES, ids=lambda bad: bad.name)
def test_a_bad_file_is_refused_in_one_line(bad: BadFile, tmp_path: Path) -> None:
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    out.mkdir()
    path = bad.build(folder)
    before = sorted(folder.rglob("*"))
    start = time.perf_counter()
    with pytest.raises(ModelError) as caught:
        write_onnx(read_onnx(path), out / "out.onnx")
    assert time.perf_counter() - start < MOST_SECONDS
    assert_clear(caught.value, bad.message)
    assert list(out.iterdir()) == []
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize(
    ("name", "content", "hint"),
    [
        (
            "m.onnx",
            b'\xef\xbb\xbf<?xml version="1.0"?><net/>',
            "; it looks like OpenVINO IR, whose path has to end in .xml",
        ),
        (
            "m.onnx",
            b'\n <net name="g" version="11"></net>',
            "; it looks like OpenVINO IR, whose path has to end in .xml",
        ),
        ("m.bin", bytes(100), "; if it has the weights of an OpenVINO IR, give the path of its .xml"),
        ("m.onnx", bytes(100), "a field before byte 1 has the number 0"),
    ],
)
def test_files_of_the_other_format(name: str, content: bytes, hint: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ModelError) as caught:
        read_onnx(tmp_path / name)
    assert str(caught.value).endswith(hint)


def test_an_onnx_file_that_is_called_an_ir(tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    write_onnx(read_onnx(one_node_model([])), path)
    with pytest.raises(ModelError, match=r"is not an OpenVINO IR: .*; only the path of an IR may end in \.xml"):
        read_openvino(path)


def test_names_of_bad_files_are_unique() -> None:
    names = [bad.name for bad in BAD_FILES]
    assert len(set(names)) == len(names)


_REFUSE_ALL = """
import resource, sys
from maxfold.model import ModelError, read_onnx
limit = 1 << 31
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
for path in sys.argv[1:]:
    try:
        read_onnx(path)
    except ModelError as error:
        print("refused:", error)
"""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names, and limits of memory")
def test_nothing_huge_is_allocated_and_nothing_is_waited_for(tmp_path: Path) -> None:
    paths = []
    for position, bad in enumerate(HUGE_SHAPES):
        folder = tmp_path / str(position)
        folder.mkdir()
        paths.append(bad.build(folder))
    pipe_as_model, pipe_as_data = tmp_path / "pipe.onnx", tmp_path / "data.onnx"
    os.mkfifo(pipe_as_model)
    os.mkfifo(tmp_path / "pipe.bin")
    external_tensor_model(pipe_as_data, {"location": "pipe.bin"})
    endless = Path("/dev/zero")
    paths += [pipe_as_model, pipe_as_data, *([endless] if endless.exists() else [])]
    command = [sys.executable, "-c", _REFUSE_ALL, *map(str, paths)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("refused:") == len(paths), result.stdout


def _truncation_model() -> bytes:
    model = scattered_model()
    for position, data_type in enumerate(("FLOAT", "DOUBLE", "INT64", "STRING")):
        model.graph.initializer.append(typed_tensor(f"typed {position}", data_type, 1200))
    whole: bytes = model.SerializeToString()
    return whole


WHOLE = _truncation_model()


def _truncations() -> list[int]:
    """Lengths to cut to: close to the borders of fields and inside them, and some at equal distances."""
    borders = [WHOLE.index(name) for name in (b"weight", b"in branch", b"constant value", b"scattered", b"typed 2")]
    borders += [WHOLE.index(raw_tensor("", "FLOAT", 5000).raw_data[:600]) + 10_000, len(WHOLE)]
    message = ModelProto.FromString(WHOLE)
    graph_bytes = message.graph.ByteSize()
    graph_start = WHOLE.index(message.graph.SerializeToString(deterministic=True)[:50])
    borders += [graph_start, graph_start + graph_bytes]
    near = {border + step for border in borders for step in (-2, -1, 0, 1, 2, 5)}
    spread = {len(WHOLE) * step // 40 for step in range(1, 40)}
    tail = {graph_start + graph_bytes + step for step in range(0, 30, 3)}
    return sorted(length for length in near | spread | tail if 0 < length < len(WHOLE))


@pytest.mark.parametrize("length", _truncations())
def test_a_truncated_file_is_refused(length: int, tmp_path: Path) -> None:
    path, target = tmp_path / "broken.onnx", tmp_path / "out.onnx"
    path.write_bytes(WHOLE[:length])
    try:
        rest = ModelProto.FromString(WHOLE[:length])
    except DecodeError:
        rest = ModelProto()
    if rest.HasField("graph") and rest.opset_import:
        # What is left is a valid file of its own, and nobody can tell.
        write_onnx(read_onnx(path), target)
        assert_same(rest, onnx.load(target))
        return
    with pytest.raises(ModelError) as caught:
        read_onnx(path)
    assert_clear(caught.value, r"broken\.onnx")


@pytest.mark.parametrize("seed", range(8))
def test_damage_is_refused_or_carried_through(seed: int) -> None:
    source = random.Random(seed)
    model = every_field.build(400 if seed % 4 else every_field.SMALL) if seed % 2 else scattered_model()
    whole = model.SerializeToString()
    kept = 0
    for _ in range(120):
        damaged = bytearray(whole)
        for _ in range(source.randrange(1, 4)):
            damaged[source.randrange(len(damaged))] = source.randrange(256)
        stream = io.BytesIO()
        try:
            write_onnx(read_onnx(bytes(damaged)), stream)
        except ModelError as error:
            assert_clear(error, "")
            continue
        kept += 1
        assert_same(ModelProto.FromString(bytes(damaged)), ModelProto.FromString(stream.getvalue()))
    assert kept > 10


def test_test_data_of_onnx_are_no_models() -> None:
    paths = sorted((Path(onnx.__file__).parent / "backend" / "test" / "data").rglob("*.pb"))
    for path in paths:
        with pytest.raises(ModelError) as caught:
            read_onnx(path)
        assert_clear(caught.value, re.escape(path.name))


def _unknown_operator(model: ModelProto) -> None:
    model.graph.node.add(op_type="NotYetInvented", input=["a"], output=["z"])


def _unknown_domain(model: ModelProto) -> None:
    model.graph.node.add(op_type="Op", domain="org.nobody", input=["a"], output=["z"])


def _unknown_attribute_of_known_operator(model: ModelProto) -> None:
    node = helper.make_node("Add", ["a", "a"], ["z"], invented=1.5, also=raw_tensor("", "FLOAT", 2000))
    model.graph.node.append(node)


def _unknown_attribute_kind(model: ModelProto) -> None:
    # An enum value that onnx does not know is kept as an unknown field.
    attribute = AttributeProto(name="future", i=7)
    attribute.MergeFromString(tag(20, VARINT) + varint(99))
    model.graph.node[0].attribute.append(attribute)


def _newer_opset(model: ModelProto) -> None:
    model.opset_import[0].version = 10_000


def _newer_ir_version(model: ModelProto) -> None:
    model.ir_version = 10_000


def _unknown_element_type(model: ModelProto) -> None:
    model.graph.initializer.append(TensorProto(name="small", data_type=99, dims=[3], raw_data=b"1234567"))
    large = TensorProto(name="large", data_type=99, dims=[3], raw_data=bytes(9000))
    model.graph.initializer.append(large)
    model.graph.value_info.add(name="y").type.tensor_type.elem_type = 99


def _unknown_data_location(model: ModelProto) -> None:
    model.graph.initializer.append(raw_tensor("elsewhere", "FLOAT", 3))
    model.graph.initializer[-1].MergeFromString(tag(14, VARINT) + varint(9))


def _only_custom_opset(model: ModelProto) -> None:
    del model.opset_import[0]


def _opset_by_long_name(model: ModelProto) -> None:
    model.opset_import[0].domain = "ai.onnx"


def _function_that_shadows_an_operator(model: ModelProto) -> None:
    function = model.functions.add(name="Add", domain="custom", input=["a", "b"], output=["c"])
    function.opset_import.add(domain="", version=21)
    function.node.add(op_type="Mul", input=["a", "b"], output=["c"])
    model.graph.node.add(op_type="Add", domain="custom", input=["a", "a"], output=["z"])


def _no_nodes(model: ModelProto) -> None:
    del model.graph.node[:]
    model.graph.output[0].name = "a"


def _nothing_but_a_name(model: ModelProto) -> None:
    model.graph.CopyFrom(onnx.GraphProto(name="empty"))


UNUSUAL = [
    _unknown_operator,
    _unknown_domain,
    _unknown_attribute_of_known_operator,
    _unknown_attribute_kind,
    _newer_opset,
    _newer_ir_version,
    _unknown_element_type,
    _unknown_data_location,
    _only_custom_opset,
    _opset_by_long_name,
    _function_that_shadows_an_operator,
    _no_nodes,
    _nothing_but_a_name,
]


@pytest.mark.parametrize("change", UNUSUAL, ids=lambda function: function.__name__.lstrip("_"))
def test_unusual_is_not_bad(change: Callable[[ModelProto], None]) -> None:
    expected = one_node_model([raw_tensor("a", "FLOAT", 3)])
    change(expected)
    for source in (expected, expected.SerializeToString()):
        stream = io.BytesIO()
        write_onnx(read_onnx(source), stream)
        assert_same(expected, ModelProto.FromString(stream.getvalue()))


@pytest.mark.parametrize("field", ["doc_string", "producer_name", "metadata"])
def test_text_that_is_not_utf8_is_refused_or_kept(field: str) -> None:
    model = one_node_model([raw_tensor("a", "FLOAT", 3)])
    if field == "doc_string":
        model.graph.node[0].doc_string = "placeholder"
    elif field == "producer_name":
        model.producer_name = "placeholder"
    else:
        model.metadata_props.add(key="key", value="placeholder")
    data = model.SerializeToString().replace(b"placeholder", b"place\xff\xfe\x80der")
    stream = io.BytesIO()
    try:
        write_onnx(read_onnx(data), stream)
    except ModelError as error:
        assert_clear(error, "")
        return
    assert_same(ModelProto.FromString(data), ModelProto.FromString(stream.getvalue()))
