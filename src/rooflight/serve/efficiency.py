"""MFU and MBU: the share of a datasheet's rates that a step uses in a given time. The one place that computes them."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from rooflight.catalog.accelerators import shipped
from rooflight.numeric import Number
from rooflight.roofline.rates import hardware_format, unrated
from rooflight.scenario.definite import Scenario
from rooflight.serve.phases import PhaseTime
from rooflight.values.accelerator import Accelerator
from rooflight.values.work import Work


class Demand(NamedTuple):
    """Seconds that a step's work takes of all its devices at datasheet rates; None where a rate is not in print."""

    arithmetic_s: Number | None
    traffic_s: Number | None

    def shared(self, parts: Number) -> Demand:
        """An equal part of it."""
        return Demand(*(None if seconds is None else seconds / parts for seconds in self))

    def and_more(self, other: Demand, times: Number) -> Demand:
        """With `times` the other's beside; None where either is."""
        both = zip(self, other, strict=True)
        return Demand(*(None if None in (one, two) else one + two * times for one, two in both))


class Efficiency(msgspec.Struct, frozen=True, kw_only=True):
    """Shares of the datasheet's rates; None where one is not in print.

    mfu     FLOP of the model's arithmetic over those of the peaks of their formats in the time
    mbu     bytes streamed over those of the bandwidth in the time
    """

    mfu: float | None = None
    mbu: float | None = None


def efficiency(demand: Demand, seconds: float) -> Efficiency:
    """The shares of a step that took so many seconds. Check: 0.01 s of arithmetic and 0.03 of traffic in 0.04 s."""
    mfu, mbu = (None if needed is None else needed / seconds for needed in demand)
    return Efficiency(mfu=mfu, mbu=mbu)


def streamed_bytes(work: Work) -> Number:
    """What a step cannot avoid moving: weights, and KV cache or state read and written. No activations."""
    return work.weight_bytes + work.kv_read_bytes + work.kv_write_bytes


def demand(sc: Scenario, phase: PhaseTime) -> Demand:
    """What a phase's step asks of the datasheet: FLOP over the peak of their format, bytes over the bandwidth.

    What a host computes, or reads from its own memory, is asked of no device.
    """
    card, devices = printed(sc.accelerator), phase.layout.devices
    if card is None:
        return Demand(None, None)
    speed = card.memory_bytes_per_s
    traffic = None if not speed else streamed_bytes(phase.own_work) / (speed * devices)
    arithmetic: Number = 0.0
    for op, _, terms in phase.time.timed:
        flop = op.work.flop
        if terms.on_host or (isinstance(flop, int | float) and not flop):
            continue
        if unrated(card, (op.compute,)):
            return Demand(None, traffic)
        peak = card.peak_flop_per_s[hardware_format(card, op.compute)]
        arithmetic = arithmetic + flop * (op.count * phase.copies(op)) / peak
    return Demand(arithmetic / devices, traffic)


def printed(card: Accelerator) -> Accelerator | None:
    """The device by its datasheet; of a measured one the catalog's entry, None where there is none or of a part."""
    if card.measured is None:
        return card
    from rooflight.catalog.measured import is_part

    sheet = None if card.measured.datasheet is None else shipped(card.measured.datasheet)
    return None if sheet is None or is_part(card, sheet) else sheet
