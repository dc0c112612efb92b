"""EAGLE and EAGLE-3 heads by their configs: what is in them, counted by hand, and which classes are none."""

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflight.catalog.config import model_from_dict
from rooflight.catalog.models import load
from rooflight.errors import BadInput
from rooflight.work.count import parameters
from rooflight.work.drafts import own_layers, with_head

LLAMA_8B = {
    "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
    "num_key_value_heads": 8, "num_hidden_layers": 1, "vocab_size": 128256, "torch_dtype": "bfloat16",
    "tie_word_embeddings": False,
}  # fmt: skip
EAGLE3 = {**LLAMA_8B, "architectures": ["LlamaForCausalLMEagle3"], "draft_vocab_size": 32000}
EAGLE = {**LLAMA_8B, "architectures": ["LlamaForCausalLMEagle"]}
# q 4096 x 4096, k and v 4096 x 1024, o 4096 x 4096, three of 4096 x 14336
LAYER = 2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336


def read(config, id="head"):
    return model_from_dict(config, id=id, origin="config.json")


def test_an_eagle3_head_of_a_llama_of_8b():
    """As its file lists them: fc 12288 x 4096, q 8192 x 4096, k and v 8192 x 1024, o, the feed-forward, three norms in
    the layer and one behind it, the head of 32,000 tokens; the tables d2t and t2d are no weights."""
    attention = 8192 * 4096 + 2 * 8192 * 1024 + 4096 * 4096
    by_hand = 3 * 4096 * 4096 + attention + 3 * 4096 * 14336 + 4 * 4096 + 32000 * 4096

    assert parameters(read(EAGLE3)) == by_hand == 424_689_664


def test_an_eagle3_head_equals_its_published_total():
    """Qwen3-4B-Instruct-2507-EAGLE3 (huluhuluu, SpecForge): 202,700,416 with d2t and t2d, an entry a draft token and
    one a token of the model."""
    head = read({
        "architectures": ["LlamaForCausalLMEagle3"], "model_type": "llama", "hidden_size": 2560,
        "intermediate_size": 9728, "num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": 1,
        "vocab_size": 151936, "draft_vocab_size": 32000, "torch_dtype": "bfloat16",
    })  # fmt: skip

    assert parameters(head) + 32000 + 151936 == 202_700_416


@pytest.mark.parametrize(
    ("hidden", "ffn", "heads", "total", "printed"),
    [(4096, 14336, 32, 251_662_336, 0.25), (8192, 28672, 64, 989_863_936, 0.99)],
)
def test_an_eagle_head_of_a_llama_3(hidden, ffn, heads, total, printed):
    """fc, a layer without its first norm, and nothing else: EAGLE's README prints 0.25B and 0.99B."""
    head = read({**EAGLE, "hidden_size": hidden, "intermediate_size": ffn, "num_attention_heads": heads})
    layer = 2 * hidden * hidden + 2 * hidden * 1024 + 3 * hidden * ffn + hidden

    assert parameters(head) == 2 * hidden * hidden + layer == total
    assert round(total / 1e9, 2) == printed


@pytest.mark.parametrize(
    ("config", "id", "kind"),
    [
        ({"architectures": ["EagleLlamaForCausalLM"]}, "x", "eagle"),
        ({"architectures": ["Eagle3LlamaForCausalLM"]}, "x", "eagle3"),
        ({"architectures": ["LlamaForCausalLMEagle"]}, "x", "eagle"),
        ({"architectures": ["LlamaForCausalLMEagle3"]}, "x", "eagle3"),
        ({"architectures": ["LlamaForCausalLM"], "draft_vocab_size": 32000}, "x", "eagle3"),
        ({"architectures": ["LlamaForCausalLM"]}, "yuhuili/EAGLE-LLaMA3-Instruct-8B", "eagle"),
        ({"architectures": ["LlamaForCausalLM"]}, "yuhuili/EAGLE3-LLaMA3.1-Instruct-8B", "eagle3"),
        ({"architectures": ["LlamaForCausalLM"]}, "meta-llama/one-layer", None),
        ({"architectures": ["LlamaForCausalLM"], "num_hidden_layers": 32}, "org/eagle-8b", None),
        ({"architectures": ["Eagle2_5_VLForCausalLM"], "num_hidden_layers": 32}, "x", None),
    ],
)
def test_which_configs_are_of_heads(config, id, kind):
    head = read({**LLAMA_8B, **config}, id).draft_head

    assert (None if head is None else head.kind) == kind


def test_a_head_in_the_wrapper_of_vllm():
    wrapped = {"model_type": "eagle", "architectures": ["EAGLEModel"], "model": LLAMA_8B}

    assert read(wrapped).draft_head.kind == "eagle"
    assert parameters(read(wrapped)) == parameters(read(EAGLE))


def test_a_head_in_the_wrapper_of_speculators():
    wrapped = {
        "architectures": ["Eagle3Speculator"], "speculators_model_type": "eagle3", "draft_vocab_size": 32000,
        "target_hidden_size": None, "transformer_layer_config": LLAMA_8B,
    }  # fmt: skip

    assert read(wrapped).architecture == "Eagle3Speculator"
    assert parameters(read(wrapped)) == parameters(read(EAGLE3))


