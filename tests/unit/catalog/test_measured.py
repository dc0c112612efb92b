"""Measured machines: what the `[measured]` table becomes, and what is refused of it."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

import kernel_tables
from rooflight.catalog import accelerators, card
from rooflight.errors import BadConfig
from rooflight.values.accelerator import Accelerator
from rooflight.values.tables import AXES
from rooflight.words.notes import worded

FILE = Path(__file__).parents[2] / "measured.toml"
MACHINE: dict[str, Any] = tomllib.loads(FILE.read_text(encoding="utf-8"))


def made(raw: dict[str, Any]) -> Accelerator:
    return card.accelerator(
        raw, origin="this.toml", assumed_from=accelerators._assumptions(), known=accelerators.shipped
    )


def machine(**measured: Any) -> dict[str, Any]:
    """The file with some keys of [measured] replaced; None: left out."""
    table = {**MACHINE["measured"], **measured}
    return {**MACHINE, "measured": {key: value for key, value in table.items() if value is not None}}


def rate(what: str, name: str, median: float = 1e9, **more: Any) -> dict[str, Any]:
    fast = {"best": median, "low": median, "high": median}
    return {"what": what, "name": name, "median": median, "n": 5, **fast, **more}


# --- what it becomes ---------------------------------------------------------------------------------------------


def test_rates_are_medians_and_ceilings_the_fastest_seen() -> None:
    """Of memory the kernel with the largest median counts, in the ceiling the best of any with its spread."""
    one = accelerators.load(str(FILE))[0]

    assert one.memory_bytes_per_s == 24e9  # read, against 20e9 of triad
    assert one.fast_memory_bytes_per_s == pytest.approx(25.5e9 * (1 + (25 - 24) / 25))
    assert one.peak_flop_per_s == {"fp32": 165e9, "bf16": 650e9}
    assert one.fast_flop_per_s["fp32"] == pytest.approx(172e9 * (1 + (170 - 165) / 170))
    assert one.assumed.launch_eager_s == 3e-6
    assert one.measured is not None
    assert [each.name for each in one.measured.of("level")] == ["L2"]
    assert one.measured.tables is not None
    assert one.measured.tables.gemm["fp32"].points == ((1, 8), (1024,), (1024, 4096))


def test_a_kernel_with_a_lower_median_may_set_the_ceiling() -> None:
    """A copy that once reached more than any read did is what was seen."""
    rates = [rate("memory", "read", 24e9), rate("memory", "copy", 20e9, best=30e9, high=22e9)]
    one = made(machine(rates=rates))

    assert one.memory_bytes_per_s == 24e9
    assert one.fast_memory_bytes_per_s == pytest.approx(30e9 * (1 + (22 - 20) / 22))


def test_what_was_measured_outranks_a_fact() -> None:
    printed = {"what": "memory-bandwidth", "value": 40.0, "unit": "GB/s"}
    peak = {"what": "peak", "dtype": "int8", "value": 3.0, "unit": "TFLOP/s", "kind": "dense"}
    one = made({**machine(), "fact": [*MACHINE["fact"], printed, peak]})

    assert one.memory_bytes_per_s == 24e9
    assert one.peak_flop_per_s == {"fp32": 165e9, "bf16": 650e9, "int8": 3e12}  # nobody measured int8


def test_a_part_of_a_device_takes_no_rate_of_its_datasheet() -> None:
    """Two cores of 56 have neither the socket's memory nor its peaks, but its slots."""
    one, socket = accelerators.load(str(FILE))[0], accelerators.load("xeon-8480plus")[0]

    assert one.compute_units == 2
    assert "int8" not in one.peak_flop_per_s
    assert one.memory_bytes == 7.75 * 2**30
    assert one.pcie_bytes_per_s == socket.pcie_bytes_per_s
    assert any("2 of the 56 compute units of xeon-8480plus" in text for text in worded(one.assumptions))


