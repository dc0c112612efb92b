"""Whatever is thrown at a config or an option: an answer or one of our errors, never another exception."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rooflight
from effort import examples
from rooflight.catalog.config import model_from_dict, read_model
from rooflight.errors import RooflightError

LLAMA = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "intermediate_size": 128,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 1000,
    "max_position_embeddings": 2048, "tie_word_embeddings": False, "torch_dtype": "bfloat16",
}  # fmt: skip
DEEPSEEK = {
    **LLAMA, "model_type": "deepseek_v3", "architectures": ["DeepseekV3ForCausalLM"], "q_lora_rank": 32,
    "kv_lora_rank": 16, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8, "v_head_dim": 16, "n_routed_experts": 8,
    "num_experts_per_tok": 2, "moe_intermediate_size": 32, "n_shared_experts": 1, "first_k_dense_replace": 1,
    "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]},
}  # fmt: skip
HYBRID = {
    **LLAMA, "model_type": "qwen3_next", "architectures": ["Qwen3NextForCausalLM"], "num_experts": 8, "head_dim": 16,
    "num_experts_per_tok": 2, "moe_intermediate_size": 32, "shared_expert_intermediate_size": 32,
    "linear_num_value_heads": 4, "linear_num_key_heads": 2, "linear_key_head_dim": 16, "linear_value_head_dim": 16,
}  # fmt: skip
GEMMA = {
    **LLAMA, "model_type": "gemma3_text", "architectures": ["Gemma3ForCausalLM"], "head_dim": 16, "sliding_window": 64,
    "layer_types": ["sliding_attention", "full_attention"],
}  # fmt: skip
ROOTS = (LLAMA, DEEPSEEK, HYBRID, GEMMA)

odd = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.sampled_from([0, -1, 1, 3, 7, 2**31, 10**30]),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["4096", "false", "auto", "NaN", "../../etc/passwd"]),
    st.lists(st.one_of(st.integers(-5, 5), st.text(max_size=3)), max_size=4),
    st.dictionaries(st.text(max_size=5), st.integers(), max_size=3),
)


@given(root=st.sampled_from(ROOTS), data=st.data())
@settings(max_examples=examples(600), deadline=None)
def test_any_config_is_read_or_refused(root, data):
    """Keys dropped or given any value, one to three at a time."""
    config = dict(root)
    for key in data.draw(st.lists(st.sampled_from(sorted(config)), min_size=1, max_size=3, unique=True)):
        if data.draw(st.booleans()):
            del config[key]
        else:
            config[key] = data.draw(odd)
    try:
        model = model_from_dict(config, id="fuzzed", origin="fuzzed")
        answer = rooflight.analyze(model, on="h100", ignore_capacity=True)
    except RooflightError as refused:
        assert refused.what
    else:
        assert answer.model.parameters > 0
        assert math.isfinite(answer.phases["decode"].time_s.ceiling)
        json.loads(json.dumps(answer.to_dict(), allow_nan=False))


@given(content=st.one_of(st.binary(max_size=300), st.text(max_size=200).map(str.encode)))
@settings(max_examples=examples(200), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_file_is_read_or_refused(content, tmp_path):
    path = tmp_path / "config.json"
    path.write_bytes(content)

    with pytest.raises(RooflightError) as refused:
        read_model(path)

    assert str(path) in str(refused.value)


@given(cut=st.integers(0, 600))
@settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_truncated_config_says_where_it_ends(cut, tmp_path):
    text = json.dumps(DEEPSEEK, indent=1)
    path = tmp_path / "config.json"
    path.write_text(text[: min(cut, len(text) - 1)])

    with pytest.raises(RooflightError) as refused:
        read_model(path)

    assert str(path) in str(refused.value)


WORKLOAD_FIELDS = ("batch", "prefill_batch", "isl", "osl", "context", "cached_prefix", "draft_tokens", "chunk_tokens")
LAYOUT_FIELDS = ("tp", "pp", "ep", "dp")
FORMAT_FIELDS = ("weights", "activations", "compute", "kv_cache", "attention")


@given(
    fields=st.dictionaries(
        st.sampled_from((*WORKLOAD_FIELDS, *LAYOUT_FIELDS, "gpu_memory_utilization")),
        st.one_of(st.integers(-3, 70), st.sampled_from([0, 2**40, 2**41, 1.5, math.nan, math.inf, True, "8", None])),
        max_size=4,
    ),
    formats=st.dictionaries(
        st.sampled_from(FORMAT_FIELDS),
        st.one_of(
            st.sampled_from(["fp8", "bf16", "int4", "nvfp4", "q4_k", "flash", "naive", "auto"]), st.text(max_size=6)
        ),
        max_size=2,
    ),
    on=st.sampled_from(["h100", "8xh100-sxm", "4xt4", "2xtpu-v5e", "mi250x", "apple-m3", "h1000", "0xh100", "", "8x"]),
    root=st.sampled_from(ROOTS),
)
@settings(max_examples=examples(600), deadline=None)
def test_any_option_is_answered_or_refused(fields, formats, on, root):
    model = model_from_dict(dict(root), id="small", origin="small")
    try:
        answer = rooflight.analyze(model, on=on, **fields, **formats)
    except RooflightError as refused:
        assert refused.what
        assert refused.exit_status in (2, 3)
    else:
        json.loads(json.dumps(answer.to_dict(), allow_nan=False))
        if not answer.answered:
            assert answer.bound == "capacity"
        else:
            # none where the format has no compute peak, which the sentence then says
            assert "prefill" in answer.phases or '(a [[fact]] with what = "peak"' in answer.answer
            for phase in answer.phases.values():
                assert 0 < phase.time_s.ceiling <= phase.time_s.roofline * (1 + 1e-9)
