"""Answers of encoders and encoder-decoders: what there is of them, in its order, and what is refused."""

from __future__ import annotations

import pytest

import rooflight
from rooflight.errors import BadInput
from rooflight.units import to_base

ENCODERS = ("bert-base", "bge-reranker-v2-m3", "ModernBERT-base")
PAIRS = ("whisper-large-v3", "flan-t5-base", "nllb-200")


def spans(found):
    """Every span of an answer."""
    for phase in found.phases.values():
        yield phase.time_s
    for run in found.runs.values():
        yield from (run.ttft_s, run.request_s)
        if run.tpot_s is not None:
            yield run.tpot_s


@pytest.mark.parametrize("model", [*ENCODERS, *PAIRS])
@pytest.mark.parametrize("asked", [{"batch": 1}, {"batch": 16}])
def test_ceiling_roofline_expected_keep_their_order(model, asked):
    for span in spans(rooflight.analyze(model, on="a100", **asked)):
        assert span.ceiling <= span.roofline <= span.expected
        assert span.ceiling <= span.low <= span.expected <= span.high


@pytest.mark.parametrize("model", ENCODERS)
def test_an_encoder_is_prefill_alone(model):
    found = rooflight.analyze(model, on="a100", batch=8).to_dict()

    assert found["phases"]["decode"] is None
    assert found["workload"]["osl"] == 0
    assert found["workload"]["prefill_batch"] == 8  # the batch is one pass
    assert found["memory"]["kv_bytes"] == 0
    assert found["memory"]["kv_pool_bytes"] is None
    assert found["runs"]["served"]["tpot_s"] is None
    assert "/s, " in found["answer"]


def test_bert_s_prompts_are_no_longer_than_it_was_made_for():
    assert rooflight.analyze("bert-base", on="a100").workload["isl"] == 512
    assert rooflight.analyze("bert-base", on="a100", isl=128).workload["isl"] == 128


def test_the_largest_batch_is_that_whose_activations_fit():
    """128 rows of the widest layer each: 4 hidden states and twice the feed-forward's 3,072, two bytes."""
    found = rooflight.analyze("bert-base", on="a100", isl=128)
    each = 128 * (4 * 768 + 2 * 3072) * 2
    left = 0.9 * found.memory.usable_bytes - found.memory.weights_bytes - to_base(0.5, "GiB")

    assert found.memory.max_batch == left // each


@pytest.mark.parametrize(
    "asked, words",
    [
        ({"osl": 8}, "no tokens"),
        ({"cached_prefix": 8}, "prefix"),
        ({"chunk_tokens": 8}, "chunks"),
        ({"draft_tokens": 2}, "draft"),
    ],
)
def test_what_an_encoder_does_not_do_is_refused(asked, words):
    with pytest.raises(BadInput, match=words):
        rooflight.analyze("bert-base", on="a100", **asked)


def test_an_encoder_decoder_decodes_but_caches_no_prefix():
    assert rooflight.analyze("flan-t5-base", on="a100").phases["decode"].flop > 0
    with pytest.raises(BadInput, match="prefix"):
        rooflight.analyze("flan-t5-base", on="a100", cached_prefix=8)


def test_whisper_takes_a_window_of_30_seconds():
    found = rooflight.analyze("whisper-large-v3", on="a100")

    assert found.workload["isl"] == 1500
    # K and V of 32 layers of 1,280, two bytes: 1,500 positions and 256 tokens
    assert found.memory.kv_bytes == 32 * 2 * 1280 * 2 * (1500 + 256)


def test_longer_than_the_decoder_was_made_for_is_warned_of():
    assert any("448" in text for text in rooflight.analyze("whisper-tiny", on="a100", osl=500).warnings)
    assert not rooflight.analyze("whisper-tiny", on="a100").warnings


def test_intervals_are_wider_and_the_answer_says_so():
    found = rooflight.analyze("bert-base", on="a100")

    assert any("1.5 times wider" in note for note in found.assumptions)
    assert not any("KV cache" in note or "decode context" in note for note in found.assumptions)


def test_a_sweep_s_batch_is_what_an_encoder_prefills():
    points = rooflight.sweep("bert-base", on="a100", axes={"batch": [1, 8, 32]}).columns()
    single = [rooflight.analyze("bert-base", on="a100", batch=n).phases["prefill"].time_s for n in (1, 8, 32)]

    assert points["time_s.ceiling"].tolist() == [span.ceiling for span in single]
    assert points["time_s.expected"].tolist() == pytest.approx([span.expected for span in single])
