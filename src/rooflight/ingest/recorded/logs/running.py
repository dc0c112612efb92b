"""The lines that engines print while they serve: requests that run and wait, tokens a second, use of the cache."""

from __future__ import annotations

import re

from rooflight.ingest.recorded.logs.start import number
from rooflight.values.recorded import Watched

# A log of days has a line every ten seconds: so many are kept, the last ones.
_MOST = 2000
_PERCENT = 100


class Steps:
    """What an engine says of itself while it runs. A log's clock has no year or no zone, so no start is claimed."""

    def __init__(self, engine: str) -> None:
        self._engine = engine
        self._watched: list[Watched] = []
        self._cut = 0

    def vllm(self, found: re.Match[str]) -> None:
        """A line of vLLM's statistics, means of the interval since the last."""
        self._add(
            Watched(
                subject=self._subject(found["engine"]), kind="engine", span="interval", engine=self._engine,
                running=number(found["running"]), waiting=number(found["waiting"]), swapped=number(found["swapped"]),
                kv_usage=_share(found["usage"]), prefix_hit=_share(found["hit"]),
                prompt_tokens_per_s=number(found["prompt"]), output_tokens_per_s=number(found["output"]),
            )
        )  # fmt: skip

    def sglang(self, rank: str | None, values: dict[str, str]) -> None:
        """A line of SGLang's decode batches."""
        self._add(
            Watched(
                subject=self._subject(rank), kind="engine", span="interval", engine=self._engine,
                running=number(values.get("#running-req")), waiting=number(values.get("#queue-req")),
                kv_usage=number(values.get("token usage", values.get("full token usage"))),
                output_tokens_per_s=number(values.get("gen throughput (token/s)")),
                acceptance=number(values.get("accept rate")),
            )
        )  # fmt: skip

    @property
    def watched(self) -> tuple[Watched, ...]:
        """The lines that are kept."""
        return tuple(self._watched[-_MOST:])

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out."""
        lines = self._cut + len(self._watched)
        return (f"the last {_MOST:,} of {lines:,} lines of the running engine are taken",) if lines > _MOST else ()

    def _subject(self, which: str | None) -> str:
        return self._engine if which is None else f"{self._engine} {which}"

    def _add(self, one: Watched) -> None:
        self._watched.append(one)
        if len(self._watched) > 2 * _MOST:
            self._cut += len(self._watched) - _MOST
            self._watched = self._watched[-_MOST:]


def _share(text: str | None) -> float | None:
    value = number(text)
    return None if value is None else value / _PERCENT
