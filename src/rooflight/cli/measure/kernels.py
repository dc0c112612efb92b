"""`rooflight measure kernels`: a model's own kernels, or one product, timed and set under the roofs."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from rooflight.cli import complete
from rooflight.cli.app import HELP_NAMES, Command
from rooflight.cli.output import Answer, Output, emit, require_writable, sample_output_options
from rooflight.cli.status import INTERRUPTED
from rooflight.cli.values import Amount, Range, Whole
from rooflight.errors import BadInput

if TYPE_CHECKING:
    from rooflight.values.kernels import Kernels

_GEMM = 3


@click.command("kernels", cls=Command, context_settings=HELP_NAMES)
@click.argument("model", metavar="[MODEL]", required=False, shell_complete=complete.models)
@click.option("--on", metavar="MACHINE", default="this", shell_complete=complete.accelerators,
              help="Whose roofs: this (the last measurement of this host), a TOML file that `rooflight measure` wrote, "
              "or an accelerator's id. [this]")  # fmt: skip
@click.option("--gemm", metavar="M,N,K", help="One product of M rows, N outputs and K inputs, without a model.")
@click.option("--weights", "--quantization", metavar="FORMAT", shell_complete=complete.formats,
              help="Format of the weights, of which activations and cache follow. [the checkpoint's]")  # fmt: skip
@click.option("--batch", type=Range(), metavar="RANGE",
              help="Sequences of the decode steps. [1 to the ridge point, in powers of two]")  # fmt: skip
@click.option("--context", type=Whole(), default=1024, metavar="N", help="Tokens cached before them. [1024]")
@click.option(
    "--prefill", type=Range(), default="128,512,2048", metavar="RANGE", help="Tokens of the prompts. [128,512,2048]"
)
@click.option("--tp", type=Whole(), default=1, metavar="N", help="Sizes of one of N tensor-parallel devices. [1]")
@click.option(
    "--device", metavar="NAME", help="What to run on: cpu, cuda, cuda:1, xpu, mps. [the fastest kind there is]"
)
@click.option("--threads", type=Whole(), metavar="N", help="Threads of a CPU. [one a core]")
@click.option(
    "--budget", type=Amount(), default=120.0, metavar="S", help="Seconds in all; what is left out is said. [120]"
)
@sample_output_options
def command(
    model: str | None, on: str, gemm: str | None, output: Output, budget: float, batch: Sequence[int] | None,
    prefill: Sequence[int], **given: Any,
) -> int:  # fmt: skip
    """A model's own kernels, each timed alone on random numbers, beside ceiling, roofline and expected time.

    The matrix products of a decode step and of a prompt (those of one device under --tp), attention, experts, norms
    and activation functions, equal ones once; weights and caches come from memory. Each is a dot under the machine's
    roof, with what keeps it below.

    \b
    rooflight measure kernels llama-3.2-1b --weights bf16
    rooflight measure kernels llama-3.1-8b --batch 1:64:x2 --prefill 512 --tp 4 -o kernels.jsonl
    rooflight measure kernels --gemm 8,4096,14336 --weights fp32

    -o FILE.jsonl adds each sample to FILE as soon as it is there; `rooflight measure show FILE` reads it again. Ctrl-C
    keeps what is done.
    """
    from rooflight.cli.measure.progress import shown
    from rooflight.library.kernels import measure_kernels

    if model is None and gemm is None:
        raise BadInput("there is nothing to time", where="rooflight measure kernels", got="neither MODEL nor --gemm",
                       want="a model, or the sizes of a product", try_this="--gemm 8,4096,4096")  # fmt: skip
    lines = output.file if output.format == "jsonl" else None
    require_writable(output.file)
    with shown() as progress:
        found = measure_kernels(
            model, on, gemm=None if gemm is None else _sizes(gemm), batch=batch, prefill=prefill, budget_s=budget,
            keep=None if lines is None else _keeper(lines), progress=progress,
            command=shlex.join(["rooflight", *sys.argv[1:]]), **given,
        )  # fmt: skip
    emit(Output("text", None, output.ascii) if lines is not None else output, answer(found))
    if lines is not None:
        click.echo(f"{len(found.kernels)} samples added to {lines}", err=True)
    return INTERRUPTED if found.interrupted else 0


def answer(found: Kernels) -> Answer:
    """The answer in its forms."""
    from rooflight.show import kernels as show

    def json(stream: Any) -> None:
        from rooflight.show.data import write_json

        write_json(show.written(found), stream)

    def chart() -> Any:
        from rooflight.show.charts.draw import chart as drawn

        return drawn(found)

    return Answer(lambda: found.answer, lambda: show.blocks(found), lambda: show.rows(found), json, chart)


def _sizes(text: str) -> tuple[int, int, int]:
    """M,N,K. Raises BadInput."""
    parts = [part.strip() for part in text.replace("x", ",").split(",")]
    if len(parts) != _GEMM or not all(part.isascii() and part.isdigit() and 0 < len(part) < 10 for part in parts):
        raise BadInput(f"{text[:60]!r} are no sizes of a product", where="--gemm", got=text[:60],
                       want="rows, outputs and inputs with commas between", try_this="--gemm 8,4096,14336")  # fmt: skip
    rows, outputs, inputs = map(int, parts)
    return rows, outputs, inputs


def _keeper(path: str) -> Any:
    from rooflight.ingest.samples import append

    return lambda sample: append(path, [sample])
