"""Times kernels of a decode step and of a prefill on this machine's CUDA device, with PyTorch: a CSV on stdout.

    python calibration/time_kernels.py > kernels.csv

Each kernel runs over many weights in one captured graph, together far larger than the last-level cache, as in a step of
a real model; the time of one is the graph's over their number, the median of 20 replays. No fit uses these rows: they
are what the fits are held against (tests/published/own_kernels_h100.csv).
"""

from __future__ import annotations

import csv
import itertools
import statistics
import sys
from collections.abc import Callable
from functools import partial

import torch
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

DEVICE = "cuda"
# Bytes of weights a graph runs through; the last-level cache of an H100 has 50 MB.
WEIGHT_BYTES = 1_000_000_000
REPLAYS = 20
# (inputs, outputs) of Llama-3-8B's matrices, of Llama-3-70B's on one device of eight, and two odd ones.
MATRICES = (
    (4096, 6144), (4096, 4096), (4096, 28672), (14336, 4096), (4096, 128256),
    (8192, 1280), (1024, 8192), (8192, 7168), (3584, 8192), (2880, 5120), (5120, 3072),
)  # fmt: skip
TOKENS = (1, 8, 32, 64, 128, 256, 512, 1024, 2048, 4096)
PROMPTS = (512, 1024, 2048, 4096, 8192, 16384)


def timed_s(runs: list[Callable[[], object]]) -> float:
    """Seconds of one of these runs, in a graph of all of them."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for run in runs[:3]:
            run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for run in runs:
            run()
    graph.replay()
    seconds = []
    for _ in range(REPLAYS):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        seconds.append(start.elapsed_time(end) / 1e3)
    return float(statistics.median(seconds)) / len(runs)


def copies_of(weight_bytes: int) -> int:
    """How many different weights to run through."""
    return min(max(WEIGHT_BYTES // weight_bytes, 4), 100)


def gemm_bf16(tokens: int, inputs: int, outputs: int) -> float:
    """Seconds of x @ w."""
    x = torch.randn(tokens, inputs, device=DEVICE, dtype=torch.bfloat16)
    count = copies_of(2 * inputs * outputs)
    weights = [torch.randn(outputs, inputs, device=DEVICE, dtype=torch.bfloat16) for _ in range(count)]
    return timed_s([partial(functional.linear, x, w) for w in weights])


def gemm_fp8(tokens: int, inputs: int, outputs: int) -> float:
    """Seconds of quantising x and of x @ w, one scale a tensor."""
    x = torch.randn(tokens, inputs, device=DEVICE, dtype=torch.bfloat16)
    count = copies_of(inputs * outputs)
    weights = [torch.randn(outputs, inputs, device=DEVICE).to(torch.float8_e4m3fn) for _ in range(count)]
    one = torch.ones((), device=DEVICE)

    def run(w: torch.Tensor) -> object:
        return torch._scaled_mm(
            x.to(torch.float8_e4m3fn), w.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=True
        )

    return timed_s([partial(run, w) for w in weights])


def prefill(prompt: int, backend: SDPBackend) -> float:
    """Seconds of causal attention: one sequence, 32 heads of 128."""
    shape = (1, 32, prompt, 128)
    sets = [[torch.randn(shape, device=DEVICE, dtype=torch.bfloat16) for _ in range(3)] for _ in range(4)]
    with sdpa_kernel(backend):
        return timed_s([partial(functional.scaled_dot_product_attention, q, k, v, is_causal=True) for q, k, v in sets])


def copy(moved: int) -> float:
    """Seconds of copying half as many bytes, read once and written once."""
    pairs = [[torch.empty(moved // 2, device=DEVICE, dtype=torch.uint8) for _ in range(2)] for _ in range(4)]
    return timed_s([partial(into.copy_, of) for into, of in pairs])


def main() -> None:
    """Everything, one after the other; what the machine refuses is left out and named on stderr."""
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(("kind", "format", "tokens", "inputs", "outputs", "seconds"))
    print(torch.cuda.get_device_name(), "torch", torch.__version__, file=sys.stderr)

    def row(kind: str, form: str, shape: tuple[object, ...], run: Callable[[], float]) -> None:
        try:
            out.writerow((kind, form, *shape, f"{run():.4e}"))
        except (RuntimeError, ValueError) as error:
            print(kind, form, shape, str(error).splitlines()[0], file=sys.stderr)
        sys.stdout.flush()
        torch.cuda.empty_cache()

    for moved in (2**24, 2**28, 2**30, 2**32):
        row("copy", "", (moved, "", ""), partial(copy, moved))
    for (inputs, outputs), tokens in itertools.product(MATRICES, TOKENS):
        shape = tokens, inputs, outputs
        row("gemm", "bf16", shape, partial(gemm_bf16, *shape))
        row("gemm", "fp8", shape, partial(gemm_fp8, *shape))
    for prompt in PROMPTS:
        for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION):
            row(f"prefill-{backend.name.split('_')[0].lower()}", "bf16", (prompt, 32, 128),
                partial(prefill, prompt, backend))  # fmt: skip


if __name__ == "__main__":
    main()
