"""Engines' metrics under their old and new names: what a moment, a life and the time between two scrapes hold."""

from __future__ import annotations

import gzip
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflight.errors import BadConfig
from rooflight.ingest.recorded.monitoring.aliases import DEVICES, ENGINES
from rooflight.ingest.recorded.monitoring.between import difference, paired, watched_between
from rooflight.ingest.recorded.monitoring.exposition import read_text
from rooflight.ingest.recorded.read import recorded
from rooflight.values.recorded import Recorded, Watched


def histogram(name, labels, total, *rows):
    """A histogram's lines; rows: (bound, count up to it)."""
    lines = [f'{name}_bucket{{le="{bound}",{labels}}} {count}' for bound, count in rows]
    return "\n".join([*lines, f"{name}_sum{{{labels}}} {total}", f"{name}_count{{{labels}}} {rows[-1][1]}"]) + "\n"


def vllm(
    requests=0, prompts=0, outputs=0, ttft=0.0, decode=0.0, queue=0.0, inference=0.0, steps=0, running=0, waiting=0,
    usage=0.0, started=1000.0, engine="0", time="",
):  # fmt: skip
    """A vLLM's text, each request 100 tokens in and 11 out where not said."""
    who = f'engine="{engine}",model_name="m"'
    return (
        f"process_start_time_seconds {started}\n"
        f"vllm:num_requests_running{{{who}}} {running}{time}\n"
        f"vllm:num_requests_waiting{{{who}}} {waiting}\n"
        f"vllm:kv_cache_usage_perc{{{who}}} {usage}\n"
        f'vllm:cache_config_info{{block_size="16",cache_dtype="fp8_e4m3",gpu_memory_utilization="0.9",'
        f'num_gpu_blocks="1000",engine="{engine}"}} 1\n'
        f"vllm:prompt_tokens_total{{{who}}} {prompts}\n"
        f"vllm:generation_tokens_total{{{who}}} {outputs}\n"
        f'vllm:request_success_total{{{who},finished_reason="stop"}} {requests}\n'
        f'vllm:request_success_total{{{who},finished_reason="length"}} 0\n'
        f"vllm:prefix_cache_queries_total{{{who}}} {prompts}\n"
        f"vllm:prefix_cache_hits_total{{{who}}} {prompts / 4}\n"
        + histogram("vllm:time_to_first_token_seconds", who, ttft, (0.5, requests), ("+Inf", requests))
        + histogram("vllm:request_queue_time_seconds", who, queue, (0.3, requests), ("+Inf", requests))
        + histogram("vllm:request_inference_time_seconds", who, inference, (60, requests), ("+Inf", requests))
        + histogram("vllm:request_decode_time_seconds", who, decode, (60, requests), ("+Inf", requests))
        + histogram("vllm:request_generation_tokens", who, outputs, (100, requests), ("+Inf", requests))
        + histogram("vllm:iteration_tokens_total", who, prompts + outputs, (1000, steps), ("+Inf", steps))
    )


# 10 more requests in 20 s: 1,000 tokens in, 110 out in 55 steps; TTFT 0.2 s each, decoding 1 s each.
BEFORE = vllm(requests=10, prompts=1000, outputs=110, ttft=5.0, decode=20.0, queue=1.0, inference=30.0, steps=100)
AFTER = vllm(requests=20, prompts=2000, outputs=220, ttft=7.0, decode=30.0, queue=3.0, inference=60.0, steps=155)


def of(found, span):
    (one,) = [one for one in found.watched if one.span == span]
    return one


def test_a_scrape_is_a_moment_and_a_life():
    """Gauges are a moment's; means of histograms are of all that the engine ever did, so they are marked."""
    found = read_text(vllm(requests=10, prompts=1000, outputs=110, ttft=5.0, running=3, waiting=2, usage=0.4))
    now, ever = of(found, "moment"), of(found, "lifetime")

    assert (now.subject, now.engine, now.model) == ("vllm engine 0", "vllm", "m")
    assert (now.running, now.waiting, now.kv_usage, now.kv_tokens) == (3, 2, 0.4, 1000 * 16)
    assert now.ttft_s is None
    assert ever.ttft_s is not None
    assert ever.ttft_s.mean == 5.0 / 10
    assert (ever.isl, ever.osl, ever.requests) == (1000 / 10, 110 / 10, 10)
    assert ever.prefix_hit == 0.25
    assert ever.output_tokens_per_s is None  # nobody says how long it ran
    (record,) = found.records
    assert (record.measured.kv_tokens, record.measured.kv_tokens_per_replica) == (16_000, 16_000)
    assert (record.stated.engine, record.stated.memory_share, record.stated.kv_cache) == ("vllm", 0.9, "fp8")
    assert any("second scrape" in one for one in found.lacks)


