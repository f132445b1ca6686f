"""For which runtime a model is rewritten, where what is good for one is bad for another."""

from __future__ import annotations

from typing import Literal, get_args

Target = Literal["any", "onnxruntime", "openvino", "tensorrt"]
TARGETS: tuple[Target, ...] = get_args(Target)
