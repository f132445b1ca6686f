"""What people see."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from contextlib import redirect_stderr
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import onnx
import pytest
from rich.console import Console

from maxfold.cli.decline_view import show_declines
from maxfold.cli.endpoints import Task
from maxfold.cli.layout import bytes_text, change_text, columns, counted, seconds_text, shortened, wrapped
from maxfold.cli.options import OptimizeOptions
from maxfold.cli.progress import Progress
from maxfold.cli.report_view import show_batch, show_outcome
from maxfold.cli.work import Outcome, attempt
from maxfold.optimizer.report import group_declines
from maxfold.passes import DeclineRecord
from tests.cli.models import NOTED, RELAXED_ONLY, SETTLED, write
from tests.cli.shell import maxfold


def outcome_of(source: str, options: OptimizeOptions) -> Outcome:
    result = attempt(Task(source, options.output), options, Progress())
    assert isinstance(result, Outcome), result
    return result


class Screen(io.TextIOWrapper):
    """A terminal's standard error of a certain encoding."""

    def __init__(self, encoding: str = "utf-8") -> None:
        super().__init__(io.BytesIO(), encoding=encoding, write_through=True)

    def isatty(self) -> bool:
        return True

    def text(self) -> str:
        data = self.buffer
        assert isinstance(data, io.BytesIO)
        return data.getvalue().decode(self.encoding)


def terminal_lines(
    show: Callable[[Console], object], width: int, encoding: str = "utf-8", **settings: Any
) -> list[str]:
    """What a terminal of that width shows."""
    screen = Screen(encoding)
    console = Console(file=screen, stderr=True, width=width, force_terminal=True, highlight=False, **settings)
    with redirect_stderr(screen):
        show(console)
    return screen.text().splitlines()


def shown(
    width: int, outcome: Outcome, options: OptimizeOptions, encoding: str = "utf-8", **settings: Any
) -> list[str]:
    """A result on a terminal, without colour unless it is asked for."""
    settings.setdefault("color_system", None)
    return terminal_lines(lambda console: show_outcome(console, outcome, options), width, encoding, **settings)


def test_the_result_on_a_terminal(folder: Path) -> None:
    write(folder / "m.onnx", RELAXED_ONLY)
    options = OptimizeOptions(output="out.onnx")
    outcome = outcome_of("m.onnx", options)
    outcome = replace(outcome, elapsed_seconds=0.5)
    lines = shown(60, outcome, options)
    assert all(len(line) <= 60 for line in lines)
    assert lines[0] == f"╭─ m.onnx {'─' * 49}╮"
    assert lines[-2] == f"╰{'─' * 58}╯"
    assert lines[-1] == "wrote out.onnx in 0.50 s"
    assert re.fullmatch(r"│ nodes +2  → +2 +same +│", lines[1])
    text = "\n".join(lines)
    assert "1 rewrite declined (--explain says why)" in text
    assert "--math relaxed would remove 1 more node" in text


def test_what_else_is_told(folder: Path) -> None:
    write(folder / "m.onnx", NOTED.replace("float[3] x", "float[N] x"))
    run = maxfold("optimize", "m.onnx", "--dry-run", "--dim", "N=3")
    assert "  1 dimension of the inputs fixed\n" in run.stderr
    assert "  1 folded result may differ from a runtime's in the last place\n" in run.stderr
    run = maxfold("optimize", "m.onnx", "--dry-run", "--skip", "fold-constants")
    assert not re.search("fixed|last place", run.stderr)


def test_colour(folder: Path) -> None:
    write(folder / "m.onnx")
    options = OptimizeOptions(dry_run=True)
    outcome = outcome_of("m.onnx", options)
    assert "\x1b[32m-50.0%" in "\n".join(shown(80, outcome, options, color_system="standard"))


