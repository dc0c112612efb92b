"""What engines do where nobody tells them: facts of `engines.toml`, one entry an engine."""

# Types are not texts here: evaluating those costs a tenth of a millisecond each, at every start.

import functools
import re
from pathlib import Path

import msgspec

from rooflight.catalog import tables
from rooflight.units import to_base
from rooflight.values.accelerator import Accelerator

# Taken where no source says an engine's own.
ASSUMED_BUDGET_TOKENS = 8192
_YEAR = re.compile(r"(20\d\d)")
_NUMBERS = re.compile(r"v?(\d+(?:\.\d+)*)")
# Releases of Dynamo, which tables name in place of the engine's own.
_NOT_THE_ENGINES = re.compile(r"v?0\.\d+\.\d+(\.post|-rc)")


class Rule(msgspec.Struct, frozen=True, kw_only=True, rename={"families_not": "not"}):
    """The engine's own limits on devices of at least so many GiB; sequences None: no limit is known."""

    budget_tokens: int
    sequences: int | None = None
    least_memory: float = 0.0
    families_not: tuple[str, ...] = ()


class EngineFacts(msgspec.Struct, frozen=True, kw_only=True):
    """An engine's entry; before: the first version that is of the newer era.

    fp16_sums       it adds products up in 16 bits where the card is faster so
    piece_tokens    of a prompt, that pass the stages of a pipeline after one another; None: a prompt is one piece
    """

    id: str
    source: str
    read: str
    before: str = ""
    fp16_sums: bool = False
    piece_tokens: int | None = None
    rule: tuple[Rule, ...]


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens of a step and sequences at once, where nobody says; source "": assumed."""

    budget_tokens: int = ASSUMED_BUDGET_TOKENS
    sequences: int | None = None
    source: str = ""


@functools.cache
def engine_facts() -> dict[str, EngineFacts]:
    """The entries by engine."""
    found = msgspec.convert(tables.read(Path(__file__).parent / "engines.toml")["engine"], list[EngineFacts])
    return {one.id: one for one in found}


def limits(engine: str, card: Accelerator) -> Limits:
    """What the engine (an id) takes by itself on a device; of one without an entry what is assumed."""
    facts = engine_facts().get(engine)
    if facts is None:
        return Limits()
    held = card.given_bytes or 0.0
    for rule in facts.rule:
        if held >= to_base(rule.least_memory, "GiB") and card.family not in rule.families_not:
            return Limits(budget_tokens=rule.budget_tokens, sequences=rule.sequences, source=facts.source)
    return Limits()


def sums_in_16_bits(engine: str) -> bool:
    """Whether the engine (an id) adds products up in 16 bits where a card is faster so."""
    facts = engine_facts().get(engine)
    return facts is not None and facts.fp16_sums


def era_of(engine: str, version: str | None) -> str:
    """The era of the engine's fits for a version; unknown: its newest. Engines without a `before` have one, of 2024.

    Check: vllm blank -> 2025; llama.cpp b6918 -> 2024.
    """
    facts = engine_facts().get(engine)
    newest = "2025" if facts is not None and facts.before else "2024"
    return era(engine, version) or newest


def era(engine: str, version: str | None) -> str | None:
    """The era of the engine's fits that a version or a date is of; None where that cannot be told.

    Check: vllm 0.6.3 -> 2024, 0.12.0 -> 2025; 2024-04 -> 2024.
    """
    facts = engine_facts().get(engine)
    if not version or facts is None or not facts.before:
        return None
    if found := _YEAR.search(version):
        return "2024" if int(found[1]) <= 2024 else "2025"
    found = _NUMBERS.match(version.strip())
    if found is None:
        return None
    if engine == "tensorrt-llm" and _NOT_THE_ENGINES.match(version.strip()):
        return None
    return "2024" if _parts(found[1]) < _parts(facts.before) else "2025"


def _parts(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