def test_a_life_has_rates_where_its_start_and_the_time_are_said():
    """Started 100 s before the time that stands beside a value, in milliseconds."""
    text = vllm(requests=10, prompts=1000, outputs=110, started=1_100_000_000 - 100, time=" 1100000000000")
    ever = of(read_text(text), "lifetime")

    assert ever.seconds == 100
    assert (ever.output_tokens_per_s, ever.requests_per_s) == (110 / 100, 10 / 100)


def test_between_two_scrapes_only_what_came_counts():
    found = watched_between(BEFORE, AFTER, 20.0)
    one = of(found, "interval")

    assert (one.requests, one.isl, one.osl) == (10, 1000 / 10, 110 / 10)
    assert (one.output_tokens_per_s, one.prompt_tokens_per_s, one.requests_per_s) == (110 / 20, 1000 / 20, 10 / 20)
    assert one.ttft_s is not None
    assert one.ttft_s.mean == pytest.approx((7.0 - 5.0) / 10)
    assert one.tpot_s is not None
    assert one.tpot_s.mean == pytest.approx((30.0 - 20.0) / (110 - 10))  # later tokens: 11 - 1 of each request
    assert one.step_tokens == pytest.approx((1000 + 110) / 55)
    assert one.seconds == 20.0


def test_a_load_between_two_scrapes_is_seen_by_littles_law():
    """Both ends saw nobody; ten requests spent 30 s in the engine and 2 s waiting, within 20 s."""
    one = of(watched_between(BEFORE, AFTER, 20.0), "interval")

    assert one.running == pytest.approx((60.0 - 30.0) / 20)
    assert one.waiting == pytest.approx((3.0 - 1.0) / 20)
    assert one.kv_usage is None  # 0 at both ends is not what it was between


def test_an_engine_that_counts_no_inference_has_it_from_the_whole():
    """SGLang: 8 requests took 40 s in all and waited 10 s of them, within 15 s."""

    def text(requests, whole, queue):
        who = 'model_name="m"'
        rows = (60, requests), ("+Inf", requests)
        return (
            f"sglang:num_running_reqs{{{who}}} 0\nsglang:num_requests_total{{{who}}} {requests}\n"
            + histogram("sglang:e2e_request_latency_seconds", who, whole, *rows)
            + histogram("sglang:queue_time_seconds", who, queue, *rows)
        )

    one = of(watched_between(text(1, 5.0, 1.0), text(9, 45.0, 11.0), 15.0), "interval")

    assert one.running == pytest.approx((40 - 10) / 15)
    assert one.waiting == pytest.approx(10 / 15)


def test_without_a_time_there_are_means_and_no_rates():
    """A step gives each of its sequences one token: 110 tokens in 55 steps are two sequences."""
    found = watched_between(BEFORE, AFTER)
    one = of(found, "interval")

    assert one.output_tokens_per_s is None
    assert one.running == 110 / 55
    assert any("no rates" in note for note in found.notes)


def test_ends_that_saw_a_load_are_averaged():
    """Where requests ran at both ends, zeros in the queue are zeros."""
    before, after = vllm(running=4, usage=0.2), vllm(requests=1, outputs=11, running=8, usage=0.25)
    one = of(watched_between(before, after, 10.0), "interval")

    assert (one.running, one.waiting) == (6, 0)
    assert one.kv_usage == pytest.approx((0.2 + 0.25) / 2)


@pytest.mark.parametrize(
    "before",
    [vllm(), vllm(running=20, usage=0.21), vllm(running=60, waiting=40, usage=0.97)],
    ids=["idle", "small", "a shorter queue"],
)
def test_of_ends_that_differ_grossly_the_later_speaks(before):
    """No mean of two moments that never was: 60 % of the cache and 105 that wait."""
    found = watched_between(before, vllm(requests=5, outputs=55, running=64, waiting=210, usage=0.99), 10.0)
    one = of(found, "interval")

    assert (one.running, one.waiting, one.kv_usage) == (64, 210, 0.99)
    assert any("the later's" in note for note in found.notes)


