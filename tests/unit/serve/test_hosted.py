"""A host beside the devices: layers in turn, experts and cache at once, weights streamed; arithmetic beside each."""

from __future__ import annotations

import math

import msgspec
import pytest

import rooflight
from rooflight.catalog.accelerators import load
from rooflight.errors import BadInput
from rooflight.scenario.definite import scenario
from rooflight.serve.analyze import analyze
from rooflight.serve.hosted import hosted_weight_bytes
from rooflight.serve.limits import decode_sums
from rooflight.serve.phases import decode, prefill
from rooflight.serve.replica import replica
from rooflight.values.deployment import Deployment
from rooflight.values.model import Layer, Linear
from rooflight.values.steptime import BINDING
from rooflight.values.workload import Workload
from rooflight.work.count import weight_bytes
from rooflight.work.places import Split, handovers
from unit.models import attention, experts, llama_3_8b, model, projections

# A card of 936 GB/s as the 3090 is, and a host of 80 GB/s.
HOST = "80GB/s"


def forty_gb(layers=80):
    """80 equal layers of one matrix each, 5,000 x 50,000 in 16 bits: 80 x 0.5 GB = 40 GB; head and table of 1 MB."""
    one = Layer(count=layers, kind="dense", mlp=(Linear(name="up", inputs=5000, outputs=50_000),), norms=0)
    return model("forty-gb", 5000, 100, (one,))


def on_3090(given, load_=None, **fields):
    card, _ = load("rtx-3090")
    return scenario(given, card, 1, load_ or Workload(osl=16), Deployment(ignore_capacity=True, **fields))


def test_layers_on_the_host_are_passed_in_turn():
    """26 of 80 layers at 80 GB/s, 54 at 936 GB/s, 0.5 GB each: 13/80 + 27/936 = 162.5 + 28.8 = 191.3 ms a token."""
    sc = on_3090(forty_gb(), n_gpu_layers=55, host_memory_bandwidth=HOST)  # 54 layers and the head
    time = decode(sc).time
    by_hand = 13 / 80 + 27 / sc.accelerator.memory_bytes_per_s * 1e9

    assert by_hand == pytest.approx(0.191, abs=0.0005)
    assert time.ceiling_s == pytest.approx(by_hand, rel=1e-3)
    assert time.roofline_s == pytest.approx(by_hand, rel=1e-2)
    assert BINDING[time.bound] == "host_memory"
    assert time.host_memory_s == pytest.approx(13 / 80, rel=1e-3)


def test_more_layers_on_a_faster_card_are_never_slower():
    spans = [
        decode(on_3090(forty_gb(), n_gpu_layers=many, host_memory_bandwidth=HOST)).span for many in range(0, 82, 9)
    ]

    for name in ("ceiling", "roofline", "expected"):
        times = [getattr(span, name) for span in spans]
        assert times == sorted(times, reverse=True)
    assert all(span.ceiling <= span.roofline <= span.low <= span.expected <= span.high for span in spans)


def test_all_layers_on_the_card_is_what_it_is_without_a_host():
    plain = on_3090(forty_gb())
    told = on_3090(forty_gb(), n_gpu_layers=81)

    assert told.rates == plain.rates
    assert decode(told).span == decode(plain).span


def test_bytes_add_up_over_the_places():
    """Wherever layers lie, a step reads the same weights; what is stored adds up too."""
    given = llama_3_8b()
    whole = decode(on_3090(given)).work
    for fields in ({"n_gpu_layers": 11}, {"n_gpu_layers": 0}, {"kv_offload": False}):
        split = decode(on_3090(given, **fields)).work
        assert split.weight_bytes == pytest.approx(whole.weight_bytes)
        assert split.kv_read_bytes == pytest.approx(whole.kv_read_bytes)
    nothing = on_3090(given, n_gpu_layers=0)
    table = 128256 * 4096 * 2
    assert hosted_weight_bytes(nothing) == pytest.approx(weight_bytes(given) - table, rel=1e-4)


def routed(layers=30):
    """Layers of attention and 16 experts of 3 x 4,096 x 8,192 weights, 2 a token: 2 x 201 MB in 16 bits a layer."""
    heads = attention(heads=32, kv_heads=8, head_dim=128)
    one = Layer(
        count=layers, kind="sparse", mixer=heads, projections=projections(4096, heads),
        experts=experts(4096, count=16, chosen=2, width=8192),
    )  # fmt: skip
    return model("routed", 4096, 32_000, (one,))


