"""The timing lines of llama.cpp: how long a prompt and the tokens after it took."""

from __future__ import annotations

import re

from rooflight.ingest.recorded.logs.start import Start, number
from rooflight.units import to_base
from rooflight.values.recorded import Measurements, Record, Spread, Stated

# "prompt eval time =  123.45 ms /  12 tokens (..)", "       eval time =  1000.00 ms /  99 runs (..)":
# llama_print_timings (2023, 2024), llama_perf_context_print (from 2024 on), common_perf_print (2026), and of the
# server "slot print_timing".
# The runs of a context are steps of one token each; a slot of the server decodes beside others.
_TIME = re.compile(
    r"(?P<what>prompt eval|(?<!prompt )eval) time ?= *(?P<ms>\d[\d.,]{0,14}) ms / *(?P<count>\d{1,9}) (?:tokens|runs)"
)
_ALONE = re.compile(r"llama_print_timings|perf_context_print|common_perf_print")
_MOST = 500
_MS = to_base(1, "ms")


class Timings:
    """Requests that a log times, each a prompt's line and the one of its tokens."""

    def __init__(self) -> None:
        self._records: list[Record] = []
        self._prompt: tuple[float, float] | None = None
        self._left_out = 0

    def line(self, at: int, text: str, start: Start) -> bool:
        """Take a line, and say whether it was a timing. start: whose model and device it is of."""
        if " eval time" not in text and "eval time =" not in text:
            return False
        found = _TIME.search(text)
        if found is None:
            return False
        # some locales print a decimal comma, and none groups thousands
        seconds, tokens = number(found["ms"].replace(",", ".")), number(found["count"])
        if seconds is None or not tokens:
            return True
        if found["what"] == "prompt eval":
            if self._prompt is not None:
                self._add(at, start, None, alone=False)
            self._prompt = (seconds * _MS, tokens)
        else:
            self._add(at, start, (seconds * _MS, tokens), alone=_ALONE.search(text) is not None)
        return True

    def _add(self, at: int, start: Start, decode: tuple[float, float] | None, *, alone: bool) -> None:
        prompt, self._prompt = self._prompt, None
        if len(self._records) >= _MOST:
            self._left_out += 1
            return
        stated = Stated(
            engine="llama.cpp",
            model=start.stated("model"),
            device=start.stated("device"),
            weights=start.stated("weights"),
            isl=None if prompt is None else prompt[1],
            osl=None if decode is None else decode[1],
            batch=1 if alone else None,
            concurrency=1 if alone else None,
        )
        measured = Measurements(
            prefill_s=None if prompt is None else Spread(mean=prompt[0]),
            prefill_tokens_per_s=None if prompt is None or not prompt[0] else prompt[1] / prompt[0],
            tpot_s=None if decode is None else Spread(mean=decode[0] / decode[1]),
            output_tokens_per_s_per_user=None if decode is None or not decode[0] else decode[1] / decode[0],
            input_tokens=None if prompt is None else prompt[1], output_tokens=None if decode is None else decode[1],
        )  # fmt: skip
        self._records.append(Record(name=f"timing {len(self._records) + 1}", stated=stated, measured=measured, line=at))

    def end(self, at: int, start: Start) -> None:
        """The log ends, perhaps behind a prompt that no token followed."""
        if self._prompt is not None:
            self._add(at, start, None, alone=False)

    @property
    def records(self) -> tuple[Record, ...]:
        """The timed requests."""
        return tuple(self._records)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out."""
        return (f"{self._left_out:,} more timings than {_MOST:,} are left out",) if self._left_out else ()
