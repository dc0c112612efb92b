"""A record put under the roof: the scenario that it ran as, and what its step is made of there."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from rooflight.answers.diagnose.setting import Setting
from rooflight.answers.diagnose.timed.seen import Seen
from rooflight.catalog import spelled
from rooflight.errors import RooflightError
from rooflight.scenario.change import changed
from rooflight.scenario.definite import Scenario, scenario
from rooflight.serve import phases
from rooflight.serve.analyze import expected_bound, split
from rooflight.serve.apart import is_apart
from rooflight.span import Span
from rooflight.values.accelerator import Accelerator
from rooflight.values.deployment import Deployment
from rooflight.values.diagnosis import Bound
from rooflight.values.recorded import Stated
from rooflight.values.workload import Workload

# Fields of a question that a record may state by the same name. Limits, then the engine, are given up where nothing is
# known of them.
_LAYOUT = ("tp", "pp", "ep", "dp")
_FORMATS = ("weights", "kv_cache")
_LIMITS = ("max_num_seqs", "max_num_batched_tokens", "n_gpu_layers", "n_cpu_moe")
_ENGINE = ("engine", "engine_version")
# An engine that cuts layers over devices, not matrices, unless it is told to.
_SPLITS_LAYERS = "llama.cpp"


class StepRoof(msgspec.Struct, frozen=True, kw_only=True):
    """A decode step of a scenario in seconds at datasheet rates, and what is expected of it.

    weights_s, cache_s  reading them; compute_s, link_s: the ceilings of arithmetic and links
    moved_bytes         weights and cache that one device reads; weights_bytes, cache_bytes of them
    collectives         exchanges between devices in a step
    exchange_s          expected of exchanges between devices
    host_s              of the expected step: launches and the host between steps
    expected_bound      the largest part of the expected step
    """

    weights_s: float
    cache_s: float
    compute_s: float
    link_s: float
    ceiling_s: float
    span: Span
    exchange_s: float
    host_s: float
    weights_bytes: float
    cache_bytes: float
    flop: float
    bytes_per_s: float
    collectives: float
    expected_bound: str

    @property
    def moved_bytes(self) -> float:
        """What one device reads in the step."""
        return self.weights_bytes + self.cache_bytes


def placed(setting: Setting, run: Seen, *, own_device: bool = False) -> Scenario | None:
    """The scenario of a run: the setting's, with what its record states and nobody gave; None where it cannot be told.

    own_device  the record's accelerator is taken in place of the setting's, as where records differ in it
    """
    stated = run.record.stated
    base, card, found = setting.scenario, setting.card, None
    if (own_device or card is None) and stated.device:
        found = _named(stated.device)
        card = found[0] if found is not None else None if own_device else card
    if card is None or setting.model is None:
        return None
    count = found[1] if found is not None and found[1] > 1 else None
    wanted = _fields(stated, run, setting)
    if count is not None and not {"tp", "pp", "dp"} & {*wanted, *setting.given}:
        wanted["tp"] = count
    for dropped in ((), _LIMITS, (*_LIMITS, *_ENGINE)):
        fields = {name: value for name, value in wanted.items() if name not in dropped}
        try:
            if base is not None:
                return changed(base, accelerator=card if own_device and card != base.accelerator else None, **fields)
            load_fields = {name: value for name, value in fields.items() if name in Workload.__struct_fields__}
            others = {name: value for name, value in fields.items() if name not in load_fields}
            return scenario(
                setting.model, card, None if "tp" in others else setting.count, Workload(**load_fields),
                Deployment(**others),
            )  # fmt: skip
        except RooflightError:
            continue
    return None


def _named(device: str) -> tuple[Accelerator, int] | None:
    """A card of the catalog by a name in a file: it may be a stranger's, and opens nothing."""
    try:
        return spelled.accelerator(device)
    except RooflightError:
        return None


def _fields(stated: Stated, run: Seen, setting: Setting) -> dict[str, Any]:
    """Fields of the question that a run states, those that were given aside."""
    found: dict[str, Any] = {name: getattr(stated, name) for name in (*_LAYOUT, *_FORMATS, *_LIMITS)}
    if stated.gpus and stated.tp is None and stated.pp is None:
        whole = stated.gpus // (stated.dp or 1)
        layers = stated.engine == _SPLITS_LAYERS
        found["pp" if layers else "tp"] = whole or None
        if layers and not setting.given & {"tp", "pp"}:
            found["tp"] = 1
    if setting.scenario is None or setting.scenario.deployment.engine is None:
        found["engine"], found["engine_version"] = stated.engine, stated.engine_version
    if stated.engine is None:
        found["engine_version"] = None
    load: dict[str, Any] = {
        "batch": None if run.in_flight is None else max(1, round(run.in_flight)),
        "isl": None if run.isl is None else max(1, round(run.isl)),
        "osl": None if run.osl is None else max(1, round(run.osl)),
        "context": None if stated.depth is None or run.context is None else max(0, round(run.context)),
    }
    if lengths_open(run, setting):  # least that a step may read: no verdict may hang on a length that nobody stated
        load["isl"], load["osl"] = 1, 2
    if stated.draft_tokens:
        load["draft_tokens"], load["acceptance"] = stated.draft_tokens, run.record.measured.acceptance
    kept = {**found, **load}
    return {name: value for name, value in kept.items() if value is not None and name not in setting.given}


def lengths_open(run: Seen, setting: Setting) -> bool:
    """Whether tokens are timed and nobody says of how long a sequence."""
    timed = run.record.measured
    said = (run.isl, run.osl, run.context, timed.ttft_s, timed.request_s, timed.prefill_tokens_per_s)
    return all(one is None for one in said) and not setting.given & {"isl", "osl", "context"}


def prompt_beside(sc: Scenario) -> tuple[float, Bound] | None:
    """Seconds that a sequence in flight adds to the others' tokens by its prompt, and what binds that prompt.

    A request of osl tokens has its prompt computed once, and meanwhile the others of its replica wait: a sequence more
    brings one prompt more in the time of osl tokens. None where prompts are computed on workers of their own.
    """
    if is_apart(sc) or sc.unrated or not sc.workload.osl:
        return None
    try:
        phase = phases.prefill(sc, prompts=1)
    except (RooflightError, ZeroDivisionError):
        return None
    bound = cast(Bound, expected_bound(split(phase.time.operators), phase.expected))
    return float(phase.span.expected) / sc.workload.osl / sc.layout.dp, bound


def step_roof(sc: Scenario, *, in_flight: float | None = None, context: float | None = None) -> StepRoof | None:
    """The decode step of a scenario; None where it has none."""
    try:
        phase = phases.decode(sc, batch=in_flight, context=context)
    except (RooflightError, ZeroDivisionError):
        return None
    time, rate = phase.time, sc.rates.memory_bytes_per_s
    work = time.work
    fitted = phase.expected
    return StepRoof(
        weights_s=work.weight_bytes / rate, cache_s=work.kv_read_bytes / rate, compute_s=time.compute_s,
        link_s=time.link_s, ceiling_s=time.ceiling_s, span=phase.span, host_s=fitted.host + fitted.floors_s,
        exchange_s=fitted.link_s,
        weights_bytes=work.weight_bytes, cache_bytes=work.kv_read_bytes, flop=work.flop, bytes_per_s=rate,
        collectives=sum(op.count for op, _, _ in time.timed if op.work.link_bytes),
        expected_bound=expected_bound(split(time.operators), fitted),
    )  # fmt: skip
