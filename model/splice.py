"""What `Edit` does across scopes: a graph's nodes move into the scope around it, tensors take the place of results.

The direct helper of the one module that changes a graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import onnx

from maxfold.model.data import SparseData
from maxfold.model.fragile import contradicts
from maxfold.model.graph import Constant, Function, Graph, Node, Tensor, scopes_of, subgraphs
from maxfold.model.types import declared_shape
from maxfold.model.view import View

if TYPE_CHECKING:
    from maxfold.model.edit import Edit

# Functions have declarations of their results from this IR version on.
_FUNCTION_VALUE_INFO_IR_VERSION = 10

# From this operator set on Identity takes values of all types; before the other, If and Loop give tensors only.
_IDENTITY_OF_ALL_TYPES = 16
_CONTROL_OF_SEQUENCES = 13


def why_not_moved(
    graph: Graph, before: Node, view: View, bindings: Mapping[Tensor, Tensor | None] | None = None
) -> str | None:
    """Why the nodes of a graph cannot stand in the place of a node, None where they can. See `Edit.inline_graph`.

    None in `bindings` stands for a tensor that will be made.
    """
    reason = why_kept_inside(before, view) or why_kept_inside(graph, view)
    if reason is not None:
        return reason
    for tensor in graph.inputs:
        reason = _why_not_bound(tensor, graph, before, view, bindings or {})
        if reason is not None:
            return reason
    if isinstance(before.scope, Function):
        if any(isinstance(constant.data, SparseData) and not constant.is_node for constant in graph.constants):
            return "a function cannot have a sparse initializer"
        if getattr(graph.proto, "quantization_annotation", ()):
            return "a function cannot have quantization annotations"
    return None


def why_kept_inside(holder: Node | Graph, view: View) -> str | None:
    """Why what is inside a graph, or the graphs of a node, has to stay as it is: something there is to be kept."""
    if not view.keep:
        return None
    roots = subgraphs(holder) if isinstance(holder, Node) else (holder,)
    for scope in (inner for root in roots for inner in scopes_of(root)):
        for node in scope.nodes:
            if view.is_kept(node):
                return f"{(node.name or node.outputs[0].name)!r} inside is to be kept"
        for constant in scope.constants:
            if view.is_kept(constant):
                return f"{constant.name!r} inside is to be kept"
    return None


def why_not_replaced(node: Node, tensors: Sequence[Tensor], view: View, graph: Graph | None = None) -> str | None:
    """Why tensors cannot take the places of a node's results, None where they can. See `Edit.replace_results`.

    `graph` is what is inlined before: tensors that it returns, or has inside, are meant as they will be then.
    """
    for result, tensor in zip(node.outputs, tensors, strict=False):
        if not is_used(result, view):
            continue
        if not tensor.name:
            return f"{result.name!r} would be a value that is left out"
        if _may_need_identity(result, tensor, tensors, view, graph):
            reason = _why_not_passed(tensor, node, view)
            if reason is not None:
                return reason
    return None


def _may_need_identity(
    result: Tensor, tensor: Tensor, tensors: Sequence[Tensor], view: View, graph: Graph | None
) -> bool:
    if view.is_bound(result) or tensor.name in view._shadowed:
        return True
    if not view.is_graph_output(result):
        return False
    if result.name in view._shadowed or view.is_bound(tensor) or not tensor.inputs:
        return True
    returned = 0 if graph is None else sum(output is tensor for output in graph.outputs)
    if view.return_count(tensor) > returned or sum(other is tensor for other in tensors) > 1:
        return True
    return tensor.scope is not result.scope and tensor.scope is not graph


def is_used(tensor: Tensor, view: View) -> bool:
    """Whether a result has a name that anything reads."""
    return bool(tensor.name) and bool(view.use_count(tensor) or view.is_graph_output(tensor) or view.is_bound(tensor))


def _why_not_bound(
    tensor: Tensor, graph: Graph, before: Node, view: View, bindings: Mapping[Tensor, Tensor | None]
) -> str | None:
    if tensor not in bindings:
        return None if isinstance(tensor, Constant) else f"input {tensor.name!r} of {graph.name!r} is not given"
    if view.is_bound(tensor):
        return view.why_fixed(tensor)
    if view.return_count(tensor) > sum(output is tensor for output in graph.outputs):
        return f"{tensor.name!r} is returned as it is by a graph inside {graph.name!r}"
    outer = bindings[tensor]
    if outer is not None and _is_hidden(outer, tensor, graph, view):
        return _why_not_passed(outer, before, view)
    return None


def _is_hidden(outer: Tensor, tensor: Tensor, graph: Graph, view: View) -> bool:
    """Whether a graph inside `graph` that reads an input may have an own tensor of the outer one's name."""
    return outer.name in view._shadowed and any(node.scope is not graph for node in view.consumers(tensor))


