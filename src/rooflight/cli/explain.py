"""`rooflight explain`: a byte calculator, conversions of rates, and what terms mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click

from rooflight.cli import complete, options
from rooflight.cli.app import HELP_NAMES, Command
from rooflight.cli.output import Answer, Output, emit, text_output_options
from rooflight.cli.values import Amount, Share, Size, Value, Whole
from rooflight.values.question import FIELDS, NOT_CLAIMED

if TYPE_CHECKING:
    from rooflight.show.blocks import Block

Options = TypeVar("Options", bound=Callable[..., Any])

_FIELDS = tuple(field for name, field in FIELDS.items() if name not in NOT_CLAIMED)
# Option: (its type, what stands for its value, what it is).
_VALUES: Mapping[str, tuple[type[Value], str, str]] = {
    "output_tok_s": (Amount, "RATE", "Output tokens per second, all sequences."),
    "output_tok_s_per_user": (Amount, "RATE", "The same of one sequence after its first token."),
    "output_tok_s_per_gpu": (Amount, "RATE", "The same for each device."),
    "total_tok_s": (Amount, "RATE", "Input and output tokens per second."),
    "prefill_tok_s": (Amount, "RATE", "Prompt tokens per second."),
    "ttft_ms": (Amount, "MS", "Time to first token."),
    "tpot_ms": (Amount, "MS", "Time per output token after the first."),
    "itl_ms": (Amount, "MS", "Inter-token latency: between chunks."),
    "tokens_per_chunk": (Amount, "N", "Tokens that a chunk of the stream carries."),
    "e2e_latency_ms": (Amount, "MS", "Time of a whole request."),
    "guidellm_tpot_ms": (Amount, "MS", "Time of a whole request over all its output tokens, guidellm's TPOT."),
    "gpus": (Whole, "N", "Accelerators, where --on does not count them."),
    "dram_active": (Share, "SHARE", "Counter: cycles in which memory was moving data, 0 to 1."),
    "tensor_active": (Share, "SHARE", "Counter: cycles in which the tensor pipe was busy."),
    "sm_active": (Share, "SHARE", "Counter: cycles in which a multiprocessor had a warp."),
    "gpu_util": (Share, "SHARE", "Counter: time in which a kernel ran."),
    "kv_cache_usage": (Share, "SHARE", "Gauge of an engine: blocks of its KV cache in use."),
    "bytes": (Size, "SIZE", "Bytes that a kernel moved: 64MB."),
    "flop": (Size, "FLOP", "FLOP that it computed: 2GFLOP."),
    "time": (Size, "TIME", "Time that it took: 120us."),
    "ai": (Amount, "RATIO", "Arithmetic intensity, FLOP per byte."),
}


def _value_options(command: Options) -> Options:
    for name, (kind, metavar, words) in reversed(tuple(_VALUES.items())):
        command = click.option(f"--{name.replace('_', '-')}", name, type=kind(), metavar=metavar, help=words)(command)
    return command


@click.command("explain", cls=Command, context_settings=HELP_NAMES)
@click.argument("term", metavar="[TERM]", required=False, shell_complete=complete.terms)
@click.option("--model", metavar="MODEL", shell_complete=complete.models, help="As in analyze. Needs --on.")
@options.on_option(several=False)
@_value_options
@options.field_options(*_FIELDS)
@text_output_options
def command(term: str | None, model: str | None, on: str | None, output: Output, **given: Any) -> int:
    """What a few values come to (GB/s, MBU, FLOP/s, MFU, rates and times), each with its formula; what a term means.

    TERM is a word of the field or what a tool calls it: gpu-util, DCGM_FI_PROF_DRAM_ACTIVE,
    vllm:gpu_cache_usage_perc, ITL. Without a term and without values, all terms are listed.

    With --model and --on, a time or a rate of tokens is turned into bytes and FLOP a second of a decode step, and a
    time to first token or prompt tokens a second into those of a prefill. Counters, a kernel's --bytes, --flop and
    --time, or an intensity (--ai) need --on alone. Rates, times, lengths and what is in flight need neither: given
    enough of them, the others follow.

    \b
    rooflight explain dram-active
    rooflight explain --model qwen2.5-7b --on rtx-4090 --output-tok-s 55
    rooflight explain --on h100-sxm --dram-active 0.55
    rooflight explain --on h100-sxm --bytes 64MB --time 120us
    rooflight explain --isl 900 --osl 100 --output-tok-s 300

    Exit status 1: the values cannot be together, or are faster than physics allows.
    """
    from rooflight.library.explain import explain
    from rooflight.show import explained as show

    values = {name: given[name] for name in _VALUES if given[name] is not None}
    found = explain(term, model=model, on=on, **values, **options.fields(given))

    def blocks() -> list[Block]:
        return show.blocks(found)

    def json(stream: TextIO) -> None:
        from rooflight.show.data import write_json

        write_json(found, stream)

    emit(output, Answer(lambda: found.answer, blocks, lambda: show.rows(found), json))
    return 0 if found.possible else 1
