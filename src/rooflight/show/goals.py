"""The goals of a sweep as text: how many requests in flight keep them."""

from __future__ import annotations

from collections.abc import Sequence

from rooflight.show import numbers
from rooflight.show.blocks import Block, Bullets, Table
from rooflight.values.accelerator import devices_named
from rooflight.values.sweep import Goal
from rooflight.words.sweep import within

# Lines of the text form; JSON has all.
MOST_LINES = 40
# What tells deployments apart beside their devices, where it differs.
_TELLING = ("tp", "pp", "ep", "dp", "weights", "kv_cache")
# Of every deployment; the share that must be cached only where there is a goal for TTFT.
_HEADS = ("isl", "osl", "in flight", "requests\n/s", "output\ntok/s", "slow end,\nin flight", "requests\n/s")


def goal_blocks(goals: Sequence[Goal], names: Sequence[str] = ()) -> list[Block]:
    """A table of the goals, and why some have no answer. names: what deployments are called, if not by devices."""
    if not goals:
        return []
    first = goals[0]
    slo = within(first)
    named = list(names) or [_where(one) for one in goals]
    telling = [] if names else [name for name in _TELLING if len({getattr(one, name) for one in goals}) > 1]
    cached = first.ttft_slo_s is not None
    counts = " or ".join(f"{count:,}" for count in dict.fromkeys(one.hit_batch for one in goals))
    share = f"; what of a prompt must be cached for it with {counts}" if cached else ""
    schedules = ", ".join(dict.fromkeys(one.schedule for one in goals))
    heads = ("scenario" if names else "on", *telling, *_HEADS, *(["must be\ncached"] if cached else []))
    lines = [
        (name, *(str(getattr(one, field)) for field in telling), *_cells(one, cached))
        for name, one in zip(named, goals, strict=True)
    ]
    shown: list[Block] = [
        Table(
            title=f"Goals: the most requests in flight ({schedules}) with {slo}{share}:",
            heads=heads,
            left=(heads[0], "weights", "kv_cache"),
            rows=tuple(lines[:MOST_LINES]),
        )
    ]
    reasons = dict.fromkeys(
        f"{name}, {one.isl:,} in, {one.osl:,} out: {one.reason}"
        for name, one in zip(named, goals, strict=True)
        if one.reason
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
