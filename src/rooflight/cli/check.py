"""`rooflight check`: a file of measurements, or a single claim."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click

from rooflight.cli import app, complete, options
from rooflight.cli.app import HELP_NAMES
from rooflight.cli.output import Answer, Output, emit, output_options
from rooflight.cli.values import Amount
from rooflight.errors import BadInput
from rooflight.values.question import FIELDS, NOT_CLAIMED

if TYPE_CHECKING:
    from rooflight.answers.check.names import Names
    from rooflight.ingest.table import Table
    from rooflight.show.blocks import Block
    from rooflight.show.charts.chart import Chart
    from rooflight.show.data import Rows
    from rooflight.values.measurement import Report, Verdict
    from rooflight.values.recorded import Recorded

Command = TypeVar("Command", bound=Callable[..., Any])

_FIELDS = tuple(field for name, field in FIELDS.items() if name not in NOT_CLAIMED)
_CLAIMS = {
    "output_tok_s": "Claimed output tokens per second, all sequences.",
    "output_tok_s_per_gpu": "The same for each device.",
    "output_tok_s_per_user": "The same for each sequence.",
    "tpot_ms": "Claimed time per output token after the first.",
    "ttft_ms": "Claimed time to first token.",
    "prefill_tok_s": "Claimed prompt tokens per second.",
    "e2e_latency_ms": "Claimed time of the whole batch, prefill and all output.",
    "total_tok_s": "Claimed input and output tokens per second, whole requests.",
}


def _claim_options(command: Command) -> Command:
    for metric, words in reversed(_CLAIMS.items()):
        unit = "MS" if metric.endswith("_ms") else "RATE"
        command = click.option(f"--{metric.replace('_', '-')}", metric, type=Amount(), metavar=unit, help=words)(
            command
        )
    return command


@click.command("check", cls=app.Command, context_settings=HELP_NAMES)
@click.argument("file", metavar="[FILE]", required=False, type=click.Path())
@click.option("--configs", multiple=True, type=click.Path(), metavar="DIR",
              help="Folder of configs whose file names are models of FILE. May be repeated.")  # fmt: skip
@click.option("--model", metavar="MODEL", shell_complete=complete.models, help="A claim's model, as in analyze.")
@options.on_option(several=False)
@options.calibration_option
@_claim_options
@options.field_options(*_FIELDS)
@options.jobs_option
@output_options
def command(
    file: str | None,
    configs: tuple[str, ...],
    model: str | None,
    on: str | None,
    jobs: int,
    output: Output,
    **given: Any,
) -> int:
    """Whether measurements are possible, and as fast as they should be: a file of them, or one claim.

    FILE may be what a benchmark wrote or printed (vllm bench, SGLang, InferenceX, guidellm, aiperf, llama-bench ...),
    told by its content: --model, --on and other options then say what it leaves open, and count before what it says.

    A CSV file (- for standard input) has the columns model, accelerator, metric, value, and what else is known of each
    row: gpus, tp, pp, ep, dp, weights, kv_cache, compute, phase, batch, input_len, output_len, depth, cached_prefix,
    prefix_hit, engine, engine_version, max_num_seqs, max_num_batched_tokens, speculative, draft_tokens, acceptance,
    draft_share, draft_model, mode (agg or disagg), prefill_workers, decode_workers, prefill_tp, prefill_ep, prefill_dp,
    prompts, network, n_gpu_layers, n_cpu_moe, host_cpu, host_memory_bandwidth, run, config_like. CSV gives every row
    back with ceiling, expected, low, high, over_ceiling, verdict and reason behind it. A claim is described by options
    instead, and judged as a row is.

    What is not stated stays open: without --batch a rate of all sequences is held against every batch. Values claimed
    together, or rows of one run, are judged together too.

    \b
    rooflight check measured.csv --configs configs/ -o judged.csv
    rooflight check result.json --model qwen3-14b --on rtx-5090 --weights fp8
    rooflight check --model llama-3.1-8b --on h100-sxm --batch 1 --weights bf16 --output-tok-s 300
    rooflight check --model qwen2.5-14b --on l40s --isl 300 --osl 200 --output-tok-s 760 --tpot-ms 95

    Exit status 1: something is faster than physics allows; 2: lines of the file are not read, though the rest is
    judged.
    """
    values = {metric: value for metric in _CLAIMS if (value := given[metric]) is not None}
    if file is None:
        return _claim(model, on, values, given, configs, output)
    if values:
        raise _both(file, model, on, values, given)
    from rooflight.answers.check.names import Names
    from rooflight.answers.check.opened import noted
    from rooflight.ingest.rows import open_measured
    from rooflight.library.questions import own_of
    from rooflight.values.recorded import Recorded

    own = own_of(given["calibration"])
    names = Names(configs, own)
    found = open_measured(file)
    if isinstance(found, Recorded):
        return _results(found, model, on, given, configs, output)
    with found as table:
        if model is not None or on is not None or options.fields(given):
            raise _both(file, model, on, values, given)
        table.notes[:0] = noted((), own)
        return _file(table, names, output, jobs)


def _both(
    file: str, model: str | None, on: str | None, values: Mapping[str, float], given: Mapping[str, Any]
) -> BadInput:
    described = [name for name, value in {"model": model, "on": on}.items() if value is not None]
    described += [*values, *options.fields(given)]
    spelled = options.spelling(click.get_current_context().command)
    return BadInput(
        "a file's rows describe themselves", where="rooflight check",
        got=f"{file} and {', '.join(spelled(name, None) for name in described)}",
        want="a file, or a claim by options, not both",
    )  # fmt: skip


def _results(
    found: Recorded, model: str | None, on: str | None, given: Mapping[str, Any], configs: tuple[str, ...],
    output: Output,
) -> int:  # fmt: skip
    """A benchmark's results, with what options say of them."""
    from rooflight.library.checks import check
    from rooflight.show import check as show

    report = check(found, configs=configs, model=model, on=on, **options.asked(given))
    emit(output, _answer(report, lambda: show.results_blocks(report), lambda: show.rows(report)))
    return 1 if report.summary.impossible else 0


