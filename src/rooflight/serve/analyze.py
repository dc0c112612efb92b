"""`analyze`: a scenario's phases, memory and request in numbers; words.analysis adds the sentences."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import msgspec

from rooflight.errors import NoSteadyState
from rooflight.numeric import Number
from rooflight.roofline.engine import Expected
from rooflight.roofline.rates import hardware_format, level_roofs, no_peak, ridges
from rooflight.scenario.basis import basis_of
from rooflight.scenario.change import uncalibrated
from rooflight.scenario.definite import Scenario, context_tokens
from rooflight.scenario.pools import prompts_on
from rooflight.scenario.share import SHARES
from rooflight.scenario.unlike import rates_for
from rooflight.serve import phases
from rooflight.serve.alike import like_block
from rooflight.serve.apart import is_apart
from rooflight.serve.arrivals import loaded
from rooflight.serve.efficiency import demand, efficiency
from rooflight.serve.formats import by_format, intensities
from rooflight.serve.formulas import tokens_per_verify
from rooflight.serve.gap import waterfall
from rooflight.serve.held import device_weight_bytes
from rooflight.serve.measured import measured_block
from rooflight.serve.memory import memory
from rooflight.serve.room import parts
from rooflight.serve.schedule import MakesRun, chosen, scheduled
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
    StageBlock,
)
from rooflight.values.like import AdapterBlock, SpeculationBlock
from rooflight.values.own import OwnBlock, OwnRun
from rooflight.values.run import Run, WholeRun
from rooflight.values.steptime import BINDING, BOUNDS, OperatorTime
from rooflight.work import count
from rooflight.work.adapters import adapter_bytes, adapter_parameters
from rooflight.work.storage import element_bytes

# Shares smaller than that are what sums of floats leave.
_ROUNDING = 1e-9


def analyze(sc: Scenario, *, run: MakesRun = scheduled) -> Analysis:
    """The analysis of one operating point. Raises NoSteadyState for a rate of requests beyond what is finished.

    Where fewer sequences fit than are asked for, the steps of all of them are None; where not one fits, everything.
    run     makes the runs: one that looks up what was made before may stand here
    """
    sc, users = loaded(sc)
    held = memory(sc)
    whole = held.whole or sc.deployment.ignore_capacity
    some = whole or held.most > 0
    shown = _phases(sc, whole) if some else None  # first: runs ask for bounds alone of some of these steps
    found = _runs(sc, users, run) if some else None
    if shown and not any(shown.values()) and not any((found or {}).values()):
        raise no_peak(sc.accelerator, sc.unrated, "what was asked")
    return Analysis(
        model=model_block(sc),
        accelerator=accelerator_block(sc, [name for name, one in (shown or {}).items() if one is not None]),
        workload=_workload(sc),
        deployment=_deployment(sc),
        bound=None if held.whole else "capacity",
        phases_or_null=shown,
        runs_or_null=None if found is None else dict(found),
        run=None if found is None else chosen(sc),
        request=_request(found["batch"]) if found else None,
        served=served_block(found["served"]) if found else None,
        memory=held,
        intensities_or_absent=intensities(sc, shown or {}, whole) or msgspec.UNSET,
        speculation_or_absent=_speculation(sc, bool(shown and shown.get("verify"))),
        calibration_or_absent=_own(sc),
        expected_basis=basis_of(sc),
    )


def _own(sc: Scenario) -> OwnBlock | msgspec.UnsetType:
    """What your own calibration does, and the same question without it."""
    own, entry = sc.deployment.calibration, sc.own
    if own is None:
        return msgspec.UNSET
    bare = OwnBlock(date=own.date, used=False, engine=sc.engine.id, accelerator=sc.accelerator.id)
    if entry is None:
        return bare
    of = entry.of(sc.model.id)
    used = msgspec.structs.replace(
        bare, used=True, rows=entry.rows, model=of.model, factors=of.factors,
        error=entry.all,
    )  # fmt: skip
    try:
        plain = analyze(uncalibrated(sc))
    except NoSteadyState:  # without it fewer requests are finished than arrive
        return used
    steps, runs = plain.phases_or_null or {}, plain.runs_or_null or {}
    return msgspec.structs.replace(
        used,
        phases={name: None if one is None else one.time_s for name, one in steps.items()},
        runs={name: None if one is None else _own_run(one) for name, one in runs.items()},
    )


def _own_run(one: Run) -> OwnRun:
    return OwnRun(**{name: getattr(one, name, None) for name in OwnRun.__struct_fields__})


def _speculation(sc: Scenario, timed: bool) -> SpeculationBlock | msgspec.UnsetType:
    """What drafts, where it is named, and what a cycle of draft steps and the verify step takes; `timed` if it may."""
    if sc.draft is None or not sc.workload.draft_tokens:
        return msgspec.UNSET
    own, load, head = sc.draft.own, sc.workload, sc.draft.steps.model.head
    drafting = phases.drafting(sc) if timed else None
    return SpeculationBlock(
        draft=own.model.id,
        parameters=count.parameters(own.model),
        weight_bytes=whole(count.weight_bytes(own.model)),
        streamed_weight_bytes=whole(count.streamed_weight_bytes(sc.draft.steps.model)),
        kv_bytes_per_token=whole(count.kv_bytes_per_token(own.model, own.numbers.kv_bytes)),
        vocab=sc.draft.steps.model.vocab if head is None else head.outputs,
        tp=own.layout.tp,
        tokens_per_cycle=tokens_per_verify(draft_tokens=load.draft_tokens, acceptance=load.acceptance),
        draft_s=drafting,
        cycle_s=None if drafting is None else phases.verify(sc).span + drafting,
    )


def _runs(sc: Scenario, users: Number, run: MakesRun) -> dict[str, Run | None]:
    """By schedule; None of which nothing is known."""
    apart = ("apart",) if is_apart(sc) else ()
    runs = {schedule: run(sc, schedule, users=users) for schedule in ("alone", "batch", "served", *apart)}
    return {name: one if one.tpot_s or one.request_s else None for name, one in runs.items()}


def _phases(sc: Scenario, whole: bool) -> dict[str, Phase | None]:
    """Prefill always; steps of all sequences where they fit and a token is put out. Prompts' steps need a peak."""
    load = sc.workload
    whole = whole and load.osl > 0
    others: dict[str, Callable[[Scenario], phases.PhaseTime]] = {"decode": phases.decode}
    others |= {"verify": phases.verify} if load.draft_tokens else {}
    others |= {"draft": phases.draft} if load.draft_tokens and sc.draft is not None else {}
    others |= {"mixed": phases.mixed} if load.chunk_tokens else {}
    shown: dict[str, Phase | None] = {
        "prefill": None if sc.unrated else phase_block(prompts_on(sc), phases.prefill(sc))
    }
    told = {name: whole and not (sc.unrated and name == "mixed") for name in others}
    return shown | {name: phase_block(sc, of(sc)) if told[name] else None for name, of in others.items()}


