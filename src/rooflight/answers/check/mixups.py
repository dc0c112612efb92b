"""The usual mistakes behind a number no machine reaches: each is tried, and those that would explain it are named."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import msgspec

from rooflight.answers.check.outcome import Finding
from rooflight.catalog.unlike import SPREAD
from rooflight.errors import RooflightError
from rooflight.roofline.rates import hardware_format, unrated
from rooflight.scenario.change import changed
from rooflight.scenario.definite import Scenario
from rooflight.serve.metrics import ceiling, metric_span
from rooflight.serve.room import holds_weights
from rooflight.units import to_base
from rooflight.values.accelerator import Accelerator
from rooflight.values.format import Format
from rooflight.values.formats import format_named
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
    """A value too fast for `scenario`; over: so many times.

    `over` spares trying what cannot be enough: twice the devices are never more than twice as fast.
    lengths     the row states how long prompts and outputs are
    likely      a reading must also make the value one that is expected, not only one that is possible
    distances   of the readings that did, from what is expected there to the value, as logarithms
    """

    scenario: Scenario
    row: Measurement
    over: float
    lengths: bool = True
    likely: bool = False
    distances: list[float] = msgspec.field(default_factory=list)

    def possible(self, sc: Scenario, times: float = 1, *, slower: float = _SLOWER) -> bool:
        """Whether the scenario can be as fast as the value were it `times` slower.

        And, where something is expected, whether that is not more than `slower` times the slow end of its interval.
        """
        row = self.row
        value = row.value * times if row.measures.time else row.value / times
        speed_over = row.measures.speed_over
        if not self.likely and speed_over(value, ceiling(sc, row)) > 1 + TOLERANCE:
            return False
        span = metric_span(sc, row)
        slow = span.high if row.measures.time else span.low
        fast = span.low if row.measures.time else span.high
        if slow is None or fast is None:
            return bool(speed_over(span.ceiling, value) <= _PLAUSIBLE)
        if not self.likely:
            return bool(speed_over(slow, value) <= slower)
        self.distances.append(abs(math.log(float(span.expected) / value)))
        return bool(speed_over(value, fast) <= 1 + TOLERANCE and speed_over(slow, value) <= 1)

    def with_deployment(self, **changes: Any) -> Scenario | None:
        """The scenario deployed otherwise; None where that cannot be."""
        try:
            return changed(self.scenario, **changes)
        except RooflightError:
            return None

    def with_workload(self, **changes: Any) -> Scenario:
        """The scenario under another load."""
        sc = self.scenario
        return msgspec.structs.replace(sc, workload=msgspec.structs.replace(sc.workload, **changes))


def too_fast(sc: Scenario, row: Measurement, over: float, *, lengths: bool = True) -> TooFast:
    """The row's value, `over` times the speed of its ceiling."""
    return TooFast(scenario=sc, row=row, over=over, lengths=lengths)


def mix_ups(one: TooFast) -> Iterator[Finding]:
    """The readings that make the value possible, in the order in which the mistakes are usually made."""
    for kind in (_total_tokens, devices, _batch, speculative, formats, _cards, cached, _unit, cut_short):
        found = next(iter(kind(one)), None)
        if found is not None:
            yield found


def _total_tokens(one: TooFast) -> Iterator[Finding]:
    """Input and output tokens counted as output."""
    load, metric, step = one.scenario.workload, one.row.measures, one.row.timed is Timed.STEP
    if not load.osl or metric.time or metric.prompts or (step and not (one.lengths and metric.together)):
        return
    prompt = load.isl - load.cached_prefix if step else load.isl
    # a claim of a step says nothing of prompts, so that what is left must be what is expected
    if one.possible(one.scenario, (prompt + load.osl) / load.osl, slower=1 if step else _SLOWER):
        yield Finding("total tokens", one.row.value * load.osl / (prompt + load.osl))


def devices(one: TooFast) -> Iterator[Finding]:
    """A total given as a share of it, or more devices than said."""
    sc, metric, over = one.scenario, one.row.measures, one.over
    layout, batch = sc.layout, sc.workload.batch
    if metric.per_gpu and layout.devices > 1 and one.possible(sc, layout.devices):
        yield Finding("total for per-GPU", layout.devices)
    if metric.per_user and batch > 1 and one.possible(sc, batch):
        yield Finding("total for per-user", batch)
    for factor in (one for one in _DEVICES if one * _SPARE >= over):
        for change in ({"tp": layout.tp * factor}, {"dp": layout.dp * factor}, {"pp": layout.pp * factor}):
            more = one.with_deployment(**change)
            if more is not None and one.possible(more):
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
        if one.possible(one.with_workload(batch=batch, prefill_batch=prompts)):
            yield Finding("another batch", batch)
    if not single or timed.prompt:
        return
    for factor in enough:
        sc = one.with_workload(batch=load.batch * factor, prefill_batch=load.prefill_batch * factor)
        if one.possible(sc, factor):
            yield Finding("several sequences", factor)


