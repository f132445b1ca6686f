"""Kernels of reference.py: every node test comes out right or is declined for a reason; runs in ONNX Runtime agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import ValueInfoProto, helper

from maxfold.passes.kernels import Call, KernelError
from maxfold.passes.kernels.reference import REFERENCE
from tests.passes.kernels.hand_cases import declined, evaluated, ints, iota
from tests.passes.kernels.node_cases import Case, assert_case, cases
from tests.passes.kernels.reference import Array

CASES = [case for kernel in REFERENCE for case in cases(kernel.operator)]
DECLINED = {
    "test_affine_grid_2d_align_corners": "align_corners",
    "test_affine_grid_3d_align_corners": "align_corners",
    "test_lstm_with_peepholes": "sequence_lens",
}


def last_results(case: Case) -> Case:
    """The case as if the node had only the last results, which the test has names for."""
    count, kernel = len(case.expected), case.kernel

    def cut(function: Callable[[Call], tuple[Any, ...]]) -> Callable[[Call], tuple[Any, ...]]:
        return lambda call: function(call)[-count:]

    return replace(case, kernel=replace(kernel, results=cut(kernel.results), evaluate=cut(kernel.evaluate)))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_node_tests(case: Case) -> None:
    if case.name in DECLINED:
        with pytest.raises(KernelError, match=f"not right for {DECLINED[case.name]}$"):
            case.kernel.results(case.call)
        return
    assert_case(last_results(case))


def runtime(
    operator: str, inputs: list[Array | None], attributes: dict[str, Any], opset: int, outputs: int
) -> list[Array]:
    """What ONNX Runtime gives for the node, unoptimized."""
    names = ["" if item is None else f"i{place}" for place, item in enumerate(inputs)]
    feeds = {name: item for name, item in zip(names, inputs, strict=True) if item is not None}
    results = [f"o{place}" for place in range(outputs)]
    node = helper.make_node(operator, names, results, **attributes)
    declared = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(item.dtype), item.shape)
        for name, item in feeds.items()
    ]
    graph = helper.make_graph([node], "", declared, [ValueInfoProto(name=name) for name in results])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    found: list[Array] = session.run(None, feeds)
    return found


def noise(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize(
    ("operator", "inputs", "attributes", "opset", "outputs"),
    [
        ("Conv", [noise(1, 4, 7), noise(4, 2, 3)], {"group": 2, "dilations": [2]}, 1, 1),
        (
            "Conv",
            [noise(1, 2, 5, 6), noise(3, 2, 3, 2), noise(3)],
            {"auto_pad": "SAME_LOWER", "strides": [2, 1]},
            11,
            1,
        ),
        ("Conv", [noise(1, 2, 5, 4, 5), noise(2, 2, 2, 1, 3)], {"pads": [0, 1, 0, 1, 0, 1]}, 22, 1),
        ("ConvTranspose", [noise(1, 4, 5), noise(4, 2, 3), noise(2)], {"strides": [2]}, 11, 1),
        ("ConvTranspose", [noise(1, 2, 4, 3), noise(2, 3, 3, 2)], {"pads": [1, 0, 0, 1], "strides": [1, 2]}, 11, 1),
        ("InstanceNormalization", [noise(2, 3, 4), noise(3), noise(3)], {"epsilon": 0.5}, 6, 1),
        (
            "RNN",
            [noise(3, 2, 2), noise(2, 3, 2), noise(2, 3, 3), noise(2, 6)],
            {"hidden_size": 3, "direction": "bidirectional"},
            7,
            2,
        ),
        (
            "GRU",
            [noise(3, 2, 2), noise(1, 9, 2), noise(1, 9, 3), noise(1, 18), None, noise(1, 2, 3)],
            {"hidden_size": 3, "direction": "reverse", "linear_before_reset": 1},
            14,
            2,
        ),
        (
            "LSTM",
            [noise(3, 2, 2), noise(1, 12, 2), noise(1, 12, 3), None, None, None, noise(1, 2, 3), noise(1, 9)],
            {"hidden_size": 3},
            7,
            3,
        ),
        ("Det", [noise(2, 3, 3)], {}, 11, 1),
        ("HannWindow", [np.array(7)], {"periodic": 0}, 17, 1),
    ],
)
def test_older_versions_and_other_attributes(
    operator: str, inputs: list[Array | None], attributes: dict[str, Any], opset: int, outputs: int
) -> None:
    values = evaluated(operator, inputs, attributes, opset, outputs)
    for value, expected in zip(values, runtime(operator, inputs, attributes, opset, outputs), strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-5, atol=1e-6)


def test_narrow_floats_are_rounded_once() -> None:
    x, weight = np.array([[[2048, 1, 1]]], np.float16), np.ones((1, 1, 3), np.float16)
    assert evaluated("Conv", [x, weight], {}, 22)[0].tolist() == [[[2050]]]


@pytest.mark.parametrize(
    ("operator", "inputs", "attributes", "opset", "reason"),
    [
        (
            "Conv",
            [iota(1, 1, 2).astype(np.float64), iota(1, 1, 1).astype(np.float64)],
            {},
            11,
            "doubles are summed in an order that depends on the processor",
        ),
        (
            "Conv",
            [np.full((1, 1, 2), np.inf, np.float32), iota(1, 1, 1)],
            {},
            11,
            "onnx's implementation is not trusted with infinities and NaN",
        ),
        (
            "Conv",
            [np.zeros((1, 1, 1 << 18), np.float32), iota(1, 1, 1)],
            {},
            11,
            f"more than {1 << 18} elements are too slow to evaluate",
        ),
        ("Conv", [iota(1, 1, 2), iota(1)], {}, 11, "onnx infers no type"),
        (
            "LSTM",
            [noise(1, 1, 1), noise(1, 4, 1), noise(1, 4, 1)],
            {"clip": 1.0},
            7,
            "onnx's implementation is not right for clip",
        ),
        (
            "RNN",
            [noise(1, 1, 1), noise(1, 1, 1), noise(1, 1, 1), None, np.array([1], np.int32)],
            {"hidden_size": 1},
            7,
            "onnx's implementation is not right for sequence_lens",
        ),
        (
            "HannWindow",
            [np.array(1)],
            {"periodic": 0},
            17,
            "onnx's implementation is not trusted with infinities and NaN",
        ),
        ("Det", [iota(2, 3)], {}, 11, "onnx i"),
        ("CenterCropPad", [iota(2, 3), ints(1)], {}, 18, "onnx infers no"),
    ],
)
def test_declines(operator: str, inputs: list[Any], attributes: dict[str, Any], opset: int, reason: str) -> None:
    with np.errstate(all="ignore"):
        assert declined(operator, inputs, attributes, opset).startswith(reason)
