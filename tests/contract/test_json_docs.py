"""docs/json.md lists the fields of what is written as JSON, and no others."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import onnx.parser
import pytest

from maxfold.optimizer import difference, inspection, operator_table, report, verification
from maxfold.optimizer.pipeline import PassInfo
from maxfold.passes import DeclineRecord
from maxfold.passes.rule import NoteRecord
from tests.contract.repository import ROOT


def names(dataclass: type, prefix: str = "") -> set[str]:
    return {prefix + field.name for field in fields(dataclass)}


def documented(schema: str) -> set[str]:
    """The fields in the table of a schema."""
    text = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")
    _, _, section = text.partition(f"## `{schema}`\n")
    rows = re.findall(r"^\| (`.*?`) \|", section.partition("\n## ")[0], re.MULTILINE)
    return set(re.findall(r"`([^`]+)`", " ".join(rows)))


def printed(*arguments: str) -> dict[str, Any]:
    run = subprocess.run(
        [sys.executable, "-m", "maxfold.cli", *arguments, "--json"],
        capture_output=True,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    content = json.loads(run.stdout)
    assert isinstance(content, dict)
    return content


@pytest.fixture
def model(tmp_path: Path) -> str:
    """A small model with something to fold."""
    path = tmp_path / "model.onnx"
    text = """<ir_version: 8, opset_import: ["" : 13]>
        g (float[N] x) => (float[N] y) <float a = {1}, float b = {2}> { c = Add(a, b)  y = Max(x, c) }"""
    onnx.save(onnx.parser.parse_model(text), path)
    return str(path)


DATACLASSES = {
    report.REPORT_SCHEMA: names(report.Report)
    | names(report.PassReport, "passes[].")
    | names(DeclineRecord, "declines[].")
    | names(NoteRecord, "notes[].")
    | names(report.Hint, "hints[].")
    | {"hints[].options"}
    | {f"decline_groups[].{name}" for name in ("pass", "reason", "advice", "count", "example")},
    difference.DIFFERENCE_SCHEMA: names(difference.Difference)
    | {
        name
        for kind in ("interface", "metadata", "nodes", "constants")
        for name in names(difference.Change, f"{kind}[].")
    }
    | {f"operators[].{name}" for name in ("domain", "operator", "before", "after")},
    inspection.INSPECTION_SCHEMA: names(inspection.Inspection)
    | names(inspection.TensorInfo, "inputs[].")
    | names(inspection.ConstantInfo, "largest_constants[]."),
    verification.VERIFICATION_SCHEMA: names(verification.Verification)
    | names(verification.FedInput, "inputs[].")
    | names(verification.OutputComparison, "outputs[]."),
    "maxfold.passes/1": names(PassInfo, "passes[]."),
    operator_table.OPERATORS_SCHEMA: names(operator_table.OperatorPair, "operators[]."),
}


@pytest.mark.parametrize("schema", DATACLASSES)
def test_fields_of_the_api_are_documented(schema: str) -> None:
    assert DATACLASSES[schema] - documented(schema) == set()


@pytest.mark.parametrize("schema", DATACLASSES)
def test_nested_fields_that_are_documented_exist(schema: str) -> None:
    nested = {name for name in documented(schema) if "[]." in name}
    assert nested - DATACLASSES[schema] == set()


def test_fields_that_the_command_line_prints(model: str) -> None:
    optimized, compared = ("optimize", model, "--dry-run", "-q"), ("diff", model, model)
    for arguments in (optimized, compared, ("inspect", model), ("passes",), ("ops", "max")):
        content = printed(*arguments)
        assert set(content) == {name for name in documented(content["schema"]) if not re.search(r"[.*]", name)}


def test_what_inspect_says_is_possible(model: str) -> None:
    possible = printed("inspect", model)["possible"]
    assert set(possible) == {"exact", "relaxed"}
    fields_of_a_mode = {name for name in documented(inspection.INSPECTION_SCHEMA) if name.startswith("possible.")}
    for content in possible.values():
        assert {f"possible.*.{name}" for name in content} == fields_of_a_mode
