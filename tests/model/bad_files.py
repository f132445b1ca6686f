"""Inputs that are not usable models: how to make each, and what the message about it must name."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

from tests.model.external import external_tensor_model
from tests.model.odd_models import nested_branches, one_node_model
from tests.model.tensors import raw_tensor, typed_tensor
from tests.model.wire import GROUP_END, GROUP_START, VARINT, delimited, tag, varint

FILE = r"broken\.onnx"
"""Every builder but those of missing paths writes this file."""


@dataclass(frozen=True)
class BadFile:
    """`build` makes the input inside a directory and returns its path; `message` is a regular expression."""

    name: str
    build: Callable[[Path], Path]
    message: str = FILE


def _content(data: bytes) -> Callable[[Path], Path]:
    def build(folder: Path) -> Path:
        path = folder / "broken.onnx"
        path.write_bytes(data)
        return path

    return build


def _missing(folder: Path) -> Path:
    return folder / "broken.onnx"


def _directory(folder: Path) -> Path:
    path = folder / "broken.onnx"
    path.mkdir()
    return path


def _below_a_file(folder: Path) -> Path:
    (folder / "file").touch()
    return folder / "file" / "broken.onnx"


def _long_name(folder: Path) -> Path:
    return folder / ("n" * 300 + ".onnx")


def _null_in_name(folder: Path) -> Path:
    return folder / "nul\0l.onnx"


_TENSOR_FILE = raw_tensor("broken", "FLOAT", 600).SerializeToString()
_TOO_LONG = delimited(7, b"")[:-1] + varint(1 << 40)
_LARGEST = delimited(7, b"")[:-1] + varint((1 << 64) - 1)

NOT_MODELS = [
    BadFile("missing", _missing),
    BadFile("directory", _directory),
    BadFile("below a file", _below_a_file),
    BadFile("name too long", _long_name, "nnn"),
    BadFile("null in its name", _null_in_name, "nul"),
    BadFile("a device", lambda _: Path("/dev/null"), "null"),
    BadFile("empty", _content(b"")),
    BadFile("one byte", _content(b"\x08")),
    BadFile("zeros", _content(bytes(5000))),
    BadFile("random bytes", _content(random.Random(1).randbytes(20_000))),
    BadFile("text", _content(b"This is not a model.\n" * 100)),
    BadFile("JSON", _content(b'{"ir_version": 8}')),
    BadFile("XML", _content(b'<?xml version="1.0"?>\n<net name="m" version="11"></net>\n')),
    BadFile("PNG", _content(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(3000))),
    BadFile("zip", _content(b"PK\x03\x04\x14\0\0\0\x08\0" + bytes(range(256)) * 20)),
    BadFile("ELF", _content(b"\x7fELF\x02\x01\x01" + bytes(6000))),
    BadFile("Git LFS pointer", _content(b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n")),
    BadFile("tensor", _content(_TENSOR_FILE)),
    BadFile("no graph", _content(ModelProto(ir_version=8, producer_name="nobody").SerializeToString())),
    BadFile("length past the end", _content(_TOO_LONG)),
    BadFile("length of 64 bits", _content(_LARGEST)),
    BadFile("number of eleven bytes", _content(b"\x08" + b"\x80" * 10 + b"\x01")),
    BadFile("field number 0", _content(b"\x00\x01" + one_node_model([]).SerializeToString())),
    BadFile("wire type 7", _content(one_node_model([]).SerializeToString() + b"\x0f")),
    BadFile("stray end of group", _content(one_node_model([]).SerializeToString() + tag(9, GROUP_END))),
    BadFile("group without end", _content(one_node_model([]).SerializeToString() + tag(99, GROUP_START))),
    BadFile("groups 100,000 deep", _content(tag(99, GROUP_START) * 100_000 + tag(99, GROUP_END) * 100_000)),
    BadFile("graphs 60 deep", _content(nested_branches(60))),
    BadFile("graphs 2,000 deep", _content(nested_branches(2000))),
    BadFile("graph as a number", _content(tag(7, VARINT) + varint(3) + delimited(8, b"\x10\x15"))),
]


def _external(make_data: Callable[[Path], object] = lambda _: None, **entries: str) -> Callable[[Path], Path]:
    """A model in `folder/models` with one tensor "weight" of 2,000 bytes, outside as `entries` say."""

    def build(folder: Path) -> Path:
        models = folder / "models"
        models.mkdir()
        make_data(models)
        external_tensor_model(models / "broken.onnx", entries)
        return models / "broken.onnx"

    return build


def _data_file(name: str, nbytes: int = 2000) -> Callable[[Path], object]:
    def make(models: Path) -> None:
        path = models / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(bytes(nbytes))

    return make


def _link(name: str, target: str) -> Callable[[Path], object]:
    def make(models: Path) -> None:
        (models.parent / "outside").mkdir()
        (models.parent / "outside" / "w.bin").write_bytes(bytes(2000))
        (models / name).symlink_to(target)

    return make


def _absolute(folder: Path) -> Path:
    outside = folder / "w.bin"
    outside.write_bytes(bytes(2000))
    return _external(location=str(outside))(folder)


def _absolute_inside(folder: Path) -> Path:
    return _external(_data_file("w.bin"), location=str(folder / "models" / "w.bin"))(folder)


def _beside(models: Path) -> None:
    (models / "sub").mkdir()
    for folder in (models, models.parent):
        (folder / "w.bin").write_bytes(bytes(2000))


def _directory_as_data(models: Path) -> None:
    (models / "w.bin").mkdir()


def _placed(offset: str | None = None, length: str | None = None, nbytes: int = 2000) -> Callable[[Path], Path]:
    """The tensor in a file of `nbytes` bytes beside the model."""
    entries = {"location": "w.bin", "offset": offset, "length": length}
    return _external(_data_file("w.bin", nbytes), **{key: value for key, value in entries.items() if value is not None})


BAD_EXTERNAL_DATA = [
    BadFile("absolute path", _absolute, "weight"),
    BadFile("absolute path inside", _absolute_inside, "weight"),
    BadFile("climbs out", _external(_beside, location="../w.bin"), "weight"),
    BadFile("climbs out below", _external(_beside, location="sub/../../w.bin"), "weight"),
    BadFile("link out", _external(_link("w.bin", "../outside/w.bin"), location="w.bin"), "weight"),
    BadFile("linked directory", _external(_link("sub", "../outside"), location="sub/w.bin"), "weight"),
    BadFile("link to itself", _external(_link("w.bin", "w.bin"), location="w.bin"), "weight"),
    BadFile("dead link", _external(_link("w.bin", "nowhere"), location="w.bin"), "weight"),
    BadFile("data is a directory", _external(_directory_as_data, location="w.bin"), r"weight|w\.bin"),
    BadFile("data is the model's directory", _external(location="."), "weight|models"),
    BadFile("data missing", _external(location="w.bin"), r"weight.*w\.bin"),
    BadFile("no location", _external(_beside, length="2000"), "weight"),
    BadFile("empty location", _external(location=""), "weight"),
    BadFile("null in location", _external(location="w\0.bin"), "weight"),
    BadFile("location too long", _external(location="w" * 5000), "weight"),
    BadFile("data short", _placed(nbytes=1999), "weight"),
    BadFile("data empty", _placed(nbytes=0), "weight"),
    BadFile("offset past the end", _placed(offset="2001"), "weight"),
    BadFile("offset at the end", _placed(offset="2000"), "weight"),
    BadFile("offset negative", _placed(offset="-1"), "weight"),
    BadFile("offset no number", _placed(offset="0x0"), "weight"),
    BadFile("offset empty", _placed(offset=""), "weight"),
    BadFile("offset 2^63", _placed(offset=str(1 << 63)), "weight"),
    BadFile("offset of 5,000 digits", _placed(offset="9" * 5000), "weight"),
    BadFile("length negative", _placed(length="-2000"), "weight"),
    BadFile("length no number", _placed(length="2e3"), "weight"),
    BadFile("length too small", _placed(length="1996"), "weight"),
    BadFile("length 0", _placed(length="0"), "weight"),
    BadFile("length too large", _placed(length="2004", nbytes=4000), "weight"),
    BadFile("offset and length beyond 2^63", _placed(str((1 << 63) - 1), "2000"), "weight"),
    BadFile("offset and length beyond 2^64", _placed(str((1 << 64) - 1000), "2000"), "weight"),
]


def _model(edit: Callable[[ModelProto], object]) -> Callable[[Path], Path]:
    """A valid model, spoiled by `edit`."""

    def build(folder: Path) -> Path:
        model = one_node_model([raw_tensor("a", "FLOAT", 3)])
        edit(model)
        return _content(model.SerializeToString())(folder)

    return build


def _tensor(data_type: str, dims: list[int], **data: object) -> Callable[[Path], Path]:
    tensor = TensorProto(name="weight", data_type=TensorProto.DataType.Value(data_type), dims=dims, **data)  # type: ignore[arg-type]
    return _model(lambda model: model.graph.initializer.append(tensor))


def _large(tensor: TensorProto, elements: int) -> Callable[[Path], Path]:
    """A tensor large enough to be cut out of the file, with a shape that does not fit it."""
    tensor.dims[0] = elements
    return _model(lambda model: model.graph.initializer.append(tensor))


HUGE_SHAPES = [
    BadFile("2^60 elements", _tensor("FLOAT", [1 << 30, 1 << 30], raw_data=bytes(8)), "weight"),
    BadFile("2^60 elements, typed", _tensor("FLOAT", [1 << 60], float_data=[1.0]), "weight"),
    BadFile("2^64 bytes, none there", _tensor("FLOAT", [1 << 31, 1 << 31], raw_data=b""), "weight"),
    BadFile("2^64 elements, none there", _tensor("UINT8", [1 << 32, 1 << 32]), "weight"),
    BadFile("2^64 elements and 4", _tensor("UINT8", [(1 << 62) + 1, 4], raw_data=bytes(4)), "weight"),
    BadFile("2^126 elements", _tensor("DOUBLE", [1 << 62, 1 << 62], double_data=[1.0]), "weight"),
    BadFile("many dimensions", _tensor("INT4", [1 << 62] * 2000, raw_data=b"\0"), "weight"),
    BadFile("2^60 strings", _tensor("STRING", [1 << 60], string_data=[b"a"]), "weight"),
    BadFile("2^60 elements, large", _large(raw_tensor("weight", "FLOAT", 2000), 1 << 60), "weight"),
]

BAD_TENSORS = [
    *HUGE_SHAPES,
    BadFile("negative dimension", _tensor("FLOAT", [-1, 2], raw_data=bytes(8)), "weight"),
    BadFile("two negative dimensions", _tensor("FLOAT", [-1, -2], raw_data=bytes(8)), "weight"),
    BadFile("raw data short", _tensor("FLOAT", [3], raw_data=bytes(11)), "weight"),
    BadFile("raw data long", _tensor("FLOAT", [3], raw_data=bytes(16)), "weight"),
    BadFile("raw data absent", _tensor("FLOAT", [3]), "weight"),
    BadFile("raw data without elements", _tensor("FLOAT", [0], raw_data=bytes(4)), "weight"),
    BadFile("scalar of two", _tensor("FLOAT", [], raw_data=bytes(8)), "weight"),
    BadFile("nibbles short", _tensor("INT4", [3], raw_data=bytes(1)), "weight"),
    BadFile("nibbles not packed", _tensor("INT4", [4], raw_data=bytes(4)), "weight"),
    BadFile("typed data short", _tensor("FLOAT", [3], float_data=[1, 2]), "weight"),
    BadFile("typed data long", _tensor("INT64", [1], int64_data=[1, 2]), "weight"),
    BadFile("data in another type's field", _tensor("DOUBLE", [2], float_data=[1, 2]), "weight"),
    BadFile("half a complex number", _tensor("COMPLEX64", [2], float_data=[1, 2, 3]), "weight"),
    BadFile("strings short", _tensor("STRING", [2], string_data=[b"a"]), "weight"),
    BadFile("large, raw, short", _large(raw_tensor("weight", "FLOAT", 5000), 5001), "weight"),
    BadFile("large, raw, long", _large(raw_tensor("weight", "FLOAT", 5000), 4999), "weight"),
    BadFile("large, typed, short", _large(typed_tensor("weight", "FLOAT", 5000), 5001), "weight"),
    BadFile("large, typed, long", _large(typed_tensor("weight", "DOUBLE", 5000), 4999), "weight"),
]


def _node(inputs: list[str], outputs: list[str], **attributes: object) -> NodeProto:
    node = NodeProto(op_type="Odd", domain="custom", input=inputs, output=outputs, name="odd node")
    for name, value in attributes.items():
        node.attribute.append(helper.make_attribute(name, value))
    return node


def _nodes(*nodes: NodeProto) -> Callable[[Path], Path]:
    return _model(lambda model: model.graph.node.extend(nodes))


def _inner(*nodes: NodeProto, output: str = "inner") -> GraphProto:
    return GraphProto(name="inner graph", node=nodes, output=[ValueInfoProto(name=output)])


def _chain(length: int) -> list[NodeProto]:
    return [_node([f"t{i}"], [f"t{(i + 1) % length}"]) for i in range(length)]


def _two_inputs(model: ModelProto) -> None:
    for _ in range(2):
        model.graph.input.add(name="twin")


def _two_initializers(model: ModelProto) -> None:
    model.graph.initializer.append(raw_tensor("a", "FLOAT", 3))


def _no_opsets(model: ModelProto) -> None:
    model.ClearField("opset_import")


def _two_sparse(model: ModelProto) -> None:
    sparse = model.graph.sparse_initializer.add(dims=[4])
    sparse.values.CopyFrom(raw_tensor("a", "FLOAT", 1))
    sparse.indices.CopyFrom(typed_tensor("", "INT64", 1))


def _function(*nodes: NodeProto) -> Callable[[Path], Path]:
    def edit(model: ModelProto) -> None:
        function = model.functions.add(name="f", domain="custom", input=["in"], output=["out"], node=nodes)
        function.opset_import.add(domain="custom", version=1)

    return _model(edit)


NAMED_PLACES = ("input", "initializer", "operator", "result", "attribute")


def _not_utf8(place: str) -> Callable[[Path], Path]:
    """The name "placeholder" in one place of a model, as bytes that are not UTF-8."""

    def build(folder: Path) -> Path:
        model = one_node_model([raw_tensor("a", "FLOAT", 3)])
        if place == "input":
            model.graph.input.add(name="placeholder")
        elif place == "initializer":
            model.graph.initializer.append(raw_tensor("placeholder", "FLOAT", 3))
        elif place == "operator":
            model.graph.node[0].op_type = "placeholder"
        elif place == "result":
            model.graph.node.append(_node([], ["placeholder"]))
        else:
            model.graph.node[0].attribute.add(name="placeholder", type=AttributeProto.INT, i=1)
        data = model.SerializeToString()
        assert data.count(b"placeholder") == 1
        return _content(data.replace(b"placeholder", b"place\xff\xfe\x80der"))(folder)

    return build


def _seen_from_inside() -> list[NodeProto]:
    outer = _node(["looped"], ["made"], body=_inner(_node(["made too"], ["inner"])))
    return [outer, _node(["made"], ["made too"]), _node([], ["looped"])]


def _held(*nodes: NodeProto, output: str = "inner") -> NodeProto:
    """A node that makes "held" and has a subgraph of `nodes`."""
    return _node([], ["held"], body=_inner(*nodes, output=output))


NOBODY = "nobody made it"
_TWIN_CONSTANTS = [helper.make_node("Constant", [], ["twin"], value_int=number) for number in range(2)]

BAD_GRAPHS = [
    BadFile("node reads itself", _nodes(_node(["self"], ["self"])), "cycle"),
    BadFile("cycle of two", _nodes(*_chain(2)), "cycle"),
    BadFile("cycle of 5,000", _nodes(*_chain(5000)), "cycle"),
    BadFile("cycle through a subgraph", _nodes(*_seen_from_inside()), "cycle"),
    BadFile("cycle in a subgraph", _nodes(_held(*_chain(3), output="t0")), "cycle"),
    BadFile("cycle in a function", _function(*_chain(3), _node(["in"], ["out"])), "cycle"),
    BadFile("subgraph reads its own node", _nodes(_held(_node(["held"], ["inner"]))), "cycle"),
    BadFile("two nodes make one name", _nodes(_node([], ["twin"]), _node([], ["twin"])), "twin"),
    BadFile("a node makes one name twice", _nodes(_node([], ["twin", "twin"])), "twin"),
    BadFile("two Constants make one name", _nodes(*_TWIN_CONSTANTS), "twin"),
    BadFile("node makes an initializer", _nodes(_node([], ["a"])), "'a'"),
    BadFile("node makes an input", _model(lambda model: model.graph.input.add(name="y")), "'y'"),
    BadFile("two initializers of one name", _model(_two_initializers), "'a'"),
    BadFile("sparse and dense initializer", _model(_two_sparse), "'a'"),
    BadFile("two inputs of one name", _model(_two_inputs), "twin"),
    BadFile("undefined input", _nodes(_node([NOBODY], ["z"])), NOBODY),
    BadFile("undefined output", _model(lambda model: model.graph.output.add(name=NOBODY)), NOBODY),
    BadFile("undefined input in a subgraph", _nodes(_held(_node([NOBODY], ["inner"]))), NOBODY),
    BadFile("undefined output of a subgraph", _nodes(_held(output=NOBODY)), NOBODY),
    BadFile("undefined input in a function", _function(_node([NOBODY], ["out"])), NOBODY),
    BadFile("outer value in a function", _function(_node(["a"], ["out"])), "'a'"),
    BadFile("undefined output of a function", _function(_node(["in"], ["other"])), "out"),
    BadFile("sees into a subgraph", _nodes(_held(_node([], ["inner"])), _node(["inner"], ["z"])), "inner"),
    BadFile("unprintable name", _nodes(_node(["line\nbreak \x1b[31m red \x07"], ["z"])), "line.*break"),
    BadFile("name of 100,000 characters", _nodes(_node(["n" * 100_000], ["z"])), "nnn"),
    BadFile("no operator sets", _model(_no_opsets), "(?i)opset|operator set"),
    *[BadFile(f"{place} name not UTF-8", _not_utf8(place)) for place in NAMED_PLACES],
]

BAD_FILES = [*NOT_MODELS, *BAD_EXTERNAL_DATA, *BAD_TENSORS, *BAD_GRAPHS]
