"""The same question elsewhere: as a rooflight command, and as flags of `vllm serve`."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Mapping
from typing import Any

from rooflight.catalog import models
from rooflight.studio.own import own
from rooflight.studio.question import MACHINE, PASTED, Question, model_of
from rooflight.units import to_base
from rooflight.values.analysis import Analysis
from rooflight.values.deployment import DEPLOYMENT, OWN_LAYERS, SHARES
from rooflight.values.field import Field
from rooflight.values.question import FIELDS
from rooflight.values.workload import WORKLOAD

# Our format -> vLLM's --quantization where it quantises on the fly; others come with the checkpoint.
_VLLM_WEIGHTS = {"fp8": "fp8", "nf4": "bitsandbytes"}
_VLLM_CACHES = {"fp8": "fp8"}
# Fields that vLLM has as they are, under the last of their spellings.
_LAYOUT = ("tp", "pp", "dp", "ep")
_VLLM = ("tp", "pp", "dp", "gpu_memory_utilization", "graphs")


def of(question: Question, shown: Analysis, goals: Mapping[str, float | None] | None = None) -> dict[str, str]:
    """The commands by name, for the answer that is shown of the question; that of goals is "" where there are none.

    goals   of a page, in milliseconds: tpot_slo_ms, ttft_slo_ms
    """
    refused = _not_served(question, shown)
    needed = shown.memory.share_needed if shown.answered else None
    served = vllm(question, shown.model.id, laid=shown.deployment, share=needed) if refused is None else f"# {refused}"
    stated = {name: most for name, most in (goals or {}).items() if most is not None}
    reach = rooflight(question, shown.model.id, goals=stated) if stated and shown.answered else ""
    return {"rooflight": rooflight(question, shown.model.id), "goals": reach, "vllm": served}


def _not_served(question: Question, shown: Analysis) -> str | None:
    """Why there is nothing to serve; None where there is."""
    held, laid = shown.memory, question.asked()[1]
    if held.max_batch == 0 or not shown.answered:
        return "nothing to serve: it does not fit"
    if laid.on_host and (laid.cpu_offload_gb is None or laid.n_gpu_layers is not None or laid.cpu_moe):
        return "nothing to serve: vLLM leaves no layers, experts or cache to the host's processor"
    return None


def rooflight(question: Question, model: str, *, goals: Mapping[str, float] | None = None) -> str:
    """The command line that gives the same answer, at the rates that are tried; of goals, how far they reach."""
    said = asking(
        _model_file(question) or model, question.on.replace(MACHINE, "this.toml"),
        question.given(), bandwidth_times=question.bandwidth_times, peak_times=question.peak_times,
    )  # fmt: skip
    if goals:  # of which the most requests in flight that keep them are sought
        wanted = (word for name, most in goals.items() for word in (f"--{name.replace('_', '-')}", f"{most:.12g}"))
        said = shlex.join(["rooflight", "sweep", *shlex.split(said)[2:], *wanted])
    held = own()
    return said if held is None else f"{said} --calibration {shlex.quote(held.file)}"


def _model_file(question: Question) -> str | None:
    """The file that the question's model is of, as it lies beside whoever runs the command."""
    if question.gguf is not None:
        return question.model_name
    return None if question.config is None else "config.json"


def asking(
    model: str, on: str, given: Mapping[str, Any], *, bandwidth_times: float = 1.0, peak_times: float = 1.0
) -> str:
    """`rooflight analyze` of a model on accelerators with these fields; those at their defaults are left out.

    Numbers are written with every digit, so that the command gives the very same answer.
    """
    words = ["rooflight", "analyze", model, "--on", on]
    for option, times in (("--bandwidth-times", bandwidth_times), ("--peak-times", peak_times)):
        words += [] if times == 1 else [option, str(times)]
    for field in sorted((*DEPLOYMENT.values(), *WORKLOAD.values()), key=lambda one: one.kind == "flag"):
        words += _flag(field, field.option, given)
    return shlex.join(words)


def _flag(field: Field, option: str, given: Mapping[str, Any]) -> list[str]:
    """The option and its value, where that is not the default."""
    value = given.get(field.name, field.default)  # of a rate of requests there is no number
    if value == field.default:
        return []
    return [option] if field.kind == "flag" else [option, str(value)]


def vllm(question: Question, model: str, *, laid: Mapping[str, Any] | None = None, share: float | None = None) -> str:
    """Flags of `vllm serve` for this deployment; formats that come with a checkpoint need that checkpoint.

    laid    the layout as it was answered, where the question leaves it to the number of cards
    share   of memory without which not one sequence fits, where nobody states one
    """
    unnamed = _model_file(question) is not None or model == PASTED or model_of(question).sized is not None
    name = "/path/to/model" if unnamed else model
    given = question.given()
    # tokens of images and sound are the model's to say, so what holds them is left to the engine's default
    media = given["images"] is not None or given["audio_seconds"] is not None
    longest = given["isl"] + given["osl"] if given["context"] is None else given["context"] + 1
    words = ["vllm", "serve", name]
    given |= {part: laid[part] for part in _LAYOUT if laid is not None and given[part] is None}
    given["tp"] = None if given["tp"] == 1 else given["tp"]
    if share is not None and not any(given[name] is not None for name in SHARES):
        given["gpu_memory_utilization"] = min(math.ceil(share * 100) / 100, 1.0)
    for field in (FIELDS[name] for name in _VLLM):
        words += _flag(field, (field.option, *field.aliases)[-1], given)
    if (given["ep"] or 1) > 1:
        words.append("--enable-expert-parallel")
    if given["weights"] in _VLLM_WEIGHTS:
        words += ["--quantization", _VLLM_WEIGHTS[given["weights"]]]
    if given["kv_cache"] in _VLLM_CACHES:
        words += ["--kv-cache-dtype", _VLLM_CACHES[given["kv_cache"]]]
    longest = given["max_model_len"] or longest
    unsaid = media and given["context"] is None and given["max_model_len"] is None
    words += [] if unsaid else ["--max-model-len", str(longest)]
    for name in ("max_num_batched_tokens", "max_num_seqs"):
        words += _flag(FIELDS[name], FIELDS[name].option, given)
    if given["max_num_seqs"] is None and "batch" in given:
        words += ["--max-num-seqs", str(given["batch"])]
    words += _adapters(given)
    streamed = question.asked()[1].cpu_offload_gb
    if streamed is not None:
        words += ["--cpu-offload-gb", f"{float(streamed) / to_base(1, 'GiB'):.4g}"]
    if given["draft_model"] is not None:
        words += ["--speculative-config", _speculation(given)]
    return shlex.join(words)


def _speculation(given: dict[str, Any]) -> str:
    """What drafts, as vLLM has it since 0.8."""
    own = given["draft_model"] == OWN_LAYERS
    named = {"method": OWN_LAYERS} if own else {"model": models.catalogued(given["draft_model"]).id}
    return json.dumps({**named, "num_speculative_tokens": given["draft_tokens"]})


def _adapters(given: dict[str, Any]) -> list[str]:
    """LoRA adapters, which vLLM has switched off until it is asked for them."""
    if given["lora_rank"] is None:
        return []
    count = [] if given["max_loras"] is None else ["--max-loras", str(given["max_loras"])]
    return ["--enable-lora", "--max-lora-rank", str(given["lora_rank"]), *count]
