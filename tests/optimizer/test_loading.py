"""A file that loads and runs goes on loading, whatever the optimizer finds out about nodes that never run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto

from maxfold.model import ModelError, read_onnx
from maxfold.model.view import View
from maxfold.optimizer import Report
from tests.optimizer.optimized import optimized
from tests.random_models import NoModelError
from tests.random_models.loading import assert_loads, check_loading, refusals
from tests.random_models.untaken import untaken_model
from tests.run import assert_equal, in_onnxruntime
from tests.text import model

X = np.arange(6, dtype=np.float32).reshape(2, 3)
FEEDS: dict[str, Any] = {"X": X, "C": np.array(False), "n": np.array(0)}
# Beside the first ones, those that were wrong once.
SEEDS = (*range(40), 50, 185, 248, 424, 443, 1053, 1109, 1195)

# Bodies of branches that cannot succeed for X[2,3], and the operator that a static check would refuse.
FAILING = {
    "Expand": "s = Shape(X)\n t = Add(s, one)\n a = Expand(X, t)",
    "Expand to constants": "t = Add(two_three, one)\n a = Expand(X, t)",
    "MatMul": "t = Concat <axis = 0> (one, three)\n u = Abs(t)\n r = Expand(one_float, u)\n a = MatMul(r, W)",
    "Squeeze": "s = Shape(X)\n t = Abs(s)\n i = Gather <axis = 0> (t, zero)\n k = Sub(i, one)\n a = Squeeze(X, k)",
    "Concat": "s = Shape(X)\n t = Abs(s)\n r = Tile(X, t)\n a = Concat <axis = 0> (X, r)",
    "Div": "s = Shape(X)\n z = Sub(s, s)\n d = Div(s, z)\n a = Expand(X, d)",
    "FusedMatMul": """
        t = Concat <axis = 0> (one, three)
        u = Abs(t)
        r = Expand(one_float, u)
        a = com.microsoft.FusedMatMul(r, W)""",
    "Split": "s = Shape(X)\n t = Abs(s)\n a, b = Split <axis = 0> (X, t)",
    "inner If": """
        s = Shape(X)
        t = Add(s, one)
        a = If (C) <
            then_branch = t2 () => (float p) { p = Expand(X, t) }, else_branch = e2 () => (float q) { q = Neg(X) }
        >""",
}


def in_branch(body: str) -> ModelProto:
    """A model with a branch that is taken only where C holds."""
    return model(
        f"""
        g (bool C, float[2,3] X) => (float[N,M] Y) {{
            Y = If (C) <then_branch = t () => (float a) {{ {body} }}, else_branch = e () => (float b) {{ b = Neg(X) }}>
        }}""",
        constants={
            "zero": np.array([0]), "one": np.array([1]), "three": np.array([3]), "two_three": np.array([2, 3]),
            "W": np.ones((7, 3), np.float32), "one_float": np.ones(1, np.float32),
        },
        domains='"com.microsoft" : 1',
    )  # fmt: skip


def undeclared(source: ModelProto) -> ModelProto:
    """The model without shapes of what its branches return."""
    for attribute in (item for node in source.graph.node for item in node.attribute):
        for info in attribute.g.output:
            info.type.tensor_type.ClearField("shape")
    return source


def assert_still_loads(source: ModelProto, feeds: Mapping[str, Any] = FEEDS, **settings: Any) -> Report:
    after, report = optimized(source, check=False, **settings)
    assert_loads(source, after)
    fed = {item.name: feeds[item.name] for item in source.graph.input}
    assert_equal(in_onnxruntime(after, fed), in_onnxruntime(source, fed), zeros_differ=True)
    return report


def reasons(report: Report) -> set[str]:
    return {decline.reason for decline in report.declines if "when the file is loaded" in decline.reason}


@pytest.mark.parametrize("body", FAILING.values(), ids=FAILING.keys())
@pytest.mark.parametrize("math", ["exact", "relaxed"])
def test_a_branch_that_cannot_succeed_stays_unknown(body: str, math: str) -> None:
    source = undeclared(in_branch(body))
    assert "as it stands" not in refusals(source)
    assert_still_loads(source, math=math)


def test_the_reason_names_the_node() -> None:
    report = assert_still_loads(undeclared(in_branch(FAILING["Expand"])))
    assert report.nodes_after == report.nodes_before
    assert reasons(report) == {
        "Expand 'a', which depends on it, would be refused when the file is loaded: Incompatible dimensions"
    }


def test_a_branch_that_can_succeed_is_rewritten() -> None:
    source = undeclared(in_branch("s = Shape(X)\n t = Concat <axis = 0> (one, s)\n r = Expand(X, t)\n a = Squeeze(r)"))
    report = assert_still_loads(source)
    assert report.nodes_after < report.nodes_before
    assert not reasons(report)


def test_what_is_behind_a_loop_that_runs_once_counts() -> None:
    source = undeclared(
        model(
            """
            g (bool C, float[2,3] X) => (float[N,M] Y, float[K,L] Z) {
                Z = Loop (once, , X) <body = b (int64 i, bool c, float v) => (bool d, float w) {
                    d = Identity(c)
                    w = Neg(v)
                }>
                Y = If (C) <
                    then_branch = t () => (float a) { a = MatMul(Z, W) }, else_branch = e () => (float b) { b = Neg(X) }
                >
            }""",
            constants={"once": np.array(1), "W": np.ones((7, 3), np.float32)},
        )
    )
    del source.graph.node[0].attribute[0].g.input[2].type.tensor_type.shape.dim[:]
    source.graph.node[0].attribute[0].g.input[2].type.tensor_type.ClearField("shape")
    report = assert_still_loads(source)
    assert any("MatMul 'a'" in reason for reason in reasons(report))


def test_a_function_that_is_called_there() -> None:
    source = undeclared(
        model(
            """
            g (bool C, float[2,3] X) => (float[N,M] Y) {
                Y = If (C) <
                    then_branch = t () => (float a) { a = f.grow(X) }, else_branch = e () => (float b) { b = Neg(X) }
                >
            }""",
            domains='"f" : 1',
            functions="""
            <domain: "f", opset_import: ["" : 17]>
            grow (x) => (y) {
                s = Shape(x)
                one = Constant <value_ints = [1]> ()
                t = Add(s, one)
                y = Expand(x, t)
            }""",
        )
    )
    for settings in ({}, {"inline_functions": True}):
        assert_still_loads(source, **settings)


# Nodes that ONNX Runtime runs, with operands that hide what they are.
LENIENT = {
    "Range": "t = Abs(one)\n n = Reshape(size, t)\n r = Range(first, n, step)\n Y = Cast <to = 1> (r)",
    "Reshape": "t = Mul(rest_none, one)\n e = ConstantOfShape(none)\n Y = Reshape <allowzero = 1> (e, t)",
    "Concat": "k = Mul(none_five, one)\n e = ConstantOfShape(k)\n Y = Concat <axis = 0> (e, X)",
    "ConstantOfShape": "e = Abs(two)\n t = Slice(ones, none, e)\n u = Reshape(one, t)\n Y = ConstantOfShape(u)",
    "ArgMax": """
        e = Abs(none)
        t = Slice(ones, none, e)
        r = Reshape(size, t)
        i = ArgMax <keepdims = 0> (r)
        Y = Cast <to = 1> (i)""",
}  # fmt: skip


@pytest.mark.parametrize("body", LENIENT.values(), ids=LENIENT.keys())
def test_kernels_that_take_more_than_static_checks(body: str) -> None:
    source = model(
        f"""
        g (float[2,3] X) => (float Y) {{
            s = Shape(X)
            size = Gather <axis = 0> (s, first)
            {body}
        }}""",
        constants={
            "first": np.array(0), "step": np.array(1), "none": np.array([0]), "one": np.array([1]),
            "rest_none": np.array([-1, 0]), "none_five": np.array([0, 5]), "two": np.array([2]),
            "ones": np.array([1, 1, 1]),
        },
    )  # fmt: skip
    source.graph.output[0].type.tensor_type.ClearField("shape")
    assert "as it stands" not in refusals(source)
    assert_still_loads(source)


def test_a_declared_output_tells_more_than_is_derived() -> None:
    """Z takes the place of r, and is declared with a shape that a branch cannot work with."""
    source = undeclared(
        model(
            """
            g (bool C, float[2,3] X, int64[K] S) => (float[2,3] Z, float[N,M] Y) {
                r = Reshape(X, S)
                Z = Identity(r)
                Y = If (C) <
                    then_branch = t () => (float a) { a = MatMul(r, W) }, else_branch = e () => (float b) { b = Neg(X) }
                >
            }""",
            constants={"W": np.ones((7, 3), np.float32)},
        )
    )
    assert "as it stands" not in refusals(source)
    assert_still_loads(source, {**FEEDS, "S": np.array([2, 3])})


def test_a_target_that_is_settled_has_to_fit() -> None:
    body = """
        s = Shape(Z)
        n = Gather <axis = 0> (s, zero)
        f = Add(three, one)
        t = Concat <axis = 0> (n, f)
        a = Reshape(X, t)"""
    source = undeclared(in_branch(body))
    source.graph.input.append(onnx.helper.make_tensor_value_info("Z", onnx.TensorProto.FLOAT, ["K"]))
    assert_still_loads(source, {**FEEDS, "Z": np.zeros(5, np.float32)})


def test_an_upgrade_would_make_more_known() -> None:
    """onnx's inference of Reshape-14 and others follows values that older versions do not."""
    source = undeclared(in_branch(FAILING["Expand"]))
    with pytest.raises(ModelError, match=r"opset 18 is out of reach: .*Expand 'a'.*Incompatible dimensions"):
        optimized(source, opset=18)


def test_frozen_nodes_are_those_in_front() -> None:
    source = undeclared(in_branch(FAILING["Expand"] + "\n u = Neg(X)"))
    view = View(read_onnx(source))
    frozen = {node.outputs[0].name for node in view.nodes() if view.why_frozen(node) is not None}
    assert frozen == {"s", "t", "a"}


@pytest.mark.parametrize("seed", SEEDS)
def test_random_models_go_on_loading(seed: int) -> None:
    try:
        case = untaken_model(seed)
    except NoModelError as error:
        pytest.skip(str(error))
    check_loading(case)


def test_a_slice_backwards_to_the_largest_end() -> None:
    """For kernels it gives all in reverse order, for onnx nothing, which the declared output contradicts."""
    source = model(
        """
        g (float[2,3] X) => (float[2,3] Y) {
            s = Shape(X)
            t = Mul(s, one)
            u = Reshape(X, t)
            Y = Slice(u, last, far, last, last)
        }""",
        constants={"one": np.array([1]), "last": np.array([-1]), "far": np.array([(1 << 63) - 1])},
    )
    assert "as it stands" not in refusals(source)
    assert_still_loads(source, {"X": np.arange(6, dtype=np.float32).reshape(2, 3)})
