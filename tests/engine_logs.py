"""Lines of engines' start-up logs, written by hand in the form of each version."""

from __future__ import annotations

from pathlib import Path

from rooflight.ingest.recorded.read import recorded
from rooflight.values.recorded import Recorded

V1 = """\
(APIServer pid=10) INFO 11-02 10:00:00 [api_server.py:1772] vLLM API server version 0.12.0
(APIServer pid=10) INFO 11-02 10:00:00 [utils.py:253] non-default args: {'model_tag': 'acme/Small-7B', \
'model': 'acme/Small-7B', 'max_model_len': 8192, 'gpu_memory_utilization': 0.85, 'max_num_seqs': 32}
(APIServer pid=10) INFO 11-02 10:00:01 [scheduler.py:228] Chunked prefill is enabled with max_num_batched_tokens=4096.
(EngineCore_DP0 pid=20) INFO 11-02 10:00:02 [core.py:93] Initializing a V1 LLM engine (v0.12.0) with config: \
model='acme/Small-7B', speculative_config=None, dtype=torch.bfloat16, max_seq_len=8192, tensor_parallel_size=2, \
pipeline_parallel_size=1, data_parallel_size=1, quantization=None, kv_cache_dtype=fp8_e4m3, seed=0
(Worker_TP0 pid=30) INFO 11-02 10:00:05 [gpu_model_runner.py:3549] Model loading took 7.5000 GiB memory and 3.1 seconds
(Worker_TP1 pid=31) INFO 11-02 10:00:05 [gpu_model_runner.py:3549] Model loading took 7.6000 GiB memory and 3.2 seconds
(Worker_TP0 pid=30) INFO 11-02 10:00:09 [gpu_worker.py:359] Available KV cache memory: 10.00 GiB
(Worker_TP1 pid=31) INFO 11-02 10:00:09 [gpu_worker.py:359] Available KV cache memory: 9.50 GiB
(EngineCore_DP0 pid=20) INFO 11-02 10:00:09 [kv_cache_utils.py:1286] GPU KV cache size: 311,296 tokens
(EngineCore_DP0 pid=20) INFO 11-02 10:00:09 [kv_cache_utils.py:1291] \
Maximum concurrency for 8,192 tokens per request: 38.00x
(Worker_TP0 pid=30) INFO 11-02 10:00:12 [gpu_model_runner.py:4466] Graph capturing finished in 2 secs, took 0.25 GiB
(APIServer pid=10) INFO 11-02 10:01:12 [loggers.py:236] Engine 000: Avg prompt throughput: 10.5 tokens/s, \
Avg generation throughput: 88.5 tokens/s, Running: 5 reqs, Waiting: 2 reqs, GPU KV cache usage: 1.9%, \
Prefix cache hit rate: 50.0%
"""

SGLANG = """\
[2026-01-08 12:00:00] server_args=ServerArgs(model_path='/srv/models/Small-7B', tp_size=2, dp_size=1, \
mem_fraction_static=0.85, kv_cache_dtype='auto', quantization=None, max_running_requests=None, \
chunked_prefill_size=2048, speculative_algorithm=None, enable_dp_attention=False)
[2026-01-08 12:00:05 TP0] Init torch distributed ends. elapsed=1.0 s, mem usage=0.50 GB
[2026-01-08 12:00:05 TP0] Load weight begin. avail mem=23.00 GB
[2026-01-08 12:00:15 TP0] Load weight end. type=SmallForCausalLM, dtype=torch.bfloat16, avail mem=15.50 GB, \
mem usage=7.50 GB.
[2026-01-08 12:00:15 TP1] Load weight end. type=SmallForCausalLM, dtype=torch.bfloat16, avail mem=15.40 GB, \
mem usage=7.60 GB.
[2026-01-08 12:00:16 TP0] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 200000, \
K size: 6.00 GB, V size: 6.00 GB
[2026-01-08 12:00:16 TP1] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 199000, \
K size: 5.90 GB, V size: 5.90 GB
[2026-01-08 12:00:16 TP0] Memory pool end. avail mem=3.40 GB
[2026-01-08 12:00:20 TP0] Capture cuda graph end. Time elapsed: 3.00 s. mem usage=0.40 GB. avail mem=3.00 GB.
[2026-01-08 12:00:21 TP0] max_total_num_tokens=199000, chunked_prefill_size=2048, max_prefill_tokens=16384, \
max_running_requests=2048, context_len=32768
[2026-01-08 12:01:00 TP0] Decode batch. #running-req: 12, #token: 4000, token usage: 0.02, cuda graph: True, \
gen throughput (token/s): 612.50, #queue-req: 3,
[2026-01-08 12:01:00 TP1] Decode batch. #running-req: 12, #token: 4000, token usage: 0.02, cuda graph: True, \
gen throughput (token/s): 612.50, #queue-req: 3,
"""

LLAMACPP = """\
build: 6123 (abcdef12) with cc for x86_64-linux-gnu
llama_model_load_from_file_impl: using device CUDA0 (NVIDIA GeForce RTX 3090) - 23000 MiB free
llama_model_loader: loaded meta data with 30 key-value pairs and 291 tensors from /home/me/small-7b-q4_k_m.gguf
print_info: file type   = Q4_K - Medium
print_info: file size   = 4.07 GiB (4.83 BPW)
print_info: general.name     = Small 7B
load_tensors: offloaded 20/33 layers to GPU
load_tensors:        CUDA0 model buffer size =  2500.00 MiB
load_tensors:   CPU_Mapped model buffer size =  1500.00 MiB
load_tensors:   CPU_Mapped model buffer size =   168.00 MiB
llama_context: n_seq_max     = 4
llama_context: n_ctx         = 8192
llama_context: n_ctx_per_seq = 2048
llama_context: n_batch       = 2048
llama_kv_cache_unified:      CUDA0 KV buffer size =   320.00 MiB
llama_kv_cache_unified:        CPU KV buffer size =   192.00 MiB
llama_kv_cache_unified: size =  512.00 MiB (  8192 cells,  32 layers,  4/ 1 seqs), K (q8_0):  320.00 MiB, \
V (q4_0):  192.00 MiB
llama_context:      CUDA0 compute buffer size =   300.00 MiB
llama_context:  CUDA_Host compute buffer size =    24.00 MiB
llama_perf_context_print: prompt eval time =     500.00 ms /   100 tokens \
(    5.00 ms per token,   200.00 tokens per second)
llama_perf_context_print:        eval time =    2000.00 ms /    50 runs   \
(   40.00 ms per token,    25.00 tokens per second)
"""


def read(folder: Path, text: str) -> Recorded:
    """A log of such text, read."""
    path = folder / "start.log"
    path.write_text(text, encoding="utf-8")
    return recorded(path)
