"""What the scenario's engine gets out of a step, with the interval that holds eight of ten measurements."""

from __future__ import annotations

import msgspec

from rooflight.catalog.calibration import calibration, fitted_family, other_backend
from rooflight.numeric import Number
from rooflight.roofline.engine import EAGER_KERNEL_S, Expected, engine_time, prompt_engine, step_s
from rooflight.scenario.assume import UNFITTED_ENCODER, unfitted_kind
from rooflight.scenario.definite import Scenario
from rooflight.scenario.drafting import UNFITTED_DRAFT
from rooflight.scenario.unlike import UNFITTED_CARDS
from rooflight.values.accelerator import Accelerator
from rooflight.values.calibration import Engine
from rooflight.values.steptime import Parts
from rooflight.work import step as steps
from rooflight.work.count import has_source

# By how much wider intervals of steps, and of prompts on top, are by a backend that no row of the fit ran. Of llama.cpp
# on AMD's cards by Vulkan and by ROCm, the same question to both, eight of ten pairs differ by at most 1.33 in decode
# (94 pairs) and 2.44 in prefill (105; measured.csv and measured2.csv, 2026-11-29). Beside an engine's own interval,
# squares of logarithms added, that is about 1.25, and 1.25 x 1.4.
_UNFITTED_BACKEND = 1.25
_UNFITTED_BACKEND_PROMPT = 1.4


def expected(
    sc: Scenario, part: Parts, *, sequences: Number, fill: Number = 1, engine: Engine | None = None
) -> Expected:
    """The engine's time for a step of these parts; a family without measurements has a wider interval.

    engine  another one than the scenario's
    """
    found = engine_time(
        part,
        engine or sc.engine,
        sequences=sequences,
        expert_layers=sc.expert_layers,
        wider=widened(sc),
        fill=fill,
        # what timed kernels took has their launches in it
        eager_s=0.0 if sc.deployment.graphs or sc.fits.tables is not None else eager_s(sc),
    )
    together = grouped(sc)
    return found if together == 1.0 else msgspec.structs.replace(found, low=found.low * together)


def expected_prefill(sc: Scenario, part: Parts, *, sequences: Number, fill: Number) -> Expected:
    """A prefill with nobody decoding beside it: the engine's share of it and its interval are its own.

    What the host takes of it has the host's interval, as in steps and runs.
    """
    engine, share = prompt_engine(sc.engine, routed=sc.expert_layers > 0)
    plain = expected(sc, part, sequences=sequences, fill=fill, engine=engine)
    wider = prompt_wider(sc)
    seconds, own = plain.seconds * share, (plain.seconds - plain.places_s) * share
    low = own * sc.engine.prefill_low / wider + plain.places_low_s * share
    high = own * sc.engine.prefill_high * wider + plain.places_high_s * share
    return msgspec.structs.replace(plain, seconds=seconds, low=low, high=high)


def widened(sc: Scenario) -> float:
    """By how much the engine's intervals are wider in this question: for the accelerator, and for the kind of model."""
    wider = widening(sc.accelerator, sc.engine) * unfitted_kind(sc.model)
    if _by_another_backend(sc):
        wider *= _UNFITTED_BACKEND
    if not sc.accelerator.joined:
        return wider
    return max(wider, *(widening(one, sc.engine) for one in sc.accelerator.joined)) * UNFITTED_CARDS


def drafted_wider(sc: Scenario) -> float:
    """The same for a run's steps: no fit has seen those of a named draft."""
    return widened(sc) * (1.0 if sc.draft is None else UNFITTED_DRAFT)


def encoding(sc: Scenario) -> float:
    """By how much wider the interval of a prompt is that has images or sound: no fit has seen an encoder."""
    return UNFITTED_ENCODER if sc.model.encodes else 1.0


def prompt_wider(sc: Scenario) -> float:
    """By how much the engine's intervals of prompts by themselves, and of first tokens, are wider in this question."""
    return widened(sc) * encoding(sc) * (_UNFITTED_BACKEND_PROMPT if _by_another_backend(sc) else 1.0)


def _by_another_backend(sc: Scenario) -> bool:
    return sc.fits.tables is None and bool(other_backend(sc.deployment.engine, sc.engine))


def widening(accelerator: Accelerator, engine: Engine) -> float:
    """By how much an engine's intervals are wider on an accelerator: its fits may be another family's, or other cards'.

    An engine fitted on the very accelerator has taken up whatever the kernel fits miss there.
    """
    if accelerator.id in engine.cards or accelerator.id == engine.calibrated_on:
        return 1.0
    return max(calibration(fitted_family(accelerator)).widened, engine.unseen_card)


def grouped(sc: Scenario) -> float:
    """What a decode step takes where experts are multiplied together, over what it takes where they are looped over.

    1 where the engine does not loop, or its version says that it does: transformers multiplies them together from
    version 5 on (integrations/moe.py, grouped_mm); nobody measured that.
    """
    version = sc.deployment.engine_version or ""
    if not sc.engine.launch_s or not sc.expert_layers or version[:2] in ("3.", "4."):
        return 1.0
    step = steps.decode(sequences=1, context=1, source=int(has_source(sc.model)))
    looped = sc.steps.parts(step)
    once = msgspec.structs.replace(looped, launches=sc.steps.time(step, bounds_only=True).work.launches)
    whole = step_s(looped, sc.engine, sequences=1, expert_layers=sc.expert_layers)
    return float(step_s(once, sc.engine, sequences=1, expert_layers=sc.expert_layers) / whole)


def eager_s(sc: Scenario) -> Number:
    """Without graphs the host launches each kernel: a step takes no less than all launches at EAGER_KERNEL_S each.

    Nothing where a program is compiled whole.
    """
    if not sc.accelerator.assumed.launch_eager_s:
        return 0.0
    one = sc.steps.time(steps.decode(sequences=1, context=1, source=int(has_source(sc.model))))
    return one.work.launches * EAGER_KERNEL_S
