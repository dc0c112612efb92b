"""What must hold for every model, card and workload, whatever the numbers."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from laws.strategies import NARROWING, cards, deployments, models, workloads
from rooflight.answers.outcome import outcome
from rooflight.scenario.change import changed
from rooflight.scenario.definite import scenario
from rooflight.serve import phases
from rooflight.serve.analyze import analyze
from rooflight.serve.memory import memory
from rooflight.serve.room import labelled
from rooflight.values.deployment import Deployment
from rooflight.work import count
from rooflight.work.reach import pairs

PHASES = (phases.prefill, phases.decode)
ROUNDING = 1 + 1e-9


def ask(model, card, load, layout):
    return scenario(model, card, None, load, layout)


def replaced(value, **changes):
    return msgspec.structs.replace(value, **changes)


@pytest.mark.parametrize("phase", PHASES)
@given(model=models(), card=cards, load=workloads, layout=deployments)
@settings(max_examples=examples(60), deadline=None)
def test_ceiling_is_never_above_the_roofline(phase, model, card, load, layout):
    """Overlapping resources and operators can only help: ceiling <= roofline."""
    time = phase(ask(model, card, load, layout)).time

    assert 0 < time.ceiling_s <= time.roofline_s * ROUNDING


@given(model=models(), card=cards, load=workloads, layout=deployments)
@settings(max_examples=examples(60), deadline=None)
def test_expected_is_at_least_the_roofline_inside_its_interval_and_explained(model, card, load, layout):
    """ceiling <= low <= expected <= high and roofline <= expected; the waterfall's steps add up to the expected."""
    answer = analyze(ask(model, card, load, layout))
    phases_found = list(answer.phases.values())  # nothing decodes where nothing is put out
    assert "prefill" in answer.phases
    spans = [phase.time_s for phase in phases_found]
    if answer.served is not None:  # where one sequence at least has room
        spans += [span for span in (answer.served.tpot_s, answer.served.ttft_s) if span is not None]

    for span in spans:
        assert span.ceiling <= span.roofline * ROUNDING
        assert span.roofline <= span.expected * ROUNDING
        assert span.ceiling <= span.low * ROUNDING
        assert span.low <= span.expected * ROUNDING
        assert span.expected <= span.high * ROUNDING
    for phase in phases_found:
        assert all(step.seconds >= 0 for step in phase.waterfall)
        assert sum(step.seconds for step in phase.waterfall) == pytest.approx(phase.time_s.expected)


@pytest.mark.parametrize("phase", PHASES)
@given(model=models(), card=cards, load=workloads, layout=deployments, faster=st.floats(1, 10))
@settings(max_examples=examples(40), deadline=None)
def test_more_bandwidth_is_never_slower(phase, model, card, load, layout, faster):
    better = replaced(card, memory_bytes_per_s=card.memory_bytes_per_s * faster)

    before, after = (phase(ask(model, c, load, layout)).time for c in (card, better))

    assert after.ceiling_s <= before.ceiling_s * ROUNDING
    assert after.roofline_s <= before.roofline_s * ROUNDING


@pytest.mark.parametrize("phase", PHASES)
@given(model=models(), card=cards, load=workloads, layout=deployments, faster=st.floats(1, 10))
@settings(max_examples=examples(40), deadline=None)
def test_more_compute_is_never_slower(phase, model, card, load, layout, faster):
    better = replaced(
        card,
        peak_flop_per_s={name: rate * faster for name, rate in card.peak_flop_per_s.items()},
        fast_flop_per_s={name: rate * faster for name, rate in card.fast_flop_per_s.items()},
    )

    before, after = (phase(ask(model, c, load, layout)).time for c in (card, better))

    assert after.ceiling_s <= before.ceiling_s * ROUNDING
    assert after.roofline_s <= before.roofline_s * ROUNDING


@given(model=models(), card=cards, load=workloads, layout=deployments)
@settings(max_examples=examples(40), deadline=None)
def test_fewer_bits_stream_fewer_bytes_and_are_never_slower_under_the_decode_ceiling(model, card, load, layout):
    """Weight-only and W8A8 formats shrink what is read; no card of the catalog computes slower in fp8 than bf16."""
    steps = [phases.decode(ask(model, card, load, replaced(layout, weights=form))).time for form in NARROWING]

    assert steps[0].work.weight_bytes >= steps[1].work.weight_bytes >= steps[2].work.weight_bytes
    assert steps[2].ceiling_s <= steps[0].ceiling_s * ROUNDING
    assert steps[1].ceiling_s <= steps[0].ceiling_s * ROUNDING


@pytest.mark.parametrize("phase", PHASES)
@given(model=models(), card=cards, load=workloads)
@settings(max_examples=examples(40), deadline=None)
def test_tp_1_is_no_tensor_parallelism(phase, model, card, load):
    plain = phase(ask(model, card, load, Deployment()))
    said = phase(ask(model, card, load, Deployment(tp=1, pp=1, ep=1, dp=1)))

    assert plain == said
    assert plain.time.work.link_bytes == 0


