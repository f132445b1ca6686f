"""Steps between versions that change nothing for a node that was valid before. Each was read, none is derived.

A row names an operator and the newer version of the step.
"""

from __future__ import annotations

from collections.abc import Mapping

MORE_TYPES: Mapping[str, tuple[int, ...]] = {
    "Acos": (22,), "Acosh": (22,), "Add": (13,), "Asin": (22,), "Asinh": (22,), "Atan": (22,), "Atanh": (22,),
    "Bernoulli": (22,), "Cast": (21, 23, 25, 28), "CastLike": (21, 23, 25), "Celu": (28,), "Clip": (12,),
    "Compress": (28,), "Concat": (13,), "Constant": (9, 13, 19, 21, 23, 24, 25),
    "ConstantOfShape": (20, 21, 23, 24, 25), "Conv": (22,), "ConvTranspose": (22,), "Cos": (22,),
    "Cosh": (22,), "CumSum": (14,), "DeformConv": (22,), "DepthToSpace": (28,),
    "DequantizeLinear": (24, 25, 28), "Det": (22,), "Div": (13,), "Dropout": (13,), "Einsum": (28,),
    "Elu": (22,), "Equal": (11, 13, 19), "Exp": (13,), "Expand": (13,), "Flatten": (9, 13, 21, 23, 24, 25),
    "GRU": (22,), "Gemm": (9,), "GlobalAveragePool": (22,), "GlobalLpPool": (22,), "GlobalMaxPool": (22,),
    "Greater": (9, 13), "GreaterOrEqual": (16,), "GridSample": (22,), "HardSigmoid": (22,),
    "HardSwish": (22,), "Identity": (13, 14, 16, 19, 21, 23, 24, 25), "If": (13, 16, 19, 21, 23, 24, 25),
    "InstanceNormalization": (22,), "IsInf": (20,), "IsNaN": (13, 20), "LeakyRelu": (16,), "Less": (9, 13),
    "LessOrEqual": (16,), "Log": (13,), "Loop": (19, 21, 23, 24, 25), "LpNormalization": (22,),
    "LpPool": (22,), "MatMul": (9, 13), "Max": (12, 13), "MaxRoiPool": (22,), "MaxUnpool": (22,),
    "Mean": (13,), "Min": (12, 13), "Mish": (22,), "Mul": (13,), "Multinomial": (22,), "Neg": (13,),
    "NegativeLogLikelihoodLoss": (22,), "NonZero": (13,), "OneHot": (28,), "Optional": (28,),
    "OptionalGetElement": (28,), "OptionalHasElement": (28,), "PRelu": (9, 16), "Pad": (21, 23, 24, 25),
    "Pow": (12, 15), "QLinearMatMul": (21,), "RNN": (22,), "RandomNormal": (22,), "RandomNormalLike": (22,),
    "RandomUniform": (22,), "RandomUniformLike": (22,), "Reciprocal": (13,), "Relu": (13, 14),
    "Reshape": (13, 19, 21, 23, 24, 25), "ReverseSequence": (28,), "RoiAlign": (22,), "Round": (22,),
    "Scan": (16, 19, 21, 23, 24, 25), "ScatterElements": (13,), "ScatterND": (13,), "Selu": (22,),
    "Shape": (13, 19, 21, 23, 24, 25), "Sigmoid": (13,), "Sign": (13,), "Sin": (22,), "Sinh": (22,),
    "Size": (13, 19, 21, 23, 24, 25), "Softplus": (22,), "Softsign": (22,), "SpaceToDepth": (13,),
    "SplitToSequence": (24,), "Sqrt": (13,), "Squeeze": (21, 24, 25), "Sub": (13,), "Sum": (13,),
    "Tan": (22,), "Tanh": (13,), "ThresholdedRelu": (22,), "Tile": (13,), "TopK": (24,),
    "Transpose": (13, 23, 24), "Unique": (28,), "Unsqueeze": (21, 24, 25), "Where": (16,),
}  # fmt: skip
"""More element types, or nothing at all."""

CLEARER_TEXT: Mapping[str, tuple[int, ...]] = {
    "Abs": (13,), "Add": (14,), "ArgMax": (11, 13), "ArgMin": (11, 13), "AveragePool": (11,),
    "BitShift": (28,), "Cast": (9, 13), "Ceil": (13,), "Clip": (13,), "Compress": (11,), "Concat": (11,),
    "Conv": (11,), "DepthToSpace": (13,), "DequantizeLinear": (19,), "Div": (14,), "EyeLike": (22,),
    "Flatten": (11,), "Floor": (13,), "Gather": (11, 13), "GatherElements": (13,), "GatherND": (13,),
    "Gemm": (6, 13), "Hardmax": (11,), "If": (11,), "LRN": (13,), "LSTM": (22,), "LogSoftmax": (11,),
    "Loop": (13, 16), "LpPool": (11,), "Max": (8,), "MaxPool": (11, 12), "MaxUnpool": (11,), "Mean": (8,),
    "MeanVarianceNormalization": (13,), "Min": (8,), "Mul": (14,),
    "NegativeLogLikelihoodLoss": (13,), "NonMaxSuppression": (11,), "OptionalGetElement": (18,),
    "Pad": (13, 19), "Pow": (13,), "QuantizeLinear": (24, 25, 28), "ReduceL1": (11, 13), "ReduceL2": (11, 13),
    "ReduceLogSum": (11, 13), "ReduceLogSumExp": (11, 13), "ReduceMax": (11, 12, 13, 20),
    "ReduceMean": (11, 13), "ReduceMin": (11, 12, 13, 20), "ReduceProd": (11, 13), "ReduceSum": (11,),
    "ReduceSumSquare": (11, 13), "Resize": (19,), "Scan": (11,), "ScatterElements": (18,), "ScatterND": (18,),
    "Slice": (11, 13), "Softmax": (11,), "SoftmaxCrossEntropyLoss": (13,), "Split": (11,),
    "Squeeze": (11, 23), "Sub": (14,), "Sum": (8,), "Transpose": (21, 25), "Unsqueeze": (11, 23),
}  # fmt: skip
"""The text got clearer, or allows what it did not: negative axes, broadcasting, more modes."""

MORE_OPTIONS: Mapping[str, tuple[int, ...]] = {
    "ArgMax": (12,), "ArgMin": (12,), "AveragePool": (7, 10, 19), "Cast": (19,), "CastLike": (19,),
    "Constant": (11, 12), "DepthToSpace": (11,), "DequantizeLinear": (21, 23), "GRU": (3, 14),
    "GatherND": (12,), "Gemm": (11,), "LSTM": (14,), "Loop": (11,), "LpPool": (18,), "MaxPool": (8, 10),
    "OptionalHasElement": (18,), "Pad": (18,), "QuantizeLinear": (21, 23), "RNN": (14,), "Range": (27,),
    "Reshape": (14,), "Resize": (18,), "ScatterElements": (16,), "ScatterND": (16,), "Shape": (15,),
    "SpaceToDepth": (28,), "TopK": (11,),
}  # fmt: skip
"""A new attribute, input or result that may be absent, and then means what the older version did; or one that was
needed and no longer is."""
