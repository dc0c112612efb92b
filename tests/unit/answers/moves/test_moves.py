"""Moves: what each changes, by how much in each phase, and why some change nothing."""

from __future__ import annotations

import msgspec
import pytest

import rooflight
from rooflight.answers.moves import combine, judge, option, report
from rooflight.answers.moves.option import Asked
from rooflight.answers.moves.serving import pays_up_to
from rooflight.answers.moves.stories import TELLERS
from rooflight.answers.outcome import outcome
from rooflight.answers.pair import gains
from rooflight.errors import BadInput
from rooflight.library.questions import make_scenario
from rooflight.roofline.formulas import crossover_batch
from rooflight.roofline.rates import ridges
from rooflight.scenario.change import changed
from rooflight.serve.formulas import tokens_per_verify
from rooflight.show import moves as show
from rooflight.values.moves import Moves, wanted
from rooflight.words.moves import WORDS, Said
from rooflight.words.moves_found import answered
from rooflight.words.stories import BELIEFS
from unit.evaluations import evaluations, twice


def asked(model="llama-3.1-8b", on="h100-sxm", **fields):
    return make_scenario(model, on, **fields)


def moves(sc, objective="throughput", asked=None) -> Moves:
    return answered(sc, report.moves(sc, objective, asked))


def named(found, title):
    (one,) = [move for move in found.moves if move.title.startswith(title)]
    return one


def ceilings(sc, **change):
    """Gains of the ceilings when a scenario changes."""
    found = gains(outcome(sc), outcome(changed(sc, **change)))
    return {name: gain.ceiling for name, gain in found.items()}


def test_h100_to_h200_is_bandwidth_alone():
    """4.8 / 3.35 TB/s = 1.433; the same chip: prefill +0 %."""
    gain = ceilings(asked(), accelerator=rooflight.accelerator("h200-sxm"))
    assert gain["decode"] == pytest.approx(4.8 / 3.35, rel=0.005)
    assert gain["prefill"] == pytest.approx(1, rel=0.005)


def test_a100_to_h100_prefill_is_the_ratio_of_peaks():
    """989.4 / 312 = 3.17."""
    one, other = (asked(on=name, isl=8192) for name in ("a100-sxm4-80gb", "h100-sxm"))
    peaks = [sc.accelerator.peak_flop_per_s["bf16"] for sc in (one, other)]
    assert peaks[1] / peaks[0] == pytest.approx(3.17, rel=0.01)
    phases = [rooflight.analyze("llama-3.1-8b", sc.accelerator, isl=8192).phases["prefill"] for sc in (one, other)]
    assert phases[0].flop / peaks[0] / (phases[1].flop / peaks[1]) == pytest.approx(3.17, rel=0.01)


def test_mi300x_against_h100_in_decode_is_bandwidth():
    """5.3 / 3.35 = 1.58, with 1,307 against 989 TFLOP/s."""
    other = rooflight.accelerator("mi300x")
    assert ceilings(asked(batch=8), accelerator=other)["decode"] == pytest.approx(1.58, rel=0.005)
    assert other.peak_flop_per_s["bf16"] / 1e12 == pytest.approx(1307, rel=0.001)


def test_eight_bits_double_prefill_only_where_they_multiply():
    """W8A8 doubles the peak, and the head and the scores stay wide: up to 2.0x. Weight-only: 1.0x."""
    sc = asked("llama-3.1-70b", "4xh100-sxm", isl=4096)
    assert 1.85 < ceilings(sc, weights="fp8")["prefill"] <= 2.0
    assert ceilings(sc, weights="fp8-weight-only")["prefill"] == pytest.approx(1.0, abs=0.005)


def test_weight_only_formats_cross_over_at_ridge_times_bits_over_16():
    """312 / 2.039 x 4.25 / 16 = 40.6 on an A100, 989.4 / 3.35 x 4.25 / 16 = 78.4 on an H100."""
    for card, batch in (("a100-sxm4-80gb", 41), ("h100-sxm", 78)):
        ridge = ridges(rooflight.accelerator(card))["bf16"]
        assert round(crossover_batch(ridge_flop_per_byte=ridge, bits=4.25)) == batch


def test_naive_attention_moves_the_scores():
    """8,192 x 8,192 scores of 32 heads in 2 bytes, 32 layers: written, read, written, read by product and softmax."""
    found = [rooflight.analyze("llama-3.1-8b", "h100-sxm", isl=8192, attention=kind) for kind in ("naive", "flash")]
    extra = found[0].phases["prefill"].bytes.total - found[1].phases["prefill"].bytes.total
    scores = 8192 * 8192 * 32 * 2 * 32
    assert extra == 4 * scores
    report = moves(asked(isl=8192, attention="naive", ignore_capacity=True), "ttft")
    assert named(report, "flash attention").verdict == "helps"


