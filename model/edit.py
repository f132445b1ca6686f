"""The one module that changes a graph.

Rules describe an edit; this module rewires, names, counts and keeps the back-pointers of graphsurgeon's lists.
Lists that a removal makes wrong are mended when they are next looked at, or in `flush`, so that no edit costs
more than what it touches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from maxfold.model import splice
from maxfold.model.copies import arguments, copy_body
from maxfold.model.data import Array, ArrayData, TensorData
from maxfold.model.fragile import contradicted_nodes, frozen_nodes
from maxfold.model.graph import Constant, Function, Graph, Node, Tensor, new_node, new_variable, subgraphs
from maxfold.model.inference import Inference
from maxfold.model.inference.loops import settle
from maxfold.model.names import NameAllocator, wish
from maxfold.model.order import is_sorted, sorted_nodes
from maxfold.model.view import View


class Edit(View):
    """A view that can change the model. Call `flush` before anything else reads the graph's lists."""

    def __init__(self, model: Any, **options: Any) -> None:
        super().__init__(model, **options)
        self._names = NameAllocator(model)
        self._touched: dict[Node, bool] = {}  # Whether what a node reads, or is, has changed.
        self._before: dict[Node, list[Node]] = {}
        self._dropped: set[Constant] = set()
        self._disordered: set[Graph] = set()
        self._has_removed = False
        # What an inlined graph makes known of what reads its results is derived anew after a flush.
        self._is_outdated = False

    def take_touched(self) -> list[Node]:
        """The nodes that an edit since the last call may have made interesting again."""
        touched = [node for node in self._touched if self.is_live(node)]
        self._touched.clear()
        return touched

    def set_inputs(self, node: Node, inputs: Sequence[Tensor]) -> None:
        """Gives a node other inputs."""
        same = len(list(takewhile(lambda both: both[0] is both[1], zip(node.inputs, inputs, strict=False))))
        released, added = list(node.inputs[same:]), inputs[same:]
        list.__setitem__(node.inputs, slice(None), inputs)
        self._places.pop(node, None)
        for tensor in added:
            self._uses[tensor] = self._uses.get(tensor, 0) + 1
        for tensor in released:
            self._release(tensor)
        for tensor in dict.fromkeys(added):
            list.append(tensor.outputs, node)
            self._stale.add(tensor)
        self._disordered.add(node.scope)
        self._touched[node] = True

    def set_attribute(self, node: Node, name: str, value: Any) -> None:
        """Sets an attribute, or removes it where the value is None."""
        if value is None:
            node.attrs.pop(name, None)
        else:
            node.attrs[name] = value
        self._touched[node] = True

    def set_operator(self, node: Node, operator: str) -> None:
        """Makes a node another operator of its domain; inputs and attributes are set by themselves."""
        node.op = operator
        self._touched[node] = True

    def set_opset(self, version: int, *, keeps_types: bool = False) -> None:
        """See `Model.set_opset`. With `keeps_types` all that was derived of tensors still holds."""
        self.model.set_opset(version)
        self._opsets.clear()
        if not keeps_types:
            self.forget_types()

    def forget_types(self, *, settles_loops: bool = False) -> None:
        """Lets all types be derived anew: rewrites may have made more of them known. With `settles_loops`, also what
        holds in every iteration of loops is (see `inference/loops.py`)."""
        self._inference = Inference(self)
        if settles_loops:
            settle(self._inference, self.model.graph)
        self._remembered.clear()

    def forget_derived(self, derive: Callable[[View], Any]) -> None:
        """Lets what a function derives of the whole model, see `remembered`, be derived anew."""
        self._remembered.pop(derive, None)

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
        base, scope = before.outputs[0].name, before.scope
        made = [self._names.variable(f"{base}_{op.lower()}", scope) for _ in range(outputs)]
        node = new_node(
            op, (), made, scope, domain=domain, name=self._names.fresh(f"{before.name or base}_{op.lower()}"),
            attributes=attributes, position=before.position,
        )  # fmt: skip
        wish(node, f"{before.name or base}_{op.lower()}", is_made=True)
        for tensor in made:
            self._uses[tensor] = 0
        self._before.setdefault(before, []).append(node)
        self.set_inputs(node, inputs)
        for derive in (contradicted_nodes, frozen_nodes):
            found = self._remembered.get(derive, {})
            if before in found:
                found[node] = found[before]
        return node

    def add_constant(self, values: Array | TensorData, *, like: Tensor) -> Constant:
        """A new constant in the scope of `like`, named after it."""
        data = values if isinstance(values, TensorData) else ArrayData(values)
        constant = self._names.constant(f"{like.name}_constant", data, like.scope)
        like.scope.constants.append(constant)
        self._uses[constant] = 0
        return constant

    def omitted(self, scope: Graph) -> Tensor:
        """What stands for an input that is left out before others that are not."""
        return new_variable("", scope)

    def fold(self, node: Node, values: Sequence[Array | TensorData]) -> None:
        """Makes the results of a node constants of those values, under their own names, and removes the node."""
        results: list[Any] = list(node.outputs)
        self.remove_node(node)
        for tensor, value in zip(results, values, strict=False):
            if tensor.name:
                self._become_constant(tensor, value if isinstance(value, TensorData) else ArrayData(value), node)

    def _become_constant(self, tensor: Any, data: TensorData, node: Node) -> None:
        for field in ("dtype", "shape", "type", "declared"):
            tensor.__dict__.pop(field, None)
        tensor.__class__ = Constant
        tensor.__dict__.update(_values=data, _export_dtype=None, data_location=None, origin=None, position=-1)
        # A layer of an IR has a name of its own, which its constant takes over.
        tensor.__dict__["layer_name"] = node.name
        tensor.scope.constants.append(tensor)
        tensor.scope.forgotten.add(tensor.name)
        self._touch(self.consumers(tensor))

    def become(
        self,
        node: Node,
        operator: str,
        inputs: Sequence[Tensor],
        attributes: dict[str, Any] | None = None,
        *,
        domain: str = "",
    ) -> None:
        """Makes a node another operator with other inputs and attributes; its results stay what they are.

        A node that ends a pattern becomes what replaces the pattern: it stands behind all that it may read.
        """
        node.op = operator
        node.domain = domain
        node.attrs.clear()
        node.attrs.update(attributes or {})
        self.set_inputs(node, inputs)

    def replace_uses(self, old: Tensor, new: Tensor) -> None:
        """Lets every consumer of `old` read `new`; `why_not_replaceable` has said that this can be done.

        Where `old` is a graph output it stays one, and takes the place of `new` as the result of its producer.
        """
        if self.is_graph_output(old):
            self.take_place(old, new)
            return
        self._redirect(old, new)
        old.scope.forgotten.add(old.name)

    def take_place(self, result: Tensor, tensor: Tensor) -> None:
        """Lets the node that makes `tensor` make `result` instead, and everybody who reads `tensor` read that.

        What made `result` before has to be removed next. `tensor` is gone, and with it all that was known of it.
        """
        splice.take_place(self, result, tensor)

    def displace(self, tensor: Tensor) -> Tensor:
        """A new tensor that is made in the place of one whose readers are to read something else from now on.

        Until another node makes the old one (`take_place`), or nothing reads it any more, it is made by none.
        """
        return splice.displace(self, tensor, self._names.variable(f"{tensor.name}_new", tensor.scope))

    def renew(self, tensor: Tensor) -> Tensor:
        """A new tensor in the place of one that is to hold something else; whoever reads that reads the new one.

        What is derived or declared of a tensor, and all that follows from it, holds as long as it is there: a rewrite
        may let it go, and may not give it another value, type or shape. It is made by a node and no graph output.
        """
        assert not self.is_graph_output(tensor)
        new = self._names.variable(f"{tensor.name}_new", tensor.scope)
        self.take_place(new, tensor)
        return new

    def inline_graph(
        self, graph: Graph, *, before: Node, bindings: Mapping[Tensor, Tensor] | None = None
    ) -> list[Tensor]:
        """Moves the nodes, constants and declarations of a graph into the scope and place of `before`.

        `graph` is inside `before` or in no scope (see `copy_function`); `bindings` give its inputs tensors that
        `before` can see. Names stay where no other scope has them. Returns what the graph returned, visible in the
        place of `before`, which has to be removed next (`replace_results`). `splice.why_not_moved` has said that
        this can be done.
        """
        return splice.inline_graph(self, graph, before, bindings or {})

    def replace_results(self, node: Node, tensors: Sequence[Tensor]) -> None:
        """Lets a tensor, visible in the place of a node, be read for each of its results, and removes the node.

        A tensor that cannot take a result's place, such as a constant for a graph output, goes through an Identity.
        """
        splice.replace_results(self, node, tensors)

    def hoist(
        self, graph: Graph, nodes: Sequence[Node], constants: Sequence[Constant], twins: Sequence[Node | Constant]
    ) -> None:
        """Moves nodes of a graph inside a node, in their order, and constants that they read, in front of that node.

        `twins` will be removed, so that their names are free. Names stay where no other scope has them.
        """
        splice.hoist(self, graph, nodes, constants, twins)

    def drop_results(self, node: Node, places: Sequence[int]) -> None:
        """Lets an If give some of its results no more, which nothing reads any more, or are made otherwise."""
        splice.drop_results(self, node, places)

    def copy_function(self, function: Graph, call: Node) -> Graph:
        """The body of a function with a call's attributes, or a graph for `call`, in no scope; see `inline_graph`."""
        values = arguments(function, call) if isinstance(function, Function) else {}
        body = copy_body(function, values, call.scope, self._names)
        splice.index_graph(self, body)
        return body

    def remove_function(self, function: Function) -> None:
        """Removes a model-local function that nothing calls."""
        splice.remove_function(self, function)

    def remove_node(self, node: Node) -> None:
        """Removes a node whose results nothing reads any more, or are made otherwise from now on."""
        if node in self._dead:
            return
        self._dead.add(node)
        self._has_removed = True
        pending = [node]
        while pending:
            gone = pending.pop()
            for tensor in gone.inputs:
                self._release(tensor)
            list.__setitem__(gone.inputs, slice(None), [])
            self._places.pop(gone, None)
            for scope in subgraphs(gone):
                inner = [item for item in self._nodes_in(scope) if item not in self._dead]
                pending += inner
                self._dead.update(inner)
                for tensor in scope.outputs:
                    self._release_output(tensor)
        for tensor in node.outputs:
            if tensor.inputs and tensor.inputs[0] is not node:
                continue
            list.__setitem__(tensor.inputs, slice(None), [])
            if not self.is_graph_output(tensor):
                tensor.scope.forgotten.add(tensor.name)

    def remove_unused(self, nodes: Iterable[Node]) -> None:
        """Removes those of the nodes that nothing needs any more, and what only they needed.

        Nodes that are kept, sinks and results that are read, returned or bound stay, and so do constants.
        """
        pending = list(nodes)
        while pending:
            node = pending.pop()
            if node in self._dead or not self._is_unused(node):
                continue
            makers = [tensor.inputs[0] for tensor in node.inputs if tensor.inputs]
            self.remove_node(node)
            pending += makers

    def _is_unused(self, node: Node) -> bool:
        if self.is_kept(node) or not any(tensor.name for tensor in node.outputs):
            return False
        return not any(
            self.use_count(tensor) or self.is_graph_output(tensor) or self.is_bound(tensor) for tensor in node.outputs
        )

    def _nodes_in(self, scope: Graph) -> Iterator[Node]:
        """The nodes of a scope, new ones that no flush has put into its list too."""
        pending = list(reversed(scope.nodes))
        while pending:
            node = pending.pop()
            yield node
            pending += self._before.get(node, ())

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
        if self._has_removed or self._before or self._dropped:
            for scope in self.model.scopes():
                self._flush_scope(scope)
        self._has_removed = False
        # Rewrites may let a node read what is made behind it. The layers of an IR may stand in any order.
        for scope in self._disordered if self.model.format == "onnx" else ():
            if not is_sorted(scope):
                self.sort_nodes(scope)
        self._disordered.clear()
        for tensor in list(self._stale):
            self._refresh(tensor)
        if self._is_outdated:
            self.forget_types()
            self._is_outdated = False
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
        if isinstance(old, Constant) and isinstance(new, Constant) and old.is_node:
            # A Constant node that comes from another graph has no place of its own, but one before all that read it.
            new.position = min(new.position, old.position)
        for node in consumers:
            places = list(self._places_of(old, node))
            for index in places:
                list.__setitem__(node.inputs, index, new)
            if node in self._places:
                self._places[node].setdefault(new, []).extend(self._places[node].pop(old, ()))
            list.extend(new.outputs, [node] * len(places))
        self._uses[new] = self._uses.get(new, 0) + self._uses.get(old, 0)
        self._uses[old] = 0
        list.__setitem__(old.outputs, slice(None), [])
        self._touch(consumers)
        producer = self.producer(new)
        if producer is not None:
            self._touched.setdefault(producer, False)
            self._disordered.add(new.scope)

    def _release(self, tensor: Tensor) -> None:
        self._uses[tensor] = self._uses.get(tensor, 0) - 1
        self._stale.add(tensor)
        producer = self.producer(tensor)
        for node in (*self._few_consumers(tensor), *(() if producer is None else (producer,))):
            self._touched.setdefault(node, False)

    def _release_output(self, tensor: Tensor) -> None:
        left = self._output_uses.get(tensor, 0) - 1
        if left > 0:
            self._output_uses[tensor] = left
        else:
            self._output_uses.pop(tensor, None)

    def _few_consumers(self, tensor: Tensor) -> Iterable[Node]:
        """What still reads a tensor that has lost a consumer: a rule may have waited for its last but one."""
        return self.consumers(tensor) if self._uses.get(tensor, 0) == 1 else ()

    def _touch(self, nodes: Iterable[Node]) -> None:
        for node in nodes:
            self._touched[node] = True
