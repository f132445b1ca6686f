"""docs/api.md, generated from signatures, fields and docstrings: `python -m tests.contract.api_page` writes it."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Collection, Iterable
from typing import Any, get_args

import onnx_graphsurgeon as gs

import maxfold
from maxfold.model.onnx_writer import ExternalData
from maxfold.model.view import Math
from maxfold.optimizer import sources
from maxfold.passes import Progress, own
from maxfold.passes.conversion import ConversionError
from maxfold.passes.targets import Target
from tests.contract.repository import ROOT

PAGE = ROOT / "docs" / "api.md"

FUNCTIONS = ("load", "optimize", "convert", "save", "inspect", "verify", "diff", "catalogue")
CLASSES = ("Model", "Report", "ModelError")

_LONGEST_SIGNATURE = 100
_RAISES = re.compile(r"(^|(?<=\.) )Raises (?=`)")

_INTRODUCTION = """\
# Python API

What `import maxfold` has. Importing it takes no time: onnx and numpy are loaded when one of its functions is first
asked for. `maxfold.__version__` is the version; `python -m maxfold` is the command line. This page is written from the
docstrings by `python -m tests.contract.api_page`; [json.md](json.md) has the meaning of all fields of `to_dict()`.

```python
>>> import maxfold
>>> model = maxfold.load("examples/maxout.onnx")
>>> model.node_count(), [tensor.name for tensor in model.graph.inputs]
(59, ['image'])
>>> report = maxfold.optimize(model)
>>> report.nodes_before, report.nodes_after, report.changes["fuse-max"] > 0
(59, 27, True)
>>> proto = model.to_proto()
>>> maxfold.verify("examples/maxout.onnx", proto).is_equal
True
>>> maxfold.convert(proto, to="openvino").format
'openvino'
>>> maxfold.load(b"")
Traceback (most recent call last):
    ...
maxfold.model.errors.ModelError: <bytes>: is empty; give the path of a model file
>>> maxfold.optimize("examples/maxout.onnx")
Traceback (most recent call last):
    ...
TypeError: optimize works in place and takes an onnx.ModelProto, an onnx_graphsurgeon.Graph or a maxfold.Model, \
not str: load() it first, and save() the model that gives

```

## What a model is given as
"""

_FORMS = """\
- `ModelSource` is what all functions but `optimize` take: {taken}. A program of PyTorch is known by its `model_proto`.
  Anything else is one `TypeError` that says this.
- `ModelInPlace` is what `optimize` takes: an `onnx.ModelProto`, an `onnx_graphsurgeon.Graph` or a `Model`. Type
  checkers refuse a path, whose file would stay as it is.
- `Math` is {math}; `Target` is {target}; `ExternalData` is {external_data}.
- `Progress` is `{progress}`: it is called with the name of the pass, the steps done and the steps known so far.
- Text where several names can be given, such as `passes="fuse-max,fold-constants"`, is split at commas, except in
  `keep`, since names of tensors may have some.

The weights of a path stay in its files, and are never in memory as a whole. `load` keeps the bytes that it is given,
and copies a `ModelProto`. `optimize` of a `ModelProto` makes one copy of its weights at most, and none where nothing
changes: new and old ones are in the message then, until it goes; what one tensor is made of comes on top while it runs.
(Weights that stand in `int32_data` or `int64_data`, which exporters hardly write, are copied more often.)
`Model.to_proto` makes one copy.
"""


_OWN_PASSES = """\
## For passes of one's own

