"""An XML file as a tree, read without entities, DTDs or network, and within bounds."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.parsers import expat

from lxml import etree

from maxfold.model.errors import ModelError
from maxfold.model.mistaken import mistaken
from maxfold.model.storage import FileSource

_CLOSING = re.compile(rb"</net\s*>")
_MAX_ENDS = 4
# What has no element so early is another kind of file.
_START_BYTES = 16


class _PrologEndError(Exception):
    """The first element has been seen."""


def read_tree(path: Path) -> Any:
    """The root element of an IR file. Raises `ModelError` for what is no XML or no IR, in one line."""
    source = FileSource(path)
    if not source.size:
        raise ModelError(f"{path}: is empty; give the path of an IR file")
    what = mistaken(source, path)
    if what is not None:
        raise ModelError(f"{path}: {what}")
    data = source.read(0, source.size)
    _check_prolog(path, data)
    ends = [found.end() for found in _CLOSING.finditer(data)]
    if not ends:
        raise ModelError(f"{path}: is not an OpenVINO IR, or is cut short: it has no end of <net>")
    root = _parse(path, data, ends)
    if tag(root) != "net":
        raise ModelError(f"{path}: is not an OpenVINO IR: its root is <{tag(root)}>, not <net>")
    return root


def _parse(path: Path, data: bytes, ends: list[int]) -> Any:
    """The root element. OpenVINO reads nothing behind it; a comment there may look like another end."""
    parser = etree.XMLParser(
        resolve_entities=False,
        load_dtd=False,
        no_network=True,
        dtd_validation=False,
        remove_comments=True,
        remove_pis=True,
        huge_tree=False,
    )
    message = ""
    for end in reversed(ends[-_MAX_ENDS:]):
        try:
            return etree.fromstring(data[:end], parser)
        except etree.XMLSyntaxError as error:
            message = message or str(error.msg)
    raise ModelError(f"{path}: is not well-formed XML: {message}")


def _check_prolog(path: Path, data: bytes) -> None:
    """Refuses a DOCTYPE before anything in it is looked at."""
    parser = expat.ParserCreate()

    def refuse(*_: object) -> None:
        raise ModelError(f"{path}: has a DOCTYPE, which IR files have no use for and which can be harmful; remove it")

    def stop(*_: object) -> None:
        raise _PrologEndError

    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = stop
    try:
        parser.Parse(data, True)
    except _PrologEndError:
        return
    except expat.ExpatError as error:
        hint = "" if b"<" in data[:_START_BYTES] else "; only the path of an IR may end in .xml"
        raise ModelError(f"{path}: is not an OpenVINO IR: {expat.errors.messages[error.code]}{hint}") from None
    except (LookupError, ValueError) as error:
        raise ModelError(f"{path}: is in an encoding that cannot be read: {error}") from None


def tag(element: Any) -> str:
    """An element's name without its namespace."""
    return str(element.tag).rpartition("}")[2]


def children(element: Any, name: str) -> list[Any]:
    """The children of that name, in any namespace."""
    return [child for child in element if tag(child) == name]


def child(element: Any, name: str) -> Any | None:
    """The first child of that name, None where there is none."""
    return next((item for item in element if tag(item) == name), None)
