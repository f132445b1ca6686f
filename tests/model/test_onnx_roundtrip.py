"""Load, then save: every field of every model comes back, however the file was encoded."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from google.protobuf.message import DecodeError
from onnx import ModelProto, helper, numpy_helper

from maxfold.model import ModelError, read_onnx, write_onnx
from tests.model import every_field
from tests.model.odd_models import ODD_MODELS, nested_branches, one_node_model
from tests.model.protobuf import assert_same, fields_missing
from tests.model.tensors import TYPES, raw_tensor, stored_bytes, typed_tensor, unlisted_types
from tests.model.wire import Style, encode, unknown_group

VARIANTS = dict(every_field.variants())
SHIPPED_MODELS = sorted(Path(onnx.__file__).parent.rglob("*.onnx"))
STYLES = {
    "canonical": Style(),
    "fields reversed": Style(reverse_fields=True),
    "lists interleaved": Style(interleave=True),
    "nothing packed": Style(pack="never"),
    "all packed": Style(pack="always"),
    "packed in two parts": Style(pack="in two parts"),
    "long lengths": Style(length_bytes=5),
    "scalars twice": Style(repeat_scalars=True),
    "messages in parts": Style(split_messages=True),
    "scalars twice, in parts": Style(repeat_scalars=True, split_messages=True),
    "all at once": Style(True, True, "in two parts", 4, True, True),
}
CHUNKS = 6


def rewritten(source: str | Path | bytes | ModelProto) -> ModelProto:
    """The model after load and save through a stream; the count that the writer returns is checked."""
    stream = io.BytesIO()
    count = write_onnx(read_onnx(source), stream)
    assert count == len(stream.getvalue())
    result: ModelProto = ModelProto.FromString(stream.getvalue())
    return result


def test_the_model_sets_every_field(record_property: Callable[[str, object], None]) -> None:
    model = every_field.build()
    assert fields_missing(model) == []
    record_property("fields filled by reflection", fields_missing(every_field.by_hand(every_field.SMALL)))


def test_every_element_type_is_known_here() -> None:
    assert unlisted_types() == []


@pytest.mark.parametrize("kind", ["path", "string", "bytes", "message"])
@pytest.mark.parametrize("name", VARIANTS)
def test_every_field_comes_back(name: str, kind: str, tmp_path: Path) -> None:
    expected = VARIANTS[name]
    path, target = tmp_path / "in.onnx", tmp_path / "out.onnx"
    path.write_bytes(expected.SerializeToString())
    sources = {"path": path, "string": str(path), "bytes": path.read_bytes(), "message": expected}
    before = expected.SerializeToString(deterministic=True)
    model = read_onnx(sources[kind])
    stream = io.BytesIO()
    assert write_onnx(model, stream) == len(stream.getvalue())
    assert_same(expected, ModelProto.FromString(stream.getvalue()))
    assert write_onnx(model, target) == target.stat().st_size
    assert target.read_bytes() == stream.getvalue()
    target.unlink()
    assert write_onnx(model, str(target)) == target.stat().st_size
    assert target.read_bytes() == stream.getvalue()
    assert expected.SerializeToString(deterministic=True) == before


@pytest.mark.parametrize("elements", [every_field.SMALL, every_field.LARGE])
@pytest.mark.parametrize("name", STYLES)
def test_every_encoding_is_read(name: str, elements: int) -> None:
    expected = every_field.build(elements)
    encoded = encode(expected, STYLES[name])
    assert_same(expected, ModelProto.FromString(encoded))
    assert_same(expected, rewritten(encoded))


@pytest.mark.parametrize("elements", [*range(252, 260), *range(1020, 1028), *range(4094, 4099)])
def test_sizes_around_round_numbers_come_back(elements: int) -> None:
    expected = one_node_model([raw_tensor("bytes", "UINT8", elements), typed_tensor("floats", "FLOAT", elements)])
    assert_same(expected, rewritten(expected))


def test_shipped_models_come_back(tmp_path: Path) -> None:
    assert len(SHIPPED_MODELS) > 100, "the onnx package ships its test models no longer"
    for path in SHIPPED_MODELS:
        expected = onnx.load(path)
        assert_same(expected, rewritten(path))
        assert_same(expected, rewritten(expected))
        target = tmp_path / "out.onnx"
        write_onnx(read_onnx(str(path)), target)
        assert_same(expected, onnx.load(target))


@pytest.fixture(scope="module")
def node_models() -> list[tuple[str, ModelProto]]:
    """The models of onnx's node tests. Their making warns, which is of no interest here."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        cases = collect_testcases(None)
    return [(case.name, case.model) for case in cases if case.model is not None]


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_node_test_models_come_back(chunk: int, node_models: list[tuple[str, ModelProto]]) -> None:
    assert len(node_models) > 1000
    failures = {}
    for name, expected in node_models[chunk::CHUNKS]:
        try:
            assert_same(expected, rewritten(expected.SerializeToString()))
            assert_same(expected, rewritten(expected))
        except (AssertionError, ModelError) as error:
            failures[name] = str(error)
    assert failures == {}


