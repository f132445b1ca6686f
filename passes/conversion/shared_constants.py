"""Constants that several graphs of a model have.

A body of an IR reads nothing from outside, so each constant that bodies of an ONNX file share with one another or with
the graph around them has copies there, whose bytes are the same ones of the file. On the way back they become one
constant again, or files would grow.
"""

from __future__ import annotations

from maxfold.model.data import RegionData
from maxfold.model.graph import Constant
from maxfold.model.model import Model
from maxfold.model.wished_names import SMALL_BYTES


def shared_constants(model: Model) -> dict[Constant, Constant]:
    """For each large constant that stands in several graphs, the one that is to stand for it in the outermost graph."""
    groups: dict[object, list[Constant]] = {}
    for constant in model.constants():
        if constant.data.nbytes > SMALL_BYTES:
            groups.setdefault(_key(constant), []).append(constant)
    shared: dict[Constant, Constant] = {}
    for group in groups.values():
        if len({id(constant.scope) for constant in group}) > 1:
            shared |= dict.fromkeys(group, group[0])
    return shared


def _key(constant: Constant) -> object:
    """What copies have in common: where their bytes lie."""
    data = constant.data
    if not isinstance(data, RegionData):
        return id(data)
    return id(data.region.source), data.region.offset, data.region.nbytes, data.dtype, data.shape
