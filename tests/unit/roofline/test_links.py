"""Links: a domain and what is beyond it, who talks across, and how fast."""

from __future__ import annotations

from itertools import pairwise

import pytest

import rooflight
from rooflight import Deployment, Workload
from rooflight.catalog.accelerators import load
from rooflight.errors import BadInput, MissingFact
from rooflight.roofline.links import between, links_of
from rooflight.units import network
from rooflight.work.layout import Layout, crossing, expert_group, hops, tensor_group


def links(name: str, stated: str | None = None):
    return links_of(load(name)[0], stated)


def analysis(model: str, on: str, **given):
    return rooflight.analyze(model, on=on, ignore_capacity=True, **given)


def decode(model: str, on: str, **given):
    return analysis(model, on, **given).phases["decode"]


@pytest.mark.parametrize(
    ("text", "bytes_per_s", "latency_s"),
    [
        ("400Gb/s", 50e9, None),  # b is a bit: 400 / 8
        ("400 Gbit/s", 50e9, None),
        ("400Gbps", 50e9, None),
        ("50GB/s", 50e9, None),
        ("12.5GB/s,5us", 12.5e9, 5e-6),
        ("1.6Tb/s, 0.002ms", 200e9, 2e-6),
    ],
)
def test_a_network_is_read_in_bits_or_bytes(text, bytes_per_s, latency_s):
    rate, latency = network(text)

    assert rate == pytest.approx(bytes_per_s)
    assert latency == (None if latency_s is None else pytest.approx(latency_s))


@pytest.mark.parametrize("text", ["", "400", "400G", "400GBps", "400gb/s", "0Gb/s", "400Gb/s,", "400Gb/s,5", "-1Gb/s"])
def test_what_would_have_to_be_guessed_is_no_network(text):
    with pytest.raises(BadInput, match="network is no rate"):
        Deployment(network=text)


@pytest.mark.parametrize(
    ("card", "domain", "name", "far_bytes_per_s"),
    [
        ("h100-sxm", 8, "NVLink 4", 50e9),
        ("gb200", 72, "NVLink 5", 100e9),
        ("a100-sxm4-80gb", 8, "NVLink 3", 25e9),
        ("l40s", 8, "PCIe", 50e9),  # no source: the assumed node
        ("a100-pcie-80gb", 2, "NVLink 3", 32e9),  # a bridge joins pairs; between them PCIe 4 x16 is left
        ("gb10", 1, "", 25e9),  # a machine each, one port of 200 Gb/s
    ],
)
def test_a_card_has_a_domain_and_something_beyond(card, domain, name, far_bytes_per_s):
    found = links(card)

    assert found.domain == domain
    assert found.name.startswith(name)
    assert found.far_bytes_per_s == pytest.approx(far_bytes_per_s)
    assert found.far_fastest_bytes_per_s >= found.far_bytes_per_s


def test_a_stated_network_is_both_the_expectation_and_the_ceiling():
    found = links("b200", "200Gb/s,7us")

    assert (found.far_bytes_per_s, found.far_fastest_bytes_per_s, found.far_latency_s) == (25e9, 25e9, 7e-6)
    assert not found.assumed
    assert links("b200").assumed


def test_without_link_and_network_nothing_joins_and_a_stated_one_does():
    assert links("apple-m4-max-40") is None
    with pytest.raises(MissingFact):
        analysis("llama-3.1-8b", "2xapple-m4-max-40", tp=2)

    # 2 all-reduces of 4096 elements of 2 bytes in each of 32 layers, all of it at 5 GB/s
    assert decode("llama-3.1-8b", "2xapple-m4-max-40", tp=2, network="40Gb/s").ceilings_s.link == pytest.approx(
        64 * 4096 * 2 / 5e9
    )


@pytest.mark.parametrize(
    ("layout", "across"),
    [
        (Layout(tp=8, pp=2, domain=8), ("pp",)),  # the hop alone
        (Layout(tp=16, domain=8), ("tp",)),
        (Layout(tp=4, pp=2, domain=8), ()),  # both stages in one node
        (Layout(tp=4, pp=4, domain=8), ("pp",)),
        (Layout(tp=2, pp=2, dp=4, domain=8), ()),  # replicas do not talk
        (Layout(dp=64, ep=64, domain=8), ("ep",)),
        (Layout(dp=8, ep=8, domain=8), ()),
        (Layout(tp=8, dp=8, ep=8, domain=8), ()),  # experts stay within each replica
        (Layout(tp=64, domain=72), ()),
        (Layout(tp=64), ()),
    ],
)
def test_who_talks_across_domains(layout, across):
    assert crossing(layout) == across


