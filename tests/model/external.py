"""Models with tensors in files beside them, written and read apart from the code under test."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import onnx
from onnx import AttributeProto, GraphProto, ModelProto, TensorProto, ValueInfoProto, helper
from onnx.external_data_helper import load_external_data_for_tensor, uses_external_data

from tests.model.protobuf import walk
from tests.model.tensors import raw_tensor

ExternalData = Literal["auto", "always", "never"]
Layout = Literal["one file", "file each", "sub-directories"]
LAYOUTS: tuple[Layout, ...] = ("one file", "file each", "sub-directories")


def tensors_of(model: ModelProto) -> Iterator[TensorProto]:
    """Every tensor of the model, sparse ones' parts and those of attributes too, always in one order."""
    return (part for part in walk(model) if isinstance(part, TensorProto))


def scattered_model() -> ModelProto:
    """Tensors everywhere: initializers, a Constant, an attribute list, a branch, a function."""
    branch = GraphProto(name="branch", output=[ValueInfoProto(name="chosen")])
    branch.initializer.append(raw_tensor("in branch", "FLOAT", 700))
    branch.node.add(op_type="Constant", output=["constant in branch"])
    value = raw_tensor("", "DOUBLE", 300)
    branch.node[0].attribute.add(name="value", type=AttributeProto.TENSOR, t=value)
    branch.node.add(op_type="Add", input=["in branch", "x"], output=["chosen"])
    nodes = [
        helper.make_node("Constant", [], ["constant"], value=raw_tensor("constant value", "INT64", 400)),
        helper.make_node("If", ["cond"], ["chosen by if"], then_branch=branch, else_branch=branch),
        helper.make_node(
            "Many", ["x", "constant", "weight"], ["y"], domain="custom",
            tables=[raw_tensor("", "FLOAT16", 900), raw_tensor("", "INT8", 40)],
        ),
        helper.make_node("Call", ["y"], ["called"], domain="local"),
    ]  # fmt: skip
    inputs = [ValueInfoProto(name="x"), ValueInfoProto(name="cond")]
    outputs = [ValueInfoProto(name="called"), ValueInfoProto(name="chosen by if")]
    initializers = [
        raw_tensor("weight", "FLOAT", 5000),
        raw_tensor("small", "FLOAT", 4),
        raw_tensor("nibbles", "INT4", 3001),
        raw_tensor("flags", "BOOL", 1024),
        raw_tensor("scalar", "FLOAT", 1),
        TensorProto(name="empty", data_type=1, dims=[3, 0], raw_data=b""),
    ]
    graph = helper.make_graph(nodes, "scattered", inputs, outputs, initializer=initializers)
    opsets = [helper.make_opsetid(domain, 21 if not domain else 1) for domain in ("", "custom", "local")]
    held = helper.make_node("Constant", [], ["held"], value=raw_tensor("", "FLOAT", 600))
    used = helper.make_node("Add", ["a", "held"], ["b"])
    function = helper.make_function("local", "Call", ["a"], ["b"], [held, used], opsets[:1])
    return helper.make_model(graph, opset_imports=opsets, functions=[function], ir_version=10)


def store(
    model: ModelProto,
    path: Path,
    layout: Layout = "one file",
    *,
    padding: int = 0,
    length: bool = True,
    offset: bool = True,
) -> None:
    """Write `model` with every tensor in external data, apart from onnx's own code.

    `padding` bytes go between tensors; `length` and `offset` tell whether those keys are written.
    """
    stored = ModelProto()
    stored.CopyFrom(model)
    for position, tensor in enumerate(tensors_of(stored)):
        location = "weights.bin"
        if layout == "file each":
            location = f"t{position}.bin"
        elif layout == "sub-directories":
            location = f"data/{position % 2}/w\u00fc {position}.bin"
        data_path = path.parent / location
        data_path.parent.mkdir(parents=True, exist_ok=True)
        with data_path.open("ab") as file:
            file.write(b"\xaa" * padding)
            start = file.tell()
            file.write(tensor.raw_data)
        entries = {"location": location, "offset": str(start), "length": str(len(tensor.raw_data))}
        if not length:
            del entries["length"]
        if not offset:
            del entries["offset"]
        for key, value in entries.items():
            tensor.external_data.add(key=key, value=value)
        tensor.data_location = TensorProto.EXTERNAL
        tensor.ClearField("raw_data")
    path.write_bytes(stored.SerializeToString())


def loaded(path: Path) -> ModelProto:
    """The model as onnx reads it, its external data brought in."""
    model = onnx.load(path, load_external_data=False)
    for tensor in tensors_of(model):
        if not uses_external_data(tensor):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # onnx warns of external_data keys that it does not know
            load_external_data_for_tensor(tensor, str(path.parent))
        tensor.ClearField("data_location")
        del tensor.external_data[:]
    return model


def is_external(path: Path) -> dict[str, bool]:
    """Name -> whether the tensor lies outside the model file, for every tensor that has a name."""
    model = onnx.load(path, load_external_data=False)
    return {tensor.name: uses_external_data(tensor) for tensor in tensors_of(model) if tensor.name}


def external_tensor_model(path: Path, entries: dict[str, str], elements: int = 500) -> TensorProto:
    """Write a model with one external tensor, its `entries` as given; returns the tensor with its values."""
    tensor = raw_tensor("weight", "FLOAT", elements)
    stored = TensorProto(name="weight", data_type=1, dims=[elements], data_location=TensorProto.EXTERNAL)
    for key, value in entries.items():
        stored.external_data.add(key=key, value=value)
    graph = GraphProto(name="one tensor", initializer=[stored], output=[ValueInfoProto(name="weight")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    path.write_bytes(model.SerializeToString())
    return tensor
