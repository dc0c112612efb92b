"""`rooflight measure`: this machine; with a word behind it kernels, a model or an endpoint, or what was stored."""

from __future__ import annotations

import shlex
from importlib import import_module
from typing import TYPE_CHECKING, TextIO

import click

from rooflight.cli.app import HELP_NAMES, Command
from rooflight.cli.output import Answer, Output, emit, machine_output_options, require_writable, write_file
from rooflight.cli.status import INTERRUPTED
from rooflight.cli.values import Whole
from rooflight.errors import BadInput, RooflightError
from rooflight.files import refuse_no_target

if TYPE_CHECKING:
    from pathlib import Path

    from rooflight.values.machine import Machine

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
@click.option("--quick", is_flag=True, help="Under 20 seconds: fewer runs and sizes. `--on this` does not find it.")
@click.option("--device", metavar="NAME", help="cpu, cuda, cuda:1, xpu or mps, as torch names it. [the fastest kind]")
@click.option("--threads", type=Whole(), metavar="N", help="Threads on a CPU. [one a core]")
@click.option(
    "--samples", type=click.Path(), metavar="FILE.jsonl", help="Append every sample to FILE.jsonl, one a line."
)
@machine_output_options
@click.pass_context
def command(
    ctx: click.Context, output: Output, quick: bool, device: str | None, threads: int | None, samples: str | None
) -> int:
    """This machine's true roofs: memory, caches, arithmetic by format, the cost of a call.

    Three minutes at most, 20 seconds with --quick; Ctrl-C keeps what is done. FILE.toml is an accelerator that --on
    takes everywhere; a full measurement is also what --on this means, on this machine.

    \b
    rooflight measure -o this.toml
    rooflight measure --quick --threads 8
    rooflight analyze llama-3.1-8b --on this.toml
    """
    if ctx.invoked_subcommand is not None:
        _refuse_options(ctx)
        return 0
    require_writable(output.file)
    if samples is not None:
        refuse_no_target(samples)
    from rooflight.cli.measure.progress import shown
    from rooflight.library.measured import measure
    from rooflight.probe.host import refuse_threads
    from rooflight.probe.machine import Interrupted

    refuse_threads(threads)

    status = 0
    try:
        with shown() as progress:
            machine = measure(
                device, threads=threads, quick=quick, command=_spelled(quick, device, threads), progress=progress
            )
    except Interrupted as end:
        if not end.found.measured.rates:
            raise
        machine, status = end.found, INTERRUPTED
    answer = _answer(machine)
    if machine.measured.complete:
        _keep(answer, machine)
    emit(output, answer)
    if samples is not None:  # last: a full disk must not take the answer along
        _append(samples, machine)
    return status


def _refuse_options(ctx: click.Context) -> None:
    """Options in front of a command would be lost. Raises BadInput."""
    given = [name for name in ctx.params if _is_given(ctx, name)]
    if given:
        raise BadInput(
            "options stand behind the command they are of", where=ctx.command_path,
            got=", ".join(f"--{name}" for name in given) + f" in front of {ctx.invoked_subcommand}",
            want=f"{ctx.command_path} {ctx.invoked_subcommand} ...",
        )  # fmt: skip


def _is_given(ctx: click.Context, name: str) -> bool:
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _spelled(quick: bool, device: str | None, threads: int | None) -> str:
    """The command that measured, without where its answer went."""
    words = ["rooflight", "measure", *(["--quick"] if quick else [])]
    for name, value in {"--device": device, "--threads": threads}.items():
        words += [] if value is None else [name, str(value)]
    return shlex.join(words)


def _append(file: str, machine: Machine) -> None:
    from rooflight.ingest.samples import append

    append(file, machine.samples)


def _keep(answer: Answer, machine: Machine) -> None:
    """What --on this means from now on. Where it cannot be kept the answer is given all the same."""
    from rooflight.catalog.this import this_file

    try:
        file = this_file()
        file.parent.mkdir(parents=True, exist_ok=True)
        replaced = _replaced(file, machine)
        write_file(Output("toml", str(file), ascii=False), answer)
    except (OSError, RuntimeError, BadInput) as error:  # no home folder, or none that may be written to
        click.echo(f"Warning: --on this will not find it: {' '.join(str(error).split())}", err=True)
        return
    click.echo(f"kept for --on this{replaced}: {file}", err=True)


def _replaced(file: Path, machine: Machine) -> str:
    """What of the measurement kept until now is other than of the one that takes its place, in words."""
    from rooflight.catalog.accelerators import load

    try:
        before = load(str(file))[0].measured
    except RooflightError:  # there is none, or none that can be read
        return ""
    now = machine.measured
    if before is None or (before.device, before.state.threads) == (now.device, now.state.threads):
        return ""
    if before.device != now.device:
        return f" ({now.device}), in place of one of {before.device}"
    return f" ({_threads(now.state.threads)}), in place of one with {_threads(before.state.threads)}"


def _threads(count: int | None) -> str:
    return "threads not known" if count is None else "1 thread" if count == 1 else f"{count} threads"


def _answer(machine: Machine) -> Answer:
    from rooflight.show import measure as show
    from rooflight.show.data import write_json

    document = show.page(machine)

    def json(stream: TextIO) -> None:
        write_json(document, stream)

    return Answer(
        lambda: document.answer, lambda: show.blocks(machine), lambda: show.rows(machine), json,
        machine=lambda: show.machine_file(machine),
    )  # fmt: skip
