"""A synthetic encoder like BERT, in the form in which PyTorch exports it: everything in its parts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx import GraphProto, TensorProto, helper, numpy_helper

from bench.models import Builder, Weights

_OPSET = 13
_IR_VERSION = 7


class _Encoder:
    """Nodes of BERT as PyTorch exports them to operator set 13: biases, norms and Gelus in their parts."""

    def __init__(self, width: int, heads: int) -> None:
        self.builder = Builder()
        self.weights = Weights(None, "")
        self.constants: list[TensorProto] = []
        self._width = width
        self._heads = heads

    def constant(self, name: str, value: float | list[int]) -> str:
        """A number in float32, or a list of int64."""
        made = np.array(value, np.int64 if isinstance(value, list) else np.float32)
        self.constants.append(numpy_helper.from_array(made, name))
        return name

    def scalar(self, name: str, value: int) -> str:
        """An integer without dims."""
        self.constants.append(numpy_helper.from_array(np.array(value, np.int64), name))
        return name

    def mask(self) -> str:
        """The mask as [batch, 1, 1, sequence] in float32."""
        wide = self.builder.node("Unsqueeze", ["mask", self.constant("mask_axes", [1, 2])], "mask_wide")
        return self.builder.node("Cast", [wide], "mask_float", to=TensorProto.FLOAT)

    def dense(self, x: str, name: str, rows: int, columns: int) -> str:
        weight = self.weights.add(f"{name}_weight", (rows, columns), 1.7 * rows**-0.5)
        bias = self.weights.add(f"{name}_bias", (columns,), 0.1)
        product = self.builder.node("MatMul", [x, weight], f"{name}_product")
        return self.builder.node("Add", [bias, product], f"{name}_out")

    def normalized(self, x: str, name: str) -> str:
        node = self.builder.node
        centred = node("Sub", [x, node("ReduceMean", [x], f"{name}_mean", axes=[-1])], f"{name}_centred")
        square = node("Pow", [centred, self.constant(f"{name}_two", 2.0)], f"{name}_square")
        variance = node("ReduceMean", [square], f"{name}_variance", axes=[-1])
        raised = node("Add", [variance, self.constant(f"{name}_epsilon", 1e-12)], f"{name}_raised")
        normal = node("Div", [centred, node("Sqrt", [raised], f"{name}_deviation")], f"{name}_normal")
        scale, shift = (self.weights.add(f"{name}_{label}", (self._width,), 1.0) for label in ("scale", "shift"))
        return node("Add", [node("Mul", [normal, scale], f"{name}_scaled"), shift], f"{name}_out")

    def gelu(self, x: str, name: str) -> str:
        node = self.builder.node
        error = node("Erf", [node("Div", [x, self.constant(f"{name}_root", 2.0**0.5)], f"{name}_part")], f"{name}_erf")
        share = node("Add", [error, self.constant(f"{name}_one", 1.0)], f"{name}_share")
        product = node("Mul", [x, share], f"{name}_product")
        return node("Mul", [product, self.constant(f"{name}_half", 0.5)], f"{name}_out")

    def size(self, x: str, axis: int, name: str) -> str:
        """A dim of a tensor as a list of one, by Shape, Gather and Unsqueeze."""
        shape = self.builder.node("Shape", [x], f"{name}_shape")
        dim = self.builder.node("Gather", [shape, self.scalar(f"{name}_index", axis)], f"{name}_dim", axis=0)
        return self.builder.node("Unsqueeze", [dim, self.constant(f"{name}_axes", [0])], f"{name}_size")

    def reshaped(self, x: str, name: str, tail: list[int]) -> str:
        """The first two dims as they are, and then `tail`."""
        sizes = [self.size(x, axis, f"{name}_{axis}") for axis in range(2)]
        shape = self.builder.node("Concat", [*sizes, self.constant(f"{name}_tail", tail)], f"{name}_shape", axis=0)
        return self.builder.node("Reshape", [x, shape], f"{name}_reshaped")

    def attention(self, x: str, mask: str, name: str) -> str:
        node, head = self.builder.node, self._width // self._heads

        def part(label: str, perm: list[int]) -> str:
            label = f"{name}_{label}"
            made = self.reshaped(self.dense(x, label, self._width, self._width), label, [self._heads, head])
            return node("Transpose", [made], f"{label}_heads", perm=perm)

        query, key, value = part("query", [0, 2, 1, 3]), part("key", [0, 2, 3, 1]), part("value", [0, 2, 1, 3])
        scores = node("MatMul", [query, key], f"{name}_scores")
        scaled = node("Div", [scores, self.constant(f"{name}_root", head**0.5)], f"{name}_scaled")
        shares = node("Softmax", [node("Add", [scaled, mask], f"{name}_masked")], f"{name}_shares", axis=-1)
        mixed = node(
            "Transpose", [node("MatMul", [shares, value], f"{name}_mixed")], f"{name}_turned", perm=[0, 2, 1, 3]
        )
        return self.dense(
            self.reshaped(mixed, f"{name}_joined", [self._width]), f"{name}_projection", self._width, self._width
        )

    def layer(self, x: str, mask: str, name: str, inner: int) -> str:
        node = self.builder.node
        attended = node("Add", [self.attention(x, mask, f"{name}_attention"), x], f"{name}_attended")
        middle = self.normalized(attended, f"{name}_norm")
        active = self.gelu(self.dense(middle, f"{name}_up", self._width, inner), f"{name}_gelu")
        narrow = self.dense(active, f"{name}_down", inner, self._width)
        return self.normalized(node("Add", [narrow, middle], f"{name}_sum"), f"{name}_last")


def encoder(path: Path, *, layers: int, width: int, heads: int, inner: int, vocabulary: int, positions: int) -> None:
    """Writes an encoder. BERT-base has 12 layers, is 768 wide with 12 heads and 3072 inside, and knows 30,522 words."""
    parts = _Encoder(width, heads)
    node, weights = parts.builder.node, parts.weights
    tables = {"words": vocabulary, "positions": positions, "types": 2}
    names = {name: weights.add(f"{name}_table", (size, width), 0.1) for name, size in tables.items()}
    numbers = numpy_helper.from_array(np.arange(positions, dtype=np.int64)[None], "numbers")
    bounds = [parts.constant("from_start", [0]), parts.size("ids", 1, "length"), parts.constant("along", [1])]
    places = node("Slice", ["numbers", *bounds], "places")
    found = [
        node("Gather", [names["words"], "ids"], "words"),
        node("Gather", [names["types"], "types"], "typed"),
        node("Gather", [names["positions"], places], "placed"),
    ]
    x = parts.normalized(node("Add", [node("Add", found[:2], "known"), found[2]], "embedded"), "embedding")
    inverse = node("Sub", [parts.constant("one", 1.0), parts.mask()], "inverse")
    mask = node("Mul", [inverse, parts.constant("lowest", -10000.0)], "masking")
    for index in range(layers):
        x = parts.layer(x, mask, f"layer{index}", inner)
    first = node("Gather", [x, parts.scalar("first", 0)], "first_word", axis=1)
    pooled = [first, weights.add("pool_weight", (width, width), width**-0.5), weights.add("pool_bias", (width,), 0.1)]
    node("Tanh", [node("Gemm", pooled, "pooled", transB=1)], "pool")
    graph = GraphProto(name=path.stem, node=parts.builder.nodes)
    graph.initializer.extend([*weights.tensors, numbers, *parts.constants])
    tokens = ["batch", "sequence"]
    for name in ("ids", "types", "mask"):
        graph.input.append(helper.make_tensor_value_info(name, TensorProto.INT64, tokens))
    graph.output.append(helper.make_tensor_value_info(x, TensorProto.FLOAT, [*tokens, width]))
    graph.output.append(helper.make_tensor_value_info("pool", TensorProto.FLOAT, ["batch", width]))
    opsets = [helper.make_opsetid("", _OPSET)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION, producer_name="bench")
    path.write_bytes(model.SerializeToString())
