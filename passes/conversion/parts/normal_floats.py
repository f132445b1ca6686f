"""Weights in nf4, 4-bit codes of 16 numbers that lie as a normal distribution does, which ONNX has no type for.

They stay as they are stored, under the type of unsigned integers, and a table gives what they stand for.
"""

from __future__ import annotations

import numpy as np

from maxfold.model.data import StoredData
from maxfold.model.dtypes import DType, from_openvino
from maxfold.model.graph import Constant, Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.sites.onnx_site import OnnxSite

_INT32 = 6
_WIDE = ("f32", "f16")
_CODES = from_openvino("u4")
# As OpenVINO's CPU gives them.
_NUMBERS = (
    -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
    -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
    0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0,
)  # fmt: skip


def codes_of(constant: Constant) -> StoredData | None:
    """The codes of such weights as unsigned integers, None where it is no such constant or something else than Convert
    reads it."""
    data = constant.data
    is_coded = data.dtype is not None and data.dtype.openvino == "nf4" and isinstance(data, StoredData)
    if not is_coded or any(node.op != "Convert" for node in constant.outputs):
        return None
    return StoredData(data.region, _CODES, data.shape, data.field)


def decoded(site: OnnxSite, to: DType) -> Tensor | None:
    """The numbers that a Convert makes of such weights, None where it reads others."""
    source = site.node.inputs[0]
    if not isinstance(source, Constant) or codes_of(source) is None:
        return None
    if to.openvino not in _WIDE:
        raise UnsupportedError(f"a Convert of nf4 to {to.openvino} is not covered")
    codes = site.add("Cast", [site.input(0)], {"to": _INT32})
    table = site.constant(np.asarray(_NUMBERS, np.float32), to.numpy)
    made: Tensor = site.add("Gather", [table, codes])
    return made
