"""`rooflight measure show`: what was measured and stored, listed and drawn without measuring again."""

from __future__ import annotations

from typing import Any

import click

from rooflight.cli import complete
from rooflight.cli.app import HELP_NAMES, Command
from rooflight.cli.output import Answer, Output, emit, output_options
from rooflight.errors import BadInput


@click.command("show", cls=Command, context_settings=HELP_NAMES)
@click.argument("file", metavar="FILE", type=click.Path())
@click.argument("other", metavar="[FILE2]", required=False, type=click.Path())
@click.option("--on", metavar="MACHINE", default="this", shell_complete=complete.accelerators,
              help="Whose roofs a picture has: this (the last measurement of this host), a TOML file, or an "
              "accelerator's id. [this]")  # fmt: skip
@output_options
def command(file: str, other: str | None, on: str, output: Output) -> int:
    """What FILE holds, as the other commands wrote it with -o FILE.jsonl: kernels, steps, requests, bandwidths.

    With FILE2 the same things side by side: how many times as fast the second is, and whether they differ by more than
    their runs do. A picture (-o FILE.svg) has the kernels as dots under the roofs of --on, those of two files in two
    colours. Nothing is measured. FILE may be packed by gzip, or - for standard input.

    \b
    rooflight measure show kernels.jsonl
    rooflight measure show before.jsonl after.jsonl
    rooflight measure show kernels.jsonl --on this.toml -o kernels.svg

    Exit status 2: lines of a file are no samples, though the rest is shown.
    """
    from rooflight.library.samples import samples
    from rooflight.show import samples as show
    from rooflight.show.data import write_json

    found = samples(file, other)

    def json(stream: Any) -> None:
        write_json(found, stream)

    def chart() -> Any:
        from rooflight.show.charts.draw import chart as drawn

        return drawn(found, on=on)

    emit(output, Answer(lambda: found.answer, lambda: show.blocks(found), lambda: show.rows(found), json, chart))
    if output.format not in ("text", "md", "json"):  # those say it themselves
        for one in found.files:
            for line in show.warnings(one):
                click.echo(f"Warning: {line}", err=True)
    return BadInput.exit_status if any(one.lost for one in found.files) else 0
