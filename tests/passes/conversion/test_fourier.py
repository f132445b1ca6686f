"""OpenVINO's Fourier transforms and Col2Im to ONNX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino.opset15 as ov
import openvino.opset16 as ov16
import pytest

from tests.passes.conversion.built import assert_converts, assert_refused
from tests.passes.conversion.judged import floats

AXES: list[Any] = [([1], None), ([0, 1, 2], None), ([-1], [4]), ([1], [3]), ([2], [9]), ([2, 0], None)]
CLOSE = {"rtol": 1e-4, "atol": 1e-4}
CLOSE_IN_HALF = {"rtol": 1e-2, "atol": 5e-2}


def given(data: Any, axes: Any, sizes: Any) -> list[Any]:
    return [data, np.array(axes), *([] if sizes is None else [np.array(sizes)])]


@pytest.mark.parametrize("is_dynamic", [False, True])
@pytest.mark.parametrize(("axes", "sizes"), AXES)
@pytest.mark.parametrize("make", [ov.dft, ov.idft])
def test_complex_data(make: Any, axes: Any, sizes: Any, is_dynamic: bool, tmp_path: Path) -> None:
    values = given(floats(3, 4, 6, 2), axes, sizes)
    assert_converts(make, values, tmp_path, constants=[1, 2], is_dynamic=is_dynamic, **CLOSE)


@pytest.mark.parametrize("make", [ov.dft, ov.idft, ov.rdft])
def test_half_precision_and_few_dimensions(make: Any, tmp_path: Path) -> None:
    for data in (floats(4, 2).astype(np.float16), floats(4, 2)):
        close = CLOSE if data.dtype == np.float32 else CLOSE_IN_HALF
        assert_converts(make, given(data, [0], None), tmp_path, constants=[1], **close)


@pytest.mark.parametrize("is_dynamic", [False, True])
@pytest.mark.parametrize(("axes", "sizes"), [item for item in AXES if item[1] != [9]])
def test_real_data(axes: Any, sizes: Any, is_dynamic: bool, tmp_path: Path) -> None:
    values = given(floats(3, 4, 6), axes, sizes)
    assert_converts(ov.rdft, values, tmp_path, constants=[1, 2], is_dynamic=is_dynamic, **CLOSE)


def test_real_data_with_zeros_behind(tmp_path: Path) -> None:
    """Which OpenVINO's CPU does not do."""
    data = floats(3, 4)
    spectrum = np.fft.rfft(data, 7)
    expected = np.stack([spectrum.real, spectrum.imag], axis=-1).astype(np.float32)
    assert_converts(ov.rdft, given(data, [1], [7]), tmp_path, constants=[1, 2], expected=[expected], **CLOSE)


@pytest.mark.parametrize("is_dynamic", [False, True])
@pytest.mark.parametrize("length", [None, 4, 5, 6, 7])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_half_a_spectrum(axis: int, length: int | None, is_dynamic: bool, tmp_path: Path) -> None:
    data = floats(4, 4, 4, 2)
    values = given(data, [axis], None if length is None else [length])
    if is_dynamic and length is None:
        reason = "the size of the half spectrum is not known"
        assert_refused(ov.irdft, values, tmp_path, reason, constants=[1, 2], is_dynamic=True)
        return
    assert_converts(ov.irdft, values, tmp_path, constants=[1, 2], is_dynamic=is_dynamic, **CLOSE)


@pytest.mark.parametrize("is_dynamic", [False, True])
def test_half_a_spectrum_with_zeros_behind(is_dynamic: bool, tmp_path: Path) -> None:
    """For which OpenVINO's CPU takes anything."""
    data = floats(3, 4, 2)
    expected = np.fft.irfft(data[..., 0] + 1j * data[..., 1], 9).astype(np.float32)
    values = given(data, [1], [9])
    options: dict[str, Any] = {"constants": [1, 2], "is_dynamic": is_dynamic, "expected": [expected]}
    assert_converts(ov.irdft, values, tmp_path, **options, **CLOSE)


def test_half_a_spectrum_of_several_axes(tmp_path: Path) -> None:
    for sizes in (None, [3, 5]):
        assert_converts(ov.irdft, given(floats(3, 4, 6, 2), [0, 2], sizes), tmp_path, constants=[1, 2], **CLOSE)


@pytest.mark.parametrize("is_dynamic", [False, True])
@pytest.mark.parametrize("is_transposed", [False, True])
@pytest.mark.parametrize("window", [16, 11, 8])
@pytest.mark.parametrize("shape", [(2, 40), (40,)])
def test_short_time_transform(shape: Any, window: int, is_transposed: bool, is_dynamic: bool, tmp_path: Path) -> None:
    values = [floats(*shape), floats(window), np.int64(16), np.int32(3)]
    assert_converts(
        lambda *operands: ov.stft(*operands, is_transposed), values, tmp_path,
        constants=[2, 3], is_dynamic=is_dynamic, **CLOSE,
    )  # fmt: skip


@pytest.mark.parametrize("is_dynamic", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("batch", [(2,), ()])
def test_columns_to_images(batch: Any, dtype: Any, is_dynamic: bool, tmp_path: Path) -> None:
    lists = [np.array([4, 5]), np.array([2, 2])]
    options: dict[str, Any] = {"constants": [1, 2], "is_dynamic": is_dynamic, "opset": 18, "rtol": 1e-2, "atol": 1e-2}
    assert_converts(ov.col2im, [floats(*batch, 12, 12).astype(dtype), *lists], tmp_path, **options)
    values = [floats(*batch, 12, 8).astype(dtype), *lists]
    assert_converts(lambda *given: ov.col2im(*given, [2, 1], [1, 2], [1, 0], [0, 1]), values, tmp_path, **options)


def test_columns_of_integers_are_refused(tmp_path: Path) -> None:
    values = [np.zeros((12, 12), np.int32), np.array([4, 5]), np.array([2, 2])]
    assert_refused(ov.col2im, values, tmp_path, "ONNX Runtime has none of int32", constants=[1, 2], opset=18)


@pytest.mark.parametrize("is_dynamic", [False, True])
@pytest.mark.parametrize("is_centered", [False, True])
@pytest.mark.parametrize("is_normalized", [False, True])
@pytest.mark.parametrize("length", [None, 20, 100])
@pytest.mark.parametrize(("shape", "window"), [((9, 7, 2), 16), ((2, 9, 7, 2), 11)])
def test_signals_of_short_time_transforms(
    shape: Any,
    window: int,
    length: int | None,
    is_normalized: bool,
    is_centered: bool,
    is_dynamic: bool,
    tmp_path: Path,
) -> None:
    values = [floats(*shape), np.hanning(window).astype(np.float32), np.int64(16), np.int64(4)]
    values += [] if length is None else [np.int64(length)]

    def make(data: Any, by: Any, size: Any, step: Any, end: Any = None) -> Any:
        return ov16.istft(data, by, size, step, is_centered, is_normalized, end)

    assert_converts(make, values, tmp_path, constants=[2, 3], is_dynamic=is_dynamic, rtol=1e-3, atol=1e-3)
