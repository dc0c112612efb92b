"""The command line, one file a command; see cli.app for how it starts and cli.failures for how it ends."""

from __future__ import annotations


def main() -> int:
    """The entry point `rooflight`: run the command of sys.argv and return its exit status."""
    try:
        from rooflight.cli.app import app
        from rooflight.cli.failures import run
    except KeyboardInterrupt:
        return 130
    return run(app)
