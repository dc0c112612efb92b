"""The fields of a question that are folded on the page, in groups, each with a label; others stand in sight.

What a field is, its default and its bounds come from the table (values.question); here is where it stands.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from rooflight.studio.question import bounds
from rooflight.values.field import Field
from rooflight.values.question import FIELDS


class Control(msgspec.Struct, frozen=True, kw_only=True):
    """A field as the page shows it.

    kind        select, check, number (whole), real (any number) or text
    names       what a text may name: models, accelerators, formats; "": anything
    hint        what the field is, in a sentence
    blank       what holds where it is left empty
    """

    field: str
    label: str
    kind: str
    hint: str
    blank: str = ""
    names: str = ""
    default: Any = None
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """Fields that are folded together."""

    id: str
    title: str
    controls: tuple[Control, ...]


# Group: (id, title): field -> label.
_GROUPS: dict[tuple[str, str], dict[str, str]] = {
    ("media", "Images and sound"): {"images": "Images of a prompt", "audio_seconds": "Seconds of sound"},
    ("offload", "Weights or cache on the host"): {
        "n_gpu_layers": "Layers on the cards", "n_cpu_moe": "Layers with experts on the host",
        "cpu_moe": "all experts on the host", "kv_offload": "KV cache on the cards",
        "cpu_offload_gb": "Weights read over the link", "host_cpu": "CPU of the host",
        "host_memory_bandwidth": "Bandwidth of its memory", "host_memory": "Size of its memory",
        "host_link": "Link to the host",
    },
    ("drafts", "Speculative decoding"): {
        "draft_tokens": "Drafted tokens", "draft_model": "Draft model", "draft_weights": "Its weights",
        "acceptance": "Chance of acceptance", "draft_share": "Time of drafting a token",
    },
    ("adapters", "LoRA adapters"): {
        "lora_rank": "Rank", "max_loras": "Adapters in memory", "lora_modules": "Matrices",
    },
    ("size", "Shape of a model by its size"): {
        "parameters": "Parameters", "active_parameters": "Parameters a token runs", "layers": "Layers",
        "hidden": "Hidden size", "kv_heads": "KV heads", "head_dim": "Elements of a head", "vocab": "Vocabulary",
    },
    ("requests", "Requests and their schedule"): {
        "request_rate": "Requests a second", "prefill_batch": "Prompts together", "cached_prefix": "Cached prefix",
        "chunk_tokens": "Chunk of a prompt", "schedule": "Schedule", "max_num_seqs": "Sequences at most",
        "max_num_batched_tokens": "Tokens of a step at most", "max_model_len": "Longest sequence",
    },
    ("layout", "More cards and their network"): {
        "pp": "Pipeline stages (PP)", "ep": "Expert parallel (EP)", "dp": "Replicas (DP)", "network": "Network",
    },
    ("apart", "Prefill on workers of its own"): {
        "prefill_workers": "Prefill workers", "decode_workers": "Decode workers",
        "prefill_on": "Cards of a prefill worker",
        "prefill_tp": "Their TP", "prefill_ep": "Their EP", "prefill_dp": "Their DP",
    },
    ("formats", "Formats of parts"): {
        "activations": "Activations", "compute": "Products", "cache_type_k": "Cached keys",
        "cache_type_v": "Cached values", "weight_bytes": "Bytes of all weights",
    },
    ("engine", "Engine and memory"): {
        "engine": "Engine", "engine_version": "Its version", "graphs": "kernels from a captured graph",
        "memory": "Memory of a card", "gpu_memory_utilization": "Share for the engine",
        "mem_fraction_static": "Share, as SGLang has it", "free_gpu_memory_fraction": "Share, as TensorRT-LLM has it",
        "sampler": "Sampler",
    },
}  # fmt: skip
# A request's names are looked up in the catalog alone, so no field of the page takes a file.
_HINTS = {
    "draft_model": "A model of the catalog, or mtp: its own layers for multi-token prediction; needs drafted tokens.",
    "host_cpu": "The CPU beside the cards, of the catalog.",
    "parameters": "In place of those that the model’s name says: 70b, 0.6b.",
}
_BLANKS = {
    "parameters": "as the name says", "active_parameters": "as the name says", "cache_type_k": "as the KV cache",
    "cache_type_v": "as the KV cache", "prefill_tp": "TP of decode", "prefill_ep": "EP of decode",
    "prefill_dp": "DP of decode", "draft_tokens": "none", "chunk_tokens": "none", "images": "none",
    "audio_seconds": "none", "n_cpu_moe": "none", "cpu_offload_gb": "none", "request_rate": "as many as fill the batch",
    "prefill_workers": "none", "decode_workers": "none", "activations": "by the weights", "compute": "by the weights",
}  # fmt: skip
_NAMES = {"draft_model": "models", "host_cpu": "accelerators", "prefill_on": "accelerators"}
_KINDS = {"choice": "select", "flag": "check", "count": "number", "degree": "number", "share": "real", "chance": "real",
          "rate": "real", "amount": "real"}  # fmt: skip


def _control(field: Field, label: str) -> Control:
    kind = _KINDS.get(field.kind, "text")
    least, most = bounds(field) if kind == "number" else (None, None)
    return Control(
        field=field.name, label=label, kind=kind, hint=_HINTS.get(field.name, field.words),
        blank=_BLANKS.get(field.name, field.shown_default), names=_NAMES.get(field.name, _listed(field)),
        default=field.default, choices=field.choices, least=least, most=most,
    )  # fmt: skip


def _listed(field: Field) -> str:
    return "formats" if field.kind == "format" else ""


GROUPS = tuple(
    Group(id=id, title=title, controls=tuple(_control(FIELDS[name], label) for name, label in fields.items()))
    for (id, title), fields in _GROUPS.items()
)

_FLAG = re.compile(r"--([a-z][a-z0-9-]*)")


def places(text: str) -> str:
    """Where on the page the flags of a text stand, as a sentence; "" where none does."""
    names = dict.fromkeys(flag.replace("-", "_") for flag in _FLAG.findall(text))
    found = [place for name in names if (place := _place(name))]
    return f"On this page: {'; '.join(found)}." if found else ""


def _place(name: str) -> str:
    flag = f"--{name.replace('_', '-')}"
    if name == "tp":
        return f"{flag} is Tensor parallel (TP), beside Cards"
    for group in GROUPS:
        for one in group.controls:
            if one.field == name:
                return f"{flag} is {one.label}, in {group.title}"
    return ""
