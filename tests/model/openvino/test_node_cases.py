"""Load -> save of the IR of all operator cases that OpenVINO converts."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from maxfold.model import ModelError
from tests.model.openvino.oracle import Oracle, OracleError
from tests.model.openvino.rewriting import problems, rewrite

CHUNKS = 8
LEAST_FILES = 1000
# Compiling takes most of the time: a sample on each run, all of them when asked.
SAMPLE = None if os.environ.get("MAXFOLD_ALL_IR") else 150


@pytest.fixture(scope="module")
def files(oracle: Oracle, tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """The IR files, by the number of the case."""
    folder = tmp_path_factory.mktemp("cases")
    found = {}
    for number in range(oracle.case_count()):
        try:
            found[number] = oracle.convert_case(number, folder)
        except OracleError:
            continue
    return found


def test_most_cases_are_converted(files: dict[int, Path]) -> None:
    assert len(files) >= LEAST_FILES


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_load_save_gives_the_same_model(chunk: int, files: dict[int, Path], oracle: Oracle, tmp_path: Path) -> None:
    wrong = {}
    for path in list(files.values())[chunk::CHUNKS]:
        try:
            lines = problems(oracle, path, tmp_path)
        except ModelError as error:
            lines = [f"refused: {error}"]
        if lines:
            wrong[path.stem] = lines
    assert wrong == {}


def test_what_is_written_runs_to_the_same_bits(files: dict[int, Path], oracle: Oracle, tmp_path: Path) -> None:
    numbers = sorted(files) if SAMPLE is None else random.Random(0).sample(sorted(files), SAMPLE)
    target = tmp_path / "m.xml"
    wrong, judged = {}, 0
    for number in numbers:
        rewrite(files[number], target)
        lines = oracle.run(files[number], target, case=number)
        judged += lines is not None
        if lines:
            wrong[files[number].stem] = lines
    assert wrong == {}
    assert judged > len(numbers) * 3 // 4
