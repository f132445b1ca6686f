"""Resize and Upsample to the nearest element, against the operator's own examples and ONNX Runtime."""

from __future__ import annotations

import itertools

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

from tests.passes.kernels.hand_cases import declined, evaluated, ints, iota
from tests.passes.kernels.node_cases import Case, assert_case, cases
from tests.passes.kernels.reference import Array

TRANSFORMS = ("half_pixel", "asymmetric", "pytorch_half_pixel", "align_corners", "tf_half_pixel_for_nn")
ROUNDING = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
NEAREST = [case for case in cases("Resize") if case.call.attributes.get("mode", "nearest") == "nearest"]


def is_plain(case: Case) -> bool:
    attributes = case.call.attributes
    return attributes.get("keep_aspect_ratio_policy", "stretch") == "stretch" and "symmetric" not in str(attributes)


@pytest.mark.parametrize("case", [case for case in NEAREST if is_plain(case)], ids=lambda case: case.name)
def test_examples_of_the_operator(case: Case) -> None:
    assert_case(case)


def in_onnxruntime(x: Array, sizes: list[int], transform: str, rounding: str) -> Array:
    node = helper.make_node(
        "Resize", ["x", "", "", "s"], ["y"], mode="nearest", coordinate_transformation_mode=transform,
        nearest_mode=rounding,
    )  # fmt: skip
    graph = helper.make_graph(
        [node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape),
                      helper.make_tensor_value_info("s", TensorProto.INT64, [x.ndim])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    result: Array = session.run(None, {"x": x, "s": np.array(sizes, np.int64)})[0]
    return result


@pytest.mark.parametrize(("transform", "rounding"), list(itertools.product(TRANSFORMS, ROUNDING)))
def test_sizes_as_a_runtime_has_them(transform: str, rounding: str) -> None:
    x = iota(1, 1, 4, 3)
    compared = 0
    for height, width in itertools.product((1, 2, 3, 4, 6, 8), (1, 3, 5, 6)):
        sizes = [1, 1, height, width]
        attributes = {"coordinate_transformation_mode": transform, "nearest_mode": rounding}
        reason = declined("Resize", [x, None, None, ints(*sizes)], attributes, 13)
        if reason:
            assert reason == "which element is the nearest depends on rounding"
            continue
        compared += 1
        (result,) = evaluated("Resize", [x, None, None, ints(*sizes)], attributes, 13)
        np.testing.assert_array_equal(result, in_onnxruntime(x, sizes, transform, rounding), str(sizes))
    assert compared >= 8


def test_scales_of_each_version() -> None:
    x, scales = iota(1, 1, 2, 2), np.array([1, 1, 2, 1], np.float32)
    expected = x.repeat(2, axis=2)
    assert evaluated("Resize", [x, scales], {}, 10)[0].tolist() == expected.tolist()
    plain = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    assert evaluated("Resize", [x, None, scales], plain, 13)[0].tolist() == expected.tolist()
    assert evaluated("Upsample", [x, scales], {}, 9)[0].tolist() == expected.tolist()
    assert evaluated("Upsample", [x], {"scales": [1.0, 1.0, 2.0, 1.0]}, 7)[0].tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("inputs", "attributes", "opset", "reason"),
    [
        ([iota(2, 2), None, None, ints(4, 4)], {"mode": "linear"}, 13, "mode linear computes new values"),
        ([iota(2, 2), None, None, ints(4)], {}, 13, "there is not one scale or size for each axis"),
        ([iota(2, 2), None, None, ints(4, 0)], {}, 13, "size 0 is not positive"),
        ([iota(2, 0), None, None, ints(4, 4)], {}, 13, "there is no nearest element"),
        ([iota(2, 2), None, np.array([1, 0], np.float32)], {}, 13, "scale 0.0 is not positive"),
        ([iota(3, 3), None, np.array([1, 0.3333333], np.float32)], {}, 13, "the size of the result depends on"),
        ([iota(2, 2), None, None, ints(4, 4)], {"antialias": 1}, 18, "only the plain way of scaling"),
        ([iota(2, 6), np.array([1, 0.6], np.float32)], {}, 10,
         "which element is the nearest is not specified in this operator set"),
        ([iota(3, 2), np.array([1.3, 1], np.float32)], {}, 10,
         "runtimes copy data whose shape does not change, whatever the scale"),
        ([iota(2, 2), None, None, ints(4, 4)], {"coordinate_transformation_mode": "tf_crop_and_resize"}, 13,
         "tf_crop_and_resize with round_prefer_floor is not folded"),
    ],
)  # fmt: skip
def test_declines(inputs: list[Array | None], attributes: dict[str, object], opset: int, reason: str) -> None:
    assert declined("Resize", inputs, attributes, opset).startswith(reason)
