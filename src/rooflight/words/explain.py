"""What follows from given values, in words: one sentence that says it, each value with its formula, and notes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rooflight.answers.explain.formula import rendered
from rooflight.answers.explain.report import Findings
from rooflight.answers.explain.solve import Clash, Step
from rooflight.errors import printable
from rooflight.scenario.definite import context_tokens
from rooflight.units import round_significant
from rooflight.values.accelerator import devices_named
from rooflight.values.explain import Derived, Explained, Given, Term
from rooflight.words.notes import worded
from rooflight.words.quantities import called, shown, unit
from rooflight.words.terms import listed

# Assumptions of a question that bytes and FLOP of a step have no part in.
_IDLE = frozenset(
    ("batch", "prefill_batch", "launch", "clock", "reserve", "engine_memory", "engine", "not_fitted", "at_edge",
     "kernel_fits", "own_tables", "max_num_batched_tokens", "max_num_seqs", "server", "attention", "state")
)  # fmt: skip
_POOL = frozenset(("memory_total", "memory_share", "memory", "memory_label"))
_OF_STEP = frozenset(("osl", "context"))
# Of what a load's values say, what the sentence names first, and how.
_RATES = {
    "requests_per_s": "{}", "output_tokens_per_s": "{} of output", "total_tokens_per_s": "{} in and out",
    "output_tokens_per_s_per_user": "{} per user", "tpot_s": "TPOT {}", "ttft_s": "TTFT {}",
    "request_s": "{} end to end", "in_flight": "{} in flight", "decoding": "{} decoding at once", "itl_s": "ITL {}",
    "tokens_per_chunk": "{} a chunk", "request_s_per_output_token": "{} end to end per output token",
    "output_tokens_per_s_per_accelerator": "{} of output per accelerator", "isl": "{} in", "osl": "{} out",
    "total_tokens_per_s_per_accelerator": "{} in and out per accelerator", "input_tokens_per_s": "{} in",
    "prefill_tokens_per_s": "{} of prefill", "accelerators": "{} accelerators",
}  # fmt: skip
_MOST_NAMED = 8


def of_term(one: Term) -> Explained:
    """A term that was asked for."""
    return Explained(answer=f"{one.title}: {_small(one.means)}", term=one)


def of_none() -> Explained:
    """Every term there is."""
    every = listed()
    answer = (
        f"{len(every)} terms are explained: rooflight explain TERM, where TERM is one of them or a tool's own name for "
        "it; values given by options are turned into those that follow from them."
    )
    return Explained(answer=answer, terms=every)


def _small(text: str) -> str:
    """A sentence behind a colon; DRAM and SM stay as they are."""
    return text if text[:2].isupper() else text[0].lower() + text[1:]


def told(found: Findings) -> Explained:
    """The documented answer to values."""
    values = found.values
    derived = [_looked(found, name, value) for name, value in found.looked_up.items()]
    derived += [_followed(step, values) for step in found.steps]
    return Explained(
        answer=" ".join(_sentences(found)),
        given=tuple(Given(name=name, value=value, unit=unit(name)) for name, value in found.given.items()),
        derived=tuple(derived), possible=not found.clashes and not _impossible(found), notes=tuple(_notes(found)),
    )  # fmt: skip


def _impossible(found: Findings) -> bool:
    """Faster than physics allows; of a measured machine its own record is no limit."""
    measured = found.card is not None and found.card.measured is not None
    return not measured and any(name.endswith("of_ceiling") for name in found.beyond)


def _looked(found: Findings, name: str, value: float) -> Derived:
    rate = name in ("memory_bytes_per_s", "peak_flop_per_s", "measured_bytes_per_s", "measured_flop_per_s")
    if rate:
        source = f"of {_devices(found)}"
        source += f", {found.form}" if "flop" in name else ""
    else:
        counted = {"accelerators": "as stated", "decoding": "assumed", "kv_tokens": "as analyze has it"}
        source = counted.get(name, "counted of the model")
    return Derived(name=name, value=value, unit=unit(name), what=called(name), formula="", numbers=source)


def _followed(step: Step, values: Mapping[str, float]) -> Derived:
    name, formula = step.relation.target, step.relation.formula
    return Derived(
        name=name, value=step.value, unit=unit(name), what=called(name), formula=rendered(formula, called),
        numbers=_numbers(formula, values),
    )  # fmt: skip


def _numbers(formula: str, values: Mapping[str, float]) -> str:
    return rendered(formula, lambda name: shown(name, values[name]))


def _devices(found: Findings) -> str:
    if found.card is None:
        return ""
    return devices_named(found.card.id, found.devices)


def _sentences(found: Findings) -> Iterator[str]:
    said = [*_clashes(found), *_step(found), *_prefill(found), *_counters(found), *_kernel(found), *_rates(found)]
    if said:
        yield from said
    else:
        given = ", ".join(f"{called(name)} {shown(name, value)}" for name, value in found.given.items())
        yield f"Nothing follows from {given or 'this'} alone." if given else "Nothing was given to work out."


def _clashes(found: Findings) -> Iterator[str]:
    values = found.values
    for clash in found.clashes:
        yield f"These values cannot be together: {_clash(clash, values)}."


def _clash(clash: Clash, values: Mapping[str, float]) -> str:
    name, formula = clash.relation.target, clash.relation.formula
    made = shown(name, clash.made)
    said = f"{called(name)} = {rendered(formula, called)} = {_numbers(formula, values)} = {made}"
    return said if clash.stated is None else f"{said}, not {shown(name, clash.stated)}"


def _got(found: Findings, *names: str) -> list[str]:
    """Values as they are shown, of those that are there."""
    values = found.values
    return [shown(name, values[name]) for name in names if name in values]


def _is(found: Findings, share: str, word: str) -> str:
    """` = MBU 77 %`, where it is known."""
    value = found.values.get(share)
    return "" if value is None else f" = {word} {shown(share, value)}"


def _step(found: Findings) -> Iterator[str]:
    sc, values = found.scenario, found.values
    if sc is None or not found.stepped:
        return
    batch, context = sc.workload.batch, context_tokens(sc.workload)
    what = "verify step" if sc.workload.draft_tokens else "decode step"
    if sc.draft is not None:
        what += f" and {printable(sc.draft.own.model.id)}'s draft steps before it"
    many = "1 sequence" if batch == 1 else f"{batch:,} sequences"
    weights, cache, flop = _got(found, "weight_bytes", "kv_bytes", "flop")
    yield (
        f"{printable(sc.model.id)} ({sc.weights} weights) on {sc.devices}: a {what} of {many} at {context:,g} "
        f"tokens of context streams {weights} of weights and {cache} of KV cache and computes {flop}"
        + ("" if sc.rates.beside is None else " on the devices, beside what lies on the host")
        + (f"{_speed(found)}." if "step_s" in values else f"; {_least(found)} {_got(found, 'ceiling_s')[0]}.")
    )
    if found.crowd:
        rate = _got(found, "output_tokens_per_s")[0]
        yield (
            f"One sequence alone cannot give {rate}: several decoded at once, and what their steps stream depends on "
            "how many. State the batch, or the time per token beside the rate."
        )
    measured = _of_measured(found, "of_measured_bandwidth", "of_measured_peak")
    if "step_s" in values and measured:
        yield measured
    if "of_ceiling" in found.beyond:
        yield f"That is {_faster(found)}: {_least(found)} {_got(found, 'ceiling_s')[0]} a step."


def _speed(found: Findings) -> str:
    time, moved, computed = _got(found, "step_s", "bytes_per_s", "flop_per_s")
    rate = _got(found, "output_tokens_per_s")
    of_all = f" ({rate[0]})" if rate else ""
    return f"; in {time}{of_all} that is {moved}{_is(found, 'mbu', 'MBU')}, and {computed}{_is(found, 'mfu', 'MFU')}"


def _least(found: Findings) -> str:
    measured = found.card is not None and found.card.measured is not None
    return "the fastest seen here is" if measured else "it takes at least"


def _faster(found: Findings) -> str:
    measured = found.card is not None and found.card.measured is not None
    return "faster than this machine was measured" if measured else "faster than physics allows"


def _of_measured(found: Findings, bandwidth: str, peak: str) -> str:
    values = found.values
    said = [f"{shown(bandwidth, values[bandwidth])} of the bandwidth"] if bandwidth in values else []
    said += [f"{shown(peak, values[peak])} of the peak"] if peak in values else []
    return f"That is {' and '.join(said)} measured there." if said else ""


def _prefill(found: Findings) -> Iterator[str]:
    sc, values = found.scenario, found.values
    if sc is None or not found.prefilled or "prefill_s" not in values:
        return
    tokens, flop, time, rate = _got(found, "prefill_tokens", "prefill_flop", "prefill_s", "prefill_flop_per_s")
    front = "" if found.stepped else f"{printable(sc.model.id)} ({sc.weights} weights) on {sc.devices}: "
    the = "The" if found.stepped else "the"
    yield (
        f"{front}{the} prefill of {tokens} computes {flop}; in {time} that is {rate}{_is(found, 'prefill_mfu', 'MFU')}."
    )
    measured = _of_measured(found, "", "prefill_of_measured_peak")
    if measured:
        yield measured
    if "prefill_of_ceiling" in found.beyond:
        yield f"That is {_faster(found)}: {_least(found)} {_got(found, 'prefill_ceiling_s')[0]}."


def _counters(found: Findings) -> Iterator[str]:
    values, on = found.values, _devices(found)
    if "dram_bytes_per_s" in values:
        share, rate, moved = _got(found, "dram_active", "memory_bytes_per_s", "dram_bytes_per_s")
        yield f"DRAM active {share} of {on}'s {rate} is {moved}."
    if "counted_step_s" in values:
        yield f"At that rate the bytes of a step take {_got(found, 'counted_step_s')[0]}."
    if "tensor_flop_per_s" in values:
        share, peak, most = _got(found, "tensor_active", "peak_flop_per_s", "tensor_flop_per_s")
        yield f"Tensor active {share} of {on}'s {peak} ({found.form}) is at most {most}."
    if "most_flop_per_s" in values:
        share, peak, most = _got(found, "sm_active", "peak_flop_per_s", "most_flop_per_s")
        yield (
            f"SM active {share} says that no more than {most} of {on}'s {peak} ({found.form}) can have been computed; "
            "of bandwidth it says nothing, for a multiprocessor that waits for memory is active."
        )
    if "gpu_util" in values:
        share, idle = _got(found, "gpu_util", "idle")
        yield (
            f"GPU utilisation {share} says only that some kernel ran for {share} of the time and none for {idle}: "
            "neither bandwidth nor FLOP/s follow from it."
        )
    if "cached_tokens" in values:
        share, tokens, held = _got(found, "kv_cache_usage", "kv_tokens", "cached_tokens")
        yield f"KV cache usage {share} of the {tokens} that the pool holds is {held} cached."


def _kernel(found: Findings) -> Iterator[str]:
    values, on = found.values, _devices(found)
    if "kernel_bytes_per_s" in values:
        moved, time, rate = _got(found, "kernel_bytes", "kernel_s", "kernel_bytes_per_s")
        share = _got(found, "kernel_of_bandwidth")
        of = f", {share[0]} of {on}'s {_got(found, 'memory_bytes_per_s')[0]}" if share else ""
        yield f"{moved} in {time} are {rate}{of}."
    if "kernel_flop_per_s" in values:
        flop, time, rate = _got(found, "kernel_flop", "kernel_s", "kernel_flop_per_s")
        share = _got(found, "kernel_of_peak")
        of = f", {share[0]} of {on}'s {_got(found, 'peak_flop_per_s')[0]} ({found.form})" if share else ""
        yield f"{flop} in {time} are {rate}{of}."
    if "attainable_flop_per_s" in values:
        yield _roof(found, on)
        yield from _levels(found)
    if "measured_attainable_flop_per_s" in values:
        yield _measured_roof(found, on)
    elif not found.given and found.scenario is None:
        yield from _bare(found, on)
    measured = _of_measured(found, "kernel_of_measured_bandwidth", "kernel_of_measured_peak")
    if measured:
        yield measured
    if "kernel_s" not in values:
        least = _got(found, "kernel_least_s") or _got(found, "kernel_memory_s") or _got(found, "kernel_compute_s")
        if least:
            what = " and ".join(_got(found, "kernel_bytes", "kernel_flop"))
            yield f"{what} take at least {least[0]} on {on}."


def _bare(found: Findings, on: str) -> Iterator[str]:
    """A machine by itself: its rates, as printed or else as measured."""
    for front, pair in (("memory", ("memory_bytes_per_s", "peak_flop_per_s")),
                        ("measured", ("measured_bytes_per_s", "measured_flop_per_s"))):  # fmt: skip
        rates = _got(found, *pair)
        ridge = _got(found, "ridge_flop_per_byte") if front == "memory" else []
        if rates:
            turns = f", so the ridge point is {ridge[0]}" if ridge else ""
            form = f" in {found.form}" if len(rates) > 1 else ""
            yield f"{on}{' as measured' if front == 'measured' else ''}: {' and '.join(rates)}{form}{turns}."
            return


def _measured_roof(found: Findings, on: str) -> str:
    """What an intensity attains by the rates that were measured."""
    values = found.values
    below = values["intensity_flop_per_byte"] < values["measured_ridge_flop_per_byte"]
    intensity, ridge, most = _got(
        found, "intensity_flop_per_byte", "measured_ridge_flop_per_byte", "measured_attainable_flop_per_s"
    )
    side = "below" if below else "at or above"
    return (
        f"As measured {on} attains {most} in {found.form} at {intensity}, {side} the measured ridge point of {ridge}: "
        f"{'memory' if below else 'arithmetic'} binds."
    )


def _roof(found: Findings, on: str) -> str:
    values = found.values
    below = values["intensity_flop_per_byte"] < values["ridge_flop_per_byte"]
    intensity, ridge, most, share = _got(
        found, "intensity_flop_per_byte", "ridge_flop_per_byte", "attainable_flop_per_s", "of_peak"
    )
    side = "below" if below else "at or above"
    binds = "memory binds" if below else "arithmetic binds"
    of = (
        ""
        if "kernel_of_roof" not in values
        else f"; {shown('kernel_of_roof', values['kernel_of_roof'])} of that was reached"
    )
    return (
        f"At {intensity} {on} attains at most {most} in {found.form} ({share} of the peak): that is {side} the ridge "
        f"point of {ridge}, so {binds}{of}."
    )


def _levels(found: Findings) -> Iterator[str]:
    """What a stated intensity attains out of other levels of memory than the device's own."""
    values = found.values
    if found.card is None or "intensity_flop_per_byte" not in found.given:
        return
    most = {
        level.name: min(
            values["peak_flop_per_s"], values["intensity_flop_per_byte"] * level.bytes_per_s * found.devices
        )
        for level in found.card.levels
    }
    if most:
        rates = ", ".join(f"{name} {shown('attainable_flop_per_s', rate)}" for name, rate in most.items())
        yield f"Out of other levels of memory it attains at most: {rates}."


