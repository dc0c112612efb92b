"""The options of a question's fields, made from their table; spelled as the field is, with vLLM's names as aliases."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Any, TypeVar

import click

from rooflight.cli import complete
from rooflight.cli.values import Amount, Chance, Choice, Names, Range, Share, Size, Value, Whole
from rooflight.errors import BadInput, Spelling
from rooflight.values.accelerator import WhatIf
from rooflight.values.field import Field
from rooflight.values.question import FIELDS

Command = TypeVar("Command", bound=Callable[..., Any])

_SCALARS: dict[str, type[Value]] = {"share": Share, "size": Size, "chance": Chance, "rate": Amount, "amount": Amount}
_TEXTS = {"images": "WxH", "model": "MODEL", "name": "NAME", "network": "RATE", "bandwidth": "RATE"}
_COMPLETED = {"format": complete.formats, "model": complete.models}
_MOST_JOBS = 256
# Fields of further phases: what is a single step, or a claim of one, has none.
_PHASES = ("draft_tokens", "draft_model", "draft_weights", "chunk_tokens")
STEP = tuple(field for name, field in FIELDS.items() if name not in _PHASES)


def model_argument(command: Command) -> Command:
    """MODEL: an id, a size, a config.json, a weight file, or a directory that holds one; --parameters stands for it."""
    return click.argument("model", metavar="MODEL", shell_complete=complete.models)(command)


def on_option(*, several: bool) -> Callable[[Command], Command]:
    """--on ACCELERATOR; in a sweep repeated or with commas."""
    words = "Accelerator id or TOML file (- for standard input); 8xh100-sxm means eight, a+b unlike ones together."
    more = " Several: repeat, or put commas between." if several else ""
    return click.option(
        "--on", metavar="ACCELERATOR", multiple=several, shell_complete=complete.accelerators, help=words + more
    )


def what_if_options(command: Command) -> Command:
    """--bandwidth-times and --peak-times: the accelerators of --on with other rates."""
    for name, what in (("peak_times", "every peak"), ("bandwidth_times", "its memory bandwidth")):
        words = f"What if --on had so many times {what}: 0.1 to 10. [1]"
        command = click.option("--" + name.replace("_", "-"), type=Amount(), metavar="TIMES", help=words)(command)
    return command


def calibration_option(command: Command) -> Command:
    """--calibration FILE.toml, your own."""
    words = "Your own calibration, as `rooflight calibrate` writes it: what is expected is by that."
    return click.option("--calibration", metavar="FILE.toml", type=click.Path(), help=words)(command)


def field_options(*fields: Field, several: Container[str] = ()) -> Callable[[Command], Command]:
    """The options of fields, flags last; those whose names are in `several` take lists, and numbers ranges."""

    def decorate(command: Command) -> Command:
        for field in sorted(fields, key=lambda one: one.kind == "flag")[::-1]:
            command = field_option(field, _type(field, field.name in several))(command)
        return command

    return decorate


def field_option(field: Field, kind: Value | None) -> Callable[[Command], Command]:
    """The option of a field, of a type (None: text)."""
    names = (field.option, *field.aliases)
    if field.kind == "flag":
        return click.option(*names, field.name, is_flag=True, help=field.off or field.words, callback=_flag)
    metavar = (
        _TEXTS.get(field.kind, "FORMAT")
        if kind is None
        else kind.name
        if isinstance(kind, Choice)
        else kind.name.upper()
    )
    known = _COMPLETED.get(field.kind)
    return click.option(*names, field.name, type=kind, metavar=metavar, help=field.told, shell_complete=known)


def _flag(_ctx: click.Context, param: click.Parameter, given: bool) -> bool:
    """The field's value: its default, or the other where the option was given."""
    default: bool = FIELDS[str(param.name)].default
    return default != given


def _type(field: Field, several: bool) -> Value | None:
    if field.kind in ("count", "degree"):
        return Range() if several else Whole()
    if field.kind == "choice":
        return Choice(*field.choices)
    if field.kind in _SCALARS:
        return _SCALARS[field.kind]()
    return Names() if several else None


def jobs_option(command: Command) -> Command:
    """--jobs, the number of processes."""

    def checked(_: click.Context, __: click.Parameter, value: int) -> int:
        if not isinstance(value, int) or not 1 <= value <= _MOST_JOBS:
            raise BadInput(
                "no such number of processes", where="--jobs", got=value, want=f"1 to {_MOST_JOBS}",
                try_this="as many as the machine has cores",
            )  # fmt: skip
        return value

    words = "Processes that compute the rows of CSV and JSON; worth it from some hundred thousand rows on. [1]"
    return click.option("--jobs", type=Whole(), default=1, metavar="N", help=words, callback=checked)(command)


def fields(given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields among a command's arguments that were given; the rest keep their defaults."""
    left = {name: field.default if field.kind == "flag" else None for name, field in FIELDS.items()}
    return {name: given[name] for name, blank in left.items() if given.get(name, blank) is not blank}


def asked(given: Mapping[str, Any]) -> dict[str, Any]:
    """The same with your own calibration, where one is named."""
    own = given.get("calibration")
    return fields(given) if own is None else {**fields(given), "calibration": own}


def spelling(command: click.Command) -> Spelling:
    """How an error of a command names what was asked: by the option that sets it."""
    options = {name: field.option for name, field in FIELDS.items()}
    options |= {str(one.name): one.opts[0] for one in command.params if isinstance(one, click.Option)}

    def spelled(name: str, value: object) -> str:
        option = options.get(name) or "--" + name.replace("_", "-")
        if isinstance(value, Mapping):
            return " ".join(f"{option} {key}={one}" for key, one in value.items())
        return option if value is None else f"{option} {value}"

    return spelled


def on_of(on: str | None, given: Mapping[str, Any]) -> str | WhatIf:
    """The accelerator, with the rates that what_if_options ask for; raises BadInput where none is named."""
    name: str = require_on(on)
    times = {key: given[key] for key in ("bandwidth_times", "peak_times") if given[key] is not None}
    return WhatIf(name, **times) if times else name


def require_on(on: Any) -> Any:
    """The accelerator(s) named; raises BadInput where there is none."""
    if not on:
        raise BadInput(
            "no accelerator was named",
            where="--on",
            want="an accelerator's id, such as h100-sxm or 8xh100-sxm, or a TOML file",
            try_this="`rooflight accelerators` for the list",
        )
    return on
