"""Models of one operator of ONNX Runtime's own each, with the shapes that its kernel takes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from onnx import ModelProto, TensorProto

from tests.text import Array, model

_NUMPY: dict[int, type[np.generic]] = {
    TensorProto.FLOAT: np.float32, TensorProto.DOUBLE: np.float64, TensorProto.UINT8: np.uint8,
    TensorProto.INT8: np.int8, TensorProto.INT32: np.int32, TensorProto.INT64: np.int64, TensorProto.BOOL: np.bool_,
    TensorProto.INT16: np.int16,
}  # fmt: skip

F = "float[2,3,4] x"
SCALE = "float a, uint8 b, float c, uint8 d"
PAIR = "uint8[2,3] x, float a, uint8 b, uint8[3] y, float c, uint8 d, float e, uint8 f"
LSTM = "float[5,2,3] x, int8[1,3,16] w, int8[1,4,16] r"
PARAMETERS = "float[1] ws, int8[1] wz, float[1] rs, int8[1] rz"
IDS = "int32[2,3] i, int32[2,3] s"
TABLES = "float[9,4] w, float[5,4] p, float[2,4] t, float[4] g, float[4] b"
QTABLES = "uint8[9,4] w, uint8[5,4] p, uint8[2,4] t, uint8[4] g, uint8[4] b, int32[2,3] m"
QSCALES = "float s0, float s1, float s2, float s3, float s4, uint8 z0, uint8 z1, uint8 z2, uint8 z3, uint8 z4"
QKV = "float[2,3,8] q, float[2,5,8] k, float[2,5,8] v"
PAST = "float[2,2,6,4] pk, float[2,2,6,4] pv"
GROUPED = "float[2,1,32] q, float[2,1,16] k, float[2,1,16] v"

# Operator: inputs, results with their types, and the node. Inputs whose values matter have names in VALUES.
CASES: dict[str, list[tuple[str, str, str]]] = {
    "Attention": [
        ("float[2,3,4] x, float[4,24] w, float[24] b", "float z, float p", "<num_heads = 2>(x, w, b)"),
        ("float[2,3,4] x, float[4,24] w, float[24] b", "float z", "<num_heads = 2>(x, w, b)"),
        ("float[2,3,4] x, float[4,20] w, float[20] b", "float z",
         "<num_heads = 2, qkv_hidden_sizes = [6,6,8]>(x, w, b)"),
        ("float[2,3,4] x, float[4,24] w, float[24] b, float[2,2,2,5,4] past", "float z, float p",
         "<num_heads = 2, unidirectional = 1>(x, w, b, , past)"),
        ("float[2,3,4] x, float[4,24] w, float[24] b, int32[2,3] ones", "float z", "<num_heads = 2>(x, w, b, ones)"),
    ],
    "BiasGelu": [(f"{F}, float[4] y", "float z", "(x, y)")],
    "CDist": [("float[2,3] x, float[4,3] y", "float z", '<metric = "euclidean">(x, y)')],
    "ConvTransposeWithDynamicPads": [
        ("float[1,2,4,4] x, float[2,3,3,3] w, int64[4] ones", "float z", "<strides = [2,2]>(x, w, ones)")
    ],
    "CropAndResize": [
        ("float[2,3,5,5] x, float[3,4] y, int32[3] b, int32[2] size", "float z", "(x, y, b, size)")
    ],
    "DecoderMaskedMultiHeadAttention": [
        (f"float[2,1,8] q, float[2,1,8] k, float[2,1,8] v, {PAST}, int32[1] length", "float z, float a, float c",
         "<num_heads = 2, past_present_share_buffer = 1>(q, k, v, , , pk, pv, length)")
    ],
    "DequantizeLinear": [
        ("uint8[2,3] x, float a, uint8 b", "float z", "(x, a, b)"),
        ("int8[2,3] x, float[3] a, int8[3] b", "float z", "(x, a, b)"),
        ("int32[2,3] x, float a", "float z", "(x, a)"),
    ],
    "DynamicQuantizeLSTM": [
        (f"{LSTM}, {PARAMETERS}", "float z, float h, float c",
         "<hidden_size = 4>(x, w, r, , , , , , ws, wz, rs, rz)"),
        (f"{LSTM}, float[1,32] b, int32[2] length, float[1,2,4] h0, float[1,2,4] c0, float[1,12] p, {PARAMETERS}",
         "float z, float h, float c", "<hidden_size = 4>(x, w, r, b, length, h0, c0, p, ws, wz, rs, rz)"),
        ("float[5,2,3] x, int8[2,3,16] w, int8[2,4,16] r, float[2] ws, int8[2] wz, float[2] rs, int8[2] rz",
         "float z", '<hidden_size = 4, direction = "bidirectional">(x, w, r, , , , , , ws, wz, rs, rz)'),
    ],
    "DynamicQuantizeMatMul": [
        ("float[2,3,4] x, uint8[4,5] y, float a, uint8 b", "float z", "(x, y, a, b)"),
        ("float[2,1,3,4] x, uint8[2,4,5] y, float a, uint8 b, float[5] c", "float z", "(x, y, a, b, c)"),
        ("float[4] x, uint8[4,5] y, float[5] a", "float z", "(x, y, a)"),
    ],
    "EmbedLayerNormalization": [
        (f"{IDS}, {TABLES}, int32[2,3] m", "float z, int32 k, float e", "(i, s, w, p, t, g, b, m)"),
        ("int32[2,3] i, float[9,4] w, float[5,4] p, float[4] g, float[4] b", "float z, int32 k",
         "(i, , w, p, , g, b)"),
    ],
    "ExpandDims": [
        ("float[2,3] x, int32[1] one", "float z", "(x, one)"),
        ("float[2,3] x, int32 last", "float z", "(x, last)"),
    ],
    "FastGelu": [(f"{F}, float[4] y", "float z", "(x, y)"), (F, "float z", "(x)")],
    "FusedConv": [
        ("float[1,2,5,5] x, float[3,2,3,3] w, float[3] b", "float z", '<activation = "Relu">(x, w, b)'),
        ("float[1,2,5,5] x, float[3,2,3,3] w, float[1,3,5,5] y", "float z",
         '<activation = "Relu", pads = [1,1,1,1]>(x, w, , y)'),
    ],
    "FusedGemm": [
        ("float[3,2] x, float[4,3] w, float[4] b", "float z",
         '<activation = "Relu", transA = 1, transB = 1>(x, w, b)'),
        ("float[2,3] x, float[3,4] w", "float z", '<activation = "Tanh">(x, w)'),
    ],
    "FusedMatMul": [
        ("float[2,3,4] x, float[2,5,4] y", "float z", "<transB = 1>(x, y)"),
        ("float[2,4,3] x, float[1,4,5] y", "float z", "<transA = 1>(x, y)"),
        ("float[3,2,4] x, float[5,2,4] y", "float z", "<transB = 1, transBatchA = 1, transBatchB = 1>(x, y)"),
        ("float[3,2,4] x, float[2,4,5] y", "float z", "<transBatchA = 1>(x, y)"),
        ("float[4] x, float[2,4,5] y", "float z", "<transA = 1>(x, y)"),
        ("float[2,5,3,4] x, float[4] y", "float z", "<transB = 1>(x, y)"),
    ],
    "GatherBlockQuantized": [
        ("uint8[6,32] x, int64[2,3] ones, float[6,4] a", "float z", "<block_size = 16>(x, ones, a)"),
        ("uint8[6,32] x, int64[2] ones, float[6,2] a, uint8[6,2] p", "float z",
         "<block_size = 16, bits = 8>(x, ones, a, p)"),
    ],
    "GatherND": [("float[2,3,4] x, int64[5,2] ones", "float z", "(x, ones)")],
    "Gelu": [(F, "float z", "(x)")],
    "GridSample": [("float[2,3,4,5] x, float[2,6,7,2] y", "float z", "(x, y)")],
    "GroupQueryAttention": [
        (f"{GROUPED}, float[2,2,6,8] pk, float[2,2,6,8] pv, int32[2] five, int32 six", "float z, float a, float c",
         "<num_heads = 4, kv_num_heads = 2>(q, k, v, pk, pv, five, six)"),
        ("float[2,3,32] q, float[2,3,16] k, float[2,3,16] v, int32[2] two, int32 three", "float z, float a, float c",
         "<num_heads = 4, kv_num_heads = 2>(q, k, v, , , two, three)"),
        ("float[2,3,64] q, int32[2] two, int32 three", "float z, float a, float c",
         "<num_heads = 4, kv_num_heads = 2>(q, , , , , two, three)"),
    ],
    "Inverse": [("float[2,3,3] x", "float z", "(x)")],
    "MatMulBnb4": [
        ("float[2,32] x, uint8[128] w, float[8] a", "float z",
         "<K = 32, N = 8, block_size = 32, quant_type = 1>(x, w, a)")
    ],
    "MatMulInteger16": [("int16[2,3,4] x, int16[4,5] y", "int32 z", "(x, y)")],
    "MatMulIntegerToFloat": [
        ("uint8[2,3,4] x, int8[4,5] y, float a, float[5] c, uint8 b, int8 d, float[5] e", "float z",
         "(x, y, a, c, b, d, e)"),
        ("uint8[2,3,4] x, uint8[2,4,5] y, float a, float c", "float z", "(x, y, a, c)"),
    ],
    "MatMulNBits": [
        ("float[2,3,32] x, uint8[8,2,8] w, float[8,2] s", "float z", "<K = 32, N = 8, block_size = 16>(x, w, s)"),
        ("float[32] x, uint8[8,2,8] w, float[16] s, float[8] b", "float z",
         "<K = 32, N = 8, block_size = 16>(x, w, s, , , b)"),
    ],
    "MaxpoolWithMask": [
        ("float[1,2,6,6] x, int32[1,2,6,6] ones", "float z", "<kernel_shape = [3,3], strides = [2,2]>(x, ones)"),
    ],
    "MultiHeadAttention": [
        (QKV, "float z, float a, float c", "<num_heads = 2>(q, k, v)"),
        (f"{QKV}, float[24] b, int32[2,5] ones", "float z", "<num_heads = 2>(q, k, v, b, ones)"),
        (f"float[2,1,8] q, float[2,1,8] k, float[2,1,8] v, {PAST}", "float z, float a, float c",
         "<num_heads = 2>(q, k, v, , , , pk, pv)"),
        ("float[2,3,8] q, float[2,2,5,4] k, float[2,2,5,4] v", "float z", "<num_heads = 2>(q, k, v)"),
        ("float[2,3,8] q, float[2,5,8] k, float[2,5,12] v", "float z, float a, float c, float s",
         "<num_heads = 2>(q, k, v)"),
    ],
    "MurmurHash3": [("int32[2,3] x", "uint32 z", "(x)"), ("int32[2,3] x", "int32 z", "<positive = 0>(x)")],
    "NGramRepeatBlock": [("int64[2,5] ones, float[2,7] x", "float z", "<ngram_size = 2>(ones, x)")],
    "NhwcMaxPool": [("uint8[1,6,6,3] x", "uint8 z", "<kernel_shape = [3,3], strides = [2,2], ceil_mode = 1>(x)")],
    "Pad": [
        ("float[2,3] x, int64[4] pads, float v", "float z", "(x, pads, v)"),
        ("float[2,3] x, int64[4] less", "float z", "(x, less)"),
    ],
    "QAttention": [
        ("uint8[2,3,4] x, int8[4,24] w, float[24] b, float a, float c", "float z, float p",
         "<num_heads = 2>(x, w, b, a, c)"),
        ("uint8[2,3,4] x, int8[4,24] w, float[24] b, float a, float c, uint8 d, int8 e, float[2,2,2,5,4] past",
         "float z, float p", "<num_heads = 2, unidirectional = 1>(x, w, b, a, c, , d, e, past)"),
    ],
    "QEmbedLayerNormalization": [
        (f"{IDS}, {QTABLES}, {QSCALES}", "float z, int32 k",
         "(i, s, w, p, t, g, b, m, s0, s1, s2, s3, s4, z0, z1, z2, z3, z4)")
    ],
    "QGemm": [
        ("uint8[2,3] x, float a, uint8 b, uint8[3,4] y, float c, uint8 d, int32[4] e, float f, uint8 g", "uint8 z",
         "(x, a, b, y, c, d, e, f, g)"),
        ("uint8[3,2] x, float a, uint8 b, int8[4,3] y, float c, int8 d", "float z",
         "<transA = 1, transB = 1>(x, a, b, y, c, d)"),
    ],
    "QLinearAdd": [(PAIR, "uint8 z", "(x, a, b, y, c, d, e, f)")],
    "QLinearAveragePool": [
        (f"uint8[1,2,6,6] x, {SCALE}", "uint8 z",
         "<kernel_shape = [3,3], strides = [2,2], ceil_mode = 1>(x, a, b, c, d)"),
        (f"uint8[1,6,6,2] x, {SCALE}", "uint8 z",
         "<kernel_shape = [3,3], pads = [1,0,1,0], channels_last = 1>(x, a, b, c, d)"),
    ],
    "QLinearConcat": [
        ("float e, uint8 f, uint8[2,3] x, float a, uint8 b, uint8[2,4] y, float c, uint8 d", "uint8 z",
         "<axis = 1>(e, f, x, a, b, y, c, d)")
    ],
    "QLinearConv": [
        ("uint8[1,2,5,5] x, float a, uint8 b, int8[3,2,3,3] w, float c, int8 d, float e, uint8 f", "uint8 z",
         "<pads = [1,0,1,0]>(x, a, b, w, c, d, e, f)"),
        ("uint8[1,5,5,2] x, float a, uint8 b, uint8[3,2,3,3] w, float c, uint8 d, float e, uint8 f", "uint8 z",
         "<channels_last = 1, strides = [2,1]>(x, a, b, w, c, d, e, f)"),
    ],
    "QLinearGlobalAveragePool": [
        (f"uint8[2,3,4,5] x, {SCALE}", "uint8 z", "(x, a, b, c, d)"),
        (f"uint8[2,4,5,3] x, {SCALE}", "uint8 z", "<channels_last = 1>(x, a, b, c, d)"),
    ],
    "QLinearLeakyRelu": [(f"uint8[2,3] x, {SCALE}", "uint8 z", "(x, a, b, c, d)")],
    "QLinearMul": [(PAIR, "uint8 z", "(x, a, b, y, c, d, e, f)")],
    "QLinearSigmoid": [(f"uint8[2,3] x, {SCALE}", "uint8 z", "(x, a, b, c, d)")],
    "QLinearSoftmax": [(f"uint8[2,3] x, {SCALE}", "uint8 z", "<opset = 13>(x, a, b, c, d)")],
    "QLinearWhere": [
        ("bool[2,1] k, uint8[3] x, float a, uint8 b, uint8[2,3] y, float c, uint8 d, float e, uint8 f", "uint8 z",
         "(k, x, a, b, y, c, d, e, f)")
    ],
    "QuantizeLinear": [
        ("float[2,3] x, float a, uint8 b", "uint8 z", "(x, a, b)"),
        ("float[2,3] x, float[3] a, int8[3] b", "int8 z", "(x, a, b)"),
        ("float[2,3] x, float a", "uint8 z", "(x, a)"),
        ("float[2,3] x, float a, int16 b", "int16 z", "(x, a, b)"),
    ],
    "QuickGelu": [(F, "float z", "(x)")],
    "Range": [
        ("float nought, float five, float one", "float z", "(nought, five, one)"),
        ("int64 nought, int64 five", "int64 z", "(nought, five)"),
    ],
    "RotaryEmbedding": [
        ("float[2,3,8] x, int64[2,3] ones, float[5,2] c, float[5,2] s", "float z", "(x, ones, c, s)"),
        ("float[2,2,3,4] x, int64[1] one, float[5,2] c, float[5,2] s", "float z", "(x, one, c, s)"),
    ],
    "SampleOp": [(F, "float z", "(x)")],
    "SkipLayerNormalization": [
        ("float[2,3,4] x, float[2,3,4] y, float[4] g, float[4] b, float[4] c", "float z, float m, float v, float s",
         "(x, y, g, b, c)"),
        ("float[2,3,4] x, float[1,3,4] y, float[4] g", "float z", "(x, y, g)"),
        ("float[3,4] x, float[3,4] y, float[4] g, float[4] b", "float z, float m, float v, float s",
         "(x, y, g, , b)"),
    ],
    "SkipSimplifiedLayerNormalization": [
        ("float[2,3,4] x, float[3,4] y, float[4] g, float[4] c", "float z, float m, float v, float s",
         "(x, y, g, c)"),
    ],
    "TransposeMatMul": [("float[2,3,4] x, float[2,5,4] y", "float z", "<transB = 1>(x, y)")],
    "Trilu": [("float[2,3,4] x, int64 one", "float z", "<upper = 0>(x, one)"), ("float[2,3,4] x", "float z", "(x)")],
    "UnfoldTensor": [
        ("float[2,7] x", "float z", "<size = 3, step = 2>(x)"),
        ("float[7,2] x", "float z", "<dim = 0, size = 2>(x)"),
    ],
    "Unique": [("float[7] x", "float z, int64 i, int64 c", "(x)")],
    "SimplifiedLayerNormalization": [
        ("float[2,3,4] x, float[4] g", "float z, float v", "(x, g)"),
        ("float[2,3,4] x, float[3,4] g", "float z, float v", "<axis = 1>(x, g)"),
    ],
}  # fmt: skip
# The schema is known and no kernel of the machine's processor runs it.
NOT_RUN = {"BiasSoftmax", "QLinearReduceMean"}
# Text, whose operands are no arrays of numbers.
OTHERWISE = {"Tokenizer"}

VALUES: dict[str, object] = {
    "one": 1, "ones": 1, "last": -1, "nought": 0, "two": 2, "three": 3, "five": 5, "six": 6, "size": [2, 3],
    "pads": [1, 0, 2, 3], "less": [-1, 0, 0, 1], "length": 3, "wz": 0, "rz": 0,
}  # fmt: skip


def cases(operator: str) -> Iterator[tuple[ModelProto, list[Array]]]:
    """The models of an operator, each with operands."""
    domain = "" if operator == "SimplifiedLayerNormalization" else "com.microsoft."
    for inputs, results, call in CASES[operator]:
        names = ", ".join(part.split()[1] for part in results.split(", "))
        source = model(
            f"g ({inputs}) => ({results}) {{ {names} = {domain}{operator} {call} }}",
            domains='"com.microsoft" : 1',
        )
        yield source, [_operand(info.name, info.type.tensor_type) for info in source.graph.input]


def _operand(name: str, kind: object) -> Array:
    """Small integers within all tables, floats between 0 and 1."""
    shape = [dim.dim_value for dim in kind.shape.dim]  # type: ignore[attr-defined]
    dtype = np.dtype(_NUMPY[kind.elem_type])  # type: ignore[attr-defined]
    if name in VALUES:
        return np.broadcast_to(np.asarray(VALUES[name], dtype), shape).copy()
    count = int(np.prod(shape, dtype=np.int64))
    if dtype.kind in "iub":
        return (np.arange(count) % 2).astype(dtype).reshape(shape)
    return (np.abs(np.sin(np.arange(1, count + 1))) + 0.1).astype(dtype).reshape(shape)
