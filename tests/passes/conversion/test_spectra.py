"""Rows of Fourier transforms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.passes.conversion import harness, judged

REFUSED = {("openvino", "dft_irfft"): "its axis is computed at run time"}


@pytest.mark.parametrize(
    ("way", "case"), [entry for entry in judged.parameters("DFT", "STFT") if entry.values[0] == "openvino"]
)
def test_node_cases(way: str, case: harness.Case, tmp_path: Path) -> None:
    judged.judge(way, case, tmp_path, refused=REFUSED, limited={}, rtol=1e-4, atol=1e-3)


def _complex(data: Any) -> Any:
    return data[..., 0] + 1j * data[..., 1] if data.shape[-1] == 2 else data[..., 0]


def _pairs(data: Any) -> Any:
    return np.stack([data.real, data.imag], -1).astype(np.float32)


LENGTHS = [None, 3, 5, 8]


@pytest.mark.parametrize("known", [("axis", "length"), ()])
@pytest.mark.parametrize("axis", [None, 0, 1, -2, -3])
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("form", ["real", "complex", "inverse", "half"])
def test_transforms(form: str, length: int | None, axis: int | None, known: tuple[str, ...], tmp_path: Path) -> None:
    data = judged.floats(2, 5, 4, 2 if form in ("complex", "inverse") else 1)
    inputs = {
        "x": data, "length": "" if length is None else np.int64(length), "axis": "" if axis is None else np.int64(axis),
    }  # fmt: skip
    model, values = judged.one_node(
        "DFT", inputs, opset=20, constants=[name for name in known if not isinstance(inputs[name], str)],
        inverse=int(form == "inverse"), onesided=int(form == "half"),
    )  # fmt: skip
    function = {"inverse": np.fft.ifft, "half": np.fft.rfft}.get(form, np.fft.fft)
    expected = _pairs(function(_complex(data), length, axis=(-2 if axis is None else axis) % 4))
    judged.assert_same_in_openvino(model, values, tmp_path, expected=[expected])


@pytest.mark.parametrize("length", [None, 1, 4, 5, 6, 7])
def test_real_data_of_half_a_spectrum(length: int | None, tmp_path: Path) -> None:
    data = judged.floats(2, 4, 3, 2)
    inputs = {"x": data, "length": "" if length is None else np.int64(length), "axis": np.int64(1)}
    constants = ["axis"] if length is None else ["axis", "length"]
    model, values = judged.one_node("DFT", inputs, opset=20, constants=constants, inverse=1, onesided=1)
    expected = np.fft.irfft(_complex(data), length, axis=1)[..., None].astype(np.float32)
    judged.assert_same_in_openvino(model, values, tmp_path, expected=[expected])


@pytest.mark.parametrize(
    ("shape", "attributes", "length", "reason"),
    [
        ((2, 4, 2), {"inverse": 1, "onesided": 1}, 8, "more of the spectrum than there is"),
        ((2, 4, 1), {"inverse": 1, "onesided": 1}, None, "half a spectrum as complex data only"),
        ((2, 4, 2), {"onesided": 1}, None, "half a spectrum of real data only"),
    ],
)
def test_refused_transforms(
    shape: tuple[int, ...], attributes: dict[str, int], length: int | None, reason: str, tmp_path: Path
) -> None:
    inputs = {"x": judged.floats(*shape), "length": "" if length is None else np.int64(length)}
    constants = [] if length is None else ["length"]
    model, _ = judged.one_node("DFT", inputs, opset=20, constants=constants, **attributes)
    judged.assert_refused_in_openvino(model, tmp_path, reason)


def test_data_that_may_be_real_or_complex(tmp_path: Path) -> None:
    model, _ = judged.one_node("DFT", {"x": judged.floats(2, 4, 2)}, opset=20, dynamic=["x"])
    judged.assert_refused_in_openvino(model, tmp_path, "whether its input is real or complex is not known")


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("given", ["window", "length", "both"])
@pytest.mark.parametrize(("parts", "onesided"), [(1, 1), (1, 0), (2, 0)])
def test_frames(parts: int, onesided: int, given: str, is_known: bool, tmp_path: Path) -> None:
    signal, window, step, size = judged.floats(2, 21, parts), np.hanning(6).astype(np.float32), 4, 6
    inputs: dict[str, Any] = {
        "x": signal, "step": np.int64(step), "window": "" if given == "length" else window,
        "length": "" if given == "window" else np.int64(size),
    }  # fmt: skip
    constants = [name for name in ("step", "window", "length") if is_known and not isinstance(inputs[name], str)]
    model, values = judged.one_node("STFT", inputs, opset=17, constants=constants, onesided=onesided)
    factors = np.ones(size, np.float32) if given == "length" else window
    frames = [_complex(signal)[:, start : start + size] * factors for start in range(0, 21 - size + 1, step)]
    function = np.fft.rfft if onesided else np.fft.fft
    judged.assert_same_in_openvino(model, values, tmp_path, expected=[_pairs(function(np.stack(frames, 1), axis=2))])


def test_one_frame_of_the_whole_signal(tmp_path: Path) -> None:
    signal = judged.floats(1, 7, 1)
    model, values = judged.one_node("STFT", {"x": signal, "step": np.int64(3)}, opset=17, constants=["step"])
    judged.assert_same_in_openvino(model, values, tmp_path, expected=[_pairs(np.fft.rfft(signal[..., 0])[:, None])])
