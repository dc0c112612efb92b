"""Speculation with a named draft: its own steps, cache, weights and launches, by hand."""

import json

import pytest

import rooflight
from rooflight.errors import BadInput
from rooflight.library.questions import make_scenario
from rooflight.serve import phases
from rooflight.serve.limits import decode_sums, prompt_sums
from rooflight.serve.replica import replica
from rooflight.serve.room import room

H100 = 3.35e12  # bytes/s
# 1,235,814,400 parameters, the head tied to the table and streamed as the head
DRAFT_BYTES = 2 * 1_235_814_400
# 16 layers, 8 heads of 64, keys and values in bf16
DRAFT_KV = 16 * 2 * 8 * 64 * 2
# Llama-3.1-70B: all but the input table of 128,256 x 8,192
MODEL_BYTES = 2 * (70_553_706_496 - 128_256 * 8_192)
MODEL_KV = 80 * 2 * 8 * 128 * 2
NO_DRAFT = {"draft_model": None}
CONTEXT = 1024 + 256 / 2 - 1
K = 4
# 1 + 0.7 + 0.7^2 + 0.7^3 + 0.7^4
TOKENS = sum(0.7**place for place in range(K + 1))


def asked(on="h100-sxm", **fields):
    given = {"draft_tokens": K, "draft_model": "llama-3.2-1b", "ignore_capacity": True, **fields}
    return make_scenario("llama-3.1-70b", on, **given)


def test_the_ceiling_of_a_cycle_is_the_verify_step_and_k_draft_steps():
    """Weights once a step and the cache of 1,151 tokens with what is new, over the bandwidth; nothing stays on chip.

    By hand without the products' activations, a thousandth of it.
    """
    sc = asked()
    draft_s = (DRAFT_BYTES + DRAFT_KV * (CONTEXT + 1)) / H100
    verify_s = (MODEL_BYTES + MODEL_KV * (CONTEXT + K + 1)) / H100

    assert phases.draft(sc).span.ceiling == pytest.approx(draft_s, rel=1e-3)
    assert phases.verify(sc).span.ceiling == pytest.approx(verify_s, rel=1e-3)
    assert phases.token(sc)[1].ceiling == pytest.approx((verify_s + K * draft_s) / TOKENS, rel=1e-3)
    assert draft_s < phases.draft(sc).span.ceiling
    # 41.6 ms to verify and four times 0.75 ms to draft, for 2.77 tokens
    assert phases.token(sc)[1].ceiling == pytest.approx((0.0416 + 4 * 0.00075) / 2.773, rel=2e-3)


def test_the_answer_has_the_draft_and_its_cycle():
    found = rooflight.analyze(
        "llama-3.1-70b", "h100-sxm", draft_tokens=K, draft_model="llama-3.2-1b", ignore_capacity=True
    )
    block = found.speculation

    assert block.draft == "meta-llama/Llama-3.2-1B"
    assert (block.parameters, block.weight_bytes) == (1_235_814_400, DRAFT_BYTES)
    assert block.kv_bytes_per_token == DRAFT_KV
    assert block.tokens_per_cycle == pytest.approx(TOKENS)
    assert block.draft_s.ceiling == pytest.approx(K * found.phases["draft"].time_s.ceiling)
    assert block.cycle_s.ceiling == pytest.approx(block.draft_s.ceiling + found.phases["verify"].time_s.ceiling)
    assert found.runs["alone"].tpot_s.ceiling == pytest.approx(block.cycle_s.ceiling / TOKENS, rel=1e-3)
    assert "Llama-3.2-1B's steps before it" in found.answer


def test_without_a_named_draft_nothing_is_said_of_one():
    found = rooflight.analyze("llama-3.1-8b", "h100-sxm", draft_tokens=K)

    assert found.speculation is None
    assert "speculation" not in found.to_dict()
    assert "draft" not in found.phases


def test_a_draft_takes_memory_for_its_weights_and_its_cache():
    plain, drafted = (
        rooflight.analyze("llama-3.1-70b", "4xh100-sxm", draft_tokens=K, **more).memory
        for more in ({}, {"draft_model": "llama-3.2-1b"})
    )

    # the whole model on its 4 devices, in shares of a quarter: of the vectors, 33 of 2,048, each holds all
    assert drafted.weights_bytes - plain.weights_bytes == DRAFT_BYTES + 3 * 33 * 2048 * 2
    assert drafted.kv_bytes - plain.kv_bytes == DRAFT_KV * (1024 + 256 + K)
    assert drafted.max_batch < plain.max_batch


