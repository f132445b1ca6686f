"""Tensors in files beside the model: found, kept apart, moved out, brought in, never changed."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import GraphProto, ModelProto, TensorProto, ValueInfoProto, helper, numpy_helper
from onnx.external_data_helper import convert_model_to_external_data

from maxfold.model import ModelError, read_onnx, write_onnx
from tests.model import every_field
from tests.model.external import (
    LAYOUTS,
    ExternalData,
    Layout,
    external_tensor_model,
    is_external,
    loaded,
    scattered_model,
    store,
    tensors_of,
)
from tests.model.protobuf import assert_same
from tests.model.tensors import TYPES, raw_tensor, stored_bytes, typed_tensor

LARGE = 1024  # bytes from which external_data="always" moves a tensor out


@pytest.mark.parametrize("external_data", ["auto", "always", "never"])
@pytest.mark.parametrize("place", ["other directory", "other name", "in place"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_values_stay_the_same(layout: Layout, place: str, external_data: ExternalData, tmp_path: Path) -> None:
    expected = scattered_model()
    path = tmp_path / "in.onnx"
    store(expected, path, layout, padding=5)
    target = {
        "other directory": tmp_path / "out" / "m.onnx",
        "other name": tmp_path / "m.onnx",
        "in place": path,
    }[place]
    target.parent.mkdir(exist_ok=True)
    originals = {file: file.read_bytes() for file in tmp_path.rglob("*.bin")}
    model = read_onnx(path)
    count = write_onnx(model, target, external_data=external_data)
    assert_same(expected, loaded(target))
    assert count >= target.stat().st_size
    # A second write from the same model must not depend on what the first one replaced.
    again = tmp_path / "again" / "m.onnx"
    again.parent.mkdir()
    write_onnx(model, again, external_data="never")
    assert_same(expected, onnx.load(again, load_external_data=False))
    if place != "in place":
        assert {file: file.read_bytes() for file in originals} == originals
    if place == "other directory":
        written = sorted(file.name for file in target.parent.iterdir())
        assert written == (["m.onnx"] if external_data == "never" else ["m.onnx", "m.onnx.data"])
        assert count == sum(file.stat().st_size for file in target.parent.iterdir())


@pytest.mark.parametrize("external_data", ["auto", "always", "never"])
def test_its_own_data_file_is_replaced_whole(external_data: ExternalData, tmp_path: Path) -> None:
    expected = scattered_model()
    path, data = tmp_path / "m.onnx", tmp_path / "m.onnx.data"
    store(expected, path)
    (tmp_path / "weights.bin").rename(data)
    renamed = onnx.load(path, load_external_data=False)
    for tensor in tensors_of(renamed):
        tensor.external_data[0].value = "m.onnx.data"
    path.write_bytes(renamed.SerializeToString())
    for _ in range(3):
        write_onnx(read_onnx(path), path, external_data=external_data)
        assert_same(expected, loaded(path))
    assert {file.name for file in tmp_path.iterdir()} <= {"m.onnx", "m.onnx.data"}


def test_auto_keeps_what_was_inside_inside(tmp_path: Path) -> None:
    expected = scattered_model()
    path, target = tmp_path / "in.onnx", tmp_path / "out" / "out.onnx"
    target.parent.mkdir()
    path.write_bytes(expected.SerializeToString())
    write_onnx(read_onnx(path), target, external_data="auto")
    assert_same(expected, onnx.load(target, load_external_data=False))
    assert [file.name for file in target.parent.iterdir()] == ["out.onnx"]


def test_auto_keeps_what_was_outside_outside(tmp_path: Path) -> None:
    path, target = tmp_path / "in.onnx", tmp_path / "out" / "out.onnx"
    target.parent.mkdir()
    store(scattered_model(), path)
    mixed = onnx.load(path, load_external_data=False)
    inside = next(tensor for tensor in mixed.graph.initializer if tensor.name == "flags")
    onnx.external_data_helper.load_external_data_for_tensor(inside, str(tmp_path))
    inside.data_location = TensorProto.DEFAULT
    del inside.external_data[:]
    path.write_bytes(mixed.SerializeToString())
    write_onnx(read_onnx(path), target)
    before, after = is_external(path), is_external(target)
    assert not before["flags"]
    assert {name: after[name] for name in ("flags", "weight", "in branch", "constant value")} == {
        "flags": False,
        "weight": True,
        "in branch": True,
        "constant value": True,
    }


def test_always_moves_large_tensors_out(tmp_path: Path) -> None:
    path, target = tmp_path / "in.onnx", tmp_path / "out.onnx"
    names = ["at limit", "below limit", "typed floats", "typed doubles", "nibbles", "text"]
    graph = GraphProto(name="sizes", output=[ValueInfoProto(name=name) for name in names])
    graph.initializer.extend(
        [
            raw_tensor("at limit", "UINT8", LARGE),
            raw_tensor("below limit", "UINT8", LARGE - 1),
            typed_tensor("typed floats", "FLOAT", LARGE),
            typed_tensor("typed doubles", "DOUBLE", LARGE),
            raw_tensor("nibbles", "UINT4", LARGE * 2 + 1),
            typed_tensor("text", "STRING", LARGE),
        ]
    )
    expected = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    path.write_bytes(expected.SerializeToString())
    count = write_onnx(read_onnx(path), target, external_data="always")
    data = tmp_path / "out.onnx.data"
    assert count == target.stat().st_size + data.stat().st_size
    assert target.stat().st_mode == data.stat().st_mode == path.stat().st_mode
    external = is_external(target)
    assert {name for name in names if external[name]} >= {
        "at limit",
        "typed floats",
        "typed doubles",
        "nibbles",
    }
    assert not external["below limit"]
    assert not external["text"]
    for left, right in zip(expected.graph.initializer, loaded(target).graph.initializer, strict=True):
        assert left.name == right.name
        if left.name != "text":
            assert numpy_helper.to_array(left).tobytes() == numpy_helper.to_array(right).tobytes()


@pytest.mark.parametrize("data_type", [name for name in TYPES if name != "STRING"])
def test_every_element_type_goes_out_and_comes_back(data_type: str, tmp_path: Path) -> None:
    elements = LARGE * 4 + 1
    tensors = [raw_tensor("raw", data_type, elements), typed_tensor("typed", data_type, elements)]
    graph = GraphProto(name="type", initializer=tensors, output=[ValueInfoProto(name="raw")])
    expected = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    outside, inside = tmp_path / "outside.onnx", tmp_path / "inside.onnx"
    write_onnx(read_onnx(expected), outside, external_data="always")
    raw = onnx.load(outside, load_external_data=False).graph.initializer[0]
    entries = {entry.key: entry.value for entry in raw.external_data}
    assert entries["length"] == str(stored_bytes(data_type, elements))
    assert entries["location"] == "outside.onnx.data"
    write_onnx(read_onnx(outside), inside, external_data="never")
    assert loaded(outside).graph.initializer[0] == loaded(inside).graph.initializer[0] == tensors[0]
    for path in (outside, inside):
        for tensor in loaded(path).graph.initializer:
            original = tensors[0] if tensor.name == "raw" else tensors[1]
            assert numpy_helper.to_array(tensor).tobytes() == numpy_helper.to_array(original).tobytes()


@pytest.mark.parametrize("elements", [every_field.SMALL, every_field.LARGE])
def test_the_every_field_model_survives_moving_out(elements: int, tmp_path: Path) -> None:
    expected = every_field.with_unknown_fields(elements)
    outside, inside = tmp_path / "outside.onnx", tmp_path / "inside.onnx"
    write_onnx(read_onnx(expected), outside, external_data="always")
    write_onnx(read_onnx(outside), inside, external_data="never")
    actual = onnx.load(inside, load_external_data=False)
    for left, right in zip(tensors_of(expected), tensors_of(actual), strict=True):
        assert left.name == right.name
        assert list(left.dims) == list(right.dims)
        # Typed fields may have become raw ones, and the leftover entries were replaced: values must agree.
        if left.data_type not in (TensorProto.STRING, TensorProto.UNDEFINED) and not left.HasField("segment"):
            assert numpy_helper.to_array(left).tobytes() == numpy_helper.to_array(right).tobytes()
        for tensor in (left, right):
            for field, _ in tensor.ListFields():
                if field.name.endswith("_data") or field.name == "data_location":
                    tensor.ClearField(field.name)
    assert_same(expected, actual)


@pytest.mark.parametrize("offset", [True, False])
@pytest.mark.parametrize("length", [True, False])
@pytest.mark.parametrize("external_data", ["auto", "never"])
def test_offset_and_length_may_be_absent(
    external_data: ExternalData, length: bool, offset: bool, tmp_path: Path
) -> None:
    expected = scattered_model()
    path, target = tmp_path / "in.onnx", tmp_path / "out.onnx"
    store(expected, path, "file each", length=length, offset=offset)
    write_onnx(read_onnx(path), target, external_data=external_data)
    assert_same(expected, loaded(target))


def test_values_are_read_from_the_right_place(tmp_path: Path) -> None:
    path = tmp_path / "in.onnx"
    store(scattered_model(), path, padding=3)
    (many,) = [node for node in read_onnx(path).graph.nodes if node.op == "Many"]
    constant, weight = many.inputs[1], many.inputs[2]
    assert np.array_equal(constant.values, numpy_helper.to_array(raw_tensor("", "INT64", 400)))
    assert np.array_equal(weight.values, numpy_helper.to_array(raw_tensor("", "FLOAT", 5000)), equal_nan=True)
    assert not weight.values.flags.writeable


@pytest.mark.parametrize("external_data", ["auto", "always"])
def test_other_keys_are_kept(external_data: ExternalData, tmp_path: Path) -> None:
    path, target = tmp_path / "in.onnx", tmp_path / "out" / "out.onnx"
    target.parent.mkdir()
    data = raw_tensor("", "FLOAT", 500).raw_data
    (tmp_path / "w.bin").write_bytes(data)
    entries = {
        "checksum": hashlib.sha1(data).hexdigest(),
        "location": "w.bin",
        "future": "\u00fc",
        "empty": "",
    }
    external_tensor_model(path, entries)
    write_onnx(read_onnx(path), target, external_data=external_data)
    (written,) = onnx.load(target, load_external_data=False).graph.initializer
    kept = {entry.key: entry.value for entry in written.external_data}
    assert kept["location"] == "out.onnx.data"
    assert {key: kept.get(key) for key in ("checksum", "future", "empty")} == {
        "checksum": hashlib.sha1((target.parent / "out.onnx.data").read_bytes()).hexdigest(),
        "future": "\u00fc",
        "empty": "",
    }


def test_a_second_save_writes_the_same_bytes(tmp_path: Path) -> None:
    first, second = tmp_path / "1" / "m.onnx", tmp_path / "2" / "m.onnx"
    first.parent.mkdir()
    second.parent.mkdir()
    write_onnx(read_onnx(scattered_model()), first, external_data="always")
    write_onnx(read_onnx(first), second)
    assert second.read_bytes() == first.read_bytes()
    assert second.with_name("m.onnx.data").read_bytes() == first.with_name("m.onnx.data").read_bytes()


def test_a_message_that_onnx_prepared_for_moving_out(tmp_path: Path) -> None:
    # convert_model_to_external_data marks tensors as external while their bytes are still in the message.
    expected = scattered_model()
    prepared = scattered_model()
    convert_model_to_external_data(prepared, location="planned.bin", size_threshold=0, convert_attribute=True)
    try:
        model = read_onnx(prepared)
    except ModelError:
        return
    write_onnx(model, tmp_path / "out.onnx")
    assert_same(expected, loaded(tmp_path / "out.onnx"))


@pytest.mark.parametrize("external_data", ["auto", "always", "never"])
def test_a_stream_gets_a_whole_model(external_data: ExternalData, tmp_path: Path) -> None:
    expected = scattered_model()
    path = tmp_path / "in.onnx"
    store(expected, path)
    stream = io.BytesIO()
    try:
        write_onnx(read_onnx(path), stream, external_data=external_data)
    except ModelError:
        # A stream has no neighbours to put data into; asking for none must work.
        assert external_data != "never"
        assert stream.getvalue() == b""
        return
    assert_same(expected, ModelProto.FromString(stream.getvalue()))


def test_bytes_with_external_data_need_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "in.onnx"
    store(scattered_model(), path)
    # The working directory is not the model's directory, even if the data happens to lie there.
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError, match="path"):
        read_onnx(path.read_bytes())
    with pytest.raises(ModelError, match="path"):
        read_onnx(ModelProto.FromString(path.read_bytes()))


def test_a_relative_path_finds_its_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = scattered_model()
    store(expected, tmp_path / "in.onnx")
    monkeypatch.chdir(tmp_path)
    model = read_onnx("in.onnx")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    write_onnx(model, "out.onnx")
    assert_same(expected, loaded(tmp_path / "elsewhere" / "out.onnx"))


def test_data_lies_beside_a_linked_model_not_beside_its_target(tmp_path: Path) -> None:
    # onnx takes the directory of the path it was given.
    expected = scattered_model()
    (tmp_path / "real").mkdir()
    store(expected, tmp_path / "real" / "m.onnx")
    link = tmp_path / "m.onnx"
    link.symlink_to(tmp_path / "real" / "m.onnx")
    with pytest.raises(ModelError, match=r"weights\.bin"):
        read_onnx(link)
    (tmp_path / "weights.bin").write_bytes((tmp_path / "real" / "weights.bin").read_bytes())
    write_onnx(read_onnx(link), tmp_path / "out.onnx", external_data="never")
    assert_same(expected, onnx.load(tmp_path / "out.onnx"))
