"""Records of benchmarks as rows: which values, under which load, and judged as the same values claimed by hand."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rooflight
from rooflight.answers.check.recorded import Said, measurements, rows_of
from rooflight.errors import BadInput
from rooflight.values.deployment import Deployment
from rooflight.values.recorded import Measurements, Record, Recorded, Spread, Stated
from rooflight.values.workload import Workload

MODEL, CARD = "meta-llama/Meta-Llama-3-8B", "h100-sxm"
LOAD = Measurements(
    requests=320, duration_s=40.0, isl=1024.4, osl=255.6, output_tokens_per_s=2048.0, in_flight=31.6,
    ttft_s=Spread(mean=0.1, p50=0.09), tpot_s=Spread(mean=0.012), request_s=Spread(mean=3.95),
)  # fmt: skip
HOW = Stated(model=MODEL, device=CARD, engine="vllm", concurrency=32, gpus=1, tp=1)


def rows(stated: Stated = HOW, measured: Measurements = LOAD) -> dict[str, object]:
    return {row.metric: row for row in measurements(Record(name="a", stated=stated, measured=measured), "a")}


def of(*records: Record) -> Recorded:
    return Recorded(file="any.json", format="x", records=records)


def test_a_load_is_four_values_of_one_run():
    found = rows()
    values = {name: row.value for name, row in found.items()}
    assert values == pytest.approx(
        {"ttft_ms": 100.0, "tpot_ms": 12.0, "e2e_latency_ms": 3950.0, "output_tok_s": 2048.0}
    )
    for row in found.values():
        assert (row.phase, row.run, row.batch, row.prompts) == ("e2e_server", "a", 32, 320)
        assert (row.input_len, row.output_len, row.engine, row.gpus) == (1024, 256, "vllm", 1)


@pytest.mark.parametrize(
    "changes, batch",
    [
        ({}, 32),  # kept in flight by the generator
        ({"concurrency": None}, 32),  # Little's law: 31.6
        ({"request_rate": 8.0}, 32),  # a cap over arrivals is no number that is kept
        ({"concurrency": 512, "request_rate": 8.0}, 32),
    ],
)
def test_how_many_are_in_flight(changes, batch):
    from msgspec.structs import replace

    assert rows(replace(HOW, **changes))["tpot_ms"].batch == batch
    open_ = replace(HOW, concurrency=None)
    unknown = replace(LOAD, in_flight=None)
    assert rows(open_, unknown)["tpot_ms"].batch is None
    assert rows(open_, replace(unknown, requests_per_s=8.0))["tpot_ms"].batch == 32  # 8 x 3.95 = 31.6


def test_a_batch_that_starts_together_is_offline():
    how = Stated(model=MODEL, batch=8, isl=1000, osl=100)
    found = rows(how, Measurements(
        request_s=Spread(mean=1.5), ttft_s=Spread(mean=0.5), tpot_s=Spread(p50=0.01), prefill_tokens_per_s=16_000.0,
        output_tokens_per_s=533.0, total_tokens_per_s=5872.0,
    ))  # fmt: skip
    assert {name: row.phase for name, row in found.items()} == {
        "ttft_ms": "e2e_offline", "tpot_ms": "e2e_offline", "e2e_latency_ms": "e2e_offline",
        "output_tok_s": "e2e_offline", "prefill_tok_s": "prefill",
    }  # fmt: skip
    assert {row.batch for row in found.values()} == {8}
    # rates alone are those of a run that is handed over whole
    (only,) = rows(Stated(), Measurements(total_tokens_per_s=300.0, requests=20)).values()
    assert (only.metric, only.phase, only.batch, only.prompts) == ("total_tok_s", "e2e_offline", None, 20)


def test_a_step_or_a_prefill_by_itself():
    """As llama-bench times them: tokens cached before are no prompt."""
    decode = Stated(phase="decode", batch=1, depth=8192, osl=128)
    (row,) = rows(decode, Measurements(output_tokens_per_s=20.0)).values()
    assert (row.metric, row.phase, row.depth, row.output_len, row.input_len) == (
        "output_tok_s",
        "decode",
        8192,
        128,
        None,
    )
    prefill = Stated(phase="prefill", batch=1, depth=0, isl=512)
    (row,) = rows(prefill, Measurements(prefill_tokens_per_s=700.0)).values()
    assert (row.metric, row.phase, row.input_len, row.output_len) == ("prefill_tok_s", "prefill", 512, None)


def test_which_time_is_one_a_token():
    """A median between chunks is none; one that is averaged over each request first is, where another is called so."""
    chunks = Measurements(itl_s=Spread(p50=0.15), ttft_s=Spread(mean=1.0))
    assert "tpot_ms" not in rows(HOW, chunks)
    assert rows(HOW, Measurements(itl_s=Spread(mean=0.19, p50=0.15)))["tpot_ms"].value == pytest.approx(190)
    guide = Measurements(itl_s=Spread(p50=0.0743), tpot_with_first_s=Spread(p50=0.0796))
    assert rows(HOW, guide)["tpot_ms"].value == pytest.approx(74.3)
    drafts = Stated(speculative=True, concurrency=1)
    assert "tpot_ms" not in rows(drafts, Measurements(itl_s=Spread(mean=0.19)))  # a chunk has several tokens


def test_a_share_of_accepted_drafts_is_a_chance_of_each():
    """3 drafted; each kept with chance 0.5 where all before were: 0.5 + 0.25 + 0.125 = 0.875 of 3."""
    how = Stated(speculative=True, draft_tokens=3, concurrency=1)
    row = rows(how, Measurements(tpot_s=Spread(mean=0.005), acceptance=0.875 / 3))["tpot_ms"]
    assert (row.speculative, row.draft_tokens) == ("yes", 3)
    assert row.acceptance == pytest.approx(0.5, abs=1e-5)


def test_pools_of_workers_are_no_one_server():
    how = Stated(prefill_workers=2, decode_workers=1, prefill_tp=4, tp=8, gpus=16, concurrency=4)
    row = rows(how)["tpot_ms"]
    assert (row.mode, row.prefill_workers, row.decode_workers, row.prefill_tp, row.tp) == ("disagg", 2, 1, 4, 8)


def test_what_is_said_stands_before_the_file():
    said = Said(
        workload=Workload(isl=300, batch=4), deployment=Deployment(tp=2, weights="fp8", schedule="batch"),
        stated=frozenset(("isl", "batch", "tp", "weights", "schedule")), count=2,
    )  # fmt: skip
    asked = rows_of(of(Record(stated=HOW, measured=LOAD)), said)
    for row in (one.row for one in asked.rows):
        assert (row.input_len, row.output_len, row.batch, row.tp, row.gpus, row.weights) == (300, 256, 4, 2, 2, "fp8")
        assert row.phase == "e2e_offline"
    # another layout without a number of devices: those that it has
    said = Said(deployment=Deployment(tp=4), stated=frozenset(("tp",)))
    assert rows_of(of(Record(stated=HOW, measured=LOAD)), said).rows[0].row.gpus is None


def test_medians_are_not_judged_together():
    """Little's law is of means: half of the requests may have been quick."""
    middle = Measurements(
        ttft_s=Spread(p50=0.001), tpot_s=Spread(p50=0.008), request_s=Spread(mean=3.0), output_tokens_per_s=2048.0
    )
    found = rows(HOW, middle)
    assert found["e2e_latency_ms"].run == found["output_tok_s"].run == "a"
    assert len({row.run for row in found.values()}) == 3
    asked = rows_of(of(Record(name="a", stated=HOW, measured=middle)), Said())
    assert {row.given["run"] for row in asked.rows} == {"a"}  # as it is told
    assert len({row.row.run for row in asked.rows}) == 3


