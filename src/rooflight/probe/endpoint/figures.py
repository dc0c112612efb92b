"""What the requests of a load come to: percentiles, rates, goodput."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from rooflight.probe.timing import quantiles
from rooflight.values.endpoint import PERCENTILES, Driven, Figures, Load, Sent, Spread
from rooflight.values.sample import Origin, Sample, Timing

# A millionth of a second is less than a client can tell.
_DIGITS = 6


def figures(driven: Driven) -> Figures:
    """Times and tokens of the requests that were answered whole, rates over the time from the first to the last.

    Tokens of faults are in no rate; the time that they took is.
    """
    sent, load, span_s = driven.loaded, driven.load, driven.span_s
    whole = [one for one in sent if one.ok]
    outcomes: dict[str, int] = dict(Counter(str(one.outcome) for one in sent).most_common())
    if not whole or span_s <= 0:
        return Figures(requests=len(sent), answered=0, outcomes=outcomes, span_s=span_s)
    out, prompts = sum(one.osl or 0 for one in whole), [one.isl for one in whole if one.isl is not None]
    counted, known = all(one.counted for one in whole), len(prompts) == len(whole)
    goals = load.ttft_slo_s is not None or load.tpot_slo_s is not None
    judged = Counter(kept(one, load) for one in whole) if goals else Counter[bool | None]()
    good = judged[True] if goals and judged[None] < len(whole) else None
    return Figures(
        requests=len(sent), answered=len(whole), outcomes=outcomes, span_s=span_s,
        in_flight=sum(one.end_s for one in sent) / span_s,
        isl=sum(prompts) / len(whole) if known else None, osl=out / len(whole),
        cached=_mean([one.cached for one in whole if one.cached is not None]),
        ttft_s=spread(one.ttft_s for one in whole), tpot_s=spread(one.tpot_s for one in whole),
        itl_s=spread(gap for one in whole for gap in one.gaps_s), request_s=spread(one.end_s for one in whole),
        requests_per_s=len(whole) / span_s, output_tokens_per_s=out / span_s,
        total_tokens_per_s=(out + sum(prompts)) / span_s if known else None,
        goodput_per_s=None if good is None else good / span_s, good=good, untold=judged[None],
        tokens_a_chunk=out / sum(len(one.chunks_s) for one in whole) if counted else None,
        late_s=max(one.late_s for one in sent),
    )  # fmt: skip


def kept(one: Sent, load: Load) -> bool | None:
    """Whether a request kept both goals; None where its TPOT would decide and cannot be told.

    One token has no time per token to miss. Several in one chunk have one that nobody saw.
    """
    first = load.ttft_slo_s is None or (one.ttft_s is not None and one.ttft_s <= load.ttft_slo_s)
    if not one.ok or not first or load.tpot_slo_s is None:
        return one.ok and first
    if one.tpot_s is not None:
        return one.tpot_s <= load.tpot_slo_s
    alone = one.osl == 1 and len(one.chunks_s) == 1 and (one.counted or load.osl == 1)
    return True if alone else None


def spread(values: Iterable[float | None]) -> Spread | None:
    """Mean and percentiles of the values that are there, linear between neighbours; None of none.

    Check: 1, 2, 3, 4, 5 -> mean 3, p50 3, p90 4.6, p95 4.8, p99 4.96.
    """
    there = [value for value in values if value is not None]
    if not there:
        return None
    found = quantiles(there, [share / 100 for share in PERCENTILES])
    of_hundred = {f"p{share}": value for share, value in zip(PERCENTILES, found, strict=True)}
    return Spread(mean=sum(there) / len(there), n=len(there), **of_hundred)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def sample(
    one: Sent, load: Load, *, model: str, start: str, device: str | None, count: int, source: Origin
) -> Sample:  # fmt: skip
    """A request as a Sample of kind `request`; its name is its stage, its outcome beside it."""
    return Sample(
        kind="request", name=one.stage, model=model, device=device, count=count,
        time_s=Timing(median=one.end_s, low=one.end_s, high=one.end_s), batch=load.concurrency, isl=one.isl,
        osl=one.osl, tokens_per_s=one.osl / one.end_s if one.ok and one.osl and one.end_s else None,
        outcome=one.outcome, why=one.why or None, begun_s=one.start_s, ttft_s=one.ttft_s,
        gaps_s=tuple(round(gap, _DIGITS) for gap in one.gaps_s), source=source, start=start,
    )  # fmt: skip
