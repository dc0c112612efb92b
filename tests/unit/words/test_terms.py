"""The table of terms: whole, worked out, and found by what tools call them."""

from __future__ import annotations

from typing import get_args

import pytest

from rooflight.answers.explain.formula import worked
from rooflight.errors import UnknownName
from rooflight.values.diagnosis import Bound
from rooflight.words.explain import example
from rooflight.words.terms import listed, term, terms

NAMES = {one.name for one in terms()}


@pytest.mark.parametrize("one", [one for one in terms() if one.example], ids=lambda one: one.name)
def test_the_worked_number_of_a_term_is_right(one):
    """The left side of its example is its right one, to the digits that are printed."""
    formula, _, value = one.example.partition("=")

    assert worked(formula.strip(), {}) == pytest.approx(float(value), rel=0.006)
    assert one.conversion
    assert one.example_words in example(one)


@pytest.mark.parametrize("one", terms(), ids=lambda one: one.name)
def test_a_term_says_what_it_is_and_is_not(one):
    for text in (one.means, one.not_means):
        assert text[0].isupper()
        assert text.endswith(".")
    assert set(one.see) <= NAMES - {one.name}


def test_what_the_issue_names_is_there():
    wanted = {
        "gpu-util", "sm-active", "sm-occupancy", "tensor-active", "dram-active", "kv-cache-usage", "itl", "tpot",
        "ttft", "e2e", "output-throughput", "total-throughput", "user-throughput", "goodput", "mfu", "mbu",
        "arithmetic-intensity", "ridge-point", "roofline", "ceiling", "expected", "queue-time", "prefix-hit-rate",
        "preemption", "batch", "concurrency", "max-num-seqs",
    }  # fmt: skip
    assert wanted <= NAMES
    assert [one.name for one in listed()] == [one.name for one in terms()]


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("DCGM_FI_PROF_DRAM_ACTIVE", "dram-active"), ("DCGM_FI_DEV_GPU_UTIL", "gpu-util"), ("GPU-Util", "gpu-util"),
        ("utilization.gpu", "gpu-util"), ("vllm:gpu_cache_usage_perc", "kv-cache-usage"),
        ("vllm:kv_cache_usage_perc", "kv-cache-usage"), ("gpu_cache_usage", "kv-cache-usage"),
        ("sglang:token_usage", "kv-cache-usage"), ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "tensor-active"),
        ("mean_tpot_ms", "tpot"), ("Mbu", "mbu"), ("time_per_output_token_ms", "e2e-per-token"),
        ('vllm:time_to_first_token_seconds_bucket{le="0.1",model="m"}', "ttft"), ("tok/s/user", "user-throughput"),
        ("Output token throughput (tok/s)", "output-throughput"), (" TTFT ", "ttft"), ("sm_active", "sm-active"),
        ("utilization.memory", "memory-util"), ("inter token latency", "itl"),
    ],
)  # fmt: skip
def test_a_term_is_found_by_what_tools_call_it(asked, name):
    assert term(asked).name == name


@pytest.mark.parametrize("bound", get_args(Bound))
def test_what_diagnose_says_that_binds_is_a_term(bound):
    assert term(bound).name.replace("-", "_") in (bound, f"{bound}_bound")


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("DCGM_FI_PROF_NVLINK_TX_BYTES", "nvlink"), ("NVLink", "nvlink"), ("DCGM_FI_PROF_PCIE_RX_BYTES", "pcie"),
        ("POWER_USAGE", "power"), ("power.draw", "power"), ("clocks.sm", "clocks"), ("DCGM_FI_DEV_SM_CLOCK", "clocks"),
        ("throttling", "throttled"), ("clocks_event_reasons.active", "throttled"), ("Launch-bound", "launch-bound"),
        ("queue", "queue"), ("memory bound", "memory-bound"),
    ],
)  # fmt: skip
def test_what_diagnose_asks_to_record_is_a_term(asked, name):
    assert term(asked).name == name


def test_no_two_terms_share_a_name():
    seen: dict[str, str] = {}
    for one in terms():
        for name in {
            other.lower().replace("-", "").replace("_", "").replace(" ", "") for other in (one.name, *one.aliases)
        }:
            assert seen.setdefault(name, one.name) == one.name, name


@pytest.mark.parametrize(("asked", "near"), [("gpu-utl", "gpu-util"), ("tensor", "tensor-active"), ("ttfft", "ttft")])
def test_an_unknown_term_names_the_near_ones(asked, near):
    with pytest.raises(UnknownName) as caught:
        term(asked)
    assert near in caught.value.try_this


@pytest.mark.parametrize("asked", ["", "{}", "x" * 5000, "\x00", "\ud800", "a" * 99 + "{"])
def test_any_text_is_looked_up(asked):
    with pytest.raises(UnknownName):
        term(asked)