def test_experts_on_the_host_are_read_beside_the_card():
    """Both memories at once: the ceiling is the larger of what each takes, the roofline their sum.

    There: 30 layers x 2 experts x 3 x 4,096 x 8,192 x 2 B = 12.08 GB at 80 GB/s = 151 ms.
    Here: 30 x (4,096 x (2 x 4,096 + 2 x 1,024) x 2 B + the router's 4,096 x 16 x 2 B) + a head of 4,096 x 32,000 x 2 B
    = 2.78 GB at 936 GB/s = 3 ms.
    """
    sc = on_3090(routed(), Workload(osl=16, context=0), cpu_moe=True, host_memory_bandwidth=HOST)
    time = decode(sc).time
    there = 30 * 2 * 3 * 4096 * 8192 * 2 / 80e9
    here = (30 * (4096 * (2 * 4096 + 2 * 1024) * 2 + 4096 * 16 * 2) + 4096 * 32_000 * 2) / 936.2e9

    assert time.ceiling_s == pytest.approx(there, rel=1e-3)
    assert time.roofline_s == pytest.approx(there + here, rel=0.01)
    assert BINDING[time.bound] == "host_memory"


def test_experts_of_few_layers_leave_the_card_to_bind():
    """One layer's experts there, 403 MB at 80 GB/s = 5 ms; here 29 x 403 MB and 2.78 GB at 936 GB/s = 15.4 ms."""
    sc = on_3090(routed(), Workload(osl=16, context=0), n_cpu_moe=1, host_memory_bandwidth=HOST)
    time = decode(sc).time
    there = 2 * 3 * 4096 * 8192 * 2 / 80e9
    here = (2.78e9 + 29 * 2 * 3 * 4096 * 8192 * 2) / 936.2e9

    assert time.ceiling_s == pytest.approx(here, rel=0.01)
    assert time.roofline_s == pytest.approx(there + here, rel=0.02)
    assert BINDING[time.bound] == "memory"


def test_the_cache_on_the_host_is_read_beside_the_card():
    """32 layers x 8 heads x 128 x 2 x 2 B = 131,072 B a token, 100,000 tokens: 13.1 GB at 80 GB/s = 164 ms.

    The card's weights, 15.0 GB at 936 GB/s = 16 ms, are read meanwhile at best, and before or after it at roofline.
    """
    sc = on_3090(llama_3_8b(), Workload(osl=16, context=100_000), kv_offload=False, host_memory_bandwidth=HOST)
    one = decode(sc)
    cache = 131_072 * 100_000 / 80e9

    assert one.time.ceiling_s == pytest.approx(cache, rel=1e-3)
    assert one.time.host_memory_s == pytest.approx(cache, rel=1e-3)
    assert one.time.roofline_s == pytest.approx(cache + one.time.memory_s, rel=0.03)


def test_streamed_weights_take_their_time_on_the_link():
    """13 GB over PCIe at 25 GB/s: 520 ms a token at best; the rest of 40 GB at 936 GB/s meanwhile."""
    sc = on_3090(forty_gb(), cpu_offload_gb="13GB", host_link="25GB/s")
    time = decode(sc).time

    assert time.ceiling_s == pytest.approx(0.520, rel=1e-6)
    assert time.host_link_s == pytest.approx(0.520, rel=1e-6)
    assert BINDING[time.bound] == "host_link"
    assert time.roofline_s == pytest.approx(0.520 + 40 / 936.2, rel=1e-2)


def test_a_number_of_gb_counts_gib_as_vllm_does():
    assert Deployment(cpu_offload_gb=13).cpu_offload_gb == 13 * 2**30
    assert Deployment(cpu_offload_gb="13GB").cpu_offload_gb == 13 * 10**9


def test_an_assumed_host_makes_no_ceiling_slow():
    """The fastest host there is in a ceiling, 1.69 TB/s; what is usual beside such a card at roofline, 89.6 GB/s."""
    time = decode(on_3090(forty_gb(), n_gpu_layers=0)).time

    assert time.ceiling_s == pytest.approx(40 / 1689.6, rel=1e-2)
    assert time.roofline_s == pytest.approx(40 / 89.6, rel=1e-2)


