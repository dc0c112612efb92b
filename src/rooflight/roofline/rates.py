"""What a machine can do per second, with the fall-backs of formats it has no path for."""

from __future__ import annotations

import math
from collections.abc import Iterable

import msgspec

from rooflight.errors import MissingFact, Named
from rooflight.roofline.links import Links, links_of
from rooflight.units import to_base
from rooflight.values.accelerator import Accelerator, LevelRoof
from rooflight.values.calibration import Calibration
from rooflight.values.formats import WIDER
from rooflight.work.layout import Layout, crossing
from rooflight.work.places import Split

# The rate of arithmetic whose peak nobody published: no time at all, which is what a ceiling may say of it. Whoever
# shows a quantity that arithmetic decides asks `unrated` first, and withholds it.
_UNKNOWN_FLOP_PER_S = math.inf
# Formats whose products an engine may add up in 16 bits.
_WIDE = ("fp16", "bf16")


class Rates(msgspec.Struct, frozen=True, kw_only=True):
    """One device's rates for a layout. links is None where nothing is communicated.

    fast_memory_bytes_per_s     the fastest figure in print, for ceilings; memory_bytes_per_s is the slowest
    beside                      what of a step the host does or holds; None: nothing
    unlike                      the kinds of devices that layers are split over, where they are several
    short_sums                  FLOP/s by format where products are added up in 16 bits and the card is faster so
    """

    accelerator: Accelerator
    memory_bytes_per_s: float
    fast_memory_bytes_per_s: float
    cache_bytes: float
    links: Links | None = None
    launch_s: float
    beside: Beside | None = None
    unlike: tuple[Stage, ...] = ()
    short_sums: dict[str, float] = {}

    @property
    def link_bytes_per_s(self) -> float | None:
        """What a device sends to its neighbours, one way; to others where it has none. None: nothing is sent."""
        return None if self.links is None else self.links.bytes_per_s or self.links.far_bytes_per_s

    def peak(self, form: str) -> float:
        """Datasheet FLOP/s of the format a product really runs in; infinite where no peak is known.

        Of 8 bits a card's rate with sums in 16 bits, where it has one: cuBLASLt reaches 774 of an RTX 5090's 419
        TFLOP/s (xzwgit/gpu-flops-bench), and 184.6 of an RTX 5060 Ti's 94.8.
        """
        used = hardware_format(self.accelerator, form)
        rate = self.accelerator.peak_flop_per_s.get(used, _UNKNOWN_FLOP_PER_S)
        return self.short_sums.get(used, rate)

    def fastest(self, form: str) -> float:
        """FLOP/s nothing real exceeds in that format: any accumulator, maximum clock. For ceilings."""
        used = hardware_format(self.accelerator, form)
        rates = self.accelerator.fast_flop_per_s
        same_width = ("fp32", "tf32") if used == "fp32" else (used,)
        return max(rates.get(name, 0.0) for name in same_width) or self.peak(form)


class Beside(msgspec.Struct, frozen=True, kw_only=True):
    """The host beside the devices: its own rates, what lies there, and the link that a device reads it by.

    streamed_bytes  of the weights, those that each device reads over the link every step
    link_bytes_per_s    one way; None: not known, and nothing needs it
    devices         that each have such a link
    reached, least  what an engine gets of these rates, as shares: expected, and at least
    handover_s      what going there and back takes a pass, in expected time
    """

    rates: Rates
    split: Split
    streamed_bytes: float = 0.0
    link_bytes_per_s: float | None = None
    devices: int = 1
    reached: float
    least: float
    handover_s: float = 0.0


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """Devices of one kind among unlike ones, passed in turn: their own rates, the layers first .. last - 1 that they
    hold, and the fits of their family."""

    rates: Rates
    devices: int
    first: int
    last: int
    fits: Calibration

    @property
    def layers(self) -> int:
        """How many they hold together."""
        return self.last - self.first


def hardware_format(accelerator: Accelerator, form: str) -> str:
    """The format itself if the device has a peak for it, else the next wider one; fp32 where even that is faster.

    Pascal's P40 has 16-bit products at a 64th of fp32's rate, so nobody uses them. Without a peak for any of them it is
    the format itself: nothing says otherwise.
    """
    peaks = accelerator.peak_flop_per_s
    for name in (form, *WIDER[form]):
        if name in peaks:
            return "fp32" if peaks.get("fp32", 0) > peaks[name] else name
    return form


def unrated(accelerator: Accelerator, forms: Iterable[str]) -> tuple[str, ...]:
    """Those of the formats that the device has no peak for, nor a wider one."""
    peaks = accelerator.peak_flop_per_s
    return tuple(sorted(form for form in set(forms) if not any(name in peaks for name in (form, *WIDER[form]))))


