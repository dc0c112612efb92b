"""What a row of monitoring comes to before it is judged: shares of time, who waits, how much clock is lost."""

from __future__ import annotations

import functools

from rooflight.answers.diagnose.setting import Setting
from rooflight.answers.diagnose.watched.stepped import Stepped
from rooflight.answers.diagnose.watched.thresholds import limit
from rooflight.answers.diagnose.watched.together import Seen, busy
from rooflight.units import to_base
from rooflight.values.accelerator import Accelerator

# Shares are compared with thresholds as they are printed: 0.6 of 0.8 is 0.75.
_DIGITS = 9
# Facts of a card that say its highest clock, the best first.
_CLOCKS = ("max-clock", "boost-clock")


class Facts:
    """A row, and what follows from it. Every share is None where nobody recorded what it needs.

    step    what arithmetic says of the engine's step, None: no model and card, or no time per token
    holds   requests that the deployment takes at once by arithmetic
    """

    def __init__(self, seen: Seen, at: Setting, step: Stepped | None, holds: float | None) -> None:
        self.seen, self.row, self.step, self._holds = seen, seen.row, step, holds
        card = at.card
        self._named = at.scenario is not None
        self._clock_hz = None if card is None else _highest_hz(card)
        self._link = None if card is None or card.link is None else card.link.bytes_per_s
        self._pcie = None if card is None else card.pcie_bytes_per_s

    @functools.cached_property
    def active(self) -> float | None:
        """The share of time with a kernel."""
        return busy(self.row)

    @property
    def untold(self) -> tuple[str, ...]:
        """What arithmetic of the step lacks, by the names of a verdict's `missing`; () where it is there.

        What was named is not asked for: a scrape alone has no time per token, which a second one gives.
        """
        if self.by_step:
            return ()
        if not self._named:
            return ("model",)
        return (
            ("engine",) if self.step is not None and not self.step.tpot_s and self.seen.queue_span == "moment" else ()
        )

    @property
    def gap(self) -> float | None:
        """The share of time without one."""
        return None if self.active is None else 1 - self.active

    @property
    def memory(self) -> float | None:
        """Of what DRAM can do in practice."""
        return _share(self.row.dram_active, limit("dram_most"))

    @property
    def compute(self) -> float | None:
        """Of what tensor cores can do in practice."""
        return _share(self.row.tensor_active, limit("tensor_most"))

    @property
    def link(self) -> float | None:
        """Of what a link can do in practice: NVLink both ways, as collectives send; PCIe one way, as weights come."""
        row, found = self.row, []
        if row.nvlink_bytes_per_s is not None and self._link:
            found.append(row.nvlink_bytes_per_s / (2 * self._link))
        if row.pcie_bytes_per_s is not None and self._pcie:
            found.append(row.pcie_bytes_per_s / self._pcie)
        return _share(max(found), limit("link_most")) if found else None

    @property
    def by_step(self) -> dict[str, float]:
        """Shares of the measured time per token by arithmetic; {} where it cannot be the named deployment's."""
        step = self.step
        return step.shares if step is not None and step.possible else {}

    @functools.cached_property
    def shares(self) -> dict[str, float]:
        """Of the time, what each resource takes: by counters where they were recorded."""
        counted = {"memory": self.memory, "compute": self.compute, "link": self.link}
        return {name: value for name, value in counted.items() if value is not None}

    @property
    def top(self) -> tuple[str, float] | None:
        """The resource that takes most of the time, by counters."""
        return max(self.shares.items(), key=lambda one: one[1]) if self.shares else None

    @property
    def counted(self) -> bool:
        """Whether both counters that tell memory from arithmetic were recorded."""
        return self.memory is not None and self.compute is not None

    @functools.cached_property
    def waits(self) -> bool | None:
        """Whether more requests wait than those of the next step; None: not known, as without those that run."""
        waiting, running = self.row.waiting, self.row.running
        if waiting is None and self.queued is not None and "queue_s" not in self.seen.ever:
            return self.queued >= limit("binds")
        if waiting is None or (running is None and waiting >= 1):
            return None
        return waiting >= 1 and waiting >= limit("waiting") * (running or 0.0)

    @property
    def queued(self) -> float | None:
        """Of the time to first token, what passes before the engine takes a request."""
        row = self.row
        waited = None if row.queue_s is None else row.queue_s.middle
        first = None if row.ttft_s is None else row.ttft_s.middle
        return None if waited is None or not first else min(waited / first, 1.0)

    @property
    def long_queue(self) -> bool:
        """Whether at least half as many wait as run."""
        waiting, running = self.row.waiting, self.row.running
        return waiting is not None and running is not None and waiting >= limit("long_waiting") * max(running, 1.0)

    @functools.cached_property
    def takes(self) -> float | None:
        """Requests that could run: what the pool holds of their length, at most the engine's cap; None: not known."""
        row = self.row
        pool = row.running / row.kv_usage if row.running and row.kv_usage else None
        return min((most for most in (pool, row.max_num_seqs, self._holds) if most), default=None)

    @property
    def at_cap(self) -> bool | None:
        """Whether as many run as the engine's own limit allows; None: it is not known."""
        most = self.row.max_num_seqs
        return None if most is None or self.row.running is None else self.row.running >= limit("at_cap") * most

    @property
    def few(self) -> bool | None:
        """Whether far fewer run than could; None: not known. So many as fill a step are few only of a known cap."""
        running, most = self.row.running, limit("few_most")
        if running is None:
            return None
        known = self.row.max_num_seqs is not None and self.active is None
        return (known or running < most) and running <= limit("few") * (self.takes or most)

    @property
    def clock_lost(self) -> float | None:
        """The share of the highest clock that is missing; of the card's, where the highest was not recorded."""
        return _lost(self.row.sm_clock_hz, self.row.max_sm_clock_hz or self._clock_hz)

    @property
    def slowed(self) -> bool:
        """Whether the clock is lowered under a load, as far as a driver or the clock itself says."""
        lost = self.clock_lost
        return bool(self.row.throttled) if lost is None else lost >= limit("heat_lost")

    @property
    def memory_clock_lost(self) -> float | None:
        """The same of the memory's."""
        return _lost(self.row.memory_clock_hz, self.row.max_memory_clock_hz)

    @property
    def power(self) -> float | None:
        """The draw as a share of its limit."""
        drawn, most = self.row.power_w, self.row.power_limit_w
        return None if drawn is None or not most else drawn / most

    @property
    def hot(self) -> bool:
        """Whether heat or the board's protection is named as what slows the clock."""
        return any(("thermal" in one or "hw" in one or "brake" in one) for one in self.row.throttled or ())

    @property
    def capped(self) -> bool:
        """Whether power is what slows the clock: named, or drawn up to its limit."""
        named = any("power" in one and "brake" not in one for one in self.row.throttled or ())
        return named or (self.power is not None and self.power >= limit("power_near"))


def _highest_hz(card: Accelerator) -> float | None:
    """The card's highest clock as published; the boost clock, where no higher one is, understates what is lost."""
    clocks = {fact.what: to_base(float(fact.value), fact.unit) for fact in card.facts if fact.what in _CLOCKS}
    return next((clocks[name] for name in _CLOCKS if name in clocks), None)


def _share(value: float | None, most: float) -> float | None:
    return None if value is None else min(round(value / most, _DIGITS), 1.0)


def _lost(now: float | None, most: float | None) -> float | None:
    return None if now is None or not most else max(0.0, 1 - now / most)
