"""Models on the border of what ONNX allows: a reader may refuse them, but must not keep only a part."""

from __future__ import annotations

from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

from tests.model.tensors import raw_tensor, typed_tensor
from tests.model.wire import delimited


def one_node_model(initializers: list[TensorProto]) -> ModelProto:
    """A model with one custom node that reads every initializer."""
    node = NodeProto(op_type="Read", domain="custom", input=[tensor.name for tensor in initializers], output=["y"])
    graph = helper.make_graph([node], "one node", [], [ValueInfoProto(name="y")], initializer=initializers)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("custom", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def nested_branches(depth: int) -> bytes:
    """A model of If nodes, one inside the other, serialized by hand: no parser may have to read it first."""
    graph = delimited(2, b"leaf")
    for _ in range(depth):
        attribute = delimited(1, b"then_branch") + delimited(6, graph)
        node = delimited(1, b"cond") + delimited(4, b"If") + delimited(5, attribute)
        graph = delimited(1, node) + delimited(2, b"level")
    graph += delimited(11, delimited(1, b"cond"))
    return b"\x08\x0a" + delimited(8, b"\x10\x15") + delimited(7, graph)


def _double_attribute(model: ModelProto) -> None:
    model.graph.node[0].attribute.add(name="twice", i=1, type=2)
    model.graph.node[0].attribute.add(name="twice", i=2, type=2)


def _large_tensor_behind_another_kind(model: ModelProto) -> None:
    tensor = raw_tensor("", "FLOAT", 2000)
    model.graph.node[0].attribute.add(name="both", type=AttributeProto.INT, i=1, t=tensor)
    model.graph.node[0].attribute.add(name="none", type=AttributeProto.UNDEFINED, t=tensor)
    model.graph.node[0].attribute.add(name="list", type=AttributeProto.TENSOR, t=tensor, tensors=[tensor, tensor])


def _large_graph_behind_another_kind(model: ModelProto) -> None:
    graph = GraphProto(name="inner", initializer=[raw_tensor("w", "FLOAT", 2000)])
    model.graph.node[0].attribute.add(name="both", type=AttributeProto.STRING, s=b"s", g=graph, graphs=[graph])


def _large_tensor_behind_a_reference(model: ModelProto) -> None:
    function = model.functions.add(name="f", domain="custom", attribute=["table"], output=["b"])
    function.opset_import.add(domain="", version=21)
    function.node.add(op_type="Constant", output=["b"])
    tensor = raw_tensor("", "FLOAT", 2000)
    function.node[0].attribute.add(name="value", type=AttributeProto.TENSOR, ref_attr_name="table", t=tensor)


def _large_tensor_in_another_field(model: ModelProto) -> None:
    tensor = typed_tensor("other field", "FLOAT", 3000)
    tensor.data_type = TensorProto.INT32
    model.graph.initializer.append(tensor)


def _large_tensor_without_type(model: ModelProto) -> None:
    for tensor in (raw_tensor("raw", "FLOAT", 3000), typed_tensor("typed", "DOUBLE", 3000)):
        tensor.ClearField("data_type")
        model.graph.initializer.append(tensor)


def _large_strings_as_raw_data(model: ModelProto) -> None:
    tensor = raw_tensor("text", "UINT8", 9000)
    tensor.data_type = TensorProto.STRING
    model.graph.initializer.append(tensor)


def _large_sparse_tensor(model: ModelProto) -> None:
    sparse = model.graph.sparse_initializer.add(dims=[9000])
    sparse.values.CopyFrom(raw_tensor("sparse", "FLOAT", 3000))
    sparse.indices.CopyFrom(raw_tensor("", "INT64", 3000))


def _large_constant_with_two_values(model: ModelProto) -> None:
    _constant(model, value=raw_tensor("", "FLOAT", 2000), other=raw_tensor("", "FLOAT", 2000))


def _nameless_attribute(model: ModelProto) -> None:
    model.graph.node[0].attribute.add(i=1, type=2)


def _nameless_initializer(model: ModelProto) -> None:
    model.graph.initializer.append(raw_tensor("", "FLOAT", 2))


def _double_value_info(model: ModelProto) -> None:
    model.graph.value_info.add(name="y", doc_string="one")
    model.graph.value_info.add(name="y", doc_string="two")


def _double_output(model: ModelProto) -> None:
    model.graph.output.add(name="y", doc_string="again")


def _nameless_output(model: ModelProto) -> None:
    model.graph.output.add(doc_string="nameless")


def _no_operator(model: ModelProto) -> None:
    model.graph.node.add(output=["z"])


def _two_value_fields(model: ModelProto) -> None:
    tensor = raw_tensor("both", "FLOAT", 2)
    tensor.float_data.extend([1.0, 2.0])
    model.graph.initializer.append(tensor)


def _shadowed_name(model: ModelProto) -> None:
    graph = GraphProto(name="inner", output=[ValueInfoProto(name="y")])
    graph.initializer.append(raw_tensor("a", "FLOAT", 3))
    graph.node.add(op_type="Neg", input=["a"], output=["y"])
    model.graph.node.add(op_type="Hold", domain="custom", output=["held"])
    model.graph.node[-1].attribute.add(name="body", type=5).g.CopyFrom(graph)


def _outer_value_returned(model: ModelProto) -> None:
    graph = GraphProto(name="inner", output=[ValueInfoProto(name="a")])
    model.graph.node.add(op_type="Hold", domain="custom", output=["held"])
    model.graph.node[-1].attribute.add(name="body", type=5).g.CopyFrom(graph)


def _double_function(model: ModelProto) -> None:
    for doc in ("one", "two"):
        model.functions.add(name="f", domain="custom", doc_string=doc).opset_import.add(domain="", version=21)


def _recursive_function(model: ModelProto) -> None:
    function = model.functions.add(name="f", domain="custom", input=["a"], output=["b"])
    function.opset_import.add(domain="custom", version=1)
    function.node.add(op_type="f", domain="custom", input=["a"], output=["b"])


def _double_opset(model: ModelProto) -> None:
    model.opset_import.add(domain="", version=20)


def _no_ir_version(model: ModelProto) -> None:
    model.ClearField("ir_version")


def _first_ir_version(model: ModelProto) -> None:
    model.ir_version = 1
    del model.opset_import[:]


def _sparse_without_values(model: ModelProto) -> None:
    model.graph.sparse_initializer.add(dims=[3])


def _partial_segment(model: ModelProto) -> None:
    tensor = raw_tensor("segment", "FLOAT", 2)
    tensor.dims[0] = 10
    tensor.segment.begin, tensor.segment.end = 4, 6
    model.graph.initializer.append(tensor)


def _huge_but_empty(model: ModelProto) -> None:
    model.graph.initializer.append(TensorProto(name="empty", data_type=1, dims=[0, 1 << 62, 1 << 62]))


def _constant(model: ModelProto, **fields: object) -> NodeProto:
    node: NodeProto = model.graph.node.add(op_type="Constant", output=["constant"])
    model.graph.output.add(name="constant")
    for name, value in fields.items():
        node.attribute.append(helper.make_attribute(name, value))
    return node


def _constant_without_value(model: ModelProto) -> None:
    _constant(model)


def _constant_with_two_values(model: ModelProto) -> None:
    _constant(model, value_int=1, value_float=2.0)


def _constant_with_another_attribute(model: ModelProto) -> None:
    _constant(model, value_int=1, note="kept")


def _constant_with_an_input(model: ModelProto) -> None:
    _constant(model, value_int=1).input.append("a")


def _constant_with_two_outputs(model: ModelProto) -> None:
    _constant(model, value_int=1).output.append("second")


def _constant_without_output_name(model: ModelProto) -> None:
    model.graph.node.add(op_type="Constant", output=[""]).attribute.add(name="value_int", i=1, type=2)


def _constant_in_the_long_domain(model: ModelProto) -> None:
    _constant(model, value_int=1).domain = "ai.onnx"


def _constant_of_a_wrong_kind(model: ModelProto) -> None:
    _constant(model, value_int=0.5)


def _constant_with_doc_string(model: ModelProto) -> None:
    _constant(model, value=raw_tensor("", "FLOAT", 2000)).doc_string = "doc"


ODD_MODELS = [
    _double_attribute,
    _large_tensor_behind_another_kind,
    _large_graph_behind_another_kind,
    _large_tensor_behind_a_reference,
    _large_tensor_in_another_field,
    _large_tensor_without_type,
    _large_strings_as_raw_data,
    _large_sparse_tensor,
    _large_constant_with_two_values,
    _nameless_attribute,
    _nameless_initializer,
    _double_value_info,
    _double_output,
    _nameless_output,
    _no_operator,
    _two_value_fields,
    _shadowed_name,
    _outer_value_returned,
    _double_function,
    _recursive_function,
    _double_opset,
    _no_ir_version,
    _first_ir_version,
    _sparse_without_values,
    _partial_segment,
    _huge_but_empty,
    _constant_without_value,
    _constant_with_two_values,
    _constant_with_another_attribute,
    _constant_with_an_input,
    _constant_with_two_outputs,
    _constant_without_output_name,
    _constant_in_the_long_domain,
    _constant_of_a_wrong_kind,
    _constant_with_doc_string,
]
