"""Every error rooflight raises on purpose.

RooflightError
├── BadInput            the question is malformed: an option, a file, a config   (exit 2)
│   ├── UnknownName     no such model, accelerator, format or field
│   ├── BadConfig       a config.json, TOML or table that cannot be read as one
│   └── MissingExtra    an optional dependency the command needs
└── MissingFact         the question is fine, but a needed number is published nowhere we know (exit 3)

"The answer is no" (it does not fit) is not an error: it is an answer, with exit status 1.
"""

from __future__ import annotations


def printable(text: str) -> str:
    """Text with control characters (a terminal would obey them) as escapes: file names and ids may hold any."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)


class RooflightError(Exception):
    """An error that says what is wrong, where, what was seen, what is wanted, and what to try.

    The parts stay on the exception, so text, JSON and a web page show the same.
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
        self.where = None if where is None else printable(where)
        self.got = None if got is None else printable(str(got))
        self.want = None if want is None else printable(want)
        self.try_this = None if try_this is None else printable(try_this)
        super().__init__(self.what)

    def __str__(self) -> str:
        parts = {"at": self.where, "got": self.got, "want": self.want, "try": self.try_this}
        lines = [f"  {label:<5} {text}" for label, text in parts.items() if text is not None]
        return "\n".join([self.what, *lines])

    def to_dict(self) -> dict[str, str | None]:
        """The parts, for JSON."""
        return {
            "error": type(self).__name__,
            "what": self.what,
            "where": self.where,
            "got": self.got,
            "want": self.want,
            "try": self.try_this,
        }


class BadInput(RooflightError):
    """An option, value or file the user gave cannot be used."""


class UnknownName(BadInput):
    """A name that no catalog entry, format or field answers to."""


class BadConfig(BadInput):
    """A config.json or a data file that cannot be read as what it should be."""


class MissingExtra(BadInput):
    """A command needs an optional dependency that is not installed."""


class MissingFact(RooflightError):
    """A number the answer needs is in no source; it is never guessed."""

    exit_status = 3
