"""A load's figures beside the run of its lengths and its way of arrival, and in words."""

from __future__ import annotations

import pytest

import rooflight
from rooflight.answers.check.endpoint import judge, means, seen_lengths
from rooflight.library.questions import make_scenario
from rooflight.probe.endpoint.figures import figures
from rooflight.values.endpoint import Driven, Load, Sent
from rooflight.words.endpoint import no_answer, told

GIVEN = frozenset({"batch", "isl", "osl", "weights"})


def load(**changed) -> Load:
    return Load(**({"isl": 100, "osl": 11, "num_prompts": 4, "timeout_s": 9.0, "seed": 1, "concurrency": 2} | changed))


def sent(number: int, *, start_s: float = 0.0, ttft_s: float = 0.1, gap_s: float = 0.01, **changed) -> Sent:
    chunks = tuple(ttft_s + gap_s * place for place in range(11))
    whole = {"isl": 98, "osl": 11, "counted": True, "outcome": "ok", "status": 200, "chunks_s": chunks}
    whole |= {"end_s": chunks[-1], "start_s": start_s, "stage": "load"} | changed
    return Sent(number=number, **whole)


def driven(*requests: Sent, **changed) -> Driven:
    whole = {
        "url": "http://h:1/v1/completions", "api": "completions", "model": "toy", "listed": True, "engine": None,
        "load": load(), "words": 100, "sent": requests, "start": "2026-01-01T00:00:00+00:00",
        "span_s": max((one.start_s + one.end_s for one in requests), default=0.0),
    }  # fmt: skip
    return Driven(**(whole | changed))


def scenario(**fields):
    return make_scenario(
        "llama-3.1-8b", "h100-sxm", **({"batch": 2, "isl": 100, "osl": 11, "schedule": "served"} | fields)
    )


