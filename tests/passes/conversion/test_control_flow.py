"""If, Loop and Scan on the way to OpenVINO: bodies, what they capture, states, slices, and loops that never run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino
import pytest
from onnx import parser

from maxfold.model.openvino.ir import PortMapEntry
from maxfold.optimizer import load, save
from maxfold.optimizer.api import convert
from tests.passes.conversion import harness, judged
from tests.passes.conversion.judged import assert_refused_in_openvino, floats

OPERATORS = {"If", "Loop", "Scan"}
REFUSED = {
    ("openvino", "affine_grid_2d_expanded"): "the rank of input 0 is not known",
    ("openvino", "affine_grid_2d_align_corners_expanded"): "the rank of input 0 is not known",
    ("openvino", "scan_sum"): "its step Scan 8 -> 9 is not covered",
}
LIMITED = {("openvino", "range_bfloat16_type_positive_delta_expanded"): "its Python API has no bfloat16"}
CASES = [case for case in harness.all_cases().values() if case.operators & OPERATORS]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_node_tests(case: harness.Case, tmp_path: Path) -> None:
    is_half = "16" in case.name
    tolerance = 1e-2 if is_half else 1e-4
    judged.judge("openvino", case, tmp_path, refused=REFUSED, limited=LIMITED, rtol=tolerance, atol=tolerance)


def model_of(text: str) -> onnx.ModelProto:
    """A model of a graph in the syntax of onnx's parser."""
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}')
    onnx.checker.check_model(model)
    return model


def assert_runs_alike(text: str, *runs: list[Any], folder: Path, ir_version: int = 11) -> None:
    """The IR gives in OpenVINO what the model gives in ONNX Runtime, for each list of inputs."""
    onnx.save(model_of(text), folder / "made.onnx")
    save(convert(load(folder / "made.onnx"), to="openvino", ir_version=ir_version), folder / "made.xml")
    for inputs in runs:
        expected = harness.run_onnx(folder / "made.onnx", inputs)
        harness.assert_close(harness.run_openvino(folder / "made.xml", inputs), expected, rtol=1e-5, atol=1e-6)


def true() -> Any:
    return np.array(True)


def false() -> Any:
    return np.array(False)


def whole(value: int) -> Any:
    return np.array(value, np.int64)


IFS = {
    "branches read what is around": """g (bool c, float[N,3] x) => (float[M,3] y) {
        y = If (c) <then_branch = t () => (float[N,3] a) { a = Relu(x) },
            else_branch = e () => (float[N,3] b) { k = Constant<value_float=2.0>() b = Mul(x, k) }> }""",
    "branches of other sizes": """g (bool c, float[N,3] x) => (float[M,3] y) {
        y = If (c) <then_branch = t () => (float[2,3] a) { r = Constant<value_ints=[6,1]>() m = Tile(x, r)
              s = Constant<value_ints=[0]>() e2 = Constant<value_ints=[2]>() a = Slice(m, s, e2) },
            else_branch = e () => (float[N,3] b) { b = Neg(x) }> }""",
    "results that are captured": """g (bool c, float[N,3] x) => (float[M,3] y, float[M,3] z) { k = Abs(x)
        y, z = If (c) <then_branch = t () => (float[N,3] a, float[N,3] a2) { a = Identity(x) a2 = Identity(k) },
            else_branch = e () => (float[N,3] b, float[N,3] b2) { b = Identity(k) b2 = Identity(x) }> }""",
    "one result twice": """g (bool c, float[N,3] x) => (float[M,3] y, float[M,3] z) {
        y, z = If (c) <then_branch = t () => (float[N,3] a, float[N,3] a2) { a = Relu(x) a2 = Identity(a) },
            else_branch = e () => (float[N,3] b, float[N,3] b2) { b = Neg(x) b2 = Identity(b) }> }""",
    "constants as results": """g (bool c, float[N,3] x) => (float[K] y, int64 z) {
        y, z = If (c) <then_branch = t () => (float[1] a, int64 a2)
              { a = Constant<value_floats=[1.0]>() a2 = Constant<value_int=1>() },
            else_branch = e () => (float[2] b, int64 b2)
              { b = Constant<value_floats=[1.0, 2.0]>() b2 = Constant<value_int=2>() }> }""",
    "nested, captured through two levels": """g (bool c, float[N,3] x) => (float[M,3] y) <float[3] w = {1.0, 2.0, 3.0}>
      { k = Abs(x) d = Not(c)
        y = If (d) <then_branch = t () => (float[N,3] a) {
              a = If (c) <then_branch = tt () => (float[N,3] aa) { aa = Add(x, k) },
                else_branch = te () => (float[N,3] ab) { ab = Sub(x, w) }> },
            else_branch = e () => (float[N,3] b) { m = Neg(x)
              b = If (d) <then_branch = et () => (float[N,3] ba) { ba = Add(m, w) },
                else_branch = ee () => (float[N,3] bb) { bb = Mul(m, k) }> }> }""",
}


