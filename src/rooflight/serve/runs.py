"""Many runs of one deployment at once: a block of a sweep's grid under a schedule."""

from __future__ import annotations

from typing import Any

import numpy as np

from rooflight.scenario.definite import Scenario
from rooflight.serve.apart import pools
from rooflight.serve.memory import all_fit, largest_batch
from rooflight.serve.room import room
from rooflight.serve.schedule import scheduled
from rooflight.span import Span
from rooflight.values.placed import Placed
from rooflight.values.sweep import RunBlock

# Quantities of a run that are spans, and those that are plain numbers of what is expected.
SPANS = (
    "ttft_s", "tpot_s", "request_s", "requests_per_s", "output_tokens_per_s", "output_tokens_per_s_per_user",
    "output_tokens_per_s_per_accelerator",
)  # fmt: skip
NUMBERS = ("running", "decoding", "waiting", "prefill_share")
BASES = Span.__struct_fields__


def run_block(sc: Scenario, schedule: str, shape: tuple[int, ...]) -> RunBlock:
    """The runs of a scenario whose workload holds arrays that broadcast to `shape`."""
    load, memory = sc.workload, room(sc)
    most = np.asarray(largest_batch(sc, memory), dtype=np.int64)
    fits = np.broadcast_to(all_fit(sc, memory), shape)
    return RunBlock(
        **placed(sc, schedule),
        schedule=schedule,
        shape=shape,
        batch=load.batch,
        isl=load.text_tokens,
        osl=load.osl,
        run=scheduled(sc, schedule),
        fits=fits,
        holds=fits | (most > 0) | sc.deployment.ignore_capacity,
        max_batch=most,
    )


def placed(sc: Scenario, schedule: str) -> dict[str, Any]:
    """What the run is on: all workers' devices where they are apart."""
    return sc.placed | ({"devices": pools(sc).devices} if schedule == "apart" else {})


def run_arrays(block: RunBlock) -> dict[str, Any]:
    """A block's quantities by the paths of their JSON; no number where there is none."""
    found: dict[str, Any] = {}
    for name in NUMBERS:
        found[name] = _number(getattr(block.run, name), block)
    for name in SPANS:
        span = getattr(block.run, name)
        for basis in BASES:
            found[f"{name}.{basis}"] = _number(None if span is None else getattr(span, basis), block)
    return found


def _number(value: Any, block: RunBlock) -> np.ndarray[Any, Any]:
    return np.where(block.holds, np.nan if value is None else value, np.nan)


def run_columns(block: RunBlock) -> dict[str, Any]:
    """A block's numbers by column name."""
    return {
        **{name: getattr(block, name) for name in (*Placed.__struct_fields__, "schedule")},
        **{name: np.asarray(getattr(block, name)).astype(np.int64) for name in ("batch", "isl", "osl")},
        "fits": block.fits,
        "max_batch": block.max_batch,
        **run_arrays(block),
    }
