"""`diff`: what differs between two models."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from maxfold.model import Model
from maxfold.optimizer import convert, diff, load, optimize, save
from maxfold.optimizer.difference import Change, Difference
from tests.text import model

GRAPH = """g (float[N, 2] x, float[2] d) => (float[N, 2] y, float[2] d2) <float[2] c = {1, 2}, float[2] e = {3, 4}>
{ [one] t = Add(x, c)  [two] y = Max(t, e)  [three] d2 = Neg(d) }"""

IF = """g (bool b, float[2] x) => (float[2] y)
{ [branching] y = If (b) <
    then_branch = a () => (float[2] p) { [inner] p = Add(x, x) },
    else_branch = z () => (float[2] q) { [other] q = Neg(x) }> }"""

FUNCTION = '<opset_import: ["" : 17], domain: "local"> fun (a) => (b) { [deep] b = Neg(a) }'


def loaded(text: str, **settings: object) -> Model:
    return load(model(text, **settings))  # type: ignore[arg-type]


def brief(changes: tuple[Change, ...]) -> list[tuple[str, str, str, tuple[str, ...]]]:
    return [(item.change, item.scope, item.name, item.fields) for item in changes]


def sections(difference: Difference) -> dict[str, list[tuple[str, str, str, tuple[str, ...]]]]:
    """The sections in which something differs, each change in short."""
    names = ("interface", "metadata", "nodes", "constants")
    return {name: brief(getattr(difference, name)) for name in names if getattr(difference, name)}


@pytest.mark.parametrize("text", [GRAPH, IF])
def test_a_model_equals_itself(text: str) -> None:
    difference = diff(loaded(text), loaded(text))
    assert difference.is_equal
    assert sections(difference) == {}
    assert all(item["before"] == item["after"] for item in difference.operators)


CHANGED = "changed"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("Max(t, e)", "Min(t, e)", {"nodes": [(CHANGED, "", "two", ("operator",))]}),
        ("Max(t, e)", "Max(e, t)", {"nodes": [(CHANGED, "", "two", ("inputs",))]}),
        ("[two]", "[zwei]", {"nodes": [(CHANGED, "", "two", ("name",))]}),
        ("[three] d2 = Neg(d)", "[three] d2 = Cast <to = 1> (d)",
         {"nodes": [(CHANGED, "", "three", ("operator", "attributes.to"))]}),
        ("[one] t = Add(x, c)  [two] y = Max(t, e)", "[one] u = Add(x, c)  [two] y = Max(u, e)",
         {"nodes": [(CHANGED, "", "one", ("outputs",)), (CHANGED, "", "two", ("inputs",))]}),
        ("[one] t = Add(x, c)", "[one] t = Add(x, c)  [four] v = Neg(t)",
         {"nodes": [("added", "", "four", ())]}),
        ("c = {1, 2}", "c = {1, 3}", {"constants": [(CHANGED, "", "c", ("contents",))]}),
        ("float[2] c = {1, 2}", "float[1, 2] c = {1, 2}", {"constants": [(CHANGED, "", "c", ("shape",))]}),
        ("float[2] e = {3, 4}", "double[2] e = {3, 4}", {"constants": [(CHANGED, "", "e", ("dtype", "nbytes"))]}),
        (", float[2] e = {3, 4}>", ", float[2] e = {3, 4}, int64 k = {1}>", {"constants": [("added", "", "k", ())]}),
        ("float[N, 2] x", "float[M, 2] x", {"interface": [(CHANGED, "", "x", ("shape",))]}),
        ("float[2] d)", "float16[2] d)", {"interface": [(CHANGED, "", "d", ("dtype",))]}),
        ("(float[N, 2] x, float[2] d)", "(float[2] d, float[N, 2] x)", {"interface": [(CHANGED, "", "", ("order",))]}),
        ("(float[N, 2] x,", "(float[1] n, float[N, 2] x,", {"interface": [("added", "", "n", ())]}),
        (", float[2] d2)", ")", {"interface": [("removed", "", "d2", ())]}),
        ("g (float", "h (float", {"metadata": [(CHANGED, "", "graph.name", ("value",))]}),
    ],
)  # fmt: skip
def test_one_thing_changed(old: str, new: str, expected: object) -> None:
    assert GRAPH.count(old) == 1
    first, second = loaded(GRAPH), loaded(GRAPH.replace(old, new))
    assert sections(diff(first, second)) == expected
    assert not diff(first, second).is_equal
    assert len(sections(diff(second, first))) == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[one] t = Add(x, c)  [two] y = Max(t, e)  [three] d2 = Neg(d)",
         "[three] d2 = Neg(d)  [one] t = Add(x, c)  [two] y = Max(t, e)"),
        ("float[2] c = {1, 2}, float[2] e = {3, 4}", "float[2] e = {3, 4}, float[2] c = {1, 2}"),
        ("<float[2] c = {1, 2}, float[2] e = {3, 4}>\n{",
         "<float[2] e = {3, 4}>\n{ c = Constant <value = float[2] {1, 2}> ()"),
    ],
)  # fmt: skip
def test_what_does_not_count(old: str, new: str) -> None:
    assert GRAPH.count(old) == 1
    assert diff(loaded(GRAPH), loaded(GRAPH.replace(old, new))).is_equal


def test_metadata() -> None:
    before, after = model(GRAPH), model(GRAPH, opset=18, ir_version=9, domains='"local" : 1')
    helper.set_model_props(before, {"author": "me", "kept": "yes"})
    helper.set_model_props(after, {"author": "you", "kept": "yes"})
    after.graph.metadata_props.add(key="k", value="v")
    after.graph.doc_string = "of the graph"
    after.doc_string, after.producer_name = "of the model", "hand"
    after.graph.quantization_annotation.add(tensor_name="t")
    after.graph.value_info.append(helper.make_tensor_value_info("t", TensorProto.FLOAT, ["N", 2]))
    found = {item.name: (item.before, item.after) for item in diff(load(before), load(after)).metadata}
    for name in ("graph.quantization_annotation", "graph.value_info"):
        assert (found.pop(name)[1] or "").startswith("entries: 1, SHA-256 ")
    assert found == {
        "ir_version": ("8", "9"), "opset_import.ai.onnx": ("17", "18"), "opset_import.local": (None, "1"),
        "metadata_props.author": ("me", "you"), "graph.metadata_props.k": (None, "v"),
        "graph.doc_string": (None, "of the graph"), "doc_string": (None, "of the model"),
        "producer_name": (None, "hand"),
    }  # fmt: skip


def test_documentation_and_metadata_of_parts() -> None:
    before, after = model(GRAPH), model(GRAPH)
    after.graph.input[0].doc_string = "an input"
    after.graph.output[0].type.denotation = "IMAGE"
    after.graph.node[0].metadata_props.add(key="k", value="v")
    after.graph.node[1].doc_string = "a node"
    after.graph.initializer[0].doc_string = "a constant"
    assert sections(diff(load(before), load(after))) == {
        "interface": [(CHANGED, "", "x", ("doc_string",)), (CHANGED, "", "y", ("metadata",))],
        "nodes": [(CHANGED, "", "one", ("metadata",)), (CHANGED, "", "two", ("metadata",))],
        "constants": [(CHANGED, "", "c", ("metadata",))],
    }


def test_a_default() -> None:
    before, after = model(GRAPH), model(GRAPH)
    after.graph.input.append(helper.make_tensor_value_info("e", TensorProto.FLOAT, [2]))
    (change,) = diff(load(before), load(after)).interface
    assert (change.change, change.kind, change.after["has_default"]) == ("added", "input", True)


def test_inner_graphs() -> None:
    second = loaded(IF.replace("Add(x, x)", "Max(x, x)").replace("[other] q = Neg(x)", "[other] q = Abs(x)"))
    assert sections(diff(loaded(IF), second)) == {
        "nodes": [
            (CHANGED, "branching.then_branch", "inner", ("operator",)),
            (CHANGED, "branching.else_branch", "other", ("operator",)),
        ]
    }
    second = loaded("g (bool b, float[2] x) => (float[2] y) { [branching] y = Neg(x) }")
    fields = ("operator", "inputs", "attributes.then_branch", "attributes.else_branch")
    assert sections(diff(loaded(IF), second))["nodes"] == [
        (CHANGED, "", "branching", fields),
        ("removed", "branching.then_branch", "inner", ()),
        ("removed", "branching.else_branch", "other", ()),
    ]
    second = loaded(IF.replace("(float[2] p) { [inner] p", "(float[2] r) { [inner] r"))
    assert sections(diff(loaded(IF), second))["metadata"][0][:3] == (CHANGED, "branching.then_branch", "graph.outputs")


def test_functions() -> None:
    domains = '"local" : 1'
    text = "g (float[2] x) => (float[2] y) { [call] y = local.fun(x) }"
    first = loaded(text, domains=domains, functions=FUNCTION)
    assert diff(first, loaded(text, domains=domains, functions=FUNCTION)).is_equal
    second = loaded(text, domains=domains, functions=FUNCTION.replace("Neg", "Abs"))
    assert sections(diff(first, second)) == {"nodes": [(CHANGED, "local::fun", "deep", ("operator",))]}
    assert sections(diff(first, loaded(text, domains=domains))) == {
        "metadata": [("removed", "", "functions.local::fun", ())],
        "nodes": [("removed", "local::fun", "deep", ())],
    }


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (0.0, -0.0), (1, 1.0), ([1, 2], [1, 3]), ([1, 2], [1, 2, 3]), ("a", b"\xff"), (["a"], ["b"]),
        (numpy_helper.from_array(np.float32([0.0])), numpy_helper.from_array(np.float32([-0.0]))),
        (numpy_helper.from_array(np.float32([1])), numpy_helper.from_array(np.float64([1]))),
        (helper.make_tensor_type_proto(1, [2]), helper.make_tensor_type_proto(1, [3])),
    ],
)  # fmt: skip
def test_values_of_attributes(before: object, after: object) -> None:
    models = []
    for value in (before, after, before, after):
        proto = model("g (float[2] x) => (float[2] y) { y = local.Op(x) }", domains='"local" : 1')
        proto.graph.node[0].attribute.append(helper.make_attribute("value", value))
        models.append(load(proto))
    assert diff(models[0], models[2]).is_equal
    assert diff(models[1], models[3]).is_equal
    assert brief(diff(models[0], models[1]).nodes) == [(CHANGED, "", "y", ("attributes.value",))]


def test_nan_is_itself() -> None:
    proto = model("g (float[2] x) => (float[2] y) { y = local.Op <value = 1.0> (x) }", domains='"local" : 1')
    proto.graph.node[0].attribute[0].f = float("nan")
    assert diff(load(proto), load(proto)).is_equal


def test_nodes_without_names() -> None:
    """Nodes with neither results nor names go together by what they read."""
    proto = model("g (float[2] x) => (float[2] y) { y = Neg(x) }", domains='"local" : 1')
    for operator in ("Sink", "Sink", "Other"):
        proto.graph.node.append(helper.make_node(operator, ["x"], [], domain="local"))
    second = onnx.ModelProto()
    second.CopyFrom(proto)
    assert diff(load(proto), load(second)).is_equal
    del second.graph.node[1]
    assert brief(diff(load(proto), load(second)).nodes) == [("removed", "", "", ())]


def test_a_result_that_stays_leads_to_its_node() -> None:
    first = loaded("g (float[4] x) => (float[2] a, float[2] b) { [s] a, b = Split(x) }", opset=13)
    second = loaded("g (float[4] x) => (float[2] a, float[2] b) { [t] b = Neg(x) [s] a = Abs(x) }", opset=13)
    assert brief(diff(first, second).nodes) == [
        (CHANGED, "", "s", ("operator", "outputs")),
        ("added", "", "t", ()),
    ]


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.bool_, np.object_])
def test_large_constants_in_files(tmp_path: Path, dtype: type) -> None:
    values = (np.arange(60_000) % 2).astype(dtype) if dtype is not np.object_ else np.array(["a", "bc"], object)
    other = values.copy()
    other[-1] = "de" if dtype is np.object_ else not other[-1]
    for name, array in (("a", values), ("b", values), ("c", other)):
        proto = model("g (float[2] x) => (float[2] y) { y = Neg(x) }")
        proto.graph.initializer.append(numpy_helper.from_array(array, "w"))
        proto.graph.output.append(helper.make_tensor_value_info("w", proto.graph.initializer[0].data_type, array.shape))
        onnx.save(proto, tmp_path / f"{name}.onnx", save_as_external_data=name == "b", location="b.data")
    models = {name: load(tmp_path / f"{name}.onnx") for name in "abc"}
    assert diff(models["a"], models["b"]).is_equal
    assert sections(diff(models["a"], models["c"])) == {"constants": [(CHANGED, "", "w", ("contents",))]}


def test_between_formats(tmp_path: Path) -> None:
    first = loaded(GRAPH)
    save(convert(first, to="openvino"), tmp_path / "m.xml")
    second = load(tmp_path / "m.xml")
    assert diff(second, load(tmp_path / "m.xml")).is_equal
    difference = diff(first, second)
    assert difference.formats == ("onnx", "openvino")
    fields = ("domain", "operator")
    assert [item.fields for item in difference.nodes if item.name == "two"] == [fields]
    assert sections(difference)["interface"] == [(CHANGED, "", name, ("shape",)) for name in ("x", "y")]
    counts = {(item["domain"], item["operator"]): (item["before"], item["after"]) for item in difference.operators}
    assert counts["", "Max"] == (1, 0)
    assert counts["openvino.opset1", "Maximum"] == (0, 1)


@pytest.mark.parametrize(
    ("old", "new", "section"),
    [
        ('auto_broadcast="numpy"', 'auto_broadcast="none"', "nodes"),
        ('type="Maximum" version="opset1"', 'type="Minimum" version="opset1"', "nodes"),
        ('shape="?,2"', 'shape="1..8,2"', "interface"),
        ("<rt_info>", '<rt_info><more value="1"/>', "metadata"),
    ],
)
def test_ir(tmp_path: Path, old: str, new: str, section: str) -> None:
    save(convert(loaded(GRAPH), to="openvino"), tmp_path / "m.xml")
    text = (tmp_path / "m.xml").read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "n.xml").write_text(text.replace(old, new, 1), encoding="utf-8")
    (tmp_path / "n.bin").write_bytes((tmp_path / "m.bin").read_bytes())
    assert list(sections(diff(load(tmp_path / "m.xml"), load(tmp_path / "n.xml")))) == [section]


def test_after_optimizing_in_memory() -> None:
    text = "g (float[2] x) => (float[2] y) <float[2] c = {1, 2}> { [one] t = Max(x, c) [two] y = Max(t, x) }"
    first, second = loaded(text), loaded(text)
    optimize(second, passes=["fuse-max"])
    difference = diff(first, second)
    assert brief(difference.nodes) == [("removed", "", "one", ()), (CHANGED, "", "two", ("inputs",))]
    assert (difference.nodes_before, difference.nodes_after) == (2, 1)


def test_as_json() -> None:
    content = diff(loaded(GRAPH), loaded(IF)).to_dict()
    assert content["schema"] == "maxfold.diff/1"
    assert json.loads(json.dumps(content))["is_equal"] is False


def test_many_nodes() -> None:
    """Time grows with the number of nodes, also where many bear one name."""
    nodes = [helper.make_node("Neg", [f"t{i}"], [f"t{i + 1}"], name="same") for i in range(10_000)]
    others = [helper.make_node("Neg", [f"t{i}"], [f"u{i + 1}"], name="same") for i in range(10_000)]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [3]) for name in ("t0", "t10000")]
    opset = [helper.make_opsetid("", 17)]
    proto = helper.make_model(helper.make_graph(nodes, "g", ends[:1], ends[1:]), opset_imports=opset, ir_version=8)
    many = helper.make_model(
        helper.make_graph([*nodes, *others], "g", ends[:1], ends[1:]), opset_imports=opset, ir_version=8
    )
    models = load(proto), load(many)
    started = time.process_time()
    difference = diff(*models)
    assert time.process_time() - started < 5
    assert len(difference.nodes) == 10_000
