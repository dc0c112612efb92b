"""The options that say what is watched: a Prometheus server, /metrics addresses."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rooflight.cli.values import Value
from rooflight.errors import BadInput

if TYPE_CHECKING:
    from rooflight.values.watching import Watching

Command = TypeVar("Command", bound=Callable[..., Any])
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)?")


class Duration(Value):
    """Seconds, with or without a unit: 90, 90s, 15m, 2h."""

    name = "time"

    def read(self, text: str, where: str) -> float:
        found = _DURATION.fullmatch(text.strip())
        if found is None or not float(found[1]):
            raise BadInput(
                f"{text.strip()[:40]!r} is no time", where=where, got=text[:40], want="seconds, or 90s, 15m, 2h"
            )
        return float(found[1]) * _UNITS[found[2] or "s"]


def watching_options(command: Command, *, files: bool = False) -> Callable[..., Any]:
    """Give a command the options; it is called with one argument `watching` for them, None where none is given.

    files   the command reads files too: it is called with `interval_s` as well, what --interval says where nothing is
            watched
    """

    @functools.wraps(command)
    def with_watching(
        *, prometheus: str | None, scrape: tuple[str, ...], header: tuple[str, ...], api_key_env: str | None,
        **rest: Any,
    ) -> Any:  # fmt: skip
        given = {name: rest.pop(name) for name in ("selector", "range_s", "step_s", "interval_s", "timeout_s")}
        stated = {name: value for name, value in given.items() if value is not None}
        if files:
            watched = prometheus is not None or bool(scrape)
            rest["interval_s"] = None if watched else stated.pop("interval_s", None)
        return command(watching=_watching(prometheus, scrape, header, api_key_env, stated), **rest)

    options = (
        click.option("--prometheus", metavar="URL", help="A Prometheus server whose last minutes are read."),
        click.option("--selector", metavar="MATCHERS", help="Which of its series, such as 'namespace=\"prod\"'."),
        click.option("--range", "range_s", type=Duration(), metavar="TIME", help="How far back. [15m]"),
        click.option("--step", "step_s", type=Duration(), metavar="TIME", help="In steps of. [15s]"),
        click.option("--scrape", multiple=True, metavar="URL",
                     help="A /metrics address, read twice; may be repeated."),
        click.option("--interval", "interval_s", type=Duration(), metavar="TIME",
                     help="Between two readings of an address [10s]" + ("; two scrapes as files." if files else ".")),
        click.option("--timeout", "timeout_s", type=Duration(), metavar="TIME", help="Of an answer. [30s]"),
        click.option("--header", multiple=True, metavar="'NAME: VALUE'", help="Header of every request; repeatable."),
        click.option("--api-key-env", metavar="NAME",
                     help="Environment variable that holds the key, sent as a bearer's."),
    )  # fmt: skip
    for option in reversed(options):
        with_watching = option(with_watching)
    return with_watching


def watching_or_files_options(command: Command) -> Callable[..., Any]:
    """The same of a command that reads files too."""
    return watching_options(command, files=True)


def _watching(
    prometheus: str | None, scrape: tuple[str, ...], header: tuple[str, ...], api_key_env: str | None,
    stated: dict[str, Any],
) -> Watching | None:  # fmt: skip
    if prometheus is None and not scrape:
        left = [f"--{name.removesuffix('_s')}" for name in stated]
        left += ["--header"] if header else []
        left += ["--api-key-env"] if api_key_env else []
        if left:
            raise BadInput(
                "nothing is watched", where=", ".join(left), got="neither --prometheus nor --scrape",
                want="one of them, or files alone",
            )  # fmt: skip
        return None
    from rooflight.library.live import headers_named
    from rooflight.values.watching import Watching

    return Watching(prometheus=prometheus, scrape=scrape, headers=headers_named(header, api_key_env), **stated)
