"""An analysis in words: the one sentence a colleague could repeat, and what was taken for granted."""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec

from rooflight.errors import NoSteadyState
from rooflight.numeric import is_plain
from rooflight.scenario.definite import Scenario, context_tokens
from rooflight.scenario.pools import prompts_on
from rooflight.serve.analyze import analyze
from rooflight.serve.hosted import host_holds
from rooflight.serve.offload import Offload
from rooflight.serve.remedy import remedy
from rooflight.serve.room import prefill_holds
from rooflight.serve.schedule import MakesRun, scheduled
from rooflight.span import Span
from rooflight.units import round_significant, scaled, several
from rooflight.values.analysis import Analysis, Phase
from rooflight.values.held import MemoryBlock
from rooflight.values.run import WholeRun
from rooflight.values.workload import Workload
from rooflight.words.basis import basis_clause, behind, interval
from rooflight.words.like import like_line
from rooflight.words.notes import worded
from rooflight.words.own import beside
from rooflight.words.seen import at_best
from rooflight.work.count import is_encoder
from rooflight.work.layout import Layout

_WORDS = {
    "compute": "compute-bound",
    "memory": "memory-bound",
    "link": "link-bound",
    "launch": "launch-bound",
    "host_memory": "bound by the host's memory",
    "host_link": "bound by the link to the host",
}
# An interval so many times as wide is told beside an expected time, even of a measured card.
_WIDE = 2.0
# What takes most of an expected time.
_TAKEN = {
    "compute": "arithmetic takes", "memory": "memory takes", "link": "links take",
    "launch": "launches and the host take",
    "host_memory": "the host's memory and the link to it take",
}  # fmt: skip


def analyzed(sc: Scenario, *, run: MakesRun = scheduled) -> Analysis:
    """The documented answer to a scenario: serve.analyze's numbers, by `run` its runs, with their words.

    Requests that arrive faster than they are finished are answered too: at one in flight, and that more is no answer.
    """
    try:
        found, missed = analyze(sc, run=run), None
    except NoSteadyState as error:
        bare = msgspec.structs.replace(sc, workload=msgspec.structs.replace(sc.workload, request_rate=None))
        found, missed = analyze(bare, run=run), error
    sc = msgspec.structs.replace(sc, workload=_in_flight(sc, found))
    sentence = answer(sc, found)
    return msgspec.structs.replace(
        found,
        answer=sentence if missed is None else f"{missed.what}. With one in flight: {sentence}",
        most_requests_per_s=None if missed is None else missed.most_per_s,
        assumptions=(*worded(sc.assumptions), *([] if found.model.like is None else [like_line(found.model.like)])),
        warnings=worded(sc.warnings),
    )


def _in_flight(sc: Scenario, found: Analysis) -> Workload:
    """The workload with the number in flight that the answer is of."""
    batch = found.workload["batch"]
    return msgspec.structs.replace(sc.workload, batch=batch)


def answer(sc: Scenario, found: Analysis) -> str:
    """Which ceiling binds each phase and the fastest it can go, and the run; or that it does not fit, because."""
    steps, held = found.phases, found.memory
    if not found.answered:
        return does_not_fit(sc, held)
    share = _share(sc, held)
    fit = "" if held.whole or "decode" not in steps else f"{does_not_fit(sc, held)} Ignoring that: "
    if sc.workload.osl == 0:
        said = "no token is put out" + ("" if held.whole else f", and {_too_many(sc, held)}")
    else:
        said = _decode(sc, steps["decode"]) if "decode" in steps else _too_many(sc, held)
    return (
        f"{fit}{sc.model.id} ({sc.weights} weights) on {sc.devices}: {said}; {_prefill(sc, steps.get('prefill'))}"
        f"{_others(sc, steps, found)}.{share}{_run(sc, found)}{beside(found)}"
    )


def _prefill(sc: Scenario, prefill: Phase | None) -> str:
    """What a prompt takes; or which fact is missing for it."""
    if prefill is None:
        forms = " or ".join(sc.unrated)
        return (
            f"prefill, first token and whole requests are withheld, for {sc.accelerator.id} has no published {forms} "
            f'peak (a [[fact]] with what = "peak", dtype = "{sc.unrated[0]}")'
        )
    where = f" on {prompts_on(sc).devices}" if sc.deployment.prefill_on is not None else ""
    return (
        f"prefill of {_prompts(sc.workload)}{where} is {bound_word(prefill)}, "
        f"{at_best(sc.accelerator)} {scaled(prefill.time_s.ceiling, 's')}{_texts(sc, prefill)}{_launches(prefill)}"
        f"{_expected(prefill)}"
    )


