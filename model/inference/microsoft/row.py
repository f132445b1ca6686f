"""A row of the table, and what shape functions of these operators ask about operands.

No schema stands behind these operators that could check a node: it is a row that says which operands it takes, and a
shape function raises ValueError where they cannot belong together, so that nothing is derived of such a node.
"""

from __future__ import annotations

from collections.abc import Callable

from maxfold.model.inference.call import Call, Dims
from maxfold.model.inference.facts import Fact
from maxfold.model.inference.symbolic import Dim
from maxfold.model.records import frequent_value


@frequent_value
class Row:
    """An operator, all of whose results depend on its operands alone: nothing is drawn, and no state kept.

    `inputs` and `results` name what it takes and gives, in their order: "?" ends the name of what may be left out, "*"
    that of a last one that there may be any number of.
    """

    inputs: str
    results: str
    derive: Callable[[Call], Fact | list[Fact]]
    least_results: int = 1

    def facts(self, call: Call) -> list[Fact]:
        """What is known of a node's results. Raises ValueError where the node contradicts itself, and `Unknown`."""
        self._check(call)
        found = self.derive(call)
        return [found] if isinstance(found, Fact) else found

    def _check(self, call: Call) -> None:
        names, results = self.inputs.split(), len(self.results.split())
        if call.input_count > len(names) and not names[-1].endswith("*"):
            raise ValueError(f"it takes no more than {len(names)} inputs")
        missing = [name for index, name in enumerate(names) if not name.endswith(("?", "*")) and not call.has(index)]
        if missing:
            raise ValueError(f"its input {missing[0]} is left out")
        if not self.least_results <= len(call.node.outputs) <= results:
            raise ValueError(f"it has {self.least_results} to {results} results")


def agreed(*dims: Dim | None) -> Dim | None:
    """The dim that several are in every run that succeeds: the number among them, if any. Raises ValueError."""
    numbers = list(dict.fromkeys(dim for dim in dims if isinstance(dim, int)))
    if len(numbers) > 1:
        raise ValueError(f"{numbers[0]} and {numbers[1]} differ")
    return numbers[0] if numbers else next((dim for dim in dims if dim is not None), None)


def ranked(call: Call, index: int, rank: int) -> Dims:
    """The dims of an input of that rank, None for those that are not known. Raises ValueError for another rank."""
    dims = call.dims(index) if call.has(index) else None
    if dims is None:
        return (None,) * rank
    if len(dims) != rank:
        raise ValueError(f"input {index} has {len(dims)} dimensions, not {rank}")
    return dims


def last_dim(call: Call, index: int) -> Dim | None:
    """The last dim of an input of any rank but 0, None where it is not known or not given."""
    dims = call.dims(index) if call.has(index) else None
    if dims == ():
        raise ValueError(f"input {index} is a scalar")
    return dims[-1] if dims else None


def scalars(call: Call, *indices: int) -> None:
    """Raises ValueError where one of these inputs is no scalar."""
    for index in indices:
        if call.has(index) and call.dims(index):
            raise ValueError(f"input {index} is no scalar")


def number(call: Call, name: str, default: int | None = None) -> int:
    """An integer attribute. Raises ValueError where it has none."""
    value = call.attribute(name, default)
    if not isinstance(value, int):
        raise ValueError(f"attribute {name} is no integer")
    return value


def positive(call: Call, name: str) -> int:
    """An integer attribute above 0, which must be given. Raises ValueError."""
    value = number(call, name)
    if value < 1:
        raise ValueError(f"attribute {name} is {value}")
    return value
