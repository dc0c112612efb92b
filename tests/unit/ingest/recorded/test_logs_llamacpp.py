"""The log of llama.cpp, ik_llama.cpp and Ollama."""

from __future__ import annotations

import pytest

from engine_logs import LLAMACPP, read
from rooflight.ingest.recorded.logs.formats import file_type
from rooflight.units import to_base

GIB, MIB = to_base(1, "GiB"), to_base(1, "MiB")


def test_buffers_are_summed_by_device_and_the_hosts_kept_apart(tmp_path):
    found = read(tmp_path, LLAMACPP)
    stated, seen = found.records[0].stated, found.records[0].measured

    assert (found.format, found.tool, found.version) == ("llamacpp-log", "llama.cpp", "6123")
    assert (stated.engine, stated.model, stated.device) == ("llama.cpp", "Small 7B", "NVIDIA GeForce RTX 3090")
    assert (stated.weights, stated.kv_cache, stated.gpus) == ("q4_k_m", "q8_0/q4_0", 1)
    assert (stated.context_tokens, stated.max_num_seqs, stated.max_num_batched_tokens) == (8192, 4, 2048)
    assert seen.weights_bytes_per_accelerator == 2500 * MIB
    assert seen.host_weights_bytes == (1500 + 168) * MIB  # two files, mapped
    assert (seen.offloaded_layers, seen.layers) == (20, 33)
    assert (seen.kv_bytes, seen.kv_bytes_per_accelerator, seen.host_kv_bytes) == (512 * MIB, 320 * MIB, 192 * MIB)
    assert seen.kv_tokens == 8192
    assert seen.compute_bytes_per_accelerator == 300 * MIB
    assert seen.free_before_bytes_per_accelerator == 23_000 * MIB
    assert (seen.weights_bytes, seen.bits_per_weight) == (pytest.approx(4.07 * GIB), 4.83)


def test_a_timing_is_a_request_of_its_own(tmp_path):
    timed = read(tmp_path, LLAMACPP).records[1]
    stated, seen = timed.stated, timed.measured

    assert (stated.model, stated.isl, stated.osl, stated.batch) == ("Small 7B", 100, 50, 1)
    assert seen.prefill_s.mean == 0.5
    assert seen.prefill_tokens_per_s == 100 / 0.5
    assert seen.tpot_s.mean == pytest.approx(2.0 / 50)
    assert seen.output_tokens_per_s_per_user == pytest.approx(50 / 2.0)


def test_a_slot_of_the_server_may_decode_beside_others(tmp_path):
    text = (
        "load_tensors:        CUDA0 model buffer size =  2500.00 MiB\n"
        "slot print_timing: id  0 | task 0 | \n"
        "prompt eval time =     100.00 ms /    10 tokens (   10.00 ms per token,   100.00 tokens per second)\n"
        "       eval time =    1000.00 ms /    20 tokens (   50.00 ms per token,    20.00 tokens per second)\n"
        "      total time =    1100.00 ms /    30 tokens\n"
    )
    timed = read(tmp_path, text).records[1]

    assert timed.stated.batch is None
    assert timed.measured.tpot_s.mean == pytest.approx(1.0 / 20)


def test_two_caches_are_one_of_which_the_larger_gives_the_tokens(tmp_path):
    text = (
        "llama_kv_cache_iswa: creating non-SWA KV cache, size = 32768 cells\n"
        "llama_kv_cache: size = 416.00 MiB ( 32768 cells, 13 layers, 1/1 seqs), "
        "K (f16): 208.00 MiB, V (f16): 208.00 MiB\n"
        "llama_kv_cache_iswa: creating     SWA KV cache, size =  2560 cells\n"
        "llama_kv_cache: size =  97.50 MiB (  2560 cells, 39 layers, 1/1 seqs), "
        "K (f16):  48.75 MiB, V (f16): 48.75 MiB\n"
    )
    found = read(tmp_path, text)
    stated, seen = found.records[0].stated, found.records[0].measured

    # 13 x 32,768 x 1,024 B + 39 x 2,560 x 1,024 B
    assert seen.kv_bytes == 13 * 32_768 * 1024 + 39 * 2560 * 1024
    assert (seen.kv_tokens, stated.context_tokens, stated.kv_cache) == (32_768, 32_768, "f16")
    assert found.lacks == ("the buffers of the weights",)


def test_streams_of_their_own_have_as_many_tokens_each(tmp_path):
    line = "llama_kv_cache: size = 1024.00 MiB (  4096 cells, 32 layers,  4/4 seqs), K (f16): 512.00 MiB\n"

    assert read(tmp_path, line).records[0].measured.kv_tokens == 4096 * 4


