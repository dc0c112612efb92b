"""A prefill pool on another card: the first token is timed there, the cache is sent over what joins both."""

from __future__ import annotations

import msgspec
import pytest

from rooflight.catalog.accelerators import load
from rooflight.errors import BadInput, MissingFact
from rooflight.roofline.links import NETWORK, PCIE
from rooflight.scenario.cards import between_pools, prefill_card
from rooflight.scenario.definite import scenario
from rooflight.scenario.pools import prefill_worker, prompts_on
from rooflight.serve import phases
from rooflight.serve.analyze import analyze
from rooflight.serve.apart import apart, apart_limits, pools
from rooflight.serve.landmarks import landmarks
from rooflight.serve.memory import memory
from rooflight.serve.room import prefill_holds
from rooflight.units import to_base
from rooflight.values.deployment import Deployment
from rooflight.values.workload import Workload
from unit.models import llama_3_8b

LOAD = Workload(batch=8, isl=1024, osl=128)


def card(name):
    return load(name)[0]


def on(name="l40s", load_=LOAD, **fields):
    found, count = load(name)
    return scenario(llama_3_8b(), found, count, load_, Deployment(**fields))


def test_a_first_token_is_timed_on_the_card_of_the_prefill_pool():
    """Prompts take what they take on an H100 by itself, steps what they take on an L40S by itself."""
    sc = on(prefill_on="h100-sxm")

    assert phases.prefill(sc).span == phases.prefill(on("h100-sxm")).span
    assert phases.decode(sc).span == phases.decode(on("l40s")).span
    assert apart(sc).prefill.accelerator == "h100-sxm"
    assert apart(sc).decode.accelerator == "l40s"


def test_a_first_token_by_hand():
    """One user: the server's 36.19 ms, a prompt on the H100, and its cache sent:

    2 x 32 layers x 8 heads x 128 x 2 B = 131,072 B a token, x 1,024 = 134.2 MB, at 50 GB/s 2.68 ms.
    """
    sc = on(load_=msgspec.structs.replace(LOAD, batch=1), prefill_on="h100-sxm", network="50GB/s")
    prompt_s = apart(sc).prefill.step_s
    sent_s = 1024 * 131_072 / to_base(50, "GB/s")

    assert sent_s == pytest.approx(0.00268, abs=1e-5)
    assert apart(sc).ttft_s.expected == pytest.approx(sc.engine.server_s + prompt_s + sent_s)
    assert prompt_s == pytest.approx(phases.prefill(on("h100-sxm")).expected.seconds, rel=1e-9)


def test_the_same_card_named_is_the_pool_without_a_name():
    """But for its layout: one prefill worker of one device."""
    named, plain = on(prefill_on="l40s"), on(prefill_workers=1)

    assert apart(named) == apart(plain)
    assert memory(named) == memory(plain)


def test_all_devices_of_both_pools_count():
    """2 workers of 4 x H100, 3 of 2 x L40S: 8 + 6 = 14 accelerators."""
    sc = on("2xl40s", prefill_on="4xh100-sxm", prefill_workers=2, decode_workers=3)

    assert pools(sc).devices == 2 * 4 + 3 * 2
    assert pools(sc).prefill.layout.tp == 4
    note = next(note for note in sc.assumptions if note.key == "workers")
    assert note.value == (2, 3, 14)


@pytest.mark.parametrize(
    ("fields", "laid"),
    [
        ({"prefill_on": "4xh100-sxm"}, (4, 1)),
        ({"prefill_on": "4xh100-sxm", "prefill_dp": 2}, (2, 2)),
        ({"prefill_on": "h100-sxm", "prefill_tp": 2}, (2, 1)),
        ({"prefill_on": "h100-sxm"}, (1, 1)),
        ({"prefill_on": "1xh100-sxm"}, (1, 1)),
    ],
)
def test_a_prefill_worker_has_its_own_layout(fields, laid):
    worker = prefill_worker(on("2xl40s", **fields))

    assert (worker.layout.tp, worker.layout.dp) == laid
    assert worker.layout.pp == 1
    assert worker.deployment.prefill_on is None


def test_a_stage_of_decode_is_none_of_prefill():
    sc = on("2xl40s", pp=2, prefill_on="h100-sxm")

    assert (sc.layout.pp, prompts_on(sc).layout.pp) == (2, 1)
    assert prompts_on(on()) == on()


