"""What somebody writes of a run in a few words, as values of metrics: "42 tok/s", "TPOT 11 ms batch 32"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from rooflight.errors import BadInput
from rooflight.ingest.rows import metric_named
from rooflight.units import in_unit, to_base, ungrouped
from rooflight.values.measurement import METRICS

WANT = "values such as 42 tok/s, TPOT 11 ms batch 32, or tpot_ms=11"
LONGEST = 2000
_MS = to_base(1, "ms")
_NUMBER = re.compile(
    r"(?<![\w.-])(?P<number>\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?)"
    r"\s*(?:(?P<rate>[kM]?)\s*(?:tok(?:en)?s?|t)\s*(?:/|\bper\b|\ba\b)\s*s(?:ec(?:ond)?)?|(?P<tps>tps)|(?P<time>[uµ]s|ms|s)"
    r"|(?P<seconds>sec(?:ond)?s?))?(?!-?\w)",
    re.IGNORECASE,
)
# What stands behind a value and is said of it; and of that what is never said of the value that follows.
_BEHIND = re.compile(
    r"\s*(?:(?:per|a|an|each|/|of|for|in|to|the|output|input|concurrent)\s*){0,3}"
    r"(?:first\s+token|end\s+to\s+end|user|gpu|accelerator|card|device|tokens?(?:\s+(?:in|out))?|prefill|prompts?"
    r"|total|all|sequences|users|requests|streams|in|out)\b",
    re.IGNORECASE,
)
_OWN = re.compile(
    r"\s*(?:per|an?|each|/|of|to|(?:tokens\s+)?(?:in|out)|concurrent|users|sequences|requests|streams)\b", re.I
)
_TIMES = {
    "ttft_ms": r"ttft|first\s*token", "tpot_ms": r"tpot|itl|inter.?token|token|decode|step",
    "e2e_latency_ms": r"e2e|end.to.end|latency|request",
}  # fmt: skip
_RATES = {
    "output_tok_s_per_user": r"user|sequence|stream", "output_tok_s_per_gpu": r"gpu|accelerator|card|device",
    "prefill_tok_s": r"prefill|prompts?|\bpp", "total_tok_s": r"total|in and out", "output_tok_s": r"",
}  # fmt: skip
# Fields of the question, by what stands before a plain number or behind it.
_BEFORE_COUNT = {
    "batch": r"(?:batch(?:\s*size)?|bs|concurrency)", "context": r"(?:context|ctx)",
    "isl": r"(?:isl|input_len|input(?:\s*(?:length|tokens))?|prompts?)",
    "osl": r"(?:osl|output_len|output(?:\s*(?:length|tokens))?)",
}  # fmt: skip
_BEHIND_COUNT = {
    "batch": r"sequences|users|requests|streams", "isl": r"\b(?:in|input)\b", "osl": r"\b(?:out|output)\b",
}  # fmt: skip
# A word that says more than that: a model, a machine, a format.
_SAYS_MORE = re.compile(r"[\w.-]*\d[\w.-]*", re.ASCII)


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """Values of metrics, and fields of the question beside them; left: words that were not taken."""

    values: dict[str, float]
    fields: dict[str, int]
    left: tuple[str, ...] = ()


class _Value(NamedTuple):
    """A number with the words before and behind it."""

    found: re.Match[str]
    before: str
    behind: str

    @property
    def number(self) -> float:
        return float(ungrouped(self.found["number"]).replace(",", ""))


def claim_in(text: str) -> Claim:
    """What a text claims. Raises BadInput where it claims nothing, or one thing twice."""
    if len(text) > LONGEST:
        raise BadInput("a claim is a line or two", got=f"{len(text):,} letters", want=WANT)
    values: dict[str, float] = {}
    fields: dict[str, int] = {}
    left: list[str] = []
    for one in _parts(text):
        into, name, value = _read(one)
        if not name:
            left.append(" ".join(f"{one.before} {one.found[0]}{one.behind}".split()))
            continue
        if name in values or name in fields:
            raise BadInput(f"{name} is said twice", got=text.strip()[:80], want="one value of each")
        if into == "values":
            values[name] = value
        else:
            fields[name] = int(value)
    if not values:
        what = "it is not said what the number is of" if left or fields else "that claims no value of a run"
        raise BadInput(what, got=text.strip()[:80] or "nothing", want=WANT)
    return Claim(values=values, fields=fields, left=tuple(left) + _more(text))


def _parts(text: str) -> Iterator[_Value]:
    """Each number, with the words that are its own."""
    start = 0
    for found in _NUMBER.finditer(text):
        behind = _BEHIND.match(text, found.end())
        said = "" if behind is None or (_is_next(text, behind) and not _OWN.match(behind[0])) else behind[0]
        yield _Value(found, text[start : found.start()], said)
        start = found.end() + len(said)


def _is_next(text: str, behind: re.Match[str]) -> bool:
    """Whether the words belong to a number that follows: "11 ms, output 256"."""
    return re.match(r"\s*(?:[:=]\s*)?\d", text[behind.end() :]) is not None


def _read(one: _Value) -> tuple[str, str, float]:
    """Where a value goes, its name, "" for none, and itself in its unit. Raises BadInput for a count that is none."""
    found, words = one.found, one.before.lower()
    named = re.search(r"([\w]+)\s*[:=,;]?\s*$", one.before)
    metric = None if named is None else metric_named(named[1])
    if metric is not None:
        return "values", metric, _in_metric(one, metric)
    if found["time"] or found["seconds"]:
        return "values", _first(_TIMES, one.behind, words), _seconds(one) / _MS
    if found["rate"] is not None or found["tps"]:
        rate = to_base(one.number, f"{(found['rate'] or '').replace('K', 'k')}Hz")
        return "values", _first(_RATES, one.behind, words), rate
    field = next((name for name, before in _BEFORE_COUNT.items() if re.search(rf"\b{before}\s*[:=]?\s*$", words)), "")
    field = field or (_first(_BEHIND_COUNT, one.behind, "") if one.behind else "")
    if field and not one.number.is_integer():
        raise BadInput(f"{field} is a whole number", got=found["number"], want="a whole number")
    return "fields", field, one.number


def _in_metric(one: _Value, metric: str) -> float:
    """A value by its metric's name: in that unit, or in another of time."""
    timed = one.found["time"] or one.found["seconds"]
    if METRICS[metric].time and timed:
        return _seconds(one) / _MS
    if not METRICS[metric].time and one.found["rate"]:
        return to_base(one.number, f"{one.found['rate'].replace('K', 'k')}Hz")
    return one.number


