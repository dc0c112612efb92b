"""SGLang's log, rank by rank."""

from __future__ import annotations

import pytest

from engine_logs import SGLANG, read
from rooflight.units import to_base

GIB = to_base(1, "GiB")


def one(folder, text):
    found = read(folder, text)
    assert found.format == "sglang-log"
    assert len(found.records) == 1
    return found.records[0].stated, found.records[0].measured


def test_a_start_of_two_ranks_says_how_it_runs_and_what_came_out(tmp_path):
    stated, seen = one(tmp_path, SGLANG)

    assert (stated.engine, stated.model, stated.weights, stated.kv_cache) == ("sglang", "Small-7B", "bf16", "bf16")
    assert (stated.tp, stated.dp, stated.gpus, stated.memory_share) == (2, 1, 2, 0.85)
    assert (stated.context_tokens, stated.max_num_seqs, stated.max_num_batched_tokens) == (32_768, 2048, 2048)
    assert stated.speculative is False
    assert seen.weights_bytes_by_accelerator == (7.5 * GIB, pytest.approx(7.6 * GIB))
    assert seen.kv_bytes_per_accelerator == 12 * GIB  # keys and values, 6 each; "GB" is 2^30
    assert seen.kv_bytes_by_accelerator == (12 * GIB, pytest.approx(11.8 * GIB))
    assert seen.kv_tokens == 199_000  # the smallest rank decides
    assert seen.network_bytes_per_accelerator == 0.5 * GIB
    assert seen.free_before_bytes_per_accelerator == 23 * GIB
    assert seen.free_bytes_per_accelerator == pytest.approx(3.4 * GIB)
    assert seen.graph_bytes_per_accelerator == pytest.approx(0.4 * GIB)


def test_decode_lines_of_the_first_rank_are_watched(tmp_path):
    (watched,) = read(tmp_path, SGLANG).watched

    assert (watched.running, watched.waiting, watched.kv_usage) == (12, 3, 0.02)
    assert watched.output_tokens_per_s == 612.5
    assert watched.start is None  # its clock has no zone


@pytest.mark.parametrize(
    ("attention", "gpus"),
    # replicas on devices of their own; attention alone run data-parallel on the tensor ranks' devices
    [("enable_dp_attention=False", 2 * 4), ("enable_dp_attention=True", 2)],
)
def test_each_data_parallel_rank_has_a_pool_and_the_server_all(tmp_path, attention, gpus):
    text = SGLANG.replace("dp_size=1", "dp_size=4").replace("enable_dp_attention=False", attention)
    stated, seen = one(tmp_path, text)

    assert (seen.kv_tokens_per_replica, seen.kv_tokens) == (199_000, 4 * 199_000)
    assert stated.gpus == gpus


def test_a_latent_cache_is_one_size(tmp_path):
    line = "[2026-01-08 12:00:16 TP0] KV Cache is allocated. #tokens: 524288, KV size: 17.00 GB\n"
    _, seen = one(tmp_path, line)

    assert (seen.kv_tokens, seen.kv_bytes_per_accelerator) == (524_288, 17 * GIB)


def test_layers_with_windows_have_a_pool_beside(tmp_path):
    text = (
        "[2026-01-08 12:00:16 TP0] Use sliding window memory pool. full_layer_tokens=60000, swa_layer_tokens=48000\n"
        "[2026-01-08 12:00:16 TP0] KV Cache is allocated. #tokens: 48000, K size: 2.00 GB, V size: 2.00 GB\n"
        "[2026-01-08 12:00:16 TP0] KV Cache is allocated. #tokens: 60000, K size: 1.00 GB, V size: 1.00 GB\n"
    )
    _, seen = one(tmp_path, text)

    assert seen.kv_bytes_per_accelerator == (2 + 2 + 1 + 1) * GIB


def test_a_drafts_weights_and_pool_are_not_the_models(tmp_path):
    draft = (
        "[2026-01-08 12:00:17 TP0] Load weight end. type=SmallDraft, dtype=torch.bfloat16, avail mem=3.00 GB, "
        "mem usage=1.00 GB.\n"
        "[2026-01-08 12:00:17 TP0] KV Cache is allocated. #tokens: 199000, K size: 0.20 GB, V size: 0.20 GB\n"
    )
    stated, seen = one(tmp_path, SGLANG + draft)

    assert seen.weights_bytes_per_accelerator == 7.5 * GIB
    assert seen.kv_bytes_per_accelerator == 12 * GIB
    assert stated.model == "Small-7B"