def test_all_of_a_device_takes_from_its_datasheet_what_nobody_measured() -> None:
    """An H100 whose bandwidth alone was timed keeps the printed peaks, its link, its network and its memory."""
    raw = {"id": "ours", "measured": machine(datasheet="h100-sxm", rates=[rate("memory", "copy", 3.0e12)])["measured"]}
    one, sheet = made(raw), accelerators.load("h100-sxm")[0]

    assert one.memory_bytes_per_s == one.fast_memory_bytes_per_s == 3.0e12
    assert one.peak_flop_per_s == sheet.peak_flop_per_s
    assert one.fast_flop_per_s == sheet.fast_flop_per_s
    assert (one.link, one.network, one.label_bytes) == (sheet.link, sheet.network, sheet.label_bytes)
    assert (one.family, one.kind, one.vendor) == (sheet.family, sheet.kind, sheet.vendor)
    assert any("as printed for h100-sxm" in text for text in worded(one.assumptions))


def test_links_and_calls_are_taken_where_they_were_measured() -> None:
    rates = [
        rate("link", "all-reduce", 300e9), rate("host-link", "up", 50e9), rate("launch", "eager", 4e-6),
        rate("launch", "graph", 2e-6),
    ]  # fmt: skip
    one = made({"id": "ours", "measured": machine(datasheet="h100-sxm", rates=rates)["measured"]})

    assert one.link is not None
    assert (one.link.bytes_per_s, one.link.domain) == (300e9, 8)
    assert one.pcie_bytes_per_s == 50e9
    assert (one.assumed.launch_eager_s, one.assumed.launch_graph_s) == (4e-6, 2e-6)


def test_it_says_when_and_how_it_was_measured() -> None:
    said = worded(made(machine(complete=False)).assumptions)[0]

    for part in ("this is a measured machine", "2026-11-28T22:00:00Z", "`rooflight measure -o this.toml`", "Xeon",
                 "not every part", "the fastest seen here"):  # fmt: skip
        assert part in said


def test_runs_that_differ_by_much_are_said() -> None:
    """A spread of half the median, (16 - 10) / 11 = 55 %, is a machine that did something else."""
    rates = [rate("memory", "read", 11e9, low=10e9, high=16e9, best=16e9), rate("peak", "fp32", 1e12)]
    said = " ".join(worded(made(machine(rates=rates)).assumptions))

    assert "differed by much (memory read by 55%)" in said
    assert "differed by much" not in " ".join(worded(made(machine()).assumptions))


def test_a_date_of_toml_is_read_as_one() -> None:
    raw = tomllib.loads("date = 2026-11-28")
    one = made(machine(date=raw["date"]))

    assert one.measured is not None
    assert one.measured.date == "2026-11-28"


# --- what is refused ---------------------------------------------------------------------------------------------

_RATES: dict[str, tuple[dict[str, Any], str]] = {
    "negative": (rate("memory", "read", -1e9), "rates[0].median"),
    "nan": (rate("memory", "read", float("nan")), "rates[0].median"),
    "infinite": (rate("memory", "read", float("inf")), "rates[0].median"),
    "no machine": (rate("memory", "read", 1e300), "rates[0].median"),
    "best is nan": (rate("memory", "read", best=float("nan")), "rates[0].best"),
    "low above high": (rate("memory", "read", low=2e9), "rates[0]"),
    "median above high": (rate("memory", "read", high=5e8), "rates[0]"),
    "best below median": (rate("memory", "read", best=5e8), "rates[0]"),
    "a launch's best above its median": (rate("launch", "eager", 1e-6, best=2e-6), "rates[0]"),
    "unknown what": (rate("memroy", "read"), "rates[0].what"),
    "unknown format": (rate("peak", "bf17"), "rates[0].name"),
    "unknown mode": (rate("launch", "lazy"), "rates[0].name"),
    "no name": (rate("memory", " "), "rates[0].name"),
    "no runs": (rate("memory", "read", n=0), "rates[0].n"),
    "more runs than there is time for": (rate("memory", "read", n=10**9 + 1), "rates[0].n"),
    "text": (rate("memory", "read", low="fast"), "rates[0].low"),
    "bytes": (rate("memory", "read", bytes=-1), "rates[0].bytes"),
    "unknown key": (rate("memory", "read", mean=1e9), "rates[0]"),
    "a number too large for a float": (rate("memory", "read", high=10**400), "[measured]"),
}


