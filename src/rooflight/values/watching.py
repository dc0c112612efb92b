"""Monitoring that is watched while it runs."""

from __future__ import annotations

import math

import msgspec

from rooflight.errors import BadInput, Named

RANGE_S = 900.0
STEP_S = 15.0
INTERVAL_S = 10.0
TIMEOUT_S = 30.0
_LONGEST_S = 31 * 86_400.0


class Watching(msgspec.Struct, frozen=True, kw_only=True):
    """What is watched: a Prometheus server, /metrics addresses, or both.

    prometheus  address of a server; selector: label matchers that narrow it; range_s: so far back, in steps of step_s
    scrape      /metrics addresses, each read twice, interval_s apart
    headers     of every request; timeout_s: of an answer
    """

    prometheus: str | None = None
    selector: str = ""
    range_s: float = RANGE_S
    step_s: float = STEP_S
    scrape: tuple[str, ...] = ()
    interval_s: float = INTERVAL_S
    headers: dict[str, str] = {}
    timeout_s: float = TIMEOUT_S

    def __post_init__(self) -> None:
        for name in ("range_s", "step_s", "interval_s", "timeout_s"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not math.isfinite(value) or not 0 < value <= _LONGEST_S:
                raise BadInput(
                    f"{name} cannot be that", where=Named.of(name.removesuffix("_s")), got=value,
                    want=f"seconds, more than 0, up to {_LONGEST_S:,.0f}",
                )  # fmt: skip
        if self.prometheus is None and not self.scrape:
            raise BadInput(
                "there is nothing to watch", where=Named.of("prometheus"), got="no address",
                want=Named("{prometheus}, or {scrape}"),
            )  # fmt: skip
