"""One row of monitoring judged: rules in their order, each over a few values, with what speaks for and against."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from rooflight.answers.diagnose.watched.facts import Facts
from rooflight.answers.diagnose.watched.thresholds import limit
from rooflight.values.diagnosis import Bound, Confidence

_LEVELS: tuple[Confidence, ...] = ("low", "medium", "high")
# Values that agree for each level, and how sure what the engine alone or arithmetic alone says can be.
_MANY, _SOME = 3, 2
_INDIRECT: Confidence = "medium"


class Sign(msgspec.Struct, frozen=True, kw_only=True):
    """A value by its name in values.recorded.Watched (or a share that follows from some), for or against."""

    name: str
    value: float
    supports: bool = True


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What binds in a row.

    why         which of the rules' reasons it is, for the words ("cap", "gaps", "small-kernels", "only-util" ...)
    missing     what to record to tell more: "counters", "engine", "profile", "model"
    """

    bound: Bound | None
    why: str
    confidence: Confidence = "low"
    signs: tuple[Sign, ...] = ()
    missing: tuple[str, ...] = ()


class _Signs:
    """Values for and against, as a rule collects them: a blank one is neither."""

    def __init__(self) -> None:
        self._found: dict[str, Sign] = {}
        self._weak: set[str] = set()

    def add(self, name: str, value: float | None, supports: bool | None, *, weak: bool = False) -> _Signs:
        """One more; what is not known is left out. weak: of another time, so that it makes nothing surer."""
        if value is not None and supports is not None:
            self._found[name] = Sign(name=name, value=value, supports=supports)
            self._weak |= {name} if weak else set()
        return self

    @property
    def all(self) -> tuple[Sign, ...]:
        return tuple(self._found.values())

    @property
    def agree(self) -> int:
        """How many speak for it."""
        return sum(one.supports for name, one in self._found.items() if name not in self._weak)


def judge(facts: Facts) -> Verdict:
    """The first rule that says something; what speaks against a verdict makes it no surer than a blank would."""
    for rule in _RULES:
        found = rule(facts)
        if found is not None:
            return found
    return _cannot_tell(facts)


def _idle(facts: Facts) -> Verdict | None:
    """Nothing runs on the device, or in the engine."""
    row, active = facts.row, facts.active
    nobody = False if row.waiting else None if row.running is None else row.running == 0
    quiet = None if active is None else active <= limit("idle")
    if quiet is False or nobody is False or (quiet is None and nobody is None):
        return None
    worked = max(facts.shares.values(), default=0.0)
    if worked > 2 * limit("idle"):
        return None
    signs = _Signs().add("active", active, quiet).add("running", row.running, nobody).add("waiting", row.waiting, True)
    for name in ("dram_active", "tensor_active", "memory_util"):
        value = getattr(row, name)
        signs.add(name, value, None if value is None else value <= 2 * limit("idle"))
    signs.add("power", facts.power, None if facts.power is None else facts.power <= limit("power_quiet"))
    return Verdict(bound="idle", why="idle", confidence=_sure(signs, clear=True), signs=signs.all)


def _throttled(facts: Facts) -> Verdict | None:
    """The clock is below its highest under load: heat, a low power limit, or a lower clock that somebody set.

    What DRAM does at its full clock is not slowed by the multiprocessors' clock, so memory stays memory.
    """
    row, lost, memory_lost = facts.row, facts.clock_lost, facts.memory_clock_lost
    loaded = facts.active is None or facts.active >= limit("wide_gaps")
    if not loaded or (facts.active is None and not facts.shares and not row.running):
        return None
    slow_memory = memory_lost is not None and memory_lost >= limit("memory_lost")
    full_memory = facts.memory is not None and facts.memory >= limit("clear")
    far = lost is not None and lost >= limit("power_lost")
    heat = facts.hot and (lost is None or lost >= limit("heat_lost"))
    if (full_memory and not slow_memory) or not (heat or far or slow_memory):
        return None
    why = "heat" if heat else "power" if far and facts.capped else "memory-clock" if slow_memory else "clock"
    signs = _Signs().add("clock_lost", lost, None if lost is None else lost >= limit("heat_lost"))
    signs.add("memory_clock_lost", memory_lost, None if memory_lost is None else slow_memory)
    if row.throttled is not None:
        signs.add("throttled", float(len(row.throttled)), bool(row.throttled))
    near = None if facts.power is None else facts.power >= limit("power_near")
    signs.add("power", facts.power, near if why == "power" else None)
    signs.add("temperature_c", row.temperature_c, True if why == "heat" else None)
    signs.add("active", facts.active, None if facts.active is None else True)
    return Verdict(bound="throttled", why=why, confidence=_sure(signs, clear=far or slow_memory), signs=signs.all)


