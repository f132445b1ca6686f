"""Every example of the documents of ONNX Max-13, OpenVINO Add-1 and OpenVINO Maximum-1, by its name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from maxfold.model.broadcast import BroadcastError, equal_shape, numpy_shape, pdpd_shape
from maxfold.passes.kernels import Kernel, check
from maxfold.passes.kernels.max import MAX
from maxfold.passes.kernels.openvino_add import OPENVINO_ADD
from maxfold.passes.kernels.openvino_maximum import OPENVINO_MAXIMUM
from tests.passes.kernels.reference import Array, dtype_of


def assert_max(inputs: list[Any], expected: Any, dtype: Any = np.float32) -> None:
    """Max-13 of `inputs` gives `expected`, in shape, type and value."""
    arrays: list[Array] = [np.array(values, dtype) for values in inputs]
    assert check(MAX, [dtype_of(array) for array in arrays], 13) is None
    result = MAX.apply(arrays, {}, 13)
    np.testing.assert_array_equal(result, np.array(expected, dtype), strict=True)


def assert_max_two(dtype: Any) -> None:
    """The example that the document repeats for each type."""
    assert_max([[3, 2, 1], [1, 4, 4]], [3, 4, 4], dtype)


def test_cc_max_bcast() -> None:
    assert_max([[[1, 2], [3, 4]], 2.5], [[2.5, 2.5], [3, 4]])


def test_cc_shape_inference_resize_tile() -> None:
    """The document prints the model's input, which is halved and tiled before it comes to Max."""
    printed_input = np.arange(1, 61, dtype=np.float32).reshape(10, 6)
    printed_output = [
        [1, 3, 5, 1, 3, 5],
        [13, 15, 17, 13, 15, 17],
        [25, 27, 29, 25, 27, 29],
        [37, 39, 41, 37, 39, 41],
        [49, 51, 53, 49, 51, 53],
        [1, 3, 5, 1, 3, 5],
        [13, 15, 17, 13, 15, 17],
        [25, 27, 29, 25, 27, 29],
        [37, 39, 41, 37, 39, 41],
        [49, 51, 53, 49, 51, 53],
    ]
    tile_out = np.tile(printed_input[::2, ::2], (2, 2))
    assert_max([tile_out, 0], printed_output)
    assert_max([printed_input, 0], printed_input)


def test_max_example() -> None:
    assert_max([[3, 2, 1], [1, 4, 4], [2, 5, 3]], [3, 5, 4])


def test_max_float16() -> None:
    assert_max([[1, 4, 3], [3, 2, 5]], [3, 4, 5], np.float16)


def test_max_float32() -> None:
    assert_max_two(np.float32)


def test_max_float64() -> None:
    assert_max_two(np.float64)


def test_max_int16() -> None:
    assert_max_two(np.int16)


def test_max_int32() -> None:
    assert_max_two(np.int32)


def test_max_int64() -> None:
    assert_max_two(np.int64)


def test_max_int8() -> None:
    assert_max_two(np.int8)


def test_max_one_input() -> None:
    assert_max([[3, 2, 1]], [3, 2, 1])


def test_max_two_inputs() -> None:
    assert_max([[3, 2, 1], [1, 4, 4]], [3, 4, 4])


def test_max_uint16() -> None:
    assert_max_two(np.uint16)


def test_max_uint32() -> None:
    assert_max_two(np.uint32)


def test_max_uint64() -> None:
    assert_max_two(np.uint64)


def test_max_uint8() -> None:
    assert_max_two(np.uint8)


# OpenVINO's Add-1 and Maximum-1 have the same two examples, which give shapes alone.


@pytest.mark.parametrize("kernel", [OPENVINO_ADD, OPENVINO_MAXIMUM], ids=["Add-1", "Maximum-1"])
def test_example_1_no_broadcast(kernel: Kernel) -> None:
    shape = (256, 56)
    assert equal_shape(shape, shape) == shape
    a, b = np.ones(shape, np.float32), np.full(shape, 2, np.float32)
    result = kernel.apply([a, b], {"auto_broadcast": "none"}, 1)
    np.testing.assert_array_equal(result, np.full(shape, 3 if kernel is OPENVINO_ADD else 2, np.float32), strict=True)


@pytest.mark.parametrize("kernel", [OPENVINO_ADD, OPENVINO_MAXIMUM], ids=["Add-1", "Maximum-1"])
def test_example_2_numpy_broadcast(kernel: Kernel) -> None:
    a_shape, b_shape, shape = (8, 1, 6, 1), (7, 1, 5), (8, 7, 6, 5)
    assert numpy_shape(a_shape, b_shape) == shape
    a = np.arange(48, dtype=np.float32).reshape(a_shape)
    b = np.arange(35, dtype=np.float32).reshape(b_shape)
    result = kernel.apply([a, b], {"auto_broadcast": "numpy"}, 1)
    assert result.shape == shape
    for i, j, k, m in np.ndindex(shape):
        x, y = float(a[i, 0, k, 0]), float(b[j, 0, m])
        assert result[i, j, k, m] == (x + y if kernel is OPENVINO_ADD else max(x, y))


def test_none_means_equal_shapes_only() -> None:
    with pytest.raises(BroadcastError):
        equal_shape((256, 56), (1, 56))


def test_pdpd_of_add_1() -> None:
    """Add-1 names pdpd without an example: the second input alone is broadcast, from an axis on."""
    assert pdpd_shape((2, 3, 4), (3,), 1) == (2, 3, 4)
    with pytest.raises(BroadcastError):
        pdpd_shape((2, 3, 4), (4,), 1)
