"""What a model and a machine bring to `explain`: bytes and FLOP of a step as the library counts them, and rates."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import msgspec

from rooflight.numeric import Number
from rooflight.roofline.rates import hardware_format, unrated
from rooflight.scenario.change import spread
from rooflight.scenario.definite import Scenario
from rooflight.serve import phases
from rooflight.serve.efficiency import demand, printed, streamed_bytes
from rooflight.serve.formulas import tokens_per_verify
from rooflight.serve.memory import memory
from rooflight.serve.phases import PhaseTime
from rooflight.values.accelerator import Accelerator


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """Values by name, and what the sentences about them name.

    form        the number format whose peak is taken; "" where none is known
    several     the step multiplies in several formats, each with its own peak
    """

    values: Mapping[str, float] = {}
    form: str = ""
    several: bool = False


def roof(card: Accelerator, devices: float, form: str) -> Facts:
    """The rates of devices: printed ones, and of a measured machine those that were measured."""
    sheet = printed(card)
    values: dict[str, float] = {}
    used = ""
    if sheet is not None:
        _add(values, "memory_bytes_per_s", sheet.memory_bytes_per_s, devices)
        if not unrated(sheet, (form,)):
            used = hardware_format(sheet, form)
            _add(values, "peak_flop_per_s", sheet.peak_flop_per_s[used], devices)
    if card.measured is not None:
        _add(values, "measured_bytes_per_s", card.memory_bytes_per_s, devices)
        if not unrated(card, (form,)):
            used = used or hardware_format(card, form)
            _add(values, "measured_flop_per_s", card.peak_flop_per_s[hardware_format(card, form)], devices)
    return Facts(values=values, form=used)


def _add(values: dict[str, float], name: str, rate: float | None, devices: float) -> None:
    if rate:
        values[name] = rate * devices


def decode(sc: Scenario) -> Facts:
    """A decode step of the scenario's batch; with drafts the verify step, which gives a sequence several tokens.

    The steps of a named draft before it count with it.
    """
    load = sc.workload
    drafts = bool(load.draft_tokens)
    step = phases.verify if drafts else phases.decode
    phase = step(sc, bounds_only=True)
    before = phases.drafts(sc, bounds_only=True) if drafts else ()
    cycle = [(phase, 1), *before]
    works = [one.own_work * count for one, count in cycle]
    found = _step(sc, *cycle)
    values = {
        "weight_bytes": float(sum(work.weight_bytes for work in works)),
        "kv_bytes": float(sum(work.kv_read_bytes + work.kv_write_bytes for work in works)),
        "flop": float(sum(work.flop for work in works)),
        "ceiling_s": _least_s(sc, phase, step) + float(sum(one.time.ceiling_s * count for one, count in before)),
    }
    if drafts:
        made = tokens_per_verify(draft_tokens=load.draft_tokens, acceptance=load.acceptance)
        values["tokens_per_step"] = float(made)
    return _joined(found, values, "arithmetic_s")


def prefill(sc: Scenario) -> Facts:
    """The prefill of the scenario's prompts; no ceiling of it where the compute peak is not known."""
    phase = phases.prefill(sc, bounds_only=True)
    load = sc.workload
    values = {
        "prefill_tokens": float(load.prefill_batch * (load.isl - load.cached_prefix)),
        "prefill_flop": float(phase.own_work.flop),
        "prefill_bytes": float(streamed_bytes(phase.own_work)),
    }
    if not sc.unrated:
        values["prefill_ceiling_s"] = _least_s(sc, phase, phases.prefill)
    return _joined(_step(sc, (phase, 1)), values, "prefill_arithmetic_s")


def _least_s(sc: Scenario, phase: PhaseTime, step: Callable[..., PhaseTime]) -> float:
    """The ceiling of a step; on unlike cards of any spread over them, for how they shared it is not stated."""
    others = (step(other, bounds_only=True) for other in spread(sc))
    return float(min(one.time.ceiling_s for one in (phase, *others)))


class _Step(msgspec.Struct, frozen=True):
    """Of a step: its rates, and the seconds of its FLOP at their peaks."""

    roof: Facts
    arithmetic_s: float | None


def _step(sc: Scenario, *cycle: tuple[PhaseTime, Number]) -> _Step:
    """Of a step, or of several with how many of each there are, the first being the one that is spoken of."""
    phase, _ = cycle[0]
    form = phases.main_format(sc, phase.time)
    formats = {
        hardware_format(sc.accelerator, op.compute) for one, _ in cycle for op, _, _ in one.time.timed if op.work.flop
    }
    rates = roof(sc.accelerator, phase.layout.devices, form)
    asked = demand(sc, phase)
    for one, count in cycle[1:]:
        asked = asked.and_more(demand(sc, one), count)
    seconds = asked.arithmetic_s
    found = Facts(values=rates.values, form=rates.form, several=len(formats) > 1)
    return _Step(found, None if seconds is None else float(seconds))


def _joined(one: _Step, values: dict[str, float], arithmetic: str) -> Facts:
    rates = dict(one.roof.values)
    if one.roof.several:  # one peak would say nothing of FLOP in several formats
        if one.arithmetic_s is not None:
            values[arithmetic] = one.arithmetic_s
        else:
            rates.pop("peak_flop_per_s", None)
        rates.pop("measured_flop_per_s", None)
    return Facts(values={**rates, **values}, form=one.roof.form, several=one.roof.several)


def pool(sc: Scenario) -> Facts:
    """Tokens that the KV cache of the deployment holds, as `analyze` has them; none where no size is known."""
    tokens = memory(sc).kv_tokens
    return Facts(values={"kv_tokens": float(tokens)} if tokens and math.isfinite(tokens) else {})
