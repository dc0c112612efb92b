"""Images of a question: tokens in prompt, context, cache and runs, the encoder's work in prefill alone."""

from __future__ import annotations

import pytest

import rooflight
from rooflight.catalog.config import model_from_dict
from rooflight.errors import BadInput

QWEN = "Qwen/Qwen2.5-VL-7B-Instruct"
IMAGE = 37 * 37  # tokens of 1024 x 1024: 1024 / 28 = 36.57


def analyzed(**fields):
    return rooflight.analyze(QWEN, on="h100-sxm", **fields).to_dict()


def encoding(phase):
    return [one for one in phase["operators"] if one["name"].startswith("vision")]


def test_tokens_of_images_are_in_prompt_context_and_cache():
    """As a prompt that is longer by them: one with two images, 1,024 + 2 x 1,369 tokens."""
    seen, text = analyzed(images="2x1024x1024"), analyzed(isl=1024 + 2 * IMAGE)

    assert (seen["workload"]["isl"], seen["workload"]["media_tokens"]) == (1024, 2 * IMAGE)
    assert seen["workload"]["context"] == text["workload"]["context"] == 1024 + 2 * IMAGE + 256 / 2 - 1
    assert seen["memory"]["kv_bytes"] == text["memory"]["kv_bytes"]
    assert seen["memory"]["max_batch"] == text["memory"]["max_batch"]
    assert seen["phases"]["decode"]["flop"] == text["phases"]["decode"]["flop"]


def test_prefill_is_that_of_the_tokens_and_the_encoder():
    seen, text = (one["phases"]["prefill"] for one in (analyzed(images="1024x1024"), analyzed(isl=1024 + IMAGE)))
    work = encoding(seen)
    n, patch, d, wide = 74 * 74, 2 * 3 * 14 * 14, 1280, 3420
    windows = (9 * 8**2 + 2**2) ** 2  # of 8 patches a side, nine whole ones and one of 2
    layer = 2 * n * (4 * d * d + 3 * d * wide)
    merger = 2 * IMAGE * (4 * d * 4 * d + 4 * d * 3584)
    by_hand = 2 * n * patch * d + 32 * layer + 4 * d * (4 * n * n + 28 * windows) + merger

    assert sum(one["flop"] for one in work) == pytest.approx(by_hand, rel=1e-12)
    assert seen["flop"] == pytest.approx(text["flop"] + by_hand, rel=1e-12)
    assert not encoding(analyzed(images="1024x1024")["phases"]["decode"])
    assert seen["time_s"]["ceiling"] <= seen["time_s"]["roofline"] <= seen["time_s"]["expected"]
    assert seen["time_s"]["high"] / seen["time_s"]["expected"] > text["time_s"]["high"] / text["time_s"]["expected"]


def test_every_prompt_of_the_batch_is_encoded():
    one, four = (analyzed(images="640x480", prefill_batch=many)["phases"]["prefill"] for many in (1, 4))

    assert sum(op["flop"] for op in encoding(four)) == 4 * sum(op["flop"] for op in encoding(one))


def test_a_first_token_waits_for_the_encoder():
    seen, text = analyzed(images="1024x1024"), analyzed(isl=1024 + IMAGE)
    for run in ("alone", "batch", "served"):
        assert seen["runs"][run]["ttft_s"]["ceiling"] > text["runs"][run]["ttft_s"]["ceiling"]
        assert seen["runs"][run]["requests_per_s"]["ceiling"] < text["runs"][run]["requests_per_s"]["ceiling"]


