"""A module imports only from its own floor or from floors below."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.contract.repository import FLOORS, PACKAGE, ROOT, imported_modules, python_files

BESIDE_THE_HOUSE = ("bench", "tests", "examples", "docs")


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", python_files(*FLOORS), ids=relative)
def test_imports_go_down(path: Path) -> None:
    own = FLOORS.index(relative(path).split("/")[0])
    for name in imported_modules(path):
        parts = name.split(".")
        assert parts[0] not in BESIDE_THE_HOUSE, f"{relative(path)} imports {name}"
        assert parts[0] not in FLOORS, f"{relative(path)} imports {name}, which has that name only in the source"
        if parts[0] == "maxfold":
            assert parts[1] in FLOORS, f"{relative(path)} imports {name}"
            assert FLOORS.index(parts[1]) <= own, f"{relative(path)} imports {name} from a floor above"


def test_the_package_root_stands_on_the_python_api_and_the_command_line() -> None:
    imported = {name for path in python_files(PACKAGE) for name in imported_modules(path) if name.startswith("maxfold")}
    assert {name.rpartition(".")[0] for name in imported} == {"maxfold.optimizer", "maxfold.cli"}


def test_every_floor_has_modules() -> None:
    for floor in FLOORS:
        assert python_files(floor), f"{floor}/ is empty, so the test of its imports tests nothing"


def test_nothing_at_the_root_can_shadow_the_installed_package() -> None:
    assert not (ROOT / "maxfold").exists()
    assert not (ROOT / "maxfold.py").exists()


def test_the_installed_package_is_imported_inside_a_checkout() -> None:
    """From its root, with the working directory first on the path."""
    code = "import maxfold, maxfold.cli, maxfold.passes; print(maxfold.__version__)"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == version("maxfold")