@pytest.mark.parametrize("text", IFS.values(), ids=IFS)
def test_if(text: str, tmp_path: Path) -> None:
    runs = [[condition, floats(size, 3)] for condition in (true(), false()) for size in (2, 5)]
    assert_runs_alike(text, *runs, folder=tmp_path)


def test_if_by_a_condition_of_one_dimension(tmp_path: Path) -> None:
    text = """g (bool[1] c, float[N,3] x) => (float[N,3] y) {
        y = If (c) <then_branch = t () => (float[N,3] a) { a = Relu(x) },
            else_branch = e () => (float[N,3] b) { b = Neg(x) }> }"""
    assert_runs_alike(text, [np.array([True]), floats(2, 3)], [np.array([False]), floats(2, 3)], folder=tmp_path)


def loop(
    body: str,
    *,
    count: str = "n",
    condition: str = "k",
    signature: str = "(int64 i, bool c0, float[2] s0) => (bool c, float[2] s, float[2] t)",
) -> str:
    """A Loop of one state, one collected result, and a captured input."""
    return f"""g (int64 n, bool k, float[2] x) => (float[2] y, float[T,2] z) {{ w = Neg(x)
        y, z = Loop ({count}, {condition}, w) <body = b {signature} {{ {body} }}> }}"""


LOOPED = "c = Identity(c0) s = Add(s0, x) t = Mul(s, x)"
WHILE = "five = Constant<value_int=5>() c = Less(i, five) s = Add(s0, x) t = Mul(s, x)"
LOOPS = {
    "by both": loop(LOOPED),
    "by a count": loop(LOOPED, condition=""),
    "by a condition": loop(WHILE, count=""),
    "by both, which changes": loop(WHILE),
    "by none": loop(WHILE, count="", condition=""),
    "that reads the number of the iteration": loop("c = Identity(c0) f = Cast<to=1>(i) s = Add(s0, f) t = Mul(s, x)"),
    "that reads its condition": loop(
        "c = Identity(c0) f = Cast<to=1>(c0) s = Add(s0, f) t = Mul(s, x)"
    ),
    "whose state is captured": loop("c = Identity(c0) s = Identity(w) t = Add(s0, x)"),
    "whose state is constant": loop("c = Identity(c0) s = Constant<value_floats=[1.0, 2.0]>() t = Add(s0, x)"),
    "whose state stays": loop("c = Identity(c0) s = Identity(s0) t = Add(s0, x)"),
    "whose state nothing reads": loop("c = Identity(c0) s = Relu(x) t = Add(s, x)"),
    "that collects its state": loop("c = Identity(c0) s = Add(s0, x) t = Identity(s0)"),
    "that collects what it captures": loop("c = Identity(c0) s = Add(s0, x) t = Identity(x)"),
}  # fmt: skip


@pytest.mark.parametrize("text", LOOPS.values(), ids=LOOPS)
def test_loop(text: str, tmp_path: Path) -> None:
    runs = [[whole(count), condition, floats(2)] for count in (5, 1, 0, -2) for condition in (true(), false())]
    assert_runs_alike(text, *runs, folder=tmp_path)


