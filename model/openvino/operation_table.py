"""All operations of OpenVINO's operator sets 1 to 16, a line a version, as OpenVINO 2026.4 reads them.

An operation and the operator set that has it first; how many inputs ("2", "1-2", "3,5", "1+") and results; attributes:
`name:kind=default` (no default written: 0, false, nothing), `!` where the reader has no default, `~` where old writers
give an attribute that the reader does not look at. Indented lines belong to the one before.
"""

from __future__ import annotations

LINES = """
Abs 1 1 1
Acos 1 1 1
Acosh 4 1 1
AdaptiveAvgPool 8 2 1
AdaptiveMaxPool 8 2 2 index_element_type:type=i64
Add 1 2 1 @broadcast
Asin 1 1 1
Asinh 4 1 1
Assign 3 1 0-1 variable_id:text!
Assign 6 1 0-1 variable_id:text!
Atan 1 1 1
Atanh 4 1 1
AvgPool 1 1 1 @window exclude-pad:flag=true
AvgPool 14 1 1 @window exclude-pad:flag=true
AvgPool 16 1 1 @window exclude-pad:flag=true dilations:integers
BatchNormInference 1 5 1 epsilon:number
BatchNormInference 5 5 1 epsilon:number
BatchToSpace 2 4 1
BinaryConvolution 1 2 1 @convolution mode:text=xnor-popcount pad_value:number
BitwiseAnd 13 2 1 @broadcast
BitwiseLeftShift 15 2 1 @broadcast
BitwiseNot 13 1 1
BitwiseOr 13 2 1 @broadcast
BitwiseRightShift 15 2 1 @broadcast
BitwiseXor 13 2 1 @broadcast
Broadcast 1 2-3 1 mode:text=numpy
Broadcast 3 2-3 1 mode:text=numpy
Bucketize 3 2 1 output_type:type! with_right_bound:flag=true
CTCGreedyDecoder 1 2 1 ctc_merge_repeated:flag=true
CTCGreedyDecoderSeqLen 6 2-3 2 merge_repeated:flag=true classes_index_type:type=i32 sequence_length_type:type=i32
CTCLoss 4 4-5 1 preprocess_collapse_repeated:flag ctc_merge_repeated:flag unique:flag
Ceiling 1 1 1
Clamp 1 1 1 min:number max:number
Col2Im 15 3 1 strides:integers! dilations:integers! pads_begin:integers! pads_end:integers!
Concat 1 1+ 1 axis:integer
Convert 1 1 1 destination_type:type!
ConvertLike 1 2 1
ConvertPromoteTypes 14 2 2 promote_unsafe:flag pytorch_scalar_promotion:flag u64_integer_promotion_target:type=f32
Convolution 1 2 1 @convolution output_padding:integers~
ConvolutionBackpropData 1 2-3 1 @convolution output_padding:integers
Cos 1 1 1
Cosh 1 1 1
CumSum 3 2 1 exclusive:flag reverse:flag
DFT 7 2-3 1
DeformableConvolution 1 3 1 @convolution group:integer! deformable_group:integer!
DeformableConvolution 8 3-4 1 @convolution bilinear_interpolation_pad:flag group:integer! deformable_group:integer!
DeformablePSROIPooling 1 2-3 1 output_dim:integer! spatial_scale:number group_size:integer=1
    mode:text=bilinear_deformable spatial_bins_x:integer=1 spatial_bins_y:integer=1 trans_std:number=1
    part_size:integer=1
DepthToSpace 1 1 1 block_size:integer! mode:text=blocks_first
DetectionOutput 1 3,5 1 @detection num_classes:integer!
DetectionOutput 8 3,5 1 @detection
Divide 1 2 1 @broadcast m_pythondiv:flag=true
Einsum 7 1+ 1 equation:text!
Elu 1 1 1 alpha:number
EmbeddingBagOffsets 15 3-5 1 reduction:text=sum
EmbeddingBagOffsetsSum 3 3-5 1
EmbeddingBagPacked 15 2-3 1 reduction:text=sum
EmbeddingBagPackedSum 3 2-3 1
EmbeddingSegmentsSum 3 4-6 1
Equal 1 2 1 @broadcast
Erf 1 1 1
Exp 1 1 1
ExperimentalDetectronDetectionOutput 6 4 3 score_threshold:number nms_threshold:number max_delta_log_wh:number
    num_classes:integer! post_nms_count:integer max_detections_per_image:integer class_agnostic_box_regression:flag
    deltas_weights:numbers
ExperimentalDetectronGenerateProposalsSingleImage 6 4 2 min_size:number nms_threshold:number post_nms_count:integer
    pre_nms_count:integer
ExperimentalDetectronPriorGridGenerator 6 3 1 flatten:flag h:integer w:integer stride_x:number stride_y:number
ExperimentalDetectronROIFeatureExtractor 6 2+ 2 output_size:integer sampling_ratio:integer pyramid_scales:integers
    aligned:flag
ExperimentalDetectronTopKROIs 6 2 1 max_rois:integer
ExtractImagePatches 3 1 1 sizes:integers! strides:integers! rates:integers! auto_pad:text!
Eye 9 3-4 1 output_type:type!
FakeConvert 13 2-3 1 destination_type:type=f8e4m3
FakeQuantize 1 5 1 @broadcast levels:integer
Floor 1 1 1
FloorMod 1 2 1 @broadcast
GRN 1 1 1 bias:number=1
GRUCell 3 5 1 @recurrent linear_before_reset:flag activations:texts=sigmoid,tanh
GRUSequence 5 6 2 @recurrent direction:text=forward linear_before_reset:flag activations:texts
Gather 1 3 1
Gather 7 3 1 batch_dims:integer
Gather 8 3 1 batch_dims:integer
GatherElements 6 2 1 axis:integer
GatherND 5 2 1 batch_dims:integer
GatherND 8 2 1 batch_dims:integer
GatherTree 1 4 1
Gelu 2 1 1
Gelu 7 1 1 approximation_mode:text=ERF
GenerateProposals 9 4 3 min_size:number nms_threshold:number post_nms_count:integer! pre_nms_count:integer!
    normalized:flag=true nms_eta:number=1 roi_num_type:type=i64
Greater 1 2 1 @broadcast
GreaterEqual 1 2 1 @broadcast
GridSample 9 2 1 align_corners:flag mode:text=bilinear padding_mode:text=zeros
GroupConvolution 1 2 1 @convolution output_padding:integers~
GroupConvolutionBackpropData 1 2-3 1 @convolution output_padding:integers
GroupNormalization 12 3 1 num_groups:integer! epsilon:number
HSigmoid 5 1 1
HSwish 4 1 1
HardSigmoid 1 3 1
I420toBGR 8 3 1
I420toRGB 8 3 1
IDFT 7 2-3 1
IRDFT 9 2-3 1
ISTFT 16 4-5 1 center:flag normalized:flag
Identity 16 1 1
If 8 1+ 1+ else_port_map:map! then_port_map:map! then_body:body! else_body:body!
Interpolate 1 2 1 mode:text! antialias:flag pads_begin:integers pads_end:integers align_corners:flag=true
    axes:integers
Interpolate 4 3-4 1 @interpolation
Interpolate 11 2-3 1 @interpolation
Inverse 14 1 1 adjoint:flag
IsFinite 10 1 1
IsInf 10 1 1 detect_negative:flag=true detect_positive:flag=true
IsNaN 10 1 1
LRN 1 2 1 alpha:number beta:number bias:number size:integer
LSTMCell 1 5-7 2 @recurrent activations:texts=sigmoid,tanh,tanh input_forget:flag weights_format:text=ifco
LSTMCell 4 6 2 @recurrent activations:texts=sigmoid,tanh,tanh
LSTMSequence 5 7 3 @recurrent direction:text=forward activations:texts
Less 1 2 1 @broadcast
LessEqual 1 2 1 @broadcast
Log 1 1 1
LogSoftmax 5 1 1 axis:integer=1
LogicalAnd 1 2 1 @broadcast
LogicalNot 1 1 1
LogicalOr 1 2 1 @broadcast
LogicalXor 1 2 1 @broadcast
Loop 5 2+ 0+ port_map:map! back_edges:map body:body!
MVN 1 1 1 eps:number across_channels:flag normalize_variance:flag reduction_axes:integers
MVN 6 2 1 eps:number normalize_variance:flag eps_mode:text=INSIDE_SQRT
MatMul 1 2 1 transpose_a:flag transpose_b:flag
MatrixNms 8 2 3 @multiclass decay_function:text=linear gaussian_sigma:number=2 post_threshold:number
MaxPool 1 1 1 @window
MaxPool 8 1 2 @window dilations:integers index_element_type:type=i64 axis:integer
MaxPool 14 1 2 @window dilations:integers index_element_type:type=i64 axis:integer
Maximum 1 2 1 @broadcast
Minimum 1 2 1 @broadcast
Mish 4 1 1
Mod 1 2 1 @broadcast
MulticlassNms 8 2 3 @multiclass iou_threshold:number nms_eta:number=1
MulticlassNms 9 3 3 @multiclass iou_threshold:number nms_eta:number=1
Multinomial 13 2 1 convert_type:type! with_replacement:flag log_probs:flag global_seed:integer op_seed:integer
Multiply 1 2 1 @broadcast
NMSRotated 13 5 3 sort_result_descending:flag=true output_type:type=i64 clockwise:flag=true
NV12toBGR 8 2 1
NV12toRGB 8 2 1
Negative 1 1 1
NonMaxSuppression 1 2-5 1 box_encoding:text=corner sort_result_descending:flag=true
NonMaxSuppression 3 2-5 1 box_encoding:text=corner sort_result_descending:flag=true output_type:type=i64
NonMaxSuppression 4 2-5 1 box_encoding:text=corner sort_result_descending:flag=true output_type:type=i64
NonMaxSuppression 5 2-6 3 box_encoding:text=corner sort_result_descending:flag=true output_type:type=i64
NonMaxSuppression 9 2-6 3 box_encoding:text=corner sort_result_descending:flag=true output_type:type=i64
NonZero 3 1 1 output_type:type=i64
NormalizeL2 1 2 1 eps:number eps_mode:text=add
NotEqual 1 2 1 @broadcast
OneHot 1 4 1 axis:integer
OneHot 16 4 1 axis:integer negative_indices_mode:text=ignore_negative
PReLU 1 2 1
PSROIPooling 1 2 1 output_dim:integer! group_size:integer! spatial_scale:number! mode:text! spatial_bins_x:integer
    spatial_bins_y:integer
Pad 1 3-4 1 pad_mode:text=constant pad_value:number~
Pad 12 3-4 1 pad_mode:text=constant pad_value:number~
Power 1 2 1 @broadcast
PriorBox 1 2 1 @prior
PriorBox 8 2 1 @prior min_max_aspect_ratios_order:flag=true
PriorBoxClustered 1 2 1 step:number step_w:number step_h:number width:numbers! height:numbers! clip:flag=true
    offset:number variance:numbers
Proposal 1 3 1 @proposal
Proposal 4 3 2 @proposal
RDFT 9 2-3 1
RNNCell 1 5 1 @recurrent activations:texts=tanh
RNNSequence 5 6 2 @recurrent direction:text=forward activations:texts
ROIAlign 3 3 1 pooled_h:integer pooled_w:integer sampling_ratio:integer spatial_scale:number mode:text=avg
ROIAlign 9 3 1 pooled_h:integer pooled_w:integer sampling_ratio:integer spatial_scale:number mode:text=avg
    aligned_mode:text=asymmetric
ROIAlignRotated 15 3 1 pooled_h:integer pooled_w:integer sampling_ratio:integer spatial_scale:number
    clockwise_mode:flag
ROIPooling 1 2 1 output_size:integers=0,0 output_roi:integers=0,0 pooled_h:integer pooled_w:integer
    spatial_scale:number! method:text=max
RandomUniform 8 3 1 output_type:type! op_seed:integer global_seed:integer alignment:text=tensorflow
Range 1 3 1
Range 4 3 1 output_type:type!
ReLU 1 1 1
ReadValue 3 1 1 variable_id:text!
ReadValue 6 0-1 1 variable_id:text! variable_type:type=dynamic variable_shape:shape=...
ReduceL1 4 2 1 keep_dims:flag
ReduceL2 4 2 1 keep_dims:flag
ReduceLogicalAnd 1 2 1 keep_dims:flag
ReduceLogicalOr 1 2 1 keep_dims:flag
ReduceMax 1 2 1 keep_dims:flag
ReduceMean 1 2 1 keep_dims:flag
ReduceMin 1 2 1 keep_dims:flag
ReduceProd 1 2 1 keep_dims:flag
ReduceSum 1 2 1 keep_dims:flag
RegionYolo 1 1 1 anchors:numbers axis:integer coords:integer classes:integer end_axis:integer num:integer
    do_softmax:flag mask:integers
ReorgYolo 1 1 1 stride:integers!
Reshape 1 2 1 special_zero:flag
Reverse 1 2 1 mode:text=index
ReverseSequence 1 2 1 batch_axis:integer seq_axis:integer=1
Roll 7 3 1
Round 5 1 1 mode:text=half_to_even
STFT 15 4 1 transpose_frames:flag
ScaledDotProductAttention 13 3-6 1 causal:flag
ScatterElementsUpdate 3 4 1
ScatterElementsUpdate 12 4 1 reduction:text=none use_init_val:flag=true
ScatterNDUpdate 4 3 1
ScatterNDUpdate 15 3 1 reduction:text=none
ScatterUpdate 3 4 1
SearchSorted 15 2 1 right_mode:flag output_type:type=i64
SegmentMax 16 2-3 1 fill_mode:text=zero
Select 1 3 1 @broadcast
Selu 1 3 1
ShapeOf 1 1 1
ShapeOf 3 1 1 output_type:type!
ShuffleChannels 1 1 1 axis:integer=1 group:integer=1
Sigmoid 1 1 1
Sign 1 1 1
Sin 1 1 1
Sinh 1 1 1
Slice 8 4-5 1
SliceScatter 15 5-6 1
SoftMax 1 1 1 axis:integer
SoftMax 8 1 1 axis:integer=1
SoftPlus 4 1 1
SoftSign 9 1 1
SpaceToBatch 2 4 1
SpaceToDepth 1 1 1 block_size:integer! mode:text=blocks_first
SparseFillEmptyRows 16 4 3
Split 1 2 1+ num_splits:integer!
Sqrt 1 1 1
SquaredDifference 1 2 1 @broadcast
Squeeze 1 1-2 1
Squeeze 15 1-2 1 allow_axis_skip:flag
StridedSlice 1 3-4 1 @masks
StringTensorPack 15 3 1
StringTensorUnpack 15 1 3
Subtract 1 2 1 @broadcast
Swish 4 1-2 1
Tan 1 1 1
Tanh 1 1 1
TensorIterator 1 1+ 0+ port_map:map! back_edges:map body:body!
Tile 1 2 1
TopK 1 2 2 axis:integer mode:text=max sort:text=none index_element_type:type=i32
TopK 3 2 2 axis:integer mode:text=max sort:text=none index_element_type:type=i32
TopK 11 2 2 axis:integer mode:text=max sort:text=none index_element_type:type=i32 stable:flag
Transpose 1 2 1
Unique 10 1-2 4 sorted:flag=true index_element_type:type=i64 count_element_type:type=i64
Unsqueeze 1 2 1
VariadicSplit 1 3 1+
"""

