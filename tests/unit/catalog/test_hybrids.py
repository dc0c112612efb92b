"""State-space and linear-attention hybrids: plans against parameter counts of real modules, and by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conformance import oracle_terms
from rooflight.catalog.config import model_from_dict
from rooflight.errors import BadConfig
from rooflight.values.model import Model, Recurrent
from rooflight.work import count

WITNESS = json.loads((Path(__file__).parent / "unusual.json").read_text())["models"]


def read(config: dict[str, object], name: str = "test") -> Model:
    return model_from_dict(config, id=name, origin=f"{name}.json")


def kinds(model: Model) -> dict[str, int]:
    return {layer.kind: layer.count for layer in model.layers}


@pytest.mark.parametrize("name", WITNESS)
def test_parameters_equal_those_of_the_real_modules(name):
    """Every matrix and vector of the text model, to the unit."""
    witness = WITNESS[name]

    assert count.parameters(read(witness["config"], name)) == witness["parameters"]


@pytest.mark.parametrize("name", [name for name, witness in WITNESS.items() if "flop_128" in witness])
def test_products_equal_those_torch_counts(name):
    """Shapes of the matrices and mixers, seen through the products of a 128-token prefill."""
    config = WITNESS[name]["config"]
    chunk = config.get("mamba_chunk_size") or (128 if config["model_type"] == "nemotron_h" else 256)

    assert oracle_terms.forward_flop(read(config, name), 128, chunk=chunk) == WITNESS[name]["flop_128"]


@pytest.mark.parametrize("name", [name for name, witness in WITNESS.items() if "state_bytes" in witness])
def test_caches_and_states_equal_the_tensors_kept(name):
    """Bytes per token of growing and of window layers, and of the state that does not grow."""
    witness, model = WITNESS[name], read(WITNESS[name]["config"], name)
    short = {32, 64}  # windows shorter than the 128 tokens run: their tensors were cut
    windows = set(count.windows(model))

    assert count.kv_bytes_per_token(model) * 128 == witness["kv_bytes_per_token"] * 128
    assert count.state_bytes_per_sequence(model) == witness["state_bytes"]
    if not windows & short:
        assert count.window_kv_bytes_per_token(model) == witness["window_kv_bytes_per_token"]


def test_qwen3_next_linear_layer_by_hand():
    """Four value heads of 24 over two key heads of 16: q, k, v and z, then beta and decay."""
    model = read(WITNESS["qwen3_next"]["config"])
    layer = next(layer for layer in model.layers if layer.kind == "linear attention + MoE")
    inputs = {linear.name: (linear.inputs, linear.outputs) for linear in layer.projections}

    assert inputs["in_proj"] == (96, 2 * 2 * 16 + 2 * 4 * 24)
    assert inputs["in_proj_ba"] == (96, 2 * 4)
    assert inputs["out_proj"] == (4 * 24, 96)
    assert isinstance(layer.mixer, Recurrent)
    assert layer.mixer.conv_channels == 2 * 2 * 16 + 4 * 24
    # four taps a channel; A_log and dt_bias a value head; the norm of a value head; two layer norms
    assert layer.vector_parameters == layer.mixer.conv_channels * 4 + 2 * 4 + 24 + 2 * 96


def test_query_gate_doubles_the_queries():
    """Qwen3-Next's query projection makes a gate of the same size: 6 heads of 20 twice, and two K/V heads of 20."""
    model = read(WITNESS["qwen3_next"]["config"])
    layer = next(layer for layer in model.layers if layer.kind.startswith("full attention"))
    qkv = layer.projections[0]

    assert qkv.outputs == 2 * 6 * 20 + 2 * 2 * 20
    assert qkv.kv_outputs == 2 * 2 * 20


def test_mamba2_in_projection_makes_gate_channels_and_steps():
    """Bamba: 12 heads of 16 with 2 groups of state 24: gate 192, channels 192 + 2 x 2 x 24, a step a head."""
    layer = next(layer for layer in read(WITNESS["bamba"]["config"]).layers if layer.kind.startswith("mamba2"))

    assert layer.projections[0].outputs == 192 + (192 + 2 * 2 * 24) + 12
    # a state of 24 x 16 a head in fp32, four columns of the convolution in bf16
    assert count.state_bytes(layer.mixer) == 12 * 24 * 16 * 4 + 288 * 4 * 2


