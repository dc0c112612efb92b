"""Deployments compared: the numbers that must come out, who wins where, and what cannot be asked."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest

import rooflight
from rooflight.errors import BadInput, MissingFact, UnknownName
from rooflight.library.questions import make_scenario
from rooflight.serve.analyze import analyze
from rooflight.values.comparison import OBJECTIVES

MODEL = "meta-llama/Meta-Llama-3.1-8B"
BIG = "meta-llama/Meta-Llama-3.1-70B"
# Mean lengths of a code-completion service's requests, and of a chat service's.
CODE = {"isl": 2048, "osl": 28}
CHAT = {"isl": 1155, "osl": 211}


def compared(on, model=MODEL, **fields):
    return rooflight.compare(model, on, **fields)


def second(*on, **fields):
    return compared(list(on), **fields).compared[1]


def test_h100_to_h200():
    """The same chip with 4.8 in place of 3.35 TB/s: decode +43 %, prefill +0 %."""
    h200 = second("h100-sxm", "h200-sxm")
    assert h200.decode.speed_up.ceiling == pytest.approx(4.8 / 3.35, rel=1e-3)  # 1.433
    assert h200.prefill.speed_up.ceiling == pytest.approx(1, rel=1e-3)
    assert h200.hardware.memory_ratio == pytest.approx(4.8 / 3.35)
    assert h200.hardware.flop_ratio == pytest.approx(1)


def test_a100_to_h100():
    """989.4 over 312 TFLOP/s: 3.17. The ceiling allows each card its fastest clock, which moves it by 4 %."""
    h100 = second("a100-sxm4-80gb", "h100-sxm")
    assert h100.hardware.flop_ratio == pytest.approx(989.4 / 312, rel=1e-3)  # 3.2x
    assert h100.prefill.speed_up.ceiling == pytest.approx(3.2, rel=0.04)


def test_mi300x_against_h100():
    """5.3 over 3.35 TB/s: 1.58; 1307 over 989 TFLOP/s: 1.32."""
    mi300x = second("h100-sxm", "mi300x")
    assert mi300x.decode.speed_up.ceiling == pytest.approx(5.3 / 3.35, rel=1e-3)  # 1.58
    assert mi300x.hardware.flop_per_s == pytest.approx(1307e12, rel=1e-3)
    assert mi300x.hardware.flop_ratio == pytest.approx(1307.4 / 989.4, rel=1e-3)


@pytest.mark.parametrize(
    "one, other, batch, basis",
    [
        ("a100-sxm4-80gb", "h20", 8, "ceiling"),
        ("a100-sxm4-80gb", "h20", 8, "expected"),
        ("h100-sxm", "h20", 1, "ceiling"),
        ("rtx-4090", "l40s", 1, "expected"),
    ],
)
def test_prompts_and_answers_rank_cards_differently(one, other, batch, basis):
    """TB/s and TFLOP/s: H20 4.0 and 148, A100 2.04 and 312, H100 3.35 and 989; RTX 4090 1.01 and 165, L40S 0.86
    and 362. What has more of one and less of the other changes its rank with the mix."""
    if one == "rtx-4090":
        one, other = other, one
    code, chat = (getattr(second(one, other, batch=batch, **mix).request.speed_up, basis) for mix in (CODE, CHAT))
    assert code < 1 < chat


@pytest.mark.parametrize(
    "fields", [{"batch": 32, **CHAT}, {"batch": 1}, {"batch": 64, "schedule": "batch"}, {"batch": 8, "dp": 4},
               {"batch": 12, "prefill_workers": 1, "decode_workers": 3}, {"request_rate": 3.0}, {"prefill_batch": 4},
               {"batch": 4000, **CHAT}],
)  # fmt: skip
def test_a_deployment_is_what_analyze_says_of_it(fields):
    """The run and the steps of both phases, to the last digit."""
    (one,) = compared(["4xh100-sxm"], **fields).compared
    alone = analyze(make_scenario(MODEL, "4xh100-sxm", **fields))
    assert one.run == alone.runs[alone.run]
    assert one.prefill.step_s == alone.phases["prefill"].time_s
    assert one.prefill.tokens_per_s == alone.phases["prefill"].tokens_per_s
    assert one.prefill.bound == alone.phases["prefill"].bound
    decode = alone.phases.get("decode")
    assert (one.decode is None) == (decode is None)
    if decode is not None:
        assert (one.decode.step_s, one.decode.tokens_per_s) == (decode.time_s, decode.tokens_per_s)


def test_a_request_is_the_runs():
    """Its machine time is one over the requests a second, and speed-ups are of that."""
    base, one = compared(["h100-sxm", "h20"], batch=16, **CHAT).compared
    whole, run = one.request, one.run
    assert whole.requests_per_s == run.requests_per_s
    assert whole.output_tokens_per_s == run.output_tokens_per_s
    assert whole.output_tokens_per_s_per_user == run.output_tokens_per_s_per_user
    assert whole.overlapped_s == whole.time_s.ceiling == 1 / run.requests_per_s.ceiling
    for name in ("ceiling", "roofline", "expected"):
        gain = getattr(base.request.time_s, name) / getattr(whole.time_s, name)
        assert getattr(whole.speed_up, name) == pytest.approx(gain)
    assert one.prefill.share.expected == run.prefill_share


def test_shares_add_up_and_times_stand_in_order():
    for one in compared(["h100", "h200", "mi300x", "l40s", "h20"], batch=8, **CHAT).compared:
        for name in ("ceiling", "roofline", "expected"):
            assert getattr(one.prefill.share, name) + getattr(one.decode.share, name) == pytest.approx(1)
        for part in (one.prefill, one.decode, one.request):
            span = part.time_s
            assert span.ceiling <= span.roofline <= span.expected
            assert span.low <= span.expected <= span.high


def test_rates_per_accelerator_user_dollar_and_joule():
    """8 x h100-sxm at 2 dollars and 700 W each."""
    (one,) = compared("8xh100-sxm", model=BIG, batch=32, prices={"h100": 2.0}, **CHAT).compared
    whole, seconds = one.request, one.request.time_s.expected
    assert whole.requests_per_s.expected == pytest.approx(1 / seconds)
    assert whole.output_tokens_per_s.expected == pytest.approx(211 / seconds)
    assert whole.output_tokens_per_s_per_accelerator.expected == pytest.approx(211 / seconds / 8)
    assert whole.output_tokens_per_s_per_user.expected == pytest.approx(1 / one.run.tpot_s.expected)
    assert whole.tokens_per_usd.expected == pytest.approx(211 / seconds * 3600 / 16)
    assert whole.tokens_per_joule.expected == pytest.approx(211 / seconds / 5600)
    assert whole.output_tokens_per_s.low == pytest.approx(211 / whole.time_s.high)
    assert one.hardware.price_usd_per_hour == 16


def test_workers_apart_are_all_paid_for():
    """One that prefills and two that decode, 4 accelerators each: 12 at 2 dollars and 700 W."""
    (one,) = compared(
        ["4xh100-sxm"], model=BIG, batch=32, prefill_workers=1, decode_workers=2, prices={"h100": 2.0}
    ).compared
    assert (one.devices, one.run.schedule, one.hardware.price_usd_per_hour) == (12, "apart", 24)
    each = one.request.output_tokens_per_s_per_accelerator.expected
    assert one.request.output_tokens_per_s.expected == pytest.approx(12 * each)
    assert one.request.tokens_per_joule.expected == pytest.approx(each / 700)


def test_experts_cut_otherwise_are_not_crowned_inside_the_interval():
    """vLLM's issue 28887: EP 8 over TP 8 on 8 H200, where no gain is to be expected and a loss was seen."""
    for fields in ({}, {"batch": 64, "isl": 4000, "osl": 500}):
        answer = compared(["8xh200-sxm"], model="deepseek-ai/DeepSeek-V3", tp=8, ep=[1, 8], engine="vllm", **fields)
        assert answer.too_close
        assert "8 x h200-sxm ep 8" in answer.answer
        assert "8 x h200-sxm ep 1 " in answer.answer
        assert "are too close to call" in answer.answer
        assert "fastest" not in answer.answer


