"""What loads goes on loading: models with bodies that never run, judged before and after.

    python -m tests.random_models.loading 0 1400       the models of these seeds; ends with status 1 if one is wrong

A file loads in three ways: in ONNX Runtime as it stands, with all its optimizations, and in onnx's full check.
"""

from __future__ import annotations

import sys
from collections import Counter

import onnx
import onnxruntime
from onnx import ModelProto

from maxfold.optimizer import optimize
from tests.random_models import NoModelError, RandomModel
from tests.random_models.checking import MODES
from tests.random_models.judging import judge
from tests.random_models.trial import options
from tests.random_models.untaken import untaken_model

_SHOWN = 300


def refusals(model: ModelProto) -> dict[str, str]:
    """Who refuses a model, and why."""
    found: dict[str, str] = {}
    for way in ("as it stands", "optimized"):
        settings = options()
        if way == "optimized":
            settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        try:
            onnxruntime.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])
        except Exception as error:
            found[way] = str(error)
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception as error:
        found["checked"] = str(error)
    return found


def assert_loads(before: ModelProto, after: ModelProto) -> None:
    """Who took a model takes it still."""
    given = refusals(before)
    lost = {way: reason for way, reason in refusals(after).items() if way not in given}
    assert not lost, "; ".join(f"{way}: {reason[:_SHOWN]}" for way, reason in lost.items())


def check_loading(case: RandomModel) -> int:
    """Optimizes a model in both modes; how many rewrites were declined so that it loads.

    Raises `AssertionError` where it does not, or a result is another.
    """
    declined = 0
    for math in MODES:
        after = ModelProto()
        after.CopyFrom(case.model)
        report = optimize(after, math=math)
        assert_loads(case.model, after)
        judge(case, after, relaxed=math == "relaxed", rounded=bool(report.notes))
        declined += sum("when the file is loaded" in decline.reason for decline in report.declines)
    return declined


def main(first: int, last: int) -> int:
    """Checks the models of seeds; how many are wrong."""
    counts: Counter[str] = Counter()
    for seed in range(first, last):
        try:
            declined = check_loading(untaken_model(seed))
        except NoModelError:
            counts["no model"] += 1
            continue
        except AssertionError as error:
            counts["wrong"] += 1
            sys.stdout.write(f"seed {seed}: {error}\n")
            continue
        counts["right"] += 1
        counts["right, with declines"] += declined > 0
    sys.stdout.write(", ".join(f"{count} {what}" for what, count in counts.items()) + "\n")
    return counts["wrong"]


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])) > 0)
