"""fuse-bounds: Relu and Clip of Max and Min, which bits stay, and what runtimes make of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from maxfold.optimizer import optimize
from tests.optimizer.fusing import after_fusions, openvino_operations
from tests.passes.closeness import assert_close, nodes
from tests.passes.outcome import Outcome, outcome
from tests.run import assert_equal, in_onnxruntime
from tests.text import Array, model

SPECIALS = [np.nan, -np.nan, -0.0, 0.0, np.inf, -np.inf, 1.5, -1.5, 7, -7, 1e-45, -1e-45, 3e38, -3e38, 6, 5.9999995]
CONSTANTS = {"zero": 0.0, "minus": -0.0, "six": 6.0, "five": -5.0, "least": -np.inf, "nan": np.nan}


def fused(source: ModelProto, **options: Any) -> Outcome:
    return outcome("fuse-bounds", source, **{"target": "onnxruntime", **options})


def source_of(
    body: str, *, opset: int = 13, dtype: str = "float", shape: tuple[int, ...] = (), outputs: str = ""
) -> ModelProto:
    kind = {"float": np.float32, "double": np.float64, "float16": np.float16}[dtype]
    used = {name: np.full(shape, value, kind) for name, value in CONSTANTS.items() if name in body}
    return model(f"g ({dtype}[N,4] x) => ({dtype}[A,B] y{outputs}) {{ {body} }}", opset=opset, constants=used)


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
@pytest.mark.parametrize("opset", [8, 10, 11, 12, 13, 20])
@pytest.mark.parametrize("body", ["y = Min(x, six)", "y = Min(five, x)", "y = Max(six, x)", "y = Max(x, five)"])
def test_bits_stay(body: str, opset: int, shape: tuple[int, ...]) -> None:
    source = source_of(body, opset=opset, shape=shape)
    result = fused(source)
    assert result.changes == 1
    assert [node.op_type for node in result.after.graph.node] == ["Clip"]
    # Whole vectors and the rest of one are computed by different instructions.
    for values in (SPECIALS, SPECIALS[:4], SPECIALS[4:8], SPECIALS * 3):
        feeds = {"x": np.array(values, np.float32).reshape(-1, 4)}
        assert_equal(in_onnxruntime(result.after, feeds), in_onnxruntime(source, feeds), zeros_differ=True)
    empty = {"x": np.zeros((0, 4), np.float32)}
    assert_equal(in_onnxruntime(result.after, empty), in_onnxruntime(source, empty), zeros_differ=True)


@pytest.mark.parametrize(
    ("body", "opset", "expected"),
    [
        ("y = Max(x, zero)", 13, "y = Relu(x)"),
        ("y = Max(zero, x)", 8, "y = Relu(x)"),
        ("r = Max(x, zero)\n y = Min(r, six)", 13, "y = Clip(x, six_constant_1_constant, six_constant_1_constant_1)"),
        ("r = Min(x, six)\n y = Max(zero, r)", 10, "y = Clip<max=6.0, min=0.0>(x)"),
        ("r = Relu(x)\n y = Min(r, six)", 10, "y = Clip<max=6.0, min=0.0>(x)"),
        ("r = Clip<min = -5.0, max = 6.0>(x)\n y = Relu(r)", 10, "y = Clip<max=6.0, min=0.0>(x)"),
        ("r = Relu(x)\n y = Clip<min = 1.0, max = 6.0>(r)", 10, "y = Clip<max=6.0, min=1.0>(x)"),
    ],
)
@pytest.mark.parametrize("target", ["onnxruntime", "openvino"])
def test_relaxed(body: str, opset: int, expected: str, target: str) -> None:
    result = fused(source_of(body, opset=opset), math="relaxed", target=target)
    assert nodes(result) == expected
    assert_close(result)
    feeds = {"x": np.array(SPECIALS, np.float32).reshape(-1, 4)}
    assert_equal(in_onnxruntime(result.after, feeds), in_onnxruntime(result.before, feeds), zeros_differ=False)


@pytest.mark.parametrize(
    ("body", "options", "reasons"),
    [
        ("y = Max(x, zero)", {}, ["Clip and Relu may give another zero; only with --math relaxed"]),
        ("y = Min(x, minus)", {}, ["Clip and Relu may give another zero; only with --math relaxed"]),
        ("y = Min(x, six)", {"target": "openvino"},
         ["OpenVINO may give something else where Clip reads NaN; only with --math relaxed"]),
        ("y = Min(x, six)", {"target": "any", "math": "relaxed"}, []),
        ("y = Min(x, six)", {"target": "tensorrt", "math": "relaxed"}, []),
        ("y = Min(x, nan)", {"math": "relaxed"}, []),
        ("y = Max(x, least)", {"math": "relaxed"}, []),
        ("y = Max(x, x)", {"math": "relaxed"}, []),
        ("y = Max(x, six, five)", {"math": "relaxed"}, []),
        ("y = Min(x, six)", {"keep": ["six"]}, []),
        ("y = Min(x, six)", {"keep": ["y"]}, ["it is to be kept"]),
        ("r = Relu(x)\n y = Clip<min = 0.0, max = 6.0>(r)", {"opset": 10},
         ["Clip may give another zero than Relu; only with --math relaxed"]),
        ("z = Relu(x)\n y = Clip<min = 0.0, max = 6.0>(z)", {"opset": 10, "math": "relaxed"},
         ["'z' is a graph output"]),
        ("r = Clip<min = -6.0, max = -1.0>(x)\n y = Relu(r)", {"opset": 10, "math": "relaxed"}, []),
    ],
)  # fmt: skip
def test_what_stays(body: str, options: dict[str, Any], reasons: list[str]) -> None:
    outputs = ", float[A,B] z" if "z = " in body else ""
    source = source_of(body, opset=options.pop("opset", 13), outputs=outputs)
    result = fused(source, **options)
    assert (result.changes, result.reasons) == (0, reasons)


@pytest.mark.parametrize("dtype", ["double", "float16"])
def test_other_types_stay(dtype: str) -> None:
    assert fused(source_of("y = Min(x, six)", dtype=dtype), math="relaxed").changes == 0


def test_an_operand_of_a_tree_is_left_to_the_tree() -> None:
    assert fused(source_of("r = Max(x, six)\n n = Neg(x)\n y = Max(n, r)")).changes == 0


def test_a_constant_that_raises_the_rank_stays() -> None:
    source = model(
        "g (float[N] x) => (float[A,B] y) { y = Min(x, c) }", constants={"c": np.full((1, 1), 6, np.float32)}
    )
    assert fused(source).changes == 0


FORMS = {
    "r = Max(a, zero)": ("relaxed", 7), "r = Max(a, five)": ("exact", 7), "r = Min(a, six)": ("exact", 7),
    "s = Relu(a)\n r = Min(s, six)": ("exact", 7), "s = Max(a, zero)\n r = Min(s, six)": ("relaxed", 8),
    "s = Min(a, six)\n r = Max(s, zero)": ("relaxed", 8),
}  # fmt: skip


def between_convolutions(body: str, opset: int) -> ModelProto:
    random = np.random.default_rng(0)
    constants: dict[str, Array] = {name: np.array(value, np.float32) for name, value in CONSTANTS.items()}
    constants["w"] = random.standard_normal((16, 16, 3, 3)).astype(np.float32)
    used = {name: array for name, array in constants.items() if f"{name})" in body or name == "w"}
    text = f"g (float[1,16,9,9] x) => (float[1,16,5,5] y) {{ a = Conv(x, w)\n {body}\n y = Conv(r, w) }}"
    return model(text, opset=opset, constants=used)


def aimed(source: ModelProto, target: Any, math: Any) -> ModelProto:
    proto = ModelProto.FromString(source.SerializeToString())
    optimize(proto, target=target, math=math)
    return proto


@pytest.mark.parametrize("opset", [9, 13])
@pytest.mark.parametrize("body", FORMS)
def test_what_onnxruntime_fuses(body: str, opset: int, tmp_path: Path) -> None:
    math, count = FORMS[body]
    source = between_convolutions(body, opset)
    assert after_fusions(source, tmp_path / "before.onnx").total() == count
    after = after_fusions(aimed(source, "onnxruntime", math), tmp_path / "after.onnx")
    assert after == {"ReorderInput": 1, "Conv": 2, "ReorderOutput": 1}


@pytest.mark.parametrize("body", FORMS)
def test_what_openvino_fuses(body: str) -> None:
    assert openvino_operations(aimed(between_convolutions(body, 13), "openvino", "relaxed")) == [
        "Convolution",
        "Convolution",
    ]
