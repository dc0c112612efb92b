"""What to do next in each regime, or what to record where the regime cannot be told."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rooflight.answers.diagnose.regimes import RegimesFound
from rooflight.values.diagnosis import Next
from rooflight.words.diagnosis.series import BOTH, NAMED

COUNTERS = Next(
    what="Record the GPU's own counters under load: time with a kernel, SM, tensor cores and DRAM, PCIe and NVLink.",
    command="dcgmi dmon -e 1001,1002,1004,1005,1009,1010,1011,1012 -d 1000 -c 60 > dcgm.txt",
)
EXPORTER = Next(
    what="Or let dcgm-exporter publish them: DCGM_FI_PROF_GR_ENGINE_ACTIVE, _SM_ACTIVE, _PIPE_TENSOR_ACTIVE and "
    "_DRAM_ACTIVE in its counters file.",
    command="dcgm-exporter -f counters.csv",
)
AMD_COUNTERS = Next(
    what="Profile some steps with the counters of AMD's own profiler, which say what kernels move and multiply.",
    command="rocprofv3 --kernel-trace --stats -d steps -- COMMAND",
)
ENGINE = Next(
    what="Record the engine's metrics of the same time, twice: how many requests run and wait.",
    command="curl -s http://localhost:8000/metrics > metrics.prom",
)
PROFILE = Next(
    what="Profile some steps: a trace shows the gaps, the kernels and the collectives.",
    command="nsys profile --trace cuda,nvtx --delay 30 --duration 10 -o steps COMMAND",
)
_MODEL = Next(what=f"Or name {BOTH}: arithmetic of the step at the running batch is then set beside it.", command=NAMED)
# Of the cache, from which more requests find no room.
_FULL = 0.9


def steps(found: RegimesFound) -> Iterator[Next]:
    """What to do, the likeliest first."""
    if found.bound is not None:
        yield from _DO[found.bound](found)
    counters = (AMD_COUNTERS,) if found.amd else (COUNTERS, EXPORTER)
    missing = {"counters": counters, "engine": (ENGINE,), "profile": (PROFILE,), "model": (_MODEL,)}
    # a verdict that is sure needs nothing more recorded
    if found.bound is None or found.confidence != "high":
        for name in found.missing:
            yield from missing[name]


def _asked(found: RegimesFound) -> str:
    """rooflight's own command about the deployment, with what is known of it: what each move gains."""
    words = ["rooflight moves", found.model or "MODEL", "--on", found.accelerator or "ACCELERATOR"]
    if found.running and found.running >= 1:
        words += ["--batch", f"{round(found.running)}"]
    return " ".join(words)


def _memory(found: RegimesFound) -> Iterator[Next]:
    if found.kv_usage is None or found.kv_usage < _FULL:
        yield Next(
            what=f"Raise the batch: {_more(found)} share each reading of the weights.", command=_asked(found),
            gain=found.doubled,
        )  # fmt: skip
    yield Next(what="Or read fewer bytes: weights and KV cache in a narrower format.", command=_asked(found))


def _more(found: RegimesFound) -> str:
    """More requests; twice as many where the gain of that is known."""
    return "more requests at once" if found.doubled is None else "twice as many requests at once"


def _compute(found: RegimesFound) -> Iterator[Next]:
    yield Next(
        what="Compute less or faster: FP8 or FP4 arithmetic where the card has it, a prefix cache for prompts that "
        "begin alike, more devices. A larger batch gains nothing.",
        command=_asked(found),
    )


def _link(found: RegimesFound) -> Iterator[Next]:
    yield Next(
        what="Send less: a smaller tensor-parallel degree with more replicas, or expert parallelism within a machine.",
        command=_asked(found),
    )
    yield PROFILE


def _launch(_: RegimesFound) -> Iterator[Next]:
    yield Next(
        what="Take the host out of the step: CUDA graphs (no --enforce-eager), the engine's asynchronous scheduling, "
        "a free CPU core for it, several steps a launch; or more requests a step, which share it.",
    )
    yield PROFILE


def _starved(found: RegimesFound) -> Iterator[Next]:
    yield Next(
        what=f"Send {_more(found)}, or give the load to fewer replicas or a smaller card: "
        "the client's concurrency or the router may hold them back.",
        command=_asked(found),
        gain=found.doubled,
    )


def _queue(found: RegimesFound) -> Iterator[Next]:
    if found.why == "cap":
        more = "Raise the cap, since the cache has room"
        yield Next(
            what=f"{more}: --max-num-seqs (vLLM), --max-running-requests (SGLang), --parallel (llama.cpp).",
            gain=found.doubled,
        )
    else:
        yield Next(
            what="See what keeps requests out while the cache has room: --max-num-seqs, --max-num-batched-tokens, "
            "adapters, structured output, a slow tokenizer; the engine's start-up log states its limits.",
        )
    yield Next(what="Or add replicas, where tokens come as fast as they should.", command=_asked(found))


def _capacity(found: RegimesFound) -> Iterator[Next]:
    yield Next(
        what="Make room in the cache: KV cache in FP8, a larger share of memory, weights in fewer bits, more devices.",
        command=_asked(found),
    )
    yield Next(what="Until then admit fewer: clients beyond what the cache holds only wait, or throw others out.")


def _throttled(found: RegimesFound) -> Iterator[Next]:
    what = {
        "heat": "Cool it: air flow, fans, neighbours in the chassis.",
        "power": "Raise the power limit, or accept the lower peak: every ceiling of arithmetic falls with the clock.",
        "memory-clock": "Let the memory clock rise: locked clocks or a power state hold it down.",
        "clock": "See what holds the clock down: locked clocks, an application clock, a power cap.",
    }[found.why]
    yield Next(what=what, command="nvidia-smi -q -d PERFORMANCE,CLOCK,POWER")


def _idle(_: RegimesFound) -> Iterator[Next]:
    yield Next(what="Record it again under load.")


_DO: dict[str, Callable[[RegimesFound], Iterator[Next]]] = {
    "memory": _memory, "compute": _compute, "link": _link, "launch": _launch, "starved": _starved, "queue": _queue,
    "capacity": _capacity, "throttled": _throttled, "idle": _idle,
}  # fmt: skip
