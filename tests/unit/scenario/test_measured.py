"""`--engine torch`: by the tables of a measured machine, and nowhere else."""

from __future__ import annotations

import pytest

import rooflight
from kernel_tables import machine, made, tried
from rooflight.errors import MissingFact
from rooflight.library.questions import make_scenario

SAME = {"weights": "fp32", "activations": "fp32", "kv_cache": "fp32"}


def scenario(tables, **fields):
    return make_scenario("qwen3-0.6b", machine(tables), engine="torch", **{**SAME, **fields})


def test_a_datasheet_has_no_tables():
    with pytest.raises(MissingFact, match="h100-sxm was not measured") as found:
        rooflight.analyze("qwen3-0.6b", "h100-sxm", engine="torch")
    assert "rooflight measure -o this.toml" in found.value.try_this


def test_a_machine_measured_without_tables_says_so():
    with pytest.raises(MissingFact, match="no tables of kernels"):
        scenario(None)


def test_weights_that_were_not_timed_are_refused():
    with pytest.raises(MissingFact, match="kernels with bf16 weights were not timed"):
        scenario(made("fp32"), weights="bf16", activations="bf16", kv_cache="bf16")


def test_weights_that_are_not_multiplied_as_they_are_stored_are_refused():
    with pytest.raises(MissingFact, match="kernels with int4 weights were not timed"):
        scenario(made("fp32", "bf16"), weights="int4", activations=None, kv_cache="bf16")


def test_the_engine_is_what_is_around_the_kernels():
    """No server and no host but the choice of a token; the interval is that of the tables."""
    sc = scenario(made("fp32", tried=tried(0.9, 1.0, 1.2)))
    assert sc.engine.host_s == 5e-4
    assert sc.engine.host_per_sequence_s == 1e-4
    assert sc.engine.server_s == 0
    assert (sc.engine.low, sc.engine.high) == pytest.approx((0.9, 1.2))
    assert sc.fits.tables is not None


def test_other_engines_do_not_see_the_tables():
    with_tables = rooflight.analyze("qwen3-0.6b", machine(made("fp32", "bf16")), engine="vllm")
    without = rooflight.analyze("qwen3-0.6b", machine(None), engine="vllm")
    assert with_tables.phases == without.phases
    assert with_tables.runs == without.runs


def test_an_analysis_by_the_tables_says_whose_they_are():
    found = rooflight.analyze("qwen3-0.6b", machine(made("fp32")), engine="torch", batch=4, **SAME)
    assert any("torch's kernels as timed on" in one for one in found.assumptions)
    decode = found.phases["decode"].time_s
    assert decode.ceiling <= decode.roofline <= decode.expected


def test_a_sweep_over_the_tables_is_what_single_questions_are():
    """Arrays go through the same tables: equal to rounding."""
    card = machine(made("fp32"))
    batches = [1, 3, 8, 40]
    swept = rooflight.sweep("qwen3-0.6b", card, {"batch": batches}, engine="torch", context=300, **SAME)
    rows = swept.records()
    alone = [
        rooflight.analyze("qwen3-0.6b", card, engine="torch", context=300, batch=one, **SAME).phases["decode"]
        for one in batches
    ]
    assert [one["time_s.expected"] for one in rows] == pytest.approx([one.time_s.expected for one in alone], rel=1e-9)
