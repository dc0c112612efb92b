"""Figures of a run that do not agree with each other, in words."""

from __future__ import annotations

from collections.abc import Callable

from rooflight.answers.diagnose.timed.oddities import Odd
from rooflight.units import round_significant, scaled


def odd_words(odd: Odd) -> str:
    """A figure that is another than its name says, or that does not go with the others."""
    return _ODD[odd.kind](odd.first, odd.second)


def number(value: float | None) -> str:
    """A figure in short; "?" where there is none."""
    return "?" if value is None else round_significant(value)


def _s(value: float | None) -> str:
    return "?" if value is None else scaled(value, "s")


_n = number
_ODD: dict[str, Callable[[float | None, float | None], str]] = {
    "tpot counts the first token": lambda one, two: (
        f"the TPOT of {_s(one)} has the first token in it (request time over all tokens); without it it is {_s(two)}"
    ),
    "itl is per chunk": lambda one, two: (
        f"ITL ({_s(one)}) is longer than TPOT ({_s(two)}): it is per chunk, and a chunk holds several tokens"
    ),
    "tpot above itl": lambda one, two: (
        f"the mean TPOT ({_s(one)}) is well above the mean ITL ({_s(two)}): few short answers with long waits weigh as "
        "much as long ones in it, and prompts of others come between tokens"
    ),
    "output counts prompts": lambda one, two: (
        f"the output rate ({_n(one)} tok/s) counts prompt tokens; requests a second x answer length make {_n(two)}"
    ),
    "perhaps total": lambda one, two: (
        f"were prompt tokens counted in it, its output would be {_n(two)} tok/s of {_n(one)}, which is what is expected"
    ),
    "total is off": lambda one, two: (
        f"the total of {_n(one)} tok/s is not input and output ({_n(two)}): unfinished requests, or another count"
    ),
    "output is off": lambda one, two: (
        f"the output rate ({_n(one)} tok/s) is not requests a second times the answer length ({_n(two)})"
    ),
    "in flight": lambda one, two: (
        f"{_n(one)} in flight were set, rates and times make {_n(two)} (Little's law): the setting is of another run, "
        "or times hold what rates do not"
    ),
    "start-up": lambda one, two: (
        f"rate and times do not close: {_n(two)} in flight where {_n(one)} were set, as where the time of start-up is "
        "in the rate"
    ),
    "decoding": lambda one, two: (
        f"{_n(one)} in flight were set, and the output rate times the time of a token makes {_n(two)} that decode: the "
        "others wait or are in prefill, or the setting is of another run"
    ),
    "tail": lambda one, two: (
        f"{_n(one)} requests with {_n(two)} in flight are one batch: the longest answers finish almost alone, so the "
        "output rate is below that of a steady run; several times as many requests would show it"
    ),
    "user rate is of all": lambda one, two: (
        f"the rate per user ({_n(one)} tok/s) is that of all together; each gets {_n(two)}"
    ),
    "drafts": lambda one, two: (
        "drafts were used: a token's time is per accepted token"
        + (f", {one * 100:.0f} % of the drafted ones" if one else "")
        + (f", and a step yields about {_n(two)}" if two else "")
    ),
    "short": lambda one, two: (
        f"all requests came within {_s(one)} and one takes {_s(two)}: the run never got steady, so it is nearer to a "
        "batch than to its rate"
    ),
    "capped": lambda one, two: (
        f"{_n(one)} requests a second were asked for and {_n(two)} sent: the limit on those in flight set the load"
    ),
}  # fmt: skip
