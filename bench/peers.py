"""The tools that are compared: one table row a tool."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace

YARDSTICK = "load+save"


@dataclass(frozen=True, slots=True)
class Tool:
    """A way to rewrite a model file as one process.

    `imports` and `work` are Python statements; `work` reads the file `SOURCE` and writes `TARGET`. `DATA` is
    the name of the external data file to write beside `TARGET`, or "" where the input has none. One that is no
    default runs only where it is named.
    """

    name: str
    heading: str
    distribution: str
    imports: str
    work: str
    is_peer: bool = True
    is_default: bool = True


_SAVE = "onnx.save(model, TARGET, save_as_external_data=bool(DATA), location=DATA or None)"

_MAXFOLD = "sys.argv = ['maxfold', 'optimize', SOURCE, '-o', TARGET, '-q'{flags}]\napp()"

_ONNXRUNTIME = """
options = onnxruntime.SessionOptions()
options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
options.optimized_model_filepath = TARGET
if DATA:
    options.add_session_config_entry('session.optimized_model_external_initializers_file_name', DATA)
onnxruntime.InferenceSession(SOURCE, options, providers=['CPUExecutionProvider'])
"""


def _targeted(target: str, math: str) -> Tool:
    """Ours, for one runtime."""
    return Tool(
        name=f"maxfold-{target}" + ("" if math == "exact" else f"-{math}"),
        heading=f"{target[:6]}\n{math[:5]}",
        distribution="maxfold",
        imports="from maxfold.cli import app",
        work=_MAXFOLD.format(flags=f", '--math', '{math}', '--target', '{target}'"),
        is_peer=False,
        is_default=False,
    )


TOOLS: tuple[Tool, ...] = (
    Tool(
        name=YARDSTICK,
        heading="load\nsave",
        distribution="onnx",
        imports="import onnx",
        work=f"model = onnx.load(SOURCE)\n{_SAVE}",
        is_peer=False,
    ),
    Tool(
        name="maxfold",
        heading="max\nfold",
        distribution="maxfold",
        imports="from maxfold.cli import app",
        work=_MAXFOLD.format(flags=""),
        is_peer=False,
    ),
    Tool(
        name="maxfold-relaxed",
        heading="fold\nrelax",
        distribution="maxfold",
        imports="from maxfold.cli import app",
        work=_MAXFOLD.format(flags=", '--math', 'relaxed'"),
        is_peer=False,
    ),
    *(_targeted(target, math) for target in ("onnxruntime", "openvino", "tensorrt") for math in ("exact", "relaxed")),
    Tool(
        name="onnxslim",
        heading="onnx\nslim",
        distribution="onnxslim",
        imports="import onnxslim",
        work="onnxslim.slim(SOURCE, TARGET, save_as_external_data=bool(DATA))",
    ),
    Tool(
        name="onnxsim",
        heading="onnx\nsim",
        distribution="onnxsim",
        imports="import onnxsim",
        work="onnxsim.simplify(SOURCE, output_path=TARGET)",
    ),
    Tool(
        name="onnxoptimizer",
        heading="onnx\noptim",
        distribution="onnxoptimizer",
        imports="import onnx, onnxoptimizer",
        work=(
            "passes = onnxoptimizer.get_fuse_and_elimination_passes()\n"
            "model = onnxoptimizer.optimize(onnx.load(SOURCE), passes, fixed_point=True)\n"
            f"{_SAVE}"
        ),
    ),
    Tool(
        name="onnxscript",
        heading="onnx\nscript",
        distribution="onnxscript",
        imports="import onnxscript.ir, onnxscript.optimizer",
        work=(
            "model = onnxscript.ir.load(SOURCE)\n"
            "onnxscript.optimizer.optimize(model)\n"
            "onnxscript.ir.save(model, TARGET, external_data=DATA or None)"
        ),
    ),
    Tool(
        name="onnxruntime-basic",
        heading="ORT\nbasic",
        distribution="onnxruntime",
        imports="import onnxruntime",
        work=_ONNXRUNTIME,
    ),
)

_PROBE = """
import importlib.metadata, json, sys
versions = {'python': '.'.join(map(str, sys.version_info[:3]))}
for name in sys.argv[1:]:
    try:
        versions[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pass
print(json.dumps(versions))
"""


@dataclass(frozen=True, slots=True)
class Bench:
    """The tools of one run, the interpreter of each kind, and the versions found there."""

    tools: tuple[Tool, ...]
    peers_python: str
    versions: dict[str, str]
    peers_versions: dict[str, str]
    missing: tuple[str, ...]

    def without(self, broken: dict[str, str]) -> Bench:
        """The same without the tools that are keys of `broken`; the values say why."""
        return replace(
            self,
            tools=tuple(tool for tool in self.tools if tool.name not in broken),
            missing=(*self.missing, *(f"{name} ({reason})" for name, reason in broken.items())),
        )

    def python(self, tool: Tool) -> str:
        """Path of the interpreter that runs `tool`."""
        return self.peers_python if tool.is_peer else sys.executable


def _versions(python: str, distributions: list[str]) -> dict[str, str]:
    # A neutral folder: metadata lying in the current one would count as installed.
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [python, "-c", _PROBE, *distributions], capture_output=True, text=True, check=True, cwd=folder
        )
    found: dict[str, str] = json.loads(done.stdout)
    return found


def select(names: list[str] | None, peers_python: str) -> Bench:
    """The installed ones of the named tools (None: of all defaults), always with the yardstick.

    Raises ValueError for a name that is in no row of the table.
    """
    known = [tool.name for tool in TOOLS]
    unknown = [name for name in names or [] if name not in known]
    if unknown:
        raise ValueError(f"unknown tool {', '.join(unknown)}; known are {', '.join(known)}")
    wanted = [
        tool for tool in TOOLS if (tool.is_default if names is None else tool.name in names) or tool.name == YARDSTICK
    ]
    distributions = sorted({tool.distribution for tool in wanted} | {"numpy", "onnx", "onnxruntime"})
    own = _versions(sys.executable, distributions)
    peers = _versions(peers_python, distributions)
    installed = tuple(tool for tool in wanted if tool.distribution in (peers if tool.is_peer else own))
    return Bench(
        tools=installed,
        peers_python=peers_python,
        versions=own,
        peers_versions=peers,
        missing=tuple(tool.name for tool in wanted if tool not in installed),
    )