def test_two_are_too_close_where_their_intervals_meet():
    """The winner stays the one that is ahead as expected."""
    answer = compared(["h100", "h200", "h20"], batch=32, **CHAT)
    h100, h200, h20 = (one.request.output_tokens_per_s for one in answer.compared)
    assert h100.high > h200.low > h20.high
    assert (answer.winner, answer.too_close) == ("h200-sxm", ("h100-sxm",))
    clear = compared(["h100", "h20"], batch=32, **CHAT)
    assert (clear.winner, clear.too_close) == ("h100-sxm", ())


def test_requests_that_arrive_at_a_rate():
    """Each has as many in flight as the rate makes; who does not keep up has no times, and says what it finishes."""
    answer = compared(["l4", "h100", "h200"], request_rate=5.0)
    late, h100, h200 = answer.compared
    assert late.fits
    assert late.request is None
    most = rooflight.analyze("llama-3.1-8b", "l4", request_rate=5.0).most_requests_per_s
    assert f"finishes {most:.2f} requests a second at most: of 5 that arrive" in late.reason
    assert h100.batch > h200.batch > 1
    for one in (h100, h200):
        assert one.run.requests_per_s.expected == pytest.approx(5)
    assert answer.answer.startswith(
        "For 1,024 tokens in and 256 out, 5 requests a second, h200-sxm and h100-sxm are too "
    )
    assert "as expected both finish what arrives; a user waits " in answer.answer
    assert answer.winner == "h200-sxm"  # whose users wait less
    cheaper = compared(["h200", "h100"], request_rate=5.0, objective="cost", prices={"h100": 2, "h200": 9})
    assert cheaper.winner == "h100-sxm"
    none = compared(["l4"], request_rate=50.0)
    assert not none.answered
    assert none.answer.startswith("meta-llama/Meta-Llama-3.1-8B on l4 finishes")
    assert compared(["l4", "2xl4"], request_rate=50.0).answer.startswith("None of the 2 deployments keeps up")


