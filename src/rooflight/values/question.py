"""The fields of a question: the table that options, schema, controls, keywords and pages are made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from rooflight.errors import BadInput, Named, UnknownName
from rooflight.numeric import Number, is_plain
from rooflight.values.deployment import DEPLOYMENT, Deployment
from rooflight.values.field import Axis, Field
from rooflight.values.workload import WORKLOAD, Workload

FIELDS: Mapping[str, Field] = {**WORKLOAD, **DEPLOYMENT}
# A claim has no phase `mixed`.
NOT_CLAIMED = ("chunk_tokens",)


def swept(*axes: Axis) -> tuple[str, ...]:
    """Names of the fields that take several values in one of these ways."""
    return tuple(name for name, field in FIELDS.items() if field.axis in axes)


def split(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Fields by name, into those of Workload and those of Deployment. Raises UnknownName."""
    for name in given:
        if name not in FIELDS:
            import difflib

            near = difflib.get_close_matches(name, FIELDS, n=2)
            raise UnknownName(
                f"there is no field {name!r}", got=name, want=f"one of {', '.join(FIELDS)}",
                try_this=" or ".join(near) or None,
            )  # fmt: skip
    load = {name: value for name, value in given.items() if name in WORKLOAD}
    return load, {name: value for name, value in given.items() if name in DEPLOYMENT}


def asked(
    workload: Workload | None, deployment: Deployment | None, given: Mapping[str, Any]
) -> tuple[Workload, Deployment]:
    """Fields given by name, on top of a Workload and a Deployment given whole. Raises BadInput, UnknownName.

    A rate of requests says how many are in flight, so another number beside it is refused.
    """
    load, layout = split(given)
    wholes: tuple[tuple[str, object, type], ...] = (
        ("workload", workload, Workload), ("deployment", deployment, Deployment),
    )  # fmt: skip
    for name, whole, kind in wholes:
        if whole is not None and not isinstance(whole, kind):
            raise BadInput(
                f"this is no {kind.__name__}", where=Named.of(name), got=whole, want=f"a rooflight.{kind.__name__}"
            )
    asks = Workload(**{**(_values(workload) if workload else {}), **load})
    if asks.request_rate is not None and (not is_plain(asks.batch) or asks.batch != WORKLOAD["batch"].default):
        raise two_loads()
    laid = Deployment(**{**(_values(deployment) if deployment else {}), **layout})
    _check_drafts(asks, laid)
    return asks, laid


def _check_drafts(load: Workload, layout: Deployment) -> None:
    """Refuse a draft model that drafts nothing, or whose time is stated beside it. Raises BadInput."""
    if layout.draft_model is None:
        return
    if is_plain(load.draft_tokens) and not load.draft_tokens:
        raise BadInput(
            "a draft model is named, and it drafts no tokens", where=Named.of("draft_model"),
            got=layout.draft_model[:60], want=Named("{draft_tokens} beside it", draft_tokens=4),
        )  # fmt: skip
    if load.draft_share != WORKLOAD["draft_share"].default:
        raise BadInput(
            "the time of drafting is stated, and a draft model that has a time of its own is named",
            where=Named.of("draft_share"), got=load.draft_share, want=Named("{draft_share} or {draft_model}"),
        )  # fmt: skip


def two_loads() -> BadInput:
    """The error for a rate of requests beside a number of them."""
    return BadInput(
        "a rate of requests says how many are in flight", where=Named.of("request_rate"),
        got=Named("{request_rate} and {batch}"), want="one or the other",
    )  # fmt: skip


def _values(whole: Workload | Deployment) -> dict[str, Any]:
    return {name: getattr(whole, name) for name in whole.__struct_fields__}


# Keywords as a type checker and an editor know them. They read what is written down and run nothing, so the names stand
# here once more; a test holds them against the table.


class _Anywhere(TypedDict, total=False):
    prefill_batch: Number
    isl: Number
    osl: Number
    context: Number | None
    cached_prefix: Number
    draft_tokens: Number
    acceptance: float
    draft_share: float
    request_rate: float | None
    images: str | None
    audio_seconds: float | None
    engine_version: str | None
    max_num_batched_tokens: int | None
    max_num_seqs: int | None
    schedule: str | None
    prefill_workers: int | None
    decode_workers: int | None
    prefill_on: str | None
    prefill_tp: int | None
    prefill_ep: int | None
    prefill_dp: int | None
    weight_bytes: float | str | None
    activations: str | None
    compute: str | None
    cache_type_k: str | None
    cache_type_v: str | None
    memory: float | str | None
    gpu_memory_utilization: float | None
    mem_fraction_static: float | None
    free_gpu_memory_fraction: float | None
    max_model_len: int | None
    sampler: str | None
    attention: str
    graphs: bool
    network: str | None
    parameters: str | None
    active_parameters: str | None
    layers: int | None
    hidden: int | None
    kv_heads: int | None
    head_dim: int | None
    vocab: int | None
    lora_rank: int | None
    max_loras: int | None
    lora_modules: str | None
    draft_model: str | None
    draft_weights: str | None
    n_gpu_layers: int | None
    n_cpu_moe: int | None
    cpu_moe: bool
    kv_offload: bool
    cpu_offload_gb: float | str | None
    host_cpu: str | None
    host_memory_bandwidth: str | None
    host_memory: float | str | None
    host_link: str | None
    ignore_capacity: bool


class ClaimFields(_Anywhere, total=False):
    """The keywords of claim: all fields but NOT_CLAIMED."""

    batch: Number
    tp: int | None
    pp: int
    ep: int
    dp: int
    weights: str | None
    kv_cache: str | None
    engine: str | None


class Fields(ClaimFields, total=False):
    """Any of the fields, by name: the keywords of analyze, sweep and moves."""

    chunk_tokens: Number


class SeveralFields(_Anywhere, total=False):
    """The keywords of compare: what makes a deployment may be a list of values. Its `batch` is an argument."""

    chunk_tokens: Number
    tp: int | Sequence[int | None] | None
    pp: int | Sequence[int]
    ep: int | Sequence[int]
    dp: int | Sequence[int]
    weights: str | Sequence[str | None] | None
    kv_cache: str | Sequence[str | None] | None
    engine: str | Sequence[str | None] | None
