"""Small sets of measurements as people publish them, and the verdict that their arithmetic gives.

Ids are those of the collected public cases (u..), reports (r..) and kinds of fault; where a thread gives no numbers,
round ones of its shape stand in and the comment says so.
"""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooflight.answers.diagnose.fits import fits_of
from rooflight.answers.diagnose.points import points
from rooflight.answers.diagnose.timed.seen import seen
from rooflight.serve import phases
from rooflight.serve.analyze import expected_bound, split
from rooflight.values.recorded import Measurements, Record, Spread, Stated
from rooflight.words.diagnosis.fits import told
from unit.answers.diagnose.asked import setting

PAIR = ("batch=1 tpot_ms=12.0", "batch=33 tpot_ms=15.2")


def found(texts, name=None, on=None, **fields):
    return fits_of(points(texts), setting(name, on, **fields))


def test_faults_11_with_the_model_says_what_is_left_for_the_host():
    """int4: 8.58 GB / 864 GB/s = 9.93 ms; 11.9 - 9.93 = 1.97 ms left; 439 tokens x 196,608 B = 86.3 MB a sequence in
    0.1 ms = 863 GB/s. 3.3 ms of 15.2 grow."""
    one = found(PAIR, "qwen2.5-14b", "l40s", weights="int4", isl=384, osl=112)
    fit = one.fits[0]
    assert (one.bound, one.confidence) == ("memory", "medium")
    assert fit.line.slope == pytest.approx(0.1e-3)
    assert fit.weights_s == pytest.approx(8.578e9 / 864e9, rel=1e-3)
    assert fit.left_s == pytest.approx(11.9e-3 - fit.weights_s, rel=1e-6)
    assert fit.bytes_per_s == pytest.approx(439 * 196_608 / 0.1e-3, rel=1e-6)
    # any batch: 1 / 0.1 ms = 10,000 tok/s; now 33 / 15.2 ms = 2,171: 4.6 times
    assert fit.limit_gain == pytest.approx(15.2 / 3.3)
    # twice: 66 / (11.9 + 6.6) over 33 / 15.2
    assert fit.next_gain == pytest.approx(2 * 15.2 / 18.5)


def test_faults_11_in_16_bits_cannot_be():
    """28 GB / 864 GB/s = 32 ms: more than either value."""
    one = found(PAIR, "qwen2.5-14b", "l40s", weights="bf16", isl=384, osl=112)
    assert one.cannot_tell
    assert one.fits[0].said == "beyond"
    assert {left.why for left in one.fits[0].left_out} == {"beyond"}