def model_block(sc: Scenario) -> ModelBlock:
    """Counts of the model in the deployment's formats; compared with real ones, where only its size is known."""
    model, numbers = sc.model, sc.numbers
    sized, adapters = model.sized, model.adapters
    return ModelBlock(
        id=model.id,
        parameters=count.parameters(model),
        active_parameters=count.active_parameters(model),
        tower_parameters=sum(tower.parameters or 0 for tower in model.towers),
        weight_bytes=whole(count.weight_bytes(model)),
        streamed_weight_bytes=whole(count.streamed_weight_bytes(model)),
        kv_bytes_per_token=whole(count.kv_bytes_per_token(model, numbers.kv_bytes)),
        window_kv_bytes_per_token=whole(count.window_kv_bytes_per_token(model, numbers.kv_bytes)),
        windows=count.windows(model),
        state_bytes_per_sequence=whole(count.state_bytes_per_sequence(model, numbers.act_bytes)),
        like_or_absent=msgspec.UNSET if sized is None else like_block(sc, sized),
        adapters_or_absent=msgspec.UNSET if adapters is None else AdapterBlock(
            rank=adapters.rank, count=adapters.count, modules=adapters.modules,
            parameters_each=adapter_parameters(model), bytes=adapter_bytes(model),
        ),
    )  # fmt: skip


def accelerator_block(sc: Scenario, shown: Sequence[str] = ()) -> AcceleratorBlock:
    """Rates of one device; of a measured one the ceilings by its datasheet too, of the phases that are shown."""
    card = sc.accelerator
    return AcceleratorBlock(
        id=card.id,
        name=card.name,
        count=sc.layout.devices,
        peak_flop_per_s=card.peak_flop_per_s,
        memory_bytes_per_s=sc.rates.memory_bytes_per_s,
        memory_bytes=card.memory_bytes,
        program_memory_bytes=card.given_bytes,
        ridge_flop_per_byte=ridges(card),
        confidence=card.confidence,
        levels=level_roofs(card),
        measured_or_absent=measured_block(sc, shown),
        split_or_absent=_split(sc) or msgspec.UNSET,
    )


def _split(sc: Scenario) -> tuple[StageBlock, ...]:
    """The kinds of devices that layers are split over; none where all are alike."""
    return tuple(
        StageBlock(
            accelerator=part.accelerator.id,
            devices=stage.devices,
            memory_bytes_per_s=stage.rates.memory_bytes_per_s,
            memory_bytes=part.accelerator.memory_bytes,
            program_memory_bytes=part.accelerator.given_bytes,
            first_layer=stage.first,
            layers=stage.layers,
            weights_bytes=whole(device_weight_bytes(part.model, part.layout) * stage.devices),
        )
        for stage, part in zip(sc.rates.unlike, parts(sc), strict=True)
    )


