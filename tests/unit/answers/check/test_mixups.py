"""The usual mistakes: each makes its own number possible, and is named."""

from __future__ import annotations

import pytest

from rooflight.answers.check.causes import spared
from rooflight.answers.check.doubts import doubts
from rooflight.answers.check.mixups import mix_ups, too_fast
from rooflight.catalog.config import model_from_dict
from rooflight.library.questions import make_scenario
from rooflight.serve.metrics import metric_span
from rooflight.values.measurement import METRICS, Measurement
from rooflight.words.verdicts import claimed
from unit.models import llama_3_8b

LLAMA = {
    "model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
    "num_hidden_layers": 32, "intermediate_size": 14336, "vocab_size": 128256, "torch_dtype": "bfloat16",
}  # fmt: skip


def readings(metric, phase, over, *, on="h100-sxm", **fields) -> dict:
    """Kinds and values for a value so many times as fast as its ceiling."""
    sc = make_scenario(llama_3_8b(), on, **fields)
    row = Measurement(model="m", accelerator=on, metric=metric, value=1.0, phase=phase)
    ceiling = metric_span(sc, row).ceiling
    value = ceiling / over if METRICS[metric].time else ceiling * over
    measured = Measurement(model="m", accelerator=on, metric=metric, value=value, phase=phase)
    return {found.kind: found.value for found in mix_ups(too_fast(sc, measured, over))}


REQUEST = {"batch": 8, "prefill_batch": 8, "isl": 1024, "osl": 256}


def test_input_tokens_counted_as_output():
    """1,024 + 256 tokens for 256: a factor of 5."""
    assert "total tokens" in readings("output_tok_s", "e2e_offline", 4.9, **REQUEST)
    assert "total tokens" not in readings("output_tok_s", "e2e_offline", 5.1, **REQUEST)
    assert "total tokens" not in readings("total_tok_s", "e2e_offline", 1.5, **REQUEST)


def test_a_total_given_for_each_device_or_each_user():
    found = readings("output_tok_s_per_gpu", "decode", 3.9, tp=4, batch=8)
    assert found["total for per-GPU"] == 4
    users = readings("output_tok_s_per_user", "decode", 7.9, batch=8)
    assert users["total for per-user"] == 8


def test_more_devices_than_said():
    found = readings("output_tok_s_per_user", "decode", 1.9)
    assert found["more devices"] == 2
    assert readings("tpot_ms", "decode", 3.5)["more devices"] == 4


def test_a_larger_batch_for_a_rate_a_smaller_one_for_a_time():
    """Small batches share the weights: eight sequences yield nearly eight times the tokens."""
    assert readings("output_tok_s", "decode", 6.5)["another batch"] == 8
    large = {"batch": 64, "prefill_batch": 64, "isl": 2048, "osl": 2048}
    assert readings("e2e_latency_ms", "e2e_offline", 1.9, **large)["another batch"] in (32, 16)
    assert readings("tpot_ms", "decode", 7.0)["several sequences"] == 8


def test_speculative_decoding_up_to_four_accepted_tokens():
    assert readings("tpot_ms", "decode", 2.9)["speculative decoding"] == 2
    assert "speculative decoding" not in readings("tpot_ms", "decode", 5.1)
    assert "speculative decoding" in readings("output_tok_s", "e2e_offline", 3.0, isl=64, osl=512)
    assert "speculative decoding" not in readings("ttft_ms", "prefill", 1.5)


def test_a_narrower_format_of_weights_or_cache():
    assert readings("tpot_ms", "decode", 1.5)["number format"] == ("fp8", None)
    assert readings("tpot_ms", "decode", 2.5)["number format"] == ("int4-g128", None)  # no fp4 products on Hopper
    assert readings("tpot_ms", "decode", 2.5, on="b200")["number format"] == ("nvfp4", None)
    assert "number format" not in readings("tpot_ms", "decode", 1.5, weights="int4-g128")
    cached = readings("tpot_ms", "decode", 1.5, weights="int4-g128", batch=64, context=8192)
    assert cached["number format"] == (None, "fp8")


def test_another_card_of_the_family_the_slowest_that_could():
    """An A100 of 40 GB has 1.555 TB/s, the SXM one of 80 GB 2.039."""
    assert readings("tpot_ms", "decode", 1.2, on="a100-sxm4-40gb", weights="int4")["another card"].startswith("a100")
    assert "another card" not in readings("tpot_ms", "decode", 20, on="a100-sxm4-40gb")


def test_a_prompt_that_was_cached():
    found = readings("ttft_ms", "prefill", 1.8, isl=4096)
    assert found["cached prefix"] == (2047, 4096)
    assert "cached prefix" not in readings("tpot_ms", "decode", 1.8)


def test_seconds_for_milliseconds():
    assert readings("e2e_latency_ms", "e2e_offline", 300)["unit"] is None
    assert "unit" not in readings("e2e_latency_ms", "e2e_offline", 2)  # 500 times slower than its ceiling: no
    assert "unit" not in readings("output_tok_s", "decode", 300)


def test_generation_that_stopped_early():
    found = readings("e2e_latency_ms", "e2e_offline", 3.0, isl=64, osl=1024)
    assert found["cut short"] == (256, 1024)


def test_the_order_is_that_of_how_usual_they_are():
    kinds = list(readings("output_tok_s", "e2e_offline", 3.0, isl=1024, osl=256, batch=4, prefill_batch=4))
    usual = ["total tokens", "more devices", "another batch", "speculative decoding", "number format", "another card"]
    assert [kind for kind in usual if kind in kinds] == [kind for kind in kinds if kind in usual]
    assert kinds[0] == "total tokens"


def mixed_file():
    """Llama 3 8B with queries, keys and values in two formats, as GGUF and MLX files have them."""
    values = {f"model.layers.{layer}.self_attn.v_proj": {"bits": 8, "group_size": 64} for layer in range(32)}
    data = {**LLAMA, "quantization": {"bits": 4, "group_size": 64, **values}}
    return model_from_dict(data, id="mixed", origin="config.json")


@pytest.mark.parametrize("over", [1.5, 2.5, 5.0])
def test_a_matrix_in_several_formats_is_no_format_of_a_question(over):
    """A blend's name is the plan's own: feeding it back as --weights would be refused."""
    sc = make_scenario(mixed_file(), "h100-sxm")
    assert " + " in sc.model.layers[0].projections[0].format
    row = Measurement(model="m", accelerator="h100-sxm", metric="tpot_ms", value=1.0, phase="decode")
    value = metric_span(sc, row).ceiling / over
    measured = Measurement(model="m", accelerator="h100-sxm", metric="tpot_ms", value=value, phase="decode")

    found = [one.kind for one in mix_ups(too_fast(sc, measured, over))]
    assert "several sequences" in found
    list(doubts(too_fast(sc, measured, over), gpus_open=True))
    spared(sc, measured)


@pytest.mark.parametrize("tokens_per_s", [50, 300, 700, 5000])
def test_a_claim_about_a_mixed_file_is_judged_whatever_it_is(tokens_per_s):
    sc = make_scenario(mixed_file(), "h100-sxm")

    assert claimed(sc, {"output_tok_s": tokens_per_s}, {"batch"}).rows[0].reason
