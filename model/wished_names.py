"""Names of what a conversion makes, given when all of it is there.

While rows run, and before passes have removed what nothing needs, a name may be one of something that does not stay.
So each new tensor and node keeps what it is to be called, and `settle` hands the names out: to what has them from the
file first, then to what rows and passes have made, in the order of the graph. So a model that is converted there and
back again has the names and the order that it had.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

import onnx

from maxfold.model.graph import Constant, Graph, Node, Tensor, new_constant
from maxfold.model.model import Model
from maxfold.model.names import wish_like
from maxfold.model.openvino.ir import ConstantLayer, port_of
from maxfold.model.openvino.operations import OPERATIONS

# What rows and passes have called what they made: after the result that it is for, by operator, with a number.
_MADE = re.compile(r"(.+)_(node|constant|new|[A-Z]\w*?)(?:\.\d+)?(?:_\d+)?")
# What of constants is copied without a thought.
SMALL_BYTES = 1024
_OWN_WORDS = ("node", "constant", "new")


def stem(name: str) -> str:
    """A name without what an earlier conversion put behind it, so that it does not grow from one to the next."""
    while True:
        found = _MADE.fullmatch(name)
        if found is None or not _is_word(found[2]):
            return name
        name = found[1]


def _is_word(word: str) -> bool:
    return word in _OWN_WORDS or word in OPERATIONS or onnx.defs.has(word)


def settle(model: Model, kept: Collection[str] = ()) -> None:
    """Orders constants by their first use, and gives everything the name that it is to have, or one with a number where
    something else has that. Names in `kept` stay, and those of inputs and outputs."""
    scopes = list(model.scopes())
    if model.format == "onnx" and len(scopes) > 1:
        _sink_constants(scopes, kept)
    _order_constants(scopes)
    shown = [*model.graph.inputs, *model.graph.outputs]
    shown_ids = set(map(id, shown))
    items = [item for scope in scopes for item in _items(scope)]
    waiting = [
        item for item in items
        if "wish" in item.__dict__ and _is_ours(item) and id(item) not in shown_ids and item.name not in kept
    ]  # fmt: skip
    waiting_ids = set(map(id, waiting))
    used = _Used(is_openvino=model.format == "openvino")
    for item in (*shown, *items):
        if id(item) not in waiting_ids:
            used.add(item)
    renamed: dict[int, dict[str, str]] = {}
    for of_rows in (False, True):
        for item in waiting:
            name, is_made = item.__dict__["wish"]
            if is_made is not of_rows:
                continue
            if is_made and isinstance(item, Constant):
                name = _constant_name(name)
            old = item.name
            _rename(item, used.free(item, name))
            item.__dict__["settled_name"] = item.name
            if not isinstance(item, Node) and item.name != old:
                renamed.setdefault(id(item.scope), {})[old] = item.name
    for scope in scopes:
        _rename_declarations(scope, renamed.get(id(scope), {}))


def _is_ours(item: Tensor | Node) -> bool:
    """Whether nobody has given something another name since it got the last one here."""
    return bool(item.__dict__.get("settled_name", item.name) == item.name)


def _constant_name(name: str) -> str:
    """The name of what was computed once and is a constant now: that of what a row made one from the beginning. Another
    name of a constant needs none of its own."""
    found = _MADE.fullmatch(name)
    return stem(name) if found is not None and found[2] == "Identity" else f"{stem(name)}_constant"


class _Used:
    """The names that are taken. Layers of an IR, constants too, share one set; an ONNX file has one for tensors and one
    for nodes."""

    def __init__(self, *, is_openvino: bool) -> None:
        self._is_openvino = is_openvino
        self._names: dict[bool, set[str]] = {False: set(), True: set()}
        self._next: dict[tuple[bool, str], int] = {}

    def _is_layer(self, item: Tensor | Node) -> bool:
        return isinstance(item, Node) or (self._is_openvino and isinstance(item, Constant))

    def add(self, item: Tensor | Node) -> None:
        """Takes the name that something has."""
        self._names[self._is_layer(item)].add(item.name)

    def free(self, item: Tensor | Node, base: str) -> str:
        """A name for something that nothing of its kind has."""
        key = self._is_layer(item), base
        names, count, name = self._names[key[0]], self._next.get(key, 1), base
        while not name or name in names:
            name = f"{base}_{count}"
            count += 1
        self._next[key] = count
        names.add(name)
        return name


def _items(scope: Graph) -> Iterator[Tensor | Node]:
    yield from scope.inputs
    yield from scope.constants
    for node in scope.nodes:
        yield node
        yield from (tensor for tensor in node.outputs if tensor.name)


def _rename(item: Tensor | Node, name: str) -> None:
    if isinstance(item, Constant):
        if isinstance(item.origin, ConstantLayer) and item.origin.layer.name == item.name:
            item.origin.layer.name = name
        port = port_of(item)
        if "layer_name" in item.__dict__ and (port is None or not port.names):
            item.__dict__["layer_name"] = name
    item.name = name


def _rename_declarations(scope: Graph, renamed: Mapping[str, str]) -> None:
    """Keeps what is said of a tensor with it."""
    if not renamed:
        return
    scope.value_info = [info for info in scope.value_info if info.name not in scope.forgotten]
    scope.forgotten = set()
    for info in (*scope.value_info, *scope.output_info):
        info.name = renamed.get(info.name, info.name)


def _sink_constants(scopes: Sequence[Graph], kept: Collection[str]) -> None:
    """Moves constants that only one body reads into it, and gives each body that reads a small one its own: an IR has
    them so, and runtimes know more of a constant that stands where it is read."""
    readers: dict[Constant, dict[int, Graph]] = {}
    for scope in scopes:
        for tensor in (operand for node in scope.nodes for operand in node.inputs):
            if isinstance(tensor, Constant):
                readers.setdefault(tensor, {})[id(scope)] = scope
    fixed = {tensor for scope in scopes for tensor in scope.outputs}
    owned: dict[int, dict[object, Constant]] = {}
    for scope in scopes:
        sunk: set[Constant] = set()
        for constant in scope.constants:
            places = readers.get(constant, {}).values()
            inner = [place for place in places if place is not scope]
            is_read_here = len(inner) != len(places)
            is_small = constant.data.nbytes <= SMALL_BYTES
            if (
                constant in fixed
                or constant.is_node
                or constant.name in kept
                or not (is_small or (len(inner) == 1 and not is_read_here))
            ):
                continue
            for place in inner:
                if id(place) not in owned:
                    small = [item for item in place.constants if item.data.nbytes <= SMALL_BYTES]
                    owned[id(place)] = {_value(item): item for item in reversed(small)}
                _give_own(place, constant, owned[id(place)])
            if inner and not is_read_here:
                sunk.add(constant)
        if sunk:
            scope.constants[:] = [constant for constant in scope.constants if constant not in sunk]


def _give_own(scope: Graph, constant: Constant, owned: dict[object, Constant]) -> None:
    """Gives the nodes of a scope that read a constant from outside their own, an equal small one that it has or a new
    one. `owned` are the small ones that it has."""
    value = _value(constant) if constant.data.nbytes <= SMALL_BYTES else None
    own = None if value is None else owned.get(value)
    if own is None:
        own = new_constant(constant.name, constant.data, scope)
        wish_like(own, constant, constant.name)
        scope.constants.append(own)
        if value is not None:
            owned[value] = own
    for node in [reader for reader in constant.outputs if reader.scope is scope]:
        for index, tensor in enumerate(node.inputs):
            if tensor is constant:
                node.inputs[index] = own


def _value(constant: Constant) -> object:
    contents = constant.data.contents()
    return constant.data.dtype, constant.data.shape, contents.form, contents.key()


def _order_constants(scopes: Sequence[Graph]) -> None:
    """Orders the constants of each scope by their first reader: those of the scope come before those inside, which come
    before none."""
    places: dict[Constant, tuple[bool, int]] = {}
    for scope in scopes:
        for tensor in (*(operand for node in scope.nodes for operand in node.inputs), *scope.outputs):
            if isinstance(tensor, Constant):
                place = tensor.scope is not scope, len(places)
                places[tensor] = min(places.get(tensor, place), place)
    last = True, len(places)
    for scope in scopes:
        scope.constants.sort(key=lambda constant: places.get(constant, last))