def test_the_cache_of_a_70b_at_32k():
    """2 x 80 layers x 8 heads x 128 x 2 bytes x 32,768 = 10.7 GB."""
    block = rooflight.analyze("llama-3.1-70b", "4xh100-sxm", isl=32767, osl=1).memory
    assert block.kv_bytes == pytest.approx(2 * 80 * 8 * 128 * 2 * 32768, rel=1e-3)


def test_a_batch_touches_most_experts():
    """1 - (1 - 8/128)^32 = 87 %."""
    found = moves(asked("qwen3-235b-a22b", "8xh200-sxm", batch=32))
    (told,) = [one for one in found.stories if one.name.startswith("a mixture of experts")]
    assert "32 tokens touch 87% of them" in told.words


@pytest.mark.parametrize(("batch", "schedule"), [(1, "alone"), (32, "served")])
def test_what_a_deployment_gets_is_its_run(batch, schedule):
    """The run that analyze speaks of; Little's law: 32 in flight, each for its TTFT and 255 tokens."""
    found = outcome(asked(batch=batch, isl=1024, osl=256))
    analysis = rooflight.analyze("llama-3.1-8b", "h100-sxm", batch=batch)
    assert analysis.run == schedule
    assert found.run == analysis.runs[schedule]
    whole_s = found.run.ttft_s.expected + 255 * found.token_s.expected
    assert found.tokens_per_s.expected == pytest.approx(batch * 256 / whole_s)


def test_a_verify_step_yields_the_accepted_and_one_more():
    """1 + 0.7 + 0.49 + 0.343 + 0.2401 = 2.7731; all accepted: 5."""
    assert tokens_per_verify(draft_tokens=4, acceptance=0.7) == pytest.approx(2.7731)
    assert tokens_per_verify(draft_tokens=4, acceptance=1) == 5


def test_speculation_stops_paying_as_the_batch_grows():
    sc = asked(isl=32, osl=32)  # a long context is read once for all positions: there it pays at any batch
    last = pays_up_to(sc, 4)
    report = moves(changed(sc, batch=last * 4, ignore_capacity=True), "latency")
    assert named(report, "speculative decoding").gains["decode"].ceiling < 1
    assert named(moves(sc, "latency"), "speculative decoding").gains["decode"].ceiling > 2


def test_what_does_not_bind_does_nothing_and_says_what_does():
    """FLOP/s for a memory-bound decode."""
    one = named(moves(asked(osl=4096), "latency"), "twice the FLOP/s")
    assert one.gains["decode"].ceiling == pytest.approx(1)
    assert one.verdict == "nothing"
    assert "decode waits for memory" in one.because


def test_replicas_gain_nothing_by_accelerator():
    one = named(moves(asked(batch=32)), "dp 1 to 2")
    assert one.gains["throughput"].expected == pytest.approx(1, rel=0.01)
    assert one.verdict == "nothing"
    assert "on 2 accelerators in place of 1" in one.because


def test_formats_without_a_path_are_weight_only():
    """An A100 has no FP8 arithmetic; engines then run W8A16."""
    titles = [one.title for one in moves(asked(on="a100-sxm4-80gb", batch=4)).moves]
    assert "fp8-weight-only weights" in titles
    assert "fp8 weights" not in titles


def test_a_move_that_cannot_be_made_says_why():
    """Eight devices do not divide 28 heads."""
    one = named(moves(asked("qwen2.5-7b")), "tp 1 to 8")
    assert one.verdict == "not-possible"
    assert "tp 8 does not divide the 28 heads" in one.because


def test_what_does_not_fit_is_told_what_would():
    found = moves(asked("llama-3.1-70b"))
    assert found.before is None
    assert "does not fit" in found.answer
    assert "It would with" in found.answer
    assert named(found, "tp 1 to 2").verdict == "helps"
    assert named(found, "int4-g128 weights").verdict == "helps"


def test_together_is_evaluated_not_multiplied():
    found = moves(asked(batch=8, isl=8192))
    singles = [named(found, title).gains["throughput"].expected for title in found.combined.titles[1:]]
    assert found.combined.gains["throughput"].expected >= max(singles)
    assert found.combined.after.batch <= found.combined.after.max_batch


def test_prices_rank_cards_and_their_lack_is_said():
    both = {"h100-sxm": 2.0, "h200-sxm": 4.0}
    priced = moves(asked(batch=32), "cost", Asked(usd_per_hour=both))
    assert named(priced, "h100-sxm to h200-sxm").gains["cost"].ceiling < 1  # 1.3x as fast at twice the price
    alone = named(moves(asked(batch=32), "cost"), "h100-sxm to h200-sxm")
    assert alone.verdict == "not-possible"
    assert "--price h200-sxm=USD" in alone.because


