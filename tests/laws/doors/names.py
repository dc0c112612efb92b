"""What each door's numbers are called: paths of its document to names that all doors share, after analyze's.

A path that leads to None is the door's own: no other door prints it; {run} is the schedule of a door's one run. A
number whose path is in no line is an error, so whoever prints a new one says here whether another door has it too.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator
from typing import Any

from laws.doors.ask import Document

Value = float | int | str | bool | None
Lines = tuple[tuple[str, str | None], ...]


class Milliseconds(float):
    """A time as a metric in ms has it; seconds are compared with it as `check` converts them, divided by 0.001."""


_BOUNDS = r"(compute|memory|link|launch|host_memory|host_link)"
_SPAN = r"(ceiling|roofline|expected|low|high)"
_PHASE = r"(prefill|decode)"
_LAYOUT = r"(devices|tp|pp|ep|dp|weights|kv_cache)"
_LOAD = r"(batch|prefill_batch|isl|osl|context)"
_MARKS = r"(ridge_batch|compute_batch|knee_batch|compute_isl)"
_STEP_PARTS = (
    rf"(time_s\.{_SPAN}|tokens_per_s\.{_SPAN}|tokens_per_s_per_user\.{_SPAN}|ceilings_s\.{_BOUNDS}|bytes\.\w+)"
)
_STEP = r"(bound|flop|link_bytes|intensity_flop_per_byte|ridge_flop_per_byte)"

_ANALYSIS: Lines = (
    (rf"phases\.{_PHASE}\.{_STEP_PARTS}", r"\1.\2"),
    (rf"phases\.{_PHASE}\.{_STEP}", r"\1.\2"),
    (r"phases\.\w+\.(launches|network_bytes|flop_by_format|split|mfu|mbu|waterfall|operators)\b.*", None),
    (r"intensities\..*", None),  # of the whole batch, of which others tell the part that fits
    (r"runs\.(\w+)\.(utilization\.\w+)", None),
    (r"runs\.(\w+)\.(.+)", r"runs.\1.\2"),
    (r"run", "run"),
    (rf"request\.time_s\.{_SPAN}", r"runs.batch.request_s.\1"),
    (r"request\.prefill_share\.expected", "runs.batch.prefill_share"),
    (r"request\.prefill_share\.\w+", None),
    (r"served\.running", "runs.served.decoding"),
    (r"served\.(.+)", r"runs.served.\1"),
    (r"most_requests_per_s", None),
    (r"expected_basis\..+", None),
    (r"memory\.(weights_bytes|kv_bytes|reserve_bytes|usable_bytes|fits|max_batch)", r"memory.\1"),
    (r"memory\..+", None),
    (r"model\.(.+)", r"model.\1"),
    (r"accelerator\.((?:program_)?memory_bytes\w*|(peak|ridge)_flop_per_\w+\.\w+)", r"accelerator.\1"),
    (r"accelerator\.(levels\..+)", r"accelerator.\1"),
    (r"accelerator\.count", None),
    (rf"deployment\.{_LAYOUT}", r"deployment.\1"),
    (r"deployment\.\w+", None),
    (rf"workload\.{_LOAD}", r"workload.\1"),
    (r"workload\.\w+", None),
)
_LANDMARKS: Lines = (
    (_MARKS, r"landmarks.\1"),
    (r"kv_limit", "memory.max_batch"),
    (_LAYOUT, r"deployment.\1"),
    (_LOAD, r"workload.\1"),
    (r"rated", None),
)
_MODEL: Lines = ((r"(parts)\..*|max_context", None), (r"(.+)", r"model.\1"))
_CARD: Lines = (
    (r"((?:program_)?memory_bytes\w*|(peak|ridge)_flop_per_\w+\.\w+)", r"accelerator.\1"),
    (r"(levels\..+)", r"accelerator.\1"),
    (
        r"(link\..*|pcie_bytes_per_s|last_level_cache_bytes|label_memory_bytes|tdp_w|release_year|uncertain|ceiling_\w+)",
        None,
    ),
)
# Quantities of check's phases and metrics. A served rate counts what a saturated engine puts out.
_METRICS = {
    "decode/tpot_ms": "decode.time_s",
    "decode/output_tok_s": "decode.tokens_per_s",
    "decode/output_tok_s_per_user": "decode.tokens_per_s_per_user",
    "decode/output_tok_s_per_gpu": "decode.tokens_per_s_per_accelerator",
    "prefill/ttft_ms": "prefill.time_s",
    "prefill/prefill_tok_s": "prefill.tokens_per_s",
    "e2e_offline/e2e_latency_ms": "runs.batch.request_s",
    "e2e_offline/total_tok_s": "runs.batch.total_tokens_per_s",
    "e2e_offline/output_tok_s": "runs.batch.output_tokens_per_s",
    "e2e_server/tpot_ms": "runs.served.tpot_s",
    "e2e_server/ttft_ms": "runs.served.ttft_s",
    "e2e_server/e2e_latency_ms": "runs.served.request_s",
    "e2e_server/output_tok_s": "runs.served.output_tokens_per_s",
    "e2e_server/output_tok_s_per_user": "runs.served.output_tokens_per_s_per_user",
    "e2e_server/output_tok_s_per_gpu": "runs.served.output_tokens_per_s_per_accelerator",
}
_CHECK: Lines = (
    *((rf"{re.escape(path)}\.{_SPAN}", rf"{name}.\1") for path, name in _METRICS.items()),
    (r".*\.(line|value|over_ceiling|mfu|mbu)", None),
    (r".*\.bound", None),  # of check: what sets the ceiling, in which launches have no part
)

NAMES: dict[str, Lines] = {
    "analyze": _ANALYSIS,
    "studio": _ANALYSIS,
    "studio picture": _ANALYSIS,
    "sweep": (
        (r"prefill\.context", None),
        (rf"{_PHASE}\.{_STEP_PARTS}", r"\1.\2"),
        (rf"{_PHASE}\.{_STEP}", r"\1.\2"),
        (rf"{_PHASE}\.{_LAYOUT}", r"deployment.\2"),
        (rf"{_PHASE}\.{_LOAD}", r"workload.\2"),
        (rf"{_PHASE}\.(fits|max_batch)", r"memory.\2"),
    ),
    "sweep columns": (
        (rf"{_PHASE}\.{_STEP_PARTS}", r"\1.\2"),
        (rf"{_PHASE}\.{_STEP}", r"\1.\2"),
        (rf"{_PHASE}\.{_LAYOUT}", r"deployment.\2"),
        (rf"{_PHASE}\.{_LOAD}", r"workload.\2"),
        (rf"{_PHASE}\.(fits|max_batch)", r"memory.\2"),
    ),
    "compare": (
        (rf"compared\.0\.{_PHASE}\.step_s\.{_SPAN}", r"\1.time_s.\2"),
        (rf"compared\.0\.{_PHASE}\.tokens_per_s\.{_SPAN}", r"\1.tokens_per_s.\2"),
        (rf"compared\.0\.{_PHASE}\.bound", r"\1.bound"),
        (r"compared\.0\.run\.utilization\.\w+", None),
        (r"compared\.0\.run\.(.+)", r"runs.{run}.\1"),
        (r"compared\.0\.prefill\.share\.expected", "runs.{run}.prefill_share"),
        (rf"compared\.0\.request\.(requests_per_s|output_tokens_per_s\w*)\.{_SPAN}", r"runs.{run}.\1.\2"),
        (r"compared\.0\.memory\.(\w+)", r"memory.\1"),
        (r"compared\.0\.fits", "memory.fits"),
        (rf"compared\.0\.{_LAYOUT}", r"deployment.\1"),
        (r"compared\.0\.batch", "workload.batch"),
        (r"mix\.(isl|osl|context)", r"workload.\1"),
        (r"compared\.0\.(hardware|prefill|decode|request|equal_at)\b.*", None),
        (r"(mix|curves|stretches|crossings)\..*", None),
    ),
    "moves": (
        (rf"before\.{_PHASE}\.time_s\.{_SPAN}", r"\1.time_s.\2"),
        (rf"before\.{_PHASE}\.terms_s\.{_BOUNDS}", r"\1.ceilings_s.\2"),
        (rf"before\.{_PHASE}\.(bound|intensity_flop_per_byte|ridge_flop_per_byte)", r"\1.\2"),
        (r"before\.run\.utilization\.\w+", None),
        (r"before\.run\.(.+)", r"runs.{run}.\1"),
        (rf"before\.token_s\.{_SPAN}", r"runs.{run}.tpot_s.\1"),
        (rf"before\.request_s\.{_SPAN}", r"runs.{run}.request_s.\1"),
        (rf"before\.tokens_per_s\.{_SPAN}", r"runs.{run}.output_tokens_per_s.\1"),
        (rf"before\.tokens_per_s_per_accelerator\.{_SPAN}", r"runs.{run}.output_tokens_per_s_per_accelerator.\1"),
        (rf"before\.decode_tokens_per_s_per_accelerator\.{_SPAN}", None),
        (r"before\.(fits|max_batch)", r"memory.\1"),
        (r"before\.batch", "workload.batch"),
        (r"before\.devices", "deployment.devices"),
        (r"before\.\w+\.(weights|kv|flop_per_s)", None),
        (r"(moves|combined|left|stories)\..*", None),
    ),
    "check row": _CHECK,
    "check claim": _CHECK,
    "sweep landmarks": _LANDMARKS,
    "studio landmarks": _LANDMARKS,
    "models": _MODEL,
    "models MODEL": _MODEL,
    "accelerators": _CARD,
    "accelerators CARD": _CARD,
}


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Value]]:
    """Every value of a document with its path, places of lists as numbers."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            yield from leaves(item, f"{path}.{key}" if path else str(key))
    else:
        yield path, value


