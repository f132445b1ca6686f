"""remove-no-op-pad: pads that are all 0."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.cleaning import assert_same_results, nodes
from tests.passes.outcome import outcome
from tests.text import model


@pytest.mark.parametrize(
    ("opset", "body", "goes"),
    [
        (17, "<int64[4] p = {0, 0, 0, 0}> { b = Pad(a, p) y = Neg(b) }", True),
        (17, '<int64[4] p = {0, 0, 0, 0}> { b = Pad<mode = "reflect">(a, p) y = Neg(b) }', True),
        (18, "<int64[2] p = {0, 0}, int64[1] i = {1}> { b = Pad(a, p, , i) y = Neg(b) }", True),
        (18, "<int64[2] p = {0, 0}> { b = Pad(a, p, , x) y = Neg(b) }", True),
        (17, "<int64[4] p = {0, 0, 0, 0}> { b = Pad(a, p, v) y = Neg(b) }", True),
        (17, "{ s = Shape(a) d = Sub(s, s) p = Concat<axis = 0>(d, d) b = Pad(a, p) y = Neg(b) }", True),
        (10, "{ b = Pad<pads = [0, 0, 0, 0]>(a) y = Neg(b) }", True),
        (17, "<int64[4] p = {1, 0, -1, 0}> { b = Pad(a, p) y = Neg(b) }", False),
        (17, "<int64[4] p = {0, 0, 0, 1}> { b = Pad(a, p) y = Neg(b) }", False),
        (10, "{ b = Pad<pads = [0, 1, 0, -1]>(a) y = Neg(b) }", False),
        (17, "{ b = Pad(a, q) y = Neg(b) }", False),
    ],
)
def test_which_go(opset: int, body: str, goes: bool) -> None:
    source = model(f"g (float[2,N] a, int64[1] x, float v, int64[4] q) => (float[A,B] y) {body}", opset=opset)
    result = outcome("remove-no-op-pad", source)
    assert nodes(result).endswith("y = Neg(a)") is goes
    assert result.reasons == []
    feeds = {"x": np.ones(1, np.int64), "v": np.array(7, np.float32), "q": np.zeros(4, np.int64)}
    assert_same_results(result, a=np.arange(6, dtype=np.float32).reshape(2, 3), **feeds)


def test_the_first_version_has_another_name() -> None:
    source = model("g (float[2,N] a) => (float[2,N] y) { b = Pad<paddings = [0, 0, 0, 0]>(a) y = Neg(b) }", opset=1)
    assert nodes(outcome("remove-no-op-pad", source, check=False)) == "y = Neg(a)"


def test_pads_that_the_caller_may_set_stay() -> None:
    source = model(
        "g (float[2] a, int64[2] p) => (float[N] y) { b = Pad(a, p) y = Neg(b) }", constants={"p": np.array([0, 0])}
    )
    assert outcome("remove-no-op-pad", source).changes == 0


def test_between_input_and_output_it_stays() -> None:
    source = model("g (float[N] a) => (float[N] y) <int64[2] p = {0, 0}> { y = Pad(a, p) }")
    assert outcome("remove-no-op-pad", source).reasons == [
        "'y' is a graph output and 'a' is not made by a node beside it"
    ]


@pytest.mark.parametrize(
    ("kind", "target", "changes"), [(np.int8, "any", 0), (np.int8, "onnxruntime", 1), (np.uint8, "any", 1)]
)
def test_between_quantized_operators(kind: type, target: str, changes: int) -> None:
    body = "d = DequantizeLinear(x, s, z)\n p = Pad(d, none)\n y = QuantizeLinear(p, s, z)"
    name = np.dtype(kind).name
    constants = {"s": np.array(0.5, np.float32), "z": np.array(1, kind), "none": np.zeros(4, np.int64)}
    source = model(f"g ({name}[N,4] x) => ({name}[N,4] y) {{ {body} }}", constants=constants)
    assert outcome("remove-no-op-pad", source, target=target).changes == changes


CHAIN = (
    "e = QuantizeLinear(x, s, z)\n d = DequantizeLinear(e, s, z)\n p = Pad(d, none)\n q = QuantizeLinear(p, s, z)\n "
    "r = DequantizeLinear(q, s, z)\n y = Neg(r)"
)


@pytest.mark.parametrize(
    ("more", "goes"),
    [("", True), ("o = Neg(d)", False), ("o = Neg(p)", False), ("o = Neg(r)", False),
     ("o = DequantizeLinear(e, s, z)", False), ("o = DequantizeLinear(q, s, z)", False)],
)  # fmt: skip
def test_signed_tensors_of_one_reader_each(more: str, goes: bool) -> None:
    """ONNX Runtime fuses the operators around signed tensors where each is dequantized for one of them."""
    constants = {"s": np.array(0.5, np.float32), "z": np.array(1, np.int8), "none": np.zeros(4, np.int64)}
    outputs = ", float[A,B] o" if more else ""
    source = model(f"g (float[N,4] x) => (float[N,4] y{outputs}) {{ {CHAIN}\n {more} }}", constants=constants)
    for target in ("any", "openvino", "tensorrt"):
        result = outcome("remove-no-op-pad", source, target=target)
        assert result.changes == goes
        assert bool(result.reasons) != goes
    assert outcome("remove-no-op-pad", source, target="onnxruntime").changes == 1