SHARED = {
    "@broadcast": "auto_broadcast:text=numpy auto_broadcast.auto_broadcast_axis:integer",
    "@convolution": "strides:integers dilations:integers pads_begin:integers pads_end:integers auto_pad:text=explicit",
    "@detection": "background_label_id:integer top_k:integer=-1 variance_encoded_in_target:flag keep_top_k:integers! "
    "code_type:text=caffe.PriorBoxParameter.CORNER share_location:flag=true nms_threshold:number "
    "confidence_threshold:number clip_after_nms:flag clip_before_nms:flag decrease_label_id:flag "
    "normalized:flag input_height:integer=1 input_width:integer=1 objectness_score:number",
    "@interpolation": "mode:text=nearest shape_calculation_mode:text=sizes nearest_mode:text=round_prefer_floor "
    "coordinate_transformation_mode:text=half_pixel antialias:flag pads_begin:integers pads_end:integers "
    "cube_coeff:number=-0.75",
    "@masks": "begin_mask:integers end_mask:integers new_axis_mask:integers shrink_axis_mask:integers "
    "ellipsis_mask:integers",
    "@multiclass": "sort_result_type:text=none output_type:type=i64 nms_top_k:integer=-1 keep_top_k:integer=-1 "
    "sort_result_across_batch:flag score_threshold:number background_class:integer=-1 normalized:flag=true",
    "@prior": "min_size:numbers max_size:numbers aspect_ratio:numbers density:numbers fixed_ratio:numbers "
    "fixed_size:numbers clip:flag flip:flag step:number offset:number variance:numbers "
    "scale_all_sizes:flag=true",
    "@proposal": "base_size:integer pre_nms_topn:integer post_nms_topn:integer nms_thresh:number feat_stride:integer=1 "
    "min_size:integer=1 ratio:numbers scale:numbers clip_before_nms:flag=true clip_after_nms:flag "
    "normalize:flag box_size_scale:number=1 box_coordinate_scale:number=1 framework:text=",
    "@recurrent": "hidden_size:integer activations_alpha:numbers activations_beta:numbers clip:number",
    "@window": "kernel:integers! strides:integers! pads_begin:integers pads_end:integers auto_pad:text=explicit "
    "rounding_type:text=floor",
}
"""Attributes that several operations have."""

ABSENT = {"RNNCell": range(2, 3), "Reverse": range(2, 17), "ShuffleChannels": range(2, 3)}
"""Operator sets, after the first that has an operation, that do not."""