def test_no_link_of_one_kind_reaches_another():
    """NVLink joins H100 with H100 alone: over the network, at the slower end's rate. Two PCIe cards share a machine."""
    fast, slow = card("h100-sxm"), card("l40s")
    link, rate = between_pools(fast, slow, None, 2)

    assert link == NETWORK
    assert rate == min(fast.network.bytes_per_s, slow.network.bytes_per_s)
    assert between_pools(fast, slow, "100Gb/s", 2) == (NETWORK, 12.5e9)
    a, b = (msgspec.structs.replace(card(name), node_devices=8, link=None) for name in ("rtx-4090", "rtx-3060-12gb"))
    assert between_pools(a, b, None, 2) == (PCIE, min(a.pcie_bytes_per_s, b.pcie_bytes_per_s))
    assert between_pools(a, b, None, 9)[0] == NETWORK


def test_what_joins_cards_of_ones_own_must_be_said():
    bare = msgspec.structs.replace(card("l40s"), network=None, id="mine")

    with pytest.raises(MissingFact):
        between_pools(card("h100-sxm"), bare, None, 2)


def test_times_keep_their_order_and_limits_are_those_of_both_cards():
    for name in ("h100-sxm", "l4", "rtx-4090"):
        sc = on(prefill_on=name)
        run = apart(sc)
        for span in (run.ttft_s, run.tpot_s, run.request_s):
            assert 0 < span.ceiling <= span.roofline <= span.expected <= span.high
        assert apart_limits(sc).first_s == pytest.approx(
            phases.prefill(on(name), prompts=1, bounds_only=True).time.ceiling_s, rel=1e-9
        )


def test_a_faster_prefill_card_is_never_a_later_first_token():
    times = [apart(on(prefill_on=name)).ttft_s.expected for name in ("l4", "l40s", "h100-sxm")]

    assert times == sorted(times, reverse=True)


def test_a_prefill_worker_too_small_for_the_model_fits_nothing():
    """16 GB of weights in 12 GB."""
    sc = on(prefill_on="rtx-3060-12gb")

    assert not prefill_holds(sc)
    assert memory(sc).max_batch == 0
    assert not analyze(sc).phases
    assert prefill_holds(on(prefill_on="2xrtx-3060-12gb"))


def test_prompts_that_prefill_elsewhere_need_no_room_where_decode_is():
    sc = on(load_=Workload(batch=1, isl=512, osl=16, prefill_batch=4000), prefill_on="h100-sxm")

    assert memory(sc).fits


def test_the_phase_says_what_its_own_card_reaches():
    """The ridge and MFU of a prompt are of the H100: 989.4 TFLOP/s over 3.35 TB/s."""
    shown = analyze(on(prefill_on="h100-sxm"))

    assert shown.phases["prefill"].ridge_flop_per_byte == pytest.approx(989.4 / 3.35, rel=1e-3)
    assert shown.phases["prefill"].mfu == analyze(on("h100-sxm")).phases["prefill"].mfu
    assert list(shown.on_roof) == ["decode"]


@pytest.mark.parametrize("fields", [
    {"prefill_on": "rtx-4090+rtx-3090"}, {"prefill_on": "nonsense"}, {"prefill_on": "4xh100-sxm", "prefill_tp": 2},
    {"prefill_on": "3xh100-sxm"},
])  # fmt: skip
def test_a_pool_that_cannot_be_is_refused(fields):
    with pytest.raises(BadInput):
        apart(on(**fields))


def test_another_schedule_than_apart_is_refused():
    with pytest.raises(BadInput, match="apart"):
        Deployment(prefill_on="h100-sxm", schedule="served")


def test_no_name_is_no_card():
    assert prefill_card(Deployment()) is None
    assert prefill_card(Deployment(prefill_on="2xh100-sxm")) == (card("h100-sxm"), 2)


def test_a_prefill_worker_that_is_too_small_is_told_where_the_others_have_no_size():
    """16.1 GB of weights on a card of 12 GB: no memory of the CPU that decodes would help."""
    sc = on("epyc-7742", prefill_on="rtx-3060-12gb")
    held = memory(sc)

    assert sc.accelerator.given_bytes is None
    assert (held.fits, held.max_batch, landmarks(sc).kv_limit) == (False, 0, 0)
    fits = on("epyc-7742", prefill_on="h100-sxm")
    assert (memory(fits).fits, memory(fits).max_batch, landmarks(fits).kv_limit) == (None, None, None)
