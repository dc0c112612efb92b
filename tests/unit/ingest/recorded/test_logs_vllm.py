"""vLLM's log, in the lines of several versions."""

from __future__ import annotations

import json

import pytest

from engine_logs import V1, read
from rooflight.units import to_base

GIB = to_base(1, "GiB")


def one(folder, text):
    found = read(folder, text)
    assert found.format == "vllm-log"
    assert len(found.records) == 1
    return found.records[0].stated, found.records[0].measured


def test_a_start_of_two_ranks_says_how_it_runs_and_what_came_out(tmp_path):
    stated, seen = one(tmp_path, V1)

    assert (stated.engine, stated.engine_version, stated.model) == ("vllm", "0.12.0", "acme/Small-7B")
    assert (stated.tp, stated.pp, stated.dp, stated.gpus) == (2, 1, 1, 2 * 1 * 1)
    assert (stated.weights, stated.kv_cache, stated.memory_share) == ("bf16", "fp8", 0.85)
    assert (stated.context_tokens, stated.max_num_seqs, stated.max_num_batched_tokens) == (8192, 32, 4096)
    assert stated.speculative is False
    # each rank prints its own: the first is "of an accelerator", all of them stand beside
    assert seen.weights_bytes_per_accelerator == 7.5 * GIB
    assert seen.weights_bytes_by_accelerator == (7.5 * GIB, pytest.approx(7.6 * GIB))
    assert seen.kv_bytes_by_accelerator == (10 * GIB, 9.5 * GIB)
    assert (seen.kv_tokens, seen.max_concurrency) == (311_296, 38.0)
    assert seen.kv_tokens_per_replica is None
    assert seen.graph_bytes_per_accelerator == 0.25 * GIB


def test_lines_of_the_running_engine_are_watched(tmp_path):
    (watched,) = read(tmp_path, V1).watched

    assert (watched.subject, watched.kind, watched.span, watched.start) == ("vllm 000", "engine", "interval", None)
    assert (watched.running, watched.waiting, watched.kv_usage, watched.prefix_hit) == (5, 2, 0.019, 0.5)
    assert (watched.prompt_tokens_per_s, watched.output_tokens_per_s) == (10.5, 88.5)


@pytest.mark.parametrize(
    "lines",
    [
        # 0.6.5 to 0.9, one line or several
        "INFO 12-22 10:55:34 worker.py:241] the current vLLM instance can use total_gpu_memory (80.00GiB) x "
        "gpu_memory_utilization (0.50) = 40.00GiB\nINFO 12-22 10:55:34 worker.py:241] model weights take 15.00GiB; "
        "non_torch_memory takes 1.00GiB; PyTorch activation peak memory takes 2.00GiB; the rest of the memory reserved "
        "for KV Cache is 22.00GiB.",
        # a table of 0.6.5
        "INFO 12-13 19:54:18 worker.py:243] Memory profiling results:\n"
        "INFO 12-13 19:54:18 worker.py:243] total_gpu_memory     80.00GiB\n"
        "INFO 12-13 19:54:18 worker.py:243] gpu_memory_utilization       0.50\n"
        "INFO 12-13 19:54:18 worker.py:243] the current vLLM instance can use    40.00GiB\n"
        "INFO 12-13 19:54:18 worker.py:243] model weights take   15.00GiB\n"
        "INFO 12-13 19:54:18 worker.py:243] non_torch_memory     1.00GiB\n"
        "INFO 12-13 19:54:18 worker.py:243] PyTorch activation peak memory       2.00GiB\n"
        "INFO 12-13 19:54:18 worker.py:243] available_kv_cache_memory    22.00GiB",
    ],
)
def test_a_profile_of_v0_says_each_term(tmp_path, lines):
    stated, seen = one(tmp_path, lines)

    assert stated.memory_share == 0.5
    assert seen.total_bytes_per_accelerator == 80 * GIB
    assert seen.usable_bytes_per_accelerator == 80 * GIB * 0.5
    assert seen.weights_bytes_per_accelerator == 15 * GIB
    assert seen.other_bytes_per_accelerator == 1 * GIB
    assert seen.activation_bytes_per_accelerator == 2 * GIB
    assert seen.kv_bytes_per_accelerator == (40 - 15 - 1 - 2) * GIB


@pytest.mark.parametrize("name", ["GPU", "CUDA", "cuda", "rocm"])
def test_blocks_of_v0_are_sixteen_tokens_and_that_is_said(tmp_path, name):
    text = (
        "INFO 12-22 10:55:34 model_runner.py:1097] Loading model weights took 8.5107 GB\n"
        f"INFO 12-22 10:55:35 gpu_executor.py:76] # {name} blocks: 715, # CPU blocks: 1310\n"
        "INFO 12-22 10:55:35 gpu_executor.py:80] Maximum concurrency for 2048 tokens per request: 5.59x\n"
    )
    _, seen = one(tmp_path, text)

    assert seen.kv_tokens == 715 * 16
    assert seen.weights_bytes_per_accelerator == pytest.approx(8.5107 * GIB)  # "GB" there is 2^30
    assert any("16 tokens" in note for note in read(tmp_path, text).notes)