def test_groups_are_so_many_devices_in_so_many_domains():
    assert (tensor_group(Layout(tp=16, domain=8)).local, tensor_group(Layout(tp=16, domain=8)).domains) == (8, 2)
    assert tensor_group(Layout(tp=12, domain=8)).local == 6  # two nodes, half in each
    assert (
        expert_group(Layout(dp=64, ep=64, domain=8)).local,
        expert_group(Layout(dp=64, ep=64, domain=8)).domains,
    ) == (8, 8)
    # of a replica's 4 devices 2 are one stage; two replicas fit a node, so 4 of a stage's 16 are in it
    group = expert_group(Layout(tp=2, pp=2, dp=8, ep=16, domain=8))
    assert (group.local, group.domains) == (4, 4)
    assert hops(Layout(tp=4, pp=4, domain=8)) == (2, 1)  # stages 0 1 | 2 3
    assert hops(Layout(tp=8, pp=3, domain=8)) == (0, 2)
    assert hops(Layout(tp=8, pp=3)) == (2, 0)


@pytest.mark.parametrize("stated", [None, "400Gb/s", "100Gb/s"])
def test_tensor_parallelism_over_two_nodes_waits_for_the_slower_level(stated):
    """405B, 252 all-reduces of 16 x 16,384 x 2 B: an eighth of each leaves every device of a node of eight."""
    rate = {None: 50e9, "400Gb/s": 50e9, "100Gb/s": 12.5e9}[stated]
    found = decode("llama-3.1-405b", "16xh100-sxm", tp=16, batch=16, network=stated)
    payload = 16 * 16384 * 2
    across, within = payload / 8 / rate, payload * 7 / 8 / 450e9  # in-switch reduction within

    assert found.ceilings_s.link == pytest.approx(252 * max(across, within))
    assert found.network_bytes == pytest.approx(16 * 252 * payload / 8)
    assert found.link_level == "network"
    assert found.time_s.ceiling <= found.time_s.roofline <= found.time_s.expected


def test_the_pipeline_over_two_nodes_puts_the_hop_alone_on_the_network():
    """TP 8 x PP 2: one hop; each of 8 ranks hands on an eighth of 16 x 16,384 x 2 bytes."""
    found = analysis("llama-3.1-405b", "16xh100-sxm", tp=8, pp=2, batch=16, context=1024)
    step = found.phases["decode"]
    hop = [op for op in step.operators if op.name == "pipeline hop across"]

    assert [op.count for op in hop] == [1]
    assert step.network_bytes == pytest.approx(sum(op.link_bytes for op in hop))
    assert any("the pipeline crosses the network" in line for line in found.warnings)


def test_experts_over_eight_nodes_reach_four_groups_of_eight():
    """DeepSeek-V3, EP 64: 8 of 256 experts out of 4 of 8 groups, a group a node, so 8 x 0.44994 nodes a token."""
    found = decode("deepseek-v3", "64xh100-sxm", tp=1, dp=64, ep=64, batch=8192, network="400Gb/s")
    chance = 4 / 8 * (1 - (1 - 1 / 4) ** 8)  # its group is among the four, and any of the eight experts in it
    copies = 7 * chance  # to the other nodes
    sent = 128 * 7168 * (1 + 2) * copies  # 8192 / 64 tokens a device; fp8 out, bf16 back

    assert found.ceilings_s.link == pytest.approx(58 * sent / 50e9)
    assert decode("deepseek-v3", "64xgb200", tp=1, dp=64, ep=64, batch=8192).network_bytes == 0  # one domain of 72


def test_a_slower_network_is_never_faster_and_replicas_need_none():
    times = [
        decode("deepseek-v3", "64xh100-sxm", tp=1, dp=64, ep=64, batch=2048, network=f"{rate}Gb/s").time_s
        for rate in (800, 400, 100, 25)
    ]
    for faster, slower in pairwise(times):
        assert faster.ceiling <= slower.ceiling
        assert faster.roofline <= slower.roofline
        assert faster.expected <= slower.expected
    alone, stated = (decode("llama-3.1-8b", "16xh100-sxm", tp=1, dp=16, batch=16, network=n) for n in (None, "1Gb/s"))
    assert alone.time_s == stated.time_s