# id, points, model, on, fields; bound; what the sentence must have
RIGHT = [
    # 5.6x fewer bytes and no less time: its kernel, no ceiling
    ("u05", ("weights=fp16 batch=1 tpot_ms=20", "weights=int4 batch=1 tpot_ms=26"), None, None, {}, None,
     "not faster"),
    # 8,950 / 8,623 = 1.038 where memory is 1.43 times: (1 - 1/1.038) / (1 - 3.35/4.8) = 12 % of the H100's time, 9 %
    # of the H200's; arithmetic: 8,623 tok/s x 14.5 GFLOP = 125 TFLOP/s of 1,979
    ("u11", ("device=h100-sxm output_tok_s=8623", "device=h200-sxm output_tok_s=8950"), "mistral-7b", "h100-sxm",
     {"weights": "fp8", "isl": 128, "osl": 2048}, "launch", "1.43 times"),
    # 2,000 / 2,039 GB/s alike, 756 / 312 = 2.42 times the arithmetic, and the same 19 s
    ("u12", ("device=a100 e2e_latency_s=19", "device=h100-pcie e2e_latency_s=19"), None, None, {}, "memory",
     "2.42 times"),
    # 2.47 GB / 864 GB/s = 2.86 ms, half of it saved: 6.3 - 1.43 + x = 6.9, so x = 2.03 ms over 32 exchanges
    ("u17", ("tp=1 batch=1 tpot_ms=6.3", "tp=2 batch=1 tpot_ms=6.9"), "llama-3.2-1b", "2xl40",
     {"isl": 128, "osl": 128}, "link", "63.6 us an exchange"),
    # 34.5 ms - 7.4 saved + x = 58.8: x = 31.7 ms over 64 exchanges = 496 us, as the timeline has it (500)
    ("u18", ("tp=1 batch=1 output_tok_s=29", "tp=2 batch=1 output_tok_s=17"), "llama-2-7b", "2xv100-sxm2-16gb",
     {"weights": "fp16", "isl": 64, "osl": 128}, "link", "496 us an exchange"),
    ("u22", ("tp=1 e2e_latency_s=1.11", "tp=2 e2e_latency_s=1.27"), None, None, {}, "link", "1.27 s"),
    # stages are passed in turn: 10.2 / 6.4 = 1.59
    ("u24", ("tp=4 pp=1 e2e_latency_s=6.4", "tp=2 pp=2 e2e_latency_s=10.2"), None, None, {}, "memory", "1.59 times"),
    # six times from eight times the devices = 75 %
    ("u26", ("tp=8 pp=1 output_tok_s=1000", "tp=8 pp=8 output_tok_s=6000"), None, None, {}, "link", "75 %"),
    # 16.4 GB / 2.039 TB/s = 8 ms of 35 to 36.5 whatever is cached, in which format
    ("u40", ("batch=8 depth=1024 kv_cache=bf16 output_tok_s=227.8",
             "batch=8 depth=1024 kv_cache=fp8 output_tok_s=228.8",
             "batch=8 depth=16384 kv_cache=bf16 output_tok_s=219.2",
             "batch=8 depth=16384 kv_cache=fp8 output_tok_s=231.3"), "qwen3-8b", "a100", {"engine": "vllm"}, "launch",
     "host, launches"),
    # (1/2.8 - 1/6.3) / 75,000 tokens = 2.65 us; 134,912 B / 2.65 us = 51 GB/s
    ("u45", ("batch=1 depth=5000 output_tok_s=6.3 kv_cache=q8_0", "batch=1 depth=80000 output_tok_s=2.8 kv_cache=q8_0"),
     "Qwen3-Coder-480B-A35B", None, {}, "memory", "51 GB/s"),
    # 16.1 GB / 900 GB/s = 17.8 ms of a floor of 100: the rest is the host's
    ("u52", ("isl=50 ttft_ms=100", "isl=100 ttft_ms=99", "isl=200 ttft_ms=101", "isl=400 ttft_ms=102"), "llama-3-8b",
     "v100-sxm2-16gb", {"weights": "fp16"}, "launch", "are there for any prompt"),
    # one answer token: all 32 prompts collide, 900 ms; 256 of them spread out
    ("u58", ("concurrency=32 isl=3100 osl=1 ttft_ms=900", "concurrency=32 isl=3100 osl=256 ttft_ms=200"), None, None,
     {}, "queue", "answer length"),
    # 137 at 1, 520 at 4 and no more, the first token 0.03 -> 11.8 s: four slots, no compute bound
    ("u68", ("concurrency=1 output_tok_s=137 ttft_ms=30", "concurrency=4 output_tok_s=520 ttft_ms=40",
             "concurrency=8 output_tok_s=522 ttft_s=4", "concurrency=16 output_tok_s=520 ttft_s=11.8"), "qwen3-4b",
     "rtx-4090", {"weights": "fp8"}, "queue", "about 4 run and 12 wait"),
    ("u77", ("threads=16 output_tok_s=8", "threads=32 output_tok_s=12", "threads=60 output_tok_s=14",
             "threads=96 output_tok_s=13.8"), None, None, {}, "memory", "beyond 60 threads"),
    # four threads fill two channels; the prompt scales on
    ("u78", ("threads=1 output_tok_s=3", "threads=2 output_tok_s=5.5", "threads=4 output_tok_s=8",
             "threads=8 output_tok_s=8.1"), None, None, {}, "memory", "beyond 4 threads"),
    # 1/3.05 - 1/7.22 = 189 ms over 8 layers: 23.7 ms a layer more on the GPU
    ("u84", ("offloaded_layers=0 layers=33 output_tok_s=7.22", "offloaded_layers=8 layers=33 output_tok_s=3.05"), None,
     None, {}, None, "adds 23.7 ms"),
    # 17 GB at 936 GB/s = 18 ms of 27.7, flat over the context
    ("u87", ("batch=1 depth=4096 output_tok_s=36.15", "batch=1 depth=16384 output_tok_s=36.0",
             "batch=1 depth=32768 output_tok_s=35.9"), "gemma-3-27b", "rtx-3090", {"weights": "int4"}, "memory",
     "do not show"),
    # 3.54 GB / 256 GB/s = 13.8 ms of 21 to 23.6
    ("r06", ("depth=0 phase=decode batch=1 output_tok_s=47.41", "depth=4096 phase=decode batch=1 output_tok_s=44.14",
             "depth=8192 phase=decode batch=1 output_tok_s=42.36"), "gpt-oss-120b", "ryzen-ai-max-395",
     {"engine": "llama.cpp"}, "memory", "14 ms are the reading of weights"),
    # the same machine does 53.5, 74 % of what its memory allows
    ("r07", ("engine=vllm batch=1 output_tok_s=8", "engine=llama.cpp batch=1 output_tok_s=53.5"), "gpt-oss-120b",
     "ryzen-ai-max-395", {"isl": 64, "osl": 128}, "launch", "6.69 times"),
    # B200 is better in everything and 0.56 times as fast
    ("r15", ("device=h200-sxm output_tok_s=6051", "device=b200 output_tok_s=3396"), "llama-3.1-405b", "8xh200-sxm",
     {"tp": 8, "weights": "fp8", "kv_cache": "fp8", "isl": 128, "osl": 2048, "batch": 1024}, None, "1.78 times"),
]  # fmt: skip