def fewer(one: TooFast) -> Iterator[Finding]:
    """Fewer sequences at once than said, for a time or a user's rate."""
    batch = one.scenario.workload.batch // 2
    if one.row.measures.together or one.row.timed is Timed.PREFILL:
        return
    while batch >= 1:
        if one.possible(one.with_workload(batch=batch)):
            yield Finding("fewer sequences", batch)
        batch //= 2


def speculative(one: TooFast) -> Iterator[Finding]:
    """Speculative decoding: several tokens a step, none of them for nothing where experts are many."""
    if one.row.timed.prompt or one.scenario.workload.draft_tokens or one.row.speculative == "no":
        return
    for accepted in range(1, _ACCEPTED + 1):
        if (accepted + 1) * _SPARE < one.over:
            continue
        if one.possible(one.with_workload(draft_tokens=accepted, acceptance=1.0, draft_share=0.0)):
            yield Finding("speculative decoding", accepted)


def formats(one: TooFast) -> Iterator[Finding]:
    """A narrower format than said, of the weights, of the KV cache, or of both."""
    for name in narrower(one, one.scenario.deployment.kv_cache):
        yield Finding("number format", (name, None))
    if one.scenario.numbers.kv_bytes <= element_bytes("fp8"):
        return
    sc = one.with_deployment(kv_cache="fp8", cache_type_k=None, cache_type_v=None)
    if sc is not None and one.possible(sc):
        yield Finding("number format", (None, "fp8"))
    for name in narrower(one, "fp8"):
        yield Finding("number format", (name, "fp8"))


def narrower(one: TooFast, kv_cache: str | None) -> Iterator[str]:
    """The weight formats narrower than said that the card can compute in, widest first, under which it is possible."""
    said = _said(one.scenario)
    if one.over > _MOST_BY_FORMAT:
        return
    for name in _NARROWER:
        form = format_named(name)
        if form.bits > said.bits or (form.bits == said.bits and (said.activations or not form.activations)):
            continue
        if not has_path(one.scenario.accelerator, form):
            continue
        sc = one.with_deployment(weights=name, compute=None, kv_cache=kv_cache)
        if sc is not None and one.possible(sc):
            yield name


def has_path(card: Accelerator, form: Format) -> bool:
    """Whether the card multiplies in the format; weights that are only kept in it need no such products."""
    if form.activations is None or form.compute is None:
        return True
    return hardware_format(card, form.compute) == form.compute and not unrated(card, (form.compute,))


def _said(sc: Scenario) -> Format:
    """The weights' format; of a checkpoint in several, the widest of a layer's matrices."""
    if sc.replaced is not None:
        return sc.replaced
    matrices = [matrix for layer in sc.model.layers for matrix in (*layer.projections, *layer.mlp)]
    # the plan's own formats, blends among them: no question named these
    stored = [format_named(matrix.format, None) for matrix in matrices]
    return max(stored, key=lambda form: form.bits, default=format_named(sc.model.dtype, None))


def _cards(one: TooFast) -> Iterator[Finding]:
    """Another accelerator of the family: the slowest that could do it."""
    from rooflight.catalog.accelerators import all_accelerators

    sc, time = one.scenario, one.row.measures.time
    several = sc.accelerator.joined or sc.accelerator.origin.endswith(SPREAD)
    if several:  # no one card takes their place
        return
    own = (sc.accelerator.family, sc.accelerator.vendor)
    fitting: list[tuple[float, str]] = []
    for card in all_accelerators():
        if (card.family, card.vendor) != own or card.id == sc.accelerator.id or _gain(card, sc) * _SPARE < one.over:
            continue
        try:
            other = changed(sc, accelerator=card)
            if holds_weights(other) and one.possible(other):
                most = ceiling(other, one.row)
                fitting.append((-most if time else most, card.id))
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


def cached(one: TooFast) -> Iterator[Finding]:
    """A prompt of which most was cached already."""
    load = one.scenario.workload
    if one.row.timed.step or load.isl < 2:
        return
    for share in (0.5, 0.9, 1):
        tokens = max(int((load.isl - 1) * share), load.cached_prefix)
        if one.possible(one.with_workload(cached_prefix=tokens)):
            yield Finding("cached prefix", (tokens, load.isl))


def cut_short(one: TooFast) -> Iterator[Finding]:
    """Generation that ended before output_len: an end-of-sequence token was not ignored."""
    osl = one.scenario.workload.osl
    if one.row.timed.step or one.row.timed.prompt or one.row.measures.per_user:
        return
    tokens = osl // 2
    while tokens >= 1:
        # a rate is what was asked for over the time that fewer took
        prompt = one.scenario.workload.isl if one.row.measures.prompts else 0
        times = 1 if one.row.measures.time else (prompt + osl) / (prompt + tokens)
        if one.possible(one.with_workload(osl=tokens), times):
            yield Finding("cut short", (tokens, osl))
        tokens //= 2


def _unit(one: TooFast) -> Iterator[Finding]:
    """Seconds where milliseconds are wanted."""
    if one.row.measures.time and one.possible(one.scenario, 1 / _MS):
        yield Finding("unit")
