"""remove-no-op-resize: scales of 1 and sizes that are there, by mode and coordinates."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.cleaning import assert_same_results, nodes
from tests.passes.outcome import Outcome, outcome
from tests.text import model

A = np.arange(12, dtype=np.float32).reshape(1, 1, 3, 4)


def resized(call: str, *, opset: int = 17, math: str = "exact") -> Outcome:
    source = model(
        f"g (float[1,1,N,4] a) => (float[A,B,C,D] y) {{ s = Shape(a) b = {call} y = Neg(b) }}",
        opset=opset,
        constants={
            "ones": np.ones(4, np.float32), "near": np.array([1, 1, 1, 1.01], np.float32),
            "none": np.empty(0, np.float32), "four": np.array([1, 1, 4, 4]), "two": np.ones(2, np.float32),
        },
    )  # fmt: skip
    return outcome("remove-no-op-resize", source, math=math)


@pytest.mark.parametrize(
    ("call", "opset"),
    [
        ("Resize(a, , ones)", 17),
        ("Resize(a, none, ones)", 11),
        ("Resize(a, none, none, s)", 11),
        ("Resize(a, , , s)", 17),
        ('Resize<coordinate_transformation_mode = "asymmetric", nearest_mode = "floor">(a, , ones)', 17),
        ('Resize<coordinate_transformation_mode = "align_corners", nearest_mode = "ceil">(a, , ones)', 17),
        ('Resize<coordinate_transformation_mode = "pytorch_half_pixel">(a, , , s)', 17),
        ("Resize<axes = [2, 3]>(a, , two)", 18),
        ("Resize(a, ones)", 10),
        ("Upsample(a, ones)", 9),
    ],
)
def test_what_goes(call: str, opset: int) -> None:
    result = resized(call, opset=opset)
    assert nodes(result).endswith("y = Neg(a)")
    assert_same_results(result, a=A)


@pytest.mark.parametrize(
    ("call", "opset"), [("Resize(a, , near)", 17), ("Resize(a, , , four)", 17), ("Upsample(a, near)", 9)]
)
def test_other_sizes_stay(call: str, opset: int) -> None:
    result = resized(call, opset=opset)
    assert (result.changes, result.reasons) == (0, [])


def test_interpolation_only_relaxed() -> None:
    call = 'Resize<mode = "linear">(a, , ones)'
    exact = resized(call)
    assert exact.reasons == ["interpolation by a factor of 1 is not exact beside infinities; only with --math relaxed"]
    assert exact.declines[0].relaxed_gain == 1
    assert nodes(resized(call, math="relaxed")).endswith("y = Neg(a)")


@pytest.mark.parametrize("mode", ["tf_crop_and_resize", "tf_half_pixel_for_nn"])
def test_coordinates_between_elements_stay(mode: str) -> None:
    result = resized(f'Resize<coordinate_transformation_mode = "{mode}">(a, none, ones)', opset=11)
    assert result.reasons == ["its coordinates may lie between elements or outside"]


def test_between_input_and_output_it_stays() -> None:
    source = model("g (float[1,2] a) => (float[1,2] y) { y = Resize(a, , k) }", constants={"k": np.ones(2, np.float32)})
    assert outcome("remove-no-op-resize", source).reasons == [
        "'y' is a graph output and 'a' is not made by a node beside it"
    ]
