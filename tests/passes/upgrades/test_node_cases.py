"""Steps that change nothing, or only look: ONNX's own node tests, put back to the oldest version that takes them."""

from __future__ import annotations

import importlib
import pkgutil
import warnings
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto

from maxfold.model import ModelError
from maxfold.passes import upgrades
from tests.passes.upgrades.running import newest_runnable, upgraded
from tests.run import Array, assert_equal, in_onnxruntime

CASES_PER_OPERATOR = 2

# Modules of node tests that take seconds to make; pooling has tests of its own.
SLOW_MODULES = ("averagepool", "lppool", "maxpool")

# ONNX Runtime has another kernel from these versions on, which rounds differently; text and formula are the same.
OTHER_KERNELS = {("AveragePool", 19), ("Attention", 25), ("ReduceLogSum", 28), ("ReduceLogSumExp", 28)}

# Operators with tests of their own beside this one: no node test fits an old version, ONNX Runtime does not run them on
# both sides of a step, or they draw at random.
ELSEWHERE = {
    "AveragePool", "Bernoulli", "Cast", "CastLike", "GRU", "GlobalLpPool", "GroupNormalization", "LpPool", "MaxPool",
    "MaxRoiPool", "MeanVarianceNormalization", "Multinomial", "Optional", "OptionalGetElement", "OptionalHasElement",
    "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "ReduceL1", "ReduceL2", "ReduceMean",
    "ReduceSum", "ReduceSumSquare", "RoiAlign",
}  # fmt: skip

Case = tuple[ModelProto, dict[str, Array]]


@pytest.fixture(scope="module")
def node_cases() -> dict[str, list[Case]]:
    """Cases of one node of ONNX's own, with tensors that numpy knows, by operator."""
    from onnx.backend.test.case import node

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in pkgutil.iter_modules(node.__path__, f"{node.__name__}."):
            if module.name.rpartition(".")[2] not in SLOW_MODULES:
                importlib.import_module(module.name)
    found: dict[str, list[Case]] = {}
    for case in node._NodeTestCases:
        graph = case.model.graph
        arrays = case.data_sets[0][0]
        if len(graph.node) == 1 and not graph.node[0].domain and all(map(_is_plain, arrays)):
            feeds = {info.name: np.asarray(array) for info, array in zip(graph.input, arrays, strict=True)}
            found.setdefault(graph.node[0].op_type, []).append((case.model, feeds))
    return found


def _is_plain(value: Any) -> bool:
    return isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "fiubO"


def _versions(operator: str) -> list[int]:
    """The versions of an operator that ONNX Runtime may run, oldest first."""
    newest = newest_runnable()
    found: list[int] = []
    while newest >= 7:
        try:
            schema = onnx.defs.get_schema(operator, newest, "")
        except onnx.defs.SchemaError:
            break
        found.append(max(schema.since_version, 7))
        newest = schema.since_version - 1
    return found[::-1]


def _at(model: ModelProto, opset: int) -> ModelProto:
    copy = ModelProto()
    copy.CopyFrom(model)
    copy.ir_version = 10
    copy.ClearField("opset_import")
    copy.opset_import.add(domain="", version=opset)
    return copy


def _compare(operator: str, case: Case) -> int:
    """Takes a case from the oldest version that takes it through all later ones; returns how many were compared."""
    versions = _versions(operator)
    for oldest in versions:
        model = _at(case[0], oldest)
        try:
            onnx.checker.check_model(model, full_check=True)
            before = in_onnxruntime(model, case[1])
        except Exception:  # neither onnx nor ONNX Runtime say with a type that a version does not take a node
            continue
        compared = 0
        for target in [version for version in versions if version > oldest]:
            try:
                after = upgraded(model, target)
                results = in_onnxruntime(after, case[1])
            except Exception as error:
                if isinstance(error, ModelError) or "NOT_IMPLEMENTED" in str(error):
                    continue
                raise
            crossed = {(operator, version) for version in versions if oldest < version <= target}
            _assert_same(results, before, is_rounded=bool(crossed & OTHER_KERNELS))
            compared += 1
        if compared:
            return compared
    return 0


def _assert_same(after: list[Array], before: list[Array], *, is_rounded: bool) -> None:
    if not is_rounded:
        assert_equal(after, before, zeros_differ=True)
        return
    for new, old in zip(after, before, strict=True):
        assert (new.dtype, new.shape) == (old.dtype, old.shape)
        tolerance = 2e-3 if new.dtype == np.float16 else 1e-5
        np.testing.assert_allclose(new, old, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    "operator", sorted({operator for operator, _ in (*upgrades.UNCHANGED, *upgrades.ADAPTERS)} - ELSEWHERE)
)
def test_results_stay(operator: str, node_cases: dict[str, list[Case]]) -> None:
    if len(_versions(operator)) < 2:
        return
    left = CASES_PER_OPERATOR
    for case in node_cases[operator]:
        left -= _compare(operator, case) > 0
        if not left:
            return
    assert left < CASES_PER_OPERATOR, "no case of the operator was compared"
