"""FLOP of our work room against transformers on the meta device (oracle.csv), difference 0.

The oracle's conventions are asked for where the library has them (naive attention over the whole rectangle, the
lm_head on every position, the expanded form of latent attention); what is left differs only in the mixers that
transformers runs by another algorithm, and is converted by the closed forms of oracle_terms.py.
"""

from __future__ import annotations

import csv
import json

import pytest

from conformance import oracle_terms as terms
from conformance.conftest import DATA, config_path, model_of
from rooflight.values.model import Attention, LatentAttention, Layer, Model, Recurrent
from rooflight.work import step as steps
from rooflight.work.count import is_encoder
from rooflight.work.layout import Layout
from rooflight.work.mixers import Slice, mixer_operators
from rooflight.work.numbers import Numbers

FIGURES = {"flops_prefill_128": (128, 0), "flops_prefill_2048": (2048, 0), "flops_decode_ctx2048_b1": (1, 2048)}
NAIVE = Numbers(flash=False)


def oracle_rows() -> list[dict[str, str]]:
    if not DATA.is_dir():
        return []
    with (DATA / "oracle.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    return [row for row in rows if row["flops_prefill_128"]]


def our_mixer_flop(layer: Layer, part: Slice) -> float:
    return sum(op.work.flop * op.count for op in mixer_operators(layer.mixer, (part,), Layout(), NAIVE))


def their_mixer_flop(layer: Layer, new: int, context: int, chunk: int) -> int:
    mixer = layer.mixer
    if isinstance(mixer, Recurrent):
        conv = terms.conv_flop(mixer, new, decode=context > 0) if mixer.conv_channels else 0
        return conv + terms.scan_flop(mixer, new, decode=context > 0, chunk=chunk)
    if isinstance(mixer, Attention | LatentAttention):
        by_product = isinstance(mixer, LatentAttention)
        return terms.attention_flop(mixer, new, context) + terms.indexer_flop(
            mixer, new, context, weighs_by_product=by_product
        )
    return 0


def conversion(model: Model, part: Slice, chunk: int) -> float:
    """What transformers multiplies in the mixers, and in mixing residual streams, more than our rules count."""
    new, context = part.new, part.context
    return sum(
        layer.count
        * (
            their_mixer_flop(layer, new, context, chunk)
            - our_mixer_flop(layer, part)
            + terms.streams_flop(layer, model.hidden, new)
            + terms.altup_flop(layer, model.hidden, new)
        )
        for layer in model.layers
        if not (isinstance(layer.mixer, Attention) and layer.mixer.fixed_context is not None)
    )


def plain(model: Model) -> bool:
    """Only full attention: then our counts are the oracle's without any conversion."""
    mixers = [layer.mixer for layer in model.layers if layer.mixer is not None]
    return all(
        isinstance(m, Attention | LatentAttention) and not m.indexer and m.reach.stride == 1 and not m.reach.window
        for m in mixers
    )


@pytest.mark.parametrize("row", oracle_rows(), ids=lambda row: row["config"].removesuffix(".json"))
def test_flop_equal_the_oracle(row):
    model = model_of(row["config"])
    raw = json.loads(config_path(row["config"]).read_text())
    chunk = raw.get("chunk_size") or raw.get("mamba_chunk_size") or 256
    for figure, (new, context) in FIGURES.items():
        value = row[f"{figure}_topk_corrected"] or row[figure]
        if not value:
            continue
        part = Slice(sequences=1, new=new, context=context, head_positions=1 if is_encoder(model) else new)
        ops = steps.operators(model, steps.Step(slices=(part,)), Layout(), NAIVE)
        ours = sum(op.work.flop * op.count for op in ops)
        converted = conversion(model, part, chunk)

        assert ours + converted == int(float(value)), figure
        assert converted == 0 or not plain(model)
