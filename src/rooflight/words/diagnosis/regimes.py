"""Regimes of monitoring in words: what binds and the values that say so, what they do not say, what to do next."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rooflight.answers.diagnose.regimes import RegimesFound
from rooflight.units import round_significant, scaled
from rooflight.values.diagnosis import Evidence, Told
from rooflight.words.diagnosis.regimes_next import steps

# Values of evidence by the names of answers.diagnose.judged: what they are, and their unit.
NAMES = {
    "active": ("time with a kernel on the GPU", "share"),
    "memory_util": ("utilization.memory (time in which memory was read or written)", "share"),
    "sm_active": ("SM active", "share"),
    "tensor_active": ("tensor cores active", "share"),
    "dram_active": ("DRAM active", "share"),
    "link_share": ("link between GPUs, of what it can do", "share"),
    "running": ("requests running", ""),
    "waiting": ("requests waiting", ""),
    "swapped": ("requests swapped out", ""),
    "kv_usage": ("KV cache in use", "share"),
    "preemptions": ("preemptions", ""),
    "queued": ("time to first token spent in the queue", "share"),
    "clock_lost": ("SM clock below its highest", "share"),
    "memory_clock_lost": ("memory clock below its highest", "share"),
    "throttled": ("reasons for a lower clock that the driver names", ""),
    "power": ("power, of its limit", "share"),
    "temperature_c": ("temperature (C)", ""),
    "tpot_s": ("time per output token", "s"),
    "itl_s": ("time between tokens, for that per output token", "s"),
    "memory_by_step": ("memory time of a step by arithmetic, of the time measured", "share"),
    "compute_by_step": ("arithmetic time of a step at peak, of the time measured", "share"),
    "link_by_step": ("link time of a step by arithmetic, of the time measured", "share"),
}
_UTIL_SAYS = "says only that some kernel ran"
# Below it the tensor cores wait for weights that few sequences share.
_SMALL_BATCH = 0.2
# Of the highest clock: what less is missing is said of no verdict.
_LOWERED = 0.03
# Requests up to which a batch is small: an eighth of the ridge of most cards, which is at some hundred FLOP/byte.
_FEW = 32


class Values:
    """A finding's values by name, as a sentence takes them."""

    def __init__(self, found: RegimesFound) -> None:
        self._values = {one.name: one.value for one in found.signs}

    def get(self, name: str) -> float | None:
        """The value, None where it was not recorded."""
        return self._values.get(name)

    def share(self, name: str, words: str) -> str:
        """`words` with the percent in it; "" where it was not recorded."""
        value = self.get(name)
        return "" if value is None else words.format(percent(value))

    def count(self, name: str, one: str, many: str) -> str:
        """A number of requests with its word."""
        value = self.get(name)
        return "" if value is None else f"{round_significant(value)} {one if value == 1 else many}"


def told(found: RegimesFound) -> Told:
    """One sentence, the values for and against, what to do next, and what else there is to know."""
    values = Values(found)
    sentence = (_TOLD if found.bound is not None else _UNTOLD)[found.bound or found.why](found, values)
    return Told(
        answer=f"{sentence}{_of_the_time(found)}.",
        evidence=tuple(_evidence(found)),
        next=tuple(steps(found)),
        notes=tuple(_notes(found, values)),
    )


def percent(share: float) -> str:
    """A share as a person reads it: 78 %."""
    return f"{round_significant(100 * share, 2 if share < 0.995 else 3)} %"


def _evidence(found: RegimesFound) -> Iterator[Evidence]:
    for one in found.signs:
        what, unit = NAMES[one.name]
        yield Evidence(what=what, value=one.value, unit=unit, supports=one.supports)
    if found.bytes_per_s is not None:
        supports = found.bound in (None, "memory", "idle", "starved")
        yield Evidence(what="memory traffic by DRAM active", value=found.bytes_per_s, unit="B/s", supports=supports)
    lost = found.clock_lost or 0.0
    if lost >= _LOWERED and found.bound != "idle" and all(one.name != "clock_lost" for one in found.signs):
        what, unit = NAMES["clock_lost"]
        yield Evidence(what=what, value=lost, unit=unit, supports=found.bound in ("compute", None))
    step = found.step
    if step is not None and step.bytes_per_s is not None and step.possible:
        yield Evidence(
            what="memory traffic by arithmetic of the step", value=step.bytes_per_s, unit="B/s",
            supports=found.bound != "compute",
        )  # fmt: skip