def test_what_holds_fewer_than_the_batch_has_a_run_in_which_some_wait():
    answer = compared(["h100"], batch=2000, **CHAT)
    (one,) = answer.compared
    assert not one.fits
    assert one.decode is None
    assert one.batch == 2000
    assert one.run.waiting > 1000
    assert one.request.output_tokens_per_s.expected > 1000
    assert one.prefill.share.expected == one.run.prefill_share
    assert f"of 2,000 sequences at most {one.memory.max_batch} fit" in one.reason
    assert "of 2,000 requests wait for room in its memory" in answer.answer


def test_without_a_price_there_are_no_dollars():
    one = second("h100", "h200", prices={"h100": 2.0})
    assert one.request.tokens_per_usd is None
    assert "no price for h200-sxm" in " ".join(compared(["h100", "h200"], prices={"h100": 2.0}).warnings)


def test_the_largest_batch_of_each():
    """analyze's max_batch at the same lengths, which then fits."""
    answer = compared(["h100-sxm", "h200-sxm"], batch="max", **CHAT)
    for one in answer.compared:
        wanted = rooflight.analyze(MODEL, one.accelerator, **CHAT).memory.max_batch
        assert (one.batch, one.memory.max_batch, one.fits) == (wanted, wanted, True)
    assert "each at the largest batch that fits" in answer.answer


def test_what_does_not_fit_keeps_its_row():
    """141 GB of weights on one card of 80 GB; speed-ups are over the first that has times."""
    answer = compared(["h100-sxm", "2xh100-sxm", "h200-sxm"], model=BIG)
    out, base, _ = answer.compared
    assert not out.fits
    assert (out.prefill, out.decode, out.request, out.batch) == (None, None, None, None)
    assert "the weights alone are 141 GB" in out.reason
    assert out.memory.max_batch == 0
    assert answer.baseline == base.label == "2 x h100-sxm"
    assert base.request.speed_up.expected == 1
    assert any("speed-ups are over 2 x h100-sxm" in line for line in answer.warnings)
    assert answer.answered


def test_it_fits_nowhere():
    answer = compared(["l4", "h100-sxm"], model=BIG)
    assert not answer.answered
    assert (answer.winner, answer.baseline, answer.curves, answer.crossings) == (None, None, None, ())
    assert answer.answer.startswith("None of the 2 deployments holds it")


def test_ignoring_capacity_computes_anyway():
    one = compared(["h100-sxm"], model=BIG, ignore_capacity=True).compared[0]
    assert not one.fits
    assert one.reason
    assert one.request is not None


