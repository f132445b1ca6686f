"""IR files that OpenVINO makes from the test cases of ONNX operators."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path
from typing import Any

import openvino as ov
from onnx.backend.test.case.node import collect_testcases

EVERY_FOURTH = 4


@cache
def cases() -> list[Any]:
    """All cases that have a model, ordered by name."""
    with warnings.catch_warnings():
        # The cases compute infinities and NaN on purpose.
        warnings.simplefilter("ignore")
        found: list[Any] = collect_testcases(None)
    return sorted((case for case in found if case.model is not None), key=lambda case: str(case.name))


def convert(core: ov.Core, number: int, folder: Path) -> Path:
    """Writes case `number` as IR, every fourth one with its constants in FP16.

    Raises:
        RuntimeError: OpenVINO does not convert it.
    """
    case = cases()[number]
    path = folder / f"{case.name}.xml"
    model = core.read_model(case.model.SerializeToString(), b"")
    if number % EVERY_FOURTH == 0:
        ov.save_model(model, path, compress_to_fp16=True)
    else:
        ov.serialize(model, path)
    return path


def inputs(number: int) -> list[Any]:
    """The inputs that the case itself provides, in the order of its graph inputs."""
    provided, _ = cases()[number].data_sets[0]
    return list(provided.values()) if isinstance(provided, dict) else list(provided)
