"""Files that are no models, and are handed in by mistake."""

from __future__ import annotations

import gzip
import io
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

from maxfold.model import ModelError
from maxfold.model.mistaken import _BEHIND_FOUR, _NAMES, _STARTS
from maxfold.optimizer import load


def _zip() -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("data.pkl", b"...")
    return target.getvalue()


def _array() -> bytes:
    target = io.BytesIO()
    np.save(target, np.zeros(3))
    return target.getvalue()


FILES = {
    "lfs.onnx": (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n", "git lfs pull"),
    "page.onnx": (b"\n<!DOCTYPE html><html><body>404</body></html>", "is an HTML page"),
    "page.xml": (b"<HTML><body>404</body></HTML>", "is an HTML page"),
    "model.pt": (_zip(), "is a ZIP archive"),
    "old.pt": (pickle.dumps({"weight": [1.0]}, 2), "is a Python pickle"),
    "new.pkl": (pickle.dumps({"weight": [1.0]}, 4), "is a Python pickle"),
    "model.onnx.gz": (gzip.compress(b"..."), "decompress it first"),
    "model.tflite": (b"\x1c\0\0\0TFL3" + bytes(32), "is a TensorFlow Lite model"),
    "model.ort": (b"\x20\0\0\0ORTM" + bytes(32), "in ONNX Runtime's own format"),
    "model.safetensors": ((2).to_bytes(8, "little") + b"{}", "is a safetensors file"),
    "model.h5": (b"\x89HDF\r\n\x1a\n" + bytes(64), "is an HDF5 file"),
    "model.gguf": (b"GGUF\3\0\0\0" + bytes(64), "is a GGUF file"),
    "x.npy": (_array(), "is an array of NumPy"),
    "saved_model.pb": (b"\x08\x01\x12\x03\x0a\x01\x00", "is a SavedModel of TensorFlow"),
    "model.mlmodel": (b"\x08\x04\x12\x00", "is a Core ML model"),
}


@pytest.mark.parametrize("name", FILES)
def test_what_they_are(name: str, tmp_path: Path) -> None:
    data, expected = FILES[name]
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ModelError) as caught:
        load(tmp_path / name)
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / name}: is ")
    assert expected in message
    assert "\n" not in message


def test_in_memory() -> None:
    with pytest.raises(ModelError, match="git lfs pull"):
        load(FILES["lfs.onnx"][0])


@pytest.mark.parametrize("start", [start for start, _ in _STARTS] + [bytes(4) + start for start, _ in _BEHIND_FOUR])
def test_every_kind_is_told(start: bytes) -> None:
    with pytest.raises(ModelError, match=r"^<bytes>: is (a|an|in|compressed) "):
        load(start + bytes(40))


def test_names_are_told_last() -> None:
    assert all(what.startswith("is a ") for what in _NAMES.values())