def named(door: str, document: Document) -> dict[str, Value]:
    """The document's quantities by their shared names. A door that says two things of one name is an error."""
    found: dict[str, Value] = {}
    schedule = _schedule(document)
    for path, value in leaves(document):
        known, name = _name(door, path)
        name = name and name.replace("{run}", schedule)
        assert known or not isinstance(value, int | float), (
            f"{door} prints {path}: say in laws/doors/names.py whether another door prints it too"
        )
        if name is None:
            continue
        if door.startswith("check") and "_ms." in path and not isinstance(value, str | None):
            value = Milliseconds(value)
        assert name not in found or found[name] == value, f"{door} says two things of {name}: {path}"
        found[name] = value
    return found


def _schedule(document: Document) -> str:
    """The schedule of the one run that moves and compare print."""
    outcome = document.get("before") or next(iter(document.get("compared", ())), None) or {}
    return (outcome.get("run") or {}).get("schedule", "")


@functools.cache
def _name(door: str, path: str) -> tuple[bool, str | None]:
    """Whether a line names the path, and the shared name."""
    for pattern, name in NAMES[door]:
        match = re.fullmatch(pattern, path)
        if match:
            return True, None if name is None else match.expand(name)
    return False, None


def equal(one: Value, other: Value, *, to_the_last_bit: bool = True) -> bool:
    """To the last digit; seconds are turned into milliseconds as check turns them."""
    if isinstance(one, Milliseconds) and not isinstance(other, Milliseconds) and other is not None:
        one, other = float(one), other / 0.001
    elif isinstance(other, Milliseconds) and not isinstance(one, Milliseconds) and one is not None:
        one, other = one / 0.001, float(other)
    if to_the_last_bit or not isinstance(one, float) or not isinstance(other, float):
        return one == other
    return math.isclose(one, other, rel_tol=1e-14)
