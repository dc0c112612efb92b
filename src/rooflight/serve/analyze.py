"""`analyze`: a scenario's phases, memory and request, as the documented answer."""

from __future__ import annotations

import math

import msgspec

from rooflight.catalog.calibration import engine_named
from rooflight.roofline.rates import hardware_format, ridges
from rooflight.scenario.definite import Scenario, context_tokens
from rooflight.serve import phases
from rooflight.serve.answer import answer
from rooflight.serve.expected import (
    Expected,
    expected_decode,
    expected_prefill,
    expected_request,
    expected_step,
    ordered,
    served,
)
from rooflight.serve.memory import memory
from rooflight.units import whole
from rooflight.values.analysis import (
    AcceleratorBlock,
    Analysis,
    Bytes,
    Ceilings,
    ModelBlock,
    OperatorBlock,
    Phase,
    Request,
    ServedBlock,
    Span,
    Step,
)
from rooflight.values.calibration import Engine
from rooflight.values.steptime import BOUNDS, OperatorTime
from rooflight.work import count
from rooflight.work.storage import element_bytes


def analyze(sc: Scenario, *, serving: bool = True) -> Analysis:
    """The analysis of one operating point; phases and request are None where the model does not fit.

    serving     False leaves out what many steps make together (request, served): two thirds of the time it takes
    """
    held = memory(sc)
    shown: dict[str, Phase] | None = None
    request = steady = None
    if held.fits or sc.deployment.ignore_capacity:
        engine = engine_named(sc.deployment.engine, sc.accelerator.family)
        prefill = phases.prefill(sc)
        decode = phases.decode(sc)
        shown = {
            "prefill": phase_block(sc, prefill, expected_prefill(sc, engine, prefill)),
            "decode": phase_block(sc, decode, expected_decode(sc, engine, decode)),
        }
        steady = served_block(sc, engine) if held.fits and serving else None
        if sc.workload.draft_tokens:
            verify = phases.verify(sc)
            shown["verify"] = phase_block(sc, verify, expected_step(sc, engine, verify))
        if sc.workload.chunk_tokens:
            mixed = phases.mixed(sc)
            shown["mixed"] = phase_block(sc, mixed, expected_step(sc, engine, mixed))
        request = _request(sc, shown["prefill"].time_s, engine) if serving else None
    accelerator = accelerator_block(sc)
    return Analysis(
        answer=answer(sc, shown, held),
        model=model_block(sc),
        accelerator=accelerator,
        workload=_workload(sc),
        deployment=_deployment(sc),
        bound=None if held.fits else "capacity",
        assumptions=_said(sc),
        warnings=sc.warnings,
        phases=shown,
        request=request,
        served=steady,
        memory=held,
    )


def model_block(sc: Scenario) -> ModelBlock:
    """Counts of the model in the deployment's formats."""
    model, numbers = sc.model, sc.numbers
    return ModelBlock(
        id=model.id,
        parameters=count.parameters(model),
        active_parameters=count.active_parameters(model),
        tower_parameters=sum(tower.parameters or 0 for tower in model.towers),
        weight_bytes=whole(count.weight_bytes(model, numbers.weights)),
        streamed_weight_bytes=whole(count.streamed_weight_bytes(model, numbers.weights)),
        kv_bytes_per_token=whole(count.kv_bytes_per_token(model, numbers.kv_bytes)),
        window_kv_bytes_per_token=whole(count.window_kv_bytes_per_token(model, numbers.kv_bytes)),
        windows=count.windows(model),
        state_bytes_per_sequence=whole(count.state_bytes_per_sequence(model, numbers.act_bytes)),
    )


def accelerator_block(sc: Scenario) -> AcceleratorBlock:
    """Datasheet rates of one device."""
    card = sc.accelerator
    return AcceleratorBlock(
        id=card.id,
        name=card.name,
        count=sc.layout.devices,
        peak_flop_per_s=card.peak_flop_per_s,
        memory_bytes_per_s=sc.rates.memory_bytes_per_s,
        memory_bytes=card.memory_bytes,
        ridge_flop_per_byte=ridges(card),
        confidence=card.confidence,
    )


def phase_block(sc: Scenario, phase: phases.PhaseTime, expected: Expected) -> Phase:
    """A phase as the contract shows it: work of all devices, launches of one, wall times."""
    time, work = phase.time, phase.work
    by_format: dict[str, float] = {}
    for row in time.operators:
        op = row.operator
        if op.work.flop:
            used = hardware_format(sc.accelerator, op.compute)
            by_format[used] = by_format.get(used, 0.0) + op.work.flop * op.count * phase.copies(op, sc.layout)
    span = _span(time.ceiling_s, time.roofline_s, expected)
    return Phase(
        flop=work.flop,
        flop_by_format=by_format,
        bytes=Bytes(
            weights=work.weight_bytes,
            kv_read=work.kv_read_bytes,
            kv_write=work.kv_write_bytes,
            activations=work.activation_bytes,
            total=work.moved_bytes,
        ),
        link_bytes=work.link_bytes,
        launches=math.ceil(time.work.launches * phase.passes / sc.layout.pp),
        intensity_flop_per_byte=work.flop / work.moved_bytes,
        ridge_flop_per_byte=ridges(sc.accelerator)[phases.main_format(sc, time)],
        bound=BOUNDS[time.bound],
        split=split(time.operators),
        ceilings_s=Ceilings(compute=time.compute_s, memory=time.memory_s, link=time.link_s, launch=time.launch_s),
        time_s=span,
        tokens_per_s=_per_second(phase.tokens, span),
        tokens_per_s_per_user=None if phase.users is None else _per_second(phase.tokens / phase.users, span),
        waterfall=waterfall(span, expected),
        operators=tuple(_operator_block(sc, row, phase.copies(row.operator, sc.layout)) for row in time.operators),
    )


