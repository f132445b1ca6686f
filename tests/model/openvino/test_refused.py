"""What no reader can use is refused with one line that names the file and the place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from maxfold.model import ModelError, read_openvino
from tests.model.openvino import refused
from tests.model.openvino.oracle import Oracle
from tests.model.openvino.refused import BODIES, Bad, break_body

VARIANTS = {f"{group}: {name}": bad for group, bads in refused.GROUPS.items() for name, bad in bads.items()}


def assert_refused(path: Path, names: str) -> None:
    with pytest.raises(ModelError) as caught:
        read_openvino(path)
    line = str(caught.value)
    assert line.isprintable(), repr(line)
    assert len(line) < 1000
    assert path.name in line
    assert re.search(names, line.replace(str(path.parent), "")), line


@pytest.mark.parametrize("bad", VARIANTS.values(), ids=VARIANTS)
def test_one_line_names_the_place(bad: Bad, oracle: Oracle, tmp_path: Path) -> None:
    path = bad.ir.write(tmp_path)
    assert (oracle.error(path) is None) == bad.lenient
    assert_refused(path, bad.names)


@pytest.mark.parametrize("name", BODIES)
def test_broken_bodies(name: str, oracle: Oracle, tmp_path: Path) -> None:
    path = break_body(oracle, name, tmp_path)
    assert oracle.error(path) is not None, "OpenVINO reads this variant"
    assert_refused(path, "iterator|Loop|If|TensorIterator")