@pytest.mark.parametrize(("case", "texts", "name", "on", "fields", "bound", "words"), RIGHT, ids=[r[0] for r in RIGHT])
def test_public_measurements_get_the_right_verdict(case, texts, name, on, fields, bound, words):
    one = found(texts, name, on, **fields)
    assert one.bound == bound
    assert not one.cannot_tell
    said = told(one)
    assert words in said.answer
    assert said.next or bound is None
    assert any(each.supports for each in said.evidence)


CANNOT = [
    # what is fixed may be weights or host: neither model nor machine is named
    ("faults-11", PAIR, None, None, {}, "cannot be told"),
    # fp16: 18.5 GB / 2.039 TB/s = 9.1 ms, so 3,527 tok/s at most at batch 32: 4,268 counts something else
    ("u09", ("weights=fp16 batch=32 output_tok_s=4267.6", "weights=int4 batch=32 output_tok_s=4963.7"), "gemma-2-9b",
     "a100", {"isl": 100, "osl": 100}, "faster than physics"),
    # equal output at 1, 2 and 4 devices: exchanges or the host
    ("u23", ("tp=1 output_tok_s=1000", "tp=2 output_tok_s=1010", "tp=4 output_tok_s=990"), None, None, {},
     "More devices change nothing"),
    # drafts of 2, 4 and 7: which are best, and no ceiling
    ("r19", ("draft_tokens=0 batch=1 output_tok_s=133", "draft_tokens=2 batch=1 output_tok_s=201",
             "draft_tokens=7 batch=1 output_tok_s=169"), None, None, {}, "1.51 times"),
    # 1.5 times from TP 4 to TP 8, no numbers of the machine
    ("r12", ("tp=4 batch=1 tpot_ms=30", "tp=8 batch=1 tpot_ms=20"), None, None, {}, "50 % of the time does not shrink"),
    # two things differ at once
    ("mixed", ("batch=1 tp=1 tpot_ms=20", "batch=8 tp=2 tpot_ms=15"), None, None, {}, "several things at once"),
    # a slope between 32 and 36.8 in flight is noise
    ("near", ("batch=32 tpot_ms=74", "batch=37 tpot_ms=103"), "llama-3.1-8b", "l4", {}, "so near each other"),
    # flat over the context, no model
    ("u87", ("batch=1 depth=4096 output_tok_s=36.15", "batch=1 depth=32768 output_tok_s=35.9"), None, None, {},
     "do not show"),
]  # fmt: skip


@pytest.mark.parametrize(("case", "texts", "name", "on", "fields", "words"), CANNOT, ids=[row[0] for row in CANNOT])
def test_what_cannot_be_told_is_said_with_what_to_record(case, texts, name, on, fields, words):
    one = found(texts, name, on, **fields)
    assert one.cannot_tell
    assert one.bound is None
    said = told(one)
    assert words in said.answer
    assert said.next


def test_one_measurement_is_no_series():
    assert found(("batch=1 tpot_ms=12",)) is None
    assert (
        found(("batch=1 tpot_ms=12", "batch=1 tpot_ms=12.1")) is None
        or found(("batch=1 tpot_ms=12", "batch=1 tpot_ms=12.1")).cannot_tell
    )


def test_the_order_of_points_changes_no_verdict():
    for _, texts, name, on, fields, *_rest in (*RIGHT[:1], *RIGHT[3:5], RIGHT[8], RIGHT[12]):
        one, two = (told(found(order, name, on, **fields)) for order in (texts, texts[::-1]))
        assert one == two


