"""Texts and towers against transformers on the meta device (oracle.csv): parameters, caches, states.

Where the oracle and the plan differ, the reason stands beside the difference.
"""

from __future__ import annotations

import csv

import pytest

from conformance.conftest import DATA, model_of
from rooflight.work import count

# transformers caches Falcon's K/V heads once a query head (test_oracle_parameters.py has the difference)
CACHED_OTHERWISE = {"falcon"}

# The oracle read this flat file as a nested one and took the class defaults: 128815 rows, where the file says 128896.
MORE_ROWS = {"stepfun-ai__Step-3.7-Flash.json": 2 * (128896 - 128815) * 4096}
# Kimi's projector (norm, two matrices) is counted with the text there and with the tower here.
PROJECTOR = 2 * 1152 + (4608 + 1) * 4608 + (4608 + 1) * 7168


def rows() -> list[dict[str, str]]:
    if not DATA.is_dir():
        return []
    with (DATA / "oracle.csv").open(newline="") as file:
        return [row for row in csv.DictReader(file) if row["params_total"]]


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["config"].removesuffix(".json"))
def test_counts_equal_the_oracle(row):
    """Total and active parameters with towers, and the towers alone, to the unit."""
    model = model_of(row["config"])
    towers = sum(tower.parameters for tower in model.towers)
    more = MORE_ROWS.get(row["config"], 0)
    elsewhere = PROJECTOR if row["model_type"] == "kimi_k25" else 0

    assert towers - elsewhere == int(row["params_vision_audio"])
    assert count.parameters(model) + towers - more == int(row["params_total"])
    assert count.active_parameters(model) + towers - more == int(row["params_active"])


CACHED = [
    row
    for row in rows()
    if row["kv_bytes_per_token_bf16_full_layers"]
    and row["model_type"] not in CACHED_OTHERWISE
    and row["status"] != "flops_encdec"  # whose tensors the oracle lists, and sums nothing of
]


@pytest.mark.parametrize("row", CACHED, ids=lambda row: row["config"].removesuffix(".json"))
def test_caches_equal_the_oracle(row):
    """Bytes per token that grow, bytes per token inside windows, and constant state, in bf16 (states as kept)."""
    model = model_of(row["config"])

    assert count.kv_bytes_per_token(model) == int(row["kv_bytes_per_token_bf16_full_layers"])
    if row["model_type"] == "deepseek_v4":
        # Every layer keeps a window of 128 keys of 512 that serve as values too. The oracle's column holds the two
        # pure-window layers with the shared tensor counted twice (2 x 2 x 512 x 2) and the index keys once more
        # (21 x 128 x 2 / 4); its constant state is those windows and the compressors' unfinished blocks.
        assert count.window_kv_bytes_per_token(model) == 43 * 512 * 2
        assert int(row["kv_bytes_per_token_bf16_sliding_layers"]) == 2 * 2 * 512 * 2 + 21 * 128 * 2 // 4
        return
    assert count.window_kv_bytes_per_token(model) == int(row["kv_bytes_per_token_bf16_sliding_layers"])
    assert count.state_bytes_per_sequence(model) == int(row["constant_state_bytes_b1"])
