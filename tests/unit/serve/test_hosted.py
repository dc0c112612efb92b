"""A host beside the devices: layers in turn, experts and cache at once, weights streamed; arithmetic beside each."""

from __future__ import annotations

import math

import msgspec
import pytest

from rooflight.catalog.accelerators import load
from rooflight.errors import BadInput
from rooflight.scenario.definite import scenario
from rooflight.serve.analyze import analyze
from rooflight.serve.hosted import hosted_weight_bytes
from rooflight.serve.phases import decode
from rooflight.values.deployment import Deployment
from rooflight.values.model import Layer, Linear
from rooflight.values.steptime import BINDING
from rooflight.values.workload import Workload
from rooflight.work.count import weight_bytes
from unit.models import llama_3_8b, model, tiny_moe

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


def test_experts_on_the_host_are_read_beside_the_card():
    """Both memories at once: the ceiling is the larger of what each takes, the roofline their sum."""
    given = tiny_moe()
    sc = on_3090(given, Workload(osl=16, context=0), cpu_moe=True, host_memory_bandwidth="1MB/s")
    one = decode(sc)
    # 2 of 8 experts of 96 weights in 16 bits each: 384 B at 1 MB/s
    there = sum(row.time_s for row in one.time.operators if row.operator.name.endswith("(host)"))
    here = sum(row.time_s for row in one.time.operators if not row.operator.name.endswith("(host)"))

    assert one.time.roofline_s == pytest.approx(here + there)
    assert there >= 384 / 1e6


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
    with pytest.raises(BadInput, match="nothing lies there"):
        Deployment(host="epyc-9654")
    with pytest.raises(BadInput, match="is no CPU"):
        on_3090(forty_gb(), n_gpu_layers=3, host="h100-sxm")
    card, _ = load("epyc-9654")
    with pytest.raises(BadInput, match="itself a host"):
        scenario(forty_gb(), card, 1, Workload(), Deployment(n_gpu_layers=3))
    assert math.isfinite(float(msgspec.structs.asdict(decode(on_3090(forty_gb(), n_gpu_layers=3)).span)["high"]))
