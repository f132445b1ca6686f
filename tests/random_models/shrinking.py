"""Making the model of a failure small: one output, and inputs in place of all nodes that do not matter."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import onnx
from onnx import ModelProto, NodeProto, helper

from tests.random_models import RandomModel
from tests.random_models.trial import Session, captured, subgraphs
from tests.random_models.values import Array

Fails = Callable[[RandomModel], bool]


def shrink(case: RandomModel, fails: Fails) -> RandomModel:
    """The smallest model found that is valid and fails too; the model itself where no smaller one does."""

    def still(candidate: RandomModel) -> bool:
        return _is_valid(candidate) and fails(candidate)

    made = [name for node in case.model.graph.node for name in node.output if name]
    candidates = (_with_output(case, name) for name in made)
    small = next((candidate for candidate in candidates if still(candidate)), case)
    for name in [item.name for item in small.model.graph.output]:
        candidate = _without_output(small, name)
        if still(candidate):
            small = candidate
    for name in [name for node in small.model.graph.node for name in node.output if name]:
        other = _with_input(small, name)
        if other is not None and still(other):
            small = other
    return small


def _is_valid(case: RandomModel) -> bool:
    try:
        onnx.checker.check_model(case.model, full_check=True)
        session = Session(case.model)
        for feeds in case.feed_sets:
            session(feeds)
    except Exception:
        return False
    return True


def _with_output(case: RandomModel, name: str) -> RandomModel:
    """The nodes that one tensor depends on, and this tensor as the only output."""
    model = ModelProto()
    model.CopyFrom(case.model)
    del model.graph.output[:]
    array = case.values[name][0]
    kind = helper.np_dtype_to_tensor_dtype(array.dtype)
    model.graph.output.append(helper.make_tensor_value_info(name, kind, [None] * array.ndim))
    return _pruned(replace(case, model=model))


def _without_output(case: RandomModel, name: str) -> RandomModel:
    """The model without one of its outputs."""
    model = ModelProto()
    model.CopyFrom(case.model)
    kept = [item for item in case.model.graph.output if item.name != name]
    del model.graph.output[:]
    model.graph.output.extend(kept)
    return _pruned(replace(case, model=model))


def _with_input(case: RandomModel, name: str) -> RandomModel | None:
    """An input in place of the node that makes a tensor; None where it is an output or of a node of several."""
    model = ModelProto()
    model.CopyFrom(case.model)
    nodes = [node for node in model.graph.node if name not in node.output or len(node.output) > 1]
    if len(nodes) == len(model.graph.node) or name in {item.name for item in model.graph.output}:
        return None
    _set_nodes(model, nodes)
    arrays = case.values[name]
    kind = helper.np_dtype_to_tensor_dtype(arrays[0].dtype)
    sizes = zip(*(array.shape for array in arrays), strict=True)
    dims = [size[0] if len(set(size)) == 1 else f"{name}_{axis}" for axis, size in enumerate(sizes)]
    model.graph.input.append(helper.make_tensor_value_info(name, kind, dims))
    feed_sets: list[dict[str, Array]] = [
        {**feeds, name: array} for feeds, array in zip(case.feed_sets, arrays, strict=True)
    ]
    return _pruned(replace(case, model=model, feed_sets=feed_sets))


def _pruned(case: RandomModel) -> RandomModel:
    """The model without what its outputs do not depend on."""
    graph = case.model.graph
    needed = {item.name for item in graph.output}
    kept = []
    for node in reversed(graph.node):
        if needed.isdisjoint(node.output):
            continue
        kept.append(node)
        needed.update(node.input)
        needed.update(name for inner in subgraphs(node) for name in captured(inner))
    _set_nodes(case.model, reversed(kept))
    del graph.value_info[:]
    inputs = [item for item in graph.input if item.name in needed]
    initializers = [item for item in graph.initializer if item.name in needed]
    del graph.input[:], graph.initializer[:]
    graph.input.extend(inputs)
    graph.initializer.extend(initializers)
    return case


def _set_nodes(model: ModelProto, nodes: Iterable[NodeProto]) -> None:
    copies = [NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del model.graph.node[:]
    model.graph.node.extend(copies)