def test_a_missing_fact_is_a_reason_where_others_answer(tmp_path):
    path = tmp_path / "bare.toml"
    path.write_text('id = "bare"\nname = "bare"\nvendor = "x"\nfamily = "Hopper"\nkind = "gpu"\n', encoding="utf-8")
    out, fine = compared([str(path), "h100-sxm"]).compared
    assert out.memory is None
    assert "bare has no" in out.reason
    assert fine.request is not None
    with pytest.raises(MissingFact):
        compared([str(path)])


def test_formats_layouts_and_engines_are_rows():
    answer = compared(["h100-sxm"], weights=["bf16", "fp8"], engine=["vllm", "sglang"])
    assert [one.label for one in answer.compared] == [
        "h100-sxm bf16 vllm", "h100-sxm bf16 sglang", "h100-sxm fp8 vllm", "h100-sxm fp8 sglang",
    ]  # fmt: skip
    assert {one.engine for one in answer.compared} == {"vllm", "sglang"}
    cut = compared(["4xh100-sxm"], tp=[1, 2, 4])
    assert [(one.tp, one.dp, one.devices) for one in cut.compared] == [(1, 4, 4), (2, 2, 4), (4, 1, 4)]


def test_the_same_deployment_is_one_row():
    answer = compared(["h100", "h100-sxm", "h200"])
    assert [one.label for one in answer.compared] == ["h100-sxm", "h200-sxm"]
    assert "h100-sxm was named twice: one row" in answer.warnings


def test_who_wins_where():
    """A100 against H20: one crossing, at which both take the same time, and stretches that meet there."""
    answer = compared(["a100", "h20"], batch=8, **CHAT)
    for basis in ("ceiling", "expected"):
        (crossing,) = [one for one in answer.crossings if (one.objective, one.basis) == ("throughput", basis)]
        assert (crossing.below, crossing.above) == ("h20", "a100-sxm4-80gb")
        low, high = [one for one in answer.stretches if (one.objective, one.basis) == ("throughput", basis)]
        assert (low.winner, high.winner) == ("h20", "a100-sxm4-80gb")
        assert low.to_ratio == high.from_ratio == crossing.ratio
        assert crossing.isl + crossing.osl == pytest.approx(1366)
        at = compared(["a100", "h20"], batch=8, isl=round(crossing.isl), osl=1366 - round(crossing.isl))
        assert getattr(at.compared[1].request.speed_up, basis) == pytest.approx(1, abs=0.01)
        (equal,) = getattr(answer.compared[1].equal_at, basis)
        assert equal == pytest.approx(crossing.ratio, rel=1e-3)
    assert answer.mix.ratio < crossing.ratio
    assert answer.compared[0].equal_at is None
    assert compared(["h100", "b200"]).compared[1].equal_at.expected == ()


def test_curves_can_be_drawn():
    answer = compared(["a100", "h20"], batch=8, **CHAT)
    curves = answer.curves
    assert {len(one) for one in (curves.ratio, curves.isl, curves.osl)} == {len(curves.curves[0].ceiling_s)}
    assert [one.label for one in curves.curves] == [one.label for one in answer.compared]
    for curve in curves.curves:
        assert all(low <= high for low, high in zip(curve.ceiling_s, curve.expected_s, strict=True))
    assert curves.ratio[0] < answer.mix.ratio < curves.ratio[-1]


def test_equal_cards_do_not_cross():
    """H800 is an H100 with a slower link: alone it is the same card, and the first named wins throughout."""
    answer = compared(["h100-sxm", "h800-sxm"], **CHAT)
    won = {one.winner for one in answer.stretches if (one.objective, one.basis) == ("throughput", "expected")}
    assert won == {"h100-sxm"}


