"""spread-scales: what shares the scales of quantized products, and what ONNX Runtime makes of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import ModelProto

from maxfold.optimizer import optimize
from tests.optimizer.fusing import after_fusions
from tests.passes.closeness import nodes
from tests.passes.outcome import Outcome, outcome
from tests.run import assert_equal, in_onnxruntime
from tests.text import Array, model

QUANTIZED = "q, s, z = DynamicQuantizeLinear(x)\n "


def product(index: int, scales: str, weight: str = "w") -> str:
    """A quantized product by its index; `scales` names what it is multiplied by."""
    return (
        f"i{index} = MatMulInteger(q, {weight}, z)\n c{index} = Cast<to = 1>(i{index})\n "
        f"y{index} = Mul(c{index}, {scales})\n "
    )


SHARED = QUANTIZED + "p = Mul(s, a)\n " + product(0, "p") + product(1, "p", "v") + product(2, "p", "u")
APART = QUANTIZED + "".join(
    f"p{index} = Mul(s, {scale})\n " + product(index, f"p{index}", weight)
    for index, (scale, weight) in enumerate((("a", "w"), ("b", "v"), ("a", "u")))
)


def source_of(body: str, *, scale: Any = 0.25, outputs: int = 3, columns: int = 12) -> ModelProto:
    random = np.random.default_rng(0)
    constants: dict[str, Array] = {name: random.integers(-9, 9, (4, columns), np.int8) for name in "wvu"}
    constants |= {"a": np.array(scale, np.float32), "b": np.array(scale, np.float32)}
    used = {name: array for name, array in constants.items() if f" {name})" in body or f" {name}," in body}
    results = ", ".join(f"float[N,{columns}] y{index}" for index in range(outputs))
    return model(f"g (float[N,4] x) => ({results}) {{ {body} }}", opset=13, constants=used)


def spread(source: ModelProto, **options: Any) -> Outcome:
    return outcome("spread-scales", source, **{"target": "onnxruntime", **options})


@pytest.mark.parametrize("scale", [0.25, [0.25], [0.25] * 12])
@pytest.mark.parametrize("body", [SHARED, APART])
def test_each_has_its_own(body: str, scale: Any) -> None:
    source = source_of(body, scale=scale)
    result = spread(source)
    # Two products with one vector are equal nodes, and another pass makes them one first.
    assert result.changes == (0 if body is APART and np.size(scale) > 1 else 2)
    feeds = {"x": np.array([[0, -0.0, 1, 2], [3, 9, -4, 5], [1e-40, 3e38, -1, 0]], np.float32)}
    assert_equal(in_onnxruntime(result.after, feeds), in_onnxruntime(source, feeds), zeros_differ=True)


def test_golden() -> None:
    body = QUANTIZED + "p = Mul(s, a)\n " + product(0, "p") + product(1, "p", "v")
    assert nodes(spread(source_of(body, outputs=2))) == (
        "q, s, z = DynamicQuantizeLinear(x)\np = Mul(s, a)\ni0 = MatMulInteger(q, w, z)\nc0 = Cast<to=1>(i0)\n"
        "y0_mul = Mul(s, a_constant)\ny0 = Mul(c0, y0_mul)\ni1 = MatMulInteger(q, v, z)\nc1 = Cast<to=1>(i1)\n"
        "y1 = Mul(c1, p)"
    )


@pytest.mark.parametrize(
    ("source", "options", "reasons"),
    [
        (source_of(SHARED), {"target": "any"}, []),
        (source_of(SHARED), {"target": "openvino"}, []),
        (source_of(SHARED), {"target": "tensorrt"}, []),
        (source_of(QUANTIZED + "p = Mul(s, a)\n " + product(0, "p"), outputs=1), {}, []),
        (source_of(SHARED), {"keep": ["a"]}, ["'a' is to be kept"] * 3),
        (source_of(SHARED), {"keep": ["p"]}, ["it is to be kept"] + ["'p' is to be kept"] * 3),
        (source_of(SHARED), {"max_growth_bytes": 47},
         ["the file would grow by 48 bytes, more than 47; --max-growth allows more"] * 3),
        (source_of(SHARED.replace("Mul(s, a)", "Mul(s, s)")), {}, []),
        (source_of(SHARED, scale=[[0.25]]), {}, []),
        (source_of(SHARED, columns=8), {}, []),
        (source_of(SHARED.replace("MatMulInteger(q, w, z)", "MatMulInteger(q, t, z)")
                   .replace("MatMulInteger(q, v, z)", "MatMulInteger(q, t, z)")
                   .replace("MatMulInteger(q, u, z)", "MatMulInteger(q, t, z)")
                   .replace("p = Mul", "k = Cast<to = 3>(x)\n t = Transpose(k)\n p = Mul"), outputs=3), {}, []),
    ],
)  # fmt: skip
def test_what_stays(source: ModelProto, options: dict[str, Any], reasons: list[str]) -> None:
    result = outcome("spread-scales", source, check=False, **{"target": "onnxruntime", **options})
    assert (result.changes, result.reasons) == (0, reasons)


@pytest.mark.parametrize("math", ["exact", "relaxed"])
@pytest.mark.parametrize("body", [SHARED, APART])
def test_what_onnxruntime_fuses(body: str, math: Any, tmp_path: Path) -> None:
    source = source_of(body)
    before = after_fusions(source, tmp_path / "before.onnx")
    assert not before["MatMulIntegerToFloat"]
    default, aimed = (
        ModelProto.FromString(source.SerializeToString()),
        ModelProto.FromString(source.SerializeToString()),
    )
    optimize(default, math=math)
    assert after_fusions(default, tmp_path / "any.onnx").total() <= before.total()
    optimize(aimed, math=math, target="onnxruntime")
    after = after_fusions(aimed, tmp_path / "after.onnx")
    assert after == {"DynamicQuantizeLinear": 1, "MatMulIntegerToFloat": 3}
    assert not optimize(aimed, math=math, target="onnxruntime").changed


def test_vectors_that_are_apart_stay_apart(tmp_path: Path) -> None:
    source = source_of(APART.replace("Mul(s, b)", "Mul(s, d)"), scale=[0.25] * 12)
    twin = source.graph.initializer.add()
    twin.CopyFrom(next(item for item in source.graph.initializer if item.name == "a"))
    twin.name = "d"
    optimize(source)
    assert len([item for item in source.graph.initializer if list(item.dims) == [12]]) == 2
    assert onnxruntime.InferenceSession(source.SerializeToString(), providers=["CPUExecutionProvider"])
    assert after_fusions(source, tmp_path / "after.onnx")["MatMulIntegerToFloat"] == 1