def _of_the_time(found: RegimesFound) -> str:
    """Where and how long, unless it is everywhere all of the time."""
    where = f"on {found.on} of {found.of} {_KINDS[found.kind]}" if found.on < found.of else ""
    load = "" if found.bound == "idle" else " with a load"
    when = f"{percent(found.share)} of the time{load}" if found.share <= 0.99 else ""
    return f" ({', '.join(filter(None, (where, when)))})" if where or when else ""


# What a deployment has several of.
_KINDS = {"device": "GPUs", "slice": "MIG slices", "engine": "engines"}


def _joined(*parts: str) -> str:
    """Parts of a list, the empty ones left out: a, b and c."""
    some = [part for part in parts if part]
    return " and ".join([", ".join(some[:-1]), some[-1]]) if len(some) > 1 else "".join(some)


def _util(values: Values) -> str:
    """What a high utilisation does not say."""
    active = values.get("active")
    return "" if active is None or active < 0.5 else f"; GPU utilisation of {percent(active)} {_UTIL_SAYS}"


# What works, and its verb.
_WORKING = {
    "sm_active": ("the multiprocessors", "are"), "dram_active": ("DRAM", "is"),
    "tensor_active": ("the tensor cores", "are"),
}  # fmt: skip


def _active(values: Values, *names: str) -> str:
    """DRAM is active 78 % of the time and the tensor cores 6 %: of those that were recorded."""
    said = [(*_WORKING[name], value) for name in names if (value := values.get(name)) is not None]
    parts = [
        f"{what} {percent(value)}" if number else f"{what} {verb} active {percent(value)} of the time"
        for number, (what, verb, value) in enumerate(said)
    ]
    return _joined(*parts)


def _memory(found: RegimesFound, values: Values) -> str:
    counted = _active(values, "dram_active", "tensor_active")
    if not counted:
        return _stepped(found, "Memory binds")
    tensor = values.get("tensor_active")
    small = tensor is not None and tensor < _SMALL_BATCH and (found.running or 0.0) <= _FEW
    return f"Memory binds: {counted}{', as in decode at a small batch' if small else ', as in decode'}{_util(values)}"


def _compute(found: RegimesFound, values: Values) -> str:
    counted = _active(values, "tensor_active", "dram_active")
    if not counted:
        return _stepped(found, "Compute binds")
    lost = found.clock_lost or 0.0
    clock = ""
    if lost >= _LOWERED:
        clock = f"; the SM clock is {percent(lost)} below its highest, {_because(found) or 'as at the power limit'}"
    elif found.clock_lost is None and found.throttled:
        clock = f"; the driver lowers the clock ({', '.join(found.throttled)}), nobody recorded by how much"
    return f"Compute binds: {counted}, as in prefill or at a large batch{clock}"


def _because(found: RegimesFound) -> str:
    """What the driver names as what lowers the clock."""
    return f"for what the driver names {', '.join(found.throttled)}" if found.throttled else ""


def _link(found: RegimesFound, values: Values) -> str:
    share = values.share("link_share", "the link between GPUs carries {} of what it can")
    if not share:
        return _stepped(found, "The link between GPUs binds")
    rest = _active(values, "dram_active", "tensor_active")
    return f"The link binds: {share}{f', while {rest}' if rest else ''}"


def _stepped(found: RegimesFound, head: str) -> str:
    """What arithmetic of the step says, where no counter was recorded."""
    step = found.step
    if step is None or step.tpot_s is None:
        return head
    took = f"a token takes {scaled(step.tpot_s, 's')} with {step.batch:,} requests running"
    share = max(step.shares.values(), default=0.0)
    if step.as_expected:
        return f"{head}: {took}, as a well-run engine does ({scaled(step.expected.expected, 's')})"
    return f"{head}: {took}, of which arithmetic accounts for {percent(share)}"


def _launch(found: RegimesFound, values: Values) -> str:
    step = found.step
    if found.why == "gaps":
        gap = percent(1 - (values.get("active") or 0.0))
        running = values.count("running", "request", "requests")
        return f"The host binds: the GPU has no kernel {gap} of the time while {running} {_run(values)}"
    if found.why == "small-kernels":
        rest = _active(values, "sm_active", "dram_active", "tensor_active")
        busy = values.share("active", "some kernel runs {} of the time")
        busy = busy or values.count("running", "request runs", "requests run")
        return f"Launches bind: {busy}, but {rest}"
    if found.why == "beyond-arithmetic" and step is not None and step.tpot_s is not None:
        share = max(step.shares.values(), default=0.0)
        return (
            f"Host, launches or slow kernels bind: a token takes {scaled(step.tpot_s, 's')} with {step.batch:,} "
            f"requests running, of which memory and arithmetic need {percent(share)}"
        )
    return _stepped(found, "Host and launches bind")