def test_no_colour(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    write(folder / "m.onnx")
    options = OptimizeOptions(dry_run=True)
    text = "\n".join(shown(80, outcome_of("m.onnx", options), options, color_system="standard"))
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", text)


def test_an_encoding_without_frames(folder: Path) -> None:
    write(folder / "m.onnx")
    options = OptimizeOptions(dry_run=True)
    lines = shown(60, outcome_of("m.onnx", options), options, "ascii")
    assert lines[0].startswith("+- m.onnx ---")
    assert re.fullmatch(r"\| nodes +2  -> +1  -50.0% +\|", lines[1])


def test_names_that_the_encoding_lacks(folder: Path) -> None:
    write(folder / "m\u00f6.onnx")
    options = OptimizeOptions(dry_run=True)
    assert "m\\xf6.onnx" in shown(60, outcome_of("m\u00f6.onnx", options), options, "ascii")[0]


def test_long_paths_stay_whole(folder: Path) -> None:
    name = "a" * 100 + ".onnx"
    write(folder / name)
    options = OptimizeOptions(output=str(folder / f"out_{name}"))
    lines = shown(60, outcome_of(name, options), options)
    assert len(lines[0]) == 60
    assert any(line.startswith(f"wrote {options.output} in ") for line in lines)


def test_the_result_in_a_pipe(folder: Path) -> None:
    write(folder / "m.onnx")
    run = maxfold("optimize", "m.onnx", "-o", "out.onnx")
    lines = run.stderr.splitlines()
    assert lines[0] == "m.onnx"
    assert re.fullmatch(r"  nodes +2  → +1  -50\.0%", lines[1])
    assert not set(run.stderr) & set("╭╮╰╯│─\x1b")
    assert all(line == line.rstrip() for line in lines)


def test_the_passes_that_changed_nothing(folder: Path) -> None:
    write(folder / "m.onnx")
    run = maxfold("optimize", "m.onnx", "--dry-run")
    assert re.search(r"^  fuse-max +1 change +(<?\d+ ms|[\d.]+ s)$", run.stderr, re.MULTILINE)
    assert re.search(r"^  \d+ other passes changed nothing$", run.stderr, re.MULTILINE)
    run = maxfold("optimize", "m.onnx", "--dry-run", "-v")
    assert re.search(r"^  fuse-add +0 changes ", run.stderr, re.MULTILINE)
    assert "other passes" not in run.stderr
    write(folder / "settled.onnx", SETTLED)
    assert (
        "  nothing to do: no pass found anything to change\n" in maxfold("optimize", "settled.onnx", "--check").stderr
    )


def test_no_passes(folder: Path) -> None:
    write(folder / "m.onnx")
    run = maxfold("optimize", "m.onnx", "--dry-run", "--passes", "fuse-max", "--skip", "fuse-max")
    assert "  no passes were run\n" in run.stderr


def test_quiet(folder: Path) -> None:
    write(folder / "m.onnx")
    run = maxfold("optimize", "m.onnx", "-o", "out.onnx", "-q")
    assert (run.status, run.stdout, run.stderr) == (0, "", "")
    assert fails_quietly()


def fails_quietly() -> bool:
    run = maxfold("optimize", "missing.onnx", "-o", "out.onnx", "-q")
    return run.status == 2 and run.stderr.count("\n") == 1


def test_explain(folder: Path) -> None:
    write(folder / "m.onnx", RELAXED_ONLY)
    run = maxfold("optimize", "m.onnx", "--dry-run", "--explain", "-q")
    assert run.stderr.splitlines() == [
        "",
        "1 rewrite declined",
        "  pass      operator  reason                                                   count  example",
        "  fuse-add  Add       x + 0.0 is not x for x = -0.0; only with --math relaxed      1  adding",
    ]
    write(folder / "settled.onnx", SETTLED)
    assert maxfold("optimize", "settled.onnx", "--dry-run", "--explain", "-q").stderr == "\nno rewrite was declined\n"


def test_explain_groups_by_reason(folder: Path) -> None:
    model = onnx.load(write(folder / "m.onnx", RELAXED_ONLY))
    for index in range(1200):
        model.graph.node.append(onnx.helper.make_node("Neg", ["y"], [f"t{index}"]))
        name = f"add{index}" if index else ""
        model.graph.node.append(onnx.helper.make_node("Add", [f"t{index}", "zero"], [f"z{index}"], name))
        model.graph.output.append(onnx.helper.make_tensor_value_info(f"z{index}", onnx.TensorProto.FLOAT, [3]))
    onnx.save(model, folder / "m.onnx")
    run = maxfold("optimize", "m.onnx", "--dry-run", "--explain", "-q", "--passes", "fuse-add")
    lines = run.stderr.splitlines()
    assert lines[1] == "1,201 rewrites declined"
    assert len(lines) == 4
    assert lines[3].split()[:2] == ["fuse-add", "Add"]
    assert lines[3].endswith("  1,201  add1")
    run = maxfold("optimize", "m.onnx", "--dry-run", "--explain", "-v", "--passes", "fuse-add")
    assert "    1,201 x x + 0.0" in run.stderr
    assert "adding (Add), z0 (Add), add1 (Add), " in run.stderr
    assert "add1199 (Add)" in run.stderr


def test_explain_on_a_terminal() -> None:
    why = "has 2 uses; a chain is one Max only where nothing else reads its results"
    declines = [
        DeclineRecord("fuse-max", f"/a/long/name/of/a/node/{index}", "Max", f"'t{index}' {why}") for index in (0, 1)
    ]
    outcome = SimpleNamespace(report=SimpleNamespace(declines=declines))
    lines = terminal_lines(lambda console: show_declines(console, [cast("Any", outcome)], is_full=False), 80)
    assert all(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) <= 80 for line in lines)
    assert len(lines) > 4
    text = "".join(lines)
    assert "... has 2 uses" in text
    assert "'t0'" not in text
    assert lines[-1].endswith("/a/long/name/of/a/node/0\x1b[0m")
    wide = terminal_lines(lambda console: show_declines(console, [cast("Any", outcome)], is_full=False), 180)
    assert len(wide) == 4
    assert "example" in wide[2]


