"""The activations of recurrent cells, as operations of OpenVINO."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from maxfold.model.graph import Tensor
from maxfold.passes.conversion.errors import UnsupportedError
from maxfold.passes.conversion.pair import BROADCAST
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite

_NUMPY = {BROADCAST: "numpy"}
# Operations without parameters, and the operator set that has them.
_PLAIN = {
    "sigmoid": ("Sigmoid", 1), "tanh": ("Tanh", 1), "relu": ("ReLU", 1), "softsign": ("SoftSign", 9),
    "softplus": ("SoftPlus", 4),
}  # fmt: skip
# Alpha and beta where none are listed, None where nothing says what they are then.
_PARAMETERS: dict[str, tuple[float | None, ...]] = {
    "affine": (None, None), "leakyrelu": (0.01,), "thresholdedrelu": (None,), "scaledtanh": (None, None),
    "hardsigmoid": (0.2, 0.5), "elu": (1.0,),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Activation:
    """A function by its name in small letters, with its parameters."""

    name: str
    parameters: tuple[float, ...] = ()

    def of(self, site: OpenvinoSite, x: Tensor) -> Tensor:
        """The function of a tensor, of the element type of the node's data."""
        made: Tensor
        if self.name in _PLAIN:
            operation, opset = _PLAIN[self.name]
            made = site.add(operation, [x], opset=opset)
            return made
        numbers = [_number(site, value) for value in self.parameters]
        if self.name == "affine":
            made = site.add("Add", [site.add("Multiply", [x, numbers[0]], _NUMPY), numbers[1]], _NUMPY)
        elif self.name == "scaledtanh":
            inner = site.add("Tanh", [site.add("Multiply", [x, numbers[1]], _NUMPY)])
            made = site.add("Multiply", [inner, numbers[0]], _NUMPY)
        elif self.name == "thresholdedrelu":
            is_above = site.add("Greater", [x, numbers[0]], _NUMPY)
            made = site.add("Select", [is_above, x, _number(site, 0.0)], _NUMPY)
        elif self.name == "leakyrelu":
            made = site.add("PReLU", [x, numbers[0]])
        elif self.name == "hardsigmoid":
            made = site.add("HardSigmoid", [x, *numbers])
        else:
            made = site.add("Elu", [x], {"alpha": self.parameters[0]})
        return made


def _number(site: OpenvinoSite, value: float) -> Tensor:
    dtype = site.dtype(0)
    if dtype is None:
        raise UnsupportedError("its element type is not known")
    return site.constant(value, dtype.numpy)


def activations_of(site: OpenvinoSite, usual: Sequence[str], directions: int) -> list[Activation]:
    """The activations of all directions. Raises `UnsupportedError` for one that ONNX does not have."""
    count = len(usual) * directions
    # The default of RNN has two in one direction too.
    names = [name.lower() for name in site.attribute("activations") or [*usual] * directions][:count]
    if len(names) != count:
        raise UnsupportedError(f"it has {len(names)} activations")
    alphas, betas = (list(site.attribute(f"activation_{name}") or ()) for name in ("alpha", "beta"))
    found: list[Activation] = []
    for name in names:
        if name not in _PLAIN and name not in _PARAMETERS:
            raise UnsupportedError(f"its activation {name!r} does not exist")
        # Each takes from the lists what it needs, in turn.
        parameters = [
            listed.pop(0) if listed else default
            for listed, default in zip((alphas, betas), _PARAMETERS.get(name, ()), strict=False)
        ]
        known = [float(value) for value in parameters if value is not None]
        if len(known) < len(parameters):
            raise UnsupportedError(f"its activation {name!r} has no default for its parameters")
        found.append(Activation(name, tuple(known)))
    return found
