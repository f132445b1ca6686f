"""Forms that static checks refuse: what is decided without onnx is what onnx says."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from onnx import ModelProto, helper, numpy_helper

from maxfold.model import read_onnx
from maxfold.model.inference import Inference, fallback, strictness
from maxfold.model.inference.strictness import STRICT
from maxfold.model.view import View
from tests.text import Array, model

_SCALES: tuple[Array, ...] = tuple(
    np.array(values, np.float32)
    for values in ([], [2], [1, 1, 2, 2], [1, 1, 0.5, -2], [1, 1, np.nan, np.inf], [0, 0, 0, 0], [1, 1, 2, 2, 1])
)
_SIZES: tuple[Array, ...] = tuple(
    np.array(values, np.int64) for values in ([], [8], [2, 3, 8, 8], [2, 3, 0, -8], [2, 3, 8, 8, 1], [1 << 62] * 4)
)


def _resize(shape: list[int | str] | None, scales: Array | None, sizes: Array | None, opset: int) -> ModelProto:
    lists = {name: value for name, value in (("scales", scales), ("sizes", sizes)) if value is not None}
    inputs = ["x", "", *(name if name in lists else "" for name in ("scales", "sizes"))]
    x, y = helper.make_tensor_value_info("x", 1, shape), helper.make_tensor_value_info("y", 1, None)
    constants = [numpy_helper.from_array(value, name) for name, value in lists.items()]
    graph = helper.make_graph([helper.make_node("Resize", inputs, ["y"])], "g", [x], [y], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


@pytest.mark.parametrize("opset", [11, 13, 18, 19])
@pytest.mark.parametrize("shape", [[2, 3, 4, 5], ["N", 3, "H", 5], [4], [], None])
def test_resize(shape: list[int | str] | None, opset: int) -> None:
    refused = 0
    for scales, sizes in itertools.product([None, *_SCALES], [None, *_SIZES]):
        loaded = read_onnx(_resize(shape, scales, sizes, opset).SerializeToString())
        (resize,) = loaded.graph.nodes
        known = Inference(View(loaded))
        reason = known.refusal(resize)
        assert STRICT["Resize"](known, resize) == reason, (scales, sizes)
        refused += reason is not None
    # onnx's check of operator set 11 looks at no list, and that of scalars neither.
    assert refused or not shape or opset == 11


def test_an_ordinary_resize_needs_no_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    """The schemas of all operators take 7 MB as soon as one is asked for."""
    source = model(
        "g (float[1,3,H,W] x) => (float[1,3,K,L] y) { y = Resize(x, r, s) }",
        constants={"r": np.zeros(0, np.float32), "s": np.array([1, 1, 2, 2], np.float32)},
    )
    loaded = read_onnx(source.SerializeToString())
    (resize,) = loaded.graph.nodes
    monkeypatch.setattr(fallback, "refusal", lambda *_: pytest.fail("onnx is asked"))
    assert STRICT["Resize"](Inference(View(loaded)), resize) is None


def test_a_result_of_another_rank_tells_nothing_of_an_empty_operand() -> None:
    assert strictness._is_told((4, 3), (3,), 0)
    assert not strictness._is_told((4,), (3,), 0)
    assert not strictness._is_told((4, 3, 1), (3,), 0)
