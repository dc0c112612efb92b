"""The command line, one file a command; see cli.app for how it starts and cli.failures for how it ends."""

from __future__ import annotations

import sys

from rooflight.cli.status import INTERRUPTED, TERMINATED

TYPE_CHECKING = False  # as in rooflight itself
if TYPE_CHECKING:
    from typing import Any


def main() -> int:
    """The entry point `rooflight`: run the command of sys.argv and return its exit status."""
    import signal

    try:
        import gc

        gc.set_threshold(20_000, 20, 20)  # a start makes little garbage: looking for it 300 times takes 1/20 of it

        signal.signal(signal.SIGTERM, _leave)  # by way of an exception, so that half-written files go
        from rooflight.cli.app import app
        from rooflight.cli.failures import run

        status = run(app.run_plain)
    except KeyboardInterrupt:
        status = INTERRUPTED
    if status == INTERRUPTED:  # a further one while the process ends changes nothing
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return status


def _leave(*_: Any) -> None:
    sys.exit(TERMINATED)