def test_medians_are_said_where_they_stand_for_means():
    found = rows_of(of(Record(stated=HOW, measured=Measurements(tpot_s=Spread(p50=0.01)))), Said())
    assert found.notes == ("where no mean is given, the median stands for it",)
    assert rows_of(of(Record(stated=HOW, measured=LOAD)), Said()).notes == ()


@pytest.mark.parametrize(
    "record, said, what",
    [
        (Record(stated=HOW, measured=Measurements(kv_tokens=100.0)), Said(), "no measured time or rate"),
        (Record(stated=Stated(device=CARD), measured=LOAD), Said(), "names no model that the catalog knows"),
        (Record(stated=Stated(model=MODEL, device="a card"), measured=LOAD), Said(), "names no accelerator"),
        (Record(stated=HOW, measured=LOAD), Said(stated=frozenset(("context",))), "says itself what was timed"),
    ],
)
def test_what_cannot_be_asked_is_said(record, said, what):
    with pytest.raises(BadInput, match=what):
        rows_of(of(record), said)


HUGE = st.none() | st.floats(min_value=0, allow_infinity=False) | st.sampled_from([1e300, 5e-324, 2.0**60])
COUNTS = st.none() | st.integers(1, 1 << 60)
STATED = ("batch", "concurrency", "tp", "gpus", "depth", "draft_tokens")
MEASURED = ("isl", "osl", "in_flight", "acceptance", "total_tokens_per_s")