@pytest.mark.parametrize("text", [LOOPS["by both"], IFS["results that are captured"]], ids=["Loop", "If"])
def test_ir_version_10(text: str, tmp_path: Path) -> None:
    inputs = [true(), floats(2, 3)] if "If" in text else [whole(3), true(), floats(2)]
    assert_runs_alike(text, inputs, folder=tmp_path, ir_version=10)


def test_loop_by_inputs_of_one_dimension(tmp_path: Path) -> None:
    text = """g (int64[1] n, bool[1] k, float[2] x) => (float[2] y, float[T,1,2] z) {
        y, z = Loop (n, k, x) <body = b (int64[1] i, bool[1] c0, float[2] s0) => (bool[1] c, float[2] s, float[1,2] t)
          { c = Identity(c0) f = Cast<to=1>(i) s = Add(s0, f) a = Constant<value_ints=[0]>() t = Unsqueeze(s, a) }> }"""
    runs = [[np.array([count]), np.array([True]), floats(2)] for count in (3, 0)]
    assert_runs_alike(text, *runs, folder=tmp_path)


CONSTANT_COUNTS = ("0", "1", "7", "9223372036854775807", "-3")


@pytest.mark.parametrize("count", CONSTANT_COUNTS)
def test_constant_counts(count: str, tmp_path: Path) -> None:
    text = f"""g (float[2] x) => (float[2] y) <int64 n = {{{count}}}> {{
        y = Loop (n, , x) <body = b (int64 i, bool c0, float[2] s0) => (bool c, float[2] s)
          {{ m = ReduceMax<keepdims=0>(s0) five = Constant<value_float=5.0>() c = Less(m, five) s = Add(s0, x) }}> }}"""
    assert_runs_alike(text, [np.float32([1, 2])], [np.float32([9, 2])], folder=tmp_path)


def test_two_states_change_places(tmp_path: Path) -> None:
    """The plugin would write the second over the first before it reads it."""
    text = """g (int64 n, float[1,2] x, bool k) => (float[1,2] y, float[1,2] z, bool e, bool f, int64 p, int64 q) {
        one = Constant<value_int=1>() r = Constant<value_ints=[1,2]>() zero = Constant<value_float=0.0>()
        w = Neg(x) d = Not(k)
        y, z, e, f, p, q = Loop (n, , x, w, k, d, one, one) <body = b (int64 i, bool c0, float[1,2] y0, float[1,2] z0,
          bool e0, bool f0, int64 p0, int64 q0) => (bool c, float[1,2] y1, float[1,2] z1, bool e1, bool f1, int64 p1,
          int64 q1) { c = Identity(c0) y1 = Reshape(z0, r) z1 = Sub(y0, zero) e1 = Identity(f0) f1 = Identity(e0)
          p1 = Identity(q0) q1 = Add(p0, q0) }> }"""
    runs = [[whole(count), floats(1, 2), true()] for count in (0, 1, 2, 9)]
    assert_runs_alike(text, *runs, folder=tmp_path)


def test_the_number_of_the_iteration_as_a_state(tmp_path: Path) -> None:
    text = """g (int64 n, int64 x) => (int64 y, int64[T] z) {
        y, z = Loop (n, , x) <body = b (int64 i, bool c0, int64 s0) => (bool c, int64 s, int64 t)
          { c = Identity(c0) s = Identity(i) t = Identity(s0) }> }"""
    assert_runs_alike(text, *[[whole(count), whole(7)] for count in (0, 1, 4)], folder=tmp_path)


def test_states_that_change_their_shape(tmp_path: Path) -> None:
    text = """g (int64 n, float[K] x) => (float[J] y, float[I] z) {
        y, z = Loop (n, , x, x) <body = b (int64 i, bool c0, float[P] s0, float[R] t0)
          => (bool c, float[Q] s, float[S] t) { c = Identity(c0) s = Concat<axis=0>(s0, x)
            l = Shape(t0) f = Cast<to=1>(l) t = Concat<axis=0>(f, x, x) }> }"""
    runs = [[whole(count), floats(size)] for count in (0, 1, 3) for size in (1, 4)]
    assert_runs_alike(text, *runs, folder=tmp_path)


