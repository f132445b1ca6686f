"""Boxes of detectors: how those that a network moves are made of those that it starts from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxfold.model.graph import Tensor
from maxfold.passes.conversion.sites.onnx_site import OnnxSite


@dataclass(frozen=True, slots=True)
class Priors:
    """Boxes to start from by their corners (left, top, right, bottom in the last dimension), and what moves are
    multiplied by, None for 1."""

    corners: Tensor
    variances: Tensor | None


def decoded(site: OnnxSite, priors: Priors, moves: Tensor, is_centered: bool) -> Tensor:
    """The corners of boxes after their moves: of centers and of logarithms of sizes, or of corners."""
    if priors.variances is not None:
        moves = site.add("Mul", [priors.variances, moves])
    if not is_centered:
        result: Tensor = site.add("Add", [priors.corners, moves])
        return result
    low, high = halves(site, priors.corners)
    size = site.add("Sub", [high, low])
    half = site.constant(0.5, np.float32)
    center = site.add("Mul", [site.add("Add", [low, high]), half])
    return _moved(site, center, size, moves, half)


def halves(site: OnnxSite, boxes: Tensor) -> list[Tensor]:
    """The first two of four numbers, and the last two."""
    sizes = site.constant([2, 2], "int64")
    parts: list[Tensor] = site.add("Split", [boxes, sizes], {"axis": -1}, outputs=2)
    return parts


def clipped(site: OnnxSite, boxes: Tensor) -> Tensor:
    """Boxes between 0 and 1."""
    made: Tensor = site.add("Clip", [boxes, site.constant(0, np.float32), site.constant(1, np.float32)])
    return made


def within(site: OnnxSite, boxes: Tensor, edge: Tensor) -> Tensor:
    """Boxes between 0 and the edge of an image, which is given for each of their numbers."""
    made: Tensor = site.add("Max", [site.add("Min", [boxes, edge]), site.constant(0, np.float32)])
    return made


def regressed(site: OnnxSite, corners: Tensor, moves: Tensor, offset: float) -> Tensor:
    """The corners of boxes after moves of their centers, in sizes, and of the logarithms of their sizes. `offset` is
    what the last pixel adds to a size."""
    low, high = halves(site, corners)
    size = site.add("Sub", [high, low])
    if offset:
        size = site.add("Add", [size, site.constant(np.float32(offset), np.float32)])
    half = site.constant(0.5, np.float32)
    center = site.add("Add", [low, site.add("Mul", [size, half])])
    return _moved(site, center, size, moves, half)


def _moved(site: OnnxSite, center: Tensor, size: Tensor, moves: Tensor, half: Tensor) -> Tensor:
    """The corners of boxes after moves of their centers, in sizes, and of the logarithms of their sizes."""
    shift, growth = halves(site, moves)
    center = site.add("Add", [site.add("Mul", [shift, size]), center])
    around = site.add("Mul", [site.add("Mul", [site.add("Exp", [growth]), size]), half])
    corners = [site.add("Sub", [center, around]), site.add("Add", [center, around])]
    made: Tensor = site.add("Concat", corners, {"axis": -1})
    return made
