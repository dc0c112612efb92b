"""Public reports of slow inference: the tool names the ceiling that was found, and its speed of light.

A report's class of ceiling is what held it back, its speed of light what the hardware allows. Where a host or latency
held it back (launch, link), the number is that of another roof. Then the tool must name the class when it is shown the
measurement, or on its way from the ceiling to the expected time; and where a report has two measurements, what they
have in common must be longer than the ceiling.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import rooflight
from conformance.cases_asked import (
    ASKED,
    CAPACITY,
    COMPUTE,
    LAUNCH,
    LINK,
    LOOK_AT,
    MEMORY,
    NO_CARD,
    NO_MODEL,
    NUMBER_ALONE,
    PROVEN,
)

CLASSES = {
    "memory_bandwidth": MEMORY,
    "compute": COMPUTE,
    "interconnect": LINK,
    "host_link": LINK,
    "launch_or_host_overhead": LAUNCH,
    "memory_capacity": CAPACITY,
}
WITHIN = 0.05

Cases = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def cases(data: Path) -> Cases:
    lines = (data / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    return {case["id"]: case for case in map(json.loads, lines)}


@pytest.mark.parametrize("name", ASKED)
def test_the_bound_and_the_speed_of_light_are_the_reports(cases: Cases, name: str) -> None:
    case, found = cases[name], ASKED[name]()

    assert found.value == pytest.approx(case["sol"]["speed_of_light"], rel=WITHIN), case["sol"]
    assert found.bound == CLASSES[case["ceiling_class"]]


@pytest.mark.parametrize("name", PROVEN)
def test_a_report_that_is_wrong_is_proven_so(cases: Cases, name: str) -> None:
    """The tool says what the right arithmetic says, and the wrong one gives the report's number."""
    proof, theirs = PROVEN[name], cases[name]["sol"]["speed_of_light"]
    found = proof.tool()

    assert found.value == pytest.approx(proof.right, rel=0.01)
    assert theirs == pytest.approx(proof.published, rel=0.01)
    assert theirs != pytest.approx(proof.right, rel=WITHIN)
    assert found.bound == proof.bound
    assert proof.bound == CLASSES[cases[name]["ceiling_class"]] or "not the ceiling" in proof.why


def test_collectives_are_named_where_compute_binds(cases: Cases) -> None:
    """379 of 1,006 prompt tokens a second: the ceiling is compute, what to look at are the exchanges.

    379 is the slowest that is expected; a tenth less is slow.
    """
    row = {
        "model": "llama-3.3-70b", "accelerator": "rtx-3090", "gpus": 2, "tp": 2, "weights": "exl2-4.5bpw", "batch": 1,
        "input_len": 16_384, "phase": "prefill", "metric": "prefill_tok_s",
        "value": 0.9 * cases["u19"]["sol"]["observed"],
    }  # fmt: skip
    (verdict,) = rooflight.check(row).rows

    assert (verdict.verdict, verdict.bound) == ("slow", COMPUTE)
    assert LOOK_AT[LINK] in verdict.reason


@pytest.mark.parametrize("name", NUMBER_ALONE)
def test_a_number_alone_is_the_reports(cases: Cases, name: str) -> None:
    ask, bound = NUMBER_ALONE[name]
    found = ask()

    assert found.value == pytest.approx(cases[name]["sol"]["speed_of_light"], rel=WITHIN)
    assert found.bound == bound


def test_every_report_with_a_bound_and_a_number_is_judged_or_says_why_not(cases: Cases) -> None:
    whole = {
        name
        for name, case in cases.items()
        if case["ceiling_class"] in CLASSES and case["sol"].get("speed_of_light") is not None
    }
    judged = ASKED.keys() | PROVEN.keys()
    left = NO_MODEL.keys() | NO_CARD.keys()

    assert len(judged) == 28
    assert not judged & left
    assert whole - NUMBER_ALONE.keys() == judged | left