@pytest.mark.parametrize("name", _RATES)
def test_a_rate_that_cannot_be_is_refused_and_placed(name: str) -> None:
    wrong, where = _RATES[name]
    with pytest.raises(BadConfig) as caught:
        made(machine(rates=[wrong]))

    assert caught.value.where is not None
    assert "this.toml, [measured]" in caught.value.where
    assert where in caught.value.where
    assert caught.value.want


def _grid(**changes: Any) -> dict[str, Any]:
    whole = {"names": ["tokens", "inputs", "outputs"], "points": [[1.0, 2.0], [64.0], [64.0]], "seconds": [1e-3, 2e-3]}
    return whole | changes


_TABLES: dict[str, tuple[dict[str, Any], str]] = {
    "too short": (_grid(seconds=[1e-3]), "tables.gemm.fp32.seconds"),
    "not growing": (_grid(points=[[2.0, 1.0], [64.0], [64.0]]), "tables.gemm.fp32.points"),
    "an empty axis": (_grid(points=[[], [64.0], [64.0]], seconds=[]), "tables.gemm.fp32.points"),
    "names and points": (_grid(points=[[1.0, 2.0]]), "tables.gemm.fp32"),
    "negative": (_grid(seconds=[-1e-3, 1e-3]), "tables.gemm.fp32.seconds"),
    "nan": (_grid(points=[[1.0, float("nan")], [64.0], [64.0]]), "tables.gemm.fp32.points"),
    "unknown key": (_grid(unit="s"), "tables.gemm.fp32"),
    "other axes": (_grid(names=["inputs", "tokens", "outputs"]), "tables.gemm.fp32.names"),
    "no axis": (_grid(names=[], points=[], seconds=[1.0]), "tables.gemm.fp32"),
}


@pytest.mark.parametrize("name", _TABLES)
def test_a_table_that_cannot_be_is_refused_and_placed(name: str) -> None:
    grid, where = _TABLES[name]
    with pytest.raises(BadConfig) as caught:
        made(machine(tables={"gemm": {"fp32": grid}}))

    assert caught.value.where is not None
    assert where in caught.value.where


@pytest.mark.parametrize(
    ("raw", "where"),
    [
        ({"id": "x", "measured": []}, "[measured]"),
        ({"id": "x", "measured": {}}, "[measured]"),
        (machine(rates=[]), "[measured], rates"),
        (machine(rates=None), "[measured]"),
        (machine(device=None), "[measured]"),
        (machine(device="\x1b[31m"), "[measured], device"),
        (machine(complete="yes"), "[measured], complete"),
        (machine(datasheet="h1000"), "[measured], datasheet"),
        (machine(datasheet="../h100-sxm"), "[measured], datasheet"),
        (machine(state={"threads": "two"}), "[measured], state.threads"),
        (machine(tables={"norm": {}}), "[measured], tables"),
        (machine(tabels={}), "[measured]"),
        (machine(date="yesterday"), "[measured], date"),
        (machine(date="2026-13-01"), "[measured], date"),
        (machine(state={"threads": 0}), "[measured], state.threads"),
        (machine(state={"clocks_hz": {"cpu": 0.0}}), "[measured], state.clocks_hz.cpu"),
        (machine(state={"clocks_hz": {"cpu": float("inf")}}), "[measured], state.clocks_hz.cpu"),
        (machine(state={"power_w": float("nan")}), "[measured], state.power_w"),
        (machine(state={"temperature_c": 1e9}), "[measured], state.temperature_c"),
        ({**machine(), "id": "h100-sxm"}, "id"),
    ],
)
def test_what_is_no_measurement_is_refused_and_placed(raw: dict[str, Any], where: str) -> None:
    with pytest.raises(BadConfig) as caught:
        made(raw)

    assert caught.value.where is not None
    assert caught.value.where.startswith(f"this.toml, {where}")