def _capacity(facts: Facts) -> Verdict | None:
    """The pool of the KV cache is full, and requests wait or are thrown out for it."""
    row, usage = facts.row, facts.row.kv_usage
    full = None if usage is None else usage >= limit("kv_full")
    thrown, waits, ever = _thrown(facts), facts.waits, "preemptions" in facts.seen.ever
    swapped = True if row.swapped else None
    kept_out = bool(full) and (row.waiting or 0.0) >= 1
    near = usage is not None and usage >= limit("kv_room") and waits and not facts.at_cap
    if not thrown and not swapped and not kept_out and not near:
        return None
    signs = _Signs().add("kv_usage", usage, None if usage is None else usage >= limit("kv_room"))
    signs.add("preemptions", row.preemptions, thrown, weak=ever).add("waiting", row.waiting, waits or kept_out)
    signs.add("swapped", row.swapped, swapped)
    sure = _sure(signs, clear=bool(full) and (bool(thrown) or facts.long_queue))
    if thrown and not ever:  # the engine says so itself
        sure = max(sure, _INDIRECT, key=_LEVELS.index)
    if not thrown and not swapped and not full:  # a long prompt may want the last tenth
        sure = "low"
    why = "thrown-out" if thrown or swapped else "full"
    return Verdict(bound="capacity", why=why, confidence=sure, signs=signs.all)


def _thrown(facts: Facts) -> bool | None:
    """Whether requests were preempted for want of cache, more than the odd one."""
    row = facts.row
    if row.preemptions is None:
        return None
    if not row.preemptions:
        return False
    if row.kv_usage is not None and row.kv_usage >= limit("kv_room"):
        return True
    if row.requests:
        return row.preemptions >= limit("preempted") * row.requests
    return "preemptions" not in facts.seen.ever


def _arithmetic(facts: Facts) -> Verdict | None:
    """Tensor cores take most of the time: more requests at once would not help."""
    return _resource(facts, "compute")


def _queue(facts: Facts) -> Verdict | None:
    """Requests wait while the cache has room for them: a cap, or what lets them in, is what binds."""
    row, at_cap, top = facts.row, facts.at_cap, facts.top
    kept_out = facts.waits or (at_cap and (row.waiting or 0.0) >= 1)
    if not kept_out or (row.kv_usage is not None and row.kv_usage >= limit("kv_full")):
        return None
    full = row.kv_usage is not None and row.kv_usage >= limit("kv_room")
    if not at_cap and (full or (top is not None and top[1] >= limit("clear") and row.kv_usage is None)):
        return None
    signs = _Signs().add("waiting", row.waiting, True)
    signs.add("kv_usage", row.kv_usage, None if row.kv_usage is None else row.kv_usage < limit("kv_room"))
    signs.add("running", row.running, at_cap if at_cap is not None else None)
    long = None if facts.queued is None else facts.queued >= limit("binds")
    signs.add("queued", facts.queued, long or None, weak="queue_s" in facts.seen.ever)
    why = "cap" if at_cap else "no-cap" if at_cap is None else "held"
    return Verdict(bound="queue", why=why, confidence=_sure(signs, clear=facts.long_queue), signs=signs.all)


def _hardware(facts: Facts) -> Verdict | None:
    """Memory or a link takes most of the time."""
    return _resource(facts, "memory", "link")


def _resource(facts: Facts, *names: str) -> Verdict | None:
    """One of these resources takes more of the time than every other, and than the gaps between kernels."""
    top = facts.top
    if top is None or top[0] not in names or top[1] < limit("binds") or top[1] < (facts.gap or 0.0):
        return None
    name, share = top
    row = facts.row
    signs = _Signs()
    for other, value in (("memory", row.dram_active), ("compute", row.tensor_active), ("link", facts.link)):
        part = facts.shares.get(other)
        field = {"memory": "dram_active", "compute": "tensor_active", "link": "link_share"}[other]
        signs.add(field, value, None if part is None else other == name or part < limit("binds"))
    signs.add("active", facts.active, None if facts.active is None else facts.active >= 1 - limit("gaps"))
    good = limit("sm_good") if name == "compute" else limit("sm_low")
    signs.add("sm_active", row.sm_active, None if row.sm_active is None else row.sm_active >= good)
    by_step = facts.by_step
    signs.add(f"{name}_by_step", by_step.get(name), by_step.get(name, 0.0) >= limit("binds") if by_step else None)
    if name == "compute":
        signs.add("power", facts.power, None if facts.power is None else facts.power >= limit("power_near"))
    bound: Bound = "memory" if name == "memory" else "compute" if name == "compute" else "link"
    # near the ridge, or with one of the two not recorded, it may as well be the other
    others = {"memory", "compute"} - {name}
    apart = facts.counted and all(facts.shares[other] < limit("binds") for other in others)
    sure = _sure(signs, clear=share >= limit("clear") and apart)
    return Verdict(
        bound=bound, why=name, confidence=sure, signs=signs.all,
        missing=() if facts.counted else ("counters",),
    )  # fmt: skip


