"""Sizes printed in published weight indexes (total_size) against our storage formats, to the byte."""

from __future__ import annotations

import csv

import pytest

from conformance.conftest import DATA
from rooflight.catalog.config import read_model
from rooflight.work.count import tower_bytes, weight_bytes

# Bytes a file holds beyond the model's weights, and why.
BEYOND = {
    "tiiuae__falcon-180B-chat.json": (65024 * 14848 * 2, "the tied head is stored a second time"),
    "tiiuae__falcon-40b-RW.json": (65024 * 8192 * 2, "the tied head is stored a second time"),
    "decapoda__llama-7b-hf.json": (32 * 64 * 2, "rotary inv_freq buffers, 64 fp16 numbers a layer"),
    "togethercomputer__RedPajama-INCITE-7B-Base.json": (
        32 * (2048 * 2048 // 8 + 64 * 2 + 2),
        "causal masks of 2048 x 2048 bools (sized at an eighth of a byte each), inv_freq, masked_bias a layer",
    ),
    "OpenAssistant__oasst-rm-2.1-pythia-1.4b-epoch-2.5.json": (4, "the reward output has an fp32 bias"),
    "jj8127__mimo_kor.json": (
        2
        * (
            (4096 * (4096 + 2 * 1024) + 4096 + 2 * 1024)  # queries, keys, values and their bias
            + 4096 * 4096
            + 3 * 4096 * 11008
            + 2 * 4096 * 4096  # the projection of embedding and hidden state
            + (2 + 3) * 4096
        ),
        "one multi-token-prediction layer",
    ),
    "Qwen__Qwen-VL-Chat-Int4.json": (
        2 * (9_656_935_168 - 7_721_324_544)  # parameters of Qwen-VL less those of Qwen-7B: the vision part
        + 32 * 2 * (2 * 4096 + 2 * 11008)  # GPTQ writes zero biases for matrices that have none
        + 32 * 4 * (4 * 4096 + 11008)  # and g_idx of qkv, o, gate, up and down, though rows stand in order
        + 32 * (4 * 4096 * 4096 + 3 * 4096 * 11008) // 128 * 4 // 8,  # and zero points, though groups are symmetric
        "the vision part, zero biases, and what kernels drop: g_idx and zero points",
    ),
}
# Vision parts we do not count: what is left must be of their size, in parameters.
VISION = {
    "deepseek-ai__DeepSeek-OCR-2.json": (4.0e8, 5.0e8),
    "alibaba__Logics-Thinking.json": (1.2e9, 1.4e9),
}
BROKEN = {"nvidia__Cosmos-Reason2.json": "the index prints a total_size of 0"}


def rows() -> list[dict[str, str]]:
    if not DATA.is_dir():
        return []
    with (DATA / "published_sizes.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["config"])
def test_stored_bytes_equal_the_published_total(row: dict[str, str]) -> None:
    """What the index sums up is our weights, the counted towers, and what the table above names."""
    name = row["config"]
    published = int(float(row["total_size_bytes"]))
    if name in BROKEN:
        assert published == 0, BROKEN[name]
        return
    model = read_model(DATA / "configs" / name)
    left = published - weight_bytes(model) - tower_bytes(model)

    if name in VISION:
        low, high = VISION[name]
        assert any(tower.parameters is None for tower in model.towers)
        assert low <= left / 2 <= high
    else:
        beyond, why = BEYOND.get(name, (0, "nothing beyond the weights"))
        assert left == beyond, why
