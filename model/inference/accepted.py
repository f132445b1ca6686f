"""Nodes that onnx's inference accepts for sure, so that it does not have to be asked about them.

When it is first asked it makes the schemas of all operators, which take 7 MB. Each check here says yes only to the
plain form of its operator; a test compares them with what onnx says.
"""

from __future__ import annotations

from collections.abc import Callable

from maxfold.model.inference.call import Call, normal_axis
from maxfold.model.inference.facts import Unknown

_FLOATS = frozenset(("DOUBLE", "FLOAT", "FLOAT16"))
_INDICES = frozenset(("INT32", "INT64"))
_DIRECTIONS = ("bidirectional", "forward", "reverse")
_SEQUENCE_LENGTHS = 4
# K of TopK is an input from this version on.
_K_IS_INPUT = 10


def is_accepted(call: Call) -> bool:
    """Whether onnx's inference is known to accept a node of ONNX's own domain; False says nothing."""
    check = _PLAIN.get(call.node.op)
    try:
        return check is not None and check(call)
    except (Unknown, TypeError):
        return False


def _type_of(call: Call, index: int) -> str:
    """The name of an input's element type. Raises `Unknown`."""
    dtype = call.dtype(index)
    if dtype is None:
        raise Unknown
    return dtype.name


def _integer(call: Call, name: str, default: int) -> int:
    value = call.attribute(name, default)
    if type(value) is not int:
        raise Unknown
    return value


def _recurrent(most_inputs: int, most_results: int) -> Callable[[Call], bool]:
    def check(call: Call) -> bool:
        if not 3 <= call.input_count <= most_inputs or len(call.node.outputs) > most_results:
            return False
        given = [index for index in range(call.input_count) if call.has(index)]
        types = {_type_of(call, index) for index in given if index != _SEQUENCE_LENGTHS}
        if len(types) != 1 or not types <= _FLOATS:
            return False
        if _SEQUENCE_LENGTHS in given and _type_of(call, _SEQUENCE_LENGTHS) != "INT32":
            return False
        plain = call.attribute("direction", "forward") in _DIRECTIONS and _integer(call, "hidden_size", 1) > 0
        return plain and _integer(call, "layout", 0) in (0, 1) and len(call.known_dims(0)) == 3

    return check


def _gather_nd(call: Call) -> bool:
    data, indices, shared = call.known_dims(0), call.known_dims(1), _integer(call, "batch_dims", 0)
    if not data or not indices or not 0 <= shared < min(len(data), len(indices)):
        return False
    last = indices[-1]
    is_within = isinstance(last, int) and 1 <= last <= len(data) - shared
    return is_within and _type_of(call, 1) == "INT64" and bool(_type_of(call, 0))


def _cumulative_sum(call: Call) -> bool:
    return _type_of(call, 0) in _FLOATS | _INDICES and _type_of(call, 1) in _INDICES and call.dims(1) in ((), (1,))


def _top_k(call: Call) -> bool:
    dims = call.known_dims(0)
    size = dims[normal_axis(_integer(call, "axis", -1), len(dims))] if dims else None
    if call.version < _K_IS_INPUT or size is None or call.known_dims(1) != (1,):
        return False
    if _type_of(call, 0) not in _FLOATS | _INDICES or _type_of(call, 1) != "INT64":
        return False
    count = call.numbers(1)
    return count is None or (count[0] >= 0 and (not isinstance(size, int) or count[0] <= size))


def _triangle(call: Call) -> bool:
    if call.has(1) and (_type_of(call, 1) != "INT64" or call.known_dims(1) not in ((), (1,))):
        return False
    return len(call.known_dims(0)) >= 2 and bool(_type_of(call, 0))


_PLAIN: dict[str, Callable[[Call], bool]] = {
    "CumSum": _cumulative_sum,
    "GRU": _recurrent(6, 2),
    "GatherND": _gather_nd,
    "LSTM": _recurrent(8, 3),
    "RNN": _recurrent(6, 2),
    "TopK": _top_k,
    "Trilu": _triangle,
}
