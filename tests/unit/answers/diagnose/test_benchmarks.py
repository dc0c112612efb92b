"""Single runs beside their prediction: which ceiling they hit, and figures that are not what their names say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflight.answers.diagnose.benchmarks import benchmarks, benchmarks_of
from rooflight.answers.diagnose.points import point, points
from rooflight.values.recorded import Measurements, Record, Recorded, Spread, Stated
from rooflight.words.diagnosis.benchmarks import told
from unit.answers.diagnose.asked import setting

# A file of vllm bench serve: 200 requests at 0.3 a second on a GB10, Gemma-4-26B-A4B in bf16.
OFFICE = (
    "request_rate=0.3 num_prompts=200 isl=4077 osl=485.5 requests_per_s=0.26663 output_tok_s=129.44 total_tok_s=1216.5 "
    "ttft_ms=1577.96 tpot_ms=191.168 itl_ms=188.16 e2e_ms=92922.9"
)
# The console of a load generator: the command says 10 in flight, the table is of another run.
README = (
    "concurrency=10 isl=10 osl=42.83 ttft_ms=18.26 itl_ms=11.23 e2e_ms=487.3 output_tok_s=10944.03 "
    "requests_per_s=255.54 requests=711"
)


def found(*texts, name=None, on=None, **fields):
    return benchmarks_of(points(texts), setting(name, on, **fields))


def odd(one):
    return {each.kind: (each.first, each.second) for each in one.runs[0].odd}


def test_an_open_loop_that_keeps_up_is_bound_by_its_step():
    """0.2666 of 0.3 a second is no overload: 200 requests come in 667 s, and the last one takes 93 s more: 0.263."""
    one = found(OFFICE, name="google/gemma-4-26B-A4B", on="gb10", weights="bf16", engine="vllm")
    run = one.runs[0]
    assert (one.bound, run.said) == ("memory", "bound")
    assert run.implied == pytest.approx(0.26663 * 92.9229)
    assert not run.odd
    assert "24.8 in flight" in told(one).answer


def test_without_a_model_a_run_that_keeps_up_cannot_be_told():
    one = found(OFFICE)
    assert one.cannot_tell
    assert told(one).next[0].command == "rooflight diagnose FILE --model MODEL --on ACCELERATOR"


def test_a_first_token_of_forty_seconds_is_a_queue():
    """Prefill of 1,000 tokens takes a fraction of a second; 1,000 tok/s x 60 ms = 60 run of 256."""
    text = "concurrency=256 isl=1000 osl=200 ttft_s=40 tpot_ms=60 output_tok_s=1000 max_num_seqs=64"
    one = found(text, name="llama-3.1-8b", on="l40s", engine="vllm")
    run = one.runs[0]
    assert (one.bound, one.confidence) == ("queue", "high")
    assert run.prefill_s < 0.5
    assert run.queue_s == pytest.approx(40 - run.prefill_s)
    assert run.decoding == pytest.approx(1000 * 0.060)
    said = told(one).answer
    assert "waiting" in said
    assert "about 60 of 256 in flight run" in said
    assert "the engine lets 64 run" in said
    assert "5 requests a second" in said  # 1,000 / 200


def test_a_queue_shows_without_a_model_where_most_of_a_request_is_its_first_token():
    one = found("concurrency=256 isl=1000 osl=200 ttft_s=40 tpot_ms=60 output_tok_s=1000")
    assert (one.bound, one.confidence) == ("queue", "medium")


def test_a_full_pool_is_capacity():
    """u34: 77,088 tokens / 1,070 = 72 sequences; 256 are in flight and about 72 run."""
    text = "concurrency=256 isl=1000 osl=70 ttft_s=60 kv_tokens=77088 tpot_ms=270 output_tok_s=267"
    one = found(text, name="qwen2.5-7b", on="a10g", engine="vllm")
    assert one.bound == "capacity"
    assert one.runs[0].room == pytest.approx(77_088 / 1070)
    assert "holds about 72" in told(one).answer


def test_more_requests_than_are_finished_are_a_queue():
    """2,000 at 20 a second come in 100 s; with the last one's 66 s it would be 12 a second, and 8 are finished."""
    text = (
        "request_rate=20 num_prompts=2000 isl=500 osl=200 requests_per_s=8 ttft_s=60 tpot_ms=30 e2e_s=66 "
        "output_tok_s=1600"
    )
    one = found(text, name="llama-3.1-8b", on="l40s", engine="vllm")
    assert (one.bound, one.runs[0].said) == ("queue", "overload")
    assert "20 requests a second come and 8 are finished" in told(one).answer


