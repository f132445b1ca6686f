"""optimize: its options, its errors, its report, and how rounds come to an end."""

from __future__ import annotations

import io
import json
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto

from maxfold.optimizer import ModelError, Report, catalogue, load, optimize, save
from tests.optimizer.optimized import optimized, text
from tests.run import in_onnxruntime
from tests.text import golden, model

F32 = np.float32
NAMES = [entry.name for entry in catalogue()]

GRAPH = """
g (bool b, float[2] x) => (float[2] y, float[2] v) <float[2] k = {1, 2}, float l = {3}, float l2 = {3}> {
    c = Constant<value = float {4}>()
    s = Add(k, l)
    p = Max(x, s)
    q = Max(p, c)
    dead = Neg(q)
    r = Mul(q, l2)
    y = Mul(r, l)
    v = If (b) <
        then_branch = t () => (float[2] w) { w = Max(x, s) },
        else_branch = e () => (float[2] u) { m = Max(x, c)
            u = Max(m, s) }
    >
}"""


def source() -> ModelProto:
    return model(GRAPH)


def test_all_passes_together() -> None:
    assert text(source()) == golden("""
        l = float {3.0}
        s = float[2] {4.0, 5.0}
        q_constant = float[2] {4.0, 5.0}
        q = Max(x, q_constant)
        r = Mul(q, l)
        y = Mul(r, l)
        v = If(b)
          then_branch() => w
            w = Max(x, s)
          else_branch() => u
            u_constant = float[2] {4.0, 5.0}
            u = Max(x, u_constant)
        """).replace("q_constant = float[2] {4.0, 5.0}\n", "").replace("q_constant", "s")


def test_rounds_go_on_until_nothing_changes() -> None:
    """Each round makes the next possible: a dead reader goes, then a chain has one reader, then a constant folds."""
    graph = model("""
        g (int64[2] x) => (int64[2] y) <int64 k = {1}, int64 l = {2}, int64 m = {-3}> {
            a = Add(x, k)
            dead = Neg(a)
            b = Add(a, l)
            dead2 = Max(b, dead)
            c = Add(b, m)
            y = Neg(c)
        }""")
    assert text(graph) == "y = Neg(x)"


def test_passes_that_are_named_run_and_others_do_not() -> None:
    for name in NAMES:
        report = optimized(source(), passes=[name])[1]
        assert [entry.name for entry in report.passes] == [name]
    report = optimized(source(), passes=["fuse-max", "fold-constants"])[1]
    assert [entry.name for entry in report.passes] == ["fold-constants", "fuse-max"]
    assert optimized(source(), passes=[])[1].changed is False


def test_passes_that_are_skipped_do_not_run() -> None:
    report = optimized(source(), skip=["fuse-max", "share-constants"])[1]
    assert [entry.name for entry in report.passes] == [
        name for name in NAMES if name not in ("fuse-max", "share-constants")
    ]
    assert optimized(source(), skip=NAMES)[1].changed is False
    both = optimized(source(), passes=["fuse-max", "fuse-add"], skip=["fuse-max"])[1]
    assert [entry.name for entry in both.passes] == ["fuse-add"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"passes": ["fuse-maxx"]}, "'fuse-maxx' is not a pass; did you mean 'fuse-max'?"),
        ({"skip": ["Fuse-Max"]}, "'Fuse-Max' is not a pass; did you mean 'fuse-max'?"),
        ({"expand": ["Selu", "Sofmax"]}, "'Sofmax' is not an operator of ONNX's own; did you mean 'Softmax'?"),
        (
            {"expand": ["com.microsoft.Gelu"]},
            "'com.microsoft.Gelu' is not an operator of ONNX's own; names are spelled as in ONNX's specification",
        ),
        ({"passes": ["fuse-max", ""]}, "'' is not a pass; catalogue() lists them"),
        ({"keep": ["nowhere"]}, "nothing in the model is named 'nowhere'; --keep takes names of tensors or nodes"),
        (
            {"keep": ["b", "nowhere", "also not"]},
            "nothing in the model is named 'also not'; --keep takes names of tensors or nodes",
        ),
        ({"keep": [""]}, "nothing in the model is named ''; --keep takes names of tensors or nodes"),
        ({"math": "fast"}, "math is 'exact' or 'relaxed', not 'fast'"),
    ],
)
def test_mistakes_are_named(options: dict[str, Any], message: str) -> None:
    loaded = load(source())
    with pytest.raises(ModelError) as caught:
        optimize(loaded, **options)
    assert str(caught.value) == message


@pytest.mark.parametrize("name", ["q", "p", "c", "k", "l2", "w", "m", "dead", "s"])
def test_keep_in_any_scope(name: str) -> None:
    after, _ = optimized(source(), keep=[name])
    names = {tensor.name for tensor in after.graph.initializer} | {
        out for node in after.graph.node for out in node.output
    }
    for attribute in (item for node in after.graph.node for item in node.attribute):
        names |= {out for node in attribute.g.node for out in node.output}
    assert name in names


def test_keep_takes_inputs_too() -> None:
    assert text(source(), keep=["x", "b"]) == text(source())


def test_growth_limits_folding_and_merging() -> None:
    graph = model(
        "g (float[4] x) => (float[4] y, float[4] z) { s = Add(k, l)\n y = Mul(x, s)\n z = Mul(x, k) }",
        constants={"k": np.ones(4, F32), "l": np.array(2, F32)},
    )
    # 16 bytes come, the 4 of l go; k stays.
    assert not optimized(graph, max_growth_bytes=11)[1].changed
    assert optimized(graph, max_growth_bytes=12)[1].changed


