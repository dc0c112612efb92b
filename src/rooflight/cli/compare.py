"""`rooflight compare`: several deployments on one mix of requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TextIO

import click
import msgspec

from rooflight.cli import options, ranges, values
from rooflight.cli.app import HELP_NAMES, Command
from rooflight.cli.output import Answer, Output, emit, output_options
from rooflight.cli.values import Choice, Value, whole
from rooflight.errors import BadInput
from rooflight.values.deployment import DEPLOYMENT
from rooflight.values.question import swept
from rooflight.values.workload import WORKLOAD

if TYPE_CHECKING:
    from rooflight.show.blocks import Block
    from rooflight.show.charts.chart import Chart
    from rooflight.show.data import Rows


class Batch(Value):
    """A number of sequences, or as many as fit."""

    name = "n|max"

    def read(self, text: str, where: str) -> int | float | str:
        return "max" if text.strip().lower() == "max" else whole(text, where)


# The fields that make a mix; a decode step's context follows from the lengths.
_MIX = tuple(
    WORKLOAD[name]
    for name in ("request_rate", "prefill_batch", "isl", "osl", "cached_prefix", "images", "audio_seconds")
)
# It runs plain decode steps.
_LAYOUT = tuple(field for name, field in DEPLOYMENT.items() if name not in ("draft_model", "draft_weights"))
_BATCH = msgspec.structs.replace(
    WORKLOAD["batch"], words=f"{WORKLOAD['batch'].words.rstrip('.')}; max: as many as fit on each."
)


@click.command("compare", cls=Command, context_settings=HELP_NAMES)
@options.model_argument
@options.on_option(several=True)
@options.what_if_options
@click.option(
    "--log",
    type=click.Path(),
    metavar="FILE",
    help="Requests in place of --isl and --osl: CSV, JSON lines or Parquet, gzip or not; - for standard input.",
)
@click.option(
    "--log-columns",
    metavar="IN,OUT",
    help="Columns of input and output lengths, and of cached prefixes. [by their usual names]",
)
@click.option(
    "--price", "prices", multiple=True, metavar="CARD=USD_PER_HOUR", help="What one accelerator costs. May be repeated."
)
@click.option("--for", "objective", type=Choice("throughput", "accelerator", "latency", "cost", "energy"),
              default="throughput", metavar="throughput|accelerator|latency|cost|energy",
              help="What the best is sought in. [throughput]")  # fmt: skip
@options.calibration_option
@options.field_option(_BATCH, Batch())
@options.field_options(*_MIX, *_LAYOUT, several=swept("deployments", "rows"))
@output_options
def command(
    model: str, on: tuple[str, ...], log: str | None, log_columns: str | None, prices: tuple[str, ...], objective: str,
    output: Output, **given: Any,
) -> int:  # fmt: skip
    """Which accelerators serve a mix of requests best: in prefill, in decode and end to end, and why.

    Each has its run of such requests, whose machine time is one over the requests it finishes a second. Speed-ups are
    over the first accelerator; two whose expected intervals overlap are too close to call. Options shown with several
    values (tp 1,2; weights bf16,fp8) make a deployment of each.

    \b
    rooflight compare llama-3.1-70b --on 4xh100-sxm,2xh200-sxm,2xmi300x --weights fp8 --batch 32
    rooflight compare llama-3.1-8b --on h100,h200,l40s --log requests.csv --batch max --price h100=2.5 --price h200=3.5

    Exit status 1: it fits on none of them, or none keeps up with the requests that arrive; 2: lines of the log are not
    read, though the rest is answered.
    """
    from rooflight.library.questions import compare
    from rooflight.show import compare as show
    from rooflight.show.data import write_json

    cards = [options.on_of(one, given) for one in ranges.names(",".join(options.require_on(on)), "--on")]
    fields = {name: _single(value) for name, value in options.fields(given).items()}
    comparison = compare(
        model,
        cards,
        log=log,
        log_columns=None if log_columns is None else log_columns.split(","),
        objective=objective,
        prices=values.prices(prices),
        calibration=given["calibration"],
        **fields,
    )

    def blocks() -> list[Block]:
        return show.blocks(comparison)

    def rows() -> Rows:
        return show.rows(comparison)

    def json(stream: TextIO) -> None:
        write_json(comparison, stream)

    def chart() -> Chart:
        from rooflight.show.charts.crossing import crossing

        return crossing(comparison)

    emit(output, Answer(lambda: comparison.answer, blocks, rows, json, chart if comparison.curves else None))
    if not comparison.answered:
        return 1
    return BadInput.exit_status if comparison.mix.lost_lines else 0


def _single(value: Any) -> Any:
    """An option that may have several values, as the library takes it."""
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
