"""`rooflight diagnose`: which ceiling binds, by what profilers, engines and monitoring recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rooflight.cli import app, complete, options
from rooflight.cli.app import HELP_NAMES
from rooflight.cli.output import Answer, Output, chart_option, emit, output_options
from rooflight.cli.watched import watching_or_files_options
from rooflight.values.question import FIELDS, NOT_CLAIMED

if TYPE_CHECKING:
    from rooflight.values.diagnosis import Diagnosis
    from rooflight.values.watching import Watching

_FIELDS = tuple(field for name, field in FIELDS.items() if name not in NOT_CLAIMED)


@click.command("diagnose", cls=app.Command, context_settings=HELP_NAMES)
@click.argument("files", metavar="FILE...", nargs=-1, type=click.Path())
@click.option("--model", metavar="MODEL", shell_complete=complete.models,
              help="What ran, as in analyze; left out: what the files name.")  # fmt: skip
@options.on_option(several=False)
@click.option("--point", "points", multiple=True, metavar="VALUES",
              help='A measurement of your own, such as "batch=1 tpot_ms=12.0". May be repeated.')  # fmt: skip
@watching_or_files_options
@click.option("--watch", is_flag=True, help="Read again and again, until interrupted, in the terminal.")
@click.option("--formats", is_flag=True, help="List what is read, and stop.")
@options.field_options(*_FIELDS)
@chart_option("Diagnosis")
@output_options
def command(
    files: tuple[str, ...],
    model: str | None,
    on: str | None,
    points: tuple[str, ...],
    watching: Watching | None,
    interval_s: float | None,
    watch: bool,
    formats: bool,
    kind: str | None,
    output: Output,
    **given: Any,
) -> int:
    """Which ceiling binds, by files that profilers, engines, monitoring and load generators wrote.

    Each FILE (- for standard input; gzip or not) is told by its content: profiles of kernels, counters of devices,
    metrics and start-up logs of engines, results of benchmarks. Two or more measurements of one thing, at other
    batches, lengths, formats or degrees of parallelism, are fitted together.

    \b
    rooflight diagnose trace.json.gz --model qwen3-8b --on mi300x
    rooflight diagnose dcgm.prom vllm.prom --model llama-3.1-8b --on h100
    rooflight diagnose --prometheus http://localhost:9090 --range 15m --model llama-3.1-8b --on h100
    rooflight diagnose --scrape http://localhost:8000/metrics --model llama-3.1-8b --on h100 --watch
    rooflight diagnose --point "batch=1 tpot_ms=12" --point "batch=33 tpot_ms=15.2" --model qwen2.5-14b --on l40s

    Exit status 1: which ceiling binds cannot be told from this, and the answer says what to record.
    """
    if formats:
        return _formats()
    from rooflight.library.diagnosed import diagnose

    asked: dict[str, Any] = {"model": model, "on": on, "points": points, **options.fields(given)}
    if watch:
        return _again(files, watching, asked, output)
    found = diagnose(*files, watching=watching, interval_s=interval_s, **asked)
    show(found, output, kind)
    return 1 if found.cannot_tell else 0


def _again(files: tuple[str, ...], watching: Watching | None, asked: dict[str, Any], output: Output) -> int:
    """The answer, read anew until an interrupt: in place on a terminal, one after the other elsewhere."""
    import time

    from rooflight.errors import BadInput, RooflightError
    from rooflight.library.diagnosed import diagnose
    from rooflight.library.live import Watcher

    if watching is None or output.format != "text" or output.file is not None:
        raise BadInput(
            "--watch shows in the terminal what is read again", where="--watch",
            got="no --prometheus or --scrape" if watching is None else "another form or a file",
            want="--prometheus or --scrape, as text", try_this="rooflight exporter, to keep what is seen",
        )  # fmt: skip
    watcher = Watcher(watching)
    found = None
    try:
        while True:
            try:
                found = diagnose(*files, watching=watcher, **asked)
            except RooflightError as error:
                if found is None:  # what is wrong from the start is the question's
                    raise
                click.echo(f"\n{error}\n", err=True)
            else:
                click.clear()
                show(found, output)
            time.sleep(watching.interval_s)
    except KeyboardInterrupt:
        return 0 if found is not None and not found.cannot_tell else 1


def show(found: Diagnosis, output: Output, kind: str | None = None) -> None:
    """Print a diagnosis in the form that is asked for."""
    from rooflight.show import diagnosis
    from rooflight.show.data import write_json

    def json(stream: Any) -> None:
        write_json(found, stream)

    def chart() -> Any:
        return found.chart(kind)

    emit(
        output,
        Answer(lambda: found.answer, lambda: diagnosis.blocks(found), lambda: diagnosis.rows(found), json, chart),
    )


def _formats() -> int:
    from rooflight.ingest.recorded.read import formats

    for form in formats():
        click.echo(f"{form.name:<18} {form.words}")
    return 0
