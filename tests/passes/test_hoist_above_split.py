"""hoist-above-split: what moves before a Split, and each reason why not."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, numpy_helper

from tests.passes.closeness import nodes, random_feeds
from tests.passes.outcome import Outcome, outcome
from tests.run import assert_equal, in_onnxruntime
from tests.text import Array, model


def hoisted(source: ModelProto, **options: Any) -> Outcome:
    return outcome("hoist-above-split", source, **options)


def source_of(body: str, head: str = "(float[4,5] x) => (float[A,B] y)", opset: int = 13) -> ModelProto:
    constants: dict[str, Array] = {"sizes": np.array([2, 3]), "halves": np.array([2, 2])}
    constants |= {"two": np.array(2, np.float32), "six": np.array(6, np.float32), "row": np.ones((1, 1), np.float32)}
    constants |= {"one": np.array([1]), "zero": np.array([0]), "three": np.array([3]), "until": np.array([2])}
    used = {name: array for name, array in constants.items() if re.search(rf"[( ]{name}[,)]", body)}
    return model(f"g {head} {{ {body} }}", opset=opset, constants=used)


SPLIT = "p, q = Split<axis = 1>(x, sizes)\n "
END = "\n y = Concat<axis = 1>(s, r)"
NEW = "r_split, r_split_1 = Split<axis=1>({}, sizes)\ny = Concat<axis=1>(r_split_1, r_split)"


@pytest.mark.parametrize(
    ("middle", "expected"),
    [
        ("r = Sub(p, two)\n s = Sub(q, two)", "r_sub = Sub(x, two)\n" + NEW.format("r_sub")),
        ("r = Div(two, p)\n s = Div(two, q)", "r_div = Div(two, x)\n" + NEW.format("r_div")),
        ("r = Mul(p, p)\n s = Mul(q, q)", "r_mul = Mul(x, x)\n" + NEW.format("r_mul")),
        ("r = Slice(p, one, three, zero)\n s = Slice(q, one, three, zero, one)",
         "r_slice = Slice(x, one, three, zero)\n" + NEW.format("r_slice")),
    ],
)  # fmt: skip
def test_what_moves(middle: str, expected: str) -> None:
    result = hoisted(source_of(SPLIT + middle + END))
    assert nodes(result) == expected
    feeds = random_feeds(result.before)
    assert_equal(in_onnxruntime(result.after, feeds), in_onnxruntime(result.before, feeds), zeros_differ=True)


@pytest.mark.parametrize(
    "middle",
    [
        "r = Pow(p, two)\n s = Pow(q, six)",
        "r = Pow(p, two)\n s = Pow(two, q)",
        "r = Pow(p, two)\n s = Mul(q, two)",
        "r = Mul(p, row)\n s = Mul(q, row)",
        "r = Relu(p)\n s = Relu(q)",
        "r = Slice(p, zero, one, one)\n s = Slice(q, zero, one, one)",
        "r = Slice(p, one, three, zero)\n s = Slice(q, zero, until, zero)",
        "r = Mul(p, p)\n s = Mul(q, two)",
        "t = Mul(p, two)\n s = Mul(q, two)\n r = Add(t, p)",
    ],
)
def test_what_stays(middle: str) -> None:
    result = hoisted(source_of(SPLIT + middle + END))
    assert (result.changes, result.reasons) == (0, [])


def test_powers_depend_on_the_number_of_elements() -> None:
    """ONNX Runtime multiplies where the last axis has several elements for one exponent, elsewhere it calls pow()."""
    source = source_of(SPLIT + "r = Pow(p, two)\n s = Pow(q, two)" + END)
    exact = hoisted(source)
    assert exact.reasons == ["Pow may round differently in other shapes; only with --math relaxed"]
    assert exact.declines[0].relaxed_gain == 1
    relaxed = hoisted(source, math="relaxed")
    assert nodes(relaxed) == "r_pow = Pow(x, two)\n" + NEW.format("r_pow")
    integers = source_of(SPLIT + "r = Pow(p, two)\n s = Pow(q, two)" + END, "(int32[4,5] x) => (int32[A,B] y)")
    reason = "powers of integers may be computed in another way in other shapes"
    assert hoisted(integers, math="relaxed").reasons == [reason]


@pytest.mark.parametrize("exponent", [2.0, 3.0, 0.5])
@pytest.mark.parametrize(("shape", "axis", "goes"), [([3], 0, False), ([3, 1], 0, True), ([3, 5], -2, True)])
def test_parts_of_one_element(shape: list[int], axis: int, goes: bool, exponent: float) -> None:
    body = f"""
        p, q = Split<axis = {axis}>(x, sizes) r = Pow(p, e) s = Pow(q, e) y = Concat<axis = {axis}>(r, s)
        """
    constants = {"sizes": np.array([1, 2]), "e": np.array(exponent, np.float32)}
    source = model(f"g (float{shape} x) => (float{shape} y) {{ {body} }}", constants=constants)
    result = hoisted(source)
    assert bool(result.changes) is goes
    for seed in range(100):
        feeds = {"x": np.random.default_rng(seed).standard_normal(shape).astype(np.float32)}
        assert_equal(in_onnxruntime(result.after, feeds), in_onnxruntime(source, feeds), zeros_differ=True)


def test_graph_outputs_and_kept_names() -> None:
    body = SPLIT + "r = Mul(p, two)\n z = Mul(q, two)\n y = Neg(r)"
    source = source_of(body, "(float[4,5] x) => (float[A,B] y, float[C,D] z)")
    assert hoisted(source).reasons == ["'z' is a graph output"]
    plain = source_of(SPLIT + "r = Mul(p, two)\n s = Mul(q, two)" + END)
    assert hoisted(plain, keep=["s"]).reasons == ["'s' is to be kept"]
    assert hoisted(plain, keep=["p"]).changes == 0


def test_a_branch_that_reads_a_part_stops_it() -> None:
    source = source_of(
        """
        p, q = Split<axis = 0>(x, halves)
        r = Mul(p, two)
        y = If (c) <
            then_branch = t () => (float[A,B] s) { s = Mul(q, two) },
            else_branch = e () => (float[A,B] u) { u = Neg(r) }
        >""",
        "(bool c, float[4,5] x) => (float[A,B] y)",
    )
    assert hoisted(source).changes == 0


def test_a_default_value_may_be_overridden_by_another_shape() -> None:
    body = SPLIT.replace("sizes", "halves") + "r = Mul(p, k)\n s = Mul(q, k)" + END
    source = source_of(body, "(float[4,4] x, float[] k) => (float[A,B] y)")
    source.graph.initializer.append(numpy_helper.from_array(np.array(2, np.float32), "k"))
    assert hoisted(source, check=False).changes == 0
