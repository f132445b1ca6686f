"""What is inside a model, as data."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from maxfold.model import dtypes
from maxfold.model.data import RegionData
from maxfold.model.graph import Constant, Graph, Node, Tensor
from maxfold.model.model import ONNX_DOMAINS
from maxfold.model.openvino import text
from maxfold.model.openvino.document import tag
from maxfold.model.openvino.ir import Net, port_of
from maxfold.optimizer.sources import ModelSource, model_of

INSPECTION_SCHEMA = "maxfold.inspection/1"

_OPENVINO_OPSET = "openvino.opset"


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """A graph input or output. `dtype` is ONNX's name in lower case, None where it is not declared or no tensor;
    a dimension is an int, a symbol's name or None; `shape` is None for an unknown rank. `has_default` marks an
    initializer that the caller may override."""

    name: str
    type: str
    dtype: str | None
    shape: tuple[int | str | None, ...] | None
    has_default: bool = False


@dataclass(frozen=True, slots=True)
class ConstantInfo:
    """A constant: where it stands, its type and its stored bytes."""

    name: str
    dtype: str | None
    shape: tuple[int, ...]
    nbytes: int
    is_external: bool


@dataclass(frozen=True, slots=True)
class Inspection:
    """What a model holds. Nodes are counted in all scopes, Constant nodes not; sizes are stored bytes.

    `operators` counts nodes by operator, with the domain before it where that is neither ONNX's nor OpenVINO's own; the
    most frequent come first. `opsets` has the version of each domain; of IR, those operator sets that its operations
    name, as "opset8". `metadata` of IR is its rt_info, nested names joined by dots. `largest_constants` lists at most
    ten.
    """

    format: str
    ir_version: int
    opsets: dict[str, int]
    producer: str
    graph_name: str
    doc_string: str
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    nodes: int
    operators: dict[str, int]
    subgraphs: int
    functions: tuple[str, ...]
    constants: int
    constant_bytes: int
    external_constants: int
    largest_constants: tuple[ConstantInfo, ...]
    metadata: dict[str, str]
    file_bytes: int

    def to_dict(self) -> dict[str, Any]:
        """The inspection as JSON-ready data of schema "maxfold.inspection/1" (see docs/json.md)."""
        return {"schema": INSPECTION_SCHEMA, **asdict(self)}


def inspect(source: ModelSource) -> Inspection:
    """What a model holds; no weight is read. `source` is whatever `load` takes.

    Raises `ModelError` for anything that is no usable model.
    """
    model = model_of("inspect", source)
    scopes = list(model.scopes())
    constants = [constant for scope in scopes for constant in scope.constants]
    operators = Counter(_operator(node) for scope in scopes for node in scope.nodes if node.op != "Constant")
    graph = model.graph
    rt_info = {} if model.net is None else _rt_info(model.net)
    return Inspection(
        format=model.format,
        ir_version=model.ir_version if model.net is None else model.net.version,
        opsets=model.opsets(graph) if model.net is None else _openvino_opsets(scopes),
        producer=" ".join(filter(None, (graph.producer_name, graph.producer_version))) or _openvino_producer(rt_info),
        graph_name=graph.name or "",
        doc_string=model.proto.doc_string or graph.doc_string or "",
        inputs=tuple(_tensor(tensor, graph) for tensor in graph.inputs),
        outputs=tuple(_tensor(tensor, graph) for tensor in graph.outputs),
        nodes=sum(operators.values()),
        operators=dict(sorted(operators.items(), key=lambda item: (-item[1], item[0]))),
        subgraphs=len(scopes) - 1 - len(model.functions),
        functions=tuple("::".join(filter(None, function.key)) for function in model.functions),
        constants=len(constants),
        constant_bytes=sum(constant.data.nbytes for constant in constants),
        external_constants=sum(map(_is_external, constants)),
        largest_constants=tuple(map(_constant, sorted(constants, key=lambda item: -item.data.nbytes)[:10])),
        metadata={entry.key: entry.value for entry in model.proto.metadata_props} | rt_info,
        file_bytes=model.file_bytes,
    )


def _operator(node: Node) -> str:
    domain = node.domain or ""
    is_usual = domain in ONNX_DOMAINS or domain.startswith(_OPENVINO_OPSET)
    return node.op if is_usual else f"{domain}.{node.op}"


def _openvino_opsets(scopes: list[Graph]) -> dict[str, int]:
    domains = {node.domain or "" for scope in scopes for node in scope.nodes}
    numbers = {domain.removeprefix(_OPENVINO_OPSET) for domain in domains if domain.startswith(_OPENVINO_OPSET)}
    return {f"opset{number}": number for number in sorted(int(number) for number in numbers if number.isdecimal())}


def _openvino_producer(rt_info: dict[str, str]) -> str:
    return next((f"OpenVINO {rt_info[key]}" for key in ("Runtime_version", "MO_version") if key in rt_info), "")


def _rt_info(net: Net) -> dict[str, str]:
    """What the model's rt_info says: values by the names of the elements they stand in."""
    found: dict[str, str] = {}
    pending = [("", item) for element in net.extra if tag(element) == "rt_info" for item in element]
    while pending:
        place, element = pending.pop(0)
        name = f"{place}.{tag(element)}" if place else tag(element)
        if element.get("value") is not None:
            found[name] = element.get("value")
        pending += [(name, item) for item in element if tag(item)]
    return found


def _tensor(tensor: Tensor, graph: Graph) -> TensorInfo:
    port = port_of(tensor)
    if port is not None and tensor.shape is None and "parameter" not in tensor.__dict__:
        # What an IR says of its outputs stands at the port that makes them.
        listed = dtypes.from_openvino(text.precision_dtype(port.precision, f"output {tensor.name!r}"))
        dims = [text.integer(dim, "a dimension") for dim in port.dims]
        open_shape = tuple(None if dim < 0 else dim for dim in dims)
        return TensorInfo(tensor.name, "tensor", None if listed is None else str(listed), open_shape)
    found = None if tensor.dtype is None else dtypes.from_numpy(tensor.dtype)
    shape = None if tensor.shape is None else tuple(tensor.shape)
    has_default = isinstance(tensor, Constant) and tensor.name in graph.input_info
    kind = str(tensor.type).removesuffix("_type")
    return TensorInfo(tensor.name, kind, None if found is None else str(found), shape, has_default)


def _constant(constant: Constant) -> ConstantInfo:
    data = constant.data
    dtype = None if data.dtype is None else str(data.dtype)
    return ConstantInfo(constant.name, dtype, data.shape, data.nbytes, _is_external(constant))


def _is_external(constant: Constant) -> bool:
    return isinstance(constant.data, RegionData) and constant.data.field is None
