"""What a well-run engine gets: a decode step, a prefill, and the steady state of serving many requests."""

from __future__ import annotations

import msgspec

from rooflight.catalog.calibration import calibration
from rooflight.numeric import Number, maximum, minimum
from rooflight.roofline.expected_step import Parts, Setting, cached_share, parts, step_s
from rooflight.scenario.definite import Scenario, context_tokens
from rooflight.serve.memory import device_sequence_bytes, max_batch, room
from rooflight.serve.phases import PhaseTime
from rooflight.values.accelerator import Accelerator
from rooflight.values.calibration import Engine
from rooflight.work import step as steps
from rooflight.work.layout import share_out

# Prompt tokens that a step takes beside its decoding sequences at most; longer lumps run in several steps.
LUMP_TOKENS = 16_384
# A newcomer arrives in the middle of a step, in the mean.
STEP_UNDER_WAY = 0.5
# Host time a kernel we count takes where a framework launches it, several operators of 5 to 10 us each. transformers
# in 16 bits at batch 1 without a context: 53.8 to 55.5 us for Qwen3 of 1.7B, 4B, 14B and 32B on an H20 alike (Qwen3's
# speed page); 84 to 103 for four models on an A100 (Qwen's pages, prem), 43 to 59 in tinychat's tables.
EAGER_KERNEL_S = 54e-6


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """Expected seconds with the interval that holds eight of ten measurements, and what they consist of."""

    seconds: Number
    low: Number
    high: Number
    part: Parts
    host: Number
    link_s: Number
    experts_s: Number


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """Steady state of continuous batching at the workload's batch as concurrency.

    tpot_s, ttft_s  with their intervals; running: sequences that decode at once (memory may allow fewer than asked)
    """

    tpot: Expected
    ttft: Expected
    running: Number


def setting(sc: Scenario, moved_bytes: Number) -> Setting:
    """The machine and its fits, and how much of a step's bytes its caches still hold."""
    cache = sc.rates.cache_bytes * sc.layout.pp
    return Setting(
        rates=sc.rates,
        calibration=calibration(sc.accelerator.family),
        cached=cached_share(moved_bytes, cache),
        expert_devices=sc.layout.ep,
    )


def step_parts(sc: Scenario, step: steps.Step) -> Parts:
    """The parts of one pass of one replica."""
    ops = steps.operators(sc.model, step, sc.layout, sc.numbers)
    moved = steps.total(ops).moved_bytes
    return parts(ops, setting(sc, moved))


def decode_parts(sc: Scenario, *, sequences: Number, context: Number) -> Parts:
    """The parts of a decode step of one replica's pass."""
    return step_parts(sc, steps.decode(sequences=sequences, context=context))


def prefill_parts(
    sc: Scenario, *, prompts: Number = 1, isl: Number | None = None, cached_prefix: Number | None = None
) -> Parts:
    """The parts of a prefill on one replica: of the workload's prompts, or of others."""
    isl = sc.workload.isl if isl is None else isl
    cached_prefix = sc.workload.cached_prefix if cached_prefix is None else cached_prefix
    return step_parts(sc, steps.prefill(sequences=prompts, isl=isl, cached_prefix=cached_prefix))


def expert_layers(sc: Scenario) -> int:
    """Layers with routed experts."""
    return sum(layer.count for layer in sc.model.layers if layer.experts is not None)


def expected(sc: Scenario, engine: Engine, part: Parts, *, sequences: Number, fill: Number = 1) -> Expected:
    """An engine's time for a step of these parts; a family without measurements has a wider interval."""
    routed = expert_layers(sc)
    seconds = step_s(part, engine, sequences=sequences, expert_layers=routed) * fill
    host = (engine.host_s + sequences * engine.host_per_sequence_s) * fill
    if not sc.deployment.graphs:
        waits = maximum(eager_s(sc) - seconds, 0)
        seconds, host = seconds + waits, host + waits
    low, high = (engine.moe_low, engine.moe_high) if routed else (engine.low, engine.high)
    wider = widening(sc.accelerator, engine)
    return Expected(
        seconds=seconds,
        low=seconds * low / wider,
        high=seconds * high * wider,
        part=part,
        host=host,
        link_s=part.link * fill,
        experts_s=(part.experts * (engine.expert_share - 1) + routed * engine.expert_layer_s) * fill,
    )


