"""A model that uses every field of every message of onnx's protobuf, and every attribute kind.

It is valid as a graph (each name has one producer, no cycle) but means nothing. Fields that the installed
onnx lacks are left out; fields that a later onnx adds are filled by reflection.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from google.protobuf.message import Message
from onnx import (
    AttributeProto,
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    SparseTensorProto,
    TensorProto,
    TypeProto,
    ValueInfoProto,
)

from tests.model.protobuf import fill_missing, has_field, set_defaults, walk
from tests.model.tensors import TYPES, raw_tensor, typed_tensor
from tests.model.wire import unknown_fields

SMALL, LARGE = 3, 1501  # elements of a tensor; the large ones hold 1.5 KB (bytes) to 24 KB (complex128)


def build(elements: int = SMALL) -> ModelProto:
    """The model with every field, its tensors `elements` long."""
    model = by_hand(elements)
    fill_missing(model)
    return model


def by_hand(elements: int) -> ModelProto:
    """The same without the fields that reflection fills."""
    model = ModelProto(
        ir_version=10,
        producer_name="every field",
        producer_version="1.2.3",
        domain="test.maxfold",
        model_version=-7,
    )
    for domain, version in (("", 21), ("custom", 3), ("local", 1), ("ai.onnx.ml", 4), ("unused", 9)):
        model.opset_import.add(domain=domain, version=version)
    model.graph.CopyFrom(_main_graph(elements))
    model.functions.extend([_function(elements, ""), _function(elements, "other")])
    _add_training(model, elements)
    _add_devices(model)
    _annotate(model)
    return model


def with_unknown_fields(elements: int = SMALL) -> ModelProto:
    """The same with fields of a future onnx in one message of each type, and in every tensor."""
    model = build(elements)
    seen: set[str] = set()
    for part in list(walk(model)):
        name = part.DESCRIPTOR.full_name
        if name in seen and not isinstance(part, TensorProto):
            continue
        seen.add(name)
        part.MergeFromString(unknown_fields(elements * 4))
    return model


def with_defaults(elements: int = SMALL) -> ModelProto:
    """The same with absent scalar fields present, holding their default values."""
    model = build(elements)
    set_defaults(model)
    return model


def with_nodes_reversed(elements: int = SMALL) -> ModelProto:
    """The same with every node before those whose results it reads."""
    model = build(elements)
    for part in list(walk(model)):
        if isinstance(part, (GraphProto, FunctionProto)):
            part.node.reverse()
    return model


def variants() -> Iterator[tuple[str, ModelProto]]:
    """Every model of this file with a name for it."""
    for size, elements in (("small", SMALL), ("large", LARGE)):
        yield size, build(elements)
        yield f"{size}, unknown fields", with_unknown_fields(elements)
        yield f"{size}, defaults written out", with_defaults(elements)
        yield f"{size}, nodes reversed", with_nodes_reversed(elements)


def _node(operator: str, inputs: Sequence[str], outputs: Sequence[str], domain: str = "custom") -> NodeProto:
    return NodeProto(op_type=operator, input=inputs, output=outputs, domain=domain, name=f"{operator} node")


def _standard(operator: str, inputs: Sequence[str], outputs: Sequence[str]) -> NodeProto:
    return NodeProto(op_type=operator, input=inputs, output=outputs)


def _value(name: str, value_type: TypeProto | None = None) -> ValueInfoProto:
    return ValueInfoProto(name=name, type=value_type)


def _tensor_type(*dims: int | str | None, data_type: int = TensorProto.FLOAT) -> TypeProto:
    result = TypeProto()
    result.tensor_type.elem_type = data_type
    result.tensor_type.shape.SetInParent()
    for dim in dims:
        entry = result.tensor_type.shape.dim.add()
        if isinstance(dim, int):
            entry.dim_value = dim
        elif dim is not None:
            entry.dim_param = dim
    return result


def _types() -> list[TypeProto]:
    """One type of every kind, nested ones among them."""
    batch = _tensor_type("N", 3, None, 0)
    batch.denotation = "IMAGE"
    batch.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    batch.tensor_type.shape.dim[2].denotation = "DATA_FEATURE"
    unranked = TypeProto()
    unranked.tensor_type.elem_type = TensorProto.INT64
    sequence = TypeProto()
    sequence.sequence_type.elem_type.CopyFrom(_tensor_type("N"))
    mapping = TypeProto()
    mapping.map_type.key_type = TensorProto.STRING
    mapping.map_type.value_type.CopyFrom(sequence)
    optional = TypeProto(denotation="MAYBE")
    optional.optional_type.elem_type.CopyFrom(mapping)
    sparse = TypeProto()
    sparse.sparse_tensor_type.elem_type = TensorProto.DOUBLE
    sparse.sparse_tensor_type.shape.dim.add(dim_value=4, denotation="DATA_CHANNEL")
    opaque = TypeProto()
    opaque.opaque_type.domain = "custom"
    opaque.opaque_type.name = "Handle"
    return [batch, _tensor_type(), unranked, sequence, mapping, optional, sparse, opaque, TypeProto()]


def _sparse(name: str, elements: int, *, linear: bool) -> SparseTensorProto:
    """`elements` values in a matrix, each placed by one linear index or by (row, column)."""
    sparse = SparseTensorProto(dims=[elements, 7])
    sparse.values.CopyFrom(raw_tensor(name, "FLOAT", elements))
    indices = [i * 7 + i % 7 for i in range(elements)]
    if linear:
        sparse.indices.CopyFrom(TensorProto(data_type=TensorProto.INT64, dims=[elements], int64_data=indices))
        return sparse
    pairs = [part for index in indices for part in divmod(index, 7)]
    sparse.indices.CopyFrom(TensorProto(data_type=TensorProto.INT64, dims=[elements, 2], int64_data=pairs))
    return sparse


def _attributes(elements: int) -> list[AttributeProto]:
    """One attribute of every kind, then an empty list of every list kind."""
    kind = AttributeProto
    segment = raw_tensor("", "FLOAT", elements)
    segment.segment.begin, segment.segment.end = 0, elements
    graph = GraphProto(name="inner", node=[_node("Local", ["shared"], ["inner result"])])
    graph.initializer.append(typed_tensor("inner weight", "FLOAT", elements))
    graph.output.append(_value("inner result"))
    tensors = [raw_tensor("", "FLOAT", elements), typed_tensor("named", "DOUBLE", elements)]
    sparse = [_sparse("", elements, linear=False), _sparse("", elements, linear=True)]
    filled = [
        kind(name="float", type=kind.FLOAT, f=-0.0),
        kind(name="int", type=kind.INT, i=-(1 << 63)),
        kind(name="string", type=kind.STRING, s=b"\xff\xfe\x00 not UTF-8"),
        kind(name="tensor", type=kind.TENSOR, t=raw_tensor("", "INT64", elements)),
        kind(name="segment", type=kind.TENSOR, t=segment),
        kind(name="graph", type=kind.GRAPH, g=graph),
        kind(name="sparse_tensor", type=kind.SPARSE_TENSOR, sparse_tensor=sparse[0]),
        kind(name="type_proto", type=kind.TYPE_PROTO, tp=_types()[0]),
        kind(name="floats", type=kind.FLOATS, floats=[float("nan"), float("-inf"), 1e-45, *range(elements)]),
        kind(name="ints", type=kind.INTS, ints=[-1, 0, (1 << 63) - 1, *range(elements)]),
        kind(name="strings", type=kind.STRINGS, strings=[b"", b"\x80", "\u00fc".encode(), b"x" * elements]),
        kind(name="tensors", type=kind.TENSORS, tensors=tensors),
        kind(name="graphs", type=kind.GRAPHS, graphs=[graph, graph]),
        kind(name="sparse_tensors", type=kind.SPARSE_TENSORS, sparse_tensors=sparse),
        kind(name="type_protos", type=kind.TYPE_PROTOS, type_protos=_types()),
        kind(name="empty string", type=kind.STRING, s=b""),
        kind(name="untyped", i=1),
    ]
    empty = [
        kind(name=f"empty {name}", type=number) for name, number in kind.AttributeType.items() if name.endswith("S")
    ]
    return filled + empty


def _constants(elements: int) -> list[NodeProto]:
    """A Constant node of every kind; the results of most are used, that of the last is not."""
    kind = AttributeProto
    values = [
        kind(name="value", type=kind.TENSOR, t=raw_tensor("", "FLOAT", elements)),
        kind(name="value", type=kind.TENSOR, t=typed_tensor("own name", "DOUBLE", elements)),
        kind(name="value", type=kind.TENSOR, t=typed_tensor("", "STRING", elements)),
        kind(name="value", t=typed_tensor("", "FLOAT", elements)),
        kind(name="sparse_value", type=kind.SPARSE_TENSOR, sparse_tensor=_sparse("", elements, linear=True)),
        kind(name="value_float", type=kind.FLOAT, f=0.1),
        kind(name="value_floats", type=kind.FLOATS, floats=[0.1] * elements),
        kind(name="value_floats", type=kind.FLOATS),
        kind(name="value_int", type=kind.INT, i=-5),
        kind(name="value_ints", type=kind.INTS, ints=range(elements)),
        kind(name="value_string", type=kind.STRING, s=b"\xc3\x28"),
        kind(name="value_strings", type=kind.STRINGS, strings=[b"a", b"", b"\xff"]),
        kind(name="value", type=kind.TENSOR, t=raw_tensor("unused", "INT8", elements)),
    ]
    nodes = [NodeProto(op_type="Constant", output=[f"c{i}"], attribute=[a]) for i, a in enumerate(values)]
    nodes[1].name = nodes[2].name = "same name"
    nodes[1].domain = ""
    return nodes


def _branches(elements: int) -> NodeProto:
    """An If whose branches share local names, use one outer initializer, and hold an If each."""
    branches = []
    for name in ("then_branch", "else_branch"):
        leaf = GraphProto(name="leaf", output=[_value("deep", _tensor_type("N"))])
        leaf.node.extend([_standard("Max", ["shared", "x", "local", "c0"], ["deep"])])
        inner = _standard("If", ["cond"], ["chosen"])
        inner.attribute.add(name="then_branch", type=AttributeProto.GRAPH).g.CopyFrom(leaf)
        leaf.node[0].output[0] = leaf.output[0].name = "deep too"
        inner.attribute.add(name="else_branch", type=AttributeProto.GRAPH).g.CopyFrom(leaf)
        branch = GraphProto(name=name, output=[_value("chosen", _tensor_type("N"))])
        branch.initializer.append(raw_tensor("local", "FLOAT", elements))
        branch.sparse_initializer.append(_sparse("local sparse", elements, linear=True))
        branch.node.append(_standard("Constant", [], ["local constant"]))
        value = typed_tensor("", "INT64", elements)
        branch.node[0].attribute.add(name="value", type=AttributeProto.TENSOR, t=value)
        branch.node.append(inner)
        branch.value_info.append(_value("local constant", _tensor_type(None, data_type=TensorProto.INT64)))
        branch.quantization_annotation.add(tensor_name="local")
        branches.append(AttributeProto(name=name, type=AttributeProto.GRAPH, g=branch))
    node = _standard("If", ["cond"], ["if result"])
    node.attribute.extend(branches)
    return node


def _loops(elements: int) -> list[NodeProto]:
    """A Loop and a Scan; both bodies capture outer values."""
    body = GraphProto(name="body")
    body.input.extend([_value("i", _tensor_type()), _value("go"), _value("state", _tensor_type("N"))])
    body.node.append(_standard("Add", ["state", "shared"], ["next"]))
    body.node.append(_standard("Identity", ["go"], ["go on"]))
    body.node.append(_node("Local", ["if result", "", "weight"], ["row", ""]))
    body.initializer.append(typed_tensor("weight", "FLOAT", elements))
    body.output.extend([_value("go on"), _value("next"), _value("row")])
    loop = _standard("Loop", ["", "cond", "x"], ["last", "rows"])
    loop.attribute.add(name="body", type=AttributeProto.GRAPH).g.CopyFrom(body)
    step = GraphProto(name="step", input=[_value("sum"), _value("element")])
    step.node.append(_standard("Sum", ["sum", "element", "shared"], ["sum next"]))
    step.output.extend([_value("sum next")])
    scan = _standard("Scan", ["last", "x"], ["scanned"])
    scan.attribute.add(name="body", type=AttributeProto.GRAPH).g.CopyFrom(step)
    scan.attribute.add(name="num_scan_inputs", type=AttributeProto.INT, i=1)
    return [loop, scan]


def _main_graph(elements: int) -> GraphProto:
    graph = GraphProto(name="main \u00fc")
    graph.input.extend(_value(f"typed {i}", value_type) for i, value_type in enumerate(_types()))
    named = {
        "x": _tensor_type("N"),
        "cond": _tensor_type(data_type=TensorProto.BOOL),
        "passed through": None,
        "overridable": _tensor_type(elements),
        "unused": None,
    }
    graph.input.extend(_value(name, value_type) for name, value_type in named.items())
    graph.initializer.append(raw_tensor("overridable", "FLOAT", elements))
    graph.initializer.append(raw_tensor("shared", "FLOAT", elements))
    graph.initializer.append(typed_tensor("is output", "FLOAT", elements))
    for name in TYPES:
        graph.initializer.append(typed_tensor(f"typed {name}", name, elements))
        if name != "STRING":
            graph.initializer.append(raw_tensor(f"raw {name}", name, elements))
    graph.initializer.extend(_odd_tensors(elements))
    graph.sparse_initializer.append(_sparse("sparse linear", elements, linear=True))
    graph.sparse_initializer.append(_sparse("sparse pairs", elements, linear=False))

    everything = _node("Everything", ["x", "", "raw INT4", "sparse pairs", ""], ["every", "", "every too"])
    everything.attribute.extend(_attributes(elements))
    unnamed = [NodeProto(op_type="Neg", input=["x"], output=[f"unnamed {i}"]) for i in range(2)]
    call = _node("Called", ["every", "shared"], ["called"], domain="local")
    other = _node("Called", ["called", ""], ["called other"], domain="local")
    if has_field(other, "overload"):
        other.overload = "other"
    sink = _node("Sink", ["scanned", "c4", "overridable"], [])
    joined = _node("Joined", [f"c{i}" for i in range(12)], ["joined"])
    graph.node.extend([*_constants(elements), *unnamed, everything, call, other, _branches(elements)])
    graph.node.extend([*_loops(elements), joined, sink])
    outputs = ["every", "passed through", "is output", "called other", "rows", "joined", "c5", "overridable"]
    graph.output.extend(_value(name, _tensor_type("N", None)) for name in outputs)
    graph.value_info.extend([_value("called", _tensor_type("N")), _value("named nowhere", _types()[5])])
    annotation = graph.quantization_annotation.add(tensor_name="x")
    annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="shared")
    annotation.quant_parameter_tensor_names.add(key="ZERO_POINT_TENSOR", value="named nowhere")
    return graph


def _odd_tensors(elements: int) -> list[TensorProto]:
    """Scalars, empty tensors, a segment, leftovers of external data."""
    float_type = TensorProto.FLOAT
    segment = raw_tensor("segment", "FLOAT", elements)
    segment.segment.begin, segment.segment.end = 0, elements
    leftover = raw_tensor("leftover", "FLOAT", elements)
    leftover.data_location = TensorProto.DEFAULT
    leftover.external_data.add(key="location", value="gone.bin")
    leftover.external_data.add(key="future key", value="")
    scalar = TensorProto(name="scalar", data_type=float_type, raw_data=b"\0\0\0\x80")
    return [
        segment,
        leftover,
        scalar,
        TensorProto(name="typed scalar", data_type=TensorProto.INT32, int32_data=[-1]),
        TensorProto(name="text scalar", data_type=TensorProto.STRING, string_data=[b"\xff"]),
        TensorProto(name="no elements", data_type=float_type, dims=[0]),
        TensorProto(name="no rows", data_type=float_type, dims=[3, 0, 2], raw_data=b""),
        TensorProto(name="no text", data_type=TensorProto.STRING, dims=[0]),
        TensorProto(name="no nibbles", data_type=TensorProto.INT4, dims=[0, 5]),
    ]


def _function(elements: int, overload: str) -> FunctionProto:
    kind = AttributeProto
    function = FunctionProto(name="Called", domain="local", input=["a", "b"], output=["result"])
    function.attribute.extend(["needed", "number"])
    default = kind(name="table", type=kind.TENSOR, t=raw_tensor("", "DOUBLE", elements))
    function.attribute_proto.extend([kind(name="optional", type=kind.FLOAT, f=0.5), default])
    function.opset_import.add(domain="", version=18)
    function.opset_import.add(domain="custom", version=3)
    if overload and has_field(function, "overload"):
        function.overload = overload
    elif overload:
        function.name = "Called other"
    from_attribute = _standard("Constant", [], ["constant"])
    from_attribute.attribute.add(name="value", type=kind.TENSOR, ref_attr_name="table")
    held = _standard("Constant", [], ["held"])
    held.attribute.add(name="value", type=kind.TENSOR, t=typed_tensor("", "FLOAT", elements))
    body = _node("Local", ["a", "b", "constant", "held"], ["result"])
    body.attribute.add(name="alpha", type=kind.FLOAT, ref_attr_name="optional")
    body.attribute.add(name="untyped", ref_attr_name="needed")
    graph = GraphProto(name="in function", node=[_node("Local", ["a", "inside"], ["inside result"])])
    graph.node[0].attribute.add(name="i", type=kind.INT, ref_attr_name="number")
    graph.initializer.append(raw_tensor("inside", "FLOAT", elements))
    graph.output.append(_value("inside result"))
    body.attribute.add(name="graph", type=kind.GRAPH).g.CopyFrom(graph)
    function.node.extend([held, from_attribute, body])
    if has_field(function, "value_info"):
        function.value_info.append(_value("held", _tensor_type(elements)))
    return function


def _add_training(model: ModelProto, elements: int) -> None:
    """Training that sets an initializer, and whose algorithm uses names of the main graph."""
    info = model.training_info.add()
    info.initialization.name = "initialize"
    info.initialization.node.append(_standard("RandomNormal", [], ["first"]))
    info.initialization.initializer.append(raw_tensor("start", "FLOAT", elements))
    info.initialization.output.extend([_value("first"), _value("start")])
    info.initialization_binding.add(key="shared", value="first")
    info.algorithm.name = "step"
    info.algorithm.initializer.append(typed_tensor("rate", "DOUBLE", elements))
    info.algorithm.input.append(_value("label", _tensor_type("N")))
    info.algorithm.node.append(_node("Gradient", ["every", "label", "rate", "shared"], ["updated"]))
    info.algorithm.output.append(_value("updated"))
    info.update_binding.add(key="shared", value="updated")
    model.training_info.add()


def _add_devices(model: ModelProto) -> None:
    """Device configurations and shardings, where the installed onnx has them (from 1.18 on)."""
    if not has_field(model, "configuration"):
        return
    model.configuration.add(name="two", num_devices=2, device=["left", "right"])
    model.configuration.add(name="none")
    for node in (model.graph.node[0], model.graph.node[-2], model.functions[0].node[0]):
        entry = node.device_configurations.add(configuration_id="two", pipeline_stage=1)
        spec = entry.sharding_spec.add(tensor_name="x", device=[0, -1])
        spec.index_to_device_group_map.add(key=-1, value=[0, 1])
        dim = spec.sharded_dim.add(axis=-1)
        dim.simple_sharding.add(dim_value=4, num_shards=2)
        dim.simple_sharding.add(dim_param="N", num_shards=1)


def _annotate(model: ModelProto) -> None:
    """A doc string and metadata on every second message that may have them."""
    annotated: list[Message] = [part for part in walk(model) if has_field(part, "doc_string")]
    for position, part in enumerate(annotated):
        if position % 2 and not isinstance(part, FunctionProto):
            continue
        part.doc_string = f"line {position}\nline two \u00fc"
        if has_field(part, "metadata_props"):
            part.metadata_props.add(key="key", value=f"{position}")
            part.metadata_props.add(key="key", value="")
