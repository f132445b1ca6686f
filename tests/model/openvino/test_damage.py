"""Files damaged at random: refused in one line, or rewritten to what OpenVINO reads from the damaged ones."""

from __future__ import annotations

import random
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from maxfold.model import ModelError
from tests.model.openvino.oracle import Oracle
from tests.model.openvino.rewriting import rewrite

ROUNDS = 60
_WORDS = ("", "0", "-1", "1", "2", "7", "1, 1", "true", "f32", "?", "a,b", "x\\", "4294967296", "opset1", "Add", "é")

Element = ET.Element


def _damage(root: Element, source: random.Random) -> None:
    """One change to an attribute or an element somewhere."""
    elements = list(root.iter())
    element = source.choice(elements)
    parent = source.choice([item for item in elements if len(item)])
    kind = source.randrange(6)
    if kind <= 1 and element.attrib:
        element.set(source.choice(list(element.attrib)), source.choice(_WORDS))
    elif kind == 2 and element.attrib:
        element.attrib.pop(source.choice(list(element.attrib)))
    elif kind == 3:
        parent.remove(source.choice(list(parent)))
    elif kind == 4:
        parent.insert(source.randrange(len(parent)), source.choice(list(parent)))
    else:
        child = source.choice(list(parent))
        parent.remove(child)
        parent.insert(source.randrange(len(parent) + 1), child)


@pytest.mark.parametrize("name", ["loop", "iterator", "if", "state", "names", "mixed fp16"])
def test_attributes_and_elements(name: str, oracle: Oracle, tmp_path: Path) -> None:
    source = random.Random(name)
    whole, damaged, target = tmp_path / "whole.xml", tmp_path / "damaged.xml", tmp_path / "target.xml"
    oracle.make(name, whole)
    damaged.with_suffix(".bin").write_bytes(whole.with_suffix(".bin").read_bytes())
    wrong, judged = {}, 0
    for round_number in range(ROUNDS):
        tree = ET.parse(whole)
        for _ in range(source.randrange(1, 3)):
            _damage(tree.getroot(), source)
        tree.write(damaged, encoding="utf-8")
        target.unlink(missing_ok=True)
        try:
            rewrite(damaged, target)
        except ModelError as refusal:
            message = str(refusal)
            if not message.isprintable() or "damaged" not in message or target.exists():
                wrong[round_number] = [message]
            continue
        if oracle.error(damaged) is not None:
            continue
        judged += 1
        if lines := oracle.compare(damaged, target):
            wrong[round_number] = lines
    assert wrong == {}
    assert judged > ROUNDS // 10


@pytest.mark.parametrize("seed", range(3))
def test_bytes(seed: int, oracle: Oracle, tmp_path: Path) -> None:
    source = random.Random(seed)
    damaged, target = tmp_path / "damaged.xml", tmp_path / "target.xml"
    oracle.make(("loop", "names", "state")[seed], damaged)
    whole = damaged.read_bytes()
    wrong = {}
    for round_number in range(ROUNDS):
        data = bytearray(whole)
        for _ in range(source.randrange(1, 4)):
            data[source.randrange(len(data))] = source.randrange(256)
        damaged.write_bytes(data)
        try:
            rewrite(damaged, target)
        except ModelError as refusal:
            message = str(refusal)
            if not message.isprintable() or "damaged" not in message:
                wrong[round_number] = [message]
            continue
        if oracle.error(damaged) is None and (lines := oracle.compare(damaged, target)):
            wrong[round_number] = lines
    assert wrong == {}
