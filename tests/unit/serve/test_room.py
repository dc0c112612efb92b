"""How a device's memory is spent by engines, what does not fit, and that arrays are spent as numbers are."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest

import rooflight
from rooflight.errors import BadInput
from rooflight.library.questions import make_scenario
from rooflight.serve.memory import admitted, max_batch, memory
from rooflight.serve.room import room
from rooflight.units import to_base

GIB = to_base(1, "GiB")
LLAMA_70B_FP8 = 72_656_372_992  # bytes of weights
TOKEN_70B = 80 * 2 * 8 * 128 * 2


def block(model, on, **fields):
    return rooflight.analyze(model, on, **fields).memory


# What does not fit (a): weights and one sequence exceed the label in full GiB.


def test_more_than_the_label_holds_does_not_fit():
    """141 GB on 80 GiB = 85.9 GB."""
    answer = rooflight.analyze("llama-3-70b", "h100-sxm")

    assert (answer.bound, answer.phases, answer.runs) == ("capacity", {}, {})
    assert answer.memory.max_batch == 0
    assert answer.memory.weights_bytes > 80 * GIB
    assert "there are at most 85.9 GB" in answer.answer


def test_nothing_is_left_for_a_cache_where_the_weights_alone_are_too_large():
    """141 GB of weights are 55 GB more than 85.9 GB: a doubt of 1 GB leaves nothing at its far end either."""
    pool = rooflight.analyze("llama-3-70b", "h100-sxm").memory.kv_pool

    for of in (pool.bytes, pool.tokens, pool.sequences):
        assert (of.low, of.expected, of.high) == (0, 0, 0)


def test_a_host_that_is_too_small_leaves_nothing_for_a_cache():
    """Half of 8B's 16 GB in 4 GB: nothing starts, however much the device has left."""
    held = block("llama-3-8b", "h100-sxm", cpu_offload_gb="8GB", host_memory="4GB", engine="vllm")

    assert held.max_batch == 0
    assert held.kv_pool.bytes.high == 0


