"""IR files put together by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

WEIGHTS = np.array([1.5, -2, 0.25, 3, -0.0, 7], "<f4").tobytes()


@dataclass(frozen=True)
class IR:
    """The two files; `weights` is None where there is no `.bin`."""

    xml: str | bytes
    weights: bytes | None = WEIGHTS

    def but(self, old: str, new: str) -> IR:
        """The same with one piece of text replaced, which must stand there exactly once."""
        assert isinstance(self.xml, str)
        assert self.xml.count(old) == 1, f"{old!r} stands there {self.xml.count(old)} times"
        return replace(self, xml=self.xml.replace(old, new))

    def holding(self, weights: bytes | None) -> IR:
        """The same with another `.bin`."""
        return replace(self, weights=weights)

    def write(self, folder: Path, name: str = "m") -> Path:
        """Writes the files; the path of the `.xml`."""
        path = folder / f"{name}.xml"
        path.write_bytes(self.xml.encode() if isinstance(self.xml, str) else self.xml)
        if self.weights is not None:
            path.with_suffix(".bin").write_bytes(self.weights)
        return path


def layer(
    head: str, data: str | None = None, *, inputs: int = 0, outputs: Sequence[str] = (), more: str = "", extra: str = ""
) -> str:
    """A layer from "id name type version"; `outputs` holds the attributes of each output port.

    `more` are further attributes, `extra` further elements. Input ports have the ids from 0 on, output ports those
    that follow.
    """
    number, name, kind, version = head.split()
    given = [f'<port id="{position}" precision="FP32"/>' for position in range(inputs)]
    made = [f'<port id="{inputs + position}" {port}/>' for position, port in enumerate(outputs)]
    parts = [f'<layer id="{number}" name="{name}" type="{kind}" version="{version}"{more and " " + more}>']
    parts += [f"<data {data}/>"] if data is not None else []
    parts += [extra] if extra else []
    parts += [f"<input>{''.join(given)}</input>"] if given else []
    parts += [f"<output>{''.join(made)}</output>"] if made else []
    return "".join([*parts, "</layer>\n"])


def port(*names: str) -> str:
    """The attributes of an output port."""
    return f'precision="FP32" names="{",".join(names)}"' if names else 'precision="FP32"'


def parameter(number: int, name: str, data: str = 'shape="2,3" element_type="f32"') -> str:
    """A Parameter layer."""
    return layer(f"{number} {name} Parameter opset1", data, outputs=[port(name)])


def constant(
    number: int, name: str, element_type: str = "f32", shape: str = "2, 3", offset: int = 0, size: int = 24
) -> str:
    """A Const layer."""
    data = f'element_type="{element_type}" shape="{shape}" offset="{offset}" size="{size}"'
    return layer(f"{number} {name} Const opset1", data, outputs=[port()])


def operator(number: int, kind: str, inputs: int = 1, data: str | None = None, version: str = "opset1") -> str:
    """A layer with one output whose name is like its layer's."""
    name = f"{kind.lower()}{number}"
    return layer(f"{number} {name} {kind} {version}", data, inputs=inputs, outputs=[port(name)])


def result(number: int, name: str = "y", more: str = "") -> str:
    """A Result layer."""
    return layer(f"{number} {name} Result opset1", inputs=1, more=more)


def edges(text: str) -> str:
    """Edges from "layer.port-layer.port ..."."""
    pairs = [[end.split(".") for end in pair.split("-")] for pair in text.split()]
    return "".join(
        f'<edge from-layer="{start[0]}" from-port="{start[1]}" to-layer="{end[0]}" to-port="{end[1]}"/>\n'
        for start, end in pairs
    )


def net(layers: Sequence[str], links: str, rt_info: str = "<rt_info/>", head: str = 'name="n" version="11"') -> IR:
    """A whole model."""
    body = f"<layers>\n{''.join(layers)}</layers>\n<edges>\n{edges(links)}</edges>\n"
    return IR(f'<?xml version="1.0"?>\n<net {head}>\n{body}{rt_info}\n</net>\n')


ADD = 'auto_broadcast="numpy"'
ADDED = net(
    [parameter(0, "x"), constant(1, "c"), operator(2, "Add", 2, ADD), operator(3, "ReLU"), result(4)],
    "0.0-2.0 1.0-2.1 2.2-3.0 3.1-4.0",
)
"""y = ReLU(x + c)."""


def unary(kind: str, data: str | None = None, version: str = "opset1") -> IR:
    """One operator between a Parameter and a Result."""
    return net([parameter(0, "x"), operator(1, kind, 1, data, version), result(2)], "0.0-1.0 1.1-2.0").holding(None)


def passed(shape_and_type: str) -> IR:
    """A Parameter with that data, and a Result straight on it."""
    return net([parameter(0, "x", shape_and_type), result(1)], "0.0-1.0").holding(None)


def held(element_type: str, shape: str, weights: bytes, offset: int = 0, size: int | None = None) -> IR:
    """A constant, and a Result straight on it."""
    size = len(weights) - offset if size is None else size
    return net([constant(0, "c", element_type, shape, offset, size), result(1)], "0.0-1.0").holding(weights)
