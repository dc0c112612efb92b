"""The answer: every field of the contract, sums that come out, and the numbers everybody can check."""

from __future__ import annotations

import json
import math
import re

import msgspec
import pytest

import rooflight
from rooflight.errors import BadInput, UnknownName
from rooflight.values.accelerator import Link
from rooflight.work.count import streamed_weight_bytes
from unit.evaluations import evaluations, twice
from unit.models import card, deepseek_v3, llama_3_8b, llama_3_70b, tiny_dense, tiny_hybrid, tiny_mla, tiny_moe

SPAN = {"ceiling", "roofline", "expected", "low", "high"}
OPERATOR = {"name", "count", "flop", "bytes", "link_bytes", "intensity_flop_per_byte", "bound", "time_s", "share"}
PHASE = {
    "flop": None,
    "bytes": {"weights", "kv_read", "kv_write", "activations", "total"},
    "link_bytes": None,
    "launches": None,
    "intensity_flop_per_byte": None,
    "ridge_flop_per_byte": None,
    "bound": None,
    "ceilings_s": {"compute", "memory", "link", "launch"},
    "time_s": SPAN,
    "tokens_per_s": SPAN,
    "tokens_per_s_per_user": SPAN,
    "operators": [OPERATOR],
}
CONTRACT = {
    "schema": None,
    "answer": None,
    "model": {
        "id", "parameters", "active_parameters", "weight_bytes", "streamed_weight_bytes", "kv_bytes_per_token",
        "window_kv_bytes_per_token", "state_bytes_per_sequence",
    },
    "accelerator": {
        "id", "count", "peak_flop_per_s", "memory_bytes_per_s", "memory_bytes", "ridge_flop_per_byte",
    },
    "workload": {"batch", "prefill_batch", "isl", "osl", "context", "cached_prefix"},
    "deployment": {
        "tp", "pp", "ep", "dp", "weights", "activations", "kv_cache", "gpu_memory_utilization", "attention", "graphs",
    },
    "assumptions": None,
    "phases": {"prefill": PHASE, "decode": PHASE},
    "memory": {"weights_bytes", "kv_bytes", "reserve_bytes", "usable_bytes", "fits", "max_batch"},
}  # fmt: skip
LINKED = card(link=Link(name="link", bytes_per_s=10.0))


def missing(contract, found, path=""):
    """Fields of the contract that a document lacks; None accepts any value, and null is a value."""
    if contract is None:
        return []
    if isinstance(contract, list):
        return [gap for one in found for gap in missing(contract[0], one, f"{path}[]")] if found else [f"{path}[]"]
    gaps = [f"{path}.{key}" for key in contract if key not in found]
    if isinstance(contract, dict):
        for key, inner in contract.items():
            if key in found and found[key] is not None:
                gaps += missing(inner, found[key], f"{path}.{key}")
    return gaps


def numbers_in(found):
    if isinstance(found, dict):
        found = list(found.values())
    if isinstance(found, list):
        for one in found:
            yield from numbers_in(one)
    elif isinstance(found, float):
        yield found


def on_h100(model=None, **fields):
    return rooflight.analyze(model or llama_3_8b(), on=fields.pop("on", "h100-sxm"), **fields)


# --- the contract --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "on", "fields"),
    [
        (llama_3_8b(), "h100-sxm", {}),
        (llama_3_8b(), "4xh100-sxm", {"batch": 64, "weights": "fp8", "draft_tokens": 3, "chunk_tokens": 512}),
        (deepseek_v3(), "8xh200-sxm", {"batch": 32}),
        (tiny_hybrid(), "mi300x", {"attention": "naive", "graphs": False}),
    ],
    ids=["plain", "tp4", "moe", "hybrid"],
)
def test_every_field_of_the_contract_is_there_and_is_json(model, on, fields):
    answer = rooflight.analyze(model, on, ignore_capacity=True, **fields)
    document = answer.to_dict()

    assert missing(CONTRACT, document) == []
    assert document["schema"] == "rooflight.analysis/1"
    assert json.loads(msgspec.json.encode(answer)) == json.loads(json.dumps(document))
    assert all(math.isfinite(number) for number in numbers_in(document))


def test_the_walker_sees_a_gap():
    document = on_h100().to_dict()
    del document["phases"]["decode"]["operators"][0]["share"]
    del document["memory"]["fits"]

    assert missing(CONTRACT, document) == [".phases.decode.operators[].share", ".memory.fits"]


