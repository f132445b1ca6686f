"""One row of the conversion table: an ONNX operator and an OpenVINO operation, and the way from each to the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from maxfold.passes.conversion.sites.onnx_site import OnnxSite
from maxfold.passes.conversion.sites.openvino_site import OpenvinoSite

ToOpenvino = Callable[[OpenvinoSite], None]
ToOnnx = Callable[[OnnxSite], None]


@dataclass(frozen=True, slots=True)
class Row:
    """A pair of operators.

    `form` is "same", "renamed", "attribute to input", "variadic to chain" or "custom". On the way from ONNX a row sees
    the newest version of its operator alone (`prepare.py`). `openvino_versions` are the first and last operator sets of
    the operation's own versions that the row knows (a later operator set that leaves it alone is fine; 0 as last: no
    end known yet). `tolerance` says how exact results are, `limits` what is refused or differs. A direction that is
    None does not exist. `domain` is that of the ONNX operator, "" for ONNX's own. A node with an attribute that the row
    does not ask for, and that is not at its default, is refused.
    """

    onnx: str
    openvino: str
    form: str
    to_openvino: ToOpenvino | None
    to_onnx: ToOnnx | None
    openvino_versions: tuple[int, int] = (1, 0)
    tolerance: str = "exact"
    limits: str = ""
    domain: str = ""
