"""Deployments that were compared on a mix of requests, as bars of what decided between them."""

from __future__ import annotations

from collections.abc import Callable

from rooflight.show import numbers
from rooflight.show.charts.chart import Chart
from rooflight.show.charts.layers import finished
from rooflight.show.charts.place import Datasets, Rows
from rooflight.show.charts.strips import axis_x, bar, behind, ends, interval, names, strips, ticks, tips
from rooflight.show.charts.theme import STANDARD, Look
from rooflight.span import Span
from rooflight.values.comparison import OBJECTIVES, Comparison, Whole

MOST = 20
_READ = (
    "Bars: what a well-run engine gets, with its interval as a line. The short upright line is the ceiling: nothing "
    "real is better."
)
_SEEN = " Of a machine that was measured it is the fastest seen there."
# Objective: what of a run is drawn, and its unit.
_DRAWN: dict[str, tuple[Callable[[Whole], Span | None], str]] = {
    "throughput": (lambda one: one.output_tokens_per_s, "tok/s"),
    "accelerator": (lambda one: one.output_tokens_per_s_per_accelerator, "tok/s each"),
    "latency": (lambda one: one.output_tokens_per_s_per_user, "tok/s a user"),
    "cost": (lambda one: one.tokens_per_usd, "tok a dollar"),
    "energy": (lambda one: one.tokens_per_joule, "tok a joule"),
}
# Where no token is put out.
_REQUESTS: tuple[Callable[[Whole], Span | None], str] = (lambda one: one.requests_per_s, "requests a second")


def rows(found: Comparison, look: Look = STANDARD) -> Datasets:
    """A bar a deployment in the order of the comparison, its interval and its ceiling; none where it has no times."""
    value_of, unit = _DRAWN[found.objective] if found.mix.osl else _REQUESTS
    bars: Rows = []
    spans: Rows = []
    tops: Rows = []
    for number, one in enumerate(found.compared[:MOST]):
        span = None if one.request is None else value_of(one.request)
        said = one.reason or "not known"
        value_said = "no times" if span is None else f"{numbers.plain(span.expected)} {unit}"
        same = {"row": number, "name": one.label, "said": said if span is None else value_said + _between(span)}
        value, end = (0.0, 0.0) if span is None else (span.expected, max(span.expected, span.ceiling))
        most = "" if span is None else f", {'' if look.narrow else 'at the '}ceiling {numbers.plain(span.ceiling)}"
        text = value_said + most
        bars.append({**same, "x": 0.0, "x2": value, "end": end, "text": text, "hue": str(number % 4 + 1)})
        if span is not None:
            tops.append({**same, "x": span.ceiling, "hue": "ink"})
        if span is not None and span.low is not None and span.high is not None:
            spans.append({**same, "low": span.low, "high": span.high})
    return {
        "bars": bars,
        "interval": spans,
        "ceilings": tops,
        "ends": ends([row["end"] for row in bars], look, [row["text"] for row in bars]),
    }


def _between(span: Span) -> str:
    if span.low is None or span.high is None:
        return ""
    return f" ({numbers.plain(min(span.low, span.high))} to {numbers.plain(max(span.low, span.high))})"


def compared(found: Comparison, *, look: Look = STANDARD) -> Chart:
    """Deployments side by side, by what the comparison was asked for."""
    data = rows(found, look)
    told = tips("scenario", "expected")
    layers = [
        *names("bars", look, told), bar("bars", look, told), *interval("interval", look, told),
        ticks("ceilings", look, told), *behind("bars", look, told),
    ]  # fmt: skip
    what = OBJECTIVES[found.objective] if found.mix.osl else _REQUESTS[1]
    main = strips(look, len(data["bars"]), axis_x(what), layers)
    more = (f"The first {MOST} are drawn.",) if len(found.compared) > MOST else ()
    notes = (_READ + (_SEEN if found.measured else ""), *more)
    return finished("compared", main, data, look, start=0, title=found.answer, notes=notes)
