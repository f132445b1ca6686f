"""IR of version 10, of which OpenVINO shows another interface than the file's: types, and names of layers.

Source: OpenVINO 2026.4, by running it. An f16 input is shown as f32; an output as i32 where it is of 32- or 64-bit
integers, and as f32 otherwise. Layers of inputs and those that make outputs give them their names too, so a name that
two of them have makes a file that cannot be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from maxfold.model.dtypes import DType, from_openvino
from maxfold.model.graph import Constant, Node, Tensor
from maxfold.model.model import Model
from maxfold.model.openvino.ir import port_of
from maxfold.model.openvino.reader import split_names

VERSION = 10
_WIDE_INTEGERS = ("INT32", "INT64", "UINT32", "UINT64")


def shown_input(dtype: DType) -> DType:
    """The element type that OpenVINO shows for an input."""
    return _known("f32") if dtype.name == "FLOAT16" else dtype


def shown_output(dtype: DType) -> DType:
    """The element type that OpenVINO shows for an output."""
    return _known("i32" if dtype.name in _WIDE_INTEGERS else "f32")


def _known(name: str) -> DType:
    found = from_openvino(name)
    assert found is not None
    return found


def is_version_10(model: Model) -> bool:
    """Whether a model is an IR of version 10."""
    return model.net is not None and model.net.version == VERSION


def name_layers(model: Model) -> None:
    """Gives each layer a name of its own: that of the tensor it makes where it has that already, or makes an output,
    else one that neither a tensor nor another layer has."""
    graph = model.graph
    items: list[Any] = [*graph.inputs, *graph.constants, *graph.nodes]
    results = frozenset(graph.outputs)
    tensors = {name for item in items for tensor in _made(item) for name in _names(tensor)}
    used: set[str] = set()
    counts: dict[str, int] = {}
    for item in items:
        wanted, rename = _layer_name(item)
        made = _made(item)
        own = _names(made[0]) if len(made) == 1 else []
        if own and made[0] in results and "parameter" not in made[0].__dict__:
            wanted = made[0].__dict__.get("shown_name", own[0])
        name = wanted
        for candidate in _candidates(wanted, counts):
            name = candidate
            ends = [name] if len(made) == 1 else [f"{name}.{index}" for index in range(len(made))]
            if name not in used and all(end in own or end not in tensors for end in (name, *ends)):
                break
        used.add(name)
        rename(name)
    used |= tensors
    for result in graph.results:
        result.layer.name = next(name for name in _candidates(result.layer.name, counts) if name not in used)
        used.add(result.layer.name)


def _candidates(base: str, counts: dict[str, int]) -> Iterator[str]:
    """A name, then with numbers behind it; `counts` holds the last number that was tried for each."""
    base = base or "layer"
    yield base
    while True:
        counts[base] = counts.get(base, 0) + 1
        yield f"{base}_{counts[base]}"


def _made(item: Any) -> list[Tensor]:
    return list(item.outputs) if isinstance(item, Node) else [item]


def _names(tensor: Tensor) -> list[str]:
    port = port_of(tensor)
    return [] if port is None else split_names(port.names or "")


def _layer_name(item: Any) -> tuple[str, Callable[[str], None]]:
    """The name of a layer, and how it is given another."""
    if isinstance(item, Constant):
        return item.__dict__.get("layer_name", item.name), lambda name: item.__dict__.update(layer_name=name)
    holder = item if isinstance(item, Node) else item.__dict__["parameter"].layer
    return holder.name or "", lambda name: setattr(holder, "name", name)
