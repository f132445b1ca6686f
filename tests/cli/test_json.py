"""JSON: what docs/json.md says is what there is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx
import pytest

from maxfold.cli.output import to_json
from tests.cli.models import NOTED, RELAXED_ONLY, SETTLED, write, write_external
from tests.cli.shell import fails, maxfold

DOCUMENT = Path(__file__).parents[2] / "docs" / "json.md"

# Fields whose keys are data: names of operators, passes, ...
_MAPS = {
    "opsets", "operators", "metadata", "possible.*.passes", "passes[].options", "hints[].arguments",
    "hints[].operators",
}  # fmt: skip


def documented() -> dict[str, set[str]]:
    """The fields of each schema, from the tables of the document."""
    schemas: dict[str, set[str]] = {}
    for section in DOCUMENT.read_text(encoding="utf-8").split("\n## ")[1:]:
        name = section.split("\n", 1)[0].strip("`")
        schemas[name] = set(re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE))
    return schemas


def fields(value: Any, place: str = "") -> Iterator[str]:
    """The paths of all fields below a value, as the document writes them."""
    if isinstance(value, list):
        for item in value:
            yield from fields(item, f"{place}[]")
    if not isinstance(value, dict):
        return
    for key, item in value.items():
        name = "*" if place == "possible" else key
        path = f"{place}.{name}" if place else name
        if name != "*":
            yield path
        if isinstance(item, dict) and "schema" in item:
            check(item)
        elif path not in _MAPS:
            yield from fields(item, path)


def check_inspection(value: dict[str, Any]) -> None:
    """Outputs are documented as having the fields of inputs."""
    check({name: item for name, item in value.items() if name != "outputs"} | {"outputs": []})
    for item in value["inputs"] + value["outputs"]:
        assert {f"inputs[].{name}" for name in item} <= documented()[value["schema"]]


def check(value: dict[str, Any], missing: tuple[str, ...] = ()) -> None:
    """The value has the documented fields of its schema; those in `missing` had no occasion."""
    schema = value["schema"]
    assert set(fields(value)) == documented()[schema] - set(missing), schema


def test_the_report(folder: Path) -> None:
    write(folder / "m.onnx", NOTED)
    pytest.importorskip("onnxruntime")
    run = maxfold("optimize", "m.onnx", "-o", "out.onnx", "--json", "--report", "r.json", "--verify")
    report = json.loads(run.stdout)
    # Both models are of one format, and `maxfold verify` is what names them.
    verification = report.pop("verification")
    check(report | {"verification": None})
    assert set(fields(verification)) == documented()["maxfold.verification/1"] - {"first", "second"}
    report["verification"] = verification
    assert json.loads((folder / "r.json").read_text()) == report
    assert "wrote out.onnx" in run.stderr
    assert report["schema"] == "maxfold.report/1"
    assert (report["input"], report["output"], report["written"], report["changed"]) == (
        "m.onnx",
        "out.onnx",
        True,
        True,
    )
    assert (report["nodes_before"], report["nodes_after"], report["relaxed_gain"]) == (4, 3, 1)
    assert report["input_bytes"] == (folder / "m.onnx").stat().st_size
    assert report["output_bytes"] == (folder / "out.onnx").stat().st_size
    assert report["declines"][0] | {"reason": ""} == {
        "rule": "fuse-add", "node": "adding", "operator": "Add", "reason": "", "relaxed_gain": 1,
    }  # fmt: skip
    assert report["notes"][0] | {"note": ""} == {
        "rule": "fold-constants", "node": "folded", "operator": "Exp", "note": "",
    }  # fmt: skip
    assert report["verification"]["is_equal"] is True
    assert report["failure"] is None


def test_the_report_where_nothing_is_written(folder: Path) -> None:
    write(folder / "m.onnx")
    write(folder / "settled.onnx", SETTLED)
    report = json.loads(maxfold("optimize", "m.onnx", "--check", "--json", "-q").stdout)
    assert (report["written"], report["changed"], report["output"]) == (False, True, None)
    report = json.loads(maxfold("optimize", "settled.onnx", "--in-place", "--json", "-q").stdout)
    assert (report["written"], report["changed"], report["output"]) == (False, False, "settled.onnx")


def test_a_report_with_check(folder: Path) -> None:
    write(folder / "m.onnx")
    assert maxfold("optimize", "m.onnx", "--check", "--report", "r.json", "-q").status == 1
    assert json.loads((folder / "r.json").read_text())["changed"] is True
    assert sorted(path.name for path in folder.iterdir()) == ["m.onnx", "r.json"]


def test_reports(folder: Path) -> None:
    write(folder / "a.onnx", RELAXED_ONLY)
    write(folder / "b.onnx")
    (folder / "bad.onnx").write_bytes(b"")
    run = maxfold("optimize", "a.onnx", "bad.onnx", "b.onnx", "--out-dir", "out", "--json", "-q")
    assert run.status == 2
    reports = json.loads(run.stdout)
    assert set(reports) == {"schema", "reports", "errors"}
    assert {"schema", "reports", "errors", "errors[].input", "errors[].error"} == documented()["maxfold.reports/1"]
    assert [report["input"] for report in reports["reports"]] == ["a.onnx", "b.onnx"]
    assert [report["output"] for report in reports["reports"]] == ["out/a.onnx", "out/b.onnx"]
    assert reports["errors"] == [{"input": "bad.onnx", "error": "bad.onnx: is empty; give the path of a model file"}]
    assert "maxfold: error: " + reports["errors"][0]["error"] == run.stderr.strip()


def test_an_error_leaves_no_json(folder: Path) -> None:
    fails("optimize", "missing.onnx", "-o", "out.onnx", "--json", "--report", "r.json")
    fails("inspect", "missing.onnx", "--json")
    assert list(folder.iterdir()) == []


def test_the_inspection(folder: Path) -> None:
    model = onnx.load(write_external(folder / "m.onnx"), load_external_data=False)
    model.metadata_props.add(key="made by", value="hand")
    onnx.save(model, folder / "m.onnx")
    inspection = json.loads(maxfold("inspect", "m.onnx", "--json").stdout)
    check_inspection(inspection)
    assert inspection["input"] == "m.onnx"
    assert inspection["operators"] == {"Max": 2}
    assert inspection["opsets"] == {"": 13}
    assert inspection["external_constants"] == 1
    assert inspection["metadata"] == {"made by": "hand"}
    assert inspection["possible"]["exact"]["nodes"] == 1
    assert inspection["possible"]["relaxed"]["passes"]["fuse-max"] == 1


def test_the_list_of_passes() -> None:
    passes = json.loads(maxfold("passes", "--json").stdout)
    check(passes)
    assert {"name", "summary", "mode", "options"} == set(passes["passes"][0])
    options = {entry["name"]: entry["options"] for entry in passes["passes"]}
    assert options["fold-constants"] == {"max_growth_bytes": 65536, "fold_quantized": False}


def test_what_json_lacks() -> None:
    value = {"a": float("inf"), "b": [float("nan"), 1.5], "c": {"d": float("-inf")}, "e": "\u00e9\x1b"}
    text = to_json(value)
    assert json.loads(text) == {"a": None, "b": [None, 1.5], "c": {"d": None}, "e": "\u00e9\x1b"}
    assert text.isascii()
    assert "\x1b" not in text