def test_a_point_whose_own_numbers_do_not_close_is_left_out_and_named():
    """One stream at 39.17 ms a token makes 25.5 tok/s, not 4.79: its rate holds the start-up."""
    texts = (
        "concurrency=1 osl=128 isl=128 ttft_ms=200 tpot_ms=39.17 output_tok_s=4.79 requests=100",
        "concurrency=2 osl=128 isl=128 ttft_ms=200 tpot_ms=12.2 output_tok_s=146 requests=100",
        "concurrency=4 osl=128 isl=128 ttft_ms=210 tpot_ms=12.5 output_tok_s=282 requests=100",
        "concurrency=8 osl=128 isl=128 ttft_ms=230 tpot_ms=13.1 output_tok_s=540 requests=100",
    )
    one = found(texts, "llama-3.1-8b", "rtx-3090", weights="int4")
    fit = next(each for each in one.fits if each.axis == "batch")
    assert [(left.label, left.why) for left in fit.left_out] == [("1", "open")]
    assert any("batch 1 is left out" in note for note in told(one).notes)


def test_a_prompt_series_gives_the_arithmetic_that_grows():
    """0.2 ms a token over 20 ms: 2 x 8.03 G / 0.2 ms = 75 to 80 TFLOP/s (attention beside), of an A100's 312."""
    texts = [f"isl={isl} ttft_ms={20 + 0.2 * isl}" for isl in (500, 1000, 2000, 4000)]
    one = found(texts, "llama-3.1-8b", "a100")
    fit = one.fits[0]
    assert one.bound == "compute"
    assert 70e12 < fit.flop_per_s < 90e12
    assert fit.share == pytest.approx(800 / 820, rel=0.05)


def test_the_square_of_a_prompts_length_shows_as_a_bend():
    """10 + 0.1 n + n^2 / 10^5 ms: at 10,000 tokens 1,000 of 2,010 ms."""
    texts = [f"isl={isl} ttft_ms={10 + 0.1 * isl + isl**2 / 1e5}" for isl in (1000, 2000, 4000, 8000, 10_000)]
    fit = found(texts).fits[0]
    assert fit.ideal_gain == pytest.approx(1000 / 2010, rel=0.01)


def test_more_in_flight_than_the_pool_holds_is_capacity():
    """u34: Qwen2.5-7B on an A10G: 77,088 tokens hold 72 sequences of 1,070; 256 in flight add nothing but waiting."""
    texts = [
        "concurrency=32 isl=1000 osl=70 kv_tokens=77088 ttft_s=1 tpot_ms=40 output_tok_s=590",
        "concurrency=64 isl=1000 osl=70 kv_tokens=77088 ttft_s=3 tpot_ms=70 output_tok_s=600",
        "concurrency=256 isl=1000 osl=70 kv_tokens=77088 ttft_s=22 tpot_ms=115 output_tok_s=605",
    ]
    one = found(texts, "qwen2.5-7b", "a10g", engine="vllm")
    assert one.bound == "capacity"
    # 605 tok/s x 115 ms = 70 run; 77,088 / 1,070 = 72 fit
    assert one.fits[0].slots == pytest.approx(69.6, abs=0.1)
    assert one.fits[0].room == pytest.approx(72.0, abs=0.1)


MORE = [
    # u19: one prompt of 16k: 1,046 tok/s with layers split, 379 with matrices split over PCIe
    (("tp=1 pp=2 isl=16000 prefill_tok_s=1046", "tp=2 pp=1 isl=16000 prefill_tok_s=379"), "link", "2.76 times"),
    # u42: as many as fit run: half the cache a token, 2,266 / 1,514 = 1.497 the output
    (("kv_cache=fp16 output_tok_s=1514", "kv_cache=fp8 output_tok_s=2266"), "capacity", "1.5 times"),
    # u43: fp8 keys and values are slower at a small batch: kernels more
    (("batch=1 kv_cache=bf16 tpot_ms=10", "batch=1 kv_cache=fp8 tpot_ms=11"), "launch", "not faster"),
    # llama-bench behind a cache: 1.00 ms a token, 1.97 ms behind 16,384
    (("phase=prefill depth=0 prefill_tok_s=998.24", "phase=prefill depth=4096 prefill_tok_s=826.59",
      "phase=prefill depth=16384 prefill_tok_s=507.39"), "compute", "more a cached token"),
    # prompts on two cards: 1,200 / 210 ms, where 148 and 989.4 TFLOP/s alone would give 6.69 times
    (("device=h20 isl=4000 ttft_ms=1200", "device=h100-sxm isl=4000 ttft_ms=210"), "compute", "6.69 times"),
    # replicas scale: 7,600 / 2,000 of four
    (("dp=1 concurrency=64 output_tok_s=2000", "dp=4 concurrency=256 output_tok_s=7600"), None, "It scales"),
    # twice the replicas, the same output
    (("dp=1 output_tok_s=1000", "dp=2 output_tok_s=1020"), None, "Replicas exchange nothing"),
    # two versions of an engine, 117 and 79 ms
    (("engine=llama.cpp engine_version=1 batch=1 tpot_ms=117", "engine=llama.cpp engine_version=2 batch=1 tpot_ms=79"),
     None, "1.48 times"),
]  # fmt: skip