def test_an_idle_engine_is_idle_between_scrapes():
    one = of(watched_between(BEFORE, BEFORE, 30.0), "interval")

    assert (one.running, one.waiting, one.requests, one.output_tokens_per_s) == (0, 0, 0, 0)
    assert one.ttft_s is None


@pytest.mark.parametrize(
    "after", [vllm(requests=3, outputs=33, started=2000.0), vllm(requests=3, outputs=33)], ids=["said", "counted"]
)
def test_a_restarted_engine_has_no_difference(after):
    """Its process is another, or its counters fell."""
    found = watched_between(BEFORE, after, 20.0)

    assert {one.span for one in found.watched} == {"moment", "lifetime"}
    assert any("started anew" in note for note in found.notes)


def test_times_in_the_texts_give_the_seconds():
    """As Prometheus' own /federate writes them: 1,700,000,000,000 ms and 15 s later."""
    one = of(
        watched_between(vllm(time=" 1700000000000"), vllm(requests=3, outputs=33, time=" 1700000015000")), "interval"
    )

    assert one.seconds == 15.0
    assert one.start == "2023-11-14T22:13:20.000Z"
    assert one.output_tokens_per_s == 33 / 15


def test_two_files_of_one_engine_are_one_time_whichever_comes_first(tmp_path):
    files = []
    for name, text in (("b.prom", AFTER), ("a.prom", BEFORE)):
        (tmp_path / name).write_text(text)
        files.append(recorded(tmp_path / name))
    (found,) = paired(files)

    assert found.file.endswith("b.prom")
    assert [one.span for one in found.watched] == ["interval"]
    assert found.watched[0].requests == 10
    assert not any("second scrape" in one for one in found.lacks)
    assert not any("single scrape" in one for one in found.notes)


def test_seconds_that_are_said_make_rates_of_each_pair():
    """11 and 44 tokens, each in 10 s; without them there are means and no rates."""
    files = [read_text(vllm(requests=n, outputs=11 * n)) for n in (1, 2, 6)]

    assert [one.watched[0].output_tokens_per_s for one in paired(files, 10.0)] == [11 / 10, 44 / 10]
    assert [one.watched[0].output_tokens_per_s for one in paired(files)] == [None, None]
    assert all(any("--interval" in note for note in one.notes) for one in paired(files))
    assert not any("--interval" in note for one in paired(files, 10.0) for note in one.notes)


def test_files_of_two_engines_stay_two():
    """Another process, another replica, another thing altogether, and the same scrape twice."""
    first = read_text(BEFORE)
    for other in (
        read_text(vllm(requests=20, started=7.0)),
        read_text(vllm(requests=20, engine="1")),
        Recorded(file="x", format="y"),
        first,
    ):
        assert paired([first, other]) == (first, other)
        assert other is first or difference(first, other) is None


def test_three_scrapes_are_two_times_in_order():
    texts = [vllm(requests=n, outputs=11 * n) for n in (5, 1, 2)]
    found = paired([read_text(text) for text in texts])

    assert [one.watched[0].requests for one in found] == [1, 3]


@pytest.mark.parametrize("text", [BEFORE + AFTER, AFTER + BEFORE])
def test_two_scrapes_in_one_file_are_what_lies_between(text):
    found = read_text(text)

    assert [one.span for one in found.watched] == ["interval"]
    assert found.watched[0].requests == 10


def test_replicas_are_apart():
    found = read_text(vllm(running=1) + vllm(running=5, engine="1").partition("\n")[2])

    assert {(one.subject, one.running) for one in found.watched} == {("vllm engine 0", 1), ("vllm engine 1", 5)}


def test_of_an_old_name_and_a_new_one_the_new_counts():
    """vLLM 0.10 had both for a while; they are the same tokens."""
    who = 'engine="0",model_name="m"'
    both = "".join(
        f"vllm:{name}{{{who}}} {value}\n"
        for name, value in (
            ("gpu_cache_usage_perc", 0.5), ("kv_cache_usage_perc", 0.5), ("generation_tokens_total", 50),
            ("gpu_prefix_cache_queries_total", 100), ("prefix_cache_queries_total", 100),
            ("gpu_prefix_cache_hits_total", 40), ("prefix_cache_hits_total", 40),
        )
    )  # fmt: skip
    found = read_text("# TYPE vllm:x gauge\n" + both)
    old = read_text(
        "# TYPE vllm:x gauge\n" + "\n".join(line for line in both.splitlines() if "gpu_" in line or "gen" in line)
    )

    for one in (found, old):
        assert of(one, "moment").kv_usage == 0.5
        assert of(one, "lifetime").prefix_hit == 0.4