def _rates(found: Findings) -> Iterator[str]:
    made = {step.relation.target: step.value for step in found.steps}
    about = [name for name in _RATES if name in made]
    if "step_s" in found.values:  # the step said the others
        about = [name for name in ("in_flight", "decoding", "request_s", "ttft_s") if name in made]
    if not about:
        return
    said = ", ".join(_RATES[name].format(shown(name, made[name])) for name in about[:_MOST_NAMED])
    given = ", ".join(_RATES[name].format(shown(name, value)) for name, value in found.given.items() if name in _RATES)
    yield f"{given} make {said}."


def _notes(found: Findings) -> Iterator[str]:
    values = found.values
    for note in found.notes:
        if note.key == "explain_alone":
            yield "batch not stated: one sequence, so that a token is the time of a step; --batch says another"
        elif note.key == "explain_batch":
            yield f"batch of the step: {note.value:,}, as rate and time per token make it"
        elif note.key == "explain_format" and note.value:
            yield f"format not stated: the peak is that of {note.value}; --compute says another"
    yield from _cautions(found)
    card, sc = found.card, found.scenario
    if card is not None and card.measured is not None and "memory_bytes_per_s" not in values:
        yield f"no datasheet of {card.id} is known, so there is no MBU and no MFU: shares are of what was measured"
    elif card is not None and not found.form:
        yield f"{card.id} has no published peak for this format, so nothing is said of its arithmetic"
    if found.several:
        yield "the step multiplies in several formats: MFU takes the FLOP of each at its own peak"
    if sc is not None:
        idle = _IDLE if "kv_tokens" in values else _IDLE | _POOL
        idle |= frozenset() if found.stepped else _OF_STEP
        yield from worded(note for note in sc.assumptions if note.key not in idle)


