"""Names that a file uses beside its graph."""

from __future__ import annotations

from maxfold.model.model import Model, graph_protos


def bound_names(model: Model) -> dict[str, str]:
    """Names that the file uses beside the graph, and what for.

    The training algorithm shares the main graph's names; annotations name tensors and the parameters of their
    quantization.
    """
    names: set[str] = set()
    for training in model.proto.training_info:
        for binding in (*training.initialization_binding, *training.update_binding):
            names.update((binding.key, binding.value))
        for graph in graph_protos((training.initialization, training.algorithm)):
            names.update(name for node in graph.node for name in node.input)
            names.update(info.name for info in graph.output)
    annotated: set[str] = set()
    for scope in model.scopes():
        for annotation in getattr(scope.proto, "quantization_annotation", ()):
            annotated.add(annotation.tensor_name)
            annotated.update(entry.value for entry in annotation.quant_parameter_tensor_names)
    bound = dict.fromkeys(annotated, "is named by a quantization annotation")
    bound.update(dict.fromkeys(names, "takes part in training, which changes it"))
    bound.pop("", None)
    return bound
