"""What ONNX Runtime makes of our results with all its optimizations: what it fuses itself, it still can fuse."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from maxfold.optimizer import optimize
from tests.optimizer.fusing import FUSED, after_fusions, assert_no_worse
from tests.optimizer.patterns import AROUND, GATES, NORMALIZATIONS, build, with_constants

OPSETS = (11, 14, 17, 20)


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("neutral", [False, True])
@pytest.mark.parametrize("form", NORMALIZATIONS)
def test_normalizations(form: str, opset: int, neutral: bool, tmp_path: Path) -> None:
    for around in AROUND:
        assert_no_worse(build(NORMALIZATIONS[form], opset, neutral=neutral, around=around), tmp_path)


@pytest.mark.parametrize("opset", OPSETS)
def test_scales_with_leading_axes(opset: int, tmp_path: Path) -> None:
    source = build(NORMALIZATIONS["layer"], opset, neutral=False, around="nothing")
    for tensor in source.graph.initializer:
        if tensor.name in ("gamma", "beta"):
            tensor.dims[:] = [1, 1, 8]
    assert not after_fusions(source, tmp_path / "before.onnx")["LayerNormalization"]
    optimize(source)
    assert after_fusions(source, tmp_path / "after.onnx") == {"LayerNormalization": 1}


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("neutral", [False, True])
@pytest.mark.parametrize("form", GATES)
def test_gates(form: str, opset: int, neutral: bool, tmp_path: Path) -> None:
    for around in AROUND:
        assert_no_worse(build(GATES[form], opset, neutral=neutral, around=around), tmp_path)


@pytest.mark.parametrize("opset", [13, 20])
@pytest.mark.parametrize("form", [*NORMALIZATIONS, *GATES])
def test_half_precision(form: str, opset: int, tmp_path: Path) -> None:
    body = {**NORMALIZATIONS, **GATES}[form]
    for around in ("products", "reshapes that do nothing"):
        assert_no_worse(build(body, opset, neutral=False, around=around, is_half=True), tmp_path)


_ROOTS = ("SimplifiedLayerNormalization", "RMSNormalization")
TAILS = {
    "scale and shift": "g = Mul(h, gamma16)\n out = Add(g, beta16)",
    "scale": "out = Mul(h, gamma16)",
    "nothing": "out = Identity(h)",
}


@pytest.mark.parametrize("opset", [13, 17, 18, 23])
@pytest.mark.parametrize("neutral", [False, True])
@pytest.mark.parametrize("form", ["layer without constants", "layer of the square", "root mean square"])
def test_half_precision_with_casts(form: str, opset: int, neutral: bool, tmp_path: Path) -> None:
    """The statistics in float32, as exporters write it, scale and shift behind it in half precision."""
    inner = re.sub(r"\bx\b", "xc", NORMALIZATIONS[form].split("g =")[0].split("y =")[0])
    for name, tail in TAILS.items():
        text = f"xc = Cast<to = 1>(x)\n {inner}\n h = Cast<to = 10>(n)\n {tail}"
        source = with_constants(text, "(float16[2,5,8] x) => (float16[2,5,8] out)", opset, neutral=neutral)
        assert_no_worse(source, tmp_path)
        operator = "RMSNormalization" if form.startswith("root") else "LayerNormalization"
        if opset >= (23 if form.startswith("root") else 17):
            optimize(source, math="relaxed")
            kinds = [node.op_type for node in source.graph.node]
            is_shifted = operator == "RMSNormalization" and name == "scale and shift" and not neutral
            assert kinds == [operator, *["Add"] * is_shifted]


@pytest.mark.parametrize("opset", [11, 17, 23])
@pytest.mark.parametrize("neutral", [False, True])
@pytest.mark.parametrize(("form", "kinds"), [("layer", ("LayerNormalization",)), ("root mean square", _ROOTS)])
def test_factors_behind_normalizations(
    form: str, kinds: tuple[str, ...], opset: int, neutral: bool, tmp_path: Path
) -> None:
    """What comes behind scale and shift is taken into them, so that the normalization alone is left."""
    for behind in ("Mul(y, half)", "Mul(b, y)", "Div(y, root)"):
        text = f"{NORMALIZATIONS[form]}\n out = {behind}"
        source = with_constants(text, "(float[2,5,8] x) => (float[2,5,8] out)", opset, neutral=neutral)
        assert_no_worse(source, tmp_path)
        optimize(source, math="relaxed")
        after = after_fusions(source, tmp_path / "after.onnx")
        assert after.total() == 1
        assert after.keys() <= set(kinds)


# Those that have a vector for a scale, and all of Gelu.
_FUSED_ALONE = [form for form in NORMALIZATIONS if not form.endswith(("scalar constants", "without constants"))]
_FUSED_ALONE += [form for form in GATES if form.startswith(("gelu", "tanh"))]


@pytest.mark.parametrize("opset", [11, 14, 18, 20])
@pytest.mark.parametrize("neutral", [False, True])
@pytest.mark.parametrize("form", _FUSED_ALONE)
def test_every_form_is_fused(form: str, opset: int, neutral: bool, tmp_path: Path) -> None:
    """In relaxed mode the pattern is fused, whatever the exporter wrote."""
    body = {**NORMALIZATIONS, **GATES}[form]
    text = f"{body}\n out = MatMul(y, w)"
    source = with_constants(text, "(float[2,5,8] x) => (float[2,5,8] out)", opset, neutral=neutral)
    assert_no_worse(source, tmp_path)
    optimize(source, math="relaxed")
    after = after_fusions(source, tmp_path / "after.onnx")
    assert sum(after[name] for name in FUSED) == 1, dict(after)


def test_two_normalizations_of_one_tensor(tmp_path: Path) -> None:
    """Their equal parts are merged, and both scales stay."""
    first = NORMALIZATIONS["layer"]
    second = re.sub(r"\b([mdsvernyg])\b", r"\1_2", first)
    source = build(
        f"{first.replace('y =', 'y_1 =')}\n {second}\n y = Mul(y_1, y_2)", 13, neutral=True, around="nothing"
    )
    assert_no_worse(source, tmp_path)


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("neutral", [False, True])
@pytest.mark.parametrize("form", ["layer", "root mean square"])
@pytest.mark.parametrize("around", ["0, 2, 1", "0, 1, 2", "2, 0, 1"])
def test_behind_images(around: str, form: str, opset: int, neutral: bool, tmp_path: Path) -> None:
    """A computed target joins the axes of an image, and the channels come last for the normalization.

    Once the rank is known, ONNX Runtime moves the Transpose into the parts.
    """
    target = "batch, rest, eight1" if around == "0, 1, 2" else "batch, eight1, rest"
    body = f"""
        s0 = Shape(i)
        batch = Slice(s0, zero1, one1)
        t = Concat<axis = 0>({target})
        r0 = Reshape(i, t)
        x = Transpose<perm = [{around}]>(r0)
        {NORMALIZATIONS[form]}
        out = Transpose<perm = [0, 2, 1]>(y)
    """
    head = "(float[N,8,H,W] i) => (float[A,B,C] out)"
    assert_no_worse(with_constants(body, head, opset, neutral=neutral), tmp_path)
