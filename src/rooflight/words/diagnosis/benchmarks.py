"""A recorded run beside its prediction, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rooflight.answers.check.outcome import Judged
from rooflight.answers.diagnose.benchmarks import BenchmarksFound, RunFound
from rooflight.answers.diagnose.timed.beside import Beside
from rooflight.errors import printable
from rooflight.units import round_significant, scaled, to_base
from rooflight.values.diagnosis import Next, Told
from rooflight.words.diagnosis.figures import evidence, expected, step_words
from rooflight.words.diagnosis.oddities import number, odd_words
from rooflight.words.diagnosis.series import FEWER, NAME, SAY, WITHOUT, bound_words, percent
from rooflight.words.verdicts import verdict

_MS = to_base(1, "ms")
# What frees the time that no ceiling takes.
_GRAPHS = "CUDA graphs on (or the like), the host's work beside the device's; a profile shows the gaps"
_HOST = {
    "cpu": "one thread a core, pinned, on one memory node, and kernels for this format and these cores; a profile "
    "shows which take the time",
}  # fmt: skip
# As fast as expected within that, where no interval says how near that is.
_ALIKE = 1.1
# So many times as fast as expected wants a reason.
_FAST = 1.5
# What says how much a step reads of the cache.
_LENGTHS = "--isl TOKENS --osl TOKENS (or --context TOKENS)"
# Of a run's own name.
_LONGEST = 120
# Other runs of the same files that get a sentence of their own.
_MOST = 6


def told(found: BenchmarksFound) -> Told:
    """The run that the verdict is of, its figures beside the prediction, and what the other runs say."""
    first, others = found.runs[0], found.runs[1 : 1 + _MOST]
    several = len(found.runs) > 1
    notes = [odd_words(odd) for odd in first.odd if odd.kind != "perhaps total"]  # which is in the answer
    telling = [one for one in others if one.said != "skipped" and (one.said != first.said or one.odd)]
    notes += [f"{_name(one)}: {sentence(one)}" for one in telling]
    notes += [f"{_name(one)}: {odd_words(odd)}" for one in others for odd in one.odd]
    if first.lengths_open and first.beside is not None and first.said != "length":
        notes.append("no length is stated: the prediction is of an empty cache, and a longer one takes longer")
    if found.unplaced:
        notes.append(f"{found.unplaced:,} more runs are not set beside a prediction")
    answer = sentence(first)
    return Told(
        answer=f"{_name(first)}: {answer}" if several and _name(first) else answer,
        evidence=tuple(evidence(first)), next=tuple(_next(first)), notes=tuple(dict.fromkeys(notes)),
    )  # fmt: skip


def sentence(one: RunFound) -> str:
    """What a run says."""
    return _SAID[one.said](one)


def _name(one: RunFound) -> str:
    """What tells a run from the others: its name, else its lengths and how many were in flight."""
    run = one.run
    parts = {"in": run.isl, "out": run.osl, "in flight": one.in_flight}
    return printable(run.name)[:_LONGEST] or ", ".join(
        f"{round_significant(value)} {what}" for what, value in parts.items() if value
    )


def _load(one: RunFound) -> str:
    """How many were in flight, or came."""
    if one.in_flight is None:
        return "with an unknown number in flight"
    whole = one.in_flight == int(one.in_flight)
    said = f"with {f'{one.in_flight:,.0f}' if whole else round_significant(one.in_flight)} in flight"
    off = next((odd for odd in one.odd if odd.kind == "in flight"), None)
    return said if off is None else f"{said} (by rate and times, not the {number(off.first)} that were set)"


def _beyond(one: RunFound) -> str:
    beside = one.beside
    judged = [each for _, each in beside.judged if isinstance(each, Judged) and each.above] if beside else []
    reason = verdict(judged[0]).reason if judged else "a figure is faster than its ceiling"
    return f"Which ceiling binds cannot be told from figures that cannot be: {reason}."


def _overload(one: RunFound) -> str:
    asked, kept = round_significant(one.asked_per_s or 0), round_significant(one.kept_per_s or 0)
    what = "The KV cache's capacity binds" if one.bound == "capacity" else "A queue binds"
    said = f"{what}: {asked} requests a second come and {kept} are finished, so ever more wait"
    if one.waiting and one.decoding:
        waiting, running = round_significant(one.waiting, 2), round_significant(one.decoding, 2)
        said += f" ({waiting} in the mean, beside {running} that run)"
    return f"{said}{_most(one)}."


def _most(one: RunFound) -> str:
    beside = one.beside
    if beside is None or beside.most_per_s is None:
        return ""
    return f"; the deployment is expected to finish {round_significant(beside.most_per_s)} at most"


def _queue(one: RunFound) -> str:
    run = one.run
    first = scaled(run.ttft_s or 0, "s")
    said = f"A queue binds: of the {first} to the first token"
    if one.prefill_s is not None and one.queue_s is not None:
        said += f" {scaled(one.queue_s, 's')} are waiting and {scaled(one.prefill_s, 's')} the prompt's own prefill"
    else:
        said += " most is waiting"
    return f"{said}{_slots(one)}."


def _prompts(one: RunFound) -> str:
    share = percent(min(one.prompt_share or 0, 1))
    first = scaled(one.run.ttft_s or 0, "s")
    return (
        f"Arithmetic binds, that of prompts: their prefill takes {share} of the time at the expected speed, so others "
        f"wait for it: {scaled(one.queue_s or 0, 's')} of the {first} to the first token{_slots(one)}."
    )


def _uncounted(one: RunFound) -> str:
    token = f" ({scaled(one.run.token_s, 's')} a token)" if one.run.token_s else ""
    said = f"Which ceiling binds cannot be told: nothing says how many requests were in flight{token}"
    times = [each for metric, each in one.beside.judged if metric == "tpot_ms"] if one.beside else []
    if not times or not isinstance(times[0], Judged):
        return f"{said}."
    span = times[0].span
    expected, least = scaled(span.expected * _MS, "s"), scaled(span.ceiling * _MS, "s")
    return f"{said}; one alone is expected to take {expected}, and {least} at least."


def _room(one: RunFound) -> str:
    held = round_significant(one.room or 0, 2)
    first = scaled(one.run.ttft_s or 0, "s")
    waits = f": {scaled(one.queue_s, 's')} of the {first} to the first token are waiting" if one.queue_s else ""
    return f"The KV cache's capacity binds: it holds about {held} such sequences{waits}{_slots(one)}."


def _slots(one: RunFound) -> str:
    """What runs, what waits, and how fast it clears."""
    parts = []
    if one.decoding is not None and one.in_flight is not None:
        run, all_ = round_significant(one.decoding, 2), round_significant(one.in_flight)
        parts.append(f"about {run} of {all_} in flight run")
    if one.limit is not None:
        parts.append(f"the engine lets {round_significant(one.limit)} run")
    per_s = one.kept_per_s or (one.run.rate / one.run.osl if one.run.rate and one.run.osl else None)
    if per_s:
        parts.append(f"{round_significant(per_s)} requests a second are finished")
    return f" ({', '.join(parts)})" if parts else ""


def _starved(one: RunFound) -> str:
    kept = round_significant(one.kept_per_s or 0)
    knee = f", where output bends at {one.beside.knee:,}" if one.beside and one.beside.knee else ""
    return (
        f"Too few requests come: {kept} a second keep {round_significant(one.in_flight or 0, 2)} in flight{knee}"
        f"{_most(one)}. The machine is not what limits output."
    )


def _bound(one: RunFound) -> str:
    beside = one.beside
    if beside is None or one.bound is None:
        return _unplaced(one)
    what = "of the prompts" if beside.prompts else f"of the decode step {_load(one)}"
    slow = beside.slow or 1
    if beside.within or 1 / _ALIKE <= slow <= _ALIKE:
        how = "as fast as a well-run engine is expected to be"
    elif slow > 1:
        how = f"{slow:.2g} times as slow as a well-run engine is expected to be"
    else:
        how = f"{1 / slow:.2g} times as fast as is expected"
        how += ", as with drafts or a narrower format that nobody stated" if slow < 1 / _FAST else ""
    said = expected(beside)
    how += f" ({said})" if said else ""
    return f"{bound_words(one.bound)}, by the prediction {what}; the run is {how}{_roof(one, ', at')}."


def _roof(one: RunFound, before: str) -> str:
    """How near its ceiling the run is: that of its own step where tokens are timed, else the roofline."""
    beside = one.beside
    if beside is None or beside.of_roof is None:
        return ""
    if beside.of_step is not None:
        return f"{before} {percent(beside.of_step)} of the speed of its step's ceiling ({step_words(beside)})"
    if beside.within and beside.of_ceiling is not None and beside.of_roof > 1:  # narrower arithmetic than the roof's
        return f"{before} {percent(beside.of_ceiling)} of the ceiling's speed"
    return f"{before} {percent(beside.of_roof)} of the roofline's speed"


def _length(one: RunFound) -> str:
    beside = one.beside
    token = scaled(one.run.token_s or 0, "s")
    empty = scaled(beside.step.span.expected, "s") if beside and beside.step else "less"
    cached = round_significant(beside.cached_tokens or 0, 2) if beside else "some"
    return (
        f"Which ceiling binds cannot be told: no length is stated. {_load(one)[0].upper()}{_load(one)[1:]} a token "
        f"takes {token}, where {empty} are expected with an empty cache; reading {cached} cached tokens of each "
        "sequence would explain the rest, and so would the host."
    )


def _slow(one: RunFound) -> str:
    beside = one.beside
    times = round_significant(beside.slow, 2) if beside is not None and beside.slow is not None else "many"
    roof = _roof(one, " and at")
    what = "host and launches bind it, or kernels far below the roof do"
    if one.bound != "launch" and one.bound is not None:
        what = f"what would bind is {_THING.get(one.bound, one.bound)}"
    return f"No ceiling of the machine is reached: the run is {times} times as slow as expected{roof}, so {what}."


def _far(one: RunFound) -> str:
    beside = one.beside
    return (
        f"No ceiling of the machine is near, {_load(one)}: the run is{_roof(one, ' at')}, about as "
        f"engines are there; {_rest(beside)} take the rest."
    )


def _rest(beside: Beside | None) -> str:
    """What takes time that no ceiling explains: exchanges too, where several devices share a step."""
    split = beside is not None and beside.step is not None and beside.step.exchange_s > 0
    return f"host, launches{', exchanges between devices' if split else ''} and kernels below the roof"


def _fast(one: RunFound) -> str:
    beside = one.beside
    slow = beside.slow if beside and beside.slow else 1
    said = f"the run is {round_significant(1 / slow, 2)} times as fast as expected {_load(one)}, above its roofline"
    total = next((odd for odd in one.odd if odd.kind == "perhaps total"), None)
    open_ = [each for _, each in one.beside.judged if each.verdict == "cannot-judge"] if one.beside else []
    if open_ and isinstance(open_[0], Judged) and one.cannot_tell and total is None:
        return f"Which ceiling binds cannot be told: {said}; {verdict(open_[0]).reason}."
    if total is not None:
        said += f"; {odd_words(total)}"
    if one.cannot_tell or one.bound is None:
        return f"Which ceiling binds cannot be told: {said}."
    return f"{bound_words(one.bound)} if the figures are what their names say: {said}."


def _unplaced(one: RunFound) -> str:
    run = one.run
    said = [f"{scaled(run.ttft_s, 's')} to the first token"] if run.ttft_s else []
    said += [f"{scaled(run.token_s, 's')} a token"] if run.token_s else []
    said += [f"{scaled(run.request_s, 's')} a request"] if run.request_s and not run.token_s else []
    said += [f"{round_significant(run.rate)} output tokens/s of all"] if run.rate else []
    whole = run.request_s or (run.ttft_s or 0.0) + (run.token_s or 0.0) * max((run.osl or 1) - 1, 0)
    if run.ttft_s and whole > run.ttft_s:
        said.append(f"{percent(run.ttft_s / whole)} of a request over before its first token")
    figures = f", {', '.join(said)}" if said else ""
    return f"Which ceiling binds cannot be told {WITHOUT}: a run {_load(one)}{figures}."


def _unfollowed(one: RunFound) -> str:
    stated = one.run.record.stated
    names = ("weights", "kv_cache", "device", "tp", "pp", "ep", "dp")
    said = ", ".join(f"{name} {value}" for name in names if (value := getattr(stated, name)) is not None)
    how = f": {printable(said)[:_LONGEST]}" if said else ""
    return f"Which ceiling binds cannot be told: that run cannot be predicted as it was recorded{how}."


def _open(one: RunFound) -> str:
    if one.room is not None and one.room < 1:
        return (
            f"Which ceiling binds cannot be told: not one such sequence fits into memory, {_load(one)}, so the "
            "formats, the accelerators or their number are others than was said."
        )
    return f"Which ceiling binds cannot be told: what was measured is nothing that is predicted for a run {_load(one)}."


def _drafts(one: RunFound) -> str:
    what = bound_words(one.bound) if one.bound else "A ceiling binds"
    return (
        f"{what}, by the prediction of a step without drafts; drafts were used, so times are per accepted token and "
        "say nothing of a step without their number."
    )


_THING = {
    "memory": "memory bandwidth", "compute": "arithmetic", "link": "the link between devices", "launch": "the host",
    "host_memory": "the host's memory",
}  # fmt: skip
_SAID: dict[str, Callable[[RunFound], str]] = {
    "beyond": _beyond, "overload": _overload, "queue": _queue, "room": _room, "starved": _starved, "prompts": _prompts,
    "uncounted": _uncounted, "bound": _bound, "length": _length,
    "slow": _slow, "far": _far, "fast": _fast, "unplaced": _unplaced, "unfollowed": _unfollowed,
    "skipped": _open, "open": _open,
    "drafts": _drafts, "": _unplaced,
}  # fmt: skip


def _next(one: RunFound) -> Iterator[Next]:
    if one.cannot_tell:
        if one.said in ("unplaced", ""):
            yield NAME
        elif one.said == "length":
            yield Next(what="say how long prompts and answers are, or how many tokens are cached", command=_LENGTHS)
        elif one.said in ("beyond", "fast") or (one.room is not None and one.room < 1):
            yield SAY
        else:
            yield Next(what="record time to first token, time per token, lengths and requests in flight of one run")
    elif one.said == "starved":
        yield Next(what="send more requests, or give the machine other work")
    elif one.bound == "queue":
        yield Next(what="more sequences at once (max_num_seqs, parallel slots), or another replica")
    elif one.bound == "capacity":
        yield Next(what="a narrower KV cache, shorter contexts, or no more in flight than memory holds")
    elif one.bound == "launch":
        kind = one.beside.scenario.accelerator.kind if one.beside else "gpu"
        yield Next(
            what=_HOST.get(kind, "launches as graphs, the host's work beside the device's; a profile shows the gaps")
        )
    elif one.bound == "host_memory":
        yield Next(what="more layers or experts on the devices, narrower weights, or a host with more memory channels")
    elif one.bound == "memory":
        yield FEWER
    elif one.bound == "compute":
        yield Next(what="a format with a higher peak, a prefix cache, or more devices")
    elif one.bound == "link":
        yield Next(what="replicas in place of a higher tensor-parallel degree, where a device holds the model")
