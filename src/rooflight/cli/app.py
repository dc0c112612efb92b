"""The command group: a command's module is imported when it is asked for."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import click

from rooflight import __version__

COMMANDS = (
    "analyze",
    "sweep",
    "compare",
    "moves",
    "check",
    "calibrate",
    "measure",
    "explain",
    "diagnose",
    "exporter",
    "studio",
    "models",
    "accelerators",
)
PROGRAM = "rooflight"
COMPLETE_VARIABLE = "_ROOFLIGHT_COMPLETE"
USAGE = 2  # no command given: the help is shown
HELP_NAMES = {"help_option_names": ["-h", "--help"]}


class Command(click.Command):
    """A command whose options may be given once each, under whichever of their names."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does, where the last of several would have won without a word. Raises BadInput."""
        if not ctx.resilient_parsing:
            with contextlib.suppress(click.UsageError):  # said by click below
                given, _, order = self.make_parser(ctx).parse_args(args=list(args))
                self._refuse_twice(ctx, order)
                args = [*self._size(given), *args]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """As click does; an error then names options, not the fields that they set."""
        from rooflight.errors import RooflightError

        _check_files(ctx)
        try:
            return super().invoke(ctx)
        except RooflightError as error:
            from rooflight.cli.options import spelling

            error.spell(spelling(self))
            raise

    def _size(self, given: Mapping[str, Any]) -> list[str]:
        """MODEL by --parameters, where it is left out."""
        wanted = any(isinstance(one, click.Argument) and one.name == "model" for one in self.params)
        total, active = given.get("parameters"), given.get("active_parameters")
        if not wanted or isinstance(given.get("model"), str) or not isinstance(total, str):
            return []
        return [f"{total}-a{active}" if isinstance(active, str) else total]

    def _refuse_twice(self, ctx: click.Context, given: list[click.Parameter]) -> None:
        from rooflight.errors import BadInput

        for number, param in enumerate(given):
            if isinstance(param, click.Option) and not (param.is_flag or param.multiple) and param in given[:number]:
                names = ", ".join(name for name in param.opts if name.startswith("-"))
                raise BadInput(
                    f"{param.opts[0]} is given twice",
                    where=ctx.command_path,
                    got=f"two values of {names}" + (", which are one option" if len(param.opts) > 1 else ""),
                    want="one",
                )


# Parameters that may name a file to read, or `-` for standard input.
_FILES = ("model", "name", "file", "files", "on", "cards", "log", "calibration")


def _check_files(ctx: click.Context) -> None:
    """Standard input is there once, and no answer is written over what it is made of. Raises BadInput."""
    from rooflight.errors import BadInput
    from rooflight.files import STANDARD_INPUT

    files = [
        (param.opts[0] if isinstance(param, click.Option) else str(param.metavar), file)
        for param in ctx.command.params
        if param.name in _FILES
        for file in _named(ctx.params.get(str(param.name)), several=param.name in ("on", "cards"))
    ]
    readers = [f"{shown} {file}" for shown, file in files if file == STANDARD_INPUT]
    if len(readers) > 1:
        raise BadInput(
            "standard input can be read once", where=ctx.command_path, got=", ".join(readers),
            want=f"{STANDARD_INPUT} in one place, files in the others",
        )  # fmt: skip
    output = ctx.params.get("output")
    if output is not None and any(os.path.realpath(file) == os.path.realpath(output) for _, file in files):
        raise BadInput(
            f"the answer would overwrite {output}, which it is made of", where="--output", got=output,
            want="another file",
        )  # fmt: skip


def _named(given: str | Sequence[str] | None, several: bool) -> list[str]:
    """The files that a parameter may mean, without a count in front."""
    values = (given,) if isinstance(given, str) else given or ()
    if not several:
        return list(values)
    return [re.sub("^[0-9]+x", "", name.strip()) for one in values for name in one.split(",")]


class LazyGroup(click.Group):
    """A group whose commands live in modules of their own name, imported when needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"rooflight.cli.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with the near names of a command that does not exist."""
        name = args[0]
        if name in COMMANDS or name.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        import difflib

        from rooflight.errors import UnknownName

        near = difflib.get_close_matches(name, COMMANDS, n=2, cutoff=0.4)
        raise UnknownName(
            f"there is no command {name[:60]!r}",
            where="rooflight COMMAND",
            got=name[:60],
            want=f"one of {', '.join(COMMANDS)}",
            try_this=" or ".join(f"rooflight {one}" for one in near) or "rooflight --help",
        )

    def main(self, args: Sequence[str] | None = None, *_: Any, **__: Any) -> Any:
        """Run and exit; every error is said in the same shape (cli.failures)."""
        from rooflight.cli.failures import run

        sys.exit(run(self.run_plain, args))

    def run_plain(self, args: list[str]) -> Any:
        """What the command returns, with every exception let through (click's own main would end some of them)."""
        asked = os.environ.get(COMPLETE_VARIABLE)
        if asked:
            from click.shell_completion import shell_complete

            return shell_complete(self, {}, PROGRAM, COMPLETE_VARIABLE, asked)
        try:
            with self.make_context(PROGRAM, [*args] or ["--help"]) as ctx:
                return self.invoke(ctx)
        except click.exceptions.Exit as end:
            return end.exit_code if args else USAGE


@click.group(cls=LazyGroup, context_settings=HELP_NAMES)
@click.version_option(__version__, message="rooflight %(version)s")
def app() -> None:
    """Which ceiling LLM inference hits, in prefill and in decode, and the fastest it can go.

    \b
    rooflight analyze meta-llama/Llama-3.1-8B-Instruct --on h100-sxm
    rooflight sweep ./config.json --on 8xh100-sxm,8xh200-sxm --batch 1:512:x2
    rooflight models
    rooflight accelerators h100-sxm

    Exit status: 0 answered, 1 the answer is no (it does not fit), 2 wrong use or bad input, 3 a fact is missing
    from every source.

    Completion of commands, options, models, accelerators and formats:

    \b
    eval "$(_ROOFLIGHT_COMPLETE=bash_source rooflight)"      in ~/.bashrc
    eval "$(_ROOFLIGHT_COMPLETE=zsh_source rooflight)"       in ~/.zshrc
    _ROOFLIGHT_COMPLETE=fish_source rooflight | source       in fish's config

    Without a screen to write to, lines are 80 wide and plain; NO_COLOR=1 turns colours off everywhere.
    """
