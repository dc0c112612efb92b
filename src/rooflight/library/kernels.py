"""A model's own kernels timed on this machine, and set beside its roofs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from rooflight.errors import BadInput, Named
from rooflight.values.accelerator import Accelerator
from rooflight.values.field import LARGEST
from rooflight.values.kernels import Job, Kernels, KernelTime
from rooflight.values.model import Linear, Model
from rooflight.values.sample import MachineState, Sample
from rooflight.values.work import Gemm, Operator

if TYPE_CHECKING:
    from rooflight.probe.device import Device
    from rooflight.probe.kernels import Pool
    from rooflight.roofline.rates import Rates
    from rooflight.values.calibration import Calibration

BUDGET_S = 120.0
CONTEXT = 1024
PREFILL = (128, 512, 2048)
LARGEST_DECODE = 512
# Of the device's memory, what operands may take.
_SHARE = 0.5
_EACH_S = 0.3
_LEAST, _LEAST_LONG, _LONG_S = 5, 3, 0.5
# Runs of a kernel that its warming up takes, and by how much they may be slower than the roofline.
_WARMING, _SLOWER = 3, 2.0
_NAMED = 6
_WIDE = ("bf16", "fp16", "fp32")

Progress = Callable[[str, float], None]


class _Plan(NamedTuple):
    """What is to be timed, and beside what it is set. wide: the format of activations and caches."""

    jobs: tuple[Job, ...]
    rates: Rates
    fits: Calibration | None
    model: str | None
    weights: str
    wide: str


class _Asked(NamedTuple):
    """The rest of the question."""

    tp: int
    budget_s: float
    command: str | None
    keep: Callable[[Sample], object] | None
    progress: Progress | None


def measure_kernels(
    model: str | Path | Model | None = None,
    on: str | Accelerator = "this",
    *,
    gemm: tuple[int, int, int] | None = None,
    weights: str | None = None,
    batch: Sequence[int] | None = None,
    context: int = CONTEXT,
    prefill: Sequence[int] = PREFILL,
    tp: int = 1,
    device: str | None = None,
    threads: int | None = None,
    budget_s: float = BUDGET_S,
    command: str | None = None,
    keep: Callable[[Sample], object] | None = None,
    progress: Progress | None = None,
) -> Kernels:
    """The kernels of a decode step and of a prompt, each timed alone, beside ceiling, roofline and expected time.

    gemm        (rows, outputs, inputs) of one product, in place of a model
    weights     their format; left out: the checkpoint's, of a product bf16
    batch       sequences of the decode steps (left out: 1 to the ridge point in powers of two)
    context     tokens cached before them; prefill: tokens of the prompts
    tp          sizes are those of one of so many devices; what they exchange is not timed
    budget_s    seconds in all; what finds no time is left out, and said
    command     that asked, for the samples
    keep        is given each sample as soon as it is there
    progress    called with the step under way, and the share of all that is done

    An interrupt ends it with what is done. Raises MissingExtra without torch, BadInput for a device that is not there
    or a format that it does not multiply in, and as analyze does.
    """
    from rooflight.library.questions import accelerator
    from rooflight.probe.device import device as device_named
    from rooflight.probe.device import formats, threads_of
    from rooflight.words.kernels import told

    if (model is None) == (gemm is None):
        raise BadInput(
            "kernels are of a model, or of one product", where=Named.of("gemm"), got=gemm, want="one of both"
        )
    for name, counts in {"batch": batch, "prefill": prefill, "tp": (tp,)}.items():
        _refuse_counts(name, counts or ())
    card = accelerator(on) if isinstance(on, str) else on
    where = device_named(device)
    with threads_of(where, threads) as count:
        if gemm is not None:
            plan = _of_product(gemm, card, weights)
        else:
            assert model is not None
            plan = _of_model(model, card, weights, batch, context, prefill, tp)
        _refuse_formats(plan, where, formats(where))
        asked = _Asked(tp, budget_s, command, keep, progress)
        return told(_measured(plan, card, where, count, asked))


def _refuse_counts(name: str, counts: Sequence[int]) -> None:
    """Raises BadInput for what is no number of sequences, tokens or devices."""
    for one in counts:
        if isinstance(one, bool) or not isinstance(one, int) or not 1 <= one <= LARGEST:
            raise BadInput(
                f"{name} is counted from 1", where=Named.of(name), got=one, want="whole numbers from 1 to 2^40"
            )


def _of_product(gemm: tuple[int, int, int], card: Accelerator, weights: str | None) -> _Plan:
    """One product of given sizes."""
    from rooflight.roofline.rates import rates
    from rooflight.values.formats import format_named
    from rooflight.work.formulas import gemm as gemm_work
    from rooflight.work.layout import Layout
    from rooflight.work.numbers import Numbers, input_bytes, product_format
    from rooflight.work.storage import linear_bytes

    if not isinstance(gemm, tuple | list) or len(gemm) != 3 or not all(type(size) is int and size > 0 for size in gemm):
        raise BadInput(
            "a product has three sizes from 1", where=Named.of("gemm"), got=gemm, want="(rows, outputs, inputs)"
        )
    rows, outputs, inputs = gemm
    form = format_named(weights or "bf16")
    wide = form.id if form.id in _WIDE else "bf16"
    numbers = Numbers(activations=wide if wide != "bf16" else None, act_bytes=4.0 if wide == "fp32" else 2.0)
    linear = Linear(name="gemm", inputs=inputs, outputs=outputs, format=form.id)
    work = gemm_work(
        tokens=rows, inputs=inputs, outputs=outputs, weight_bytes=linear_bytes(linear, form),
        in_act_bytes=input_bytes(form, numbers), out_act_bytes=numbers.act_bytes,
    )  # fmt: skip
    op = Operator(
        name="gemm", kind="linear", count=1, compute=product_format(form, numbers), work=work,
        shape=Gemm(tokens=rows, inputs=inputs, outputs=outputs, stored=form.id),
    )  # fmt: skip
    job = Job(phase="product", operator=op, tokens=rows)
    return _Plan((job,), rates(card, Layout(), graphs=False), _fits(card, wide), None, form.id, wide)


def _of_model(
    model: str | Path | Model, card: Accelerator, weights: str | None, batch: Sequence[int] | None, context: int,
    prefill: Sequence[int], tp: int,
) -> _Plan:  # fmt: skip
    """The operators of decode steps and of prompts, equal ones once."""
    from rooflight.library.questions import make_scenario
    from rooflight.library.questions import model as model_named
    from rooflight.roofline.rates import rates
    from rooflight.values.formats import format_named
    from rooflight.work import step as work_step
    from rooflight.work.layout import Layout, check_layout

    made = model_named(model)
    form = None if weights is None else format_named(weights).id
    wide = form if form in _WIDE else made.dtype if form is None and made.dtype in _WIDE else "bf16"
    assert wide is not None
    sc = make_scenario(
        made, card, weights=form, activations=None if wide == "bf16" else wide, kv_cache=wide, context=context
    )
    layout = Layout(tp=tp)
    check_layout(sc.model, layout)
    alone = rates(card, Layout(), graphs=False)
    found: dict[object, Job] = {}
    batches = _to_the_ridge(sc.model, alone, wide) if batch is None else batch
    steps = [("decode", one, work_step.decode(sequences=one, context=context)) for one in batches]
    steps += [("prefill", one, work_step.prefill(sequences=1, isl=one)) for one in prefill]
    for phase, tokens, step in steps:
        ops = work_step.operators(sc.model, step, layout, sc.numbers)
        for op in sorted(ops, key=lambda one: one.name == "final_norm"):  # as the layers' own, where those have one
            job = Job(
                phase="decode" if phase == "decode" else "prefill", operator=op, tokens=tokens, per_step=op.count,
                context=context if phase == "decode" else None,
            )  # fmt: skip
            found.setdefault(_same(op), job)
    return _Plan(tuple(found.values()), alone, _fits(card, wide), sc.checkpoint.id, sc.weights, wide)


def _fits(card: Accelerator, wide: str) -> Calibration | None:
    """What is expected of kernels: by a measured machine's own tables, else by fits of its family; None: by nothing.

    Where a machine was measured, fits of other devices say nothing of it. What a layer takes beyond its kernels, and a
    routed expert, is no part of a kernel alone.
    """
    from rooflight.catalog.calibration import calibration, families, fitted_family

    tables = None if card.measured is None else card.measured.tables
    if tables is not None:
        alone = msgspec.structs.replace(tables, layer_s={}, expert_s={})
        return msgspec.structs.replace(calibration(fitted_family(card)), tables=alone.among(wide))
    return calibration(fitted_family(card)) if card.measured is None or card.family in families() else None


def _same(op: Operator) -> object:
    """What tells one kernel from another: where its sizes are known these, not which layer they are of."""
    kind = op.name.partition(" (")[0].removeprefix("final_") if op.kind == "elementwise" else op.kind
    return (kind, op.name, str(op.work)) if op.shape is None else (kind, op.compute, str(op.shape))


def _to_the_ridge(model: Model, alone: Rates, wide: str) -> tuple[int, ...]:
    """Powers of two from 1 to the first at or beyond the batch whose products arithmetic binds."""
    from rooflight.roofline.formulas import crossover_batch, ridge_flop_per_byte
    from rooflight.values.formats import element_bits, format_named

    form = format_named(model.quantization or model.dtype, None) if "=" not in (model.quantization or "") else None
    bits = 16 if form is None else element_bits(form)
    peak = alone.peak((form.compute if form else None) or wide)
    ridge = ridge_flop_per_byte(peak, alone.memory_bytes_per_s)
    most = min(float(crossover_batch(ridge_flop_per_byte=ridge, bits=bits)), LARGEST_DECODE)
    found = [1]
    while found[-1] < most:
        found.append(found[-1] * 2)
    return tuple(found)


def _refuse_formats(plan: _Plan, where: Device, formats: tuple[str, ...]) -> None:
    """Raises BadInput where the device does not multiply in a format of the products."""
    from rooflight.probe.kernels import run_in, storable

    stored = {job.operator.shape.stored for job in plan.jobs if isinstance(job.operator.shape, Gemm)}
    lacking = sorted(form for form in stored if run_in(form, formats) is None)
    if not lacking and plan.wide in formats:
        return
    missing = lacking or [plan.wide]
    can = storable(formats)
    raise BadInput(
        f"torch multiplies no {missing[0]} on {where.name}", where=Named.of("weights"), got=", ".join(missing),
        want=f"one of {', '.join(can)}", try_this=Named("{weights}", weights="bf16" if "bf16" in can else can[0]),
    )  # fmt: skip


def _measured(plan: _Plan, card: Accelerator, where: Device, threads: int | None, asked: _Asked) -> Kernels:
    """The plan carried out, as far as time and whoever waits allow."""
    from rooflight.answers.check.kernels import explained
    from rooflight.probe.device import memory_bytes, state
    from rooflight.probe.kernels import COLD, Pool

    before = state(where, threads)
    total = memory_bytes(where)
    most = float("inf") if total is None else total * _SHARE
    pool = Pool(where, cold_bytes=COLD * plan.rates.cache_bytes, most_bytes=most)
    found: list[KernelTime] = []
    left: dict[str, list[str]] = {}
    interrupted = False
    try:
        for job, one in _each(plan, where, pool, before, asked):
            if isinstance(one, str):
                left.setdefault(one, []).append(_called(job))
                continue
            found.append(one)
            if asked.keep is not None:
                asked.keep(one.sample)
    except KeyboardInterrupt:
        interrupted = True
    if not found and not interrupted:
        why = next(iter(left), "there is nothing to time")
        raise BadInput("no kernel could be timed", where=where.name, got=why, want="more time, or a smaller model")
    rates = plan.rates
    return Kernels(
        model=plan.model, device=where.name, weights=plan.weights, tp=asked.tp, machine=before, interrupted=interrupted,
        complete=not interrupted and _NO_TIME not in left,
        on=card, launch_s=rates.launch_s, cache_bytes=rates.cache_bytes,
        kernels=explained(found, rates),
        left_out=tuple(f"{_several(names)}: {why}" for why, names in left.items()),
    )  # fmt: skip


_NO_TIME = "no time was left for it"


def _several(names: Sequence[str]) -> str:
    """Names, each once, the first of many."""
    once = list(dict.fromkeys(names))
    shown = ", ".join(once[:_NAMED])
    return shown if len(once) <= _NAMED else f"{shown} and {len(once) - _NAMED} more"


def _step(job: Job) -> str:
    """What a kernel is of."""
    return {"decode": f"decode, batch {job.tokens}", "prefill": f"prefill of {job.tokens}"}.get(
        job.phase, "the product"
    )


def _called(job: Job) -> str:
    """An operator in a list of those left out."""
    at = {"decode": f" at batch {job.tokens}", "prefill": f" of {job.tokens} tokens"}.get(job.phase, "")
    return f"{job.operator.name}{at if job.operator.shape is not None else ''}"


def _each(
    plan: _Plan, where: Device, pool: Pool, before: MachineState, asked: _Asked
) -> Iterator[tuple[Job, KernelTime | str]]:
    """Each job with its kernel's times, or why there are none."""
    from rooflight.answers.check.kernels import beside
    from rooflight.probe import kernels as probe
    from rooflight.roofline.step import evaluated

    end = time.monotonic() + asked.budget_s
    for number, job in enumerate(plan.jobs):
        op = msgspec.structs.replace(job.operator, count=1)
        if job.operator.kind == "collective":
            yield job, "it takes several devices"
            continue
        roofline_s = float(evaluated((op,), plan.rates).roofline_s) * _SLOWER
        least = _LEAST if roofline_s < _LONG_S else _LEAST_LONG
        left_s = end - time.monotonic()
        if roofline_s * (least + _WARMING) > left_s:
            yield job, _NO_TIME
            continue
        if asked.progress is not None:
            asked.progress(_step(job), number / len(plan.jobs))
        ready = probe.bench(op, where, pool, plan.wide)
        if isinstance(ready, str):
            yield job, ready
            continue
        share_s = min(_EACH_S, left_s / (len(plan.jobs) - number))
        one = probe.sample(ready, where, state=before, budget_s=share_s, least=least, command=asked.command)
        if isinstance(one, str):
            yield job, one
            continue
        told = msgspec.structs.replace(
            one, model=plan.model, context=job.context,
            batch=job.tokens if job.phase == "decode" else None, isl=job.tokens if job.phase == "prefill" else None,
        )  # fmt: skip
        yield job, beside(job, ready.op, told, plan.rates, plan.fits)
