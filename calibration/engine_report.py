"""docs/accuracy.md: how far off expected times are, by engine, source, accelerator, model, batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from engine_evenness import ALL_ALIKE, Tried
from engine_first import SERVED_RUNS, FirstJudged
from engine_rows import Row

# Engine, family, era.
Key = tuple[str, str, str]


class HeldOut(NamedTuple):
    """Predicted over measured of rows that the fit did not see, by what was left out; nan where it left too little."""

    fifths: np.ndarray
    models: np.ndarray
    accelerators: np.ndarray

    def of(self, mine: np.ndarray) -> HeldOut:
        """Of some of the rows."""
        return HeldOut(*(ratio[mine] for ratio in self))


class Judged(NamedTuple):
    """A group of rows, what the fits that did not see them say, and its TOML entry.

    blind   1 or 0: inside an interval that, like the fit, never saw the row's model; nan where too little is left
    whole   of served runs: what a request from end to end takes; nan where its first token is not known
    """

    key: Key
    rows: list[Row]
    out: HeldOut
    entry: dict[str, Any]
    blind: np.ndarray
    whole: HeldOut | None = None


HEAD = """# How accurate it is

Written by `python calibration/fit_engines.py` on {date}. Ceilings are not fitted; this page is about expected times.

An expected time is a sum of parts (kernels' bodies and floors, links, routed experts) from the kernel fits, each times
an engine's share, and the host's time a step. Two eras are fitted apart, by the version of the engine: "2025", served
runs of vLLM, SGLang and TensorRT-LLM (aiconfigurator-core 0.12.0), whose engines are fitted together, since each was
seen with few models; and "2024", offline runs of Argonne's LLM-Inference-Bench and others, one fit for each engine and
device family. A served run's step is the mean of its steady state, quiet steps and those with prompt tokens beside,
solved under the very shares that are fitted. Errors below are |expected / measured - 1| on rows the fit did not see:
fifths of the operating points left out in turn (a point that was published twice with all its rows), whole models (of
all engines; checkpoints of one shape are one model), and whole accelerators.

Half of the rows that set an interval are new operating points of known models, half are models left out. "Coverage" is
the share of rows inside it: of new operating points, of models left out, of accelerators left out. 80 % is aimed at.
On a card that no fit of the engine saw, intervals are wider by a factor set from the accelerators left out, by era.

Sources contradict each other here and there. SGLang's campaigns disagree fivefold on how many prompts queue before a
first token: its interval there is wide. Qwen3-235B-A22B at FP8 takes vLLM on H200
51 to 59 ms a step on two cards and 34 to 46 on four, whether 4 sequences run or 48, as if all experts were read each
time; TensorRT-LLM on H100, and vLLM with MiniMax-M2.5, are faster the fewer are touched. gpt-oss-120b takes
TensorRT-LLM the same time at 160 sequences as at 384. No one set of coefficients fits both kinds; these two make up
most of the error of routed experts. vLLM of 2024 on MI300X takes the longer the more sequences run where query heads
share KV heads, as if each read the cache for itself: most rows of 128 sequences and more are such. TensorRT-LLM's runs
from FP8 and NVFP4 checkpoints are read with an FP8 cache, as such checkpoints carry: several could not have fitted
otherwise.

## By engine and family

"No model" and "no card": the median error with the row's model, or its accelerator, left out of the fit.

| engine | family | era | rows | models | median | mean | p90 | no model | no card | coverage | models | cards |
|---|---|---|---|---|---|---|---|---|---|---|---|---|
"""

SOURCES = {
    "anl": "Argonne LLM-Inference-Bench",
    "anlcpp": "Argonne LLM-Inference-Bench, llama.cpp",
    "autoawq": "AutoAWQ's page",
    "prem": "Prem's benchmarks",
    "qwen2": "Qwen's speed pages",
    "sil": SERVED_RUNS,
    "spark": "llama.cpp on DGX Spark",
    "strix": "llama.cpp on Strix Halo",
    "tinychat": "TinyChat's tables",
    "trtold": "TensorRT-LLM's older pages",
    "xdai": "X. Dai's GPU benchmarks of llama.cpp",
}
# Repositories and threads that measured2.csv is put together from.
OTHERS = "repositories, issues and threads of users (measured2.csv)"
TABLES = (
    ("By source", lambda row: SOURCES.get(row.source, row.source)),
    ("By accelerator", lambda row: row.accelerator),
    ("By model", lambda row: row.model),
    ("By sequences at once", lambda row: f"{2 ** int(np.log2(max(row.batch, 1)))} and more"),
    ("By what was measured", lambda row: row.what),
)


def write_report(
    path: Path,
    judged: Sequence[Judged],
    first: Sequence[FirstJudged],
    tried: Sequence[Tried],
    against: Sequence[str],
    date: str,
) -> None:
    """Write the page: by engine and family, then by source, accelerator, model ..., then the worst rows."""
    lines = [HEAD.format(date=date), *map(_line, judged), *_overall(judged), *_evenness(tried), *_first(first)]
    lines += [*_whole(judged), *against]
    families = [group for group in judged if group.key[1]]
    for title, key in TABLES:
        lines += _table(title, families, key)
    lines += _worst(families)
    path.write_text("".join(lines))


def source_name(source: str) -> str:
    """What a source is called in entries."""
    return OTHERS if source.startswith("m2-") else SOURCES.get(source, source)


def bounds(group: Judged) -> tuple[np.ndarray, np.ndarray]:
    """The interval of each row, as factors on its expected time."""
    if group.entry.get("prefill_kernels"):
        alone = [row.what.startswith("prefill") for row in group.rows]
        names = [
            "prefill_" if one else "moe_" if row.routed else "" for row, one in zip(group.rows, alone, strict=True)
        ]
        ends = ([group.entry[name + end] for name in names] for end in ("low", "high"))
        low, high = map(np.array, ends)
        return low, high
    routed, entry = np.array([row.routed for row in group.rows]), group.entry
    return np.where(routed, entry["moe_low"], entry["low"]), np.where(routed, entry["moe_high"], entry["high"])


def _covered(group: Judged, ratio: np.ndarray, wider: float = 1.0) -> np.ndarray:
    low, high = bounds(group)
    return (1 / ratio >= low / wider) & (1 / ratio <= high * wider)


def _share(group: Judged, place: int) -> str:
    ratio = group.out[place]
    known = np.isfinite(ratio)
    return f"{_covered(group, ratio, _wider(group, place))[known].mean():.0%}" if known.any() else "-"


def _wider(group: Judged, place: int) -> float:
    return group.entry["unseen_card"] if HeldOut._fields[place] == "accelerators" else 1.0


def _median(ratio: np.ndarray) -> str:
    return f"{np.nanmedian(np.abs(ratio - 1)):.1%}" if np.isfinite(ratio).any() else "-"


def _line(group: Judged) -> str:
    key, out = group.key, group.out
    error = np.abs(out.fifths - 1)
    cells = (
        key[0], _where(group), key[2], len(error), len({row.model for row in group.rows}), _median(out.fifths),
        f"{error.mean():.1%}", f"{np.quantile(error, 0.9):.1%}", _median(out.models), _median(out.accelerators),
        *(_share(group, place) for place in range(len(out))),
    )  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |\n"


def _where(group: Judged) -> str:
    """Family or line, and backend."""
    return " ".join(filter(None, (group.entry["family"], group.entry.get("backend", "")))) or "all"


def _overall(judged: Sequence[Judged]) -> list[str]:
    """Errors and coverage of the families' entries, by era and by whether experts are routed."""
    lines = ["\n## In all\n\n| | left out | rows | median | mean | coverage |\n|---|---|---|---|---|---|\n"]
    for era in sorted({group.key[2] for group in judged}):
        for routed in (False, True):
            for place, what in enumerate(("fifths", "models", "accelerators")):
                errors, inside = [], []
                for group in judged:
                    if not group.key[1] or group.key[2] != era:
                        continue
                    ratio = group.out[place]
                    mine = np.isfinite(ratio) & np.array([row.routed is routed for row in group.rows])
                    errors.append(np.abs(ratio[mine] - 1))
                    inside.append(_covered(group, ratio, _wider(group, place))[mine])
                error, covered = np.concatenate(errors), np.concatenate(inside)
                if len(error):
                    lines.append(
                        f"| {era}, {'routed experts' if routed else 'dense'} | {what} | {len(error)} | "
                        f"{np.median(error):.1%} | {error.mean():.1%} | {covered.mean():.0%} |\n"
                    )
    return lines + _blind(judged)


def _blind(judged: Sequence[Judged]) -> list[str]:
    """Coverage of intervals set without the model they are judged by."""
    lines = [
        "\nThe interval itself put to the test: fit and interval both made without the model, then judged by it "
        "(engines of three models or more).\n\n| | rows | coverage |\n|---|---|---|\n"
    ]
    families = [group for group in judged if group.key[1]]
    for era in sorted({group.key[2] for group in families}):
        for routed in (False, True):
            parts = [
                group.blind[np.array([row.routed is routed for row in group.rows])]
                for group in families
                if group.key[2] == era
            ]
            inside = np.concatenate(parts)
            inside = inside[np.isfinite(inside)]
            share = f"{inside.mean():.0%}" if len(inside) else "-"
            lines.append(f"| {era}, {'routed experts' if routed else 'dense'} | {len(inside)} | {share} |\n")
    return lines


def _evenness(tried: Sequence[Tried]) -> list[str]:
    """Errors of routed experts by how alike experts are taken to be."""
    lines = [
        "\n## Evenness of routing\n\n"
        "How alike experts are in how often they are chosen (roofline.expected.EVENNESS): everything fitted again "
        "under other values, errors of routed experts. Served rows have their model left out, offline rows are "
        "fifths.\n\n"
        "| evenness | served, median | mean | offline, median | mean |\n|---|---|---|---|---|\n"
    ]
    for one in tried:
        errors = [
            f"{f(np.abs(ratio - 1)):.1%}" if len(ratio) else "-"
            for ratio in (one.served, one.offline)
            for f in (np.median, np.mean)
        ]
        name = "all alike" if one.evenness == ALL_ALIKE else f"{one.evenness:g}"
        lines.append(f"| {' | '.join((name, *errors))} |\n")
    return lines


def _first(judged: Sequence[FirstJudged]) -> list[str]:
    """Time to first token of runs whose requests all fit at once."""
    lines = [
        "\n## Time to first token\n\n"
        "Of served runs whose requests all run at once: server_s and queue fitted, everything else from the steady\n"
        "state. Generic is taken where no engine is named: the mean of benchmarks that send requests differently.\n\n"
        "| engine | experts | rows | median | mean | model left out, median | mean | coverage | models |\n"
        "|---|---|---|---|---|---|---|---|---|\n"
    ]
    for group in judged:
        for routed in (False, True):
            mine = np.array([row.routed is routed for row in group.rows])
            if not mine.any():
                continue
            ratios = [ratio[mine] for ratio in (group.fifths, group.models)]
            errors = [f"{f(np.abs(ratio - 1)):.1%}" for ratio in ratios for f in (np.median, np.mean)]
            low, high = group.entry["first_low"], group.entry["first_high"]
            inside = [f"{((1 / ratio >= low) & (1 / ratio <= high)).mean():.0%}" for ratio in ratios]
            cells = (group.engine, "routed" if routed else "dense", mine.sum(), *errors, *inside)
            lines.append(f"| {' | '.join(map(str, cells))} |\n")
    return lines


def _whole(judged: Sequence[Judged]) -> list[str]:
    """Requests from end to end of served runs: first token and all steps together."""
    lines = [
        "\n## Whole requests\n\n"
        "First token and all steps of served runs, each predicted without the rows left out; the interval is that of\n"
        "request times and of rates (run_low, run_high).\n\n"
        "| engine | experts | rows | median | mean | model left out, median | mean | coverage | models |\n"
        "|---|---|---|---|---|---|---|---|---|\n"
    ]
    for group in judged:
        if group.whole is None or group.key[1]:
            continue
        for routed in (False, True):
            mine = np.array([row.routed is routed for row in group.rows]) & np.isfinite(group.whole.fifths)
            low, high = (group.entry[("moe_" if routed else "") + name] for name in ("run_low", "run_high"))
            ratios = [ratio[mine & np.isfinite(ratio)] for ratio in group.whole[:2]]
            if mine.any() and all(map(len, ratios)):
                errors = [f"{f(np.abs(ratio - 1)):.1%}" for ratio in ratios for f in (np.median, np.mean)]
                inside = [f"{((1 / ratio >= low) & (1 / ratio <= high)).mean():.0%}" for ratio in ratios]
                cells = (group.key[0], "routed" if routed else "dense", mine.sum(), *errors, *inside)
                lines.append(f"| {' | '.join(map(str, cells))} |\n")
    return lines


def _table(title: str, judged: Sequence[Judged], key: Callable[[Row], str]) -> list[str]:
    sums: dict[str, tuple[list[float], list[bool]]] = {}
    for group in judged:
        ratios = group.out.fifths
        for row, ratio, inside in zip(group.rows, ratios, _covered(group, ratios), strict=True):
            errors, covered = sums.setdefault(key(row), ([], []))
            errors.append(float(ratio) - 1)
            covered.append(bool(inside))
    lines = [f"\n## {title}\n\n| | rows | median | mean | bias | coverage |\n|---|---|---|---|---|---|\n"]
    for name, (errors, covered) in sorted(sums.items(), key=lambda item: (_leading(item[0]), item[0])):
        error = np.array(errors)
        lines.append(
            f"| {name} | {len(error)} | {np.median(np.abs(error)):.1%} | {np.abs(error).mean():.1%} | "
            f"{np.median(error):+.1%} | {np.mean(covered):.0%} |\n"
        )
    return lines


def _leading(name: str) -> int:
    """The number that a name begins with, to sort by."""
    first = name.split()[0]
    return int(first) if first.isdigit() else 0


def _worst(judged: Sequence[Judged]) -> list[str]:
    rows = [
        (abs(np.log(ratio)), row, ratio)
        for group in judged
        for row, ratio in zip(group.rows, group.out.fifths, strict=True)
    ]
    rows.sort(key=lambda item: -item[0])
    lines = ["\n## Worst rows\n\n| row | engine | accelerator | model | sequences | expected over measured |\n"]
    lines.append("|---|---|---|---|---|---|\n")
    for _, row, ratio in rows[:20]:
        lines.append(f"| {row.id} | {row.engine} | {row.accelerator} | {row.model} | {row.batch:.0f} | {ratio:.2f} |\n")
    return lines
