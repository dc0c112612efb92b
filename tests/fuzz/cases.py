"""Command lines with mutated inputs, one kind a function: a seeded generator in, a Case out."""

from __future__ import annotations

import csv
import functools
import io
import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import click

import rooflight
from fuzz import grafts, mutate
from rooflight.catalog.models import expanded
from rooflight.cli.app import app
from rooflight.values.formats import FORMATS
from rooflight.values.question import FIELDS

_CATALOG = Path(rooflight.__file__).parent / "catalog"
_TESTS = Path(__file__).parents[1]
SMALL = "HuggingFaceTB/SmolLM2-135M"
MODELS = (SMALL, "llama-3.1-8b", "deepseek-v3", "qwen3-next-80b-a3b", "gemma-2-27b", "falcon-mamba-7b")
CARDS = ("h100-sxm", "8xh100-sxm", "4xmi300x", "2xt4", "tpu-v5e", "gaudi3", "cerebras-wse3", "epyc-9654", "16xb200")
ONE = ("h100-sxm", "mi300x", "l40s", "b200", "a100-sxm4-80gb")
FORMS = (("--json",),) * 7 + ((), ("--format", "csv"), ("--format", "md"))


class Case(NamedTuple):
    """A command line; `files` are written beside it and stand in `words` by their names; `stdin` is what it may read.

    lines   of a table or a log that each make a row, if rows are to be counted: else None
    """

    words: tuple[str, ...]
    files: Mapping[str, bytes] = {}
    stdin: bytes = b""
    lines: int | None = None


@functools.cache
def _configs() -> tuple[dict[str, Any], ...]:
    documents = [tomllib.loads(file.read_text()) for file in sorted((_CATALOG / "models").glob("*.toml"))]
    return tuple(expanded(one["config"]) for one in documents)


