"""MLX's quantisation blocks: under either key, whole files, and modules that differ."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from rooflight.catalog.config import model_from_dict
from rooflight.errors import BadConfig, UnknownName
from rooflight.work.count import parameters, streamed_weight_bytes, weight_bytes

# 3 layers, hidden 256, 4 heads of 64 over 2, feed-forward 512, a vocabulary of 128.
DENSE = {
    "model_type": "llama", "hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 2,
    "num_hidden_layers": 3, "intermediate_size": 512, "vocab_size": 128, "torch_dtype": "bfloat16",
    "tie_word_embeddings": False,
}  # fmt: skip
MOE = {
    **DENSE, "model_type": "qwen3_moe", "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 128,
    "head_dim": 64,
}  # fmt: skip
NORMS = (2 * 3 + 1) * 256
MATRICES = 3 * (256 * (256 + 2 * 128) + 256 * 256 + 3 * 256 * 512)
TABLE = 128 * 256


def read(config: dict[str, Any], block: Any, *keys: str) -> Any:
    data = {**config, **dict.fromkeys(keys or ("quantization",), block)}
    return model_from_dict(data, id="test", origin="config.json")


@pytest.mark.parametrize("keys", [("quantization",), ("quantization_config",), ("quantization", "quantization_config")])
@pytest.mark.parametrize("bits, group", [(4, 64), (8, 64), (3, 32), (6, 128)])
def test_all_weights_take_the_width_with_a_scale_and_a_bias_a_group(keys, bits, group):
    """Table and head too; norms stay in 16 bits."""
    model = read(DENSE, {"bits": bits, "group_size": group}, *keys)
    stored = (MATRICES + 2 * TABLE) * (bits + 32 / group) / 8

    assert weight_bytes(model) == pytest.approx(stored + 2 * NORMS, rel=1e-12)
    assert streamed_weight_bytes(model) == pytest.approx(weight_bytes(model) - TABLE * (bits + 32 / group) / 8)
    assert model.quantization == f"mlx-{bits}bit-g{group}"
    assert not model.warnings


def test_a_tied_table_is_stored_once_and_streamed_once():
    model = read({**DENSE, "tie_word_embeddings": True}, {"bits": 4, "group_size": 64})

    assert weight_bytes(model) == streamed_weight_bytes(model) == (MATRICES + TABLE) * 4.5 / 8 + 2 * NORMS


def test_modules_with_sizes_of_their_own_count_as_they_are():
    """v_proj is a quarter of the fused matrix's 512 rows; down of layer 1 stays wide; the table has 8 bits."""
    block = {
        "bits": 4, "group_size": 64,
        **{f"model.layers.{layer}.self_attn.v_proj": {"bits": 8, "group_size": 64} for layer in range(3)},
        "model.layers.1.mlp.down_proj": False,
        "model.embed_tokens": {"bits": 8, "group_size": 64},
    }  # fmt: skip
    values, down = 3 * 256 * 128, 512 * 256
    bits = MATRICES * 4.5 + values * (8.5 - 4.5) + down * (16 - 4.5) + TABLE * (8.5 + 4.5)

    assert weight_bytes(read(DENSE, block)) == pytest.approx(bits / 8 + 2 * NORMS, rel=1e-12)


def test_routers_are_quantised_too_and_often_wider():
    block = {"bits": 4, "group_size": 64, "mode": "affine"}
    wide = {f"model.layers.{layer}.mlp.gate": {"bits": 8, "group_size": 64} for layer in range(3)}
    plain, mixed = read(MOE, block), read(MOE, {**block, **wide})

    assert {layer.experts.router.format for layer in plain.layers} == {"mlx-4bit-g64"}
    assert weight_bytes(mixed) - weight_bytes(plain) == pytest.approx(3 * 256 * 4 * 4 / 8)


@pytest.mark.parametrize("mode, bits", [("mxfp4", 4.25), ("nvfp4", 4.5), ("mxfp8", 8.25)])
def test_modes_have_sizes_of_their_own(mode, bits):
    model = read(DENSE, {"mode": mode, "bits": round(bits), "group_size": 32})

    assert weight_bytes(model) == pytest.approx((MATRICES + 2 * TABLE) * bits / 8 + 2 * NORMS)