def test_every_phase_and_the_request_have_an_expected_time():
    answer = on_h100(batch=8, draft_tokens=3, chunk_tokens=128)
    for span in (answer.request.time_s, *(phase.time_s for phase in answer.phases.values())):
        assert span.ceiling < span.low < span.expected < span.high
        assert span.roofline < span.expected


def test_a_request_is_its_prefill_and_its_decode_steps():
    """isl 1000, osl 101: 100 steps of 1000 to 1099 cached tokens; those of a request without windows are a line."""
    answer = on_h100(isl=1000, osl=101, context=1050)
    prefill, decode = (answer.phases[name].time_s for name in ("prefill", "decode"))

    assert answer.request.time_s.expected == pytest.approx(prefill.expected + 100 * decode.expected, rel=1e-3)
    assert answer.request.prefill_share.expected == pytest.approx(prefill.expected / answer.request.time_s.expected)


def test_drafted_tokens_and_prompt_chunks_make_a_step_longer():
    answer = on_h100(batch=8, draft_tokens=3, chunk_tokens=512)
    step = {name: phase.time_s.expected for name, phase in answer.phases.items()}

    assert step["decode"] < step["verify"] < 4 * step["decode"]
    assert step["decode"] < step["mixed"] < step["decode"] + step["prefill"]


def test_whose_fits_are_taken_is_said():
    said = "; ".join(on_h100().assumptions)
    assert "the mean of the serving engines" in said
    assert "kernel fits" not in said
    assert "the mean of the serving engines" not in "; ".join(on_h100(engine="vllm").assumptions)
    turing = rooflight.analyze(llama_3_8b(), "t4", tp=2, ignore_capacity=True)
    assert "expected times of Turing take the kernel fits of Ampere, with intervals" in "; ".join(turing.assumptions)


def test_an_engine_that_ran_on_the_card_has_its_own_interval_there_and_no_year_but_where_it_tells_versions_apart():
    """llama.cpp has fits of one time, RX 9070 XT among their cards; vLLM of two."""
    radeon = "; ".join(on_h100(llama_3_8b(), on="rx-9070-xt", engine="llama.cpp-vulkan", weights="q4_k_m").assumptions)
    older = "; ".join(on_h100(engine="vllm", engine_version="0.6").assumptions)

    assert "expected times of RDNA4 take the kernel fits of Ada: none of its own were measured" in radeon
    assert "expected times of llama.cpp (vulkan) were fitted to offline runs, on radeon-ai-pro-r9700" in radeon
    assert "expected times of vllm were fitted to offline runs, most of them of 2024 and before, on " in older


def test_a_first_token_is_no_surer_than_the_prompt_in_it():
    """No run of llama.cpp showed a server's own time, so what is known of its prompts is all there is."""
    found = on_h100(llama_3_8b(), on="ryzen-ai-max-395", engine="llama.cpp-vulkan", weights="q4_k_m")
    first, prompt = found.runs["alone"].ttft_s, found.phases["prefill"].time_s

    assert first.high / first.expected >= prompt.high / prompt.expected
    assert first.low / first.expected <= prompt.low / prompt.expected


def test_a_model_that_does_not_fit_has_no_times_but_a_memory_block():
    answer = on_h100(llama_3_70b())
    document = answer.to_dict()

    assert not answer.fits
    assert (document["phases"], document["request"], document["bound"]) == (None, None, "capacity")
    assert missing(CONTRACT, document) == []
    assert document["memory"]["weights_bytes"] == 2 * 70_553_706_496
    assert document["memory"]["max_batch"] == 0


def test_ignoring_capacity_computes_and_still_says_it_does_not_fit():
    answer = on_h100(llama_3_70b(), ignore_capacity=True)

    assert answer.bound == "capacity"
    assert answer.phases["decode"].time_s.ceiling > 0
    assert "does not fit" in answer.answer
    assert "Ignoring that" in answer.answer


def test_the_number_of_cards_that_would_hold_it_is_the_smallest_that_does():
    said = int(re.search(r"(\d+) x h100-sxm would hold it", on_h100(llama_3_70b()).answer).group(1))
    degrees = [(tp, pp) for tp in (1, 2, 4, 8) for pp in range(1, 9) if tp * pp <= said]
    fits = {tp * pp for tp, pp in degrees if on_h100(llama_3_70b(), tp=tp, pp=pp).fits}

    assert min(fits) == said


def test_the_format_that_would_hold_it_does():
    form = re.search(r"--weights (\S+) would fit on h100-sxm", on_h100(llama_3_70b()).answer).group(1)

    assert on_h100(llama_3_70b(), weights=form).fits


