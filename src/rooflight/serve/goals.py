"""Goals for users' times: the most requests in flight that keep them, and the share of prompts that must be cached."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from rooflight.errors import BadInput, Named
from rooflight.scenario.definite import Scenario
from rooflight.serve.landmarks import LARGEST_BATCH
from rooflight.serve.memory import max_batch
from rooflight.serve.room import room
from rooflight.serve.runs import placed
from rooflight.serve.schedule import whole
from rooflight.span import Span
from rooflight.units import to_base
from rooflight.values.run import Run
from rooflight.values.sweep import Goal, Kept

# Pairs of lengths of which goals are sought at most: each takes a few dozen runs.
MOST_PAIRS = 10_000

# What anybody waits for: a microsecond, below what a kernel takes, to a day.
LEAST_GOAL_MS, MOST_GOAL_MS = 0.001, 86_400_000

Array = np.ndarray[Any, Any]
# By which of a time's values a goal is judged, and the value of a rate that stands with it: expected, slow.
_RATES = {"expected": "expected", "high": "low"}


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """The most seconds to a first token and between tokens; None: any."""

    ttft_s: float | None = None
    tpot_s: float | None = None

    def misses(self, ttft_s: Any, tpot_s: Any) -> tuple[Any, Any]:
        """Where a TTFT, and where a TPOT, is above its goal; there is no TPOT of one token to be too long."""
        first = False if self.ttft_s is None else ttft_s > self.ttft_s
        return first, False if self.tpot_s is None or tpot_s is None else tpot_s > self.tpot_s

    def kept(self, ttft_s: Span | None, tpot_s: Span | None) -> bool:
        """Whether expected times keep them; a first token of whose time nothing is known keeps no goal for it."""
        first, token = (None if span is None else span.expected for span in (ttft_s, tpot_s))
        if first is None and self.ttft_s is not None:
            return False
        return not any(self.misses(first, token))


def wanted_ms(ttft_slo_ms: float | None, tpot_slo_ms: float | None) -> Wanted | None:
    """Goals in milliseconds; None where there is none. Raises BadInput for what is no time."""
    for name, most in (("ttft_slo_ms", ttft_slo_ms), ("tpot_slo_ms", tpot_slo_ms)):
        real = isinstance(most, int | float) and not isinstance(most, bool) and LEAST_GOAL_MS <= most <= MOST_GOAL_MS
        if most is not None and not real:
            raise BadInput(
                f"{name} is no time that a user waits", where=Named.of(name), got=most,
                want=f"milliseconds, from {LEAST_GOAL_MS} to {MOST_GOAL_MS:,} (a day)",
            )  # fmt: skip
    if ttft_slo_ms is None and tpot_slo_ms is None:
        return None
    first, token = (None if most is None else to_base(most, "ms") for most in (ttft_slo_ms, tpot_slo_ms))
    return Wanted(ttft_s=first, tpot_s=token)


def goals(sc: Scenario, wanted: Wanted, schedule: str, lengths: Mapping[str, Array]) -> list[Goal]:
    """The goals on one deployment, at each pair of the lengths, isl outside. Raises BadInput for too many pairs.

    The hit rate is of the scenario's batch.
    """
    load, media = sc.workload, sc.workload.media_tokens or 0
    own = {"isl": load.text_tokens, "osl": load.osl}
    isl, osl = (np.asarray(lengths.get(name, [own[name]]), dtype=float) for name in ("isl", "osl"))
    if isl.size * osl.size > MOST_PAIRS:
        raise BadInput(
            f"goals are sought at {isl.size * osl.size:,} pairs of lengths", where=Named.of("isl", "osl"),
            got=f"{isl.size:,} x {osl.size:,}", want=f"at most {MOST_PAIRS:,}",
        )  # fmt: skip
    isl, osl = (each.ravel() for each in np.meshgrid(isl, osl, indexing="ij"))
    batch = int(load.batch)
    fields: dict[str, Any] = {"isl": isl + media, "osl": osl, "batch": np.ones(isl.size)}
    sc = msgspec.structs.replace(sc, workload=msgspec.structs.replace(load, **fields))
    holds = np.broadcast_to(max_batch(room(sc)) > 0, isl.shape) | sc.deployment.ignore_capacity
    run = whole(sc, schedule)
    first, token = wanted.misses(run.ttft_s.expected, None if run.tpot_s is None else run.tpot_s.expected)
    missed = {"capacity": ~holds, "ttft": holds & first, "tpot": holds & token}
    expected, slow = _kept(sc, wanted, schedule, holds)
    hit = _hit_rates(sc, wanted, schedule, holds, batch)
    return [
        Goal(
            **placed(sc, schedule), schedule=schedule, isl=int(isl[place]), osl=int(osl[place]),
            ttft_slo_s=wanted.ttft_s, tpot_slo_s=wanted.tpot_s, expected=expected[place],
            slow=slow[place], missed=tuple(name for name, where in missed.items() if where[place]),
            hit_batch=batch, hit_rate=None if np.isnan(hit[place]) else float(hit[place]),
        )
        for place in range(isl.size)
    ]  # fmt: skip


def _kept(sc: Scenario, wanted: Wanted, schedule: str, holds: Array) -> tuple[list[Kept], list[Kept]]:
    """At each pair of lengths the largest batch that keeps the goals, and the run there: as expected, and by slow ends.

    Both are sought at once, as two rows of the same arrays.
    """
    both = (len(_RATES), *holds.shape)

    def at(batch: Array) -> Run:
        load: dict[str, Any] = {"batch": np.maximum(batch, 1)}
        return whole(msgspec.structs.replace(sc, workload=msgspec.structs.replace(sc.workload, **load)), schedule)

    def rows(span: Span | None, names: Iterable[str]) -> Array | None:
        return None if span is None else np.stack(
            [np.broadcast_to(getattr(span, name), both)[row] for row, name in enumerate(names)]
        )  # fmt: skip

    def keeps(batch: Array) -> Array:
        run = at(batch)
        first, token = wanted.misses(rows(run.ttft_s, _RATES), rows(run.tpot_s, _RATES))
        kept: Array = holds & ~(np.zeros(both, dtype=bool) | first | token)
        return kept

    batch = largest(keeps, both, 1 if schedule == "alone" else LARGEST_BATCH)
    run = at(batch)
    columns = [rows(span, _RATES.values()) for span in (run.requests_per_s, run.output_tokens_per_s)]
    columns += [rows(span, _RATES) for span in (run.ttft_s, run.tpot_s)]
    filled = [np.full(both, np.nan) if column is None else column for column in columns]
    expected, slow = (_rows_kept(batch[row], holds, [column[row] for column in filled]) for row in range(2))
    return expected, slow


def _rows_kept(batch: Array, holds: Array, columns: Sequence[Array]) -> list[Kept]:
    rows = zip(batch.tolist(), holds.tolist(), *(column.tolist() for column in columns), strict=True)
    return [
        Kept(
            batch=int(most) or None, requests_per_s=per_s if most else None,
            output_tokens_per_s=output if most else None, ttft_s=first if there else None,
            tpot_s=token if there and token == token else None,
        )
        for most, there, per_s, output, first, token in rows
    ]  # fmt: skip


def largest(holds: Callable[[Array], Array], shape: tuple[int, ...], most: int) -> Array:
    """The largest whole numbers up to `most` at which a condition that ends for good holds, 0 where not even at 1.

    Each is doubled until the condition ends, then the gap is halved; all places at once.
    """
    low, going = np.zeros(shape), np.ones(shape, dtype=bool)
    tried = 1
    while tried <= most and going.any():
        going = going & holds(np.full(shape, float(tried)))
        low = np.where(going, tried, low)
        tried *= 2
    return halved(holds, low, np.where(low == 0, 1, np.minimum(2 * low, most + 1)))


def halved(holds: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """The largest whole numbers from `low` on at which a condition holds that holds at low and not at high."""
    while (high - low > 1).any():
        middle = np.floor((low + high) / 2)
        there, wide = holds(middle), high - low > 1
        low, high = np.where(wide & there, middle, low), np.where(wide & ~there, middle, high)
    return low


def _hit_rates(sc: Scenario, wanted: Wanted, schedule: str, holds: Array, batch: int) -> Array:
    """The least share of each prompt, in whole tokens, with which TTFT is within its goal as expected.

    Not a number where no share is enough: one token at least is computed.
    """
    isl, most_s = sc.workload.isl, wanted.ttft_s
    if most_s is None:
        return np.full(holds.shape, np.nan)

    def misses(cached: Array) -> Array:
        load: dict[str, Any] = {"cached_prefix": cached, "batch": batch}
        run = whole(msgspec.structs.replace(sc, workload=msgspec.structs.replace(sc.workload, **load)), schedule)
        above: Array = np.broadcast_to(run.ttft_s.expected > most_s, holds.shape)
        return above

    cold, warm = misses(np.zeros(holds.shape)), misses(isl - 1)
    needed = np.where(cold, halved(misses, np.zeros(holds.shape), isl - 1) + 1, 0)
    return np.where(holds & ~warm, needed / isl, np.nan)
