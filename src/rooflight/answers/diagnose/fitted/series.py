"""Records that differ in one thing alone: what a line may be drawn through."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace

from rooflight.answers.diagnose.timed.seen import Seen, seen
from rooflight.errors import printable
from rooflight.values.recorded import Record

# What the records of a series differ in: sequences at once, cached tokens, prompt length, a degree of parallelism,
# the layout at equal devices, a format, the accelerator, the engine, layers on the accelerator, threads of the host,
# drafted tokens, the length of answers, tokens cached before a prompt.
Axis = Literal[
    "batch", "context", "prompt", "tp", "pp", "dp", "layout", "weights", "kv_cache", "device", "engine", "offload",
    "threads", "draft_tokens", "answer", "cached", "mixed",
]  # fmt: skip
# What is compared; in the order in which it is taken.
Quantity = Literal["token_s", "each_s", "request_s", "prompt_s", "ttft_s", "prompt_token_s"]
QUANTITIES: tuple[Quantity, ...] = ("token_s", "each_s", "request_s", "prompt_s", "ttft_s", "prompt_token_s")
PROMPTS: tuple[Quantity, ...] = ("prompt_s", "ttft_s")
# Lengths in the mean that are nearer to each other than that are one.
_ALIKE = 0.05
# Of a name that a file gives.
_LONGEST = 60
# In flight in the mean are fewer than were set, beyond what rounding makes.
_FEWER = 1.2


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """Runs that are alike in everything but the axis. labels: the axis's value of each, as it is said."""

    axis: Axis
    runs: tuple[Seen, ...]
    labels: tuple[str, ...]
    xs: tuple[float, ...] = ()

    def quantity(self, wanted: Sequence[Quantity] = QUANTITIES) -> Quantity | None:
        """The first that all runs have."""
        return next((one for one in wanted if all(getattr(run, one) for run in self.runs)), None)

    def values(self, quantity: Quantity) -> tuple[float, ...]:
        """It, of each run."""
        return tuple(getattr(run, quantity) for run in self.runs)


def series(records: Sequence[Record]) -> tuple[Series, ...]:
    """All series of two records or more; of those that differ in several things at once one that is "mixed"."""
    runs = [seen(record) for record in records]
    runs = [run for run in runs if any(getattr(run, one) for one in QUANTITIES)]
    found = [one for axis in _AXES for one in _along(axis, runs)]
    if not found and len(runs) > 1:
        labels = tuple(printable(run.name)[:_LONGEST] or f"{place}" for place, run in enumerate(runs, 1))
        found = [Series(axis="mixed", runs=tuple(runs), labels=labels)]
    return tuple(found)


def _along(axis: Axis, runs: Sequence[Seen]) -> Iterator[Series]:
    """Series along one axis: runs of equal keys, of whose values at least two differ."""
    values, beside, of_prompts = _AXES[axis]
    groups: dict[object, list[tuple[object, Seen]]] = {}
    for run in runs:
        value = values(run)
        timed = any(getattr(run, one) for one in (PROMPTS if of_prompts else QUANTITIES))
        if value is None or not timed:
            continue
        counted = replace(run, in_flight=value) if axis == "batch" else run
        groups.setdefault(_key(run, beside, of_prompts), []).append((value, counted))
    for members in groups.values():
        members.sort(key=lambda pair: (pair[0], pair[1].name))
        kept = list(_once(members))
        if len(kept) < 2:
            continue
        labels = tuple(_label(value) for value, _ in kept)
        xs = tuple(float(value) for value, _ in kept if isinstance(value, int | float))
        yield Series(
            axis=axis, runs=tuple(run for _, run in kept), labels=labels, xs=xs if len(xs) == len(kept) else ()
        )


def _once(members: Sequence[tuple[object, Seen]]) -> Iterator[tuple[object, Seen]]:
    """The members if at least two of their values differ; of words, each once: a second run says nothing new."""
    if len({value for value, _ in members}) < 2:
        return
    met: set[object] = set()
    for value, run in members:
        if isinstance(value, str) and value in met:
            continue
        met.add(value)
        yield value, run


