"""Monitoring that is watched while it runs."""

from __future__ import annotations

import math

import msgspec
import msgspec.structs

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
        self._typed()
        for name in ("range_s", "step_s", "interval_s", "timeout_s"):
            value = getattr(self, name)
            if (
                isinstance(value, bool)
                or not isinstance(value, int | float)
                or not math.isfinite(value)
                or not 0 < value <= _LONGEST_S
            ):
                raise BadInput(
                    f"{name} cannot be that", where=Named.of(name.removesuffix("_s")), got=value,
                    want=f"seconds, more than 0, up to {_LONGEST_S:,.0f}",
                )  # fmt: skip
        if self.prometheus is None and not self.scrape:
            raise BadInput(
                "there is nothing to watch", where=Named.of("prometheus"), got="no address",
                want=Named("{prometheus}, or {scrape}"),
            )  # fmt: skip

    def _typed(self) -> None:
        """One address stands for itself. Raises BadInput for what is of another kind; of headers nothing is shown."""
        given: object = self.scrape
        if isinstance(given, str | list):
            msgspec.structs.force_setattr(self, "scrape", (given,) if isinstance(given, str) else tuple(given))
        kinds = {
            "prometheus": (self.prometheus is None or isinstance(self.prometheus, str), "an address"),
            "selector": (isinstance(self.selector, str), "label matchers"),
            "scrape": (
                isinstance(self.scrape, tuple) and all(isinstance(one, str) for one in self.scrape), "addresses"
            ),
            "headers": (
                isinstance(self.headers, dict)
                and all(isinstance(one, str) for pair in self.headers.items() for one in pair),
                "names and values, all of them text",
            ),
        }  # fmt: skip
        for name, (right, want) in kinds.items():
            if not right:
                raise BadInput(
                    f"{name} cannot be that", where=Named.of(name.removesuffix("s") if name == "headers" else name),
                    got=type(getattr(self, name)).__name__, want=want,
                )  # fmt: skip
