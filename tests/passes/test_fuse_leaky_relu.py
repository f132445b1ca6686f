"""fuse-leaky-relu: LeakyRelu of Max and PRelu, bit for bit, and what ONNX Runtime makes of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from maxfold.optimizer import optimize
from tests.optimizer.fusing import after_fusions
from tests.passes.closeness import nodes
from tests.passes.outcome import Outcome, outcome
from tests.run import assert_equal, in_onnxruntime
from tests.text import Array, model

SPECIALS = [np.nan, -np.nan, -0.0, 0.0, np.inf, -np.inf, 1.5, -1.5, 7, -7, 1e-45, -1e-45, 3e38, -3e38, 1e-39, -1e-39]
LEAKY = "m = Mul(x, c)\n y = Max(x, m)"


def fused(source: ModelProto, **options: Any) -> Outcome:
    return outcome("fuse-leaky-relu", source, **{"target": "onnxruntime", **options})


def source_of(
    body: str, constant: Any = 0.1, *, opset: int = 13, kind: Any = np.float32, x: str = "[N,4]", outputs: str = ""
) -> ModelProto:
    dtype = {np.float32: "float", np.float64: "double", np.float16: "float16"}[kind]
    constants: dict[str, Array] = {"c": np.asarray(constant, kind)} if "c)" in body or "(c" in body else {}
    return model(f"g ({dtype}{x} x) => ({dtype}[A,B] y{outputs}) {{ {body} }}", opset=opset, constants=constants)


@pytest.mark.parametrize("opset", [7, 8, 9, 13, 20])
@pytest.mark.parametrize("alpha", [0.1, 0.25, 0.99999994, 1e-30, 1e-42])
@pytest.mark.parametrize("body", [LEAKY, "m = Mul(c, x)\n y = Max(m, x)", "y = PRelu(x, c)"])
def test_bits_stay(body: str, alpha: float, opset: int) -> None:
    source = source_of(body, alpha, opset=opset)
    result = fused(source)
    assert [node.op_type for node in result.after.graph.node] == ["LeakyRelu"]
    for values in (SPECIALS, SPECIALS[:4], SPECIALS[4:8], SPECIALS * 3):
        feeds = {"x": np.array(values, np.float32).reshape(-1, 4)}
        assert_equal(in_onnxruntime(result.after, feeds), in_onnxruntime(source, feeds), zeros_differ=True)


@pytest.mark.parametrize("alpha", [0.25, 1.0, 3.0])
@pytest.mark.parametrize("shape", [(), (1,), (4,), (1, 4)])
def test_slopes_of_one_number(shape: tuple[int, ...], alpha: float) -> None:
    source = source_of("y = PRelu(x, c)", np.full(shape, alpha))
    result = fused(source)
    assert nodes(result) == f"y = LeakyRelu<alpha={alpha}>(x)"
    feeds = {"x": np.array(SPECIALS, np.float32).reshape(-1, 4)}
    assert_equal(in_onnxruntime(result.after, feeds), in_onnxruntime(source, feeds), zeros_differ=True)


@pytest.mark.parametrize(
    ("source", "options", "reasons"),
    [
        (source_of(LEAKY), {"target": "any", "math": "relaxed"}, []),
        (source_of("y = PRelu(x, c)"), {"target": "openvino", "math": "relaxed"}, []),
        (source_of("y = PRelu(x, c)"), {"target": "tensorrt"}, []),
        (source_of(LEAKY, 1.0), {}, []),
        (source_of(LEAKY, 0.0), {}, []),
        (source_of(LEAKY, -0.1), {}, []),
        (source_of(LEAKY, np.nan), {}, []),
        (source_of(LEAKY, kind=np.float64), {}, []),
        (source_of(LEAKY, kind=np.float16), {}, []),
        (source_of(LEAKY.replace("Max(x, m)", "Max(m, m)")), {}, []),
        (source_of(LEAKY.replace("m", "z").replace("zax", "max"), outputs=", float[A,B] z"), {},
         ["'z' is a graph output"]),
        (source_of(LEAKY), {"keep": ["m"]}, ["'m' is to be kept"]),
        (source_of("y = PRelu(x, c)", [0.1, 0.1, 0.1, 0.2]), {}, []),
        (source_of("y = PRelu(x, c)", 0.0), {}, []),
        (source_of("y = PRelu(x, c)", -0.5), {}, []),
        (source_of("y = PRelu(x, c)", np.inf), {}, []),
        (source_of("y = PRelu(x, c)", kind=np.float64), {}, []),
        (source_of("y = PRelu(x, c)"), {"keep": ["c"]}, ["'c' is to be kept"]),
        (source_of("y = PRelu(x, c)", [0.1] * 4, x="[N,M]"), {},
         ["the shape of 'x' is not known to be that of the result"]),
    ],
)  # fmt: skip
def test_what_stays(source: ModelProto, options: dict[str, Any], reasons: list[str]) -> None:
    result = fused(source, **options)
    assert (result.changes, result.reasons) == (0, reasons)


@pytest.mark.parametrize("opset", [9, 13, 18])
@pytest.mark.parametrize(("body", "count"), [("m = Mul(a, c)\n r = Max(a, m)", 8), ("r = PRelu(a, s)", 7)])
def test_what_onnxruntime_fuses(body: str, count: int, opset: int, tmp_path: Path) -> None:
    weights = np.random.default_rng(0).standard_normal((16, 16, 3, 3)).astype(np.float32)
    constants: dict[str, Array] = {"c": np.array(0.1, np.float32), "s": np.full((16, 1, 1), 0.1, np.float32)}
    used = {name: array for name, array in constants.items() if f" {name})" in body}
    source = model(
        f"g (float[1,16,9,9] x) => (float[1,16,5,5] y) {{ a = Conv(x, w)\n {body}\n y = Conv(r, w) }}",
        opset=opset, constants={**used, "w": weights},
    )  # fmt: skip
    assert after_fusions(source, tmp_path / "before.onnx").total() == count
    optimize(source, target="onnxruntime")
    after = after_fusions(source, tmp_path / "after.onnx")
    assert after == {"ReorderInput": 1, "Conv": 2, "ReorderOutput": 1}