@settings(max_examples=40)
@given(
    stated=st.fixed_dictionaries({}, optional=dict.fromkeys(STATED, COUNTS)),
    measured=st.fixed_dictionaries({}, optional=dict.fromkeys(MEASURED, HUGE)),
    time=HUGE,
    speculative=st.sampled_from([None, True, False]),
    phase=st.sampled_from([None, "decode", "prefill", "odd"]),
)  # fmt: skip
def test_any_numbers_are_judged_or_said_to_be_none(stated, measured, time, speculative, phase):
    how = Stated(model=MODEL, device=CARD, speculative=speculative, phase=phase, **stated)
    out = Measurements(tpot_s=Spread(mean=time), prefill_tokens_per_s=5.0, output_tokens_per_s=50.0, **measured)
    report = rooflight.check(of(Record(stated=how, measured=out)))
    assert {row.verdict for row in report.rows} <= {"ok", "slow", "fast", "impossible", "cannot-judge"}


RUN = {
    "model_id": "somebody/elses", "num_prompts": 3200, "request_rate": "inf", "max_concurrency": 32, "duration": 400.0,
    "completed": 3200, "total_input_tokens": 3_276_800, "total_output_tokens": 819_200, "request_throughput": 8.0,
    "output_throughput": 2048.0, "mean_ttft_ms": 100.0, "mean_tpot_ms": 15.294, "mean_e2el_ms": 4000.0,
}  # fmt: skip
VALUES = {"ttft_ms": 100.0, "tpot_ms": 15.294, "e2e_latency_ms": 4000.0, "output_tok_s": 2048.0}


@pytest.fixture
def result(tmp_path):
    path = tmp_path / "result.json"
    path.write_text(json.dumps(RUN))
    return path


@pytest.mark.parametrize(
    "on, fields",
    [
        (CARD, {}),
        (CARD, {"weights": "fp8", "engine": "vllm", "engine_version": "0.12.0"}),
        (CARD, {"gpu_memory_utilization": 0.5, "graphs": False}),
        ("l4", {"kv_cache": "fp8", "memory": "48GiB"}),
        ("4xh100-sxm", {"tp": 4}),
        ("4xh100-sxm", {"tp": 2, "dp": 2, "network": "400Gb/s"}),
    ],
)
def test_a_file_and_a_claim_are_judged_alike(result, on, fields):
    """To the last digit, whichever options are beside them."""
    of_file = rooflight.check(result, model=MODEL, on=on, **fields)
    claimed = rooflight.claim(MODEL, on, batch=32, isl=1024, osl=256, schedule="served", **VALUES, **fields)
    assert {row.metric for row in of_file.rows} == VALUES.keys()
    by_metric = {row.metric: row for row in claimed.rows}
    for row in of_file.rows:
        other = by_metric[row.metric]
        for name in ("value", "ceiling", "expected", "low", "high", "over_ceiling", "verdict"):
            assert getattr(row, name) == getattr(other, name), (row.metric, name)


