"""A sweep of runs says of every point what analyze's run says of it."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

import rooflight
from rooflight.errors import BadInput
from rooflight.library.questions import make_scenario
from rooflight.serve.runs import NUMBERS, SPANS, RunsAlong
from rooflight.serve.schedule import scheduled
from rooflight.serve.sweep import BLOCK_RUNS
from rooflight.values.run import SCHEDULES
from unit.models import llama_3_8b, llama_3_70b

AXES = {"batch": [1, 16, 700], "isl": [100, 8000], "osl": [1, 2, 300]}


def of_one(schedule, on="2xh100-sxm", **fields):
    """The run by itself, by the sweep's column names."""
    run = scheduled(make_scenario(llama_3_8b(), on, **fields), schedule)
    found = {name: getattr(run, name) for name in NUMBERS}
    for name in SPANS:
        span = getattr(run, name)
        values = {} if span is None else msgspec.structs.asdict(span)
        found |= {f"{name}.{basis}": values.get(basis) for basis in ("ceiling", "roofline", "expected", "low", "high")}
    return found


@pytest.mark.parametrize("fields", [{}, {"dp": 2}, {"pp": 2, "engine": "sglang"}, {"max_num_batched_tokens": 512}])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_point_is_the_run_by_itself(schedule, fields):
    columns = rooflight.sweep(llama_3_8b(), "2xh100-sxm", AXES, schedule=schedule, **fields).columns()
    points = [dict(zip(AXES, values, strict=True)) for values in np.ndindex(*map(len, AXES.values()))]
    assert len(columns["batch"]) == len(points)
    for number, place in enumerate(points):
        point = {name: AXES[name][index] for name, index in place.items()}
        for name, value in of_one(schedule, **fields, **point).items():
            wanted = np.nan if value is None else value
            assert columns[name][number] == pytest.approx(wanted, rel=1e-6, abs=1e-9, nan_ok=True), (name, point)
        assert {name: columns[name][number] for name in point} == point


def test_deployments_are_one_after_the_other():
    swept = rooflight.sweep(llama_3_8b(), ["h100-sxm", "h200-sxm"], {"batch": [1, 8], "tp": [1, 2]}, schedule="served")
    assert [(one.accelerator, one.tp, one.points) for one in swept.runs()] == [
        (card, tp, 2) for card in ("h100-sxm", "h200-sxm") for tp in (1, 2)
    ]
    assert swept.phase == "decode"
    assert swept.schedule == "served"


def test_workers_apart_are_counted():
    (block,) = rooflight.sweep(
        llama_3_8b(), "h100-sxm", {"batch": [1, 8]}, schedule="apart", prefill_workers=2, decode_workers=3
    ).runs()
    assert block.devices == 5


def test_blocks_are_bounded_and_every_point_is_in_one():
    swept = rooflight.sweep(llama_3_8b(), "h100-sxm", {"batch": range(1, 90), "isl": range(1, 100)}, schedule="batch")
    blocks = list(swept.runs())
    assert max(one.points for one in blocks) <= BLOCK_RUNS
    assert sum(one.points for one in blocks) == swept.points == 89 * 99


def test_what_holds_no_sequence_has_no_run_unless_it_is_asked_for():
    """Llama-3-70B's weights, 141 GB, on one H100; 8B holds fewer than 4,000 sequences, and the others wait."""
    out = rooflight.sweep(llama_3_70b(), "h100-sxm", {"batch": [1, 2]}, schedule="served").columns()
    assert not out["fits"].any()
    assert np.isnan(out["ttft_s.expected"]).all()
    anyway = rooflight.sweep(llama_3_70b(), "h100-sxm", {"batch": [1]}, schedule="served", ignore_capacity=True)
    assert anyway.columns()["ttft_s.expected"][0] > 0
    some = rooflight.sweep(llama_3_8b(), "h100-sxm", {"batch": [4000]}, schedule="served").columns()
    assert not some["fits"][0]
    assert some["waiting"][0] > 1000


def test_without_a_schedule_points_are_steps_and_runs_are_served():
    swept = rooflight.sweep(llama_3_8b(), "h100-sxm", {"batch": [1, 8]})
    assert "ttft_s.expected" not in swept.columns()
    assert {one.schedule for one in swept.runs()} == {"served"}


