"""Comparisons against served runs: how many requests a second they really finished, and which of two is ahead.

Runs state TTFT and TPOT at a concurrency; by Little's law concurrency / (TTFT + (osl - 1) x TPOT) requests finish a
second.
"""

from __future__ import annotations

import csv
import functools
import statistics
from collections import defaultdict
from itertools import combinations

import pytest

import rooflight
from rooflight.library.questions import make_scenario
from rooflight.serve.schedule import scheduled

model = functools.cache(rooflight.model)  # a config is read once

POINT = (
    "model",
    "accelerator",
    "tp",
    "pp",
    "ep",
    "dp",
    "weights",
    "kv_cache",
    "batch",
    "input_len",
    "output_len",
    "engine",
)
EVERY = 5  # point of those stated: all of them take ten seconds


def points(data):
    """(what was run, its TTFT and TPOT in ms) where the concurrency is stated and the model's config is at hand."""
    found = defaultdict(dict)
    with (data / "served.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if "not stated" not in row["note"]:
                found[tuple(row[name] for name in POINT)][row["metric"]] = float(row["value"])
    for values, metrics in found.items():
        given = dict(zip(POINT, values, strict=True))
        configs = [data / folder / f"{given['model']}.json" for folder in ("configs", "configs_reconstructed")]
        config = next((one for one in configs if one.is_file()), None)
        if config is not None and {"ttft_ms", "tpot_ms"} <= set(metrics) and given["batch"]:
            yield config, given, metrics


def test_requests_per_second_of_served_runs(data):
    """Half of the points within a tenth, in the mean neither above nor below, and none beyond what no engine beats."""
    errors = []
    for config, given, metrics in list(points(data))[::EVERY]:
        degrees = {name: int(given[name]) for name in ("tp", "pp", "ep", "dp") if given[name] not in ("", "0")}
        formats = {name: given[name] for name in ("weights", "kv_cache") if given[name]}
        batch, isl, osl = (int(given[name]) for name in ("batch", "input_len", "output_len"))
        try:
            answer = rooflight.compare(
                model(config), [given["accelerator"]], batch=batch, isl=isl, osl=osl, engine=given["engine"],
                ignore_capacity=True, **degrees, **formats,
            )  # fmt: skip
        except rooflight.RooflightError:
            continue  # a layout the row leaves open
        served = batch / (metrics["ttft_ms"] + (osl - 1) * metrics["tpot_ms"]) * 1000
        request = answer.compared[0].request
        errors.append(request.requests_per_s.expected / served - 1)
        assert served <= 1 / request.overlapped_s, given
    assert len(errors) > 100
    assert statistics.median(map(abs, errors)) < 0.10
    assert statistics.median(errors) == pytest.approx(0, abs=0.05)


def test_who_is_ahead_is_ahead_where_it_is_not_too_close_to_call(data):
    """Of two runs of one model and load whose intervals do not meet; and mostly where they do."""
    groups = defaultdict(list)
    for config, given, metrics in points(data):
        degrees = {name: int(given[name]) for name in ("tp", "pp", "ep", "dp") if given[name] not in ("", "0")}
        formats = {name: given[name] for name in ("weights", "kv_cache") if given[name]}
        batch, isl, osl = (int(given[name]) for name in ("batch", "input_len", "output_len"))
        try:
            sc = make_scenario(
                model(config), given["accelerator"], batch=batch, isl=isl, osl=osl, engine=given["engine"],
                ignore_capacity=True, **degrees, **formats,
            )  # fmt: skip
        except rooflight.RooflightError:
            continue  # a layout the row leaves open
        seen = batch / (metrics["ttft_ms"] + (osl - 1) * metrics["tpot_ms"])
        groups[given["model"], batch, isl, osl].append((scheduled(sc).requests_per_s, seen))
    right: dict[bool, list[bool]] = {True: [], False: []}
    for members in groups.values():
        for (one, seen), (other, also) in combinations(members, 2):
            meet = min(one.high, other.high) >= max(one.low, other.low)
            right[meet].append((one.expected > other.expected) == (seen > also))
    assert len(right[False]) > 100
    assert statistics.mean(right[False]) > 0.99
    assert statistics.mean(right[True]) > 0.85
