"""The same question elsewhere: as a rooflight command, and as flags of `vllm serve`."""

from __future__ import annotations

import json
import shlex
from typing import Any

from rooflight.catalog import models
from rooflight.studio.question import PASTED, Question, is_own, model_of
from rooflight.units import to_base
from rooflight.values.deployment import DEPLOYMENT, OWN_LAYERS
from rooflight.values.field import Field
from rooflight.values.question import FIELDS
from rooflight.values.workload import WORKLOAD

# Our format -> vLLM's --quantization where it quantises on the fly; others come with the checkpoint.
_VLLM_WEIGHTS = {"fp8": "fp8", "nf4": "bitsandbytes"}
_VLLM_CACHES = {"fp8": "fp8"}
# Fields that vLLM has as they are, under the last of their spellings.
_VLLM = ("tp", "pp", "dp", "gpu_memory_utilization", "graphs")


def rooflight(question: Question, model: str) -> str:
    """The command line that gives the same answer for the card in focus, or compares them over the batch."""
    pasted = question.config is not None
    on = question.on
    words = ["rooflight", "analyze", "config.json" if pasted else model, "--on", "this.toml" if is_own(on) else on]
    given = question.given()
    for field in sorted((*DEPLOYMENT.values(), *WORKLOAD.values()), key=lambda one: one.kind == "flag"):
        words += _flag(field, field.option, given)
    return shlex.join(words)


def _flag(field: Field, option: str, given: dict[str, Any]) -> list[str]:
    """The option and its value, where that is not the default."""
    default = Question.model_fields[field.name].default
    value = given.get(field.name, default)  # of a rate of requests there is no number
    if value == default:
        return []
    return [option] if field.kind == "flag" else [option, str(value)]


def vllm(question: Question, model: str) -> str:
    """Flags of `vllm serve` for this deployment; formats that come with a checkpoint need that checkpoint."""
    unnamed = question.config is not None or model == PASTED or model_of(question).sized is not None
    name = "/path/to/model" if unnamed else model
    given = question.given()
    # tokens of images and sound are the model's to say, so what holds them is left to the engine's default
    media = given["images"] is not None or given["audio_seconds"] is not None
    longest = given["isl"] + given["osl"] if given["context"] is None else given["context"] + 1
    words = ["vllm", "serve", name]
    for field in (FIELDS[name] for name in _VLLM):
        words += _flag(field, (field.option, *field.aliases)[-1], given)
    if given["ep"] > 1:
        words.append("--enable-expert-parallel")
    if given["weights"] in _VLLM_WEIGHTS:
        words += ["--quantization", _VLLM_WEIGHTS[given["weights"]]]
    if given["kv_cache"] in _VLLM_CACHES:
        words += ["--kv-cache-dtype", _VLLM_CACHES[given["kv_cache"]]]
    words += [] if media and given["context"] is None else ["--max-model-len", str(longest)]
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
