"""What a file is that is no model, by how it begins: of formats that people hand in by mistake, and what to do then.

Only files that could not be read are looked at.
"""

from __future__ import annotations

from pathlib import Path

from maxfold.model.storage import Source

_START_BYTES = 512
_EXPORT = "export the model to ONNX with the tool that made it"
# How files begin, and what they are.
_STARTS: tuple[tuple[bytes, str], ...] = (
    (b"version https://git-lfs", "is a pointer of Git LFS in place of the file; get that with 'git lfs pull'"),
    (b"PK\x03\x04", "is a ZIP archive, which PyTorch's .pt and Keras's .keras files are too; unpack it, or " + _EXPORT),
    (b"\x1f\x8b", "is compressed with gzip; decompress it first"),
    (b"BZh", "is compressed with bzip2; decompress it first"),
    (b"\xfd7zXZ\x00", "is compressed with xz; decompress it first"),
    (b"\x28\xb5\x2f\xfd", "is compressed with Zstandard; decompress it first"),
    (b"7z\xbc\xaf\x27\x1c", "is a 7z archive; unpack it first"),
    (b"\x89HDF\r\n", "is an HDF5 file, such as Keras's .h5; " + _EXPORT),
    (b"GGUF", "is a GGUF file, which holds weights without a graph; " + _EXPORT),
    (b"\x80\x02", "is a Python pickle, such as an old .pt file of PyTorch; " + _EXPORT),
    (b"\x80\x04", "is a Python pickle; " + _EXPORT),
    (b"\x93NUMPY", "is an array of NumPy, not a model; give it to --inputs inside an .npz file"),
)  # fmt: skip
# The same for what stands behind four bytes.
_BEHIND_FOUR: tuple[tuple[bytes, str], ...] = (
    (b"TFL3", "is a TensorFlow Lite model; convert it to ONNX first, with tf2onnx for example"),
    (b"ORTM", "is in ONNX Runtime's own format; give the .onnx file that it was made of"),
)
_NAMES = {
    "saved_model.pb": "is a SavedModel of TensorFlow; convert it to ONNX first, with tf2onnx for example",
    ".mlmodel": "is a Core ML model; " + _EXPORT,
}
_HTML = (b"<!doctype html", b"<html")


def mistaken(source: Source, path: Path | None) -> str | None:
    """What a file that is no model is instead, and what to do; None where nothing is known of it."""
    start = source.sample(0, min(source.size, _START_BYTES))
    for signature, what in _STARTS:
        if start.startswith(signature):
            return what
    for signature, what in _BEHIND_FOUR:
        if start[4:].startswith(signature):
            return what
    if start.lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith(_HTML):
        return "is an HTML page, as servers send in place of a file; download the file itself"
    if start[8:9] == b"{" and 0 < int.from_bytes(start[:8], "little") <= source.size - 8:
        return "is a safetensors file, which holds weights without a graph; " + _EXPORT
    return None if path is None else _NAMES.get(path.name, _NAMES.get(path.suffix.lower()))