def test_a_mix_beyond_the_usual_ratios_is_on_the_curve():
    answer = compared(["h100", "h200"], isl=50_000, osl=10)
    assert answer.curves.ratio[-1] > answer.mix.ratio == 5000


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_winner_has_the_most_of_the_objective(objective):
    prices = {"h100": 3.0, "h200": 4.5, "l40s": 0.9, "h20": 2.0}
    on = ["2xh100", "h200", "l40s", "h20"]
    answer = compared(on, batch="max", objective=objective, prices=prices, **CHAT)
    field = {
        "throughput": "output_tokens_per_s",
        "accelerator": "output_tokens_per_s_per_accelerator",
        "latency": "output_tokens_per_s_per_user",
        "cost": "tokens_per_usd",
        "energy": "tokens_per_joule",
    }[objective]
    best = max(answer.compared, key=lambda one: getattr(one.request, field).expected)
    assert answer.winner == best.label
    assert answer.objective == objective
    at = [one for one in answer.stretches if (one.objective, one.basis) == (objective, "expected")]
    assert [one.winner for one in at if one.from_ratio <= answer.mix.ratio <= one.to_ratio] == [best.label]


def test_a_log_is_its_requests():
    """Twice the same request is that request; a mixed log lies between its parts."""
    once = compared(["h100", "h200"], batch=8, **CHAT)
    twice = compared(["h100", "h200"], batch=8, log=[(1155, 211)] * 2)
    assert twice.compared[1].request.time_s.expected == pytest.approx(once.compared[1].request.time_s.expected)
    assert (twice.mix.requests, twice.mix.source) == (2, "the log given")
    mixed = compared(["h100"], batch=8, log=[(1155, 211), (4000, 5)]).compared[0].request.time_s.expected
    short, long = (
        compared(["h100"], batch=8, log=[one]).compared[0].request.time_s.expected for one in ((1155, 211), (4000, 5))
    )
    assert min(short, long) < mixed < max(short, long)


def test_requests_without_output():
    """Prefill alone decides: no output rates, no crossing of a single token, a winner all the same."""
    answer = compared(["h20", "h100"], log=[(2048, 0), (512, 1)])
    assert answer.winner == "h100-sxm"
    one = answer.compared[0]
    assert one.decode.speed_up is None
    assert one.decode.share.expected == 0
    bare = compared(["h20", "h100"], log=[(2048, 0)])
    assert bare.compared[0].request.output_tokens_per_s.expected == 0
    assert bare.mix.ratio is None


def test_users_of_a_single_token_wait_for_it():
    """Without a second token there is no time between tokens: the whole request is what a user waits."""
    answer = compared(["h20", "h100"], osl=1, objective="latency")
    assert answer.winner == "h100-sxm"
    assert answer.compared[0].request.output_tokens_per_s_per_user is None


def test_the_shortest_request():
    answer = compared(["h100", "h200"], log=[(1, 0)])
    assert answer.curves is None
    assert answer.winner == "h200-sxm"


def test_a_request_too_long_for_a_card_is_said():
    answer = compared(["l4", "h100"], log=[(100, 10)] * 500 + [(100_000, 10)])
    assert any("100,010 tokens, does not fit even alone on l4" in line for line in answer.warnings)


def test_windows_experts_and_states_compare_too():
    for model in ("google/gemma-3-27b-it", "openai/gpt-oss-20b", "deepseek-ai/DeepSeek-V3"):
        answer = compared(["8xh100", "8xh200"], model=model, batch=64, weights="fp8", log=[(900, 300), (9000, 20)])
        assert answer.answered, model


def test_it_is_json():
    answer = compared(["h100", "l4", "h200"], batch="max", log=[(900, 300), (9000, 20)], prices={"h100": 2})
    text = msgspec.json.encode(answer).decode()
    assert json.loads(text) == json.loads(json.dumps(answer.to_dict()))
    assert json.loads(text)["schema"] == "rooflight.comparison/1"


