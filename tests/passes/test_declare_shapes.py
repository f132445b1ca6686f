"""declare-shapes: which results get a record, what stands in it, and where none is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto

from maxfold.optimizer import optimize
from tests.optimizer.fusing import after_fusions
from tests.passes.outcome import Outcome, outcome
from tests.run import assert_equal, in_onnxruntime
from tests.text import Array, model

# An output that is declared with another rank keeps the last target from being settled.
BODY = """
    p = MaxPool<kernel_shape = [1, 2], strides = [1, 2]>(x)
    a = Reshape(p, joined)
    r = Relu(a)
    s = Shape(r)
    n = Gather<axis = 0>(s, index)
    u = Unsqueeze(n, axes)
    t = Concat<axis = 0>(u, one, rest)
    f = Reshape(r, flat)
    l = MatMul(f, w)
    y = Reshape(l, t)
"""
# How many channels and columns there are is open, so that neither has a name behind the first Reshape.
HEAD = "(float[1,C,4,W] x) => (float[1,Z] y)"
CONSTANTS: dict[str, Array] = {
    "joined": np.array([-1, 1, 4]), "index": np.array(0), "axes": np.array([0]), "one": np.array([1]),
    "rest": np.array([-1]), "flat": np.array([-1, 4]), "w": np.linspace(0, 1, 32, dtype=np.float32).reshape(4, 8),
}  # fmt: skip


def source(body: str = BODY, head: str = HEAD) -> ModelProto:
    return model(f"g {head} {{ {body} }}", opset=13, constants=CONSTANTS)


def declared(proto: ModelProto, **options: Any) -> Outcome:
    return outcome("declare-shapes", proto, **options)


def records(result: Outcome) -> dict[str, list[int | str]]:
    return {
        info.name: [dim.dim_param or dim.dim_value for dim in info.type.tensor_type.shape.dim]
        for info in result.after.graph.value_info
    }


def test_equal_dimensions_get_one_name() -> None:
    result = declared(source())
    assert (result.changes, records(result)) == (2, {"a": ["dim_1", 1, 4], "f": ["dim_1", 4]})
    assert [info.type.tensor_type.elem_type for info in result.after.graph.value_info] == [1, 1]


def test_runtimes_settle_the_target(tmp_path: Path) -> None:
    proto = source()
    before = after_fusions(proto, tmp_path / "before.onnx")
    feeds = {"x": np.random.default_rng(0).standard_normal((1, 3, 4, 6)).astype(np.float32)}
    for math in ("exact", "relaxed"):
        own = ModelProto()
        own.CopyFrom(proto)
        optimize(own, math=math)
        after = after_fusions(own, tmp_path / "after.onnx")
        assert (before["Concat"], after["Concat"], after["Shape"]) == (1, 0, 0)
        assert_equal(in_onnxruntime(own, feeds), in_onnxruntime(proto, feeds), zeros_differ=True)


def test_names_of_the_file_are_kept() -> None:
    """A dimension of an input has its name, and a new one is none that the file has."""
    whole = BODY.replace("p = MaxPool<kernel_shape = [1, 2], strides = [1, 2]>(x)", "p = Relu(x)")
    joined = {"a": ["dim_2", 1, 4], "f": ["dim_2", 4]}
    assert records(declared(source(whole, HEAD.replace("W", "dim_1")))) == joined
    plain = whole.replace("Reshape(p, joined)", "Reshape(p, open)")
    proto = source(plain, "(float[dim_1,1,2,2] x) => (float[1,Z] y)")
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.array([-1, 1, 4]), "open"))
    assert records(declared(proto)) == {"a": ["dim_1", 1, 4], "f": ["dim_1", 4]}


def test_what_is_declared_stays() -> None:
    proto = source()
    own = onnx.helper.make_tensor_value_info("a", 1, ["mine", 1, 4])
    proto.graph.value_info.append(own)
    result = declared(proto)
    assert records(result) == {"a": ["mine", 1, 4], "f": ["dim_1", 4]}
    assert result.after.graph.value_info[0] == own


def test_a_second_run_adds_nothing() -> None:
    proto = source()
    optimize(proto)
    once = proto.SerializeToString()
    optimize(proto)
    assert proto.SerializeToString() == once


@pytest.mark.parametrize(
    ("body", "head"),
    [
        # Nothing is computed from a Shape; and more than runtimes settle is.
        ("y = Reshape(x, joined)", "(float[1,C,4,W] x) => (float[A,B,D] y)"),
        (
            BODY.replace("Concat<axis = 0>(u, one, rest)", "Concat<axis = 0>(u, k)"),
            HEAD.replace("x)", "x, int64[2] k)"),
        ),
    ],
)
def test_where_nothing_gains(body: str, head: str) -> None:
    assert declared(source(body, head)).changes == 0


def test_sums_before_normalizations() -> None:
    """The kernel that adds and normalizes, which ONNX Runtime uses for shapes that it knows, is slower."""
    norm = """
        q = Add(r, r)
        m = ReduceMean<axes = [-1]>(q)
        c = Sub(q, m)
        k = Mul(c, c)
        v = ReduceMean<axes = [-1]>(k)
        e = Add(v, w0)
        h = Sqrt(e)
        z = Div(c, h)
    """
    proto = source(BODY.replace("s = Shape(r)", f"{norm} s = Shape(r)"), HEAD.replace("y)", "y, float[A,B,D] z)"))
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.array(1e-5, np.float32), "w0"))
    result = declared(proto)
    assert records(result) == {"f": ["dim_1", 4]}
    (reason,) = result.reasons
    assert reason.startswith("runtimes would fuse the Add and the normalization")


def test_kept_names() -> None:
    assert records(declared(source(), keep=["a"])) == {"f": ["dim_1", 4]}
