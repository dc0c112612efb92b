"""Cells of a table, or mappings, as Measurements, or the reason why they are none."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from rooflight.errors import BadInput
from rooflight.files import as_file, opened
from rooflight.ingest.table import WANT, Table
from rooflight.units import in_bytes, network, ungrouped
from rooflight.values.measurement import LEAST_VALUE, METRICS, MODES, MOST_VALUE, PHASES, SPECULATIVE, Measurement
from rooflight.values.recorded import Recorded

NEEDED = ("model", "accelerator", "metric", "value")
COLUMNS = Measurement.__struct_fields__
# Largest count that is no typing error: tokens of a sequence, sequences, devices.
_LARGEST = 1 << 40
_YES = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_SPELLINGS = {
    "output_tok_s": ("output_tokens_per_s", "output_throughput", "output_tps", "tok_s", "tokens_per_s", "tps"),
    "total_tok_s": ("total_tokens_per_s", "total_throughput"),
    "prefill_tok_s": ("prompt_tok_s", "prefill_tokens_per_s", "pp_tok_s"),
    "output_tok_s_per_user": ("tok_s_per_user", "tok_s_user"),
    "output_tok_s_per_gpu": ("tok_s_per_gpu", "tok_s_gpu"),
    "tpot_ms": ("itl_ms",),
    "e2e_latency_ms": ("latency_ms",),
}
_SPECULATIVE = {
    "true": "yes", "1": "yes", "on": "yes", "false": "no", "0": "no", "off": "no", "none": "no", "?": "unknown",
}  # fmt: skip
_MODES = {
    "aggregated": "agg", "colocated": "agg", "ifb": "agg", "served": "agg", "disaggregated": "disagg", "pd": "disagg",
    "apart": "disagg",
}  # fmt: skip
# Remarks in which tables of llama-bench keep what it prints of the file ("size" of its table).
_FILE_SIZE = re.compile(r"\bfile size ([\d.]+ ?[KMGT]i?B)\b")
_LONGEST_HOST = 200
_WATTS = re.compile(r"(\d{1,6}(?:\.\d+)?) ?W?", re.IGNORECASE)
_METRIC_OF = {other: name for name, others in _SPELLINGS.items() for other in others}

RowLike = Mapping[str, Any] | Measurement


class BadRow(Exception):
    """Why a row is no measurement."""


# What benchmarks call the number of all requests: --num-prompts of vLLM and SGLang, --num_requests of TensorRT-LLM.
_PROMPTS = ("num_prompts", "num_requests", "requests")


class GivenRow(msgspec.Struct, frozen=True):
    """A row as it was given, columns by name, and the measurement it is; or the problem with it.

    line    of the file, the header being 1; in a list of rows their place, from 1
    """

    line: int
    given: dict[str, str]
    row: Measurement | None = None
    problem: str | None = None


def open_table(path: str | Path) -> Table:
    """A file of measurements, its header read. Raises BadInput, BadConfig."""
    return Table(path, NEEDED, known=COLUMNS)


def open_measured(path: str | Path) -> Table | Recorded:
    """A file of measurements, its header read, or what a benchmark recorded: its content says which.

    Raises BadInput, BadConfig.
    """
    from rooflight.ingest.recorded.read import results_or_bytes
    from rooflight.ingest.recorded.source import decoded

    file = opened(path, WANT)
    try:
        # what has come so far: rows of a pipe are read as they come
        start = decoded(file.peek(1)).lstrip().split("\n", 1)[0]
        found = file if all(name in start.lower() for name in NEEDED) else results_or_bytes(file, path)
    except BaseException:
        file.close()
        raise
    return found if isinstance(found, Recorded) else Table(path, NEEDED, known=COLUMNS, file=found)


def table_rows(table: Table, beside: Mapping[str, str] | None = None) -> Iterator[GivenRow]:
    """Its rows as measurements, one by one as they are read; the table notes the first number with commas in it.

    beside      cells of rows that leave theirs blank, or have no such column
    """
    said = False
    for raw in table.rows():
        given = dict(zip(table.columns, raw.cells, strict=True))
        grouped = () if raw.problem is not None or "," not in "".join(raw.cells) else tuple(_grouped(given))
        unclear = next((name for name in grouped if _may_be_decimal(given[name])), "") if table.decimal_commas else ""
        if raw.problem is not None:
            yield GivenRow(raw.line, given, problem=raw.problem)
        elif unclear:
            yield GivenRow(raw.line, given, problem=f"{unclear} is {_short(given[unclear])!r}: {_TWO_READINGS}")
        else:
            if grouped and not said:
                name, said = grouped[0], True
                shown = _text(given[name])
                table.notes.append(
                    f"{name} {shown} of line {raw.line:,} is read as {ungrouped(shown)}, others likewise"
                )
            yield _read(raw.line, given, beside or {})


def _grouped(given: Mapping[str, str]) -> Iterator[str]:
    """Columns of numbers whose cell has commas between thousands."""
    for name in _NUMBERS:
        text = given.get(name, "")
        if "," in text and ungrouped(text.strip()) != text.strip():
            yield name


def _may_be_decimal(text: str) -> bool:
    """1,300 may be 1.3 too; 1,300,000 and 1,300.5 may not."""
    return text.count(",") == 1 and "." not in text


def table_in(text: str, name: str, needed: Iterable[str] = NEEDED) -> Table:
    """The rows of a text that somebody sent, its header read. Raises BadConfig for what is no table."""
    return Table(name, needed, known=COLUMNS, file=as_file(text))


def metric_named(text: str) -> str | None:
    """The metric that a column or a pair may call so, None for no metric's name."""
    found = _METRIC_OF.get(text.lower(), text.lower())
    return found if found in METRICS else None


