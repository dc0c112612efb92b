"""The laws of runs: what holds whatever the model, the card, the engine, the load and the budget."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflight.library.questions import make_scenario
from rooflight.serve import run
from rooflight.serve.apart import apart
from rooflight.serve.arrivals import capacity_per_s, in_flight
from rooflight.serve.memory import memory
from rooflight.serve.replica import replica
from rooflight.serve.steady import steady
from rooflight.span import Span

MACHINES = (
    ("llama-3.1-8b", "h100-sxm", {}), ("llama-3.1-70b", "8xh100-sxm", {"tp": 8}), ("llama-3.1-8b", "l40s", {}),
    ("llama-3.1-70b", "8xmi300x", {"tp": 2, "pp": 2, "dp": 2}),
    ("Qwen/Qwen3-30B-A3B", "2xh200-sxm", {"dp": 2, "ep": 2}),
    ("deepseek-ai/DeepSeek-V3", "8xb200", {"tp": 8}), ("openai/gpt-oss-20b", "h100-sxm", {}),
)  # fmt: skip
ENGINES = (None, "vllm", "sglang", "tensorrt-llm", "llama.cpp")


@st.composite
def scenarios(draw, least_osl=2):
    model, on, layout = draw(st.sampled_from(MACHINES))
    drafted = draw(st.sampled_from([0, 0, 0, 4]))
    draft = draw(st.sampled_from([None, "mtp" if "DeepSeek" in model else "llama-3.2-1b"])) if drafted else None
    return make_scenario(
        model, on, **layout, engine=draw(st.sampled_from(ENGINES)), batch=draw(st.integers(1, 3000)),
        isl=draw(st.integers(1, 12_000)), osl=draw(st.integers(least_osl, 3000)),
        max_num_batched_tokens=draw(st.sampled_from([None, drafted + 2, 512, 8192, 65_536])),
        max_num_seqs=draw(st.sampled_from([None, 1, 7, 256])),
        draft_tokens=drafted, draft_model=draft,
    )  # fmt: skip


def spans(one):
    return {name: value for name, value in msgspec.structs.asdict(one).items() if isinstance(value, Span)}


@given(scenarios())
def test_littles_law(sc):
    """C = X (TTFT + TPOT (osl - 1)), of what is expected and of the roofline."""
    one = run.served(sc)
    for basis in ("expected", "roofline"):
        whole = getattr(one.ttft_s, basis) + (sc.workload.osl - 1) * getattr(one.tpot_s, basis)
        assert getattr(one.requests_per_s, basis) * whole == pytest.approx(sc.workload.batch, rel=1e-9)
        assert getattr(one.request_s, basis) == pytest.approx(whole, rel=1e-9)


@given(scenarios(least_osl=1), st.sampled_from([run.served, run.batch, run.alone, apart]))
def test_the_order_of_every_quantity(sc, schedule):
    one = schedule(sc)
    for name, span in spans(one).items():
        rate = "per_s" in name
        least, middle, most = sorted((span.ceiling, span.roofline, span.expected), reverse=rate)
        assert (span.ceiling, span.roofline, span.expected) == pytest.approx((least, middle, most), rel=1e-9), name
        assert span.low <= span.expected * (1 + 1e-12), name
        assert span.expected <= span.high * (1 + 1e-12), name
    assert (one.tpot_s is None) == (sc.workload.osl == 1)
    assert one.running + one.waiting == pytest.approx(one.running + max(one.waiting, 0.0))
    assert one.decoding <= one.running * (1 + 1e-9)


@given(scenarios())
def test_a_step_is_never_longer_than_the_full_one_and_holds_no_more_than_the_budget(sc):
    one = replica(sc)
    found = steady(one, one.expected_s, server_s=sc.engine.server_s, queue=sc.engine.queue)
    rows, tokens, share = found.step
    full = (one.budget * one.steps + one.prompt) / (one.rows * one.steps + one.prompt)

    assert found.step_s <= one.expected_s(full, one.budget - one.rows * full) * (1 + 1e-12)
    assert share * tokens + one.rows * rows <= one.budget * (1 + 1e-9)


@given(scenarios())
def test_one_user_has_quiet_steps_one_prefill_and_the_servers_own_time(sc):
    sc = make_one(sc)
    one, alone = replica(sc), run.served(sc)

    assert alone.tpot_s.expected == pytest.approx(one.expected_s(1, None) / one.each)
    assert alone.ttft_s.expected == pytest.approx(one.prompt_s(one.expected_s) + sc.engine.server_s)
    assert alone.request_s.expected == pytest.approx(run.alone(sc).request_s.expected)


def make_one(sc, **changes):
    load = msgspec.structs.replace(sc.workload, **{"batch": 1, **changes})
    return msgspec.structs.replace(sc, workload=load)


USERS = np.unique(np.round(np.geomspace(1, 6000, 160)))
# Rows from which a product is no matrix by vector any more (roofline.expected.VECTOR_ROWS): a step of the fits' own.
MORE_THAN_A_VECTOR = 9


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("model", "on", "layout"), MACHINES)
@pytest.mark.parametrize(("isl", "osl"), [(1024, 256), (4000, 64), (200, 2000)])
def test_more_users_are_never_served_more_slowly(model, on, layout, engine, isl, osl):
    """But where a fit steps by itself: at nine rows a product turns from vector to matrix units.

    A rate that has reached its end is flat but for the mean over two kinds of steps: 2e-6 from one point to the next (a
    pair of MI300X is bound by its one link there).
    """
    sc = make_scenario(model, on, **layout, engine=engine, isl=isl, osl=osl)
    many = run.served(make_one(sc, batch=USERS))
    copies = sc.layout.dp * sc.layout.pp
    for basis in ("expected", "roofline", "ceiling"):
        rate = np.broadcast_to(getattr(many.requests_per_s, basis), USERS.shape)
        rises = rate[1:] >= rate[:-1] * (1 - 2e-6)
        steps = (USERS[1:] / copies > 7) & (USERS[:-1] / copies < 16 * MORE_THAN_A_VECTOR) & (basis == "expected")
        assert (rises | steps).all(), (basis, USERS[1:][~rises], (rate[1:] / rate[:-1])[~rises])


@pytest.mark.parametrize(
    ("model", "on"),
    [
        ("openai-community/gpt2-medium", "4xmi350x"),
        ("HuggingFaceTB/SmolLM2-135M", "gb300"),
        ("nvidia/NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4", "16xascend-950dt"),
        ("llama-3.1-8b", "h100-sxm"),
        ("Qwen/Qwen3-30B-A3B", "rtx-pro-6000-blackwell"),
        ("Qwen/Qwen3-0.6B", "l40s"),
    ],
)
@pytest.mark.parametrize(("isl", "osl"), [(1024, 256), (4096, 177), (7, 308)])
def test_no_ceiling_falls_as_users_are_added(model, on, isl, osl):
    """What fewer users reach, more reach too, some of them at a time: also where caches hold what few users read."""
    users = np.unique(np.round(np.geomspace(1, 1e5, 200)))
    one = run.served(make_scenario(model, on, isl=isl, osl=osl), users=users)

    rates = one.requests_per_s.ceiling
    assert (rates[1:] >= rates[:-1] * (1 - 1e-12)).all()


def test_many_runs_at_once_are_each_what_it_is_alone():
    sc = make_scenario("llama-3.1-70b", "8xh100-sxm", tp=8, isl=4000, osl=64, engine="vllm")
    users = np.array([1, 2, 64, 144, 512])
    many = run.served(make_one(sc, batch=users))

    for place, count in enumerate(users):
        one = run.served(make_one(sc, batch=int(count)))
        for name, span in spans(one).items():
            for end in Span.__struct_fields__:
                together = np.broadcast_to(getattr(getattr(many, name), end), users.shape)[place]
                assert together == pytest.approx(getattr(span, end), rel=1e-12), (name, end)


def test_no_cliff_where_memory_is_full():
    """From a tenth of a per cent below what memory holds to a tenth above, nothing jumps."""
    sc = make_scenario("llama-3.1-8b", "l40s", isl=4096, osl=512, engine="sglang")
    held = replica(sc).room
    for name in ("ttft_s", "tpot_s", "request_s", "requests_per_s"):
        below, above = (getattr(run.served(sc, users=held * share), name).expected for share in (0.999, 1.001))
        assert above == pytest.approx(below, rel=0.01), name


def test_the_worked_numbers():
    """Llama-3.1-70B on 8 x H100, vLLM, 4000/64: 162 ms and 0.98 s of 64, 347 ms and 2.9 s of 144, 66 s of 512."""
    sc = make_scenario("llama-3.1-70b", "8xh100-sxm", tp=8, isl=4000, osl=64, engine="vllm", batch=64)
    ones = [run.served(make_one(sc, batch=users)) for users in (64, 144, 512)]

    assert ones[1].tpot_s.expected == pytest.approx(ones[2].tpot_s.expected)  # the budget is full
    assert ones[1].requests_per_s.expected == pytest.approx(ones[2].requests_per_s.expected)
    assert ones[0].requests_per_s.expected < ones[1].requests_per_s.expected
    assert ones[2].ttft_s.expected > 20 * ones[1].ttft_s.expected  # what does not fit waits


@given(scenarios(), st.floats(0.01, 0.97))
def test_a_rate_of_arrivals_is_the_number_in_flight_at_which_so_many_are_finished(sc, share):
    per_s = share * capacity_per_s(sc)
    users = in_flight(sc, per_s)

    assert run.served(sc, users=users).requests_per_s.expected == pytest.approx(per_s, rel=1e-5)


@given(scenarios())
def test_a_batch_in_equal_waves(sc):
    one = run.batch(sc)
    waves = np.ceil(replica(sc).users / replica(sc).room * (1 - 2.0**-40))
    steps = (sc.workload.osl - 1) * one.tpot_s.expected
    first = one.request_s.expected * 2 / (waves + 1) - steps

    assert one.requests_per_s.expected * waves * (first + steps) == pytest.approx(sc.workload.batch, rel=1e-9)
    assert one.prefill_share == pytest.approx(first / (first + steps), rel=1e-6, abs=1e-9)


@given(scenarios())
def test_what_a_user_gets_apart_keeps_littles_law(sc):
    one = apart(sc)
    whole = one.ttft_s.expected + (sc.workload.osl - 1) * one.tpot_s.expected

    assert one.requests_per_s.expected * whole == pytest.approx(sc.workload.batch, rel=1e-9)
    assert one.output_tokens_per_s_per_accelerator.expected * 2 * sc.layout.devices == pytest.approx(
        one.output_tokens_per_s.expected
    )


@given(scenarios(least_osl=1))
def test_a_machine_is_used_in_full_at_most(sc):
    used = run.served(sc).utilization
    assert 0 < used.memory <= 1 + 1e-9
    assert 0 < used.compute <= 1 + 1e-9
    assert 0 <= used.link <= 1 + 1e-9
    assert memory(sc).max_batch >= 0