def phase_block(sc: Scenario, phase: phases.PhaseTime) -> Phase:
    """A phase as the contract shows it: work of all devices, launches of one, wall times."""
    time, work = phase.time, phase.work
    span, shares = phase.span, split(time.operators)
    if time.host_link_s is not None:  # what is read over it is no operator's, and the rest of the time
        rest = 1 - sum(shares.values())
        shares["host_link"] = rest if rest > _ROUNDING else 0.0
    shown = efficiency(demand(sc, phase), span.expected)
    return Phase(
        flop=work.flop,
        flop_by_format=by_format(sc, phase),
        bytes=Bytes(
            weights=work.weight_bytes,
            kv_read=work.kv_read_bytes,
            kv_write=work.kv_write_bytes,
            activations=work.activation_bytes,
            total=work.moved_bytes,
        ),
        link_bytes=work.link_bytes,
        network_bytes=work.network_bytes,
        link_level=phases.link_level(sc, time),
        launches=math.ceil(time.work.launches * phase.passes / phase.layout.pp),
        intensity_flop_per_byte=work.flop / work.moved_bytes,
        ridge_flop_per_byte=phases.ridge(sc, time),
        bound=BINDING[time.bound],
        expected_bound=expected_bound(shares, phase.expected),
        split=shares,
        ceilings_s=Ceilings(
            compute=None if sc.unrated else time.compute_s,
            memory=time.memory_s,
            link=time.link_s,
            launch=time.launch_s,
            host_memory=time.host_memory_s,
            host_link=time.host_link_s,
        ),
        time_s=span,
        tokens_per_s=span.rate(phase.tokens),
        tokens_per_s_per_user=None if phase.users is None else span.rate(phase.tokens / phase.users),
        mfu=shown.mfu,
        mbu=shown.mbu,
        waterfall=waterfall(sc.rates, phase),
        operators=tuple(_operator_block(sc, row, phase.copies(row.operator)) for row in time.operators),
    )


def split(rows: tuple[OperatorTime, ...]) -> dict[str, float]:
    """The share of roofline time spent in operators bound by each resource."""
    shares = dict.fromkeys(BOUNDS, 0.0)
    for row in rows:
        shares[BINDING[row.bound]] = shares.get(BINDING[row.bound], 0.0) + row.share
    return shares


def expected_bound(shares: dict[str, float], expected: Expected) -> str:
    """The largest part of the expected time: launch (what launches and the host take), link, or what kernels do;
    host_memory: what lies there, and the link to it.

    shares      of the roofline time by resource; kernels' time is divided between compute and memory as they are
    """
    launch = expected.host + expected.floors_s + expected.launched_s
    kernels = max(expected.seconds - launch - expected.link_s - expected.places_s, 0.0)
    both = shares["compute"] + shares["memory"]
    compute = kernels * (shares["compute"] / both if both else 0.0)
    parts = {"memory": kernels - compute, "compute": compute, "link": expected.link_s, "launch": launch}
    parts |= {"host_memory": float(expected.places_s)} if expected.places_s else {}
    return max(parts, key=lambda name: parts[name])


def served_block(one: Run | None) -> ServedBlock | None:
    """The run in short; None where what prompts take is withheld of it."""
    if not isinstance(one, WholeRun):
        return None
    return ServedBlock(
        engine=one.engine,
        running=one.decoding,
        tpot_s=one.tpot_s,
        ttft_s=one.ttft_s,
        output_tokens_per_s=one.output_tokens_per_s,
        output_tokens_per_s_per_user=one.output_tokens_per_s_per_user,
        output_tokens_per_s_per_accelerator=one.output_tokens_per_s_per_accelerator,
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
        bound=BINDING[row.bound],
        time_s=row.time_s,
        share=row.share,
        compute=hardware_format(rates_for(sc.rates, op.name).accelerator, op.compute) if op.work.flop else op.compute,
    )


def _request(one: Run | None) -> Request | None:
    """The batch's: its end, and the prompts' share of it; None where what prompts take is withheld."""
    if not isinstance(one, WholeRun):
        return None
    share = one.ttft_s.over(one.request_s)
    return Request(time_s=one.request_s, prefill_share=msgspec.structs.replace(share, expected=one.prefill_share))


def _workload(sc: Scenario) -> dict[str, int | float | None]:
    shown: dict[str, int | float | None] = msgspec.to_builtins(sc.workload)
    return {**shown, "isl": sc.workload.text_tokens, "context": context_tokens(sc.workload)}


def _deployment(sc: Scenario) -> dict[str, object]:
    """The deployment with its blanks filled: degrees, and the formats that are really used."""
    given: dict[str, object] = msgspec.to_builtins(msgspec.structs.replace(sc.deployment, calibration=None))
    given.pop("calibration")
    weights = sc.replaced
    brought = weights.activations if weights is not None else None
    return {
        **given,
        "devices": sc.layout.devices,
        "tp": sc.layout.tp,
        "weights": sc.weights,
        "kv_cache": sc.numbers.kv,
        "activations": sc.numbers.activations or brought or "bf16",
        "max_num_batched_tokens": sc.budget_tokens,
        "max_num_seqs": sc.most_sequences,
        **{name: sc.share.value if of == sc.share.of else None for name, (of, _) in SHARES.items()},
        "weights_given": sc.deployment.weights is not None,
        "kv_element_bytes": sc.numbers.kv_bytes,
        "table_element_bytes": element_bytes(count.table_format(sc.model)),
    }