def test_the_old_time_per_output_token_is_between_chunks():
    """vLLM observed it once a chunk, and calls it inter-token latency since 0.11."""
    who = 'model_name="m"'
    text = histogram("vllm:time_per_output_token_seconds", who, 8.0, (0.5, 100), ("+Inf", 100))
    ever = of(read_text(text + f"vllm:generation_tokens_total{{{who}}} 110\n"), "lifetime")

    assert ever.itl_s is not None
    assert ever.itl_s.mean == 0.08
    assert ever.tpot_s is None


def test_drafts_make_chunks_no_tokens():
    """Of 200 drafted 50 are accepted; a step's tokens are then no count of sequences."""
    who = 'engine="0",model_name="m"'
    counts = {"draft": 200, "accepted": 50}
    drafts = "".join(f"vllm:spec_decode_num_{name}_tokens_total{{{who}}} {count}\n" for name, count in counts.items())
    one = of(watched_between(BEFORE, AFTER + drafts), "interval")

    assert one.acceptance == 50 / 200
    assert one.running is None


SGLANG = """# TYPE sglang:num_running_reqs gauge
sglang:num_running_reqs{model_name="m",tp_rank="0",pp_rank="0",dp_rank="0"} 12
sglang:num_running_reqs{model_name="m",tp_rank="0",pp_rank="1",dp_rank="0"} 12
sglang:num_running_reqs{model_name="m",tp_rank="4",pp_rank="0",dp_rank="1"} 8
sglang:num_queue_reqs{model_name="m",tp_rank="0",pp_rank="0",dp_rank="0"} 3
sglang:token_usage{model_name="m",tp_rank="0",pp_rank="0",dp_rank="0"} 0.9
sglang:token_usage{model_name="m",tp_rank="4",pp_rank="0",dp_rank="1"} 0.7
sglang:gen_throughput{model_name="m",tp_rank="0",pp_rank="0",dp_rank="0"} 640.0
sglang:max_total_num_tokens{model_name="m",tp_rank="0",pp_rank="0",dp_rank="0"} 50000
sglang:prompt_tokens_total{model_name="m"} 4000
sglang:cached_tokens_total{model_name="m"} 1000
sglang:generation_tokens_total{model_name="m"} 800
sglang:num_requests_total{model_name="m"} 8
"""


def test_sglangs_ranks_are_one_server():
    """Data-parallel ranks add up (12 and 8), pipeline ranks report the same twice, usage is a mean (0.9 and 0.7)."""
    found = read_text(SGLANG)
    now, ever = of(found, "moment"), of(found, "lifetime")

    assert (now.running, now.waiting, now.output_tokens_per_s, now.kv_tokens) == (20, 3, 640.0, 50_000)
    assert now.kv_usage == pytest.approx(0.8)
    assert (ever.isl, ever.osl, ever.prefix_hit) == (4000 / 8, 800 / 8, 1000 / 4000)


def llama(tokens, seconds, steps, busy, running):
    """llama.cpp's server, which has neither labels nor histograms."""
    return (
        f"# TYPE llamacpp:tokens_predicted_total counter\nllamacpp:tokens_predicted_total {tokens}\n"
        f"llamacpp:tokens_predicted_seconds_total {seconds}\nllamacpp:n_decode_total {steps}\n"
        f"llamacpp:n_busy_slots_per_decode {busy}\nllamacpp:requests_processing {running}\n"
        "llamacpp:requests_deferred 0\nllamacpp:predicted_tokens_seconds 25\nllamacpp:kv_cache_usage_ratio 0.5\n"
    )


def test_llamacpps_speed_is_of_one_stream():
    """25 tokens a second of decoding time are 40 ms a token, whatever the others do meanwhile."""
    now = of(read_text(llama(1000, 40.0, 500, 2.0, 2)), "moment")

    assert (now.engine, now.running, now.kv_usage) == ("llama.cpp", 2, 0.5)
    assert now.tpot_s is not None
    assert now.tpot_s.mean == 1 / 25
    assert now.output_tokens_per_s is None


