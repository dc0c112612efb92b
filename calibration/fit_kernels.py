"""Fit the expected time of kernels and write a TOML a device family, and kernels_report.md.

    python calibration/fit_kernels.py --data DATA [--out FOLDER]

The data folder holds kernels/{gemm,attention_context,attention_generation,comm}.parquet (or .csv) with the columns that
README.md lists. Without --out the library's own calibration is rewritten.
"""

from __future__ import annotations

import argparse
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):  # the arrays are long and thin: threads only get in the way
    os.environ.setdefault(_name, "1")
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "src")]

import families  # noqa: E402
import numpy as np  # noqa: E402
import report  # noqa: E402
import rows as tables  # noqa: E402
from fitting import SEED, Fitted, fit, sample  # noqa: E402
from links import fit_links  # noqa: E402
from provenance import data_of  # noqa: E402
from rows import FAMILIES, PACKAGE, TABLES, Rows  # noqa: E402

from rooflight.values.calibration import Data, Error  # noqa: E402

SOURCE = f"{PACKAGE} (Apache-2.0 package), kernel tables; graph-timed, clocks at maximum"
TARGET = Path(__file__).parents[1] / "src" / "rooflight" / "catalog" / "calibration"
TEST_ROWS = 20_000
COVERED = 0.8  # what an interval is to hold
LEVELS = np.arange(0.78, 0.96, 0.01)  # nominal levels tried until rows that did not set it are covered so well
SPREADS = np.arange(1, 3.01, 0.02)
FOLDS = 3


@dataclass(kw_only=True)
class Result:
    """A fit of one kind and format on one family, and how it fared on rows it never saw."""

    family: str
    kind: str
    form: str
    fitted: Fitted
    data: Data
    held_out: str
    error: np.ndarray  # signed, of held-out rows
    plain_error: np.ndarray  # the same without engine factors
    coverage: float
    low: float
    high: float
    spread: float
    labels: Any
    shape_error: float
    own_error: float
    elsewhere: dict[str, float] = field(default_factory=dict)

    def struct(self) -> Any:
        """The fit as it goes into the catalog."""
        error = Error(
            rows=self.data.rows, median=round(float(np.median(abs(self.error))), 4), coverage=round(self.coverage, 3),
            held_out=self.held_out,
        )  # fmt: skip
        # both sides of 1, even where the fit is a little off on the whole
        low, high = round(min(self.low, 0.97), 3), round(max(self.high, 1.03), 3)
        return self.fitted.struct(low=low, high=high, error=error, data=self.data)


def held_out(part: Rows, systems: tuple[str, ...]) -> list[tuple[Rows, Rows]]:
    """Pairs of (fitted, unseen) rows: by accelerator where the family has two, else by shape in thirds."""
    system = part.labels["system"].to_numpy()
    if len(systems) > 1:
        first, second = (part.take(np.flatnonzero(system == name)) for name in systems)
        return [(first, second), (second, first)]
    return by_shape(part)


def by_shape(part: Rows) -> list[tuple[Rows, Rows]]:
    """Pairs of (fitted, unseen) rows whose shapes (of weights, of heads) have nothing in common."""
    shapes = part.labels["shape"].to_numpy()
    names = np.unique(shapes)
    fold_of = dict(zip(names, np.random.default_rng(SEED).permutation(len(names)) % FOLDS, strict=True))
    fold = np.array([fold_of[name] for name in shapes])
    return [(part.take(np.flatnonzero(fold != k)), part.take(np.flatnonzero(fold == k))) for k in range(FOLDS)]


