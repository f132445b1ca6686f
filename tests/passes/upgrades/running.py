"""Upgrading a model under test and running it, old against new."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import AttributeProto, ModelProto, NodeProto, helper, numpy_helper

from maxfold.model import Model, ModelError, read_onnx
from maxfold.model.edit import Edit
from maxfold.passes.upgrade_opset import UpgradeOpset
from tests.passes.outcome import assert_consistent, assert_same_interface, saved
from tests.run import Array, assert_equal, in_onnxruntime

NEWEST = onnx.defs.onnx_opset_version()


@cache
def newest_runnable() -> int:
    """The newest opset that the installed ONNX Runtime loads."""
    for opset in range(NEWEST, 7, -1):
        try:
            in_onnxruntime(
                node_model("Identity", {"x": np.zeros(1, np.float32)}, opset), {"x": np.zeros(1, np.float32)}
            )
        except Exception:  # ONNX Runtime's exceptions have no common type
            continue
        return opset
    raise AssertionError("ONNX Runtime loads no model at all")


def node_model(
    operator: str,
    inputs: Mapping[str, Array | None],
    opset: int,
    *,
    constants: Collection[str] = (),
    outputs: Sequence[str] = ("y",),
    types: Sequence[type] = (),
    shape: Sequence[int] | None = None,
    dynamic: bool = False,
    ir_version: int = 8,
    **attributes: Any,
) -> ModelProto:
    """A model of one node. Inputs named in `constants` are initializers; None stands for an omitted one.

    `types` are those of the results, by default that of the first input; `shape` is that of the first result where onnx
    cannot infer it. `dynamic` hides all dimensions.
    """
    names = [name if array is not None else "" for name, array in inputs.items()]
    node = helper.make_node(operator, names, list(outputs), name="node")
    for name, value in attributes.items():
        kind = AttributeProto.INTS if value == [] else None
        node.attribute.append(helper.make_attribute(name, value, attr_type=kind))
    given = {name: array for name, array in inputs.items() if array is not None}
    first = next(iter(given.values())).dtype
    dtypes = [*types, *[first] * len(outputs)]
    proto = graph_model(
        [node],
        {name: array for name, array in given.items() if name not in constants},
        {name: dtype for name, dtype in zip(outputs, dtypes, strict=False) if name},
        opset,
        constants={name: array for name, array in given.items() if name in constants},
        dynamic=dynamic,
        ir_version=ir_version,
    )
    if shape is not None:
        first_result = proto.graph.output[0].type.tensor_type
        first_result.CopyFrom(helper.make_tensor_type_proto(first_result.elem_type, shape).tensor_type)
    return proto


def graph_model(
    nodes: Sequence[NodeProto],
    inputs: Mapping[str, Array],
    outputs: Mapping[str, Any],
    opset: int,
    *,
    constants: Mapping[str, Array] | None = None,
    dynamic: bool = False,
    ir_version: int = 8,
) -> ModelProto:
    """A model of nodes; `outputs` gives numpy dtypes by name."""
    infos = [
        helper.make_tensor_value_info(
            name,
            _element_type(array.dtype),
            [f"{name}{axis}" for axis in range(array.ndim)] if dynamic else array.shape,
        )
        for name, array in inputs.items()
    ]
    results = [helper.make_tensor_value_info(name, _element_type(dtype), None) for name, dtype in outputs.items()]
    tensors = [numpy_helper.from_array(array, name) for name, array in (constants or {}).items()]
    graph = helper.make_graph(nodes, "g", infos, results, tensors)
    imports = [helper.make_opsetid("", opset)] if ir_version >= 3 else []
    proto = helper.make_model(graph, ir_version=ir_version, opset_imports=imports)
    if ir_version < 3:
        proto.ClearField("opset_import")
        return proto
    inferred = onnx.shape_inference.infer_shapes(proto)
    for info, found in zip(proto.graph.output, inferred.graph.output, strict=True):
        info.type.tensor_type.shape.CopyFrom(found.type.tensor_type.shape)
    return proto


def _element_type(dtype: Any) -> int:
    return int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


def upgraded(source: ModelProto, target: int, *, check: bool = True, changes: int | None = None) -> ModelProto:
    """The model at `target`, with all that must hold after the pass checked."""
    model = read_onnx(source)
    edit = Edit(model)
    result = UpgradeOpset(target).run(edit)
    assert changes is None or result.changes == changes
    _assert_consistent(model, edit)
    assert UpgradeOpset(target).run(edit).changes == 0
    data = saved(model)
    other = read_onnx(source)
    UpgradeOpset(target).run(Edit(other))
    assert saved(other) == data, "two runs give different bytes"
    after = ModelProto.FromString(data)
    expected = ModelProto()
    expected.CopyFrom(source)
    expected.ir_version = max(3, source.ir_version)
    expected.ClearField("opset_import")
    expected.opset_import.extend(after.opset_import)
    assert_same_interface(expected, after)
    assert [entry.version for entry in after.opset_import if entry.domain == ""] == [target]
    if check:
        onnx.checker.check_model(after, full_check=True)
    return after


def assert_exact(source: ModelProto, feeds: Mapping[str, Array], targets: Iterable[int]) -> None:
    """ONNX Runtime gives the same bits before and after each upgrade."""
    before = in_onnxruntime(source, feeds)
    for target in targets:
        after = in_onnxruntime(upgraded(source, target), feeds)
        assert_equal(after, before, zeros_differ=True)


def assert_gives(source: ModelProto, feeds: Mapping[str, Array], target: int, expected: Array, ulps: int = 0) -> None:
    """The upgraded model gives what the old one would: for opsets that ONNX Runtime does not run.

    `ulps` are for what no processor need round like another: powers, exponentials and such.
    """
    (result,) = in_onnxruntime(upgraded(source, target), feeds)
    if ulps:
        np.testing.assert_array_max_ulp(result, expected, ulps)
    else:
        assert_equal([result], [expected], zeros_differ=True)


def refusal(source: ModelProto, target: int, *, keep: Iterable[str] = ()) -> str:
    """Why a model is not upgraded; it is left as it was."""
    model = read_onnx(source)
    before = saved(read_onnx(source))
    edit = Edit(model, keep=keep)
    with pytest.raises(ModelError) as error:
        UpgradeOpset(target).run(edit)
    assert saved(model) == before, "a model that is refused was changed"
    _assert_consistent(model, edit)
    return str(error.value)


def _assert_consistent(model: Model, edit: Edit) -> None:
    """Omitted inputs are tensors without a name, whose uses nobody counts."""
    if all(tensor.name for node in model.nodes() for tensor in node.inputs):
        assert_consistent(model, edit)


def operators(proto: ModelProto) -> list[str]:
    """The operators of the main graph, in order."""
    return [node.op_type for node in proto.graph.node]


def constants_of(proto: ModelProto) -> dict[str, Array]:
    """The initializers by name."""
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in proto.graph.initializer}


def attributes_of(proto: ModelProto, operator: str) -> dict[str, Any]:
    """The attributes of the only node of an operator."""
    (node,) = (node for node in proto.graph.node if node.op_type == operator)
    return {item.name: helper.get_attribute_value(item) for item in node.attribute}


def random_array(*shape: int, dtype: Any = np.float32, seed: int = 0) -> Array:
    """Normally distributed values, as many of them negative as positive."""
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)