@pytest.mark.parametrize(("isl", "fits"), [(30_000, True), (80_000, False)])
def test_the_label_decides_over_one_sequence_of_any_length(isl, fits):
    """70B in FP8 beside a sequence: 72.66 GB + isl x 327,680 B against 85.9 GB, so 40,500 tokens and no more."""
    held = 80 * GIB - LLAMA_70B_FP8
    assert (isl + 1 <= held // TOKEN_70B) is fits

    answer = rooflight.analyze("llama-3-70b", "h100-sxm", weights="fp8", isl=isl, osl=1)
    assert (answer.bound is None) is fits


# (b): the default share leaves no room for one; a stated one is obeyed.


@pytest.mark.parametrize(
    ("engine", "option"), [("vllm", "--gpu-memory-utilization"), ("sglang", "--mem-fraction-static")]
)
def test_a_default_share_that_leaves_no_room_is_set_aside_and_the_needed_one_named(engine, option):
    """A sequence of 9,000 tokens, 2.9 GB, beside 72.7 GB of weights."""
    answer = rooflight.analyze("llama-3-70b", "h100-sxm", weights="fp8", engine=engine, isl=8999, osl=1)
    held = answer.memory

    assert answer.answered
    assert held.share == 1
    assert 0.9 < held.share_needed < 1.1
    assert held.max_batch >= 1
    assert f"One sequence needs {option}" in answer.answer or "nothing is kept" in answer.answer


@pytest.mark.parametrize("name", ["gpu_memory_utilization", "mem_fraction_static"])
def test_a_stated_share_is_obeyed(name):
    answer = rooflight.analyze("llama-3-70b", "h100-sxm", weights="fp8", isl=8999, osl=1, **{name: 0.8})

    assert answer.bound == "capacity"
    assert answer.memory.max_batch == 0
    assert f"--{name.replace('_', '-')} 0.8 leaves" in answer.answer


def test_the_share_that_is_named_is_enough_and_a_little_less_is_not():
    asked = {"weights": "fp8", "engine": "vllm", "isl": 10_500, "osl": 1, "max_num_seqs": 64}
    needed = block("llama-3-70b", "h100-sxm", **asked).share_needed
    assert 0.92 < needed < 1

    enough, less = (
        block("llama-3-70b", "h100-sxm", gpu_memory_utilization=share, **asked)
        for share in (needed + 1e-6, needed - 1e-4)
    )
    assert (enough.max_batch, less.max_batch) == (1, 0)


def test_where_only_the_label_holds_one_the_answer_says_so():
    """72.66 GB and 35,000 x 327,680 B = 84.1 GB: less than 85.9, more than 85.0 with what an engine keeps beside."""
    answer = rooflight.analyze("llama-3-70b", "h100-sxm", weights="fp8", engine="vllm", isl=34_999, osl=1)

    assert answer.memory.share_needed > 1
    assert answer.memory.share is None
    assert answer.memory.max_batch == 1
    assert answer.answered
    assert "computed as if all were free" in answer.answer


# (c): at least one fits, fewer than asked for.


def test_fewer_than_asked_for_wait():
    answer = rooflight.analyze("llama-3.1-8b", "h100-sxm", engine="vllm", batch=1000)

    assert answer.memory.fits is False
    assert "prefill" in answer.phases
    assert "decode" not in answer.phases
    assert answer.runs["served"].waiting > 0


# Engines' own rules.


def test_vllm_by_hand():
    """0.19 on an H100, S 1,024, T 8,192: 0.9 x 81,089 MiB - W - A - N.

    A = S V k + 2 T h = 1,024 x 128,256 x 14.6 + 2 x 8,192 x 4,096, above 2 T (3 i + 4 h) = 0.97e9; + 0.04 GiB.
    W has the table of 131,072 x 128 x 2 B; N 0.25 GiB.
    """
    left = 0.9 * 81_089 * 2**20 - 16_060_522_496 - 131_072 * 128 * 2
    left -= 1024 * 128_256 * 14.6 + 2 * 8192 * 4096 + 0.04 * GIB + 0.25 * GIB
    held = block("llama-3.1-8b", "h100-sxm", engine="vllm", engine_version="0.19.0")

    assert held.kv_pool_bytes == pytest.approx(left, rel=1e-9)
    assert held.kv_tokens == left // (16 * 131_072) * 16
    assert held.kv_pool.log.tokens == held.kv_tokens


def test_the_default_share_follows_the_version():
    shares = [
        block("llama-3.1-8b", "h100-sxm", engine="vllm", engine_version=version).share
        for version in ("0.6.3", "0.12.0", "0.19.1", "0.20", "2025", None)
    ]
    assert shares == [0.9, 0.9, 0.9, 0.92, 0.9, 0.92]


@pytest.mark.parametrize(
    ("change", "bytes_"),
    [
        # the step's tokens: logits stay, the rows of hidden states shrink
        ({"max_num_batched_tokens": 2048}, 2 * (8192 - 2048) * 4096),
        ({"max_num_seqs": 512}, 512 * 128_256 * 14.6),
        ({"sampler": "pytorch"}, -1024 * 128_256 * (38.5 - 14.6)),
    ],
)
def test_flags_of_an_engine_move_its_pool(change, bytes_):
    plain, other = (
        block("llama-3.1-8b", "h100-sxm", engine="vllm", engine_version="0.19", **fields) for fields in ({}, change)
    )
    assert other.kv_pool_bytes - plain.kv_pool_bytes == pytest.approx(bytes_, rel=1e-6)


def test_eager_frees_the_graphs():
    """From 0.20 on: 0.5 GiB for 256 sequences, as their square root."""
    graphs, eager = (
        block("llama-3.1-8b", "h100-sxm", engine="vllm", graphs=graphs).kv_pool_bytes for graphs in (True, False)
    )
    assert eager - graphs == pytest.approx(0.5 * GIB * math.sqrt(1024 / 256))


def test_ranks_over_nvlink_keep_more_than_over_pcie():
    nvlink, pcie = (
        block("llama-3.1-8b", on, engine="vllm", engine_version="0.12", tp=2).engine_bytes / 2 / GIB
        for on in ("2xh100-sxm", "2xrtx-4090")
    )
    assert (nvlink, pcie) == (pytest.approx(2.1), pytest.approx(0.35))


def test_routed_experts_bring_buffers():
    """Qwen3-30B-A3B, T 8,192: 2 T k (max(i, h) + max(2 i, h)), i 768, h 2,048, k 8; from 0.17 on added."""
    inside, added = (
        block("Qwen/Qwen3-30B-A3B", "h100-sxm", engine="vllm", engine_version=version, sampler="flashinfer")
        for version in ("0.16", "0.17")
    )
    buffers = 2 * 8192 * 8 * (2048 + 2048)
    assert added.activation_bytes - inside.activation_bytes == pytest.approx(buffers)


def test_sglang_shares_what_is_free_before_loading():
    """0.835 by default: (81,559 - 13,440) / 81,559 MiB; of 79.19 - 0.5 GiB, less the weights."""
    held = block("llama-3.1-8b", "h100-sxm", engine="sglang")
    assert held.share == round((81_559 - (512 + 1.5 * 8192 + 2 * 256 + 128)) / 81_559, 3)

    free = 81_089 * 2**20 - 0.5 * GIB
    assert held.kv_pool_bytes == pytest.approx(held.share * free - held.weights_bytes)
    assert held.kv_pool.log.line == "max_total_num_tokens"


def test_sglang_on_a_small_card_takes_less_away():
    """RTX 4090: 512 + 1.5 x 2,048 + 2 x 24 + 128 = 3,760 MiB of 24,564."""
    assert block("llama-3.1-8b", "rtx-4090", engine="sglang", weights="fp8").share == 0.847


def test_tensorrt_llm_shares_what_is_free_after_loading():
    held = block("llama-3.1-8b", "h100-sxm", engine="tensorrt-llm")
    free = 81_089 * 2**20 - held.weights_bytes - held.activation_bytes - held.engine_bytes

    assert held.share == 0.9
    assert held.kv_pool_bytes == pytest.approx(0.9 * free)


def test_llama_cpp_withholds_nothing_and_leaves_the_table_to_the_host():
    """20.1 GB of weights without the table, 48 x 2 x 8 x 128 x 2 B x 4,096 = 0.8 GB of cache, buffers of 512 tokens."""
    held = block(
        "codellama-34b", "rtx-3090", weights="q4_k_m", engine="llama.cpp", isl=3840, osl=256,
    )  # fmt: skip

    assert held.fits
    assert held.withheld_bytes == 0
    assert held.kv_bytes == 48 * 2 * 8 * 128 * 2 * 4096
    assert held.activation_bytes + held.engine_bytes < 0.6e9


def test_mlx_has_all_that_a_gpu_may_wire():
    """107.52 of 128 GiB; its times are MLX's own, fitted on two generations of chips."""
    answer = rooflight.analyze("llama-3.1-8b", "apple-m4-max-40", engine="mlx", weights="int4-g64")

    assert answer.memory.usable_bytes == pytest.approx(107.52 * GIB, rel=1e-4)
    assert answer.memory.withheld_bytes == 0
    assert not any("no engine 'mlx' is calibrated" in line for line in answer.assumptions)


@pytest.mark.parametrize("name", ["mem_fraction_static", "free_gpu_memory_fraction", "gpu_memory_utilization"])
def test_each_name_of_a_share_means_its_own(name):
    """Whatever engine is named: of all, of what is free before loading, of what is free after it."""
    sc = make_scenario("llama-3.1-8b", "h100-sxm", engine="vllm", **{name: 0.5})
    one, total = room(sc), 81_089 * 2**20
    withheld = {
        "gpu_memory_utilization": 0.5 * total,
        "mem_fraction_static": 0.5 * (total - one.engine),
        "free_gpu_memory_fraction": 0.5 * (total - one.engine - one.weights - one.chunk),
    }
    assert one.withheld == pytest.approx(withheld[name])


def test_two_shares_are_refused():
    with pytest.raises(BadInput, match="shares of different things"):
        rooflight.Deployment(gpu_memory_utilization=0.9, mem_fraction_static=0.9)


def test_a_chunk_asked_for_is_what_a_step_holds():
    whole, chunked = (block("qwen2.5-7b", "rtx-4090", chunk_tokens=chunk, isl=4096) for chunk in (0, 512))

    assert chunked.reserve_bytes < whole.reserve_bytes
    assert chunked.max_batch >= whole.max_batch


# A size that is stated.


@pytest.mark.parametrize("size", ["48GiB", 48 * GIB, "51539607552"])
def test_a_stated_size_takes_the_place_of_the_catalogs(size):
    """A Mac of 48 GB: 0.78 of it may be wired; 74 GB of Q4 weights are too much."""
    answer = rooflight.analyze("Qwen/Qwen3.5-122B-A10B", "apple-m3-max", weights="q4_k_m", memory=size)

    assert answer.accelerator.memory_bytes == 48 * GIB
    assert answer.accelerator.program_memory_bytes == pytest.approx(0.78 * 48 * GIB)
    assert answer.bound == "capacity"


def test_a_stated_size_is_not_taken_to_another_card():
    from rooflight.catalog import accelerators
    from rooflight.scenario.change import changed

    sc = make_scenario("llama-3.1-8b", "h100-sxm", memory="40GiB")
    other = changed(sc, accelerator=accelerators.load("h200-sxm")[0])

    assert other.accelerator.memory_bytes == 143_771 * 2**20


# Arrays.


@pytest.mark.parametrize("engine", [None, "vllm", "sglang", "tensorrt-llm", "llama.cpp"])
@pytest.mark.parametrize("model", ["llama-3-70b", "openai/gpt-oss-20b", "Qwen/Qwen3.5-35B-A3B"])
def test_arrays_are_spent_as_numbers_are(engine, model):
    """Lengths from a few tokens to what the share, all of it, and the label alone hold."""
    form = "fp8" if model == "llama-3-70b" else None
    lengths = np.array([16.0, 1000, 5000, 9000, 25000, 39000, 60000, 10_000_000])
    sc = make_scenario(model, "h100-sxm", engine=engine, weights=form)
    swept = msgspec.structs.replace(sc, workload=msgspec.structs.replace(sc.workload, context=lengths))
    alone = [make_scenario(model, "h100-sxm", engine=engine, weights=form, context=int(one)) for one in lengths]

    assert np.broadcast_to(max_batch(room(swept)), lengths.shape).tolist() == [max_batch(room(one)) for one in alone]
    assert np.broadcast_to(admitted(swept), lengths.shape).tolist() == pytest.approx([admitted(one) for one in alone])


@pytest.mark.parametrize("engine", [None, "vllm", "sglang", "tensorrt-llm", "llama.cpp"])
@pytest.mark.parametrize("batch", [1, 17, 300])
def test_the_parts_add_up_and_the_pool_is_what_is_left(engine, batch):
    held = memory(make_scenario("llama-3.1-8b", "2xh100-sxm", engine=engine, dp=2, batch=batch))
    taken = held.weights_bytes + held.kv_bytes + held.reserve_bytes

    assert held.fits is (batch <= held.max_batch)
    assert held.fits is (taken <= held.usable_bytes)
    if engine is not None:  # of other engines, working memory grows with the batch
        assert held.weights_bytes + held.reserve_bytes + held.kv_pool_bytes == pytest.approx(held.usable_bytes)
    assert held.kv_pool.sequences.low <= held.kv_pool.sequences.expected <= held.kv_pool.sequences.high


def test_whole_gb_are_a_label_as_cards_are_sold():
    """A card of 16 GB has 17.2e9 bytes and holds the 16.2 GB that an 8B and a sequence of it take."""
    sold, full = (rooflight.analyze("llama-3.1-8b", "rtx-4090", memory=size) for size in ("16GB", "16GiB"))

    assert sold.bound is None
    assert sold.memory.max_batch == full.memory.max_batch == 1


def test_the_label_in_full_holds_one_sequence_and_no_log_speaks_of_it():
    """Where nothing is kept, nothing is kept for others: more memory never holds fewer."""
    held = [rooflight.analyze("llama-3.1-8b", "rtx-4090", engine="vllm", isl=200, osl=56, memory=f"{size}GiB").memory
            for size in (15.5, 16, 17, 18)]  # fmt: skip
    counts = [one.max_batch for one in held]

    assert counts[:2] == [1, 1]
    assert counts == sorted(counts)
    assert [one.kv_pool.log is None for one in held] == [True, True, False, False]
