"""A mix of requests: how long they are, as arrays, whether there is one kind of them or a log of many thousand."""

from __future__ import annotations

from typing import Any

import msgspec

Array = Any


class Requests(msgspec.Struct, frozen=True, kw_only=True):
    """Requests one by one, as arrays of whole numbers in floats: prompt, output, and cached prompt tokens."""

    isl: Array
    osl: Array
    cached: Array


class Mix(msgspec.Struct, frozen=True, kw_only=True):
    """A mix in numbers, the first block of a comparison's answer.

    source          the log's name; None: lengths were given
    requests        how many there are (1 where lengths were given)
    bad_rows        rows of the log that could not be read as a request
    lost_lines      those of them whose cells cannot be told apart: a quote that does not close, a line without end
    isl, osl        mean tokens in and out of a request
    cached_prefix   mean prompt tokens that are cached already
    decode_steps    of a request in the mean: its first token comes from its prefill
    context         mean tokens cached before a decode step: long requests are met more often in a batch
    batch_isl, batch_osl    lengths of the mean request found in a decode batch; memory is counted for these
    longest         tokens of the longest request, prompt and output
    ratio           isl / osl; None where nothing is put out
    """

    source: str | None
    requests: int
    bad_rows: int
    lost_lines: int
    isl: float
    osl: float
    cached_prefix: float
    decode_steps: float
    context: float
    batch_isl: int
    batch_osl: int
    longest: int
    ratio: float | None
