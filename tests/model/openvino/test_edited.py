"""Models that OpenVINO wrote, before and after changes to the files that it still reads."""

from __future__ import annotations

import os
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.model.openvino.edits import EDITS, UNREADABLE, padded
from tests.model.openvino.made import ELEMENT_TYPES, MODELS, PACKED
from tests.model.openvino.oracle import Oracle
from tests.model.openvino.rewriting import problems

# The structure is compared each time; compiling takes longer than all the rest.
EDITS_TO_RUN = (
    tuple(EDITS) if os.environ.get("MAXFOLD_ALL_IR") else ("layers in reverse", "padded offsets", "version 10")
)
EDITED = [name for name in MODELS if not name.startswith("constants")]
# Runs of others crash OpenVINO, sooner or later.
SAFE_TO_RUN = [name for name in MODELS if name not in [f"constants {kind}" for kind in PACKED]]


def test_every_element_type_is_here() -> None:
    assert {f"constants {name}" for name in ELEMENT_TYPES} <= set(MODELS)


@pytest.mark.parametrize("name", MODELS)
def test_load_save_gives_the_same_model(name: str, oracle: Oracle, tmp_path: Path) -> None:
    source = tmp_path / "m.xml"
    oracle.make(name, source)
    assert problems(oracle, source, tmp_path) == []
    if name in SAFE_TO_RUN:
        assert not oracle.run(source, tmp_path / "rewritten.xml")


@pytest.mark.parametrize(
    ("name", "edit"), [(name, edit) for name in EDITED for edit in EDITS if (name, edit) not in UNREADABLE]
)
def test_an_edited_file_gives_the_same_model(name: str, edit: str, oracle: Oracle, tmp_path: Path) -> None:
    source = tmp_path / "m.xml"
    oracle.make(name, source)
    tree = ET.parse(source)
    EDITS[edit](tree.getroot())
    tree.write(source, encoding="utf-8")
    if edit == "padded offsets":
        weights = source.with_suffix(".bin")
        weights.write_bytes(padded(weights.read_bytes()))
    assert oracle.error(source) is None, "OpenVINO does not read this variant"
    assert problems(oracle, source, tmp_path, ports=False) == []
    if edit in EDITS_TO_RUN:
        assert not oracle.run(source, tmp_path / "rewritten.xml")
