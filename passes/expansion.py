"""Operators that ONNX defines by others become those: the definition as a function, upgraded and inlined.

Source: the functions in the schemas of the onnx package. Those that depend on their context need the types of inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import field
from typing import Any

import onnx
from onnx import AttributeProto, defs

from maxfold.model.attributes import encode, is_nested
from maxfold.model.edit import Edit
from maxfold.model.errors import ModelError
from maxfold.model.graph import Graph, Node, Tensor
from maxfold.model.onnx_reader import read_onnx
from maxfold.model.records import record
from maxfold.model.splice import why_not_moved, why_not_replaced
from maxfold.model.view import View, domain_of
from maxfold.passes.inline_functions import InlineFunctions
from maxfold.passes.upgrades.upgrading import upgrade

# A body may have operators with bodies; none of ONNX's is deeper.
_MOST_LEVELS = 8
_DOMAIN = "maxfold.expanded"

Settle = Callable[[Edit], str | None]
"""What is done to a body before it takes the place of a node; returns why it had better not."""


@record
class Expansion:
    """`made` are the nodes that are there now, by each node that is gone; `refused` the others, with the reasons.

    `results` says what is read in the place of results that are gone.
    """

    made: dict[Node, list[Node]] = field(default_factory=dict)
    results: dict[Tensor, Tensor] = field(default_factory=dict)
    refused: dict[Node, str] = field(default_factory=dict)


def expand(edit: Edit, is_wanted: Callable[[Node], bool], settle: Settle | None = None) -> Expansion:
    """Replaces nodes of ONNX's operators by the functions that define them, all that is wanted in those too."""
    found = Expansion()
    pending = [node for node in edit.nodes() if _is_asked(node, edit, is_wanted)]
    for _ in range(_MOST_LEVELS):
        for node in pending:
            _expand(node, edit, settle, found)
        edit.flush()
        new = [item for node in pending for item in found.made.get(node, ())]
        pending = [item for item in new if edit.is_live(item) and _is_asked(item, edit, is_wanted)]
        if not pending:
            break
    edit.take_touched()
    return found


def has_body(operator: str, opset: int) -> bool:
    """Whether ONNX defines an operator by others in an operator set."""
    try:
        schema: Any = defs.get_schema(operator, opset, "")
    except defs.SchemaError:
        return False
    return bool(schema.has_function or schema.has_context_dependent_function)


def _is_asked(node: Node, edit: Edit, is_wanted: Callable[[Node], bool]) -> bool:
    return not domain_of(node) and not edit.is_function_call(node) and is_wanted(node)


def _expand(node: Node, edit: Edit, settle: Settle | None, found: Expansion) -> None:
    reason = _why_not(node, edit)
    if reason is not None:
        found.refused[node] = reason
        return
    try:
        body = _Body(node, edit).edit()
        upgrade(body, edit.opset(node) or 0)
    except ModelError as error:
        found.refused[node] = str(error)
        return
    graph = body.model.graph
    given = [tensor for tensor in node.inputs if tensor.name]
    bindings: dict[Tensor, Tensor | None] = dict(zip(graph.inputs, given, strict=True))
    made = iter(bindings.get(tensor) or tensor for tensor in graph.outputs)
    returned = [next(made) if tensor.name else tensor for tensor in node.outputs]
    reason = None if settle is None else settle(body)
    reason = reason or why_not_moved(graph, node, edit, bindings) or why_not_replaced(node, returned, edit, graph)
    if reason is not None:
        found.refused[node] = reason
        return
    copied = edit.copy_function(graph, node)
    found.made[node] = list(copied.nodes)
    tensors = iter(edit.inline_graph(copied, before=node, bindings=dict(zip(copied.inputs, given, strict=True))))
    results = [next(tensors) if tensor.name else tensor for tensor in node.outputs]
    found.results.update((old, new) for old, new in zip(node.outputs, results, strict=True) if old is not new)
    edit.replace_results(node, results)


def _why_not(node: Node, edit: Edit) -> str | None:
    if edit.is_kept(node):
        return "it is to be kept"
    if edit.why_frozen(node) is not None:
        return edit.why_frozen(node)
    if not any(tensor.name for tensor in node.outputs):
        return "it has no results"
    if any(is_nested(value) and not _is_tensor(value) for value in node.attrs.values()):
        return "it has a graph as an attribute"
    return None


def _is_tensor(value: object) -> bool:
    return not isinstance(value, (Graph, list))


