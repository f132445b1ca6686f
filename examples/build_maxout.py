"""Builds a small maxout network as an ONNX file: `python build_maxout.py OUTPUT.onnx`.

A maxout layer computes several linear pieces and keeps the largest at each place. Exporters write it as
a chain or a tree of two-operand Max nodes, with bounds and scale factors as constants beside it. The same
file, to the byte, is written each time.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

OPSET = 13
IMAGE_SIZE = 64
CLASSES = 10


@dataclass
class Builder:
    """Collects nodes and initializers; every method returns the name of the tensor it made."""

    # RandomState, whose stream numpy has frozen, gives the same weights under every numpy.
    random: np.random.RandomState = field(default_factory=lambda: np.random.RandomState(20))
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    initializers: list[onnx.TensorProto] = field(default_factory=list)

    def initializer(self, name: str, values: np.ndarray) -> str:
        self.initializers.append(numpy_helper.from_array(values, name))
        return name

    def weights(self, name: str, *shape: int, deviation: float) -> str:
        values = self.random.standard_normal(shape) * deviation
        return self.initializer(name, values.astype(np.float32))

    def node(self, operator: str, inputs: Sequence[str], name: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(operator, inputs, [f"{name}:out"], name, **attributes))
        return f"{name}:out"

    def constant(self, name: str, values: np.ndarray) -> str:
        return self.node("Constant", [], name, value=numpy_helper.from_array(values, name))

    def conv(self, features: str, name: str, in_channels: int, out_channels: int) -> str:
        deviation = (in_channels * 9) ** -0.5
        weight = self.weights(f"{name}.weight", out_channels, in_channels, 3, 3, deviation=deviation)
        bias = self.weights(f"{name}.bias", out_channels, deviation=0.1)
        return self.node("Conv", [features, weight, bias], name, kernel_shape=[3, 3], pads=[1, 1, 1, 1])

    def channel_groups(self, features: str, name: str, channels: int, count: int) -> list[str]:
        """Slices of `channels` channels each, with constants of their own, as exporters write them."""
        groups = []
        for index in range(count):
            prefix = f"{name}.piece{index}"
            bounds = [
                self.constant(f"{prefix}.{role}", np.array([value], dtype=np.int64))
                for role, value in (("start", index * channels), ("end", (index + 1) * channels), ("axis", 1))
            ]
            groups.append(self.node("Slice", [features, *bounds], prefix))
        return groups

    def max_chain(self, pieces: Sequence[str], name: str) -> str:
        """max(max(max(p0, p1), p2), p3)"""
        largest = pieces[0]
        for index, piece in enumerate(pieces[1:]):
            largest = self.node("Max", [largest, piece], f"{name}.max{index}")
        return largest

    def max_tree(self, pieces: Sequence[str], name: str) -> str:
        """max(max(p0, p1), max(p2, p3))"""
        level = 0
        while len(pieces) > 1:
            pairs = [pieces[start : start + 2] for start in range(0, len(pieces), 2)]
            pieces = [
                self.node("Max", pair, f"{name}.max{level}_{index}") if len(pair) == 2 else pair[0]
                for index, pair in enumerate(pairs)
            ]
            level += 1
        return pieces[0]

    def halve(self, features: str, name: str) -> str:
        return self.node("MaxPool", [features], name, kernel_shape=[2, 2], strides=[2, 2])


def scalar(value: float) -> np.ndarray:
    return np.array(value, dtype=np.float32)


def per_channel(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float32).reshape(-1, 1, 1)


def normalized(builder: Builder, image: str) -> str:
    """Scale and shift whose constants are sums of constants, left over from training."""
    scale = builder.node(
        "Add",
        [
            builder.initializer("scale.base", per_channel(4.0, 4.0, 4.0)),
            builder.initializer("scale.correction", per_channel(0.36, 0.46, 0.44)),
        ],
        "scale",
    )
    shift = builder.node(
        "Add",
        [
            builder.initializer("shift.base", per_channel(-2.0, -2.0, -2.0)),
            builder.constant("shift.correction", scalar(-0.05)),
        ],
        "shift",
    )
    scaled = builder.node("Mul", [image, scale], "normalize.scale")
    shifted = builder.node("Add", [scaled, shift], "normalize.shift")
    return builder.node("Add", [shifted, builder.constant("normalize.offset", scalar(0.125))], "normalize")


def first_block(builder: Builder, features: str) -> str:
    """Six slices of one Conv in a chain, then two bounds that can become one."""
    wide = builder.conv(features, "block1.conv", 3, 6 * 16)
    largest = builder.max_chain(builder.channel_groups(wide, "block1", 16, 6), "block1")
    floor = builder.initializer("block1.floor", np.linspace(-1, 0, 16, dtype=np.float32).reshape(16, 1, 1))
    bounded = builder.node("Max", [largest, floor], "block1.bound")
    lowest = builder.constant("block1.lowest", scalar(-0.5))
    return builder.halve(builder.node("Max", [lowest, bounded], "block1.bound_all"), "block1.pool")


def second_block(builder: Builder, features: str) -> str:
    """Five Convs in a tree, then a bound that bounds nothing."""
    pieces = [builder.conv(features, f"block2.conv{index}", 16, 24) for index in range(5)]
    largest = builder.max_tree(pieces, "block2")
    unbounded = builder.initializer("block2.unbounded", scalar(-np.inf))
    return builder.halve(builder.node("Max", [largest, unbounded], "block2.bound"), "block2.pool")


def third_block(builder: Builder, features: str) -> str:
    """Two chains of three slices that meet, with bounds that are sums of constants on both sides."""
    wide = builder.conv(features, "block3.conv", 24, 6 * 32)
    pieces = builder.channel_groups(wide, "block3", 32, 6)
    left = builder.max_chain(pieces[:3], "block3.left")
    right = builder.max_chain(pieces[3:], "block3.right")
    largest = builder.node("Max", [left, right], "block3.join")
    margin = builder.constant("block3.margin", scalar(0.25))
    bounds = [
        builder.node("Add", [builder.initializer(f"block3.{name}", scalar(value)), margin], f"block3.{name}_sum")
        for name, value in (("low", -1.25), ("lower", -2.25))
    ]
    return builder.halve(builder.node("Max", [bounds[0], largest, bounds[1]], "block3.bound"), "block3.pool")


def classifier(builder: Builder, features: str) -> None:
    """Global pooling, a fully connected maxout layer of five pieces, and Softmax."""
    pooled = builder.node("GlobalAveragePool", [features], "pool")
    flat = builder.node("Flatten", [pooled], "flatten", axis=1)
    pieces = [
        builder.node(
            "Gemm",
            [
                flat,
                builder.weights(f"dense{index}.weight", CLASSES, 32, deviation=0.1),
                builder.weights(f"dense{index}.bias", CLASSES, deviation=0.1),
            ],
            f"dense{index}",
            transB=1,
        )
        for index in range(5)
    ]
    logits = builder.max_chain(pieces, "dense")
    builder.nodes.append(helper.make_node("Softmax", [logits], ["probabilities"], "softmax", axis=1))


def build() -> onnx.ModelProto:
    """The model: `image` (batch, 3, 64, 64) float32 in [0, 1] -> `probabilities` (batch, 10) float32."""
    builder = Builder()
    features = normalized(builder, "image")
    for block in (first_block, second_block, third_block):
        features = block(builder, features)
    classifier(builder, features)
    for node in builder.nodes:
        if node.op_type == "Conv":
            node.doc_string = "Linear pieces of a maxout layer"
            node.metadata_props.add(key="layer", value=node.name)
    image = helper.make_tensor_value_info(
        "image", onnx.TensorProto.FLOAT, ["batch", 3, IMAGE_SIZE, IMAGE_SIZE], "RGB, values from 0 to 1"
    )
    probabilities = helper.make_tensor_value_info(
        "probabilities", onnx.TensorProto.FLOAT, ["batch", CLASSES], "One row sums to 1"
    )
    graph = helper.make_graph(
        builder.nodes,
        "maxout",
        [image],
        [probabilities],
        builder.initializers,
        doc_string="A maxout image classifier with untrained weights",
    )
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=10,
        producer_name="build_maxout",
        doc_string="An example for maxfold",
    )
    helper.set_model_props(model, {"author": "maxfold examples", "classes": str(CLASSES)})
    onnx.checker.check_model(model, full_check=True)
    return model


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 1:
        print("usage: build_maxout.py OUTPUT.onnx", file=sys.stderr)
        return 2
    target = Path(arguments[0])
    model = build()
    onnx.save(model, target)
    print(f"{target}: {len(model.graph.node)} nodes, {target.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