def test_few_requests_leave_a_machine_starved():
    text = (
        "request_rate=1 num_prompts=500 isl=500 osl=200 requests_per_s=0.995 ttft_ms=40 tpot_ms=9 e2e_ms=1831 "
        "output_tok_s=199"
    )
    one = found(text, name="llama-3.1-8b", on="h100", engine="vllm")
    assert one.bound == "starved"
    # 0.995 x 1.831 s = 1.8 in flight
    assert one.runs[0].in_flight == pytest.approx(1.82, abs=0.01)
    assert one.runs[0].beside.most_per_s > 10


def test_one_stream_is_bound_by_memory_not_starved():
    """r11: 140 tok/s of one stream is 45 % of 310: nothing is wrong but the number of streams."""
    text = "concurrency=1 isl=500 osl=500 output_tok_s=140"
    one = found(text, name="llama-3.1-8b", on="h200", engine="sglang")
    assert one.bound == "memory"
    assert 0.4 < one.runs[0].beside.of_roof < 0.5


def test_a_step_many_times_slower_than_expected_reaches_no_ceiling():
    """u17: 6.3 ms of 2.9 ms that a 1B model's weights take on an L40; five times that is the host's."""
    one = found("batch=1 isl=128 osl=128 tpot_ms=30", name="llama-3.2-1b", on="l40", engine="vllm")
    assert (one.bound, one.runs[0].said) == ("launch", "slow")
    assert "No ceiling of the machine is reached" in told(one).answer


def test_a_roofline_that_no_engine_comes_near_does_not_bind():
    """r14: 37 B active weights in FP8 over 8 x 4 TB/s are 1.8 ms; 33 ms is what engines did there: the host's."""
    text = "batch=1 isl=2048 osl=1024 output_tok_s=30"
    one = found(text, name="deepseek-ai/DeepSeek-V3.2", on="8xh20", tp=8, engine="vllm")
    assert (one.bound, one.runs[0].said) == ("launch", "far")


def test_prompts_bind_where_they_alone_are_timed():
    one = found("phase=prefill batch=1 isl=4096 prefill_tok_s=9000", name="llama-3.1-8b", on="a100")
    assert one.bound == "compute"


def test_faster_than_physics_names_the_mix_up():
    """r18: 5,000 tok/s at 32 in flight counted prompts and answers: (3,200 + 800) / 800 = 5."""
    text = "concurrency=32 isl=3200 osl=800 output_tok_s=50000"
    one = found(text, name="deepseek-ai/DeepSeek-R1", on="8xmi300x", tp=8, engine="sglang")
    assert one.cannot_tell
    assert one.runs[0].said == "beyond"
    assert "impossible" in told(one).answer


def test_twice_what_is_expected_may_count_prompts():
    """u70: 2,298.89 of 100 requests of 1,000 in and out: halved, it is what is expected."""
    one = found("concurrency=100 isl=1000 osl=1000 output_tok_s=2298.89", name="Qwen-7B", on="a100", engine="vllm")
    assert one.cannot_tell
    assert odd(one)["perhaps total"] == (2298.89, pytest.approx(2298.89 / 2))
    assert "1,150 tok/s of 2,300" in told(one).answer


