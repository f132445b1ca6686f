"""Ratios, texts and the choice of tools."""

from __future__ import annotations

import sys

import pytest

from bench.compare import ModelResult, ToolResult, plain
from bench.judge import Original, Verdict
from bench.peers import TOOLS, YARDSTICK, select
from bench.table import ratio_text, size_text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (0.523, "0.52"), (9.994, "9.99"), (9.996, "10.0"), (24.06, "24.1"), (310.4, "310")],
)
def test_ratios_have_three_figures(value: float | None, text: str) -> None:
    assert ratio_text(value) == text


@pytest.mark.parametrize(
    ("size", "text"), [(812, "812 B"), (58_887, "58.9 kB"), (5_112_243, "5.11 MB"), (2.4e9, "2.4 GB")]
)
def test_sizes_are_decimal(size: float, text: str) -> None:
    assert size_text(size) == text


def _results() -> ModelResult:
    yardstick = ToolResult(YARDSTICK, seconds=[0.2, 0.4, 9.0], cpu_seconds=[0.2, 0.2, 0.2])
    slow = ToolResult("slow", seconds=[1.2], cpu_seconds=[0.1], growth_bytes=300)
    failed = ToolResult("failed", seconds=[0.1], growth_bytes=1, error="exit status 1")
    return ModelResult("m", Original(nodes=4, file_bytes=100), [yardstick, slow, failed])


def test_ratios_are_of_medians_and_absent_for_a_failure() -> None:
    model = _results()
    _, slow, failed = model.tools
    assert model.ratio(slow) == pytest.approx(3.0)
    assert model.ratio(slow, cpu=True) == pytest.approx(0.5)
    assert model.memory_ratio(slow) == pytest.approx(3.0)
    assert model.ratio(failed) is None
    assert model.memory_ratio(failed) is None


@pytest.mark.parametrize(
    ("verdict", "exact"),
    [
        (None, False),
        (Verdict(outputs="same bits"), True),
        (Verdict(outputs="same bits", checker="broken"), False),
        (Verdict(outputs="differ"), False),
    ],
)
def test_exact_means_valid_and_of_the_same_bits(verdict: Verdict | None, exact: bool) -> None:
    assert ToolResult("t", verdict=verdict).exact is exact


def test_results_become_strict_json() -> None:
    found = plain({"a": [Verdict(max_abs=float("inf"))], "b": (1, 0.5)})
    assert found["a"][0]["max_abs"] == "inf"
    assert found["b"] == [1, 0.5]


def test_tools_have_names_of_their_own() -> None:
    assert len({tool.name for tool in TOOLS}) == len(TOOLS)


def test_an_unknown_tool_is_named() -> None:
    with pytest.raises(ValueError, match="unknown tool nosuch"):
        select(["nosuch"], sys.executable)


def test_the_yardstick_is_always_there() -> None:
    assert YARDSTICK in [tool.name for tool in select(["onnxslim"], sys.executable).tools]
