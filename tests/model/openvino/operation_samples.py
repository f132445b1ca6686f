"""A layer of each operation that OpenVINO reads, so that it can be asked what else it reads.

A line is an operation and version, its inputs and the attributes that it then needs. An input is an element type with a
shape, or with the values of a constant, which is a list where there is a comma. Indented lines belong to the one
before.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from maxfold.model.openvino.operations import OPERATIONS, Operation
from tests.model.openvino.ir_text import IR, layer, net, port, result

LAYER = "sample"
_INPUT = re.compile(r"(f32|f16|i64|i32|boolean|u8|u1|string)(\[(.*)\]|=(.*))")
_NUMPY = {"f32": "<f4", "i64": "<i8", "i32": "<i4", "u8": "u1"}

# Operations of these inputs, whatever their version.
_ALIKE = {
    "f32[2,3]": """
    Abs Acos Acosh Asin Asinh Atan Atanh Ceiling Clamp Cos Cosh Elu Erf Exp Floor Gelu HSigmoid HSwish Identity
    IsFinite IsInf IsNaN Log LogSoftmax Mish Negative NonZero ReLU Round Sigmoid Sign Sin Sinh SoftMax SoftPlus
    SoftSign Sqrt Tan Tanh
    """,
    "f32[2,3] f32[2,3]": """
    Add Divide Equal FloorMod Greater GreaterEqual Less LessEqual Maximum Minimum Mod Multiply NotEqual PReLU
    Power SquaredDifference Subtract ConvertLike
    """,
    "i32[2] i32[2]": """
    BitwiseAnd BitwiseLeftShift BitwiseOr BitwiseRightShift BitwiseXor
    """,
    "boolean[2] boolean[2]": """
    LogicalAnd LogicalOr LogicalXor
    """,
    "f32[2,3] i64=1,": """
    ReduceL1 ReduceL2 ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum
    """,
}
_LINES = """
AdaptiveAvgPool 8 f32[1,2,4,4] i64=2,2
AdaptiveMaxPool 8 f32[1,2,4,4] i64=2,2
AvgPool 1 f32[1,2,4,4] kernel=2,2 strides=1,1
AvgPool 14 f32[1,2,4,4] kernel=2,2 strides=1,1
AvgPool 16 f32[1,2,4,4] kernel=2,2 strides=1,1
BatchNormInference 1 f32[2] f32[2] f32[1,2,4] f32[2] f32[2]
BatchNormInference 5 f32[1,2,4] f32[2] f32[2] f32[2] f32[2]
BatchToSpace 2 f32[4,1,2,2] i64=1,1,2,2 i64=0,0,0,0 i64=0,0,0,0
BinaryConvolution 1 f32[1,2,4,4] u1[2,2,3,3]
BitwiseNot 13 i32[2]
Broadcast 1 f32[3] i64=2,3
Broadcast 1 f32[3] i64=2,3 i64=1, mode=explicit
Broadcast 3 f32[3] i64=2,3
Broadcast 3 f32[3] i64=2,3 i64=1, mode=explicit
Bucketize 3 f32[3] f32[2] output_type=i64
CTCGreedyDecoder 1 f32[3,1,4] f32[3,1]
CTCGreedyDecoderSeqLen 6 f32[1,3,4] i32[1] i32=3
CTCLoss 4 f32[1,3,4] i32[1] i32[1,3] i32[1] i32=3
Col2Im 15 f32[1,4,9] i64=4,4 i64=2,2 strides=1,1 dilations=1,1 pads_begin=0,0 pads_end=0,0
Concat 1 f32[2,3] f32[2,3] f32[2,3]
Convert 1 f32[2] destination_type=f16
ConvertPromoteTypes 14 f32[2] f16[2]
Convolution 1 f32[1,2,4,4] f32[2,2,3,3]
ConvolutionBackpropData 1 f32[1,2,4,4] f32[2,2,3,3] i64=6,6
CumSum 3 f32[3] i64=0
DFT 7 f32[1,4,2] i64=1, i64=4,
DeformableConvolution 1 f32[1,2,4,4] f32[1,18,2,2] f32[2,2,3,3] group=1 deformable_group=1
DeformableConvolution 8 f32[1,2,4,4] f32[1,18,2,2] f32[2,2,3,3] f32[1,9,2,2] group=1 deformable_group=1
DeformablePSROIPooling 1 f32[1,8,4,4] f32[1,5] f32[1,2,2,2] output_dim=2 spatial_scale=1 group_size=2
DepthToSpace 1 f32[1,4,2,2] block_size=2
DetectionOutput 1 f32[1,8] f32[1,4] f32[1,2,8] f32[1,4] f32[1,8] num_classes=2 keep_top_k=1 normalized=true
DetectionOutput 8 f32[1,8] f32[1,4] f32[1,2,8] f32[1,4] f32[1,8] keep_top_k=1 normalized=true
Einsum 7 f32[2,3] equation=ij->i
Einsum 7 f32[2,3] f32[3,2] equation=ij,jk->ik
EmbeddingBagOffsets 15 f32[5,2] i32[4] i32[3] i32=0 f32[4]
EmbeddingBagOffsetsSum 3 f32[5,2] i32[4] i32[3] i32=0 f32[4]
EmbeddingBagPacked 15 f32[5,2] i32[2,2] f32[2,2]
EmbeddingBagPackedSum 3 f32[5,2] i32[2,2] f32[2,2]
EmbeddingSegmentsSum 3 f32[5,2] i32[4] i32[4] i32=3 i32=0 f32[4]
ExperimentalDetectronDetectionOutput 6 f32[4,4] f32[4,8] f32[4,2] f32[1,3] num_classes=2 post_nms_count=4
    max_detections_per_image=2 deltas_weights=1,1,1,1