def test_llamacpps_busy_slots_between_two_scrapes():
    """2.0 slots over 500 steps, 2.6 over 1,000: 1,600 in the second 500, so 3.2."""
    one = of(watched_between(llama(1000, 40.0, 500, 2.0, 0), llama(2600, 104.0, 1000, 2.6, 0), 40.0), "interval")

    assert one.running == pytest.approx((2.6 * 1000 - 2.0 * 500) / 500)
    assert one.output_tokens_per_s == (2600 - 1000) / 40
    assert one.tpot_s is not None
    assert one.tpot_s.mean == pytest.approx(64.0 / 1600)


def test_tgis_time_per_token_is_not_taken_for_tpot():
    """It divides a request's inference, prefill and all, by its tokens."""
    text = (
        "# TYPE tgi_queue_size gauge\ntgi_queue_size 4\ntgi_batch_current_size 9\n"
        + histogram("tgi_request_mean_time_per_token_duration", 'a="b"', 5.0, (1, 10), ("+Inf", 10))
        + histogram("tgi_batch_inference_duration", 'method="decode"', 6.0, (1, 200), ("+Inf", 200))
        + histogram("tgi_batch_inference_duration", 'method="prefill"', 9.0, (1, 10), ("+Inf", 10))
        + histogram("tgi_request_generated_tokens", 'a="b"', 1000, (1000, 10), ("+Inf", 10))
    )
    found = read_text(text)
    now, ever = of(found, "moment"), of(found, "lifetime")

    assert (now.running, now.waiting) == (9, 4)
    assert ever.tpot_s is None
    assert ever.itl_s is not None
    assert ever.itl_s.mean == 6.0 / 200
    assert ever.osl == 100


def test_tensorrt_llms_blocks_are_tokens():
    """Alone (trtllm_) and behind Triton (nv_trt_llm_): 6,239 blocks of 64."""
    alone = "# TYPE trtllm_num_requests_running gauge\n" + "".join(
        f'trtllm_{name}{{model_name="m"}} {value}\n'
        for name, value in (
            ("num_requests_running", 3), ("num_requests_waiting", 1), ("kv_cache_utilization", 0.42),
            ("kv_cache_max_blocks", 6239), ("kv_cache_tokens_per_block", 64),
        )
    )  # fmt: skip
    triton = "# TYPE nv_trt_llm_request_metrics gauge\n" + "".join(
        f'nv_trt_llm_{name}{{model="m",{label}="{kind}",version="1"}} {value}\n'
        for name, label, kind, value in (
            ("request_metrics", "request_type", "scheduled", 3), ("request_metrics", "request_type", "waiting", 1),
            ("request_metrics", "request_type", "max", 512),
            ("kv_cache_block_metrics", "kv_cache_block_type", "fraction", 0.42),
            ("kv_cache_block_metrics", "kv_cache_block_type", "max", 6239),
            ("kv_cache_block_metrics", "kv_cache_block_type", "tokens_per", 64),
        )
    )  # fmt: skip
    for text in (alone, triton):
        now = of(read_text(text), "moment")
        assert (now.engine, now.running, now.waiting, now.kv_usage, now.kv_tokens) == ("trtllm", 3, 1, 0.42, 6239 * 64)
    assert of(read_text(triton), "moment").max_num_seqs == 512


def test_rays_spelling_is_vllms():
    now = of(
        read_text('# TYPE ray_vllm_num_requests_running gauge\nray_vllm_num_requests_running{model_name="m"} 7\n'),
        "moment",
    )

    assert (now.engine, now.running) == ("vllm", 7)


def test_nims_names_have_no_prefix():
    text = "# TYPE num_requests_running gauge\n" + "".join(
        f'{name}{{model_name="m"}} {value}\n'
        for name, value in (("num_requests_running", 7), ("gpu_cache_usage_perc", 0.5), ("num_request_max", 256))
    )
    now = of(read_text(text), "moment")

    assert (now.engine, now.running, now.kv_usage, now.max_num_seqs) == ("nim", 7, 0.5, 256)


