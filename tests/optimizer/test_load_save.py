"""load and save: every source and target, and what happens to the caller's own object."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_graphsurgeon as gs
import pytest
from onnx import ModelProto

from maxfold.optimizer import Model, ModelError, load, optimize, save
from tests.optimizer.optimized import optimized
from tests.run import in_onnxruntime
from tests.text import lines, model

F32 = np.float32
X = {"x": np.array([1, -2], F32)}

GRAPH = """
g (float[2] x) => (float[2] y) <float[2] k = {1, 2}, float l = {3}> {
    c = Constant<value = float {4}>()
    s = Add(k, l)
    p = Max(x, s)
    q = Max(p, c)
    dead = Neg(q)
    y = Max(q, l)
}"""


def source() -> ModelProto:
    return model(GRAPH)


def bytes_of(loaded: Model) -> bytes:
    stream = io.BytesIO()
    assert save(loaded, stream) == len(stream.getvalue())
    return stream.getvalue()


@pytest.mark.parametrize("kind", ["str", "path", "bytes", "proto"])
def test_every_source_gives_the_same_model(kind: str, tmp_path: Path) -> None:
    proto = source()
    path = tmp_path / "m.onnx"
    onnx.save(proto, path)
    sources: dict[str, Any] = {"str": str(path), "path": path, "bytes": proto.SerializeToString(), "proto": proto}
    loaded = load(sources[kind])
    assert isinstance(loaded, Model)
    optimize(loaded)
    assert ModelProto.FromString(bytes_of(loaded)) == optimized(source())[0]
    assert proto == source()


def test_a_graphsurgeon_graph_is_adopted_in_place() -> None:
    graph = gs.import_onnx(source())
    loaded = load(graph)
    assert loaded.graph is graph
    assert load(graph).graph is graph


@pytest.mark.parametrize("kind", ["str", "path", "stream", "file"])
def test_every_target_gives_the_same_bytes(kind: str, tmp_path: Path) -> None:
    loaded = load(source())
    path = tmp_path / "out.onnx"
    expected = bytes_of(loaded)
    if kind == "file":
        with path.open("wb") as file:
            count = save(loaded, file)
    elif kind == "stream":
        stream = io.BytesIO()
        count = save(loaded, stream)
        path.write_bytes(stream.getvalue())
    else:
        count = save(loaded, str(path) if kind == "str" else path)
    assert path.read_bytes() == expected
    assert count == len(expected)


def test_saving_twice_and_over_the_source(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    proto = source()
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.arange(5000, dtype=F32), "big"))
    proto.graph.node.add(op_type="Sum", input=["big", "big"], output=["sum"])
    proto.graph.output.append(onnx.helper.make_tensor_value_info("sum", 1, [5000]))
    onnx.save(proto, path)
    loaded = load(path)
    optimize(loaded)
    save(loaded, path)
    first = path.read_bytes()
    save(loaded, path)
    assert path.read_bytes() == first
    results = in_onnxruntime(ModelProto.FromString(first), X)
    np.testing.assert_array_equal(results[1], 2 * np.arange(5000, dtype=F32))


@pytest.mark.parametrize("external", ["auto", "always", "never"])
def test_external_data_survives_optimization(external: Any, tmp_path: Path) -> None:
    proto = source()
    weight = np.arange(4000, dtype=F32)
    proto.graph.initializer.append(onnx.numpy_helper.from_array(weight, "w"))
    proto.graph.node.add(op_type="Max", input=["w", "x0"], output=["z"])
    proto.graph.input.append(onnx.helper.make_tensor_value_info("x0", 1, [1]))
    proto.graph.output.append(onnx.helper.make_tensor_value_info("z", 1, [4000]))
    path, target = tmp_path / "m.onnx", tmp_path / "out" / "o.onnx"
    target.parent.mkdir()
    onnx.save(proto, path, save_as_external_data=True, size_threshold=0, location="m.data")
    loaded = load(path)
    optimize(loaded)
    save(loaded, target, external_data=external)
    back = onnx.load(target)
    feeds = {**X, "x0": np.array([50], F32)}
    np.testing.assert_array_equal(in_onnxruntime(back, feeds)[1], np.maximum(weight, 50))
    assert (len(list(target.parent.iterdir())) == 1) is (external == "never")


def test_weights_that_nothing_touches_are_not_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proto = source()
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.arange(40_000, dtype=F32).reshape(200, 200), "w"))
    proto.graph.node.add(op_type="MatMul", input=["w", "w"], output=["z"])
    proto.graph.output.append(onnx.helper.make_tensor_value_info("z", 1, [200, 200]))
    path = tmp_path / "m.onnx"
    onnx.save(proto, path)
    loaded = load(path)
    weight = next(constant for constant in loaded.graph.constants if constant.name == "w")

    def refuse() -> None:
        raise AssertionError("a weight was decoded")

    monkeypatch.setattr(weight.data, "array", refuse)
    assert optimize(loaded).changed
    save(loaded, tmp_path / "out.onnx")


@pytest.mark.parametrize(
    "wrong",
    [b"", b"not a model", bytearray(b"x"), io.BytesIO(b"x"), io.BytesIO(), "missing.onnx", Path(), ModelProto()],
)
def test_what_is_no_model_is_one_line(wrong: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError) as caught:
        load(wrong)
    assert "\n" not in str(caught.value)


def test_a_proto_with_external_data_needs_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.onnx"
    proto = source()
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.zeros(4, F32), "w"))
    onnx.save(proto, path, save_as_external_data=True, size_threshold=0, location="m.data")
    monkeypatch.chdir("/")
    with pytest.raises(ModelError):
        load(onnx.load(path, load_external_data=False))


def test_optimize_changes_a_proto_in_place() -> None:
    proto = source()
    graph = proto.graph
    report = optimize(proto)
    assert report.changed
    assert [node.op_type for node in proto.graph.node] == ["Max"]
    assert [node.op_type for node in graph.node] == ["Max"]
    np.testing.assert_array_equal(in_onnxruntime(proto, X)[0], in_onnxruntime(source(), X)[0])


def test_a_proto_that_cannot_be_used_stays_as_it_was() -> None:
    proto = source()
    before = proto.SerializeToString()
    mistakes: list[dict[str, Any]] = [{"passes": ["no-such-pass"]}, {"keep": ["nothing"]}, {"math": "fast"}]
    for options in mistakes:
        with pytest.raises(ModelError):
            optimize(proto, **options)
    assert proto.SerializeToString() == before
    proto.graph.node[-1].input[0] = "y"
    before = proto.SerializeToString()
    with pytest.raises(ModelError, match="cycle"):
        optimize(proto)
    assert proto.SerializeToString() == before


def test_unknown_fields_and_order_of_a_proto_without_changes_stay() -> None:
    proto = model("g (float x) => (float y) { y = Neg(x) }")
    data = proto.SerializeToString() + b"\xf8\x3f\x01"
    proto = ModelProto.FromString(data)
    assert not optimize(proto).changed
    assert proto.SerializeToString() == ModelProto.FromString(data).SerializeToString()


def test_loaded_models_are_independent() -> None:
    proto = source()
    first, second = load(proto), load(proto)
    optimize(first)
    assert lines(ModelProto.FromString(bytes_of(second))) == lines(source())
