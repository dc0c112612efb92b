"""The verdicts on public sets of measurements against the class of ceiling that their collector worked out."""

from __future__ import annotations

import json

import pytest

from rooflight.answers.diagnose.fits import fits_of
from rooflight.answers.diagnose.points import points
from unit.answers.diagnose.asked import setting
from unit.answers.diagnose.test_own_measurements import RIGHT

CLASSES = {
    "memory_bandwidth": "memory", "launch_or_host_overhead": "launch", "interconnect": "link", "compute": "compute",
    "queueing_or_admission": "queue", "memory_capacity": "capacity", "kernel_efficiency": None,
}  # fmt: skip
# Classed by the ceiling that 4 bits should have come near to; what binds is the kernel, as the case itself says.
KERNEL = {"u05"}


@pytest.mark.parametrize("row", [row for row in RIGHT if row[0].startswith("u")], ids=lambda row: row[0])
def test_the_bound_is_of_the_collectors_class(row, data):
    case, texts, name, on, fields, *_ = row
    found = {one["id"]: one for one in map(json.loads, (data / "cases.jsonl").read_text().splitlines())}[case]
    bound = None if case in KERNEL else CLASSES[found["ceiling_class"]]
    assert fits_of(points(texts), setting(name, on, **fields)).bound == bound
