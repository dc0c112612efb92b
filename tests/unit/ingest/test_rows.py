"""Cells as a Measurement, and every reason why they are none."""

from __future__ import annotations

import math

import pytest

from rooflight.errors import BadInput
from rooflight.ingest.rows import BadRow, given_rows, measurement, open_table, table_rows

GOOD = {"model": "llama", "accelerator": "h100-sxm", "metric": "tpot_ms", "value": "12.5"}


def test_blank_and_missing_columns_are_not_stated():
    row = measurement({**GOOD, "tp": "", "batch": " ", "weights": ""})
    assert (row.tp, row.batch, row.weights, row.gpus, row.input_len) == (None, None, None, None, None)
    assert row.value == 12.5


def test_numbers_are_read_as_tables_write_them():
    row = measurement({**GOOD, "gpus": "8.0", "batch": 64, "input_len": 1024.0, "depth": float("nan"), "tp": None})
    assert (row.gpus, row.batch, row.input_len, row.depth, row.tp) == (8, 64, 1024, None, None)
    assert isinstance(row.gpus, int)


def test_no_expert_parallelism_is_written_as_zero_too():
    assert measurement({**GOOD, "ep": "0"}).ep is None
    assert measurement({**GOOD, "ep": "8"}).ep == 8


@pytest.mark.parametrize(
    "metric, phase",
    [("tpot_ms", "decode"), ("ttft_ms", "prefill"), ("output_tok_s", "decode"), ("e2e_latency_ms", "e2e_offline")],
)
def test_a_blank_phase_is_the_metrics_usual_one(metric, phase):
    assert measurement({**GOOD, "metric": metric}).phase == phase


def test_what_is_known_of_a_run_has_columns():
    given = {
        "model": "m", "accelerator": "a", "metric": "tpot_ms", "value": "3", "mode": "disaggregated", "prefill_ep": "0",
        "prefill_workers": "2", "decode_workers": "1", "prefix_hit": "0.75", "acceptance": "",
        "speculative": "eagle, 3",
        "draft_tokens": "3", "run": "7", "prompts": "100", "engine_version": "0.9.2", "max_num_seqs": "64",
    }  # fmt: skip
    row = measurement(given)
    assert (row.mode, row.phase, row.apart) == ("disagg", "e2e_server", True)
    assert (row.prefill_workers, row.decode_workers, row.prefill_ep) == (2, 1, None)
    assert (row.prefix_hit, row.acceptance, row.draft_tokens) == (0.75, None, 3)
    assert row.speculative == "yes"  # a draft is named
    assert (row.run, row.prompts, row.engine_version, row.max_num_seqs) == ("7", 100, "0.9.2", 64)
    assert measurement({**given, "speculative": "unknown", "mode": ""}).speculative == "unknown"
    assert measurement({**given, "speculative": "0"}).speculative == "no"


def test_usual_spellings_of_metrics_are_known():
    assert measurement({**GOOD, "metric": "ITL_ms"}).metric == "tpot_ms"
    assert measurement({**GOOD, "metric": "tok_s"}).metric == "output_tok_s"


@pytest.mark.parametrize(
    "change, words",
    [
        ({"model": ""}, "model is blank"),
        ({"value": ""}, "value is blank"),
        ({"value": "fast"}, "value is 'fast', not a number"),
        ({"value": "12,5"}, "value is '12,5', not a number"),
        ({"value": "0"}, "nothing takes no time"),
        ({"value": "-3"}, "value is -3"),
        ({"value": "nan"}, "not a finite number"),
        ({"value": "inf"}, "not a finite number"),
        ({"batch": "-1"}, "batch is -1: want a whole number of at least 1"),
        ({"batch": "0"}, "batch is 0"),
        ({"batch": "2.5"}, "batch is 2.5, not a whole number"),
        ({"batch": "1e300"}, "batch is 1e300: want at most"),
        ({"value": "5e-324"}, "no measurement is that small"),
        ({"value": "1e308"}, "no measurement is that small or that large"),
        ({"gpus": "eight"}, "gpus is 'eight', not a number"),
        ({"gpus": "²"}, "gpus is '²', not a number"),
        ({"input_len": "-5"}, "input_len is -5: want a whole number of at least 0"),
        ({"metric": "speed"}, "'speed' is no metric"),
        ({"phase": "training"}, "'training' is no phase"),
        ({"phase": "prefill"}, "tpot_ms is not measured in phase prefill"),
        ({"mode": "turbo"}, "mode is 'turbo': want one of agg, disagg"),
        ({"prefix_hit": "75"}, "prefix_hit is 75: want a share from 0 to 1"),
        ({"has_accelerator": "maybe"}, "has_accelerator is 'maybe'"),
    ],
)
def test_a_bad_cell_is_named(change, words):
    with pytest.raises(BadRow) as caught:
        measurement({**GOOD, **change})
    assert words in str(caught.value)


def test_a_value_of_another_librarys_table_is_blank_where_it_is_nan():
    with pytest.raises(BadRow, match="value is blank"):
        measurement({**GOOD, "value": math.nan})


def test_rows_of_a_file_are_counted_from_its_header(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(
        "model,accelerator,metric,value,mine\nllama,h100-sxm,tpot_ms,12.5,kept\nllama,h100-sxm,tpot_ms,x,\n"
    )
    with open_table(path) as table:
        good, bad = table_rows(table)
    assert (good.line, good.row.value, good.given["mine"], good.problem) == (2, 12.5, "kept", None)
    assert (bad.line, bad.row, bad.problem) == (3, None, "value is 'x', not a number")


def test_mappings_and_measurements_are_counted_from_one():
    first, second = given_rows([{**GOOD, "tp": None}, measurement(GOOD)])
    assert (first.line, second.line) == (1, 2)
    assert first.row == second.row == measurement(GOOD)
    assert first.given["tp"] == ""
    with pytest.raises(BadInput, match="a row must map columns to values"):
        list(given_rows([7]))


def test_thousands_are_read_and_said_once(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text('model,accelerator,metric,value,batch\na,b,tps,"1,300","1,024"\na,b,tps,"2,000.5",1\n')
    with open_table(path) as table:
        first, second = table_rows(table)
    assert (first.row.value, first.row.batch, second.row.value) == (1300, 1024, 2000.5)
    assert first.given["value"] == "1,300"
    assert table.notes == ["value 1,300 of line 2 is read as 1300, others likewise"]
    assert measurement({**GOOD, "value": "1,300"}).value == 1300


def test_a_comma_that_may_be_a_decimal_one_is_not_guessed_at(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("model;accelerator;metric;value\na;b;tps;1,300\na;b;tps;1,5\na;b;tps;1,300,000\n")
    with open_table(path) as table:
        first, second, third = table_rows(table)
    assert "value is '1,300': a decimal comma, or one between thousands?" in first.problem
    assert "value is '1,5', not a number" in second.problem
    assert third.row.value == 1_300_000