def test_a_head_narrower_than_its_model_has_a_table_of_its_own():
    """fc takes three hidden states of the model; the table is 128,256 x 2,048."""
    narrow = read({**EAGLE3, "hidden_size": 2048, "target_hidden_size": 4096})
    attention = 2 * 2048 * (2048 + 2 * 512) + 2048 * 2048  # heads of 64
    by_hand = 3 * 4096 * 2048 + attention + 3 * 2048 * 14336 + 4 * 2048 + 32000 * 2048 + 128256 * 2048

    assert parameters(narrow) == by_hand


def test_the_steps_of_an_eagle3_head_fuse_once_a_cycle():
    found = with_head(load("llama-3.1-8b"), read(EAGLE3))

    assert parameters(found.first) - parameters(found.steps) == 3 * 4096 * 4096
    assert found.steps.head.outputs == 32000


def test_an_eagle_head_puts_out_by_the_head_of_its_model():
    found = with_head(load("llama-3.1-8b"), read(EAGLE))

    assert found.own.head is None
    assert found.first == found.steps
    assert parameters(found.steps) - parameters(found.own) == 128256 * 4096


def test_a_head_of_another_model_is_refused():
    with pytest.raises(BadInput, match="hidden size 4,096"):
        with_head(load("llama-3.1-70b"), read(EAGLE3))


def test_the_own_layer_of_deepseek_v3():
    """README_WEIGHTS.md: 11.5B unique parameters. As in the model, the router's correction is a buffer and not counted.

    With it the files' elements add up: the hub lists 3,918,786,560 in BF16 and 680,571,043,840 in FP8 (scales and
    corrections are in FP32), of the model, of this layer, and of the table and the head that it has once more.
    """
    attention = 7168 * 1536 + 1536 * 24576 + 7168 * 576 + 512 * 32768 + 16384 * 7168 + 1536 + 512
    experts = 257 * 3 * 7168 * 2048 + 7168 * 256
    by_hand = attention + experts + 2 * 7168 + 2 * 7168 * 7168 + 3 * 7168

    model, own = load("deepseek-v3"), own_layers(load("deepseek-v3")).own
    assert parameters(own) == by_hand == 11_610_067_968
    assert parameters(model) + parameters(own) + 2 * 129280 * 7168 == 3_918_786_560 + 680_571_043_840


def test_the_own_layer_of_mimo_equals_what_its_files_hold_beyond_the_model():
    """Its published total_size has this many weights more than the model: tests/conformance/test_published_sizes.py."""
    attention = 4096 * (4096 + 2 * 1024) + 4096 + 2 * 1024 + 4096 * 4096
    by_hand = attention + 3 * 4096 * 11008 + 2 * 4096 * 4096 + 5 * 4096

    assert parameters(own_layers(load("mimo-7b-base")).own) == by_hand


def test_the_own_layer_of_qwen35_is_one_of_full_attention():
    found = own_layers(load("qwen3.5-27b"))

    assert [layer.kind for layer in found.own.layers] == ["full attention + dense"]
    assert found.steps.head == load("qwen3.5-27b").head


def test_several_own_layers_are_held_and_one_is_run():
    found = own_layers(load("step-3.7-flash"))

    assert found.own.layers[0].count == 3
    assert found.steps.layers[0].count == 1
    assert parameters(found.own) == 3 * (parameters(found.steps) - parameters_of_head(found.steps))


def parameters_of_head(model):
    return model.head.inputs * model.head.outputs


def test_a_model_without_such_layers_is_refused():
    with pytest.raises(BadInput, match="no layers for multi-token prediction"):
        own_layers(load("llama-3.1-8b"))


def test_a_head_is_read_from_a_file(tmp_path: Path):
    file = tmp_path / "EAGLE3-LLaMA3.1-Instruct-8B" / "config.json"
    file.parent.mkdir()
    file.write_text(json.dumps({**LLAMA_8B, "architectures": ["LlamaForCausalLM"], "draft_vocab_size": 32000}))

    assert load(str(file)).draft_head.kind == "eagle3"


ODD = st.none() | st.booleans() | st.integers(-2, 5) | st.text(max_size=12) | st.lists(st.integers(), max_size=3)


@given(
    st.dictionaries(
        st.sampled_from([
            "architectures", "model", "transformer_layer_config", "speculators_model_type", "draft_vocab_size",
            "target_hidden_size", "eagle_config", "eagle_aux_hidden_state_layer_ids", "num_hidden_layers",
            "add_para_norm", "fusion_bias",
        ]),
        ODD | st.dictionaries(st.text(max_size=5), ODD, max_size=2),
        max_size=5,
    )
)  # fmt: skip
def test_odd_heads_are_read_or_refused(odd):
    with contextlib.suppress(BadInput):
        read({**EAGLE3, **odd}, "org/eagle3-x")
