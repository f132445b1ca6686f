"""fuse-global-pools: GlobalAveragePool between convolutions, and what ONNX Runtime makes of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from maxfold.optimizer import optimize
from tests.optimizer.fusing import after_fusions
from tests.passes.closeness import assert_close, nodes
from tests.passes.outcome import Outcome, outcome
from tests.text import Array, model

MEAN = "m = ReduceMean<axes = [2, 3], keepdims = 1>(r)"
BODY = f"c = Conv(x, w)\n r = Relu(c)\n {MEAN}\n y = Conv(m, w)"


def fused(source: ModelProto, **options: Any) -> Outcome:
    return outcome("fuse-global-pools", source, **{"target": "onnxruntime", "math": "relaxed", **options})


def source_of(body: str, *, opset: int = 13, kind: Any = np.float32, y: str = "[A,B,C,D]") -> ModelProto:
    weights = np.random.default_rng(0).standard_normal((16, 16, 1, 1)).astype(kind)
    constants: dict[str, Array] = {"w": weights, "axes": np.array([-1, 2]), "none": np.array([], np.int64)}
    used = {name: array for name, array in constants.items() if f" {name})" in body}
    dtype = "float" if kind is np.float32 else "double"
    return model(f"g ({dtype}[N,16,6,6] x) => ({dtype}{y} y) {{ {body} }}", opset=opset, constants=used)


@pytest.mark.parametrize(
    ("body", "opset"),
    [
        (BODY, 11), (BODY, 13), (BODY.replace("[2, 3]", "[-1, -2]"), 13),
        (BODY.replace("<axes = [2, 3], keepdims = 1>(r)", "(r, axes)"), 18),
        (BODY.replace("r = Relu(c)", "r = Sigmoid(c)"), 13),
    ],
)  # fmt: skip
def test_what_onnxruntime_fuses(body: str, opset: int, tmp_path: Path) -> None:
    source = source_of(body, opset=opset)
    result = fused(source)
    assert nodes(result).splitlines()[2] == "m = GlobalAveragePool(r)"
    assert_close(result)
    before = after_fusions(source, tmp_path / "before.onnx")
    optimize(source, math="relaxed", target="onnxruntime")
    after = after_fusions(source, tmp_path / "after.onnx")
    assert (before.total(), after.total()) == (7, 5)
    assert after == {"ReorderInput": 1, "Conv": 2, "GlobalAveragePool": 1, "ReorderOutput": 1}


def test_without_an_activation() -> None:
    assert fused(source_of(f"r = Conv(x, w)\n {MEAN}\n y = Conv(m, w)")).changes == 1


@pytest.mark.parametrize(
    ("source", "options", "reasons"),
    [
        (source_of(BODY), {"math": "exact"}, ["GlobalAveragePool may round differently; only with --math relaxed"]),
        (source_of(BODY), {"target": "any"}, []),
        (source_of(BODY), {"target": "openvino"}, []),
        (source_of(BODY), {"target": "tensorrt"}, []),
        (source_of(BODY), {"keep": ["m"]}, ["it is to be kept"]),
        (source_of(BODY, kind=np.float64), {}, []),
        (source_of(BODY.replace("[2, 3]", "[1, 2]")), {}, []),
        (source_of(BODY.replace("[2, 3]", "[2]")), {}, []),
        (source_of(BODY.replace("<axes = [2, 3], keepdims = 1>", "")), {}, []),
        (source_of(BODY.replace("<axes = [2, 3], keepdims = 1>(r)", "<noop_with_empty_axes = 1>(r, none)"), opset=18),
         {}, []),
        (source_of(BODY.replace("c = Conv(x, w)", "c = Neg(x)")), {}, []),
        (source_of(BODY.replace("y = Conv(m, w)", "y = Neg(m)")), {}, []),
        (source_of(BODY.replace("y = Conv(m, w)", "k = Conv(m, w)\n y = Mul(r, m)")), {}, []),
        (source_of(BODY.replace("y = Conv(m, w)", "y = Identity(m)")), {}, []),
        (source_of(BODY.replace("keepdims = 1", "keepdims = 0").replace("y = Conv(m, w)", "y = Neg(m)"), y="[A,B]"),
         {}, []),
    ],
)  # fmt: skip
def test_what_stays(source: ModelProto, options: dict[str, Any], reasons: list[str]) -> None:
    result = fused(source, **options)
    assert (result.changes, result.reasons) == (0, reasons)