@pytest.mark.parametrize(
    "fields, words",
    [
        ({"context": 5}, "it has no context"),
        ({"draft_tokens": 3}, "it has no draft_tokens"),
        ({"log": [(1, 2)], "isl": 5}, "a log says how long"),
        ({"log": [(1, 2)], "workload": rooflight.Workload(osl=7)}, "a log says how long"),
        ({"log_columns": ["a", "b"]}, "there is no log"),
        ({"weights": []}, "weights has no values"),
        ({"batch": "many"}, "batch must be a whole number"),
        ({"batch": 4, "request_rate": 2.0}, "says how many are in flight"),
        ({"batch": "max", "request_rate": 2.0}, "says how many are in flight"),
        ({"batch": 0}, "batch must be a whole number"),
        ({"prices": {"h100": 0}}, "is no price"),
        ({"prices": {"h100": "free"}}, "is no price"),
        ({"prices": {"h100": True}}, "is no price"),
        ({"prices": {"l4": 1}}, "which is not compared"),
        ({"prices": {"2xh100": 1}}, "that of one accelerator"),
        ({"prices": {"h1000": 1}}, "no accelerator is called"),
        ({"prices": {"h100": 1, "h100-sxm": 2}}, "two prices"),
        ({"objective": "cost"}, "cannot be compared without prices"),
        ({"tp": 4, "on": ["2xh100"]}, "is 4 devices, not 2"),
        ({"tp": list(range(1, 600))}, "599 deployments"),
    ],
)
def test_what_cannot_be_asked(fields, words):
    with pytest.raises(BadInput, match=words):
        compared(**{"on": ["h100"], **fields})


def test_an_unknown_objective_or_field():
    with pytest.raises(UnknownName, match="nothing is compared for 'speed'"):
        compared(["h100"], objective="speed")
    with pytest.raises(UnknownName, match="there is no field 'bach'"):
        compared(["h100"], bach=3)


def test_the_sentence_names_the_phase_and_the_rate():
    answer = compared(["h100", "h200"], batch=32, **CHAT)
    h100, h200 = answer.compared
    times = h200.request.output_tokens_per_s.expected / h100.request.output_tokens_per_s.expected
    share = 1 - h100.run.prefill_share
    assert answer.answer.startswith(
        "For 1,155 tokens in and 211 out at batch 32, h200-sxm and h100-sxm are too close to call for "
        f"meta-llama/Meta-Llama-3.1-8B: as expected the first gives {times:.2f} times the output tokens per second of "
        f"the other, which is within their intervals; decode, {100 * share:.0f} % of the machine time on h100-sxm, is "
        "memory-bound: 4.8 TB/s against 3.35 TB/s of memory"
    )
    clear = compared(["a100", "h200"], batch=32, **CHAT)
    a100, h200 = (one.request.output_tokens_per_s.expected for one in clear.compared)
    assert clear.answer.startswith(
        "For 1,155 tokens in and 211 out at batch 32, h200-sxm serves meta-llama/Meta-Llama-3.1-8B fastest, "
        f"{h200 / a100:.2f} times a100-sxm4-80gb as expected: "
    )
    said = compared(["a100", "h100"], batch=32, **CODE).answer
    assert "prefill, " in said
    assert "is compute-bound: 989 TFLOP/s against 312 TFLOP/s in bf16" in said


def test_the_sentence_owns_up_to_what_was_not_measured():
    words = "; no measurement of served runs on CDNA3, taken from Hopper's kernels."
    assert compared(["h100", "mi300x"]).answer.endswith(words)
    assert "no measurement" not in compared(["h100", "h200"]).answer


def test_the_sentence_of_a_lone_winner():
    assert "nothing else is compared" in compared(["h100"]).answer
    assert "nothing else of the 2 fits" in compared(["l4", "2xh100"], model=BIG).answer
    priced = compared(["h100", "h200"], objective="cost", prices={"h100": 2.0})
    assert priced.winner == "h100-sxm"
    assert "nothing else that fits has a price" in priced.answer


def test_a_price_of_what_does_not_fit_decides_nothing():
    answer = compared(["l4", "2xh100"], model=BIG, objective="cost", prices={"l4": 0.5})
    assert answer.winner is None
    assert answer.answered
    assert answer.answer.startswith("Nothing that fits has a price")


def test_one_machine_measured_twice_is_two_rows(tmp_path):
    """Both files have its id; each row has the name of its file behind it."""
    text = (Path(__file__).parents[3] / "measured.toml").read_text()
    before, after = tmp_path / "before.toml", tmp_path / "after.toml"
    before.write_text(text)
    after.write_text(re.sub(r"^date( *)= .*$", r'date\1= "2026-11-29T00:00:00+00:00"', text, flags=re.MULTILINE))
    answer = compared([str(before), str(after), str(before)], model="llama-3.2-1b")
    assert [one.label.partition(" ")[2] for one in answer.compared] == ["(before)", "(after)"]
