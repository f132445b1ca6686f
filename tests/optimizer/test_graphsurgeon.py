"""maxfold inside graphsurgeon scripts, and graphsurgeon scripts on models that maxfold loaded."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import onnx
import onnx_graphsurgeon as gs
import pytest
from onnx import ModelProto, TensorProto

from maxfold.optimizer import Model, load, optimize, save
from tests.random_models import random_model
from tests.run import Array, assert_equal, in_onnxruntime
from tests.text import golden, lines, model

F32 = np.float32
X = {"x": np.array([1, -2, 5], F32)}

GRAPH = """
g (float[3] x) => (float[3] y) <float[3] k = {1, 2, 3}, float l = {3}> {
    c = Constant<value = float {4}>()
    s = Add(k, l)
    p = Max(x, s)
    q = Max(p, c)
    dead = Neg(q)
    y = Add(q, l)
}"""


def written(loaded: Model) -> ModelProto:
    stream = io.BytesIO()
    save(loaded, stream)
    proto = ModelProto.FromString(stream.getvalue())
    onnx.checker.check_model(proto, full_check=True)
    return proto


def set_dtype(tensor: Any, dtype: Any) -> None:
    """Gives a variable another element type, as scripts do."""
    tensor.dtype = dtype


def result(proto: ModelProto, feeds: dict[str, Array] | None = None) -> Any:
    return in_onnxruntime(proto, X if feeds is None else feeds)[0].tolist()


def test_optimize_a_graph_then_export_it() -> None:
    graph = gs.import_onnx(model(GRAPH))
    report = optimize(graph)
    assert (report.nodes_before, report.nodes_after) == (5, 2)
    assert [node.op for node in graph.nodes] == ["Max", "Add"]
    exported = gs.export_onnx(graph)
    onnx.checker.check_model(exported, full_check=True)
    assert result(exported) == result(model(GRAPH))
    assert sorted(lines(written(load(graph))).splitlines()) == sorted(lines(exported).splitlines())


@pytest.mark.parametrize("seed", range(10))
def test_random_models_through_graphsurgeon(seed: int) -> None:
    case = random_model(seed, finite=True)
    defaults = {tensor.name for tensor in case.model.graph.initializer}
    feeds = {name: value for name, value in case.feeds.items() if name not in defaults}
    graph = gs.import_onnx(case.model)
    before = gs.export_onnx(graph)
    optimize(graph)
    try:
        expected = in_onnxruntime(before, feeds)
    except Exception:
        pytest.skip("graphsurgeon alone breaks this model")
    assert_equal(in_onnxruntime(gs.export_onnx(graph), feeds), expected, zeros_differ=not case.has_max)
    assert_equal(in_onnxruntime(written(load(graph)), feeds), expected, zeros_differ=not case.has_max)


def test_functions_are_exported() -> None:
    source = model(
        "g (float[3] x) => (float[3] y) { y = custom.f(x) }",
        domains='"custom" : 1',
        functions="""<domain: "custom", opset_import: ["" : 17]>
        f (a) => (b) {
            k = Constant<value = float {2}>()
            l = Constant<value = float {3}>()
            s = Add(k, l)
            p = Max(a, s)
            b = Max(p, k)
        }""",
    )
    graph = gs.import_onnx(source)
    assert optimize(graph).changed
    exported = gs.export_onnx(graph)
    assert len(exported.functions[0].node) == 2
    assert result(exported) == result(source)


FUNCTION = """<domain: "custom", opset_import: ["" : 17]>
f (a) => (b) {
    k = Constant<value = float {2}>()
    b = Mul(a, k)
}"""


def test_functions_of_a_loaded_model_are_exported() -> None:
    source = model("g (float[3] x) => (float[3] y) { y = custom.f(x) }", domains='"custom" : 1', functions=FUNCTION)
    loaded = load(source)
    assert result(gs.export_onnx(loaded.graph)) == result(source)
    optimize(loaded)
    assert result(gs.export_onnx(loaded.graph)) == result(source)


def test_a_function_of_a_script_is_saved() -> None:
    loaded = load(model("g (float[3] x) => (float[3] y) { y = Neg(x) }"))
    a, b = gs.Variable("a"), gs.Variable("b")
    nodes = [gs.Node("Add", inputs=[a, gs.Constant("k", np.array(3, F32))], outputs=[b])]
    loaded.graph.functions.append(gs.Function("f", domain="custom", nodes=nodes, inputs=[a], outputs=[b], opset=17))
    loaded.graph.nodes[0].op, loaded.graph.nodes[0].domain = "f", "custom"
    assert result(written(loaded)) == [4, 1, 8]
    optimize(loaded)
    assert result(written(loaded)) == [4, 1, 8]


def test_fields_of_the_graph_that_a_script_changes_are_saved() -> None:
    loaded = load(model(GRAPH))
    graph = loaded.graph
    graph.name, graph.doc_string, graph.producer_name, graph.ir_version = "name", "doc", "producer", 9
    proto = written(loaded)
    assert (proto.graph.name, proto.graph.doc_string, proto.producer_name) == ("name", "doc", "producer")
    assert proto.ir_version == 9


def test_a_loaded_model_can_be_exported_by_graphsurgeon() -> None:
    loaded = load(model(GRAPH))
    exported = gs.export_onnx(loaded.graph)
    assert result(exported) == result(model(GRAPH))
    optimize(loaded)
    assert result(gs.export_onnx(loaded.graph)) == result(model(GRAPH))
    assert result(written(loaded)) == result(model(GRAPH))


def test_appended_nodes_are_saved_and_optimized() -> None:
    loaded = load(model(GRAPH))
    graph = loaded.graph
    new = gs.Variable("z", dtype=np.float32, shape=[3])
    folded = gs.Variable("folded")
    a, b = gs.Constant("a", np.array(7, F32)), gs.Constant("b", np.array(1, F32))
    graph.nodes.append(gs.Node("Add", name="new add", inputs=[a, b], outputs=[folded]))
    graph.nodes.append(gs.Node("Max", name="new max", inputs=[graph.outputs[0], folded], outputs=[new]))
    graph.outputs = [new]
    expected = np.maximum(np.array(result(model(GRAPH))), 8).tolist()
    proto = written(loaded)
    assert result(proto) == expected
    assert [info.name for info in proto.graph.output] == ["z"]
    optimize(loaded)
    assert result(written(loaded)) == expected
    assert [node.op for node in graph.nodes] == ["Max", "Add", "Max"]


def test_values_that_a_script_sets_are_saved() -> None:
    loaded = load(model(GRAPH))
    tensors = loaded.graph.tensors()
    tensors["k"].values = np.array([10, 20, 30], F32)
    tensors["c"].values = np.array([0, 0, 50], F32)
    proto = written(loaded)
    expected = [13 + 3, 23 + 3, 50 + 3]
    assert result(proto) == expected
    optimize(loaded)
    assert result(written(loaded)) == expected


def test_values_of_another_type_and_shape() -> None:
    loaded = load(
        model("""
        g (int64[N] x) => (int64[M] y) <int64 k = {1}> {
            c = Constant<value_int = 2>()
            s = Add(x, c)
            y = Add(s, k)
        }""")
    )
    tensors = loaded.graph.tensors()
    tensors["k"].values = np.array([1, 2])
    tensors["c"].values = np.array([[5], [6]])
    loaded.graph.outputs[0].shape = ["A", "B"]
    proto = written(loaded)
    assert lines(proto).splitlines()[:2] == ["k = int64[2] {1, 2}", "c = Constant<value=int64[2,1] {5, 6}>()"]
    assert result(proto, {"x": np.zeros(2, np.int64)}) == [[6, 7], [7, 8]]


def test_values_cannot_be_written_into() -> None:
    loaded = load(model(GRAPH))
    with pytest.raises(ValueError, match="read-only"):
        loaded.graph.tensors()["k"].values[0] = 5


def test_attributes_that_a_script_sets_are_saved() -> None:
    loaded = load(model("g (float[3] x) => (float[3] y) { a = LeakyRelu<alpha = 0.5>(x)\n y = Cast<to = 1>(a) }"))
    relu, cast = loaded.graph.nodes
    relu.attrs["alpha"] = 0.25
    relu.name = "renamed"
    proto = written(loaded)
    assert (proto.graph.node[0].name, result(proto)) == ("renamed", [1, -0.5, 5])
    relu.op = "Elu"
    relu.attrs = {}
    cast.attrs["to"] = np.float64
    set_dtype(loaded.graph.outputs[0], np.float64)
    proto = written(loaded)
    assert [node.op_type for node in proto.graph.node] == ["Elu", "Cast"]
    assert proto.graph.output[0].type.tensor_type.elem_type == TensorProto.DOUBLE


def test_types_that_a_script_gives_outputs_are_saved() -> None:
    source = model("g (float[3] x) => (float[3] y) { y = Cast<to = 1>(x) }")
    source.graph.output[0].doc_string = "the result"
    loaded = load(source)
    loaded.graph.nodes[0].attrs["to"] = int(TensorProto.FLOAT16)
    set_dtype(loaded.graph.outputs[0], np.float16)
    loaded.graph.outputs[0].shape = ["N"]
    (info,) = written(loaded).graph.output
    tensor_type = info.type.tensor_type
    assert (tensor_type.elem_type, tensor_type.shape.dim[0].dim_param) == (TensorProto.FLOAT16, "N")
    assert info.doc_string == "the result"
    optimize(loaded)
    (info,) = written(loaded).graph.output
    assert info.type.tensor_type.elem_type == TensorProto.FLOAT16


def test_inputs_that_a_script_changes_are_saved() -> None:
    loaded = load(model(GRAPH))
    graph = loaded.graph
    graph.inputs[0].shape = ["batch"]
    extra = gs.Variable("extra", dtype=np.float32, shape=[3])
    graph.inputs.append(extra)
    graph.nodes[-1].inputs[1] = extra
    proto = written(loaded)
    assert [info.name for info in proto.graph.input] == ["x", "extra"]
    assert proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"
    optimize(loaded)
    feeds = {**X, "extra": np.array([100, 200, 300], F32)}
    assert result(written(loaded), feeds) == result(proto, feeds) == [104, 205, 306]


def test_names_that_a_script_changes_are_saved() -> None:
    loaded = load(model(GRAPH))
    loaded.graph.inputs[0].name, loaded.graph.outputs[0].name = "input", "output"
    loaded.graph.tensors()["k"].name = "weight"
    optimize(loaded)
    proto = written(loaded)
    assert ([info.name for info in proto.graph.input], [info.name for info in proto.graph.output]) == (
        ["input"],
        ["output"],
    )
    assert result(proto, {"input": X["x"]}) == result(model(GRAPH))


def test_constants_that_a_script_makes_inputs_are_defaults() -> None:
    loaded = load(model(GRAPH))
    k = loaded.graph.tensors()["k"]
    loaded.graph.inputs.append(k)
    optimize(loaded)
    proto = written(loaded)
    assert [info.name for info in proto.graph.input] == ["x", "k"]
    assert result(proto) == result(model(GRAPH))
    assert result(proto, {**X, "k": np.full(3, 100, F32)}) == [106, 106, 106]


def test_surgery_between_two_optimizations() -> None:
    loaded = load(model(GRAPH))
    optimize(loaded)
    graph = loaded.graph
    add = graph.nodes[-1]
    output = add.outputs[0]
    add.outputs.clear()
    middle = gs.Variable("middle", dtype=np.float32)
    add.outputs.append(middle)
    graph.nodes.append(gs.Node("Max", inputs=[middle, gs.Constant("new k", np.array(100, F32))], outputs=[output]))
    optimize(loaded)
    assert result(written(loaded)) == [100, 100, 100]


def test_cleanup_and_toposort_of_graphsurgeon_still_work() -> None:
    loaded = load(model(GRAPH))
    graph = loaded.graph
    graph.nodes.reverse()
    graph.cleanup().toposort()
    assert [node.op for node in graph.nodes] == ["Add", "Max", "Max", "Add"]
    assert result(written(loaded)) == result(model(GRAPH))


def test_layer_of_graphsurgeon_still_works() -> None:
    loaded = load(model(GRAPH))
    graph = loaded.graph
    (new,) = graph.layer(op="Neg", inputs=[graph.outputs[0]], outputs=["negative"])
    new.dtype, new.shape = np.float32, [3]
    graph.outputs = [new]
    expected = (-np.array(result(model(GRAPH)))).tolist()
    assert result(written(loaded)) == expected
    optimize(loaded)
    assert result(written(loaded)) == expected


def test_a_copy_by_graphsurgeon_is_independent() -> None:
    loaded = load(model(GRAPH))
    copy = loaded.graph.copy()
    optimize(loaded)
    assert result(gs.export_onnx(copy)) == result(model(GRAPH))


def test_metadata_of_untouched_nodes_survives_a_script() -> None:
    source = model(GRAPH)
    for node in source.graph.node:
        node.doc_string = f"doc of {node.output[0]}"
        node.metadata_props.add(key="key", value=node.output[0])
    source.metadata_props.add(key="model", value="value")
    loaded = load(source)
    loaded.graph.nodes[-1].inputs[1] = gs.Constant("other", np.array(9, F32))
    optimize(loaded)
    proto = written(loaded)
    assert {node.output[0]: node.doc_string for node in proto.graph.node} == {"q": "doc of q", "y": "doc of y"}
    assert proto.metadata_props[0].value == "value"


def test_shared_constants_of_branches_are_optimized() -> None:
    source = model("""
        g (bool b, float[3] x) => (float[3] y) <float c = {1}, float d = {2}> {
            y = If (b) <
                then_branch = t () => (float[3] p) { s = Add(c, d)
                    p = Add(x, s) },
                else_branch = e () => (float[3] q) { m = Max(x, c)
                    q = Max(m, d) }
            >
        }""")
    graph = gs.import_onnx(source)
    optimize(graph)
    for branch in (True, False):
        feeds = {"b": np.array(branch), **X}
        assert result(gs.export_onnx(graph), feeds) == result(source, feeds)
        assert result(written(load(graph)), feeds) == result(source, feeds)


def test_detached_nodes_do_not_break_the_model() -> None:
    """The idiom of graphsurgeon scripts: take a node's outputs away, and let cleanup remove it."""
    loaded = load(model(GRAPH))
    graph = loaded.graph
    add = graph.nodes[-1]
    output = add.outputs[0]
    add.outputs.clear()
    graph.nodes.append(gs.Node("Neg", inputs=[graph.inputs[0]], outputs=[output]))
    graph.cleanup()
    optimize(loaded)
    assert lines(written(loaded)) == golden("y = Neg(x)")
