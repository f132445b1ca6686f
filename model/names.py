"""Fresh names: one allocator that has seen every name in every scope."""

from __future__ import annotations

import onnx

from maxfold.model.graph import Function
from maxfold.model.model import Model, graph_protos


class NameAllocator:
    """Hands out names that occur nowhere in the model, derived from a base name; constant time, deterministic."""

    def __init__(self, model: Model) -> None:
        self._seen: set[str] = set()
        self._next: dict[str, int] = {}
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
