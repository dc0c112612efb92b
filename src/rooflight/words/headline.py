"""An answer in one sentence: what is expected, between what, and the ceiling above it."""

from __future__ import annotations

from rooflight.units import round_significant, scaled, several
from rooflight.values.accelerator import devices_named
from rooflight.values.analysis import Analysis
from rooflight.values.run import Run
from rooflight.words.basis import inferred, interval

# What a resource is called as a ceiling.
CEILINGS = {
    "compute": "compute is the ceiling", "memory": "memory bandwidth is the ceiling",
    "link": "the link between devices is the ceiling", "launch": "launches and the host set the pace",
    "host_memory": "the host's memory is the ceiling", "host_link": "the link to the host is the ceiling",
}  # fmt: skip


def headline(analysis: Analysis, *, steps: bool = False) -> str:
    """One sentence. Of what does not fit, the first of the answer.

    steps   of decode steps at their context, not of the run: where a context is stated that no request of it has
    """
    run = None if analysis.run is None else analysis.runs.get(analysis.run)
    if run is None:
        return _parted(analysis.answer)[0]
    model = analysis.model.id.rpartition("/")[2]
    where = devices_named(analysis.accelerator.id, analysis.accelerator.count)
    got = _stepped(analysis) if steps else _got(analysis, run)
    return f"{model} ({analysis.deployment['weights']}) on {where}: {got}."


def footnote(analysis: Analysis) -> str:
    """What stands below the headline: of what measurements the expected times are, where none of this accelerator, and
    "" for one that was measured. Of what does not fit, the rest of the answer: what would."""
    if analysis.run is None:
        return _parted(analysis.answer)[1]
    clause = inferred(analysis)
    return f"{clause[0].upper()}{clause[1:]}." if clause else ""


def _parted(answer: str) -> tuple[str, str]:
    """The first sentence, and the others."""
    first, point, rest = answer.partition(". ")
    return first + point.strip(), rest


def _stepped(analysis: Analysis) -> str:
    """What a decode step takes."""
    decode, load = analysis.phases["decode"], analysis.workload
    span = decode.time_s
    return (
        f"a decode step of {load['batch']:,} at {several(load['context'] or 0, 'token')} of context takes "
        f"{scaled(span.expected, 's')}{interval(span)}, {scaled(span.ceiling, 's')} at best, where "
        f"{CEILINGS[decode.bound]}{_known(analysis)}"
    )


def _got(analysis: Analysis, run: Run) -> str:
    """What users get, and what binds it."""
    decode = analysis.phases.get("decode")
    if run.tpot_s is None or decode is None:
        prefill = analysis.phases.get("prefill")
        if run.ttft_s is None or prefill is None:
            return "nobody published a compute peak, so the time of a prompt cannot be told"
        got = f"an answer after {scaled(run.ttft_s.expected, 's')}{interval(run.ttft_s)}"
        return f"{got}, at best {scaled(run.ttft_s.ceiling, 's')}, where {CEILINGS[prefill.bound]}"
    batch = analysis.workload["batch"]
    users = f"each of {batch:,} users" if batch is not None and batch > 1 else "a user"
    rate, step = 1 / run.tpot_s.expected, analysis.phases.get("verify")
    kind, step = ("decode", decode) if step is None else ("verify", step)
    return (
        f"{users} gets a token every {scaled(run.tpot_s.expected, 's')}{interval(run.tpot_s)}, "
        f"{round_significant(rate)} a second; a {kind} step takes {scaled(step.time_s.ceiling, 's')} at best, where "
        f"{CEILINGS[step.bound]}{_known(analysis)}"
    )


def _known(analysis: Analysis) -> str:
    """Where a compute peak is missing, prompts are withheld, and of a step's ceilings that of compute is not known."""
    return "" if "prefill" in analysis.phases else " as far as is known"
