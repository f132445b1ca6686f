"""No Python file is so long that it must do several things."""

from __future__ import annotations

from tests.contract.repository import FLOORS, PACKAGE, ROOT, python_files

LONGEST_LINES = 400


def test_no_file_is_over_the_limit() -> None:
    lengths = {
        path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in python_files(*FLOORS, PACKAGE, "tests", "bench", "examples")
    }
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_LINES} == {}
