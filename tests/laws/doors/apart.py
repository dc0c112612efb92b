"""Where doors disagree today, and why. The failures are expected and strict: mend one, and its line must go."""

from __future__ import annotations

import re
from typing import NamedTuple

STUDIO = ("studio", "studio picture", "studio curve")
WHOLE = ("analyze", "studio")
SWEPT = ("sweep", "sweep columns")
COMPARE, MOVES, ROW, CLAIM = ("compare",), ("moves",), ("check row",), ("check claim",)
SPAN = r"\.(ceiling|roofline|expected|low|high)"
EXPECTED = r"\.(expected|low|high)"
RATE = r"served\.output_tokens_per_s(_per_accelerator|_per_user)?"


class Apart(NamedTuple):
    """Every door of `ones` disagrees with every door of `others` on the quantities that match."""

    quantities: str
    ones: tuple[str, ...]
    others: tuple[str, ...]
    reason: str


LINES: tuple[Apart, ...] = (
    # One decode step, three contexts
    Apart(
        "workload\\.context",
        COMPARE, ("analyze", *SWEPT, *STUDIO, "sweep landmarks", "studio landmarks"),
        "compare's mean context is isl + (steps - 1) / 2, of osl - 1 steps; the others' isl + osl // 2",
    ),
    Apart(
        rf"decode\.(time_s|tokens_per_s){SPAN}",
        COMPARE, ("analyze", *SWEPT, *MOVES, *CLAIM, *STUDIO),
        "compare's decode step is at another mean context, and of layers that bend the mean of many contexts",
    ),
    Apart(
        rf"decode\.(time_s|tokens_per_s){SPAN}",
        ROW, COMPARE,
        "a row's decode step is the mean over osl tokens from isl on, compare's that over osl - 1 of them",
    ),
    Apart(
        r"decode\.(time_s|tokens_per_s|tokens_per_s_per_user|tokens_per_s_per_accelerator)\.ceiling",
        ROW, ("analyze", *SWEPT, *MOVES, *CLAIM, *STUDIO),
        "a row's decode step is the mean over osl tokens from isl on, the others' is at isl + osl // 2",
    ),
    # A row's engine, cache and layout
    Apart(
        rf"(decode|prefill)\.(time_s|tokens_per_s|tokens_per_s_per_user|tokens_per_s_per_accelerator){EXPECTED}",
        ROW, ("analyze", *SWEPT, *MOVES, *CLAIM),
        "rows outside e2e_server expect the engine of 2024, the other doors that of 2025",
    ),
    Apart(
        rf"decode\.(time_s|tokens_per_s|tokens_per_s_per_user){EXPECTED}",
        ROW, STUDIO,
        "a row of a latent cache takes the faster of tp and replicated attention; an interval's fast end is cut off at "
        "the ceiling, and a row's ceiling is at another context",
    ),
    Apart(
        r"prefill\.(time_s|tokens_per_s)\.ceiling",
        ROW, ("analyze", *SWEPT, *MOVES, *CLAIM),
        "a row of a latent cache takes the faster of tp and replicated attention; one of TensorRT-LLM's fp8 weights "
        "without a cache format reads an fp8 cache",
    ),
    # A prefill of several replicas
    Apart(
        r"prefill\.time_s\.(ceiling|roofline|expected)",
        COMPARE, ("analyze", *SWEPT, *MOVES, *CLAIM),
        "compare prefills a prompt on each replica at once, the others prefill-batch prompts",
    ),
    Apart(
        rf"prefill\.tokens_per_s{SPAN}",
        COMPARE, ("analyze", *SWEPT, *CLAIM),
        "compare prefills a prompt on each replica at once, the others prefill-batch prompts",
    ),
    Apart(
        r"prefill\.bound",
        COMPARE, ("analyze", *SWEPT, *MOVES),
        "compare prefills a prompt on each replica at once, the others prefill-batch prompts",
    ),
    Apart(
        rf"prefill\.(time_s|tokens_per_s){SPAN}",
        COMPARE, ROW,
        "compare prefills a prompt on each replica at once; a row expects the engine of 2024",
    ),
    Apart(
        r"(prefill|decode)\.intensity_flop_per_byte",
        MOVES, ("analyze", *SWEPT),
        "moves takes the intensity of one replica's pass, the others that of all devices, idle replicas' too",
    ),
    # What binds
    Apart(
        r"(decode|prefill)\.bound",
        (*ROW, *CLAIM), ("analyze", *SWEPT, *COMPARE, *MOVES, *STUDIO),
        "check never names launches as what binds",
    ),
    Apart(
        r"(decode|prefill)\.bound",
        ("sweep columns",), ("sweep", "studio curve"),
        "of what does not fit, columns() name what would bind; the rows and the curve say capacity",
    ),
    Apart(
        r"(decode|prefill)\.bound",
        ROW, CLAIM,
        "of what does not fit, a claim says capacity, a row what would bind",
    ),
    # A whole request
    Apart(
        rf"request\.time_s{SPAN}",
        COMPARE, (*WHOLE, *MOVES, *ROW, *CLAIM),
        "compare's request.time_s is machine time, a request's part of the steps it shares; the others' is wall time",
    ),
    Apart(
        r"request\.prefill_share\.(ceiling|roofline|expected)",
        COMPARE, WHOLE,
        "compare's share is of a request's machine time, analyze's of its wall time",
    ),
    Apart(
        rf"request\.time_s{SPAN}",
        MOVES, (*WHOLE, *ROW, *CLAIM),
        "moves counts the prefills of the other sequences between a request's tokens; the others do not",
    ),
    Apart(
        rf"request\.time_s{SPAN}",
        (*ROW, *CLAIM), WHOLE,
        "check prefills the prompts of the whole batch together, analyze prefill-batch prompts; check's interval is a "
        "decode step's, analyze's the sum of both phases'",
    ),
    Apart(
        rf"request\.(time_s|total_tokens_per_s){SPAN}",
        ROW, CLAIM,
        "a row expects the engine of 2024; windows are evaluated at other contexts",
    ),
    # The steady state of serving
    Apart(
        rf"{RATE}{SPAN}",
        COMPARE, MOVES,
        "compare and moves let prefills and decode steps take turns, at two mean contexts and prefill sizes",
    ),
    Apart(
        rf"{RATE}{SPAN}",
        (*COMPARE, *MOVES), (*WHOLE, *ROW),
        "compare and moves let prefills and decode steps take turns; analyze and check run newcomers beside the steps "
        "and admit what memory holds",
    ),
    Apart(
        rf"served\.tpot_s{SPAN}",
        MOVES, (*WHOLE, *ROW),
        "moves adds whole prefills between tokens; analyze and check run them beside the steps",
    ),
    Apart(
        rf"({RATE}|served\.tpot_s)\.ceiling",
        ROW, WHOLE,
        "check's ceiling is that of one sequence alone (a user's) or of each resource's own sum (the whole's); "
        "analyze's is a decode step's",
    ),
    Apart(
        rf"{RATE}{EXPECTED}",
        ROW, WHOLE,
        "check divides all of a request's tokens by all of its time, which costs the last digit; its fast end is cut "
        "off at another ceiling",
    ),
    Apart(
        r"served\.tpot_s\.low",
        ROW, ("studio",),
        "an interval's fast end is cut off at the ceiling, and check's ceiling is another",
    ),
    Apart(
        rf"served\.(tpot_s{EXPECTED}|ttft_s{SPAN})",
        ROW, ("analyze",),
        "a row of a latent cache takes the faster of tp and replicated attention; one of TensorRT-LLM's fp8 weights "
        "without a cache format reads an fp8 cache",
    ),
)  # fmt: skip

# Doors that refuse a question which analyze answers.
REFUSING = {
    "moves": "the story of the all-reduce halves tp and keeps ep, which then may not divide the devices: BadInput",
}
# Doors that give times of what does not fit.
TIMES_WITHOUT_ROOM = {
    "sweep columns": "columns() holds the times of every point, beside a column `fits`; the rows of sweep have null",
    "check row": "a row is refused for its weights alone: sequences that memory cannot hold have a ceiling and more",
}


def reason(quantity: str, one: str, other: str) -> str | None:
    """Why two doors disagree on a quantity today; None where they must not."""
    for line in LINES:
        pair = (one in line.ones and other in line.others) or (other in line.ones and one in line.others)
        if pair and re.fullmatch(line.quantities, quantity):
            return line.reason
    return None