def test_rows_that_no_group_divides_stay_wide():
    model = read({**DENSE, "intermediate_size": 480}, {"bits": 4, "group_size": 64})

    assert {linear.name: linear.format for linear in model.layers[0].mlp} == {
        "gate_up": "mlx-4bit-g64", "down": "bf16",  # 480 = 7.5 groups
    }  # fmt: skip


def test_unknown_modes_and_widths_are_refused():
    for block in ({"bits": 7, "group_size": 64}, {"bits": 4, "group_size": 64, "mode": "other"}):
        with pytest.raises(UnknownName):
            read(DENSE, block)


def test_other_packings_without_a_method_are_not_mlx():
    """desc_act or sym beside bits and group_size are GPTQ's."""
    model = read(DENSE, {"bits": 4, "group_size": 128, "sym": True, "desc_act": False}, "quantization_config")

    assert model.quantization == "gptq-int4-g128-sym"


def test_exl3_has_bits_of_its_own_for_the_head():
    block = {"quant_method": "exl3", "bits": 4.0, "head_bits": 6}
    model = read(DENSE, block, "quantization_config")

    assert weight_bytes(model) == (MATRICES * 4 + TABLE * 6 + TABLE * 16) / 8 + 2 * NORMS
    assert parameters(model) == MATRICES + 2 * TABLE + NORMS
    assert msgspec.structs.asdict(model)["quantization"] == "exl3-4bpw + exl3-6bpw"


@pytest.mark.parametrize("holder", ["mlp", "block_sparse_moe"])
def test_routed_experts_under_the_names_of_mlx_lm(holder):
    """switch_mlp: all experts in one module. Three layers of gate and up in 2 bits in place of 8."""
    pieces = ("gate_proj", "up_proj", "down_proj")
    own = {
        f"model.layers.{n}.{holder}.switch_mlp.{one}": {"bits": 2, "group_size": 64} for n in range(3) for one in pieces
    }
    block = {"bits": 8, "group_size": 64}
    plain, narrow = read(MOE, block), read(MOE, {**block, **own})

    assert {linear.format for linear in narrow.layers[0].experts.linears} == {"mlx-2bit-g64"}
    assert weight_bytes(plain) - weight_bytes(narrow) == pytest.approx(3 * 4 * 3 * 256 * 128 * 6 / 8)
    assert not narrow.warnings


@pytest.mark.parametrize(
    "name",
    ["model.layers.99.self_attn.q_proj", "model.layers.1.self_attn.zz_proj", "model.layers.1.mlp.switch_mlp.up_proj"],
)
@pytest.mark.parametrize("entry", [{"bits": 8, "group_size": 64}, False])
def test_a_module_that_the_model_lacks_is_said(name, entry):
    model = read(DENSE, {"bits": 4, "group_size": 64, name: entry})

    assert f"modules this model does not have: {name}" in "".join(model.warnings)


def test_of_two_sections_that_differ_the_first_of_mlx_lm_counts():
    sections = {"quantization": {"bits": 4, "group_size": 64}, "quantization_config": {"bits": 8, "group_size": 64}}
    model = model_from_dict({**DENSE, **sections}, id="test", origin="config.json")

    assert model.quantization == "mlx-4bit-g64"
    assert any("quantization_config differ" in warning for warning in model.warnings)


@pytest.mark.parametrize("entry", [8, "8bit", 4.5, [8]])
@pytest.mark.parametrize("name", ["lm_head", "model.layers.0.mlp.up_proj"])
def test_a_module_is_an_object_or_stays_wide(name, entry):
    with pytest.raises(BadConfig, match=f"{name} is not an object") as caught:
        read(DENSE, {"bits": 4, "group_size": 64, name: entry})
    assert caught.value.got == repr(entry)


def test_null_is_wide_and_said():
    model = read(DENSE, {"bits": 4, "group_size": 64, "lm_head": None})

    assert model.head.format == "bf16"
    assert "lm_head is null" in "".join(model.warnings)


@pytest.mark.parametrize(
    "more, said", [({"group_sise": 32}, "is group_size meant?"), ({"group_size": 48}, "48 is no group")]
)
def test_what_mlx_does_not_know_is_said(more, said):
    model = read({**DENSE, "hidden_size": 768, "head_dim": 64}, {"bits": 4, "group_size": 64, **more})

    assert said in "".join(model.warnings)
