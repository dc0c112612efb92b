"""Unlike cards in one deployment: layers split by memory and passed in turn, tensors at the slowest one's pace."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooflight.catalog.accelerators import load
from rooflight.catalog.unlike import mean_of
from rooflight.errors import BadInput
from rooflight.scenario.change import changed, spread
from rooflight.scenario.definite import scenario
from rooflight.serve.analyze import analyze
from rooflight.serve.memory import memory
from rooflight.serve.phases import decode, prefill
from rooflight.serve.room import parts, room
from rooflight.serve.schedule import scheduled
from rooflight.units import to_base
from rooflight.values.deployment import Deployment
from rooflight.values.model import Layer, Linear
from rooflight.values.workload import Workload
from rooflight.work.count import weight_bytes
from rooflight.work.places import in_turn, shares, stage_model
from unit.models import llama_3_8b, model, tiny_moe

GB = to_base(1, "GB")


def forty_gb(layers=80):
    """80 equal layers of one matrix each, 5,000 x 50,000 in 16 bits: 80 x 0.5 GB = 40 GB; head and table of 1 MB."""
    one = Layer(count=layers, kind="dense", mlp=(Linear(name="up", inputs=5000, outputs=50_000),), norms=0)
    return model("forty-gb", 5000, 100, (one,))


def of_size(card, gigabytes, bytes_per_s, id):
    """The card with so much memory, all of which a program is given, and such a bandwidth."""
    return msgspec.structs.replace(
        card, id=id, memory_bytes=gigabytes * GB, program_bytes=gigabytes * GB, label_bytes=gigabytes * GB,
        memory_bytes_per_s=bytes_per_s, fast_memory_bytes_per_s=None,
    )  # fmt: skip


def hand_made(*sizes):
    """The mean of cards of (GB, bytes a second), all else as of the 3090."""
    base, _ = load("rtx-3090")
    return mean_of([of_size(base, size, rate, f"card-{place}") for place, (size, rate) in enumerate(sizes)])


def on(card, made, load_=None, **fields):
    return scenario(made, card, len(card.joined) or None, load_ or Workload(osl=16), Deployment(**fields))


def test_two_cards_of_24_gb_pass_40_gb_in_turn():
    """40 layers of 0.5 GB each at 936 and at 1,008 GB/s: 20/936 + 20/1008 = 21.37 + 19.84 = 41.21 ms a token."""
    card = hand_made((24, 936 * GB), (24, 1008 * GB))
    time = decode(on(card, forty_gb(), ignore_capacity=True)).time
    by_hand = 20 / 936 + 20 / 1008

    assert by_hand == pytest.approx(0.04121, abs=5e-6)
    assert time.ceiling_s == pytest.approx(by_hand, rel=1e-3)
    assert time.roofline_s == pytest.approx(by_hand, rel=1e-2)
    assert time.memory_s == pytest.approx(by_hand, rel=1e-3)


def test_a_card_of_half_the_memory_takes_half_the_layers():
    """24 and 12 GB of 80 layers: 53 and 27; 26.5 GB at 1,000 GB/s and 13.5 GB at 500: 26.5 + 27 = 53.5 ms."""
    card = hand_made((24, 1000 * GB), (12, 500 * GB))
    sc = on(card, forty_gb(), ignore_capacity=True)
    held = [(stage.rates.accelerator.id, stage.layers) for stage in sc.rates.unlike]

    assert held == [("card-0", 53), ("card-1", 27)]
    assert decode(sc).time.ceiling_s == pytest.approx(0.0265 + 0.027, rel=1e-3)
    note = next(note for note in sc.assumptions if note.key == "layer_split")
    assert note.value == (("card-0", 1, 53), ("card-1", 1, 27))


@pytest.mark.parametrize(
    ("sizes", "layers", "held"),
    [
        ((24, 12), 80, (53, 27)),  # 53.3 and 26.7
        ((24, 24), 81, (41, 40)),  # the first of equals takes the rest
        ((80, 1, 1), 4, (2, 1, 1)),  # none is left without a layer
        ((1, 1, 1), 3, (1, 1, 1)),
    ],
)
def test_layers_are_shared_out_in_whole_ones(sizes, layers, held):
    assert shares(sizes, layers) == held


@given(st.lists(st.floats(1, 200), min_size=1, max_size=8), st.integers(8, 200))
def test_every_layer_lies_somewhere_and_near_its_share(sizes, layers):
    held = shares(sizes, layers)

    assert sum(held) == layers
    assert min(held) >= 1
    if min(layers * size / sum(sizes) for size in sizes) >= 1:
        assert all(abs(one - layers * size / sum(sizes)) < 1 for one, size in zip(held, sizes, strict=True))


def test_a_plus_a_is_two_stages_of_a():
    """The same question: the layout is the only thing that the + says of like cards."""
    made = llama_3_8b()
    card, count = load("rtx-3090+rtx-3090")
    plain, _ = load("rtx-3090")
    joined = scenario(made, card, count, Workload(batch=4), Deployment())
    staged = scenario(made, plain, 2, Workload(batch=4), Deployment(pp=2))

    assert joined.rates == staged.rates
    assert decode(joined).span == decode(staged).span
    assert prefill(joined).span == prefill(staged).span
    assert memory(joined) == memory(staged)


@pytest.mark.parametrize("batch", [1, 2, 16])
def test_a_card_and_its_twin_of_another_name_are_two_stages_of_it(batch):
    """But for the head, which lies on one of them: bounds of decode agree, and those of prefill to one per cent.

    A prompt's differ a little: each card's own largest resource counts, the head reads weights where layers compute.
    """
    base, _ = load("rtx-3090")
    card = mean_of([base, msgspec.structs.replace(base, id="twin")])
    two = scenario(llama_3_8b(), card, 2, Workload(batch=batch), Deployment())
    one = scenario(llama_3_8b(), base, 2, Workload(batch=batch), Deployment(pp=2))

    assert len(two.rates.unlike) == 2
    assert decode(two).time.ceiling_s == pytest.approx(decode(one).time.ceiling_s, rel=1e-9)
    assert prefill(two).time.ceiling_s == pytest.approx(prefill(one).time.ceiling_s, rel=0.01)
    # the card with the head, 17.5 layers' time, sets the pace where several passes are in flight
    longest = 1 if batch == 1 else 1.07
    assert 1 - 1e-9 <= decode(two).time.roofline_s / decode(one).time.roofline_s <= longest + 1e-9


def test_the_order_of_cards_changes_nothing():
    found = [
        analyze(scenario(llama_3_8b(), *load(name), Workload(batch=8), Deployment()))
        for name in ("rtx-4090+rtx-3090", "rtx-3090+rtx-4090")
    ]

    assert found[0] == found[1]


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.floats(8, 96), st.floats(100, 4000)), min_size=2, max_size=4),
    st.sampled_from([1, 2, 3, 7, 64]), st.sampled_from(["alone", "batch", "served"]),
)  # fmt: skip
def test_times_keep_their_order_and_lie_between_those_of_the_cards(sizes, batch, schedule):
    """ceiling <= roofline <= expected, and a pass takes no longer than on the slowest, no less than on the fastest."""
    card = hand_made(*((size, rate * GB) for size, rate in sizes))
    sc = on(card, llama_3_8b(), Workload(batch=batch, isl=300, osl=40), ignore_capacity=True)
    run = scheduled(sc, schedule)

    for span in (decode(sc).span, prefill(sc).span, run.tpot_s, run.ttft_s, run.request_s):
        assert 0 < span.ceiling <= span.roofline <= span.expected <= span.high
    by_card = [
        decode(scenario(llama_3_8b(), msgspec.structs.replace(one, joined=()), len(sizes), sc.workload,
                        Deployment(pp=len(sizes), ignore_capacity=True))).time.ceiling_s
        for one in card.joined
    ]  # fmt: skip
    assert min(by_card) * (1 - 1e-9) <= decode(sc).time.ceiling_s <= max(by_card) * (1 + 1e-9)


def test_several_passes_go_at_the_pace_of_the_longest_stage():
    """30 GB at 500 GB/s take 60 ms, 10 GB at 1,000 take 10: one sequence 70 ms; two in flight come round in 2 x 60."""
    card = hand_made((36, 500 * GB), (12, 1000 * GB))
    one, two = (on(card, forty_gb(), Workload(osl=16, batch=many), ignore_capacity=True) for many in (1, 2))

    assert decode(one).time.roofline_s == pytest.approx(0.070, rel=0.01)
    assert decode(two).time.roofline_s == pytest.approx(0.120, rel=0.01)
    assert decode(two).time.ceiling_s == pytest.approx(0.070, rel=0.01)  # no schedule is taken for granted
    assert decode(two).expected.seconds >= 0.120


def test_cut_tensors_go_at_the_slowest_ones_pace():
    """40 GB in two equal parts: 20 GB at 500 GB/s, whatever the other can: 40 ms."""
    card = hand_made((36, 500 * GB), (12, 1000 * GB))
    sc = on(card, forty_gb(), ignore_capacity=True, tp=2)

    assert sc.rates.unlike == ()
    assert decode(sc).time.memory_s == pytest.approx(0.040, rel=1e-3)
    assert memory(sc).usable_bytes == pytest.approx(2 * 12 * GB)
    assert next(note for note in sc.assumptions if note.key == "slowest_card").value == ("card-0", "card-1")


def test_work_and_weights_add_up_over_the_cards():
    """Wherever layers lie a step moves the same bytes, and what is stored adds up to the model."""
    card, count = load("rtx-4090+2xrtx-3090")
    for made in (llama_3_8b(), tiny_moe()):
        if sum(layer.count for layer in made.layers) < count:
            continue
        sc = scenario(made, card, count, Workload(batch=3), Deployment())
        one = scenario(made, load("rtx-3090")[0], count, Workload(batch=3), Deployment(pp=count))
        for phase in (decode, prefill):
            assert phase(sc).work.weight_bytes == pytest.approx(phase(one).work.weight_bytes)
            assert phase(sc).work.flop == pytest.approx(phase(one).work.flop)
            assert phase(sc).work.link_bytes == pytest.approx(phase(one).work.link_bytes)
        blocks = analyze(sc).accelerator.split_or_absent
        assert sum(block.weights_bytes for block in blocks) == pytest.approx(weight_bytes(made), rel=1e-3)
        assert sum(block.layers for block in blocks) == sum(layer.count for layer in made.layers)


def test_each_kind_has_its_layers_what_is_before_them_or_behind():
    made = llama_3_8b()
    sc = scenario(made, *load("rtx-4090+rtx-3090"), Workload(), Deployment())
    first, last = parts(sc)
    from rooflight.work.step import decode as decoded

    ops = in_turn(made, [(0, 20), (20, 32)], decoded(sequences=1, context=8), sc.layout, sc.numbers)
    names = [[op.name for op in one] for one in ops]

    assert first.model.head is None
    assert last.model.head is not None
    assert "embedding" in names[0]
    assert "embedding" not in names[1]
    assert "lm_head" not in names[0]
    assert "lm_head" in names[1]
    assert sum(layer.count for layer in stage_model(made, 20, 32).layers) == 12
    assert sum("hop" in name for one in names for name in one) == 1


def test_the_fullest_card_bounds_the_sequences():
    """Four layers of 0.5 GB: 1.4 and 0.7 GB are enough together, but three layers are 1.5 GB on the first of them."""
    even = on(hand_made((24, 936 * GB), (24, 936.5 * GB)), forty_gb())
    tight = on(hand_made((1.4, 936 * GB), (0.7, 936 * GB)), forty_gb(4))

    assert memory(even).usable_bytes == pytest.approx(48 * GB)
    assert memory(even).max_batch >= 1
    assert memory(tight).usable_bytes == pytest.approx(2.1 * GB)
    assert memory(tight).max_batch == 0


def test_as_many_sequences_fit_as_the_fullest_card_holds():
    sc = on(hand_made((30, 936 * GB), (12, 936 * GB)), llama_3_8b())
    each = [room(part) for part in parts(sc)]

    assert memory(sc).max_batch == min(int(one.left // one.each) for one in each) > 0


@pytest.mark.parametrize("fields", [
    {"dp": 2}, {"tp": 3}, {"pp": 3}, {"tp": 2, "pp": 2}, {"memory": 48 * GB}, {"n_gpu_layers": 4}, {"cpu_moe": True},
    {"prefill_workers": 1}, {"decode_workers": 2}, {"schedule": "apart"}, {"kv_offload": False},
])  # fmt: skip
def test_what_is_not_known_of_unlike_cards_is_refused(fields):
    with pytest.raises(BadInput):
        scenario(llama_3_8b(), *load("rtx-4090+rtx-3090"), Workload(), Deployment(**fields))


def test_fewer_layers_than_cards_are_refused():
    with pytest.raises(BadInput, match="stages"):
        scenario(model("one", 64, 100, forty_gb(1).layers), *load("rtx-4090+rtx-3090"), Workload(), Deployment())


def test_a_changed_scenario_keeps_its_cards():
    sc = scenario(llama_3_8b(), *load("rtx-4090+rtx-3090"), Workload(), Deployment())

    assert changed(sc) == sc
    assert changed(sc, tp=2, pp=1).rates.unlike == ()
    assert changed(changed(sc, tp=2, pp=1), tp=1, pp=2) == sc


def test_no_split_is_faster_than_any_spread():
    """However work is spread over both, a step takes at least its bytes over the sum of bandwidths."""
    for name in ("rtx-4090+rtx-3090", "2xrtx-3090+rtx-4090", "h100-sxm+t4"):
        sc = scenario(llama_3_8b(), *load(name), Workload(), Deployment(ignore_capacity=True))
        (best,) = spread(sc)
        assert decode(best).time.ceiling_s <= decode(sc).time.ceiling_s
        assert decode(best).time.memory_s == pytest.approx(
            decode(sc).time.streamed_bytes / sum(one.memory_bytes_per_s for one in sc.accelerator.joined), rel=0.02
        )
