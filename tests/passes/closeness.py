"""What a relaxed rewrite must keep: the results up to rounding, on random inputs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from onnx import ModelProto, helper

from tests.passes.outcome import Outcome
from tests.run import in_onnxruntime
from tests.text import Array

# Relative to the largest magnitude of a result.
TOLERANCES = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-12, np.dtype(np.float16): 1e-2}


def random_feeds(source: ModelProto, dims: Mapping[str, int] | None = None, seed: int = 0) -> dict[str, Array]:
    """Values for the inputs of a model, standard normal or small integers; open dimensions are 3 unless in `dims`."""
    random = np.random.default_rng(seed)
    given = {tensor.name for tensor in source.graph.initializer}
    feeds: dict[str, Array] = {}
    for info in source.graph.input:
        if info.name in given:
            continue
        tensor = info.type.tensor_type
        shape = [
            dim.dim_value if dim.HasField("dim_value") else (dims or {}).get(dim.dim_param, 3)
            for dim in tensor.shape.dim
        ]
        dtype = helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        values = random.standard_normal(shape) if dtype.kind == "f" else random.integers(0, 5, shape)
        feeds[info.name] = values.astype(dtype)
    return feeds


def assert_close(result: Outcome, dims: Mapping[str, int] | None = None) -> None:
    """The rewritten model gives what the original gives, up to rounding."""
    feeds = random_feeds(result.before, dims)
    expected, actual = in_onnxruntime(result.before, feeds), in_onnxruntime(result.after, feeds)
    for right, own in zip(expected, actual, strict=True):
        assert (own.dtype, own.shape) == (right.dtype, right.shape)
        bound = TOLERANCES.get(right.dtype, 0.0) * max(1.0, float(np.max(np.abs(right), initial=0.0)))
        np.testing.assert_allclose(own, right, rtol=0.0, atol=bound)


def nodes(result: Outcome) -> str:
    """The text of the nodes alone, without initializers."""
    return "\n".join(result.text.splitlines()[len(result.after.graph.initializer) :])
