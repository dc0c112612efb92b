"""Encoder-decoders, counted on paper: parameters, and what a decode step reads of them."""

from __future__ import annotations

import pytest

from rooflight.catalog import models
from rooflight.catalog.config import model_from_dict
from rooflight.errors import BadConfig
from rooflight.work import count


def square(hidden: int) -> int:
    return hidden * hidden + hidden


def feed(hidden: int, width: int) -> int:
    """Two matrices with biases."""
    return 2 * hidden * width + width + hidden


def bart(hidden: int, width: int, layers: int) -> int:
    """Encoder and decoder layers with biases: one attention and two norms, two attentions and three."""
    encoder = 4 * square(hidden) + feed(hidden, width) + 2 * 2 * hidden
    return layers * (2 * encoder + 4 * square(hidden) + 2 * hidden)


def whisper(hidden: int, layers: int, decoder: int, mels: int, words: int) -> int:
    """Two convolutions over three frames; layers as BART's, keys without bias; both tables of positions; last norms."""
    encoder = 4 * square(hidden) - hidden + feed(hidden, 4 * hidden) + 2 * 2 * hidden
    cross = 4 * square(hidden) - hidden + 2 * hidden
    fronts = 3 * mels * hidden + hidden + 3 * hidden * hidden + hidden
    tables = (1500 + 448 + words) * hidden
    return fronts + layers * encoder + decoder * (encoder + cross) + tables + 2 * 2 * hidden


def t5(hidden: int, inner: int, width: int, layers: int, heads: int, *, gated: bool, tables: int, words: int) -> int:
    """No biases; norms of one weight: two an encoder layer, three a decoder layer, one behind each side."""
    attention, feeds = 4 * hidden * inner, (3 if gated else 2) * hidden * width
    return words * hidden * tables + layers * (3 * attention + 2 * feeds + 5 * hidden) + 2 * hidden + 2 * 32 * heads


def test_whisper_large_v3():
    """All that files hold, the encoder's computed positions too; the head is the table of words."""
    assert count.parameters(models.load("whisper-large-v3")) == whisper(1280, 32, 32, 128, 51866) == 1_543_490_560


WRITTEN_OUT = {
    "whisper-tiny": (whisper(384, 4, 4, 80, 51865), 37_760_640),
    "whisper-small": (whisper(768, 12, 12, 80, 51865), 241_734_912),
    "whisper-large-v3-turbo": (whisper(1280, 32, 4, 128, 51866), 808_878_080),
    "t5-small": (t5(512, 512, 2048, 6, 8, gated=False, tables=1, words=32128), 60_506_624),
    "t5-large": (t5(1024, 1024, 4096, 24, 16, gated=False, tables=1, words=32128), 737_668_096),
    # the inner width of small ones is not the hidden size: 6 heads of 64
    "flan-t5-small": (t5(512, 384, 1024, 8, 6, gated=True, tables=2, words=32128), 76_961_152),
    "flan-t5-base": (t5(768, 768, 2048, 12, 12, gated=True, tables=2, words=32128), 247_577_856),
    "flan-t5-xxl": (t5(4096, 4096, 10240, 24, 64, gated=True, tables=2, words=32128), 11_135_332_352),
    "mt5-base": (t5(768, 768, 2048, 12, 12, gated=True, tables=2, words=250112), 582_401_280),
    # positions with two rows unused on both sides, and a norm behind each table
    "bart-base": (bart(768, 3072, 6) + (50265 + 2 * 1026) * 768 + 2 * 2 * 768, 139_420_416),
    "bart-large-cnn": (bart(1024, 4096, 12) + (50264 + 2 * 1026) * 1024 + 2 * 2 * 1024, 406_290_432),
    # positions are computed; a norm behind each side
    "nllb-200": (bart(1024, 4096, 12) + 256206 * 1024 + 2 * 2 * 1024, 615_073_792),
}


@pytest.mark.parametrize("name", WRITTEN_OUT)
def test_parameters_equal_the_arithmetic_and_those_published(name):
    arithmetic, published = WRITTEN_OUT[name]

    assert count.parameters(models.load(name)) == arithmetic == published


MARIAN = {
    "model_type": "marian", "architectures": ["MarianMTModel"], "is_encoder_decoder": True, "d_model": 512,
    "encoder_layers": 6, "decoder_layers": 6, "encoder_attention_heads": 8, "decoder_attention_heads": 8,
    "encoder_ffn_dim": 2048, "decoder_ffn_dim": 2048, "max_position_embeddings": 512, "vocab_size": 58101,
}  # fmt: skip


def read(**changes):
    data = {key: value for key, value in {**MARIAN, **changes}.items() if value is not None}
    return model_from_dict(data, id="test", origin="config.json")


@pytest.mark.parametrize(
    "model_type, tables, norms", [("marian", 1024, 0), ("pegasus", 1024, 4), ("mbart", 1028, 8), ("m2m_100", 0, 4)]
)
def test_what_sets_bart_s_relatives_apart(model_type, tables, norms):
    """Rows of both position tables, and norm vectors outside the layers."""
    expected = bart(512, 2048, 6) + (58101 + tables) * 512 + norms * 512

    assert count.parameters(read(model_type=model_type)) == expected


def test_umt5_has_a_table_of_relative_positions_in_each_layer():
    small = {"d_model": 64, "d_kv": 8, "num_heads": 4, "d_ff": 128, "num_layers": 3, "vocab_size": 100}
    plain, many = read(model_type="t5", **small), read(model_type="umt5", **small)

    assert count.parameters(many) - count.parameters(plain) == (6 - 2) * 32 * 4


def test_a_decode_step_reads_the_decoder_alone():
    """NLLB: of a decoder layer all but what makes keys and values of the encoder's output; the head is the table."""
    model = models.load("nllb-200")
    hidden, width, layers = 1024, 4096, 12
    layer = 8 * square(hidden) - 2 * square(hidden) + feed(hidden, width) + 3 * 2 * hidden
    streamed = layers * layer + 2 * 2 * hidden + 256206 * hidden

    assert count.streamed_weight_bytes(model) == 4 * streamed  # fp32


def test_a_token_of_either_side_takes_as_much_cache():
    """K and V of 12 layers, 16 heads of 64, two bytes: the decoder's own, and the encoder's in cross-attention."""
    assert count.kv_bytes_per_token(models.load("nllb-200")) == 12 * 2 * 1024 * 2


def test_the_sides_have_lengths_of_their_own():
    whisper_tiny, bart_base, t5_base = (models.load(name) for name in ("whisper-tiny", "bart-base", "t5-base"))

    assert (whisper_tiny.max_source, whisper_tiny.max_context, whisper_tiny.start_tokens) == (1500, 448, 4)
    assert (bart_base.max_source, bart_base.max_context, bart_base.start_tokens) == (1024, 1024, 1)
    assert (t5_base.max_source, t5_base.max_context) == (None, None)


def test_odd_heads_and_routed_experts_are_refused():
    with pytest.raises(BadConfig, match="512 % encoder_attention_heads 7"):
        read(encoder_attention_heads=7)
    with pytest.raises(BadConfig, match="routed experts"):
        read(model_type="m2m_100", num_experts=128, encoder_sparse_step=4)
