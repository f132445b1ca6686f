"""Every function takes a model in any form that one has it in, or says in one line what it takes."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import onnx_graphsurgeon as gs
import pytest

import maxfold
from tests.run import in_onnxruntime
from tests.text import model

TAKEN = (
    "a path, bytes, a binary file, an onnx.ModelProto, an onnx_graphsurgeon.Graph, a torch.onnx.ONNXProgram "
    "or a maxfold.Model"
)
FEEDS = {"x": np.arange(4, dtype=np.float32)}


def proto() -> onnx.ModelProto:
    text = """
        g (float[4] x) => (float[4] z) {
            y = Max(x, c)
            z = Max(y, d)
        }"""
    return model(text, constants={"c": np.array([1], np.float32), "d": np.array([2], np.float32)})


def path(folder: Path) -> Path:
    onnx.save(proto(), folder / "m.onnx")
    return folder / "m.onnx"


def graph() -> gs.Graph:
    made = gs.import_onnx(proto())
    # graphsurgeon writes no shape of what has none.
    assert made.outputs[0].shape == [4]
    return made


FORMS: dict[str, Callable[[Path], Any]] = {
    "path": path,
    "text": lambda folder: str(path(folder)),
    "bytes": lambda folder: proto().SerializeToString(),
    "bytearray": lambda folder: bytearray(proto().SerializeToString()),
    "memoryview": lambda folder: memoryview(proto().SerializeToString()),
    "file": lambda folder: io.BytesIO(proto().SerializeToString()),
    "open file": lambda folder: path(folder).open("rb"),
    "ModelProto": lambda folder: proto(),
    "graphsurgeon": lambda folder: graph(),
    "ONNXProgram": lambda folder: SimpleNamespace(model_proto=proto()),
    "Model": lambda folder: maxfold.load(path(folder)),
}
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "load": maxfold.load,
    "save": lambda given: maxfold.save(given, io.BytesIO()),
    "convert": lambda given: maxfold.convert(given, to="openvino"),
    "inspect": maxfold.inspect,
    "diff": lambda given: maxfold.diff(given, given),
    "verify": lambda given: maxfold.verify(given, proto(), runs=1),
}


@pytest.fixture(params=FORMS)
def given(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A model in each form; a file is closed in the end."""
    found = FORMS[request.param](tmp_path)
    yield found
    if isinstance(found, io.BufferedReader):
        found.close()


def test_all_forms_are_loaded(given: Any) -> None:
    loaded = maxfold.load(given)
    report = maxfold.optimize(loaded)
    assert (report.nodes_before, report.nodes_after) == (2, 1)
    np.testing.assert_array_equal(in_onnxruntime(loaded.to_proto(), FEEDS)[0], [2, 2, 2, 3])


def test_all_forms_are_saved(given: Any, tmp_path: Path) -> None:
    assert maxfold.save(given, tmp_path / "saved.onnx") == (tmp_path / "saved.onnx").stat().st_size
    assert maxfold.diff(tmp_path / "saved.onnx", proto()).nodes_before == 2


def test_all_forms_are_converted(given: Any) -> None:
    converted = maxfold.convert(given, to="openvino")
    assert (converted.format, converted.node_count()) == ("openvino", 2)


def test_all_forms_are_inspected(given: Any) -> None:
    assert maxfold.inspect(given).nodes == 2


def test_all_forms_are_compared(given: Any) -> None:
    found = maxfold.diff(given, proto())
    assert found.nodes_before == found.nodes_after == 2


def test_all_forms_are_verified(given: Any) -> None:
    found = maxfold.verify(given, proto(), runs=1)
    assert found.is_equal
    assert found.runs == 1


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("wrong", [None, 7, 1.5, [b"x"], object, onnx.GraphProto()], ids=repr)
def test_other_types_are_refused_in_one_line(name: str, wrong: Any) -> None:
    with pytest.raises(TypeError) as caught:
        FUNCTIONS[name](wrong)
    assert str(caught.value) == f"{name} takes {TAKEN}, not {type(wrong).__name__}"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_text_file_is_refused(name: str) -> None:
    with pytest.raises(TypeError, match=rf"^{name} takes .*, not a file that gives str: open it in mode 'rb'$"):
        FUNCTIONS[name](io.StringIO("x"))


def test_what_is_saved_to_must_be_writable() -> None:
    with pytest.raises(TypeError, match=r"^save writes to a path or a file that is open for bytes, not int$"):
        maxfold.save(proto(), 7)  # type: ignore[arg-type]


@pytest.mark.parametrize("form", ["path", "text", "bytes", "file", "ONNXProgram"])
def test_what_cannot_be_rewritten_in_place_is_refused(form: str, tmp_path: Path) -> None:
    given = FORMS[form](tmp_path)
    with pytest.raises(TypeError) as caught:
        maxfold.optimize(given)
    assert str(caught.value) == (
        "optimize works in place and takes an onnx.ModelProto, an onnx_graphsurgeon.Graph or a maxfold.Model, not "
        f"{type(given).__name__}: load() it first, and save() the model that gives"
    )


@pytest.mark.parametrize("form", ["ModelProto", "graphsurgeon", "Model"])
def test_what_can_be_is_rewritten_in_place(form: str, tmp_path: Path) -> None:
    given = FORMS[form](tmp_path)
    assert maxfold.optimize(given).nodes_after == 1
    assert maxfold.inspect(given).nodes == 1


def test_loading_a_message_copies_it() -> None:
    source = proto()
    loaded = maxfold.load(source)
    maxfold.optimize(loaded)
    assert source == proto()


def test_a_model_is_loaded_as_itself() -> None:
    loaded = maxfold.load(proto())
    assert maxfold.load(loaded) is loaded


def test_what_is_wrong_with_a_model_that_is_no_file_is_said_of_it() -> None:
    other = proto()
    other.graph.input.append(onnx.helper.make_tensor_value_info("w", onnx.TensorProto.FLOAT, [4]))
    with pytest.raises(maxfold.ModelError) as caught:
        maxfold.verify(proto(), other)
    assert "model 1" in str(caught.value)
    assert "model 2" in str(caught.value)
    assert "maxfold-" not in str(caught.value)


@pytest.mark.parametrize("passes", ["fuse-max", ["fuse-max"], ("fuse-max",)])
def test_one_pass_may_be_given_by_its_name_alone(passes: Any) -> None:
    report = maxfold.optimize(proto(), passes=passes)
    assert [entry.name for entry in report.passes] == ["fuse-max"]
    assert report.changes == {"fuse-max": 1}


def test_names_may_be_given_as_on_the_command_line() -> None:
    report = maxfold.optimize(proto(), passes="fuse-max,fold-constants", skip="fold-constants", keep="z")
    assert report.changes == {"fuse-max": 0}


def test_a_name_of_none_is_refused() -> None:
    with pytest.raises(maxfold.ModelError, match=r"^'fuse-mx' is not a pass; did you mean 'fuse-max'\?$"):
        maxfold.optimize(proto(), passes="fuse-mx")