@given(model=models(), card=cards, load=workloads, tp=st.sampled_from([2, 4]))
@settings(max_examples=examples(60), deadline=None)
def test_tensor_parallelism_keeps_the_flop_and_never_loses_bytes(model, card, load, tp):
    """Sharding moves no product elsewhere: FLOP over all devices grow only by what each device repeats."""
    one = phases.decode(ask(model, card, load, Deployment())).time.work
    many = phases.decode(ask(model, card, load, Deployment(tp=tp))).time.work

    assert many.flop * tp >= one.flop / ROUNDING
    assert many.flop <= one.flop * ROUNDING
    assert many.weight_bytes * tp >= one.weight_bytes / ROUNDING
    assert many.kv_read_bytes * tp >= one.kv_read_bytes / ROUNDING
    assert many.link_bytes > 0


@given(model=models(), card=cards, load=workloads, layout=deployments)
@settings(max_examples=examples(60), deadline=None)
def test_bytes_and_flop_add_up(model, card, load, layout):
    answer = analyze(ask(model, card, load, layout))

    for phase in answer.phases.values():
        parts = phase.bytes.weights + phase.bytes.kv_read + phase.bytes.kv_write + phase.bytes.activations
        assert parts == pytest.approx(phase.bytes.total, rel=1e-12)
        assert sum(op.bytes for op in phase.operators) == pytest.approx(phase.bytes.total, rel=1e-9)
        assert sum(op.flop for op in phase.operators) == pytest.approx(phase.flop, rel=1e-9)
        assert sum(phase.flop_by_format.values()) == pytest.approx(phase.flop, rel=1e-9)
        assert sum(op.link_bytes for op in phase.operators) == pytest.approx(phase.link_bytes, rel=1e-9)
        assert sum(op.share for op in phase.operators) == pytest.approx(1)
        assert sum(phase.split.values()) == pytest.approx(1)
        assert sum(op.time_s for op in phase.operators) == pytest.approx(phase.time_s.roofline, rel=1e-9)


@given(model=models(moe=False), card=cards, load=workloads)
@settings(max_examples=examples(60), deadline=None)
def test_a_dense_decode_step_streams_every_weight_once(model, card, load):
    """Every stored weight but the input table, a tied head once (DESIGN 2)."""
    work = phases.decode(ask(model, card, load, Deployment())).time.work

    assert work.weight_bytes == pytest.approx(count.streamed_weight_bytes(model), rel=1e-12)


@given(model=models(moe=True), card=cards, load=workloads)
@settings(max_examples=examples(60), deadline=None)
def test_a_mixture_streams_between_its_active_and_all_its_weights(model, card, load):
    work = phases.decode(ask(model, card, load, Deployment())).time.work
    streamed = count.streamed_weight_bytes(model)
    idle = 2 * (count.parameters(model) - count.active_parameters(model))

    assert (streamed - idle) / ROUNDING <= work.weight_bytes <= streamed * ROUNDING


@given(model=models(), card=cards, load=workloads, layout=deployments)
@settings(max_examples=examples(40), deadline=None)
def test_longer_context_never_costs_less(model, card, load, layout):
    """But for chunked attention, whose cache starts anew at each chunk."""
    chunked = any(getattr(layer.mixer, "reach", None) and layer.mixer.reach.chunk for layer in model.layers)
    sc = ask(model, card, load, layout)
    short, long = (phases.decode(sc, context=c).time for c in (1000, 5000))

    assert chunked or short.roofline_s <= long.roofline_s * ROUNDING


@given(model=models(), card=cards, load=workloads, layout=deployments)
@settings(max_examples=examples(40), deadline=None)
def test_larger_batch_is_slower_a_step_and_never_worse_in_throughput(model, card, load, layout):
    sc = ask(model, card, load, layout)
    few, many = (phases.decode(sc, batch=b).time.roofline_s for b in (8, 64))

    assert few <= many * ROUNDING
    assert 8 / few <= 64 / many * ROUNDING


@given(tokens=st.integers(1, 500), context=st.integers(0, 500), window=st.integers(1, 400), top_k=st.integers(1, 400))
def test_a_restricted_reach_never_sees_more(tokens, context, window, top_k):
    from rooflight.values.model import Reach

    full = pairs(Reach(), new=tokens, context=context)

    for reach in (Reach(window=window), Reach(chunk=window), Reach(top_k=top_k)):
        assert tokens <= pairs(reach, new=tokens, context=context) <= full


@given(model=models(), card=cards, load=workloads, layout=deployments)
@settings(max_examples=examples(40), deadline=None)
def test_memory_adds_up_and_max_batch_is_the_last_that_fits(model, card, load, layout):
    answer = analyze(ask(model, card, load, layout))
    held = answer.memory

    assert held.fits == (load.batch <= held.max_batch) or layout.dp > 1
    spent = held.weights_bytes + held.kv_bytes + held.reserve_bytes
    # Replicas share a batch unevenly where it does not divide, so the sum can fit where the busiest does not.
    assert not held.fits or spent <= held.usable_bytes * ROUNDING


