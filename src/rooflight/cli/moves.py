"""`rooflight moves`: what each change would gain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TextIO, cast

import click

from rooflight.cli import complete, options, values
from rooflight.cli.app import HELP_NAMES, Command
from rooflight.cli.output import Answer, Output, emit, output_options
from rooflight.cli.values import Choice, Names, Share, Whole
from rooflight.values.question import FIELDS

if TYPE_CHECKING:
    from rooflight.scenario.definite import Scenario
    from rooflight.show.blocks import Block
    from rooflight.show.charts.chart import Chart
    from rooflight.show.data import Rows
    from rooflight.values.analysis import Analysis
    from rooflight.values.question import Fields

_GRANTED = ("hit_rate", "speculative_tokens")


@click.command("moves", cls=Command, context_settings=HELP_NAMES)
@options.model_argument
@options.on_option(several=False)
@options.what_if_options
@click.option("--for", "objective", type=Choice("throughput", "latency", "ttft", "cost"), metavar="OBJECTIVE",
              default="throughput", help="throughput (an accelerator), latency, ttft, cost. [throughput]")  # fmt: skip
@click.option("--cards", type=Names(), metavar="CARD,...", shell_complete=complete.accelerators,
              help="Other accelerators to try, beside the next ones up.")  # fmt: skip
@click.option("--price", "prices", multiple=True, metavar="CARD=USD",
              help="Dollars an hour of one accelerator: h100-sxm=2.5. May be repeated.")  # fmt: skip
@click.option("--speculate", "speculative_tokens", type=Whole(), metavar="WHOLE",
              help="Tokens that the speculative move drafts a step. [4]")  # fmt: skip
@click.option("--hit-rate", type=Share(), metavar="SHARE", help="Share of a prompt that prefix caching finds. [0.5]")
@options.calibration_option
@options.field_options(*FIELDS.values())
@click.option("--chart", "kind", type=Choice("gains", "roofline"), metavar="KIND", default="gains",
              help="Picture of -o FILE.svg, .png, .html: gains, or roofline with arrows. [gains]")  # fmt: skip
@output_options
def command(
    model: str, on: str | None, objective: str, cards: tuple[str, ...] | None, prices: tuple[str, ...], kind: str,
    output: Output, **given: Any,
) -> int:  # fmt: skip
    """What each change would gain in prefill, in decode and in all, and why some gain nothing.

    Every move is evaluated as a deployment of its own: batch, formats, layouts, speculative decoding, prefix caching,
    other accelerators, and what the model itself might have had.

    \b
    rooflight moves llama-3.1-70b --on 4xh100-sxm --batch 32
    rooflight moves llama-3.1-8b --on h100 --for cost --price h100-sxm=2.5 --price h200-sxm=3.5

    Exit status 1: it does not fit, and no move tried makes it fit.
    """
    from rooflight.library.questions import make_scenario, move_drafts, moves

    granted = {name: given[name] for name in _GRANTED if given[name] is not None}
    found = moves(
        model, options.on_of(on, given), objective=objective, cards=cards or (), prices=values.prices(prices),
        **granted, **options.asked(given),
    )  # fmt: skip

    if kind == "roofline":
        plain, _ = move_drafts(cast("Fields", options.fields(given)))
        before, after = _arrows(
            make_scenario(model, options.on_of(on, given), calibration=given["calibration"], **plain), objective
        )

    def blocks() -> list[Block]:
        from rooflight.show import moves as show

        return show.blocks(found)

    def rows() -> Rows:
        from rooflight.show import moves as show

        return show.rows(found)

    def json(stream: TextIO) -> None:
        from rooflight.show.data import write_json

        write_json(found, stream)

    def chart() -> Chart:
        from rooflight.show.charts.draw import chart

        return chart(found) if kind == "gains" else chart(before, "roofline", after=after)

    emit(output, Answer(lambda: found.answer, blocks, rows, json, chart))
    helped = any(one.verdict == "helps" and one.of != "model" for one in found.moves)
    return 0 if found.before is not None or helped else 1


def _arrows(sc: Scenario, objective: str) -> tuple[Analysis, Analysis | None]:
    """The analysis as it is, and with the best settings of the same machine."""
    from rooflight.answers.moves.report import improved
    from rooflight.words.analysis import analyzed

    after = improved(sc, objective)
    return analyzed(sc), None if after is None else analyzed(after)