ExperimentalDetectronGenerateProposalsSingleImage 6 f32[3] f32[12,4] f32[12,2,2] f32[3,2,2] post_nms_count=2
    pre_nms_count=2
ExperimentalDetectronPriorGridGenerator 6 f32[3,4] f32[1,2,4,4] f32[1,3,8,8]
ExperimentalDetectronROIFeatureExtractor 6 f32[4,4] f32[1,2,8,8] f32[1,2,4,4] output_size=2 sampling_ratio=2
    pyramid_scales=4,8
ExperimentalDetectronTopKROIs 6 f32[4,4] f32[4] max_rois=2
ExtractImagePatches 3 f32[1,2,8,8] sizes=3,3 strides=2,2 rates=1,1 auto_pad=valid
Eye 9 i64=2 i64=2 i64=0 i64=2, output_type=f32
FakeConvert 13 f32[2] f32[1] f32[1]
FakeQuantize 1 f32[2] f32[1] f32[1] f32[1] f32[1] levels=256
GRN 1 f32[1,2,4]
GRUCell 3 f32[1,3] f32[1,2] f32[6,3] f32[6,2] f32[6] hidden_size=2
GRUSequence 5 f32[1,4,3] f32[1,1,2] i32[1] f32[1,6,3] f32[1,6,2] f32[1,6] hidden_size=2
Gather 1 f32[3] i64[2] i64=0
Gather 7 f32[3] i64[2] i64=0
Gather 8 f32[3] i64[2] i64=0
GatherElements 6 f32[3] i64[3]
GatherND 5 f32[3] i64[3,1]
GatherND 8 f32[3] i64[3,1]
GatherTree 1 f32[1,1,1] f32[1,1,1] f32[1] f32[]
GenerateProposals 9 f32[1,3] f32[2,2,3,4] f32[1,12,2,2] f32[1,3,2,2] post_nms_count=2 pre_nms_count=2
GridSample 9 f32[1,1,4,4] f32[1,2,2,2]
GroupConvolution 1 f32[1,2,4,4] f32[2,1,1,3,3]
GroupConvolutionBackpropData 1 f32[1,2,4,4] f32[2,1,1,3,3] i64=6,6
GroupNormalization 12 f32[1,4,2] f32[4] f32[4] num_groups=2
HardSigmoid 1 f32[2] f32=1 f32=1
I420toBGR 8 u8[1,4,4,1] u8[1,2,2,1] u8[1,2,2,1]
I420toRGB 8 u8[1,4,4,1] u8[1,2,2,1] u8[1,2,2,1]
IDFT 7 f32[1,4,2] i64=1, i64=4,
IRDFT 9 f32[1,4,2] i64=1, i64=4,
ISTFT 16 f32[3,4,2] f32[4] i64=4 i64=1 i64=4
Interpolate 1 f32[1,1,4,4] i64=8,8 axes=2,3 mode=linear
Interpolate 4 f32[1,1,4,4] i64=1,1,8,8 f32=1,1,2,2 i64=0,1,2,3
Interpolate 11 f32[1,1,4,4] i64=1,1,8,8 i64=0,1,2,3
Inverse 14 f32[2,2]
LRN 1 f32[1,2,4] i64=1, size=1
LSTMCell 1 f32[1,3] f32[1,2] f32[1,2] f32[8,3] f32[8,2] f32[8] f32[6] hidden_size=2
LSTMCell 4 f32[1,3] f32[1,2] f32[1,2] f32[8,3] f32[8,2] f32[8] hidden_size=2
LSTMSequence 5 f32[1,4,3] f32[1,1,2] f32[1,1,2] i32[1] f32[1,8,3] f32[1,8,2] f32[1,8] hidden_size=2
LogicalNot 1 boolean[2]
MVN 1 f32[1,2,4]
MVN 6 f32[1,2,4] i64=2,
MatMul 1 f32[2,3] f32[3,2]
MatrixNms 8 f32[1,4,4] f32[1,2,4]
MaxPool 1 f32[1,2,4,4] kernel=2,2 strides=1,1
MaxPool 8 f32[1,2,4,4] kernel=2,2 strides=1,1
MaxPool 14 f32[1,2,4,4] kernel=2,2 strides=1,1
MulticlassNms 8 f32[1,4,4] f32[1,2,4]
MulticlassNms 9 f32[2,4,4] f32[2,4] i32[1]
Multinomial 13 f32[1,4] i64=1, convert_type=i64
NMSRotated 13 f32[1,4,5] f32[1,2,4] i64=2 f32=1 f32=1
NV12toBGR 8 u8[1,4,4,1] u8[1,2,2,2]
NV12toRGB 8 u8[1,4,4,1] u8[1,2,2,2]
NonMaxSuppression 1 f32[1,4,4] f32[1,2,4] i64=2 f32=1 f32=1
NonMaxSuppression 3 f32[1,4,4] f32[1,2,4] i64=2 f32=1 f32=1
NonMaxSuppression 4 f32[1,4,4] f32[1,2,4] i64=2 f32=1 f32=1
NonMaxSuppression 5 f32[1,4,4] f32[1,2,4] i64=2 f32=1 f32=1 f32=0
NonMaxSuppression 9 f32[1,4,4] f32[1,2,4] i64=2 f32=1 f32=1 f32=0
NormalizeL2 1 f32[2,3] i64=1,
OneHot 1 i64[2] i64=3 f32=1 f32=0
OneHot 16 i64[2] i64=3 f32=1 f32=0
PSROIPooling 1 f32[1,8,4,4] f32[1,5] output_dim=2 group_size=2 spatial_scale=1 mode=average spatial_bins_x=1
    spatial_bins_y=1