def test_if_in_loop_in_loop(tmp_path: Path) -> None:
    text = """g (int64 n, float[N,3] x) => (float[N,3] y, float[T,N,3] z) <float[3] w = {1.0, 2.0, 3.0}> { k = Abs(x)
        y, z = Loop (n, , x) <body = b (int64 i, bool c0, float[N,3] s0) => (bool c, float[N,3] s, float[N,3] t) {
          c = Identity(c0) m = Add(s0, w)
          s = Loop (i, , m) <body = b2 (int64 i2, bool d0, float[N,3] r0) => (bool d, float[N,3] r) { d = Identity(d0)
            two = Constant<value_int=2>() odd = Mod(i2, two) is_odd = Cast<to=9>(odd)
            r = If (is_odd) <then_branch = th () => (float[N,3] a) { a = Add(r0, k) },
              else_branch = el () => (float[N,3] b3) { b4 = Sub(r0, w) b3 = Mul(b4, s0) }> }>
          t = Relu(s) }> }"""
    assert_runs_alike(text, *[[whole(count), floats(size, 3)] for count in (0, 4) for size in (1, 2)], folder=tmp_path)


def test_a_state_that_only_a_loop_inside_takes_and_does_not_read(tmp_path: Path) -> None:
    text = """g (int64 n, float[2] x) => (float[2] y, float[2] z) { k = Abs(x)
        y, z = Loop (n, , x, x) <body = b (int64 i, bool c0, float[2] s0, float[2] t0)
          => (bool c, float[2] s, float[2] t) { c = Identity(c0)
            s, u = Loop (i, , s0, t0) <body = b2 (int64 j, bool d0, float[2] p, float[2] q)
            => (bool d, float[2] r, float[2] v) { d = Identity(d0) r = Add(p, x) v = Identity(k) }>
          t = Identity(k) }> }"""
    assert_runs_alike(text, *[[whole(count), floats(2)] for count in (0, 1, 3)], folder=tmp_path)


def test_a_scan_that_reads_nothing(tmp_path: Path) -> None:
    text = """g (float[2] s, float[A,2] x) => (float[2] y) {
        y = Scan <num_scan_inputs=1, body = b (float[2] s0, float[2] v) => (float[2] t) { t = Add(s0, s) }> (s, x) }"""
    assert_refused_in_openvino(model_of(text), tmp_path, "Scan: its body reads nothing of what is scanned")


def scan(attributes: str = "", sizes: str = "A,2") -> str:
    return f"""g (float[2] s, float[{sizes}] x, float[2] w) => (float[2] y, float[P,Q] z) {{ k = Neg(w)
        y, z = Scan <num_scan_inputs=1{attributes}, body = b (float[2] s0, float[2] v) => (float[2] s1, float[2] o)
          {{ m = Add(s0, v) s1 = Sub(m, k) o = Mul(m, v) }}> (s, x) }}"""


SCANS = {
    "forward": scan(),
    "along another axis": scan(", scan_input_axes=[1], scan_output_axes=[1]", "2,A"),
    "backward": scan(", scan_input_directions=[1]"),
    "collected backward": scan(", scan_output_directions=[1]"),
    "both backward": scan(
        ", scan_input_directions=[1], scan_output_directions=[1], scan_input_axes=[-1], scan_output_axes=[1]", "2,A"
    ),
}


@pytest.mark.parametrize("text", SCANS.values(), ids=SCANS)
def test_scan(text: str, tmp_path: Path) -> None:
    is_turned = "float[2,A]" in text
    runs = [[floats(2), floats(2, length) if is_turned else floats(length, 2), floats(2, seed=1)] for length in (1, 4)]
    assert_runs_alike(text, *runs, folder=tmp_path)


