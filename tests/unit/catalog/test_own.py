"""The file of your own calibration: whatever is in it, it is read or refused in words."""

from __future__ import annotations

import tomllib

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rooflight
from rooflight.catalog import tables
from rooflight.catalog.calibration import engine_named
from rooflight.catalog.own import calibrated_by, fit_of, load, shifted
from rooflight.errors import BadConfig, BadInput
from rooflight.show.calibrated import file
from rooflight.values.own import OwnCalibration, OwnEntry, Shift, Shifts

CARD = rooflight.accelerator("h100-sxm")
ENGINE = engine_named("vllm", CARD.family)
PLAIN = Shift(low=0.7, high=1.5)


def own(step: float = 1.2, prefill: float = 1.1, first: float = 1.3, kinds: tuple[str, ...] = ("dense",)):
    shifts = Shifts(
        step=Shift(factor=step, low=0.9, high=1.1, rows=3), prefill=Shift(factor=prefill, low=0.8, high=1.2, rows=3),
        first=Shift(factor=first, low=0.6, high=1.7, rows=3), request=PLAIN,
    )  # fmt: skip
    entry = OwnEntry(
        engine="vllm", era=ENGINE.era, accelerator=CARD.id, fit=fit_of(ENGINE, CARD.family), kinds=kinds, rows=3,
        runs=3, sha256="0" * 16, others=shifts, models=(msgspec.structs.replace(shifts, model="m"),),
    )  # fmt: skip
    return OwnCalibration(date="2026-11-29", rooflight="0.1.0", entries=(entry,))


def test_the_file_of_a_calibration_is_read_as_it_was(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(file(own()))

    assert msgspec.to_builtins(load(path)) == msgspec.to_builtins(own())


def test_a_byte_order_mark_dates_and_further_keys_are_no_hindrance(tmp_path):
    path = tmp_path / "mine.toml"
    text = file(own()).replace('date = "2026-11-29"', "date = 2026-11-29\nlater = 3")
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())

    assert load(path).date == "2026-11-29"


def test_what_it_makes_of_a_fit():
    """A lone prefill has the steps' factor in it already, so 1.1 / 1.2 is its own; requests have their interval."""
    entry = own().entries[0]
    made = shifted(ENGINE, entry, "m")

    assert made.step_share == 1.2
    assert made.prefill_share == pytest.approx(ENGINE.prefill_share * 1.1 / 1.2)
    assert made.first_share == 1.3
    assert (made.low, made.high) == (0.9, 1.1)
    assert (made.run_low, made.run_high) == (0.7, 1.5)
    assert (made.first_low, made.prefill_high) == (0.6, 1.2)
    assert made.calibrated_on == CARD.id


def test_kinds_of_models_without_rows_keep_the_engines_interval_as_wide_as_here():
    entry = msgspec.structs.replace(own().entries[0], widened=1.5)
    made = shifted(ENGINE, entry, "m")

    assert (made.moe_low, made.moe_high) == pytest.approx((ENGINE.moe_low / 1.5, ENGINE.moe_high * 1.5))
    assert (made.low, made.high) == (0.9, 1.1)


def test_a_key_of_very_many_parts_is_refused_unparsed(tmp_path):
    """50,000 parts, whose squares are far above what is parsed; a long sentence with dots is none."""
    odd = tmp_path / "odd.toml"
    for bomb in ("a" + ".a" * 50_000 + " = 1", "[a" + ".a" * 50_000 + "]", "b = {a" + ".a" * 50_000 + " = 1}"):
        odd.write_text(bomb)
        with pytest.raises(BadConfig, match="nested too deep"):
            load(odd)
        with pytest.raises(BadConfig, match="nested too deep"):
            rooflight.accelerator(str(odd))
    assert not tables.too_many_dots(b'answer = "' + b"1.5 times as long. " * 400 + b'"')


def test_other_fits_are_refused_and_other_cards_are_left_alone():
    stale = msgspec.structs.replace(own(), entries=(msgspec.structs.replace(own().entries[0], fit="0"),))

    with pytest.raises(BadConfig, match="relative to other fits"):
        calibrated_by(stale, ENGINE, CARD)
    assert calibrated_by(stale, ENGINE, rooflight.accelerator("a100")) is None
    assert calibrated_by(None, ENGINE, CARD) is None


def test_what_is_no_calibration_at_all_is_refused():
    with pytest.raises(BadInput):
        rooflight.analyze("llama-3.1-8b", "h100", calibration=3)


def test_an_entry_twice_words_that_are_none_and_a_factor_of_requests(tmp_path):
    table = tomllib.loads(file(own()))
    odd = [
        {**table, "entries": table["entries"] * 2},
        {**table, "entries": [{**table["entries"][0], "kinds": ["sparse"]}]},
        {**table, "entries": [{**table["entries"][0], "dropped": ["request"]}]},
    ]
    twice = {**table["entries"][0], "others": {**table["entries"][0]["others"], "request": {
        "factor": 2.0, "low": 0.5, "high": 2.0}}}  # fmt: skip
    odd.append({**table, "entries": [twice]})
    import tomli_w

    for number, one in enumerate(odd):
        path = tmp_path / f"{number}.toml"
        path.write_text(tomli_w.dumps(one))
        with pytest.raises(BadConfig) as error:
            load(path)
        assert "entries[" in error.value.where


leaves = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=8),
    st.sampled_from(["vllm", "dense", "step"]),
)  # fmt: skip
values = st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
    st.sampled_from(["entries", "engine", "others", "step", "factor", "low", "high", "rows", "models", "x"]), inner,
    max_size=4), max_leaves=12)  # fmt: skip
paths = st.lists(
    st.sampled_from(["entries", 0, "others", "models", "step", "first", "factor", "low", "rows", "kinds", "errors",
                     "date", "schema", "left_out", "fit"]), min_size=1, max_size=5,
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(path=paths, value=values)
def test_any_value_anywhere_is_read_or_refused(tmp_path_factory, path, value):
    """A whole file with one place in it replaced: never another exception, and factors never out of range."""
    import tomli_w

    table = tomllib.loads(file(own()))
    place = table
    for key in path[:-1]:
        try:
            place = place[key]
        except (KeyError, IndexError, TypeError):
            return
    if not isinstance(place, dict) or not isinstance(path[-1], str) or value is None:
        return
    place[path[-1]] = value
    try:
        text = tomli_w.dumps(table)
    except (TypeError, ValueError, UnicodeError, AttributeError):  # what TOML cannot say
        return
    where = tmp_path_factory.mktemp("own") / "mine.toml"
    where.write_text(text, encoding="utf-8", errors="replace")
    _read_or_refused(where)


@settings(max_examples=150, deadline=None)
@given(raw=st.one_of(st.binary(max_size=200), st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace"))))
def test_any_bytes_are_read_or_refused(tmp_path_factory, raw):
    where = tmp_path_factory.mktemp("own") / "mine.toml"
    where.write_bytes(raw)
    _read_or_refused(where)


def _read_or_refused(where) -> None:
    try:
        found = load(where)
    except BadInput as error:
        assert error.what
        assert error.want
        return
    for entry in found.entries:
        for shifts in (entry.others, *entry.models):
            for name in ("step", "prefill", "first", "request"):
                shift = getattr(shifts, name)
                assert 0.05 <= shift.factor <= 20
                assert shift.low <= 1 <= shift.high