@pytest.mark.parametrize("batch", [1, 7, 64])
@pytest.mark.parametrize("schedule", ["alone", "batch", "served"])
def test_times_keep_their_order_and_drafting_is_never_free(batch, schedule):
    free, named = (
        rooflight.analyze("llama-3.1-70b", "4xh100-sxm", batch=batch, draft_tokens=K, draft_share=share, **more)
        for share, more in ((0.0, {}), (0.05, {"draft_model": "llama-3.2-1b"}))
    )
    for name in ("ttft_s", "tpot_s", "request_s"):
        one, other = getattr(named.runs[schedule], name), getattr(free.runs[schedule], name)
        assert one.ceiling <= one.roofline <= one.expected <= one.high
        assert one.ceiling <= one.low
        if name != "ttft_s":
            assert one.ceiling > other.ceiling
            assert one.roofline > other.roofline
            assert one.expected > other.expected


def test_a_draft_as_large_as_the_model_is_no_faster_than_plain_decoding():
    """k steps of the model itself and one to verify them yield k + 1 tokens if all are accepted."""
    plain = rooflight.analyze("llama-3.1-8b", "h100-sxm")
    same = rooflight.analyze("llama-3.1-8b", "h100-sxm", draft_tokens=K, draft_model="llama-3.1-8b", acceptance=1.0)

    assert same.runs["alone"].tpot_s.ceiling == pytest.approx(plain.runs["alone"].tpot_s.ceiling, rel=0.01)
    assert same.runs["alone"].tpot_s.ceiling >= plain.runs["alone"].tpot_s.ceiling


def test_the_sums_of_a_run_have_the_draft_in_every_resource():
    """A hundred requests: bytes of a hundredth of the weights each, of the model and k times of the draft."""
    with_draft, bare = (replica(asked(batch=100, osl=201, schedule="served", **more)) for more in ({}, NO_DRAFT))
    steps, plain = decode_sums(with_draft), decode_sums(bare)
    drafts = 200 / TOKENS * K
    # 1,024 tokens of the prompt and 99.5 of the output are read in the mean, and one is written; the activations of a
    # hundred sequences, 1.65 MB each, are left out
    bytes_of_a_step = DRAFT_BYTES + 100 * DRAFT_KV * (1024 + 99.5 + 1)

    assert steps.memory_s - plain.memory_s == pytest.approx(drafts * bytes_of_a_step / H100, rel=0.03)
    # 2 FLOP a weight, at the fastest that the card's clock allows
    fastest = asked().rates.fastest("bf16")
    assert steps.compute_s - plain.compute_s == pytest.approx(
        100 * drafts * 2 * 1_235_814_400 / fastest, rel=0.1
    )  # attention beside it
    prompts, bare_prompts = prompt_sums(with_draft), prompt_sums(bare)
    assert prompts.memory_s - bare_prompts.memory_s == pytest.approx(100 * DRAFT_KV * 1024 / H100)
    assert prompts.lone_s == bare_prompts.lone_s


def test_a_draft_that_the_tensor_ranks_cannot_cut_runs_on_one_of_them():
    """Qwen2.5-0.5B has 14 heads."""
    found = rooflight.analyze("qwen2.5-72b", "8xh100-sxm", draft_tokens=K, draft_model="qwen2.5-0.5b")

    assert found.speculation.tp == 1
    assert any("cannot be cut over 8 devices" in text for text in found.assumptions)


def test_another_vocabulary_is_a_note():
    found = rooflight.analyze("llama-3.1-70b", "4xh100-sxm", draft_tokens=K, draft_model="qwen2.5-0.5b")

    assert any("a vocabulary of 151,936 and the model one of 128,256" in text for text in found.assumptions)


def test_a_narrower_draft_reads_fewer_bytes():
    wide, narrow = (phases.draft(asked(draft_weights=weights)).time.work.weight_bytes for weights in (None, "fp8"))
    # 16 layers of q, k, v, o and three of the feed-forward lose a byte a weight
    linear = 16 * (2048 * (2048 + 2 * 512) + 2048 * 2048 + 3 * 2048 * 8192)

    assert wide - narrow == pytest.approx(linear, rel=0.01)


def test_the_room_of_a_sequence_has_the_draft_cache():
    one, bare = room(asked()), room(asked(draft_model=None))

    assert one.cache - bare.cache == DRAFT_KV * (1024 + 256 + K)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"draft_model": "llama-3.2-1b", "draft_tokens": 0}, "drafts no tokens"),
        ({"draft_model": None, "draft_weights": "fp8"}, "none is named"),
        ({"draft_share": 0.2}, "the time of drafting is stated"),
        ({"draft_model": "no-such-model"}, "no model"),
        ({"draft_model": "bert-base"}, "puts out no tokens"),
    ],
)
def test_what_cannot_draft_is_refused(fields, said):
    with pytest.raises(BadInput, match=said):
        asked(**fields)


