"""The questions of the dump: a grid, what was chosen by hand for what it reaches, and some drawn at random."""

from __future__ import annotations

from collections.abc import Iterable

from replay import sample

ON = ("h100-sxm", "8xh100-sxm", "a100-sxm4-80gb", "4xb200", "8xmi300x", "l40s", "rtx-4090", "2xt4", "tpu-v5e", "gaudi3")
MODELS = (
    "meta-llama/Meta-Llama-3-8B",
    "meta-llama/Meta-Llama-3.1-70B",
    "Qwen/Qwen3-0.6B",
    "Qwen/Qwen3-30B-A3B",
    "google/gemma-3-27b-it",
    "openai/gpt-oss-120b",
    "deepseek-ai/DeepSeek-V3",
    "Qwen/Qwen3-Next-80B-A3B-Instruct",
    "mistralai/Mixtral-8x7B-v0.1",
)
CASES = (
    "",
    " batch=64 isl=4096 osl=512 weights=fp8 kv_cache=fp8",
    " batch=8 context=30000 weights=int4-g128 graphs=false",
    " prefill_batch=4 isl=2000 cached_prefix=500 attention=naive",
)
GRID = tuple(f"{model} on={on}{case}" for on in ON for model in MODELS for case in CASES)

# With every operator: each kind of layer, layout, format and phase once.
OPERATORS = (
    "meta-llama/Meta-Llama-3.1-8B on=h100-sxm draft_tokens=3 chunk_tokens=200 batch=16",
    "meta-llama/Meta-Llama-3.1-70B on=8xh100-sxm pp=2 batch=64 engine=vllm",
    "meta-llama/Llama-2-13b-hf on=a100-sxm4-80gb weights=int8 engine=tensorrt-llm",
    "Qwen/Qwen3-0.6B on=rtx-4090 weights=q4_k_m engine=llama.cpp compute=int8",
    "Qwen/Qwen3-30B-A3B on=2xh100-sxm ep=2 batch=32 engine=sglang",
    "mistralai/Mixtral-8x7B-v0.1 on=4xa100-sxm4-80gb dp=2 batch=20",
    "google/gemma-3-27b-it on=mi300x batch=8 isl=9000 engine=vllm",
    "google/gemma-2-9b on=l40s weights=fp8 attention=naive",
    "openai/gpt-oss-20b on=rtx-5090 batch=4 graphs=false",
    "openai/gpt-oss-120b on=b200 batch=100 kv_cache=fp8 engine=tensorrt-llm",
    "deepseek-ai/DeepSeek-V3 on=16xh200-sxm ep=16 dp=2 batch=256 draft_tokens=1 engine=sglang",
    "deepseek-ai/DeepSeek-V3.2 on=8xb200 weights=nvfp4 batch=32 isl=30000",
    "Qwen/Qwen3-Next-80B-A3B-Instruct on=4xh100-sxm batch=16 chunk_tokens=512",
    "ai21labs/AI21-Jamba-1.5-Mini on=2xa100-sxm4-80gb batch=5",
    "tiiuae/falcon-mamba-7b on=a100-pcie-40gb batch=3 engine=transformers",
    "meta-llama/Llama-4-Scout-17B-16E-Instruct on=8xmi300x batch=12 isl=20000",
    "openai-community/gpt2 on=t4 batch=7 isl=300 osl=30",
    "Qwen/Qwen-7B on=epyc-9654 engine=llama.cpp weights=q8_0",
)
# Whole answers without operators.
ANALYZE = (
    # Engines and eras, each on cards it was fitted on and on others.
    *(f"meta-llama/Meta-Llama-3.1-8B on={on} engine={engine} batch=16" for on, engine in (
        ("h100-sxm", "vllm"), ("a100-sxm4-80gb", "vllm"), ("mi300x", "vllm"), ("mi250x", "vllm"), ("l40s", "vllm"),
        ("h200-sxm", "sglang"), ("b200", "sglang"), ("h100-sxm", "tensorrt-llm"), ("b200", "tensorrt-llm"),
        ("a100-sxm4-80gb", "tensorrt-llm"), ("rtx-4090", "llama.cpp"), ("apple-m3-max-40", "llama.cpp"),
        ("ryzen-ai-max-395", "llama.cpp"), ("gb10", "llama.cpp"), ("rtx-3090", "exllama"), ("rtx-4090", "autoawq"),
        ("a100-sxm4-80gb", "deepspeed"), ("a100-sxm4-80gb", "transformers"), ("h100-sxm", "transformers"),
        ("h100-sxm", "generic"), ("h100-sxm", "no-such-engine"),
    )),
    # Cards of every kind.
    *(f"Qwen/Qwen3-4B on={on} batch=2 ignore_capacity=true" for on in (
        "t4", "4xt4", "gb10", "gb200", "apple-m1", "apple-m4-max-40", "tpu-v3", "4xtpu-v5p", "gaudi2", "trainium2",
        "inferentia2", "arc-b580", "max-1550", "v100-sxm2-16gb", "p40", "rtx-3060-12gb", "rtx-pro-6000-blackwell",
        "mi50-32gb", "rx-9070-xt", "jetson-orin-nano-super", "groq-lpu-v1", "tt-n150", "xeon-6980p", "rubin",
    )),
    # What does not fit, computed or not; what fits just.
    "meta-llama/Meta-Llama-3.1-405B on=h100-sxm",
    "meta-llama/Meta-Llama-3.1-405B on=h100-sxm ignore_capacity=true engine=vllm",
    "meta-llama/Meta-Llama-3.1-70B on=2xa100-sxm4-80gb batch=500",
    "meta-llama/Meta-Llama-3.1-70B on=2xa100-sxm4-80gb batch=500 ignore_capacity=true",
    "meta-llama/Meta-Llama-3.1-8B on=rtx-4090 isl=60000 gpu_memory_utilization=0.95",
    "deepseek-ai/DeepSeek-V3 on=8xh100-sxm batch=8",
    # Formats.
    *(f"Qwen/Qwen2.5-32B on=2xh100-sxm batch=24 {formats}" for formats in (
        "weights=fp8 activations=fp8", "weights=int8 compute=int8", "weights=nvfp4", "weights=mxfp4 kv_cache=fp8",
        "weights=int4-g32", "weights=q6_k", "weights=iq4_nl", "weights=w8a8", "kv_cache=q8_0", "kv_cache=nvfp4",
        "compute=fp16", "activations=fp32", "weights=fp9",
    )),
    # Layouts, some of them impossible.
    *(f"Qwen/Qwen3-235B-A22B-FP8 on=16xh200-sxm batch=128 {layout}" for layout in (
        "tp=16", "pp=2", "dp=2", "dp=4 ep=16", "ep=16", "pp=2 dp=2 ep=4 engine=vllm", "tp=3", "dp=5",
    )),
    # Lengths at their ends.
    "meta-llama/Meta-Llama-3.1-8B on=h100-sxm isl=1 osl=1",
    "meta-llama/Meta-Llama-3.1-8B on=h100-sxm isl=100000 osl=2000 prefill_batch=2",
    "meta-llama/Meta-Llama-3.1-8B on=h100-sxm isl=200000 osl=2000",
    "meta-llama/Meta-Llama-3.1-8B on=h100-sxm cached_prefix=1023 context=0",
    "meta-llama/Meta-Llama-3.1-8B on=h100-sxm cached_prefix=1024",
    "google/gemma-2-2b on=l4 batch=64 isl=8000 chunk_tokens=2000 draft_tokens=5 engine=vllm",
)  # fmt: skip
SWEEP = (
    "meta-llama/Meta-Llama-3.1-8B on=h100-sxm batch=[1,8,64,512]",
    'meta-llama/Meta-Llama-3.1-70B on=["4xh100-sxm","4xmi300x"] batch=[1,32] isl=[500,8000] engine=vllm',
    'Qwen/Qwen3-30B-A3B on=h200-sxm weights=["bf16","fp8"] kv_cache=["bf16","fp8"] batch=[4,200] ignore_capacity=true',
    "Qwen/Qwen3-30B-A3B on=8xh100-sxm tp=[2,4,8] ep=[1,2] batch=[16] dp=1",
    "deepseek-ai/DeepSeek-V3 on=16xh200-sxm dp=[1,2] pp=[1,2] batch=[1,100] context=[1000,60000]",
    "google/gemma-3-27b-it on=a100-sxm4-80gb isl=[100,2000,30000] prefill_batch=[1,8]",
    "openai/gpt-oss-120b on=b200 batch=[1,10] osl=[1,1000] phase=decode engine=sglang",
    "Qwen/Qwen3-Next-80B-A3B-Instruct on=2xh200-sxm isl=[1000,50000] phase=prefill weights=fp8",
    "meta-llama/Meta-Llama-3.1-8B on=h100-sxm tp=[3]",
)
MOVES = (
    "meta-llama/Meta-Llama-3.1-8B on=h100-sxm",
    "meta-llama/Meta-Llama-3.1-70B on=4xa100-sxm4-80gb batch=32 objective=latency engine=vllm",
    'Qwen/Qwen3-30B-A3B on=h200-sxm batch=64 objective=cost prices={"h200-sxm":3.1,"b200":5} cards=["mi300x"]',
    "deepseek-ai/DeepSeek-V3 on=8xh200-sxm batch=16 isl=8000 objective=ttft engine=sglang",
    "google/gemma-3-27b-it on=rtx-4090",
    "Qwen/Qwen3-Next-80B-A3B-Instruct on=2xmi300x batch=4 speculative_tokens=3 acceptance=0.8 hit_rate=0.9",
)
COMPARE = (
    'meta-llama/Meta-Llama-3.1-8B on=["h100-sxm","a100-sxm4-80gb","l40s","mi300x"] isl=1000 osl=300',
    'meta-llama/Meta-Llama-3.1-70B on=["8xh100-sxm","4xmi300x","2xh100-sxm"] isl=4000 osl=200 batch=max engine=vllm',
    'Qwen/Qwen3-30B-A3B on=h100-sxm weights=["bf16","fp8","int4-g128"] isl=500 osl=2000 batch=16 objective=latency',
    'deepseek-ai/DeepSeek-V3 on=["8xh200-sxm","8xb200"] log=[[8000,100],[200,900],[30000,1,29000]] objective=energy',
    'openai/gpt-oss-120b on=["h100-sxm","b200"] log=docs/examples/requests.csv batch=max objective=cost '
    'prices={"h100-sxm":2.5,"b200":4.5}',
    'google/gemma-3-27b-it on=8xh100-sxm tp=[1,2,4,8] isl=2000 osl=500 engine=["vllm","sglang"] objective=accelerator',
    'meta-llama/Meta-Llama-3.1-405B on=["h100-sxm","4xa100-sxm4-80gb"] isl=100 osl=100',
)
CHECK = (
    "tests/replay/measured.csv",
    "meta-llama/Meta-Llama-3.1-8B on=h100-sxm output_tok_s=300",
    "meta-llama/Meta-Llama-3.1-8B on=h100-sxm batch=32 engine=vllm output_tok_s=3000 tpot_ms=9 ttft_ms=20",
    "meta-llama/Meta-Llama-3.1-70B on=4xh100-sxm batch=64 isl=2000 osl=500 e2e_latency_ms=9000 total_tok_s=9000",
    "Qwen/Qwen3-30B-A3B on=h200-sxm batch=8 prefill_tok_s=90000 output_tok_s_per_user=90 output_tok_s_per_gpu=1000",
    "Qwen/Qwen3-0.6B on=rtx-4090 weights=q4_k_m engine=llama.cpp prefill_tok_s=80000 output_tok_s=500",
    "meta-llama/Meta-Llama-3.1-405B on=h100-sxm output_tok_s=100",
    "deepseek-ai/DeepSeek-V3 on=8xh200-sxm batch=128 engine=sglang output_tok_s=4000 tpot_ms=1",
)
PAGES = (
    *(f"model id={name}" for name in (
        "meta-llama/Meta-Llama-3.1-8B", "deepseek-ai/DeepSeek-V3", "google/gemma-3-27b-it", "openai/gpt-oss-20b",
        "Qwen/Qwen3-Next-80B-A3B-Instruct", "ai21labs/AI21-Jamba-1.5-Mini", "Qwen/Qwen2.5-VL-7B-Instruct",
    )),
    *(f"accelerator id={name}" for name in ("h100-sxm", "b200", "mi300x", "t4", "tpu-v5e", "gb10", "apple-m3-max-40")),
)  # fmt: skip
# What the command line prints in words, tables and CSV.
PRINTED = (
    "analyze llama-3.1-8b --on h100",
    "analyze deepseek-ai/DeepSeek-V3 --on 8xh200-sxm --batch 32 --draft-tokens 3 --chunk 100 --engine sglang --ascii",
    "analyze meta-llama/Meta-Llama-3.1-70B --on h100-sxm",
    "analyze openai/gpt-oss-120b --on mi300x --format csv",
    "sweep meta-llama/Meta-Llama-3.1-70B --on 4xh100-sxm --batch 1:512:x2",
    "sweep llama-3.1-8b --on l40s --isl 100,4000 --format csv",
    "moves llama-3.1-8b --on h100-sxm --batch 8",
    "compare llama-3.1-8b --on h100-sxm,a100-sxm4-80gb --isl 2000 --osl 200",
    "check tests/replay/measured.csv",
    "check --model llama-3.1-8b --on h100-sxm --output-tok-s 300",
    "models llama-3.1-8b",
    "accelerators h100-sxm",
    "analyze llama-3.1-8b --on 2xh100 --bandwidth-times 1.5 --peak-times 2",
    "analyze llama-3.1-8b --on h101",
)

QUESTIONS: dict[str, Iterable[str]] = {
    "grid": GRID,
    "analyze": (*(f"{question} operators=true" for question in OPERATORS), *ANALYZE, *sample.analyses(70)),
    "sweep": SWEEP,
    "moves": MOVES,
    "compare": (*COMPARE, *sample.comparisons(4)),
    "check": (*CHECK, *sample.claims(12)),
    "pages": PAGES,
    "printed": PRINTED,
}


def wide() -> dict[str, Iterable[str]]:
    """The larger net, thrown by hand: drawn at random, analyses from the whole catalog and with all operators."""
    return {
        "analyze": (f"{question} operators=true" for question in sample.analyses(2_000, whole=True)),
        "sweep": sample.sweeps(60),
        "moves": sample.moves(300),
        "compare": sample.comparisons(200),
        "check": sample.claims(300),
    }
