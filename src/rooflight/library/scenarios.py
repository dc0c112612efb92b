"""Scenarios side by side: two of them, or several on one mix of requests. Each differs in whatever it does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rooflight.scenario.definite import Scenario

if TYPE_CHECKING:
    from rooflight.values.comparison import Comparison
    from rooflight.values.pair import Pair


def pair(before: Scenario, after: Scenario, *, prices: Mapping[str, float] | None = None) -> Pair:
    """What each of two scenarios gets, and how many times as good the second is, expected first.

    Raises BadInput for what is no price.
    """
    from rooflight.answers.pair import pair as paired
    from rooflight.catalog.prices import prices_of
    from rooflight.words.pair import told

    dollars = prices_of(prices or {}, [sc.accelerator for sc in (before, after)])
    return told(paired(before, after, prices=dollars))


def compared(
    named: Mapping[str, Scenario],
    *,
    log: str | Path | Iterable[Sequence[Any]] | None = None,
    log_columns: Sequence[str] | None = None,
    objective: str = "throughput",
    baseline: str | None = None,
    prices: Mapping[str, float] | None = None,
    largest: bool = False,
) -> Comparison:
    """Scenarios by name on one mix of requests: a log, or the lengths of the baseline (left out: the first).

    Each with its own requests in flight, or with `largest` as many as fit. The rest is as of rooflight.compare.
    """
    from rooflight.answers.compare.inputs import log_of
    from rooflight.answers.compare.named import compared as found
    from rooflight.catalog.prices import prices_of
    from rooflight.words.comparison import told

    return told(
        found(
            tuple(named.items()), log=log_of(log, log_columns), objective=objective, baseline=baseline,
            prices=prices_of(prices or {}, [sc.accelerator for sc in named.values()]), largest=largest,
        )
    )  # fmt: skip