def test_prompts_of_host_layers_may_be_computed_on_the_card():
    """40 GB over a link of 25 GB/s take 1.6 s; the host itself, 80 GB/s, reads them in 0.5 s at best.

    With them the inputs and outputs of its products: 80 x 1,024 tokens x 55,000 x 2 B = 9.0 GB, 0.11 s.
    """
    sc = on_3090(forty_gb(), n_gpu_layers=0, host_memory_bandwidth=HOST, host_link="25GB/s")
    found = analyze(sc).phases["prefill"]

    assert found.time_s.ceiling == pytest.approx((40 + 80 * 1024 * 55_000 * 2 / 1e9) / 80, rel=1e-2)
    assert found.time_s.roofline >= 1.6


def test_the_memory_says_what_lies_where():
    found = analyze(on_3090(forty_gb(), n_gpu_layers=55, host_memory="64GB", host_memory_bandwidth=HOST)).memory

    assert found.host.weights_bytes == pytest.approx(13e9)
    assert found.weights_bytes == pytest.approx(27e9, rel=1e-3)
    assert found.host.fits
    small = analyze(on_3090(forty_gb(), n_gpu_layers=55, host_memory="8GB")).memory
    assert not small.host.fits
    assert small.fits is False


def test_what_no_host_can_take_is_refused():
    with pytest.raises(BadInput, match="no routed experts"):
        on_3090(forty_gb(), cpu_moe=True)
    with pytest.raises(BadInput, match="keeps no cache"):
        rooflight.analyze("bert-base-uncased", on="l4", kv_offload=False)
    with pytest.raises(BadInput, match="nothing lies there"):
        Deployment(host_cpu="epyc-9654")
    with pytest.raises(BadInput, match="is no CPU"):
        on_3090(forty_gb(), n_gpu_layers=3, host_cpu="h100-sxm")
    card, _ = load("epyc-9654")
    with pytest.raises(BadInput, match="itself a host"):
        scenario(forty_gb(), card, 1, Workload(), Deployment(n_gpu_layers=3))
    assert math.isfinite(float(msgspec.structs.asdict(decode(on_3090(forty_gb(), n_gpu_layers=3)).span)["high"]))


def test_all_the_users_of_a_run_read_the_host_s_cache():
    """8 users, 131,072 B a token of cache on the host: their decode steps cannot take less than all of it at 80 GB/s.

    15 steps a request with 8,192 .. 8,206 tokens cached: 8,199 x 131,072 B = 1.07 GB a user and step, less what the
    host's caches may hold of them if each user is served alone.
    """
    fields = {"kv_offload": False, "host_memory_bandwidth": HOST, "engine": "llama.cpp"}
    sc = on_3090(llama_3_8b(), Workload(isl=8192, osl=16, batch=8), **fields)
    sums = decode_sums(replica(sc))
    held = sc.rates.beside.rates.cache_bytes

    assert sums.host_memory_s == pytest.approx(15 * 8 * (8199 * 131_072 - held) / 80e9, rel=0.01)
    for one in analyze(sc).runs.values():
        assert one.request_s.ceiling <= one.request_s.roofline <= one.request_s.expected
        assert one.request_s.low <= one.request_s.expected <= one.request_s.high


def test_steps_and_runs_have_one_interval_where_the_host_binds():
    """The host at all of its rate at best, at a fifth of it at worst: a token of the run as the step by itself."""
    sc = on_3090(forty_gb(), n_gpu_layers=10, host_memory_bandwidth=HOST, engine="llama.cpp")
    step, token = decode(sc).span, analyze(sc).runs["alone"].tpot_s

    assert token.low == pytest.approx(step.low, rel=0.05)
    assert token.high == pytest.approx(step.high, rel=0.05)
    assert step.high / step.low > 4