def test_an_allocation_that_failed_says_what_it_was_for(tmp_path):
    text = (
        "llm_load_tensors: CUDA0 buffer size = 15831.98 MiB\nllm_load_tensors: CUDA1 buffer size = 3221.75 MiB\n"
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 1000.00 MiB on device 0: "
        "cudaMalloc failed: out of memory\n"
        "ggml_gallocr_reserve_n: failed to allocate CUDA0 buffer of size 1048576000\n"
        "llama_new_context_with_model: failed to allocate compute buffers\n"
    )
    found = read(tmp_path, text).records[0]
    seen = found.measured

    assert (seen.wanted_bytes, seen.wanted_for, seen.out_of_memory) == (1000 * MIB, "compute", True)
    assert seen.weights_bytes_by_accelerator == (pytest.approx(15831.98 * MIB), 3221.75 * MIB)
    assert found.stated.gpus == 2


def test_ollamas_own_engine_says_the_same_in_other_words(tmp_path):
    text = (
        'time=2026-05-09T11:30:25.199Z level=INFO source=types.go:42 msg="inference compute" id=0 library=CUDA '
        'compute=12.0 name=CUDA0 description="NVIDIA GeForce RTX 5070 Ti" driver=13.2 total="15.9 GiB" '
        'available="14.7 GiB"\n'
        'time=2026-05-09T11:31:16.0Z level=INFO source=runner.go:1284 msg=load request="{Operation:commit LoraPath:[] '
        "Parallel:1 BatchSize:512 FlashAttention:Enabled KvSize:4096 KvCacheType:q8_0 NumThreads:4 GPULayers:[]\n"
        'time=2026-05-09T11:31:16.3Z level=INFO source=ggml.go:494 msg="offloaded 41/41 layers to GPU"\n'
        'time=2026-05-09T11:31:16.3Z level=INFO source=device.go:240 msg="model weights" device=CUDA0 size="9.0 GiB"\n'
        'time=2026-05-09T11:31:16.3Z level=INFO source=device.go:245 msg="model weights" device=CPU size="1.0 GiB"\n'
        'time=2026-05-09T11:31:16.3Z level=INFO source=device.go:251 msg="kv cache" device=CUDA0 size="512.0 MiB"\n'
        'time=2026-05-09T11:31:16.3Z level=INFO msg="compute graph" device=CUDA0 size="100.0 MiB"\n'
    )
    found = read(tmp_path, text)
    stated, seen = found.records[0].stated, found.records[0].measured

    assert found.tool == "Ollama"
    assert (stated.device, stated.context_tokens, stated.kv_cache) == ("NVIDIA GeForce RTX 5070 Ti", 4096, "q8_0")
    assert (seen.weights_bytes_per_accelerator, seen.host_weights_bytes) == (9 * GIB, 1 * GIB)
    assert (seen.kv_bytes, seen.kv_tokens) == (512 * MIB, 4096)
    assert seen.compute_bytes_per_accelerator == 100 * MIB
    assert seen.total_bytes_per_accelerator == pytest.approx(15.9 * GIB)


def test_a_second_model_is_a_record_of_its_own(tmp_path):
    found = read(tmp_path, LLAMACPP + LLAMACPP)

    assert [one.name for one in found.records] == ["model 1", "model 2", "timing 1", "timing 2"]


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("Q4_K - Medium", "q4_k_m"), ("Q5_K - Small", "q5_k_s"), ("Q3_K - Large", "q3_k_l"), ("Q8_0", "q8_0"),
        ("Q2_K - Medium", "q2_k"),
        ("IQ4_XS - 4.25 bpw", "iq4_xs"), ("IQ4_KS - 4.25 bpw", "iq4_ks"), ("MXFP4 MoE", "mxfp4_moe"), ("F16", "f16"),
        ("BF16", "bf16"), ("all F32", "fp32"), ("Q6_K (guessed)", "q6_k"), ("unknown, may not work", None),
    ],
)  # fmt: skip
def test_types_of_files_have_the_names_that_rooflight_has(said, name):
    assert file_type(said) == name


def test_what_the_log_prints_counts_before_what_the_command_asks_for(tmp_path):
    """A perplexity run asks for 512 a sequence and makes a context of four."""
    command = "$ ./llama-perplexity -m /srv/a/small.gguf -c 512 -b 2048\n"
    text = command + LLAMACPP.replace("n_ctx         = 8192", "n_ctx = 2048")
    stated = read(tmp_path, text).records[0].stated

    assert (stated.context_tokens, stated.model) == (2048, "Small 7B")