@pytest.mark.parametrize(("texts", "bound", "words"), MORE, ids=[str(place) for place in range(len(MORE))])
def test_other_pairs_get_theirs(texts, bound, words):
    one = found(texts)
    assert one.bound == bound
    assert words in told(one).answer


def test_a_plateau_without_first_tokens_is_a_queue_where_the_machine_would_do_more():
    """u68 once more: 16 in flight at 520 tok/s are 31 ms a token, where 4.4 GB / 1,008 GB/s = 4.4 ms are enough."""
    texts = ("concurrency=1 output_tok_s=137", "concurrency=4 output_tok_s=520", "concurrency=16 output_tok_s=521")
    one = found(texts, "qwen3-4b", "rtx-4090", weights="fp8", isl=100, osl=100)
    assert (one.bound, one.confidence) == ("queue", "medium")


def test_the_kernels_of_the_fastest_engine_show_the_memory():
    """u81: LLaMA-33B q4_0 on an M1 Max, 117 -> 79 ms; 18.3 GB / 400 GB/s = 45.8 ms: 58 %."""
    texts = [f"engine=llama.cpp engine_version={when} batch=1 tpot_ms={ms}" for when, ms in ((1, 117), (2, 79))]
    one = found(texts, "codellama-34b", "apple-m1-max", weights="q4_0", isl=16, osl=16)
    assert one.bound == "memory"
    assert one.fits[0].share == pytest.approx(0.6, abs=0.05)


values = st.none() | st.floats(1e-6, 1e5)
counts = st.none() | st.integers(1, 512)
records = st.builds(
    Record,
    stated=st.builds(
        Stated,
        batch=counts,
        concurrency=counts,
        isl=values,
        osl=values,
        depth=counts,
        tp=st.sampled_from([None, 1, 2, 4]),
        pp=st.sampled_from([None, 1, 2]),
        dp=st.sampled_from([None, 1, 2]),
        threads=counts,
        weights=st.sampled_from([None, "bf16", "int4", "nonsense"]),
        kv_cache=st.sampled_from([None, "fp8", "q9"]),
        device=st.sampled_from([None, "h100", "2xl40s", "../x.toml", "this"]),
        engine=st.sampled_from([None, "vllm", "x"]),
        draft_tokens=st.none() | st.integers(0, 8),
        phase=st.sampled_from([None, "prefill", "decode"]),
        request_rate=values,
        max_num_seqs=counts,
    ),
    measured=st.builds(
        Measurements,
        output_tokens_per_s=values,
        requests_per_s=values,
        prefill_tokens_per_s=values,
        kv_tokens=values,
        offloaded_layers=counts,
        layers=counts,
        tpot_s=st.none() | st.builds(Spread, mean=values),
        ttft_s=st.none() | st.builds(Spread, mean=values),
        request_s=st.none() | st.builds(Spread, p50=values),
    ),
)


@pytest.mark.parametrize("placed", [(), ("llama-3.1-8b",), ("llama-3.1-8b", "2xh100-sxm")], ids=len)
@given(several=st.lists(records, max_size=4), one=records, other=records)
@settings(max_examples=40, deadline=None)
def test_any_records_get_a_sentence_or_nothing(placed, several, one, other):
    """Pairs that differ in their measurements alone, or in what is stated alone, and what else there is."""
    alike = [one, msgspec.structs.replace(other, stated=one.stated), msgspec.structs.replace(one, stated=other.stated)]
    result = fits_of([*several, *alike], setting(*placed))
    if result is not None:
        said = told(result)
        assert said.answer.endswith(".")
        assert "None" not in said.answer
        assert not (result.cannot_tell and result.bound)


