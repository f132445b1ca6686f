"""Load and save, and what must hold afterwards."""

from __future__ import annotations

from pathlib import Path

from maxfold.model import read_openvino, write_openvino
from tests.model.openvino.document import file_differences
from tests.model.openvino.oracle import Oracle


def rewrite(source: Path, target: Path) -> None:
    """Loads and saves; the count that the writer returns and the files beside it are checked."""
    count = write_openvino(read_openvino(source), target)
    assert count == target.stat().st_size + target.with_suffix(".bin").stat().st_size


def both_files(path: Path) -> tuple[bytes, bytes | None]:
    """The bytes of the `.xml` and of the `.bin`, None where there is no `.bin`."""
    weights = path.with_suffix(".bin")
    return path.read_bytes(), weights.read_bytes() if weights.exists() else None


def problems(oracle: Oracle, source: Path, folder: Path, *, ports: bool = True) -> list[str]:
    """What is wrong with load -> save of `source`, and with a second round; leaves `folder`/rewritten.xml there."""
    first, second = folder / "rewritten.xml", folder / "again.xml"
    before = both_files(source)
    rewrite(source, first)
    lines = oracle.compare(source, first)
    lines += file_differences(source, first, ports=ports)
    rewrite(first, second)
    if both_files(first) != both_files(second):
        lines.append("a second load -> save changed the bytes")
    if both_files(source) != before:
        lines.append("the source was changed")
    return lines