def test_blocks_are_as_wide_as_the_arguments_say(tmp_path):
    text = (
        "INFO 05-01 10:00:00 api_server.py:712] args: Namespace(model='a/b', block_size=32, max_num_seqs=256, "
        "max_model_len=None, gpu_memory_utilization=0.9)\n"
        "INFO 05-01 10:00:30 executor_base.py:111] # cuda blocks: 100, # CPU blocks: 0\n"
    )
    stated, seen = one(tmp_path, text)

    assert seen.kv_tokens == 100 * 32
    assert (stated.max_num_seqs, stated.context_tokens, stated.memory_share) == (256, None, 0.9)


def test_the_newest_lines_say_pool_and_concurrency_in_one(tmp_path):
    text = (
        "(EngineCore pid=1) INFO [kv_cache_utils.py:1883] GPU KV cache size: 172,032 tokens, Maximum concurrency for "
        "86,016 tokens per request: 2.00x\n"
        "(EngineCore pid=1) INFO [gpu_worker.py:804] Free memory on device (15.00/16.00 GiB) on startup. Desired GPU "
        "memory utilization is (0.75, 12.0 GiB). Actual usage is 10.00 GiB for consumed memory (weights + non-torch), "
        "0.50 GiB for peak activation, and 0.04 GiB for CUDAGraph memory.\n"
    )
    stated, seen = one(tmp_path, text)

    assert (seen.kv_tokens, seen.max_concurrency, stated.context_tokens) == (172_032, 2.0, 86_016)
    assert (seen.total_bytes_per_accelerator, seen.free_before_bytes_per_accelerator) == (16 * GIB, 15 * GIB)
    assert (stated.memory_share, seen.usable_bytes_per_accelerator) == (0.75, 16 * GIB * 0.75)
    assert seen.activation_bytes_per_accelerator == 0.5 * GIB
    assert seen.out_of_memory is None


def test_a_request_that_does_not_fit_says_what_it_needs(tmp_path):
    text = (
        "ValueError: To serve at least one request with the model's max seq len (131072), (16.00 GiB KV cache is "
        "needed, which is larger than the available KV cache memory (9.00 GiB). Based on the available memory, the "
        "estimated maximum model length is 73728. Try increasing\n"
    )
    stated, seen = one(tmp_path, "INFO 05-01 10:00:00 [core.py:1] Available KV cache memory: 9.00 GiB\n" + text)

    assert stated.context_tokens == 131_072
    assert seen.needed_kv_bytes_per_accelerator == 16 * GIB
    assert seen.kv_bytes_per_accelerator == 9 * GIB
    assert seen.longest_tokens == 131_072 * 9 / 16  # what the engine printed is that arithmetic
    assert seen.out_of_memory is True


def test_memory_that_ran_out_says_what_was_asked_for(tmp_path):
    text = (
        "INFO 05-01 10:00:00 [gpu_model_runner.py:1316] Model loading took 20.0 GiB and 3 seconds\n"
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total capacity of "
        "23.50 GiB of which 100.00 MiB is free.\n"
    )
    _, seen = one(tmp_path, text)

    assert seen.wanted_bytes == to_base(512, "MiB")
    assert seen.total_bytes_per_accelerator == 23.5 * GIB
    assert seen.free_bytes_per_accelerator == to_base(100, "MiB")
    assert seen.out_of_memory is True


def test_replicas_print_a_pool_each_and_the_server_has_all(tmp_path):
    text = V1.replace("data_parallel_size=1", "data_parallel_size=4")
    found = read(tmp_path, text).records[0]

    assert found.stated.gpus == 2 * 1 * 4
    assert (found.measured.kv_tokens_per_replica, found.measured.kv_tokens) == (311_296, 4 * 311_296)


def test_a_second_start_in_one_file_is_a_record_of_its_own(tmp_path):
    found = read(tmp_path, V1 + V1.replace("311,296", "200,000"))

    assert [one.measured.kv_tokens for one in found.records] == [311_296, 200_000]
    assert [one.name for one in found.records] == ["start 1", "start 2"]


def test_what_a_log_does_not_say_is_named_and_never_zero(tmp_path):
    found = read(tmp_path, "\n".join(V1.splitlines()[:4]))

    assert found.lacks == ("the size of the weights", "the size of the KV pool")
    assert found.records[0].measured.kv_tokens is None
    assert found.records[0].stated.memory_share == 0.85