def test_axes_that_change_nothing_are_said():
    alone = rooflight.sweep(llama_3_8b(), "h100-sxm", {"batch": [1, 8]}, schedule="alone")
    assert "run alone does not depend on batch: its rows repeat" in alone.warnings
    served = rooflight.sweep(llama_3_8b(), "h100-sxm", {"batch": [1, 8]}, schedule="served")
    assert not [line for line in served.warnings if "does not depend" in line]


def test_what_a_sweep_of_runs_cannot_be_asked():
    with pytest.raises(BadInput, match="a run is no phase"):
        rooflight.sweep(llama_3_8b(), "h100-sxm", {"batch": [1]}, schedule="served", phase="decode")
    with pytest.raises(BadInput, match="numbers of requests in flight"):
        rooflight.sweep(llama_3_8b(), "h100-sxm", {"batch": [1]}, schedule="served", request_rate=2.0)


MOVED = [
    ("h100-sxm", {}), ("2xh100-sxm", {"dp": 2}), ("h100-sxm", {"chunk_tokens": 256}), ("h100-sxm", {"osl": 1}),
    ("h100-sxm", {"context": 9000}), ("h100-sxm", {"engine": "llama.cpp", "weights": "q4_k_m"}),
    ("h100-sxm", {"draft_tokens": 3, "acceptance": 0.7}), ("h100-sxm", {"schedule": "batch", "max_num_seqs": 32}),
    ("h100-sxm", {"prefill_workers": 1, "decode_workers": 1}),
]  # fmt: skip


@pytest.mark.parametrize(("on", "fields"), MOVED)
def test_runs_of_a_moving_batch_are_those_of_each_batch_by_itself(on, fields):
    """However it moves: the first one is made by itself, at the second all are, and 5 is no stop."""
    made = RunsAlong([1, 2, 8, 64, 512])
    for batch in (64, 8, 64, 1, 5, 512, 2):
        sc = make_scenario(llama_3_8b(), on, **fields, batch=batch)
        for schedule in ("alone", "batch", "served"):
            run, wanted = made(sc, schedule, users=batch), scheduled(sc, schedule)
            assert numbers_of(run) == pytest.approx(numbers_of(wanted), rel=1e-12, abs=1e-12), (batch, schedule)
            assert type(run) is type(wanted)


def numbers_of(run):
    """Every number of a run by its path, and texts as they are."""
    found = {}

    def walk(path, value):
        if isinstance(value, dict):
            for name, one in value.items():
                walk(f"{path}.{name}", one)
        else:
            found[path] = value

    walk("", msgspec.to_builtins(run))
    return found


def test_runs_of_a_moving_context_are_looked_up_only_where_memory_admits_as_many():
    made, runs = RunsAlong([1, 64]), []
    for context in (None, 1000, 120_000):
        sc = make_scenario(llama_3_70b(), "2xh100-sxm", context=context, batch=64)
        runs += [made(sc, "alone", users=64), scheduled(sc, "alone")]
        made(sc, "served", users=1)
        assert numbers_of(made(sc, "served", users=64)) == pytest.approx(numbers_of(scheduled(sc, "served")), rel=1e-12)
    assert runs[0] == runs[1]
    assert runs[2] is runs[0]


def test_runs_between_stops_are_not_kept():
    """However many are asked for, by hand or by a program, what is kept is of the stops alone."""
    made = RunsAlong([1, 2, 8])
    for batch, kept in ((5, False), (8, True), (2, True), (5, False)):
        sc = make_scenario(llama_3_8b(), "h100-sxm", batch=batch)
        first, again = (made(sc, "served", users=batch) for _ in range(2))
        assert first == again
        assert (first is again) == kept


def test_runs_of_a_card_without_a_peak_are_made_as_ever():
    sc = make_scenario("facebook/bart-base", "ascend-950dt", batch=4)
    assert sc.unrated
    made = RunsAlong([1, 4, 8])
    for users in (8, 4):
        assert made(sc, "served", users=users) == scheduled(sc, "served", users=users)