def test_every_field_of_the_tables_becomes_one_of_what_is_watched():
    """Or is one that the differences are made of."""
    made = {
        "hit_tokens", "asked_tokens", "cached_tokens", "prompt_tokens", "output_tokens", "drafted", "accepted",
        "output_s", "steps", "busy_slots", "stream_tokens_per_s", "queue_mean_s", "inference_s", "kv_blocks",
        "kv_block_tokens", "memory_free_bytes", "memory_reserved_bytes", "pcie_tx", "pcie_rx", "nvlink_tx", "nvlink_rx",
        "info",
    }  # fmt: skip
    fields = {
        metric.field for one in (*ENGINES, *DEVICES) for metric in one.metrics if metric.kind not in ("flag", "bits")
    }

    assert fields - set(Watched.__struct_fields__) <= made
    assert made <= fields


def test_targets_labels_name_the_replica():
    """What Prometheus or Kubernetes put beside it tells which of several it is."""
    text = '# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{engine="1",instance="10.0.0.7:8000"} 7\n'

    assert of(read_text(text), "moment").subject == "vllm engine 1 at 10.0.0.7:8000"


@pytest.mark.parametrize(
    "packed",
    [
        lambda text: text.encode(),
        lambda text: text.replace("\n", "\r\n").encode("utf-8-sig"),
        lambda text: text.encode("utf-16"),
        lambda text: gzip.compress(text.encode()),
    ],
    ids=["plain", "windows", "utf-16", "gzip"],
)
def test_a_file_in_whatever_encoding(tmp_path, packed):
    path = tmp_path / "x"
    path.write_bytes(packed(vllm(running=3)))
    found = recorded(path)

    assert (found.format, of(found, "moment").running, found.notes) == ("engine-metrics", 3, ())


def test_a_truncated_gzip_says_so(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(gzip.compress((AFTER * 50).encode())[:-20])

    assert any("cannot be read to its end" in note for note in recorded(path).notes)


def test_metrics_of_something_else_are_refused_by_name(tmp_path):
    path = tmp_path / "x"
    path.write_text("# TYPE node_load1 gauge\nnode_load1 0.3\n")
    with pytest.raises(BadConfig, match="neither an engine nor an accelerator") as caught:
        recorded(path)

    assert caught.value.got == "node_load1"


def test_a_usage_above_one_is_in_percent():
    """As some routers in front of an engine have it."""
    assert of(read_text(vllm(usage=25)), "moment").kv_usage == 0.25


def test_nan_is_no_value():
    assert (
        of(
            read_text('vllm:num_requests_running{engine="0"} NaN\n' + vllm(running=2).partition("\n")[2]), "moment"
        ).running
        == 2
    )


@given(st.data())
def test_damaged_text_is_read_or_refused(data):
    """Any lines gone, doubled or cut: words, never a traceback, never a negative or infinite value."""
    lines = (BEFORE + AFTER + SGLANG).splitlines()
    kept = data.draw(st.lists(st.sampled_from(lines), max_size=60))
    cut = data.draw(st.integers(0, 60))
    try:
        found = read_text("\n".join([*kept, lines[0][:cut]]))
    except BadConfig:
        return
    for one in found.watched:
        for name in one.__struct_fields__:
            value = getattr(one, name)
            assert not isinstance(value, float) or (math.isfinite(value) and value >= 0)


def test_times_are_read_where_nothing_else_was_kept_of_a_scrape(tmp_path):
    path = tmp_path / "some.prom"
    path.write_text(
        "# TYPE vllm:time_to_first_token_seconds histogram\n"
        'vllm:time_to_first_token_seconds_sum{model_name="m"} 20\n'
        'vllm:time_to_first_token_seconds_count{model_name="m"} 80\n'
    )

    (one,) = recorded(path).watched

    # 20 s over 80 requests
    assert (one.span, one.ttft_s.mean) == ("lifetime", 20 / 80)


def test_the_old_engines_own_rates_are_of_the_moment(tmp_path):
    path = tmp_path / "v0.prom"
    path.write_text(
        'vllm:num_requests_running{model_name="m"} 4.0\n'
        'vllm:avg_prompt_throughput_toks_per_s{model_name="m"} 512.5\n'
        'vllm:avg_generation_throughput_toks_per_s{model_name="m"} 120.5\n'
    )

    (one,) = recorded(path).watched

    assert (one.span, one.prompt_tokens_per_s, one.output_tokens_per_s) == ("moment", 512.5, 120.5)
