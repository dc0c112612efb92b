"""A diagnosis as metrics, and the dashboard and the rules that ask for them."""

from __future__ import annotations

import json
import re
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from rooflight.show.exported import files
from rooflight.show.exported.metrics import BOUNDS, FIGURES, Read, metrics
from rooflight.values.diagnosis import Diagnosis, Regime

ROWS = (
    Regime(subject="gpu 0", start="2026-11-29T00:00:00Z", bound="idle", values={"dram_active": 0.0}),
    Regime(subject="gpu 0", start="2026-11-29T00:01:00Z", bound="memory", values={"dram_active": 0.78, "odd": 1.0}),
    Regime(subject="vllm", bound="memory", values={"output_tokens_per_s": 400.0, "of_ceiling": 0.5}),
)
FOUND = Diagnosis(bound="memory", confidence="high", regimes=ROWS)


def published(last, good) -> dict[str, list[tuple[dict[str, str], float]]]:
    """Metrics as Prometheus would read them."""
    from prometheus_client import CollectorRegistry, generate_latest

    class Held:
        def collect(self):
            return metrics(last, good)

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Held())
    text = generate_latest(registry).decode()
    families = text_string_to_metric_families(text)
    return {one.name: [(sample.labels, sample.value) for sample in one.samples] for one in families}


def test_each_subject_is_published_as_it_was_last():
    read = Read(diagnosis=FOUND, time_s=1000.0, took_s=0.1)
    found = published(read, read)

    assert found["rooflight_up"] == [({}, 1.0)]
    assert found["rooflight_dram_active_ratio"] == [({"subject": "gpu 0"}, 0.78)]
    assert found["rooflight_ceiling_ratio"] == [({"subject": "vllm"}, 0.5)]
    bounds = {labels["bound"]: value for labels, value in found["rooflight_bound"]}
    assert bounds == {name: float(name == "memory") for name in BOUNDS}
    each = {(labels["subject"], labels["bound"]): value for labels, value in found["rooflight_subject_bound"]}
    assert each["gpu 0", "memory"] == 1.0
    assert each["gpu 0", "idle"] == 0.0
    assert found["rooflight_confidence"] == [({}, 3.0)]


def test_old_figures_are_not_published_as_new_ones():
    good = Read(diagnosis=FOUND, time_s=1000.0, took_s=0.1)
    found = published(Read(diagnosis=None, time_s=1015.0, took_s=0.1), good)

    assert found["rooflight_up"] == [({}, 0.0)]
    assert found["rooflight_last_read_timestamp_seconds"] == [({}, 1000.0)]
    assert "rooflight_bound" not in found


def test_before_the_first_reading_nothing_is_claimed():
    assert published(None, None) == {"rooflight_up": [({}, 0.0)]}


def names_in(expression: str) -> set[str]:
    return set(re.findall(r"rooflight_\w+", expression))


def known() -> set[str]:
    return {name for name, _ in FIGURES.values()} | {
        "rooflight_up", "rooflight_bound", "rooflight_subject_bound", "rooflight_confidence",
        "rooflight_last_read_timestamp_seconds", "rooflight_read_duration_seconds",
    }  # fmt: skip


def test_dashboard_and_rules_ask_for_metrics_that_are_published():
    board, rules = json.loads(files.dashboard()), json.loads(files.rules())
    queries = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    conditions = [rule["expr"] for group in rules["groups"] for rule in group["rules"]]

    assert len(queries) >= 9
    assert len(conditions) >= 6
    assert names_in(" ".join(queries + conditions)) <= known()
    for panel in board["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24


def test_every_metric_is_in_the_docs():
    page = (Path(__file__).resolve().parents[3] / "docs" / "exporter.md").read_text()

    assert known() <= names_in(page)


def test_a_replica_that_went_is_published_no_more():
    rows = (
        Regime(subject="a", start="2026-11-29T00:10:00Z", seconds=15.0, bound="memory", values={"running": 4.0}),
        Regime(subject="gone", start="2026-11-29T00:05:00Z", seconds=15.0, bound="memory", values={"running": 4.0}),
        # a row of five minutes that ends 285 s before the newest
        Regime(subject="slow", start="2026-11-29T00:00:30Z", seconds=300.0, bound="memory", values={"running": 4.0}),
    )
    read = Read(diagnosis=Diagnosis(bound="memory", regimes=rows), time_s=1000.0, took_s=0.1)

    subjects = {labels["subject"] for labels, _ in published(read, read)["rooflight_running_requests"]}
    assert subjects == {"a", "slow"}
