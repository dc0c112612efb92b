"""Moves where a part of the model lies on the host: it comes back where the devices hold it, and is said to."""

from __future__ import annotations

import pytest

from rooflight.answers.moves import report
from rooflight.catalog.accelerators import load
from rooflight.library.questions import make_scenario
from rooflight.scenario.definite import scenario
from rooflight.serve.remedy import remedy
from rooflight.show import moves as show
from rooflight.values.deployment import Deployment
from rooflight.values.model import Layer, Linear
from rooflight.values.moves import Moves
from rooflight.values.workload import Workload
from rooflight.words.analysis import _offloaded
from rooflight.words.moves_found import answered
from unit.models import model

HOST = "80GB/s"


def found_of(sc) -> Moves:
    return answered(sc, report.moves(sc))


def named(found, title):
    (one,) = [move for move in found.moves if move.title.startswith(title)]
    return one


@pytest.fixture(scope="module")
def found():
    """80 layers of 5,000 x 50,000 x 2 B = 0.5 GB, 40 of them on a card of 936 GB/s, 40 on a host of 80 GB/s."""
    one = Layer(count=80, kind="dense", mlp=(Linear(name="up", inputs=5000, outputs=50_000),), norms=0)
    asked = Deployment(n_gpu_layers=41, host_memory_bandwidth=HOST)
    sc = scenario(model("forty-gb", 5000, 100, (one,)), load("rtx-3090")[0], 1, Workload(osl=16), asked)
    return found_of(sc)


def test_another_card_holds_all_layers(found):
    """20 GB / 936 GB/s + 20 GB / 80 GB/s = 21.4 + 250 ms; 40 GB / 3,350 GB/s = 11.9 ms: 22.7 times as fast."""
    move = named(found, "rtx-3090 to h100-sxm")
    assert move.title.endswith("to h100-sxm, all layers on the devices")
    before = 20 / 936 + 20 / 80
    assert move.gains["decode"].ceiling == pytest.approx(before / (40 / 3350), rel=0.02)
    assert move.verdict == "helps"


def test_more_cards_hold_all_layers(found):
    """20 GB a device / 936 GB/s = 21.4 ms of two at once, 42.7 ms of two in turn."""
    before = 20 / 936 + 20 / 80
    halved = named(found, "tp 1 to 2, all layers on the devices")
    assert halved.gains["decode"].ceiling == pytest.approx(before / (20 / 936), rel=0.05)
    in_turn = named(found, "pp 1 to 2, all layers on the devices")
    assert in_turn.gains["decode"].ceiling == pytest.approx(before / (40 / 936), rel=0.05)


def test_narrower_weights_come_back_and_rates_alone_move_nothing(found):
    """40 GB are 20 of 8 bits; twice the bandwidth is all else equal, so what lies there stays."""
    assert named(found, "w8a8-int8 weights").title == "w8a8-int8 weights, all layers on the devices"
    assert named(found, "twice the memory bandwidth").title == "twice the memory bandwidth, all else equal"
    assert named(found, "twice the memory, filled").title.endswith("filled with sequences, all layers on the devices")


def test_the_most_layers_that_fit_are_a_move_of_their_own(found):
    """40 are asked for; 24 GB hold more, and the move is printed however many gain more."""
    (move,) = [one for one in found.moves if one.kind == "offload"]
    kept, said = move.title.split(" of ", 1)
    assert 40 < int(kept) <= 50
    assert said == f"80 layers on the devices (--n-gpu-layers {int(kept) + 1})"
    assert move.asked
    assert not move.assumed  # the host is the question's


def test_everything_comes_back_where_it_fits():
    """8 billion weights of under 5 bits on 24 GB; no layer left for the sake of an option's range."""
    found = found_of(
        make_scenario("llama-3.1-8b", "rtx-3090", weights="q4_k_m", n_gpu_layers=16, host_memory_bandwidth=HOST)
    )
    (move,) = [one for one in found.moves if one.kind == "offload"]
    assert (move.title, move.verdict) == ("everything on the devices", "helps")
    assert move.because.startswith("it leaves nothing to the host")
    # 17 of 32 layers lay on a memory a twelfth as fast: 15 + 17 x 12 parts of 32, and the head
    assert move.gains["decode"].ceiling > 3


def test_experts_come_back_where_they_fit():
    """gpt-oss-120b, 63 GB in its own format, on 80; its routed layers are 36."""
    sc = make_scenario("gpt-oss-120b", "h100-sxm", cpu_moe=True, host_memory_bandwidth=HOST)
    found = found_of(sc)
    assert named(found, "everything on the devices").gains["decode"].expected > 5
    assert named(found, "h100-sxm to h200-sxm").title == "h100-sxm to h200-sxm, all experts on the devices"
    assert named(found, "dp 1 to 2").title.endswith("all experts on the devices")
    assert "everything on the devices" in "".join(str(block) for block in show.blocks(found))


def test_fewer_experts_lie_there_where_not_all_fit():
    """63 GB on 24: those of a third of the layers or so come back; what is assumed of the host stays as it was."""
    found = found_of(make_scenario("gpt-oss-120b", "rtx-4090", cpu_moe=True))
    (move,) = [one for one in found.moves if one.kind == "offload"]
    assert move.title == "experts of 26 of 36 layers on the host (--n-cpu-moe 26)"
    assert move.gains["decode"].expected > 1
    narrow = named(found, "mxfp4 weights")
    assert narrow.title.startswith("mxfp4 weights, experts of ")
    assert narrow.title.endswith(" of 36 layers on the host")


def test_a_batch_beside_narrower_weights_takes_the_room_that_layers_would():
    """Together is no less than narrower weights alone with as many layers as fit."""
    found = found_of(
        make_scenario("llama-3.1-70b", "rtx-3090", weights="q4_k_m", n_gpu_layers=40, host_memory_bandwidth=HOST)
    )
    alone = named(found, "int4-g128 weights").gains["throughput"].expected
    assert found.combined.gains["throughput"].expected > alone


def test_weights_streamed_come_back():
    """16 GB on 80: nothing to stream; 141 GB on 80 in narrower weights, or fewer of them a step."""
    small = found_of(make_scenario("llama-3.1-8b", "h100-sxm", engine="vllm", cpu_offload_gb=8))
    assert named(small, "everything on the devices").verdict == "helps"
    large = found_of(make_scenario("llama-3.1-70b", "h100-sxm", engine="vllm", cpu_offload_gb=100))
    (move,) = [one for one in large.moves if one.kind == "offload"]
    # 141 GB less at most 85 are 52 GiB
    assert 52 < int(move.title.split()[0]) < 75
    assert named(large, "fp8 weights").title == "fp8 weights, all weights on the devices"


def test_experts_of_all_layers_are_said_so():
    """60 layers with 17 GB of experts each: 24 GB hold none of them beside the attention of all."""
    sc = make_scenario("kimi-k2", "rtx-3090")
    ways = [one for one in remedy(sc).offloads if one.field == "n_cpu_moe"]
    assert [one.kept for one in ways] == [0]
    assert f"--n-cpu-moe {ways[0].value} (experts of all layers on the host, at best" in _offloaded(sc, tuple(ways))
