"""The usual mistakes behind a number no machine reaches: each is tried, and those that would explain it are named."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import msgspec

from rooflight.answers.check.outcome import Finding
from rooflight.errors import RooflightError
from rooflight.scenario.definite import Scenario, scenario
from rooflight.serve.metrics import bounds_s, counted_tokens, row_seconds
from rooflight.units import to_base
from rooflight.values.accelerator import Accelerator
from rooflight.values.formats import Format, format_named
from rooflight.values.measurement import Measurement, Timed
from rooflight.work.storage import element_bytes

# A measured speed above its ceiling by no more than this is rounding.
TOLERANCE = 0.005
_MS = to_base(1, "ms")
_FACTORS = (2, 4, 8, 16, 32, 64)
_DEVICES = (2, 4, 8)
# From fp32 to 4 bits a peak may grow thirtyfold.
_MOST_BY_FORMAT = 64
# Drafted tokens accepted a step, at most; the step's own token comes on top.
_ACCEPTED = 4
_NARROWER = ("bf16", "fp8", "w8a8-int8", "int8", "nvfp4", "int4-g128")
# Where nothing is calibrated, a reading this many times slower than its ceiling explains nothing.
_PLAUSIBLE = 50
# The same where something is expected: so many times the slow end of its interval.
_SLOWER = 2
# What a reading with n times the means may gain beyond n: caches that hold more, experts shared by more tokens.
_SPARE = 1.5


class TooFast(msgspec.Struct, frozen=True, kw_only=True):
    """A value too fast for `scenario`. time_s: what the row says its tokens took; over: so many times too fast.

    `over` spares trying what cannot be enough: twice the devices are never more than twice as fast.
    """

    scenario: Scenario
    row: Measurement
    time_s: float
    over: float

    def possible(self, sc: Scenario, time_s: float) -> bool:
        """Whether the scenario can be as fast as that, and (where something is expected) is not far slower."""
        if bounds_s(sc, self.row, quick=True)[0] > time_s * (1 + TOLERANCE):
            return False
        seconds = row_seconds(sc, self.row)
        slowest = _PLAUSIBLE * seconds.ceiling if seconds.high is None else _SLOWER * seconds.high
        return bool(time_s <= slowest)

    def with_deployment(self, **changes: Any) -> Scenario | None:
        """The scenario deployed otherwise; None where that cannot be."""
        sc = self.scenario
        deployment = msgspec.structs.replace(sc.deployment, **{"tp": sc.layout.tp, **changes})
        try:
            return scenario(sc.model, sc.accelerator, None, sc.workload, deployment)
        except RooflightError:
            return None

    def with_workload(self, **changes: Any) -> Scenario:
        """The scenario under another load."""
        sc = self.scenario
        return msgspec.structs.replace(sc, workload=msgspec.structs.replace(sc.workload, **changes))


def too_fast(sc: Scenario, row: Measurement, over: float) -> TooFast:
    """The row's value, `over` times the speed of its ceiling, as a time of the scenario."""
    time_s = row.value * _MS if row.measures.time else counted_tokens(sc, row) / row.value
    return TooFast(scenario=sc, row=row, time_s=time_s, over=over)


def mix_ups(one: TooFast) -> Iterator[Finding]:
    """The readings that make the value possible, in the order in which the mistakes are usually made."""
    for kind in (_total_tokens, devices, _batch, _speculative, _formats, _cards, _cached, _unit, _cut_short):
        found = next(iter(kind(one)), None)
        if found is not None:
            yield found


def _total_tokens(one: TooFast) -> Iterator[Finding]:
    """Input and output tokens counted as output."""
    load, metric = one.scenario.workload, one.row.measures
    if not metric.time and not metric.prompts and one.row.timed is not Timed.STEP:
        time_s = one.time_s * (load.isl + load.osl) / load.osl
        if one.possible(one.scenario, time_s):
            yield Finding("total tokens")


def devices(one: TooFast) -> Iterator[Finding]:
    """A total given as a share of it, or more devices than said."""
    sc, metric, over = one.scenario, one.row.measures, one.over
    layout, batch = sc.layout, sc.workload.batch
    if metric.per_gpu and layout.devices > 1 and one.possible(sc, one.time_s * layout.devices):
        yield Finding("total for per-GPU", layout.devices)
    if metric.per_user and batch > 1 and one.possible(sc, one.time_s * batch):
        yield Finding("total for per-user", batch)
    for factor in (one for one in _DEVICES if one * _SPARE >= over):
        for change in ({"tp": layout.tp * factor}, {"dp": layout.dp * factor}, {"pp": layout.pp * factor}):
            more = one.with_deployment(**change)
            if more is not None and one.possible(more, one.time_s):
                yield Finding("more devices", layout.devices * factor)


def _batch(one: TooFast) -> Iterator[Finding]:
    """Another batch: a larger one for a total, a smaller one for a time; or a sequence's share taken as its own."""
    load, metric, timed = one.scenario.workload, one.row.measures, one.row.timed
    if metric.time and timed is Timed.PREFILL:
        return
    single = metric.time or metric.per_user
    enough = [factor for factor in _FACTORS if factor * _SPARE >= one.over]
    for factor in enough:
        if not single:
            batch, prompts = load.batch * factor, load.prefill_batch * factor
        elif load.batch % factor == 0:
            batch, prompts = load.batch // factor, max(1, load.prefill_batch // factor)
        else:
            continue
        sc = one.with_workload(batch=batch, prefill_batch=prompts)
        time_s = one.time_s if single else one.time_s * factor  # so many times the tokens at the stated rate
        if one.possible(sc, time_s):
            yield Finding("another batch", batch)
    if not single or timed.prompt:
        return
    for factor in enough:
        sc = one.with_workload(batch=load.batch * factor, prefill_batch=load.prefill_batch * factor)
        if one.possible(sc, one.time_s * factor):
            yield Finding("several sequences", factor)


