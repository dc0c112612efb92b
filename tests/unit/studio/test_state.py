"""A question in an address: short, whole, and read back without trust."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflight import __version__
from rooflight.cli import options
from rooflight.cli.app import app
from rooflight.studio import commands
from rooflight.studio.presets import PRESETS
from rooflight.studio.question import Change, Question
from rooflight.studio.state import KEYS, query_of, read_query
from rooflight.values.question import FIELDS


def test_the_default_says_its_version_alone():
    assert query_of(Question()) == f"v={__version__}"


def test_only_what_differs_is_written():
    question = Question(batch=64, cards=["h100-sxm", "h200-sxm"], before=Change(weights="bf16"))

    assert query_of(question) == f"v={__version__}&c=h100-sxm,h200-sxm&b=64&was.w=bf16"


NAMES = st.sampled_from(["h100-sxm", "mi300x", "tpu-v5e"])
QUESTIONS = st.builds(
    Question,
    model=st.sampled_from(["llama-3.1-8b", "org/Name.with+signs", "name & more=1"]),
    cards=st.lists(NAMES, min_size=1, max_size=4),
    focus=st.integers(0, 3),
    weights=st.sampled_from([None, "fp8", "int4-g128"]),
    kv_cache=st.sampled_from([None, "fp8"]),
    attention=st.sampled_from(["flash", "naive"]),
    tp=st.integers(1, 64),
    batch=st.integers(1, 65536),
    isl=st.integers(1, 1 << 22),
    osl=st.integers(1, 1 << 22),
    context=st.none() | st.integers(0, 1 << 22),
    ignore_capacity=st.booleans(),
    prefill_batch=st.integers(1, 9),
    cached_prefix=st.integers(0, 9),
    draft_tokens=st.integers(0, 9),
    chunk_tokens=st.integers(0, 9),
    pp=st.integers(1, 9),
    ep=st.integers(1, 9),
    dp=st.integers(1, 9),
    activations=st.sampled_from([None, "fp8"]),
    compute=st.sampled_from([None, "bf16"]),
    gpu_memory_utilization=st.floats(0.01, 1.0),
    graphs=st.booleans(),
    engine=st.sampled_from([None, "vllm"]),
    bandwidth_times=st.sampled_from([1.0, 0.25, 1.41, 8.0]),
    peak_times=st.sampled_from([1.0, 3.5]),
    before=st.none() | st.builds(Change, weights=st.just("bf16"), context=st.integers(-1, 9)),
)


@given(QUESTIONS)
def test_an_address_gives_its_question_back(question):
    assert read_query(query_of(question)) == (question, [])


@given(st.text(max_size=200))
def test_any_address_gives_a_question(query):
    question, said = read_query(query)

    assert isinstance(question, Question)
    assert all(isinstance(line, str) for line in said)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("b=0", "b='0'"),
        ("b=many&isl=7", "b='many'"),
        ("c=a,b,c,d,e", "at most 4"),
        ("pk=1e9", "pk='1e9'"),
        ("v=9.9.9", "made with rooflight 9.9.9"),
        ("colour=red", "'colour'"),
        ("was.c=h100", "'was.c'"),
        ("a=fast", "a='fast'"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_said_and_left_at_its_default(query, said):
    question, lines = read_query(query)

    assert said in lines[0]
    assert question == Question(isl=question.isl)


def test_a_version_is_the_only_thing_the_same_address_may_be_told_about():
    assert read_query(f"v={__version__}&b=2") == (Question(batch=2), [])


def test_every_field_but_what_is_pasted_or_dropped_has_a_key():
    assert set(Question.model_fields) - {"config", "machine", "samples", "before"} == set(KEYS)
    assert len(set(KEYS.values())) == len(KEYS)


def test_addresses_of_before_are_read_as_they_were():
    question, said = read_query("m=x&kv=fp8&w=int4&a=naive&tp=2&b=3&isl=5&osl=7&ctx=9&all=1&was.kv=auto&was.ctx=-1")

    assert not said
    assert question == Question(
        model="x", kv_cache="fp8", weights="int4", attention="naive", tp=2, batch=3, isl=5, osl=7, context=9,
        ignore_capacity=True, before=Change(kv_cache="auto", context=-1),
    )  # fmt: skip


@pytest.mark.parametrize("preset", PRESETS, ids=lambda one: one.name)
def test_every_preset_can_be_read_and_answered(studio, preset):
    question, said = read_query(preset.query)
    picture = studio.post("/api/picture", question.model_dump()).json()

    assert not said
    assert all(card["analysis"]["phases"] for card in picture["cards"])
    assert (picture["before"] is not None) == ("was." in preset.query)


def figures(studio, name):
    preset = next(one for one in PRESETS if one.name == name)
    question, _ = read_query(preset.query)
    return studio.post("/api/picture", question.model_dump()).json()


def test_the_presets_show_what_they_say(studio):
    """H200 over H100: 4.8 / 3.35 = 1.43 in decode, nothing in prefill. FP8: decode and prefill both gain."""
    h100, h200 = (card["analysis"]["phases"] for card in figures(studio, "Will an H200 help?")["cards"])
    assert h100["decode"]["time_s"]["ceiling"] / h200["decode"]["time_s"]["ceiling"] == pytest.approx(
        4.8 / 3.35, rel=0.01
    )
    assert h100["prefill"]["time_s"]["ceiling"] == pytest.approx(h200["prefill"]["time_s"]["ceiling"], rel=0.01)

    fp8 = figures(studio, "What does FP8 buy in prefill and in decode?")
    now, before = fp8["cards"][0]["analysis"]["phases"], fp8["before"]["phases"]
    assert all(before[name]["time_s"]["ceiling"] > 1.5 * now[name]["time_s"]["ceiling"] for name in now)

    flash = figures(studio, "Why FlashAttention?")
    kernels = [
        next(op for op in phases["prefill"]["operators"] if op["name"] == "attention")
        for phases in (flash["before"]["phases"], flash["cards"][0]["analysis"]["phases"])
    ]
    assert [op["bound"] for op in kernels] == ["memory", "compute"]

    latent = figures(studio, "GQA or MLA at 128k?")
    assert latent["cards"][0]["analysis"]["memory"]["max_batch"] > latent["before"]["memory"]["max_batch"]


@given(QUESTIONS)
def test_the_command_line_asks_the_same(question):
    words = commands.rooflight(question, "llama-3.1-8b").split()
    given_ = app.get_command(None, words[1]).make_context("analyze", words[2:]).params
    fields = options.fields(given_)

    assert words[:2] == ["rooflight", "analyze"]
    assert given_["on"] == question.cards[question.shown]
    for name in FIELDS:
        default = Question.model_fields[name].default
        assert fields.get(name, default) == getattr(question, name)


@pytest.mark.parametrize(
    ("draft", "said"),
    [("llama-3.2-1b", '{"model": "meta-llama/Llama-3.2-1B", "num_speculative_tokens": 4}'),
     ("mtp", '{"method": "mtp", "num_speculative_tokens": 4}')],
)  # fmt: skip
def test_what_drafts_is_a_flag_of_vllm(draft, said):
    words = shlex.split(commands.vllm(Question(draft_model=draft, draft_tokens=4), "org/m"))

    assert words[words.index("--speculative-config") + 1] == said


def test_adapters_and_offload_are_flags_of_vllm():
    """13 GB are 12.11 GiB, which vLLM counts in."""
    words = commands.vllm(Question(lora_rank=16, max_loras=4, cpu_offload_gb="13GB"), "org/m")

    assert words.endswith("--enable-lora --max-lora-rank 16 --max-loras 4 --cpu-offload-gb 12.11")
    assert "lora" not in commands.vllm(Question(), "org/m")


def test_a_size_is_no_checkpoint_that_vllm_could_load():
    assert commands.vllm(Question(model="70b"), "70b").startswith("vllm serve /path/to/model ")
    assert commands.vllm(Question(model="70b", parameters="65b"), "65b").startswith("vllm serve /path/to/model ")


def test_flags_for_vllm():
    question = Question(tp=4, weights="fp8", kv_cache="fp8", batch=64, isl=4000, osl=96)

    assert commands.vllm(question, "org/m") == (
        "vllm serve org/m --tensor-parallel-size 4 --quantization fp8 --kv-cache-dtype fp8 --max-model-len 4096 "
        "--max-num-seqs 64"
    )
    laid = commands.vllm(Question(tp=2, pp=3, ep=2, dp=4, gpu_memory_utilization=0.8, graphs=False), "org/m")
    assert laid.startswith(
        "vllm serve org/m --tensor-parallel-size 2 --pipeline-parallel-size 3 --data-parallel-size 4 "
        "--gpu-memory-utilization 0.8 --enforce-eager --enable-expert-parallel --max-model-len"
    )
    assert "--max-model-len 11 " in commands.vllm(Question(context=10), "org/m")
    assert "--quantization" not in commands.vllm(Question(weights="int4-g128"), "org/m")
