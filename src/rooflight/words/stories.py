"""Usual wrong beliefs about inference, and the words that answer each; answers.moves.stories finds the numbers."""

from __future__ import annotations

from collections.abc import Callable

from rooflight.units import round_significant, scaled
from rooflight.values.moves import Story
from rooflight.values.note import Note
from rooflight.words.quantities import bound_by


def told(note: Note) -> Story:
    """A belief answered."""
    belief, words = BELIEFS[note.key]
    return Story(name=belief, words=words(*note.value))


def _more_flop(card: str, intensity: float, ridge: float, compute_s: float, memory_s: float) -> str:
    return (
        f"decode does {round_significant(intensity)} FLOP for each byte, and {card} needs {round_significant(ridge)} "
        f"to be busy: arithmetic takes {scaled(compute_s, 's')} of a step, memory {scaled(memory_s, 's')}. "
        "More FLOP/s change the first"
    )


def _narrow_weights(weights: float, cache: float, most: float) -> str:
    return (
        f"weights are {weights:.0%} of the bytes of a step, the KV cache is {cache:.0%}: halving the weights gives "
        f"{most:.2f}x at most; the cache has a format of its own (--kv-cache fp8)"
    )


def _weight_only(bits: float, turn: float, card: str, batch: int) -> str:
    return (
        f"weights of {bits:g} bits that multiply in 16 leave the memory roof at batch {turn:.0f} on {card} (its ridge "
        f"x bits / 16): at batch {batch:,} the linear layers wait for arithmetic, which a weight-only format leaves as "
        "it is, and unpacking costs on top"
    )


def _tensor_parallelism(tp: int, half_s: float, now_s: float, times: float, link_s: float, host_s: float) -> str:
    return (
        f"from tp {tp // 2} to {tp} a decode step goes from {scaled(half_s, 's')} to {scaled(now_s, 's')} as expected, "
        f"{times:.2f}x for twice the accelerators: {scaled(link_s, 's')} of it are collectives and "
        f"{scaled(host_s, 's')} the host, which cutting finer does not divide"
    )


def _small_model(memory_s: float, expected_s: float, launch_s: float, host_s: float) -> str:
    return (
        f"its bytes take {scaled(memory_s, 's')} a step, but a well-run engine takes {scaled(expected_s, 's')}: "
        f"launching its kernels takes {scaled(launch_s, 's')} at the least, and the host {scaled(host_s, 's')} between "
        "steps. A larger batch is nearly free here; narrower weights gain little"
    )


def _one_profile(prefill: str, share: float, decode: str) -> str:
    return (
        f"prefill is {bound_by(prefill)} and {share:.0%} of the machine's time; the rest is decode, which is "
        f"{bound_by(decode)}: what helps the one does little for the other"
    )


def _smaller_batch(batch: int, step: float, lost: float) -> str:
    return (
        f"half the batch, {batch:,}, shortens a step by {step:.0%} and costs {lost:.0%} of the tokens: a step streams "
        "the same weights for fewer sequences"
    )


def _active_parameters(chosen: int, experts: int, batch: int, touched: float, active: float) -> str:
    return (
        f"one token takes {chosen} of {experts} experts, but {batch:,} tokens touch {touched:.0%} of them in a step "
        f"(routed uniformly): that many weights are read, not the active {scaled(active, '')} parameters'"
    )


def _cache_read(context: float, batch: int, cache: float, memory_s: float, weights_s: float) -> str:
    return (
        f"at {context:,} tokens of context and batch {batch:,} the KV cache is {cache:.0%} of the bytes of a step: "
        f"{scaled(memory_s, 's')} at best, where the weights alone would say {scaled(weights_s, 's')}"
    )


def _interconnect(link: str, link_s: float, ceiling_s: float, bound: str) -> str:
    return (
        f"the bytes over {link} take {scaled(link_s, 's')} of a decode step whose ceiling is {scaled(ceiling_s, 's')} "
        f"({bound}): twice the link's bandwidth leaves that as it is"
    )


def _speculation(drafted: int, acceptance: float, last: int, batch: int) -> str:
    said = f"with {drafted} tokens drafted and {acceptance:.0%} accepted it"
    if last == 0:
        return f"{said} does not pay at any batch: too few are accepted for what drafting and verifying take"
    return (
        f"{said} pays up to about batch {last:,}; this is batch {batch:,}, where verifying {drafted + 1} positions a "
        "sequence takes arithmetic that decode alone leaves idle"
    )


def _utilisation(computing: float, streaming: float) -> str:
    return (
        f"a monitor says 100 % while any kernel runs; expected here are {computing:.1%} of the arithmetic (MFU) and "
        f"{streaming:.0%} of the bandwidth (MBU), and the second is what counts"
    )


# By the key of its numbers: the belief, and the answer to it.
BELIEFS: dict[str, tuple[str, Callable[..., str]]] = {
    "more-flop": ("more FLOP/s for a bandwidth problem", _more_flop),
    "narrow-weights": ("FP8 weights make decode twice as fast", _narrow_weights),
    "weight-only": ("INT4 weights help at any batch", _weight_only),
    "tensor-parallelism": ("tensor parallelism divides the time", _tensor_parallelism),
    "small-model": ("a small model is easy to run fast", _small_model),
    "one-profile": ("a profile of one prompt shows what to optimise", _one_profile),
    "smaller-batch": ("a smaller batch makes each user fast", _smaller_batch),
    "active-parameters": ("a mixture of experts costs its active parameters", _active_parameters),
    "cache-read": ("the weights are what decode reads", _cache_read),
    "interconnect": ("a faster interconnect", _interconnect),
    "speculation": ("speculative decoding always pays", _speculation),
    "utilisation": ("GPU utilisation of 100 % is efficiency", _utilisation),
}
