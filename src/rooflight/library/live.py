"""Monitoring read while it runs: a Prometheus server's last minutes, or /metrics addresses twice."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from rooflight.errors import BadInput
from rooflight.values.watching import Watching

if TYPE_CHECKING:
    from rooflight.values.recorded import Recorded
    from rooflight.values.scraped import Scrape


class Watcher:
    """Reads what is watched, again and again; an address is compared with its last reading."""

    def __init__(self, watching: Watching, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self.watching, self._sleep = watching, sleep
        self._before: dict[str, tuple[str, float]] = {}

    def read(self) -> list[Recorded]:
        """What there is now. The first reading of an address waits for its second. Raises BadInput."""
        found = [] if self.watching.prometheus is None else [self._kept(self.watching.prometheus)]
        if self.watching.scrape:
            found += self._scraped()
        return found

    def _kept(self, url: str) -> Recorded:
        """What a Prometheus server has of the range."""
        from rooflight.ingest.live.http import shown
        from rooflight.ingest.live.prometheus import history
        from rooflight.ingest.recorded.monitoring.replicas import asked

        at = self.watching
        scrapes = history(
            url, asked(), end_s=time.time(), range_s=at.range_s, step_s=at.step_s, selector=at.selector,
            headers=at.headers, timeout_s=at.timeout_s,
        )  # fmt: skip
        if not scrapes:
            raise BadInput(
                f"{shown(url)} has no metrics of an engine or an accelerator", where=shown(url),
                got=f"nothing in the last {at.range_s:g} s" + (f" with {at.selector}" if at.selector else ""),
                want="metrics of DCGM's exporter, vLLM, SGLang, TGI, llama.cpp ...",
                try_this="a longer range, a wider selector, or whether its targets are up and its clock is right",
            )  # fmt: skip
        return _recorded(shown(url), "prometheus", scrapes)

    def _scraped(self) -> list[Recorded]:
        from rooflight.ingest.live.http import shown
        from rooflight.ingest.recorded.monitoring.between import watched_between
        from rooflight.ingest.recorded.monitoring.exposition import read_text

        addresses = tuple(dict.fromkeys(self.watching.scrape))
        new = [url for url in addresses if url not in self._before]
        for url in new:
            self._before[url] = self._text(url)
        if new:
            self._sleep(self.watching.interval_s)
        found = []
        for url in addresses:
            text, time_s = self._text(url)
            before, earlier_s = self._before[url]
            self._before[url] = text, time_s
            now = read_text(text, shown(url))
            lately = watched_between(before, text, time_s - earlier_s)
            devices = tuple(one for one in now.watched if one.kind == "device")
            engines = lately.watched or tuple(one for one in now.watched if one.kind == "engine")
            notes = tuple(dict.fromkeys((*now.notes, *lately.notes))) if not lately.watched else lately.notes
            found.append(replace(now, format="metrics", watched=(*engines, *devices), lacks=(), notes=notes))
        return found

    def _text(self, url: str) -> tuple[str, float]:
        from rooflight.ingest.live.http import fetch
        from rooflight.ingest.recorded.source import decoded

        body = fetch(url, self.watching.headers, timeout_s=self.watching.timeout_s)
        return decoded(body), time.monotonic()


def _recorded(url: str, form: str, scrapes: Sequence[Scrape]) -> Recorded:
    """Scrapes at equal steps: each accelerator at each, each replica between each and the next."""
    from rooflight.ingest.recorded.monitoring.devices import devices
    from rooflight.ingest.recorded.monitoring.kept import kept
    from rooflight.values.recorded import Recorded

    notes: list[str] = []
    watched = [one for scrape in scrapes for one in devices(scrape, notes)]
    seen = kept(scrapes)
    watched += seen.watched
    notes += seen.notes
    if not watched:
        from rooflight.ingest.recorded.monitoring.replicas import engines
        from rooflight.ingest.recorded.monitoring.totals import lifetime, moment

        last = engines(scrapes[-1])
        watched = [one for each in last for one in (moment(each), lifetime(each)) if one is not None]
    return Recorded(
        file=url, format=form, tool="Prometheus", watched=tuple(watched), notes=tuple(dict.fromkeys(notes))
    )  # fmt: skip


def headers_named(lines: Sequence[str], api_key_env: str | None) -> dict[str, str]:
    """Headers of lines `Name: value`, with the key in a variable of the environment as a bearer's. Raises BadInput."""
    from rooflight.library.served import key_of
    from rooflight.probe.endpoint.drive import header_lines, headers_of

    return headers_of(header_lines(lines), key_of(api_key_env))
