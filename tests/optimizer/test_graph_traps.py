"""Graph traps that tools of this kind fall into, each as a test of the whole pipeline."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper

from tests.optimizer.optimized import assert_same_in_onnxruntime, optimized, text
from tests.passes.outcome import outcome
from tests.text import golden, model

F32 = np.float32
X = np.array([-1, 0.5, 3], F32)


def test_an_output_that_is_an_input() -> None:
    source = model("g (float[3] x, float[3] w) => (float[3] x, float[3] y) { y = Max(x, w, x) }")
    assert text(source) == "y = Max(x, w)"


def test_an_output_that_is_an_initializer() -> None:
    source = model(
        "g (float[3] x) => (float[3] y, float k) <float k = {1}, float l = {1}> { y = Add(x, k)\n z = Add(x, l) }"
    )
    assert text(source) == "k = float {1.0}\ny = Add(x, k)"
    twin = model("g (float[3] x) => (float[3] y, float l) <float k = {1}, float l = {1}> { y = Add(x, k) }")
    assert text(twin) in ("k = float {1.0}\nl = float {1.0}\ny = Add(x, k)", "l = float {1.0}\ny = Add(x, l)")


def test_the_same_output_twice() -> None:
    source = model("g (float[3] x) => (float[3] y) <float[3] a = {1, 2, 3}> { y = Max(x, a, a) }")
    source.graph.output.append(source.graph.output[0])
    after, report = optimized(source, check=False)
    assert report.changed
    assert [info.name for info in after.graph.output] == ["y", "y"]


def test_unused_inputs_stay() -> None:
    source = model("g (float[3] x, float u, float v) => (float[3] y) <float v = {1}> { y = Neg(x) }")
    assert optimized(source)[0] == source


def test_an_initializer_shared_by_two_subgraphs() -> None:
    source = model("""
        g (bool c, float[3] x) => (float[3] y) <float k = {1}, float l = {2}> {
            y = If (c) <
                then_branch = t () => (float[3] p) { s = Add(k, l)
                    p = Mul(x, s) },
                else_branch = e () => (float[3] q) { s = Max(k, l)
                    q = Sub(x, s) }
            >
        }""")
    for condition in (True, False):
        after = assert_same_in_onnxruntime(source, {"c": np.array(condition), "x": X})
    assert [item.name for item in after.graph.initializer] == []


def test_an_inner_result_that_is_a_graph_output() -> None:
    source = model("""
        g (float[3] a, float[3] b, float[3] c) => (float[3] y, float[3] q) {
            p = Max(a, b)
            q = Max(p, c)
            r = Max(q, a)
            y = Max(r, b)
        }""")
    assert text(source) == "q = Max(a, b, c)\ny = Max(q, a, b)"


def test_an_inner_result_that_a_branch_captures() -> None:
    source = model("""
        g (bool c, float[3] a, float[3] b) => (float[3] y, float[3] z) {
            p = Max(a, b)
            q = Max(p, a)
            z = Max(q, b)
            y = If (c) <
                then_branch = t () => (float[3] r) { r = Neg(q) },
                else_branch = e () => (float[3] s) { s = Identity(b) }
            >
        }""")
    assert "q" in {name for node in optimized(source)[0].graph.node for name in node.output}
    for condition in (True, False):
        assert_same_in_onnxruntime(source, {"c": np.array(condition), "a": X, "b": X[::-1].copy()})


def same_names(inner: str) -> str:
    return f"""
        y = If (c) <
            then_branch = t () => (float[3] r) {{ {inner.format(k=1)} }},
            else_branch = e () => (float[3] r) {{ {inner.format(k=2)} }}
        >"""


def test_branches_with_the_same_local_names() -> None:
    inner = (
        "k = Constant<value = float {{{k}}}>()\n l = Constant<value = float {{-5}}>()\n p = Max(x, k)\n r = Max(p, l)"
    )
    source = model(f"g (bool c, float[3] x) => (float[3] y) {{ {same_names(inner)} }}")
    for condition in (True, False):
        after = assert_same_in_onnxruntime(source, {"c": np.array(condition), "x": X})
    branches = [attribute.g for attribute in after.graph.node[0].attribute]
    assert [len(branch.node) for branch in branches] == [1, 1]
    names = [tensor.name for branch in branches for tensor in branch.initializer]
    assert len(set(names)) == 2


def test_a_local_name_that_hides_an_outer_one() -> None:
    source = model("""
        g (bool c, float[3] x) => (float[3] y, float[3] z) <float[3] k = {9, 9, 9}, float[3] l = {9, 9, 9}> {
            p = Max(x, l)
            z = Max(p, k)
            y = If (c) <
                then_branch = t () => (float[3] r) <float[3] k = {1, 1, 1}> { q = Max(x, k)
                    r = Max(q, l) },
                else_branch = e () => (float[3] r) { k = Neg(x)
                    q = Max(k, l)
                    r = Max(q, z) }
            >
        }""")
    optimized(source, check=False)


def test_sibling_chains_get_names_of_their_own() -> None:
    source = model("""
        g (float[3] x) => (float[3] y, float[3] z, float[3] w) {
            a = Constant<value = float {1}>()
            b = Constant<value = float {2}>()
            c = Constant<value = float {3}>()
            p = Max(x, a)
            y = Max(p, b)
            q = Max(x, c)
            z = Max(q, b)
            w = Max(y_constant, a, c)
            y_constant = Max(z, y)
        }""")
    sorted_source = optimized(source, check=False, passes=["sort-nodes"])[0]
    after = assert_same_in_onnxruntime(sorted_source, {"x": X})
    names = [item.name for item in after.graph.initializer]
    names += [name for node in after.graph.node for name in node.output]
    assert len(names) == len(set(names))


def chain(output: str) -> ModelProto:
    """Two Max nodes whose constants become one that is named after the result."""
    source = model(
        "g (bool c, float[3] x) => (float[3] y) <float k = {1}, float l = {2}> { p = Max(x, k)\n y = Max(p, l) }"
    )
    source.graph.node[1].output[0] = source.graph.output[0].name = output
    return source


def take_as_node_name(source: ModelProto, name: str) -> None:
    source.graph.node[0].name = name


def take_as_input(source: ModelProto, name: str) -> None:
    source.graph.input.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, []))


def take_in_a_branch(source: ModelProto, name: str) -> None:
    output = helper.make_tensor_value_info(name, TensorProto.FLOAT, [3])
    branch = helper.make_graph([helper.make_node("Neg", ["x"], [name])], "b", [], [output])
    source.graph.node.append(helper.make_node("If", ["c"], ["i"], then_branch=branch, else_branch=branch))
    source.graph.output.append(helper.make_tensor_value_info("i", TensorProto.FLOAT, [3]))


def take_in_a_function(source: ModelProto, name: str) -> None:
    node = helper.make_node("Neg", ["a"], [name])
    opsets = [helper.make_opsetid("", 17)]
    source.functions.append(helper.make_function("custom", "f", ["a"], [name], [node], opsets))
    source.opset_import.add(domain="custom", version=1)


@pytest.mark.parametrize("output", ["y", "12"])
@pytest.mark.parametrize("take", [take_as_node_name, take_as_input, take_in_a_branch, take_in_a_function])
def test_a_fresh_name_is_new_in_every_scope(take: Callable[[ModelProto, str], None], output: str) -> None:
    source = chain(output)
    take(source, f"{output}_constant")
    after = outcome("fuse-max", source, check=False).after
    (added,) = (item.name for item in after.graph.initializer if item.name not in ("k", "l"))
    assert added.startswith(f"{output}_constant")
    assert added != f"{output}_constant"


def test_a_loop_body_of_constants() -> None:
    source = model("""
        g (int64 n, float[3] x) => (float[3] y, float[K,3] z) <float k = {1}, bool go = {1}> {
            y, z = Loop (n, go, x) <
                body = b (int64 i, bool c, float[3] s) => (bool c2, float[3] s2, float[3] o) {
                    c2 = Identity(c)
                    l = Constant<value = float[3] {2, 2, 2}>()
                    o = Add(l, k)
                    t = Max(s, l)
                    s2 = Max(t, k, o)
                }
            >
        }""")
    after = assert_same_in_onnxruntime(source, {"n": np.array(3), "x": X})
    body = next(attribute.g for attribute in after.graph.node[0].attribute if attribute.name == "body")
    assert [node.op_type for node in body.node] == ["Identity", "Constant", "Max"]


def test_a_loop_body_with_random_operators_and_captured_values() -> None:
    source = model("""
        g (int64 n, float[3] x) => (float[K,3] z) <float[3] k = {1, 2, 3}, bool go = {1}> {
            z = Loop (n, go) <
                body = b (int64 i, bool c) => (bool c2, float[3] o) {
                    c2 = Identity(c)
                    r = RandomNormalLike(k)
                    a = Add(k, x)
                    o = Add(r, a)
                }
            >
        }""")
    assert not optimized(source)[1].changed


def test_a_scan_body() -> None:
    source = model("""
        g (float[4,3] x) => (float[3] y, float[4,3] z) <float[3] a = {0, 0, 0}, float[3] k = {1, 2, 3}> {
            y, z = Scan (a, x) <num_scan_inputs = 1,
                body = b (float[3] s, float[3] e) => (float[3] s2, float[3] o) {
                    l = Constant<value = float[1] {5}>()
                    p = Max(e, k)
                    s2 = Add(s, p)
                    q = Max(e, l)
                    o = Max(q, k, l)
                }
            >
        }""")
    after = assert_same_in_onnxruntime(source, {"x": np.arange(12, dtype=F32).reshape(4, 3)})
    body = next(attribute.g for attribute in after.graph.node[0].attribute if attribute.name == "body")
    assert [node.op_type for node in body.node] == ["Max", "Add", "Max"]


@pytest.mark.parametrize("names", [["n", "n", "n"], ["", "", ""], ["a", "", "a"]])
def test_node_names_do_not_matter(names: list[str]) -> None:
    source = model(
        "g (float[3] x, float[3] w) => (float[3] y, float[3] z) { p = Max(x, w)\n y = Max(p, w)\n z = Max(w, x) }"
    )
    for node, name in zip(source.graph.node, names, strict=True):
        node.name = name
    assert text(source) == "y = Max(x, w)\nz = Max(w, x)"


def test_equal_nodes_are_told_apart() -> None:
    source = model("""
        g (float[3] x) => (float[3] y, float[3] z) <float k = {1}> {
            a = Max(x, k)
            b = Max(x, k)
            y = Max(a, k)
            c = Neg(b)
            z = Max(c, k)
        }""")
    assert text(source) == "k = float {1.0}\ny = Max(x, k)\nc = Neg(y)\nz = Max(c, k)"


def test_a_function_of_the_same_name_is_another_operator() -> None:
    source = model(
        """
        g (float[3] x) => (float[3] y) <float a = {1}, float b = {2}> {
            k = custom.Add(a, b)
            m = custom.Max(k, a)
            y = Max(x, m, a)
        }""",
        domains='"custom" : 1',
        functions="""
        <domain: "custom", opset_import: ["" : 17]>
        Add (p, q) => (r) { r = Sub(p, q) }
        <domain: "custom", opset_import: ["" : 17]>
        Max (p, q) => (r) { r = Min(p, q) }""",
    )
    assert_same_in_onnxruntime(source, {"x": X})
    assert not optimized(source)[1].changed


def rich() -> ModelProto:
    """A model that every pass changes, in several scopes."""
    lines = [f"m{i} = Max(m{i - 1}, k{i % 7}, x)" for i in range(1, 30)]
    lines += [f"a{i} = Add(a{i - 1}, j{i % 5})" for i in range(1, 30)]
    constants = {f"k{i}": np.full((1,) * (i % 2), i, np.int64) for i in range(7)}
    constants |= {f"j{i}": np.full((), i % 3, np.int64) for i in range(5)}
    body = "\n".join(lines)
    return model(
        f"""g (bool c, int64[N] x) => (int64[K] y, int64[K] z) {{
        m0 = Neg(x)
        a0 = Abs(x)
        {body}
        y = Add(m29, a29)
        z = If (c) <
            then_branch = t () => (int64[K] p) {{ q = Max(m29, k0)
                p = Max(q, k1) }},
            else_branch = e () => (int64[K] p) {{ q = Add(a29, j1)
                p = Add(q, j2) }}
        >
        }}""",
        constants=constants,
    )


def test_the_same_bytes_under_every_hash_seed(tmp_path: Path) -> None:
    onnx.save(rich(), tmp_path / "m.onnx")
    code = (
        "import sys; from maxfold.optimizer import load, optimize, save\n"
        "m = load(sys.argv[1]); assert optimize(m, math='relaxed').changed; save(m, sys.argv[2])"
    )
    found = set()
    for seed in ("0", "1", "271828"):
        target = tmp_path / f"{seed}.onnx"
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-c", code, tmp_path / "m.onnx", target], check=True, env=environment)
        found.add(hashlib.sha256(target.read_bytes()).hexdigest())
    assert len(found) == 1


def test_the_rich_model_stays_right() -> None:
    for condition in (True, False):
        assert_same_in_onnxruntime(rich(), {"c": np.array(condition), "x": np.array([5, -3, 0])[:1]})


def test_nothing_is_lost_on_the_way() -> None:
    source = model(
        "g (float[3] x) => (float[3] y) <float k = {1}, float l = {2}> { n = Neg(x)\n p = Max(n, k)\n y = Max(p, l) }"
    )
    source.doc_string, source.domain, source.model_version = "model", "domain", 7
    source.producer_name, source.producer_version = "producer", "1.2"
    for item in (
        source,
        source.graph,
        source.graph.node[0],
        source.graph.node[2],
        source.graph.input[0],
        source.graph.output[0],
    ):
        item.metadata_props.add(key="key", value=type(item).__name__)
        item.doc_string = f"doc of {type(item).__name__}"
    source.graph.node[0].name, source.graph.node[2].name = "first", "last"
    source.graph.input[0].type.tensor_type.shape.dim[0].denotation = "DATA_CHANNEL"
    source.graph.input[0].type.denotation = "IMAGE"
    annotation = source.graph.quantization_annotation.add(tensor_name="y")
    annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="scale")
    after, report = optimized(source)
    assert report.changed
    first, last = after.graph.node
    assert first == source.graph.node[0]
    assert (last.name, last.doc_string, last.metadata_props) == (
        "last", source.graph.node[2].doc_string, source.graph.node[2].metadata_props,
    )  # fmt: skip
    rest = [ModelProto(), ModelProto()]
    for copy, proto in zip(rest, (source, after), strict=True):
        copy.CopyFrom(proto)
        for field in ("node", "initializer", "value_info"):
            copy.graph.ClearField(field)
    assert rest[0] == rest[1]


def test_many_names_from_one_base_are_quick_and_distinct() -> None:
    body = "\n".join(f"p{i} = Max(x, k)\n q{i} = Max(p{i}, l)" for i in range(40))
    outputs = ", ".join(f"float[3] q{i}" for i in range(40))
    source = model(f"g (float[3] x) => ({outputs}) <float k = {{1}}, float l = {{2}}> {{ {body} }}")
    after, _ = optimized(source)
    assert len(after.graph.initializer) == 1
    assert golden(text(source)).count("Max(x, q0_constant)") == 40
