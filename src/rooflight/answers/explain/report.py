"""Everything that follows from the values that were given, with or without a model and a machine."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import msgspec

from rooflight.answers.explain import facts
from rooflight.answers.explain.formula import names
from rooflight.answers.explain.relations import COUNTERS, KERNEL, PREFILL, ROOF, STEP, TRAFFIC, Relation
from rooflight.answers.explain.solve import Clash, Solved, Step, solve
from rooflight.roofline.rates import no_peak
from rooflight.scenario.definite import Scenario
from rooflight.values.accelerator import Accelerator
from rooflight.values.note import Note

# Of these, one says how long a request takes before or with its first token, another how long a token takes.
_WHOLE = ("ttft_s", "request_s", "request_s_per_output_token")
_TOKEN = ("tpot_s", "itl_s", "output_tokens_per_s_per_user")
_RATE = ("output_tokens_per_s", "output_tokens_per_s_per_accelerator", "total_tokens_per_s", "requests_per_s")
_PREFILL = ("ttft_s", "prefill_tokens_per_s")
# What a kernel and a counter are of needs a machine's peak; its format where nobody says one.
FORMAT = "bf16"
# Beyond this a share of what physics allows is no rounding.
_BEYOND = 1.005
_FLAG = "all_decode"
_PER_ACCELERATOR = "output_tokens_per_s_per_accelerator"
_MACHINES = (
    "accelerators", "memory_bytes_per_s", "peak_flop_per_s", "measured_bytes_per_s", "measured_flop_per_s",
)  # fmt: skip
_COUNTERS = ("dram_active", "tensor_active", "sm_active", "gpu_util", "kv_cache_usage")
_KERNEL = ("kernel_bytes", "kernel_flop")
_OF_PEAK = ("tensor_active", "sm_active", "kernel_flop", "intensity_flop_per_byte")


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What was given: values in base units by name, and of what machine and model.

    batch       as stated; None: not
    scenario    the question with such a batch; None: no model, or no machine
    card, devices   None: no machine
    form        the number format that was stated
    """

    values: Mapping[str, float]
    batch: int | None = None
    scenario: Callable[[int], Scenario] | None = None
    card: Accelerator | None = None
    devices: int | None = None
    form: str | None = None


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """What follows.

    given       values that were stated
    looked_up   those that the model and the machine bring
    steps       those that follow, in their order
    beyond      names of shares that are more than physics allows
    scenario    that was counted; None without a model
    card, form  whose rates, and the number format of the peak
    prefilled   a prompt was counted; stepped: a decode step was
    crowd       no batch is stated, and the rate is more than one sequence alone can have
    """

    given: Mapping[str, float]
    looked_up: Mapping[str, float]
    steps: tuple[Step, ...]
    clashes: tuple[Clash, ...]
    beyond: tuple[str, ...]
    scenario: Scenario | None
    card: Accelerator | None
    devices: float
    form: str
    several: bool
    stepped: bool
    prefilled: bool
    crowd: bool
    notes: tuple[Note, ...]

    @property
    def values(self) -> dict[str, float]:
        """All of them by name."""
        return {**self.looked_up, **{one.relation.target: one.value for one in self.steps}, **self.given}


def findings(asked: Asked) -> Findings:
    """All that follows. Raises as a scenario does, and MissingFact where nothing does for want of a peak."""
    found = _findings(asked)
    card, form = asked.card, asked.form or FORMAT
    wanted = any(name in asked.values for name in _OF_PEAK)
    if card is not None and not found.steps and not found.form and wanted:
        raise no_peak(card, (form,), "what was asked")
    return found


def _findings(asked: Asked) -> Findings:
    given = dict(asked.values)
    notes = []
    known = given | _in_flight(given, asked.batch)
    if asked.devices is not None and (asked.devices > 1 or _PER_ACCELERATOR in given):
        known["accelerators"] = float(asked.devices)
    alone = asked.scenario is not None and asked.batch is None and _alone(known)
    if alone:
        known["decoding"] = 1.0
    looked = _looked_up(asked, solve(known, TRAFFIC))
    whole = solve({**known, **looked.values}, _relations(asked, looked))
    crowd = alone and "of_ceiling" in _beyond(whole)
    if crowd:  # of how many, nobody says: nothing follows for their steps
        del known["decoding"]
        whole = solve({**known, **looked.values}, _relations(asked, looked))
    elif alone:
        notes.append(Note(key="explain_alone"))
    shown = {name: known[name] for name in known if name != _FLAG and (name in given or name == "in_flight")}
    if "in_flight" not in known and asked.batch and "decoding" in known:
        shown["decoding"] = known["decoding"]
    looked_up = _used({**looked.values, **_rest(known, shown)}, whole.steps)
    return Findings(
        given=shown, looked_up=looked_up, steps=whole.steps, clashes=whole.clashes, beyond=_beyond(whole),
        scenario=looked.scenario, card=asked.card, devices=asked.devices or 1, form=looked.form,
        several=looked.several, stepped=looked.stepped, prefilled=looked.prefilled, crowd=crowd,
        notes=(*notes, *looked.notes),
    )  # fmt: skip


