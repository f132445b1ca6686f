"""How IR spells the types of layers. OpenVINO 2026.4 reads them in any case."""

from __future__ import annotations

_TYPES = """
Abs Acos Acosh AdaptiveAvgPool AdaptiveMaxPool Add Asin Asinh Assign Atan Atanh AvgPool BatchNormInference
BatchToSpace BinaryConvolution BitwiseAnd BitwiseLeftShift BitwiseNot BitwiseOr BitwiseRightShift BitwiseXor
Broadcast Bucketize CTCGreedyDecoder CTCGreedyDecoderSeqLen CTCLoss Ceiling Clamp Col2Im Concat Const Convert
ConvertLike ConvertPromoteTypes Convolution ConvolutionBackpropData Cos Cosh CumSum DFT DeformableConvolution
DeformablePSROIPooling DepthToSpace DetectionOutput Divide Einsum Elu EmbeddingBagOffsets
EmbeddingBagOffsetsSum EmbeddingBagPacked EmbeddingBagPackedSum EmbeddingSegmentsSum Equal Erf Exp
ExtractImagePatches Eye FakeConvert FakeQuantize Floor FloorMod GRN GRUCell GRUSequence Gather GatherElements
GatherND GatherTree Gelu Greater GreaterEqual GridSample GroupConvolution GroupConvolutionBackpropData
GroupNormalization HSigmoid HSwish HardSigmoid I420toBGR I420toRGB IDFT IRDFT ISTFT Identity If Interpolate
Inverse IsFinite IsInf IsNaN LRN LSTMCell LSTMSequence Less LessEqual Log LogSoftmax LogicalAnd LogicalNot
LogicalOr LogicalXor Loop MVN MatMul MatrixNms MaxPool Maximum Minimum Mish Mod MulticlassNms Multinomial
Multiply NMSRotated NV12toBGR NV12toRGB Negative NonMaxSuppression NonZero NormalizeL2 NotEqual OneHot PReLU
PSROIPooling Pad Parameter Power PriorBox PriorBoxClustered Proposal RDFT RNNCell RNNSequence ROIAlign
ROIAlignRotated ROIPooling RandomUniform Range ReLU ReadValue ReduceL1 ReduceL2 ReduceLogicalAnd
ReduceLogicalOr ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum RegionYolo ReorgYolo Reshape Result
Reverse ReverseSequence Roll Round ScaledDotProductAttention ScatterElementsUpdate ScatterNDUpdate
ScatterUpdate SearchSorted Select Selu ShapeOf ShuffleChannels Sigmoid Sign Sin Sinh Slice SliceScatter
SoftMax SoftPlus SoftSign SpaceToBatch SpaceToDepth Split Sqrt SquaredDifference Squeeze StridedSlice
StringTensorPack StringTensorUnpack Subtract Swish STFT Tan Tanh TensorIterator Tile TopK Transpose Unique
Unsqueeze VariadicSplit ErfInv
"""

_CANONICAL = {name.lower(): name for name in _TYPES.split()}
_CANONICAL["constant"] = "Const"


def canonical_type(text: str) -> str:
    """The usual spelling of a layer's type; one that is not known stays as it is."""
    return _CANONICAL.get(text.lower(), text)
