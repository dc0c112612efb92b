"""The roof that profiled kernels stand under, and what counters, shapes and a model say of each operator."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from rooflight.answers.diagnose.setting import Setting
from rooflight.errors import RooflightError
from rooflight.roofline.formulas import kernel_cache_credit
from rooflight.roofline.rates import Rates, rates
from rooflight.values.diagnosis import KernelRow
from rooflight.values.formats import FORMATS, WIDER
from rooflight.values.recorded import Launched
from rooflight.work.layout import Layout

# Arithmetic of these is a few operations an element: they are bound by memory on any machine.
STREAMING = ("elementwise", "norm", "activation", "embedding", "copy", "memset", "reduction")
# Amounts of an operator are said where so much of its time is counted, rates where half of it is.
_MOSTLY = 0.9
_HALF = 0.5
# What times, counters and figures in print differ by without telling of another machine.
_SLACK = 1.02


class Counted(msgspec.Struct, frozen=True, kw_only=True):
    """What a model counts of an operator in the steps of a profile: of all of them, on one device.

    memory_s, compute_s     at datasheet rates
    """

    flop: float
    bytes: float
    memory_s: float
    compute_s: float


class Placed(msgspec.Struct, frozen=True, kw_only=True):
    """A group of equal kernels under the roof. memory_s, compute_s: what each resource needs for all calls.

    least_s     the least time that the card could take, caches credited, at its fastest rates
    """

    kernel: Launched
    memory_s: float | None = None
    compute_s: float | None = None
    least_s: float | None = None

    @property
    def bound(self) -> str | None:
        """What its roof is made of, where that is known."""
        if self.kernel.operator == "communication":
            return "link"
        terms = {"memory": self.memory_s, "compute": self.compute_s}
        known = {name: seconds for name, seconds in terms.items() if seconds is not None}
        if len(known) == len(terms) and any(known.values()):
            return max(known, key=lambda name: known[name])
        if self.kernel.operator in STREAMING:
            return "memory"
        # one resource alone decides only where it takes most of the time
        return next((name for name, seconds in known.items() if seconds > self.kernel.total_s / 2), None)

    @property
    def needed_s(self) -> float | None:
        """The larger of both, None where its bound was told without them."""
        known = [seconds for seconds in (self.memory_s, self.compute_s) if seconds]
        return max(known) if known and self.bound in ("memory", "compute") else None


def machine(at: Setting, *, graphs: bool) -> Rates | None:
    """The rates of one card, with the floor of its launches; None where no card, or no rate of it, is known."""
    if at.card is None:
        return None
    try:
        return rates(at.card, Layout(), graphs=graphs)
    except RooflightError:
        return None


def compute_format(form: str | None, card: Rates, default: str) -> str:
    """The format that products of a kernel run in: its own, of weights alone what they are widened to."""
    if form is None:
        return default
    if form in card.accelerator.peak_flop_per_s or form in WIDER:
        return form
    known = FORMATS.get(form)
    return default if known is None or known.compute is None or known.compute not in WIDER else known.compute


def placed(kernel: Launched, card: Rates | None, default: str) -> Placed:
    """A kernel by its bytes and FLOP on a card, else by its counters."""
    counters = kernel.counters or {}
    total = kernel.total_s
    shares = [counters[name] for name in ("tensor_active", "sm_throughput") if name in counters]
    memory_s = counters["dram_active"] * total if "dram_active" in counters else None
    compute_s = max(shares) * total if shares else None
    if card is None:
        return Placed(kernel=kernel, memory_s=memory_s, compute_s=compute_s)
    least: list[float] = []
    if kernel.bytes is not None:
        memory_s = kernel.bytes * kernel.calls / card.memory_bytes_per_s
        moved = kernel.bytes - kernel_cache_credit(kernel.bytes, card.cache_bytes)
        least.append(moved * kernel.calls / card.fast_memory_bytes_per_s)
    if kernel.flop is not None:
        peak, fastest = _peaks(card, compute_format(kernel.format, card, default))
        if math.isfinite(peak):  # else nobody published one
            compute_s = max(kernel.flop * kernel.calls / peak, compute_s or 0.0)
            least.append(kernel.flop * kernel.calls / fastest)
    return Placed(kernel=kernel, memory_s=memory_s, compute_s=compute_s, least_s=max(least, default=None))


def _peaks(card: Rates, form: str) -> tuple[float, float]:
    """FLOP/s by the datasheet and at most; of formats that models do not run in (fp64, tf32) the format's own."""
    if form in WIDER:
        return card.peak(form), card.fastest(form)
    own = card.accelerator.peak_flop_per_s[form]
    return own, max(own, card.accelerator.fast_flop_per_s.get(form, 0.0))