def _texts(sc: Scenario, prefill: Phase) -> str:
    """Of an encoder's batch, what it comes to: texts and tokens a second."""
    if not is_encoder(sc.model):
        return ""
    texts = sc.workload.prefill_batch / prefill.time_s.ceiling
    what = "scores" if sc.model.head is not None else "embeddings"
    tokens = round_significant(prefill.tokens_per_s.ceiling)
    return f" ({round_significant(texts)} {what}/s, {tokens} tok/s)"


def _share(sc: Scenario, held: MemoryBlock) -> str:
    """Where the default share leaves no room for one sequence: what one needs, and what was taken instead."""
    if held.share_needed is None or sc.deployment.ignore_capacity:
        return ""
    count = sc.layout.devices
    if held.share_needed > 1:
        return (
            f" It will hardly load: a program is given {scaled((sc.accelerator.given_bytes or 0) * count, 'B')} of "
            f"{scaled((sc.accelerator.most_bytes or 0) * count, 'B')}, too little for weights and one sequence; "
            "computed as if all were free."
        )
    share = math.ceil(1000 * held.share_needed) / 1000
    return (
        f" One sequence needs {OPTIONS[sc.share.of]} {share:g}, more than the default {sc.share.value:g}: computed "
        "with all of the memory."
    )


# Options of shares, by what they are of.
OPTIONS = {
    "total": "--gpu-memory-utilization", "before": "--mem-fraction-static", "after": "--free-gpu-memory-fraction",
    "none": "a share of",
}  # fmt: skip


def _decode(sc: Scenario, decode: Phase) -> str:
    rate, user = decode.tokens_per_s.ceiling, decode.time_s.ceiling
    load = sc.workload
    together = f"{round_significant(rate)} tok/s together"
    crowd = "" if load.batch == 1 else f" for each of {load.batch:,} sequences ({together})"
    known = " as far as is known" if sc.unrated else ""
    drafts = " without drafts" if is_plain(load.draft_tokens) and load.draft_tokens else ""
    return (
        f"decode{drafts} at {several(context_tokens(load), 'token')} of context is {bound_word(decode)}{known}, "
        f"{at_best(sc.accelerator)} {scaled(user, 's')} a token ({round_significant(1 / user)} tok/s){crowd}"
        f"{_fastest_host(sc)}"
        f"{_launches(decode)}{_expected(decode)}"
    )


def _fastest_host(sc: Scenario) -> str:
    """What a ceiling is beside, where nobody says which host computes: not the one that expected times assume."""
    assumed = any(note.key == "host_rate" for note in sc.assumptions)
    return " beside the fastest host there is" if assumed else ""


def bound_word(phase: Phase) -> str:
    """What binds, the network by its own name."""
    if phase.bound == "link" and phase.link_level == "network":
        return "network-bound"
    return _WORDS[phase.bound]


def _too_many(sc: Scenario, held: MemoryBlock) -> str:
    return f"{_of_all(sc, held)} fit at once, so the others wait"


def _of_all(sc: Scenario, held: MemoryBlock) -> str:
    """Of those asked for, how many do: of sequences, or where these do, of prompts that are prefilled together."""
    load = sc.workload
    if load.batch > held.most or load.prefill_batch <= load.batch:
        return f"of {load.batch:,} sequences at most {held.most:,}"
    return f"of {load.prefill_batch:,} prompts prefilled together not all"


def _expected(phase: Phase) -> str:
    """Where the expected time is mostly something else than what binds the ceiling."""
    there = phase.expected_bound == "host_memory" and phase.bound == "host_link"
    if there or phase.expected_bound == phase.bound:
        return ""
    taken = _TAKEN[phase.expected_bound]
    if phase.expected_bound == "link" and phase.link_level == "network":
        taken = "the network takes"
    return f", but of the {scaled(phase.time_s.expected, 's')} that are expected {taken} the largest part"