@pytest.mark.parametrize(
    ("text", "kind", "first", "second"),
    [
        # 255.54 requests/s x 0.4873 s
        (README, "in flight", 10, 255.54 * 0.4873),
        # guidellm: 20.4 s / 256 = 79.7 ms
        ("concurrency=32 isl=546 osl=256 e2e_p50_s=20.4 ttft_p50_ms=1465.9 itl_p50_ms=74.3 tpot_with_first_p50_ms=79.6",
         "tpot counts the first token", 0.0796, 0.0743),
        # the same under the name TPOT: 20.4 s / 256 = 79.7 ms, and (20.4 - 1.4659) / 255 = 74.3
        ("concurrency=32 isl=546 osl=256 e2e_s=20.4 ttft_ms=1465.9 tpot_ms=79.7", "tpot counts the first token", 0.0797,
         (20.4 - 1.4659) / 255),
        # input and output: 414.5 x 802 / 256 = 1,298.5
        ("concurrency=32 isl=546 osl=256 output_tok_s=414.5 total_tok_s=3000 itl_ms=74", "total is off", 3000,
         414.5 * 802 / 256),
        # 2 requests/s x (900 + 100) tokens
        ("concurrency=8 isl=900 osl=100 requests_per_s=2 output_tok_s=2000", "output counts prompts", 2000, 200),
        ("concurrency=8 isl=900 osl=100 requests_per_s=2 output_tok_s=120", "output is off", 120, 200),
        ("batch=8 tpot_ms=20 itl_ms=60", "itl is per chunk", 0.06, 0.02),
        ("batch=8 tpot_ms=171 itl_ms=107", "tpot above itl", 0.171, 0.107),
        ("batch=8 output_tok_s=400 output_tok_s_per_user=400", "user rate is of all", 400, 50),
        # 4.79 tok/s x 39.17 ms = 0.19 of one
        ("concurrency=1 isl=128 osl=128 tpot_ms=39.17 output_tok_s=4.79", "start-up", 1, 4.79 * 0.03917),
        # 50 requests in 250 s, each 545 s
        ("request_rate=0.2 num_prompts=50 isl=1108 osl=4186 requests_per_s=0.0454 e2e_s=545", "short", 250, 545),
        ("request_rate=1.5 concurrency=25 num_prompts=300 isl=4004 osl=501 requests_per_s=0.449 e2e_ms=53557", "capped",
         1.5, 0.449),
        ("batch=1 speculative=yes acceptance=0.6 tpot_ms=5 itl_ms=12.5", "drafts", 0.6, 2.5),
    ],
)  # fmt: skip
def test_figures_that_are_not_what_their_names_say_are_named(text, kind, first, second):
    one = found(text)
    assert odd(one)[kind] == (pytest.approx(first), pytest.approx(second))
    assert told(one).notes


def test_figures_that_close_are_not_odd():
    """aiperf: 0.69 x 13.89 s = 9.6 of 10; 100 x 330.31 / 144.56 s = 228.5."""
    text = (
        "concurrency=10 isl=550 osl=330.31 ttft_ms=561.3 itl_ms=40.45 e2e_ms=13889.91 output_tok_s=228.5 "
        "requests_per_s=0.69 requests=100"
    )
    assert not odd(found(text))


def test_a_capped_rate_is_no_overload():
    one = found(
        "request_rate=1.5 concurrency=25 num_prompts=300 isl=4003.9 osl=501.1 requests_per_s=0.449 output_tok_s=225.05 "
        "ttft_ms=1268.9 tpot_ms=106.03 e2e_ms=53557.6"
    )
    assert one.bound is None
    assert one.runs[0].said == "unplaced"


def test_a_recorded_queue_and_prefill_are_taken_as_they_are():
    one = found("concurrency=8 isl=100 osl=100 ttft_s=10 queue_s=9 prefill_ms=200 tpot_ms=10 output_tok_s=79")
    assert (one.runs[0].queue_s, one.runs[0].prefill_s) == (9, 0.2)
    assert one.bound == "queue"


