"""maxfold's command line. `app` is the Typer application; `python -m maxfold.cli` runs it too."""

import signal
import threading

# Until the application can handle an interrupt, it ends the process without a traceback.
_handler = signal.getsignal(signal.SIGINT)
_is_quiet = _handler is signal.default_int_handler and threading.current_thread() is threading.main_thread()
if _is_quiet:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
try:
    from maxfold.cli.application import app
finally:
    if _is_quiet:
        signal.signal(signal.SIGINT, _handler)

__all__ = ["app"]
