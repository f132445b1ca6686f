"""hoist-transposes: Transposes above Reshapes that join axes, in front of normalizations."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from onnx import ModelProto
from onnx.numpy_helper import to_array

from tests.passes.normalizations import MINUS, ROOT, normalization
from tests.passes.outcome import Outcome, outcome
from tests.run import assert_equal, in_onnxruntime
from tests.text import Array

HEAD = "(float[N,4,H,W] i) => (float[A,B,C] y)"
LAYER = MINUS + ROOT + "n = Div(d, r)\n g = Mul(n, gamma)\n y = Add(beta, g)"
ROOT_MEAN_SQUARE = "s = Pow(x, two)\n v = ReduceMean{axes}(s{input})\n e = Add(v, eps)\n r = Sqrt(e)\n y = Div(x, r)"
NOT_JOINED = "its Transpose cannot go above the Reshape before it, which does not join axes to one of them"


def source(
    target: list[int],
    order: str = "0, 2, 1",
    *,
    body: str = LAYER,
    opset: int = 13,
    head: str = HEAD,
    more: str = "",
) -> ModelProto:
    before = f"f = Reshape(i, target)\n x = Transpose<perm = [{order}]>(f)\n {more}"
    constants: dict[str, Array] = {"target": np.array(target)}
    return normalization(before + body, opset=opset, head=head, **constants)


def hoisted(proto: ModelProto, keep: Iterable[str] = ()) -> Outcome:
    return outcome("hoist-transposes", proto, keep=keep)


def first_two(result: Outcome) -> list[object]:
    """The order of axes of the Transpose and the target of the Reshape."""
    transpose, reshape = result.after.graph.node[:2]
    assert (transpose.op_type, reshape.op_type) == ("Transpose", "Reshape")
    constants = {tensor.name: to_array(tensor) for tensor in result.after.graph.initializer}
    return [list(transpose.attribute[0].ints), constants[reshape.input[1]].tolist()]


@pytest.mark.parametrize("target", [[0, 4, -1], [0, 0, -1]])
@pytest.mark.parametrize("body", [LAYER, ROOT_MEAN_SQUARE])
def test_joined(target: list[int], body: str) -> None:
    proto = source(target, body=body)
    result = hoisted(proto)
    assert (result.changes, first_two(result)) == (1, [[0, 2, 3, 1], [0, -1, 4]])
    for shape in ((2, 4, 3, 5), (1, 4, 1, 1), (2, 4, 0, 5)):
        feeds = {"i": np.random.default_rng(0).standard_normal(shape).astype(np.float32)}
        assert_equal(in_onnxruntime(result.after, feeds), in_onnxruntime(proto, feeds), zeros_differ=True)


def test_two_open_elements() -> None:
    """Behind the Transpose the batch is not in the place where the Reshape could copy it."""
    reason = "the target of the Reshape would have more than one element that is not known"
    assert hoisted(source([0, 4, -1], "2, 0, 1")).reasons == [reason]


def test_known_sizes() -> None:
    proto = source([6, 4, -1], "2, 0, 1", head="(float[2,3,4,5] i) => (float[A,B,C] y)")
    result = hoisted(proto)
    assert first_two(result) == [[3, 0, 1, 2], [5, 6, 4]]
    feeds = {"i": np.random.default_rng(0).standard_normal((2, 3, 4, 5)).astype(np.float32)}
    assert_equal(in_onnxruntime(result.after, feeds), in_onnxruntime(proto, feeds), zeros_differ=True)


@pytest.mark.parametrize(
    ("head", "target", "order"),
    [
        # Splits, mixes, and joins what is not known to be joined.
        ("(float[2,12,5] i) => (float[A,B,C,D] y)", [2, 3, 4, 5], "0, 1, 3, 2"),
        ("(float[2,3,4,5] i) => (float[A,B,C] y)", [3, 10, 4], "0, 1, 2"),
        ("(float[2,6,10] i) => (float[A,B] y)", [4, 30], "1, 0"),
        ("(float i) => (float[A,B,C] y)", [0, 4, -1], "0, 2, 1"),
    ],
)
def test_other_reshapes(head: str, target: list[int], order: str) -> None:
    body = ROOT_MEAN_SQUARE if "2,6,10" in head else LAYER
    result = outcome("hoist-transposes", source(target, order, body=body, head=head), check="(float i)" not in head)
    assert (result.changes, result.reasons) == (0, [NOT_JOINED])


def test_where_runtimes_need_it() -> None:
    """From operator set 17 on ONNX Runtime finds LayerNormalization first; nothing else is moved."""
    assert hoisted(source([0, 4, -1], opset=17)).changes == 0
    assert hoisted(source([0, 4, -1], opset=17, body=ROOT_MEAN_SQUARE)).changes == 1
    assert hoisted(source([0, 4, -1], body="y = Relu(x)")).changes == 0


def test_needed_elsewhere() -> None:
    head = HEAD.replace("y)", "y, float[D,E,F] z)")
    result = hoisted(source([0, 4, -1], head=head, more="z = Relu(f)\n "))
    assert result.reasons == ["'f' is used elsewhere"]
    assert hoisted(source([0, 4, -1]), keep=["f"]).reasons == ["'f' is to be kept"]
    assert hoisted(source([0, 4, -1]), keep=["x"]).reasons == ["it is to be kept"]
