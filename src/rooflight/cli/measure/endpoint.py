"""`rooflight measure endpoint`: a serving endpoint under a load, beside the run that is predicted for it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

import click

from rooflight.cli import complete, options
from rooflight.cli.app import HELP_NAMES, Command
from rooflight.cli.output import Answer, Output, emit, request_output_options, require_writable
from rooflight.cli.status import INTERRUPTED
from rooflight.cli.values import Amount, Choice, Whole
from rooflight.values.endpoint import APIS
from rooflight.values.question import FIELDS

if TYPE_CHECKING:
    from rooflight.show.blocks import Block
    from rooflight.values.endpoint import EndpointReport, Sent
    from rooflight.values.sample import Sample

# Fields of single steps, and what the load itself says.
_NOT_ASKED = ("prefill_batch", "context", "chunk_tokens", "schedule", "images", "audio_seconds")
_FIELDS = tuple(field for name, field in FIELDS.items() if name not in _NOT_ASKED)


@click.command("endpoint", cls=Command, context_settings=HELP_NAMES)
@click.argument("url", metavar="URL")
@click.option("--model", metavar="MODEL", shell_complete=complete.models,
              help="What the server runs, as in analyze: a run is then predicted. Needs --on.")  # fmt: skip
@options.on_option(several=False)
@click.option("--served-model", metavar="NAME", help="Its name on the server. [the one that the server lists]")
@click.option("--api", type=Choice(*APIS), metavar="|".join(APIS), help="Which of its APIs. [completions]")
@click.option("--num-prompts", type=Whole(), metavar="N",
              help="Requests at most. [32; beside --duration 10,000]")  # fmt: skip
@click.option("--duration", "duration_s", type=Amount(), metavar="S",
              help="Send no more after so many seconds; those in flight end by themselves.")  # fmt: skip
@click.option("--timeout", "timeout_s", type=Amount(), metavar="S", help="Longest time of a request. [120]")
@click.option("--warmup", type=Whole(), metavar="N", help="Requests before the load that do not count. [1]")
@click.option("--burst", is_flag=True, help="Send all at once.")
@click.option(
    "--burstiness",
    type=Amount(),
    metavar="SHAPE",
    help="Of arrivals at --request-rate: shape of a gamma distribution; 1 is Poisson, less is burstier. [1]",
)
@click.option("--ttft-slo-ms", type=Amount(), metavar="MS", help="Goal for the time to first token; adds goodput.")
@click.option("--tpot-slo-ms", type=Amount(), metavar="MS", help="Goal for the time per output token, likewise.")
@click.option("--header", "header", multiple=True, metavar="'NAME: VALUE'", help="Header of every request; repeatable.")
@click.option("--api-key-env", metavar="NAME", help="Environment variable that holds the key, sent as a bearer's.")
@click.option("--seed", type=Whole(), metavar="N",
              help="Of prompts and arrivals. A server's prefix cache may know the prompts of a seed used before. "
              "[a new one each time]")  # fmt: skip
@options.field_options(*_FIELDS)
@request_output_options
def command(
    url: str, model: str | None, on: str | None, header: tuple[str, ...], output: Output, **given: Any
) -> int:  # fmt: skip
    """Drive an OpenAI-compatible streaming endpoint: TTFT, TPOT, ITL, end to end, tok/s and goodput.

    URL is a server's address (vLLM, SGLang, llama.cpp, TGI, Ollama ...), with or without /v1, or that of its
    completions or chat completions. Requests go there and nowhere else: no proxy, no redirect. Prompts are random
    words, --isl tokens of them as the server counts, and ask for --osl tokens; --concurrency of them are in flight, or
    --request-rate arrive a second, or --burst sends all at once. A few requests before the load find out how long a
    word is and what the server takes.

    With --model and --on the means stand beside the run that is predicted for that load, judged as `check` judges
    them. CSV is a table of measurements that `check` reads; -o FILE.jsonl adds every request to FILE as a sample.

    \b
    rooflight measure endpoint http://localhost:8000 --concurrency 8 --isl 512 --osl 128
    rooflight measure endpoint http://localhost:8000 --model llama-3.1-8b --on h100-sxm --request-rate 4 -o run.csv

    Exit status 1: no request was answered, or what was measured is impossible for that model on that machine; 130:
    interrupted, what was done until then is shown.
    """
    from rooflight.library.served import measure_endpoint
    from rooflight.probe.endpoint.drive import header_lines

    lines = output.file if output.format == "jsonl" else None
    if lines is None:
        require_writable(output.file)
    with _Progress(given["num_prompts"]) as progress, _kept(lines) as keep:
        report = measure_endpoint(
            url, model=model, on=options.require_on(on) if model is not None else on, headers=header_lines(header),
            watch=progress.seen, keep=keep, **_stated(given), **options.fields(given),
        )  # fmt: skip
    _emit(report, Output("text", None, output.ascii) if lines is not None else output)
    if lines is not None:
        click.echo(f"{len(report.requests)} samples added to {lines}", err=True)
    if report.interrupted:
        return INTERRUPTED
    if not report.answered:
        from rooflight.words.endpoint import no_answer

        raise no_answer(report)
    return 1 if any(one.verdict == "impossible" for one in report.beside) else 0


for _option in command.params:
    if _option.name == "batch":  # requests in flight, of a load: help and errors name it so
        _option.opts.sort(key="--concurrency".__ne__)

_OWN = (
    "served_model", "api", "num_prompts", "duration_s", "timeout_s", "warmup", "burst", "burstiness", "ttft_slo_ms",
    "tpot_slo_ms", "api_key_env", "seed",
)  # fmt: skip


def _stated(given: dict[str, Any]) -> dict[str, Any]:
    """The options that were given; the others keep the library's defaults."""
    return {name: given[name] for name in _OWN if given[name] is not None and given[name] is not False}


