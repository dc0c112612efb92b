"""Rows that say that a part ran on the host: which splits they may have had, their ceiling and their interval."""

from __future__ import annotations

import pytest

import rooflight
from rooflight.answers.check.names import Names
from rooflight.answers.check.offloaded import others, splits
from rooflight.catalog.models import load
from rooflight.ingest.rows import measurement
from rooflight.units import to_base
from rooflight.values.deployment import Deployment
from rooflight.work.count import streamed_weight_bytes

LLAMA, QWEN = "llama-3.1-70b", "qwen3-30b-a3b"
CELLS = {
    "accelerator": "rtx-4090", "gpus": 1, "engine": "llama.cpp", "weights": "bf16", "metric": "output_tok_s_per_user",
    "phase": "decode", "batch": 1, "input_len": 0, "value": 1.0, "partial_offload": "yes",
}  # fmt: skip
# Without an engine: with one, its habits leave the table to the host.
BARE = Deployment(weights="bf16")


def split(model: str = LLAMA, card: str = "rtx-4090", said: str = "yes") -> tuple[Deployment, ...]:
    row = measurement(CELLS | {"model": model, "accelerator": card, "partial_offload": said})
    return splits(row, load(model), rooflight.accelerator(card), BARE, Names())


def judged(**cells):
    return rooflight.check({**CELLS, "model": LLAMA, **cells}).rows[0]


def test_of_a_dense_model_as_many_layers_as_fit_are_on_the_device_or_none():
    """24 GiB less table and head of 2.1 GB each leave 21.6 GB: 12 layers of 1.711 GB; the head counts as one more."""
    layer = 2 * (8192 * 128 * (2 * 64 + 2 * 8) + 3 * 8192 * 28_672 + 2 * 8192)
    table = 2 * 128_256 * 8192
    most = (24 * 2**30 - 2 * table) // layer
    found = split()

    assert most == 12
    assert [one.n_gpu_layers for one in found] == [most + 1, 0]