def test_a_first_token_and_a_prefill_have_one_interval_where_weights_are_copied():
    """Of 1,024 tokens, 40 layers of 0.5 GB over 32 GB/s are 0.625 s, 65 % of that rate expected and 20 % at least.

    The rest of a prefill has the engine's interval. A host that multiplied instead, at its assumed 2.3 TFLOP/s, would
    take 2 x 1,024 x 40 x 0.25e9 / 2.3e12 = 8.9 s, and at 20 % 45 s: no end of either interval.
    """
    sc = on_3090(forty_gb(), Workload(isl=1024, osl=256), n_gpu_layers=41, host_memory_bandwidth=HOST)
    prompt, runs = prefill(sc).span, analyze(sc).runs
    first = runs["alone"].ttft_s
    engine, wider = sc.engine, max(sc.engine.unseen_card, sc.fits.widened)  # kernels were timed on an A100
    rest = prompt.expected - 0.625 / 0.65

    assert prompt.high == pytest.approx(rest * engine.prefill_high * wider + 0.625 / 0.2, rel=0.01)
    assert prompt.low == pytest.approx(rest * engine.prefill_low / wider + 0.625, rel=0.01)
    assert runs["batch"].ttft_s.low == pytest.approx(prompt.low, rel=0.01)
    assert runs["batch"].ttft_s.high == pytest.approx(prompt.high, rel=0.01)
    assert first.low >= prompt.low * engine.first_low / engine.prefill_low
    assert prompt.high < first.high <= prompt.high * engine.first_high / engine.prefill_high


def test_handovers_are_counted_by_layer():
    """Own layers are gone to once; experts and cache of others layer by layer."""
    given = routed()

    assert handovers(given, Split(layers=10)) == 1
    assert handovers(given, Split(experts=20)) == 20
    assert handovers(given, Split(layers=10, experts=20)) == 1 + 10
    assert handovers(given, Split(cache=True)) == 30
    assert handovers(given, Split()) == 0


def test_what_the_link_carries_comes_out_of_the_host_s_memory():
    """A host of 20 GB/s behind a link of 32 GB/s: 20."""
    slow = on_3090(forty_gb(), cpu_offload_gb="13GB", host_link="32GB/s", host_memory_bandwidth="20GB/s")

    assert decode(slow).time.host_link_s == pytest.approx(13 / 20)


def test_memory_of_one_kind_is_no_host():
    card, _ = load("apple-m4-max-40")
    with pytest.raises(BadInput, match="the host's own"):
        scenario(forty_gb(), card, 1, Workload(), Deployment(n_gpu_layers=3))


def test_a_superchip_has_its_own_host():
    """The memory of its CPU is a fact of its entry, so no rate is assumed."""
    card, _ = load("gh200-96gb")
    sc = scenario(forty_gb(), card, 1, Workload(osl=16), Deployment(n_gpu_layers=0))

    assert sc.rates.beside.rates.memory_bytes_per_s == card.host_memory_bytes_per_s
    assert "host_rate" not in {note.key for note in sc.assumptions}
    assert decode(sc).time.ceiling_s <= 40e9 / card.host_memory_bytes_per_s * 1.001


def test_several_cards_may_each_copy_a_part():
    """A prompt of 4,096 on two cards, all layers on a host of 4.1 TFLOP/s: half of 40 GB over each link.

    20 / 25 GB/s = 0.8 s at best; llama.cpp sends all of it through one, 1.6 s for each 2,048 tokens. A host of 40 GB/s
    gives both of them 20: 1 s, of its memory and not of the links.
    """

    def time(bandwidth):
        fields = {"n_gpu_layers": 0, "host_link": "25GB/s", "host_cpu": "epyc-7713", "tp": 2}
        card, _ = load("rtx-3090")
        told = Deployment(ignore_capacity=True, host_memory_bandwidth=bandwidth, **fields)
        return prefill(scenario(forty_gb(), card, 2, Workload(isl=4096, osl=16), told)).time

    assert time("1000GB/s").host_link_s == pytest.approx(0.8, rel=1e-3)
    assert time("1000GB/s").ceiling_s < 2  # 164 TFLOP at the cards' 140 TFLOP/s
    assert time("1000GB/s").roofline_s >= 2 * 1.6
    assert time("40GB/s").host_link_s == pytest.approx(0.8, rel=1e-3)
    assert time("40GB/s").host_memory_s == pytest.approx(1.0, rel=1e-3)