def study(family: str, part: Rows) -> Result:
    """Fit, held-out errors, interval and its coverage: an interval is judged on rows that did not set it."""
    systems = FAMILIES[family]
    tried = []
    for seen, unseen in held_out(part, systems):
        test = sample(unseen, TEST_ROWS)
        fitted = fit(seen)
        tried.append((test, fitted.seconds(test), fitted.seconds(test, engines=False)))
    ratios = [test.seconds / seconds for test, seconds, _ in tried]
    level = next((level for level in LEVELS if cross_coverage(ratios, level) >= COVERED), LEVELS[-1])
    low, high = np.quantile(np.concatenate(ratios), [(1 - level) / 2, (1 + level) / 2])
    plain = np.concatenate([test.seconds / seconds for test, _, seconds in tried])
    spread = next(s for s in SPREADS if np.mean((plain >= low / s) & (plain <= high * s)) >= COVERED)
    seen, unseen = by_shape(part)[0]
    shape_error = np.median(abs(fit(seen).error(sample(unseen, TEST_ROWS))))
    final = fit(part)
    return Result(
        family=family, kind=part.kind, form=part.form, fitted=final,
        data=data_of(part.lines, [f"{PACKAGE}, table {TABLES[part.kind]}"]),
        held_out="the other accelerator" if len(systems) > 1 else "a third of the shapes",
        error=np.concatenate([seconds / test.seconds - 1 for test, seconds, _ in tried]),
        plain_error=np.concatenate([seconds / test.seconds - 1 for test, _, seconds in tried]),
        coverage=cross_coverage(ratios, level), low=float(low), high=float(high), spread=float(spread),
        shape_error=float(shape_error), own_error=float(np.median(abs(final.error(sample(part, TEST_ROWS))))),
        labels=report.labels_of([test for test, _, _ in tried]),
    )  # fmt: skip


def cross_coverage(ratios: list[np.ndarray], level: float) -> float:
    """Share of measured/expected inside the interval of that level which the other splits' ratios set."""
    inside = []
    for index, ratio in enumerate(ratios):
        others = np.concatenate(ratios[:index] + ratios[index + 1 :])
        low, high = np.quantile(others, [(1 - level) / 2, (1 + level) / 2])
        inside.append(np.mean((ratio >= low) & (ratio <= high)))
    return float(np.mean(inside))


def jobs(data: Path) -> list[tuple[str, Rows]]:
    """Every family and format with enough rows."""
    found = []
    for part in (*tables.gemm_rows(data), *tables.decode_rows(data), *tables.prefill_rows(data)):
        system = part.labels["system"].to_numpy()
        for family, systems in FAMILIES.items():
            chosen = np.flatnonzero(np.isin(system, systems))
            if len(chosen):
                found.append((family, part.take(chosen)))
    return found


def _study(job: tuple[str, Rows]) -> Result:
    return study(*job)


def elsewhere(results: list[Result], work: list[tuple[str, Rows]]) -> None:
    """A sanity row: each family's fit on every other family's devices, engine factors included."""
    for result in results:
        for family, part in work:
            if family != result.family and (part.kind, part.form) == (result.kind, result.form):
                error = result.fitted.error(sample(part, TEST_ROWS // 4))
                result.elsewhere[family] = float(np.median(abs(error)))


def main() -> None:
    """Fit everything, write everything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder with kernels/*.parquet")
    parser.add_argument("--out", type=Path, default=TARGET, help="where the files of the families go")
    parser.add_argument("--report", type=Path, default=Path(__file__).with_name("kernels_report.md"))
    parser.add_argument("--only", help="one family, for a quick look; the report then covers it alone")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    work = [job for job in jobs(options.data) if options.only in (None, job[0])]
    with ProcessPoolExecutor(options.workers) as pool:
        results = list(pool.map(_study, work))
    elsewhere(results, work)
    found_links = fit_links(options.data)
    today = datetime.now(UTC).date().isoformat()
    options.out.mkdir(parents=True, exist_ok=True)
    for family in dict.fromkeys(result.family for result in results):
        own = [(result.kind, result.form, result.struct()) for result in results if result.family == family]
        text = families.text(family, own, found_links, date=today, source=SOURCE)
        (options.out / f"{family.lower()}.toml").write_text(text, encoding="utf-8")
    text = report.text(results, found_links, source=SOURCE, date=today)
    options.report.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
