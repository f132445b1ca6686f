"""What one format says of dimensions and the other cannot: kept as metadata, and taken up again on the way back."""

from __future__ import annotations

import json
from typing import Any

from lxml import etree

from maxfold.model.graph import Tensor
from maxfold.model.model import Model
from maxfold.model.openvino.document import tag
from maxfold.model.openvino.ir import Net

# Model-level rt_info of an IR, and metadata_props of an ONNX model.
SYMBOLS_KEY = "maxfold_dimension_symbols"
BOUNDS_KEY = "maxfold.dimension_bounds"


def symbols_to_rt_info(model: Model) -> list[Any]:
    """The rt_info element of an IR that names the symbolic dimensions of the ONNX model's inputs and outputs."""
    root = etree.Element("rt_info")
    symbols = {
        tensor.name: [dim if isinstance(dim, str) else None for dim in tensor.shape]
        for tensor in (*model.graph.inputs, *model.graph.outputs)
        if tensor.shape is not None and any(isinstance(dim, str) for dim in tensor.shape)
    }
    if symbols:
        etree.SubElement(root, SYMBOLS_KEY).set("value", json.dumps(symbols, sort_keys=True))
    return [root]


def symbols_of(net: Net | None) -> dict[str, list[str | None]]:
    """The names of symbolic dimensions that an IR keeps for the ONNX model it came from."""
    for element in net.extra if net is not None else ():
        if tag(element) != "rt_info":
            continue
        for item in element:
            if tag(item) == SYMBOLS_KEY:
                return _checked(item.get("value", ""))
    return {}


def _checked(text: str) -> dict[str, list[str | None]]:
    """The symbols, where the text is what we wrote; anything else is somebody's own."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    if not isinstance(found, dict):
        return {}
    return {
        name: dims
        for name, dims in found.items()
        if isinstance(dims, list) and all(dim is None or isinstance(dim, str) for dim in dims)
    }


def named_shape(tensor: Tensor, name: str, symbols: dict[str, list[str | None]]) -> list[int | str | None] | None:
    """A tensor's shape with the symbols that its unknown dimensions had."""
    if tensor.shape is None:
        return None
    known = symbols.get(name, [])
    shape: list[int | str | None] = list(tensor.shape)
    if len(known) != len(shape):
        return shape
    return [dim if dim is not None else symbol for dim, symbol in zip(shape, known, strict=True)]
