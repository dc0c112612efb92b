"""Moves of how requests are served: speculative decoding, the tokens of a step, prefill and decode apart."""

from __future__ import annotations

from collections.abc import Iterator

from rooflight.answers.moves.option import Asked, Option, move, option
from rooflight.roofline.links import between
from rooflight.scenario.change import changed
from rooflight.scenario.definite import Scenario
from rooflight.serve.apart import is_apart
from rooflight.serve.formulas import tokens_per_verify
from rooflight.serve.held import device_sequence_bytes
from rooflight.serve.replica import replica
from rooflight.work.count import has_source, is_encoder

# Tokens of a step that are tried where the engine's own budget is larger: shorter steps while prompts are prefilled.
_CHUNK = 2048
_LARGEST_BATCH = 1 << 14
# Workers of each kind at most, where they are apart.
_MOST_WORKERS = 3
# What drafts, and the format of its weights; None: nothing that is named.
Draft = tuple[str | None, str | None]


@move("speculative-decoding", alone=True, needs_peak=True)
def speculative(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """A draft model proposes tokens, one step verifies them all."""
    drafted, load = asked.draft_tokens, sc.workload
    if is_encoder(sc.model):  # nothing is put out that could be drafted
        return
    if not load.draft_tokens or "speculative-decoding" in asked.named:
        tokens = tokens_per_verify(draft_tokens=drafted, acceptance=load.acceptance)
        name, weights = draft_of(sc, asked)
        share = load.draft_share if name is None else None
        yield option(
            sc, drafted, tokens, pays_up_to(sc, drafted, (name, weights)), load.acceptance, share, name,
            draft_tokens=drafted, draft_model=name, draft_weights=weights,
        )  # fmt: skip


def draft_of(sc: Scenario, asked: Asked) -> Draft:
    """What drafts, and the format of its weights: what moves were asked for, else what the deployment has."""
    return asked.draft or (sc.deployment.draft_model, sc.deployment.draft_weights)


def pays_up_to(sc: Scenario, drafted: int, draft: Draft = (None, None)) -> int | None:
    """The largest power of two of requests at which a token is expected sooner than without; None: at all sizes."""
    plain = changed(sc, draft_tokens=0, draft_model=None, draft_weights=None, ignore_capacity=True)
    drafts = changed(plain, draft_tokens=drafted, draft_model=draft[0], draft_weights=draft[1])
    size = 1
    while size <= _LARGEST_BATCH:
        without, with_drafts = (replica(one, size) for one in (plain, drafts))
        each = without.users
        if with_drafts.expected_s(each, None) / with_drafts.each >= without.expected_s(each, None):
            return size // 2
        size *= 2
    return None


@move("chunked-prefill", needs_peak=True)
def chunked(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """Fewer tokens a step: the others' tokens come sooner while a prompt is prefilled, its own first one later."""
    cut = not (is_encoder(sc.model) or has_source(sc.model))  # there each token sees those behind it
    if cut and sc.budget_tokens > _CHUNK and sc.workload.batch > 1:
        one = replica(sc)
        steps = [one.expected_s(1, min(one.prompt, budget)) for budget in (sc.budget_tokens, _CHUNK)]
        if steps[1] < steps[0]:
            yield option(sc, sc.budget_tokens, _CHUNK, *steps, max_num_batched_tokens=_CHUNK)


@move("disaggregation", alone=True, needs_peak=True)
def disaggregated(sc: Scenario, asked: Asked) -> Iterator[Option]:
    """Prefill and decode on workers of their own, the cache sent from the ones to the others; as many requests each."""
    load = sc.workload
    if load.batch > 1 and not is_apart(sc) and not is_encoder(sc.model):
        one = replica(sc)
        prefill_s = one.prompt_s(one.expected_s)
        decode_s = one.steps * one.expected_s(one.users, None) / one.users
        prefill, decode = _workers(prefill_s / decode_s)
        devices = (prefill + decode) * sc.layout.devices
        sent_s = _cache_bytes(sc) / between(sc.accelerator, sc.deployment.network, devices)[1]
        yield option(
            sc, prefill_s / decode_s, prefill, decode, _cache_bytes(sc), sent_s, prefill_workers=prefill,
            decode_workers=decode, batch=load.batch * (prefill + decode), schedule="apart",
        )  # fmt: skip


def _workers(share: float) -> tuple[int, int]:
    """Workers of each kind, nearest to the share of their work."""
    counts = range(1, _MOST_WORKERS + 1)
    pairs = [(one, other) for one in counts for other in counts if 1 in (one, other)]
    return min(pairs, key=lambda pair: max(pair[0] / pair[1] / share, share * pair[1] / pair[0]))


def _cache_bytes(sc: Scenario) -> float:
    """What one prompt's cache takes on one device of its replica."""
    return float(device_sequence_bytes(sc.model, sc.workload.isl, sc.layout, sc.numbers))
