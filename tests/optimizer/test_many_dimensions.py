"""Tensors of more than 64 dimensions, which formats have and numpy's arrays have not: left as they are, or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from maxfold.model import ModelError
from maxfold.optimizer import convert, diff, inspect, load, optimize, save, verify
from tests.optimizer.node_models import NodeModel, node_models
from tests.optimizer.optimized import assert_same_in_onnxruntime, optimized

RANK = 65
ONES = [1] * RANK
REASON = "has 65 dimensions, more than the 64 that arrays may have"


def model(*nodes: onnx.NodeProto, inputs: dict[str, list[int]] | None = None, **constants: Any) -> ModelProto:
    """A model whose result y comes out flat, since Python cannot take it from a runtime otherwise."""
    tensors = [
        value if isinstance(value, TensorProto) else numpy_helper.from_array(np.asarray(value), name)
        for name, value in {**constants, "flat": [-1]}.items()
    ]
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (inputs or {}).items()]
    result = helper.make_tensor_value_info("z", TensorProto.FLOAT, [None])
    flat = helper.make_node("Reshape", ["y", "flat"], ["z"])
    graph = helper.make_graph([*nodes, flat], "g", infos, [result], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def constant(name: str, values: Any = (1.5,), shape: list[int] = ONES, kind: int = TensorProto.FLOAT) -> TensorProto:
    """A tensor in the field of its own kind."""
    return helper.make_tensor(name, kind, shape, list(values))


def node(operator: str, *inputs: str, **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(operator, list(inputs), ["y"], **attributes)


ONE, SHAPE = np.ones(1, np.float32), np.ones(RANK, np.int64)
MADE = {
    "Reshape": model(node("Reshape", "k", "s"), k=ONE, s=SHAPE),
    "Expand": model(node("Expand", "k", "s"), k=ONE, s=SHAPE),
    "ConstantOfShape": model(node("ConstantOfShape", "s"), s=SHAPE),
    "Unsqueeze": model(node("Unsqueeze", "k", "a"), k=ONE, a=np.arange(RANK - 1)),
    "Gather": model(node("Gather", "k", "i"), k=np.ones([1] * 40, np.float32), i=np.zeros([1] * 26, np.int64)),
    "OneHot": model(node("OneHot", "i", "d", "v"), i=np.zeros([1] * 64, np.int64), d=1, v=np.float32([0, 1])),
}
HELD = {
    "Neg": model(node("Neg", "k"), k=constant("k")),
    "Transpose": model(node("Transpose", "k"), k=constant("k")),
    "Cast": model(node("Cast", "k", to=TensorProto.FLOAT), k=constant("k", [3], kind=TensorProto.INT64)),
    "Tile": model(node("Tile", "k", "s"), k=constant("k"), s=SHAPE),
    "Add": model(node("Add", "k", "l"), k=constant("k"), l=constant("l", [2.5])),
    "Max": model(node("Max", "k", "l"), k=constant("k"), l=constant("l", [2.5])),
    "Concat": model(node("Concat", "k", "l", axis=3), k=constant("k"), l=constant("l", [2.5])),
    "Where": model(
        node("Where", "c", "k", "l"), c=constant("c", [1], kind=TensorProto.BOOL), k=constant("k"), l=constant("l")
    ),
    "Constant": model(helper.make_node("Constant", [], ["c"], value=constant("c")), node("Exp", "c")),
    "large": model(node("Abs", "k"), k=constant("k", np.ones(5000), [*ONES[1:], 5000])),
    "twice": model(
        helper.make_node("Add", ["x", "k"], ["t"]), node("Add", "t", "l"), inputs={"x": [1]},
        k=constant("k"), l=constant("l"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("math", ["exact", "relaxed"])
@pytest.mark.parametrize("source", [*MADE.values(), *HELD.values()], ids=[*MADE, *HELD])
def test_results_stay(source: ModelProto, math: str) -> None:
    feeds = {info.name: np.ones(1, np.float32) for info in source.graph.input}
    assert_same_in_onnxruntime(source, feeds, math=math)


@pytest.mark.parametrize(
    ("name", "subject"), [*((name, "the result") for name in MADE), ("Neg", "'k'"), ("Add", "'k'")]
)
def test_why_nothing_is_folded(name: str, subject: str) -> None:
    _, report = optimized({**MADE, **HELD}[name], passes=["fold-constants"])
    assert not report.changed
    assert f"{subject} {REASON}" in {decline.reason for decline in report.declines}


@pytest.mark.parametrize("kind", ["typed", "raw", "sparse", "packed", "strings"])
@pytest.mark.parametrize("external", ["never", "always"])
def test_files_keep_them(kind: str, external: str, tmp_path: Path) -> None:
    source = model(node("Identity", "k"), k=constant("k"))
    if kind == "raw":
        source.graph.initializer[0].CopyFrom(
            helper.make_tensor("k", TensorProto.FLOAT, ONES, b"\0\0\xc0\x3f", raw=True)
        )
    elif kind == "packed":
        source.graph.initializer[0].CopyFrom(helper.make_tensor("k", TensorProto.INT4, ONES, [3]))
    elif kind == "strings":
        source.graph.initializer[0].CopyFrom(helper.make_tensor("k", TensorProto.STRING, ONES, [b"text"]))
    elif kind == "sparse":
        del source.graph.initializer[0]
        parts = (constant("k", [1.5], [1]), constant("", [0], [1], TensorProto.INT64))
        source.graph.sparse_initializer.append(helper.make_sparse_tensor(*parts, ONES))
    onnx.save(source, tmp_path / "m.onnx")
    first, second = load(tmp_path / "m.onnx"), load(tmp_path / "m.onnx")
    optimize(second, passes=["share-constants", "remove-dead-nodes"])
    save(second, tmp_path / "o.onnx", external_data=external)
    again = load(tmp_path / "o.onnx")
    (held,) = (item for item in again.constants() if len(item.data.shape) == RANK)
    (own,) = (item for item in first.constants() if len(item.data.shape) == RANK)
    assert held.data.contents().key() == own.data.contents().key()
    assert diff(first, again).is_equal
    assert inspect(again).constants == inspect(first).constants
    with pytest.raises(ModelError, match=f"it {REASON}"):
        convert(again, to="openvino")
    with pytest.raises(ModelError, match=f"a constant {REASON}|no numeric values"):
        held.data.array()


def test_they_are_not_verified(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    onnx.save(model(node("Neg", "x"), inputs={"x": ONES}), tmp_path / "m.onnx")
    with pytest.raises(ModelError, match=f"input 'x' {REASON}, so it cannot be fed"):
        verify(tmp_path / "m.onnx", tmp_path / "m.onnx")


@pytest.mark.parametrize("chunk", range(4))
def test_every_operator(chunk: int) -> None:
    """Node tests in which all inputs are constants, and one or all of them have 65 dimensions."""
    for case in node_models()[chunk::16]:
        for position in (None, *range(len(case.inputs))):
            source = with_many_dimensions(case, position)
            if source is not None:
                optimize(source)
                optimize(source, math="relaxed")


def with_many_dimensions(case: NodeModel, position: int | None) -> ModelProto | None:
    if not case.inputs or not all(isinstance(value, np.ndarray) for value in case.inputs.values()):
        return None
    source = ModelProto()
    source.CopyFrom(case.model)
    for index, (name, value) in enumerate(case.inputs.items()):
        held = numpy_helper.from_array(value, name)
        if position in (None, index):
            held.dims[:] = [*[1] * (RANK - value.ndim), *value.shape]
        source.graph.initializer.append(held)
    source.graph.ClearField("input")
    return source