@pytest.mark.parametrize(("card", "peer", "all_of_it"), [("mi300x", 64e9, 448e9), ("mi355x", 76.5e9, 535.5e9)])
def test_a_pair_in_a_mesh_has_one_link(card, peer, all_of_it):
    """2 x (n - 1)/n of 80 layers x 2 x 8,192 x 2 bytes: one link for a pair, seven for eight."""
    payload = 160 * 8192 * 2

    assert decode("llama-3.1-70b", f"2x{card}", tp=2).ceilings_s.link == pytest.approx(payload / peer)
    assert decode("llama-3.1-70b", f"8x{card}", tp=8).ceilings_s.link == pytest.approx(payload * 2 * 7 / 8 / all_of_it)


def test_two_desktops_are_joined_by_their_ports():
    """Two GB10, a port of 200 Gb/s each: 25 GB/s, not PCIe's 64; 160 all-reduces, each device sends its 16,384 B."""
    found = decode("llama-3.1-70b", "2xgb10", tp=2, weights="bf16", context=512)

    assert found.ceilings_s.link == pytest.approx(160 * 8192 * 2 / 25e9)
    assert found.tokens_per_s.ceiling == pytest.approx(3.9, abs=0.05)


def test_pcie_falls_with_the_cards_and_without_peer_access_further():
    """A prompt's all-reduces over PCIe take longer with more cards, and longest on GeForce."""
    links_s = {}
    for card in ("rtx-pro-6000-blackwell", "rtx-4090"):
        for count in (2, 4, 8):
            found = analysis("llama-3.1-70b", f"{count}x{card}", tp=count, weights="int4-g128", isl=4096, osl=16)
            links_s[card, count] = sum(
                step.seconds for step in found.phases["prefill"].waterfall if step.name.startswith("links")
            )
    assert load("rtx-4090")[0].pcie_peer_to_peer is False
    assert links_s["rtx-4090", 4] < links_s["rtx-4090", 8]
    assert links_s["rtx-pro-6000-blackwell", 8] < links_s["rtx-4090", 8]
    assert any("through the host's memory" in line for line in analysis("llama-3.1-8b", "2xrtx-4090", tp=2).assumptions)


def test_bridged_pairs_have_pcie_between_them():
    """4 A100 PCIe: out of each pair half a payload a device over PCIe 4 x16."""
    four = decode("llama-3.1-70b", "4xa100-pcie-80gb", tp=4)

    assert four.ceilings_s.link == pytest.approx(160 * 8192 * 2 / 2 / 32e9)
    assert four.link_level == "PCIe"
    assert decode("llama-3.1-70b", "2xa100-pcie-80gb", tp=2).ceilings_s.link == pytest.approx(160 * 8192 * 2 / 300e9)


@pytest.mark.parametrize(
    ("card", "devices", "stated", "found"),
    [
        ("h100-sxm", 8, None, ("NVLink 4", 450e9)),  # both workers in one node
        ("h100-sxm", 16, None, ("network", 50e9)),
        ("h100-sxm", 16, "100Gb/s", ("network", 12.5e9)),
        ("gb200", 64, None, ("NVLink 5 (NVL72) + C2C", 900e9)),
        ("mi300x", 8, None, ("Infinity Fabric (7x128)", 64e9)),  # one counterpart, one link
        ("l40s", 4, None, ("PCIe", 32e9)),
        ("gb10", 2, None, ("network", 25e9)),
        ("apple-m4-max-40", 2, None, ("network", 50e9)),  # nothing is known: assumed
    ],
)
def test_a_prompts_cache_takes_the_link_it_has(card, devices, stated, found):
    assert between(load(card)[0], stated, devices) == found


def test_a_prompts_cache_arrives_whole_where_fewer_devices_take_it_in():
    """Prefill on 4 devices, decode on 1: the one takes in all of it, 131,072 B a token of Llama-3.1-8B."""
    given = {"batch": 1, "isl": 100_000, "osl": 16, "prefill_workers": 1, "decode_workers": 1, "network": "10Gb/s"}
    slow = analysis("llama-3.1-8b", "h100-sxm", tp=1, prefill_tp=8, **given).runs["apart"].ttft_s
    quick = (
        analysis("llama-3.1-8b", "h100-sxm", tp=1, prefill_tp=8, **given | {"network": "1000Gb/s"}).runs["apart"].ttft_s
    )

    whole = 100_000 * 131_072
    assert slow.expected - quick.expected == pytest.approx(whole / 1.25e9 - whole / 125e9, rel=1e-6)


def test_links_to_cpus_are_facts():
    assert {name: load(name)[0].cpu_link_bytes_per_s for name in ("gh200-96gb", "gb200", "rubin", "h100-sxm")} == {
        "gh200-96gb": 450e9, "gb200": 450e9, "rubin": 900e9, "h100-sxm": None,
    }  # fmt: skip