def _why_not_passed(tensor: Tensor, node: Node, view: View) -> str | None:
    """Why an Identity in the place of a node may not take a tensor: it may be a sequence, or an optional value."""
    opset = view.opset(node)
    if view.dtype(tensor) is not None or (opset is not None and opset >= _IDENTITY_OF_ALL_TYPES):
        return None
    if opset is not None and opset < _CONTROL_OF_SEQUENCES and node.op in ("If", "Loop"):
        return None
    return f"{tensor.name!r} may be of a type that Identity takes from operator set {_IDENTITY_OF_ALL_TYPES} on only"


def inline_graph(edit: Edit, graph: Graph, before: Node, bindings: Mapping[Tensor, Tensor]) -> list[Tensor]:
    """See `Edit.inline_graph`."""
    returned = list(graph.outputs)
    for tensor in returned:
        edit._release_output(tensor)
    graph.outputs[:] = []
    bound = {item: _bind(edit, item, bindings[item], graph, before) for item in graph.inputs if item in bindings}
    for other in subgraphs(before):
        for scope in scopes_of(other) if other is not graph else ():
            edit._names.release(scope, edit._nodes_in(scope))
    if graph.parent is not None:
        edit._names.release(graph, edit._nodes_in(graph))
    constants = [item for item in graph.constants if item not in bound and item not in edit._dropped]
    nodes = [node for node in edit._nodes_in(graph) if edit.is_live(node)]
    moved: list[Tensor] = [*constants, *(tensor for node in nodes for tensor in node.outputs)]
    names = {tensor.name: _carried(edit, tensor.name, graph, before.scope) for tensor in moved if tensor.name}
    _move_declarations(edit, graph, before.scope, {tensor.name: tensor for tensor in moved}, returned, names)
    _move_annotations(edit, graph, before.scope, names)
    for tensor in moved:
        _rename(edit, tensor, names.get(tensor.name, ""))
        tensor.scope = before.scope
    _move_constants(edit, constants, before.scope)
    for node in nodes:
        if graph.parent is not None:
            node.name = edit._names.carried(node.name, before.scope, is_node=True)
        _move_node(edit, node, before)
    edit._before.setdefault(before, []).extend(graph.nodes)
    graph.nodes[:], graph.constants[:], graph.inputs[:] = [], [], []
    edit._disordered.add(before.scope)
    edit._is_outdated = True
    return [bound.get(tensor, tensor) for tensor in returned]


def replace_results(edit: Edit, node: Node, tensors: Sequence[Tensor]) -> None:
    """See `Edit.replace_results`."""
    renamed: dict[Tensor, Tensor] = {}
    for result, given in zip(list(node.outputs), tensors, strict=False):
        if not is_used(result, edit):
            continue
        tensor = renamed.get(given, given)
        if edit.why_not_replaceable(result, tensor) is not None:
            identity = edit.add_node("Identity", [tensor], before=node)
            list.__setitem__(identity.outputs, 0, result)
            list.__setitem__(result.inputs, slice(None), [identity])
            continue
        if edit.is_graph_output(result):
            renamed[tensor] = result
        edit.replace_uses(result, tensor)
    edit.remove_node(node)


