"""Files made to exhaust or to mislead a reader: one line, soon, in little memory, with no other file opened."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable
from itertools import chain, repeat
from pathlib import Path

import pytest

from tests.model.openvino.ir_text import ADDED, constant, edges, operator, parameter, result

_READ = """
import resource, sys
from maxfold.model import ModelError, read_openvino
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    read_openvino(sys.argv[1])
    status = 0
except ModelError as error:
    print(error)
    status = 2
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, file=sys.stderr)
sys.exit(status)
"""
_KIB = 1024
_SECONDS = 30

_TEXT = str(ADDED.xml)
_BEFORE, _, _AFTER = _TEXT.partition("<net ")
_LAYER = operator(2, "Add", 2, 'auto_broadcast="numpy"')
_HEAD = '<net name="n" version="11"><layers>'


def _with_doctype(definition: str, use: str = "c") -> list[str]:
    return [_BEFORE, definition, ("<net " + _AFTER).replace('name="c"', f'name="{use}"')]


def _entity_bomb() -> list[str]:
    levels = "".join(f'<!ENTITY l{level} "{f"&l{level - 1};" * 10}">' for level in range(1, 11))
    return _with_doctype(f'<!DOCTYPE net [<!ENTITY l0 "0123456789">{levels}]>', "&l10;")


def _nested(depth: int, tag: str) -> Iterable[str]:
    return chain([_HEAD], repeat(f"<{tag}>", depth), repeat(f"</{tag}>", depth), ["</layers></net>"])


def _nested_bodies(depth: int) -> Iterable[str]:
    opening = '<layer id="0" name="n" type="TensorIterator" version="opset1"><port_map/><body><layers>'
    closing = "</layers><edges/></body></layer>"
    return chain([_HEAD], repeat(opening, depth), repeat(closing, depth), ["</layers></net>"])


FILES: dict[str, Callable[[], Iterable[str]]] = {
    "document type": lambda: _with_doctype("<!DOCTYPE net>"),
    "document type, with a comment before": lambda: _with_doctype("<!-- <net> --><!DOCTYPE net SYSTEM 'a.dtd'>"),
    "entity": lambda: _with_doctype('<!DOCTYPE net [<!ENTITY c "c">]>', "&c;"),
    "entity bomb": _entity_bomb,
    "quadratic entity": lambda: _with_doctype(f'<!DOCTYPE net [<!ENTITY a "{"a" * 100_000}">]>', "&a;" * 50_000),
    "parameter entity": lambda: _with_doctype("<!DOCTYPE net [<!ENTITY % p SYSTEM 'secret.txt'> %p;]>"),
    "external entity": lambda: _with_doctype("<!DOCTYPE net [<!ENTITY e SYSTEM 'secret.txt'>]>", "&e;"),
    "external document type": lambda: _with_doctype("<!DOCTYPE net SYSTEM 'http://127.0.0.1:9/net.dtd'>"),
    "deep nesting": lambda: _nested(100_000, "a"),
    "deep nesting of layers": lambda: _nested(100_000, "layers"),
    "deep nesting of bodies": lambda: _nested_bodies(50_000),
    "bodies, some deep": lambda: _nested_bodies(80),
    "never closed": lambda: chain([_HEAD], repeat("<a>", 200_000)),
    "long name": lambda: [f'<net name="{"n" * 60_000_000}" version="12"/>'],
    "many attributes": lambda: chain(["<net "], (f'a{number}="" ' for number in range(200_000)), ["/>"]),
    "cut short after many layers": lambda: chain([_BEFORE, _HEAD], repeat(_LAYER, 100_000), [_LAYER[:70]]),
    "cut short in a name": lambda: chain([_HEAD, '<layer name="'], repeat("n" * 1000, 20_000)),
    "many layers of one id": lambda: chain([_HEAD], repeat(_LAYER, 50_000), ["</layers><edges/></net>"]),
    "many edges of one port": lambda: [
        ADDED.but("<edges>", "<edges>" + edges("0.0-2.0") * 100_000).xml  # type: ignore[list-item]
    ],
}


@pytest.mark.skipif(sys.platform == "win32", reason="needs the memory that a process used")
@pytest.mark.parametrize("name", FILES)
def test_refused_soon_in_little_memory(name: str, tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    (tmp_path / "secret.txt").write_text("<!-- the secret -->")
    with path.open("w", encoding="utf-8") as file:
        file.writelines(FILES[name]())
    command = [sys.executable, "-c", _READ, str(path)]
    answer = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=_SECONDS, check=False)
    assert answer.returncode == 2, answer.stderr
    assert len(answer.stdout.splitlines()) == 1
    assert "m.xml" in answer.stdout
    assert len(answer.stdout) < 1000
    assert "secret" not in answer.stdout
    # A tree of elements takes up some tens of times what its text does.
    assert int(answer.stderr) * _KIB < 64_000_000 + 25 * path.stat().st_size


@pytest.mark.skipif(sys.platform == "win32", reason="needs the memory that a process used")
def test_a_constant_of_a_petabyte_is_not_allocated(tmp_path: Path) -> None:
    huge = constant(1, "c", shape="1000000, 250000000", size=10**15)
    path = ADDED.but(constant(1, "c"), huge).write(tmp_path)
    command = [sys.executable, "-c", _READ, str(path)]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    assert answer.returncode == 2, answer.stderr
    assert "m.bin" in answer.stdout
    assert int(answer.stderr) * _KIB < 64_000_000


_REWRITE = """
import resource, sys
from maxfold.model import read_openvino, write_openvino
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
write_openvino(read_openvino(sys.argv[1]), sys.argv[2])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs the memory that a process used")
def test_weights_stay_on_disk(tmp_path: Path) -> None:
    nbytes = 200_000_000
    layers = [parameter(0, "x", 'shape="1" element_type="f32"')]
    layers += [constant(1, "c", shape=str(nbytes // 4), size=nbytes), operator(2, "Add", 2), result(3)]
    text = (
        f"<net version='11'><layers>{''.join(layers)}</layers><edges>{edges('0.0-2.0 1.0-2.1 2.2-3.0')}</edges></net>"
    )
    source = tmp_path / "m.xml"
    source.write_text(text)
    with source.with_suffix(".bin").open("wb") as file:
        file.truncate(nbytes)
    command = [sys.executable, "-c", _REWRITE, str(source), str(tmp_path / "out.xml")]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=True)
    assert (tmp_path / "out.bin").stat().st_size == nbytes
    assert int(answer.stdout) * _KIB < 64_000_000


def test_a_chain_of_many_layers(tmp_path: Path) -> None:
    """In the worst order, so that neither recursion nor a search of all layers for each would do."""
    count = 10_000
    layers = [result(count + 1), *(operator(number, "ReLU") for number in range(count, 0, -1)), parameter(0, "x")]
    links = f"0.0-1.0 {' '.join(f'{number}.1-{number + 1}.0' for number in range(1, count + 1))}"
    source = tmp_path / "m.xml"
    source.write_text(f"<net version='11'><layers>{''.join(layers)}</layers><edges>{edges(links)}</edges></net>")
    command = [sys.executable, "-c", _REWRITE, str(source), str(tmp_path / "out.xml")]
    subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=True)
    assert (tmp_path / "out.xml").read_text().count('type="ReLU"') == count
