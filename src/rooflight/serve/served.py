"""The steady state of continuous batching: requests arrive as others leave, prompts are prefilled beside decode."""

from __future__ import annotations

import msgspec

from rooflight.numeric import Number, maximum, minimum
from rooflight.roofline.engine import Expected
from rooflight.scenario.definite import Scenario
from rooflight.serve.expected import expected
from rooflight.serve.memory import device_sequence_bytes, max_batch, room
from rooflight.work import step as steps
from rooflight.work.layout import share_out

# Prompt tokens that a step takes beside its decoding sequences at most; longer lumps run in several steps.
LUMP_TOKENS = 16_384
# A newcomer arrives in the middle of a step, in the mean.
STEP_UNDER_WAY = 0.5


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """Steady state of continuous batching at the workload's batch as concurrency.

    tpot, ttft  with their intervals; running: sequences that decode at once (memory may allow fewer than asked)
    """

    tpot: Expected
    ttft: Expected
    running: Number


def admitted(sc: Scenario) -> Number:
    """Sequences that run at once on one replica in the steady state, as its memory allows."""
    engine = sc.engine
    held = sc.workload.isl + sc.workload.osl * engine.reserved_output
    one = room(sc)
    of_free = (one.left + one.withheld) * sc.deployment.gpu_memory_utilization
    left = one.left + (of_free - one.left) * engine.withheld_of_free
    cache = device_sequence_bytes(sc.model, held, sc.layout, sc.numbers)
    return max_batch(msgspec.structs.replace(one, cache=cache, left=left))


def served(sc: Scenario) -> Served:
    """TPOT and TTFT at a concurrency of `batch` requests of isl and osl tokens each, in the steady state.

    A request decodes for osl steps while newcomers x batch / osl prompts a step arrive. A share of the steps (at most
    all) has a prompt beside it, the others none; TPOT is their mean. The first token waits for the step under way,
    for its own prefill, and for those of others in front of it.
    """
    load, layout, engine = sc.workload, sc.layout, sc.engine
    most = maximum(admitted(sc) * layout.dp, 1)
    running = minimum(load.batch, most)
    sequences, context = share_out(running, layout).sequences, load.isl + load.osl / 2
    rate = engine.newcomers * sequences / load.osl
    busy = minimum(rate, 1)
    lump = (load.isl - load.cached_prefix) * rate / busy
    chunk = minimum(lump, LUMP_TOKENS)
    alone = steps.decode(sequences=sequences, context=context)
    beside = steps.mixed(sequences=sequences, context=context, chunk_tokens=chunk, chunk_context=load.cached_prefix)
    quiet, loud = (expected(sc, sc.steps.parts(step), sequences=sequences) for step in (alone, beside))
    lumps = lump / chunk
    step = quiet.seconds + (loud.seconds - quiet.seconds) * lumps * busy
    ratio = step / quiet.seconds
    tpot = msgspec.structs.replace(quiet, seconds=step, low=quiet.low * ratio, high=quiet.high * ratio)
    one = steps.prefill(sequences=1, isl=load.isl, cached_prefix=load.cached_prefix)
    prompt = expected(sc, sc.steps.parts(one), sequences=1)
    queued = maximum(load.batch - running, 0) / running * (step * load.osl)
    waits = engine.first_wait + engine.first_queue * sequences
    first = engine.first_host_s + prompt.seconds * waits + STEP_UNDER_WAY * step + queued
    ttft = msgspec.structs.replace(prompt, seconds=first, low=first * engine.first_low, high=first * engine.first_high)
    return Served(tpot=tpot, ttft=ttft, running=running)
