"""maxfold: makes neural-network model files smaller without changing what they compute.

import maxfold

model = maxfold.load("m.onnx")
report = maxfold.optimize(model)
maxfold.save(model, "m.opt.onnx")
maxfold.save(maxfold.convert(model, to="openvino"), "m.xml")

Nothing is imported before it is asked for: `import maxfold` itself loads neither onnx nor numpy.
"""

# Not of typing, which takes longer to import than all that stands here; type checkers go by the name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from maxfold.optimizer import (
        Model,
        ModelError,
        Report,
        catalogue,
        convert,
        diff,
        inspect,
        load,
        optimize,
        save,
        verify,
    )

    __version__: str

__all__ = [
    "Model",
    "ModelError",
    "Report",
    "__version__",
    "catalogue",
    "convert",
    "diff",
    "inspect",
    "load",
    "optimize",
    "save",
    "verify",
]


# Type checkers go by the names above: a function that gives any would hide misspelled ones from them.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """What is imported when it is first asked for."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if name == "__version__":
            from importlib.metadata import version

            value: object = version("maxfold")
        else:
            from importlib import import_module

            value = getattr(import_module("maxfold.optimizer"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """What stands here, and what is still to be imported."""
    return sorted({*globals(), *__all__} - {"TYPE_CHECKING"})