@pytest.mark.parametrize("objective", ["throughput", "latency", "ttft", "cost"])
def test_moves_are_ranked_by_what_is_asked(objective):
    found = moves(asked(batch=16, osl=64), objective)
    helping = [wanted(one.gains, objective).expected for one in found.moves if one.verdict == "helps"]
    assert helping == sorted(helping, reverse=True)
    assert len(helping) > 3


def test_an_unknown_objective_is_refused():
    with pytest.raises(BadInput, match="not ranked for 'speed'"):
        moves(asked(), "speed")


def test_a_move_is_one_small_function_and_its_words(monkeypatch):
    """Registered under a name, it is evaluated and said like the others."""
    kinds = list(option.KINDS)
    for module in (option, judge, combine):
        monkeypatch.setattr(module, "KINDS", kinds)
    monkeypatch.setitem(WORDS, "shorter", lambda osl: Said(f"{osl} tokens of answer", "stops early", "none"))

    @option.move("shorter")
    def shorter(sc, asked):
        osl = sc.workload.osl // 2
        yield option.option(sc, osl, osl=osl)

    one = named(moves(asked(osl=256), "latency"), "128 tokens of answer")
    assert one.gains["request"].ceiling == pytest.approx(2, rel=0.05)
    assert one.because.startswith("it stops early")


def test_every_kind_and_every_belief_has_words():
    assert {kind.name for kind in option.KINDS} == set(WORDS)
    assert list(TELLERS) == list(BELIEFS)


@pytest.mark.parametrize(
    ("words", "fields"),
    [
        ("more FLOP/s for a bandwidth problem", {"batch": 4}),
        ("FP8 weights make decode twice as fast", {"batch": 64, "isl": 8192, "ignore_capacity": True}),
        ("INT4 weights help at any batch", {"batch": 128}),
        ("tensor parallelism divides the time", {"on": "8xh100-sxm", "batch": 4}),
        ("a small model is easy to run fast", {"model": "llama-3.2-1b", "weights": "fp8"}),
        ("a profile of one prompt shows what to optimise", {}),
        ("a smaller batch makes each user fast", {"batch": 32}),
        ("a mixture of experts costs its active parameters",
         {"model": "qwen3-30b-a3b", "batch": 16}),
        ("the weights are what decode reads", {"batch": 32, "isl": 16384, "ignore_capacity": True}),
        ("a faster interconnect", {"on": "2xh100-sxm", "batch": 4}),
        ("speculative decoding always pays", {"batch": 256, "isl": 32, "osl": 32}),
        ("GPU utilisation of 100 % is efficiency", {}),
    ],
)  # fmt: skip
def test_beliefs_are_answered_where_the_situation_invites_them(words, fields):
    told = {one.name: one.words for one in moves(asked(**fields)).stories}
    assert words in told
    assert any(character.isdigit() for character in told[words])


def test_beliefs_stay_quiet_where_they_would_be_right():
    """Prefill-bound work on one card at batch 1, decode at a batch past the ridge."""
    told = {one.name for one in moves(asked(batch=1, isl=128)).stories}
    assert "INT4 weights help at any batch" not in told
    assert "tensor parallelism divides the time" not in told
    assert "the weights are what decode reads" not in told
    assert "a faster interconnect" not in told


def test_the_document_is_plain():
    found = rooflight.moves("llama-3.1-8b", "h100-sxm", batch=4)
    document = found.to_dict()
    assert document["schema"] == "rooflight.moves/1"
    assert msgspec.json.decode(msgspec.json.encode(found)) == msgspec.json.decode(msgspec.json.encode(document))


def test_fusion_changes_what_is_expected_and_no_ceiling():
    """Norms and activation functions write and read activations; in a prefill that is a tenth and more."""
    one = named(moves(asked(isl=4096), "ttft"), "element-wise kernels fused")
    assert one.gains["prefill"].ceiling == pytest.approx(1)
    assert 1.02 < one.gains["prefill"].expected < 1.5


def test_fewer_tokens_a_step_serve_the_others_sooner():
    """A prompt of 8,000 tokens in a step of 8,192 against four of 2,048: a long step or several shorter ones."""
    one = named(moves(asked(batch=8, isl=8000, osl=512), "latency"), "2,048 tokens a step at most")
    assert one.after.run.tpot_s.expected == pytest.approx(one.after.token_s.expected)
    assert one.gains["ttft"].expected < 1  # its own first token comes later
    assert one.gains["prefill"].expected == pytest.approx(1)  # the phase is one pass of the whole prompt