def test_nemotron_pattern_and_names_say_the_same():
    """hybrid_override_pattern and layers_block_type are two spellings of one plan."""
    base = {key: value for key, value in WITNESS["nemotron_h"]["config"].items() if key != "hybrid_override_pattern"}
    named = {**base, "layers_block_type": ["mamba", "moe", "attention", "mlp", "mamba"]}
    lettered = {**base, "hybrid_override_pattern": "ME*-M"}

    assert read(named).layers == read(lettered).layers
    assert kinds(read(lettered)) == {"mamba2": 2, "MoE": 1, "attention": 1, "dense": 1}


def test_latent_experts_work_in_the_latent_space():
    """Nemotron 3 Super and Ultra: experts read moe_latent_size elements, router and shared expert hidden_size."""
    layer = next(layer for layer in read(WITNESS["nemotron_h"]["config"]).layers if layer.experts)

    assert [linear.inputs for linear in layer.experts.linears] == [48, 40]
    assert layer.experts.router.inputs == 96
    assert {linear.name: linear.outputs for linear in layer.mlp} == {
        "shared_up": 56, "shared_down": 96, "latent_down": 48, "latent_up": 96,
    }  # fmt: skip


def test_granite_without_experts_is_dense():
    """num_local_experts 0: the feed-forward is the shared one, and every parameter is active."""
    model = read(WITNESS["granite_dense"]["config"])

    assert kinds(model) == {"mamba2 + dense": 2, "attention + dense": 1}
    assert count.active_parameters(model) == count.parameters(model)


def test_falcon_h1_lists_both_mixers_of_a_layer():
    """Attention and Mamba-2 side by side count as two entries with one norm of the input between them."""
    model = read(WITNESS["falcon_h1"]["config"])

    assert kinds(model) == {"attention (beside mamba2)": 2, "mamba2 + dense": 2}
    assert model.layers[0].vector_parameters == 0


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"layer_types": ["linear_attention"] * 4}, "4 entries"),
        ({"layer_types": ["linear_attention"] * 4 + ["convolution"]}, "layer_types"),
        ({"num_key_value_heads": 4}, "evenly"),
    ],
)
def test_contradictions_name_the_key(change, word):
    """A list of the wrong length, a kind the architecture lacks, heads that do not divide."""
    with pytest.raises(BadConfig) as caught:
        read({**WITNESS["qwen3_next"]["config"], **change})

    assert word in str(caught.value)


def test_unknown_letters_of_a_pattern_are_refused():
    with pytest.raises(BadConfig, match="hybrid_override_pattern"):
        read({**WITNESS["nemotron_h"]["config"], "hybrid_override_pattern": "MEX"})


def test_shared_weights_are_refused():
    """Zamba's attention blocks are stored once and used by many layers."""
    with pytest.raises(BadConfig, match="shares the weights"):
        read({"model_type": "zamba2", "hidden_size": 2560})


@pytest.mark.parametrize(
    "name, changes, expected",
    [
        (
            "qwen3_next",
            {"mlp_layer_types": ["sparse", "dense", "sparse", "sparse"], "mlp_only_layers": []},
            {"full attention + dense": 1},
        ),
        ("kimi_linear", {"mlp_layer_types": ["sparse", "dense", "sparse", "sparse"]}, {"MLA + dense": 1}),
        (
            "kimi_linear",
            {"first_k_dense_replace": 1, "moe_layer_freq": 2},
            {"linear attention + dense": 2, "MLA + dense": 1},
        ),
        (
            "minimax_m3_vl_text",
            {"first_k_dense_replace": 1, "moe_layer_freq": None, "mlp_layer_types": None},
            {"full attention + dense": 1},
        ),
    ],
)
def test_keys_that_place_experts_mean_the_same_in_hybrids(name, changes, expected):
    """Layers without experts: those listed, or those in front and all but each n-th. The second layer attends all."""
    other = "full_attention" if name.startswith("minimax") else "linear_attention"
    types = {"num_hidden_layers": 4, "layer_types": [other, "full_attention", other, other]}
    sparse = {"sparse_attention_config": None, "sparse_attention_freq": None}
    model = read({**WITNESS[name]["config"], **types, **sparse, **changes})

    assert {kind: number for kind, number in kinds(model).items() if kind.endswith("dense")} == expected


def test_nemotron_h_names_its_head_size_in_two_ways():
    """The first ones say attention_head_dim (Nemotron-H-56B: 128), later ones head_dim; and the rank of no Mamba-2."""
    config = {key: value for key, value in WITNESS["nemotron_h"]["config"].items() if key != "head_dim"}
    one, other = read({**config, "head_dim": 8}), read({**config, "attention_head_dim": 8, "time_step_rank": 4})

    assert one.layers == other.layers
    assert other.warnings == one.warnings
