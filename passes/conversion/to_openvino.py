"""ONNX to OpenVINO IR: the walk over a model."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from maxfold.model.computed import computed
from maxfold.model.data import SparseData, TensorData, why_no_array
from maxfold.model.dtypes import DType, from_numpy
from maxfold.model.errors import ModelError
from maxfold.model.graph import Constant, Graph, Node, Tensor
from maxfold.model.model import Model
from maxfold.model.names import wish_like
from maxfold.model.openvino.ir import Net, Port
from maxfold.model.openvino.text import precision
from maxfold.model.order import sorted_nodes
from maxfold.model.view import View, domain_of
from maxfold.model.wished_names import settle
from maxfold.passes.conversion.check import OnnxChecks, check_name, check_results
from maxfold.passes.conversion.errors import InsideError, UnsupportedError
from maxfold.passes.conversion.names import shapes_to_rt_info
from maxfold.passes.conversion.prepare import Prepared, prepare
from maxfold.passes.conversion.said_of_layers import interface_to_layers, node_to_layer
from maxfold.passes.conversion.said_of_models import to_net
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite, OpenvinoTarget, escape_name
from maxfold.passes.conversion.sites.site import Target
from maxfold.passes.conversion.unread import drop_unread
from maxfold.passes.conversion.version_10 import VERSION as VERSION_10
from maxfold.passes.conversion.version_10 import name_layers, shown_input, shown_output
from maxfold.passes.conversion.versions import check_model, check_onnx_version
from maxfold.passes.conversion.walk import Refusals, run_row, way_for

if TYPE_CHECKING:
    from maxfold.passes.conversion.row import ToOpenvino
    from maxfold.passes.conversion.table import Table

_NEWER = "write version 11"


def convert_to_openvino(model: Model, table: Table, *, ir_version: int = 11) -> Model:
    """A new model in OpenVINO's dialect; constants stay where they are.

    Raises `ConversionError` naming everything that cannot be converted.
    """
    check_model(model)
    refusals = Refusals("OpenVINO IR")
    prepared = prepare(model, table.by_onnx)
    model, view = prepared.model, prepared.view
    graph = model.graph
    target = OpenvinoTarget(graph.name or "model", view, nameless=prepared.foreign)
    for name in prepared.silent:
        target.lose("metadata of nodes that are no operation of their own", name)
    for tensor in graph.inputs:
        refusals.attempt("graph input", tensor.name, partial(_input, tensor, target, model, ir_version))
    refusals.attempt("graph", graph.name, partial(check_name, graph.name or ""))
    _Walk(prepared, table, refusals).nodes(graph, target)
    listed = Counter(graph.outputs)
    inputs = frozenset(graph.inputs)
    for output in graph.outputs:
        check = partial(_check_output, output, listed[output], output in inputs, view, ir_version)
        refusals.attempt("graph output", output.name, check)
    refusals.raise_if_any()
    _outputs(model, target)
    converted = target.graph
    net = Net(ir_version, graph.name or "model", {}, shapes_to_rt_info(model))
    made = Model(
        graph=converted, path=model.path, file_bytes=model.file_bytes, format="openvino", net=net,
        has_new_names=ir_version != VERSION_10,
    )  # fmt: skip
    settle(made)
    interface_to_layers(model, target)
    to_net(model, net, net.extra[0])
    made.lost = target.losses()
    if ir_version == VERSION_10:
        name_layers(made)
    return made


class _Walk:
    """Converts the nodes of a model, scope by scope."""

    def __init__(self, prepared: Prepared, table: Table, refusals: Refusals) -> None:
        self._prepared = prepared
        self._view = view = prepared.view
        self._table = table
        self._refusals = refusals
        self._checks = OnnxChecks(view)

    def nodes(self, scope: Graph, target: Target) -> None:
        """Converts constants and nodes of a scope. Raises `InsideError` where one of a body is refused."""
        assert isinstance(target, OpenvinoTarget)
        refusals, before = self._refusals, self._refusals.count
        for constant in scope.constants:
            if constant not in target.tensors:
                refusals.attempt("constant", constant.name, partial(_constant, constant, target, self._view))
        returned = frozenset(scope.outputs)
        for node in sorted_nodes(scope):
            find, convert = partial(self._way, node), partial(self._convert, node, target, returned)
            refusals.attempt_node(node, target, find, convert, self._prepared.source(node))
        if target.outer is not None and refusals.count != before:
            raise InsideError
        target.list_names()
        drop_unread(scope, target, scope.outputs)

    def _way(self, node: Node) -> ToOpenvino:
        reason = self._prepared.refused.get(node)
        if reason is not None:
            raise UnsupportedError(reason)
        for name in (node.name, *(tensor.name for tensor in node.outputs)):
            check_name(name)
        way = way_for(self._table.by_domain, node, domain_of(node))
        if not domain_of(node):
            check_onnx_version(node, self._view.opset(node) or 1)
        return way

    def _convert(self, node: Node, target: OpenvinoTarget, returned: frozenset[Tensor], way: ToOpenvino) -> None:
        count = len(target.graph.nodes)
        site = OpenvinoSite(node, target, self, self._view)
        run_row(way, site)
        site.check_attributes()
        node_to_layer(node, target.graph.nodes[count:], target)
        if not domain_of(node):
            self._checks.after(node)
        elif self._view.dtype(node.outputs[0]) is None:
            raise UnsupportedError("its operands do not fit together, or their types are not known")
        check_results(node, target.tensors, returned)


def _input(tensor: Tensor, target: OpenvinoTarget, model: Model, ir_version: int) -> None:
    if isinstance(tensor, Constant):
        if model.ir_version >= 4:
            raise UnsupportedError("it has a default value, which IR cannot hold; remove its initializer")
        return
    if tensor.type != "tensor_type":
        raise UnsupportedError(f"it is of type {tensor.type.removesuffix('_type')}, which IR cannot hold")
    dtype = None if tensor.dtype is None else from_numpy(tensor.dtype)
    if dtype is None or dtype.openvino is None:
        raise UnsupportedError(f"its element type {dtype or tensor.dtype} does not exist in OpenVINO")
    if ir_version == VERSION_10 and shown_input(dtype) is not dtype:
        shown = shown_input(dtype).openvino
        raise UnsupportedError(f"OpenVINO shows an {dtype.openvino} input of an IR of version 10 as {shown}; {_NEWER}")
    made = target.parameter(tensor.name, dtype, tensor.shape)
    target.tensors[tensor] = made
    target.shown.add(made)


def _constant(constant: Constant, target: OpenvinoTarget, view: View) -> None:
    dtype = constant.data.dtype
    if dtype is None or dtype.openvino is None:
        raise UnsupportedError(f"its element type {dtype} does not exist in OpenVINO")
    data = constant.data
    reason = why_no_array(data.shape)
    if reason is not None:
        raise UnsupportedError(f"it {reason}")
    if isinstance(data, SparseData):
        data = _dense(data, dtype)
    made = target.constant(data, constant.name)
    wish_like(made, constant, constant.name)
    check_name(constant.name)
    name = None if constant in target.nameless else escape_name(constant.name)
    made.__dict__["port"] = Port(precision(dtype), [], name)
    target.tensors[constant] = made
    if view.is_graph_output(constant):
        target.shown.add(made)
        made.__dict__["shown_name"] = constant.name


def _check_output(tensor: Tensor, count: int, is_input: bool, view: View, ir_version: int) -> None:
    """Raises `UnsupportedError` for an output, listed so often, that OpenVINO would show otherwise than the model."""
    kind = tensor.type.removesuffix("_type")
    if kind != "tensor":
        raise UnsupportedError(f"it is of type {kind}, which IR cannot hold")
    if count > 1:
        raise UnsupportedError("it is listed twice, and OpenVINO shows a tensor under one name once")
    if ir_version != VERSION_10:
        return
    if is_input:
        raise UnsupportedError(f"it is an input too, which an IR of version 10 cannot hold; {_NEWER}")
    dtype = view.dtype(tensor)
    if dtype is None or shown_output(dtype) is not dtype:
        own = "its unknown type" if dtype is None else dtype.openvino
        shown = "f32 or i32" if dtype is None else shown_output(dtype).openvino
        raise UnsupportedError(f"OpenVINO shows {own} of an output of an IR of version 10 as {shown}; {_NEWER}")


def _dense(data: SparseData, dtype: DType) -> TensorData:
    """All elements of a sparse constant, of which IR has none; they are computed again when they are written."""
    try:
        data.array()
    except ModelError as error:
        raise UnsupportedError(str(error)) from None
    return computed(dtype, data.shape, data.array)


def _outputs(model: Model, target: OpenvinoTarget) -> None:
    for tensor in model.graph.outputs:
        made = target.tensors[tensor]
        port = made.__dict__.get("port")
        if port is not None and not port.dims and tensor.shape:
            # What the model declares, where nothing more is known: a port without dimensions would be a scalar.
            port.dims = [str(dim) if isinstance(dim, int) else "-1" for dim in tensor.shape]
        target.result(made, tensor.name, {"output_names": escape_name(tensor.name)})
