"""The rewrites: one file each, and this, the only list of them in their default order."""

from maxfold.passes.bypass_expand import BypassExpand
from maxfold.passes.declare_shapes import DeclareShapes
from maxfold.passes.expand_operators import ExpandOperators
from maxfold.passes.flatten_concats import FlattenConcats
from maxfold.passes.flip_layouts import FlipLayouts
from maxfold.passes.fold_constants import FoldConstants
from maxfold.passes.fold_shapes import FoldShapes
from maxfold.passes.fuse_activations import FuseActivations
from maxfold.passes.fuse_add import FuseAddPass
from maxfold.passes.fuse_arithmetic import FuseArithmetic
from maxfold.passes.fuse_bounds import FuseBounds
from maxfold.passes.fuse_convolutions import FuseConvolutions
from maxfold.passes.fuse_gelu import FuseGelu
from maxfold.passes.fuse_gemm import FuseGemm
from maxfold.passes.fuse_global_pools import FuseGlobalPools
from maxfold.passes.fuse_hard_swish import FuseHardSwish
from maxfold.passes.fuse_layer_normalization import FuseLayerNormalization
from maxfold.passes.fuse_leaky_relu import FuseLeakyRelu
from maxfold.passes.fuse_max import FuseMaxPass
from maxfold.passes.fuse_normalization_scales import FuseNormalizationScales
from maxfold.passes.fuse_not import FuseNot
from maxfold.passes.fuse_pad import FusePad
from maxfold.passes.fuse_rms_normalization import FuseRmsNormalization
from maxfold.passes.fuse_scales import FuseScales
from maxfold.passes.fuse_sequences import FuseSequences
from maxfold.passes.fuse_slices import FuseSlices
from maxfold.passes.fuse_softmax import FuseSoftmax
from maxfold.passes.fuse_space_to_depth import FuseSpaceToDepth
from maxfold.passes.fuse_sums_of_squares import FuseSumsOfSquares
from maxfold.passes.fuse_swish import FuseSwish
from maxfold.passes.hoist_above_split import HoistAboveSplit
from maxfold.passes.hoist_from_branches import HoistFromBranches
from maxfold.passes.hoist_reshapes import HoistReshapes
from maxfold.passes.hoist_transposes import HoistTransposes
from maxfold.passes.inline_constant_if import InlineConstantIf
from maxfold.passes.inline_functions import InlineFunctions
from maxfold.passes.merge_casts import MergeCasts
from maxfold.passes.merge_clips import MergeClips
from maxfold.passes.merge_equal_nodes import MergeEqualNodes
from maxfold.passes.merge_equal_values import MergeEqualValues
from maxfold.passes.merge_pads import MergePads
from maxfold.passes.merge_reductions import MergeReductions
from maxfold.passes.merge_repeats import MergeRepeats
from maxfold.passes.merge_reshapes import MergeReshapes
from maxfold.passes.merge_slices import MergeSlices
from maxfold.passes.merge_transposes import MergeTransposes
from maxfold.passes.merge_unary import MergeUnary
from maxfold.passes.remove_dead_nodes import RemoveDeadNodes
from maxfold.passes.remove_failing_branch import RemoveFailingBranch
from maxfold.passes.remove_identity import RemoveIdentity
from maxfold.passes.remove_neutral_operand import RemoveNeutralOperand
from maxfold.passes.remove_no_op_cast import RemoveNoOpCast
from maxfold.passes.remove_no_op_concat import RemoveNoOpConcat
from maxfold.passes.remove_no_op_gather import RemoveNoOpGather
from maxfold.passes.remove_no_op_pad import RemoveNoOpPad
from maxfold.passes.remove_no_op_reduction import RemoveNoOpReduction
from maxfold.passes.remove_no_op_reshape import RemoveNoOpReshape
from maxfold.passes.remove_no_op_resize import RemoveNoOpResize
from maxfold.passes.remove_no_op_slice import RemoveNoOpSlice
from maxfold.passes.remove_no_op_split import RemoveNoOpSplit
from maxfold.passes.remove_no_op_transpose import RemoveNoOpTranspose
from maxfold.passes.remove_no_op_where import RemoveNoOpWhere
from maxfold.passes.remove_zero_state import RemoveZeroState
from maxfold.passes.rewrite_gelu import RewriteGelu
from maxfold.passes.rewrite_normalizations import RewriteNormalizations
from maxfold.passes.rule import DeclineRecord, Pass, PassResult, Progress
from maxfold.passes.settle_reshapes import SettleReshapes
from maxfold.passes.share_constants import ShareConstants
from maxfold.passes.sign_activations import SignActivations
from maxfold.passes.sort_nodes import SortNodes
from maxfold.passes.spread_scales import SpreadScales
from maxfold.passes.trim_scales import TrimScales
from maxfold.passes.unroll_loop import UnrollLoop
from maxfold.passes.unsign_activations import UnsignActivations
from maxfold.passes.upgrade_opset import UpgradeOpset

CATALOGUE: tuple[type[Pass], ...] = (
    SortNodes,
    UpgradeOpset,
    InlineFunctions,
    ExpandOperators,
    FoldConstants,
    FoldShapes,
    InlineConstantIf,
    RemoveFailingBranch,
    UnrollLoop,
    RemoveIdentity,
    RemoveNoOpCast,
    MergeCasts,
    RemoveNoOpReshape,
    MergeReshapes,
    MergeReductions,
    RemoveNoOpTranspose,
    MergeTransposes,
    RemoveNoOpSlice,
    MergeSlices,
    RemoveNoOpGather,
    MergeRepeats,
    RemoveNoOpPad,
    UnsignActivations,
    SignActivations,
    MergePads,
    RemoveNoOpConcat,
    FlattenConcats,
    RemoveNoOpSplit,
    FuseSequences,
    MergeUnary,
    MergeClips,
    RemoveNoOpReduction,
    RemoveNoOpWhere,
    FuseNot,
    RemoveNoOpResize,
    BypassExpand,
    RemoveZeroState,
    SettleReshapes,
    HoistTransposes,
    FuseSpaceToDepth,
    FuseMaxPass,
    FuseBounds,
    FuseLeakyRelu,
    FuseGlobalPools,
    FuseHardSwish,
    FuseSwish,
    FuseGelu,
    FuseLayerNormalization,
    FuseRmsNormalization,
    FuseSoftmax,
    RewriteGelu,
    RewriteNormalizations,
    FusePad,
    HoistReshapes,
    FuseSlices,
    HoistAboveSplit,
    MergeEqualNodes,
    MergeEqualValues,
    HoistFromBranches,
    FlipLayouts,
    # What moves constants and factors comes when all patterns have been found, see runtime_patterns.
    TrimScales,
    FuseNormalizationScales,
    SpreadScales,
    RemoveNeutralOperand,
    FuseAddPass,
    FuseArithmetic,
    FuseSumsOfSquares,
    FuseConvolutions,
    FuseGemm,
    FuseScales,
    FuseActivations,
    RemoveDeadNodes,
    ShareConstants,
    DeclareShapes,
)

__all__ = ["CATALOGUE", "DeclineRecord", "Pass", "PassResult", "Progress"]