@pytest.mark.parametrize(
    ("reasons", "groups"),
    [
        (["'a' has 2 uses", "'b' has 2 uses"], [("... has 2 uses", 2)]),
        (["'a' has 2 uses", "'b' has 13 uses"], [("... has ... uses", 2)]),
        (["'a' has 2 uses"], [("'a' has 2 uses", 1)]),
        (["shape [1, 2] may widen it", "shape [3] may widen it"], [("shape ... may widen it", 2)]),
        (['"it\'s" is kept', "'b' is kept"], [("... is kept", 2)]),
        (["float16 rounds", "float32 rounds"], [("float16 rounds", 1), ("float32 rounds", 1)]),
        (["x + 0.0 is not x", "x + 0.0 is not x"], [("x + 0.0 is not x", 2)]),
        (["b", "a", "b", "c"], [("b", 2), ("a", 1), ("c", 1)]),
        (["1,000 bytes, too many", "7 bytes, too many"], [("... bytes, too many", 2)]),
        (["the node's shape and its input's", "the node's type and its input's"],
         [("the node's shape and its input's", 1), ("the node's type and its input's", 1)]),
        (["x ...", "x 3"], [("x ...", 1), ("x 3", 1)]),
        ([], []),
    ],
)  # fmt: skip
def test_groups_of_declines(reasons: list[str], groups: list[tuple[str, int]]) -> None:
    found = group_declines(DeclineRecord("fuse-add", "n", "Add", reason) for reason in reasons)
    assert [(group.reason, group.count) for group in found] == groups


def test_a_group_of_declines() -> None:
    nodes = [("z", "Max"), ("", "Add"), ("b", "Add"), ("c", "Max")]
    declines = [DeclineRecord("fuse-max", node, operator, "no") for node, operator in nodes]
    (other, group) = group_declines([*declines, *[DeclineRecord("fuse-add", "", "Add", "no")] * 9])
    assert (group.rule, group.operators, group.count, group.example) == ("fuse-max", ("Add", "Max"), 4, "b")
    assert (other.rule, other.example) == ("fuse-add", "")


