"""`rooflight analyze`: one operating point."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TextIO

import click

from rooflight.cli import options
from rooflight.cli.app import HELP_NAMES, Command
from rooflight.cli.output import Answer, Output, chart_option, emit, output_options
from rooflight.values.question import FIELDS

if TYPE_CHECKING:
    from rooflight.show.blocks import Block
    from rooflight.show.charts.chart import Chart
    from rooflight.show.data import Rows


@click.command("analyze", cls=Command, context_settings=HELP_NAMES)
@options.model_argument
@options.on_option(several=False)
@options.what_if_options
@options.calibration_option
@options.field_options(*FIELDS.values())
@click.option("--roofline/--no-roofline", "drawn", default=True, help="Draw the roofline below the text.")
@click.option("--levels", is_flag=True, help="List caches, host links and host memory, and draw them as roofs.")
@chart_option("Analysis")
@output_options
def command(
    model: str, on: str | None, drawn: bool, levels: bool, kind: str | None, output: Output, **given: Any
) -> int:
    """Which ceiling binds in prefill and in decode, and the fastest each can go.

    MODEL is a Hugging Face id from the catalog (`rooflight models`), a config.json (-: on standard input), a GGUF or
    safetensors file, or a directory that holds one.

    \b
    rooflight analyze meta-llama/Llama-3.1-8B-Instruct --on h100-sxm
    rooflight analyze ./config.json --on 4xh100-sxm --weights fp8 --batch 64 --isl 4096 --json
    """
    from rooflight.library.questions import analyze

    analysis = analyze(model, options.on_of(on, given), **options.asked(given))

    def blocks() -> list[Block]:
        from rooflight.show import analysis as show

        return show.blocks(analysis, drawn=drawn, ascii_only=output.ascii, levels=levels)

    def rows() -> Rows:
        from rooflight.show import analysis as show

        return show.rows(analysis)

    def json(stream: TextIO) -> None:
        from rooflight.show.data import write_json

        write_json(analysis, stream)

    def chart() -> Chart:
        from rooflight.library.questions import make_scenario
        from rooflight.serve.landmarks import landmarks
        from rooflight.show.charts.draw import chart, usual

        chosen = kind or usual(analysis)
        if chosen != "roofline":
            return chart(analysis, chosen)
        scenario = make_scenario(model, options.on_of(on, given), **options.asked(given))
        return chart(analysis, chosen, landmarks=[landmarks(scenario)], levels=levels)

    def page() -> str:
        from rooflight.library.questions import make_scenario
        from rooflight.show.charts.explore import explore

        return explore(make_scenario(model, options.on_of(on, given), **options.asked(given)), levels=levels)

    emit(output, Answer(lambda: analysis.answer, blocks, rows, json, chart, None if kind else page))
    return 0 if analysis.answered and analysis.most_requests_per_s is None else 1
