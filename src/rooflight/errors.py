"""Every error rooflight raises on purpose.

RooflightError
├── BadInput            the question is malformed: an option, a file, a config   (exit 2)
│   ├── UnknownName     no such model, accelerator, format or field
│   ├── BadConfig       a config.json, TOML or table that cannot be read as one
│   └── MissingExtra    an optional dependency the command needs
├── NotThere            an answer has no such part: a phase of what does not fit; a missing key too (exit 1)
├── NoAnswer            an endpoint that was driven answered no request (exit 1)
├── NoSteadyState       requests arrive faster than the deployment finishes them (exit 1)
└── MissingFact         the question is fine, but a needed number is published nowhere we know (exit 3)

"The answer is no" (it does not fit) is not an error: it is an answer, with exit status 1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

Spelling = Callable[[str, object], str]


def printable(text: str) -> str:
    """Text with control characters (a terminal would obey them) as escapes: file names and ids may hold any."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)


class Named(str):
    """A text that names what was asked: Named("{tp}, and {pp} or {dp} for the rest", tp=4).

    As a string it has Python's spelling, "tp=4, and pp or dp for the rest"; the command line asks for its own,
    "--tp 4, and --pp or --dp for the rest".
    """

    _NAME = re.compile(r"\{(\w+)\}")

    template: str
    values: Mapping[str, object]

    def __new__(cls, template: str, **values: object) -> Named:
        made = super().__new__(cls, cls._written(template, values, _in_python))
        made.template = template
        made.values = values
        return made

    @classmethod
    def of(cls, *names: str) -> Named:
        """The names alone, with commas between."""
        return cls(", ".join(f"{{{name}}}" for name in names))

    @property
    def fields(self) -> tuple[str, ...]:
        """The names in it."""
        return tuple(self._NAME.findall(self.template))

    def spelled(self, spelling: Spelling) -> str:
        """The text with every name, and its value (None: no value is said), as `spelling` writes them."""
        return self._written(self.template, self.values, spelling)

    @classmethod
    def _written(cls, template: str, values: Mapping[str, object], spelling: Spelling) -> str:
        return printable(cls._NAME.sub(lambda found: spelling(found[1], values.get(found[1])), template))


def _in_python(name: str, value: object) -> str:
    if isinstance(value, Mapping):
        value = "{" + ", ".join(f'"{key}": {one}' for key, one in value.items()) + "}"
    elif isinstance(value, str):
        value = f'"{value}"'
    return name if value is None else f"{name}={value}"


class RooflightError(Exception):
    """An error that says what is wrong, where, what was seen, what is wanted, and what to try.

    The parts stay on the exception, so text, JSON and a web page show the same. What was asked goes by its name in
    Python, such as `kv_cache`, in a Named; `spell` writes options in place of names.
    """

    exit_status = 2

    def __init__(
        self,
        what: str,
        *,
        where: str | None = None,
        got: object = None,
        want: str | None = None,
        try_this: str | None = None,
    ) -> None:
        self.what = printable(what)
        self.where = None if where is None else _kept(where)
        self.got = None if got is None else _kept(got)
        self.want = None if want is None else _kept(want)
        self.try_this = None if try_this is None else _kept(try_this)
        super().__init__(self.what)

    def spell(self, spelling: Spelling) -> None:
        """Write the names of what was asked, from here on, as `spelling` does."""
        for part in ("where", "got", "want", "try_this"):
            text = getattr(self, part)
            if isinstance(text, Named):
                setattr(self, part, text.spelled(spelling))

    def __str__(self) -> str:
        parts = {"at": self.where, "got": self.got, "want": self.want, "try": self.try_this}
        lines = [f"  {label:<5} {text}" for label, text in parts.items() if text is not None]
        return "\n".join([self.what, *lines])

    def to_dict(self) -> dict[str, str | None]:
        """The parts, for JSON."""
        parts = {"what": self.what, "where": self.where, "got": self.got, "want": self.want, "try": self.try_this}
        return {"error": type(self).__name__} | {
            part: None if text is None else str(text) for part, text in parts.items()
        }


def _kept(text: object) -> str:
    return text if isinstance(text, Named) else printable(str(text))


class BadInput(RooflightError):
    """An option, value or file the user gave cannot be used."""


class UnknownName(BadInput):
    """A name that no catalog entry, format or field answers to."""


class BadConfig(BadInput):
    """A config.json or a data file that cannot be read as what it should be."""


class MissingExtra(BadInput):
    """A command needs an optional dependency that is not installed."""


class NotThere(RooflightError, KeyError):
    """An answer was asked for a part that it has not: a phase, a run or a gain of what does not fit."""

    exit_status = 1


class NoAnswer(RooflightError):
    """An endpoint that was driven answered none of the requests."""

    exit_status = 1


class NoSteadyState(RooflightError):
    """More requests arrive a second than are finished, so that the queue grows without end: most_per_s is the limit."""

    exit_status = 1

    def __init__(self, what: str, *, most_per_s: float, **parts: Any) -> None:
        super().__init__(what, **parts)
        self.most_per_s = most_per_s


class MissingFact(RooflightError):
    """A number the answer needs is in no source; it is never guessed."""

    exit_status = 3