ENGINES = st.sampled_from([None, "vllm", "sglang", "tensorrt-llm", "llama.cpp"])
VERSIONS = st.sampled_from([None, "0.3", "0.6", "0.12", "0.18", "0.25", "2024", "2026"])


@given(model=models(), card=cards, load=workloads, layout=deployments, engine=ENGINES, version=VERSIONS)
@settings(max_examples=examples(60), deadline=None)
def test_every_engines_memory_adds_up_and_lies_in_its_interval(model, card, load, layout, engine, version):
    sc = ask(model, card, load, replaced(layout, engine=engine, engine_version=version if engine else None))
    held = memory(sc)
    pool = held.kv_pool

    assert held.fits == (load.batch <= held.max_batch) or sc.layout.dp > 1
    assert 0 <= pool.bytes.low <= pool.bytes.expected <= pool.bytes.high
    assert pool.tokens.low <= pool.tokens.expected <= pool.tokens.high
    assert held.kv_pool_bytes == pool.bytes.expected
    if held.max_batch:
        kept = held.weights_bytes + held.engine_bytes + held.withheld_bytes
        assert kept + held.max_batch * held.kv_bytes_per_sequence <= held.usable_bytes * ROUNDING


@given(
    model=models(), card=cards, load=workloads, layout=deployments, engine=ENGINES, share=st.floats(0.05, 1),
    name=st.sampled_from(["gpu_memory_utilization", "mem_fraction_static", "free_gpu_memory_fraction"]),
    more=st.floats(1, 8),
)  # fmt: skip
@settings(max_examples=examples(60), deadline=None)
def test_more_memory_or_more_of_it_never_holds_fewer(model, card, load, layout, engine, share, name, more):
    """At a stated share: a default one may be set aside where it holds none."""
    stated = replaced(layout, engine=engine, **{name: share})
    before = memory(ask(model, card, load, stated)).max_batch
    roomier = replaced(card, memory_bytes=card.memory_bytes * more)

    assert memory(ask(model, roomier, load, stated)).max_batch >= before
    assert memory(ask(model, card, load, replaced(stated, **{name: min(1.0, share * more)}))).max_batch >= before


@given(model=models(), card=cards, load=workloads, layout=deployments, engine=ENGINES)
@settings(max_examples=examples(60), deadline=None)
def test_what_the_label_holds_is_never_refused(model, card, load, layout, engine):
    """Weights and one sequence within the label: at least one fits, whatever an engine would keep by default."""
    sc = ask(model, card, load, replaced(layout, engine=engine))
    one = labelled(sc)

    assert (memory(sc).max_batch >= sc.layout.dp) or one.left < one.each


@given(model=models(), card=cards, load=workloads, pp=st.just(2))
@settings(max_examples=examples(40), deadline=None)
def test_a_pipeline_never_beats_the_ceiling_of_its_devices_together(model, card, load, pp):
    """Two stages have twice the bandwidth of one device and no more."""
    if sum(layer.count for layer in model.layers) < pp:
        return
    one = phases.decode(ask(model, card, load, Deployment()), batch=64).time
    two = phases.decode(ask(model, card, load, Deployment(pp=pp)), batch=64).time

    assert two.compute_s * pp >= one.compute_s / ROUNDING
    assert two.work.kv_read_bytes * pp >= one.work.kv_read_bytes / ROUNDING


@pytest.mark.parametrize("narrow", ["fp8-weight-only", "int8", "int4-g128", "mxfp4"])
@given(model=models(), card=cards, load=workloads, layout=deployments)
@settings(max_examples=examples(20), deadline=None)
def test_a_move_that_only_removes_bytes_never_raises_a_ceiling(narrow, model, card, load, layout):
    """Weight-only formats and a narrower cache, as moves make them (W8A8 writes quantised activations besides)."""
    before = ask(model, card, load, replaced(layout, weights="bf16", kv_cache="bf16", ignore_capacity=True))

    for change in ({"weights": narrow}, {"kv_cache": "fp8"}):
        after = changed(before, **change)
        for phase in PHASES:
            assert phase(after).time.ceiling_s <= phase(before).time.ceiling_s * ROUNDING


@given(model=models(), card=cards, load=workloads, layout=deployments)
@settings(max_examples=examples(40), deadline=None)
def test_independent_moves_are_free_of_order(model, card, load, layout):
    """Weights, cache, batch and graphs in any order are one scenario."""
    sc = ask(model, card, load, replaced(layout, ignore_capacity=True))
    moves = ({"weights": "fp8"}, {"kv_cache": "fp8"}, {"batch": load.batch * 2}, {"graphs": False})
    there = back = sc
    for one, other in zip(moves, reversed(moves), strict=True):
        there, back = changed(there, **one), changed(back, **other)

    assert there == back
    assert outcome(there) == outcome(back)
