"""The arithmetic of your own calibration, by hand: an interval of 0.3 standard deviations is a variance of 0.09."""

from __future__ import annotations

import math

import pytest

from rooflight.answers.calibrate.shrink import (
    BETWEEN,
    EIGHT_OF_TEN,
    MODELS,
    NOISE,
    PRIOR_ROWS,
    WITHIN,
    Known,
    Seen,
    chosen,
    ends,
    fitted,
    leaving_out,
    rest_of,
    shows,
    surprised,
)

KNOWN = Known(step=0.3, prefill=0.3, first=0.3, request=0.3)
STEP, PREFILL, FIRST = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
VARIANCE = 0.3**2


def step(y: float, run: str = "1", model: str = "m") -> Seen:
    return Seen(model=model, quantity="step", run=run, y=y, slopes=STEP)


def test_the_shares_are_a_whole():
    assert pytest.approx(1) == BETWEEN + MODELS + WITHIN


def test_one_row_moves_its_model_half_of_the_way_and_others_less():
    """(0.3 + 0.2) of 0.2, and 0.3 of it: the rest, for want of rows, is the half that is assumed."""
    one = fitted([step(0.2)], KNOWN, ["step"])

    assert one.shift("m", {"step": 1})[0] == pytest.approx((BETWEEN + MODELS) * 0.2)
    assert one.shift("another", {"step": 1})[0] == pytest.approx(BETWEEN * 0.2)


def test_what_one_row_leaves_open():
    """A prior of 0.045 and a row of 0.045: 0.045 / 2. Another model: 0.027 - 0.027^2 / 0.09, and 0.018 of its own."""
    one = fitted([step(0.2)], KNOWN, ["step"])
    common, own = BETWEEN * VARIANCE, MODELS * VARIANCE

    assert one.shift("m", {"step": 1})[1] == pytest.approx(0.045 / 2)
    assert one.shift("another", {"step": 1})[1] == pytest.approx(common - common**2 / VARIANCE + own)


def test_two_rows_that_agree_move_it_further():
    """The rest is (4 x 0.045 + 0) / (4 + 1) = 0.036, of two runs 0.018: 0.045 / (0.045 + 0.018) of the way."""
    one = fitted([step(0.2, "1"), step(0.2, "2")], KNOWN, ["step"])
    rest = PRIOR_ROWS * WITHIN * VARIANCE / (PRIOR_ROWS + 1)

    assert one.rest["step"] == pytest.approx(rest) == pytest.approx(0.036)
    assert one.shift("m", {"step": 1})[0] == pytest.approx(0.2 * 0.045 / (0.045 + rest / 2))


def test_rows_that_disagree_widen_the_rest_and_move_nothing():
    """0.6 and -0.6: (4 x 0.045 + 2 x 0.36) / 5 = 0.18, twice the whole variance that was assumed."""
    one = fitted([step(0.6, "1"), step(-0.6, "2")], KNOWN, ["step"])

    assert one.rest["step"] == pytest.approx((PRIOR_ROWS * 0.045 + 2 * 0.36) / (PRIOR_ROWS + 1))
    assert one.shift("m", {"step": 1})[0] == pytest.approx(0, abs=1e-12)
    assert ends(one.rest["step"])[1] > ends(VARIANCE)[1]


def test_rows_of_one_run_count_as_one():
    many = fitted([step(0.2)] * 5, KNOWN, ["step"])
    one = fitted([step(0.2)], KNOWN, ["step"])

    assert many.shift("m", {"step": 1}) == pytest.approx(one.shift("m", {"step": 1}))
    assert rest_of([step(0.2)] * 5, KNOWN, ["step"]) == rest_of([step(0.2)], KNOWN, ["step"])


def test_many_rows_that_agree_have_their_way_but_no_less_than_noise():
    rows = [step(0.2, str(run)) for run in range(5000)]
    one = fitted(rows, KNOWN, ["step"])

    assert one.shift("m", {"step": 1})[0] == pytest.approx(0.2, rel=0.001)
    assert one.rest["step"] == NOISE**2
    assert pytest.approx(0.016 / 0.6745) == NOISE  # repeated runs: 1.6 % in the median


def test_two_models_that_agree_tell_more_of_a_third():
    """By hand: each model's mean has variance 0.018 + 0.045 / 1, two of them half; 0.027 / (0.027 + 0.0315) of 0.2."""
    rows = [step(0.2, "1", "a"), step(0.2, "2", "b")]
    one = fitted(rows, KNOWN, ["step"])
    rest = one.rest["step"]

    assert rest == pytest.approx(0.045)  # (4 x 0.045 + 0) / (4 + 2 - 2)
    assert one.shift("c", {"step": 1})[0] == pytest.approx(0.2 * 0.027 / (0.027 + (0.018 + rest) / 2))


