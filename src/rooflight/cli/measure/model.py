"""`rooflight measure model`: a whole model with random weights, timed beside its prediction."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TextIO

import click

from rooflight.cli import complete
from rooflight.cli.app import HELP_NAMES, Command
from rooflight.cli.options import model_argument
from rooflight.cli.output import Answer, Output, emit, require_writable, sample_output_options
from rooflight.cli.status import INTERRUPTED
from rooflight.cli.values import Amount, Choice, Range, Whole

if TYPE_CHECKING:
    from rooflight.values.sample import Sample
    from rooflight.values.whole import WholeModel


@click.command("model", cls=Command, context_settings=HELP_NAMES)
@model_argument
@click.option("--on", metavar="MACHINE", default="this", shell_complete=complete.accelerators,
              help="Whose prediction: this (the last measurement of this host), a TOML file that `rooflight measure` "
              "wrote, or an accelerator's id. [this]")  # fmt: skip
@click.option("--weights", "--quantization", type=Choice("fp32", "bf16", "fp16"), metavar="FORMAT",
              help="fp32, bf16 or fp16: of weights, activations and cache. [the checkpoint's]")  # fmt: skip
@click.option("--batch", type=Range(), default="1,8", metavar="RANGE", help="Sequences of the decode steps. [1,8]")
@click.option("--context", type=Whole(), default=512, metavar="N", help="Tokens cached before them. [512]")
@click.option("--prefill", type=Range(), default="128,512", metavar="RANGE", help="Tokens of the prompts. [128,512]")
@click.option(
    "--device", metavar="NAME", help="What to run on: cpu, cuda, cuda:1, xpu, mps. [the fastest kind there is]"
)
@click.option("--threads", type=Whole(), metavar="N", help="Threads of a CPU. [one a core]")
@click.option("--transformers", is_flag=True, help="Run transformers' own module of the config, where it is installed.")
@click.option("--budget", type=Amount(), default=60.0, metavar="S",
              help="Seconds of timing; every step is timed three times at least. [60]")  # fmt: skip
@sample_output_options
def command(
    model: str, on: str, output: Output, budget: float, batch: Sequence[int], prefill: Sequence[int], **given: Any
) -> int:
    """A model's decode steps and prefills with random weights, timed beside the prediction made before they ran.

    A decoder is made of the model's plan, of as many layers as fit into memory; what others would take is added in
    proportion, and said. Expected times are those of this machine's own kernels (--engine torch). Ctrl-C keeps the
    steps that were timed.

    \b
    rooflight measure model qwen3-0.6b --weights bf16
    rooflight measure model llama-3.2-1b --batch 1,4,16 --prefill 512 -o steps.jsonl
    """
    from rooflight.cli.measure.progress import shown
    from rooflight.library.whole import measure_model

    lines = output.file if output.format == "jsonl" else None
    require_writable(output.file)
    with shown() as progress:
        found = measure_model(
            model, on, batch=batch, prefill=prefill, budget_s=budget, keep=None if lines is None else _keeper(lines),
            progress=progress, command=shlex.join(["rooflight", *sys.argv[1:]]), **given,
        )  # fmt: skip
    emit(Output("text", None, output.ascii) if lines is not None else output, answer(found))
    if lines is not None:
        click.echo(f"{len(found.steps)} samples added to {lines}", err=True)
    return INTERRUPTED if found.interrupted else 0


def answer(found: WholeModel) -> Answer:
    """The answer in its forms."""
    from rooflight.show import whole as show
    from rooflight.show.data import write_json
    from rooflight.words import whole as words

    def json(stream: TextIO) -> None:
        write_json(show.written(found), stream)

    return Answer(lambda: words.answer(found), lambda: show.blocks(found), lambda: show.rows(found), json)


def _keeper(path: str) -> Callable[[Sample], object]:
    from rooflight.ingest.samples import append

    return lambda sample: append(path, [sample])