def given_rows(rows: Iterable[RowLike], beside: Mapping[str, str] | None = None) -> Iterator[GivenRow]:
    """Mappings or measurements, one by one; beside: cells of rows that leave theirs blank.

    Raises BadInput for what is neither.
    """
    for line, row in enumerate(rows, start=1):
        cells: object = msgspec.to_builtins(row) if isinstance(row, Measurement) else row
        if not isinstance(cells, Mapping):
            raise BadInput(
                "a row must map columns to values", where=f"row {line}", got=type(row).__name__, want="a dict"
            )
        given = {str(name): "" if value is None else str(value) for name, value in cells.items()}
        yield _read(line, given, beside or {})


def _read(line: int, given: dict[str, str], beside: Mapping[str, str]) -> GivenRow:
    """A row with its cells as they were given; what stands beside them is taken where they are blank."""
    blank = {name: text for name, text in beside.items() if not given.get(name, "").strip()}
    try:
        return GivenRow(line, given, measurement({**given, **blank}))
    except BadRow as bad:
        return GivenRow(line, given, problem=str(bad))


def measurement(cells: Mapping[str, object]) -> Measurement:
    """The row's Measurement. Raises BadRow with the reason where a value is missing or cannot be what it should."""
    text = {name: _text(cells.get(name)) for name in COLUMNS}
    text["prompts"] = text["prompts"] or next((told for name in _PROMPTS if (told := _text(cells.get(name)))), "")
    for name in NEEDED:
        if not text[name]:
            raise BadRow(f"{name} is blank")
    metric = text["metric"].lower()
    metric = _METRIC_OF.get(metric, metric)
    if metric not in METRICS:
        raise BadRow(f"{text['metric'][:60]!r} is no metric: want one of {', '.join(METRICS)}")
    mode = _word("mode", text["mode"], MODES, _MODES)
    phase = text["phase"].lower()
    if mode == "disagg":
        phase = phase or "e2e_server"
    numbers: dict[str, Any] = {name: _share(name, text[name]) for name in _SHARES}
    numbers |= {name: _count(name, text[name], least) for name, least in _COUNTS.items()}
    return Measurement(
        id=text["id"],
        model=text["model"],
        config_like=text["config_like"],
        accelerator=text["accelerator"],
        has_accelerator=_flag("has_accelerator", text["has_accelerator"]),
        weights=text["weights"].lower() or None,
        kv_cache=text["kv_cache"].lower() or None,
        compute=text["compute"].lower() or None,
        phase=_phase(metric, phase),
        metric=metric,
        value=_value(text["value"]),
        engine=text["engine"],
        engine_version=text["engine_version"],
        ep=_count("ep", text["ep"], 0) or None,  # 0: no expert parallelism
        prefill_ep=_count("prefill_ep", text["prefill_ep"], 0) or None,
        speculative=_word("speculative", text["speculative"], SPECULATIVE, _SPECULATIVE, other="yes"),
        draft_model=text["draft_model"] or None,
        mode=mode,
        network=_rate("network", text["network"]),
        host_cpu=_host(text["host_cpu"]),
        host_memory_bandwidth=_rate("host_memory_bandwidth", text["host_memory_bandwidth"]),
        run=text["run"],
        weight_bytes=_size(text["weight_bytes"], _text(cells.get("note"))),
        power_limit_w=_watts(text["power_limit_w"]),
        partial_offload=text["partial_offload"],
        weights_as_given=text["weights_as_given"],
        model_as_given=text["model_as_given"],
        accelerator_as_given=text["accelerator_as_given"],
        **numbers,
    )


