"""What does not fit may lie on the host: how much of it must, and what a token then takes at best."""

from __future__ import annotations

import pytest

from rooflight.catalog.accelerators import load
from rooflight.errors import BadInput
from rooflight.scenario.change import changed
from rooflight.scenario.definite import scenario
from rooflight.serve.memory import memory
from rooflight.serve.offload import brought_back, offloads, placing
from rooflight.serve.phases import decode
from rooflight.serve.remedy import remedy
from rooflight.values.deployment import Deployment
from rooflight.values.model import Layer, Linear
from rooflight.values.workload import Workload
from rooflight.work.places import Split
from unit.models import attention, experts, llama_3_8b, model, projections


def forty_gb(layers=80):
    """80 equal layers of one matrix each, 5,000 x 50,000 in 16 bits: 80 x 0.5 GB = 40 GB; head and table of 1 MB."""
    one = Layer(count=layers, kind="dense", mlp=(Linear(name="up", inputs=5000, outputs=50_000),), norms=0)
    return model("forty-gb", 5000, 100, (one,))


def routed():
    """30 layers of 16 experts of 3 x 4,096 x 8,192 x 2 B = 0.20 GB each: 3.2 GB of experts a layer, 97 GB in all."""
    hidden, heads = 4096, attention(heads=32, kv_heads=8, head_dim=128)
    one = Layer(
        count=30, kind="sparse", mixer=heads, projections=projections(hidden, heads),
        experts=experts(hidden, count=16, chosen=2, width=8192),
    )  # fmt: skip
    return model("routed", hidden, 32_000, (one,))


def on(card, given, count=1, **fields):
    found, _ = load(card)
    return scenario(given, found, count, Workload(osl=16), Deployment(engine="llama.cpp", **fields))


def test_the_most_layers_that_fit_stay_on_the_card():
    """One more would not fit; a token takes the card's layers and then the host's, 0.5 GB each."""
    sc = on("rtx-3090", forty_gb())
    (one,) = offloads(sc)
    after = changed(sc, **one.changes)

    assert (one.field, one.layers, one.kept) == ("n_gpu_layers", 80, one.value - 1)
    assert memory(sc).most == 0
    assert memory(after).most >= 1
    assert memory(changed(sc, n_gpu_layers=one.value + 1)).share_needed > 1  # the label in full alone would hold it
    # 24 GiB, of which a program is given 25.3 GB: between 40 and 50 layers of 0.5 GB
    assert 40 < one.kept <= 50
    assert one.rate == 89.6e9
    assert one.assumed
    by_hand = (80 - one.kept) * 0.5e9 / 89.6e9 + one.kept * 0.5e9 / sc.accelerator.memory_bytes_per_s
    assert one.token_s == pytest.approx(by_hand, rel=5e-3)
    assert decode(after).time.ceiling_s == one.token_s


def test_a_host_that_is_stated_is_taken_at_its_word():
    """-ngl 80 does not fit either; 40 GB/s are those of the question, so nothing is assumed."""
    sc = on("rtx-3090", forty_gb(), n_gpu_layers=80, host_memory_bandwidth="40GB/s")
    (one,) = offloads(sc)

    assert one.rate == 40e9
    assert not one.assumed
    assert one.token_s == pytest.approx((80 - one.kept) * 0.5 / 40 + one.kept * 0.5 / 936, rel=5e-3)


def test_experts_may_lie_there_alone():
    """A layer of 3.2 GB of experts, 30 of them 97 GB."""
    layers, alone = offloads(on("a100-sxm4-80gb", routed()))

    assert (layers.field, alone.field) == ("n_gpu_layers", "n_cpu_moe")
    assert alone.kept == alone.layers - alone.value
    # 84.6 GB of 85.1 are given to a program: 26 layers of 3.3 GB, less what the engine keeps
    assert alone.kept in (25, 26)
    assert layers.kept in (25, 26)
    assert alone.token_s <= layers.token_s  # the host's experts are read while the card reads its own


def test_vllm_reads_weights_over_the_link():
    """16.1 GB on 12 GB: whole GiB over the link of a 3060, each token."""
    card, _ = load("rtx-3060-12gb")
    sc = scenario(llama_3_8b(), card, 1, Workload(osl=16, isl=64), Deployment(engine="vllm"))
    (one,) = offloads(sc)

    assert one.field == "cpu_offload_gb"
    assert one.rate == card.pcie_bytes_per_s
    assert one.token_s == pytest.approx(one.value * 2**30 / card.pcie_bytes_per_s, rel=1e-6)
    assert memory(changed(sc, **one.changes)).most >= 1


def test_nothing_is_offered_where_a_host_would_not_help():
    """It fits; the memory is the host's own; replicas would share a host; an engine that leaves nothing there."""
    assert remedy(on("rtx-3090", llama_3_8b())).offloads == ()
    assert offloads(on("apple-m4-pro", forty_gb())) == ()
    assert offloads(on("rtx-3090", forty_gb(), count=2, tp=1, dp=2)) == ()
    card, _ = load("rtx-3090")
    assert offloads(scenario(forty_gb(), card, 1, Workload(osl=16), Deployment(engine="tensorrt-llm"))) == ()