def hoist(
    edit: Edit,
    graph: Graph,
    nodes: Sequence[Node],
    constants: Sequence[Constant],
    twins: Sequence[Node | Constant],
) -> None:
    """See `Edit.hoist`."""
    before = graph.parent
    assert before is not None
    for item in (*nodes, *constants, *twins):
        _free(edit, item)
    moved: list[Tensor] = [*constants, *(tensor for node in nodes for tensor in node.outputs)]
    names = {tensor.name: _carried(edit, tensor.name, graph, before.scope) for tensor in moved if tensor.name}
    _move_declarations(edit, graph, before.scope, {tensor.name: tensor for tensor in moved}, [], names)
    graph.forgotten.update(names)
    for tensor in moved:
        _rename(edit, tensor, names.get(tensor.name, ""))
        tensor.scope = before.scope
    gone, left = set(nodes), set(constants)
    graph.nodes[:] = [node for node in graph.nodes if node not in gone]
    graph.constants[:] = [constant for constant in graph.constants if constant not in left]
    _move_constants(edit, constants, before.scope)
    for node in nodes:
        node.name = edit._names.carried(node.name, before.scope, is_node=True)
        _move_node(edit, node, before)
    edit._before.setdefault(before, []).extend(nodes)
    edit._disordered.add(before.scope)
    edit._is_outdated = True


def _free(edit: Edit, item: Node | Constant) -> None:
    if isinstance(item, Node):
        edit._names.free(item.scope, [tensor.name for tensor in item.outputs if tensor.name], [item.name])
    else:
        edit._names.free(item.scope, [item.name], [item.origin.name] if item.is_node else [])


def drop_results(edit: Edit, node: Node, places: Sequence[int]) -> None:
    """See `Edit.drop_results`."""
    for place in sorted(places, reverse=True):
        for graph in subgraphs(node):
            edit._release_output(graph.outputs[place])
            del graph.outputs[place]
            del graph.output_info[place : place + 1]
        result = node.outputs[place]
        list.__delitem__(node.outputs, place)
        if result.inputs and result.inputs[0] is node:
            list.__setitem__(result.inputs, slice(None), [])
        if not edit.is_graph_output(result):
            result.scope.forgotten.add(result.name)
    edit._is_outdated = True
    edit._touched[node] = True


def take_place(edit: Edit, result: Tensor, tensor: Tensor) -> None:
    """See `Edit.take_place`."""
    producer = edit.producer(tensor)
    assert producer is not None
    edit._redirect(tensor, result)
    index = next(index for index, item in enumerate(producer.outputs) if item is tensor)
    list.__setitem__(producer.outputs, index, result)
    list.__setitem__(tensor.inputs, slice(None), [])
    list.__setitem__(result.inputs, slice(None), [producer])
    tensor.scope.forgotten.add(tensor.name)
    edit._touched[producer] = True


def displace(edit: Edit, tensor: Tensor, new: Tensor) -> Tensor:
    """See `Edit.displace`."""
    producer = edit.producer(tensor)
    assert producer is not None
    list.__setitem__(producer.outputs, next(i for i, item in enumerate(producer.outputs) if item is tensor), new)
    list.__setitem__(tensor.inputs, slice(None), [])
    list.__setitem__(new.inputs, slice(None), [producer])
    edit._uses[new] = 0
    return new


def remove_function(edit: Edit, function: Function) -> None:
    """See `Edit.remove_function`."""
    edit.model.functions.remove(function)
    for scope in scopes_of(function):
        edit._dead.update(scope.nodes)
        for tensor in scope.outputs:
            edit._release_output(tensor)
    edit._find_functions()


def index_graph(edit: Edit, graph: Graph) -> None:
    """Counts the uses inside a graph that no scope of the model holds yet."""
    for scope in scopes_of(graph):
        for tensor in scope.outputs:
            edit._output_uses[tensor] = edit._output_uses.get(tensor, 0) + 1
        edit._graph_inputs.update(scope.inputs)
        for tensor in (*scope.inputs, *scope.constants, *(item for node in scope.nodes for item in node.outputs)):
            edit._uses[tensor] = len(tensor.outputs)


def _bind(edit: Edit, tensor: Tensor, outer: Tensor, graph: Graph, before: Node) -> Tensor:
    """Lets the inside read an outer tensor for an input; under another name where an inner graph hides it."""
    if _is_hidden(outer, tensor, graph, edit):
        outer = edit.add_node("Identity", [outer], before=before).outputs[0]
    edit._redirect(tensor, outer)
    edit._graph_inputs.discard(tensor)
    return outer