def test_drafts_without_their_number_are_not_judged():
    one = found("batch=1 speculative=yes tpot_ms=2 isl=500 osl=500", name="llama-3.1-8b", on="h100", engine="vllm")
    assert one.runs[0].said == "drafts"
    assert not one.runs[0].beside.judged
    assert "drafts were used" in told(one).answer


def test_of_many_runs_each_odd_one_is_named_and_few_are_set_beside_a_prediction():
    texts = [f"concurrency={n} isl=500 osl=200 tpot_ms={10 + n / 10} output_tok_s={n * 80}" for n in range(1, 20)]
    one = found(*texts, name="llama-3.1-8b", on="l40s", engine="vllm")
    assert len(one.runs) == 19
    assert sum(run.beside is not None for run in one.runs) == 12
    assert one.unplaced == 7
    assert "7 more runs" in " ".join(told(one).notes)


def test_an_engine_that_is_not_calibrated_is_given_up_a_format_that_nobody_knows_is_not():
    one = found("engine=somebody engine_version=3 batch=1 tpot_ms=20", name="llama-3.1-8b", on="l40s")
    assert one.bound == "memory"
    other = found("weights=q3.5_odd batch=1 tpot_ms=20", name="llama-3.1-8b", on="l40s")
    assert other.cannot_tell
    assert "weights q3.5_odd" in told(other).answer


def test_llama_cpp_splits_layers_over_cards():
    """Two cards in turn read 8 GB each at 640 GB/s: 25 ms, not the 12.5 of two at once."""
    one = found("engine=llama.cpp gpus=2 batch=1 tpot_ms=30", name="llama-3.1-8b", on="2xradeon-ai-pro-r9700")
    layout = one.runs[0].beside.scenario.layout
    assert (layout.tp, layout.pp) == (1, 2)


def test_runs_that_are_bound_by_different_things_are_no_sure_finding():
    """One card reads 2.47 GB in 2.9 of 6.3 ms; two read half of it each in 1.4 of 6.9."""
    one = found("tp=1 batch=1 tpot_ms=6.3", "tp=2 batch=1 tpot_ms=6.9", name="llama-3.2-1b", on="2xl40")
    assert {run.bound for run in one.runs} == {"memory", "launch"}
    assert one.confidence == "low"


def test_a_start_of_an_engine_is_no_run():
    started = Record(stated=Stated(model="m"), measured=Measurements(kv_tokens=1000.0))
    assert benchmarks([Recorded(file="a", format="vllm-log", records=(started,))], setting()) is None


def test_times_of_nothing_are_no_times():
    zero = Record(measured=Measurements(tpot_s=Spread(mean=0.0), output_tokens_per_s=0.0))
    assert benchmarks_of([zero], setting()) is None


values = st.none() | st.floats(1e-6, 1e6)
spreads = st.none() | st.builds(Spread, mean=values, p50=values)


@given(
    stated=st.builds(
        Stated, batch=st.none() | st.integers(1, 4096), concurrency=st.none() | st.integers(1, 4096), isl=values,
        osl=values, request_rate=values, num_prompts=st.none() | st.integers(1, 9999),
        speculative=st.none() | st.booleans(), phase=st.sampled_from([None, "prefill", "decode"]),
    ),
    measured=st.builds(
        Measurements, output_tokens_per_s=values, total_tokens_per_s=values, requests_per_s=values, ttft_s=spreads,
        tpot_s=spreads, itl_s=spreads, request_s=spreads, kv_tokens=values, prefill_tokens_per_s=values,
    ),
)  # fmt: skip
def test_any_figures_get_a_sentence(stated, measured):
    one = benchmarks_of([Record(stated=stated, measured=measured)], setting())
    if one is not None:
        said = told(one)
        assert said.answer.endswith(".")
        assert one.bound is None or not one.cannot_tell


def test_a_point_typed_by_hand_is_a_record_like_any_other():
    assert benchmarks_of([point("batch=1 tpot_ms=12")], setting()).cannot_tell
