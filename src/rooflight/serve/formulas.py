"""Machine time, money and energy of requests: pure functions of plain numbers or arrays."""

from __future__ import annotations

from rooflight.numeric import Number, maximum

SECONDS_PER_HOUR = 3600


def decode_steps(osl: Number) -> Number:
    """Decode steps of a request: its first output token comes from the prefill.

    = osl - 1, and none where nothing or one token is put out. Check: osl 256 -> 255. Check: osl 0 -> 0.
    """
    return maximum(osl - 1, 0)


def tokens_per_verify(*, draft_tokens: Number, acceptance: float) -> Number:
    """Tokens a verify step yields in the mean, each drafted token being accepted with the same chance.

    = (1 - a^(k + 1)) / (1 - a): the accepted ones, and one of the target's own; 1 without drafts.

    Source: Leviathan, Kalman, Matias 2023 (Fast inference from transformers via speculative decoding), eq. 1.
    Check: draft_tokens 4, acceptance 0.7 -> 2.7731.
    """
    if acceptance == 1:
        return draft_tokens + 1
    return (1 - acceptance ** (draft_tokens + 1)) / (1 - acceptance)


def prompts_ahead(users: Number, queue: Number) -> Number:
    """Prompts that a request finds ahead of its own, of `users` requests in flight, itself included.

    = (users - 1) / sqrt(1 + (users - 1) / queue^2): everyone's of few, queue x sqrt(users - 1) of many.

    Source: ours, found by trying on served runs (calibration/README.md). Check: users 5, queue 2 -> 2.8284.
    """
    return (users - 1) / (1 + (users - 1) / (queue * queue)) ** 0.5


def mean_context_tokens(isl: Number, steps: Number) -> Number:
    """Tokens cached before a decode step, in the mean over a request's steps.

    Step i of `steps` (from 0) finds isl + i tokens, so the mean is isl + (steps - 1) / 2.
    Check: isl 1024, steps 255 -> 1151.
    """
    return isl + maximum(steps - 1, 0) / 2


def machine_s(step_s: Number, steps: Number, sharers: Number) -> Number:
    """Seconds of a deployment that a request takes in one phase: its steps, each shared by all requests in it.

    = steps x step_s / sharers

    Prefill: one step, shared by the prompts prefilled together. Decode: osl - 1 steps, each shared by the batch. A
    request takes the sum of both, and the inverse of that is how many requests a second keep the deployment busy.
    Holds for: a batch that stays full, phases one after the other. Leaves out: prompt tokens run beside decode steps
    (chunked prefill), which hide a part of the smaller phase, as in a run.
    Source: the utilisation law, busy seconds = requests x seconds of service (Lazowska et al., Quantitative System
    Performance, 1984, section 3.3). Check: step_s 0.010, steps 100, sharers 4 -> 0.25.
    """
    return steps * step_s / sharers


def tokens_per_usd(tokens_per_s: Number, usd_per_hour: Number) -> Number:
    """Tokens a dollar buys: tokens per second x 3600 s / price per hour, all devices in both.

    Check: tokens_per_s 1000, usd_per_hour 4 -> 900000.
    """
    return tokens_per_s * SECONDS_PER_HOUR / usd_per_hour


def tokens_per_joule(tokens_per_s: Number, power_w: Number) -> Number:
    """Tokens per second over watts, all devices in both. At TDP, the most that accelerators draw, a lower bound.

    Leaves out: hosts, cooling, conversion. Check: tokens_per_s 1400, power_w 700 -> 2.
    """
    return tokens_per_s / power_w


def input_tokens(total_tokens: Number, ratio: Number) -> Number:
    """Input tokens of a request of total_tokens whose input is `ratio` times its output; the rest is output.

    Check: total_tokens 1280, ratio 4 -> 1024.
    """
    return total_tokens * ratio / (1 + ratio)