def rows(
    kernels: Iterable[Placed], busy_s: float, by: str, model: Mapping[str, Counted] | None = None
) -> tuple[KernelRow, ...]:
    """Kernels by operator, most time first. by: what counted flop and bytes; model: of those that nothing counted."""
    groups: dict[str, list[Placed]] = {}
    for one in kernels:
        groups.setdefault(one.kernel.operator, []).append(one)
    found = [_row(name, ones, busy_s, by, (model or {}).get(name)) for name, ones in groups.items()]
    return tuple(sorted(found, key=lambda row: -row.total_s))


def _row(name: str, ones: Sequence[Placed], busy_s: float, by: str, model: Counted | None) -> KernelRow:
    total = sum(one.kernel.total_s for one in ones)
    flop, moved = (_Sum.of(ones, field, total) for field in ("flop", "bytes"))
    needed = [(one.needed_s, one.kernel.total_s) for one in ones if one.needed_s is not None]
    covered = sum(seconds for _, seconds in needed)
    of_roof = sum(seconds for seconds, _ in needed) / covered if covered and covered >= _HALF * total else None
    bound = _most_time(ones)
    counted = None if flop.rate is None and moved.rate is None else by
    if counted is None and of_roof is None and model is not None and total:
        share = max(model.compute_s, model.memory_s) / total
        if share <= _SLACK:  # else kernels of other names do part of its work
            flop = _Sum(model.flop, model.flop / total) if model.flop else _Sum()  # norms' are not counted
            moved = _Sum(model.bytes, model.bytes / total)
            counted, of_roof = "model", share
            bound = "compute" if model.compute_s > model.memory_s else "memory"
    forms = {one.kernel.format: one.kernel.total_s for one in sorted(ones, key=lambda one: one.kernel.total_s)}
    return KernelRow(
        operator=name, calls=sum(one.kernel.calls for one in ones), total_s=total,
        share=total / busy_s if busy_s else 0.0, flop=flop.amount, bytes=moved.amount, flop_per_s=flop.rate,
        bytes_per_s=moved.rate, bound=bound, of_roof=of_roof, counted=counted, format=next(reversed(forms)),
        intensity_flop_per_byte=flop.rate / moved.rate if flop.rate is not None and moved.rate else None,
    )  # fmt: skip


def _most_time(ones: Sequence[Placed]) -> str | None:
    """What binds most of the time of these; None where that is not known."""
    told: dict[str | None, float] = {}
    for one in ones:
        told[one.bound] = told.get(one.bound, 0.0) + one.kernel.total_s
    return max(told, key=lambda what: told[what])


class _Sum(msgspec.Struct, frozen=True):
    """FLOP or bytes of all calls, where nearly all of their time is counted, and a second, where half of it is."""

    amount: float | None = None
    rate: float | None = None

    @classmethod
    def of(cls, ones: Sequence[Placed], field: str, total: float) -> _Sum:
        have = [one.kernel for one in ones if getattr(one.kernel, field) is not None]
        covered = sum(one.total_s for one in have)
        if not covered or covered < _HALF * total:
            return cls()
        amount = float(sum(getattr(one, field) * one.calls for one in have))
        return cls(amount if covered >= _MOSTLY * total else None, amount / covered)


def too_fast(kernels: Iterable[Placed]) -> tuple[Placed, ...]:
    """Kernels faster than the card can be."""
    return tuple(one for one in kernels if one.least_s is not None and one.least_s > _SLACK * one.kernel.total_s)
