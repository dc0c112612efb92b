"""Machine time of a request against served runs: how many requests a second they really finished.

Runs state TTFT and TPOT at a concurrency; by Little's law concurrency / (TTFT + (osl - 1) x TPOT) requests finish a
second. Engines run prompts beside decode steps there, which machine time leaves out, and pay for it elsewhere.
"""

from __future__ import annotations

import csv
import statistics
from collections import defaultdict

import pytest

import rooflight

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
    """Half of the points within a tenth, in the mean neither above nor below, and none beyond the overlapped limit."""
    errors = []
    for config, given, metrics in list(points(data))[::EVERY]:
        degrees = {name: int(given[name]) for name in ("tp", "pp", "ep", "dp") if given[name] not in ("", "0")}
        formats = {name: given[name] for name in ("weights", "kv_cache") if given[name]}
        batch, isl, osl = (int(given[name]) for name in ("batch", "input_len", "output_len"))
        try:
            answer = rooflight.compare(
                config, [given["accelerator"]], batch=batch, isl=isl, osl=osl, engine=given["engine"],
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
