"""Running a node by itself while a model is built: what ONNX Runtime refuses does not get into the model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import onnxruntime
from onnx import GraphProto, ModelProto, NodeProto, ValueInfoProto, helper

from tests.random_models.values import Array

_ALIGNMENT_BYTES = 64


class Refused(Exception):  # noqa: N818
    """The node cannot be part of the model; another one is tried."""


def options() -> onnxruntime.SessionOptions:
    """ONNX Runtime as a judge: each node as it stands, one thread, weights not packed ahead of time."""
    made = onnxruntime.SessionOptions()
    made.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    made.intra_op_num_threads = made.inter_op_num_threads = 1
    made.log_severity_level = 4
    # A MatMul gives other bits when its constant weight was packed than when a node computed the weight.
    made.add_session_config_entry("session.disable_prepacking", "1")
    return made


class Session:
    """A model in ONNX Runtime."""

    def __init__(self, model: ModelProto) -> None:
        self._session = onnxruntime.InferenceSession(
            model.SerializeToString(), options(), providers=["CPUExecutionProvider"]
        )
        self._inputs = {item.name for item in self._session.get_inputs()}
        self._inputs |= {item.name for item in self._session.get_overridable_initializers()}

    def __call__(self, feeds: Mapping[str, Array]) -> list[Array]:
        """The outputs; feeds that the model does not know are left out."""
        # Vectorized loops treat an unaligned head differently; a tensor of the runtime's own is aligned.
        fed = {name: aligned(array) for name, array in feeds.items() if name in self._inputs}
        return [np.asarray(result) for result in self._session.run(None, fed)]


def aligned(array: Array) -> Array:
    """A copy that begins at a multiple of 64 bytes."""
    raw = np.empty(array.nbytes + _ALIGNMENT_BYTES, np.uint8)
    start = -raw.ctypes.data % _ALIGNMENT_BYTES
    copy: Array = raw[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def run_nodes(
    nodes: Sequence[NodeProto],
    results: Sequence[str],
    opset: int,
    feeds: Sequence[Mapping[str, Array]],
    dtypes: Mapping[str, int],
) -> list[tuple[Array, ...]]:
    """What results of nodes hold for each set of feeds. Raises `Refused` where ONNX Runtime does."""
    inputs = [helper.make_tensor_value_info(name, kind, None) for name, kind in dtypes.items()]
    outputs = [ValueInfoProto(name=name) for name in results]
    graph = helper.make_graph(nodes, "trial", inputs, outputs)
    domains = dict.fromkeys(node.domain for node in nodes if node.domain)
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(domain, 1) for domain in domains)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=8)
    try:
        session = Session(model)
        found = [session(feed) for feed in feeds]
    except Exception as error:
        raise Refused(str(error)) from error
    return list(zip(*found, strict=True))


def subgraphs(node: NodeProto) -> Iterator[GraphProto]:
    """The graphs that a node holds."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def captured(graph: GraphProto) -> dict[str, None]:
    """The outer names that a graph reads, in order."""
    names: dict[str, None] = {}
    own = {item.name for item in graph.input} | {item.name for item in graph.initializer}
    for node in graph.node:
        read = [*node.input, *(name for inner in subgraphs(node) for name in captured(inner))]
        names.update((name, None) for name in read if name and name not in own)
        own.update(node.output)
    names.update((item.name, None) for item in graph.output if item.name not in own)
    return names