def _run(sc: Scenario, found: Analysis) -> str:
    """The run of the question, as expected: with its interval where that is wide or no measured card's, and why."""
    name = found.run or ""
    one = found.runs.get(name)
    if one is None:
        return ""
    own = found.calibration is not None and found.calibration.used
    unseen = basis_clause(found.expected_basis, sc.deployment.engine, own=own)
    wide = interval if unseen else _wide_interval
    token = None if one.tpot_s is None else f"{scaled(one.tpot_s.expected, 's')}{wide(one.tpot_s)}"
    if not isinstance(one, WholeRun):
        return f" Expected {_of_run(found, name)}: after the first a token every {token or ''}{behind(unseen)}."
    waits = ""
    if one.waiting >= 0.5 * one.running:
        waits = f"; {one.waiting:,.0f} of them wait for their turn or for the server"
    first = f"{scaled(one.ttft_s.expected, 's')}{wide(one.ttft_s) if token is None else ''}"
    if found.workload["osl"] == 0:
        all_ = "" if name == "alone" else f", {round_significant(one.requests_per_s.expected)} requests/s in all"
        return f" Expected {_of_run(found, name)}: a result after {first}{all_}{waits}{behind(unseen)}."
    then = "" if token is None else f", then one every {token}"
    rate = one.output_tokens_per_s.expected
    all_ = "" if name == "alone" else f", {round_significant(rate)} output tok/s in all"
    return f" Expected {_of_run(found, name)}: a first token after {first}{then}{all_}{waits}{behind(unseen)}."


def _wide_interval(span: Span) -> str:
    """The interval in brackets where the number alone would say too much; a measured card's is mostly narrow."""
    wide = span.low is not None and span.high is not None and span.high > _WIDE * span.low
    return interval(span) if wide else ""


def _of_run(found: Analysis, name: str) -> str:
    one = found.runs.get(name)
    pools = [] if one is None else [pool for pool in (one.prefill, one.decode) if pool is not None]
    stages = found.deployment.get("pp", 1)
    devices = sum(pool.workers * pool.tp * pool.dp for pool in pools) * (stages if isinstance(stages, int) else 1)
    return RUNS[name].format(batch=found.workload["batch"], devices=devices)


# A schedule, in the sentence about its run.
RUNS = {
    "alone": "of a request alone", "batch": "of {batch:,} started together",
    "served": "served with {batch:,} in flight",
    "apart": "with {batch:,} in flight, prefill and decode apart on {devices:,} accelerators",
}  # fmt: skip


def _others(sc: Scenario, phases: Mapping[str, Phase], found: Analysis) -> str:
    """Verify and mixed steps, where they were asked for."""
    load, said = sc.workload, ""
    if "verify" in phases:
        best = f"{scaled(phases['verify'].time_s.ceiling, 's')} {at_best(sc.accelerator)}"
        said += f"; verifying {load.draft_tokens} drafted tokens a sequence takes {best}"
        cycle = None if found.speculation is None else found.speculation.cycle_s
        if found.speculation is not None and cycle is not None:
            said += (
                f", with {found.speculation.draft}'s steps before it {scaled(cycle.ceiling, 's')} for "
                f"{found.speculation.tokens_per_cycle:.2f} tokens"
            )
    if "mixed" in phases:
        best = f"{scaled(phases['mixed'].time_s.ceiling, 's')} {at_best(sc.accelerator)}"
        said += f"; a decode step with {load.chunk_tokens:,} prompt tokens beside it takes {best}"
    return said


def _launches(phase: Phase) -> str:
    """Where launching binds: how long it takes, since the ceiling leaves it out (kernels can be fused)."""
    if phase.bound != "launch":
        return ""
    spent = scaled(phase.ceilings_s.launch, "s")
    return f" if all its kernels were fused, while launching {phase.launches:,.0f} of them takes {spent}"


def _prompts(load: Workload) -> str:
    new = load.isl - load.cached_prefix
    words = several(new, "token") if new == load.isl else f"{new:,} new of {several(load.isl, 'token')}"
    if load.media_tokens:
        kinds = (name for name, given in (("images", load.images), ("sound", load.audio_seconds)) if given)
        words += f" ({load.media_tokens:,} of {' and '.join(kinds)})"
    return words if load.prefill_batch == 1 else f"{load.prefill_batch:,} x {words}"


def does_not_fit(sc: Scenario, held: MemoryBlock) -> str:
    """Why it does not fit, and what would: more devices, or a narrower format."""
    return f"{too_big(sc, held)}. {_remedies(sc, held)}"


