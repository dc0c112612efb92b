"""A network of a plan: what it is made of, that its steps run, and what it cannot be made of."""

from __future__ import annotations

import json

import pytest

import rooflight
from rooflight.errors import BadInput

torch = pytest.importorskip("torch", reason="networks run through torch, which is not installed")

from rooflight.probe import network  # noqa: E402 - after torch is known to be there
from rooflight.probe.device import Device  # noqa: E402

CPU = Device(kind="cpu", name="a processor")
LLAMA = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "intermediate_size": 96,
    "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 3, "vocab_size": 256,
    "max_position_embeddings": 2048, "tie_word_embeddings": False, "torch_dtype": "float32",
}  # fmt: skip
QWEN3 = {**LLAMA, "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "head_dim": 32,
         "tie_word_embeddings": True}  # fmt: skip
QWEN2 = {**LLAMA, "architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2"}
MIXTRAL = {**LLAMA, "architectures": ["MixtralForCausalLM"], "model_type": "mixtral", "num_local_experts": 4,
           "num_experts_per_tok": 2}  # fmt: skip
MAMBA = {"architectures": ["MambaForCausalLM"], "model_type": "mamba", "hidden_size": 64, "state_size": 16,
         "num_hidden_layers": 2, "vocab_size": 256, "conv_kernel": 4, "expand": 2, "time_step_rank": 4}  # fmt: skip


def model(config, tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    return rooflight.model(path)


@pytest.mark.parametrize("config", [LLAMA, QWEN3, QWEN2, MIXTRAL], ids=lambda one: one["model_type"])
@pytest.mark.parametrize("form", ["fp32", "bf16"])
def test_a_prompt_and_a_step_give_a_token_each(config, form, tmp_path):
    """Prompts of 5 tokens of 2 sequences, then a step behind them: a token of the vocabulary for each sequence."""
    made = network.Network(model(config, tmp_path), form, CPU, sequences=2, positions=8)
    with torch.no_grad():
        first = made.step(torch.randint(0, 256, (2, 5)), 0)
        then = made.step(first[:, None], 5)
    assert first.shape == then.shape == (2,)
    assert all(0 <= token < 256 for token in then.tolist())


def test_a_step_over_the_cache_is_what_the_whole_prompt_gives(tmp_path):
    """A prompt of 6 tokens at once, and 5 of them with the sixth behind: the same last token."""
    made = network.Network(model(QWEN3, tmp_path), "fp32", CPU, sequences=1, positions=6)
    tokens = torch.randint(0, 256, (1, 6))
    with torch.no_grad():
        whole = made.step(tokens, 0)
        made.step(tokens[:, :5], 0)
        then = made.step(tokens[:, 5:], 5)
    assert whole.tolist() == then.tolist()


def test_no_more_layers_are_run_than_asked_for(tmp_path):
    """Of three layers none: the token that the embedding alone leads to."""
    made = network.Network(model(LLAMA, tmp_path), "fp32", CPU, sequences=1, positions=4)
    ran = []
    made._layers = [lambda *_, which=which: ran.append(which) for which in range(3)]
    with torch.no_grad():
        made.step(torch.zeros((1, 1), dtype=torch.long), 0, layers=0)
    assert ran == []


def test_layers_may_be_left_out_from_the_top(tmp_path):
    made = network.Network(model(LLAMA, tmp_path), "fp32", CPU, sequences=1, positions=4, layers=2)
    assert len(made._layers) == 2


def test_other_mixers_are_refused_by_name(tmp_path):
    with pytest.raises(BadInput, match="layers that no network is made of") as found:
        network.refuse(model(MAMBA, tmp_path))
    assert "Recurrent mixer" in str(found.value.got)


def test_its_bytes_are_those_of_its_matrices_and_cache(tmp_path):
    """Of a layer qkv 64 x 128, o 64 x 64, gate_up 64 x 192, down 96 x 64, and a cache of 2 x 2 heads x 16 elements."""
    size = network.size(model(LLAMA, tmp_path), "bf16", sequences=3, positions=10)
    layer = 64 * 128 + 64 * 64 + 64 * 192 + 96 * 64 + 2 * 2 * 16 * 3 * 10
    assert size.layers == (2.0 * layer,) * 3
    assert size.outside == 2.0 * 2 * 256 * 64


def test_weights_are_small_and_of_the_asked_shape():
    made = network.weights((3, 1 << 20), "bf16", CPU)
    assert made.shape == (3, 1 << 20)
    assert made.dtype == torch.bfloat16
    assert 0 < float(made.abs().max()) < 1


def test_rotating_keeps_lengths():
    """Each pair of elements is turned, so a head keeps its length."""
    x = torch.randn(1, 4, 2, 32)
    cosine, sine = network._angles(4, 32, torch.float32, {"device": torch.device("cpu")})
    turned = network.rotated(x, (cosine.unsqueeze(-2), sine.unsqueeze(-2)))
    assert torch.allclose(turned.norm(dim=-1), x.norm(dim=-1), rtol=1e-5)
    assert torch.allclose(turned[:, 0], x[:, 0])