@pytest.mark.parametrize("elements", [0, 1, 3, 1501])
@pytest.mark.parametrize("data_type", [name for name in TYPES if name != "STRING"])
def test_values_are_those_onnx_reads(data_type: str, elements: int) -> None:
    tensors = [raw_tensor("raw", data_type, elements), typed_tensor("typed", data_type, elements)]
    model = read_onnx(one_node_model(tensors).SerializeToString())
    (node,) = model.graph.nodes
    for constant, tensor in zip(node.inputs, tensors, strict=True):
        expected = numpy_helper.to_array(tensor)
        values = constant.values
        assert values.dtype == expected.dtype
        assert values.shape == expected.shape
        assert values.tobytes() == expected.tobytes()
        assert not values.flags.writeable
        assert constant.data.nbytes == stored_bytes(data_type, elements)


def test_a_second_pass_changes_no_byte() -> None:
    first, second = io.BytesIO(), io.BytesIO()
    write_onnx(read_onnx(every_field.with_unknown_fields(every_field.LARGE)), first)
    write_onnx(read_onnx(first.getvalue()), second)
    assert second.getvalue() == first.getvalue()


def test_bytes_do_not_depend_on_the_hash_seed(tmp_path: Path) -> None:
    path = tmp_path / "in.onnx"
    path.write_bytes(every_field.build(every_field.LARGE).SerializeToString())
    program = (
        "import hashlib, io, sys; from maxfold.model import read_onnx, write_onnx; out = io.BytesIO();"
        "write_onnx(read_onnx(sys.argv[1]), out); print(hashlib.sha256(out.getvalue()).hexdigest())"
    )
    stream = io.BytesIO()
    write_onnx(read_onnx(path), stream)
    digests = {hashlib.sha256(stream.getvalue()).hexdigest()}
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", program, str(path)]
        result = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        digests.add(result.stdout.strip())
    assert len(digests) == 1


def test_a_long_chain_in_reverse_order_comes_back() -> None:
    nodes = [helper.make_node("Neg", [f"t{i}"], [f"t{i + 1}"]) for i in range(20_000)]
    graph = helper.make_graph(
        nodes[::-1], "reversed", [onnx.ValueInfoProto(name="t0")], [onnx.ValueInfoProto(name="t20000")]
    )
    expected = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    assert_same(expected, rewritten(expected.SerializeToString()))


def test_the_deepest_nesting_that_onnx_reads_comes_back() -> None:
    depth = 0
    while True:
        try:
            expected = ModelProto.FromString(nested_branches(depth + 1))
        except DecodeError:
            break
        depth += 1
    assert depth > 20
    expected = ModelProto.FromString(nested_branches(depth))
    assert_same(expected, rewritten(nested_branches(depth)))


def test_an_unknown_group_is_refused_or_kept() -> None:
    expected = every_field.build()
    for message in (expected, expected.graph, expected.graph.node[0], expected.graph.initializer[0]):
        message.MergeFromString(unknown_group())
    try:
        actual = rewritten(expected.SerializeToString())
    except ModelError:
        return
    assert_same(expected, actual)


@pytest.mark.parametrize("spoil", ODD_MODELS, ids=lambda function: function.__name__.lstrip("_"))
def test_an_odd_model_is_refused_or_kept_whole(spoil: Callable[[ModelProto], None]) -> None:
    expected = one_node_model([raw_tensor("a", "FLOAT", 3)])
    spoil(expected)
    try:
        actual = rewritten(expected.SerializeToString())
    except ModelError:
        return
    assert_same(expected, actual)


@pytest.mark.parametrize("name", ["with space.onnx", "m\u00f6del.onnx", "-o.onnx", "no suffix", "a.onnx.onnx"])
def test_any_file_name_will_do(name: str, tmp_path: Path) -> None:
    expected = one_node_model([raw_tensor("a", "FLOAT", 2000)])
    path = tmp_path / name
    path.write_bytes(expected.SerializeToString())
    write_onnx(read_onnx(path), path)
    assert_same(expected, onnx.load(path))


def test_a_saved_file_has_the_usual_permissions(tmp_path: Path) -> None:
    plain, written = tmp_path / "plain", tmp_path / "written.onnx"
    plain.touch()
    write_onnx(read_onnx(one_node_model([raw_tensor("a", "FLOAT", 2000)])), written)
    assert written.stat().st_mode == plain.stat().st_mode
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plain", "written.onnx"]
