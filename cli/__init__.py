"""maxfold's command line. `app` is the Typer application; `python -m maxfold.cli` runs it too."""

import gc
import signal
import threading

# Until the application can handle an interrupt, it ends the process without a traceback.
_handler = signal.getsignal(signal.SIGINT)
_is_quiet = _handler is signal.default_int_handler and threading.current_thread() is threading.main_thread()
if _is_quiet:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
# Nothing that is imported is garbage.
_collects = gc.isenabled()
gc.disable()
try:
    from maxfold.cli.application import app
finally:
    if _collects:
        gc.enable()
    if _is_quiet:
        signal.signal(signal.SIGINT, _handler)

__all__ = ["app"]