def _answer(report: Report, blocks: Callable[[], list[Block]], rows: Callable[[], Rows]) -> Answer:
    """A whole report in every form."""
    from rooflight.show.data import write_json

    def json(stream: TextIO) -> None:
        write_json(report, stream)

    def chart() -> Chart:
        from rooflight.show.charts.verdicts import verdicts

        return verdicts(report)

    return Answer(lambda: report.answer, blocks, rows, json, chart)


def _claim(
    model: str | None, on: str | None, values: Mapping[str, float], given: Mapping[str, Any], configs: tuple[str, ...],
    output: Output,
) -> int:  # fmt: skip
    if model is None or not values or configs:
        raise BadInput(
            "there is nothing to check" if not configs else "--configs names the models of a file",
            where="rooflight check",
            got=", ".join([*(["--configs"] if configs else []), *(["--model"] if model else [])]) or "no file",
            want="FILE, or --model, --on and a claimed value such as --output-tok-s 300",
            try_this="rooflight check --help",
        )
    from rooflight.library.checks import claim
    from rooflight.show import check as show

    report = claim(model, options.require_on(on), **{**values, **options.asked(given)})
    emit(output, _answer(report, lambda: show.claim_blocks(report), lambda: show.claim_rows(report)))
    return 1 if report.summary.impossible else 0


def _file(table: Table, names: Names, output: Output, jobs: int) -> int:
    watched = _Watched(table, names, jobs)
    emit(output, watched.answer())
    if table.lost and output.format not in ("text", "md", "json"):  # those say it themselves
        for note in table.notes:
            click.echo(f"Warning: {note}", err=True)
    if watched.counts.tally().impossible:
        return 1
    return BadInput.exit_status if table.lost else 0


class _Watched:
    """A file's verdicts as they pass, counted on their way into whichever form."""

    def __init__(self, table: Table, names: Names, jobs: int) -> None:
        from rooflight.answers.check.tally import Counts

        self.table, self.names, self.jobs, self.counts = table, names, jobs, Counts()

    def verdicts(self) -> Iterator[Verdict]:
        from rooflight.answers.check.report import row_blocks
        from rooflight.ingest.rows import table_rows
        from rooflight.jobs import in_order
        from rooflight.words.verdicts import told

        blocks = row_blocks(table_rows(self.table))
        for some, counts in in_order(functools.partial(told, self.names), blocks, self.jobs):
            self.counts.take(counts)
            yield from some

    def sentence(self) -> str:
        from rooflight.words.verdicts import answer

        return answer(self.counts.tally())

    def answer(self) -> Answer:
        from rooflight.show import check as show

        def blocks() -> list[Block]:
            picked = show.Picked(self.verdicts())
            return picked.blocks(self.sentence(), self.counts.tally(), self.table.notes)

        def rows() -> Rows:
            return show.flat_rows(self.table.columns, self.verdicts(), calibrated=self.names.calibrated)

        def json(stream: TextIO) -> None:
            show.write_json(stream, self.verdicts(), lambda: (self.sentence(), self.counts.tally(), self.table.notes))

        def chart() -> Chart:
            from rooflight.show.charts.verdicts import picked, verdicts

            shown = picked(self.verdicts())
            return verdicts(shown, answer=self.sentence())

        return Answer(self.sentence, blocks, rows, json, chart)
