"""What one format says of dimensions and the other cannot: kept as metadata, and taken up again on the way back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lxml import etree

from maxfold.model.graph import Constant
from maxfold.model.model import Model
from maxfold.model.openvino.document import tag
from maxfold.model.openvino.ir import Net
from maxfold.model.types import Dim, declared, is_as_declared

# Model-level rt_info of an IR, and metadata_props of an ONNX model.
SHAPES_KEY = "maxfold_declared_shapes"
BOUNDS_KEY = "maxfold.dimension_bounds"

Dims = Sequence[Dim]


@dataclass(frozen=True, slots=True)
class DeclaredShapes:
    """The shapes that an ONNX model declared for its inputs and outputs, by name.

    What was declared for outputs holds as long as the inputs are what they were: whoever changes an IR keeps what is
    written beside it.
    """

    inputs: Mapping[str, Dims] = field(default_factory=dict)
    outputs: Mapping[str, Dims] = field(default_factory=dict)

    def hold_for(self, inputs: Iterable[tuple[str, Dims | None]]) -> bool:
        """Whether inputs with these names and shapes are those of the model."""
        found = dict(inputs)
        return found.keys() == self.inputs.keys() and all(
            shape is not None and _sizes(shape) == _sizes(self.inputs[name]) for name, shape in found.items()
        )

    def input_shape(self, name: str, shape: Dims | None) -> list[Dim] | None:
        """An input's shape with the symbols that its unknown dimensions had."""
        return None if shape is None else _filled(shape, self.inputs.get(name, ()))

    def output_shape(self, name: str, shape: Dims | None, *, holds: bool) -> list[Dim] | None:
        """An output's shape as it was declared, where that holds and is not contradicted by what is derived; else what
        is derived, with the symbols that unknown dimensions had."""
        known = self.outputs.get(name)
        if known is None:
            return None if shape is None else list(shape)
        if holds and (shape is None or _fits(shape, known)):
            return list(known)
        return None if shape is None else _filled(shape, known)


def _sizes(shape: Dims) -> list[int | None]:
    return [dim if isinstance(dim, int) and dim >= 0 else None for dim in shape]


def _filled(shape: Dims, known: Dims) -> list[Dim]:
    if len(known) != len(shape):
        return list(shape)
    return [
        symbol if not isinstance(dim, int) and isinstance(symbol, str) else dim
        for dim, symbol in zip(shape, known, strict=True)
    ]


def _fits(shape: Dims, known: Dims) -> bool:
    return len(shape) == len(known) and not any(
        isinstance(one, int) and isinstance(other, int) and one != other
        for one, other in zip(shape, known, strict=True)
    )


def shapes_to_rt_info(model: Model) -> list[Any]:
    """The rt_info element of an IR that keeps the shapes that the ONNX model declares."""
    root = etree.Element("rt_info")
    infos = {info.name: info for info in model.graph.output_info}
    kept: dict[str, dict[str, Dims]] = {"inputs": {}, "outputs": {}}
    for tensor in model.graph.inputs:
        if tensor.shape is not None:
            kept["inputs"][tensor.name] = list(tensor.shape)
    for tensor in model.graph.outputs:
        info = infos.get(tensor.name)
        is_declared = isinstance(tensor, Constant) or is_as_declared(tensor)
        shape = declared(info)[2] if info is not None and is_declared else tensor.shape
        if shape is not None:
            kept["outputs"][tensor.name] = list(shape)
    if any(kept.values()):
        etree.SubElement(root, SHAPES_KEY).set("value", json.dumps(kept, sort_keys=True))
    return [root]


def shapes_of(net: Net | None) -> DeclaredShapes:
    """The shapes that an IR keeps for the ONNX model that it was made of."""
    for element in net.extra if net is not None else ():
        if tag(element) != "rt_info":
            continue
        for item in element:
            if tag(item) == SHAPES_KEY:
                return _checked(item.get("value", ""))
    return DeclaredShapes()


def _checked(text: str) -> DeclaredShapes:
    """The shapes, where the text is what we wrote; anything else is somebody's own."""
    try:
        found = json.loads(text)
    except ValueError:
        return DeclaredShapes()
    if not isinstance(found, dict):
        return DeclaredShapes()
    return DeclaredShapes(_shapes(found.get("inputs")), _shapes(found.get("outputs")))


def _shapes(found: Any) -> dict[str, list[Dim]]:
    if not isinstance(found, dict):
        return {}
    return {name: dims for name, dims in found.items() if isinstance(dims, list) and all(map(_is_dim, dims))}


def _is_dim(dim: Any) -> bool:
    return dim is None or isinstance(dim, str) or (isinstance(dim, int) and not isinstance(dim, bool))
