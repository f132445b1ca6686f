"""What can be done about declines: each reason ends with it."""

from __future__ import annotations

import pytest

from maxfold.optimizer.advice import advice, with_advice
from maxfold.optimizer.report import group_declines
from maxfold.passes import DeclineRecord

KEPT = "'y' is to be kept"


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("x + 0.0 is not x for x = -0.0; only with --math relaxed", ""),
        ("the file would grow by 8 bytes, more than 4; --max-growth allows more", ""),
        ("part of a Gelu, left as runtimes fuse it", "the runtime fuses it"),
        ("'k' is a graph input with a default value, which the caller may override", "take it out of the inputs"),
        (KEPT, "leave out --keep"),
        ("it is in training mode", "export it for inference"),
        ("'y' is a graph output and 'x' is not made by a node beside it", "an output stays"),
        ("'a' is used elsewhere", "it is needed there"),
        ("how many dimensions its target has is not known", "--dim or --input-shape"),
        ("its target has more than one element that is neither known nor copied", "--dim or --input-shape"),
        ("'k' is neutral but its shape [4] may widen the result", "--dim or --input-shape"),
        ("its shape is not constant", "a constant"),
        ("int32 does not hold every float", "values would change"),
        ("its operands have other ranks", "it stays"),
    ],
)
def test_each_reason_has_its_advice(reason: str, said: str) -> None:
    assert said in advice(reason)
    assert with_advice(reason) == (f"{reason}: {advice(reason)}" if said else reason)


def test_groups_have_it_too() -> None:
    (group,) = group_declines([DeclineRecord("fuse-max", "n", "Max", KEPT)])
    assert group.advice == advice(KEPT)
