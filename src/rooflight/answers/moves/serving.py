"""Moves of how requests are served: speculative decoding, chunked prefill, prefill and decode apart."""

from __future__ import annotations

from collections.abc import Iterator

from rooflight.answers.moves.option import Asked, Option, move, option
from rooflight.answers.moves.outcome import dot, outcome, scaled_dot
from rooflight.scenario.change import changed
from rooflight.scenario.definite import Scenario
from rooflight.serve import phases
from rooflight.serve.formulas import decode_steps
from rooflight.serve.memory import device_sequence_bytes
from rooflight.span import Span
from rooflight.values.moves import Outcome

# Prompt tokens beside a decode step: vLLM's and SGLang's usual budget.
_CHUNK = 2048
_LARGEST_BATCH = 1 << 14


def tokens_per_verify(*, draft_tokens: int, acceptance: float) -> float:
    """Tokens a verify step yields in the mean, each drafted token being accepted with the same chance.

    = (1 - a^(k + 1)) / (1 - a): the accepted ones, and one of the target's own.

    Source: Leviathan, Kalman, Matias 2023 (Fast inference from transformers via speculative decoding), eq. 1.
    Check: draft_tokens 4, acceptance 0.7 -> 2.7731.
    """
    if acceptance == 1:
        return draft_tokens + 1
    return float((1 - acceptance ** (draft_tokens + 1)) / (1 - acceptance))


@move("speculative-decoding", alone=True)
def speculative(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """A draft model proposes tokens, one step verifies them all."""
    drafted, acceptance = asked.draft_tokens, asked.acceptance
    if not sc.workload.draft_tokens:
        tokens = tokens_per_verify(draft_tokens=drafted, acceptance=acceptance)
        yield option(
            sc, drafted, tokens, pays_up_to(sc, asked), acceptance, asked.draft_share,
            draft_tokens=drafted, judged=_speculated,
        )  # fmt: skip


def _speculated(sc: Scenario, asked: Asked) -> Outcome:
    plain, drafted = changed(sc, draft_tokens=0), sc.workload.draft_tokens
    tokens = tokens_per_verify(draft_tokens=drafted, acceptance=asked.acceptance)
    drafting = dot(plain, phases.decode(plain)).time_s * (drafted * asked.draft_share) / tokens
    verify = scaled_dot(dot(sc, phases.verify(sc)), 1 / tokens, beside=drafting)
    return outcome(plain, asked.price(sc), decode=verify)


def pays_up_to(sc: Scenario, asked: Asked) -> int | None:
    """The largest power of two of sequences at which a token comes sooner than without; None: at all sizes."""
    tokens = tokens_per_verify(draft_tokens=asked.draft_tokens, acceptance=asked.acceptance)
    size = 1
    while size <= _LARGEST_BATCH:
        now = changed(sc, batch=size, draft_tokens=asked.draft_tokens, ignore_capacity=True)
        plain, verify = (of(now).time.roofline_s for of in (phases.decode, phases.verify))
        if (verify + asked.draft_tokens * asked.draft_share * plain) / tokens >= plain:
            return size // 2
        size *= 2
    return None


@move("chunked-prefill", alone=True)
def chunked(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """Prompts prefilled in pieces beside decode steps, which would otherwise stand still."""
    load = sc.workload
    if load.chunk_tokens or load.batch == 1:
        return
    chunk = min(_CHUNK, load.isl - load.cached_prefix)
    mixed = phases.mixed(changed(sc, chunk_tokens=chunk, ignore_capacity=True))
    wait_s = phases.prefill(sc, prompts=1).time.roofline_s + phases.decode(sc).time.roofline_s
    yield option(sc, chunk, wait_s, mixed.time.roofline_s, chunk_tokens=chunk, judged=_chunked)


def _chunked(sc: Scenario, asked: Asked) -> Outcome:
    load, plain = sc.workload, changed(sc, chunk_tokens=0)
    mixed, decode_s = dot(sc, phases.mixed(sc)), dot(plain, phases.decode(plain)).time_s
    steps = (load.isl - load.cached_prefix) / load.chunk_tokens
    # A request brings (osl - 1) / batch decode steps; chunks beyond those have nobody's decode to run beside.
    carried = min(steps, decode_steps(load.osl) / load.batch)
    beside = mixed.time_s.with_each(decode_s, lambda loud, quiet: max(steps * loud - carried * quiet, 0.0))
    return outcome(plain, asked.price(sc), prefill=scaled_dot(mixed, steps), stall=beside)


@move("disaggregation", alone=True)
def disaggregated(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """Prefill and decode on accelerators of their own, the cache sent over the link."""
    load = sc.workload
    if load.batch > 1:
        prefill_s = phases.prefill(sc, prompts=1).time.roofline_s
        decode_s = load.osl * phases.decode(sc).time.roofline_s / load.batch
        yield option(sc, prefill_s / decode_s, _cache_bytes(sc), _transfer_s(sc), judged=_apart)


def _apart(sc: Scenario, asked: Asked) -> Outcome:
    prefill = dot(sc, phases.prefill(sc))
    sent = scaled_dot(prefill, 1, beside=Span.same(_transfer_s(sc)))
    return outcome(sc, asked.price(sc), prefill=sent, stall=prefill.time_s / sc.workload.prefill_batch, apart=True)


def _cache_bytes(sc: Scenario) -> float:
    """What one prompt's cache takes on one device of its replica."""
    return float(device_sequence_bytes(sc.model, sc.workload.isl, sc.layout, sc.numbers))


def _transfer_s(sc: Scenario) -> float:
    """Each device sends its own part."""
    card = sc.accelerator
    rate = card.link.bytes_per_s if card.link is not None else card.pcie_bytes_per_s
    return _cache_bytes(sc) / rate if rate else 0.0