What `maxfold.passes.own` has; [own-passes.md](own-passes.md) shows how it is used. `Node`, `Tensor`, `Constant` and
`Graph` are onnx-graphsurgeon's classes with what these lose. A `View` also has the `model`, its `math` (`"exact"` or
`"relaxed"`) and `keep`. A `Dim` is a number or, of what is not known, a symbolic expression: equal ones are equal in
every run. An `Element` is one of these, a float or a bool.
"""


def page() -> str:
    """The whole page."""
    forms = _FORMS.format(
        taken=sources.TAKEN, math=_words(Math), target=_words(Target), external_data=_words(ExternalData),
        progress=str(Progress).replace("collections.abc.", ""),
    )  # fmt: skip
    parts = [_INTRODUCTION, forms, "## Functions\n"]
    functions = [getattr(maxfold, name) for name in FUNCTIONS]
    classes = [*(getattr(maxfold, name) for name in CLASSES), ConversionError]
    parts += [_function(function) for function in functions]
    parts.append("## Classes\n")
    parts += [_class(cls) for cls in classes]
    parts.append("## What they give\n")
    parts += [_class(cls) for cls in _results(functions, classes)]
    parts += _for_own_passes()
    return "\n".join(parts)


def _for_own_passes() -> list[str]:
    """What `maxfold.passes.own` has, classes first; of `View` and `Edit` what stays."""
    owner = "maxfold.passes.own."
    members = {name: getattr(own, name) for name in own.__all__ if name not in maxfold.__all__}
    stable = {"View": own.STABLE_VIEW, "Edit": own.STABLE_EDIT}
    classes = [cls for cls in members.values() if inspect.isclass(cls)]
    functions = [function for function in members.values() if inspect.isfunction(function)]
    return [
        _OWN_PASSES,
        *(_class(cls, owner=owner, listed=stable.get(cls.__name__)) for cls in classes),
        *(_function(function, owner) for function in functions),
    ]


def _words(literal: Any) -> str:
    return ", ".join(f'`"{word}"`' for word in get_args(literal))


def _function(function: Any, owner: str = "maxfold.") -> str:
    heading = f"### `{owner}{function.__name__}`\n"
    return "\n".join([heading, "```python", _signature(function, _LONGEST_SIGNATURE), "```\n", _text(function)])


def _signature(function: Any, longest: int = 10_000) -> str:
    """The signature as the source has it, a parameter a line where it is long."""
    items: list[str] = []
    parameters = [item for name, item in inspect.signature(function).parameters.items() if name != "self"]
    for place, item in enumerate(parameters):
        if item.kind is item.KEYWORD_ONLY and (not place or parameters[place - 1].kind is not item.KEYWORD_ONLY):
            items.append("*")
        items.append(_parameter(item))
    returned = inspect.signature(function).return_annotation
    whole = f"{function.__name__}({', '.join(items)}) -> {returned}"
    if len(whole) <= longest:
        return whole
    return "\n".join([f"{function.__name__}(", *(f"    {item}," for item in items), f") -> {returned}"])


def _parameter(item: inspect.Parameter) -> str:
    if item.default is item.empty:
        return f"{item.name}: {item.annotation}"
    default = f'"{item.default}"' if isinstance(item.default, str) else repr(item.default)
    return f"{item.name}: {item.annotation} = {default}"


def _text(documented: Any) -> str:
    """The docstring in paragraphs of one line each; what is raised is a paragraph of its own."""
    paragraphs = inspect.cleandoc(documented.__doc__ or "").split("\n\n")
    lines = [_RAISES.sub("\n\n*Errors:* raises ", " ".join(item.split())).strip() for item in paragraphs]
    return "\n\n".join(lines) + "\n"


def _class(cls: Any, *, owner: str | None = None, listed: Collection[str] | None = None) -> str:
    """A class with its fields, properties and methods, or those that are listed."""
    if owner is None:
        owner = "maxfold." if cls.__name__ in maxfold.__all__ else ""
    parts = [f"### `{owner}{cls.__name__}`\n", _text(cls)]
    rows = [f"| `{name}` | `{_cell(kind)}` |" for name, kind in _fields(cls).items()]
    if rows:
        parts += ["| field | type |", "|---|---|", *rows, ""]
    for name, member in vars(cls).items():
        if name.startswith("_") or member.__doc__ is None or (listed is not None and name not in listed):
            continue
        if isinstance(member, property):
            assert member.fget is not None
            returned = str(member.fget.__annotations__["return"])
            parts.append(f"- `{name}`: `{returned}`. {_inline(member)}")
        elif inspect.isfunction(member):
            parts.append(f"- `{_signature(member)}`: {_inline(member)}")
    return "\n".join(parts).rstrip() + "\n"


def _inline(member: Any) -> str:
    return " ".join(inspect.cleandoc(member.__doc__ or "").split())


def _fields(cls: Any) -> dict[str, str]:
    """The fields of a dataclass, also of one that is finished later, and their types."""
    if not cls.__module__.startswith("maxfold.") or issubclass(cls, (gs.Graph, gs.Node, gs.Tensor)):
        return {}
    annotations = inspect.get_annotations(cls)
    return {name: str(kind) for name, kind in annotations.items() if not str(kind).startswith("ClassVar")}


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _results(functions: Iterable[Any], known: Iterable[Any]) -> list[Any]:
    """The dataclasses that functions return, and that stand in their fields, in the order in which they are met."""
    found: dict[Any, None] = {}
    pending = [(function.__module__, str(inspect.signature(function).return_annotation)) for function in functions]
    pending += [(cls.__module__, kind) for cls in known for kind in _fields(cls).values()]
    while pending:
        module, annotation = pending.pop(0)
        for name in re.findall(r"\w+", annotation):
            cls = vars(sys.modules[module]).get(name)
            if not inspect.isclass(cls) or not _fields(cls) or cls in found or cls in known:
                continue
            found[cls] = None
            pending += [(cls.__module__, kind) for kind in _fields(cls).values()]
    return list(found)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
