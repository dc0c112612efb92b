"""Machine time of a mix: one kind of request as analyze counts it, many as the sum of them."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

import rooflight
from rooflight.scenario.definite import scenario
from rooflight.serve import mix as mixes
from rooflight.serve.metrics import bends
from rooflight.values.deployment import Deployment
from rooflight.values.mix import Requests
from rooflight.values.model import Reach
from rooflight.values.workload import Workload
from unit.models import card, llama_3_8b, tiny_dense

H100 = rooflight.accelerator("h100-sxm")


def requests(*lengths: tuple[int, ...]) -> Requests:
    isl, osl, cached = (np.array([(*one, 0)[place] for one in lengths], dtype=float) for place in range(3))
    return Requests(isl=isl, osl=osl, cached=cached)


def parts(sc, given: Requests):
    mix = mixes.summary(given)
    lengths = mixes.lengths(given, mix, bends=bends(sc))
    return mixes.prefill_part(sc, lengths), mixes.decode_part(sc, lengths)


def asked(model=None, accelerator=H100, **fields):
    load = {name: value for name, value in fields.items() if name in Workload.__struct_fields__}
    layout = {name: value for name, value in fields.items() if name not in load}
    return scenario(model or llama_3_8b(), accelerator, None, Workload(**load), Deployment(**layout))


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
    """No decode steps: lengths of a batch are plain means, and there is no ratio."""
    mix = mixes.summary(requests((100, 0), (300, 0)))
    assert (mix.decode_steps, mix.ratio, mix.batch_isl) == (0, None, 200)
    prefill, decode = parts(asked(), requests((100, 0), (300, 0)))
    assert decode.span.ceiling == 0
    assert prefill.span.ceiling > 0


@pytest.mark.parametrize("isl, osl", [(1024, 256), (2048, 28), (5000, 1), (1, 3000)])
def test_one_request_alone_is_that_of_analyze(isl, osl):
    """A batch of one shares nothing, so its machine time is its request time.

    The roofline bends where a launch floor gives way to bytes, and is taken at the mean context here.
    """
    prefill, decode = parts(asked(), requests((isl, osl)))
    wanted = rooflight.analyze(llama_3_8b(), "h100-sxm", isl=isl, osl=osl).request.time_s
    for name in ("ceiling", "roofline", "expected", "low", "high"):
        got = getattr(prefill.span, name) + getattr(decode.span, name)
        assert float(got) == pytest.approx(getattr(wanted, name), rel=2e-3 if name == "roofline" else 1e-4), name


@pytest.mark.parametrize("reach", [Reach(window=64), Reach(chunk=128)])
def test_windows_and_chunks_are_sampled_closely(reach):
    model = tiny_dense(reach)
    prefill, decode = parts(asked(model, card()), requests((500, 900)))
    wanted = rooflight.analyze(model, card(), isl=500, osl=900).request.time_s
    assert float(prefill.span.roofline + decode.span.roofline) == pytest.approx(wanted.roofline, rel=0.01)
    assert float(prefill.span.ceiling + decode.span.ceiling) == pytest.approx(wanted.ceiling, rel=0.01)


def test_a_batch_shares_its_steps():
    """batch 8: a request takes an eighth of each of its 255 steps, at their mean context 1024 + 127 = 1151."""
    sc = asked(batch=8)
    _, decode = parts(sc, requests((1024, 256)))
    step = rooflight.analyze(llama_3_8b(), "h100-sxm", batch=8, context=1151).phases["decode"].time_s
    assert float(decode.step.ceiling) == pytest.approx(step.ceiling)
    assert float(decode.span.ceiling) == pytest.approx(255 / 8 * step.ceiling)
    assert float(decode.span.expected) == pytest.approx(255 / 8 * step.expected)


def test_many_requests_are_the_mean_of_each():
    """Prefill: exactly. Decode at the roofline and below saturation: bytes are straight lines of the context."""
    given = [(100, 20), (100, 20), (900, 5), (3000, 300)]
    alone = [parts(asked(batch=4), requests(one)) for one in given]
    together = parts(asked(batch=4), requests(*given))
    for place in (0, 1):
        mean = sum(float(each[place].span.ceiling) for each in alone) / len(given)
        assert float(together[place].span.ceiling) == pytest.approx(mean, rel=1e-6)


def test_the_ceiling_of_a_mixed_batch_is_of_its_resources():
    """Half of the places compute-bound, half memory-bound: the batch takes the larger sum, not the sum of maxima."""
    sc = asked(batch=400, ignore_capacity=True)
    lengths = mixes.lengths(requests((10, 2), (90_000, 2)), mixes.summary(requests((10, 2), (90_000, 2))), bends=True)
    part = mixes.decode_part(sc, lengths)
    assert float(part.step.ceiling) == pytest.approx(max(float(part.compute_s), float(part.memory_s)))


def test_replicas_prefill_a_prompt_each():
    """Two replicas prefill two prompts in the time of one."""
    one, _ = parts(asked(), requests((1024, 2)))
    two, _ = parts(asked(dp=2), requests((1024, 2)))
    assert float(two.span.ceiling) == pytest.approx(float(one.span.ceiling) / 2)


def test_what_is_cached_is_not_prefilled():
    cold, _ = parts(asked(), requests((4096, 2)))
    warm, _ = parts(asked(), requests((4096, 2, 2048)))
    # half the tokens pass the layers; their attention sees three quarters of the triangle
    assert 0.5 < float(warm.span.ceiling / cold.span.ceiling) < 0.6


def test_cuts_of_the_same_total():
    """1280 tokens at ratio 4: 1024 in and 256 out, as the mix itself."""
    mix = mixes.summary(requests((1024, 256)))
    cut = mixes.at_ratios(mix, np.array([1.0, 4.0]), bends=False)
    assert cut.isl[:, 0].tolist() == [640, 1024]
    assert cut.osl.tolist() == [640, 256]
    sc = asked(batch=8)
    _, decode = parts(sc, requests((1024, 256)))
    assert float(mixes.decode_part(sc, cut).span.ceiling[1]) == pytest.approx(float(decode.span.ceiling))


def test_thousands_of_places_are_taken_together():
    """The mean context survives, and so does the weight."""
    rng = np.random.default_rng(1)
    given = Requests(
        isl=rng.integers(1, 5000, 3000).astype(float),
        osl=rng.integers(0, 500, 3000).astype(float),
        cached=np.zeros(3000),
    )
    mix = mixes.summary(given)
    lengths = mixes.lengths(given, mix, bends=True)
    assert len(lengths.contexts) <= 64
    assert lengths.context_share.sum() == pytest.approx(1)
    assert (lengths.contexts * lengths.context_share).sum() == pytest.approx(mix.context, rel=1e-3)


def test_equal_prompts_are_counted_once():
    given = requests((10, 1), (10, 5), (20, 1, 4), (20, 1))
    lengths = mixes.lengths(given, mixes.summary(given), bends=False)
    assert lengths.isl.tolist() == [10, 20, 20]
    assert lengths.prompt_share.tolist() == [0.5, 0.25, 0.25]
    assert msgspec.to_builtins(mixes.summary(given))["longest"] == 21
