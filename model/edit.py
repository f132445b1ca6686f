"""The one module that changes a graph.

Rules describe an edit; this module rewires, names, counts and keeps the back-pointers of graphsurgeon's lists.
Lists that a removal makes wrong are mended when they are next looked at, or in `flush`, so that no edit costs
more than what it touches.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import onnx

from maxfold.model.data import Array, ArrayData
from maxfold.model.graph import Constant, Graph, Node, Tensor, new_constant, new_node, new_variable, subgraphs
from maxfold.model.inference import TensorType
from maxfold.model.model import ONNX_DOMAINS
from maxfold.model.names import NameAllocator
from maxfold.model.order import sorted_nodes
from maxfold.model.view import View


class Edit(View):
    """A view that can change the model. Call `flush` before anything else reads the graph's lists."""

    def __init__(self, model: Any, **options: Any) -> None:
        super().__init__(model, **options)
        self._names = NameAllocator(model)
        self._touched: dict[Node, None] = {}
        self._before: dict[Node, list[Node]] = {}
        self._dropped: set[Constant] = set()

    def take_touched(self) -> list[Node]:
        """The nodes that an edit since the last call may have made interesting again."""
        touched = [node for node in self._touched if self.is_live(node)]
        self._touched.clear()
        return touched

    def set_inputs(self, node: Node, inputs: Sequence[Tensor]) -> None:
        """Gives a node other inputs."""
        released = list(node.inputs)
        list.__setitem__(node.inputs, slice(None), inputs)
        for tensor in inputs:
            self._uses[tensor] = self._uses.get(tensor, 0) + 1
        for tensor in released:
            self._release(tensor)
        for tensor in dict.fromkeys(inputs):
            list.append(tensor.outputs, node)
            self._stale.add(tensor)
        self._touched[node] = None

    def set_attribute(self, node: Node, name: str, value: Any) -> None:
        """Sets an attribute, or removes it where the value is None."""
        if value is None:
            node.attrs.pop(name, None)
        else:
            node.attrs[name] = value
        self._touched[node] = None

    def set_operator(self, node: Node, operator: str) -> None:
        """Makes a node another operator of its domain; inputs and attributes are set by themselves."""
        node.op = operator
        self._touched[node] = None

    def set_opset(self, version: int) -> None:
        """Lets a version of ONNX's own operator set hold in the model, and in all functions that import the set.

        Nodes stay as they are. IR versions without imports (1 and 2) become 3.
        """
        model = self.model
        if model.ir_version < 3:
            model.proto.ir_version = model.graph.ir_version = 3
        if not model.proto.opset_import:
            model.proto.opset_import.add(domain="")
        imports = list(model.proto.opset_import)
        for function in model.functions:
            assert isinstance(function.proto, onnx.FunctionProto)
            imports += [*function.proto.opset_import, *(function.import_domains or ())]
            function.opset = version
        for entry in imports:
            if entry.domain in ONNX_DOMAINS:
                entry.version = version
        model.graph.opset = version
        model.graph.import_domains = list(model.proto.opset_import)
        self._opsets.clear()
        self._types = None

    def forget_declaration(self, tensor: Tensor) -> None:
        """Drops what the file declares of a result inside the graph, where its type is no longer that."""
        tensor.scope.forgotten.add(tensor.name)

    def add_node(
        self,
        op: str,
        inputs: Sequence[Tensor],
        *,
        before: Node,
        domain: str = "",
        attributes: dict[str, Any] | None = None,
        outputs: int = 1,
    ) -> Node:
        """A new node in the scope and place of `before`, its name and results named after the latter's result."""
        base = before.outputs[0].name
        scope = before.scope
        made = [new_variable(self._names.fresh(f"{base}_{op.lower()}"), scope) for _ in range(outputs)]
        node = new_node(
            op, (), made, scope, domain=domain, name=self._names.fresh(f"{before.name or base}_{op.lower()}"),
            attributes=attributes, position=before.position,
        )  # fmt: skip
        for tensor in made:
            self._uses[tensor] = 0
        self._before.setdefault(before, []).append(node)
        self.set_inputs(node, inputs)
        return node

    def add_constant(self, array: Array, *, like: Tensor) -> Constant:
        """A new constant in the scope of `like`, named after it."""
        constant = new_constant(self._names.fresh(f"{like.name}_constant"), ArrayData(array), like.scope)
        like.scope.constants.append(constant)
        self._uses[constant] = 0
        return constant

    def fold(self, node: Node, array: Array) -> None:
        """Makes the only result of a node a constant of that value, under its own name, and removes the node."""
        tensor: Any = node.outputs[0]
        self.remove_node(node)
        for field in ("dtype", "shape", "type", "declared"):
            tensor.__dict__.pop(field, None)
        tensor.__class__ = Constant
        tensor.__dict__.update(
            _values=ArrayData(array), _export_dtype=None, data_location=None, origin=None, position=-1
        )
        # A layer of an IR has a name of its own, which its constant takes over.
        tensor.__dict__["layer_name"] = node.name
        tensor.scope.constants.append(tensor)
        tensor.scope.forgotten.add(tensor.name)
        self._touch(self.consumers(tensor))

    def replace_uses(self, old: Tensor, new: Tensor) -> None:
        """Lets every consumer of `old` read `new`; `why_not_replaceable` has said that this can be done.

        Where `old` is a graph output it stays one, and takes the place of `new` as the result of its producer.
        """
        if self.is_graph_output(old):
            producer = self.producer(new)
            assert producer is not None
            self._redirect(new, old)
            index = next(index for index, tensor in enumerate(producer.outputs) if tensor is new)
            list.__setitem__(producer.outputs, index, old)
            list.__setitem__(new.inputs, slice(None), [])
            list.__setitem__(old.inputs, slice(None), [producer])
            new.scope.forgotten.add(new.name)
            self._touched[producer] = None
            return
        self._redirect(old, new)
        old.scope.forgotten.add(old.name)

    def remove_node(self, node: Node) -> None:
        """Removes a node whose results nothing reads any more, or are made otherwise from now on."""
        self._dead.add(node)
        pending = [node]
        while pending:
            gone = pending.pop()
            for tensor in gone.inputs:
                self._release(tensor)
            list.__setitem__(gone.inputs, slice(None), [])
            for scope in subgraphs(gone):
                pending += scope.nodes
                self._dead.update(scope.nodes)
                for tensor in scope.outputs:
                    self._release_output(tensor)
        for tensor in node.outputs:
            if tensor.inputs and tensor.inputs[0] is node:
                list.__setitem__(tensor.inputs, slice(None), [])
            if not self.is_graph_output(tensor):
                tensor.scope.forgotten.add(tensor.name)

    def remove_constant(self, constant: Constant) -> None:
        """Removes a constant that nothing reads."""
        self._dropped.add(constant)
        constant.scope.forgotten.add(constant.name)

    def sort_nodes(self, scope: Graph) -> None:
        """Puts the nodes of a scope in topological order."""
        scope.nodes[:] = sorted_nodes(scope)
        for constant in scope.constants:
            # The writer puts a Constant node without a place before the first node that reads it.
            constant.position = -1
        for position, node in enumerate(scope.nodes):
            node.position = position

    def flush(self) -> None:
        """Brings the lists of nodes, constants and consumers up to date."""
        if self._dead or self._before or self._dropped:
            for scope in self.model.scopes():
                self._flush_scope(scope)
        for tensor in list(self._stale):
            self._refresh(tensor)
        self._before.clear()
        self._dropped.clear()

    def _flush_scope(self, scope: Graph) -> None:
        nodes: list[Node] = []
        pending = list(reversed(scope.nodes))
        while pending:
            node = pending.pop()
            new = self._before.pop(node, None)
            if new is not None:
                pending.append(node)
                pending.extend(reversed(new))
            elif node not in self._dead:
                nodes.append(node)
        scope.nodes[:] = nodes
        if any(constant in self._dropped for constant in scope.constants):
            scope.constants[:] = [constant for constant in scope.constants if constant not in self._dropped]

    def _redirect(self, old: Tensor, new: Tensor) -> None:
        consumers = self.consumers(old)
        for node in consumers:
            for _ in range(node.inputs.count(old)):
                list.__setitem__(node.inputs, node.inputs.index(old), new)
                list.append(new.outputs, node)
        self._uses[new] = self._uses.get(new, 0) + self._uses.get(old, 0)
        self._uses[old] = 0
        list.__setitem__(old.outputs, slice(None), [])
        self._touch(consumers)
        producer = self.producer(new)
        if producer is not None:
            self._touched[producer] = None

    def _release(self, tensor: Tensor) -> None:
        self._uses[tensor] = self._uses.get(tensor, 0) - 1
        self._stale.add(tensor)
        producer = self.producer(tensor)
        if producer is not None:
            self._touched[producer] = None
            self._touch(self._few_consumers(tensor))

    def _release_output(self, tensor: Tensor) -> None:
        left = self._output_uses.get(tensor, 0) - 1
        if left > 0:
            self._output_uses[tensor] = left
        else:
            self._output_uses.pop(tensor, None)

    def _derive_types(self) -> dict[Tensor, TensorType]:
        # What edits have removed still stands in the lists until they are flushed.
        self.flush()
        return super()._derive_types()

    def _few_consumers(self, tensor: Tensor) -> Iterable[Node]:
        """What still reads a tensor that has lost a consumer: a rule may have waited for its last but one."""
        return self.consumers(tensor) if self._uses.get(tensor, 0) == 1 else ()

    def _touch(self, nodes: Iterable[Node]) -> None:
        for node in nodes:
            self._touched[node] = None