def test_the_answer_is_one_sentence_with_the_numbers_of_the_phases():
    answer = on_h100(context=0)

    said = "decode at 0 tokens of context is memory-bound, at best 4.48 ms a token"
    assert f"llama-3-8b (bf16 weights) on h100-sxm: {said}" in answer.answer
    assert answer.answer.count("\n") == 0


# --- sums ----------------------------------------------------------------------------------------------------------

CASES = [
    (llama_3_8b(), "h100-sxm", {}),
    (llama_3_8b(), "8xh100-sxm", {"pp": 2, "dp": 2, "batch": 33, "prefill_batch": 3}),
    (deepseek_v3(), "16xh200-sxm", {"tp": 8, "dp": 2, "ep": 16, "batch": 64, "weights": "fp8"}),
    (tiny_mla(), LINKED, {"tp": 2, "batch": 5}),
    (tiny_hybrid(), LINKED, {"draft_tokens": 2, "chunk_tokens": 7, "isl": 20}),
]


@pytest.mark.parametrize(("model", "on", "fields"), CASES, ids=["dense", "pp-dp", "ep", "mla", "hybrid"])
def test_parts_add_up_to_their_wholes(model, on, fields):
    for phase in rooflight.analyze(model, on, ignore_capacity=True, **fields).phases.values():
        moved = phase.bytes
        assert moved.total == pytest.approx(moved.weights + moved.kv_read + moved.kv_write + moved.activations)
        assert phase.flop == pytest.approx(sum(op.flop for op in phase.operators))
        assert phase.flop == pytest.approx(sum(phase.flop_by_format.values()))
        assert moved.total == pytest.approx(sum(op.bytes for op in phase.operators))
        assert phase.link_bytes == pytest.approx(sum(op.link_bytes for op in phase.operators))
        assert phase.time_s.roofline == pytest.approx(sum(op.time_s for op in phase.operators))
        assert sum(op.share for op in phase.operators) == pytest.approx(1)
        assert sum(phase.split.values()) == pytest.approx(1)
        assert phase.intensity_flop_per_byte == pytest.approx(phase.flop / moved.total)


@pytest.mark.parametrize(("model", "on", "fields"), CASES, ids=["dense", "pp-dp", "ep", "mla", "hybrid"])
def test_the_ceiling_is_the_largest_of_three_and_below_the_roofline(model, on, fields):
    for phase in rooflight.analyze(model, on, ignore_capacity=True, **fields).phases.values():
        limits = phase.ceilings_s
        assert phase.time_s.ceiling == max(limits.compute, limits.memory, limits.link)
        assert phase.time_s.ceiling <= phase.time_s.roofline * (1 + 1e-12)  # sums of floats in another order
        most = max(("compute", "memory", "link", "launch"), key=lambda name: getattr(limits, name))
        assert phase.bound == most


def test_tokens_a_second_of_all_and_of_each():
    answer = on_h100(batch=16, prefill_batch=3, isl=100)
    decode, prefill = answer.phases["decode"], answer.phases["prefill"]

    assert decode.tokens_per_s.ceiling == pytest.approx(16 / decode.time_s.ceiling)
    assert decode.tokens_per_s_per_user.ceiling == pytest.approx(1 / decode.time_s.ceiling)
    assert prefill.tokens_per_s.roofline == pytest.approx(3 * 100 / prefill.time_s.roofline)
    assert prefill.tokens_per_s_per_user is None


def test_verify_and_mixed_are_answered_where_asked():
    plain = on_h100(batch=8, context=100).phases
    more = on_h100(batch=8, context=100, draft_tokens=3, chunk_tokens=512).phases

    assert set(plain) == {"prefill", "decode"}
    assert set(more) == {"prefill", "decode", "verify", "mixed"}
    assert more["verify"].tokens_per_s.ceiling == pytest.approx(8 * 4 / more["verify"].time_s.ceiling)
    assert more["verify"].bytes.weights == plain["decode"].bytes.weights == more["mixed"].bytes.weights
    matrices = 32 * (4096 * (4096 + 2048) + 4096 * 4096 + 3 * 4096 * 14336)
    assert more["mixed"].flop - plain["decode"].flop > 512 * 2 * matrices  # 512 rows more, and their attention


# --- the deployment as a whole -------------------------------------------------------------------------------------


def test_tensor_parallelism_shares_the_work_of_the_whole_deployment():
    """Flop is that of one device; each of 4 devices reads a quarter of the matrices and all the norms."""
    one, four = on_h100(batch=8).phases["decode"], on_h100(on="4xh100-sxm", batch=8).phases["decode"]
    norms = (2 * 32 + 1) * 4096 * 2

    assert four.flop == pytest.approx(one.flop)
    assert four.bytes.weights == pytest.approx(one.bytes.weights + 3 * norms)
    assert four.bytes.kv_read == pytest.approx(one.bytes.kv_read)
    assert four.launches == one.launches + 2 * 32  # all-reduces


