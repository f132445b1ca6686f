"""graphsurgeon's own graphs and objects, adopted in place."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnx_graphsurgeon as gs
import pytest
from onnx import AttributeProto, ModelProto

from maxfold.model import Model, read_onnx
from maxfold.model.adopt import adopt, from_graphsurgeon
from maxfold.model.edit import Edit
from maxfold.model.graph import Constant, Function, Graph, Node, Variable
from tests.passes.outcome import assert_consistent, saved
from tests.run import in_onnxruntime
from tests.text import golden, lines, model

F32 = np.float32


def adopted(source: ModelProto) -> tuple[gs.Graph, Model]:
    graph = gs.import_onnx(source)
    return graph, from_graphsurgeon(graph)


def written(loaded: Model, *, check: bool = True) -> ModelProto:
    adopt(loaded)
    assert_consistent(loaded, Edit(loaded))
    proto = ModelProto.FromString(saved(loaded))
    if check:
        onnx.checker.check_model(proto, full_check=True)
    return proto


SIMPLE = """
g (float[2] x) => (float[2] y) <float[2] k = {1, 2}> {
    c = Constant<value = float[2] {3, 4}>()
    p = Add(x, k)
    y = Mul(p, c)
}"""


def test_the_callers_objects_are_the_models() -> None:
    source, loaded = adopted(model(SIMPLE))
    assert loaded.graph is source
    assert isinstance(source, Graph)
    assert all(isinstance(node, Node) for node in source.nodes)
    assert all(isinstance(tensor, (Variable, Constant)) for tensor in source.tensors().values())
    assert [node.op for node in source.nodes] == ["Add", "Mul"]


def test_the_file_is_the_same_as_when_read() -> None:
    _, loaded = adopted(model(SIMPLE))
    assert sorted(lines(written(loaded)).splitlines()) == sorted(lines(model(SIMPLE)).splitlines())


def test_adopting_twice_changes_nothing() -> None:
    _, loaded = adopted(model(SIMPLE))
    first = saved(loaded)
    adopt(loaded)
    assert from_graphsurgeon(loaded.graph).graph is loaded.graph
    assert saved(loaded) == first


def test_tensors_and_nodes_compare_by_identity() -> None:
    source, _ = adopted(model("g (float x) => (float y) { p = Neg(x)\n q = Neg(x)\n y = Add(p, q) }"))
    first, second, _ = source.nodes
    second.outputs[0].name, first.name = "q", second.name
    assert first != second
    assert len({first, second, *first.outputs, *second.outputs}) == 4


@pytest.mark.parametrize("branch", [True, False])
def test_an_initializer_that_only_branches_read(branch: bool) -> None:
    source = model("""
        g (bool b) => (float[2] y) <float[2] c = {1, 5}, float[2] d = {2, 2}> {
            y = If (b) <
                then_branch = t () => (float[2] p) { p = Sub(c, d) },
                else_branch = e () => (float[2] q) { q = Mul(c, d) }
            >
        }""")
    _, loaded = adopted(source)
    proto = written(loaded)
    feeds = {"b": np.array(branch)}
    np.testing.assert_array_equal(in_onnxruntime(proto, feeds)[0], in_onnxruntime(source, feeds)[0])


def test_a_constant_that_one_branch_reads_twice_deep() -> None:
    source = model("""
        g (bool b, float[2] x) => (float[2] y) <float[2] c = {1, 5}> {
            y = If (b) <
                then_branch = t () => (float[2] p) {
                    p = If (b) <
                        then_branch = u () => (float[2] r) { r = Add(c, x) },
                        else_branch = v () => (float[2] s) { s = Mul(c, x) }
                    >
                },
                else_branch = e () => (float[2] q) { q = Neg(x) }
            >
        }""")
    written(adopted(source)[1])


def test_branches_with_constants_of_the_same_name_stay_apart() -> None:
    source = model("""
        g (bool b) => (float[2] y) {
            y = If (b) <
                then_branch = t () => (float[2] p) <float[2] c = {1, 5}> { p = Neg(c) },
                else_branch = e () => (float[2] q) <float[2] c = {3, 3}> { q = Neg(c) }
            >
        }""")
    _, loaded = adopted(source)
    for branch, expected in ((True, [-1, -5]), (False, [-3, -3])):
        assert in_onnxruntime(written(loaded), {"b": np.array(branch)})[0].tolist() == expected


def test_functions() -> None:
    source = model(
        "g (float[2] x) => (float[2] y) { y = custom.f<alpha = 0.5>(x) }",
        domains='"custom" : 1',
        functions="""<domain: "custom", opset_import: ["" : 17]>
        f <alpha> (a) => (b) {
            k = Constant<value = float {2}>()
            p = LeakyRelu<alpha = @alpha>(a)
            b = Mul(p, k)
        }""",
    )
    # The text syntax leaves the kind of a reference open, and graphsurgeon drops what has no kind.
    source.functions[0].node[1].attribute[0].type = AttributeProto.FLOAT
    _, loaded = adopted(source)
    assert isinstance(loaded.functions[0], Function)
    proto = written(loaded)
    assert sorted(lines(proto).splitlines()) == sorted(lines(source).splitlines())
    np.testing.assert_array_equal(
        in_onnxruntime(proto, {"x": np.array([-1, 1], F32)})[0],
        in_onnxruntime(source, {"x": np.array([-1, 1], F32)})[0],
    )


@pytest.mark.parametrize(
    "values",
    [
        np.array([1, 2], F32), np.array([1, 2], np.float16), np.array([[1]], np.int64), np.array(True),
        np.array([1, 2], ml_dtypes.bfloat16), np.array([1, 2], ml_dtypes.float8_e4m3fn),
        np.array([1, -2], ml_dtypes.int4),
        np.array(["a", "bc"], object), np.zeros((0, 3), np.uint8), np.array([1 + 2j], np.complex64),
        np.asfortranarray(np.arange(6, dtype=np.int16).reshape(2, 3)), np.array([1, 2], ">f4"),
    ],
)  # fmt: skip
def test_values_of_every_kind(values: Any) -> None:
    y = gs.Variable("y", dtype=np.float32, shape=[])
    graph = gs.Graph(
        nodes=[gs.Node("Read", domain="custom", inputs=[gs.Constant("k", values)], outputs=[y])], outputs=[y], opset=21
    )
    (tensor,) = written(from_graphsurgeon(graph), check=False).graph.initializer
    back = onnx.numpy_helper.to_array(tensor)
    assert back.shape == values.shape
    assert back.tolist() == values.tolist()


def test_a_graph_built_by_hand() -> None:
    x, y = gs.Variable("x", dtype=np.float32, shape=["N", 2]), gs.Variable("y", dtype=np.float32)
    y.shape = ("N", 2)
    middle = gs.Variable("m")
    k = gs.Constant("k", np.ones(2, F32))
    nodes = [
        gs.Node("Max", inputs=[x, k], outputs=[middle]),
        gs.Node("LeakyRelu", attrs={"alpha": 0.5}, inputs=[middle], outputs=[y]),
    ]
    graph = gs.Graph(nodes=nodes, inputs=[x], outputs=[y], name="built", doc_string="by hand", opset=18)
    proto = written(from_graphsurgeon(graph))
    assert lines(proto) == "k = float[2] {1.0, 1.0}\nm = Max(x, k)\ny = LeakyRelu<alpha=0.5>(m)"
    assert (proto.graph.name, proto.graph.doc_string, proto.opset_import[0].version) == ("built", "by hand", 18)
    assert [dim.dim_param or dim.dim_value for dim in proto.graph.input[0].type.tensor_type.shape.dim] == ["N", 2]


def test_omitted_inputs_and_outputs() -> None:
    x, y = gs.Variable("x", np.float32, [2]), gs.Variable("y", np.float32, [2])
    high = gs.Constant("high", np.array(1, F32))
    nodes = [gs.Node("Clip", inputs=[x, gs.Variable.empty(), high], outputs=[y])]
    proto = written(from_graphsurgeon(gs.Graph(nodes=nodes, inputs=[x], outputs=[y], opset=17)))
    assert list(proto.graph.node[0].input) == ["x", "", "high"]


def test_domains_are_imported() -> None:
    x, y = gs.Variable("x", np.float32, [2]), gs.Variable("y", np.float32, [2])
    nodes = [gs.Node("Read", domain="custom", inputs=[x], outputs=[y])]
    graph = gs.Graph(nodes=nodes, inputs=[x], outputs=[y], opset=17)
    proto = written(from_graphsurgeon(graph), check=False)
    assert [(entry.domain, entry.version) for entry in proto.opset_import] == [("", 17), ("custom", 1)]
    onnx.checker.check_model(proto)


def test_objects_of_a_script_in_a_loaded_model() -> None:
    loaded = read_onnx(model(SIMPLE))
    graph = loaded.graph
    new = gs.Variable("z", dtype=np.float32, shape=[2])
    graph.nodes.append(gs.Node("Max", inputs=[graph.outputs[0], gs.Constant("m", np.zeros(2, F32))], outputs=[new]))
    graph.outputs = [new]
    assert lines(written(loaded)) == golden("""
        k = float[2] {1.0, 2.0}
        m = float[2] {0.0, 0.0}
        c = Constant<value=float[2] {3.0, 4.0}>()
        p = Add(x, k)
        y = Mul(p, c)
        z = Max(y, m)
        """)


def test_a_subgraph_of_a_script() -> None:
    loaded = read_onnx(
        model("g (bool b, float[2] x) => (float[2] y) <float[2] k = {1, 2}> { p = Add(x, k)\n y = Neg(p) }")
    )
    graph = loaded.graph
    condition, (x,) = graph.inputs[0], graph.inputs[1:]
    branches = {}
    for name, op in (("then_branch", "Add"), ("else_branch", "Mul")):
        out = gs.Variable(f"{name}_out", dtype=np.float32)
        operand = gs.Constant("shared", np.array([5, 6], F32)) if name == "then_branch" else graph.nodes[0].inputs[1]
        branches[name] = gs.Graph(nodes=[gs.Node(op, inputs=[x, operand], outputs=[out])], outputs=[out], name=name)
    result = gs.Variable("z", dtype=np.float32, shape=[2])
    graph.nodes.append(gs.Node("If", attrs=branches, inputs=[condition], outputs=[result]))
    graph.outputs.append(result)
    proto = written(loaded)
    outputs = in_onnxruntime(proto, {"b": np.array(False), "x": np.array([3, 4], F32)})
    assert outputs[1].tolist() == [3, 8]


def test_a_constant_node_of_a_script_is_a_constant() -> None:
    loaded = read_onnx(model(SIMPLE))
    graph = loaded.graph
    made = gs.Variable("made", np.float32, [2])
    graph.nodes.insert(0, gs.Node("Constant", attrs={"value": gs.Constant("", np.array([7, 8], F32))}, outputs=[made]))
    graph.nodes[-1].inputs[1] = made
    proto = written(loaded)
    assert in_onnxruntime(proto, {"x": np.zeros(2, F32)})[0].tolist() == [7, 16]
    assert [node.op for node in graph.nodes] == ["Add", "Mul"]