def _used(values: Mapping[str, float], steps: Sequence[Step]) -> dict[str, float]:
    """Those that something follows from, all where nothing does; all of a step that is counted by itself."""
    needed = {name for one in steps for name in names(one.relation.formula)}
    return {name: value for name, value in values.items() if not steps or name in needed or name not in _MACHINES}


def _rest(known: Mapping[str, float], shown: Collection[str]) -> dict[str, float]:
    """What was taken without being stated."""
    return {name: value for name, value in known.items() if name not in shown and name != _FLAG}


def _in_flight(given: Mapping[str, float], batch: int | None) -> dict[str, float]:
    """What a stated batch is: requests in flight where their whole time may be known, else sequences of a step."""
    if batch is None:
        return {}
    lengths = "osl" in given and any(name in given for name in _RATE)
    if any(name in given for name in (*_WHOLE, "requests_per_s")) or (
        lengths and any(name in given for name in _TOKEN)
    ):
        return {"in_flight": float(batch)}
    decoding = {"decoding": float(batch)}
    return {**decoding, "in_flight": float(batch), _FLAG: 1.0} if lengths else decoding


def _alone(known: Mapping[str, float]) -> bool:
    """Whether a rate of all is the only thing that says how long a step takes."""
    reached = solve(known, TRAFFIC).values
    return "tpot_s" not in reached and "output_tokens_per_s" in reached


def _relations(asked: Asked, looked: _Looked) -> tuple[Relation, ...]:
    """Those of what was asked."""
    given = asked.values
    chosen = TRAFFIC + (STEP if looked.stepped else ()) + (PREFILL if looked.prefilled else ())
    chosen += COUNTERS if any(name in given for name in _COUNTERS) else ()
    bare = not given and asked.scenario is None
    chosen += ROOF if bare or "intensity_flop_per_byte" in given or {"kernel_flop", "kernel_bytes"} <= {*given} else ()
    return chosen + (KERNEL if any(name in given for name in _KERNEL) else ())


class _Looked(msgspec.Struct, kw_only=True):
    values: dict[str, float]
    form: str = ""
    several: bool = False
    scenario: Scenario | None = None
    stepped: bool = False
    prefilled: bool = False
    notes: tuple[Note, ...] = ()

    def take(self, one: facts.Facts) -> None:
        """With what it brings; the first that names a format keeps it."""
        self.values = {**one.values, **self.values}
        self.form, self.several = self.form or one.form, self.several or one.several


def _looked_up(asked: Asked, rates: Solved) -> _Looked:
    """Facts of the steps that the values time, and of the machine's rates."""
    found = _Looked(values={})
    if asked.scenario is not None:
        _count(asked, rates, asked.scenario, found)
    if asked.card is not None:
        form = asked.form or FORMAT
        rest = facts.roof(asked.card, asked.devices or 1, form)
        needs = any(name in asked.values for name in _OF_PEAK)
        if needs and asked.form is None and not found.form:
            found.notes = (*found.notes, Note(key="explain_format", value=rest.form, why=asked.card.id))
        found.take(rest)
    return found


def _count(asked: Asked, rates: Solved, scenario: Callable[[int], Scenario], found: _Looked) -> None:
    """The decode step and the prefill whose times are known; without any, the step by itself."""
    known = rates.values
    batch = asked.batch
    if batch is None or ("in_flight" in known and "decoding" in known):
        batch = max(1, round(known.get("decoding", batch or 1)))
    if asked.batch is None and batch > 1:
        found.notes = (*found.notes, Note(key="explain_batch", value=batch))
    sc = scenario(batch)
    found.scenario = sc
    found.prefilled = any(name in asked.values for name in _PREFILL)
    usage = "kv_cache_usage" in asked.values
    found.stepped = "tpot_s" in known or not (found.prefilled or usage)
    if found.stepped:
        found.take(facts.decode(sc))
    if found.prefilled:
        found.take(facts.prefill(sc))
    if usage:
        found.take(facts.pool(sc))


def _beyond(found: Solved) -> tuple[str, ...]:
    """Shares of what nothing real exceeds that are above one, those of a ceiling first."""
    shares = ("of_ceiling", "prefill_of_ceiling", "kernel_of_peak", "prefill_mfu", "mfu")
    return tuple(name for name in shares if found.values.get(name, 0.0) > _BEYOND)
