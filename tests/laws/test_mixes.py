"""What must hold of every mix of requests on every machine, and of every file that is given as a log."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rooflight
from effort import examples
from laws.strategies import cards, deployments, models
from rooflight.errors import RooflightError
from rooflight.ingest.log import read_log
from rooflight.scenario.definite import scenario
from rooflight.serve import mix as mixes
from rooflight.serve.schedule import scheduled
from rooflight.values.mix import Requests
from rooflight.values.workload import Workload

ROUNDING = 1 + 1e-9
requests = st.lists(st.tuples(st.integers(1, 20_000), st.integers(0, 2000), st.floats(0, 0.99)), min_size=1, max_size=6)
batches = st.integers(1, 300)


def log_of(drawn) -> Requests:
    isl, osl = (np.array([one[place] for one in drawn], dtype=float) for place in (0, 1))
    return Requests(isl=isl, osl=osl, cached=np.floor(isl * np.array([one[2] for one in drawn])))


def run_of(model, card, layout, batch, given_requests):
    """The served run at the mix's mean lengths, memory aside."""
    layout = msgspec.structs.replace(layout, ignore_capacity=True)
    mix = mixes.summary(given_requests, source="a log")
    load = mixes.mean_load(Workload(batch=batch), mix)
    return scheduled(msgspec.structs.replace(scenario(model, card, None, Workload(), layout), workload=load), "served")


@given(model=models(), card=cards, layout=deployments, batch=batches, drawn=requests)
@settings(max_examples=examples(60), deadline=None)
def test_times_of_a_mix_stand_in_order(model, card, layout, batch, drawn):
    """ceiling <= roofline <= expected, low <= expected <= high, of a request's machine time."""
    span = run_of(model, card, layout, batch, log_of(drawn)).requests_per_s.rate(1)
    assert 0 < span.ceiling <= span.roofline * ROUNDING
    assert span.roofline <= span.expected * ROUNDING
    assert span.ceiling <= span.low * ROUNDING
    assert span.low <= span.expected * ROUNDING
    assert span.expected <= span.high * ROUNDING


@given(model=models(), card=cards, layout=deployments, batch=batches, drawn=requests, more=st.floats(1, 8))
@settings(max_examples=examples(40), deadline=None)
def test_more_bandwidth_or_compute_never_lowers_the_ceiling(model, card, layout, batch, drawn, more):
    before = run_of(model, card, layout, batch, log_of(drawn)).requests_per_s
    wider = msgspec.structs.replace(card, memory_bytes_per_s=card.memory_bytes_per_s * more)
    faster = msgspec.structs.replace(
        card,
        peak_flop_per_s={name: rate * more for name, rate in card.peak_flop_per_s.items()},
        fast_flop_per_s={name: rate * more for name, rate in card.fast_flop_per_s.items()},
    )
    for better in (wider, faster):
        after = run_of(model, better, layout, batch, log_of(drawn)).requests_per_s
        assert after.ceiling * ROUNDING >= before.ceiling


@given(model=models(), card=cards, layout=deployments, batch=batches, drawn=requests, seed=st.randoms())
@settings(max_examples=examples(40), deadline=None)
def test_order_and_repetition_of_requests_change_nothing(model, card, layout, batch, drawn, seed):
    shuffled = drawn * 3
    seed.shuffle(shuffled)
    once, thrice = (run_of(model, card, layout, batch, log_of(some)) for some in (drawn, shuffled))
    assert float(once.request_s.expected) == pytest.approx(float(thrice.request_s.expected), rel=1e-6)


@given(drawn=requests, ratio=st.floats(1 / 64, 64))
@settings(max_examples=examples(100), deadline=None)
def test_a_cut_keeps_the_total(drawn, ratio):
    mix = mixes.summary(log_of(drawn))
    cut = mixes.at_ratios(Workload(), mix, np.array([ratio]))
    assert float(cut.isl[0] + cut.osl[0]) == pytest.approx(mix.isl + mix.osl)
    assert float(cut.isl[0] / cut.osl[0]) == pytest.approx(ratio)


@given(
    content=st.one_of(
        st.binary(max_size=200),
        st.text(max_size=200).map(str.encode),
        st.lists(st.text("0123456789,.-\"'\n\r;{}[]:ilos \t", max_size=12), max_size=12).map(
            lambda lines: ("isl,osl\n" + "\n".join(lines)).encode()
        ),
        st.lists(
            st.dictionaries(
                st.sampled_from(["isl", "osl", "x"]),
                st.one_of(st.none(), st.integers(), st.floats(), st.text(max_size=4)),
            ),
            max_size=5,
        ).map(lambda rows: b"\n".join(msgspec.json.encode(row) for row in rows)),
        st.binary(max_size=60).map(lambda tail: b"\x1f\x8b" + tail),
        st.binary(max_size=60).map(lambda tail: b"PAR1" + tail),
    )
)
@settings(max_examples=examples(400), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_file_is_a_log_or_is_refused(tmp_path, content):
    """Never another exception, and never a request that is none."""
    path = tmp_path / "log"
    path.write_bytes(content)
    try:
        log = read_log(path)
    except RooflightError as error:
        assert error.what
        return
    given_requests = log.requests
    assert len(given_requests.isl) >= 1
    assert (given_requests.isl >= 1).all()
    assert (given_requests.osl >= 0).all()
    assert (given_requests.cached < given_requests.isl).all()


@given(
    on=st.lists(st.sampled_from(["h100", "8xh100", "l4", "mi300x", "h20", "t4"]), min_size=1, max_size=3),
    batch=st.one_of(st.integers(1, 4000), st.just("max")),
    drawn=requests,
    objective=st.sampled_from(["throughput", "accelerator", "latency", "energy"]),
)
@settings(max_examples=examples(25), deadline=None)
def test_a_comparison_answers_and_its_stretches_join(on, batch, drawn, objective):
    """The winner of the stretch that holds the mix's ratio is no surprise, and stretches touch."""
    log = [(isl, osl) for isl, osl, _ in drawn]
    answer = rooflight.compare("meta-llama/Meta-Llama-3.1-8B", on, batch=batch, log=log, objective=objective)
    assert answer.answered == (answer.winner is not None)
    along = [one for one in answer.stretches if (one.objective, one.basis) == (objective, "expected")]
    for one, other in pairwise(along):
        assert one.to_ratio == other.from_ratio
        assert one.winner != other.winner
    assert msgspec.json.encode(answer)
