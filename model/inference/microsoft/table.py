"""The one table of ONNX Runtime's own operators, by domain and operator.

Names of operands are those of its schemas; what its kernels need is no option here, although the schema has it so.
"""

from __future__ import annotations

from maxfold.model.inference import slicing
from maxfold.model.inference.convolution import conv, global_pool
from maxfold.model.inference.microsoft import attention, fused, layouts, others, quantized
from maxfold.model.inference.microsoft.row import Row

_QUANTIZED = "X X_scale X_zero_point Y_scale Y_zero_point"
_PAIR = "A A_scale A_zero_point B B_scale B_zero_point C_scale C_zero_point"
_LSTM = "X W R B? sequence_lens? initial_h? initial_c? P? W_scale W_zero_point R_scale R_zero_point"
_WHERE = "condition X x_scale x_zero_point Y y_scale y_zero_point z_scale z_zero_point"
_QCONV = "x x_scale x_zero_point w w_scale w_zero_point y_scale y_zero_point B?"
_EMBED = "input_ids segment_ids? word_embedding position_embedding segment_embedding? gamma beta mask?"
_SCALES = "word_scale position_scale segment_scale? gamma_scale beta_scale"
_POINTS = "word_zero_point position_zero_point segment_zero_point? gamma_zero_point beta_zero_point"
_ATTENTION = "input weights bias mask_index? past? attention_bias? past_sequence_length?"
_QATTENTION = "input weight bias input_scale weight_scale mask_index? input_zero_point? weight_zero_point? past?"
_MULTI_HEAD = (
    "query key? value? bias? key_padding_mask? attention_bias? past_key? past_value? past_sequence_length? "
    "cache_indirection?"
)
_MASKED = (
    "query key? value? mask_index? attention_bias? past_key? past_value? past_sequence_length? beam_width? "
    "cache_indirection? bias?"
)
_GROUPED = (
    "query key? value? past_key? past_value? seqlens_k total_sequence_length cos_cache? sin_cache? position_ids? "
    "attention_bias? head_sink? k_scale? v_scale? q_norm_weight? k_norm_weight? query_seqlens?"
)
_SUMS = "output mean? inv_std_var? input_skip_bias_sum?"
_PRESENT = "output present_key? present_value? qk?"