_WHOLE: dict[str, Any] = msgspec.to_builtins(kernel_tables.made("fp32", "bf16", expert_s={"fp32": 1e-5, "bf16": 1e-5}))


def _moved(kernel: str, old: str, new: str) -> dict[str, Any]:
    """The tables with one key of a kernel's misspelt."""
    return {**_WHOLE, kernel: {new if key == old else key: value for key, value in _WHOLE[kernel].items()}}


@pytest.mark.parametrize(
    ("tables", "where"),
    [
        *[(_moved(kernel, "fp32", "fp32x"), f"{kernel}.fp32x") for kernel in (*AXES, "layer_s", "expert_s")],
        (_moved("layer_s", "fp32", "fp23"), "layer_s.fp23"),
        *[(_moved(kernel, "fp32", "fp16"), f"{kernel}.f") for kernel in ("elementwise", "layer_s", "expert_s")],
        *[({**_WHOLE, kernel: {}}, f"{kernel}.fp32") for kernel in ("gemm", "decode", "prefill", "elementwise")],
        ({**_WHOLE, "layer_s": {}}, "layer_s.fp32"),
        (
            {
                **_WHOLE,
                "elementwise": {**_WHOLE["elementwise"], "bf16": {"normm": _WHOLE["elementwise"]["bf16"]["norm"]}},
            },
            "elementwise.bf16.normm",
        ),
        ({**_WHOLE, "spread": 10.5}, "spread"),
        ({**_WHOLE, "step_s": 1001.0}, "step_s"),
        ({**_WHOLE, "sequence_s": -1.0}, "sequence_s"),
        ({**_WHOLE, "layer_s": {"fp32": 1e-6, "bf16": 1e4}}, "layer_s.bf16"),
    ],
)
def test_tables_of_which_a_part_would_be_lost_are_refused_and_placed(tables: dict[str, Any], where: str) -> None:
    with pytest.raises(BadConfig) as caught:
        made(machine(tables=tables))

    assert caught.value.where is not None
    assert caught.value.where.startswith(f"this.toml, [measured], tables.{where}")
    assert caught.value.want


def test_whole_tables_are_read() -> None:
    one = made(machine(tables=_WHOLE))

    assert one.measured is not None
    assert one.measured.tables is not None
    assert one.measured.tables.formats == ("fp32", "bf16")


def test_any_value_in_any_place_is_taken_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every leaf of the file replaced by everything odd: no other error than one in words."""
    odd: list[Any] = [float("nan"), float("inf"), -1, 0, 10**400, 1e-320, "", "x" * 10_000, True, [], {}, [[]], "\x00"]
    places = list(_leaves(MACHINE["measured"], ()))
    assert len(places) > 60
    for place in places:
        for value in odd:
            raw = {**MACHINE, "measured": _with(MACHINE["measured"], place, value)}
            _made_or_refused(lambda raw=raw: made(raw))  # type: ignore[misc]


def _made_or_refused(make: Callable[[], Accelerator]) -> None:
    try:
        one = make()
    except BadConfig:
        return
    for form, peak in one.peak_flop_per_s.items():
        assert 0 < peak <= one.fast_flop_per_s[form]
    assert one.memory_bytes_per_s is not None
    assert 0 < one.memory_bytes_per_s <= (one.fast_memory_bytes_per_s or one.memory_bytes_per_s)


def _leaves(value: Any, path: tuple[Any, ...]) -> Any:
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from _leaves(inner, (*path, key))


def _with(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _with(value[path[0]], path[1:], new)
    return copy