def _carried(edit: Edit, name: str, graph: Graph, scope: Graph) -> str:
    """A name in another scope; one that the scope has forgotten would lose its declaration."""
    if name in scope.forgotten:
        return edit._names.fresh(name)
    # A copy has names that are free everywhere.
    return name if graph.parent is None else edit._names.carried(name, scope)


def _rename(edit: Edit, tensor: Tensor, name: str) -> None:
    if tensor.name == name:
        return
    if edit.is_bound(tensor):
        edit._bound[name] = edit._bound[tensor.name]
    if edit.is_graph_output(tensor):
        _rename_output(edit, tensor, name)
    tensor.name = name


def _rename_output(edit: Edit, tensor: Tensor, name: str) -> None:
    """A graph further in returns the tensor as it is, and declares it by name."""
    readers = [node for node in tensor.scope.nodes if node.attrs]
    for scope in (inner for node in readers for root in subgraphs(node) for inner in scopes_of(root)):
        for index, output in enumerate(scope.outputs):
            if output is tensor and index < len(scope.output_info):
                scope.output_info[index] = _renamed_info(scope.output_info[index], name)


def _renamed_info(info: onnx.ValueInfoProto, name: str) -> onnx.ValueInfoProto:
    if info.name == name:
        return info
    renamed = onnx.ValueInfoProto()
    renamed.CopyFrom(info)
    renamed.name = name
    return renamed


def _move_declarations(
    edit: Edit,
    graph: Graph,
    scope: Graph,
    moved: Mapping[str, Tensor],
    returned: Sequence[Tensor],
    names: Mapping[str, str],
) -> None:
    """What was declared of results inside, outputs too, is said where they are now.

    What is wrong is not: inside it may have been left open, here it would be found out.
    """
    if isinstance(scope, Function) and edit.model.ir_version < _FUNCTION_VALUE_INFO_IR_VERSION:
        return
    infos = {info.name: info for info in graph.value_info if info.name not in graph.forgotten}
    for tensor, info in zip(returned, graph.output_info, strict=False):
        if tensor.scope is graph and not isinstance(tensor, Constant) and info.type.WhichOneof("value"):
            infos.setdefault(tensor.name, info)
    for name, info in infos.items():
        if name in names and not _is_wrong(edit, info, moved[name]):
            scope.value_info.append(_renamed_info(info, names[name]))


def _is_wrong(edit: Edit, info: onnx.ValueInfoProto, tensor: Tensor) -> bool:
    shape, derived = declared_shape(info), edit.shape(tensor)
    return shape is not None and derived is not None and contradicts(shape, derived)


def _move_annotations(edit: Edit, graph: Graph, scope: Graph, names: Mapping[str, str]) -> None:
    for annotation in getattr(graph.proto, "quantization_annotation", ()):
        assert isinstance(scope.proto, onnx.GraphProto)
        moved = scope.proto.quantization_annotation.add()
        moved.CopyFrom(annotation)
        moved.tensor_name = names.get(moved.tensor_name, moved.tensor_name)
        for entry in moved.quant_parameter_tensor_names:
            entry.value = names.get(entry.value, entry.value)


def _move_constants(edit: Edit, constants: Sequence[Constant], scope: Graph) -> None:
    for constant in constants:
        edit._graph_inputs.discard(constant)
        constant.position = -1
        if isinstance(constant.origin, onnx.NodeProto):
            name = edit._names.carried(constant.origin.name, scope, is_node=True)
            if name != constant.origin.name:
                origin = onnx.NodeProto()
                origin.CopyFrom(constant.origin)
                origin.name = name
                constant.origin = origin
        elif edit.model.ir_version < 4:
            # There an initializer has to be an input, which it was inside; a Constant node has not.
            constant.origin = None
        scope.constants.append(constant)


def _move_node(edit: Edit, node: Node, before: Node) -> None:
    node.scope = before.scope
    node.position = before.position
    for tensor in node.inputs:
        if not tensor.name:
            tensor.scope = before.scope
    for value in node.attrs.values():
        for item in value if isinstance(value, list) else (value,):
            if isinstance(item, Constant):
                item.scope = before.scope
    edit._touched[node] = True


def rewired(edit: Edit) -> list[Node]:
    """The nodes that edits since the last `Edit.take_touched` have changed, or given other operands."""
    return [node for node, has_changed in edit._touched.items() if has_changed]