def no_peak(accelerator: Accelerator, forms: Iterable[str], what: str) -> MissingFact:
    """The error where nothing but `what` was asked for, and the missing peak decides it."""
    form = next(iter(forms))
    have = ", ".join(accelerator.peak_flop_per_s)
    return MissingFact(
        f"{accelerator.id} has no dense {form} peak, nor a wider one, so {what} cannot be told",
        where=accelerator.origin or accelerator.id,
        got=f"peaks for {have}" if have else "no peak",
        want=f'a [[fact]] with what = "peak", dtype = "{form}", kind = "dense"',
        try_this=Named("a file of your own with that fact: {on}; decode needs none", on="my-card.toml"),
    )


def rates(
    accelerator: Accelerator, layout: Layout, *, graphs: bool, network: str | None = None, fp16_sums: bool = False
) -> Rates:
    """The rates of a device in a layout, with the network that was stated.

    Raises MissingFact for a bandwidth nobody published.
    """
    if accelerator.memory_bytes_per_s is None:
        raise MissingFact(
            f"{accelerator.id} has no memory bandwidth, so no memory roof can be drawn",
            where=accelerator.origin or accelerator.id,
            got="nothing",
            want='a [[fact]] with what = "memory-bandwidth"',
            try_this=Named("a file of your own with that fact: {on}", on="my-card.toml"),
        )
    assumed = accelerator.assumed
    cache = accelerator.last_level_cache_bytes
    return Rates(
        accelerator=accelerator,
        memory_bytes_per_s=accelerator.memory_bytes_per_s,
        fast_memory_bytes_per_s=accelerator.fast_memory_bytes_per_s or accelerator.memory_bytes_per_s,
        cache_bytes=assumed.last_level_cache_bytes if cache is None else cache,
        links=_links(accelerator, layout, network) if communicates(layout) else None,
        launch_s=assumed.launch_graph_s if graphs else assumed.launch_eager_s,
        short_sums=_short_sums(accelerator, fp16_sums=fp16_sums),
    )


def _short_sums(accelerator: Accelerator, *, fp16_sums: bool) -> dict[str, float]:
    """What is faster with sums in 16 bits, never beyond what nothing exceeds: of 8 bits always, of 16 where asked."""
    peaks, fast = accelerator.peak_flop_per_s, accelerator.fast_flop_per_s
    short = {
        fact.dtype: to_base(float(fact.value), fact.unit)
        for fact in accelerator.facts
        if fact.what == "peak-fp16-accumulate" and fact.kind == "dense" and not fact.doubt
    }
    found = {"fp8": short.get("fp8", 0.0), **({name: short.get("fp16", 0.0) for name in _WIDE} if fp16_sums else {})}
    found = {name: min(rate, fast.get(name, 0.0)) for name, rate in found.items()}
    return {name: rate for name, rate in found.items() if rate > peaks.get(name, _UNKNOWN_FLOP_PER_S)}


def communicates(layout: Layout) -> bool:
    """True where devices exchange activations within a step."""
    return layout.tp > 1 or layout.pp > 1 or layout.pooled > 1


def _links(accelerator: Accelerator, layout: Layout, network: str | None) -> Links:
    found = links_of(accelerator, network)
    if found is not None and (found.far or not crossing(layout)):
        return found
    if found is not None:
        raise MissingFact(
            f"of what joins more than {found.domain} {accelerator.id} nothing is known",
            where=accelerator.origin or accelerator.id,
            got=f"{found.name or 'no link'}, {layout.devices} devices",
            want='a [[fact]] with what = "network"',
            try_this=Named("what a device sends between machines: {network}", network="400Gb/s"),
        )
    raise MissingFact(
        f"{accelerator.id} has neither a link nor a PCIe rate, so devices that communicate cannot be bounded",
        where=accelerator.origin or accelerator.id,
        got="nothing",
        want='a [[fact]] with what = "link" or "pcie"',
        try_this=Named("what joins them ({network}), one device ({tp}), or replicas ({dp})", network="400Gb/s", tp=1),
    )


def ridges(accelerator: Accelerator) -> dict[str, float]:
    """Ridge point in FLOP/byte for each format the device multiplies in (datasheet rates)."""
    if not accelerator.memory_bytes_per_s:
        return {}
    return {form: peak / accelerator.memory_bytes_per_s for form, peak in accelerator.peak_flop_per_s.items()}


def level_roofs(accelerator: Accelerator) -> tuple[LevelRoof, ...]:
    """The device's other levels of memory, the fastest first, with their ridge points."""
    peaks = accelerator.peak_flop_per_s
    return tuple(
        LevelRoof(
            **{name: getattr(level, name) for name in level.__struct_fields__},
            ridge_flop_per_byte={form: peak / level.bytes_per_s for form, peak in peaks.items()},
        )
        for level in accelerator.levels
    )
