"""Tokens of images and sounds equal their processors', and encoders do the arithmetic of their matrices."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflight.catalog.config import model_from_dict
from rooflight.values.model import Encoding, Processor, View
from rooflight.work import media
from rooflight.work.encoders import attended, encoder_rows, patches
from rooflight.work.layout import Layout
from rooflight.work.numbers import Numbers
from rooflight.work.step import total

QWEN25 = Processor(kind="merged-patches", patch=14, merge=2, least_pixels=56 * 56, most_pixels=16384 * 28 * 28)
QWEN3 = Processor(kind="merged-patches", patch=16, merge=2, least_pixels=256 * 256, most_pixels=4096 * 4096)
LLAMA4 = Processor(kind="tiled", patch=14, merge=2, image=336, crops=16)
INTERNVL = Processor(kind="dynamic-tiles", patch=14, merge=2, image=448, crops=12)
MISTRAL = Processor(kind="broken-rows", patch=14, merge=2, image=1540)
PIXTRAL = Processor(kind="broken-rows", patch=16, merge=1, image=1024)
NEXT = Processor(
    kind="any-resolution", patch=14, image=336,
    sizes=((336, 672), (672, 336), (672, 672), (1008, 336), (336, 1008)),
)  # fmt: skip
SMOLVLM = Processor(kind="split-images", patch=16, merge=4, image=512, most_pixels=2048)
PHI3 = Processor(kind="high-definition", patch=14, merge=2, image=336, crops=16)
GEMMA3 = Processor(kind="fixed", patch=14, image=896, tokens=256)
CLIP336 = Processor(kind="fixed", patch=14, image=336)


@pytest.mark.parametrize(
    ("height", "width", "how", "tokens"),
    [
        # 1024 / 28 = 36.57, so 37 tokens a side
        (1024, 1024, QWEN25, 37 * 37),
        # 480 / 28 = 17.14, 640 / 28 = 22.86
        (480, 640, QWEN25, 17 * 23),
        # 8 x 8 pixels are 28 x 28, enlarged by sqrt(3136 / 64) = 7 to 56 x 56
        (8, 8, QWEN25, 2 * 2),
        # shrunk by sqrt(32,000,000 / 12,845,056) = 1.578: 8000 / 1.578 / 28 = 181.02, 4000 / 1.578 / 28 = 90.5
        (8000, 4000, QWEN25, 181 * 90),
        # 1024 / 32
        (1024, 1024, QWEN3, 32 * 32),
        # whatever the image is; pan and scan is off
        (1024, 1024, GEMMA3, 256), (100, 3000, GEMMA3, 256),
        # (336 / 14)^2
        (1024, 1024, CLIP336, 24 * 24),
        # 4 x 4 tiles of 336 (3 x 3 would shrink it), one of all, 12 x 12 = 144 tokens each; 3 separators in
        # each of 4 rows, one behind each; start, image, end
        (1024, 1024, LLAMA4, 17 * 144 + 4 * 3 + 4 + 3),
        # one tile: no separators
        (300, 300, LLAMA4, 144 + 3),
        # 1 x 2 tiles: one separator in the row, one behind it
        (336, 672, LLAMA4, 3 * 144 + 1 + 1 + 3),
        # 3 x 3 tiles: of the square grids the largest that the image fills half of; 4 x 4 are more than 12
        (1024, 1024, INTERNVL, 10 * 256),
        # 448 x 448 fill no half of 2 x 2 tiles: 200,704 > 0.5 x 802,816 is false; one tile and no thumbnail
        (448, 448, INTERNVL, 256),
        # 1540 is the longest side; 1024 / 28 -> 37 rows of 37, each with a break
        (1024, 1024, MISTRAL, 37 * 38),
        (1024, 1024, PIXTRAL, 64 * 65),
        # shrunk to 512 x 1024
        (1024, 2048, PIXTRAL, 32 * 65),
        # the whole and 2 x 2 crops without padding: 24^2 + 48 x 48, a separator behind each row
        (1024, 1024, NEXT, 576 + 48 * 48 + 48),
        # 480 x 640 on 672 x 672: 504 of 672 pixels filled, so 48 - 2 x 6 = 36 rows of 48
        (480, 640, NEXT, 576 + 36 * 48 + 36),
        # 2048 x 2048 in 4 x 4 crops of 8 x 8 tokens and two marks each, 4 line ends and one, the whole with 3 marks
        (1024, 1024, SMOLVLM, 16 * (64 + 2) + 4 + 1 + 64 + 3),
        # 4 x 4 crops and the whole of 144, a separator between, one for each row of 12 x 4 and 12
        (1024, 1024, PHI3, 17 * 144 + 1 + (4 + 1) * 12),
    ],
)  # fmt: skip
def test_tokens_of_an_image_equal_the_processor(height, width, how, tokens):
    assert media.IMAGES[how.kind](height, width, how).tokens == tokens


@pytest.mark.parametrize(
    ("kind", "seconds", "merge", "tokens"),
    [
        # 3,000 frames -> 1,500 -> (1500 - 2) // 2 + 1
        ("qwen2-audio", 30, 1, 750),
        ("qwen2-audio", 90, 1, 750),  # cut to one window
        ("qwen2-audio", 10, 1, 250),
        # 1,500 positions of a window, four a token; 31 s begin a second one
        ("windows", 30, 4, 375),
        ("windows", 31, 4, 750),
        # 3,000 / 16 = 187.5
        ("own-length", 30, 8, 188),
    ],
)
def test_tokens_of_a_sound_equal_the_processor(kind, seconds, merge, tokens):
    assert media.SOUNDS[kind](seconds, Processor(kind=kind, merge=merge)).tokens == tokens


def test_whisper_has_1500_positions_a_window():
    """30 s at 100 frames a second, two frames a position; a window that is begun is padded."""
    assert [media.whisper_positions(seconds) for seconds in (1, 30, 31, 60)] == [1500, 1500, 3000, 3000]


@given(
    height=st.integers(1, 1 << 16), width=st.integers(1, 1 << 16),
    how=st.sampled_from([QWEN25, QWEN3, LLAMA4, INTERNVL, MISTRAL, PIXTRAL, NEXT, SMOLVLM, PHI3, GEMMA3]),
)  # fmt: skip
def test_every_image_has_tokens_and_patches(height, width, how):
    view = media.IMAGES[how.kind](height, width, how)

    assert view.tokens > 0
    assert patches((view,)) >= view.projected / max(view.crops, 1) > 0


@given(st.floats(1e-6, 1e6), st.sampled_from(list(media.SOUNDS)))
def test_every_sound_has_tokens(seconds, kind):
    assert media.SOUNDS[kind](seconds, Processor(kind=kind, merge=4, image=200)).tokens > 0


def test_windows_at_the_edges_are_smaller():
    """74 x 74 patches in windows of 8: nine whole ones and one of 2 a side."""
    view = View(tokens=1, crops=1, rows=74, columns=74, projected=1)
    sides = 9 * [8] + [2]

    assert attended((view,), 0, 8) == sum((one * other) ** 2 for one in sides for other in sides)
    assert attended((view,), 0, 0) == (74 * 74) ** 2


def encoding_of(config, view):
    tower = model_from_dict(config, id="test", origin="test.json").towers[0]
    return tower, Encoding(name=tower.name, format=tower.format, encoder=tower.encoder, views=(view,))


LLAMA = {
    "model_type": "llama", "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 2,
    "num_attention_heads": 32, "vocab_size": 32000,
}  # fmt: skip


def work_of(one, prompts=1.0, tp=1):
    rows = encoder_rows((one,), prompts, Layout(tp=tp), Numbers())
    return total(tuple(op for _, _, op in rows))


def test_flop_of_clip_l_at_336_by_hand():
    """24 layers of 1024 over 24 x 24 patches and a class vector; two matrices behind, on the patches."""
    config = {"model_type": "llava", "vision_feature_layer": -1, "text_config": LLAMA, "vision_config": {
        "model_type": "clip_vision_model", "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24,
        "num_attention_heads": 16, "image_size": 336, "patch_size": 14,
    }}  # fmt: skip
    view = media.IMAGES["fixed"](480, 640, CLIP336)
    n, patch, d, wide = 24 * 24 + 1, 3 * 14 * 14, 1024, 4096
    layer = 2 * n * (4 * d * d + 2 * d * wide) + 4 * n * n * d
    _, one = encoding_of(config, view)

    by_hand = 2 * 576 * patch * d + 24 * layer + 2 * 576 * (1024 * 4096 + 4096 * 4096)
    assert work_of(one).flop == pytest.approx(by_hand, rel=1e-12)
    assert by_hand == 406_077_407_232


def test_layers_behind_the_one_that_is_taken_are_not_run():
    """LLaVA takes the last but one: 23 of 24."""
    config = {"model_type": "llava", "text_config": LLAMA, "vision_config": {"model_type": "clip_vision_model"}}
    tower, _ = encoding_of(config, media.IMAGES["fixed"](1, 1, CLIP336))

    assert tower.encoder.layers[0].count == 23


def test_flop_of_siglip_so400m_by_hand():
    """Gemma 3's: 27 layers of 1152 with 4304 over 64 x 64 patches of 896 pixels; one matrix on 256 tokens."""
    config = {
        "model_type": "gemma3", "mm_tokens_per_image": 256,
        "text_config": {
            "model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 2,
            "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256, "vocab_size": 1000,
        },
        "vision_config": {
            "model_type": "siglip_vision_model", "hidden_size": 1152, "intermediate_size": 4304,
            "num_hidden_layers": 27, "num_attention_heads": 16, "image_size": 896, "patch_size": 14,
            "vision_use_head": False,
        },
    }  # fmt: skip
    n, patch, d, wide = 64 * 64, 3 * 14 * 14, 1152, 4304
    layer = 2 * n * (4 * d * d + 2 * d * wide) + 4 * n * n * d
    _, one = encoding_of(config, media.IMAGES["fixed"](1, 1, GEMMA3))

    by_hand = 2 * n * patch * d + 27 * layer + 2 * 256 * 1152 * 2560
    assert work_of(one).flop == pytest.approx(by_hand, rel=1e-12)
    # its matrices once, with their biases, in 2 bytes
    matrices = patch * d + 27 * (4 * d * d + 2 * d * wide + 5 * d + wide) + 1152 * 2560
    assert work_of(one).weight_bytes == pytest.approx(2 * matrices, rel=2e-5)
    # two prompts: twice the arithmetic, the weights once; two ranks: half of each
    assert work_of(one, 2.0).flop == 2 * work_of(one).flop
    assert work_of(one, 2.0).weight_bytes == work_of(one).weight_bytes
    assert work_of(one, tp=2).flop == work_of(one).flop / 2
    # of ten passes that hold a prompt between them each has a tenth
    assert work_of(one, 0.1).weight_bytes == pytest.approx(work_of(one).weight_bytes / 10)


def test_no_prompt_is_no_work():
    _, one = encoding_of(
        {"model_type": "llava", "text_config": LLAMA, "vision_config": {"model_type": "clip_vision_model"}},
        media.IMAGES["fixed"](1, 1, CLIP336),
    )
    assert work_of(one, 0).flop == 0
