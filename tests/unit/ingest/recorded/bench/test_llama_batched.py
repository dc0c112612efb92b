"""llama-batched-bench and llama-sweep-bench: rows written by hand, and what is read of them."""

from __future__ import annotations

import json

import pytest

from rooflight.errors import BadConfig
from rooflight.ingest.recorded.read import recorded

SETUP = (
    "main: n_kv_max = 8192, n_batch = 2048, n_ubatch = 512, flash_attn = 0, is_pp_shared = {shared}, n_threads = 16\n\n"
)
BATCHED = """\
|    PP |     TG |    B |   N_KV |   T_PP s | S_PP t/s |   T_TG s | S_TG t/s |      T s |    S t/s |
|-------|--------|------|--------|----------|----------|----------|----------|----------|----------|
|   100 |     50 |    1 |    150 |    0.250 |   400.00 |    2.000 |    25.00 |    2.250 |    66.67 |
|   100 |     50 |    4 |    600 |    1.000 |   400.00 |    4.000 |    50.00 |    5.000 |   120.00 |
"""
SWEEP = """\
|    PP |     TG |   N_KV |   T_PP s | S_PP t/s |   T_TG s | S_TG t/s |
|-------|--------|--------|----------|----------|----------|----------|
|   512 |    128 |   1024 |    0.500 |  1024.00 |    2.000 |    64.00 |
"""


@pytest.fixture
def read(tmp_path):
    def read(text):
        path = tmp_path / "recorded"
        path.write_text(text, encoding="utf-8")
        return recorded(path)

    return read


def test_a_row_is_a_batch_and_a_token_of_it_takes_its_share_of_the_generation(read):
    found = read(SETUP.format(shared=0) + BATCHED)
    one, four = found.records

    assert (found.format, found.tool) == ("llama-batched-bench", "llama-batched-bench")
    assert [record.stated.batch for record in found.records] == [1, 4]
    assert (four.stated.isl, four.stated.osl) == (100, 50)
    # 50 steps of all four in 4 s, each of which gives four tokens
    assert four.measured.tpot_s.mean == 4.0 / 50
    assert four.measured.output_tokens_per_s == 4 * 50 / 4.0
    assert four.measured.prefill_tokens_per_s == 4 * 100 / 1.0
    # how long one prompt of four took is not said
    assert (one.measured.prefill_s.mean, four.measured.prefill_s) == (0.25, None)


def test_a_prompt_that_all_share_is_one(read):
    _, four = read(SETUP.format(shared=1) + BATCHED).records

    assert four.measured.prefill_s.mean == 1.0


def test_its_json_lines_say_the_same(read):
    plain = {"is_pp_shared": 0, "n_batch": 2048, "pp": 100, "tg": 50, "n_kv": 150, "t": 2.25}
    rows = [
        plain | {"pl": 1, "t_pp": 0.25, "speed_pp": 400.0, "t_tg": 2.0, "speed_tg": 25.0, "speed": 66.67},
        plain | {"pl": 4, "t_pp": 1.0, "speed_pp": 400.0, "t_tg": 4.0, "speed_tg": 50.0, "speed": 120.0},
    ]

    lines = read("".join(json.dumps(row) + "\n" for row in rows))

    assert lines.records == read(SETUP.format(shared=0) + BATCHED).records


def test_a_row_of_a_sweep_is_a_prompt_and_a_generation_on_a_cache_so_long(read):
    found = read(SWEEP)
    prefill, decode = found.records

    assert found.tool == "llama-sweep-bench"
    assert (prefill.stated.phase, prefill.stated.isl, prefill.stated.depth) == ("prefill", 512, 1024)
    assert prefill.measured.prefill_tokens_per_s == 512 / 0.5
    assert (decode.stated.phase, decode.stated.isl, decode.stated.depth) == ("decode", 0, 1024)
    assert decode.measured.tpot_s.mean == 2.0 / 128


def test_a_table_without_a_row_is_refused(read):
    with pytest.raises(BadConfig, match="no row of llama-batched-bench"):
        read(BATCHED.splitlines()[0] + "\n| a | b |\n")
