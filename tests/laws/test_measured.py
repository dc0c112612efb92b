"""Laws of measured machines: what was seen there is no physics, and no rate is above the fastest seen."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rooflight
from rooflight.show.answers import page
from rooflight.values.measurement import METRICS

ROOT = Path(__file__).parents[1]
MACHINE, H100 = str(ROOT / "measured.toml"), str(ROOT / "measured_h100.toml")
MODEL = "HuggingFaceTB/SmolLM2-135M"

# What is said of physics is said of a datasheet alone.
_PHYSICS = re.compile(r"physics|impossible|nothing real|\bat best\b", re.IGNORECASE)


@given(
    value=st.floats(1e-6, 1e12),
    metric=st.sampled_from(sorted(METRICS)),
    batch=st.integers(1, 64),
    weights=st.sampled_from(["bf16", "fp8", "int4-g128", ""]),
    other=st.sampled_from([None, ("ttft_ms", 1e-3), ("tpot_ms", 1e-3)]),
)
def test_nothing_is_impossible_on_a_measured_machine_that_holds_it(
    value: float, metric: str, batch: int, weights: str, other: tuple[str, float] | None
) -> None:
    """However fast: fast, and by how much; alone or together with another value of its run."""
    row = {"model": MODEL, "accelerator": MACHINE, "batch": batch, "input_len": 128, "output_len": 64, "gpus": 1}
    row |= {"weights": weights} if weights else {}
    rows = [{**row, "metric": metric, "value": value}]
    if other is not None and other[0] != metric:
        rows.append({**row, "metric": other[0], "value": other[1]})
    report = rooflight.check(rows)
    assert report.summary.impossible == 0
    assert not _PHYSICS.search(report.answer)
    for one in report.rows:
        assert one.verdict in ("ok", "slow", "fast", "cannot-judge")
        assert not _PHYSICS.search(one.reason)
        if one.verdict == "fast" and one.over_ceiling is not None and one.over_ceiling > 1.01:
            assert "faster than this machine was measured" in one.reason


@given(rate=st.floats(1e-3, 1e9), batch=st.integers(1, 32))
def test_claims_are_no_more_impossible_than_rows(rate: float, batch: int) -> None:
    report = rooflight.claim(MODEL, on=MACHINE, batch=batch, isl=128, osl=64, output_tok_s=rate)
    assert report.summary.impossible == 0
    assert not _PHYSICS.search(report.answer)


def test_what_memory_cannot_hold_stays_impossible() -> None:
    """141 GB of weights in 8 GB: capacity is no matter of how fast it was measured."""
    report = rooflight.claim("llama-3.1-70b", on=MACHINE, batch=1, weights="bf16", output_tok_s=0.01)
    assert report.summary.impossible == 1
    assert report.rows[0].bound == "capacity"
    fast = rooflight.claim("llama-3.1-70b", on=MACHINE, batch=1, weights="bf16", output_tok_s=1e6)
    assert fast.summary.impossible == 1


@pytest.mark.parametrize("machine", [MACHINE, H100])
@given(batch=st.integers(1, 128), isl=st.integers(1, 4096))
def test_ceilings_of_a_measured_machine_are_the_fastest_seen(machine: str, batch: int, isl: int) -> None:
    """Ceiling <= roofline <= expected, as everywhere; and no time is below what the fastest rates allow."""
    found = rooflight.analyze(MODEL, on=machine, batch=batch, isl=isl, ignore_capacity=True)
    seen = found.accelerator.measured
    assert seen is not None
    assert seen.fastest_memory_bytes_per_s is not None
    assert seen.fastest_memory_bytes_per_s >= found.accelerator.memory_bytes_per_s
    for form, peak in found.accelerator.peak_flop_per_s.items():
        assert seen.fastest_flop_per_s[form] >= peak
    for phase in found.phases.values():
        assert phase.time_s.ceiling <= phase.time_s.roofline <= phase.time_s.expected


def test_answers_speak_of_what_was_seen() -> None:
    """In every command's text; what the datasheet allows at best stands beside, under its name."""
    values = {
        "analyze": rooflight.analyze(MODEL, on=MACHINE),
        "moves": rooflight.moves(MODEL, on=MACHINE),
        "compare": rooflight.compare(MODEL, on=[MACHINE]),
        "check": rooflight.claim(MODEL, on=MACHINE, batch=1, output_tok_s=1e6),
    }
    for name, value in values.items():
        text = re.sub(r"\s+", " ", page(value))
        text = re.sub(r"By the datasheet of [^.]*: at best", "", text)
        assert not _PHYSICS.search(text), (name, _PHYSICS.search(text))
        assert "fastest seen" in text, name


def test_the_datasheet_stands_beside() -> None:
    """The ceiling of the same question on the catalog's entry, to the last digit."""
    own, sheet = (rooflight.analyze("llama-3.1-8b", on=on, batch=4) for on in (H100, "h100-sxm"))
    seen = own.accelerator.measured
    assert seen is not None
    assert seen.datasheet is not None
    assert seen.datasheet.whole
    assert seen.datasheet.ceilings_s == {name: phase.time_s.ceiling for name, phase in sheet.phases.items()}
    assert "By the datasheet of h100-sxm: at best" in page(own)
    assert "measured" not in sheet.to_dict()["accelerator"]
    assert own.to_dict()["accelerator"]["measured"]["datasheet"]["id"] == "h100-sxm"
