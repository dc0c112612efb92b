"""A model in the formats a deployment asks for: what is replaced, and what stays."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

import rooflight
from rooflight.catalog.config import model_from_dict
from rooflight.catalog.models import load
from rooflight.errors import BadInput, UnknownName
from rooflight.values.formats import FORMATS, format_named
from rooflight.values.ggml import MIXES
from rooflight.values.model import Linear, Model
from rooflight.values.parts import Place, mixed, numbers_of, pieces, refitted
from rooflight.work.count import parameters, part_bits, streamed_weight_bytes, weight_bytes
from rooflight.work.numbers import Numbers, product_format
from rooflight.work.storage import linear_bytes
from rooflight.work.weights import held, names_own_format
from unit.models import llama_3_8b, tiny_dense, tiny_hybrid, tiny_mla, tiny_moe

DENSE = {
    "model_type": "llama", "hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 2,
    "num_hidden_layers": 3, "intermediate_size": 512, "vocab_size": 128, "torch_dtype": "bfloat16",
}  # fmt: skip


def read(quantization: dict[str, Any] | None) -> Model:
    data = DENSE if quantization is None else {**DENSE, "quantization_config": quantization}
    return model_from_dict(data, id="test", origin="config.json")


def formats(model: Model) -> dict[str, str]:
    """Format by matrix of the first layer of each kind, and of the head."""
    found = {} if model.head is None else {"lm_head": model.head.format}
    for layer in model.layers:
        found |= {linear.name: linear.format for linear in (*layer.projections, *layer.mlp)}
        if layer.experts is not None:
            found |= {f"experts {linear.name}": linear.format for linear in layer.experts.linears}
            found["router"] = layer.experts.router.format
    return found


# --- the checkpoint's own format -------------------------------------------------------------------------------------

OWN = [
    ({"quant_method": "fp8"}, ["fp8"]),
    ({"quant_method": "fp8", "weight_block_size": [128, 128]}, ["fp8", "fp8-block128", "FP8", "modelopt"]),
    ({"quant_method": "fbgemm_fp8"}, ["fp8", "ptpc_fp8", "fbgemm_fp8"]),
    ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, ["nvfp4", "modelopt_fp4", "fp4"]),
    ({"quant_method": "gptq", "bits": 4, "group_size": 128}, ["gptq", "gptq_marlin", "gptq-int4-g128", "int4"]),
    ({"quant_method": "gptq", "bits": 4, "group_size": 128, "sym": True}, ["gptq", "gptq-int4-g128", "int4", "w4a16"]),
    ({"quant_method": "gptq", "bits": 8, "group_size": 32}, ["gptq", "gptq_marlin", "int8"]),
    ({"quant_method": "auto-round", "bits": 4, "group_size": 128}, ["auto-round", "gptq", "int4"]),
    ({"quant_method": "awq", "bits": 4, "group_size": 64}, ["awq", "awq_marlin", "awq-int4-g64", "int4-g64", "int4"]),
    ({"quant_method": "awq", "bits": 4, "group_size": 64}, ["w4a16"]),
    ({"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_use_double_quant": True}, ["nf4", "bnb-4bit"]),
    ({"quant_method": "bitsandbytes", "load_in_8bit": True}, ["bnb-int8", "bnb-8bit"]),
    ({"quant_method": "exl3", "bits": 3.5}, ["exl3-3.5bpw", "exl3-3.50bpw"]),
    ({"bits": 4, "group_size": 32}, ["mlx-4bit", "mlx-4bit-g32"]),
]  # fmt: skip


@pytest.mark.parametrize("quantization, name", [(config, name) for config, names in OWN for name in names])
def test_naming_the_own_format_changes_nothing(quantization, name):
    model = read(quantization)

    assert names_own_format(model, name)
    assert held(model, name) is model


@pytest.mark.parametrize(
    "quantization, name",
    [
        ({"quant_method": "fp8"}, "nvfp4"),
        ({"quant_method": "fp8"}, "mxfp8"),
        ({"quant_method": "awq", "bits": 4, "group_size": 64}, "int8"),
        ({"quant_method": "awq", "bits": 4, "group_size": 64}, "gptq"),
        ({"quant_method": "awq", "bits": 4, "group_size": 64}, "int4-g32"),
        ({"quant_method": "awq", "bits": 4, "group_size": 64}, "int4-g128"),
        ({"quant_method": "gptq", "bits": 4, "group_size": -1}, "int4-g128"),
        ({"quant_method": "gptq", "bits": 4, "group_size": 128}, "int4-g32"),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, "nf4"),
        ({"quant_method": "w8a8_int8"}, "int8"),
        (None, "bf16"),
    ],
)
def test_another_format_is_another(quantization, name):
    assert not names_own_format(read(quantization), name)


def test_of_several_formats_the_one_of_most_weights_is_the_checkpoints():
    """Experts in NVFP4, attention in FP8: nvfp4 is its name; fp8 would be another checkpoint."""
    model = held(held(tiny_moe(), "attention=fp8,experts=nvfp4"), None)

    assert names_own_format(model, "nvfp4")
    assert not names_own_format(model, "fp8")


# --- what a format replaces ------------------------------------------------------------------------------------------


def test_a_format_replaces_what_the_checkpoint_quantises_and_nothing_else():
    """Attention was left wide, so it stays: only the feed-forward changes from FP8 to NVFP4."""
    model = read({"quant_method": "fp8", "modules_to_not_convert": ["self_attn"]})

    assert formats(held(model, "nvfp4")) == {
        "lm_head": "bf16", "qkv": "bf16", "o": "bf16", "gate_up": "nvfp4", "down": "nvfp4",
    }  # fmt: skip


def test_experts_alone_are_replaced_where_they_alone_are_quantised():
    """gpt-oss: --weights fp8 is FP8 experts beside the bf16 that the rest is trained in."""
    found = formats(held(load("gpt-oss-20b"), "fp8"))

    assert {name for name, form in found.items() if form == "fp8"} == {"experts gate_up", "experts down"}
    assert {form for form in found.values() if form != "fp8"} == {"bf16"}


def test_a_wide_checkpoint_gives_all_its_linear_layers():
    assert formats(held(tiny_moe(), "awq")) == {
        "lm_head": "bf16", "router": "bf16", "qkv": "awq-int4-g128", "o": "awq-int4-g128",
        "experts gate_up": "awq-int4-g128", "experts down": "awq-int4-g128",
    }  # fmt: skip


@pytest.mark.parametrize("model", [tiny_dense(), tiny_moe(), tiny_mla(), tiny_hybrid(), llama_3_8b()])
@pytest.mark.parametrize("name", ["bf16", "fp16"])
def test_a_cast_to_the_own_width_keeps_every_byte(model, name):
    assert weight_bytes(held(model, name)) == weight_bytes(model)
    assert streamed_weight_bytes(held(model, name)) == streamed_weight_bytes(model)


# --- one label, one size ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["w4a8", "w4afp8", "w4a8_awq", "mxfp4-w4a8"])
def test_four_bits_with_8_bit_activations_multiply_in_fp8(name):
    assert product_format(format_named(name), Numbers()) == "fp8"
    assert 4 < 8 * linear_bytes(Linear(name="x", inputs=4096, outputs=4096), format_named(name)) / 4096**2 <= 4.25


def test_weight_only_formats_leave_arithmetic_wide():
    weight_only = [form for form in FORMATS.values() if form.activations is None]

    assert {product_format(form, Numbers()) for form in weight_only} == {"bf16"}
    assert {"int4-g128", "mxfp4", "nf4", "q4_k_m", "iq3_k", "nvfp4-weight-only"} <= {form.id for form in weight_only}


@pytest.mark.parametrize(
    "name, bits",
    [
        ("gptq-int4-g128-sym", 4 + 16 / 128),  # a scale a group, nothing else that is read
        ("ct-int4-g128", 4 + 16 / 128),
        ("w4a16", 4 + 16 / 128),
        ("awq", 4 + (16 + 4) / 128),
        ("int4-g128", 4 + (16 + 16) / 128),
        ("nf4", 4 + 32 / 64),
        ("nf4-double", 4 + 8 / 64 + 32 / (64 * 256)),
        ("mlx-4bit", 4 + (16 + 16) / 64),
        ("mlx-3bit-g32", 3 + (16 + 16) / 32),
        ("exl3-2.25bpw", 2.25),
        ("iq3_k", 3.4375),
    ],
)  # fmt: skip
def test_bits_of_a_name(name, bits):
    linear = Linear(name="x", inputs=4096, outputs=4096)
    form = held(with_one(linear), name).layers[0].mlp[0].format

    assert linear_bytes(linear, format_named(form)) * 8 / 4096**2 == pytest.approx(bits, rel=1e-4)


def with_one(linear: Linear) -> Model:
    model = tiny_dense()
    layers = tuple(msgspec.structs.replace(layer, mlp=(linear,)) for layer in model.layers)
    return msgspec.structs.replace(model, layers=layers)


# --- GGUF ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(MIXES))
@pytest.mark.parametrize("model", ["gpt-oss-20b", "gpt-oss-120b"])
def test_native_experts_stay_mxfp4_in_every_file(model, name):
    found = formats(held(load(model), name))

    assert {form for matrix, form in found.items() if matrix.startswith("experts")} == {"mxfp4"}
    assert found["router"] == "fp32"


def test_native_experts_whose_rows_are_whole_blocks_are_narrowed_by_narrower_files():
    """DeepSeek-V4-Flash: a file called IQ2_XXS has 84.6 GiB, of which its experts would take 137 in MXFP4."""
    model = load("deepseek-ai/DeepSeek-V4-Flash")
    experts = {name: {form for matrix, form in formats(held(model, name)).items() if matrix.startswith("experts")}
               for name in ("iq2_xxs", "q4_k_m", "q8_0")}  # fmt: skip

    assert "mxfp4" not in experts["iq2_xxs"]
    assert experts["q4_k_m"] == experts["q8_0"] == {"mxfp4"}
    assert weight_bytes(held(model, "iq2_xxs")) < 84.62 * 2**30


@pytest.mark.parametrize("name", sorted(MIXES))
@pytest.mark.parametrize("model", ["meta-llama-3.1-8b", "qwen3-30b-a3b", "deepseek-v3", "qwen3.5-35b-a3b"])
def test_every_file_has_a_size_near_its_base(model, name):
    """No mix is narrower than its base, but where IQ3_XXS or IQ3_XS cut queries and keys, or experts are MXFP4."""
    mix, given = MIXES[name], held(load(model), name)
    base = min(FORMATS[mix.base].bits, FORMATS["q6_k"].bits)  # the head may be Q6_K
    least = {"iq3_xs": 0.9 * base, "iq3_xxs": 0.9 * base, "mxfp4_moe": FORMATS["mxfp4"].bits}.get(mix.rule, base)

    assert least <= 8 * weight_bytes(given) / parameters(given) <= 16.1


def test_mxfp4_moe_is_experts_in_mxfp4_and_the_rest_in_q8_0():
    assert formats(held(load("qwen3-30b-a3b"), "mxfp4_moe")) == {
        "lm_head": "q8_0", "qkv": "q8_0", "o": "q8_0", "router": "fp32",
        "experts gate_up": "mxfp4", "experts down": "mxfp4",
    }  # fmt: skip


def test_half_of_the_layers_have_more_bits_in_q4_k_m():
    """use_more_bits of 32 layers: the first 4, the last 4, and (i - 4) % 3 == 2 of the 24 between: 8 + 8."""
    found = formats(held(load("meta-llama-3.1-8b"), "q4_k_m"))

    assert found["down"] == "1 q4_k + 1 q6_k"
    assert found["qkv"] == "11 q4_k + 1 q6_k"  # half of V, which is 1,024 of 6,144 rows
    assert (found["o"], found["gate_up"], found["lm_head"]) == ("q4_k", "q4_k", "q6_k")


def test_rows_that_blocks_of_256_do_not_divide_take_another_type():
    """gpt-oss: a hidden size of 2,880 is 11.25 blocks; 4,096 attention outputs are 16."""
    found = formats(held(load("gpt-oss-20b"), "q4_k_s"))

    assert found["lm_head"] == "q8_0"  # for Q6_K
    assert found["qkv"].endswith("q5_0") or "q5_0" in found["qkv"]  # for Q4_K
    assert found["o"] == "q4_k"


def test_a_name_is_read_on_the_models_own_shapes():
    """Four query heads a KV head or more give value matrices more bits (Q2_K: Q4_K, else Q3_K)."""
    grouped, full = load("meta-llama-3.1-8b"), load("llama-2-7b-hf")

    assert formats(held(grouped, "q2_k"))["qkv"] == "5 q2_k + 1 q4_k"
    assert formats(held(full, "q2_k"))["qkv"] == "2 q2_k + 1 q3_k"


# --- by part ---------------------------------------------------------------------------------------------------------


def test_formats_by_part():
    """Experts at 2.0625 bits, attention, head and table at 6.5625; the router keeps its type unless it is named."""
    model = tiny_moe()
    found = held(model, "experts=iq2_xxs,rest=q6_k")

    assert formats(found) == {
        "lm_head": "q6_k", "router": "bf16", "qkv": "q6_k", "o": "q6_k",
        "experts gate_up": "iq2_xxs", "experts down": "iq2_xxs",
    }  # fmt: skip
    assert found.table_format == "q6_k"
    assert found.quantization == "experts=iq2_xxs,rest=q6_k"
    assert formats(held(model, "experts=iq2_xxs/rest=q6_k")) == formats(found)
    assert formats(held(model, "router=fp32"))["router"] == "fp32"


@pytest.mark.parametrize("name", ["experts=iq2_xxs,expert=q6_k", "head=q6_k,head=q8_0", "=q6_k"])
def test_parts_no_model_has_are_refused(name):
    with pytest.raises(BadInput):
        held(tiny_moe(), name)


def test_formats_nobody_knows_are_refused():
    for name in ("experts=q7_z", "experts=", "q7_z", "3 q4_k + 1 q6_k", "mlx-9bit", "mlx-4bit-g0", "exl3-99bpw"):
        with pytest.raises(UnknownName):
            held(tiny_moe(), name)


def test_each_module_of_each_layer_is_asked_for():
    """Queries, keys and values apart, by the number of the layer in the stack."""
    met: list[Place] = []

    def choose(place: Place) -> str:
        met.append(place)
        return "q4_k" if place.layer % 2 else "q6_k"

    found = refitted(llama_3_8b(), choose, name="test")

    assert {place.name for place in met} == {"q", "k", "v", "o", "gate", "up", "down", "lm_head"}
    assert sorted({place.layer for place in met}) == [-1, *range(32)]
    assert formats(found)["down"] == "1 q4_k + 1 q6_k"
    layer = llama_3_8b().layers[0]
    assert dict(pieces(layer.projections[0], layer)) == {"q": 4096, "k": 1024, "v": 1024}


def test_layers_are_numbered_as_they_stand_in_the_stack():
    """Gemma 3 repeats five windows and a full layer: the sixth, the twelfth ... are the full ones."""
    model = load("gemma-3-27b-it")
    window, full = numbers_of(model)

    assert full == tuple(range(5, 62, 6))
    assert sorted((*window, *full)) == list(range(62))


def test_a_blend_adds_its_bytes_up():
    linear = Linear(name="x", inputs=512, outputs=64)
    parts = [("q4_k", 48), ("q6_k", 16)]
    whole = sum(linear_bytes(msgspec.structs.replace(linear, outputs=rows), FORMATS[form]) for form, rows in parts)

    assert linear_bytes(linear, format_named(mixed(tuple(parts)), None)) == whole


def test_the_bits_of_each_part_are_told():
    """q8_0 everywhere but the experts, which are MXFP4, and the router in fp32."""
    given = held(load("qwen3-30b-a3b"), "mxfp4_moe")

    assert part_bits(given) == (
        ("embedding", 8.5), ("attention", 8.5), ("experts", 4.25), ("router", 32.0), ("head", 8.5),
    )  # fmt: skip


def test_an_answer_says_the_bits_of_each_part_where_anything_is_quantised():
    said = rooflight.analyze("llama-3.1-8b", on="h100-sxm", weights="dense=q8_0,attention=q6_k").assumptions
    plain = rooflight.analyze("llama-3.1-8b", on="h100-sxm").assumptions

    assert "bits a weight by part, scales included: embedding 16, attention 6.56, dense 8.5, head 16" in said
    assert not [note for note in plain if note.startswith("bits a weight")]


def test_the_lightest_reading_of_a_dynamic_file_is_said():
    said = rooflight.analyze("qwen3-14b", on="h100-sxm", weights="ud-q4_k_xl").assumptions

    assert "ud-q4_k_xl read as q4_k_s, the lightest it can be" in said


def test_a_table_may_be_a_blend():
    """Files whose tables are in several types: the mean of their elements."""
    given = msgspec.structs.replace(tiny_dense(), table_format="1 q4_k + 1 q6_k")

    assert part_bits(given)[0] == ("embedding", (4.5 + 6.5625) / 2)


@pytest.mark.parametrize("weights", [None, "mxfp4"])
def test_the_usual_file_of_the_engine_is_said_where_no_other_is_named(weights):
    said = rooflight.analyze("gpt-oss-20b", on="rtx-4090", engine="llama.cpp", weights=weights).assumptions

    assert "weights as in the usual file for llama.cpp: mxfp4_moe" in said
    assert not [note for note in said if "in place of" in note]


@pytest.mark.parametrize(
    "model, name, qkv, o",
    [
        ("meta-llama-3.1-8b", "iq3_k", "5 iq3_k + 1 iq4_k", "iq3_k"),  # V is a sixth of the fused rows
        ("meta-llama-3.1-8b", "iq2_k", "5 iq2_k + 1 iq4_k", "iq3_k"),
        ("meta-llama-3.1-8b", "iq5_k", "4 iq4_k + 1 iq5_k + 1 iq6_k", "iq5_k"),  # queries narrower, values wider
        ("llama-2-7b-hf", "iq4_ks", "iq4_ks", "iq4_ks"),  # as many KV heads as query heads: nothing is raised
        ("qwen3-30b-a3b", "iq4_k", "4 iq4_k + 1 q8_0", "q5_k"),  # experts: keys and values in Q8_0
        ("meta-llama-3.1-70b", "iq3_k", "9 iq3_k + 1 iq5_k", "iq3_k"),
    ],
)
def test_files_of_ik_llama_cpp_follow_its_own_rule(model, name, qkv, o):
    found = formats(held(load(model), name))

    assert (found["qkv"], found["o"], found["lm_head"]) == (qkv, o, "q6_k")