def _emit(report: EndpointReport, output: Output) -> None:
    from rooflight.show import endpoint as show

    def blocks() -> list[Block]:
        return show.blocks(report)

    def json(stream: TextIO) -> None:
        from rooflight.show.data import write_json

        write_json(report, stream)

    emit(output, Answer(lambda: report.answer, blocks, lambda: show.rows(report), json))


@contextmanager
def _kept(lines: str | None) -> Iterator[Callable[[Sample], None] | None]:
    """What adds a sample to the file, in a thread of its own: a slow disk must not hold up a clock."""
    if lines is None:
        yield None
        return
    from concurrent.futures import Future, ThreadPoolExecutor

    from rooflight.ingest.samples import append

    append(lines, [])  # refuses now what cannot be written
    done: list[Future[int]] = []
    with ThreadPoolExecutor(1) as writer:
        yield lambda one: done.append(writer.submit(append, lines, [one]))
    for one in done:
        one.result()


class _Progress:
    """How far the load is, on standard error: a line that a terminal shows anew, else a line a stage.

    No bar that a thread of its own draws: it would take turns with the client, whose milliseconds are measured.
    """

    def __init__(self, num_prompts: int | None) -> None:
        self.terminal = sys.stderr is not None and sys.stderr.isatty()
        self.of = "" if num_prompts is None else f" of {num_prompts:,}"
        self.stage = ""
        self.ended = self.faults = 0

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self.terminal and self.stage:
            click.echo(err=True)

    def seen(self, one: Sent) -> None:
        """A request has ended."""
        if not self.terminal and one.stage != self.stage:
            click.echo(f"measuring: {one.stage}", err=True)
        self.stage = one.stage
        if one.stage == "load":
            self.ended, self.faults = self.ended + 1, self.faults + (not one.ok)
        if self.terminal:
            failed = f", {self.faults:,} failed" if self.faults else ""
            click.echo(
                f"\rmeasuring: {one.stage}, {self.ended:,}{self.of} requests ended{failed}   ", nl=False, err=True
            )
