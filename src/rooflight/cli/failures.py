"""How a command ends: its status, or an error in one shape (what, at, got, want, try). Never a traceback."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import click

from rooflight.cli.status import BROKEN_PIPE, BUG, INTERRUPTED
from rooflight.errors import BadInput, RooflightError

_WRITE_ERRORS = (errno.ENOSPC, errno.EIO, errno.EFBIG, errno.EDQUOT, errno.EBADF)
TRACEBACK_VARIABLE = "ROOFLIGHT_TRACEBACK"


class Bug(RooflightError):
    """An exception that nobody meant: rooflight's own mistake."""

    exit_status = BUG


def run(command: Callable[[list[str]], Any], args: Sequence[str] | None = None) -> int:
    """Run `command` on the words and return the exit status; errors go to stderr, as JSON where --json was asked."""
    words = list(sys.argv[1:] if args is None else args)
    _survive_odd_text()
    try:
        status = command(words)
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except RooflightError as error:
        return _say(error, words)
    except click.ClickException as error:
        return _say(usage(error), words)
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        return _leave_pipe()
    except OSError as error:
        return _no_output(error, words) if error.errno in _WRITE_ERRORS else _bug(error, words)
    except Exception as error:
        return _bug(error, words)


def usage(error: click.ClickException) -> BadInput:
    """click's own complaint in the shape of ours."""
    ctx = getattr(error, "ctx", None)
    near = getattr(error, "possibilities", None)
    help_hint = f"{ctx.command_path if ctx else 'rooflight'} --help"
    return BadInput(
        error.message.rstrip(".") or _missing(error),
        where=ctx.command_path if ctx else None,
        want=ctx.get_usage().removeprefix("Usage: ").replace("\n", " ") if ctx else None,
        try_this=" or ".join(sorted(near)) if near else help_hint,
    )


def _missing(error: click.ClickException) -> str:
    """click's words for a parameter that was not given."""
    return " ".join(error.format_message().split()).rstrip(".")


def _say(error: RooflightError, words: Sequence[str]) -> int:
    if _wants_json(words):
        import msgspec

        text = msgspec.json.encode(error.to_dict()).decode()
    else:
        text = str(error)
    _complain(text)
    return error.exit_status


def _wants_json(words: Sequence[str]) -> bool:
    """Whether JSON was asked for, told from the words themselves: they may not have been parsed."""
    return "--json" in words or "--format=json" in words or ("--format", "json") in pairwise(words)


def _bug(error: Exception, words: Sequence[str]) -> int:
    """Say it as any error is said; where it is shows when it was asked for."""
    message = " ".join(str(error).split())[:400]
    shown = None
    if os.environ.get(TRACEBACK_VARIABLE):
        import traceback

        shown = "".join(traceback.format_exception(error))
        if not _wants_json(words):
            _complain(shown)
            shown = None
    bug = Bug(
        f"this is a bug in rooflight: {type(error).__name__}: {message}",
        try_this=f"{TRACEBACK_VARIABLE}=1 in front of the command shows where; please report it",
    )
    bug.got = shown
    return _say(bug, words)


def _complain(text: str) -> None:
    if sys.stderr is None:  # print() would fall back on standard output
        return
    with contextlib.suppress(OSError):  # nobody listens
        print(text, file=sys.stderr, flush=True)


def _leave_pipe() -> int:
    """The reader of our output has gone (`| head`): say nothing, not even when Python closes stdout."""
    _forget_stdout()
    return BROKEN_PIPE


def _no_output(error: OSError, words: Sequence[str]) -> int:
    """Standard output takes no more: a full disk, a broken device."""
    _forget_stdout()
    return _say(
        BadInput("the answer cannot be written", where="standard output", got=error.strerror, try_this="-o FILE"),
        words,
    )


def _forget_stdout() -> None:
    if isinstance(sys.stdout, Closed):
        return
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())


class Closed(io.StringIO):
    """Standard output where the program was started without one: an answer written to it is lost, and that is said."""

    def write(self, _: str) -> int:
        raise OSError(errno.EBADF, "it was closed before the program started")


def _survive_odd_text() -> None:
    """A name that the terminal's encoding lacks is written with escapes instead of ending the program."""
    if sys.stdout is None:
        sys.stdout = Closed()
    for stream in (sys.stdout, sys.stderr):
        change: Any = getattr(stream, "reconfigure", None)
        if change is not None:
            change(errors="backslashreplace")
