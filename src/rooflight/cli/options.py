"""Every option once, in the field's spelling with vLLM's as aliases; analyze and sweep share them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

import click

from rooflight.cli import complete
from rooflight.cli.values import Choice, Names, Range, Share, Value, Whole
from rooflight.errors import BadInput, Spelling

Command = TypeVar("Command", bound=Callable[..., Any])


class Option(NamedTuple):
    """An option of a field of Workload or Deployment; a sweep may give an axis several values."""

    field: str
    names: tuple[str, ...]
    type: Value | None
    words: str
    axis: bool = False
    complete: Callable[..., Any] | None = None


_WHOLE = Whole()

WORKLOAD = (
    Option("batch", ("--batch", "--concurrency", "--max-num-seqs"), _WHOLE,
           "Sequences decoding at once, whole deployment. [1]", axis=True),
    Option("prefill_batch", ("--prefill-batch",), _WHOLE, "Prompts prefilled together. [1]", axis=True),
    Option("isl", ("--isl", "--input-len"), _WHOLE, "Input tokens of a sequence. [1024]", axis=True),
    Option("osl", ("--osl", "--output-len"), _WHOLE, "Output tokens of a sequence. [256]", axis=True),
    Option("context", ("--context",), _WHOLE,
           "Tokens cached before the decode step. [isl + osl / 2]", axis=True),
    Option("cached_prefix", ("--cached-prefix",), _WHOLE, "Prompt tokens whose KV is cached already. [0]"),
)  # fmt: skip

PHASES = (
    Option("draft_tokens", ("--draft-tokens", "--num-speculative-tokens"), _WHOLE,
           "Speculative decoding: tokens drafted a step; adds the phase verify."),
    Option("chunk_tokens", ("--chunk",), _WHOLE,
           "Chunked prefill: prompt tokens run beside each decode step; adds the phase mixed."),
)  # fmt: skip

DEPLOYMENT = (
    Option("tp", ("--tp", "--tensor-parallel-size"), _WHOLE, "Tensor parallel degree. [devices / (pp x dp)]",
           axis=True),
    Option("pp", ("--pp", "--pipeline-parallel-size"), _WHOLE, "Pipeline stages. [1]", axis=True),
    Option("ep", ("--ep", "--expert-parallel-size"), _WHOLE, "Devices the experts are spread over. [1]", axis=True),
    Option("dp", ("--dp", "--data-parallel-size"), _WHOLE, "Replicas. [1]", axis=True),
    Option("weights", ("--weights", "--quantization"), None,
           "Format of the linear layers: fp8, int4-g128, awq ... [as the config says]",
           axis=True, complete=complete.formats),
    Option("activations", ("--activations",), None, "Format of activations into products.", complete=complete.formats),
    Option("compute", ("--compute",), None, "Format whose peak bounds products.", complete=complete.formats),
    Option("kv_cache", ("--kv-cache", "--kv-cache-dtype"), None, "Format of the KV cache. [bf16]",
           axis=True, complete=complete.formats),
    Option("gpu_memory_utilization", ("--gpu-memory-utilization",), Share(),
           "Share of device memory the engine may use. [0.9]"),
    Option("attention", ("--attention",), Choice("flash", "naive"),
           "flash: scores stay on chip; naive: the score matrix goes through memory. [flash]"),
    Option("engine", ("--engine",), None,
           "Whose expected times: vllm, sglang, tensorrt-llm, llama.cpp ... [the mean of the serving engines]"),
)  # fmt: skip

SHARED = (*WORKLOAD, *DEPLOYMENT)


def model_argument(command: Command) -> Command:
    """MODEL: an id, a config.json or a directory that holds one."""
    return click.argument("model", metavar="MODEL", shell_complete=complete.models)(command)


def on_option(*, several: bool) -> Callable[[Command], Command]:
    """--on ACCELERATOR; in a sweep repeated or with commas."""
    words = "Accelerator id or TOML file; 8xh100-sxm means eight."
    more = " Several: repeat, or put commas between." if several else ""
    return click.option(
        "--on", metavar="ACCELERATOR", multiple=several, shell_complete=complete.accelerators, help=words + more
    )


def field_options(*groups: Option, swept: bool) -> Callable[[Command], Command]:
    """The options of Workload and Deployment; with swept=True the axes take lists and ranges."""

    def decorate(command: Command) -> Command:
        for flag in (_ignore_capacity, _eager):
            command = flag(command)
        for option in reversed(groups):
            command = _click_option(option, swept)(command)
        return command

    return decorate


def _click_option(option: Option, swept: bool) -> Callable[[Command], Command]:
    kind = option.type
    if swept and option.axis:
        kind = Range() if option.type is _WHOLE else Names()
    metavar = "FORMAT" if kind is None else kind.name if isinstance(kind, Choice) else kind.name.upper()
    return click.option(
        *option.names, option.field, type=kind, metavar=metavar, help=option.words, shell_complete=option.complete
    )


_eager = click.option(
    "--eager", "--enforce-eager", "eager", is_flag=True, help="Kernels launched one by one, not from a graph."
)
_ignore_capacity = click.option("--ignore-capacity", is_flag=True, help="Compute times even if the model does not fit.")


def fields(given: Mapping[str, Any]) -> dict[str, Any]:
    """The Workload and Deployment fields among a command's arguments that were given; the rest keep their defaults."""
    known = {option.field for option in (*SHARED, *PHASES)}
    found = {name: value for name, value in given.items() if name in known and value is not None}
    if given.get("eager"):
        found["graphs"] = False
    if given.get("ignore_capacity"):
        found["ignore_capacity"] = True
    return found


def spelling(command: click.Command) -> Spelling:
    """How an error of a command names what was asked: by the option that sets it."""
    options = {one.name: one.opts[0] for one in command.params if isinstance(one, click.Option)}

    def spelled(name: str, value: object) -> str:
        option = options.get(name) or "--" + name.replace("_", "-")
        if isinstance(value, Mapping):
            return " ".join(f"{option} {key}={one}" for key, one in value.items())
        return option if value is None else f"{option} {value}"

    return spelled


def require_on(on: Any) -> Any:
    """The accelerator(s) named; raises BadInput where there is none."""
    if not on:
        raise BadInput(
            "no accelerator was named",
            where="--on",
            want="an accelerator's id, such as h100-sxm or 8xh100-sxm, or a TOML file",
            try_this="`rooflight accelerators` for the list",
        )
    return on
