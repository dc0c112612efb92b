"""Module patterns: what they mean, asked of paths one by one with Python's own matchers, and how much they may cost."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

import pytest

from rooflight.catalog.config import model_from_dict
from rooflight.catalog.config.expressions import Budget, Endless
from rooflight.catalog.config.fields import MOST_ENTRIES
from rooflight.catalog.config.patterns import MOST_STEPS, OUTSIDE, Patterns
from rooflight.catalog.config.plan import MOST_WILD
from rooflight.errors import BadConfig

LAYERS = 12
SUFFIXES = ("self_attn.q_proj", "self_attn.o_proj", "mlp.down_proj", "mlp.gate", "mlp.experts.0.down_proj", "mixer.in")
EXPRESSIONS = [".*self_attn.*", r".*layers\.1\..*", r"^model\.layers\.(0|1|[3-5])\.mlp", "(?!.*experts).*proj$", "mlp",
               r".*\d\d\.mlp.*", r"language_model.*", "(?=.*mlp)(?!.*gate).*", "x"]  # fmt: skip
GLOBS = ["*self_attn*", "layers.3*", "layers.?.mlp", "*[!a]proj", "layers.1[01].*", "*", "*.3.*", "[l]ayers.2.*", "a]*"]
FRONTS = ("model.", "", "language_model.model.", "model.language_model.", "backbone.", "transformer.")


def patterns(*entries: str, layers: int = LAYERS, steps: int = MOST_STEPS) -> Patterns:
    return Patterns([(entry, "fp8") for entry in entries], layers, Budget(steps))


def meant(entry: str, number: int, suffix: str) -> bool:
    return patterns(entry).find((suffix,), number) == "fp8"


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_means_what_re_finds_behind_any_usual_front(expression):
    for number in range(LAYERS):
        for suffix in SUFFIXES:
            texts = [f"{front}layers.{number}.{suffix}" for front in FRONTS]
            assert meant(f"re:{expression}", number, suffix) == any(re.match(expression, text) for text in texts)


@pytest.mark.parametrize("glob", GLOBS)
def test_a_glob_means_a_module_or_one_that_it_lies_in(glob):
    for number in range(LAYERS):
        for suffix in SUFFIXES:
            path = f"layers.{number}.{suffix}"
            assert meant(glob, number, suffix) == (fnmatchcase(path, glob) or fnmatchcase(path, f"{glob}.*"))


@pytest.mark.parametrize("word", ["mlp", "experts.0", "3.mlp", "layers", "q_proj", "proj", "layers.11", "1"])
def test_a_word_is_a_run_of_a_paths_parts(word):
    """Names that begin with "layers" and a number are those of single modules, with all that lies in them."""
    for number in range(LAYERS):
        for suffix in SUFFIXES:
            assert meant(word, number, suffix) == (f".{word}." in f".layers.{number}.{suffix}.")


def test_outside_of_the_layers_a_path_has_no_number():
    assert patterns("re:.*lm_head").find(("lm_head",), OUTSIDE) == "fp8"
    assert patterns("lm_*").find(("lm_head",), OUTSIDE) == "fp8"
    assert patterns("re:.*layers.*", "layers").find(("lm_head",), OUTSIDE) is None


def test_the_first_pattern_that_means_a_path_counts_and_is_met():
    several = Patterns([("re:x", "a"), ("re:.*mlp.*", "b"), ("re:.*", "c")], LAYERS, Budget(MOST_STEPS))

    assert several.find(("mlp.gate",), 0) == "b"
    assert several.find(("conv.in",), 0) == "c"
    assert several.unmet == ["re:x"]


def test_a_layer_number_of_any_length_is_read():
    assert patterns(f"layers.{'9' * 5000}.*", f"layers.{'9' * 5000}.mlp").find(("mlp.gate",), 3) is None


@pytest.mark.parametrize("hard", ["re:(.?){99}%d", "re:.*a.*b.*c.*d%d.*", "*e" * 40 + "%d"])
def test_patterns_that_would_take_long_are_given_up(hard):
    with pytest.raises(Endless):
        patterns(*(hard % number for number in range(1000)), steps=100_000).find(SUFFIXES, 3)


MODEL = {
    "model_type": "qwen3_moe", "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
    "num_hidden_layers": 60, "intermediate_size": 96, "moe_intermediate_size": 32, "num_experts": 896,
    "num_experts_per_tok": 8, "vocab_size": 100, "torch_dtype": "bfloat16",
}  # fmt: skip


def read(ignore: list[str]):
    section = {
        "quant_method": "compressed-tensors", "ignore": ignore,
        "config_groups": {"all": {"targets": ["Linear"], "weights": {"num_bits": 4, "type": "int", "group_size": 32}}},
    }  # fmt: skip
    return model_from_dict({**MODEL, "quantization_config": section}, id="x", origin="config.json")


def test_hundreds_of_expressions_for_hundreds_of_experts_are_well_within_the_budget():
    model = read([rf"re:.*layers\.\d+\.mlp\.experts\.{number}\.(gate|up|down)_proj$" for number in range(1, 201)])

    assert model.layers[0].experts.linears[0].format == "ct-int4-g32"


def test_names_of_every_matrix_of_every_expert_are_read():
    every = (f"model.layers.{layer}.mlp.experts.{number}.up_proj" for layer in range(60) for number in range(896))

    assert read(list(every)).layers[0].experts.linears[0].format == "bf16"


def test_patterns_too_hard_for_the_budget_are_refused_by_section():
    with pytest.raises(BadConfig, match="take too long to match") as caught:
        read([f"re:(.?){{99}}{number}" for number in range(MOST_WILD)])

    assert caught.value.where == "config.json: quantization_config"


@pytest.mark.parametrize(
    ("ignore", "said"),
    [
        ([f"*{number}" for number in range(10_000)], "too many globs and expressions"),
        (["x"] * (MOST_ENTRIES + 1), "at most 250,000 entries"),
        (["x", 3], "a list of names"),
        ([["x"]], "a list of names"),
    ],
)
def test_lists_beyond_all_measure_or_of_other_things_are_refused(ignore, said):
    with pytest.raises(BadConfig, match=said) as caught:
        read(ignore)

    assert caught.value.where == "config.json: quantization_config.ignore"


def test_of_many_unreadable_patterns_a_few_are_said():
    model = read([f"re:({number}" for number in range(500)])

    assert len([one for one in model.warnings if "passed over" in one]) == 3 + 1