def test_of_a_routed_model_experts_go_first():
    """61.1 GB are 35.3 GB more than 24 GiB: the experts of 30 layers, 128 x 3 x 2048 x 768 x 2 B = 1.208 GB each."""
    experts = 128 * 3 * 2048 * 768 * 2
    fewest = -(-(30_532_122_624 * 2 - 24 * 2**30) // experts)
    found = split(QWEN)

    assert fewest == 30
    assert [one.n_cpu_moe for one in found] == [fewest, (fewest + 48) // 2, 48, None]
    assert found[-1].n_gpu_layers == 0


def test_what_fits_stays_on_the_device_in_the_first():
    found = split(QWEN, "h100-sxm")

    assert found[0] == BARE
    assert [one.n_cpu_moe for one in found[1:3]] == [24, 48]


def test_what_the_row_says_is_taken_at_its_word():
    assert [one.n_gpu_layers for one in split(said="all weights on the CPU")] == [0]
    assert [one.kv_offload for one in split(said="KV cache on the host (--no-kv-offload)")] == [False]


@pytest.mark.parametrize("card", ["ryzen-ai-max-395", "epyc-9654"])
def test_processors_and_shared_memory_have_no_host(card):
    assert split(card=card) == ()


def test_a_row_of_such_a_machine_keeps_the_ceiling_of_the_whole_and_expects_nothing():
    found = judged(accelerator="ryzen-ai-max-395")

    assert found.low is None
    assert "the ceiling is that of everything on the accelerator" in found.reason


def test_the_ceiling_of_all_on_the_host_is_its_memory_at_the_fastest():
    """139 GB of 1,689.6 GB/s: two sockets of twelve channels of MRDIMM-8800."""
    found = judged(partial_offload="all weights on the CPU")

    assert found.ceiling == pytest.approx(to_base(1689.6, "GB/s") / streamed_weight_bytes(load(LLAMA)), rel=0.01)
    assert "all layers lay on the host" in found.reason


def test_a_row_that_leaves_the_split_open_has_the_fastest_ones_ceiling_and_everyones_interval():
    """The slowest: all of it at a fifth of 89.6 GB/s; the fastest usual host gives 614.4 GB/s."""
    found, all_there = judged(), judged(partial_offload="all weights on the CPU")

    assert found.ceiling >= all_there.ceiling
    assert found.low <= all_there.low <= 0.2 * 89.6e9 / streamed_weight_bytes(load(LLAMA)) * 1.01
    assert found.low < found.expected < found.high <= found.ceiling
    assert "all but 13 layers" in found.reason or "all but 14 layers" in found.reason
    assert found.verdict == "ok"


def test_a_row_that_says_its_split_and_host_is_judged_by_them():
    """10 of 80 layers of 1.711 GB on the device; 70 and, first of all, their turn at 0.65 of 80 GB/s: 2.3 s a token."""
    found = judged(n_gpu_layers=11, host_memory_bandwidth="80GB/s", partial_offload="", value=0.4)

    host, device = 70 * 1.711e9, 10 * 1.711e9 + 2.1e9
    assert found.ceiling == pytest.approx(1 / (host / 80e9 + device / 1008e9), rel=0.01)
    assert found.high < judged().high
    assert "all but 11 layers lay on the host" in found.reason


def test_all_layers_on_the_device_is_no_split():
    row = judged(model="llama-3.1-8b", n_gpu_layers=99, partial_offload="", value=30.0)

    assert row.ceiling == judged(model="llama-3.1-8b", partial_offload="", value=30.0).ceiling
    assert "on the host" not in row.reason


@pytest.mark.parametrize("model", ["smollm2-135m", "bert-base-uncased"])
def test_a_model_that_a_hosts_caches_would_hold_takes_time_there(model):
    """269 MB in bf16: its memory reads them at 1,689.6 GB/s at most, and nothing else is known of the host."""
    cells = {"model": model, "phase": "prefill", "metric": "ttft_ms", "input_len": 16, "value": 50.0}

    assert judged(**cells, partial_offload="all weights on the CPU").ceiling > 0.1
    answer = rooflight.analyze(model, on="rtx-4090", isl=16, n_gpu_layers=0).to_dict()
    assert answer["phases"]["prefill"]["time_s"]["ceiling"] > 1e-4


def test_a_host_that_is_none_is_said():
    for path in ("/etc/passwd", "-", "mine.toml"):  # a table's names are no files
        assert "no name of a CPU" in judged(n_gpu_layers=11, host_cpu=path, partial_offload="").reason
    assert "is no CPU" in judged(n_gpu_layers=11, host_cpu="h100-sxm", partial_offload="").reason
    assert judged(n_gpu_layers=10**9, partial_offload="").verdict == "cannot-judge"
    assert "host_memory_bandwidth is 'fast'" in judged(host_memory_bandwidth="fast").reason


def test_what_no_split_allows_is_impossible():
    assert judged(value=100.0).verdict == "impossible"


def test_a_long_prompt_may_have_read_the_host_for_each_of_its_chunks():
    """A prompt of 8,192 tokens at the pace of 512, or of its own where attention makes that slower."""
    short, long = (judged(phase="prefill", metric="prefill_tok_s", input_len=n, value=50.0) for n in (512, 8192))

    assert 0.9 * short.low < long.low <= short.low
    assert long.expected > short.expected

    time = judged(phase="prefill", metric="ttft_ms", input_len=8192, value=1e5)
    assert time.ceiling < time.low < time.expected < time.high
    assert time.high == pytest.approx(8192e3 / long.low, rel=1e-6)


def test_other_hosts_count_in_what_is_expected_alone():
    names = Names()
    sc = names.scenario(load(LLAMA), rooflight.accelerator("rtx-4090"), Deployment(weights="bf16", n_gpu_layers=13))
    own, fast, own_fast = others(sc, names)

    assert fast.rates.beside.rates.accelerator.memory_bytes_per_s == pytest.approx(2 * 8 * 8 * 4.8e9, rel=0.001)
    assert own.rates.beside.link_bytes_per_s is None is own_fast.rates.beside.link_bytes_per_s
    assert names.uncopied(sc) is own  # kept, as scenarios are