# Columns that hold whole numbers, and the least that is one.
_COUNTS = {
    **dict.fromkeys(("gpus", "tp", "pp", "dp", "batch", "max_num_batched_tokens", "max_num_seqs", "prompts"), 1),
    **dict.fromkeys(("prefill_workers", "decode_workers", "prefill_tp", "prefill_dp"), 1),
    **dict.fromkeys(("input_len", "output_len", "depth", "cached_prefix", "draft_tokens"), 0),
    **dict.fromkeys(("n_gpu_layers", "n_cpu_moe"), 0),
}
_SHARES = ("prefix_hit", "acceptance", "draft_share")
_NUMBERS = ("value", *_COUNTS, *_SHARES)
_TWO_READINGS = "a decimal comma, or one between thousands? Write it without"


def _text(value: object) -> str:
    """A cell as text; None and NaN (what tables of other libraries hold for nothing) are blank."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return str(value).strip()


def _number(name: str, text: str, read: Callable[[str], float] = float) -> float:
    try:
        number = read(ungrouped(text))
    except ValueError:
        raise BadRow(f"{name} is {_short(text)!r}, not a number") from None
    if not math.isfinite(number):
        raise BadRow(f"{name} is {_short(text)}, not a finite number")
    return number


def _value(text: str) -> float:
    number = _number("value", text)
    if number <= 0:
        raise BadRow(f"value is {_short(text)}: nothing takes no time, or less")
    if not LEAST_VALUE <= number <= MOST_VALUE:
        raise BadRow(f"value is {_short(text)}: no measurement is that small or that large")
    return number


def _size(text: str, remark: str) -> float | None:
    """Bytes of the weights as the row states them, else as its remark says of the file."""
    if not text:
        found = _FILE_SIZE.search(remark)
        text = found[1].replace(" ", "") if found is not None else ""
    if not text:
        return None
    try:
        size = float(in_bytes(text))
    except ValueError:
        size = math.nan
    if not 0 < size < MOST_VALUE:
        raise BadRow(f"weight_bytes is {_short(text)!r}, no size such as 40GB or 37.2GiB")
    return size


def _watts(text: str) -> float | None:
    """A limit of power, with or without its unit; None for anything else, which no figure hangs on."""
    found = _WATTS.fullmatch(text)
    return float(found[1]) if found is not None else None


def _rate(name: str, text: str) -> str | None:
    if not text:
        return None
    try:
        network(text)
    except ValueError:
        raise BadRow(f"{name} is {_short(text)!r}, no rate with its unit such as 400Gb/s or 50GB/s,5us") from None
    return text


def _host(text: str) -> str | None:
    """A CPU's name; a table's names are no paths."""
    if len(text) > _LONGEST_HOST or "/" in text or "\\" in text or text.lower().endswith(".toml") or text == "-":
        raise BadRow(f"host_cpu is {_short(text)!r}, no name of a CPU")
    return text or None


def _count(name: str, text: str, least: int) -> int | None:
    if not text:
        return None
    if text.isascii() and text.isdigit() and len(text) < 13:
        number = int(text)
    else:
        read = _number(name, text)
        if read != int(read):
            raise BadRow(f"{name} is {_short(text)}, not a whole number")
        number = int(read)
    if number > _LARGEST:
        raise BadRow(f"{name} is {_short(text)}: want at most {_LARGEST:,}")
    if number < least:
        raise BadRow(f"{name} is {_short(text)}: want a whole number of at least {least}")
    return number


def _share(name: str, text: str) -> float | None:
    if not text:
        return None
    number = _number(name, text)
    if not 0 <= number <= 1:
        raise BadRow(f"{name} is {_short(text)}: want a share from 0 to 1")
    return number


def _word(name: str, text: str, words: tuple[str, ...], spelled: Mapping[str, str], other: str = "") -> str | None:
    """One of a few words, however it is spelled; `other` for a text that is none of them."""
    if not text:
        return None
    plain = text.lower()
    found = plain if plain in words else spelled.get(plain, other)
    if not found:
        raise BadRow(f"{name} is {_short(text)!r}: want one of {', '.join(words)}")
    return found


def _flag(name: str, text: str) -> bool | None:
    if not text:
        return None
    if text.lower() not in _YES:
        raise BadRow(f"{name} is {_short(text)!r}: want True or False")
    return _YES[text.lower()]


def _phase(metric: str, text: str) -> str:
    """The phase the row says, or the one its metric is usually of."""
    if not text:
        return METRICS[metric].phases[0]
    if text not in PHASES:
        raise BadRow(f"{_short(text)!r} is no phase: want one of {', '.join(PHASES)}")
    if text not in METRICS[metric].phases:
        raise BadRow(f"{metric} is not measured in phase {text}: want one of {', '.join(METRICS[metric].phases)}")
    return text


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:40] + "..."
