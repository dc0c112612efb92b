"""`rooflight calibrate`: your own rows, and what they make of what is expected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TextIO

import click

from rooflight.cli import app, complete, options
from rooflight.cli.app import HELP_NAMES
from rooflight.cli.output import Answer, Output, calibration_output_options, emit, require_writable
from rooflight.values.question import FIELDS, NOT_CLAIMED

if TYPE_CHECKING:
    from rooflight.show.blocks import Block
    from rooflight.show.data import Rows

_FIELDS = tuple(field for name, field in FIELDS.items() if name not in NOT_CLAIMED)


@click.command("calibrate", cls=app.Command, context_settings=HELP_NAMES)
@click.argument("file", metavar="FILE", type=click.Path())
@click.option("--configs", multiple=True, type=click.Path(), metavar="DIR",
              help="Folder of configs whose file names are models of FILE. May be repeated.")  # fmt: skip
@click.option("--model", metavar="MODEL", shell_complete=complete.models, help="The model of a benchmark's results.")
@options.on_option(several=False)
@options.field_options(*_FIELDS)
@calibration_output_options
def command(
    file: str, configs: tuple[str, ...], model: str | None, on: str | None, output: Output, **given: Any
) -> int:
    """Your own calibration: a few measured rows shift and narrow what is expected of their engine and accelerator.

    FILE is what `rooflight check` takes: a CSV file of rows (- for standard input), or what a benchmark wrote, of which
    --model, --on and other options say what it leaves open. One row moves what is expected half of the way, many rows
    all of it. The error before and after is stated by leaving one run out; where a factor does not help there, it is 1.
    Rows that check calls impossible or cannot judge are left out and named.

    -o FILE.toml writes what --calibration of analyze, sweep, compare, moves and check takes. No ceiling and no roofline
    time changes by it.

    \b
    rooflight calibrate mine.csv -o mine.toml
    rooflight analyze llama-3.1-8b --on h100-sxm --engine vllm --calibration mine.toml
    rooflight calibrate result.json --model qwen3-14b --on rtx-5090 --weights fp8 -o mine.toml

    Exit status 1: no row is nearer by leaving one out, so that nothing is shifted.
    """
    require_writable(output.file)
    from rooflight.library.calibrated import calibrate

    found = calibrate(file, configs=configs, model=model, on=on, **options.fields(given))

    def blocks() -> list[Block]:
        from rooflight.show import calibrated as show

        return show.blocks(found)

    def rows() -> Rows:
        from rooflight.show import calibrated as show

        return show.rows(found)

    def json(stream: TextIO) -> None:
        from rooflight.show.data import write_json

        write_json(found, stream)

    def machine() -> str:
        from rooflight.show import calibrated as show

        return show.file(found)

    emit(output, Answer(lambda: found.answer, blocks, rows, json, machine=machine))
    return 0 if any(one.shifts for one in found.entries) else 1
