"""Encoder-decoders against transformers on the meta device (oracle.csv): FLOP of the encoder, and of a decoder step."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from conformance.conftest import DATA
from rooflight.catalog.config import read_model
from rooflight.work import step as steps
from rooflight.work.layout import Layout
from rooflight.work.numbers import Numbers

# Encoder tokens of the oracle's runs, by its cached tensors: Whisper's window, 512 of a text; a step has 128 behind it.
SOURCE = {"whisper": 1500, "bart": 512}
CACHED = 128


def rows() -> list[dict[str, str]]:
    if not DATA.is_dir():
        return []
    with (DATA / "oracle.csv").open(newline="") as file:
        return [row for row in csv.DictReader(file) if row["status"] == "flops_encdec"]


def flop(model, step):
    ops = steps.operators(model, step, Layout(), Numbers())
    return {op.name: op.work.flop * op.count for op in ops}


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["config"].removesuffix(".json"))
def test_an_encoder_and_a_decoder_step_equal_the_oracle(row, data: Path):
    folders = ("configs", "configs_reconstructed")
    model = read_model(next(path for one in folders if (path := data / one / row["config"]).exists()))
    source = SOURCE[row["model_type"]]
    encoder = flop(model, steps.prefill(sequences=1, isl=source, ends=0))
    # the oracle's encoder runs without what makes keys and values for the decoder
    crossed = sum(value for name, value in encoder.items() if name == "kv")
    # a start token is among the 128 that are cached
    step = steps.decode(sequences=1, context=source + CACHED - model.start_tokens, source=source)
    decoder = flop(model, step)
    # BartModel has no head: the file names the class without one
    head = decoder.get("lm_head", 0) if row["arch_class"] == "BartModel" else 0

    assert sum(encoder.values()) - crossed == int(row["flops_encoder"])
    assert sum(decoder.values()) - head == int(row["flops_decoder_step_ctx128"])
