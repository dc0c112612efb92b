"""Cold starts beside a bare import of msgspec and click, in pairs and in turns: `make bench-start`.

A ratio of two processes that ran one after the other says the same on a busy machine as on a quiet one, nearly; the
median of many says it well.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from rooflight.catalog import tables

BARE = [sys.executable, "-c", "import msgspec, click"]
COMMAND = str(Path(sys.executable).with_name("rooflight"))
ANALYZE = [COMMAND, "analyze", "llama-3.1-8b", "--on", "h100"]
# As people run it: what is imported once is compiled for good.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
ASKED = {"json": [*ANALYZE, "--json"], "text": ANALYZE}


def seconds(command: list[str]) -> float:
    """How long a command took, from start to end."""
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT)
    return time.perf_counter() - began


def main() -> None:
    """Print, for each form, the median of both times and of their ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=30)
    pairs = parser.parse_args().pairs
    tables.compile_all()  # as a build does: files edited since the last one would be parsed
    for form, command in ASKED.items():
        seconds(command)  # its files are in memory, its bytecode is written
        taken = [(seconds(command), seconds(BARE)) for _ in range(pairs)]
        whole, bare = (statistics.median(side) * 1000 for side in zip(*taken, strict=True))
        ratio = statistics.median(ours / theirs for ours, theirs in taken)
        print(f"analyze, {form}: {whole:.0f} ms, {ratio:.2f} times the imports' {bare:.0f} ms ({pairs} pairs)")


if __name__ == "__main__":
    main()
