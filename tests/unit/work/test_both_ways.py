"""Steps of encoders and encoder-decoders, FLOP and bytes by hand."""

from __future__ import annotations

import numpy as np
import pytest

from rooflight.catalog import models
from rooflight.values.model import Attention, Layer, Linear, Reach
from rooflight.work import reach, step
from rooflight.work.layout import Layout
from rooflight.work.mixers import Slice
from rooflight.work.numbers import Numbers
from rooflight.work.rows import met, rows_of
from rooflight.work.step import operators, total


def work(model, asked, **numbers):
    return total(operators(model, asked, Layout(), Numbers(**numbers)))


def rows(model, asked, layout=None):
    return {op.name: op for op in operators(model, asked, layout or Layout(), Numbers())}


def test_bert_counts_the_square():
    """2 FLOP a token and weight of 12 layers, 4 n^2 d a layer for scores and values, the pooler on one row a text."""
    layer = 4 * 768 * 768 + 2 * 768 * 3072
    sequences, n = 3, 128
    got = work(models.load("bert-base"), step.prefill(sequences=sequences, isl=n, ends=1))

    assert got.flop == sequences * (12 * (2 * n * layer + 4 * n * n * 768) + 2 * 768 * 768)
    assert got.kv_read_bytes == got.kv_write_bytes == 0
    # every matrix and vector once: all parameters but the input tables, in fp32
    assert got.weight_bytes == 4 * (109_482_240 - (30522 + 512 + 2) * 768)


def test_a_score_runs_once_a_sequence():
    """bge-reranker: its own matrix and one output on one row; 24 layers on all."""
    layer = 4 * 1024 * 1024 + 2 * 1024 * 4096
    got = work(models.load("bge-reranker-v2-m3"), step.prefill(sequences=2, isl=64, ends=1))

    assert got.flop == 2 * (24 * (2 * 64 * layer + 4 * 64 * 64 * 1024) + 2 * (1024 * 1024 + 1024))


def test_local_attention_sees_both_sides():
    """ModernBERT, 512 tokens: 8 layers of 512^2 pairs, 14 in which each sees 64 on each side, less at the ends."""
    band = 512 * (2 * 64 + 1) - 64 * 65
    matrices = 768 * 3 * 768 + 768 * 768 + 768 * 2 * 1152 + 1152 * 768
    got = work(models.load("ModernBERT-base"), step.prefill(sequences=1, isl=512))

    assert got.flop == 22 * 2 * 512 * matrices + 4 * 768 * (8 * 512 * 512 + 14 * band)


@pytest.mark.parametrize("tokens, window", [(1, 3), (2, 3), (3, 3), (7, 3), (9, 1), (5, None), (6, 100)])
def test_pairs_both_ways_are_those_a_mask_leaves(tokens, window):
    places = np.arange(tokens)
    mask = np.abs(places[:, None] - places) < (window or tokens)

    assert reach.pairs(Reach(both=True, window=window), new=tokens, context=0) == mask.sum()


def test_a_part_of_a_text_has_its_share():
    """Of 100 tokens 25 at a time, in the mean 37.5 before and behind them: a quarter of all pairs."""
    assert reach.pairs(Reach(both=True), new=25, context=37.5) == 100 * 100 / 4
    assert reach.cached_positions(Reach(both=True), new=25, context=37.5) == 0


def test_bert_runs_no_rotary_kernel_and_modernbert_one():
    asked = step.prefill(sequences=1, isl=8)

    assert "rope_cache" not in rows(models.load("bert-base"), asked)
    rotary = rows(models.load("ModernBERT-base"), asked)["rope_cache (attention both ways + dense)"]
    assert rotary.work.kv_write_bytes == 0
    assert rotary.work.activation_bytes == 8 * 2 * (768 + 768) * 2  # queries and keys read and written, two bytes


# NLLB-200-distilled-600M: 12 and 12 layers of 1,024, 16 heads of 64, feed-forward 4,096, 256,206 words
SQUARE, FEED, WORDS = 1024 * 1024, 2 * 1024 * 4096, 256206


def test_a_prompt_passes_the_encoder_and_the_start_the_decoder():
    """100 tokens in: 12 encoder layers and 24 matrices of keys and values on them; the decoder on one start token."""
    n = 100
    encoder = 12 * (2 * n * (4 * SQUARE + FEED) + 4 * n * n * 1024)
    crossed = 12 * 2 * n * 2 * SQUARE
    # one token: itself, and the encoder's hundred
    decoder = 12 * (2 * (6 * SQUARE + FEED) + 4 * 1 * 1024 + 4 * n * 1024) + 2 * 1024 * WORDS
    got = work(models.load("nllb-200"), step.prefill(sequences=1, isl=n, ends=1))

    assert got.flop == encoder + crossed + decoder
    # K and V of the encoder's tokens and of the start token, two bytes an element
    assert got.kv_write_bytes == 12 * 2 * 1024 * 2 * (n + 1)


def test_an_encoder_alone_where_no_token_is_put_out():
    """osl 0: neither decoder nor head; nothing of them is read."""
    n = 100
    got = work(models.load("nllb-200"), step.prefill(sequences=1, isl=n, ends=0))

    assert got.flop == 12 * (2 * n * (4 * SQUARE + FEED) + 4 * n * n * 1024) + 12 * 2 * n * 2 * SQUARE
    names = set(rows(models.load("nllb-200"), step.prefill(sequences=1, isl=n, ends=0)))
    assert not names & {"lm_head", "cross_attention"}


