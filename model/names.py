"""Fresh names: one allocator that has seen every name in every scope."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import onnx

from maxfold.model.data import TensorData
from maxfold.model.graph import (
    Constant,
    Function,
    Graph,
    Node,
    Tensor,
    Variable,
    new_constant,
    new_variable,
    scopes_of,
)
from maxfold.model.model import Model, graph_protos


def wish(item: Tensor | Node, name: str, *, is_made: bool) -> None:
    """Says what a tensor or node is to be called when names are handed out once more (`wished_names.settle`), and
    whether that is a name of maxfold's own making."""
    item.__dict__["wish"] = (name, is_made)


def take_back(item: Tensor | Node) -> None:
    """The name that a tensor or node has is its last."""
    item.__dict__.pop("wish", None)


def is_made(item: Tensor | Node) -> bool:
    """Whether something has a name of maxfold's own making."""
    found: tuple[str, bool] = item.__dict__.get("wish", ("", False))
    return found[1]


def wish_like(item: Tensor | Node, source: Tensor | Node, name: str) -> None:
    """Says that something is to be called like what it stands for, which has that name, or is to have another."""
    wanted, made = source.__dict__.get("wish", (name, False))
    wish(item, wanted if made else name, is_made=made)


def forget_wishes(model: Model) -> None:
    """The names that a model has are its own from now on."""
    for scope in model.scopes():
        for item in (*scope.inputs, *scope.constants, *scope.nodes):
            take_back(item)
        for node in scope.nodes:
            for tensor in node.outputs:
                take_back(tensor)


class NameAllocator:
    """Hands out names that occur nowhere in the model, derived from a base name; constant time, deterministic."""

    def __init__(self, model: Model) -> None:
        self._seen: set[str] = set()
        self._next: dict[str, int] = {}
        self._model = model
        self._defined: dict[Graph, tuple[Counter[str], Counter[str]]] = {}
        for scope in model.scopes():
            self._seen.update(info.name for info in scope.value_info)
            self._seen.update(tensor.name for tensor in (*scope.inputs, *scope.outputs, *scope.constants))
            if isinstance(scope, Function):
                self._seen.add(scope.name)
            for node in scope.nodes:
                self._seen.add(node.name)
                self._seen.update(tensor.name for tensor in node.outputs)
            for annotation in getattr(scope.proto, "quantization_annotation", ()):
                self._seen.add(annotation.tensor_name)
                self._seen.update(entry.value for entry in annotation.quant_parameter_tensor_names)
        for training in model.proto.training_info:
            for graph in graph_protos((training.initialization, training.algorithm)):
                self._see_proto(graph)

    def _see_proto(self, graph: onnx.GraphProto) -> None:
        self._seen.update(name for node in graph.node for name in (*node.input, *node.output, node.name))
        self._seen.update(info.name for info in (*graph.input, *graph.output, *graph.value_info))
        self._seen.update(tensor.name for tensor in graph.initializer)
        self._seen.update(sparse.values.name for sparse in graph.sparse_initializer)

    def fresh(self, base: str) -> str:
        """A name that starts with `base`."""
        count = self._next.get(base, 0)
        while True:
            name = f"{base}_{count}" if count else base
            count += 1
            if name and name not in self._seen:
                self._seen.add(name)
                self._next[base] = count
                return name

    def variable(self, base: str, scope: Graph) -> Variable:
        """A new variable under a fresh name."""
        made = new_variable(self.fresh(base), scope)
        wish(made, base, is_made=True)
        return made

    def constant(self, base: str, data: TensorData, scope: Graph) -> Constant:
        """A new constant under a fresh name."""
        made = new_constant(self.fresh(base), data, scope)
        wish(made, base, is_made=True)
        return made

    def release(self, scope: Graph, nodes: Iterable[Node]) -> None:
        """The names of a scope with these nodes, not those of graphs inside it, are free: it goes, or is moved."""
        for counter, names in zip(self._definitions(scope), _defined_in(scope, nodes), strict=True):
            counter.subtract(names)

    def free(self, scope: Graph, tensors: Iterable[str], nodes: Iterable[str]) -> None:
        """Names that a scope defines once are free: what has them goes, or is moved."""
        for counter, names in zip(self._definitions(scope), (tensors, nodes), strict=True):
            counter.subtract(names)

    def carried(self, name: str, scope: Graph, *, is_node: bool = False) -> str:
        """The name of a tensor (or node) that comes into a scope: its own where neither it nor one around or inside
        has that."""
        if not name:
            return name
        counter = self._definitions(scope)[is_node]
        if counter[name] > 0:
            name = self.fresh(name)
        counter[name] = 1
        self._seen.add(name)
        return name

    def _definitions(self, scope: Graph) -> tuple[Counter[str], Counter[str]]:
        """How many scopes under the root of one define each name of a tensor and of a node.

        Names that were given since are not among them, or in one each.
        """
        root = scope
        while root.parent is not None:
            root = root.parent.scope
        found = self._defined.get(root)
        if found is None:
            found = self._defined[root] = (Counter(), Counter())
            for inner in scopes_of(root):
                for counter, names in zip(found, _defined_in(inner, inner.nodes), strict=True):
                    counter.update(names)
            for training in self._model.proto.training_info if root is self._model.graph else ():
                for graph in graph_protos((training.initialization, training.algorithm)):
                    names = {name for node in graph.node for name in (*node.input, *node.output)}
                    names.update(info.name for info in (*graph.input, *graph.output))
                    found[0].update(names | {tensor.name for tensor in graph.initializer})
                    found[1].update(node.name for node in graph.node)
        return found


def _defined_in(scope: Graph, nodes: Iterable[Node]) -> tuple[set[str], set[str]]:
    """Names of the tensors and of the nodes of a scope; what it says of tensors that it does not have counts too."""
    listed = list(nodes)
    tensors = {tensor.name for tensor in (*scope.inputs, *scope.constants)}
    tensors.update(info.name for info in scope.value_info)
    for annotation in getattr(scope.proto, "quantization_annotation", ()):
        tensors.add(annotation.tensor_name)
        tensors.update(entry.value for entry in annotation.quant_parameter_tensor_names)
    tensors.update(tensor.name for node in listed for tensor in node.outputs)
    node_names = {node.name for node in listed}
    node_names.update(constant.origin.name for constant in scope.constants if constant.is_node)
    return tensors, node_names
