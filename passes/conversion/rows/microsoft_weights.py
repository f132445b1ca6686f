"""ONNX Runtime's products with weights of few bits, which stay stored as they are."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from maxfold.model.data import Array, ArrayData, StoredData, TensorData
from maxfold.model.dtypes import DType, from_openvino
from maxfold.model.graph import Constant, Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.parts.quantized import NUMPY, input_type
from maxfold.passes.conversion.parts.tensors import reshaped
from maxfold.passes.conversion.row import Row, from_onnx
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite

_DOMAIN = "com.microsoft"
_BITS = {4: ("u4", ml_dtypes.uint4), 8: ("u8", np.uint8)}
_LEAST_BLOCK = 16


def _integer(site: OpenvinoSite, name: str, default: int | None = None) -> int:
    value = site.attribute(name, default)
    if not isinstance(value, int):
        raise UnsupportedError(f"its attribute {name!r} is missing")
    return value


def _stored(site: OpenvinoSite, index: int) -> Constant:
    tensor = site.node.inputs[index]
    if not isinstance(tensor, Constant) or tensor.data.dtype is None or tensor.data.dtype.name != "UINT8":
        raise UnsupportedError(f"its input {index} is no constant of bytes")
    return tensor


def _unpacked(data: TensorData, dtype: DType, shape: tuple[int, ...]) -> TensorData:
    """Bytes as the elements that they hold, the first one in the lowest bits, as in OpenVINO: where they lie."""
    if isinstance(data, StoredData):
        return StoredData(data.region, dtype, shape, data.field)
    return ArrayData(_elements(data.array().reshape(-1), dtype).reshape(shape), dtype)


def _elements(stored: Array, dtype: DType) -> Array:
    if dtype.bits == 8:
        return stored
    return np.stack([stored & 15, stored >> 4], axis=-1).reshape(-1).astype(dtype.numpy)


def _zero_point(site: OpenvinoSite, dtype: DType, count: int, rows: int) -> Tensor:
    """Zero points [N, blocks, 1], or one, in the type of the weights. Rows of packed ones start on a byte."""
    if not site.has_input(3):
        return site.constant(np.full((1, 1, 1), 1 << (dtype.bits - 1)).astype(dtype.numpy), dtype.numpy)
    stored = _stored(site, 3)
    width = -(-count * dtype.bits // 8)
    if np.prod(stored.data.shape) != rows * width:
        raise UnsupportedError("its zero points have another size than its weights")
    if count * dtype.bits % 8 == 0:
        return site.constant_of(_unpacked(stored.data, dtype, (rows, count, 1)), stored.name)
    packed = stored.values.reshape(rows, width)
    values = np.stack([_elements(row, dtype)[:count] for row in packed]).reshape(rows, count, 1)
    return site.constant(values, dtype.numpy)


def _matmul_n_bits_to_openvino(site: OpenvinoSite) -> None:
    # A lower accuracy is allowed by it, and not asked for.
    site.ignore("accuracy_level")
    bits, size = _integer(site, "bits", 4), _integer(site, "block_size")
    depth, rows = _integer(site, "K"), _integer(site, "N")
    if bits not in _BITS:
        raise UnsupportedError(f"weights of {bits} bits are not covered")
    if site.attribute("weight_prepacked", 0):
        raise UnsupportedError("weights that were packed for a machine are not covered")
    if site.has_input(4):
        raise UnsupportedError("an order of groups is not covered")
    if size < _LEAST_BLOCK or size & (size - 1):
        raise UnsupportedError(f"blocks of {size} are not covered")
    weights, wide = _stored(site, 1), input_type(site, 0)
    dtype = from_openvino(_BITS[bits][0])
    assert dtype is not None
    count = -(-depth // size)
    if np.prod(weights.data.shape) * 8 != rows * count * size * bits:
        raise UnsupportedError(f"its weights are not {rows} rows of {count} blocks of {size}")
    whole = site.constant_of(_unpacked(weights.data, dtype, (rows, count, size)), weights.name)
    numbers = site.add("Convert", [whole], {"destination_type": wide.openvino})
    numbers = site.add("Subtract", [numbers, _moved(site, dtype, wide, count, rows)], NUMPY)
    numbers = site.add("Multiply", [numbers, reshaped(site, site.input(2), [rows, count, 1])], NUMPY)
    matrix = reshaped(site, numbers, [rows, count * size])
    if count * size != depth:
        bounds = [site.constant([item], "int64") for item in (0, depth, 1, 1)]
        matrix = site.add("Slice", [matrix, *bounds], opset=8)
    result = site.add("MatMul", [site.input(0), matrix], {"transpose_a": False, "transpose_b": True})
    site.result(site.add("Add", [result, site.input(5)], NUMPY) if site.has_input(5) else result)


def _moved(site: OpenvinoSite, dtype: DType, wide: DType, count: int, rows: int) -> Tensor:
    """What is subtracted of the integers, in the type that is computed in."""
    if site.has_input(3) and input_type(site, 3) is wide:
        return reshaped(site, site.input(3), [rows, count, 1])
    zero_point = _zero_point(site, dtype, count, rows)
    made: Tensor = site.add("Convert", [zero_point], {"destination_type": wide.openvino})
    return made


ROWS: tuple[Row, ...] = from_onnx(
    f"{_DOMAIN}.MatMulNBits", "MatMul-1", _matmul_n_bits_to_openvino, tolerance="1e-5 relative",
    limits="Constant weights of 4 or 8 bits, stored as they were; an order of groups is refused. OpenVINO's CPU rounds "
    "the other factor to 8 bits unless DYNAMIC_QUANTIZATION_GROUP_SIZE is 0, ONNX Runtime at accuracy level 4.",
)  # fmt: skip
