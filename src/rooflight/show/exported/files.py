"""The Grafana dashboard and the alert rules that stand on the exporter's metrics, as files to be used as they are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

# Alerts: name, the condition, how long it must hold, what it says. Thresholds are those of the diagnosis, or wider.
ALERTS = (
    (
        "DecodeFarBelowItsCeiling",
        "rooflight_ceiling_ratio < 0.3 and on (job, instance) "
        "(max by (job, instance) (rooflight_gpu_utilization_ratio) > 0.9)",
        "10m",
        "Tokens of {{ $labels.subject }} come at {{ $value | humanizePercentage }} of the speed that physics allows, "
        "while the GPUs look busy: a high GPU utilisation says only that some kernel runs.",
    ),
    (
        "SlowerThanExpected",
        "rooflight_expected_ratio < 0.6",
        "10m",
        "Tokens of {{ $labels.subject }} come at {{ $value | humanizePercentage }} of the speed of a well-run engine.",
    ),
    (
        "CapacityBinds",
        'rooflight_bound{bound="capacity"} == 1',
        "5m",
        "The KV pool is full: requests wait or are computed again. A narrower cache, or less context, holds more.",
    ),
    (
        "Queueing",
        'rooflight_bound{bound="queue"} == 1',
        "5m",
        "Requests wait although the machine has room: the limit of sequences, or more load than it finishes.",
    ),
    (
        "Throttled",
        'rooflight_subject_bound{bound="throttled"} == 1',
        "5m",
        "{{ $labels.subject }} runs below its clocks for heat or power.",
    ),
    ("RooflightCannotRead", "rooflight_up == 0", "5m", "What rooflight watches cannot be read."),
)
# Panels: title, kind, width of 24, queries with their legends, the unit of Grafana.
PANELS: tuple[tuple[str, str, int, tuple[tuple[str, str], ...], str], ...] = (
    ("What binds", "stat", 8, (("rooflight_bound == 1", "{{bound}}"),), "none"),
    ("How sure", "stat", 4, (("rooflight_confidence", "1 low, 2 medium, 3 high"),), "none"),
    (
        "Tokens a second, and what is expected",
        "timeseries",
        12,
        (
            ("rooflight_output_tokens_per_second", "{{subject}}"),
            ("rooflight_expected_output_tokens_per_second", "{{subject}} expected"),
        ),
        "none",
    ),
    (
        "Share of the ceiling, MBU and MFU",
        "timeseries",
        12,
        (
            ("rooflight_ceiling_ratio", "{{subject}} of ceiling"),
            ("rooflight_mbu_ratio", "{{subject}} MBU"),
            ("rooflight_mfu_ratio", "{{subject}} MFU"),
        ),
        "percentunit",
    ),
    (
        "Tensor cores and memory",
        "timeseries",
        12,
        (
            ("rooflight_tensor_active_ratio", "{{subject}} tensor"),
            ("rooflight_dram_active_ratio", "{{subject}} memory"),
            ("rooflight_gpu_utilization_ratio", "{{subject}} GPU-Util"),
        ),
        "percentunit",
    ),
    (
        "Time per token",
        "timeseries",
        12,
        (
            ("rooflight_tpot_seconds", "{{subject}}"),
            ("rooflight_expected_tpot_seconds", "{{subject}} expected"),
        ),
        "s",
    ),
    (
        "Requests",
        "timeseries",
        12,
        (
            ("rooflight_running_requests", "{{subject}} running"),
            ("rooflight_waiting_requests", "{{subject}} waiting"),
        ),
        "none",
    ),
    ("KV pool", "timeseries", 12, (("rooflight_kv_usage_ratio", "{{subject}}"),), "percentunit"),
    ("Regimes", "state-timeline", 12, (("rooflight_subject_bound == 1", "{{subject}} {{bound}}"),), "none"),
)
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_HEIGHT = 8
_WIDTH = 24


def dashboard() -> str:
    """The dashboard as JSON that Grafana imports; its data source is a variable."""
    source: dict[str, Any] = {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Prometheus"}
    found: dict[str, Any] = {
        "title": "rooflight: which ceiling binds", "uid": "rooflight", "schemaVersion": 39, "version": 1,
        "editable": True, "refresh": "30s", "time": {"from": "now-1h", "to": "now"}, "tags": ["rooflight"],
        "templating": {"list": [source]}, "panels": _panels(),
    }  # fmt: skip
    return json.dumps(found, indent=2) + "\n"


def _panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    x = y = 0
    for number, (title, kind, width, queries, unit) in enumerate(PANELS, start=1):
        if x + width > _WIDTH:
            x, y = 0, y + _HEIGHT
        found.append(
            {
                "id": number, "title": title, "type": kind, "datasource": _SOURCE,
                "gridPos": {"x": x, "y": y, "w": width, "h": _HEIGHT},
                "fieldConfig": {"defaults": {"unit": unit}, "overrides": []},
                "options": {"textMode": "name"} if title == "What binds" else {},
                "targets": _targets(queries, now=kind == "stat"),
            }
        )  # fmt: skip
        x += width
    return found


def _targets(queries: Sequence[tuple[str, str]], *, now: bool) -> list[dict[str, Any]]:
    """now: of this moment alone; else a panel would show what bound an hour ago beside what binds."""
    return [
        {
            "refId": chr(ord("A") + place),
            "expr": query,
            "legendFormat": legend,
            "datasource": _SOURCE,
            "instant": now,
            "range": not now,
        }
        for place, (query, legend) in enumerate(queries)
    ]


def rules() -> str:
    """The alert rules as a file of Prometheus (JSON, which YAML holds)."""
    found = [
        {
            "alert": name, "expr": condition, "for": time, "labels": {"severity": "warning"},
            "annotations": {"summary": words},
        }
        for name, condition, time, words in ALERTS
    ]  # fmt: skip
    return json.dumps({"groups": [{"name": "rooflight", "rules": found}]}, indent=2) + "\n"
