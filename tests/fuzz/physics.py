"""Random questions over the whole catalog, held against what no machine can do."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import msgspec
import pytest

import rooflight
from fuzz.judge import ROUNDING, broken_laws
from laws.doors.questions import BATCHES, CACHES, COUNTS, ENGINES, LENGTHS, OUTPUTS, WEIGHTS, catalog
from rooflight.errors import RooflightError
from rooflight.values.accelerator import Accelerator

_PARTS = ("weights", "kv_read", "kv_write", "activations")


def question(rng: Random) -> tuple[str, str, dict[str, Any]]:
    """A model, a card, and fields, a few of them said."""
    models, cards = catalog()
    count = rng.choice(COUNTS)
    ways: dict[str, Any] = {
        "tp": (1, 2, 4, count), "pp": (1, 2), "dp": (1, 2), "ep": (1, count), "weights": WEIGHTS, "kv_cache": CACHES,
        "engine": ENGINES, "batch": BATCHES, "isl": LENGTHS, "osl": OUTPUTS, "context": (1, 100, 5000, 100_000),
        "cached_prefix": (1, 15), "prefill_batch": (1, 3), "attention": ("flash", "naive"), "graphs": (True, False),
        "draft_tokens": (1, 4), "chunk_tokens": (256, 2048), "gpu_memory_utilization": (0.5, 0.9, 1.0),
        "ignore_capacity": (True,), "request_rate": (0.01, 1.0, 20.0), "max_num_seqs": (1, 16, 256),
        "schedule": ("served", "batch", "alone"),
    }  # fmt: skip
    said = rng.sample(sorted(ways), rng.randrange(8))
    fields = {name: one for name in said if (one := rng.choice(ways[name])) is not None}
    return rng.choice(models)["id"], f"{count}x{rng.choice(cards)['id']}", fields


def faults(model: str, on: str, fields: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What is wrong with the answer; nothing where the question is refused in words."""
    try:
        answer = rooflight.analyze(model, on, **fields)
    except RooflightError:
        return
    except Exception as error:
        yield "exception", repr(error)[:200]
        return
    document = answer.to_dict()
    yield from broken_laws(document)
    phases = {name: one for name, one in (document["phases"] or {}).items() if one is not None}
    for name, phase in phases.items():
        moved = phase["bytes"]
        if sum(moved[part] for part in _PARTS) != pytest.approx(moved["total"], rel=1e-9):
            yield "bytes do not add up", f"{name}: {moved}"
        if min(*moved.values(), phase["flop"], phase["link_bytes"]) < 0:
            yield "negative", f"{name}: {moved}"
        ops = phase["operators"]
        for what, whole in (("flop", phase["flop"]), ("bytes", moved["total"])):
            if sum(op[what] for op in ops) != pytest.approx(whole, rel=1e-6):
                yield f"operators' {what} do not add up", f"{name}: {sum(op[what] for op in ops)} of {whole}"
    if "request_rate" not in fields:  # a faster machine has fewer in flight, or more that it keeps up with
        yield from _slower(model, on, fields, phases)


def _slower(model: str, on: str, fields: dict[str, Any], phases: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Twice the bandwidth, and a ceiling or a roofline that is slower."""
    count, _, name = on.partition("x")
    card = rooflight.accelerator(name)
    if card.memory_bytes_per_s is None or int(count) > 1:
        return
    doubled: Accelerator = msgspec.structs.replace(
        card, memory_bytes_per_s=2 * card.memory_bytes_per_s,
        fast_memory_bytes_per_s=2 * (card.fast_memory_bytes_per_s or card.memory_bytes_per_s),
    )  # fmt: skip
    try:
        better = rooflight.analyze(model, doubled, **fields).to_dict()["phases"] or {}
    except RooflightError as error:
        yield "refused with more bandwidth", str(error)[:200]
        return
    for phase, before in phases.items():
        after = better.get(phase)
        for what in ("ceiling", "roofline"):
            if (
                after
                and after["time_s"][what] is not None
                and after["time_s"][what] > before["time_s"][what] * ROUNDING
            ):
                yield (
                    "slower with more bandwidth",
                    f"{phase} {what}: {before['time_s'][what]} -> {after['time_s'][what]}",
                )