Pad 1 f32[2] i64=1, i64=1, f32=0
Pad 12 f32[2] i64=1, i64=1, f32=0
PriorBox 1 i64=4,4 i64=8,8
PriorBox 8 i64=4,4 i64=8,8
PriorBoxClustered 1 i64=4,4 i64=8,8 width=1 height=1
Proposal 1 f32[1,2,2,2] f32[1,4,2,2] f32[3] ratio=1 scale=1 post_nms_topn=2
Proposal 4 f32[1,2,2,2] f32[1,4,2,2] f32[3] ratio=1 scale=1 post_nms_topn=2
RDFT 9 f32[1,4] i64=1, i64=4,
RNNCell 1 f32[1,3] f32[1,2] f32[2,3] f32[2,2] f32[2] hidden_size=2
RNNSequence 5 f32[1,4,3] f32[1,1,2] i32[1] f32[1,2,3] f32[1,2,2] f32[1,2] hidden_size=2
ROIAlign 3 f32[1,2,4,4] f32[3,4] i32[3] pooled_h=2 pooled_w=2
ROIAlign 9 f32[1,2,4,4] f32[3,4] i32[3] pooled_h=2 pooled_w=2
ROIAlignRotated 15 f32[1,2,4,4] f32[3,5] i32[3] pooled_h=2 pooled_w=2
ROIPooling 1 f32[1,2,4,4] f32[3,5] pooled_h=2 pooled_w=2 spatial_scale=1
RandomUniform 8 i64=2, f32=0 f32=1 output_type=f32
Range 1 i64=0 i64=4 i64=1
Range 4 i64=0 i64=4 i64=1 output_type=i64
ReadValue 3 f32[2] variable_id=v
ReadValue 6 f32[2] variable_id=v
ReduceLogicalAnd 1 boolean[2,3] i64=1,
ReduceLogicalOr 1 boolean[2,3] i64=1,
RegionYolo 1 f32[1,14,2,2] axis=1 coords=4 classes=2 end_axis=3 num=2
ReorgYolo 1 f32[1,4,4,4] stride=2
Reshape 1 f32[2,3] i64=3,2 special_zero=true
Reverse 1 f32[2,3] i64=1,
ReverseSequence 1 f32[2,3] i64[2]
Roll 7 f32[2,3] i64=1, i64=1,
STFT 15 f32[8] f32[4] i64=4 i64=1
ScaledDotProductAttention 13 f32[1,3,4] f32[1,3,4] f32[1,3,4] f32[1,3,3] f32=1 f32[1,1,1]
ScatterElementsUpdate 3 f32[3] i64[2] f32[2] i64=0
ScatterElementsUpdate 12 f32[3] i64[2] f32[2] i64=0
ScatterNDUpdate 4 f32[3] i64[2,1] f32[2]
ScatterNDUpdate 15 f32[3] i64[2,1] f32[2]
ScatterUpdate 3 f32[3] i64[2] f32[2] i64=0
SearchSorted 15 f32[3] f32[2]
SegmentMax 16 f32[3,2] i64=0,0,1 i64=2
Select 1 boolean[2] f32[2] f32[2]
Selu 1 f32[2] f32=1 f32=1
ShapeOf 1 f32[2]
ShapeOf 3 f32[2] output_type=i64
ShuffleChannels 1 f32[1,4,2,2]
Slice 8 f32[3] i64=0, i64=2, i64=1, i64=0,
SliceScatter 15 f32[3] f32[2] i64=0, i64=2, i64=1, i64=0,
SpaceToBatch 2 f32[1,1,4,4] i64=1,1,2,2 i64=0,0,0,0 i64=0,0,0,0
SpaceToDepth 1 f32[1,4,2,2] block_size=2
SparseFillEmptyRows 16 f32[3] i64=3,4 i64[3,2] f32=0
Split 1 f32[4] i64=0 num_splits=2
Squeeze 1 f32[1,3] i64=0,
Squeeze 15 f32[1,3] i64=0,
StridedSlice 1 f32[3] i64=0, i64=2, i64=1, begin_mask=0
StringTensorPack 15 i64[2] i64[2] u8[4]
StringTensorUnpack 15 string[2]
Swish 4 f32[2] f32=1
Tile 1 f32[2] i64=2,
TopK 1 f32[4] i64=2
TopK 3 f32[4] i64=2
TopK 11 f32[4] i64=2 sort=none
Transpose 1 f32[2,3] i64=1,0
Unique 10 f32[2,3] i64=0
Unsqueeze 1 f32[2] i64=0,
VariadicSplit 1 f32[4] i64=0 i64=1,3
"""


@dataclass(frozen=True)
class Sample:
    """Inputs and attributes of a layer."""

    inputs: Sequence[str]
    attributes: Mapping[str, str]

    def written(self, operation: Operation, *, opset: int | None = None, results: int | None = None) -> IR:
        """An IR of the layer and what it reads; each result has a Result."""
        count = operation.results[0][0] if results is None else results
        weights = b""
        layers, edges = [], []
        for index, written in enumerate(self.inputs):
            source, content = _source(index, written, len(weights))
            layers.append(source)
            weights += content
            edges.append(f"{index}.0-1000.{index}")
        head = f"1000 {LAYER} {operation.type} opset{opset or operation.version}"
        data = " ".join(f'{name}="{value}"' for name, value in self.attributes.items())
        layers.append(layer(head, data or None, inputs=len(self.inputs), outputs=[port()] * count))
        for index in range(count):
            layers.append(result(2000 + index, f"r{index}"))
            edges.append(f"1000.{len(self.inputs) + index}-{2000 + index}.0")
        return net(layers, " ".join(edges)).holding(weights or b"\0")


def _source(index: int, written: str, offset: int) -> tuple[str, bytes]:
    """The layer of an input, and the bytes of a constant."""
    found = _INPUT.fullmatch(written)
    assert found is not None, written
    dtype, _, shape, values = found.groups()
    if values is None:
        data = f'element_type="{dtype}" shape="{shape}"'
        return layer(f"{index} i{index} Parameter opset1", data, outputs=[port()]), b""
    items = [item for item in values.split(",") if item]
    content = np.array(items, np.float64).astype(_NUMPY[dtype]).tobytes()
    shape = str(len(items)) if "," in values else ""
    data = f'element_type="{dtype}" shape="{shape}" offset="{offset}" size="{len(content)}"'
    return layer(f"{index} i{index} Const opset1", data, outputs=[port()]), content


def _sample(words: Sequence[str]) -> Sample:
    inputs = [word for word in words if _INPUT.fullmatch(word)]
    attributes = [word.partition("=") for word in words if not _INPUT.fullmatch(word)]
    return Sample(inputs, {name: value for name, _, value in attributes})


def samples() -> dict[tuple[str, int], list[Sample]]:
    """The samples of each operation and version."""
    found: dict[tuple[str, int], list[Sample]] = {}
    for inputs, names in _ALIKE.items():
        for name in names.split():
            for operation in OPERATIONS[name]:
                found[name, operation.version] = [_sample(inputs.split())]
    for line in re.sub(r"\n +", " ", _LINES).split("\n"):
        if line:
            name, version, *words = line.split()
            found.setdefault((name, int(version)), []).append(_sample(words))
    return found
