"""Models of one of ONNX Runtime's own operators."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper


def one_node(
    operator: str,
    operands: Mapping[str, Any],
    *,
    constants: Collection[str] = (),
    dynamic: Collection[str] = (),
    outputs: Mapping[str, Any] | None = None,
    **attributes: Any,
) -> tuple[onnx.ModelProto, list[Any]]:
    """The model and values for its inputs; None as an operand leaves it out. `outputs` are names and types, "" for
    those that are left out; one of the first operand's type if nothing is said."""
    arrays = {name: np.asarray(value) for name, value in operands.items() if value is not None}
    given = outputs or {"result": next(iter(arrays.values())).dtype}
    names = [name if name in arrays else "" for name in operands]
    node = helper.make_node(operator, names, [name.strip("_") for name in given], domain="com.microsoft", **attributes)
    infos = [
        helper.make_tensor_value_info(
            name,
            helper.np_dtype_to_tensor_dtype(value.dtype),
            [f"{name}{axis}" for axis in range(value.ndim)] if name in dynamic else value.shape,
        )
        for name, value in arrays.items()
        if name not in constants
    ]
    results = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), None)
        for name, dtype in given.items()
        if name.strip("_")
    ]
    initializers = [numpy_helper.from_array(arrays[name], name) for name in constants if name in arrays]
    graph = helper.make_graph([node], "graph", infos, results, initializers)
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=8)
    return model, [value for name, value in arrays.items() if name not in constants]