def _host(facts: Facts) -> Verdict | None:
    """Gaps with so many requests running that they cannot be for want of any: before what those that wait wait for."""
    return _gaps(facts) if (facts.row.running or 0.0) >= limit("few_most") else None


def _gaps(facts: Facts) -> Verdict | None:
    """The device has no kernel for a part of the time that is more than any ceiling takes: for want of requests, or
    because the host does not launch them in time."""
    gap, row, top = facts.gap, facts.row, facts.top
    if gap is None or gap < limit("gaps") or row.running is None:
        return None
    if top is not None and top[1] >= limit("binds") and top[1] >= gap:
        return None
    few = facts.few and not _host_takes(facts)
    signs = _Signs().add("active", facts.active, True)
    for name, share in (("dram_active", facts.memory), ("tensor_active", facts.compute)):
        signs.add(name, getattr(row, name), None if share is None else share < limit("binds"))
    if few and not facts.waits:
        return _few(facts, signs)
    signs.add("running", row.running, not facts.few)
    signs.add("sm_active", row.sm_active, None if row.sm_active is None else row.sm_active < limit("sm_low"))
    clear = gap >= limit("wide_gaps")
    return Verdict(bound="launch", why="gaps", confidence=_sure(signs, clear=clear), signs=signs.all)


def _host_takes(facts: Facts) -> bool:
    """Whether arithmetic says that the host takes most of the time of the few tokens that there are."""
    step, by_step = facts.step, facts.by_step
    if step is None or not by_step:
        return False
    share = max(by_step.values())
    if step.as_expected and share >= limit("by_kernels"):
        return step.bound == "launch"
    return share < limit("binds")


def _few(facts: Facts, signs: _Signs) -> Verdict:
    row = facts.row
    signs.add("running", row.running, True).add(
        "waiting", row.waiting, None if row.waiting is None else row.waiting < 1
    )
    signs.add("kv_usage", row.kv_usage, None if row.kv_usage is None else row.kv_usage < limit("kv_empty"))
    clear = facts.gap is not None and facts.gap >= limit("wide_gaps")
    sure = _sure(signs, clear=clear)
    # with one request or more at any time a slow host leaves the same gaps, which more requests a step would share
    sure = sure if (row.running or 0.0) < 1 else _at_most(sure, _INDIRECT)
    missing = facts.untold
    if facts.active is not None and facts.active <= limit("idle") and (row.running or 0.0) >= 1:
        # requests that run all the time on a GPU without a kernel: another GPU's, or another time's
        return Verdict(bound="starved", why="elsewhere", confidence="low", signs=signs.all, missing=missing)
    return Verdict(bound="starved", why="few", confidence=sure, signs=signs.all, missing=missing)


def _low_and_few(facts: Facts) -> Verdict | None:
    """Nothing is used much, few requests run and none waits: more of them would use it, whatever else may."""
    row, top = facts.row, facts.top
    low = facts.counted and top is not None and top[1] < limit("binds")
    small = row.sm_active is not None and row.sm_active < limit("sm_low")
    if not low or small or not facts.few or facts.waits is not False:
        return None
    signs = _Signs().add("dram_active", row.dram_active, True).add("tensor_active", row.tensor_active, True)
    found = _few(
        facts, signs.add("active", facts.active, None if facts.active is None else facts.active < limit("wide_gaps"))
    )
    return msgspec.structs.replace(found, confidence="low", missing=(*found.missing, "profile"))