def split(rows: tuple[OperatorTime, ...]) -> dict[str, float]:
    """The share of roofline time spent in operators bound by each resource."""
    shares = dict.fromkeys(BOUNDS, 0.0)
    for row in rows:
        shares[BOUNDS[row.bound]] += row.share
    return shares


def _span(ceiling: float, roofline: float, expected: Expected) -> Span:
    middle, low, high = ordered(ceiling, roofline, expected)
    return Span(ceiling=ceiling, roofline=roofline, expected=middle, low=low, high=high)


def waterfall(span: Span, expected: Expected) -> tuple[Step, ...]:
    """From the ceiling to the expected time: no overlap and launches, what kernels lose, links, experts, host.

    The steps add up to the expected time; where the roofline leaves less than the parts ask for, the last get less.
    """
    ceiling, roofline, middle = span.ceiling, span.roofline, span.expected or span.roofline
    rest = middle - roofline
    named = []
    for name, part in (
        ("host between steps", expected.host),
        ("routed experts: sorting and imbalance", expected.experts_s),
        ("links", expected.link_s),
    ):
        seconds = min(max(part, 0), rest)
        rest -= seconds
        named.append((name, seconds))
    named += [
        ("what kernels do not reach of the rates", rest),
        ("operators one after the other, and launches", roofline - ceiling),
        ("ceiling", ceiling),
    ]
    return tuple(Step(name=name, seconds=float(seconds)) for name, seconds in reversed(named) if seconds > 0)


def served_block(sc: Scenario, engine: Engine) -> ServedBlock:
    """What serving yields in the steady state; a step is no shorter than its ceiling."""
    state = served(sc, engine)
    tpot = phases.decode(sc, batch=state.running, context=sc.workload.isl + sc.workload.osl / 2).time
    step = _span(tpot.ceiling_s, tpot.roofline_s, state.tpot)
    one = phases.prefill(sc, prompts=1).time
    running = float(state.running)
    return ServedBlock(
        engine=engine.id,
        running=int(running),
        tpot_s=step,
        ttft_s=_span(one.ceiling_s, one.roofline_s, state.ttft),
        output_tokens_per_s=_per_second(running, step),
        output_tokens_per_s_per_user=_per_second(1, step),
        output_tokens_per_s_per_accelerator=_per_second(running / sc.layout.devices, step),
    )


def _per_second(tokens: float, span: Span) -> Span:
    """Rates of times; the interval swaps its ends."""

    def rate(seconds: float | None) -> float | None:
        return None if seconds is None else tokens / seconds

    return Span(
        ceiling=tokens / span.ceiling,
        roofline=tokens / span.roofline,
        expected=rate(span.expected),
        low=rate(span.high),
        high=rate(span.low),
    )


def _operator_block(sc: Scenario, row: OperatorTime, copies: float) -> OperatorBlock:
    op = row.operator
    moved = op.work.moved_bytes
    return OperatorBlock(
        name=op.name,
        count=op.count,
        flop=op.work.flop * op.count * copies,
        bytes=moved * op.count * copies,
        link_bytes=op.work.link_bytes * op.count * copies,
        intensity_flop_per_byte=op.work.flop / moved if moved else None,
        bound=BOUNDS[row.bound],
        time_s=row.time_s,
        share=row.share,
        compute=hardware_format(sc.accelerator, op.compute) if op.work.flop else op.compute,
    )


def _request(sc: Scenario, prefill: Span, engine: Engine) -> Request:
    """Prefill plus the sum of the decode steps of one request at the workload's batch."""
    ceiling, roofline = phases.decode_total_s(sc)
    span = _span(prefill.ceiling + ceiling, prefill.roofline + roofline, expected_request(sc, engine))
    share = Span(ceiling=prefill.ceiling / span.ceiling, roofline=prefill.roofline / span.roofline)
    if prefill.expected is not None and span.expected is not None:
        share = msgspec.structs.replace(share, expected=min(prefill.expected / span.expected, 1))
    return Request(time_s=span, prefill_share=share)


def _workload(sc: Scenario) -> dict[str, int | float | None]:
    shown: dict[str, int | float | None] = msgspec.to_builtins(sc.workload)
    return {**shown, "context": context_tokens(sc.workload)}


def _deployment(sc: Scenario) -> dict[str, object]:
    """The deployment with its blanks filled: degrees, and the formats that are really used."""
    given: dict[str, object] = msgspec.to_builtins(sc.deployment)
    weights = sc.numbers.weights
    brought = weights.activations if weights is not None else None
    return {
        **given,
        "devices": sc.layout.devices,
        "tp": sc.layout.tp,
        "weights": weights.id if weights is not None else (sc.model.quantization or sc.model.dtype),
        "kv_cache": sc.numbers.kv,
        "activations": sc.numbers.activations or brought or "bf16",
        "weights_given": sc.deployment.weights is not None,
        "kv_element_bytes": sc.numbers.kv_bytes,
        "table_element_bytes": element_bytes(count.table_format(sc.model, weights)),
    }


def _said(sc: Scenario) -> tuple[str, ...]:
    """Assumptions, each once, in order."""
    return tuple(dict.fromkeys(sc.assumptions))
