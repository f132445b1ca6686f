"""Every package that the code imports is declared, and optional ones are imported only when needed."""

from __future__ import annotations

import re
import sys

from tests.contract.repository import FLOORS, ROOT, imported_by, imported_modules, parsed, pyproject, python_files

DISTRIBUTIONS = {"google": "protobuf", "onnx_graphsurgeon": "onnx-graphsurgeon"}
"""Distribution names of packages whose import name differs from it."""


def declared(requirements: list[str]) -> set[str]:
    return {re.split(r"[^A-Za-z0-9._-]", requirement)[0] for requirement in requirements}


def third_party(names: list[str]) -> set[str]:
    tops = {name.split(".")[0] for name in names} - {"maxfold"} - sys.stdlib_module_names
    return {DISTRIBUTIONS.get(top, top) for top in tops if top != "tomllib"}


def test_imports_are_declared() -> None:
    project = pyproject()["project"]
    required = declared(project["dependencies"])
    optional = declared(project["optional-dependencies"]["verify"])
    for path in python_files(*FLOORS):
        undeclared = third_party(imported_modules(path)) - required - optional
        assert not undeclared, f"{path.relative_to(ROOT)} imports {sorted(undeclared)}"


def test_declared_dependencies_are_imported() -> None:
    used = third_party([name for path in python_files(*FLOORS) for name in imported_modules(path)])
    project = pyproject()["project"]
    assert not declared(project["dependencies"]) - used
    assert not declared(project["optional-dependencies"]["verify"]) - used


def test_extras_are_not_imported_with_a_module() -> None:
    project = pyproject()["project"]
    optional = declared(project["optional-dependencies"]["verify"]) - declared(project["dependencies"])
    for path in python_files(*FLOORS):
        at_import = [name for statement in parsed(path).body for name in imported_by(statement)]
        assert not third_party(at_import) & optional, path.relative_to(ROOT)


def test_every_dependency_has_a_reason() -> None:
    project = pyproject()["project"]
    table = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = project["dependencies"] + [item for extra in project["optional-dependencies"].values() for item in extra]
    for name in declared(named):
        assert re.search(rf"^\| `{re.escape(name)}` \|", table, re.MULTILINE), f"{name} has no row"