def _small_kernels(facts: Facts) -> Verdict | None:
    """There is always work, but neither memory nor tensor cores nor most multiprocessors have much to do."""
    row = facts.row
    busy = facts.active is not None and facts.active >= 1 - limit("gaps")
    # without that, so many requests that the device always has something to do
    asked = facts.active is None and row.sm_active is not None and (row.running or 0.0) >= limit("few_most")
    if not (busy or asked) or not facts.counted:
        return None
    if row.sm_active is not None and row.sm_active >= limit("sm_low"):
        return None
    signs = _Signs().add("active", facts.active, True).add("dram_active", row.dram_active, True)
    signs.add("tensor_active", row.tensor_active, True).add("sm_active", row.sm_active, True)
    signs.add("running", row.running, True if asked else None)
    clear = row.sm_active is not None and row.sm_active <= limit("sm_clear")
    # collectives that wait for one another keep a few multiprocessors busy too
    alone = row.sm_active is not None and facts.seen.devices == 1
    sure = _sure(signs, clear=clear and busy) if alone else "low"
    return Verdict(
        bound="launch", why="small-kernels", confidence=sure, signs=signs.all,
        missing=("profile",) if row.sm_active is not None else ("counters", "profile"),
    )  # fmt: skip


def _by_arithmetic(facts: Facts) -> Verdict | None:
    """No counters, but the step's arithmetic beside the measured time per token."""
    step, by_step = facts.step, facts.by_step
    if step is None or not by_step or facts.counted:
        return None
    name, share = max(by_step.items(), key=lambda one: one[1])
    signs = _Signs().add(step.timed_by, step.tpot_s, True, weak=step.timed_by in facts.seen.ever)
    signs.add("running", facts.row.running, True)
    names: dict[str, Bound] = {"memory": "memory", "compute": "compute", "link": "link", "launch": "launch"}
    if step.as_expected and share >= limit("by_kernels"):
        bound = names[step.bound]
        why = "as-expected"
    else:
        bound, why = (names[name], "below-expected") if share >= limit("binds") else ("launch", "beyond-arithmetic")
    signs.add(f"{name}_by_step", share, bound == name)
    sure = _at_most(_sure(signs, clear=share >= limit("binds")), _INDIRECT if why != "beyond-arithmetic" else "low")
    return Verdict(bound=bound, why=why, confidence=sure, signs=signs.all, missing=("counters",))


def _engine_alone(facts: Facts) -> Verdict | None:
    """Nothing of the device, but far fewer requests than the engine could run, and none that waits."""
    if facts.active is not None or facts.shares or not facts.few or facts.waits:
        return None
    found = _few(facts, _Signs())
    return msgspec.structs.replace(found, confidence=_at_most(found.confidence, _INDIRECT), missing=("counters",))


def _cannot_tell(facts: Facts) -> Verdict:
    """What there is, and what is missing."""
    row = facts.row
    signs = _Signs().add("active", facts.active, True).add("memory_util", row.memory_util, True)
    for name in ("sm_active", "dram_active", "tensor_active", "running", "waiting", "kv_usage"):
        signs.add(name, getattr(row, name), True)
    signs.add("power", facts.power, True)
    if row.running is None and facts.gap is not None and facts.gap >= limit("gaps"):
        return Verdict(bound=None, why="gaps-of-whom", signs=signs.all, missing=("engine",))
    if facts.counted:
        return Verdict(bound=None, why="nothing-full", signs=signs.all, missing=("profile",))
    half = facts.memory is not None or facts.compute is not None
    if facts.active is None and not half and facts.seen.queue_span is None:
        return Verdict(bound=None, why="blank", signs=signs.all, missing=("counters",))
    if facts.active is None and not half:
        return Verdict(bound=None, why="engine-only", signs=signs.all, missing=("counters", *facts.untold))
    return Verdict(bound=None, why="half" if half else "only-util", signs=signs.all, missing=("counters",))


def _sure(signs: _Signs, *, clear: bool) -> Confidence:
    """By how many values agree, and whether the deciding one is far from its threshold."""
    if signs.agree >= _MANY and clear:
        return "high"
    return "medium" if signs.agree >= _SOME else "low"


def _at_most(one: Confidence, other: Confidence) -> Confidence:
    return min(one, other, key=_LEVELS.index)


def lower(one: Confidence) -> Confidence:
    """One step less sure."""
    return _LEVELS[max(_LEVELS.index(one) - 1, 0)]


Rule = Callable[[Facts], Verdict | None]
# In their order: who has no load has no ceiling, a slow clock lowers every ceiling, what the engine lets in decides
# the batch, then what the device does with it; what is only arithmetic comes last.
_RULES: tuple[Rule, ...] = (
    _idle, _throttled, _capacity, _arithmetic, _host, _queue, _hardware, _gaps, _low_and_few, _small_kernels,
    _by_arithmetic, _engine_alone,
)  # fmt: skip
