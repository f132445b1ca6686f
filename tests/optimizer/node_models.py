"""ONNX's own node tests as models to optimize: each has inputs and the outputs that the specification gives."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from onnx import ModelProto, TensorProto, numpy_helper

from tests.random_models.trial import Session
from tests.random_models.values import Array

CHUNKS = 8
ULPS = 16
"""By how many units in the last place, of float32 at most, a folded constant may be off."""


@dataclass(frozen=True, eq=False)
class NodeModel:
    """A node test. Its own tolerance is for outputs of several nodes, or of a runtime's own rounding."""

    name: str
    model: ModelProto
    inputs: Mapping[str, Any]
    outputs: Sequence[Any]
    rtol: float
    atol: float

    def assert_right(self, actual: Sequence[Any], *, ulps: int | None = None) -> None:
        """The outputs are the expected ones, within `ulps` units in the last place.

        By default within the test's own tolerance, or `ULPS` where that asks for more than the type can hold.
        """
        assert len(actual) == len(self.outputs), self.name
        for own, right in zip(actual, self.outputs, strict=True):
            _assert_near(own, right, self, ulps)

    def is_right(self, actual: Sequence[Any]) -> bool:
        """Whether the outputs are the expected ones within the test's own tolerance."""
        try:
            self.assert_right(actual)
        except AssertionError:
            return False
        return True


@cache
def node_models() -> tuple[NodeModel, ...]:
    """All node tests, in the order of their names."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        # The tests compute infinities and NaN on purpose.
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        collected = collect_testcases(None)
    found = []
    for case in sorted(collected, key=lambda case: str(case.name)):
        assert case.model is not None
        assert case.data_sets is not None
        ((inputs, outputs),) = case.data_sets
        names = [item.name for item in case.model.graph.input]
        fed = dict(zip(names, map(_plain, inputs), strict=False))
        found.append(NodeModel(case.name, case.model, fed, [_plain(item) for item in outputs], case.rtol, case.atol))
    return tuple(found)


def passes_check(model: ModelProto) -> bool:
    """Whether onnx's checker accepts a model."""
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception:
        return False
    return True


def run(model: ModelProto, feeds: Mapping[str, Any]) -> list[Any] | None:
    """The outputs in ONNX Runtime, or None where it does not run the model."""
    try:
        return Session(model)(feeds)
    except Exception:
        return None


def with_constants(case: NodeModel) -> ModelProto:
    """The model with all tensors that it is fed as initializers."""
    model = ModelProto()
    model.CopyFrom(case.model)
    del model.graph.input[:]
    model.ir_version = max(model.ir_version, 8)
    for item in case.model.graph.input:
        value = case.inputs.get(item.name)
        if isinstance(value, np.ndarray) and item.type.HasField("tensor_type"):
            model.graph.initializer.append(tensor(value, item.name, item.type.tensor_type.elem_type))
        else:
            model.graph.input.append(item)
    return model


def tensor(array: Array, name: str, kind: int) -> TensorProto:
    """A tensor of an element type, also of one that numpy has no type of its own for."""
    made = numpy_helper.from_array(array, name)
    assert made.data_type == kind, name
    return made


def constant_outputs(model: ModelProto) -> list[Any] | None:
    """The outputs of a model that holds nothing but constants; None where it holds more."""
    known = {item.name: numpy_helper.to_array(item) for item in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type != "Constant" or node.domain or node.attribute[0].name != "value":
            return None
        known[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
    if any(item.name not in known for item in model.graph.output):
        return None
    return [known[item.name] for item in model.graph.output]


def _plain(value: Any) -> Any:
    if isinstance(value, TensorProto):
        return numpy_helper.to_array(value)
    return np.asarray(value) if isinstance(value, np.generic) else value


def _assert_near(own: Any, right: Any, case: NodeModel, ulps: int | None) -> None:
    if isinstance(right, list):
        assert len(own) == len(right), case.name
        for item, expected in zip(own, right, strict=True):
            _assert_near(item, expected, case, ulps)
        return
    if right is None or own is None:
        assert own is right, case.name
        return
    actual, expected = np.asarray(own), np.asarray(right)
    assert (actual.shape, actual.dtype.kind in "OUS") == (expected.shape, expected.dtype.kind in "OUS"), case.name
    if actual.dtype.kind in "OUS":
        assert actual.tolist() == expected.tolist(), case.name
        return
    assert actual.dtype == expected.dtype, case.name
    if actual.dtype.kind in "iub" or "int" in actual.dtype.name:
        assert actual.tolist() == expected.tolist(), case.name
        return
    # In a wide type, since not every NaN of the small ones equals another for numpy.
    with np.errstate(all="ignore"):
        wide, wide_expected = actual.astype(np.complex128), expected.astype(np.complex128)
    limits: Any = ml_dtypes.finfo
    spacing = 2.0 ** -min(limits(actual.dtype).nmant, 23) if actual.dtype.kind != "c" else 2.0**-23
    largest = float(np.abs(wide_expected[np.isfinite(wide_expected)]).max(initial=0.0))
    rtol, atol = (case.rtol, case.atol) if ulps is None else (0.0, 0.0)
    steps = (ULPS if ulps is None else ulps) * spacing
    np.testing.assert_allclose(
        wide, wide_expected, rtol=max(rtol, steps), atol=max(atol, steps * largest), err_msg=case.name
    )
