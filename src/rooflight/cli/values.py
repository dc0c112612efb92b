"""Option values read from text; a bad one is a BadInput in our shape, whichever option it stood at."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from rooflight.cli import ranges
from rooflight.errors import BadInput
from rooflight.values.field import one_of

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    _ParamType = click.ParamType[Any]
else:
    _ParamType = click.ParamType  # generic only from click 8.2 on

_GROUPED = re.compile(r"-?\d{1,3}(,\d{3})+", re.ASCII)
_DIGITS = re.compile(r"-?\d+(_\d+)*", re.ASCII)
_PREFIXED = re.compile(r"([+-]?[\d._,]+)\s*([kKmMgG])i?")
_LONGEST = 30  # digits; anything longer is out of every range, and int() would refuse some


def whole(text: str, where: str) -> int | float:
    """A whole number: 4096, 4_096 or 4,096; in a list of numbers the comma stands between them (ranges.py).

    What is a number but not whole, or negative, is left for the value's own check. Raises BadInput for other spellings
    (1e3, +4, 4.0: written in digits they are accepted), and for 8k, which some mean as 8,000 and some as 8,192.
    """
    plain = text.strip()
    if _GROUPED.fullmatch(plain):
        plain = plain.replace(",", "")
    if _DIGITS.fullmatch(plain) and len(plain) <= _LONGEST:
        return int(plain)
    try:
        number = float(plain)
    except ValueError:
        raise _no_number(text, where) from None
    if number.is_integer() and abs(number) < 2**53:
        raise BadInput(
            f"{_short(plain)!r} is not written in digits",
            where=where,
            got=_short(text),
            want="a whole number, such as 4096",
            try_this=f"{number:.0f}",
        )
    return number


def _no_number(text: str, where: str) -> BadInput:
    prefixed = _PREFIXED.fullmatch(text.strip())
    hint = None
    if prefixed and (digits := re.sub(r"[_,]", "", prefixed[1])).isdigit() and len(digits) < _LONGEST:
        power = "kmg".index(prefixed[2].lower()) + 1
        hint = f"{int(digits) * 1000**power} or {int(digits) * 1024**power}"
    what = f"{text.strip()!r} may mean two numbers" if hint else f"{_short(text)!r} is not a number"
    return BadInput(what, where=where, got=_short(text), want="a whole number, such as 4096", try_this=hint)


def share(text: str, where: str) -> float:
    """A share such as 0.9; raises BadInput for what is no number."""
    try:
        return float(text)
    except ValueError:
        pass
    percent = text.strip().removesuffix("%").strip()
    hint = f"{int(percent) / 100:g}" if text.strip().endswith("%") and percent.isdigit() and len(percent) < 4 else None
    raise BadInput(
        f"{_short(text)!r} is not a number", where=where, got=_short(text), want="a share, such as 0.9", try_this=hint
    )


def amount(text: str, where: str) -> float:
    """A finite number from 0; raises BadInput for anything else."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number >= 0):
        raise BadInput(
            f"{_short(text)!r} is no amount", where=where, got=_short(text), want="a number from 0, without a unit"
        )
    return number


def prices(texts: Sequence[str]) -> dict[str, float]:
    """`h100-sxm=2.50`, several with commas between. Raises BadInput."""
    found: dict[str, float] = {}
    for text in (part for given in texts for part in given.split(",")):
        card, equals, price = text.rpartition("=")
        if not equals or not card.strip():
            raise BadInput(
                f"{text[:60]!r} is no price", where="--price", got=text[:60], want="CARD=USD_PER_HOUR",
                try_this="--price h100-sxm=2.50",
            )  # fmt: skip
        card = card.strip()
        if card in found:
            raise BadInput(f"{card} has two prices", where="--price", got=", ".join(texts), want="one")
        found[card] = amount(price.strip().removeprefix("$"), f"--price {card}")
    return found


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:60] + "..."


def _option(param: click.Parameter | None) -> str:
    """How the user would write the parameter: its first long name."""
    if param is None:
        return "the command line"
    return next((name for name in param.opts if name.startswith("--")), param.human_readable_name)


class Value(_ParamType):
    """A value read from text by `read(text, option)`; what click passes on already read stays as it is."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ARG002
        return self.read(value, _option(param)) if isinstance(value, str) else value

    def read(self, text: str, where: str) -> Any:
        raise NotImplementedError


class Whole(Value):
    """A whole number."""

    name = "n"

    def read(self, text: str, where: str) -> int | float:
        return whole(text, where)


class Share(Value):
    """A share between 0 and 1."""

    name = "share"

    def read(self, text: str, where: str) -> float:
        return share(text, where)


class Size(Value):
    """Bytes, or a number with its unit; the field reads it."""

    name = "size"

    def read(self, text: str, where: str) -> str:  # noqa: ARG002
        return text


class Chance(Value):
    """A share from 0 to 1."""

    name = "share"

    def read(self, text: str, where: str) -> float:
        return amount(text, where)


class Amount(Value):
    """A number that is not negative, in the unit the option names."""

    name = "amount"

    def read(self, text: str, where: str) -> float:
        return amount(text, where)


class Range(Value):
    """A whole number, a list of them, or ranges START:STOP:STEP."""

    name = "range"

    def read(self, text: str, where: str) -> Sequence[int]:
        return ranges.numbers(text, where)


class Names(Value):
    """A name, or several with commas between."""

    name = "name,..."

    def read(self, text: str, where: str) -> tuple[str, ...]:
        return ranges.names(text, where)


class Choice(Value):
    """One of a few words."""

    def __init__(self, *allowed: str) -> None:
        self.allowed = allowed
        self.name = "|".join(allowed)

    def read(self, text: str, where: str) -> str:
        return one_of(text, self.allowed, where)

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        param: click.Parameter,  # noqa: ARG002
        incomplete: str,
    ) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(word) for word in self.allowed if word.startswith(incomplete)]
