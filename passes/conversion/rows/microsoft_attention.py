"""ONNX Runtime's own attention: scores of queries and keys, what is added to them, and their weighted sum of values."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.pair import BROADCAST
from maxfold.passes.conversion.parts.operands import openvino_slice, optional_input, shape_vector
from maxfold.passes.conversion.parts.scalars import dtype_of
from maxfold.passes.conversion.row import Row, from_onnx
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite

_DOMAIN = "com.microsoft"
_NUMPY = {BROADCAST: "numpy"}
_BY_HEAD = [0, 2, 1, 3]
_RAW_RANKS = (2, 3)
# What is added to scores of keys that a mask hides, unless an attribute says otherwise.
_HIDDEN = -10000.0


def _heads(site: OpenvinoSite, x: Tensor, count: int) -> Tensor:
    """[batch, tokens, heads * size] as [batch, heads, tokens, size]."""
    shape = site.constant([0, 0, count, -1], "int64")
    split = site.add("Reshape", [x, shape], {"special_zero": True})
    made: Tensor = site.add("Transpose", [split, site.constant(_BY_HEAD, "int64")])
    return made


def _joined(site: OpenvinoSite, x: Tensor) -> Tensor:
    """What `_heads` took apart, together again."""
    turned = site.add("Transpose", [x, site.constant(_BY_HEAD, "int64")])
    made: Tensor = site.add("Reshape", [turned, site.constant([0, 0, -1], "int64")], {"special_zero": True})
    return made


def _count(site: OpenvinoSite) -> int:
    count = site.attribute("num_heads")
    if not isinstance(count, int) or count < 1:
        raise UnsupportedError("its attribute 'num_heads' is missing")
    return count


def _with_past(site: OpenvinoSite, past: Tensor | None, x: Tensor) -> Tensor:
    made: Tensor = x if past is None else site.add("Concat", [past, x], {"axis": 2})
    return made


def _hidden(site: OpenvinoSite, index: int) -> Tensor | None:
    """What a mask of 0 and 1 adds to scores, [batch, 1, tokens or 1, keys]; None without a mask."""
    filler = float(site.attribute("mask_filter_value", _HIDDEN))
    if not site.has_input(index):
        return None
    rank, shape, numeric = site.rank(index), site.shape(index), dtype_of(site)
    if rank not in _RAW_RANKS:
        raise UnsupportedError(f"a mask of {rank} dimensions is not covered")
    if shape is not None and shape[-1] == 1:
        raise UnsupportedError("a mask of one key is not covered")
    numbers = dtype_of(site, index).numpy
    is_shown = site.add("Greater", [site.input(index), site.constant(0, numbers)], _NUMPY)
    choices = [site.constant(value, numeric.numpy) for value in (0, filler)]
    added = site.add("Select", [is_shown, *choices], _NUMPY)
    axes = site.constant([1, 2] if rank == _RAW_RANKS[0] else [1], "int64")
    made: Tensor = site.add("Unsqueeze", [added, axes])
    return made


def _causal(site: OpenvinoSite, mask: Tensor | None, q: Tensor, k: Tensor) -> Tensor:
    """A mask in which keys behind a token, as counted from the last one, have the lowest number there is."""
    numeric = dtype_of(site)
    tokens, keys = (
        site.add("Squeeze", [openvino_slice(site, shape_vector(site, x), 2, 3), site.constant([0], "int64")])
        for x in (q, k)
    )
    zero, one = site.constant(0, "int64"), site.constant(1, "int64")
    integers = {"output_type": "i64"}
    places = site.add("Range", [zero, keys, one], integers, opset=4)
    first = site.add("Subtract", [keys, tokens], _NUMPY)
    rows = site.add("Unsqueeze", [site.add("Range", [first, keys, one], integers, opset=4), one])
    lowest = site.constant(ml_dtypes.finfo(numeric.numpy).min, numeric.numpy)  # type: ignore[no-untyped-call]
    is_behind = site.add("Greater", [places, rows], _NUMPY)
    others = site.constant(0, numeric.numpy) if mask is None else mask
    made: Tensor = site.add("Select", [is_behind, lowest, others], _NUMPY)
    return made


def _attended(
    site: OpenvinoSite,
    heads: tuple[Tensor, Tensor, Tensor],
    width: int | None,
    mask: Tensor | None,
    bias: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """The weighted values by head, and the scores before the softmax; of queries as wide as is known."""
    q, k, v = heads
    scores = site.add("MatMul", [q, k], {"transpose_a": False, "transpose_b": True})
    scores = site.add("Multiply", [scores, _factor(site, q, width)], _NUMPY)
    for addend in (mask, bias):
        if addend is not None:
            scores = site.add("Add", [scores, addend], _NUMPY)
    shares = site.add("SoftMax", [scores], {"axis": -1}, opset=8)
    return site.add("MatMul", [shares, v], {"transpose_a": False, "transpose_b": False}), scores


def _factor(site: OpenvinoSite, q: Tensor, width: int | None) -> Tensor:
    """The scale, or 1 / sqrt of the size of a head where there is none."""
    numeric, given = dtype_of(site), float(site.attribute("scale", 0.0))
    if given or width:
        return site.constant(given or 1 / np.sqrt((width or 1) / _count(site)), numeric.numpy)
    size = site.add("Convert", [openvino_slice(site, shape_vector(site, q), 3, 4)], {"destination_type": "f32"})
    made: Tensor = site.add("Power", [size, site.constant(-0.5, np.float32)], _NUMPY)
    if numeric.openvino != "f32":
        made = site.add("Convert", [made], {"destination_type": numeric.openvino})
    return made


def _attention_to_openvino(site: OpenvinoSite) -> None:
    if site.attribute("do_rotary", 0) or site.attribute("past_present_share_buffer", 0):
        raise UnsupportedError("rotation and shared buffers are not covered")
    site.ignore("rotary_embedding_dim")
    count, sizes = _count(site), site.attribute("qkv_hidden_sizes")
    projected = site.add("MatMul", [site.input(0), site.input(1)], {"transpose_a": False, "transpose_b": False})
    if site.has_input(2):
        projected = site.add("Add", [projected, site.input(2)], _NUMPY)
    axis = site.constant(2, "int64")
    if sizes:
        lengths = site.constant(list(sizes), "int64")
        parts = site.add("VariadicSplit", [projected, axis, lengths], outputs=3)
    else:
        parts = site.add("Split", [projected, axis], {"num_splits": 3}, outputs=3)
    q, k, v = (_heads(site, part, count) for part in parts)
    if site.has_input(4):
        past = site.input(4)
        earlier = [_gathered(site, past, index) for index in (0, 1)]
        k, v = (_with_past(site, before, x) for before, x in zip(earlier, (k, v), strict=True))
    mask = _hidden(site, 3)
    if site.attribute("unidirectional", 0):
        mask = _causal(site, mask, q, k)
    result, _ = _attended(site, (q, k, v), _width(site, sizes), mask, optional_input(site, 5))
    results = [_joined(site, result)]
    if site.has_output(1):
        first = site.constant([0], "int64")
        results.append(site.add("Concat", [site.add("Unsqueeze", [x, first]) for x in (k, v)], {"axis": 0}))
    site.result(*results)


def _width(site: OpenvinoSite, sizes: list[int] | None) -> int | None:
    """How wide queries are, of equal thirds unless sizes are given."""
    if sizes:
        return sizes[0]
    shape = site.shape(1)
    return None if shape is None or shape[-1] is None else shape[-1] // 3


def _gathered(site: OpenvinoSite, past: Tensor, index: int) -> Tensor:
    """The keys or the values of what both are stacked in."""
    operands = [past, site.constant(index, "int64"), site.constant(0, "int64")]
    made: Tensor = site.add("Gather", operands, {"batch_dims": 0}, opset=8)
    return made


def _multi_head_to_openvino(site: OpenvinoSite) -> None:
    count = _count(site)
    if any(site.has_input(index) for index in (8, 9)) or not (site.has_input(1) and site.has_input(2)):
        raise UnsupportedError("packed keys and values, shared buffers and beams are not covered")
    if any(site.rank(index) != 3 for index in range(3)):
        raise UnsupportedError("operands that are not of 3 dimensions are not covered")
    if site.attribute("unidirectional", 0):
        raise UnsupportedError("its attribute 'unidirectional' is not covered")
    parts = [site.input(index) for index in range(3)]
    if site.has_input(3):
        parts = [site.add("Add", [part, bias], _NUMPY) for part, bias in zip(parts, _biases(site), strict=True)]
    q, k, v = (_heads(site, part, count) for part in parts)
    if site.has_input(6) or site.has_input(7):
        k, v = (_with_past(site, site.input(index), x) for index, x in ((6, k), (7, v)))
    shape = site.shape(0)
    width = None if shape is None else shape[-1]
    result, scores = _attended(site, (q, k, v), width, _hidden(site, 4), optional_input(site, 5))
    site.result(_joined(site, result), k, v, scores)


def _biases(site: OpenvinoSite) -> list[Tensor]:
    """One bias for queries, keys and values each."""
    shapes = [site.shape(index) for index in range(3)]
    sizes = [None if shape is None else shape[-1] for shape in shapes]
    known = [size for size in sizes if size is not None]
    if len(known) != len(sizes):
        raise UnsupportedError("the sizes that its bias is for are not known")
    operands = [site.input(3), site.constant(0, "int64"), site.constant(known, "int64")]
    made: list[Tensor] = site.add("VariadicSplit", operands, outputs=3)
    return made


_TOLERANCE = "1e-5 relative"

ROWS: tuple[Row, ...] = (
    *from_onnx(
        f"{_DOMAIN}.Attention", "MatMul-1", _attention_to_openvino, tolerance=_TOLERANCE,
        limits="Masks are of 0 and 1, one for each key, or for each token and key; lengths are refused, as are "
        "rotation and shared buffers.",
    ),
    *from_onnx(
        f"{_DOMAIN}.MultiHeadAttention", "MatMul-1", _multi_head_to_openvino, tolerance=_TOLERANCE,
        limits="Operands are of 3 dimensions. Masks are of 0 and 1, one for each key, or for each token and key; "
        "lengths, `unidirectional`, shared buffers and beams are refused.",
    ),
)  # fmt: skip
