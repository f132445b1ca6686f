"""Operations that ONNX has no form for, and why."""

from __future__ import annotations

REASONS = {
    "CTCLoss": "ONNX has no loss of alignments; it is a part of training",
    "PagedAttention": "it reads and writes caches in blocks, of which OpenVINO's own servers take care",
    "PagedAttentionExtension": "it reads and writes caches in blocks, of which OpenVINO's own servers take care",
    "StringTensorPack": "ONNX has no operator that makes strings of bytes",
    "StringTensorUnpack": "ONNX has no operator that makes bytes of strings",
}