def test_layers_of_a_draft_are_spread_over_stages():
    """Two stages in turn take what one device would: the draft's bytes at one device's bandwidth, and a hop."""
    one = asked("h100-sxm")
    two = asked("2xh100-sxm", pp=2, tp=1)

    assert two.draft.steps.layout.pp == 2
    assert phases.draft(two).span.ceiling == pytest.approx(phases.draft(one).span.ceiling, rel=1e-2)
    assert room(two).weights - room(asked("2xh100-sxm", pp=2, tp=1, **NO_DRAFT)).weights == DRAFT_BYTES / 2


def test_a_head_is_not_spread_over_stages():
    with pytest.raises(BadInput, match="cannot be spread over the 2 stages"):
        make_scenario("glm-4.5-air", "8xh100-sxm", pp=2, draft_tokens=1, draft_model="mtp")


def test_a_comparison_has_no_drafts():
    with pytest.raises(BadInput, match="it has no draft_model"):
        rooflight.compare("llama-3.1-70b", "4xh100-sxm", draft_model="llama-3.2-1b")


def test_moves_try_the_draft_that_is_named():
    found = rooflight.moves("llama-3.1-70b", "4xh100-sxm", draft_model="llama-3.2-1b", speculative_tokens=5)
    one = next(move for move in found.moves if move.kind == "speculative-decoding")

    assert one.title == "speculative decoding, 5 tokens drafted by llama-3.2-1b"
    assert any("timed by their own kernels" in text for text in one.assumed)


def test_a_row_of_a_table_names_its_draft():
    row = {
        "model": "llama-3.1-8b", "accelerator": "h100-sxm", "metric": "tpot_ms", "phase": "decode", "value": 4.0,
        "batch": 1, "input_len": 1024, "draft_tokens": K,
    }  # fmt: skip
    bare, named, strange = (
        rooflight.check({**row, "draft_model": name}).rows[0] for name in ("", "llama-3.2-1b", "./x.json")
    )
    # the context of the row: 1,024 tokens cached
    draft_ms = 1000 * (DRAFT_BYTES + DRAFT_KV * 1025) / H100

    assert named.ceiling - bare.ceiling == pytest.approx(K * draft_ms / TOKENS, rel=1e-3)
    assert strange.verdict == "cannot-judge"
    assert "no draft model" in strange.reason


def test_own_layers_draft_with_the_head_of_the_model():
    """GLM-4.5-Air: a layer of 128 experts, of which one token touches 8, and the head of 151,552 x 4,096."""
    sc = make_scenario("glm-4.5-air", "4xh100-sxm", draft_tokens=1, draft_model="mtp")
    attention = 4096 * (96 + 2 * 8) * 128 + 96 * 128 * 4096 + (96 + 2 * 8) * 128
    cut = attention + 9 * 3 * 4096 * 1408 + 151552 * 4096
    whole = 2 * 4096 * 4096 + 128 * 4096 + 5 * 4096  # fc, router and norms, on each of the four devices
    read = 2 * (cut + 4 * whole)

    assert phases.draft(sc).work.weight_bytes == pytest.approx(read, rel=1e-3)
    assert room(sc).weights - room(make_scenario("glm-4.5-air", "4xh100-sxm")).weights > 2 * 2_375_059_456 / 4


def test_an_eagle3_head_drafts_from_its_config(tmp_path):
    """k = 3: fc of 3 x 4,096 by 4,096 once, the layer and the head of 32,000 three times."""
    file = tmp_path / "config.json"
    file.write_text(json.dumps({
        "architectures": ["LlamaForCausalLMEagle3"], "model_type": "llama", "hidden_size": 4096,
        "intermediate_size": 14336, "num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": 1,
        "vocab_size": 128256, "draft_vocab_size": 32000, "torch_dtype": "bfloat16",
    }))  # fmt: skip
    found = rooflight.analyze("llama-3.1-8b", "h100-sxm", draft_tokens=3, draft_model=str(file), context=0)
    fc, rest = 3 * 4096 * 4096, 424_689_664 - 3 * 4096 * 4096
    # 50 MB lie in the last-level cache from the step before where a step streams less than 16 times that: not in the
    # first one, of 849 MB
    by_hand = (2 * (fc + 3 * rest) - 2 * 50e6) / H100

    assert found.speculation.parameters == 424_689_664
    assert found.speculation.draft_s.ceiling == pytest.approx(by_hand, rel=3e-3)
    assert found.speculation.vocab == 32000
    assert not any("may refuse the pair" in text for text in found.assumptions)


def test_a_head_does_not_run_by_itself(tmp_path):
    file = tmp_path / "config.json"
    file.write_text(json.dumps({
        "architectures": ["LlamaForCausalLMEagle"], "model_type": "llama", "hidden_size": 4096,
        "intermediate_size": 14336, "num_attention_heads": 32, "num_hidden_layers": 1, "vocab_size": 128256,
    }))  # fmt: skip
    with pytest.raises(BadInput, match="does not run by itself"):
        rooflight.analyze(str(file), "h100-sxm")