def test_what_the_question_names_is_marked_and_always_printed():
    """However many moves gain more."""
    found = rooflight.moves("llama-3.1-8b", "h100-sxm", batch=4, speculative_tokens=1, hit_rate=0.9)
    named_ = [one for one in found.moves if one.asked]
    assert {one.kind for one in named_} == {"speculative-decoding", "prefix-caching"}
    text = str(list(show.blocks(found)))
    assert all(one.title in text for one in named_)


def test_replicas_are_compared_with_a_request_on_each_and_both_views_are_said():
    """Four with one sequence each: more in all than tensor parallelism, slower for each user."""
    found = moves(asked("mistral-7b", "4xl4", tp=4, isl=512, osl=128, engine="vllm"))
    one = named(found, "the same 4 devices as dp 4")
    assert one.verdict == "helps"
    assert one.after.batch == 4
    assert one.gains["request"].expected < 0.5 < 1.1 < one.gains["throughput"].expected
    user = 1 / one.after.token_s.expected
    assert f"a user gets {user:.3g} tok/s in place of" in one.because


def test_workers_apart_hold_as_many_requests_each():
    one = named(moves(asked(batch=16, isl=4096, osl=256)), "prefill and decode apart")
    workers = one.after.run.prefill.workers + one.after.run.decode.workers
    assert one.after.devices == workers
    assert one.after.batch == 16 * workers
    assert one.after.run.tpot_s.expected < moves(asked(batch=16, isl=4096, osl=256)).before.token_s.expected


def test_what_arrives_sets_what_is_in_flight_on_each_machine():
    """What arrives is what is in flight: a faster machine holds fewer at once."""
    found = moves(asked(request_rate=5.0), "latency")
    one = named(found, "h100-sxm to h200-sxm")
    assert one.after.batch < found.before.batch
    assert one.after.run.requests_per_s.expected == pytest.approx(5, rel=1e-4)


def test_the_sentence_names_all_that_is_combined_and_only_what_gains():
    found = moves(asked(batch=32))
    assert all(title in found.answer for title in found.combined.titles)
    alone = moves(asked(batch=8), "latency")  # speculation is best, and is combined with nothing
    assert "together" not in alone.answer


def test_a_batch_that_does_not_fit_is_made_smaller():
    """The machine is as busy; nobody waits in front of it."""
    one = named(moves(asked(batch=1_000_000)), "batch 1,000,000 to")
    assert one.verdict == "nothing"
    assert one.gains["request"].expected > 100
    assert one.after.run.waiting < 0.1 * one.after.batch


def test_what_never_pays_is_said_so():
    told = {one.name: one.words for one in moves(asked(batch=32, acceptance=0)).stories}
    assert "does not pay at any batch" in told["speculative decoding always pays"]


@pytest.mark.parametrize(
    ("model", "on", "fields"),
    [
        ("llama-3.1-70b", "8xh200-sxm", {"batch": 32}),
        ("deepseek-v3", "8xh200-sxm", {"batch": 32, "objective": "latency"}),
        ("llama-3.1-70b", "h100-sxm", {}),  # does not fit
        ("qwen3-30b-a3b", "4xl40s", {"batch": 3, "dp": 4, "tp": 1, "graphs": False}),  # an idle replica
        ("llama-3.1-8b", "h100-sxm", {"batch": 16, "draft_tokens": 3, "chunk_tokens": 512, "osl": 1}),
    ],
)
def test_each_step_of_each_plan_is_evaluated_once(monkeypatch, model, on, fields):
    """Whichever moves come to the same plan, and bounds alone are not asked for before the whole."""
    made = evaluations(monkeypatch, lambda: rooflight.moves(model, on, **fields))

    assert not twice(made)
    assert len(made) > 50


def test_what_is_left_of_a_drafted_token_is_what_is_left_of_its_verify_step():
    """Of a step of 5 tokens a sequence memory takes 11.7 ms and arithmetic 3.38: 3.47 times, however many it yields."""
    asked = {"on": "4xh100-sxm", "batch": 20, "draft_tokens": 4, "acceptance": 0.7}
    found = rooflight.moves("llama-3.1-70b", **asked)
    verify = rooflight.analyze("llama-3.1-70b", **asked).phases["verify"].ceilings_s
    (left,) = [one for one in found.left if one.phase == "decode"]

    assert found.before is not None
    assert left.to_next == pytest.approx(verify.memory / verify.compute)
    assert left.next is not None
    assert left.next.startswith("compute, ")
    yielded = tokens_per_verify(draft_tokens=4, acceptance=0.7)
    token_s = found.before.decode.time_s.ceiling
    assert token_s == pytest.approx(verify.memory / yielded)  # drafting takes no time at best
    assert token_s / left.to_next == pytest.approx(verify.compute / yielded)