def widening(accelerator: Accelerator, engine: Engine) -> float:
    """By how much an engine's intervals are wider on an accelerator: its fits may be another family's, or other cards'.

    An engine fitted on the very accelerator has taken up whatever the kernel fits miss there.
    """
    if accelerator.id in engine.cards:
        return 1.0
    return max(calibration(accelerator.family).widened, engine.unseen_card)


def eager_s(sc: Scenario) -> Number:
    """Without graphs the host launches each kernel: a step takes no less than all launches at EAGER_KERNEL_S each.

    Nothing where a program is compiled whole.
    """
    if not sc.accelerator.assumed.launch_eager_s:
        return 0.0
    ops = steps.operators(sc.model, steps.decode(sequences=1, context=1), sc.layout, sc.numbers)
    return steps.total(ops).launches * EAGER_KERNEL_S


def expected_decode(
    sc: Scenario,
    engine: Engine,
    phase: PhaseTime | None = None,
    *,
    batch: Number | None = None,
    context: Number | None = None,
) -> Expected:
    """One decode step of all sequences, nobody being prefilled beside it; of the workload, or of another batch.

    phase   that very step, if it is at hand
    """
    share = share_out(sc.workload.batch if batch is None else batch, sc.layout)
    context = context_tokens(sc.workload) if context is None else context
    part = _known_parts(sc, phase)
    if part is None:
        part = decode_parts(sc, sequences=share.sequences, context=context)
    return expected(sc, engine, part, sequences=share.sequences)


def expected_prefill(
    sc: Scenario,
    engine: Engine,
    phase: PhaseTime | None = None,
    *,
    isl: Number | None = None,
    prompts: Number | None = None,
    cached_prefix: Number | None = None,
) -> Expected:
    """The prefill of prefill_batch prompts, nobody decoding beside it; of the workload's, or of others.

    phase   that very prefill, if it is at hand
    """
    share = share_out(sc.workload.prefill_batch if prompts is None else prompts, sc.layout)
    part = _known_parts(sc, phase)
    if part is None:
        part = prefill_parts(sc, prompts=share.sequences, isl=isl, cached_prefix=cached_prefix)
    stages = sc.layout.pp
    plain = expected(sc, engine, part, sequences=share.sequences, fill=(share.passes + stages - 1) / stages)
    seconds = plain.seconds * engine.prefill_share
    wider = widening(sc.accelerator, engine)
    return msgspec.structs.replace(
        plain, seconds=seconds, low=seconds * engine.prefill_low / wider, high=seconds * engine.prefill_high * wider
    )


def expected_step(sc: Scenario, engine: Engine, phase: PhaseTime) -> Expected:
    """A verify or mixed step, with the interval of a decode step."""
    part = _parts_of(sc, phase)
    return expected(sc, engine, part, sequences=share_out(sc.workload.batch, sc.layout).sequences)


def _parts_of(sc: Scenario, phase: PhaseTime) -> Parts:
    """The parts of a step whose operators are known."""
    ops = tuple(row.operator for row in phase.time.operators)
    return parts(ops, setting(sc, phase.time.work.moved_bytes))


def _known_parts(sc: Scenario, phase: PhaseTime | None) -> Parts | None:
    """The same; None where replicas share experts, since an expected step takes all of them as busy."""
    return None if phase is None or sc.layout.dp > 1 else _parts_of(sc, phase)


def expected_request(sc: Scenario, engine: Engine) -> Expected:
    """A request by itself: its prefill, then its decode steps at their mean context."""
    load = sc.workload
    fill = expected_prefill(sc, engine)
    share = share_out(load.batch, sc.layout)
    part = decode_parts(sc, sequences=share.sequences, context=load.isl + load.osl / 2)
    step = expected(sc, engine, part, sequences=share.sequences)
    times = load.osl - 1
    return msgspec.structs.replace(
        step,
        seconds=fill.seconds + times * step.seconds,
        low=fill.low + times * step.low,
        high=fill.high + times * step.high,
    )


def ordered(ceiling: Number, roofline: Number, found: Expected) -> tuple[Number, Number, Number]:
    """(expected, low, high) in their order: what a fit says below the roofline is the roofline."""
    middle = maximum(found.seconds, roofline)
    return middle, maximum(minimum(found.low, middle), ceiling), maximum(found.high, middle)


def admitted(sc: Scenario, engine: Engine) -> Number:
    """Sequences that run at once on one replica in the steady state, as its memory allows."""
    held = sc.workload.isl + sc.workload.osl * engine.reserved_output
    one = room(sc)
    of_free = (one.left + one.withheld) * sc.deployment.gpu_memory_utilization
    left = one.left + (of_free - one.left) * engine.withheld_of_free
    cache = device_sequence_bytes(sc.model, held, sc.layout, sc.numbers)
    return max_batch(msgspec.structs.replace(one, cache=cache, left=left))