def _run(values: Values) -> str:
    return "runs" if values.get("running") == 1 else "run"


def _starved(found: RegimesFound, values: Values) -> str:
    running = values.count("running", "request runs", "requests run")
    takes = f" where about {round_significant(found.takes, 2)} could" if found.takes and found.takes >= 1 else ""
    waits = " and none waits" if values.get("waiting") is not None else ""
    kernel = values.share("active", "the GPU has a kernel {} of the time")
    counted = ", ".join(filter(None, (kernel, _active(values, "dram_active", "tensor_active"))))
    if found.why == "elsewhere":
        counted += ", so what runs is on another GPU than that, or was at another time"
    return f"Too few requests fill the machine: {running}{takes}{waits}{f'; {counted}' if counted else ''}"


def _queue(found: RegimesFound, values: Values) -> str:
    waiting = values.count("waiting", "request waits", "requests wait") or values.share(
        "queued", "requests spend {} of the time to their first token waiting"
    )
    room = values.share("kv_usage", " while {} of the KV cache is in use")
    running = f", with {round_significant(found.running)} running" if found.running else ""
    why = {"cap": ", the engine's own cap", "no-cap": "", "held": ", fewer than its cap"}[found.why]
    return f"The queue binds: {waiting}{room}{running}{why}"


def _capacity(found: RegimesFound, values: Values) -> str:
    parts = _joined(
        values.share("kv_usage", "{} of the KV cache is in use"),
        values.count("waiting", "request waits", "requests wait") if values.get("waiting") else "",
        values.count("swapped", "is swapped out", "are swapped out"),
        values.count("preemptions", "was preempted", "were preempted") if values.get("preemptions") else "",
    )  # fmt: skip
    running = f", with {round_significant(found.running)} running" if found.running else ""
    return f"The KV cache binds: {parts or 'requests wait for it'}{running}"


def _throttled(found: RegimesFound, values: Values) -> str:
    clock = ("memory_clock_lost", "memory") if found.why == "memory-clock" else ("clock_lost", "SM")
    lost = values.share(clock[0], f"the {clock[1]} clock is {{}} below its highest") or "the driver says so"
    others = [one for one in found.throttled if one != found.why]
    named = f" ({', '.join(others)})" if others else ""
    because = {
        "heat": "by heat or the board's protection", "power": "by the power limit",
        "memory-clock": "by a lower memory clock", "clock": "by a clock that something holds down",
    }[found.why]  # fmt: skip
    near = values.share("power", "at {} of the power limit") if found.why == "power" else ""
    hot = values.get("temperature_c")
    degrees = f"at {hot:.0f} C" if found.why == "heat" and hot is not None else ""
    where = near or degrees
    return f"The GPU is slowed {because}{named}: {lost}{f', {where}' if where else ''}"


def _idle(_: RegimesFound, values: Values) -> str:
    parts = _joined(
        values.share("active", "the GPU has a kernel {} of the time"),
        values.count("running", "request runs", "requests run"),
    )
    return f"Nothing binds, the machine is idle: {parts}"


def _only_util(_: RegimesFound, values: Values) -> str:
    util = values.share("active", "GPU utilisation of {}")
    return (
        f"Which ceiling binds cannot be told: {util} {_UTIL_SAYS}, not how much of the GPU worked"
        if util
        else "Which ceiling binds cannot be told: no counter of memory or tensor cores is recorded"
    )


def _gaps_of_whom(_: RegimesFound, values: Values) -> str:
    gap = percent(1 - (values.get("active") or 0.0))
    return (
        f"Which ceiling binds cannot be told: the GPU has no kernel {gap} of the time, for want of requests or because "
        "the host does not launch them in time, which the engine's metrics tell apart"
    )


def _nothing_full(_: RegimesFound, values: Values) -> str:
    rest = _active(values, "sm_active", "dram_active", "tensor_active")
    return f"Which ceiling binds cannot be told without a profile: {rest}, so kernels wait for something else"


def _half(_: RegimesFound, values: Values) -> str:
    there = _active(values, "dram_active", "tensor_active")
    lacking = "the tensor cores" if values.get("tensor_active") is None else "DRAM"
    return f"Which ceiling binds cannot be told: {there}, and nothing is recorded of {lacking}, which decides"


def _engine_only(_: RegimesFound, values: Values) -> str:
    parts = _joined(
        values.count("running", "request runs", "requests run"), values.count("waiting", "waits", "wait"),
        values.share("kv_usage", "{} of the KV cache is in use"),
    )  # fmt: skip
    there = f"{parts}, and " if parts else ""
    return f"Which ceiling of the hardware binds cannot be told: {there}nothing is recorded of the device"