@pytest.mark.parametrize(
    ("method", "model", "weights"),
    [
        ("fp8", "a/b", "fp8"), ("awq_marlin", "a/b", "awq-int4-g128"), ("gptq_marlin", "a/b", "gptq-int4-g128"),
        ("mxfp4", "a/b", "mxfp4"), ("modelopt_fp4", "a/b", "nvfp4"), ("bitsandbytes", "a/b", "nf4"),
        ("compressed-tensors", "a/b-FP8-dynamic", "fp8"), ("compressed-tensors", "a/b-NVFP4", "nvfp4"),
        ("compressed-tensors", "a/b-quantized.w4a16", "ct-int4-g128"), ("compressed-tensors", "a/b", None),
        ("something-new", "a/b", None), ("None", "a/b-FP8", "bf16"),
    ],
)  # fmt: skip
def test_the_weights_format_is_by_the_method_and_where_that_leaves_it_open_by_the_name(
    tmp_path, method, model, weights
):
    text = V1.replace("quantization=None", f"quantization={method}").replace("acme/Small-7B", model)

    assert one(tmp_path, text)[0].weights == weights


def test_folders_of_whoever_ran_it_are_left_out(tmp_path):
    text = V1.replace("acme/Small-7B", "/home/somebody/models/Small-7B")

    assert one(tmp_path, text)[0].model == "Small-7B"
    assert "somebody" not in str(read(tmp_path, text).to_dict()["records"])


def test_colours_and_prefixes_of_containers_are_looked_through(tmp_path):
    text = "".join(f"vllm-1  | \x1b[1;36m{line}\x1b[0;0m\r\n" for line in V1.splitlines())

    assert one(tmp_path, text) == one(tmp_path, V1)


def test_a_command_over_several_lines_is_one(tmp_path):
    text = (
        "$ vllm serve /srv/hub/models--acme--Small-7B/snapshots/0a1b \\\n    --tensor-parallel-size 2 \\\n"
        "    --max_model_len=4096 --gpu-memory-utilization 0.8\n"
        "INFO 05-01 10:00:30 [kv_cache_utils.py:634] GPU KV cache size: 10,240 tokens\n"
    )
    stated, seen = one(tmp_path, text)

    assert (stated.model, stated.tp, stated.context_tokens, stated.memory_share) == ("acme/Small-7B", 2, 4096, 0.8)
    assert seen.kv_tokens == 10_240


def test_only_so_many_lines_of_a_running_engine_are_kept(tmp_path):
    found = read(tmp_path, V1 + "".join(f"{V1.splitlines()[-1]}\n" for _ in range(2500)))

    assert len(found.watched) == 2000
    assert "the last 2,000 of 2,501 lines" in found.notes[0]


def test_replicas_are_known_by_their_names_and_each_counts_once(tmp_path):
    text = (
        "INFO (EngineCore_DP0 pid=123) GPU KV cache size: 5,000,000 tokens\n"
        "INFO (EngineCore_DP0 pid=123) GPU KV cache size: 5,000,000 tokens\n"
        "INFO (EngineCore_DP1 pid=124) GPU KV cache size: 6,500,000 tokens\n"
    )
    stated, seen = one(tmp_path, text)

    assert stated.dp == 2
    assert (seen.kv_tokens, seen.kv_tokens_per_replica) == (5_000_000 + 6_500_000, 5_000_000)


def test_a_line_of_the_newest_versions_states_the_share(tmp_path):
    text = (
        "(Worker_TP3 pid=150) INFO 05-14 00:04:17 [gpu_worker.py:475] CUDA graph memory profiling is enabled (default "
        "since v0.21.0). The current --gpu-memory-utilization=0.9200 is equivalent to --gpu-memory-utilization=0.9129 "
        "without CUDA graph memory profiling.\n"
        "(Worker_TP0 pid=147) INFO 05-14 00:04:17 [gpu_worker.py:460] Available KV cache memory: 15.75 GiB\n"
    )
    stated, seen = one(tmp_path, text)

    assert stated.memory_share == 0.92
    assert seen.kv_bytes_per_accelerator == 15.75 * GIB


@pytest.mark.parametrize("space", ["", " "])
def test_a_container_runtimes_json_lines_say_what_the_plain_log_says(tmp_path, space):
    # a value at the end of a line is followed by its escaped line break, and quotes within it are escaped
    lines = [json.dumps({"log": f"{line}\n", "stream": "stderr"}, separators=(",", f":{space}"))
             for line in V1.splitlines()]  # fmt: skip

    wrapped, plain = read(tmp_path, "\n".join(lines)), read(tmp_path, V1)

    assert wrapped.records == plain.records
    assert wrapped.watched == plain.watched


def test_a_value_at_the_end_of_a_container_runtimes_line_is_read(tmp_path):
    line = "(EngineCore pid=1) INFO 11-02 10:00:02 [core.py:93] Initializing a V1 LLM engine (v0.12.0) with config: "
    text = json.dumps({"log": f"{line}model='acme/Small-7B', dtype=torch.bfloat16, kv_cache_dtype=fp8_e4m3\n"})

    assert one(tmp_path, text)[0].kv_cache == "fp8"
