"""docs/accuracy.md: how far off expected times are, by engine, source, accelerator, model, batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from engine_rows import Row

Group = tuple[tuple[str, str, str], list[Row], np.ndarray, np.ndarray]

HEAD = """# How accurate it is

Written by `python calibration/fit_engines.py` on {date}. Ceilings are not fitted; this page is about expected times.

An expected time is a sum of parts (kernels' bodies and floors, links, routed experts) from the kernel fits, each times
an engine's share, and the host's time a step. A share is fitted for each engine, device family and era ("2025": served
runs of vLLM, SGLang and TensorRT-LLM from aiconfigurator-core 0.12.0; "2024": offline runs of Argonne's
LLM-Inference-Bench and others). Errors below are |expected / measured - 1| on rows the fit did not see: fifths of the
operating points left out in turn, and whole models left out in turn. An engine seen with one or two models cannot be
judged by model: that column then says what one model tells of another, which is little for routed experts.

An interval is set from the errors of the fifths left out, so "coverage" counts the rows that set it and is flattering:
read it as how even the interval is, not as a test of it. "Coverage by model" counts models left out of the fit, and is
what to trust for a model that is not in these tables.

## By engine and family

| engine | family | era | rows | models | median | mean | p90 | by model, median | coverage | coverage by model |
|---|---|---|---|---|---|---|---|---|---|---|
"""


def write_report(path: Path, groups: Sequence[Group], entries: Sequence[dict[str, Any]], date: str) -> None:
    """Write the page: by engine and family, then by source, accelerator, model ..., then the worst rows."""
    lines = [HEAD.format(date=date)]
    own = [(group, entry) for group, entry in zip(groups, entries, strict=True)]
    for (key, found, fifths, models), entry in own:
        lines.append(_line(key, found, fifths, models, entry))
    judged = [(g, e) for g, e in own if g[0][1]]
    for title, key in (
        ("By source", lambda row: row.source),
        ("By accelerator", lambda row: row.accelerator),
        ("By model", lambda row: row.model),
        ("By sequences at once", lambda row: f"{2 ** int(np.log2(max(row.batch, 1)))} and more"),
        ("By what was measured", lambda row: row.what),
    ):
        lines += _table(title, judged, key)
    lines += _worst(judged)
    path.write_text("".join(lines))


def _covered(found: list[Row], ratio: np.ndarray, entry: dict[str, Any]) -> np.ndarray:
    routed = np.array([row.routed for row in found])
    low = np.where(routed, entry["moe_low"], entry["low"])
    high = np.where(routed, entry["moe_high"], entry["high"])
    return (1 / ratio >= low) & (1 / ratio <= high)


def _line(
    key: tuple[str, str, str], found: list[Row], fifths: np.ndarray, models: np.ndarray, entry: dict[str, Any]
) -> str:
    error, by_model = np.abs(fifths - 1), np.abs(models - 1)
    names = len({row.model for row in found})
    inside = _covered(found, fifths, entry).mean()
    alone = f"{np.median(by_model):.1%}" if names > 1 else "-"
    inside_alone = f"{_covered(found, models, entry).mean():.0%}" if names > 1 else "-"
    return (
        f"| {key[0]} | {key[1] or 'all'} | {key[2]} | {len(found)} | {names} | {np.median(error):.1%} | "
        f"{error.mean():.1%} | {np.quantile(error, 0.9):.1%} | {alone} | {inside:.0%} | {inside_alone} |\n"
    )


def _table(title: str, judged: Sequence[tuple[Group, dict[str, Any]]], key: Callable[[Row], str]) -> list[str]:
    sums: dict[str, tuple[list[float], list[bool]]] = {}
    for (_, found, fifths, _), entry in judged:
        for row, ratio, inside in zip(found, fifths, _covered(found, fifths, entry), strict=True):
            errors, covered = sums.setdefault(key(row), ([], []))
            errors.append(float(ratio) - 1)
            covered.append(bool(inside))
    lines = [f"\n## {title}\n\n| | rows | median | mean | bias | coverage |\n|---|---|---|---|---|---|\n"]
    for name, (errors, covered) in sorted(sums.items()):
        error = np.array(errors)
        lines.append(
            f"| {name} | {len(error)} | {np.median(np.abs(error)):.1%} | {np.abs(error).mean():.1%} | "
            f"{np.median(error):+.1%} | {np.mean(covered):.0%} |\n"
        )
    return lines


def _worst(judged: Sequence[tuple[Group, dict[str, Any]]]) -> list[str]:
    rows = [
        (abs(np.log(ratio)), row, ratio)
        for (_, found, fifths, _), _entry in judged
        for row, ratio in zip(found, fifths, strict=True)
    ]
    rows.sort(key=lambda item: -item[0])
    lines = ["\n## Worst rows\n\n| row | engine | accelerator | model | sequences | expected over measured |\n"]
    lines.append("|---|---|---|---|---|---|\n")
    for _, row, ratio in rows[:20]:
        lines.append(f"| {row.id} | {row.engine} | {row.accelerator} | {row.model} | {row.batch:.0f} | {ratio:.2f} |\n")
    return lines
