"""The only table of prefixes: decimal (SI) and binary (IEC) kept apart.

Inside rooflight every number is in base units (bytes, FLOP, seconds, tokens, watts, dollars).
"""

from __future__ import annotations

import functools
import math
import re
from decimal import Decimal

_SI = {"u": 1e-6, "m": 1e-3, "": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_IEC = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_BASES = ("FLOP/s", "OP/s", "B/s", "FLOP", "B", "Hz", "s", "W", "params")
# Networks alone are printed in bits a second (b, bit, Gbps).
_BITS_A_BYTE = 8
_NETWORK = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([kMGTP]?)(B/s|b/s|bit/s|bps)", re.ASCII)
_LATENCY = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(us|ms|s)", re.ASCII)
_AMOUNT = re.compile(r"([0-9][0-9,]*(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)\s*([A-Za-z/]*)", re.ASCII)
# Thousands in groups of three; 1,5 and 0,125 have a decimal comma.
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?", re.ASCII)


def ungrouped(text: str) -> str:
    """A number without the commas between its thousands: ungrouped("1,300.5") == "1300.5"; any other text as it is."""
    return text.replace(",", "") if "," in text and _GROUPED.fullmatch(text) else text


def to_base(value: float, unit: str) -> float:
    """A printed number in base units: to_base(3.35, "TB/s") == 3.35e12.

    Raises ValueError for a unit that is not a base with an SI prefix (or bytes with an IEC one):
    `GBps`, `tflops` and `GiFLOP/s` are refused rather than guessed.
    """
    for base in _BASES:
        if unit.endswith(base):
            prefix = unit.removesuffix(base)
            if prefix in _SI:
                return value * _SI[prefix]
            if prefix in _IEC and base.startswith("B"):
                return value * _IEC[prefix]
    raise ValueError(f"unit {unit!r} is not one of {', '.join(_BASES)} with an SI prefix, or B with an IEC one")


def network(text: str) -> tuple[float, float | None]:
    """`400Gb/s` or `50GB/s,5us` as (bytes a second, seconds of latency or None): network("400Gb/s") == (50e9, None).

    b is a bit, B a byte; Gbit/s and Gbps are bits too. Raises ValueError for anything else, and for nothing a second.
    """
    rate_text, comma, latency_text = text.partition(",")
    rate = _NETWORK.fullmatch(rate_text.strip())
    latency = _LATENCY.fullmatch(latency_text.strip()) if comma else None
    if rate is None or (comma and latency is None):
        raise ValueError(f"{text!r} is no rate with a unit, as 400Gb/s or 50GB/s, with or without a latency, as ,5us")
    bytes_per_s = to_base(float(rate[1]), f"{rate[2]}B/s") / (1 if rate[3] == "B/s" else _BITS_A_BYTE)
    if not bytes_per_s:
        raise ValueError(f"{text!r} is nothing a second")
    return bytes_per_s, None if latency is None else to_base(float(latency[1]), latency[2])


def in_bytes(text: str) -> float:
    """A size in words: in_bytes("48GiB") == 51539607552; digits alone are bytes. Raises ValueError for no size."""
    plain = text.strip().replace("_", "")
    number = plain.rstrip("BKMGTkib ")
    return to_base(float(ungrouped(number)), plain[len(number) :].strip() or "B")


def in_unit(text: str, base: str) -> float:
    """An amount in words: in_unit("120us", "s") == 120e-6, in_unit("2.5 GFLOP", "FLOP") == 2.5e9; without a unit base.

    Raises ValueError for anything else.
    """
    plain = text.strip().replace("_", "")
    found = _AMOUNT.fullmatch(plain)
    if found is None or (found[2] and not found[2].endswith(base)):
        raise ValueError(f"{text!r} is no amount in {base}")
    return to_base(float(ungrouped(found[1])), found[2] or base)


def whole(value: float) -> float:
    """A count without a stray fraction: rounded, and an int, where it is within rounding of a whole number."""
    near = round(value)
    return near if abs(value - near) <= 1e-9 * abs(value) else value


def scaled(value: float, base: str, digits: int = 3) -> str:
    """A base-unit number as a person reads it: scaled(4.48e-3, "s") == "4.48 ms"."""
    if value == 0:
        return f"0 {base}"
    sign, size = ("-", -value) if value < 0 else ("", value)
    steps = _steps(base)
    factor, prefix = next((step for step in steps if size >= step[0] * 0.9995), steps[-1])
    return f"{sign}{round_significant(size / factor, digits)} {prefix}{base}".rstrip()


@functools.cache
def _steps(base: str) -> tuple[tuple[float, str], ...]:
    """Factors and prefixes that a person reads with a base, largest first: no kiloseconds, no millibytes."""
    steps = [(factor, prefix) for prefix, factor in _SI.items() if factor >= 1 or base == "s"]
    if base in ("s", ""):
        steps = [(factor, prefix) for factor, prefix in steps if factor <= 1 or base == ""]
    return tuple(sorted(steps, reverse=True))


def exactly(value: float, base: str) -> str:
    """A rate or a time as text that reads back as the very number: exactly(307.2e9, "B/s") == "307.2GB/s"."""
    steps = [(factor, prefix) for prefix, factor in _SI.items() if value >= factor and (factor >= 1 or base == "s")]
    for factor, prefix in sorted(steps, reverse=True):
        text = f"{value / factor:.15g}"
        if "e" not in text and to_base(float(text), f"{prefix}{base}") == value:
            return f"{text}{prefix}{base}"
    return f"{Decimal(repr(value)):f}{base}"


def several(count: float, noun: str) -> str:
    """A count with its noun: several(1, "token") == "1 token", several(1151.5, "token") == "1,151.5 tokens"."""
    whole = int(count) if count == int(count) else count
    return f"{whole:,} {noun}{'s' * (count != 1)}"


def percent(share: float) -> str:
    """A share with two significant digits, three above the whole: 77 %, 0.45 %, 132 %."""
    return f"{round_significant(100 * share, 3 if share >= 1 else 2)} %"


def round_significant(value: float, digits: int = 3) -> str:
    """`digits` significant digits, without exponent: 15.0, 0.448, 1,430, 0.0000052; inf and nan as these."""
    if not math.isfinite(value):
        return f"{value}"
    if value == 0:
        return "0"
    mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
    places = digits - 1 - int(exponent)
    text = f"{float(mantissa + 'e' + exponent):,.{max(places, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