def test_a_chunk_encodes_its_share():
    mixed = analyzed(images="1024x1024", chunk_tokens=1024 + IMAGE)["phases"]["mixed"]
    half = analyzed(images="1024x1024", isl=1025, chunk_tokens=(1025 + IMAGE) // 2)["phases"]["mixed"]
    whole = sum(op["flop"] for op in encoding(mixed))

    assert sum(op["flop"] for op in encoding(half)) == pytest.approx(whole / 2, rel=1e-9)


def test_sweep_and_compare_say_what_analyze_says():
    fields = {"images": "1024x1024", "isl": 512}
    one = rooflight.analyze(QWEN, on="h100-sxm", **fields).phases["prefill"]
    swept = rooflight.sweep(QWEN, on="h100-sxm", axes={"isl": [256, 512]}, phase="prefill", images="1024x1024")
    columns = swept.columns()

    assert list(columns["isl"]) == [256, 512]
    assert columns["time_s.expected"][1] == pytest.approx(one.time_s.expected, rel=1e-12)
    alone = rooflight.analyze(QWEN, on="h100-sxm", **fields).to_dict()
    rows = rooflight.compare(QWEN, on=["h100-sxm", "h200-sxm"], batch=1, **fields).to_dict()["compared"]
    first = next(row for row in rows if row["accelerator"] == "h100-sxm")
    assert first["run"]["ttft_s"] == alone["runs"]["alone"]["ttft_s"]


@pytest.mark.parametrize(
    ("model", "fields", "said"),
    [
        ("llama-3.1-8b", {"images": "1024x1024"}, "has no vision tower"),
        ("llama-3.1-8b", {"audio_seconds": 30}, "has no audio tower"),
        ("kimi-k2.5", {"images": "1024x1024"}, "is not known here"),
        (QWEN, {"images": "1024"}, "no sizes"),
        (QWEN, {"images": "0x10"}, "no sizes"),
        (QWEN, {"audio_seconds": -1}, "out of range"),
    ],
)
def test_a_model_without_a_rule_refuses(model, fields, said):
    with pytest.raises(BadInput, match=said):
        rooflight.analyze(model, on="8xh200-sxm" if "kimi" in model else "h100-sxm", **fields)


def test_sound_is_encoded_as_whisper_does():
    """Qwen2-Audio: 1,500 positions of a window of 30 s, two convolutions, 32 layers of 1280; 750 tokens."""
    config = {
        "model_type": "qwen2_audio", "torch_dtype": "bfloat16",
        "audio_config": {
            "d_model": 1280, "encoder_attention_heads": 20, "encoder_ffn_dim": 5120, "encoder_layers": 32,
            "num_mel_bins": 128,
        },
        "text_config": {
            "model_type": "qwen2", "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 2,
            "num_attention_heads": 32, "num_key_value_heads": 32, "vocab_size": 1000,
        },
    }  # fmt: skip
    model = model_from_dict(config, id="test", origin="test.json")
    found = rooflight.analyze(model, on="h100-sxm", audio_seconds=30).to_dict()
    n, d, wide = 1500, 1280, 5120
    by_hand = 2 * 3000 * 3 * 128 * d + 2 * n * 3 * d * d + 32 * (2 * n * (4 * d * d + 2 * d * wide) + 4 * n * n * d)
    work = sum(op["flop"] for op in found["phases"]["prefill"]["operators"] if op["name"].startswith("audio"))

    assert found["workload"]["media_tokens"] == 750
    assert work == pytest.approx(by_hand + 2 * 750 * d * 4096, rel=1e-12)
    assert not any("not run" in said for said in found["assumptions"])


WHISPER = "openai/whisper-large-v3"


@pytest.mark.parametrize("seconds", [0.1, 5, 30])
def test_a_window_of_whisper_is_padded_to_thirty_seconds(seconds):
    """3,000 frames, of which a convolution with a stride of 2 makes 1,500 positions: what is asked without seconds."""
    heard = rooflight.analyze(WHISPER, on="l4", audio_seconds=seconds).to_dict()
    alone = rooflight.analyze(WHISPER, on="l4").to_dict()

    assert heard["workload"]["isl"] == 1500
    assert heard["phases"]["prefill"]["flop"] == alone["phases"]["prefill"]["flop"]
    assert heard["memory"]["kv_bytes"] == alone["memory"]["kv_bytes"]


def test_longer_sound_is_several_windows_of_whisper():
    with pytest.raises(BadInput) as caught:
        rooflight.analyze(WHISPER, on="l4", audio_seconds=61)

    assert caught.value.got == "61 s, 3 windows"
    assert "batch" in str(caught.value.try_this)


@pytest.mark.parametrize("isl", [4, 3000])
def test_a_window_of_whisper_has_no_other_length_beside_its_seconds(isl):
    with pytest.raises(BadInput, match=r"1,500 positions"):
        rooflight.analyze(WHISPER, on="l4", audio_seconds=30, isl=isl)


@pytest.mark.parametrize("images", ["2001x10", "65536x1", "1024x1024x3", "64x64,1x201"])
def test_an_image_that_the_processor_refuses_is_refused(images):
    """smart_resize raises where the longer side is over 200 times the shorter one."""
    with pytest.raises(BadInput, match="over 200 times"):
        rooflight.analyze(QWEN, on="h100-sxm", images=images)


def test_an_image_two_hundred_times_as_long_as_wide_is_taken():
    """2000 x 10: 10 rounds to 28, 2000 to 71.43 x 28, 71 tokens in one row."""
    assert rooflight.analyze(QWEN, on="h100-sxm", images="2000x10").to_dict()["workload"]["media_tokens"] == 71