def test_all_of_it_comes_back_where_it_fits():
    """40 GB: 80 GB of another card hold them, and two cards of 24; then nothing is asked of a host, stated or not."""
    sc = on("rtx-3090", forty_gb(), n_gpu_layers=41, host_memory_bandwidth="80GB/s")
    for change in ({"accelerator": load("h100-sxm")[0]}, {"tp": 2}, {"pp": 2}, {"weights": "fp8"}):
        after = brought_back(sc, **change)
        assert after.rates.beside is None
        assert memory(after).most >= 1
        assert placing(sc, after).split == Split()
    assert brought_back(sc, weights="fp8").deployment.host_memory_bandwidth is None


def test_else_the_most_layers_that_the_devices_hold():
    """One more does not fit; of a smaller card fewer than were asked for."""
    sc = on("rtx-3090", forty_gb(), n_gpu_layers=21, host_memory_bandwidth="80GB/s")
    (best,) = offloads(sc)
    assert brought_back(sc).deployment.n_gpu_layers == best.value

    small = brought_back(on("rtx-3090", forty_gb(), n_gpu_layers=41), accelerator=load("rtx-4060")[0])
    # 8 GB of 0.5 GB layers: 10 to 15 of them beside what an engine keeps
    assert 10 < small.deployment.n_gpu_layers <= 16
    assert placing(sc, small).split.layers == 81 - small.deployment.n_gpu_layers


def test_else_the_experts_of_the_fewest_layers_stay_there():
    """97 GB of experts on 80: of four or five layers of 3.3 GB; on 141 none."""
    sc = on("a100-sxm4-80gb", routed(), cpu_moe=True, host_memory_bandwidth="80GB/s")
    after = brought_back(sc)
    assert after.deployment.n_cpu_moe in (4, 5)
    assert not after.deployment.cpu_moe
    assert memory(after).whole
    assert not memory(changed(after, n_cpu_moe=after.deployment.n_cpu_moe - 1)).whole
    assert brought_back(sc, accelerator=load("h200-sxm")[0]).rates.beside is None


def test_else_the_fewest_weights_are_streamed():
    """16.1 GB on 12 GB, 10 GiB of them streamed, in whole GiB as where nothing is; all of it fits on 24."""
    fields = Workload(osl=16, isl=64), Deployment(engine="vllm", cpu_offload_gb=10)
    sc = scenario(llama_3_8b(), load("rtx-3060-12gb")[0], 1, *fields)
    (best,) = offloads(sc)
    assert brought_back(sc).deployment.cpu_offload_gb == best.value * 2**30 < 10 * 2**30
    assert brought_back(sc, accelerator=load("rtx-3090")[0]).rates.beside is None


def test_a_cache_on_the_host_comes_back_or_stays_with_all_layers_here():
    """8 billion weights in 16 bits and a cache that 24 GB do not hold: 0.13 MB a token, 131,072 of them 17 GB."""
    card, _ = load("rtx-3090")
    told = Deployment(engine="llama.cpp", kv_offload=False, n_gpu_layers=10)
    long, short = (scenario(llama_3_8b(), card, 1, Workload(osl=16, isl=n), told) for n in (100_000, 64))
    assert brought_back(long).rates.beside.split == Split(cache=True)
    assert brought_back(short).rates.beside is None


def test_what_cannot_be_brought_back_stays_as_asked():
    """Nothing lies on a host; the caches of a million sequences, whatever is streamed; replicas would share a host."""
    whole = on("h100-sxm", forty_gb())
    assert brought_back(whole, batch=2).deployment == changed(whole, batch=2).deployment
    assert placing(whole, whole) is None
    told = Deployment(engine="vllm", cpu_offload_gb=3)
    full = scenario(llama_3_8b(), load("rtx-3090")[0], 1, Workload(osl=16, batch=10**6), told)
    assert brought_back(full).deployment.cpu_offload_gb == 3 * 2**30
    with pytest.raises(BadInput, match="share one host"):  # 40 GB on replicas of 24
        brought_back(on("rtx-3090", forty_gb(), n_gpu_layers=41), dp=2)


def test_a_host_that_is_too_small_is_what_is_remedied():
    """-ngl 41: 40 layers of 0.5 GB here, 40 and the head's 5,000 x 100 x 2 B = 1 MB there: 20 GB, of 16.

    Two cards of 24 GiB hold all of the 40 GB. One holds 49 layers; the others are 31 x 0.5 = 15.5 GB: in 16 GB, not 14.
    """
    small = remedy(on("rtx-3090", forty_gb(), n_gpu_layers=41, host_memory="16GB"))
    enough = on("rtx-3090", forty_gb(), n_gpu_layers=41, host_memory=small.host_bytes + 1)

    assert small.host_bytes == pytest.approx(20e9, rel=1e-3)
    assert memory(enough).whole
    assert small.layout.devices == 2
    assert [one.kept for one in small.offloads] == [49]
    assert remedy(on("rtx-3090", forty_gb(), n_gpu_layers=41, host_memory="14GB")).offloads == ()
    assert remedy(on("rtx-3090", forty_gb(), n_gpu_layers=71, host_memory="4GB")).host_bytes is None  # nor the card