def _blank(_: RegimesFound, values: Values) -> str:
    power = values.share("power", " but {} of its power")
    return f"Which ceiling binds cannot be told: nothing that says so is recorded of the GPU{power}"


_Saying = Callable[[RegimesFound, Values], str]
_TOLD: dict[str, _Saying] = {
    "memory": _memory, "compute": _compute, "link": _link, "launch": _launch, "starved": _starved, "queue": _queue,
    "capacity": _capacity, "throttled": _throttled, "idle": _idle,
}  # fmt: skip
_UNTOLD: dict[str, _Saying] = {
    "only-util": _only_util, "gaps-of-whom": _gaps_of_whom, "nothing-full": _nothing_full, "half": _half,
    "engine-only": _engine_only, "blank": _blank,
}  # fmt: skip


def _notes(found: RegimesFound, values: Values) -> Iterator[str]:
    if found.bytes_per_s is not None and found.rate_bytes_per_s:
        yield (
            f"DRAM active comes to {scaled(found.bytes_per_s, 'B/s')} of the card's "
            f"{scaled(found.rate_bytes_per_s, 'B/s')}; about 80 % is what DRAM reaches in practice."
        )
    yield from _moved(found)
    if values.get("tensor_active") is not None and found.bound == "compute":
        yield "Tensor active times the peak is at most what was computed: an active cycle may do less."
    if found.idle >= 0.01 and found.bound != "idle":
        yield f"Nothing ran {percent(found.idle)} of the time; the verdict is of the rest."
    yield from _clock(found)
    if found.lifetime:
        yield "Some of the engine's counters are since its start: the difference of two scrapes says what happens now."
    if found.replicas > 1:
        yield f"{found.replicas} engines were watched, and nobody says which device is whose: each is judged by itself."
    if found.bound == "launch" and found.devices > 1:
        yield "With several GPUs an engine, small collectives that wait for one another look the same: a profile tells."
    if found.others:
        said = ", ".join(
            f"{one.subject} is {'mostly ' if one.share < 1 else ''}{_ADJECTIVES[one.bound or '']}"
            for one in found.others[:_MOST_OTHERS]
        )
        more = len(found.others) - _MOST_OTHERS
        slowest = " (the slowest GPU of an engine sets its pace)" if found.devices > 1 else ""
        yield f"Others differ: {said}{f' and {more} more' if more > 0 else ''}{slowest}."


def _clock(found: RegimesFound) -> Iterator[str]:
    """What lowers the clock of devices that something else binds."""
    if found.bound in ("compute", "throttled", "idle"):
        return
    why = f" ({', '.join(found.throttled)})" if found.throttled else ""
    but = "" if found.bound is None else ", which is not what binds here"
    if (found.clock_lost or 0.0) >= _LOWERED:
        yield f"The SM clock is {percent(found.clock_lost or 0.0)} below its highest{why}{but}."
    elif found.clock_lost is None and found.throttled:
        yield f"The driver lowers the clock{why}; by how much is not recorded{but}."


def _moved(found: RegimesFound) -> Iterator[str]:
    """What arithmetic says of the bytes of a step, beside what the counter says."""
    step = found.step
    if step is None or step.bytes_per_s is None:
        return
    if not step.possible:
        yield (
            "A token comes faster than the named card can read what the named model needs: the model, the card or "
            "their number is another one."
        )
        return
    mbu = step.efficiency.mbu if step.efficiency is not None else None
    share = f", {percent(mbu)} of the card's bandwidth (MBU)" if mbu is not None else ""
    yield (
        f"A step with {step.batch:,} requests moves {scaled(step.moved_bytes, 'B')} of weights and KV cache: in "
        f"{scaled(step.tpot_s or 0.0, 's')} that is {scaled(step.bytes_per_s, 'B/s')} a device{share}."
    )
    if found.bytes_per_s is not None and found.bytes_per_s > _FAR_MORE * step.bytes_per_s:
        times = round_significant(found.bytes_per_s / step.bytes_per_s, 2)
        yield f"DRAM active comes to {times} times that: prompts beside it, or kernels that read more than they need."


# What DRAM moves over what a step needs, from which it is said.
_FAR_MORE = 1.5
_MOST_OTHERS = 4
_ADJECTIVES = {
    "memory": "memory-bound", "compute": "compute-bound", "link": "link-bound",
    "launch": "bound by launches or the host", "starved": "short of requests", "queue": "queueing",
    "capacity": "short of KV cache", "throttled": "throttled", "idle": "idle", "": "not to be told",
}  # fmt: skip
