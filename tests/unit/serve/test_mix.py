"""A mix as a workload: its mean lengths, and other cuts of them."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from rooflight.library.questions import make_scenario
from rooflight.serve import mix as mixes
from rooflight.serve.replica import replica
from rooflight.serve.schedule import scheduled
from rooflight.values.mix import Requests
from rooflight.values.workload import Workload
from unit.models import llama_3_8b


def requests(*lengths: tuple[int, ...]) -> Requests:
    isl, osl, cached = (np.array([(*one, 0)[place] for one in lengths], dtype=float) for place in range(3))
    return Requests(isl=isl, osl=osl, cached=cached)


def timed(given: Requests, schedule="served", *, source="a log", **fields):
    sc = make_scenario(llama_3_8b(), "h100-sxm", **fields)
    load = mixes.mean_load(sc.workload, mixes.summary(given, source=source))
    return scheduled(msgspec.structs.replace(sc, workload=load), schedule)


def test_a_log_in_numbers():
    """(100, 3): 2 decode steps at contexts 100, 101; (400, 7): 6 at 400 .. 405."""
    mix = mixes.summary(requests((100, 3), (400, 7)), source="x", bad_rows=2)
    assert (mix.requests, mix.bad_rows, mix.source) == (2, 2, "x")
    assert (mix.isl, mix.osl, mix.decode_steps) == (250, 5, 4)
    assert mix.ratio == 250 / 5
    # 2 of 8 steps stand at 100.5 in the mean, 6 at 402.5
    assert mix.context == pytest.approx((2 * 100.5 + 6 * 402.5) / 8)
    # the mean sequence of a decode batch: (2 x 100 + 6 x 400) / 8 in, (2 x 3 + 6 x 7) / 8 out
    assert (mix.batch_isl, mix.batch_osl) == (325, 6)
    assert mix.longest == 407


def test_nothing_put_out():
    """No decode steps: lengths of a batch are plain means, there is no ratio, and no token after the first."""
    mix = mixes.summary(requests((100, 0), (300, 0)))
    assert (mix.decode_steps, mix.ratio, mix.batch_isl) == (0, None, 200)
    run = timed(requests((100, 0), (300, 0)))
    assert run.tpot_s is None
    assert run.output_tokens_per_s.expected == 0
    assert run.requests_per_s.expected > 0


@pytest.mark.parametrize("schedule", ["alone", "batch", "served", "apart"])
@pytest.mark.parametrize("isl, osl", [(1024, 256), (2048, 28), (5000, 1), (1, 3000)])
def test_a_log_of_equal_requests_is_one_of_them(isl, osl, schedule):
    wanted = scheduled(make_scenario(llama_3_8b(), "h100-sxm", batch=8, isl=isl, osl=osl), schedule)
    given = timed(requests((isl, osl), (isl, osl)), schedule, batch=8)
    assert given.request_s.expected == pytest.approx(wanted.request_s.expected, rel=1e-12)
    assert given.requests_per_s.ceiling == pytest.approx(wanted.requests_per_s.ceiling, rel=1e-12)


def test_lengths_in_place_of_a_log_are_the_workloads_own():
    load = Workload(batch=3, isl=50, osl=7, cached_prefix=20)
    assert mixes.mean_load(load, mixes.summary(requests((50, 7, 20)))) == load


def test_decode_steps_of_a_log_stand_where_long_requests_are_met():
    """250 tokens in and 5 out in the mean, but 6 of 8 steps are of the long request: 327 cached, not 251.5."""
    given = requests((100, 3), (400, 7))
    sc = make_scenario(llama_3_8b(), "h100-sxm")
    load = mixes.mean_load(sc.workload, mixes.summary(given, source="a log"))
    one = replica(msgspec.structs.replace(sc, workload=load))
    assert (one.prompt, one.steps) == (250, 4)
    assert one.context == pytest.approx((2 * 100.5 + 6 * 402.5) / 8)


def test_what_is_cached_is_not_prefilled():
    """Half the tokens pass the layers; their attention sees three quarters of the triangle."""
    cold, warm = (timed(requests((4096, 1, cached)), "alone").ttft_s.ceiling for cached in (0, 2048))
    assert 0.5 < warm / cold < 0.6


def test_cuts_of_the_same_total():
    """1280 tokens at ratio 4: 1024 in and 256 out, as the mix itself."""
    mix = mixes.summary(requests((1024, 256, 512)))
    sc = make_scenario(llama_3_8b(), "h100-sxm", batch=8, isl=1024, osl=256, cached_prefix=512)
    cut = mixes.at_ratios(sc.workload, mix, np.array([1.0, 4.0]))
    assert cut.isl.tolist() == [640, 1024]
    assert cut.osl.tolist() == [640, 256]
    assert cut.cached_prefix.tolist() == [320, 512]
    run = scheduled(msgspec.structs.replace(sc, workload=cut), "served")
    assert run.request_s.expected[1] == pytest.approx(scheduled(sc, "served").request_s.expected)
