"""Malformed nodes by kind: one thing is wrong with each, or at least unusual."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

import numpy as np
import onnx
from onnx import AttributeProto, helper, numpy_helper

from tests.passes.conversion import harness, judged

# Control characters, what XML escapes, what no XML holds, what IR's lists of names are written with, nothing to see.
NAMES = ("a\x01b", "\x00", "a\nb", "<&>\"'", "\u00e9\u2028", "\ufffe", " ", "a,b", "a\\b")
_TENSOR = numpy_helper.from_array(np.zeros(2, np.float32))
_VALUES = (1.5, 3, "ab", b"\xff", [1, 2], [1.5], ["ab"], _TENSOR, helper.make_graph([], "inner", [], []))
_TYPES = (onnx.TensorProto.FLOAT, onnx.TensorProto.INT64, onnx.TensorProto.BOOL, onnx.TensorProto.STRING)
# Operator sets in which many operators changed, and one from the future.
_OPSETS = (1, 6, 7, 9, 11, 13, 17, 18, 21, 24, 40)

Change = Callable[[onnx.ModelProto, onnx.NodeProto], object]


_OPTIONAL = """
<ir_version: 8, opset_import: ["" : 18]>
agraph (float[2,3] x) => (float[2,3] y) { o = Optional(x) y = OptionalGetElement(o) }
"""


@functools.cache
def sources() -> dict[str, onnx.ModelProto]:
    """A right model of one node for each operator, most from ONNX's own node tests."""
    found: dict[str, onnx.ModelProto] = {}
    for case in harness.all_cases().values():
        if len(case.model.graph.node) == 1:
            found.setdefault(case.model.graph.node[0].op_type, case.model)
    image = judged.floats(1, 2, 3, 3)
    found["Cast"], _ = judged.one_node("Cast", {"x": image}, opset=19, to=onnx.TensorProto.DOUBLE)
    found["CastLike"], _ = judged.one_node("CastLike", {"x": image, "like": np.arange(3)}, opset=19)
    found["GlobalLpPool"], _ = judged.one_node("GlobalLpPool", {"x": image}, opset=2, p=2)
    found["Optional"] = onnx.parser.parse_model(_OPTIONAL)
    return found


def with_constants(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with random constants for its inputs, where a constant can be made of them."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    left = []
    for info in model.graph.input:
        declared = info.type.tensor_type
        shape = [dim.dim_value for dim in declared.shape.dim]
        if info.type.WhichOneof("value") != "tensor_type" or declared.elem_type == onnx.TensorProto.STRING:
            left.append(info)
            continue
        values = np.random.default_rng(0).integers(0, 3, shape)
        dtype = helper.tensor_dtype_to_np_dtype(declared.elem_type)
        made.graph.initializer.append(numpy_helper.from_array(values.astype(dtype), info.name))
    made.graph.ClearField("input")
    made.graph.input.extend(left)
    return made


def mutants(model: onnx.ModelProto) -> Iterator[tuple[str, onnx.ModelProto]]:
    """What was changed, and the changed model, in all ways that are known here."""
    node = model.graph.node[0]
    for what, change in (*_inputs(node), *_attributes(node), *_results(), *_types(model), *_names(model), *_opsets()):
        changed = onnx.ModelProto()
        changed.CopyFrom(model)
        change(changed, changed.graph.node[0])
        yield what, changed


def _inputs(node: onnx.NodeProto) -> Iterator[tuple[str, Change]]:
    for index in range(len(node.input)):
        yield f"only {index} inputs", lambda _, node, index=index: node.input.__delitem__(slice(index, None))
        yield f"input {index} left out", lambda _, node, index=index: node.input.__setitem__(index, "")
    for count in (1, 10):
        more = list(node.input[:1]) * count
        yield f"{count} more inputs", lambda _, node, more=more: node.input.extend(more)
    yield "one left out behind the last", lambda _, node: node.input.append("")


def _attributes(node: onnx.NodeProto) -> Iterator[tuple[str, Change]]:
    for attribute in node.attribute:
        yield f"without {attribute.name}", lambda _, node, name=attribute.name: _without(node, name)
    names = {"unheard_of"}
    for schema in onnx.defs.get_all_schemas_with_history():
        if (schema.domain, schema.name) == ("", node.op_type):
            names.update(schema.attributes)
    for name in sorted(names):
        for value in _VALUES:
            made = helper.make_attribute(name, value)
            kind = AttributeProto.AttributeType.Name(made.type)
            yield f"{name} as {kind}", lambda _, node, made=made: _with(node, made)
        yield f"{name} of no kind", lambda _, node, name=name: _with(node, AttributeProto(name=name))


def _without(node: onnx.NodeProto, name: str) -> None:
    left = [attribute for attribute in node.attribute if attribute.name != name]
    node.ClearField("attribute")
    node.attribute.extend(left)


def _with(node: onnx.NodeProto, attribute: AttributeProto) -> None:
    _without(node, attribute.name)
    node.attribute.append(attribute)


def _results() -> Iterator[tuple[str, Change]]:
    yield "one more result", lambda _, node: node.output.append("more")

    def return_more(model: onnx.ModelProto, node: onnx.NodeProto) -> None:
        node.output.extend(["more", "many more", "too many"])
        model.graph.output.add(name="too many")

    def return_none(model: onnx.ModelProto, node: onnx.NodeProto) -> None:
        node.ClearField("output")
        model.graph.ClearField("output")

    def leave_out(model: onnx.ModelProto, node: onnx.NodeProto) -> None:
        node.output[0] = ""
        del model.graph.output[0]

    yield "more results, returned", return_more
    yield "no results", return_none
    yield "result 0 left out", leave_out


def _types(model: onnx.ModelProto) -> Iterator[tuple[str, Change]]:
    def set_type(model: onnx.ModelProto, index: int, element_type: int) -> None:
        model.graph.input[index].type.tensor_type.elem_type = element_type

    for index in range(len(model.graph.input)):
        for kind in _TYPES:
            name = onnx.TensorProto.DataType.Name(kind)
            change: Change = lambda model, _, index=index, kind=kind: set_type(model, index, kind)  # type: ignore[misc]  # noqa: E731
            yield f"input {index} of {name}", change
        yield (
            f"input {index} of any shape",
            lambda model, _, index=index: model.graph.input[index].type.tensor_type.ClearField("shape"),
        )


def _names(model: onnx.ModelProto) -> Iterator[tuple[str, Change]]:
    def rename_result(model: onnx.ModelProto, node: onnx.NodeProto, name: str) -> None:
        node.output[0] = model.graph.output[0].name = name

    def rename_input(model: onnx.ModelProto, node: onnx.NodeProto, name: str) -> None:
        old = model.graph.input[0].name
        model.graph.input[0].name = name
        for index, known in enumerate(node.input):
            if known == old:
                node.input[index] = name

    for name in NAMES:
        yield f"node {name!r}", lambda _, node, name=name: setattr(node, "name", name)
        yield f"graph {name!r}", lambda model, _, name=name: setattr(model.graph, "name", name)
        yield f"result {name!r}", lambda model, node, name=name: rename_result(model, node, name)
        if model.graph.input:
            yield f"input {name!r}", lambda model, node, name=name: rename_input(model, node, name)


def _opsets() -> Iterator[tuple[str, Change]]:
    for version in _OPSETS:
        yield (
            f"operator set {version}",
            lambda model, _, version=version: setattr(model.opset_import[0], "version", version),
        )
    yield "another domain", lambda _, node: setattr(node, "domain", "elsewhere")