def test_what_several_cards_read_at_once_is_bound_by_the_host_s_memory():
    """A token's experts, 30 x 2 x 3 x 4,096 x 8,192 x 2 B = 12.08 GB at 80 GB/s = 151 ms, however they are read.

    Copied over four links of 32 GB/s they would take 12.08 / 128 = 94 ms, were the memory behind them fast enough.
    """
    card, _ = load("rtx-3090")
    told = Deployment(ignore_capacity=True, host_memory_bandwidth=HOST, cpu_moe=True, tp=4)
    time = decode(scenario(routed(), card, 4, Workload(osl=16, context=0), told)).time
    there = 30 * 2 * 3 * 4096 * 8192 * 2

    assert BINDING[time.bound] == "host_memory"
    assert time.host_memory_s == pytest.approx(there / 80e9, rel=1e-3)
    assert time.ceiling_s == pytest.approx(there / 80e9, rel=1e-3)


def test_all_of_a_step_is_bound_by_something():
    """What is streamed is no operator's, but its share of the time is said: 6 GiB at 32 GB/s beside 9 GB at 936."""
    found = analyze(on_3090(llama_3_8b(), cpu_offload_gb=6)).phases["decode"]

    assert sum(found.split.values()) == pytest.approx(1)
    assert found.split["host_link"] == pytest.approx(6 * 2**30 / 32e9 / found.time_s.roofline, rel=1e-3)
    assert sum(step.seconds for step in found.waterfall) == pytest.approx(found.time_s.expected)


def test_the_host_s_memory_bounds_the_sequences_whose_cache_lies_there():
    """Llama-3.1-8B, a cache of 131,072 B a token: of 1,024 + 256 tokens 168 MB, so 2 GB hold 11 of them."""
    asking = {"kv_offload": False, "host_memory": "2GB", "batch": 64}
    few = rooflight.analyze("llama-3.1-8b", "rtx-4090", **asking)
    least = 2e9 / (131_072 * (1024 + 256))

    assert few.memory.max_batch == int(least) == 11
    assert few.phases.get("decode") is None
    assert rooflight.analyze("llama-3.1-8b", "rtx-4090", **{**asking, "host_memory": "2TB"}).memory.fits


@pytest.mark.parametrize("asking", [{"n_gpu_layers": 10}, {"kv_offload": False, "isl": 81_920}])
def test_a_host_that_is_too_small_is_named_with_what_would_lie_there(asking):
    found = rooflight.analyze("llama-3.1-8b", "rtx-4090", host_memory="1GB", **asking)

    assert not found.phases
    assert "of the host's memory it needs" in found.answer
    assert "and there are 1 GB. A host with " in found.answer


@pytest.mark.parametrize(
    ("asking", "where"),
    [
        ({"host_cpu": "abc"}, "host_cpu"), ({"host_cpu": "epyc-9654+epyc-9654"}, "host_cpu"),
        ({"prefill_on": "b200"}, "prefill_on"), ({"schedule": "apart"}, "schedule"), ({"dp": 2}, "dp"),
        ({"prefill_workers": 2}, "prefill_workers"), ({"host_link": "25GB/s,5us"}, "host_link"),
        ({"host_memory_bandwidth": "80GB/s,5us"}, "host_memory_bandwidth"),
    ],
)  # fmt: skip
def test_what_is_wrong_of_a_host_is_said_by_its_field(asking, where):
    with pytest.raises(BadInput) as caught:
        rooflight.analyze("llama-3.1-8b", "h100-sxm", n_gpu_layers=10, **asking)

    assert caught.value.where == where


def test_nothing_offloaded_is_no_host():
    """vLLM's own default, 0, stated: the answer is that without it."""
    stated = rooflight.analyze("llama-3.1-8b", "rtx-4090", cpu_offload_gb=0)

    assert stated.memory.host is None
    assert stated.phases == rooflight.analyze("llama-3.1-8b", "rtx-4090").phases


def test_a_prompt_whose_last_pass_is_next_to_nothing_is_answered():
    """2^30 tokens: experts of a part of a token so small that 1 - (1 - k/E)^M is 0 in a float."""
    found = rooflight.analyze(
        "qwen3-next-80b-a3b-instruct", "2xrtx-3090", isl=1 << 30, osl=0, weights="mxfp4", kv_cache="fp8",
        n_gpu_layers=5, ignore_capacity=True,
    )  # fmt: skip

    assert found.phases["prefill"].time_s.ceiling > 0