LAW = [
    ("llama-3.1-8b", "l40s", {}, (1, 8, 32, 64)),
    ("llama-3.1-8b", "h100", {"engine": "vllm"}, (1, 8, 32, 64)),
    ("llama-3.1-8b", "l40s", {}, (1, 16, 64, 128, 256, 512)),
    ("llama-3.2-1b", "h200", {"engine": "transformers"}, (1, 2, 4, 8)),
    ("mistral-7b", "rtx-4090", {"weights": "int4", "engine": "vllm"}, (1, 8, 32, 64)),
    ("qwen3-30b-a3b", "h100", {"engine": "vllm"}, (1, 2, 4, 8)),
]


@pytest.mark.parametrize(("name", "on", "fields", "batches"), LAW)
def test_steps_that_are_as_expected_are_bound_as_expected(name, on, fields, batches):
    """A series of the library's own expected steps gets the library's own bound of what is expected."""
    at = setting(name, on, isl=512, osl=256, **fields)
    steps = [phases.decode(at.scenario, batch=batch) for batch in batches]
    texts = [f"batch={batch} tpot_ms={step.span.expected * 1e3}" for batch, step in zip(batches, steps, strict=True)]
    one = fits_of(points(texts), at)
    assert one.bound == expected_bound(split(steps[-1].time.operators), steps[-1].expected)


def test_more_than_half_that_cannot_be_leaves_nothing_to_tell():
    """16 GB / 864 GB/s = 17.5 ms: 9.5, 10.5 and 14 ms are other weights than 16 bits."""
    texts = [f"batch={batch} tpot_ms={ms}" for batch, ms in ((1, 9.5), (4, 10.5), (16, 14), (64, 30), (256, 75))]
    one = found(texts, "llama-3.1-8b", "l40s", isl=1000, osl=250)
    assert one.cannot_tell
    assert one.fits[0].said == "beyond"


def test_prompts_whose_points_do_not_close_are_no_traceback():
    """100 requests/s x 10 s are 1,000 in flight, not 1: that point is left out, and one makes no line."""
    from rooflight.library.diagnosed import diagnose

    open_one = "batch=1 isl=1000 ttft_ms=50 requests_per_s=100 e2e_s=10"
    for named in ({}, {"model": "llama-3.1-8b", "on": "h100"}):
        assert diagnose(points=["batch=1 isl=100 ttft_ms=10", open_one], **named).answer


def test_prompts_of_others_are_a_part_of_what_grows_in_a_served_pair():
    """A sequence more in flight brings one prompt more in the time of its 256 tokens, which the others wait for."""
    texts = ["concurrency=32 isl=1024 osl=256 tpot_ms=12.74", "concurrency=64 isl=1024 osl=256 tpot_ms=20"]
    one = found(texts, "llama-3.1-8b", "h100-sxm")
    fit = one.fits[0]
    prompt_s = phases.prefill(setting("llama-3.1-8b", "h100-sxm", isl=1024, osl=256).scenario, prompts=1).span.expected
    assert fit.prompts_s == pytest.approx(64 * prompt_s / 256, rel=0.02)
    # all that grows: 64 x (20 - 12.74) / 32 = 14.5 ms, a sequence's reading of weights not in it
    assert fit.grows_s + fit.prompts_s == pytest.approx(64 * (20 - 12.74) / 32 * 1e-3)
    parts = fit.split
    assert parts.memory + parts.compute + parts.link + parts.launch == pytest.approx(20e-3)
    assert parts.compute == fit.prompts_s
    assert one.confidence != "high"


def test_decode_alone_has_no_prompts_beside_it():
    texts = ["batch=32 isl=1024 osl=256 tpot_ms=12.74", "batch=64 isl=1024 osl=256 tpot_ms=20"]
    fit = found(texts, "llama-3.1-8b", "h100-sxm").fits[0]
    assert fit.prompts_s is None
    assert fit.grows_s == pytest.approx(64 * (20 - 12.74) / 32 * 1e-3)


def test_requests_of_less_than_a_token_in_the_mean_last_as_long_as_their_first():
    """2 requests/s x 50 ms = 0.1 in flight: no time is less than none."""
    measured = Measurements(
        requests_per_s=2.0, osl=0.5, ttft_s=Spread(mean=0.05), tpot_s=Spread(mean=0.2), output_tokens_per_s=1.0
    )
    run = seen(Record(name="short", stated=Stated(concurrency=1), measured=measured))
    assert run.implied == pytest.approx(2.0 * 0.05)
