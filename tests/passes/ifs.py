"""Models with an If of a constant condition, and what inline-constant-if makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from onnx import ModelProto

from tests.passes.outcome import Outcome, outcome
from tests.run import assert_equal, in_onnxruntime
from tests.text import model

X = {"x": np.array([1.5, -2.0], np.float32)}


def inlined(source: ModelProto, feeds: Mapping[str, Any] | None = X, **options: Any) -> Outcome:
    """The outcome; with feeds, the model gives the same before and after."""
    result = outcome("inline-constant-if", source, **options)
    if feeds is not None:
        assert_equal(in_onnxruntime(result.after, feeds), in_onnxruntime(source, feeds), zeros_differ=True)
    return result


def choice(
    then_branch: str,
    else_branch: str = "o = Neg(x)",
    *,
    condition: str = "1",
    output: str = "o",
    before: str = "",
    after: str = "y = Exp(r)",
    **options: Any,
) -> ModelProto:
    """A model with one If of a constant condition that makes r; both branches return `output`."""
    return model(
        f"""
        g (float[2] x) => (float[2] y) <bool c = {{{condition}}}, float k = {{3}}> {{
            {before}
            r = If (c) <
                then_branch = t () => (float[2] {output}) {{ {then_branch} }},
                else_branch = e () => (float[2] {output}) {{ {else_branch} }}
            >
            {after}
        }}""",
        **options,
    )
