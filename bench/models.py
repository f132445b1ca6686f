"""Synthetic models, the same bytes each time. Large weights are drawn and written in chunks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from onnx import GraphProto, NodeProto, TensorProto, helper, numpy_helper

OPSET = 17
IR_VERSION = 9
_CHUNK_ELEMENTS = 1 << 22
_ALIGNMENT_BYTES = 4096


def _chunks(seed: int, count: int, scale: float) -> Iterator[NDArray[np.float32]]:
    rng = np.random.default_rng(seed)
    for start in range(0, count, _CHUNK_ELEMENTS):
        drawn = rng.random(min(_CHUNK_ELEMENTS, count - start), dtype=np.float32)
        drawn -= np.float32(0.5)
        drawn *= np.float32(2 * scale)
        yield drawn


class Weights:
    """Makes float32 weights: inline, or in an external data file that is written as they are drawn."""

    def __init__(self, data: BinaryIO | None, location: str) -> None:
        self._data = data
        self._location = location
        self.tensors: list[TensorProto] = []

    def add(self, name: str, shape: tuple[int, ...], scale: float) -> str:
        """Adds a weight of uniform values in [-scale, scale) and returns its name."""
        count = int(np.prod(shape))
        chunks = _chunks(len(self.tensors), count, scale)
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape)
        if self._data is None:
            tensor.raw_data = b"".join(chunk.astype("<f4").tobytes() for chunk in chunks)
        else:
            self._data.write(bytes(-self._data.tell() % _ALIGNMENT_BYTES))
            offset = self._data.tell()
            for chunk in chunks:
                self._data.write(chunk.astype("<f4").tobytes())
            tensor.data_location = TensorProto.EXTERNAL
            for key, value in (("location", self._location), ("offset", offset), ("length", 4 * count)):
                tensor.external_data.add(key=key, value=str(value))
        self.tensors.append(tensor)
        return name


class Builder:
    """Collects nodes, and names each after its output."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []

    def node(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(operator, inputs, [output], name=f"{output}_node", **attributes))
        return output


def _save(
    path: Path,
    nodes: list[NodeProto],
    initializers: list[TensorProto],
    shape: list[int | str],
    output: str,
    result: list[int | str] | None = None,
) -> None:
    graph = GraphProto(name=path.stem, node=nodes, initializer=initializers)
    graph.input.append(helper.make_tensor_value_info("x", TensorProto.FLOAT, shape))
    graph.output.append(helper.make_tensor_value_info(output, TensorProto.FLOAT, result or shape))
    opsets = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="bench")
    path.write_bytes(model.SerializeToString())


def _layer(builder: Builder, weights: Weights, width: int, name: str, x: str) -> str:
    """Attention of one head and a Max-activated feed-forward block, with constants that can be folded."""

    def dense(source: str, label: str, rows: int, columns: int) -> str:
        label = f"{name}_{label}"
        weight = weights.add(f"{label}_weight", (rows, columns), 1.7 * rows**-0.5)
        parts = [weights.add(f"{label}_bias{part}", (columns,), 0.1) for part in range(2)]
        bias = builder.node("Add", parts, f"{label}_bias")
        product = builder.node("MatMul", [source, weight], f"{label}_product")
        return builder.node("Add", [product, bias], f"{label}_out")

    def normalized(source: str, label: str) -> str:
        scale = weights.add(f"{name}_{label}_scale", (width,), 1.0)
        return builder.node("LayerNormalization", [source, scale], f"{name}_{label}", axis=-1)

    query, key, value = (dense(x, label, width, width) for label in ("query", "key", "value"))
    turned = builder.node("Transpose", [key], f"{name}_turned", perm=[0, 2, 1])
    scores = builder.node("MatMul", [query, turned], f"{name}_scores")
    factor = weights.add(f"{name}_factor", (), width**-0.5)
    scaled = builder.node("Mul", [scores, factor], f"{name}_scaled")
    shares = builder.node("Softmax", [scaled], f"{name}_shares", axis=-1)
    mixed = dense(builder.node("MatMul", [shares, value], f"{name}_mixed"), "projection", width, width)
    middle = normalized(builder.node("Add", [x, mixed], f"{name}_residual"), "norm")
    wide = dense(middle, "up", width, 4 * width)
    bounds = [weights.add(f"{name}_bound{part}", (4 * width,), 0.1) for part in range(3)]
    bound = builder.node("Max", bounds[:2], f"{name}_bound")
    active = builder.node("Max", [builder.node("Max", [wide, bound], f"{name}_low"), bounds[2]], f"{name}_active")
    narrow = dense(active, "down", 4 * width, width)
    return normalized(builder.node("Add", [middle, narrow], f"{name}_sum"), "out")


def transformer(path: Path, *, layers: int, width: int, external: bool) -> None:
    """Writes a transformer-like model of 48 * layers * width**2 bytes.

    It has dynamic batch and sequence dims, and Add and Max nodes of constants only. `external` puts the
    weights into PATH.data.
    """
    builder = Builder()
    location = f"{path.name}.data"

    def build(weights: Weights) -> None:
        x = "x"
        for index in range(layers):
            x = _layer(builder, weights, width, f"layer{index}", x)
        _save(path, builder.nodes, weights.tensors, ["batch", "sequence", width], x)

    if not external:
        build(Weights(None, ""))
        return
    with (path.parent / location).open("wb") as data:
        build(Weights(data, location))


def _constant(name: str, seed: int, width: int = 8) -> TensorProto:
    values = np.random.default_rng(seed).standard_normal(width).astype(np.float32)
    return numpy_helper.from_array(values, name)


def chain(path: Path, *, nodes: int, reverse: bool = False) -> None:
    """Writes a chain of `nodes` Add, Max, Max and Relu nodes with constants.

    `reverse` lists the last node first, which the ONNX checker does not allow but files do contain.
    """
    builder = Builder()
    constants: list[TensorProto] = []
    x = "x"
    for index in range(nodes):
        operator = ("Add", "Max", "Max", "Relu")[index % 4]
        inputs = [x]
        if operator != "Relu":
            constants.append(_constant(f"c{index}", index))
            inputs.append(f"c{index}")
        x = builder.node(operator, inputs, f"t{index}")
    ordered = builder.nodes[::-1] if reverse else builder.nodes
    _save(path, ordered, constants, ["batch", 8], x)


def fanout(path: Path, *, consumers: int) -> None:
    """Writes a chain of `consumers` Add and Mul nodes that all read the same constant."""
    builder = Builder()
    x = "x"
    for index in range(consumers):
        x = builder.node("Add" if index % 2 else "Mul", [x, "shared"], f"t{index}")
    values = np.linspace(0.1, 0.9, 8, dtype=np.float32)
    _save(path, builder.nodes, [numpy_helper.from_array(values, "shared")], ["batch", 8], x)


def concats(path: Path, *, nodes: int) -> None:
    """Writes a chain of Concat, each of the one before it and a constant: what is joined grows with every node."""
    builder = Builder()
    weights = Weights(None, "")
    x = "x"
    for index in range(nodes):
        row = weights.add(f"row{index}", (1, 4), 1.0)
        x = builder.node("Concat", [x, row], f"joined{index}", axis=0)
    total = builder.node("ReduceSum", [x], "total", keepdims=1)
    _save(path, builder.nodes, weights.tensors, ["batch", 4], total, [1, 1])
