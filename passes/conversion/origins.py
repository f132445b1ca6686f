"""What of a prepared model its file has: the names that an IR shows are those of the file, and no others."""

from __future__ import annotations

from collections.abc import Iterator

import onnx

from maxfold.model.graph import Graph, Node, Tensor, scopes_of
from maxfold.passes.conversion.said import said_of, say
from maxfold.passes.expansion import Expansion


class Origins:
    """Knows the tensors and nodes of a model from before it was prepared."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._scopes = {tensor: scope for scope in scopes_of(graph) for tensor in _tensors(scope)}
        self._nodes = dict.fromkeys(_nodes(graph))
        self._saying = [node for node in self._nodes if node.proto is not None and _says(node.proto)]
        self._results: dict[Tensor, Tensor] = {}
        self._expanded: dict[Node, None] = {}
        # What stands for expanded nodes.
        self._standing: dict[Node, Node] = {}

    def note(self, expansion: Expansion) -> None:
        """Takes in what was made of nodes."""
        self._results.update(expansion.results)
        self._expanded.update((node, None) for node in expansion.made if node in self._nodes)

    def hand_on(self) -> tuple[frozenset[Tensor], tuple[str, ...]]:
        """Gives what stands for expanded nodes the names of those, and their results theirs; after all other changes.

        Returns the tensors of whose names the file knows nothing, and the nodes of the file that say something and for
        which nothing stands.
        """
        foreign = {
            tensor
            for scope in scopes_of(self._graph)
            for tensor in _tensors(scope)
            if self._scopes.get(tensor) is not scope
        }
        for node in self._expanded:
            for result in node.outputs:
                made = self._last(result)
                if made in foreign and made.scope is self._scopes[result]:
                    made.name = result.name
                    foreign.discard(made)
            self._let_stand(node)
        there = {*_nodes(self._graph), *self._standing.values()}
        return frozenset(foreign), tuple(_shown(node) for node in self._saying if node not in there)

    def _last(self, tensor: Tensor) -> Tensor:
        """What is read in the place of a tensor now."""
        while not tensor.inputs and tensor in self._results:
            tensor = self._results[tensor]
        return tensor

    def _let_stand(self, node: Node) -> None:
        """Lets what makes the first result of an expanded node have its name, and say what it said."""
        maker = self._maker(self._last(next(result for result in node.outputs if result.name)))
        while maker is not None and maker.op == "Identity":
            # It becomes no operation, and another name of what it reads.
            maker.name = node.name or maker.name
            maker = self._maker(maker.inputs[0])
        if maker is None:
            return
        self._standing[maker] = node
        maker.name = node.name or maker.name
        if node.proto is None:
            return
        said, told = said_of(node.proto), [item for item in node.proto.attribute if item.doc_string]
        if said or told:
            maker.proto = onnx.NodeProto()
            say(maker.proto, said)
            for attribute in told:
                maker.proto.attribute.add(name=attribute.name, doc_string=attribute.doc_string)

    def _maker(self, tensor: Tensor) -> Node | None:
        """The node that makes a tensor, where it came in the place of another and stands for none yet."""
        maker = tensor.inputs[0] if tensor.inputs else None
        return None if maker in self._nodes or maker in self._standing else maker


def _nodes(graph: Graph) -> Iterator[Node]:
    for scope in scopes_of(graph):
        yield from scope.nodes


def _tensors(scope: Graph) -> Iterator[Tensor]:
    yield from scope.inputs
    yield from scope.constants
    for node in scope.nodes:
        yield from node.outputs


def _says(proto: onnx.NodeProto) -> bool:
    return bool(proto.doc_string or proto.metadata_props or any(item.doc_string for item in proto.attribute))


def _shown(node: Node) -> str:
    return node.name or next((tensor.name for tensor in node.outputs if tensor.name), "")