def test_an_allocation_that_is_tried_again_is_no_failure(tmp_path):
    text = LLAMACPP.replace(
        "llama_context:      CUDA0 compute",
        "ggml_gallocr_reserve_n: failed to allocate CUDA0 buffer of size 1048576000\n"
        "llama_context: compute buffer allocation failed, retrying without pipeline parallelism\n"
        "llama_context:      CUDA0 compute",
    )
    seen = read(tmp_path, text).records[0].measured

    assert seen.out_of_memory is None
    assert seen.wanted_bytes is None


def test_a_latent_cache_has_one_format(tmp_path):
    text = "llama_new_context_with_model: KV self size  = 1166.62 MiB, c^KV (q8_0): 1166.62 MiB, kv^T: not used\n"
    found = read(tmp_path, "llama_kv_cache_init:      CUDA0 KV buffer size =  1166.63 MiB\n" + text).records[0]

    assert found.stated.kv_cache == "q8_0"
    assert found.measured.kv_bytes == pytest.approx(1166.62 * MIB)


def test_a_decimal_comma_is_one(tmp_path):
    text = (
        "llama_perf_context_print: prompt eval time =    1149,50 ms / 10715 tokens (    0,11 ms per token)\n"
        "llama_perf_context_print:        eval time =    2502,50 ms /   250 runs   (   10,01 ms per token)\n"
    )
    (timed,) = read(tmp_path, text).records

    assert timed.measured.prefill_s.mean == pytest.approx(1.1495)
    assert timed.measured.tpot_s.mean == pytest.approx(2.5025 / 250)


def test_a_plan_of_ollama_says_how_many_layers_it_places(tmp_path):
    text = (
        "time=2025-02-18T02:21:25.646Z level=INFO source=server.go:130 msg=offload library=cuda layers.requested=-1 "
        'layers.model=81 layers.offload=44 layers.split=11,11,11,11 memory.available="[22.0 GiB 22.0 GiB]" '
        'memory.required.full="127.4 GiB"\n'
        'time=2025-02-18T02:21:25.647Z level=INFO source=server.go:380 msg="starting llama server" '
        'cmd="/usr/local/bin/ollama runner --model /home/me/.ollama/models/blobs/sha256-feef62 --ctx-size 64000 '
        '--batch-size 512 --n-gpu-layers 44 --parallel 2 --port 50137"\n'
        "llama_kv_cache_init:      CUDA0 KV buffer size =  1000.00 MiB\n"
    )
    found = read(tmp_path, text)
    stated, seen = found.records[0].stated, found.records[0].measured

    assert (seen.offloaded_layers, seen.layers) == (44, 81)
    assert seen.free_before_bytes_per_accelerator == 22 * GIB
    assert (stated.context_tokens, stated.max_num_seqs, stated.model) == (64_000, 2, None)


def test_a_prompt_that_no_token_followed_is_a_request_too(tmp_path):
    line = "prompt eval time =     100.00 ms /    10 tokens (   10.00 ms per token)\n"
    found = read(tmp_path, line + "total eval time later\n" + "eval time = soon\n" + line)

    assert [(one.stated.isl, one.measured.tpot_s) for one in found.records] == [(10, None), (10, None)]


def test_only_so_many_timings_are_kept(tmp_path):
    lines = "       eval time =    1000.00 ms /    20 runs\n" * 600
    found = read(tmp_path, "llama_perf_context_print: load time = 1 ms\n" + lines)

    assert len(found.records) == 500
    assert "100 more timings than 500 are left out" in found.notes[0]


def test_lines_of_2023_say_what_the_card_holds(tmp_path):
    found = read(
        tmp_path, "llm_load_tensors: VRAM used: 3000.00 MiB\nllm_load_tensors: offloaded 33/35 layers to GPU\n"
    )
    seen = found.records[0].measured

    assert (seen.weights_bytes_per_accelerator, seen.offloaded_layers) == (3000 * MIB, 33)


@pytest.mark.parametrize(
    ("line", "device"),
    [
        ("  Device 0: NVIDIA GeForce RTX 3090, compute capability 8.6, VMM: yes", "NVIDIA GeForce RTX 3090"),
        ("ggml_vulkan: 0 = AMD Radeon RX 7900 XTX (RADV NAVI31) (radv) | uma: 0", "AMD Radeon RX 7900 XTX"),
        ("ggml_metal_device_init: GPU name:   Apple M4", "Apple M4"),
    ],
)
def test_devices_are_named_as_their_backends_do(tmp_path, line, device):
    assert read(tmp_path, f"{line}\n{LLAMACPP.split(chr(10), 2)[2]}").records[0].stated.device == device