def test_the_report_counts_nodes_constants_and_bytes() -> None:
    after, report = optimized(source())
    assert (report.math, report.nodes_before, report.nodes_after) == ("exact", 10, 6)
    # k, l, l2 and c before; 8 + 4 + 4 + 4 bytes.
    assert (report.constants_before, report.constant_bytes_before) == (4, 20)
    count = len(after.graph.initializer) + sum(len(item.g.initializer) for item in after.graph.node[-1].attribute)
    assert report.constants_after == count
    assert report.changed
    assert report.elapsed_seconds > 0
    assert (report.input_bytes, report.output_bytes) == (None, None)
    by_name = {entry.name: entry.changes for entry in report.passes}
    assert list(by_name) == NAMES
    assert by_name["fold-constants"] == 1
    assert by_name["fuse-max"] == 2


def test_a_report_of_nothing() -> None:
    after, report = optimized(model("g (float x) => (float y) { y = Neg(x) }"))
    assert (report.changed, report.nodes_before, report.nodes_after, report.declines) == (False, 1, 1, ())
    assert after.graph.node[0].op_type == "Neg"


def test_a_report_is_json() -> None:
    graph = model("g (float x) => (float y) <float k = {1}, float l = {2}> { a = Add(x, k)\n y = Add(a, l) }")
    _, report = optimized(graph, hints=True)
    data = json.loads(json.dumps(report.to_dict()))
    assert data["schema"] == "maxfold.report/1"
    assert data["relaxed_gain"] == 1
    assert data["hints"] == [
        {"options": "--math relaxed", "arguments": {"math": "relaxed"}, "nodes": 1, "operators": {}}
    ]
    assert data["declines"][0]["rule"] == "fuse-add"
    assert data["declines"][0]["node"] == "y"
    assert data["declines"][0]["operator"] == "Add"
    assert {entry["name"] for entry in data["passes"]} == set(NAMES)
    assert (data["changed"], data["math"], data["input_bytes"]) == (False, "exact", None)


def test_a_report_cannot_be_changed() -> None:
    _, report = optimized(source())
    with pytest.raises(FrozenInstanceError):
        report.math = "relaxed"  # type: ignore[misc]
    sized = report.with_sizes(10, 7)
    assert (sized.input_bytes, sized.output_bytes, report.input_bytes) == (10, 7, None)
    assert isinstance(sized, Report)


def test_declines_name_nodes_that_are_still_there() -> None:
    for math in ("exact", "relaxed"):
        after, report = optimized(source(), math=math)
        known = {out for node in after.graph.node for out in node.output} | {node.name for node in after.graph.node}
        known |= {tensor.name for tensor in after.graph.initializer}
        for attribute in (item for node in after.graph.node for item in node.attribute):
            known |= {out for node in attribute.g.node for out in node.output}
        assert {decline.node for decline in report.declines} <= known


def test_the_catalogue_is_complete() -> None:
    entries = catalogue()
    assert [entry.name for entry in entries][:1] == ["sort-nodes"]
    assert len({entry.name for entry in entries}) == len(entries)
    for entry in entries:
        assert entry.summary
        assert entry.name == entry.name.lower()
        assert "_" not in entry.name
    options = {entry.name: dict(entry.options) for entry in entries}
    assert options["fold-constants"] == {"max_growth_bytes": 65536, "fold_quantized": False}


def test_progress_is_told() -> None:
    seen: list[tuple[str, int, int]] = []
    body = "\n".join(f"n{index} = Max(n{index - 1}, x)" for index in range(1, 3000))
    graph = model(f"g (float x) => (float n2999) {{ n0 = Neg(x)\n {body} }}")
    optimize(graph, progress=lambda name, done, total: seen.append((name, done, total)))
    assert {name for name, _, _ in seen} == {"rewriting"}


class CancelledError(Exception):
    """What a caller's progress function may raise."""


def test_a_cancelled_run_leaves_a_model_that_is_right() -> None:
    body = "\n".join(f"n{index} = Max(x, k{index % 3})\n m{index} = Max(n{index}, k0)" for index in range(1500))
    constants = {f"k{index}": np.array(index, F32) for index in range(3)}
    graph = model(f"g (float x) => (float m1499) {{ {body} }}", constants=constants)
    loaded = load(graph)

    def cancel(name: str, done: int, total: int) -> None:
        raise CancelledError

    with pytest.raises(CancelledError):
        optimize(loaded, progress=cancel)
    stream = io.BytesIO()
    save(loaded, stream)
    after = ModelProto.FromString(stream.getvalue())
    onnx.checker.check_model(after, full_check=True)
    feeds = {"x": np.array(-1, F32)}
    assert in_onnxruntime(after, feeds) == in_onnxruntime(graph, feeds)
    assert optimize(loaded).nodes_after == 1


def test_optimizing_in_two_steps_is_optimizing_at_once() -> None:
    once = optimized(source())[0]
    loaded = load(source())
    for name in (*NAMES, *NAMES):
        optimize(loaded, passes=[name])
    again = load(once)
    assert optimize(again).changed is False
    assert optimize(loaded).nodes_after == optimize(again).nodes_after


def test_a_graph_out_of_order_is_sorted_first() -> None:
    graph = model("g (float[2] x) => (float[2] y) <float k = {1}, float l = {2}> { y = Max(p, l)\n p = Max(x, k) }")
    assert text(graph) == "y_constant = float {2.0}\ny = Max(x, y_constant)"
