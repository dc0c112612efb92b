"""What a Prometheus server keeps of devices and engines, as scrapes at equal steps: one for each instance and time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import msgspec

from rooflight.errors import BadInput, Named
from rooflight.ingest.live.http import fetch, shown
from rooflight.values.scraped import Scrape, Series
from rooflight.values.watching import TIMEOUT_S

# Prometheus refuses more points of a series than this.
_MOST_POINTS = 11_000
_SELECTOR = re.compile(r'\{?\s*((?:[a-zA-Z_]\w*\s*(?:=~|!~|!=|=)\s*"(?:[^"\\]|\\.)*"\s*,?\s*)*)\}?')


class _Native(msgspec.Struct):
    """A histogram in one sample; buckets: which bounds are in, the lower, the upper, how many between them.

    https://prometheus.io/docs/prometheus/latest/querying/api/#native-histograms
    """

    count: str
    sum: str
    buckets: list[tuple[int, str, str, str]] = []

    def series(self, name: str, labels: dict[str, str]) -> Iterator[Series]:
        """As the series of a histogram that is written out."""
        count, total = _number(self.count), _number(self.sum)
        if count is None or total is None:
            return
        yield Series(f"{name}_count", labels, count)
        yield Series(f"{name}_sum", labels, total)
        below = 0.0
        for _, _, upper, amount in self.buckets:
            below += _number(amount) or 0.0
            yield Series(f"{name}_bucket", {**labels, "le": upper}, below)
        yield Series(f"{name}_bucket", {**labels, "le": "+Inf"}, count)


class _Sequence(msgspec.Struct):
    metric: dict[str, str]
    values: list[tuple[float, str]] = []
    histograms: list[tuple[float, _Native]] = []


class _Data(msgspec.Struct):
    result: list[_Sequence]


class _Answer(msgspec.Struct):
    status: str
    data: _Data | None = None
    error: str = ""


def history(
    url: str, names: Iterable[str], *, end_s: float, range_s: float, step_s: float, selector: str = "",
    headers: Mapping[str, str] | None = None, timeout_s: float = TIMEOUT_S,
) -> tuple[Scrape, ...]:  # fmt: skip
    """The series of those names over a range that ends at `end_s` (since 1970), at each step where there is one.

    names       patterns of metrics' names, as regular expressions; selector: further label matchers of PromQL

    A step at which a series is missing has it not: gaps stay gaps. Raises BadInput where the server cannot be asked,
    refuses, or answers with something else.
    """
    if step_s <= 0 or range_s <= 0 or range_s / step_s > _MOST_POINTS:
        raise BadInput(
            "that range has too many steps, or none", where=Named.of("range"),
            got=f"{range_s:g} s in steps of {step_s:g} s", want=f"at most {_MOST_POINTS:,} steps",
        )  # fmt: skip
    asked = f'{{__name__=~"{"|".join(names)}"{_matchers(selector)}}}'
    form = urlencode(
        {"query": asked, "start": f"{end_s - range_s:.3f}", "end": f"{end_s:.3f}", "step": f"{step_s:.3f}"}
    )
    named, where = shown(url), _asked_at(url)
    try:
        answer = msgspec.json.decode(
            fetch(where, headers, form=form, timeout_s=timeout_s), type=_Answer, strict=False
        )  # fmt: skip
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise BadInput(
            f"{named} is no Prometheus server", where=shown(where), got=str(error)[:160], want="its HTTP API",
            try_this="the address without a path, as http://localhost:9090; --scrape URL for a /metrics address",
        ) from None  # fmt: skip
    if answer.status != "success" or answer.data is None:
        raise BadInput(
            f"{named} refuses the question",
            where=shown(where),
            got=answer.error[:200] or answer.status,
            want="an answer",
        )
    return tuple(_scrapes(answer.data.result))


def _asked_at(url: str) -> str:
    """Where a server is asked for a range; a query of its address (a tenant, a key) stays."""
    address, mark, query = url.strip().partition("?")
    return f"{address.rstrip('/')}/api/v1/query_range{mark}{query}"


def _matchers(selector: str) -> str:
    """A selector's matchers, to stand behind the first. Raises BadInput for what is none."""
    given = selector.strip()
    whole = _SELECTOR.fullmatch(given)
    if whole is None or given.startswith("{") != given.endswith("}"):
        raise BadInput(
            "this is no selector",
            where=Named.of("selector"),
            got=selector[:120],
            want='label matchers, as namespace="prod"',
        )
    inner = whole[1].strip().rstrip(",")
    return f", {inner}" if inner else ""


def _scrapes(found: Sequence[_Sequence]) -> Iterator[Scrape]:
    """Series turned round: all of one time together, in the order of time."""
    by_time: dict[float, list[Series]] = {}
    for one in found:
        name = one.metric.get("__name__", "")
        labels = {label: value for label, value in one.metric.items() if label != "__name__"}
        for time_s, text in one.values:
            value = _number(text)
            if value is not None:
                by_time.setdefault(time_s, []).append(Series(name, labels, value))
        for time_s, histogram in one.histograms:
            by_time.setdefault(time_s, []).extend(histogram.series(name, labels))
    for time_s in sorted(by_time):
        yield Scrape(series=tuple(by_time[time_s]), time_s=time_s)


def _number(text: Any) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
