"""Moves of how requests are served: speculative decoding, chunked prefill, prefill and decode apart."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from rooflight.answers.moves.option import Asked, Option, move, option
from rooflight.answers.moves.outcome import assembled, dot, outcome, scaled_dot
from rooflight.scenario.change import changed
from rooflight.scenario.definite import Scenario
from rooflight.serve import phases
from rooflight.serve.formulas import decode_steps
from rooflight.serve.memory import device_sequence_bytes
from rooflight.span import Span
from rooflight.units import scaled
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
    if sc.workload.draft_tokens:
        return
    tokens = tokens_per_verify(draft_tokens=asked.draft_tokens, acceptance=asked.acceptance)
    yield option(
        f"speculative decoding, {asked.draft_tokens} tokens drafted",
        f"yields {tokens:.2f} tokens a step, which verifies {asked.draft_tokens + 1} positions a sequence"
        + _pays(sc, asked),
        "memory: the draft model and its cache; needs a draft that agrees with the target",
        partial(changed, sc, draft_tokens=asked.draft_tokens),
        judged=_speculated,
        assumed=(
            f"{asked.acceptance:.0%} of drafted tokens accepted (--acceptance)",
            f"drafting a token takes {asked.draft_share:.0%} of a decode step (--draft-share)",
        ),
    )


def _speculated(sc: Scenario, asked: Asked) -> Outcome:
    plain = outcome(changed(sc, draft_tokens=0), asked.price(sc))
    phase = phases.verify(sc)
    verify = dot(sc, phase)
    tokens = tokens_per_verify(draft_tokens=sc.workload.draft_tokens, acceptance=asked.acceptance)
    drafting = sc.workload.draft_tokens * asked.draft_share
    drafted = plain.decode.time_s * drafting / tokens
    return assembled(
        sc, prefill=plain.prefill, decode=scaled_dot(verify, 1 / tokens, beside=drafted), max_batch=plain.max_batch,
        fits=plain.fits, usd_per_hour=asked.price(sc),
    )  # fmt: skip


def pays_up_to(sc: Scenario, asked: Asked) -> int | None:
    """The largest power of two of sequences at which a token comes sooner than without; None: at all sizes."""
    last = 0
    size = 1
    while size <= _LARGEST_BATCH:
        now = changed(sc, batch=size, draft_tokens=asked.draft_tokens, ignore_capacity=True)
        tokens = tokens_per_verify(draft_tokens=asked.draft_tokens, acceptance=asked.acceptance)
        plain, verify = (of(now).time.roofline_s for of in (phases.decode, phases.verify))
        drafted = (verify + asked.draft_tokens * asked.draft_share * plain) / tokens
        if drafted >= plain:
            break
        last, size = size, size * 2
    return None if size > _LARGEST_BATCH else last


def _pays(sc: Scenario, asked: Asked) -> str:
    last = pays_up_to(sc, asked)
    if last is None:
        return ""
    return f"; pays up to about batch {last:,}" if last else "; does not pay even at batch 1"


@move("chunked-prefill", alone=True)
def chunked(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """Prompts prefilled in pieces beside decode steps, which would otherwise stand still."""
    load = sc.workload
    chunk = min(_CHUNK, load.isl - load.cached_prefix)
    if load.chunk_tokens or load.batch == 1:
        return
    yield option(
        f"chunked prefill, {chunk:,} tokens beside a step",
        "lets the prompt's arithmetic run under the decode step's memory traffic" + _longest_wait(sc, chunk),
        "the newcomer's own first token comes later", partial(changed, sc, chunk_tokens=chunk), judged=_chunked,
    )  # fmt: skip


def _longest_wait(sc: Scenario, chunk: int) -> str:
    one = phases.prefill(sc, prompts=1).time.roofline_s + phases.decode(sc).time.roofline_s
    mixed = phases.mixed(changed(sc, chunk_tokens=chunk, ignore_capacity=True)).time.roofline_s
    return f"; the longest wait between two tokens goes from {scaled(one, 's')} to {scaled(mixed, 's')}"


def _chunked(sc: Scenario, asked: Asked) -> Outcome:
    plain = outcome(changed(sc, chunk_tokens=0), asked.price(sc))
    phase = phases.mixed(sc)
    mixed = dot(sc, phase)
    load = sc.workload
    steps = (load.isl - load.cached_prefix) / load.chunk_tokens
    # A request brings (osl - 1) / batch decode steps; chunks beyond those have nobody's decode to run beside.
    carried = min(steps, decode_steps(load.osl) / load.batch)
    beside = mixed.time_s.with_each(plain.decode.time_s, lambda loud, quiet: max(steps * loud - carried * quiet, 0.0))
    return assembled(
        sc, prefill=scaled_dot(mixed, steps), decode=plain.decode, max_batch=plain.max_batch, fits=plain.fits,
        usd_per_hour=asked.price(sc), stall=beside,
    )  # fmt: skip


@move("disaggregation", alone=True)
def disaggregated(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """Prefill and decode on accelerators of their own, the cache sent over the link."""
    if sc.workload.batch == 1:
        return
    prefill = phases.prefill(sc, prompts=1).time.roofline_s
    decode = sc.workload.osl * phases.decode(sc).time.roofline_s / sc.workload.batch
    yield option(
        "prefill and decode apart",
        "keeps prefills out of the decode steps; both pools are busy at "
        f"{_ratio(prefill / decode)} accelerators for prefill and decode, and a prompt's cache of "
        f"{scaled(_cache_bytes(sc), 'B')} travels in {scaled(_transfer_s(sc), 's')}",
        "two pools that must be sized to the mix; a fast network between them",
        partial(changed, sc), judged=_apart,
        assumed=("the cache travels at the link's rate, or PCIe's where there is no link",),
    )  # fmt: skip


def _apart(sc: Scenario, asked: Asked) -> Outcome:
    plain = outcome(sc, asked.price(sc))
    sent = Span.same(_transfer_s(sc))
    return assembled(
        sc, prefill=scaled_dot(plain.prefill, 1, beside=sent), decode=plain.decode, max_batch=plain.max_batch,
        fits=plain.fits, usd_per_hour=asked.price(sc), apart=True,
        stall=plain.prefill.time_s / sc.workload.prefill_batch,
    )  # fmt: skip


def _cache_bytes(sc: Scenario) -> float:
    """What one prompt's cache takes on one device of its replica."""
    return float(device_sequence_bytes(sc.model, sc.workload.isl, sc.layout, sc.numbers))


def _transfer_s(sc: Scenario) -> float:
    """Each device sends its own part."""
    card = sc.accelerator
    rate = card.link.bytes_per_s if card.link is not None else card.pcie_bytes_per_s
    return _cache_bytes(sc) / rate if rate else 0.0


def _ratio(share: float) -> str:
    return f"1 : {1 / share:.1f}" if share < 1 else f"{share:.1f} : 1"