def test_several_inputs(folder: Path) -> None:
    write(folder / "a.onnx")
    write(folder / "b.onnx", SETTLED)
    run = maxfold("optimize", "a.onnx", "b.onnx", "--check")
    lines = run.stderr.splitlines()
    assert lines[0].split() == ["nodes", "bytes"]
    assert lines[1].split()[:5] == ["a.onnx", "2", "→", "1", "-50.0%"]
    assert lines[2].split()[:5] == ["b.onnx", "1", "→", "1", "same"]
    assert lines[3].split()[:5] == ["all", "3", "→", "2", "-33.3%"]
    assert lines[4] == "nothing written (--check): 1 of 2 models would change"


def test_several_inputs_on_a_narrow_terminal(folder: Path) -> None:
    name = "the_long_name_of_a_model_that_somebody_exported.onnx"
    write(folder / name)
    options = OptimizeOptions(dry_run=True)
    outcomes = [outcome_of(name, options)] * 2
    lines = terminal_lines(lambda console: show_batch(console, outcomes, options), 60, color_system=None)
    assert all(len(line) <= 60 for line in lines)
    assert lines[1].startswith("the_lo")
    assert ".onnx  " in lines[1]


def test_names_with_control_characters(folder: Path) -> None:
    text = RELAXED_ONLY.replace("[adding] ", "")
    model = onnx.load(write(folder / "m.onnx", text))
    model.graph.node[1].name = "evil\x1b]0;title\x07\n[bold]name"
    onnx.save(model, folder / "m.onnx")
    run = maxfold("optimize", "m.onnx", "--dry-run", "--explain")
    assert "evil\\x1b]0;title\\x07\\n[bold]name\n" in run.stderr
    assert "\x1b" not in run.stderr


@pytest.mark.parametrize(
    ("nbytes", "text"),
    [
        (0, "0 B"), (999, "999 B"), (1000, "1.00 kB"), (9994, "9.99 kB"), (9995, "10.0 kB"), (99_949, "99.9 kB"),
        (99_950, "100 kB"), (999_499, "999 kB"), (999_500, "1.00 MB"), (5_110_000, "5.11 MB"),
        (2_400_000_000, "2.40 GB"),
        (10**13, "10.0 TB"), (10**16, "10000 TB"), (None, "?"),
    ],
)  # fmt: skip
def test_sizes(nbytes: int | None, text: str) -> None:
    assert bytes_text(nbytes) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "<1 ms"), (0.0123, "12 ms"), (0.0994, "99 ms"), (0.1, "0.10 s"), (9.99, "9.99 s"), (12.34, "12.3 s"),
     (119.4, "119.4 s"), (200, "3 min 20 s")],
)  # fmt: skip
def test_times(seconds: float, text: str) -> None:
    assert seconds_text(seconds) == text


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [(0, 0, "same"), (0, 5, "new"), (5, 0, "-100.0%"), (200, 150, "-25.0%"), (100, 103, "+3.0%"),
     (9999, 9998, "-<0.1%"), (9999, 10_000, "+<0.1%")],
)  # fmt: skip
def test_changes(before: int, after: int, text: str) -> None:
    assert change_text(before, after) == text


def test_layout() -> None:
    assert counted(1, "node") == "1 node"
    assert counted(1234, "node") == "1,234 nodes"
    assert shortened("short", 10) == "short"
    assert wrapped("a long-ish\x1b text", 5) == ["a long-ish\\x1b text"]
    assert wrapped(f"one two {'x' * 30}", 20) == ["one two", "x" * 30]
    assert shortened("abcdefghijklmnop", 10) == "abc...mnop"
    assert [line.plain for line in columns([["a", "1"], ["bbb", "22"]], "lr")] == ["a     1", "bbb  22"]
    assert [line.plain for line in columns([["\u5b57", "x"], ["abc", "y"]], "ll")] == ["\u5b57   x", "abc  y"]