def _speculative(one: TooFast) -> Iterator[Finding]:
    """Speculative decoding: several tokens a step."""
    if one.row.timed.prompt:
        return
    steps = one.scenario.workload.osl - 1
    for accepted in range(1, _ACCEPTED + 1):
        if (accepted + 1) * _SPARE < one.over:
            continue
        if one.row.timed.step:
            fits = one.possible(one.scenario, one.time_s * (accepted + 1))
        else:
            fits = one.possible(one.with_workload(osl=1 + steps // (accepted + 1)), one.time_s)
        if fits:
            yield Finding("speculative decoding", accepted)


def _formats(one: TooFast) -> Iterator[Finding]:
    """A narrower format than said, of the weights, of the KV cache, or of both."""
    for name in narrower(one, one.scenario.deployment.kv_cache):
        yield Finding("number format", (name, None))
    if one.scenario.numbers.kv_bytes <= element_bytes("fp8"):
        return
    sc = one.with_deployment(kv_cache="fp8")
    if sc is not None and one.possible(sc, one.time_s):
        yield Finding("number format", (None, "fp8"))
    for name in narrower(one, "fp8"):
        yield Finding("number format", (name, "fp8"))


def narrower(one: TooFast, kv_cache: str | None) -> Iterator[str]:
    """The weight formats narrower than said, widest first, under which the value is possible."""
    said = _said(one.scenario)
    if one.over > _MOST_BY_FORMAT:
        return
    for name in _NARROWER:
        form = format_named(name)
        if form.bits > said.bits or (form.bits == said.bits and (said.activations or not form.activations)):
            continue
        sc = one.with_deployment(weights=name, compute=None, kv_cache=kv_cache)
        if sc is not None and one.possible(sc, one.time_s):
            yield name


def _said(sc: Scenario) -> Format:
    """The weights' format; of a checkpoint in several, the widest of a layer's matrices."""
    if sc.numbers.weights is not None:
        return sc.numbers.weights
    stored = [format_named(matrix.format) for layer in sc.model.layers for matrix in (*layer.projections, *layer.mlp)]
    return max(stored, key=lambda form: form.bits, default=format_named(sc.model.dtype))


def _cards(one: TooFast) -> Iterator[Finding]:
    """Another accelerator of the family: the slowest that could do it."""
    from rooflight.catalog.accelerators import all_accelerators

    sc = one.scenario
    own = (sc.accelerator.family, sc.accelerator.vendor)
    fitting: list[tuple[float, str]] = []
    for card in all_accelerators():
        if (card.family, card.vendor) != own or card.id == sc.accelerator.id or _gain(card, sc) * _SPARE < one.over:
            continue
        try:
            other = scenario(sc.model, card, None, sc.workload, msgspec.structs.replace(sc.deployment, tp=sc.layout.tp))
            if one.possible(other, one.time_s):
                fitting.append((-bounds_s(other, one.row, quick=True)[0], card.id))
        except RooflightError:
            continue
    if fitting:
        yield Finding("another card", min(fitting)[1])


def _gain(card: Accelerator, sc: Scenario) -> float:
    """The most another card can be faster by: the largest ratio of its rates."""
    here, ratios = sc.accelerator, [1.0]
    if card.memory_bytes_per_s:
        ratios.append(card.memory_bytes_per_s / sc.rates.memory_bytes_per_s)
    ratios += [
        peak / here.peak_flop_per_s[form] for form, peak in card.peak_flop_per_s.items() if form in here.peak_flop_per_s
    ]
    if card.link is not None and sc.rates.link_bytes_per_s:
        ratios.append(card.link.bytes_per_s / sc.rates.link_bytes_per_s)
    return max(ratios) if set(card.peak_flop_per_s) <= set(here.peak_flop_per_s) else math.inf


def _cached(one: TooFast) -> Iterator[Finding]:
    """A prompt of which most was cached already."""
    load = one.scenario.workload
    if one.row.timed.step or load.isl < 2:
        return
    for share in (0.5, 0.9, 1):
        cached = max(int((load.isl - 1) * share), load.cached_prefix)
        sc = one.with_workload(cached_prefix=cached)
        if one.possible(sc, one.time_s):
            yield Finding("cached prefix", (cached, load.isl))


def _cut_short(one: TooFast) -> Iterator[Finding]:
    """Generation that ended before output_len: an end-of-sequence token was not ignored."""
    osl = one.scenario.workload.osl
    if one.row.timed.step or one.row.timed.prompt:
        return
    tokens = osl // 2
    while tokens >= 1:
        if one.possible(one.with_workload(osl=tokens), one.time_s):
            yield Finding("cut short", (tokens, osl))
        tokens //= 2


def _unit(one: TooFast) -> Iterator[Finding]:
    """Seconds where milliseconds are wanted."""
    if one.row.measures.time and one.possible(one.scenario, one.time_s / _MS):
        yield Finding("unit")
