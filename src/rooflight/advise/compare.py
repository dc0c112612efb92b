"""Deployments compared on a mix of requests: which is fastest, by how much in each phase, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from rooflight.advise.contenders import Contender, Devices, contenders
from rooflight.advise.crossings import found_crossings
from rooflight.advise.log import Log
from rooflight.advise.sentence import Ranked, sentence
from rooflight.errors import BadInput, UnknownName
from rooflight.roofline.rates import ridges
from rooflight.serve import formulas
from rooflight.serve import mix as mixes
from rooflight.serve.memory import max_batch, room
from rooflight.serve.metrics import bends
from rooflight.serve.phases import main_format
from rooflight.serve.scenario import Scenario
from rooflight.spec.analysis import Span
from rooflight.spec.comparison import (
    OBJECTIVES,
    Compared,
    Comparison,
    Fit,
    Hardware,
    PhasePart,
    Ratio,
    Share,
    Whole,
)
from rooflight.spec.deployment import Deployment
from rooflight.spec.mix import Lengths, Mix
from rooflight.spec.model import Model
from rooflight.spec.steptime import BOUNDS
from rooflight.spec.workload import Workload


class Timed(msgspec.Struct, frozen=True, kw_only=True):
    """A contender with the parts of its request."""

    one: Contender
    sc: Scenario
    prefill: mixes.Part
    decode: mixes.Part

    @property
    def span(self) -> Span:
        """Machine seconds of a request, phases one after the other."""
        return total(self.prefill.span, self.decode.span)


def compare(
    model: Model,
    devices: Sequence[Devices],
    axes: Mapping[str, Sequence[Any]],
    *,
    log: Log | None,
    batch: int | None,
    objective: str,
    prices: Mapping[str, float],
    workload: Workload,
    deployment: Deployment,
) -> Comparison:
    """The comparison of all deployments. batch None: each at the largest that fits.

    Raises BadInput for an objective that cannot be judged or a layout that cannot be, MissingFact where a fact is
    missing for every deployment.
    """
    if objective not in OBJECTIVES:
        raise UnknownName(
            f"nothing is compared for {objective!r}",
            where="--for",
            got=objective,
            want=f"one of {', '.join(OBJECTIVES)}",
        )
    load = workload
    requests = mixes.single(isl=load.isl, osl=load.osl, cached=load.cached_prefix) if log is None else log.requests
    mix = mixes.summary(requests, source=log.source if log else None, bad_rows=log.bad_rows if log else 0)
    rows, notes = contenders(
        model, devices, axes, mix=mix, batch=batch, workload=load, deployment=deployment, prices=prices
    )
    _check_prices(prices, rows, objective)
    timed: dict[str, Timed] = {}
    lengths: Lengths | None = None
    for one in rows:
        if one.answers and one.scenario is not None:
            lengths = lengths or mixes.lengths(requests, mix, bends=bends(one.scenario))
            timed[one.label] = Timed(
                one=one,
                sc=one.scenario,
                prefill=mixes.prefill_part(one.scenario, one.engine, lengths),
                decode=mixes.decode_part(one.scenario, one.engine, lengths),
            )
    baseline = next(iter(timed.values()), None)
    compared = tuple(_compared(one, timed.get(one.label), baseline, mix) for one in rows)
    ranked = ranking(compared, objective)
    winner = ranked[0].one if ranked else None
    crossed = found_crossings([(each.one, each.sc) for each in timed.values()], mix)
    return Comparison(
        answer=sentence(model.id, rows, compared, ranked, mix, objective, largest=batch is None),
        model=model.id,
        objective=objective,
        mix=mix,
        baseline=baseline.one.label if baseline else None,
        winner=winner.label if winner else None,
        compared=compared,
        stretches=crossed.stretches,
        crossings=crossed.crossings,
        curves=crossed.curves,
        assumptions=_assumptions(rows, log, batch),
        warnings=tuple(dict.fromkeys([*notes, *(log.notes if log else ()), *_warnings(rows, mix, baseline, prices)])),
    )


def total(first: Span, second: Span) -> Span:
    """Two times one after the other; the interval is that of both at their ends."""
    return Span(**{name: getattr(first, name) + getattr(second, name) for name in Span.__struct_fields__})


def rate(amount: float, seconds: Span) -> Span:
    """An amount per second of a time; the interval swaps its ends. Zero of something in no time is zero."""

    def per(value: Any) -> float:
        return amount / float(value) if amount else 0.0

    return Span(
        ceiling=per(seconds.ceiling),
        roofline=per(seconds.roofline),
        expected=per(seconds.expected),
        low=per(seconds.high),
        high=per(seconds.low),
    )


def plain(span: Span, times: float = 1) -> Span:
    """The span in Python's floats, `times` as large."""
    return Span(**{name: float(getattr(span, name)) * times for name in Span.__struct_fields__})