@functools.cache
def _cards() -> tuple[str, ...]:
    printed = sorted((_CATALOG / "accelerators").glob("*.toml"))
    measured = sorted(_TESTS.glob("measured*.toml")) * (len(printed) // 4)  # of more kinds of values than the others
    return tuple(file.read_text() for file in (*printed, *measured))


def _given(rng: Random, name: str, raw: bytes) -> tuple[str, dict[str, bytes], bytes]:
    """How a file comes to a command: by its name, or on standard input."""
    return ("-", {}, raw) if rng.random() < 0.1 else (name, {name: raw}, b"")


def _grafted(rng: Random, config: dict[str, Any]) -> dict[str, Any]:
    """A config with what a quantised or wrapped one has besides, now and then."""
    if rng.random() < 0.3:
        config = {**config, "quantization_config": rng.choice(grafts.QUANTIZATION)}
    if rng.random() < 0.2:
        config = {**config, **rng.choice(grafts.OTHERS)}
    if rng.random() < 0.1:
        config = {"model_type": config.get("model_type"), "text_config": config}
    return config


def configs(rng: Random) -> Case:
    """A config of the catalog with one to four places mutated, or its text."""
    config = _grafted(rng, rng.choice(_configs()))
    if rng.random() < 0.9:
        raw = json.dumps(mutate.tree(rng, config, rng.choice((1, 1, 2, 4)))).encode()
    else:
        raw = mutate.encoded(rng, mutate.text(rng, json.dumps(config, indent=1), rng.choice((1, 3))))
    name, files, stdin = _given(rng, "config.json", raw)
    card = rng.choice(ONE + CARDS)
    command = rng.choice((
        *(("analyze", name, "--on", card, "--ignore-capacity"),) * 4,
        *(("models", name),) * 2,
        ("analyze", name, "--on", card, "--tp", rng.choice("1248"), "--weights", rng.choice(list(FORMATS))),
        ("sweep", name, "--on", card, "--batch", "1,64"),
        ("compare", name, "--on", card),
    ) + ((("moves", name, "--on", card),) if rng.random() < 0.2 else ()))  # fmt: skip
    return Case((*command, *rng.choice(FORMS)), files, stdin)


def _value(rng: Random, name: str, several: bool) -> str:
    """A value of an option, mostly one that it takes."""
    if rng.random() < 0.07:
        return str(mutate.scalar(rng)).replace("\0", "")
    field = FIELDS.get(name)
    kind = field.kind if field is not None else name
    ways: dict[str, Sequence[str]] = {
        "count": ("1", "2", "7", "128", "1000", "4,096", "100000"), "degree": ("1", "2", "3", "4", "8", "16"),
        "share": ("0.9", "0.5", "1", "0.01"), "chance": ("0", "0.5", "1"), "rate": ("0.1", "1", "50", "1e6"),
        "size": ("1GB", "16GiB", "500000000", "1,5GB"), "format": tuple(FORMATS), "network": ("400Gb/s", "50GB/s,5us"),
        "choice": field.choices if field is not None else (), "name": ("vllm", "llama.cpp", "sglang", "nosuch"),
        "prices": ("h100-sxm=2.5", "t4=0", "x=1"), "objective": ("throughput", "latency", "ttft", "cost", "energy"),
        "cards": ("h200-sxm", "t4,l4", "-"), "phase": ("decode", "prefill"), "kind": ("gpu", "roofline", "gains"),
        "form": ("text", "json", "csv", "md"),
    }  # fmt: skip
    values = ways.get(kind, ("1", "3.5", "128", "h100-sxm", "fp8", "x"))
    if several and rng.random() < 0.4:
        return rng.choice((",".join(rng.sample(values, min(2, len(values)))), "1:64:x4", "8:64:8"))
    return rng.choice(values or ("x",))


def options(rng: Random) -> Case:
    """A command of the catalog's names with up to seven options of any value."""
    name = rng.choice(
        ("analyze",) * 4 + ("sweep", "compare", "check", "accelerators") + ("moves",) * (rng.random() < 0.3)
    )
    command = app.get_command(click.Context(app), name)
    assert command is not None
    words = [name]
    if name in ("analyze", "sweep", "compare", "moves"):
        words += [rng.choice(MODELS)]
    if name not in ("accelerators",):
        words += ["--on", rng.choice(CARDS) if rng.random() < 0.95 else str(mutate.scalar(rng))]
    if name == "check":
        words += [
            "--model",
            rng.choice(MODELS),
            f"--{rng.choice(('tpot-ms', 'ttft-ms', 'output-tok-s'))}",
            rng.choice(("1", "30", "1e5")),
        ]
    left = [one for one in command.params if isinstance(one, click.Option) and one.name not in _ELSEWHERE]
    for one in rng.sample(left, min(len(left), rng.randrange(7))):
        several = name in ("sweep", "compare") and (one.name in FIELDS and FIELDS[one.name].axis != "")
        words += [rng.choice(one.opts)] if one.is_flag else [rng.choice(one.opts), _value(rng, str(one.name), several)]
    return Case((*words, *rng.choice(FORMS)))


# Options that write files, name files, stop without an answer, or are put in by hand.
_ELSEWHERE = ("output", "form", "as_json", "on", "model", "configs", "help", "log", "log_columns")


@functools.cache
def _rows() -> tuple[tuple[str, ...], ...]:
    return tuple(map(tuple, csv.reader(io.StringIO((_TESTS / "replay" / "measured.csv").read_text()))))


def _cell(rng: Random) -> str:
    return str(mutate.scalar(rng)).replace("\ud800", "?")


def tables(rng: Random) -> Case:
    """A few rows of measurements with cells, columns, quotes, separators, ends and bytes mutated."""
    header, *rows = [list(row) for row in _rows()]
    rows = rng.sample(rows, rng.choice((1, 2, 5)))
    if rng.random() < 0.2:
        header.append(rng.choice(("note", "verdict", "=cmd", "model", "")))
        rows = [[*row, rng.choice(("", "x", "=cmd|' /C calc'!A0", "-3.5", "@a", "it's", "'=a"))] for row in rows]
    for _ in range(rng.choice((0, 1, 2, 4))):
        row = rng.choice(rows)
        row[rng.randrange(len(row))] = _cell(rng)
    if rng.random() < 0.1:
        rng.choice((header, *rows)).pop()
    out = io.StringIO()
    csv.writer(out, delimiter=rng.choice(",,,,;\t"), lineterminator="\n").writerows([header, *rows])
    whole = out.getvalue()
    torn = rng.random() < 0.3
    if torn:
        whole = mutate.text(rng, whole, rng.choice((1, 2)))
    raw = mutate.encoded(rng, whole)
    name, files, stdin = _given(rng, "rows.csv", raw)
    return Case(("check", name, *rng.choice(FORMS)), files, stdin, lines=_lines(raw))


def _lines(raw: bytes) -> int | None:
    """Rows below a header, one a line that says anything; None where quotes or odd bytes leave that open."""
    try:
        whole = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    if '"' in whole or any(ord(one) < ord(" ") and one not in "\t\r\n" for one in whole):
        return None
    found = io.StringIO(whole, newline=None).read().split("\n")
    return max(sum(any(one not in ",;\t " for one in line.strip()) for line in found) - 1, 0)


def logs(rng: Random) -> Case:
    """Some requests as CSV or JSON lines, mutated likewise."""
    pairs = [(rng.randrange(1, 9000), rng.randrange(0, 900)) for _ in range(rng.choice((1, 3, 8)))]
    names = rng.choice(
        (
            ("prompt_tokens", "completion_tokens"),
            ("isl", "osl"),
            ("ContextTokens", "GeneratedTokens"),
            ("nested.isl", "osl"),
        )
    )
    cells: list[list[Any]] = [list(pair) for pair in pairs]
    for _ in range(rng.choice((0, 1, 3))):
        rng.choice(cells)[rng.randrange(2)] = mutate.scalar(rng)
    as_json = rng.random() < 0.5
    if as_json:
        whole = "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in cells)
    else:
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows(
            [names, *([str(one).replace("\ud800", "?") for one in row] for row in cells)]
        )
        whole = out.getvalue()
    if rng.random() < 0.3:
        whole = mutate.text(rng, whole, rng.choice((1, 2)))
    raw = mutate.encoded(rng, whole)
    name, files, stdin = _given(rng, "log.txt", raw)
    odd = ("--log-columns", _cell(rng).replace("\0", ""))
    more = odd if rng.random() < 0.03 else rng.choice(((), (), ("--log-columns", ",".join(names)), ("--batch", "max")))
    words = ("compare", SMALL, "--on", rng.choice(ONE), "--log", name, *more, *rng.choice(FORMS))
    return Case(words, files, stdin, lines=None if as_json else _lines(raw))


def cards(rng: Random) -> Case:
    """A card of the catalog with values, lines or bytes of its TOML mutated."""
    lines = rng.choice(_cards()).split("\n")
    for _ in range(rng.choice((1, 1, 2, 4))):
        place = rng.randrange(len(lines))
        key, equals, old = lines[place].partition("=")
        change = rng.randrange(10)
        if change == 0:
            del lines[place]
        elif change == 1:
            lines.insert(rng.randrange(len(lines)), lines[place])
        elif change == 2:
            lines[place] = mutate.text(rng, lines[place], 1)
        elif equals and change < 5:
            lines[place] = f"{key}= {rng.choice((_toml(rng), _toml(rng), f'[{old}]'))}"
        elif key.strip() == "value":
            lines[place] = f"{key}= {rng.choice((old + '0', f'0.0{old.strip()}', '1', '1e9', '7', old))}"
        lines = lines or [""]
    whole = "\n".join(lines)
    raw = mutate.encoded(rng, whole) if rng.random() < 0.2 else whole.encode("utf-8", "replace")
    name, files, stdin = _given(rng, "card.toml", raw)
    some = rng.choice(("", "2x", "8x"))
    words = rng.choice(
        (
            ("accelerators", name),
            ("analyze", "llama-3.1-8b", "--on", name),
            ("analyze", "llama-3.1-8b", "--on", some + name),
        )
    )
    return Case((*words, *rng.choice(FORMS)), files, stdin)


def _toml(rng: Random) -> str:
    one = mutate.scalar(rng)
    if isinstance(one, bool):
        return str(one).lower()
    if isinstance(one, str):
        return json.dumps(one)
    return (
        rng.choice(("nan", "inf", "-inf", "1e400", "0", "-0.0", "{}", "[]", "2026-01-01", "1_0"))
        if one is None
        else str(one)
    )


KINDS: dict[str, Callable[[Random], Case]] = {
    "configs": configs, "options": options, "tables": tables, "logs": logs, "cards": cards,
}  # fmt: skip
