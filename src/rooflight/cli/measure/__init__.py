"""`rooflight measure`: this machine; with a word behind it kernels, a model or an endpoint, or what was stored."""

from __future__ import annotations

from importlib import import_module

import click

from rooflight.cli.app import HELP_NAMES, Command

# Each in a module of its own name here.
PARTS = ("kernels", "model", "endpoint", "show")


class Parts(Command, click.Group):
    """A command that measures the machine, and commands of its own for what runs on it."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(PARTS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        if cmd_name not in PARTS:
            return None
        part: click.Command = import_module(f"rooflight.cli.measure.{cmd_name}").command
        return part


@click.command("measure", cls=Parts, context_settings=HELP_NAMES, invoke_without_command=True)
def command() -> int:
    """This machine's true roofs: memory, caches, arithmetic by format, the cost of a call."""
    return 0