def test_an_assumed_network_makes_nothing_impossible():
    """Above the ceiling of the fastest known network, and below any without one: not judged; a stated one judges."""
    given = {"model": "deepseek-v3", "on": "64xh100-sxm"}
    load_ = Workload(batch=32_768, isl=1024, osl=1024)
    fastest = rooflight.analyze(
        given["model"], on=given["on"], workload=load_, tp=1, dp=64, ep=64, ignore_capacity=True
    ).phases["decode"]
    assert fastest.bound == "link"
    row = {
        "model": "deepseek-ai/DeepSeek-V3", "accelerator": "h100-sxm", "gpus": 64, "tp": 1, "dp": 64, "ep": 64,
        "metric": "tpot_ms", "phase": "decode", "value": 0.9 * fastest.time_s.ceiling * 1000, "batch": 32_768,
        "input_len": 1023 + 512, "weights": "fp8-block128", "engine": "",
    }  # fmt: skip
    open_, judged = (rooflight.check([{**row, "network": text}]).rows[0] for text in ("", "400Gb/s"))

    assert (open_.verdict, judged.verdict) == ("cannot-judge", "impossible")
    assert "network" in open_.reason
    assert "network" in judged.reason


def test_every_door_answers_with_the_same_network():
    """analyze, sweep, moves, compare and check of one question over a network have one ceiling and one expectation."""
    given = {"tp": 16, "weights": "fp8", "network": "25Gb/s,9us"}
    model, on, load_ = "llama-3.1-405b", "16xh100-sxm", {"batch": 64, "isl": 1024, "osl": 256}
    one = rooflight.analyze(model, on=on, **load_, **given).phases["decode"].time_s
    swept = rooflight.sweep(model, on, {"batch": [64]}, isl=1024, osl=256, **given).columns()
    moved = rooflight.moves(model, on, **load_, **given).before.decode.time_s
    compared = rooflight.compare(model, [on], batch=64, isl=1024, osl=256, **given)
    row = {
        "model": model, "accelerator": "h100-sxm", "gpus": 16, "tp": 16, "metric": "tpot_ms", "phase": "decode",
        "value": 1000 * one.expected, "batch": 64, "input_len": 1024 + 127, "weights": "fp8", "network": "25Gb/s,9us",
    }  # fmt: skip
    checked = rooflight.check([row]).rows[0]

    assert (moved.ceiling, moved.expected) == (one.ceiling, one.expected)
    assert float(swept["time_s.ceiling"][0]) == one.ceiling
    assert float(swept["time_s.expected"][0]) == one.expected
    assert checked.ceiling == pytest.approx(1000 * one.ceiling)
    assert checked.expected == pytest.approx(1000 * one.expected)
    assert compared is not None


def test_a_link_without_a_published_rate_leaves_a_row_open():
    """H200 NVL may be bridged: a prefill faster than PCIe lets its all-reduces be is not called impossible."""
    found = analysis("llama-3.1-8b", "2xh200-nvl", tp=2, weights="fp8", isl=4096, osl=16)
    ceilings = found.phases["prefill"].ceilings_s
    row = {
        "model": "meta-llama/Meta-Llama-3.1-8B", "accelerator": "h200-nvl", "gpus": 2, "tp": 2, "metric": "ttft_ms",
        "phase": "prefill", "batch": 1, "input_len": 4096, "weights": "fp8", "compute": "fp8",
        "value": 1000 * (ceilings.link + ceilings.compute) / 2,
    }  # fmt: skip
    judged = rooflight.check([row]).rows[0]

    assert ceilings.link > ceilings.compute
    assert judged.verdict == "cannot-judge"
    assert "NVLink bridge" in judged.reason
    assert any("whose rate no source gives" in line for line in found.assumptions)


def test_a_ceiling_has_the_devices_placed_as_well_as_can_be():
    """Experts of 8 replicas of 8 stages: an engine spreads each set over 8 nodes, a stage a node keeps it in one."""
    spread = rooflight.analyze(
        "deepseek-v3", on="64xh100-sxm", tp=1, dp=8, ep=8, pp=8, batch=64, prefill_batch=64, network="400Gb/s"
    )
    near = rooflight.analyze("deepseek-v3", on="8xh100-sxm", tp=1, dp=8, ep=8, batch=64, ignore_capacity=True)

    assert spread.phases["decode"].ceilings_s.link < 2 * near.phases["decode"].ceilings_s.link
    assert spread.phases["decode"].time_s.roofline > spread.phases["decode"].time_s.ceiling