class _Body:
    """The definition of one node: a model of a call of it, whose inputs have the types that are known."""

    def __init__(self, node: Node, view: View) -> None:
        self._node = node
        self._view = view
        opset = view.opset(node)
        try:
            # onnx's own type information leaves out what is about functions.
            self._schema: Any = defs.get_schema(node.op, opset or 0, "")
        except defs.SchemaError:
            raise ModelError(f"it does not exist in operator set {opset}") from None
        self._opset = opset or 0

    def edit(self) -> Edit:
        """The body as a graph of its own, with what the node says put in for references."""
        function = self._function()
        function.name, function.domain = self._node.op, _DOMAIN
        del function.attribute[:]
        del function.attribute_proto[:]
        function.attribute.extend(self._schema.attributes)
        graph = onnx.GraphProto(name=self._node.op)
        call = graph.node.add(op_type=self._node.op, domain=_DOMAIN)
        call.attribute.extend(self._attributes())
        for index, tensor in enumerate(self._node.inputs):
            name = f"given_{index}" if tensor.name else ""
            call.input.append(name)
            if name:
                graph.input.add(name=name, type=self._type(tensor))
        base = next(tensor.name for tensor in self._node.outputs if tensor.name)
        # Bodies do not make results that are left out.
        places = [index for index, tensor in enumerate(self._node.outputs) if tensor.name]
        function.output[:] = [function.output[index] for index in places]
        call.output[:] = [f"{base}_result_{index}" for index in places]
        graph.output.extend(onnx.ValueInfoProto(name=name) for name in call.output)
        _prefix(function, base)
        imports = [*function.opset_import, onnx.OperatorSetIdProto(domain=_DOMAIN, version=1)]
        model = onnx.ModelProto(ir_version=onnx.IR_VERSION, graph=graph, functions=[function], opset_import=imports)
        made = Edit(read_onnx(model), believes_zero=self._view.believes_zero, is_checked=False)
        result = InlineFunctions(inline_functions=True).run(made)
        if result.declines:
            raise ModelError(result.declines[0].reason)
        return made

    def _function(self) -> onnx.FunctionProto:
        """The definition at the newest version that is not newer than the node's operator set."""
        schema, text = self._schema, b""
        if schema.has_context_dependent_function:
            version = _newest(schema.context_dependent_function_opset_versions, self._opset)
            types = [self._type(tensor).SerializeToString() for tensor in self._node.inputs]
            proto = self._proto().SerializeToString()
            text = schema.get_context_dependent_function_with_opset_version(version, proto, types)
        elif schema.has_function:
            text = schema.get_function_with_opset_version(_newest(schema.function_opset_versions, self._opset))
        if not text:
            raise ModelError("ONNX has no definition by other operators for it")
        function: onnx.FunctionProto = onnx.FunctionProto.FromString(text)
        return function

    def _proto(self) -> onnx.NodeProto:
        proto = onnx.NodeProto(op_type=self._node.op, attribute=self._attributes())
        proto.input.extend(f"given_{index}" if item.name else "" for index, item in enumerate(self._node.inputs))
        proto.output.extend(f"result_{index}" if item.name else "" for index, item in enumerate(self._node.outputs))
        return proto

    def _attributes(self) -> Sequence[AttributeProto]:
        """The node's attributes, and the defaults of those that it leaves out."""
        found = [encode(name, value) for name, value in self._node.attrs.items()]
        for name, formal in self._schema.attributes.items():
            if name not in self._node.attrs and formal.default_value.type:
                found.append(AttributeProto.FromString(formal.default_value.SerializeToString()))
                found[-1].name = name
        return found

    def _type(self, tensor: Tensor) -> onnx.TypeProto:
        """The derived type. Raises `ModelError` where a tensor's element type is not known."""
        made = onnx.TypeProto()
        if not tensor.name:
            return made
        dtype, shape = self._view.dtype(tensor), self._view.shape(tensor)
        if dtype is None or dtype.onnx is None:
            raise ModelError("the element type of an input is not known")
        made.tensor_type.elem_type = dtype.onnx
        if shape is not None:
            made.tensor_type.shape.SetInParent()
            for dim in shape:
                made.tensor_type.shape.dim.add(**({} if dim is None else {"dim_value": dim}))
        return made


def _newest(versions: Collection[int], opset: int) -> int:
    """The newest of versions up to an operator set. Raises `ModelError` where all are newer."""
    known = [version for version in versions if version <= opset]
    if not known:
        raise ModelError(f"ONNX defines it from operator set {min(versions)} on")
    return max(known)


def _prefix(function: onnx.FunctionProto, base: str) -> None:
    """Names of a body begin with the name of the result that it makes."""
    own = {name for node in function.node for name in node.output}
    kept = {*function.input}

    def renamed(name: str) -> str:
        return f"{base}_{name}" if name in own and name not in kept else name

    for node in function.node:
        node.input[:] = map(renamed, node.input)
        node.output[:] = map(renamed, node.output)
        node.name = f"{base}_{node.name or node.op_type}"
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _rename_outer(attribute.g, renamed)
    function.output[:] = map(renamed, function.output)


def _rename_outer(graph: onnx.GraphProto, renamed: Callable[[str], str]) -> None:
    """Lets a graph inside read what its own names do not hide."""
    own = {name for node in graph.node for name in node.output}
    own.update(item.name for item in (*graph.input, *graph.initializer))
    for node in graph.node:
        node.input[:] = [name if name in own else renamed(name) for name in node.input]
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _rename_outer(attribute.g, lambda name: name if name in own else renamed(name))
    for output in graph.output:
        output.name = output.name if output.name in own else renamed(output.name)