def _key(run: Seen, beside: Sequence[str], of_prompts: bool) -> object:
    """What must be equal: everything that says how it ran, apart from what the axis changes with it."""
    stated = run.record.stated
    names = (
        "model", "weights", "kv_cache", "device", "gpus", "tp", "pp", "ep", "dp", "engine", "engine_version",
        "speculative", "draft_tokens", "phase", "threads", "max_num_batched_tokens", "depth",
    )  # fmt: skip
    own = {name: getattr(stated, name) for name in names}
    own |= {"offload": run.record.measured.offloaded_layers, "in_flight": run.in_flight or _length(run.implied)}
    own |= {"isl": _length(stated.isl or run.isl), "osl": _length(stated.osl or run.osl), "rate": stated.request_rate}
    if "ep" in beside and "dp" in beside:
        own["devices"] = (stated.tp or 1) * (stated.pp or 1) * (stated.dp or 1)
    if of_prompts:
        own["osl"] = own["kv_cache"] = None
    return tuple(value for name, value in own.items() if name not in beside)


def _length(tokens: float | None) -> int | None:
    """Lengths that are alike in the mean as one number: the exponent of a geometric ladder of steps of _ALIKE."""
    if not tokens:
        return None
    return round(math.log(tokens) / (2 * _ALIKE))


def _label(value: object) -> str:
    if not isinstance(value, int | float):
        return printable(str(value))[:_LONGEST]
    return f"{value:,.6g}" if value == int(value) else f"{value:,.1f}"


def _batch(run: Seen) -> float | None:
    """As set; as many as rates and times make, where requests arrive at a rate, or fewer were in flight in the mean."""
    if run.in_flight is None:
        return run.implied if run.record.stated.request_rate is not None else None
    fewer = run.implied is not None and 1 < run.implied < run.in_flight / _FEWER
    return run.implied if fewer else run.in_flight


def _layout(run: Seen) -> str | None:
    stated = run.record.stated
    degrees = [f"{name} {value}" for name in ("tp", "pp", "dp", "ep") if (value := getattr(stated, name)) is not None]
    return " x ".join(degrees) if len(degrees) > 1 else None


def _stated(name: str) -> Callable[[Seen], object]:
    return lambda run: getattr(run.record.stated, name)


def _cached(run: Seen) -> float | None:
    return run.context if run.token_s else None


def _prompt(run: Seen) -> float | None:
    return run.isl if run.prompt_s or run.ttft_s else None


def _before(run: Seen) -> float | None:
    return run.record.stated.depth if run.prompt_token_s and not run.token_s else None


def _engine(run: Seen) -> str | None:
    stated = run.record.stated
    return " ".join(filter(None, (stated.engine, stated.engine_version))) or None


def _offloaded(run: Seen) -> int | None:
    return run.record.measured.offloaded_layers


# Of each axis: the value of a run, what may differ beside it, whether it is prompts that are timed.
_AXES: dict[Axis, tuple[Callable[[Seen], object], tuple[str, ...], bool]] = {
    "batch": (_batch, ("in_flight", "rate"), False),
    "context": (_cached, ("depth", "isl", "osl"), False),
    "prompt": (_prompt, ("isl",), True),
    "tp": (_stated("tp"), ("tp", "gpus", "ep"), False),
    "pp": (_stated("pp"), ("pp", "gpus"), False),
    "dp": (_stated("dp"), ("dp", "gpus", "in_flight"), False),
    "layout": (_layout, ("tp", "pp", "dp", "ep"), False),
    "weights": (_stated("weights"), ("weights",), False),
    "kv_cache": (_stated("kv_cache"), ("kv_cache",), False),
    "device": (_stated("device"), ("device",), False),
    "engine": (_engine, ("engine", "engine_version"), False),
    "offload": (_offloaded, ("offload",), False),
    "threads": (_stated("threads"), ("threads",), False),
    "draft_tokens": (_stated("draft_tokens"), ("draft_tokens", "speculative"), False),
    "cached": (_before, ("depth",), False),
    "answer": (lambda run: run.osl if run.ttft_s else None, ("osl",), False),
}