_MICROSOFT: dict[str, Row] = {
    "Attention": Row(_ATTENTION, "output present?", attention.attention),
    "BiasGelu": Row("A B", "C", fused.with_bias),
    "BiasSoftmax": Row("data bias", "output", fused.like_first),
    "CDist": Row("A B", "C", fused.squared_distances),
    "ConvTransposeWithDynamicPads": Row("X W Pads B?", "Y", others.conv_transpose),
    "CropAndResize": Row("X rois batch_indices crop_size", "Y", others.crop_and_resize),
    "DecoderMaskedMultiHeadAttention": Row(_MASKED, _PRESENT, attention.masked_attention),
    "DequantizeLinear": Row("x x_scale x_zero_point?", "y", quantized.dequantize),
    "DynamicQuantizeLSTM": Row(_LSTM, "Y? Y_h? Y_c?", quantized.dynamic_quantize_lstm),
    "DynamicQuantizeMatMul": Row("A B b_scale b_zero_point? bias?", "Y", quantized.dynamic_quantize_matmul),
    "EmbedLayerNormalization": Row(
        f"{_EMBED} position_ids?", "output mask_index? embedding_sum?", fused.embed_layer_normalization, least_results=2
    ),
    "ExpandDims": Row("X axis", "Y", others.expand_dims),
    "FastGelu": Row("X bias?", "Y", fused.with_bias),
    "FusedConv": Row("X W B? Z?", "Y", fused.fused_conv),
    "FusedGemm": Row("A B C?", "Y", fused.fused_gemm),
    "FusedMatMul": Row("A B", "Y", fused.fused_matmul),
    "GatherBlockQuantized": Row("data indices scales zero_points?", "output", quantized.gather_block),
    "GatherND": Row("data indices", "output", slicing.gather_nd),
    "Gelu": Row("X", "Y", fused.like_first),
    "GridSample": Row("X Grid", "Y", others.grid_sample),
    "GroupQueryAttention": Row(_GROUPED, "output present_key? present_value? qk?", attention.grouped_attention),
    "Inverse": Row("X", "Y", fused.inverse),
    "MatMulBnb4": Row("A B absmax", "Y", fused.matmul_n_bits),
    "MatMulInteger16": Row("A B", "Y", fused.matmul_integer_16),
    "MatMulIntegerToFloat": Row(
        "A B a_scale b_scale a_zero_point? b_zero_point? bias?", "Y", quantized.matmul_integer_to_float
    ),
    "MatMulNBits": Row("A B scales zero_points? g_idx? bias?", "Y", fused.matmul_n_bits),
    "MaxpoolWithMask": Row("X M", "Y", others.pool_with_mask),
    "MultiHeadAttention": Row(_MULTI_HEAD, _PRESENT, attention.multi_head_attention),
    "MurmurHash3": Row("X", "Y", others.murmur_hash),
    "NGramRepeatBlock": Row("input_ids scores", "scores_out", fused.like_scores),
    "NhwcMaxPool": Row("x", "y", quantized.max_pool_nhwc),
    "Pad": Row("data pads value?", "output", others.pad),
    "QAttention": Row(_QATTENTION, "output present?", attention.quantized_attention),
    "QEmbedLayerNormalization": Row(
        f"{_EMBED} {_SCALES} {_POINTS}",
        "layernorm_out mask_index_out",
        fused.quantized_embed_layer_normalization,
        least_results=2,
    ),
    "QGemm": Row(
        "A a_scale a_zero_point B b_scale b_zero_point C? y_scale? y_zero_point?", "Y", quantized.quantized_gemm
    ),
    "QLinearAdd": Row(_PAIR, "C", quantized.broadcast_pair),
    "QLinearAveragePool": Row(_QUANTIZED, "Y", quantized.average_pool),
    "QLinearConcat": Row("Y_scale Y_zero_point inputs*", "Y", quantized.concat),
    "QLinearConv": Row(_QCONV, "y", quantized.conv),
    "QLinearGlobalAveragePool": Row(_QUANTIZED, "Y", quantized.global_average_pool),
    "QLinearLeakyRelu": Row(_QUANTIZED.replace("_point", "_point?"), "Y", fused.like_first),
    "QLinearMul": Row(_PAIR, "C", quantized.broadcast_pair),
    "QLinearReduceMean": Row(_QUANTIZED.replace("_point", "_point?"), "Y", quantized.reduce_mean),
    "QLinearSigmoid": Row(_QUANTIZED.replace("_point", "_point?"), "Y", fused.like_first),
    "QLinearSoftmax": Row("X X_scale X_zero_point? Y_scale Y_zero_point", "Y", quantized.softmax),
    "QLinearWhere": Row(_WHERE, "Z", quantized.where),
    "QuantizeLinear": Row("x y_scale y_zero_point?", "y", quantized.quantize),
    "QuickGelu": Row("X", "Y", fused.like_first),
    "Range": Row("start limit delta?", "Y", slicing.range_),
    "RotaryEmbedding": Row("input position_ids cos_cache sin_cache", "output", fused.rotary_embedding),
    "SampleOp": Row("X", "Y", fused.like_first),
    "SkipLayerNormalization": Row("input skip gamma beta? bias?", _SUMS, fused.skip_layer_normalization),
    "SkipSimplifiedLayerNormalization": Row("input skip gamma bias?", _SUMS, fused.skip_layer_normalization),
    "Tokenizer": Row("X", "Y", others.tokenizer),
    "TransposeMatMul": Row("A B", "Y", fused.fused_matmul),
    "Trilu": Row("X k?", "Y", fused.like_first),
    "UnfoldTensor": Row("input", "output", fused.unfold),
    "Unique": Row("x", "y idx counts", others.unique),
}

_BLOCKED: dict[str, Row] = {
    "AveragePool": Row("X", "Y", layouts.pool),
    "Conv": Row("X W B? Sum?", "Y", conv),
    "GlobalAveragePool": Row("X", "Y", global_pool),
    "GlobalMaxPool": Row("X", "Y", global_pool),
    "MaxPool": Row("X", "Y", layouts.pool),
    "ReorderInput": Row("X", "Y", layouts.reorder_input),
    "ReorderOutput": Row("X", "Y", layouts.reorder_output),
    "Upsample": Row("X", "Y", layouts.upsample),
}

TABLE: dict[tuple[str, str], Row] = {
    **{("com.microsoft", operator): row for operator, row in _MICROSOFT.items()},
    **{("com.microsoft.nchwc", operator): row for operator, row in _BLOCKED.items()},
    # Among ONNX's own operators, although it is none.
    ("", "SimplifiedLayerNormalization"): Row("X scale", "Y inv_std_var?", fused.simplified_layer_normalization),
}
