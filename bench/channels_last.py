"""A network as converters from TensorFlow write it: channels last, with Transposes around each convolution."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

_TO_FRONT = [0, 3, 1, 2]
_TO_BACK = [0, 2, 3, 1]


class _Builder:
    """Collects nodes and weights; what its methods take and return are names of tensors with channels last."""

    def __init__(self, opset: int) -> None:
        self.opset = opset
        self.nodes: list[NodeProto] = []
        self.weights: list[TensorProto] = []
        self._random = np.random.default_rng(0)

    def node(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """A node of one result."""
        name = f"{operator.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], name=name, **attributes))
        return name

    def weight(self, *shape: int, scale: float = 0.3, base: float = 0.0) -> str:
        """A weight of drawn values."""
        drawn = base + scale * self._random.standard_normal(shape)
        return self.constant(drawn.astype(np.float32))

    def constant(self, array: Any) -> str:
        """An initializer."""
        name = f"weight{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def channels_first(self, operator: str, source: str, *inputs: str, **attributes: Any) -> str:
        """A node that wants channels first, between Transposes."""
        front = self.node("Transpose", source, perm=_TO_FRONT)
        return self.node("Transpose", self.node(operator, front, *inputs, **attributes), perm=_TO_BACK)

    def convolution(self, source: str, channels: int, width: int, window: int, stride: int = 1) -> str:
        """Conv with a normalization that is spelled out."""
        pads = [window // 2] * 4
        weight = self.weight(width, channels, window, window, scale=(channels * window**2) ** -0.5)
        made = self.channels_first("Conv", source, weight, pads=pads, strides=[stride, stride])
        centred = self.node("Sub", made, self.weight(1, 1, 1, width))
        scaled = self.node("Mul", centred, self.weight(1, 1, 1, width, base=1))
        return self.node("Add", scaled, self.weight(width))

    def padded(self, source: str) -> str:
        """One row and one column on each side."""
        pads = [0, 1, 1, 0, 0, 1, 1, 0]
        if self.opset < 11:
            return self.node("Pad", source, pads=pads)
        return self.node("Pad", source, self.constant(np.array(pads, np.int64)))

    def block(self, source: str, channels: int, width: int, stride: int) -> str:
        """A residual block with a bottleneck."""
        inner = self.node("Relu", self.convolution(source, channels, width // 2, 1))
        inner = self.node("Relu", self.convolution(inner, width // 2, width // 2, 3, stride))
        inner = self.convolution(inner, width // 2, width, 1)
        if channels != width or stride != 1:
            source = self.convolution(source, channels, width, 1, stride)
        return self.node("Relu", self.node("Add", inner, source))


def network(*, blocks: int = 16, opset: int = 13, batch: int | str = 1, size: int = 32) -> ModelProto:
    """A residual network for images of `size` x `size` x 3; 16 blocks have 106 Transposes."""
    builder = _Builder(opset)
    made = builder.padded("image")
    made = builder.node("Relu", builder.convolution(made, 3, 8, 3, 2))
    pooled = builder.channels_first("MaxPool", builder.padded(made), kernel_shape=[3, 3], strides=[2, 2])
    averaged = builder.channels_first("AveragePool", builder.padded(made), kernel_shape=[3, 3], strides=[2, 2])
    made = builder.node("Concat", pooled, averaged, axis=-1)
    channels = 16
    for number in range(blocks):
        is_wider = number in (blocks // 4, blocks // 2)
        width = 2 * channels if is_wider else channels
        made = builder.block(made, channels, width, 2 if is_wider else 1)
        channels = width
    mean = builder.node("ReduceMean", made, axes=[1, 2], keepdims=0)
    product = builder.node("MatMul", mean, builder.weight(channels, 10))
    builder.node("Softmax", product, axis=-1)
    builder.nodes[-1].output[0] = "classes"
    graph = helper.make_graph(
        builder.nodes, "channels last",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [batch, size, size, 3])],
        [helper.make_tensor_value_info("classes", TensorProto.FLOAT, [batch, 10])], builder.weights,
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
