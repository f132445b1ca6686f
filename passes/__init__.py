"""The rewrites: one file each, and this, the only list of them in their default order."""

from maxfold.passes.fold_constants import FoldConstants
from maxfold.passes.fuse_add import FuseAddPass
from maxfold.passes.fuse_max import FuseMaxPass
from maxfold.passes.remove_dead_nodes import RemoveDeadNodes
from maxfold.passes.rule import DeclineRecord, Pass, PassResult, Progress
from maxfold.passes.share_constants import ShareConstants
from maxfold.passes.sort_nodes import SortNodes
from maxfold.passes.upgrade_opset import UpgradeOpset

CATALOGUE: tuple[type[Pass], ...] = (
    SortNodes,
    UpgradeOpset,
    FoldConstants,
    FuseMaxPass,
    FuseAddPass,
    RemoveDeadNodes,
    ShareConstants,
)

__all__ = ["CATALOGUE", "DeclineRecord", "Pass", "PassResult", "Progress"]