def test_own_layers_have_the_formats_of_the_model():
    with pytest.raises(BadInput, match="in the model's own formats"):
        rooflight.analyze("deepseek-v3", "8xh200-sxm", draft_tokens=1, draft_model="mtp", draft_weights="fp8")


def test_a_verify_step_of_experts_touches_those_of_all_its_tokens():
    """128 experts of which a token chooses 8: of 5 tokens 128 (1 - (1 - 8 / 128)^5) are read, of one 8."""
    plain, checked = (
        phases.decode(sc).work.weight_bytes if of == 1 else phases.verify(sc).work.weight_bytes
        for of in (1, 5)
        for sc in [make_scenario("qwen3-30b-a3b", "h100-sxm", draft_tokens=4)]
    )
    more = 128 * (1 - (1 - 8 / 128) ** 5) - 8

    assert checked - plain == pytest.approx(48 * more * 3 * 2048 * 768 * 2)


def test_explain_has_the_draft_steps_of_a_cycle():
    """4 ms a token are cycles of 4 x 2.77 ms, in which the draft is read four times."""
    plain, drafted = (
        rooflight.explain(model="llama-3.1-8b", on="h100-sxm", tpot_ms=4, draft_tokens=K, **more)
        for more in ({}, {"draft_model": "llama-3.2-1b"})
    )
    one, other = (dict(found.values) for found in (plain, drafted))

    assert other["weight_bytes"] - one["weight_bytes"] == K * DRAFT_BYTES
    assert other["kv_bytes"] - one["kv_bytes"] == K * DRAFT_KV * (CONTEXT + 1)
    assert "draft steps before it" in drafted.answer


@pytest.mark.parametrize(
    ("model", "on", "more"),
    [("llama-3.1-8b", "h100-sxm", {"osl": 0}), ("llama-3.1-8b", "h100-sxm", {"batch": 5000})],
)
def test_a_cycle_that_cannot_be_has_no_times(model, on, more):
    found = rooflight.analyze(model, on, draft_tokens=K, draft_model="llama-3.2-1b", **more)

    assert found.speculation.parameters == 1_235_814_400
    assert found.speculation.cycle_s is None
    assert found.speculation.draft_s is None
    assert found.phases_or_null["draft"] is None


def test_what_does_not_fit_beside_its_draft_does_not_fit():
    """Llama-3.1-8B takes 16.1 GB of a card of 24 GB, Llama-3.1-8B once more does not fit beside it."""
    alone, beside = (
        rooflight.analyze("llama-3.1-8b", "rtx-4090", draft_tokens=K, **more)
        for more in ({}, {"draft_model": "llama-3.1-8b"})
    )

    assert alone.fits
    assert beside.bound == "capacity"
    assert beside.phases_or_null is None


def test_a_draft_runs_beside_decode_workers():
    """Two decode workers of 16 requests are twice one of 8."""
    one, two = (
        make_scenario(
            "llama-3.1-70b", "4xh100-sxm", batch=batch, draft_tokens=K, draft_model="llama-3.2-1b",
            prefill_workers=1, decode_workers=workers,
        )
        for workers, batch in ((1, 8), (2, 16))
    )  # fmt: skip

    assert phases.draft(one).span.ceiling == pytest.approx(phases.draft(two).span.ceiling)
    assert 2 * phases.draft(one).work.weight_bytes == pytest.approx(phases.draft(two).work.weight_bytes)


def test_a_draft_of_a_model_that_is_partly_on_the_host_is_on_the_device():
    sc = make_scenario(
        "llama-3.1-70b", "rtx-4090", engine="llama.cpp", weights="q4_k_m", draft_weights="q4_k_m", n_gpu_layers=20,
        draft_tokens=K, draft_model="llama-3.2-1b",
    )  # fmt: skip
    draft = phases.draft(sc)

    assert draft.time.host_memory_s is None
    assert draft.span.ceiling < 0.05 * phases.verify(sc).span.ceiling


@pytest.mark.parametrize("engine", ["vllm", "sglang", "tensorrt-llm", "llama.cpp"])
def test_every_engine_drafts(engine):
    found = rooflight.analyze("qwen3.5-27b", "2xh100-sxm", draft_tokens=2, draft_model="mtp", engine=engine, batch=4)
    token = found.runs["served"].tpot_s

    assert token.ceiling <= token.roofline <= token.expected <= token.high
    assert found.speculation.draft == "Qwen/Qwen3.5-27B (MTP)"


def test_a_draft_s_format_that_is_none_is_said_by_its_own_field():
    with pytest.raises(BadInput) as caught:
        asked(draft_weights="nonsense")

    assert caught.value.where == "draft_weights"
