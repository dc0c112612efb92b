"""What an engine makes of a step's parts: reads that query heads share, slow links, kernels launched one by one."""

from __future__ import annotations

import msgspec
import pytest

from rooflight.catalog.calibration import calibration, engine_named, engines
from rooflight.library.questions import make_scenario
from rooflight.roofline.engine import step_s
from rooflight.roofline.expected_step import ALONE_FROM
from rooflight.serve import phases
from rooflight.serve.analyze import phase_block
from rooflight.work import step as steps
from unit.models import llama_3_8b

GENERIC = engine_named(None)
# Llama-3-8B: keys and values of a token in all layers, 32 layers x 2 x 8 heads x 128 x 2 bytes.
TOKEN_BYTES = 32 * 2 * 8 * 128 * 2
MI300X_BYTES_PER_S = 5.3e12


def parts(on="mi300x", model=None, *, sequences, context, **fields):
    sc = make_scenario(model or llama_3_8b(), on, **fields)
    return sc.steps.parts(steps.decode(sequences=sequences, context=context))


def test_what_query_heads_spare_each_other_is_read_by_each_where_sequences_are_many():
    """Four query heads share a head's keys and values: three more reads of 64 x 2,000 tokens."""
    part = parts(sequences=64, context=2000)

    assert part.unshared == pytest.approx(3 * 64 * 2000 * TOKEN_BYTES / MI300X_BYTES_PER_S, rel=1e-3)
    assert part.repeated == pytest.approx(4 / 3 * part.unshared)


def test_a_split_kernel_reads_it_once_and_a_short_context_is_not_split():
    """16 sequences x 32 heads are 512, no more than vLLM splits; a context of 512 tokens is one partition."""
    assert ALONE_FROM == 16 * 32

    assert parts(sequences=16, context=2000).unshared == 0
    assert parts(sequences=17, context=2000).unshared > 0
    assert parts(sequences=16, context=500).unshared > 0


def test_a_latent_cache_is_one_for_all_heads():
    """MLA's heads read the same latent whatever the engine."""
    part = parts("h200-sxm", "deepseek-ai/DeepSeek-V3", sequences=64, context=2000, tp=8, ignore_capacity=True)

    assert part.unshared == part.repeated == 0


def test_an_engine_pays_its_share_of_reads_and_links():
    part = parts("2xmi300x", sequences=64, context=2000, tp=2)
    alone = step_s(part, GENERIC, sequences=64, expert_layers=0)

    for field, seconds in (("unshared_kv_share", part.unshared), ("repeated_kv_share", part.repeated)):
        paid = msgspec.structs.replace(GENERIC, **{field: 2.0})
        assert step_s(part, paid, sequences=64, expert_layers=0) - alone == pytest.approx(2 * seconds)
    slow = msgspec.structs.replace(GENERIC, link_share=4.0)
    assert step_s(part, slow, sequences=64, expert_layers=0) - alone == pytest.approx(
        (4 - GENERIC.link_share) * part.link
    )


def test_experts_are_launched_one_after_the_other_where_a_framework_loops_over_them():
    """A product of Mixtral's routed experts is one kernel of ours, and eight of a framework's, in each of 32 layers."""
    sc = make_scenario("mistralai/Mixtral-8x7B-v0.1", "h100-sxm", ignore_capacity=True)
    step = steps.decode(sequences=1, context=100)
    products = [op for op, _, _ in sc.steps.time(step).timed if op.kind == "experts"]
    ours = sc.steps.time(step).work.launches

    assert {op.count for op in products} == {32}
    assert sc.steps.parts(step).launches == ours + 32 * len(products) * (8 - 1)


def test_no_step_of_an_eager_engine_is_shorter_than_its_launches():
    part = parts("h100-sxm", sequences=1, context=100)
    eager = msgspec.structs.replace(GENERIC, launch_s=1e-4, host_s=0.0, host_per_sequence_s=0.0)

    seconds = step_s(part, eager, sequences=1, expert_layers=0)

    assert part.launches * 1e-4 < seconds < 1.02 * part.launches * 1e-4


def test_the_answer_names_what_query_heads_do_not_share():
    """vLLM of 2024 on MI300X, 64 sequences of 2,000 tokens: its share of what `unshared` is."""
    sc = make_scenario(llama_3_8b(), "mi300x", engine="vllm", engine_version="0.6.3", batch=64, context=2000)
    found = phases.decode(sc).expected
    part = sc.steps.parts(steps.decode(sequences=64, context=2000))
    block = phase_block(sc, phases.decode(sc))

    assert found.reads_s == pytest.approx(part.unshared * sc.engine.unshared_kv_share)
    named = {one.name: one.seconds for one in block.waterfall}
    assert named["reads of the cache that query heads do not share"] == pytest.approx(found.reads_s)
    assert block.time_s.ceiling <= block.time_s.roofline <= block.time_s.expected - found.reads_s


def test_only_vllm_of_2024_on_cdna_reads_for_each_query_head():
    """What no row shows is 0."""
    paid = {(one.id, one.family, one.era) for name in ("vllm", "tensorrt-llm", "sglang", "generic")
            for one in engines(name) if one.unshared_kv_share}  # fmt: skip

    assert paid == {("vllm", "CDNA2", "2024"), ("vllm", "CDNA3", "2024")}


def test_large_products_on_cdna_reach_what_was_timed_there():
    """An MI300X: 668 TFLOP/s in the best shape, of 1,307; with Hopper's efficiency it would be 874 or more."""
    hopper, own = calibration("Hopper"), calibration("CDNA3")

    assert own.gemm["bf16"].compute_efficiency == pytest.approx(0.68 * hopper.gemm["bf16"].compute_efficiency)
    assert own.gemm["bf16"].memory_efficiency == hopper.gemm["bf16"].memory_efficiency
    long = own.gemm["bf16"].compute_efficiency / (1 + own.gemm["bf16"].throttle) * 1307.4
    assert 0.9 * 620 < long <= 668