def test_a_decode_step_attends_its_own_tokens_and_the_encoder_s():
    """Third step after 100 tokens in: a start token and 2 before it, itself, and 100 in cross-attention."""
    got = work(models.load("nllb-200"), step.decode(sequences=2, context=102, source=100))
    one = 12 * (2 * (6 * SQUARE + FEED) + 4 * (3 + 1) * 1024 + 4 * 100 * 1024) + 2 * 1024 * WORDS

    assert got.flop == 2 * one
    assert got.kv_read_bytes == 2 * 12 * 2 * 1024 * 2 * (3 + 100)
    assert got.kv_write_bytes == 2 * 12 * 2 * 1024 * 2
    # weights: the decoder's and the head (the table), in fp32, with norms and biases
    biases = 12 * (6 * 1024 + 4096 + 1024) + 12 * 3 * 2 * 1024 + 2 * 2 * 1024
    assert got.weight_bytes == 4 * (12 * (6 * SQUARE + FEED) + biases + WORDS * 1024)


def test_whisper_s_front_runs_over_frames():
    """3,000 frames of 128 bands, then 1,500 positions; a convolution sees three at a time."""
    asked = step.prefill(sequences=1, isl=1500, ends=1)
    fronts = [op for op in operators(models.load("whisper-large-v3"), asked, Layout(), Numbers()) if "conv" in op.name]

    assert [op.work.flop for op in fronts] == [2 * 3000 * 3 * 128 * 1280, 2 * 1500 * 3 * 1280 * 1280]


def test_whisper_starts_with_four_tokens():
    """They attend each other as a triangle, 1 + 2 + 3 + 4, and 1,500 positions each."""
    got = rows(models.load("whisper-large-v3"), step.prefill(sequences=1, isl=1500, ends=1))
    own, cross = got["attention (decoder: attention)"], got["cross_attention"]

    assert own.work.flop == 4 * 10 * 1280
    assert cross.work.flop == 4 * 4 * 1500 * 1280
    assert own.count == cross.count == 32


def test_prompts_beside_decoding_sequences():
    """A mixed step: the chunk passes the encoder, nothing of it the decoder yet."""
    model = models.load("nllb-200")
    alone = work(model, step.decode(sequences=4, context=110, source=100))
    both = work(model, step.together(
        step.decode(sequences=4, context=110, source=100), step.prefill(sequences=1, isl=100, ends=0)
    ))  # fmt: skip

    assert both.flop - alone.flop == work(model, step.prefill(sequences=1, isl=100, ends=0)).flop


@pytest.mark.parametrize("name", ["nllb-200", "whisper-tiny", "t5-small", "bart-base"])
def test_tensor_parallel_halves_share_the_work(name):
    model = models.load(name)
    for asked in (step.prefill(sequences=2, isl=64, ends=1), step.decode(sequences=2, context=80, source=64)):
        whole = total(operators(model, asked, Layout(), Numbers())).flop
        half = total(operators(model, asked, Layout(tp=2), Numbers())).flop
        fronts = sum(
            op.work.flop * op.count for op in operators(model, asked, Layout(), Numbers()) if "conv" in op.name
        )

        assert 2 * half - whole == pytest.approx(fronts)  # every device runs the front whole


def test_naive_attention_writes_its_scores():
    flash = work(models.load("bart-base"), step.decode(sequences=1, context=80, source=64))
    naive = work(models.load("bart-base"), step.decode(sequences=1, context=80, source=64), flash=False)
    # 12 heads x 4 passes x (17 own + itself, and the encoder's 64), two bytes
    assert naive.activation_bytes - flash.activation_bytes == 6 * 4 * 12 * ((17 + 1) + 64) * 2


LAYER = Layer(count=1, kind="x", passes="target", mlp=(Linear(name="up", inputs=8, outputs=8),))


def test_points_without_rows_read_no_layer():
    """An array of which some prompts are followed by no token: there the decoder's layers count 0."""
    ends = np.array([0.0, 1.0])
    slices, runs = met(
        rows_of(LAYER, (Slice(sequences=np.array([2.0, 2.0]), new=8, context=0, head_positions=ends),), 1)
    )

    assert runs.tolist() == [0, 1]
    assert slices[0].sequences.tolist() == [1.0, 2.0]
    assert met((Slice(sequences=0, new=1, context=0),)) == ((), 1)


def test_arrays_give_what_single_points_do():
    model = models.load("nllb-200")
    osl = np.array([0.0, 1.0, 5.0])
    many = work(model, step.prefill(sequences=2.0, isl=np.array([10.0, 20.0, 30.0]), ends=step.prompt_ends(model, osl)))
    single = [
        work(model, step.prefill(sequences=2.0, isl=isl, ends=step.prompt_ends(model, float(tokens)))).flop
        for isl, tokens in zip((10.0, 20.0, 30.0), osl, strict=True)
    ]

    assert many.flop.tolist() == single


def test_a_mixer_that_crosses_caches_nothing_of_the_text():
    mixer = Attention(heads=2, kv_heads=2, head_dim=4, value_dim=4, cache_elements=16, stores=False, crosses=True)

    assert mixer.reach == Reach()