FOUR = [sent(number, start_s=0.2 * (number // 2)) for number in range(4)]


def test_figures_are_held_against_the_run_of_the_lengths_that_were_seen():
    found = figures(driven(*FOUR))
    judged = judge(scenario(), GIVEN, found, load())
    run = rooflight.analyze("llama-3.1-8b", "h100-sxm", batch=2, isl=98, osl=11, schedule="served").runs["served"]

    assert seen_lengths(found, load()) == (98, 11)
    assert judged.run == run
    assert judged.judged["ttft_s"].span.expected * 1e-3 == pytest.approx(run.ttft_s.expected)
    assert judged.judged["output_tokens_per_s"].span.ceiling == pytest.approx(run.output_tokens_per_s.ceiling)
    assert list(judged.judged) == list(means(found))


def test_lengths_that_nobody_counts_are_as_asked():
    found = figures(driven(*(sent(number, isl=None) for number in range(2))))

    assert seen_lengths(found, load()) == (100, 11)
    assert "total_tokens_per_s" not in means(found)


def test_a_cached_prefix_is_shorter_than_a_prompt_that_came_out_short():
    found = figures(driven(*(sent(number, isl=5) for number in range(2))))

    assert judge(scenario(cached_prefix=50), GIVEN, found, load()).scenario.workload.cached_prefix == 4


def test_a_burst_is_a_batch_that_starts_together():
    at_once = load(concurrency=None, burst=True)
    found = figures(done := driven(*FOUR, load=at_once))
    judged = judge(scenario(batch=4, schedule="batch"), GIVEN, found, at_once)

    assert judged.run.schedule == "batch"
    assert judged.judged["ttft_s"].row.phase == "e2e_offline"
    assert "all at once" in told(done, found, judged).answer


def test_arrivals_are_judged_at_the_number_in_flight_that_is_predicted():
    at_rate = load(concurrency=None, request_rate=2.0)
    found = figures(done := driven(*FOUR, load=at_rate))
    sc = make_scenario("llama-3.1-8b", "h100-sxm", isl=100, osl=11, request_rate=2.0, schedule="served")
    judged = judge(sc, GIVEN - {"batch"}, found, at_rate)

    assert judged.run.requests_per_s.expected >= 2.0
    assert not any(one.load for one in judged.judged.values())
    assert "2 arriving a second" in told(done, found, judged).answer


def test_arrivals_beyond_what_is_finished_have_no_run():
    at_rate = load(concurrency=None, request_rate=1e5)
    found = figures(done := driven(*FOUR, load=at_rate))
    sc = make_scenario("llama-3.1-8b", "h100-sxm", isl=100, osl=11, request_rate=1e5, schedule="served")
    report = told(done, found, judge(sc, GIVEN, found, at_rate))

    assert report.run is None
    assert report.beside == ()
    assert "requests a second at most" in report.answer


def test_what_does_not_fit_has_no_run():
    found = figures(done := driven(*FOUR))
    sc = make_scenario("llama-3.1-70b", "h100-sxm", batch=2, isl=100, osl=11, schedule="served")
    report = told(done, found, judge(sc, GIVEN, found, load()))

    assert report.run is None
    assert "does not fit" in report.answer
    assert {one.verdict for one in report.beside} == {"impossible"}


def test_the_sentence_has_what_was_seen_and_what_was_expected():
    found = figures(done := driven(*FOUR))
    said = told(done, found, judge(scenario(), GIVEN, found, load())).answer

    assert said.startswith(
        "h:1 answered 4 of 4 requests, 2 in flight: 100 ms to the first token, 10 ms a token after it, "
        "110 output tok/s. Expected of meta-llama/Meta-Llama-3.1-8B on h100-sxm: "
    )


def test_notes_say_what_was_settled():
    done = driven(
        sent(1, stage="calibration"), sent(1, stage="warm-up"), *FOUR,
        refused=("ignore_eos", "stream_options"), interrupted=True, words=66, listed=False,
    )  # fmt: skip
    found = figures(done)
    notes = told(done, found, judge(scenario(), GIVEN, found, load())).notes

    for part in (
        "an interrupt ended it", "2 requests that count in no figure, 1 of them", "refuses ignore_eos",
        "66 random words",
        "98.0 tokens in the mean", "98 tokens in and 11 out", "does not say which model",
    ):  # fmt: skip
        assert any(part in note for note in notes), part


def test_faults_are_told_by_their_kind_and_the_last_is_shown():
    bad = [sent(number, outcome="http", status=code, why=f"HTTP {code}: no", chunks_s=()) for number, code in
           enumerate((500, 500, 503), start=1)]  # fmt: skip
    report = told(done := driven(*bad), figures(done))
    error = no_answer(report)

    assert report.answer == "h:1 answered nothing of 3 requests: 2 x HTTP 500, 1 x HTTP 503."
    assert not report.answered
    assert error.exit_status == 1
    assert error.got == "HTTP 503: no"
    assert error.try_this == "the server's own log, which says why it failed"


@pytest.mark.parametrize(
    ("status", "part"), [(429, "request_rate"), (404, "served_model"), (401, "api_key_env"), (500, "log")]
)
def test_what_to_try_goes_by_the_status(status, part):
    done = driven(sent(1, outcome="http", status=status, why=f"HTTP {status}: no", chunks_s=()))

    assert part in str(no_answer(told(done, figures(done))).try_this)


def test_no_more_are_in_flight_than_there_are():
    done = driven(*FOUR, load=load(concurrency=100))
    report = told(done, figures(done))

    assert "4 of 4 requests, 4 in flight" in report.answer
    assert any("at most 4 in flight" in note and "100 were asked for" in note for note in report.notes)


def test_an_answer_shows_itself():
    report = told(done := driven(*FOUR), figures(done))

    assert repr(report).startswith("EndpointReport(answer='h:1 answered 4 of 4")
    assert report.to_dict()["schema"] == "rooflight.measure-endpoint/1"
    assert [row["metric"] for row in report.records()] == [
        "ttft_ms", "tpot_ms", "e2e_latency_ms", "output_tok_s", "total_tok_s",
    ]  # fmt: skip
