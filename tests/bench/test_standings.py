"""Which peer maxfold is measured by on each model."""

from __future__ import annotations

import pytest

from bench.compare import ModelResult, ToolResult
from bench.judge import Original, Verdict
from bench.peers import TOOLS
from bench.standings import EXACT, RELAXED, Standing, is_exact, is_valid, standings, standings_table, summary


def model(name: str, nodes: dict[str, Verdict | str], *, not_judged: str = "") -> ModelResult:
    """A model of 10 nodes; a text in place of a verdict is the tool's error."""
    results = [
        ToolResult(tool, error=verdict) if isinstance(verdict, str) else ToolResult(tool, verdict=verdict)
        for tool, verdict in nodes.items()
    ]
    return ModelResult(name, Original(nodes=10, file_bytes=1, not_judged=not_judged), results)


def same(nodes: int) -> Verdict:
    return Verdict(nodes=nodes, outputs="same bits")


def differ(nodes: int, detail: str = "") -> Verdict:
    return Verdict(nodes=nodes, outputs="differ", detail=detail)


RESULTS = [
    model("ahead", {EXACT: same(6), RELAXED: differ(3), "onnxslim": same(8), "onnxsim": differ(4)}),
    model("behind", {EXACT: same(9), RELAXED: same(7), "onnxslim": same(7), "onnxsim": differ(5)}),
    model("alone", {EXACT: same(9), RELAXED: same(9), "onnxslim": "exit status 1", "onnxsim": differ(2, "shape")}),
]


def test_relaxed_mode_is_measured_by_all_valid_results() -> None:
    assert standings(RESULTS, TOOLS, RELAXED, is_valid) == [
        Standing("ahead", 3, "onnxsim", 4),
        Standing("behind", 7, "onnxsim", 5),
        Standing("alone", 9, "", 10),
    ]


def test_exact_mode_is_measured_by_the_same_bits() -> None:
    assert standings(RESULTS, TOOLS, EXACT, is_exact) == [
        Standing("ahead", 6, "onnxslim", 8),
        Standing("behind", 9, "onnxslim", 7),
        Standing("alone", 9, "", 10),
    ]


def test_the_summary_names_the_models_that_are_behind() -> None:
    assert summary(standings(RESULTS, TOOLS, RELAXED, is_valid), "Relaxed") == (
        "Relaxed: fewer nodes on 2 models, as many on 0, more on 1; 19 nodes against 19. More on behind (+2, onnxsim)."
    )


@pytest.mark.parametrize(
    ("verdict", "valid"),
    [
        (same(3), True),
        (differ(3), True),
        (differ(3, "shape [1] became [2]"), False),
        (Verdict(nodes=3, outputs="does not run"), False),
        (Verdict(nodes=3, outputs="same bits", checker="broken"), False),
        (Verdict(nodes=3, outputs="same bits", interface=["output names"]), False),
        (Verdict(outputs="same bits"), False),
    ],
)
def test_what_is_valid(verdict: Verdict, valid: bool) -> None:
    found = model("m", {"onnxslim": verdict})
    assert is_valid(found, found.tools[0]) is valid


def test_where_outputs_are_not_judged_validity_has_to_do() -> None:
    found = model("m", {"onnxslim": Verdict(nodes=3)}, not_judged="over 20000 nodes")
    assert is_exact(found, found.tools[0])


def test_results_of_maxfold_that_are_wrong_leave_all_nodes() -> None:
    found = model("m", {RELAXED: Verdict(nodes=1, outputs="does not run"), "onnxslim": same(8)})
    assert standings([found], TOOLS, RELAXED, is_valid) == [Standing("m", 10, "onnxslim", 8)]


def test_there_is_no_table_without_a_peer() -> None:
    own = tuple(tool for tool in TOOLS if not tool.is_peer)
    assert standings_table(RESULTS, own) is None
    assert standings_table(RESULTS, TOOLS) is not None
