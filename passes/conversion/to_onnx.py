"""OpenVINO IR to ONNX: the site that rows work on, and the walk over the model.

Types are derived step by step with onnx's own inference of the nodes that are made, since the dimensions that an IR
lists at its ports are no more than a copy of what somebody derived once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import onnx

from maxfold.model.data import ArrayData, why_no_array
from maxfold.model.graph import Constant, Graph, Node, Tensor
from maxfold.model.model import Model
from maxfold.model.openvino.strings import StringData
from maxfold.model.order import sorted_nodes
from maxfold.model.view import IR_DOMAIN, domain_of
from maxfold.model.wished_names import settle
from maxfold.passes.conversion.check import check_openvino, check_results
from maxfold.passes.conversion.errors import ConversionError, InsideError, UnsupportedError
from maxfold.passes.conversion.names import BOUNDS_KEY, shapes_of
from maxfold.passes.conversion.onnx_interface import (
    add_input,
    add_output,
    added_to,
    bounds_of,
    declare_outputs,
    list_output,
    reserved_name,
)
from maxfold.passes.conversion.parts.normal_floats import codes_of
from maxfold.passes.conversion.said_of_layers import interface_to_infos, layer_to_node
from maxfold.passes.conversion.said_of_models import to_model
from maxfold.passes.conversion.shared_constants import shared_constants
from maxfold.passes.conversion.sites.onnx_site import OnnxSite, OnnxTarget
from maxfold.passes.conversion.sites.site import Target
from maxfold.passes.conversion.unread import drop_unread
from maxfold.passes.conversion.version_10 import is_version_10
from maxfold.passes.conversion.versions import check_model, check_openvino_version
from maxfold.passes.conversion.walk import Refusals, run_row, way_for
from maxfold.passes.conversion.without_form import REASONS

if TYPE_CHECKING:
    from maxfold.passes.conversion.row import ToOnnx
    from maxfold.passes.conversion.table import Table

DEFAULT_OPSET = 17


def convert_to_onnx(model: Model, table: Table, *, opset: int | None = None, composes_steps: bool = False) -> Model:
    """A new model in ONNX's dialect; constants stay where they are.

    Where `opset` is None it is the default, or the lowest above that with which everything can be converted; the model
    says what asked for it. With `composes_steps` FakeQuantize is computed as OpenVINO's CPU does also where integers of
    8 bits would say it. Raises `ConversionError` naming everything that cannot be converted.
    """
    chosen, reason = DEFAULT_OPSET if opset is None else opset, ""
    while True:
        try:
            made = _converted(model, table, chosen, composes_steps=composes_steps)
        except ConversionError as error:
            if opset is not None or error.opset is None or error.opset <= chosen:
                raise
            chosen = error.opset
            first = next(refusal for refusal in error.refusals if refusal.opset == chosen)
            reason = f"{first.operator} ({first.example!r}): {first.reason.partition(';')[0]}"
            continue
        made.opset_reason = reason
        return made


def _converted(model: Model, table: Table, opset: int, *, composes_steps: bool) -> Model:
    check_model(model)
    refusals = Refusals("ONNX")
    graph = model.graph
    name, widens_half = graph.name or "model", is_version_10(model)
    target = OnnxTarget(name, opset, widens_half=widens_half, composes_steps=composes_steps)
    shapes = shapes_of(model.net)
    # Names of inputs never change: outputs come second.
    for tensor in graph.inputs:
        refusals.attempt("Parameter", tensor.name, partial(add_input, tensor, target, shapes, model))
    outputs = [reserved_name(model, index, target) for index in range(len(graph.outputs))]
    _Walk(table, refusals, shared_constants(model)).nodes(graph, target)
    refusals.raise_if_any()
    for index, name in enumerate(outputs):
        refusals.attempt("Result", name, partial(add_output, model, index, name, target))
    refusals.raise_if_any()
    for name, tensor in target.remembered.items():
        list_output(tensor, name, target)
    proto = onnx.ModelProto(ir_version=onnx.helper.find_min_ir_version_for(target.imports))
    proto.opset_import.extend(target.imports)
    converted = target.graph
    converted.proto = onnx.GraphProto(name=graph.name or "model")
    converted.name, converted.doc_string = graph.name or "model", ""
    converted.opset = opset
    to_model(model.net, proto, converted)
    bounds = {name: shape for name, shape in map(bounds_of, graph.inputs) if shape is not None}
    if bounds:
        proto.metadata_props.add(key=BOUNDS_KEY, value=json.dumps(bounds, sort_keys=True))
    converted.import_domains = list(proto.opset_import)
    made = Model(graph=converted, proto=proto, path=model.path, file_bytes=model.file_bytes, has_new_names=True)
    settle(made)
    declare_outputs(made, model, target, shapes)
    interface_to_infos(model, target, converted)
    made.lost = target.losses()
    return made


class _Walk:
    """Converts the nodes of a model, scope by scope."""

    def __init__(self, table: Table, refusals: Refusals, shared: Mapping[Constant, Constant]) -> None:
        self._table = table
        self._refusals = refusals
        self._shared = shared

    def nodes(self, scope: Graph, target: Target) -> None:
        """Converts constants and nodes of a scope. Raises `InsideError` where one of a body is refused."""
        assert isinstance(target, OnnxTarget)
        refusals, before = self._refusals, self._refusals.count
        for constant in scope.constants:
            refusals.attempt("Const", constant.name, partial(self._constant, constant, target))
        returned = frozenset(scope.outputs)
        for node in sorted_nodes(scope):
            find, convert = partial(self._way, node), partial(self._convert, node, target, returned)
            refusals.attempt_node(node, target, find, convert)
        if target.outer is not None and refusals.count != before:
            raise InsideError
        drop_unread(scope, target, returned)

    def _constant(self, constant: Constant, target: OnnxTarget) -> None:
        first = self._shared.get(constant)
        if first is None:
            _constant(constant, target)
            return
        root: Target = target
        while root.outer is not None:
            root = root.outer
        assert isinstance(root, OnnxTarget)
        if first not in root.tensors:
            _constant(first, root)
        target.tensors[constant] = root.tensors[first]

    def _way(self, node: Node) -> ToOnnx:
        if node.op in REASONS:
            raise UnsupportedError(REASONS[node.op])
        way = way_for({IR_DOMAIN: self._table.by_openvino}, node, domain_of(node))
        check_openvino_version(node, self._table.since[node.op])
        check_openvino(node)
        return way

    def _convert(self, node: Node, target: OnnxTarget, returned: frozenset[Tensor], way: ToOnnx) -> None:
        count = len(target.graph.nodes)
        site = OnnxSite(node, target, self)
        run_row(way, site)
        site.check_attributes()
        for scope, body in site.bodies:
            # Its outputs are listed now.
            drop_unread(scope, body, ())
        for made in target.graph.nodes[count:]:
            target.check(made)
        layer_to_node(node, target.graph.nodes[count:], target)
        check_results(node, target.tensors, returned)


def _constant(constant: Constant, target: OnnxTarget) -> None:
    data = codes_of(constant) or constant.data
    if data.dtype is None or data.dtype.onnx is None:
        raise UnsupportedError(f"its element type {data.dtype} does not exist in ONNX")
    wanted = target.type_of(data.dtype)
    reason = why_no_array(data.shape)
    if reason is not None:
        raise UnsupportedError(f"it {reason}")
    if isinstance(data, StringData):
        data = ArrayData(data.array())
    made: Tensor = target.constant(data, constant.name)
    if wanted is not data.dtype:
        made = added_to(target, "Cast", made, constant.name, {"to": wanted.onnx})
    target.tensors[constant] = made
