"""Random models over the bridge: the interface and the results come back, or the refusal names what is missing."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import onnx
import pytest

from maxfold.optimizer import Model, load
from maxfold.passes.conversion import ConversionError
from tests.random_models import NoModelError, RandomModel, bridge
from tests.random_models.bridge import CONVERTED, WAYS, Check, bridge_model

SEEDS = range(40)
# OpenVINO's kernels take their time.
FEW = range(100, 110)


@pytest.mark.parametrize(
    ("way", "seed"),
    [(way, seed) for way in WAYS for seed in (FEW if "OpenVINO" in way else SEEDS)],
)  # fmt: skip
def test_models_come_back(way: str, seed: int, tmp_path: Path) -> None:
    model, check = WAYS[way]
    try:
        check(model(seed), tmp_path)
    except NoModelError as error:
        pytest.skip(str(error))
    except ConversionError as error:
        refused = {refusal.operator for refusal in error.refusals if refusal.reason == "the operator is not covered"}
        if refused & CONVERTED:
            raise


def test_most_models_are_converted(tmp_path: Path) -> None:
    verdicts = Counter[str]()
    model, check = WAYS["plain"]
    for seed in SEEDS:
        try:
            verdicts[check(model(seed), tmp_path)] += 1
        except NoModelError:
            continue
        except ConversionError:
            verdicts["refused"] += 1
    assert verdicts["refused"] <= len(SEEDS) // 5
    assert verdicts["same bits"] >= len(SEEDS) // 2


def test_models_of_chosen_operators() -> None:
    case = bridge_model(5)
    assert case.operators <= CONVERTED
    assert not {item.name for item in case.model.graph.input} & {item.name for item in case.model.graph.initializer}


@pytest.mark.parametrize("way", ["plain", "in OpenVINO"])
def test_the_judge_sees_a_wrong_result(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a conversion that takes Add for Sub."""

    def wrong(source: str | Path | onnx.ModelProto) -> Model:
        if isinstance(source, onnx.ModelProto):
            source = onnx.ModelProto.FromString(source.SerializeToString())
            for node in source.graph.node:
                node.op_type = "Sub" if node.op_type == "Add" else node.op_type
        return load(source)

    monkeypatch.setattr(bridge, "load", wrong)
    model, check = WAYS[way]
    assert any(is_seen(model(seed), check, tmp_path) for seed in range(200, 230))


def is_seen(case: RandomModel, check: Check, folder: Path) -> bool:
    try:
        check(case, folder)
    except AssertionError as error:
        return "is not" in str(error)
    except ConversionError:
        pass
    return False
