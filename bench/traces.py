"""A profile of half a gigabyte, made up as PyTorch writes them, read in a process of its own: `make bench-traces`."""

from __future__ import annotations

import argparse
import gzip
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

FRAME = """  {{
    "ph": "X", "cat": "python_function", "name": "/usr/lib/python3/dist-packages/vllm/v1/worker/model.py({line}): forward", "pid": 25286, "tid": 25286,
    "ts": {ts:.3f}, "dur": 40.125,
    "args": {{
      "Python parent id": {n}, "Python id": {n}, "Ev Idx": {n}
    }}
  }},
"""  # noqa: E501
OPERATOR = """  {{
    "ph": "X", "cat": "cpu_op", "name": "aten::{name}", "pid": 25286, "tid": 25286,
    "ts": {ts:.3f}, "dur": 11.822,
    "args": {{
      "External id": {n}, "Record function id": 0, "Concrete Inputs": ["", ""], "Input type": ["c10::BFloat16", "c10::BFloat16"], "Input Strides": [[4096, 1], [1, 4096]], "Input Dims": [[{rows}, 4096], [4096, 4096]], "Ev Idx": {n}
    }}
  }},
"""  # noqa: E501
CALL = """  {{
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 25286, "tid": 25286,
    "ts": {ts:.3f}, "dur": 4.5,
    "args": {{
      "External id": {n}, "cbid": 211, "correlation": {n}
    }}
  }},
  {{
    "ph": "s", "id": {n}, "pid": 25286, "tid": 25286, "ts": {ts:.3f},
    "cat": "ac2g", "name": "ac2g"
  }},
"""
KERNEL = """  {{
    "ph": "X", "cat": "kernel", "name": "{name}", "pid": {device}, "tid": 7,
    "ts": {ts:.3f}, "dur": 9.5,
    "args": {{
      "External id": {n}, "queued": 0, "device": {device}, "context": 1, "stream": 7, "correlation": {n}, "registers per thread": 168, "shared memory": 213248, "blocks per SM": 0.96, "warps per SM": 11.6, "grid": [8, 16, 1], "block": [384, 1, 1], "est. achieved occupancy %": 18
    }}
  }},
"""  # noqa: E501
NAMES = (
    ("mm", "nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNT"),
    ("mul", "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)"),  # noqa: E501
    ("all_reduce", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"),
)  # fmt: skip
HEAD = '{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}], "traceEvents": [\n'
READ = """
import resource, sys, time
from rooflight.ingest.recorded.read import recorded
began = time.process_time()
found = recorded(sys.argv[1])
took = time.process_time() - began
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
calls = sum(one.calls for one in found.traced.kernels)
print(f"{took:.1f} s of one core, {peak / 2**20:.0f} MiB at most, {calls:,} kernels")
"""


def events() -> Iterator[str]:
    """Events without an end: calls, operators and kernels in the shares of a profile with stacks and shapes."""
    n, ts = 0, 0.0
    while True:
        n, ts = n + 1, ts + 10
        name, kernel = NAMES[n % len(NAMES)]
        yield FRAME.format(line=n % 400, ts=ts, n=n) + FRAME.format(line=n % 300, ts=ts, n=n)
        yield OPERATOR.format(name=name, ts=ts, n=n, rows=1 + n % 64) + CALL.format(ts=ts, n=n)
        yield KERNEL.format(name=kernel, ts=ts + 5, n=n, device=n % 2)


def write(file: IO[str], size: int) -> None:
    """A trace of about so many bytes."""
    file.write(HEAD)
    have = 0
    for text in events():
        file.write(text)
        have += len(text)
        if have >= size:
            break
    file.write('  {"ph": "i", "name": "Record Window End", "ts": 0}\n  ],\n  "traceName": "made up"\n}\n')


def main() -> None:
    """Print time and memory of reading it, plain and packed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=500)
    size = parser.parse_args().megabytes * 10**6
    with tempfile.TemporaryDirectory() as folder:
        for name, opener in (("trace.json", open), ("trace.json.gz", gzip.open)):
            path = Path(folder) / name
            with opener(path, "wt") as file:  # type: ignore[operator]
                write(cast(IO[str], file), size)
            began = time.perf_counter()
            shown = subprocess.run([sys.executable, "-c", READ, str(path)], check=True, capture_output=True, text=True)
            whole = time.perf_counter() - began
            print(f"{name}, {path.stat().st_size / 10**6:.0f} MB: {shown.stdout.strip()}, {whole:.1f} s in all")
            path.unlink()


if __name__ == "__main__":
    main()
