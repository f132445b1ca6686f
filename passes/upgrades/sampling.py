"""Operators that sample between elements: Upsample and Resize, RoiAlign, GridSample.

Source: the operators' specifications, the versions named in `ADAPTERS`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from maxfold.passes.upgrades.draft import Adapter, Draft, Facts, Refusal


def _upsample_scales(draft: Draft, facts: Facts) -> None:
    height, width = draft.take("height_scale"), draft.take("width_scale")
    if height is None or width is None:
        raise Refusal("attributes 'height_scale' and 'width_scale' are missing")
    draft.attributes["scales"] = [1.0, 1.0, height, width]
    if draft.attribute("mode") == "bilinear":
        draft.attributes["mode"] = "linear"


def _upsample_input(draft: Draft, facts: Facts) -> None:
    scales = draft.take("scales")
    if scales is None:
        raise Refusal("attribute 'scales' is missing")
    draft.set_input(1, np.array(scales, np.float32))


def _upsample(draft: Draft, facts: Facts) -> None:
    """Upsample-9 became Resize-10, which says the same with the same inputs."""
    draft.op = "Resize"


def _resize_coordinates(draft: Draft, facts: Facts) -> None:
    """Before version 11 coordinates were not specified. Only whole scales of nearest elements leave no choice: each
    element is repeated, as in the example of Upsample-1."""
    mode = draft.attribute("mode", "nearest")
    if mode != "nearest":
        raise Refusal(f"how mode {mode!r} places its samples was not specified before version 11")
    scales = facts.constant(draft.input(1))
    if scales is None:
        raise Refusal("its scales are not constant")
    if not all(scale >= 1 and scale == np.floor(scale) for scale in scales.reshape(-1)):
        raise Refusal("where scales that are not whole place their samples was not specified before version 11")
    draft.attributes.update(coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    draft.inputs = [draft.input(0), np.zeros(0, np.float32), draft.input(1)]


def _resize_sizes(draft: Draft, facts: Facts) -> None:
    """Version 13 wants either scales or sizes, where 11 wanted scales to be empty beside sizes."""
    mode = draft.attribute("coordinate_transformation_mode", "half_pixel")
    if mode == "tf_half_pixel_for_nn":
        raise Refusal(f"coordinate_transformation_mode {mode!r} has gone")
    if draft.input(3) is None:
        return
    if facts.shape(draft.input(2)) != (0,):
        raise Refusal("it has scales and sizes")
    draft.set_input(2, None)


def _roi_align(draft: Draft, facts: Facts) -> None:
    """The default of version 16 shifts coordinates by half a pixel, which version 10 did not."""
    draft.attributes["coordinate_transformation_mode"] = "output_half_pixel"


def _grid_sample(draft: Draft, facts: Facts) -> None:
    mode = draft.attribute("mode", "bilinear")
    draft.attributes["mode"] = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)


ADAPTERS: Mapping[tuple[str, int], Adapter] = {
    ("GridSample", 20): _grid_sample,
    ("Resize", 11): _resize_coordinates,
    ("Resize", 13): _resize_sizes,
    ("RoiAlign", 16): _roi_align,
    ("Upsample", 7): _upsample_scales,
    ("Upsample", 9): _upsample_input,
    ("Upsample", 10): _upsample,
}