def test_replicas_read_the_weights_each_and_share_the_sequences():
    one = on_h100(batch=8).phases["decode"]
    two = on_h100(batch=16, dp=2).phases["decode"]

    assert two.bytes.weights == 2 * one.bytes.weights
    assert two.flop == 2 * one.flop
    assert two.time_s == one.time_s
    assert two.launches == one.launches  # of one device
    assert two.link_bytes == 0


def test_a_pipeline_reads_each_stage_once_a_micro_batch():
    """Two stages, two micro-batches in flight: every device reads its half twice in a step of two passes."""
    one = on_h100(batch=4).phases["decode"]
    two = on_h100(batch=8, pp=2).phases["decode"]

    assert two.bytes.weights == 2 * one.bytes.weights
    assert two.time_s.ceiling == pytest.approx(one.time_s.ceiling)
    assert two.tokens_per_s.ceiling == pytest.approx(2 * one.tokens_per_s.ceiling)
    assert two.launches == one.launches + 1  # half of the kernels twice, and a hop


@pytest.mark.parametrize("batch", [1, 2, 4, 16])
def test_pooled_experts_do_the_work_of_the_sequences_there_are(batch):
    """Which experts are touched depends on the tokens, not on where they lie: replicas without a sequence add none."""

    def experts(**layout):
        phase = rooflight.analyze(tiny_moe(), LINKED, batch=batch, context=0, **layout).phases["decode"]
        return {op.name: op for op in phase.operators if op.name in ("expert_gate_up", "expert_down")}

    alone, pooled = experts(), experts(dp=4, ep=4)
    for name, op in alone.items():
        assert pooled[name].flop == pytest.approx(op.flop)
        assert pooled[name].bytes == pytest.approx(op.bytes)


# --- the numbers everybody can check -------------------------------------------------------------------------------


def test_llama_3_8b_on_an_h100():
    """All parameters but the 128256 x 4096 table, two bytes each, over 3.35 TB/s; KV: 8 heads of 128 in 32 layers."""
    answer = on_h100(context=0)
    decode = answer.phases["decode"]

    assert answer.model.parameters == 8_030_261_248
    assert answer.model.streamed_weight_bytes == 15_009_849_344 == 2 * (8_030_261_248 - 128256 * 4096)
    assert answer.model.kv_bytes_per_token == 131_072 == 32 * 2 * 8 * 128 * 2
    assert decode.bytes.weights == answer.model.streamed_weight_bytes
    assert decode.bytes.kv_read == 0
    assert f"{decode.time_s.ceiling * 1e3:.2f}" == "4.48"
    assert decode.bound == "memory"


def test_llama_3_8b_reads_its_cache_as_the_context_grows():
    assert on_h100(context=8192).phases["decode"].bytes.kv_read == 8192 * 131_072
    assert on_h100(context=8192, kv_cache="fp8").phases["decode"].bytes.kv_read == 8192 * 131_072 / 2


def test_llama_3_1_70b_and_deepseek_v3_in_numbers():
    assert rooflight.analyze(llama_3_70b(), on="h100-sxm").model.parameters == 70_553_706_496
    latent = rooflight.analyze(deepseek_v3(), on="8xh200-sxm").model
    assert latent.kv_bytes_per_token == 70_272 == 61 * (512 + 64) * 2
    assert latent.active_parameters == 37_552_282_624


def test_h200_over_h100_in_decode_is_the_ratio_of_bandwidths():
    """4.8 over 3.35 TB/s, whatever the model streams."""
    h100, h200 = (on_h100(on=on, context=0).phases["decode"].time_s.ceiling for on in ("h100-sxm", "h200-sxm"))

    assert f"{h100 / h200:.3f}" == "1.433"
    assert h100 / h200 == pytest.approx(4.8 / 3.35)


@pytest.mark.parametrize(
    ("on", "form", "printed"), [("h100-sxm", "bf16", 295), ("a100-sxm4-80gb", "bf16", 153), ("h100-sxm", "fp8", 591)]
)
def test_ridges(on, form, printed):
    assert round(on_h100(on=on).accelerator.ridge_flop_per_byte[form]) == printed