def served(sc: Scenario, engine: Engine) -> Served:
    """TPOT and TTFT at a concurrency of `batch` requests of isl and osl tokens each, in the steady state.

    A request decodes for osl steps while newcomers x batch / osl prompts a step arrive. A share of the steps (at most
    all) has a prompt beside it, the others none; TPOT is their mean. The first token waits for the step under way,
    for its own prefill, and for those of others in front of it.
    """
    load, layout = sc.workload, sc.layout
    most = maximum(admitted(sc, engine) * layout.dp, 1)
    running = minimum(load.batch, most)
    share = share_out(running, layout)
    sequences, context = share.sequences, load.isl + load.osl / 2
    alone = decode_parts(sc, sequences=sequences, context=context)
    rate = engine.newcomers * sequences / load.osl
    busy = minimum(rate, 1)
    lump = (load.isl - load.cached_prefix) * rate / busy
    chunk = minimum(lump, LUMP_TOKENS)
    beside = step_parts(
        sc, steps.mixed(sequences=sequences, context=context, chunk_tokens=chunk, chunk_context=load.cached_prefix)
    )
    quiet = expected(sc, engine, alone, sequences=sequences)
    loud = expected(sc, engine, beside, sequences=sequences)
    lumps = lump / chunk
    step = quiet.seconds + (loud.seconds - quiet.seconds) * lumps * busy
    ratio = step / quiet.seconds
    tpot = msgspec.structs.replace(quiet, seconds=step, low=quiet.low * ratio, high=quiet.high * ratio)
    prompt = expected(sc, engine, prefill_parts(sc), sequences=1)
    queued = maximum(load.batch - running, 0) / running * (step * load.osl)
    waits = engine.first_wait + engine.first_queue * sequences
    first = engine.first_host_s + prompt.seconds * waits + STEP_UNDER_WAY * step + queued
    ttft = msgspec.structs.replace(prompt, seconds=first, low=first * engine.first_low, high=first * engine.first_high)
    return Served(tpot=tpot, ttft=ttft, running=running)


def batch_run(sc: Scenario, engine: Engine) -> tuple[Expected, Expected]:
    """(prefill of the whole batch, its mean decode step): a batch run offline, all sequences alike."""
    load = sc.workload
    share = share_out(load.batch, sc.layout)
    fill = expected(sc, engine, prefill_parts(sc, prompts=share.sequences), sequences=share.sequences)
    part = decode_parts(sc, sequences=share.sequences, context=load.isl + load.osl / 2)
    return fill, expected(sc, engine, part, sequences=share.sequences)


def expected_of(sc: Scenario, engine: Engine, *, phase: str, metric: str) -> Expected:
    """Expected seconds of what a metric of a measurement times (values.measurement), at the scenario's numbers.

    decode: one step; prefill, and ttft of a batch: the prompts together; e2e_offline: prefill, then all decode steps;
    e2e_server: the steady state of serving; a rate of all counts what runs, since those that wait get no tokens.
    """
    steps_ = maximum(sc.workload.osl - 1, 0)
    if phase == "decode":
        return expected_decode(sc, engine)
    if phase == "prefill" or metric == "prefill_tok_s":
        return expected_prefill(sc, engine)
    if phase == "e2e_server":
        state = served(sc, engine)
        if metric == "ttft_ms":
            return state.ttft
        if metric == "tpot_ms":
            return state.tpot
        if metric == "e2e_latency_ms":
            return _scaled(state.tpot, sc.workload.osl, state.ttft.seconds)
        turns = 1 if metric == "output_tok_s_per_user" else sc.workload.batch / state.running
        return _scaled(state.tpot, sc.workload.osl * turns, 0)
    fill, step = batch_run(sc, engine)
    if metric == "tpot_ms":
        return step
    return fill if metric == "ttft_ms" else _scaled(step, steps_, fill.seconds)


def _scaled(one: Expected, times: Number, beside: Number) -> Expected:
    """`times` steps and `beside` seconds, with the relative interval of a step."""
    seconds = one.seconds * times + beside
    return msgspec.structs.replace(
        one,
        seconds=seconds,
        low=seconds * (one.low / one.seconds),
        high=seconds * (one.high / one.seconds),
        host=one.host * times,
    )
