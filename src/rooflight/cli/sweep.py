"""`rooflight sweep`: many operating points."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TextIO

import click

from rooflight.cli import options, ranges
from rooflight.cli.app import HELP_NAMES, Command
from rooflight.cli.output import Answer, Output, chart_option, emit, output_options
from rooflight.cli.values import Amount, Choice
from rooflight.values.question import swept
from rooflight.values.workload import WORKLOAD, Workload

if TYPE_CHECKING:
    from rooflight.show.blocks import Block
    from rooflight.show.charts.chart import Chart
    from rooflight.show.data import Rows
    from rooflight.show.sweep import Summary
    from rooflight.values.sweep import RunBlock, SweepBlock
    from rooflight.words.sweep import Sweep

_AXES = swept("points", "deployments")


@click.command("sweep", cls=Command, context_settings=HELP_NAMES)
@options.model_argument
@options.on_option(several=True)
@options.what_if_options
@options.calibration_option
@options.field_options(*options.STEP, several=_AXES)
@click.option(
    "--phase",
    type=Choice("decode", "prefill"),
    metavar="decode|prefill",
    help="The step a row is. [decode; prefill where isl or prefill-batch is swept and batch and context are not]",
)
@click.option("--ttft-slo-ms", type=Amount(), metavar="MS",
              help="Goal for the time to first token: how many requests in flight keep it.")  # fmt: skip
@click.option("--tpot-slo-ms", type=Amount(), metavar="MS", help="Goal for the time per output token, likewise.")
@options.jobs_option
@chart_option("Sweep")
@output_options
def command(
    model: str, on: tuple[str, ...], phase: str | None, ttft_slo_ms: float | None, tpot_slo_ms: float | None,
    jobs: int, kind: str | None, output: Output, **given: Any,
) -> int:  # fmt: skip
    """Many operating points: where the knee, the ridge crossing and the KV limit are, then one row a point.

    A row is a step, with --schedule a run of requests: time to first token, time per token and every rate.

    Options shown with RANGE or NAME,... take several values: 1,2,4 or START:STOP:STEP. A STEP of x2 doubles, 128 (or
    +128) adds; both ends are included where a step meets them. CSV and JSON give every row, text about forty.

    \b
    rooflight sweep meta-llama/Llama-3.1-70B-Instruct --on 4xh100-sxm,4xh200-sxm --batch 1:512:x2
    rooflight sweep ./config.json --on h100-sxm --context 1024:131072:x2 --weights bf16,fp8 -o rows.csv
    rooflight sweep llama-3.1-70b --on 4xh100-sxm --schedule served --batch 1:512:x2 --ttft-slo-ms 500 --tpot-slo-ms 50

    Exit status 1: no point fits, or every deployment misses the goals.
    """
    from rooflight.library import questions

    cards = [options.on_of(one, given) for one in ranges.names(",".join(options.require_on(on)), "--on")]
    fixed, axes = split_axes(options.fields(given))
    ranges.check_points({"accelerators": len(cards), **{name: len(values) for name, values in axes.items()}})
    plan = questions.model(model)
    sweep = questions.sweep(
        plan, cards if len(cards) > 1 else cards[0], axes, phase=phase, ttft_slo_ms=ttft_slo_ms,
        tpot_slo_ms=tpot_slo_ms, calibration=given["calibration"], **fixed,
    )  # fmt: skip
    from rooflight.show.sweep import summary

    ignoring = bool(given["ignore_capacity"])
    blocks, runs, head = _Watched(sweep), _WatchedRuns(sweep.runs()), summary(sweep, plan.id)
    texts = _Texts(sweep, jobs)

    def chart() -> Chart:
        from rooflight.show.charts.draw import chart

        next((block for block in blocks if block.fits.any()), None)  # whether some point fits, for the exit status
        return chart(sweep, kind, model=plan.id, ignore_capacity=ignoring)

    def page() -> str:
        from rooflight.show.charts.explore import explore

        next((block for block in blocks if block.fits.any()), None)
        return explore(sweep.scenarios[0])

    answer = _answer(blocks, texts, head, ignoring) if sweep.schedule is None else _run_answer(runs, texts, head)
    alone = kind is None and len(sweep.scenarios) == 1
    emit(output, answer._replace(chart=chart, page=page if alone else None))
    kept = not head.goals or any(goal.expected.batch is not None for goal in head.goals)
    return 0 if kept and (ignoring or blocks.some_fit or runs.some_hold or texts.some_fit) else 1


class _Watched:
    """A sweep's blocks as they pass, and whether a point of them fitted."""

    def __init__(self, blocks: Iterable[SweepBlock]) -> None:
        self.blocks = blocks
        self.some_fit = False

    def __iter__(self) -> Iterator[SweepBlock]:
        for block in self.blocks:
            self.some_fit = self.some_fit or bool(block.fits.any())
            yield block


class _WatchedRuns:
    """A sweep's runs as they pass, and whether there was one of them."""

    def __init__(self, blocks: Iterable[RunBlock]) -> None:
        self.blocks = blocks
        self.some_hold = False

    def __iter__(self) -> Iterator[RunBlock]:
        for block in self.blocks:
            self.some_hold = self.some_hold or bool(block.holds.any())
            yield block


class _Texts:
    """A sweep's rows as text as they pass, made by so many processes, and whether one of them fitted."""

    def __init__(self, sweep: Sweep, jobs: int) -> None:
        self._sweep, self._jobs = sweep, jobs
        self.some_fit = False

    def of(self, form: str) -> Iterator[str]:
        from rooflight.jobs import in_order
        from rooflight.show.swept import written

        work = functools.partial(written, self._sweep, form)
        for text, fits in in_order(work, self._sweep.parts(), self._jobs):
            self.some_fit = self.some_fit or fits
            yield text


def split_axes(given: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Sequence[Any]]]:
    """(fields with one value, axes with several); the ends of an axis are checked as a single value would be."""
    fixed: dict[str, Any] = {}
    axes: dict[str, Sequence[Any]] = {}
    for name, value in given.items():
        if name not in _AXES:
            fixed[name] = value
            continue
        if name in WORKLOAD:
            for end in (min(value), max(value)):
                Workload(**{name: end})
        if len(value) > 1:
            axes[name] = value
        else:
            fixed[name] = value[0]
    return fixed, axes


def _answer(sweep: Iterable[SweepBlock], texts: _Texts, head: Summary, ignoring: bool) -> Answer:
    from rooflight.show import sweep as show
    from rooflight.show.data import Rows

    def blocks() -> list[Block]:
        return show.blocks(sweep, head, ignore_capacity=ignoring)

    def rows() -> Rows:
        return Rows(show.COLUMNS, texts=texts.of("csv"))

    def json(stream: TextIO) -> None:
        show.write_json(stream, head, texts.of("json"))

    return Answer(lambda: head.answer, blocks, rows, json)


def _run_answer(sweep: Iterable[RunBlock], texts: _Texts, head: Summary) -> Answer:
    from rooflight.show import runs as show
    from rooflight.show.data import Rows
    from rooflight.show.sweep import write_json

    def blocks() -> list[Block]:
        return show.blocks(sweep, head)

    def rows() -> Rows:
        return Rows(show.COLUMNS, texts=texts.of("csv"))

    def json(stream: TextIO) -> None:
        write_json(stream, head, texts.of("json"))

    return Answer(lambda: head.answer, blocks, rows, json)
