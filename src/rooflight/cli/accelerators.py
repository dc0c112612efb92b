"""`rooflight accelerators`: the catalog's devices, or one with its sources."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

import click

from rooflight.cli import complete
from rooflight.cli.app import HELP_NAMES, Command
from rooflight.cli.output import Answer, Output, emit, output_options
from rooflight.cli.values import Amount
from rooflight.errors import BadInput
from rooflight.units import to_base
from rooflight.values.accelerator import Accelerator


@click.command("accelerators", cls=Command, context_settings=HELP_NAMES)
@click.argument("name", metavar="[ID|FILE.toml]", required=False, shell_complete=complete.accelerators)
@click.option("--vendor", metavar="NAME", help="Only of this vendor.")
@click.option("--kind", metavar="NAME", help="Only of this kind: gpu, tpu, cpu ...")
@click.option("--memory-min", type=Amount(), metavar="GB", help="Only with at least this much memory.")
@click.option("--bandwidth-min", type=Amount(), metavar="GB/S", help="Only with at least this memory bandwidth.")
@click.option(
    "--format-peak", metavar="FORMAT", help="Only with a dense peak in this number format: bf16, fp8, fp4 ..."
)
@output_options
def command(
    name: str | None, output: Output, vendor: str | None, kind: str | None, memory_min: float | None,
    bandwidth_min: float | None, format_peak: str | None,
) -> int:  # fmt: skip
    """The accelerators of the catalog, or one of them with every fact, its source and date, and its ridge points.

    \b
    rooflight accelerators --vendor amd --memory-min 100
    rooflight accelerators h100-sxm
    """
    filters = (vendor, kind, memory_min, bandwidth_min, format_peak)
    if name is not None:
        if any(value is not None for value in filters):
            raise BadInput(
                "filters choose from the list, not from one accelerator", got=name, want="an id or filters, not both"
            )
        emit(output, _one(name))
        return 0
    from rooflight.library.questions import accelerators

    listed = accelerators(
        vendor=vendor, kind=kind, format_peak=format_peak,
        min_memory_bytes=None if memory_min is None else to_base(memory_min, "GB"),
        min_memory_bytes_per_s=None if bandwidth_min is None else to_base(bandwidth_min, "GB/s"),
    )  # fmt: skip
    emit(output, _several(listed))
    return 0


def _one(name: str) -> Answer:
    from rooflight.library.questions import accelerator
    from rooflight.show import accelerators as show
    from rooflight.show.data import write_json

    document = show.page(accelerator(name))

    def json(stream: TextIO) -> None:
        write_json(document, stream)

    return Answer(lambda: document.answer, lambda: show.page_blocks(document), lambda: show.page_rows(document), json)


def _several(cards: Sequence[Accelerator]) -> Answer:
    from rooflight.show import accelerators as show
    from rooflight.show.data import write_json

    document = show.listing(cards)

    def json(stream: TextIO) -> None:
        write_json(document, stream)

    return Answer(lambda: document.answer, lambda: show.list_blocks(document), lambda: show.list_rows(document), json)
