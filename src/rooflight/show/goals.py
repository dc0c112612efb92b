"""The goals of a sweep as text: how many requests in flight keep them."""

from __future__ import annotations

from collections.abc import Sequence

from rooflight.show import numbers
from rooflight.show.blocks import Block, Bullets, Table
from rooflight.values.accelerator import devices_named
from rooflight.values.sweep import Goal

# Lines of the text form; JSON has all.
MOST_LINES = 40
# What tells deployments apart beside their devices, where it differs.
_TELLING = ("tp", "pp", "ep", "dp", "weights", "kv_cache")
# Of every deployment; the share that must be cached only where there is a goal for TTFT.
_HEADS = ("isl", "osl", "in flight", "requests\n/s", "output\ntok/s", "slow end,\nin flight", "requests\n/s")


def goal_blocks(goals: Sequence[Goal]) -> list[Block]:
    """A table of the goals, and why some have no answer."""
    if not goals:
        return []
    first = goals[0]
    slo = " and ".join(
        f"{name} within {numbers.seconds(most)}"
        for name, most in (("TTFT", first.ttft_slo_s), ("TPOT", first.tpot_slo_s))
        if most is not None
    )
    telling = [name for name in _TELLING if len({getattr(one, name) for one in goals}) > 1]
    cached = first.ttft_slo_s is not None
    share = f"; what of a prompt must be cached for it with {first.hit_batch:,}" if cached else ""
    heads = ("on", *telling, *_HEADS, *(["must be\ncached"] if cached else []))
    lines = [(_where(one), *(str(getattr(one, name)) for name in telling), *_cells(one, cached)) for one in goals]
    shown: list[Block] = [
        Table(
            title=f"Goals: the most requests in flight ({first.schedule}) with {slo}{share}:",
            heads=heads,
            left=("on", "weights", "kv_cache"),
            rows=tuple(lines[:MOST_LINES]),
        )
    ]
    reasons = dict.fromkeys(
        f"{_where(one)}, {one.isl:,} in, {one.osl:,} out: {one.reason}" for one in goals if one.reason
    )
    if reasons:
        shown.append(Bullets("Of the goals:", tuple(reasons)[:MOST_LINES]))
    return shown


def _where(goal: Goal) -> str:
    return devices_named(goal.accelerator, goal.devices)


def _cells(goal: Goal, cached: bool) -> tuple[str, ...]:
    kept, slow = goal.expected, goal.slow
    numbered = (
        f"{goal.isl:,}",
        f"{goal.osl:,}",
        _count(kept.batch),
        numbers.plain(kept.requests_per_s),
        numbers.plain(kept.output_tokens_per_s),
        _count(slow.batch),
        numbers.plain(slow.requests_per_s),
    )
    share = "-" if goal.hit_rate is None else numbers.percent(goal.hit_rate)
    return (*numbered, share) if cached else numbered


def _count(batch: int | None) -> str:
    return "none" if batch is None else f"{batch:,}"
