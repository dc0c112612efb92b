"""Names of models in other storage forms than the catalog's."""

from __future__ import annotations

import pytest

import rooflight
from rooflight.catalog import forms, models
from rooflight.errors import RooflightError, UnknownName
from rooflight.show import models as show


@pytest.mark.parametrize(
    ("name", "id", "form"),
    [
        ("qwen3-30b-a3b", "Qwen/Qwen3-30B-A3B", None),
        ("qwen3-30b-a3b-fp8", "Qwen/Qwen3-30B-A3B", "fp8"),
        ("qwen3-30b-a3b-awq", "Qwen/Qwen3-30B-A3B", "awq-int4-g128"),
        ("Qwen/Qwen3-30B-A3B-GPTQ-Int4", "Qwen/Qwen3-30B-A3B", "gptq-int4-g128"),
        ("qwen3-30b-a3b-gguf", "Qwen/Qwen3-30B-A3B", None),  # a container of many formats
        ("llama-3.1-8b-instruct-q4_k_m", "meta-llama/Meta-Llama-3.1-8B", "q4_k_m"),
        ("Meta-Llama-3.1-8B-Instruct-Q4_K_M-GGUF", "meta-llama/Meta-Llama-3.1-8B", "q4_k_m"),
        ("llama3.1:8b-instruct-q4_K_M", "meta-llama/Meta-Llama-3.1-8B", "q4_k_m"),
        ("gemma-3-12b-it-4bit", "google/gemma-3-12b-it", "mlx-4bit-g64"),
        ("Llama-3.1-8B-Instruct-FP8-dynamic", "meta-llama/Meta-Llama-3.1-8B", "fp8-channel"),
        ("Llama-3.1-8B-Instruct-quantized.w4a16", "meta-llama/Meta-Llama-3.1-8B", "ct-int4-g128"),
        ("Llama-3.1-8B-Instruct-quantized.w8a8", "meta-llama/Meta-Llama-3.1-8B", "w8a8-int8"),
        ("Llama-3.1-8B-Instruct-4.0bpw-h6-exl2", "meta-llama/Meta-Llama-3.1-8B", "exl2-4bpw"),
        ("Llama-3.1-8B-Instruct-exl3-3.5bpw", "meta-llama/Meta-Llama-3.1-8B", "exl3-3.5bpw"),
        ("Llama-3.1-8B-Instruct-exl3", "meta-llama/Meta-Llama-3.1-8B", None),  # branches of many widths
        ("qwen3-32b-fp8", "Qwen/Qwen3-32B-FP8", None),  # an entry of its own
    ],
)  # fmt: skip
def test_what_a_name_ends_in_is_the_format_of_its_weights(name, id, form, monkeypatch):
    monkeypatch.setattr(models, "_from_hub", _out_of_reach)
    model = models.load(name)

    assert (model.id, model.asked_format) == (id, form)


def _out_of_reach(name):
    raise UnknownName("the hub is out of reach", got=name)


def test_the_answer_says_what_was_read():
    assert models.load("qwen3-30b-a3b-awq").assumptions[-1].endswith("are read as awq-int4-g128, as the name says")
    assert "no one format" in models.load("qwen3-30b-a3b-gguf").assumptions[-1]


def test_a_repository_of_the_hub_goes_before_the_catalogs_shape(monkeypatch):
    other = models.load("Qwen/Qwen3-8B")
    monkeypatch.setattr(models, "_from_hub", lambda name: other)

    assert models.load("Qwen/Qwen3-30B-A3B-GPTQ-Int4") is other


def test_of_one_model_in_several_forms_the_plain_one_is_taken_and_the_others_are_named():
    model = models.load("nemotron-3-nano-30b-a3b")

    assert model.id == "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"
    note = next(one for one in model.assumptions if "nemotron-3-nano-30b-a3b is read as" in one)
    assert "NVFP4" in note


def test_a_bare_name_of_a_quantised_checkpoint_alone_says_which_it_is():
    model = models.load("kimi-k2.7-code")

    assert model.id == "nvidia/Kimi-K2.7-Code-NVFP4"
    assert any("is read as nvidia/Kimi-K2.7-Code-NVFP4" in one for one in model.assumptions)


@pytest.mark.parametrize("name", ["mistral-7b-instruct"])
def test_two_models_are_still_refused(name):
    with pytest.raises(UnknownName, match="more than one model"):
        models.load(name)


@pytest.mark.parametrize("name", ["llama3.1:8b", "llama3.1-8b", "Llama 3.1 8B", "llama_3.1_8b"])
def test_what_stands_between_words_does_not_matter(name):
    assert models.load(name).id == "meta-llama/Meta-Llama-3.1-8B"


@pytest.mark.parametrize("name", ["-fp8", "Q4_K_M", "x-fp8", "qwen3-8b-q99_z", "a" * 5000 + "-fp8", "-int4" * 40_000])
def test_other_endings_name_nothing(name):
    with pytest.raises(RooflightError):
        models.catalogued(name)


def test_the_format_of_the_name_is_the_one_that_is_run():
    def decode(name, **formats):
        return rooflight.analyze(name, on="rtx-4090", **formats).phases["decode"]

    stated = decode("llama-3.1-8b", weights="q4_k_m")

    assert decode("llama-3.1-8b-q4_k_m") == stated != decode("llama-3.1-8b-q4_k_m", weights="q8_0")


def test_the_weights_of_a_model_are_shown_in_the_format_of_its_name():
    plain, asked = show.page(models.load("llama-3.1-8b")), show.page(models.load("llama-3.1-8b-q4_k_m"))

    assert (plain.quantization, asked.quantization) == (None, "q4_k_m")
    assert asked.model.weight_bytes < plain.model.weight_bytes / 3


def test_the_plainest_of_names_that_are_one_model():
    assert forms.plainest({"o/X-FP8": "a", "o/X-BF16": "b", "o/X-NVFP4": "c"}) == "b"
    assert forms.plainest({"o/X-FP8": "a", "o/X": "b"}) == "b"
    assert forms.plainest({"o/X": "a", "o/Y": "b"}) is None
