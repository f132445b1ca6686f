"""What rewrites make known: what follows is found, what is refused is forgotten, and each thing is derived once."""

from __future__ import annotations

import onnx
import pytest

from maxfold.model import dtypes, read_onnx
from maxfold.model.graph import Tensor
from maxfold.model.inference import Fact
from maxfold.model.inference.upper_bound import UpperBound
from maxfold.model.view import View
from maxfold.optimizer import optimize
from tests.text import model

FLOAT = dtypes.from_onnx(1)


def viewed(body: str, *, functions: str = "", domains: str = "") -> tuple[View, dict[str, Tensor]]:
    """The view of a model of which the ranks of `a` and `b` are not known, and its tensors by name."""
    text = f"g (float a, float b, bool c) => (float y) {{ {body} }}"
    proto = model(text, functions=functions, domains=domains)
    for graph in (proto.graph, *(item.g for node in proto.graph.node for item in node.attribute if item.HasField("g"))):
        for info in (*graph.input[:2], *graph.output):
            info.type.tensor_type.ClearField("shape")
    view = View(read_onnx(proto))
    found = {tensor.name: tensor for scope in view.model.scopes() for tensor in scope.inputs}
    found |= {tensor.name: tensor for node in view.nodes() for tensor in node.outputs}
    return view, found


def known(*dims: int) -> Fact:
    return Fact(FLOAT, dims, is_named=True)


IN_BRANCH = """x = Neg(a) z = Neg(b)
    y = If (c) <then_branch = t () => (float u) { u = MatMul(x, z) }, else_branch = e () => (float v) { v = Abs(x) }>"""


def test_what_follows_is_found_in_branches() -> None:
    view, tensors = viewed(IN_BRANCH)
    assert view.why_not_known({tensors["a"]: known(2, 3)}) is None
    reason = view.why_not_known({tensors["b"]: known(4, 5)})
    assert reason is not None
    assert reason.startswith("MatMul 'u' would be refused when the file is loaded: ")


def test_what_is_refused_is_forgotten() -> None:
    view, tensors = viewed(IN_BRANCH)
    assert view.why_not_known({tensors["a"]: known(2, 3)}) is None
    assert view.why_not_known({tensors["b"]: known(4, 5)}) is not None
    assert view.why_not_known({tensors["b"]: known(3, 5)}) is None


def test_what_a_body_returns_is_followed_outside() -> None:
    view, tensors = viewed(
        """r = If (c) <then_branch = t () => (float u) { u = Neg(a) }, else_branch = e () => (float v) { v = Abs(a) }>
        y = Gemm(r, b)"""
    )
    assert view.why_not_known({tensors["a"]: known(2, 3)}) is None
    reason = view.why_not_known({tensors["a"]: known(2, 3), tensors["b"]: known(1, 3, 4)})
    assert reason is not None
    assert reason.startswith("Gemm 'y'")


def test_calls_are_looked_into() -> None:
    view, tensors = viewed(
        "y = local.F(a, b)",
        functions='<domain: "local", opset_import: ["" : 17]> F (p, q) => (r) { r = Gemm(p, q) }',
        domains='"local" : 1',
    )
    assert view.why_not_known({tensors["a"]: known(2, 3)}) is None
    assert view.why_not_known({tensors["b"]: known(1, 3, 4)}) is not None


def test_nothing_becomes_known_in_a_function_that_may_be_refused() -> None:
    view, tensors = viewed(
        "y = local.F(a, b)",
        functions='<domain: "local", opset_import: ["" : 17]> F (p, q) => (r) { s = Neg(p) r = Gemm(s, q) }',
        domains='"local" : 1',
    )
    reason = view.why_not_known({tensors["s"]: known(2, 3)})
    assert reason == "Gemm 'r', in a function, might be refused when the file is loaded"


def members(count: int) -> onnx.ModelProto:
    """Members of sequences, one after the other, with an operator behind each that static checks are strict about."""
    body, x = "", "a"
    for index in range(count):
        body += f"s{index} = SequenceConstruct({x}, a) m{index} = SequenceAt(s{index}, zero) "
        x = f"x{index}"
        body += f"{x} = Softmax(m{index}) "
    return model(f"g (float[N,4] a) => (float[N,4] y) <int64 zero = {{0}}> {{ {body} y = Neg({x}) }}")


def outputs(count: int) -> onnx.ModelProto:
    """Results under a second name, which alone are declared."""
    names = ", ".join(f"float[N,4] y{index}" for index in range(count))
    body, x = "", "a"
    for index in range(count):
        body += f"x{index} = Softmax({x}) y{index} = Identity(x{index}) "
        x = f"x{index}"
    proto = model(f"g (float a) => ({names}) {{ {body} }}")
    proto.graph.input[0].type.tensor_type.ClearField("shape")
    return proto


@pytest.mark.parametrize("made", [members, outputs])
def test_work_grows_with_the_model(made: object, monkeypatch: pytest.MonkeyPatch) -> None:
    assert callable(made)
    calls = 0
    infer = UpperBound._infer

    def counted(self: UpperBound, node: object) -> object:
        nonlocal calls
        calls += 1
        return infer(self, node)  # type: ignore[arg-type]

    monkeypatch.setattr(UpperBound, "_infer", counted)
    found = []
    for count in (20, 40):
        calls = 0
        optimize(made(count))
        found.append(calls)
    assert 0 < found[1] < 2.5 * found[0]
