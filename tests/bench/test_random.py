"""Random models in worker processes, one of which ends or does not end."""

from __future__ import annotations

import os
import time

import pytest

from bench import random
from bench.random import Outcome
from tests.random_models import KINDS

DIES, HANGS = 2, 3


def check_seed(seed: int, kind: str) -> list[Outcome]:
    """Has trouble with two seeds."""
    if seed == DIES:
        os._exit(7)
    if seed == HANGS:
        time.sleep(60)
    return [Outcome(seed, "exact", "same bits")]


@pytest.mark.parametrize("kind", KINDS)
def test_seeds_are_checked_and_counted(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert random.main(["--seeds", "2", "--jobs", "1", "--kind", kind]) == 0
    assert "2 seeds in" in capsys.readouterr().out


def test_conversions_are_checked_and_refusals_counted(capsys: pytest.CaptureFixture[str]) -> None:
    assert random.main(["--convert", "--seeds", "4", "--jobs", "1"]) == 0
    told = capsys.readouterr().out
    assert "4 seeds in" in told
    assert "refused" in told
    assert "it has a default value, which IR cannot hold" in told


def test_a_seed_that_ends_its_process_or_takes_too_long_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random, "check_seed", check_seed)
    results = random.run(range(6), kind="whole", jobs=2, timeout_seconds=3.0)
    found = [outcome for outcomes in results for outcome in outcomes]
    assert sorted((outcome.seed, outcome.verdict, outcome.message) for outcome in found) == [
        (0, "same bits", ""),
        (1, "same bits", ""),
        (2, "failed", "the process ended with status 7"),
        (3, "failed", "not done after 3 s"),
        (4, "same bits", ""),
        (5, "same bits", ""),
    ]