_BASES = ("ceiling", "roofline", "expected")


def _ratio(before: Span, after: Span) -> Ratio | None:
    """How much faster; None where a phase takes no time."""
    if not float(after.ceiling):
        return None
    return Ratio(**{name: float(getattr(before, name)) / float(getattr(after, name)) for name in _BASES})


def _share(part: Span, whole: Span) -> Share:
    return Share(**{name: float(getattr(part, name)) / float(getattr(whole, name)) for name in _BASES})


def _compared(one: Contender, timed: Timed | None, baseline: Timed | None, mix: Mix) -> Compared:
    sc, held = one.scenario, one.held
    layout = sc.layout if sc else one.deployment
    memory = None
    if held is not None:
        memory = Fit(
            weights_bytes=held.weights_bytes, kv_bytes=held.kv_bytes, reserve_bytes=held.reserve_bytes,
            usable_bytes=held.usable_bytes, max_batch=held.max_batch,
        )  # fmt: skip
    return Compared(
        label=one.label,
        accelerator=one.card.id,
        devices=one.count,
        tp=layout.tp or one.count,
        pp=layout.pp,
        ep=layout.ep,
        dp=layout.dp,
        weights=weights(one),
        kv_cache=sc.numbers.kv if sc else (one.deployment.kv_cache or "bf16"),
        engine=one.deployment.engine,
        fits=held is not None and held.fits,
        reason=one.reason,
        batch=int(timed.sc.workload.batch) if timed else None,
        hardware=_hardware(timed, baseline) if timed and baseline else None,
        memory=memory,
        prefill=_phase(timed, "prefill", baseline, mix) if timed and baseline else None,
        decode=_phase(timed, "decode", baseline, mix) if timed and baseline else None,
        request=_whole(timed, baseline, mix) if timed and baseline else None,
    )


def weights(one: Contender) -> str:
    """The format the weights are kept in, as far as it is known."""
    if one.scenario is None:
        return one.deployment.weights or "as the config says"
    numbers = one.scenario.numbers
    return numbers.weights.id if numbers.weights else one.scenario.model.quantization or one.scenario.model.dtype


def _hardware(timed: Timed, baseline: Timed) -> Hardware:
    form, flop, memory = _rates(timed)
    _, base_flop, base_memory = _rates(baseline)
    card, count = timed.sc.accelerator, timed.sc.layout.devices
    return Hardware(
        format=form,
        flop_per_s=flop,
        memory_bytes_per_s=memory,
        memory_bytes=None if card.memory_bytes is None else card.memory_bytes * count,
        tdp_w=None if card.tdp_w is None else card.tdp_w * count,
        price_usd_per_hour=timed.one.price_usd_per_hour,
        flop_ratio=flop / base_flop,
        memory_ratio=memory / base_memory,
    )


def _rates(timed: Timed) -> tuple[str, float, float]:
    """(format most of the prefill runs in, its peak, memory bandwidth) of all devices."""
    sc = timed.sc
    form = main_format(sc, timed.prefill.time.time)
    bandwidth = sc.rates.memory_bytes_per_s
    return form, ridges(sc.accelerator)[form] * bandwidth * sc.layout.devices, bandwidth * sc.layout.devices


def _phase(timed: Timed, name: str, baseline: Timed, mix: Mix) -> PhasePart:
    part: mixes.Part = getattr(timed, name)
    before: mixes.Part = getattr(baseline, name)
    step = plain(part.step)
    tokens = float(timed.sc.workload.batch) if name == "decode" else mixes.prompts_together(timed.sc) * mix.isl
    return PhasePart(
        time_s=plain(part.span),
        step_s=step,
        tokens_per_s=rate(tokens, step),
        bound=BOUNDS[int(part.bound)],
        share=_share(part.span, timed.span),
        speed_up=_ratio(before.span, part.span),
    )


def _whole(timed: Timed, baseline: Timed, mix: Mix) -> Whole:
    span, devices = plain(timed.span), timed.sc.layout.devices
    output = rate(mix.osl, span)
    tdp, price = timed.sc.accelerator.tdp_w, timed.one.price_usd_per_hour
    parts = (timed.prefill, timed.decode)
    compute, memory, link = (
        sum(float(part.of_request(getattr(part, name))) for part in parts)
        for name in ("compute_s", "memory_s", "link_s")
    )
    read = float(timed.prefill.of_request(timed.prefill.weights_s))
    return Whole(
        time_s=span,
        overlapped_s=float(formulas.overlapped_s(compute_s=compute, memory_s=memory, weights_s=read, link_s=link)),
        requests_per_s=rate(1, span),
        output_tokens_per_s=output,
        output_tokens_per_s_per_accelerator=plain(output, 1 / devices),
        output_tokens_per_s_per_user=plain(output, 1 / float(timed.sc.workload.batch)),
        tokens_per_usd=None if price is None else _each(output, lambda v: formulas.tokens_per_usd(v, price)),
        tokens_per_joule=None if tdp is None else _each(output, lambda v: formulas.tokens_per_joule(v, tdp * devices)),
        speed_up=_ratio(baseline.span, timed.span),
    )