def test_a_row_that_hangs_on_two_shifts_shares_itself_between_them():
    """A request half of steps and half of a prefill: both move alike."""
    row = Seen(model="m", quantity="request", run="1", y=0.2, slopes=(0.5, 0.5, 0.0))
    one = fitted([row], KNOWN, ["step", "prefill"])
    moved = [one.shift("m", {name: 1})[0] for name in ("step", "prefill")]

    assert moved[0] == pytest.approx(moved[1])
    # prior variance 2 x 0.25 x 0.045 = 0.0225 of the row, its rest 0.045: a third of the way, shared out by slopes
    assert 0.5 * sum(moved) == pytest.approx(0.2 * 0.0225 / (0.0225 + 0.045))


def test_leaving_one_out_predicts_each_run_by_the_others():
    """Two runs of 0.2 and 0.4: the first by half of 0.4, the second by half of 0.2."""
    left = leaving_out([step(0.2, "1"), step(0.4, "2")], KNOWN, ["step"])

    assert [one.shift for one in left] == pytest.approx([0.5 * 0.4, 0.5 * 0.2])
    assert left[0].variance == pytest.approx(0.0225 + 0.045)


def test_all_rows_of_a_run_are_left_out_together():
    rows = [step(0.2, "1"), Seen(model="m", quantity="first", run="1", y=0.5, slopes=FIRST), step(0.2, "2")]
    left = leaving_out(rows, KNOWN, ["step", "first"])

    assert left[1].shift == 0
    assert left[0].shift == pytest.approx(0.1)


def test_many_runs_are_left_out_of_the_sums_as_well():
    """Above some runs the rest is shared: the same to a percent."""
    rows = [step(0.2 + 0.01 * (run % 5), str(run)) for run in range(30)]
    quick = leaving_out(rows, KNOWN, ["step"])
    without_first = fitted(rows[1:], KNOWN, ["step"]).shift("m", {"step": 1})[0]

    assert quick[0].shift == pytest.approx(without_first, rel=0.01)


def test_a_factor_that_helps_is_kept_and_one_that_harms_is_not():
    agree = [step(0.2, "1"), step(0.25, "2"), step(0.22, "3")]
    alternate = [
        Seen(model="m", quantity="first", run=str(run), y=0.6 * (-1) ** run, slopes=FIRST) for run in range(1, 4)
    ]

    assert chosen(agree, KNOWN).active == ("step",)
    assert chosen(alternate, KNOWN).active == ()
    assert chosen([*agree, *alternate], KNOWN).active == ("step",)


def test_a_quantity_that_may_not_shift_has_the_spread_around_what_was_expected():
    """(4 x 0.09 + 3 x 0.36) / (4 + 3)."""
    rows = [Seen(model="m", quantity="first", run=str(run), y=0.6, slopes=FIRST) for run in range(3)]

    assert rest_of(rows, KNOWN, [])["first"] == pytest.approx((PRIOR_ROWS * VARIANCE + 3 * 0.36) / (PRIOR_ROWS + 3))


def test_one_run_alone_is_not_left_out():
    found = chosen([step(0.2), Seen(model="m", quantity="first", run="1", y=0.5, slopes=FIRST)], KNOWN)

    assert found.active == ("step", "first")
    assert found.left is None


def test_first_tokens_shift_first_tokens_alone_and_requests_all_that_moves_them():
    first = Seen(model="m", quantity="first", run="1", y=0.1, slopes=(0.3, 0.4, 1.0))
    request = Seen(model="m", quantity="request", run="1", y=0.1, slopes=(0.8, 0.2, 0.0))

    assert shows([first]) == ("first",)
    assert shows([request]) == ("step", "prefill")
    assert shows([Seen(model="m", quantity="step", run="1", y=0.1, slopes=(0.0, 0.0, 0.0))]) == ()


def test_a_run_far_off_widens_what_was_known():
    """0.9 is 3 deviations of 0.3, and 2 are let be: 0.45. The factor moves half of the way all the same."""
    wider = surprised([step(0.9)], KNOWN)

    assert wider.step == pytest.approx(0.45)
    assert surprised([step(0.5)], KNOWN).step == pytest.approx(0.3)
    assert wider.first == pytest.approx(0.3)
    assert fitted([step(0.9)], wider, ["step"]).shift("m", {"step": 1})[0] == pytest.approx(0.45)


def test_ends_hold_eight_of_ten():
    low, high = ends(VARIANCE)

    assert (low, high) == pytest.approx((math.exp(-EIGHT_OF_TEN * 0.3), math.exp(EIGHT_OF_TEN * 0.3)))
    assert (low, high) == pytest.approx((0.681, 1.469), abs=0.001)
