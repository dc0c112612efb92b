"""Verdicts counted as they pass; memory does not grow with their number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec import UNSET

from rooflight.answers.check.outcome import Judged, NoCeiling
from rooflight.values.measurement import Tally

# Errors are kept to a tenth of a per cent, up to tenfold: the median of a million rows needs no list of them.
_STEPS = 1000
_LARGEST_ERROR = 10


class Counts:
    """Counts of verdicts, and of errors against what was expected."""

    def __init__(self) -> None:
        self._verdicts: Counter[str] = Counter()
        self._errors: Counter[int] = Counter()
        self._total_error = 0.0
        self._covered = 0
        self._on_measured = 0
        self._faster_than_measured = 0

    def over(self, judged: Iterable[Judged | NoCeiling]) -> Iterator[Judged | NoCeiling]:
        """The rows, counted on their way."""
        for one in judged:
            self.add(one)
            yield one

    def add(self, one: Judged | NoCeiling) -> None:
        """Count a verdict. Rows above their ceiling or of an open batch say nothing of how good an expectation is."""
        self._verdicts[one.verdict] += 1
        if isinstance(one, NoCeiling):
            return
        if one.on_measured and one.verdict != "cannot-judge":
            self._on_measured += 1
            self._faster_than_measured += one.above
        if one.above or one.filled is not None or one.span.low is None:
            return
        if one.verdict not in ("ok", "fast", "slow"):
            return
        error = abs(one.span.expected - one.row.value) / one.row.value
        self._total_error += error
        self._errors[round(min(error, _LARGEST_ERROR) * _STEPS)] += 1
        self._covered += one.verdict == "ok"

    def take(self, other: Counts) -> None:
        """Those of other rows too."""
        self._verdicts.update(other._verdicts)
        self._errors.update(other._errors)
        self._total_error += other._total_error
        self._covered += other._covered
        self._on_measured += other._on_measured
        self._faster_than_measured += other._faster_than_measured

    def tally(self) -> Tally:
        """The counts so far."""
        counts, compared = self._verdicts, self._errors.total()
        return Tally(
            rows=counts.total(),
            judged=counts.total() - counts["cannot-judge"],
            ok=counts["ok"],
            fast=counts["fast"],
            slow=counts["slow"],
            impossible=counts["impossible"],
            cannot_judge=counts["cannot-judge"],
            median_error=self._median() if compared else None,
            mean_error=self._total_error / compared if compared else None,
            coverage=self._covered / compared if compared else None,
            on_measured_or_absent=self._on_measured or UNSET,
            faster_than_measured_or_absent=self._faster_than_measured if self._on_measured else UNSET,
        )

    def _median(self) -> float:
        half, seen = self._errors.total() / 2, 0
        for error in sorted(self._errors):
            seen += self._errors[error]
            if seen >= half:
                return error / _STEPS
        return 0.0