def _each(span: Span, of: Any) -> Span:
    return Span(**{name: float(of(getattr(span, name))) for name in Span.__struct_fields__})


def ranking(compared: Sequence[Compared], objective: str) -> list[Ranked]:
    """Those with times by what they give of the objective as expected, the most first, of equals the first named."""
    known = []
    for one in compared:
        expected, ceiling = (score(one, objective, basis) for basis in ("expected", "ceiling"))
        if expected is not None and ceiling is not None:
            known.append(Ranked(expected, ceiling, one))
    return sorted(known, key=lambda place: -place.expected)


def score(one: Compared, objective: str, basis: str) -> float | None:
    """How much of the objective a deployment gives; requests in place of output tokens, so that none is zero."""
    if one.request is None:
        return None
    requests: float = getattr(one.request.requests_per_s, basis)
    if objective == "cost":
        price = one.hardware.price_usd_per_hour if one.hardware else None
        return None if price is None else requests / price
    if objective == "energy":
        power = one.hardware.tdp_w if one.hardware else None
        return None if power is None else requests / power
    return requests / {"throughput": 1, "accelerator": one.devices, "latency": one.batch or 1}[objective]


def _check_prices(prices: Mapping[str, float], rows: Sequence[Contender], objective: str) -> None:
    unknown = [name for name in prices if name not in {one.card.id for one in rows}]
    if unknown:
        raise BadInput(
            f"a price is given for {unknown[0]}, which is not compared", where="--price", got=unknown[0],
            want=f"one of {', '.join(dict.fromkeys(one.card.id for one in rows))}",
        )  # fmt: skip
    if objective == "cost" and not prices:
        raise BadInput(
            "cost cannot be compared without prices", where="--for cost", got="no --price",
            want="--price CARD=USD_PER_HOUR for each accelerator",
            try_this=" ".join(f"--price {one}=2.50" for one in list(dict.fromkeys(row.card.id for row in rows))[:2]),
        )  # fmt: skip


def _assumptions(rows: Sequence[Contender], log: Log | None, batch: int | None) -> tuple[str, ...]:
    """Of all scenarios, each once; what the mix, the batch or a swept option replaces is not assumed."""
    said = dict.fromkeys(line for one in rows if one.scenario is not None for line in one.scenario.assumptions)
    gone = ["decode context "]
    gone += ["isl ", "osl "] if log is not None else []
    gone += ["batch "] if batch is None else []
    own = ["a request costs its prefill and its part of the decode steps it shares, one phase after the other"]
    if log is not None:
        own.append(log.taken)
    if batch is None:
        own.append("batch: as many sequences as fit at the mean length, and always that many")
    if any(one.scenario is not None and one.scenario.accelerator.tdp_w for one in rows):
        own.append("tokens per joule at TDP, the most that the accelerators draw; hosts and cooling are not counted")
    return (*own, *(line for line in said if not line.startswith(tuple(gone))))


def _warnings(
    rows: Sequence[Contender], mix: Mix, baseline: Timed | None, prices: Mapping[str, float]
) -> list[str]:  # fmt: skip
    said = [line for one in rows if one.scenario is not None for line in one.scenario.warnings]
    if baseline is not None and rows[0].label != baseline.one.label:
        said.append(f"{rows[0].label} has no times, so speed-ups are over {baseline.one.label}")
    if prices:
        bare = [one.label for one in rows if one.price_usd_per_hour is None]
        said += [f"no price for {', '.join(bare)}: left out where dollars decide"] if bare else []
    powerless = [one.label for one in rows if one.scenario is not None and one.scenario.accelerator.tdp_w is None]
    said += [f"no TDP is known for {', '.join(powerless)}: left out where joules decide"] if powerless else []
    timed = [one for one in rows if one.answers and one.scenario is not None and mix.requests > 1]
    small = [one.label for one in timed if one.scenario is not None and not holds(one.scenario, mix.longest)]
    if small:
        said.append(f"the longest request, {mix.longest:,} tokens, does not fit even alone on {', '.join(small)}")
    return said


def holds(sc: Scenario, tokens: int) -> bool:
    """Whether a single sequence of so many tokens fits."""
    load = msgspec.structs.replace(sc.workload, batch=1, isl=max(tokens - 1, 1), osl=1, cached_prefix=0)
    return bool(max_batch(room(msgspec.structs.replace(sc, workload=load))) >= 1)