def too_big(sc: Scenario, held: MemoryBlock) -> str:
    """Why it does not fit: what is needed, what there is, and which part is too much."""
    if not prefill_holds(sc):
        worker = prompts_on(sc)
        return f"a prefill worker on {worker.devices} does not hold {sc.model.id} and a prompt of that length"
    if _host_is_full(held):
        return _host_too_small(sc, held)
    allowed = held.allowed_bytes or 0.0
    may = "an engine may use"
    if held.most < 1 and sc.share.stated:
        may = f"{OPTIONS[sc.share.of]} {sc.share.value:g} leaves"
    elif held.most < 1:  # not even the label in full, with nothing kept
        may = "there are at most"
    if held.most >= 1:
        cause = f"{_of_all(sc, held)} fit"
    elif held.weights_bytes < allowed:
        cause = f"the weights, {scaled(held.weights_bytes, 'B')}, leave no room for a sequence of that length"
    else:
        cause = f"the weights alone are {scaled(held.weights_bytes, 'B')}"
    return (
        f"{sc.model.id} does not fit on {sc.devices}: it needs {scaled(held.needed_bytes, 'B')}, {may} "
        f"{scaled(allowed, 'B')}; {cause}"
    )


def _host_is_full(held: MemoryBlock) -> bool:
    return held.host is not None and held.host.fits is False


def _host_too_small(sc: Scenario, held: MemoryBlock) -> str:
    """Why the host's memory does not hold what would lie there."""
    host, load = held.host, sc.workload
    if host is None or host.usable_bytes is None:
        return ""
    parts = [("weights", host.weights_bytes)] * bool(host.weights_bytes)
    parts += [(f"KV cache of {several(load.batch, 'sequence')}", host.kv_bytes)] * bool(host.kv_bytes)
    told = ", ".join(f"{name} {scaled(size, 'B')}" for name, size in parts)
    most = f"; of {load.batch:,} sequences at most {held.most:,} fit" if held.most >= 1 else ""
    return (
        f"{sc.model.id} does not fit beside {sc.devices}: of the host's memory it needs "
        f"{scaled(host.weights_bytes + host.kv_bytes, 'B')} ({told}), and there are {scaled(host.usable_bytes, 'B')}"
        f"{most}"
    )


def _remedies(sc: Scenario, held: MemoryBlock) -> str:
    """What would hold the scenario: another layout of these devices, more of them, a narrower format, the host."""
    if _host_is_full(held) and host_holds(sc):
        return "A host with more memory would hold it, or more of it on the devices, or shorter or fewer sequences."
    found = remedy(sc)
    if not prefill_holds(sc):
        return "More devices a prefill worker, another card or narrower weights would hold it."
    if not host_holds(sc):
        said = [] if found.host_bytes is None else [f"A host with {scaled(found.host_bytes, 'B')} would hold it"]
        if found.layout is not None:
            said.append(f"{_spelled(sc, found.layout)}, nothing of it on the host")
        if not said and not found.weights and not found.offloads:
            said = ["More memory on the host, or more or larger devices, would hold it"]
    elif found.unjoined:
        said = [f"How many {sc.accelerator.id} would hold it cannot be told: nothing is known of a link between them"]
    elif sc.accelerator.joined:
        said = ["Cards with more memory between them would hold it"]
    elif found.layout is None:
        said = [f"No layout of up to 1,024 {sc.accelerator.id} holds it"]
    else:
        said = [_spelled(sc, found.layout)]
    said += [f"--weights {found.weights} would fit on {sc.devices}"] if found.weights else []
    said += [_offloaded(sc, found.offloads)] if found.offloads else []
    return "; ".join(said) + "."


def _offloaded(sc: Scenario, ways: tuple[Offload, ...]) -> str:
    """The options that leave a part to the host, each with a token at best, and what the host's rate is taken for."""
    parts = {
        "n_gpu_layers": "{0.kept:,} of {0.layers:,} layers there, ",
        "n_cpu_moe": "the experts of {0.kept:,} of {0.layers:,} layers there, ",
        "cpu_offload_gb": "",
        "": "experts of all layers on the host, ",
    }
    options = (
        f"--{one.field.replace('_', '-')} {one.value} ({parts[_part(one)].format(one)}{at_best(sc.accelerator)} "
        f"{scaled(one.token_s, 's')} a token)"
        for one in ways
    )
    beside, rate = ways[0], scaled(ways[0].rate, "B/s")
    by = f"over a link of {rate}" if beside.field == "cpu_offload_gb" else f"with a host of {rate}"
    return f"{' or '.join(options)} would fit on {sc.devices} {by}{' (assumed)' if beside.assumed else ''}"


def _part(one: Offload) -> str:
    return one.field if one.kept or one.field != "n_cpu_moe" else ""


def _spelled(sc: Scenario, layout: Layout) -> str:
    degrees = {"tp": layout.tp, "pp": layout.pp, "dp": layout.dp, "ep": layout.ep}
    options = " ".join(f"--{name} {degree}" for name, degree in degrees.items() if degree > 1 or name == "tp")
    return f"{layout.devices} x {sc.accelerator.id} would hold it with {options}"
