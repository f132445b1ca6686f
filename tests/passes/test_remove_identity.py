"""remove-identity: which Identity and Dropout nodes go, and each reason for leaving one."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.cleaning import assert_same_results, nodes
from tests.passes.outcome import BOUND, outcome
from tests.text import golden, model


def test_chains_go_and_outputs_keep_their_names() -> None:
    source = model("""
        g (float[N] a) => (float[N] y, float[N] z) {
            b = Identity(a)
            c = Identity(b)
            d = Neg(c)
            y = Identity(d)
            e = Identity(y)
            z = Abs(e)
        }""")
    result = outcome("remove-identity", source)
    assert nodes(result) == "y = Neg(a)\nz = Abs(y)"
    assert_same_results(result, a=np.array([1.0, -0.0, np.nan], np.float32))


def test_a_weight_behind_an_identity_is_read_directly() -> None:
    source = model(
        "g (float[2] a) => (float[2] y) <float[2] w = {1, 2}> { v = Identity(w) b = Mul(a, v) y = Add(b, w) }"
    )
    assert nodes(outcome("remove-identity", source)) == "b = Mul(a, w)\ny = Add(b, w)"


def test_sequences_go_too() -> None:
    source = model(
        "g (float[N] a) => (float[M] y) "
        "{ s = SequenceConstruct(a, a) t = Identity(s) y = ConcatFromSequence<axis = 0>(t) }"
    )
    assert nodes(outcome("remove-identity", source)) == "s = SequenceConstruct(a, a)\ny = ConcatFromSequence<axis=0>(s)"


@pytest.mark.parametrize(
    ("opset", "dropout"),
    [
        (6, "d = Dropout<is_test = 1, ratio = 0.3>(b)"),
        (7, "d = Dropout(b)"),
        (10, "d, mask = Dropout<ratio = 0.9>(b)"),
        (12, "d = Dropout(b)"),
        (12, "d = Dropout(b, half)"),
        (13, "d, mask = Dropout(b, half, no)"),
        (13, "d = Dropout(b, zero, yes)"),
        (13, "d = Dropout(b, zero, mode)"),
        (22, "d = Dropout(b, , no)"),
    ],
)
def test_dropout_in_inference_goes(opset: int, dropout: str) -> None:
    constants = {"half": np.float32(0.5), "zero": np.float32(0), "no": np.array(False), "yes": np.array(True)}
    source = model(
        f"g (float[3] a, bool mode) => (float[3] y) {{ b = Neg(a) {dropout} y = Neg(d) }}",
        opset=opset,
        constants={name: np.asarray(value) for name, value in constants.items() if name in dropout},
    )
    assert nodes(outcome("remove-identity", source)) == "b = Neg(a)\ny = Neg(b)"


@pytest.mark.parametrize(
    ("opset", "dropout", "reason"),
    [
        (6, "d = Dropout(b)", "it is in training mode"),
        (1, "d = Dropout<is_test = 0>(b)", "it is in training mode"),
        (12, "d = Dropout(b, half, yes)", "it is in training mode"),
        (13, "d = Dropout(b, , yes)", "it is in training mode"),
        (13, "d = Dropout(b, ratio, yes)", "it is in training mode"),
        (13, "d = Dropout(b, half, mode)", "it may be in training mode"),
    ],
)
def test_dropout_that_may_drop_stays(opset: int, dropout: str, reason: str) -> None:
    constants = {"half": np.float32(0.5), "yes": np.array(True)}
    source = model(
        f"g (float[3] a, bool mode, float ratio) => (float[3] y) {{ b = Neg(a) {dropout} y = Neg(d) }}",
        opset=opset,
        constants={name: np.asarray(value) for name, value in constants.items() if name in dropout},
    )
    result = outcome("remove-identity", source)
    assert result.changes == 0
    assert result.reasons == [reason]


@pytest.mark.parametrize(
    "graph",
    [
        "g (float[3] a) => (float[3] y, bool[3] m) { d, m = Dropout(a) y = Neg(d) }",
        "g (float[3] a) => (float[3] y, bool[3] n) { d, m = Dropout(a) y = Neg(d) n = Not(m) }",
    ],
)
def test_dropout_whose_mask_is_needed_stays(graph: str) -> None:
    result = outcome("remove-identity", model(graph))
    assert result.changes == 0
    assert result.reasons == ["'m' is needed too"]


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        (
            "g (float[N] a) => (float[N] y) { y = Identity(a) }",
            "'y' is a graph output and 'a' is not made by a node beside it",
        ),
        ("g () => (float[2] y) <float[2] w = {1, 2}> { y = Identity(w) }", "'y' is a graph output and 'w' a constant"),
        (
            "g (float[N] a) => (float[N] b, float[N] y) { b = Neg(a) y = Identity(b) }",
            "'y' and 'b' are both graph outputs",
        ),
    ],
)
def test_the_interface_stays(graph: str, reason: str) -> None:
    result = outcome("remove-identity", model(graph))
    assert result.changes == 0
    assert result.reasons == [reason]


def test_what_is_to_be_kept_stays() -> None:
    source = model("g (float[N] a) => (float[N] y) { b = Identity(a) y = Neg(b) }")
    result = outcome("remove-identity", source, keep=["b"])
    assert result.reasons == ["it is to be kept"]


def test_what_training_names_stays() -> None:
    source = model("g (float[N] a) => (float[N] y) { b = Identity(a) y = Neg(b) }")
    source.training_info.add().update_binding.add(key="b", value="b")
    assert outcome("remove-identity", source).reasons == [f"'b' {BOUND}"]


def test_inner_graphs_read_what_the_outer_identity_reads() -> None:
    source = model("""
        g (bool c, float[N] a) => (float[N] y) {
            b = Identity(a)
            y = If (c) <
                then_branch = t () => (float[N] u) { v = Identity(b) u = Neg(v) },
                else_branch = e () => (float[N] w) { w = Identity(b) }
            >
        }""")
    result = outcome("remove-identity", source)
    assert result.text == golden("""
        y = If(c)
          then_branch() => u
            u = Neg(a)
          else_branch() => w
            w = Identity(a)
        """)
    assert_same_results(result, c=np.array(False), a=np.ones(2, np.float32))


def test_a_hidden_name_keeps_the_identity() -> None:
    source = model("""
        g (bool c, float[N] a) => (float[N] y) {
            b = Identity(a)
            y = If (c) <
                then_branch = t () => (float[N] u) { a = Neg(b) u = Add(a, b) },
                else_branch = e () => (float[N] w) { w = Abs(b) }
            >
        }""")
    result = outcome("remove-identity", source, check=False)
    assert result.reasons == ["'a' is hidden by another tensor of that name in an inner graph"]


def test_a_function_of_that_name_stays() -> None:
    source = model(
        "g (float[N] a) => (float[N] y) { b = f.Identity(a) y = Neg(b) }",
        domains='"f" : 1',
        functions='<domain: "f", opset_import: ["" : 17]> Identity (x) => (r) { r = Abs(x) }',
    )
    assert outcome("remove-identity", source).changes == 0