@pytest.mark.parametrize(
    "how, out, claim",
    [
        (
            Stated(phase="decode", batch=1, depth=8192, osl=128),
            Measurements(output_tokens_per_s=100.0),
            {"batch": 1, "isl": 8192, "osl": 128, "output_tok_s": 100.0},
        ),
        (
            Stated(phase="decode", batch=1, osl=128, isl=4096),
            Measurements(tpot_s=Spread(mean=0.01)),
            {"batch": 1, "isl": 4096, "osl": 128, "tpot_ms": 10.0},
        ),
        (
            Stated(phase="prefill", batch=1, depth=0, isl=512),
            Measurements(prefill_tokens_per_s=9000.0),
            {"batch": 1, "isl": 512, "prefill_tok_s": 9000.0},
        ),
        (
            Stated(batch=8, isl=1000, osl=100),
            Measurements(request_s=Spread(mean=2.0)),
            {"batch": 8, "isl": 1000, "osl": 100, "schedule": "batch", "e2e_latency_ms": 2000.0},
        ),
    ],
)
def test_steps_and_batches_are_judged_as_claims_too(how, out, claim):
    (of_file,) = rooflight.check(of(Record(stated=how, measured=out)), model=MODEL, on=CARD, weights="bf16").rows
    (claimed,) = rooflight.claim(MODEL, on=CARD, weights="bf16", **claim).rows
    for name in ("value", "ceiling", "expected", "low", "high", "verdict"):
        assert getattr(of_file, name) == getattr(claimed, name), name


def test_the_file_says_what_no_option_does(result, tmp_path):
    """tp 4 of the file counts; of an option before it."""
    path = tmp_path / "tp.json"
    path.write_text(json.dumps(RUN | {"tp": 4}))
    ceilings = {tp: claimed(tp).ceiling for tp in (2, 4)}
    assert token(rooflight.check(path, model=MODEL, on=CARD)).ceiling == ceilings[4]
    assert token(rooflight.check(path, model=MODEL, on=CARD, tp=2)).ceiling == ceilings[2]


def token(report):
    return next(row for row in report.rows if row.metric == "tpot_ms")


def claimed(tp: int):
    return token(
        rooflight.claim(MODEL, f"{tp}x{CARD}", tp=tp, batch=32, isl=1024, osl=256, schedule="served", **VALUES)
    )


def test_a_value_beyond_physics_is_impossible(tmp_path):
    """15.0 GB a token in 1 ms would be 15 TB/s."""
    path = tmp_path / "fast.json"
    path.write_text(json.dumps(RUN | {"mean_tpot_ms": 1.0, "max_concurrency": 1}))
    report = rooflight.check(path, model=MODEL, on=CARD, weights="bf16")
    assert token(report).verdict == "impossible"
    assert report.summary.impossible >= 1


def test_without_a_layout_no_layout_is_taken_for_granted(result):
    """As of a row of a table: the fastest legal one, and that is said."""
    report = rooflight.check(result, model=MODEL, on="4xh100-sxm")
    assert "layout not stated: the fastest legal one" in token(report).reason


def test_rows_of_a_table_take_nothing_beside_them(tmp_path, result):
    path = tmp_path / "rows.csv"
    path.write_text(f"model,accelerator,metric,value\n{MODEL},{CARD},tpot_ms,20\n")
    assert rooflight.check(path).summary.rows == 1
    for source in (path, [{"model": MODEL, "accelerator": CARD, "metric": "tpot_ms", "value": 20}]):
        with pytest.raises(BadInput, match="rows describe themselves"):
            rooflight.check(source, model=MODEL)