def _cautions(found: Findings) -> Iterator[str]:
    values, given = found.values, found.given
    if "itl_s" in given and "tpot_s" not in values:
        yield "ITL is per chunk: how many tokens a chunk carries (--tokens-per-chunk) turns it into TPOT"
    if found.prefilled and "ttft_s" in given:
        yield "a first token holds the wait in the queue and the server's own time too: the prefill was no slower"
    if any(one.relation.formula == "decoding / output_tokens_per_s" for one in found.steps) and "decoding" in given:
        yield "as if every sequence decoded all of the time: prefill takes its part of a server's"
    if "decoding" in values and "in_flight" in given and "ttft_s" not in given and "ttft_s" in values:
        yield (
            f"batch, rate and time are together only if each request waits {shown('ttft_s', values['ttft_s'])} for its "
            "first token"
        )
    if "dram_active" in given and "dram_bytes_per_s" not in values:
        yield "a counter is a share of a machine's rate: --on names the machine"
    if values.get("kernel_of_bandwidth", 0.0) > 1:
        yield "more than the memory's bandwidth: a part of the bytes came from a cache"
    for name in ("mfu", "prefill_mfu", "kernel_of_peak"):
        if name in found.beyond:
            yield f"{called(name)} above 100 %: more than the datasheet's dense peak, as with a sparse or other format"


def example(one: Term) -> str:
    """The worked number of a term, as a person reads it."""
    if not one.example:
        return ""
    formula, _, value = one.example.partition("=")
    return f"{rendered(formula.strip(), str)} = {round_significant(float(value), 4)} {one.example_words}"
