"""ONNX's node tests through the whole pipeline: what came out right before comes out right after."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto

from tests.optimizer.node_models import CHUNKS, NodeModel, node_models, passes_check, run
from tests.optimizer.optimized import optimized

LEAST_MODELS = 1800


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_outputs_stay_right(chunk: int) -> None:
    failures = {}
    for case in node_models()[chunk::CHUNKS]:
        try:
            assert_stays_right(case)
        except Exception as error:
            failures[case.name] = f"{type(error).__name__}: {' '.join(str(error).split())}"
    assert not failures, "\n".join(f"{name}: {what}" for name, what in failures.items())


def assert_stays_right(case: NodeModel) -> None:
    """Optimizes in both modes; in exact mode the runtime's own bits must stay, unless a constant was rounded."""
    before: list[Any] | None = None
    for math in ("exact", "relaxed"):
        after, report = optimized(case.model, check=False, again=math == "exact", math=math)
        if not report.changed:
            continue
        assert passes_check(after) or not passes_check(case.model), f"{math}: the result is invalid"
        before = before or run(case.model, case.inputs)
        if before is None or not case.is_right(before):
            continue
        outputs = run(after, case.inputs)
        assert outputs is not None, f"{math}: ONNX Runtime does not run the result"
        case.assert_right(outputs)
        if math == "exact" and not report.notes and not has_half(case.model):
            assert all(map(same, outputs, before)), f"{math}: other bits"


def has_half(proto: ModelProto) -> bool:
    """Whether a model has FLOAT16, in which ONNX Runtime rounds only where it has to."""
    inferred = onnx.shape_inference.infer_shapes(proto)
    items = (*inferred.graph.input, *inferred.graph.value_info, *inferred.graph.output)
    return any(item.type.tensor_type.elem_type == TensorProto.FLOAT16 for item in items)


def same(own: Any, right: Any) -> bool:
    if isinstance(own, list):
        return len(own) == len(right) and all(map(same, own, right))
    if own is None or right is None:
        return own is right
    one, other = np.asarray(own), np.asarray(right)
    if (one.dtype, one.shape) != (other.dtype, other.shape):
        return False
    if one.dtype.kind in "OUS":
        return bool(one.tolist() == other.tolist())
    return one.tobytes() == other.tobytes() or np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


def test_all_node_tests_are_there() -> None:
    assert len(node_models()) > LEAST_MODELS
