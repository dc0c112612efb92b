"""calibration/kernels_report.md: errors by kind, format, system and engine; coverage; the worst shapes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from rows import NOT_WELL_RUN, SYSTEMS, Rows

from rooflight.values.calibration import LinkFit

_INTRO = """\
# How far off the expected time of kernels is

Written by `python calibration/fit_kernels.py` on {date}. Data: {source}.

Errors are |expected / measured - 1| on rows the fit never saw. "Held out" says which: for Hopper and Blackwell each
accelerator is predicted from the other one alone (H100 from H200 and back, B200 from GB200 and back); Ampere, Ada and
Xe2 have one accelerator each, so three times a third of the shapes (weights, or heads and head size) is left out.
"No engine" is the error where the engine is not known, its factors left out, and "spread" what the interval has to be
widened by, on both sides, to hold then. Coverage is that of the 80 % interval on rows that did not set it.

"""


def labels_of(parts: list[Rows]) -> pd.DataFrame:
    """The labels of several sets of rows, one under another, with measured seconds."""
    return pd.concat([part.labels.assign(seconds=part.seconds) for part in parts], ignore_index=True)


def text(results: list[Any], links: dict[str, LinkFit], *, source: str, date: str) -> str:
    """The whole report."""
    sections = [
        _INTRO.format(source=source, date=date),
        "## By kind, format and family\n\n" + _table(_overview(results)),
        "## By kind\n\nThe held-out rows of all formats and families, equally many of each.\n\n"
        + _table(_kinds(results)),
        "## By accelerator and engine (held out, median error)\n\n" + _table(_by_engine(results)),
        "## Attention by length (held out, median error and bias)\n\nContext in decode, prompt in prefill.\n\n"
        + _table(_by_length(results)),
        "## A family predicted from another (median error, a sanity check)\n\n" + _table(_elsewhere(results)),
        "## Collectives (error of the fit itself; the best kernel of each size)\n\n" + _table(_links(links)),
        "## Rows left out as not well run\n\n" + _left_out(),
        "## Where it is worst\n\nMedian error of a shape over batch or tokens, the three worst a kind and family.\n\n"
        + _table(_worst(results)),
        _REASONS,
    ]
    return "\n".join(section.rstrip() + "\n" for section in sections)


def _overview(results: list[Any]) -> list[dict[str, str]]:
    return [
        {
            "kind": result.kind, "format": result.form, "family": result.family, "rows": f"{result.data.rows:,}",
            "held out": result.held_out, "median": _percent(np.median(abs(result.error))),
            "mean": _percent(np.mean(abs(result.error))), "p90": _percent(np.quantile(abs(result.error), 0.9)),
            "bias": _percent(np.median(result.error), sign=True),
            "no engine": _percent(np.median(abs(result.plain_error))),
            "by shape": _percent(result.shape_error), "fit itself": _percent(result.own_error),
            "coverage": _percent(result.coverage),
            "low..high": f"{result.low:.2f}..{result.high:.2f}", "spread": f"{result.spread:.2f}",
        }
        for result in results
    ]  # fmt: skip


def _kinds(results: list[Any]) -> list[dict[str, str]]:
    lines = []
    for kind in dict.fromkeys(result.kind for result in results):
        errors = np.abs(np.concatenate([result.error for result in results if result.kind == kind]))
        lines.append({"kind": kind, "median": _percent(np.median(errors)), "mean": _percent(errors.mean())})
    return lines


def _by_engine(results: list[Any]) -> list[dict[str, str]]:
    lines = []
    for result in results:
        table = result.labels.assign(error=abs(result.error))
        for system, part in table.groupby("system"):
            line = {"kind": result.kind, "format": result.form, "accelerator": SYSTEMS[str(system)]}
            for engine in ("vllm", "sglang", "trtllm"):
                errors = part.loc[part["backend"] == engine, "error"]
                line[engine] = _percent(errors.median()) if len(errors) else ""
            lines.append(line)
    return lines


def _by_length(results: list[Any]) -> list[dict[str, str]]:
    edges = (0, 128, 512, 2048, 8192, 1 << 30)
    lines = []
    for result in results:
        column = next((name for name in ("step", "isl") if name in result.labels), None)
        if column is None:
            continue
        length = result.labels[column].to_numpy()
        line = {"kind": result.kind, "format": result.form, "family": result.family}
        for low, high in pairwise(edges):
            errors = result.error[(length >= low) & (length < high)]
            name = f"{low} to {high - 1}" if high < edges[-1] else f"{low} and more"
            line[name] = f"{_percent(np.median(abs(errors)))} ({_percent(np.median(errors), sign=True)})"
        lines.append(line)
    return lines


def _elsewhere(results: list[Any]) -> list[dict[str, str]]:
    families = list(dict.fromkeys(result.family for result in results))
    lines = []
    for result in results:
        if result.elsewhere:
            line = {"kind": result.kind, "format": result.form, "fitted on": result.family}
            lines.append(line | {name: _percent(result.elsewhere.get(name)) for name in families})
    return lines


def _links(links: dict[str, LinkFit]) -> list[dict[str, str]]:
    return [
        {
            "link/collective": name, "rows": str(fit.error.rows if fit.error else 0),
            "median": _percent(fit.error.median if fit.error else None), "low..high": f"{fit.low:.2f}..{fit.high:.2f}",
            "latency, us": f"{fit.latency_s * 1e6:.1f}", "efficiency": f"{fit.efficiency:.2f}",
        }
        for name, fit in links.items()
    ]  # fmt: skip


def _left_out() -> str:
    return "\n".join(f"- {reason}" for reason in NOT_WELL_RUN.values())


def _worst(results: list[Any]) -> list[dict[str, str]]:
    lines = []
    for result in results:
        table = result.labels.assign(error=abs(result.error), signed=result.error)
        grouped = table.groupby(["backend", "shape", *[c for c in ("window_size",) if c in table]])
        shapes = grouped.agg(error=("error", "median"), signed=("signed", "median"), rows=("error", "size"))
        for key, row in shapes[shapes["rows"] >= 20].sort_values("error", ascending=False).head(3).iterrows():
            lines.append({
                "kind": result.kind, "format": result.form, "family": result.family, "engine": str(key[0]),
                "shape": str(key[1]), "window": str(key[2]) if len(key) > 2 else "",
                "median": _percent(row["error"]), "bias": _percent(row["signed"], sign=True),
            })  # fmt: skip
    return lines


def _percent(value: float | None, *, sign: bool = False) -> str:
    if value is None or np.isnan(value):
        return ""
    return f"{100 * value:+.1f} %" if sign else f"{100 * value:.1f} %"


def _table(lines: list[dict[str, str]]) -> str:
    if not lines:
        return "none\n"
    heads = list(lines[0])
    body = [f"| {' | '.join(line.get(head, '') for head in heads)} |" for line in lines]
    return "\n".join([f"| {' | '.join(heads)} |", "|" + " --- |" * len(heads), *body]) + "\n"


_REASONS = """\
## Why there

- Shapes narrower than a tile, or with one input dimension far longer than the other: engines pick between tile sizes
  and split-K by tables of their own; a smooth formula runs through the middle.
- FP8 in block scales on Hopper, SGLang: single shapes fall back to a kernel several times slower.
- FP8 between 128 and 1024 tokens: engines differ by up to half, as they change from one tuned kernel to the next.
- Decode attention with an FP8 cache on Hopper: TensorRT-LLM takes half the time of vLLM and SGLang at short contexts.
- Attention with a narrow window: whether tiles outside the window are skipped depends on engine and head size.
- L40S: a 96 MB cache holds most benchmark shapes; how much of it a kernel finds warm depends on the engine's harness.
- Arc Pro B60: the same short attention kernel takes 65 to 75 us in one row and 120 to 135 in the next; the halves of a
  table of two modes are no nearer to any smooth formula.
"""