def test_a_phase_is_measured_against_the_ridge_of_the_format_it_runs_in():
    wide, narrow = on_h100(), on_h100(weights="fp8")
    weight_only = on_h100(weights="int4-g128")

    assert round(wide.phases["prefill"].ridge_flop_per_byte) == 295
    assert round(narrow.phases["prefill"].ridge_flop_per_byte) == 591
    assert round(weight_only.phases["prefill"].ridge_flop_per_byte) == 295
    assert on_h100(weights="fp8", on="a100-sxm4-80gb").phases["prefill"].flop_by_format.keys() == {"bf16"}


def test_weight_only_formats_shrink_bytes_and_leave_the_compute_roof():
    wide, int4, fp8 = (on_h100(isl=8192, context=0, weights=name).phases for name in (None, "int4-g128", "fp8"))

    assert int4["decode"].time_s.ceiling < 0.35 * wide["decode"].time_s.ceiling  # 4.25 of 16 bits, but for the head
    assert int4["prefill"].ceilings_s.compute == wide["prefill"].ceilings_s.compute
    assert fp8["prefill"].ceilings_s.compute < 0.6 * wide["prefill"].ceilings_s.compute


def test_a_tiny_model_is_bound_by_launching():
    """A few kilobytes take nanoseconds; some thirty kernels of over a microsecond each do not."""
    answer = on_h100(tiny_dense(), isl=4, osl=2)
    decode = answer.phases["decode"]

    assert decode.bound == "launch"
    assert decode.ceilings_s.launch > decode.time_s.ceiling
    assert decode.time_s.roofline >= decode.ceilings_s.launch


def test_deepseek_v3_touches_experts_in_expectation():
    """64 tokens touch 256 x (1 - (1 - 8/256)^64) = 222 of 256 experts in each of 58 layers."""
    phase = rooflight.analyze(deepseek_v3(), on="16xh200-sxm", tp=8, pp=2, batch=2, context=0).phases["decode"]
    one = [op for op in phase.operators if op.name.startswith("expert_")]
    streamed = streamed_weight_bytes(deepseek_v3())
    routed = 58 * 256 * 3 * 7168 * 2048 * 2
    latent = 61 * (7168 * 1536 + 7168 * 576) * 2 * 7  # q_a and kv_a are on all 8 ranks

    assert sum(op.count for op in one if op.name == "expert_gate_up") == 58
    # two micro-batches of one token: each reads all that is no routed expert, and 8 experts a layer
    router_and_norms = 58 * 7168 * 256 * 2 * 7 + (61 * (2 * 7168 + 1536 + 512) + 7168) * 2 * 7
    expected = 2 * (streamed - routed + routed * 8 / 256 + latent + router_and_norms)
    assert phase.bytes.weights == pytest.approx(expected, rel=1e-9)


# --- questions that cannot be answered -----------------------------------------------------------------------------


def test_an_unknown_field_is_refused_with_the_known_ones():
    with pytest.raises(UnknownName, match="no field 'batchsize'") as caught:
        on_h100(batchsize=4)

    assert "batch" in caught.value.want


def test_a_count_that_contradicts_the_layout_is_refused():
    with pytest.raises(BadInput, match="not 8"):
        on_h100(on="8xh100-sxm", tp=4)


def test_a_workload_given_whole_and_a_field_beside_it_are_one():
    workload = rooflight.Workload(batch=4, isl=100)

    assert on_h100(workload=workload, isl=200) == on_h100(batch=4, isl=200)


def test_one_expert_layer_is_one_row_each():
    names = [op.name for op in rooflight.analyze(tiny_moe(), LINKED).phases["decode"].operators]

    assert {"router", "expert_gate_up", "expert_down", "expert_sort_combine"} <= set(names)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"batch": 32, "draft_tokens": 3, "chunk_tokens": 512, "cached_prefix": 64},
        {"batch": 3, "tp": 1, "dp": 4},  # an idle replica: what is expected is another step's than the bounds
        {"tp": 2, "pp": 2, "prefill_batch": 3},
        {"graphs": False, "batch": 1, "context": 1},  # the step that launches are counted in is the asked one
        {"isl": 6, "osl": 20_000, "batch": 2},
        {"osl": 1},
    ],
)
@pytest.mark.parametrize("model", ["llama-3.1-8b", "qwen3-30b-a3b", "gpt-oss-120b", "llama-4-scout"])
def test_each_step_is_evaluated_once(monkeypatch, model, fields):
    on = "4xh100-sxm" if {"tp", "dp", "pp"} & fields.keys() else "h100-sxm"
    made = evaluations(monkeypatch, lambda: rooflight.analyze(model, on, ignore_capacity=True, **fields).to_dict())

    assert not twice(made)
    assert made