def _seconds(one: _Value) -> float:
    unit = (one.found["time"] or "s").lower().replace("µ", "u")
    return in_unit(f"{one.found['number']}{unit}", "s")


def _first(names: dict[str, str], behind: str, before: str) -> str:
    """The name whose words stand behind a value, else right before it; "" for none."""
    for words in (behind.lower(), before):
        for name, pattern in names.items():
            if words and pattern and re.search(pattern, words):
                return name
    return next((name for name, pattern in names.items() if not pattern), "")


def _more(text: str) -> tuple[str, ...]:
    """Words with digits in them that are no values: 4xh100, fp8, llama-3.1-8b."""
    rest = _NUMBER.sub(" ", text)
    return tuple(dict.fromkeys(word for word in _SAYS_MORE.findall(rest) if re.search(r"[A-Za-z]", word)))


def claim_of(given: dict[str, Any]) -> Claim:
    """A claim as a JSON object: metrics and fields by name. Raises BadInput where it has no value."""
    values: dict[str, float] = {}
    fields: dict[str, int] = {}
    left: list[str] = []
    for name, value in given.items():
        metric, field = metric_named(name), {"input_len": "isl", "output_len": "osl"}.get(name, name)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if metric is not None and number:
            values[metric] = float(value)
        elif field in _BEFORE_COUNT and isinstance(value, int) and number:
            fields[field] = value
        else:
            left.append(str(name)[:40])
    if not values:
        raise BadInput("the object claims no value of a run", got=", ".join(given)[:80] or "nothing", want=WANT)
    return Claim(values=values, fields=fields, left=tuple(left))