def test_scan_of_several(tmp_path: Path) -> None:
    text = """g (float[N,A] x, float[B,N] w) => (float[N] a, float[1,N] b) { k = Constant<value_float=3.0>()
        a, b = Scan <num_scan_inputs=2, scan_input_axes=[0, 1], scan_output_axes=[0, 1], body = bd
          (float[A] u, float[B] v) => (float p, float[1] q)
          { m = ReduceSum<keepdims=0>(u) q = ReduceMax<keepdims=1>(v) p = Mul(m, k) }> (x, w) }"""
    assert_runs_alike(text, [floats(4, 2), floats(3, 4)], [floats(1, 2), floats(5, 1)], folder=tmp_path)


def test_scan_whose_state_is_what_it_reads(tmp_path: Path) -> None:
    text = """g (float[2] s, float[A,2] x) => (float[2] y, float[P,2] z, float[P,2] zz) {
        y, z, zz = Scan <num_scan_inputs=1, body = b (float[2] s0, float[2] v) => (float[2] s1, float[2] o, float[2] p)
          { s1 = Identity(v) o = Identity(s0) p = Identity(v) }> (s, x) }"""
    assert_runs_alike(text, [floats(2), floats(4, 2)], [floats(2), floats(1, 2)], folder=tmp_path)


def test_all_refusals_inside_are_found(tmp_path: Path) -> None:
    text = """g (bool c, float[N,3] x) => (float[N,3] y) {
        y = If (c) <then_branch = t () => (float[N,3] a) { a = Multinomial(x) },
            else_branch = e () => (float[N,3] b) { q = ImageDecoder(x) b = Relu(q) }> }"""
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}')
    model.graph.node[0].attribute[1].g.node[0].op_type = "ImageDecoder"
    for reason in ("Multinomial: ", "ImageDecoder: "):
        assert_refused_in_openvino(model, tmp_path, reason)


def test_a_captured_constant_is_stored_once(tmp_path: Path) -> None:
    """Each body has its own Const, of the same bytes; a level that only passes it on has none."""
    text = """g (bool c, bool d, float[N,3] x) => (float[N,3] y) <float[3] w = {1.0, 2.0, 3.0}> {
        y = If (c) <then_branch = t () => (float[N,3] a) {
              a = If (d) <then_branch = tt () => (float[N,3] aa) { aa = Add(x, w) },
                else_branch = te () => (float[N,3] ab) { ab = Sub(x, w) }> },
            else_branch = e () => (float[N,3] b) { b = Neg(x) }> }"""
    onnx.save(model_of(text), tmp_path / "made.onnx")
    converted = convert(load(tmp_path / "made.onnx"), to="openvino")
    (branch,) = [node for node in converted.graph.nodes if node.op == "If"]
    assert not branch.attrs["then_body"].constants
    inner = branch.attrs["then_body"].nodes[0]
    assert [len(inner.attrs[name].constants) for name in ("then_body", "else_body")] == [1, 1]
    assert len(inner.inputs) == 2
    save(converted, tmp_path / "made.xml")
    assert (tmp_path / "made.bin").stat().st_size == 12


def test_written_form(tmp_path: Path) -> None:
    """Ports and names are those of OpenVINO's own conversion."""
    onnx.save(model_of(LOOPS["by both"]), tmp_path / "made.onnx")
    converted = convert(load(tmp_path / "made.onnx"), to="openvino")
    (node,) = [node for node in converted.graph.nodes if node.op == "Loop"]
    assert node.domain == "openvino.opset5"
    assert [tensor.name for tensor in node.outputs] == ["y", "z"] or len(node.outputs) == 2
    entries: list[PortMapEntry] = node.attrs["port_map"]
    assert entries[0].attributes == {"external_port_id": "-1", "purpose": "current_iteration"}
    assert [entry.attributes["external_port_id"] for entry in entries if entry.tag == "input"] == ["-1", "2", "3"]
    assert [entry.attributes["external_port_id"] for entry in entries if entry.tag == "output"] == ["-1", "4", "5"]
    save(converted, tmp_path / "made.xml")
    model = openvino.Core().read_model(tmp_path / "made.xml")
    assert [port.any_name for port in model.outputs] == ["y", "z"]