def test_what_a_log_does_not_say_is_named_and_never_zero(tmp_path):
    found = read(tmp_path, "\n".join(SGLANG.splitlines()[:3]))

    assert found.lacks == ("the size of the weights", "the size of the KV pool")
    assert found.records[0].measured.weights_bytes_per_accelerator is None


def test_too_little_memory_is_said(tmp_path):
    text = SGLANG + "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n"

    assert one(tmp_path, text)[1].out_of_memory is True


def test_a_quantised_checkpoint_is_told_by_the_line_of_its_weights(tmp_path):
    text = SGLANG.replace("type=SmallForCausalLM, dtype=torch.bfloat16", "type=SmallForCausalLM, quant=fp8, fmt=e4m3")

    assert one(tmp_path, text)[0].weights == "fp8"


def test_a_containers_prefix_does_not_hide_the_rank(tmp_path):
    text = "".join(f"sglang-1  | {line}\n" for line in SGLANG.splitlines())

    assert one(tmp_path, text) == one(tmp_path, SGLANG)
    assert len(read(tmp_path, text).watched) == 1


def test_a_format_that_only_a_dtype_names_is_said_to_be_so(tmp_path):
    assert any("dtype that is printed" in note for note in read(tmp_path, SGLANG).notes)


def test_ranks_that_print_a_pool_each_add_up(tmp_path):
    text = (
        "[2026-06-23 01:10:14 DP0 TP0 EP0] max_total_num_tokens=1000\n"
        "[2026-06-23 01:10:14 DP1 TP1 EP1] max_total_num_tokens=1200\n"
        "[2026-06-23 01:10:14 DP1 TP1 EP1] max_total_num_tokens=1200\n"
    )
    stated, seen = one(tmp_path, text)

    assert (stated.dp, seen.kv_tokens, seen.kv_tokens_per_replica) == (2, 1000 + 1200, 1000)


def test_a_command_says_how_the_server_was_asked(tmp_path):
    text = (
        "$ python -m sglang.launch_server --model-path acme/Small-7B-FP8 --tp 2 --context-length 8192 \\\n"
        "  --mem-fraction-static 0.8 --kv-cache-dtype fp8_e5m2 --chunked-prefill-size -1\n"
        "[2026-01-08 12:00:15 TP0] Load weight end. type=S, dtype=torch.bfloat16, avail mem=15 GB, mem usage=7.5 GB.\n"
        "Using KV cache dtype: torch.float8_e5m2\n"
    )
    stated, seen = one(tmp_path, text)

    assert (stated.model, stated.tp, stated.context_tokens) == ("acme/Small-7B-FP8", 2, 8192)
    assert (stated.memory_share, stated.kv_cache, stated.weights) == (0.8, "fp8", "fp8")
    assert stated.max_num_batched_tokens is None  # -1: prompts are not cut
    assert seen.free_before_bytes_per_accelerator == (15 + 7.5) * GIB


def test_a_fused_pool_says_its_size_itself(tmp_path):
    text = (
        "[2026-01-08 12:00:16 TP0] Use sliding window memory pool. full_layer_tokens=60000, swa_layer_tokens=48000\n"
        "[2026-01-08 12:00:16 TP0] SWAKVPool mem usage: 8.14 GB, swa size: 48000, full size: 60000\n"
    )

    assert one(tmp_path, text)[1].kv_bytes_per_accelerator == pytest.approx(8.14 * GIB)


def test_a_second_start_is_a_record_of_its_own(tmp_path):
    found = read(tmp_path, SGLANG + SGLANG)

    assert [one.name for one in found.records] == ["start 1", "start 2"]


def test_a_checkpoint_that_is_found_to_be_fp8(tmp_path):
    line = "[2026-01-08 12:00:01 TP0] Detected fp8 checkpoint. Please note that the format is experimental.\n"

    assert one(tmp_path, line + SGLANG)[0].weights == "fp8"


def test_weights_of_a_version_that_prints_no_use_are_what_memory_lost(tmp_path):
    _, seen = one(
        tmp_path,
        "[2024-11-01 10:00:00 TP0] Load weight begin. avail mem=78.75 GB\n"
        "[2024-11-01 10:00:10 TP0] Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=63.70 GB\n",
    )

    # what later versions print as "mem usage": free before, less free after
    assert seen.weights_bytes_per_accelerator == pytest.approx((78.75 - 63.70) * GIB)
    assert seen.free_before_bytes_per_accelerator == 78.75 * GIB
