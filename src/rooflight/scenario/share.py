"""Which share of memory an engine takes, and whose habits count: as the question says, else the version's own."""

from __future__ import annotations

import math

import msgspec

from rooflight.catalog.calibration import engine_id
from rooflight.catalog.engine_memory import EngineMemory, MemoryRule, Reserve, ShareOf, engine_memory
from rooflight.units import to_base
from rooflight.values.accelerator import Accelerator
from rooflight.values.deployment import Deployment
from rooflight.values.model import Model
from rooflight.work.layout import Layout

# Share of what a program is given where no engine is named.
DEFAULT_SHARE = 0.9
# Names of shares: what each is of, and the engine it is of, where none is named.
SHARES: dict[str, tuple[ShareOf, str | None]] = {
    "gpu_memory_utilization": ("total", None), "mem_fraction_static": ("before", "sglang"),
    "free_gpu_memory_fraction": ("after", "tensorrt-llm"),
}  # fmt: skip


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """The share of memory that an engine takes: of what, how much, and the field that states it ("": its default)."""

    of: ShareOf
    value: float
    stated: str = ""


def habits_of(deployment: Deployment) -> EngineMemory | None:
    """What the engine of a deployment keeps; None where none is named or its habits are not known."""
    name = deployment.engine
    if name is None:
        name = next((engine for field, (_, engine) in SHARES.items() if getattr(deployment, field) is not None), None)
    return None if name is None else engine_memory(engine_id(name), deployment.engine_version)


def share_of(
    deployment: Deployment, rule: MemoryRule | None, card: Accelerator, model: Model, layout: Layout, chunk_tokens: int
) -> Share:
    """The share as the question states it, else as the engine takes it by itself, else 0.9 of all."""
    for field, (of, _) in SHARES.items():
        stated = getattr(deployment, field)
        if stated is not None:
            return Share(of=of, value=stated, stated=field)
    if rule is None:
        return Share(of="total", value=DEFAULT_SHARE)
    if rule.reserve is not None:
        return Share(of=rule.of, value=static_fraction(rule.reserve, card.memory_bytes, layout, chunk_tokens))
    if rule.shares_by_tp:
        share = next(value for tp, value in reversed(rule.shares_by_tp.items()) if layout.tp >= int(tp))
        return Share(of=rule.of, value=share * (rule.tower_share if model.towers else 1.0))
    return Share(of=rule.of, value=rule.share)


def static_fraction(reserve: Reserve, memory_bytes: float | None, layout: Layout, chunk_tokens: int) -> float:
    """SGLang's mem-fraction-static by default: (total - reserved) / total, in thousandths.

    reserved MiB = 512 + 1.5 x max(chunk, 2048) + 2 x graphs' batch + 128 x tp x pp, at least 10 GiB above 60 GiB.
    Check by hand: RTX 4090, chunk 2048, graphs up to 24 -> 3,760 MiB of 24,564 -> 0.847.
    """
    if memory_bytes is None:
        return 0.88
    total = memory_bytes / to_base(1, "MiB")
    reserved = reserve.fixed_MiB + reserve.per_token_MiB * max(chunk_tokens, 2048)
    reserved += reserve.per_graph_MiB * _graph_batch(memory_bytes, layout.tp)
    reserved += reserve.per_rank_MiB * layout.tp * layout.pp
    if memory_bytes > to_base(reserve.least_above_GiB, "GiB"):
        reserved = max(reserved, reserve.least_MiB)
    return max(math.floor(1000 * (total - reserved) / total + 0.5) / 1000, 0.01)


def _graph_batch(memory_bytes: float, tp: int) -> int:
    """Sequences that SGLang captures graphs for at most, by the device's GiB (server_args.py of 2026)."""
    for least_gib, alone, linked in ((160, 512, 512), (60, 256, 512), (35, 32, 160), (20, 24, 80)):
        if memory_bytes >= to_base(least_gib, "GiB"):
            return alone if tp < 4 else linked
    return 8
