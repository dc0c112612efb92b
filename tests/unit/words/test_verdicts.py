"""Verdicts in words: the sentence of every kind of row, of what it took for granted, and of the whole table."""

from __future__ import annotations

import msgspec
import pytest

import rooflight
from rooflight.answers.check.filled import Filled
from rooflight.answers.check.outcome import Finding, Judged, Limit, Load, Pair
from rooflight.ingest.rows import GivenRow
from rooflight.library.questions import make_scenario
from rooflight.span import Span
from rooflight.values.measurement import VERDICTS, Measurement, Tally
from rooflight.values.note import Note
from rooflight.words.notes import sentence
from rooflight.words.readings import cause, mix_ups
from rooflight.words.verdicts import answer, claimed, verdict

SCENARIO = make_scenario("meta-llama/Meta-Llama-3-8B", "h100-sxm", batch=1)
ROW = Measurement(
    model="llama", accelerator="h100-sxm", metric="output_tok_s_per_user", value=150.0, phase="decode", batch=1
)
# Twice to 1.2 times the ceiling's time; 1.5 times it expected.
SPAN = Span(ceiling=223.0, roofline=223.0, expected=223 / 1.5, low=223 / 2, high=223 / 1.2)


def said(word: str, *, value: float = 150.0, span: Span = SPAN, **fields) -> str:
    row = msgspec.structs.replace(fields.pop("row", ROW), value=value)
    known = {"asked": GivenRow(7, {"mine": "kept"}, row), "row": row, "scenario": SCENARIO, "span": span, **fields}
    return verdict(Judged(verdict=word, **known)).reason


def bare(span: Span = SPAN) -> Span:
    return msgspec.structs.replace(span, low=None, high=None)


def test_a_row_that_is_possible():
    assert said("ok") == "as a well-run engine does"
    assert said("ok", span=bare()) == "at or under its ceiling; no expectation is calibrated for it"
    assert said("fast", value=200.0) == (
        "faster than the 112 to 186 tok/s expected, yet possible: 90% of the ceiling's speed"
    )


def test_an_interval_that_says_little_is_no_praise():
    """Five times as wide as its low end; 150 of 223 tok/s are 67 %."""
    wide = msgspec.structs.replace(SPAN, low=40.0, high=200.0)
    assert said("ok", span=wide) == "inside what little is known (67% of the ceiling)"


def test_a_fast_row_names_what_would_be_expected():
    found = (Finding("fewer sequences", 4), Finding("newer engine", ("vllm", "2025")), Finding("speculative decoding"))
    assert said("fast", value=200.0, found=found).endswith(
        "; as expected with only 4 at once, or for a newer vllm, of 2025, or with speculative decoding"
    )


def test_a_queue_says_how_long_it_is():
    """A first token of 40 s where a prefill takes 0.2 s; or one that is too short to tell."""
    assert cause(Finding("queue", (200, 0.2, 24.0, 3.0))) == (
        "a queue: it is as long as 200 prefills of such a prompt (200 ms each), where 24 run at once and 3 requests/s "
        "are finished; others wait"
    )
    assert cause(Finding("queue", (200, 0.2, None, None))).endswith("so other requests were in front")
    assert cause(Finding("queue")) == "waiting in the queue behind other prompts"


FILLED = Filled(
    least=2, most=423, tried=423, usual=3, one=SPAN, all=msgspec.structs.replace(SPAN, expected=9e3, low=8e3, high=1e4)
)


def test_a_batch_that_nobody_states():
    row = {"metric": "output_tok_s", "batch": None}
    total = msgspec.structs.replace(ROW, **row)
    assert (
        said("ok", filled=FILLED, row=total) == "what a well-run engine gets of about 3 at once; no fewer than 2 could"
    )
    none = msgspec.structs.replace(FILLED, usual=None)
    assert said("ok", filled=none, row=total).endswith("gets (149 tok/s): requests may have been few")
    assert "expected even of one sequence alone)" in said("slow", filled=none, row=total)
    assert said("fast", filled=none, row=total).startswith(
        "faster than the 10,000 tok/s expected at most, of any batch"
    )
    assert said("ok", filled=FILLED).endswith("(one sequence alone: 149 tok/s)")


def test_values_that_cannot_be_together():
    load = Load(rate=640, token_ms=22.2, first_ms=None, request_ms=None, in_flight=14.2, decoding=True, stated=32,
                wait_ms=13_900)  # fmt: skip
    assert said("cannot-judge", load=load) == (
        "640 output tok/s and 22.2 ms a token make 14.2 in flight, not 32: batch, rate and time cannot all be true, "
        "unless each request waits 13,900 ms for its first token; 32 in flight at 22.2 ms a token would be 1,440 tok/s"
    )
    whole = msgspec.structs.replace(load, request_ms=5000, wait_ms=None, decoding=False)
    assert said("cannot-judge", load=whole).startswith("640 output tok/s and requests of 5,000 ms make 14.2 in flight")


def test_a_pair_that_is_impossible_names_both_values():
    pair = Pair(first_ms=400, token_ms=6, tokens=99, batch=128, ceiling_ms=7380, least_token_ms=70.5)
    assert said("impossible", pair=pair) == (
        "400 ms to the first token and 6 ms a token are impossible together: a request of 99 more tokens would take "
        "994 ms, where 128 in flight need at least 7,380 ms; beside that first token no schedule gives less than "
        "70.5 ms a token"
    )


def test_a_slow_row_names_what_to_look_at():
    found = (Finding("launches", share=0.6), Finding("memory", share=0.3))
    assert said("slow", value=20.0, found=found) == (
        "7.4x slower than expected (the 112 to 186 tok/s expected); look at: kernels launched one by one, without "
        "graphs, and host time between steps, memory bandwidth not reached: small or unfused kernels"
    )


def test_an_impossible_row_says_why_and_what_would_do():
    limit = Limit(amount=15e9, rate=3.35e12, prompt=False)
    found = (Finding("more devices", 2), Finding("number format", ("fp8", None)))
    assert said("impossible", value=300.0, bound="memory", limit=limit, found=found) == (
        "300 tok/s per user is impossible: the ceiling is 223 tok/s, because each decode step moves 15 GB through "
        "memory of 3.35 TB/s (h100-sxm); it would be right for 2 devices (or for fp8 weights)"
    )
    row = {"asked": GivenRow(7, {}, ROW), "row": ROW, "scenario": SCENARIO, "span": SPAN, "limit": limit}
    assert verdict(Judged(verdict="impossible", bound="memory", found=found, **row)).mix_up == "for 2 devices"
    assert verdict(Judged(verdict="impossible", bound="memory", **row)).mix_up is None


@pytest.mark.parametrize(
    ("bound", "limit", "words"),
    [
        ("link", Limit(amount=2e9, rate=450e9, prompt=False), "each decode step sends 2 GB over a link of 450 GB/s"),
        (
            "compute",
            Limit(amount=61.6e12, rate=989.4e12, prompt=True, form="bf16"),
            "the prefill takes 61.6 TFLOP, at most 989 TFLOP/s in bf16",
        ),
    ],
)
def test_every_resource_has_its_words(bound, limit, words):
    assert f"because {words} (h100-sxm); none of the usual mix-ups" in said("impossible", bound=bound, limit=limit)


@pytest.mark.parametrize(
    ("doubt", "words"),
    [
        (
            Finding("weights", "fp8"),
            "above the ceiling of bf16 weights, possible for fp8 weights: the row does not say which it ran",
        ),
        (Finding("fp16"), "possible in fp16, which h100-sxm adds up faster: the row does not say which it ran"),
        (Finding("int8"), "possible in int8, in which llama.cpp multiplies bf16: state compute int8"),
        (Finding("devices", 2), "possible for 2 devices: the row does not say how many it ran on"),
        (
            Finding("speculation", ("unknown", 2)),
            "above the ceiling without drafts, possible with 2 drafted tokens accepted a step: whether speculative "
            "decoding was used is not known",
        ),
        (
            Finding("acceptance", (3, 0.7)),
            "possible were all 3 drafted tokens accepted: the row does not say how many were",
        ),
        (
            Finding("too big"),
            "possible, but not as stated: the weights of meta-llama/Meta-Llama-3-8B alone are more than 1 x h100-sxm",
        ),
    ],
)
def test_what_leaves_a_row_open(doubt, words):
    assert words in said("cannot-judge", found=(doubt,))


def test_what_was_taken_for_granted_follows_the_reason():
    notes = (Note(key="gpus", value=1), Note(key="alone"))
    assert said("ok", notes=notes) == (
        "as a well-run engine does; gpus not stated: taken as 1; batch not stated: one sequence, the fastest"
    )


@pytest.mark.parametrize(
    ("note", "words"),
    [
        (Note(key="config_like", value="a/b"), "counted with the config of a/b"),
        (
            Note(key="uncalibrated_engine", value="foo"),
            "no engine 'foo' is calibrated: the mean of the serving engines is expected",
        ),
        (Note(key="gpus_counted", value=(8, 4)), "the accelerator says 8 devices, gpus 4: 4 count"),
        (Note(key="layout", value=(4, 1, 2, 8)), "layout not stated: the fastest legal one, tp 4 x dp 2 x ep 8"),
        (Note(key="layout", value=(1, 1, 1, 1)), "layout not stated: the fastest legal one, one device"),
        (Note(key="layers_split", value=2, why="llama.cpp"), "layout not stated: llama.cpp splits layers, so pp 2"),
        (
            Note(key="not_the_devices", value=(3, 1, 1, 8)),
            "tp 3 x pp 1 x dp 1 is not 8 devices: the fastest legal layout of 8 counts",
        ),
        (Note(key="ep_left_out", value=8), "ep 8 left out: the model has no routed experts"),
        (
            Note(key="heads", value=(12, 16), why="m"),
            "tp 12 does not divide the heads of m: the ceiling is that of tp 16",
        ),
        (Note(key="lightest", value="q3_k", why="q3_k_m"), "q3_k_m read as q3_k, the lightest it can be"),
        (
            Note(key="checkpoint_cache", value=("fp8", "nvfp4"), why="trtllm"),
            "kv_cache not stated: fp8, as trtllm's nvfp4 checkpoints carry",
        ),
        (
            Note(key="suite_cache", value=("fp8", "nvfp4")),
            "kv_cache not stated: fp8, as suites of served runs mostly have with nvfp4 weights",
        ),
        (Note(key="weights_beyond", value=2, why="l4"), "the weights alone are more than 2 x l4 hold"),
        (
            Note(key="filled_batch", value=2554),
            "batch not stated: as many sequences as memory holds at most, 2,554",
        ),
        (
            Note(key="implied_batch", value=(72, 760.0, 95.0, None, None)),
            "batch not stated: 72, as 760 tok/s and 95 ms a token make it",
        ),
        (
            Note(key="implied_batch", value=(81, 760.0, 95.0, 2000.0, None)),
            "batch not stated: 81, as 760 tok/s and 2000 ms to the first token and 95 ms a token make it",
        ),
        (
            Note(key="implied_batch", value=(76, 760.0, 95.0, None, 20000.0)),
            "batch not stated: 76, as 760 tok/s and requests of 20000 ms make it",
        ),
        (Note(key="run_batch", value=32), "batch not stated: 32, as another row of the run says"),
        (
            Note(key="fewer_prompts", value=(16, 128)),
            "only 16 prompts in all: no more than those are in flight, not 128",
        ),
        (Note(key="not_the_workers", value=(8, 9)), "the workers have 8 devices, not 9: their own count"),
        (Note(key="empty_cache"), "input_len not stated: an empty cache at the start"),
        (
            Note(key="decode_alone"),
            "input_len and output_len are not both stated: decoding alone, from an empty cache",
        ),
        (
            Note(key="one_prompt"),
            "a time to first token is one prompt's own: the ceiling is that of one prompt",
        ),
    ],
)
def test_what_a_row_leaves_open(note, words):
    assert sentence(note) == words


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ((), "none of the usual mix-ups explains it"),
        ((("total tokens", None),), "it would be right if input tokens were counted as output tokens"),
        (
            (("total tokens", 1000.0),),
            "it would be right if input tokens were counted as output tokens, of which 1,000 tok/s are output",
        ),
        ((("total for per-GPU", 4),), "it would be right as the total of all 4 devices, not of each"),
        ((("total for per-user", 2048),), "it would be right as the total of all 2,048 sequences, not of each"),
        ((("another batch", 1024),), "it would be right at batch 1,024"),
        ((("several sequences", 8),), "it would be right as what 8 sequences yield together"),
        (
            (("speculative decoding", 1), ("speculative decoding", 2)),
            "it would be right with speculative decoding, 1 drafted token accepted a step (or with speculative "
            "decoding, 2 drafted tokens accepted a step)",
        ),
        (
            (("number format", ("fp8", None)), ("number format", (None, "fp8")), ("number format", ("int8", "fp8"))),
            "it would be right for fp8 weights (or for an fp8 KV cache, or for int8 weights and an fp8 KV cache)",
        ),
        (
            (("another card", "h200-sxm"), ("unit", None)),
            "it would be right on h200-sxm (or in seconds, not milliseconds)",
        ),
        (
            (("cached prefix", (2047, 4096)), ("cut short", (256, 1024))),
            "it would be right with 2,047 of the 4,096 prompt tokens cached already (or if only 256 of 1,024 output "
            "tokens were generated)",
        ),
    ],
)
def test_mix_ups(found, words):
    assert mix_ups([Finding(kind, value) for kind, value in found]) == words


def test_a_claim_that_can_be_true_says_how_near_it_is():
    found = claimed(make_scenario("meta-llama/Meta-Llama-3-8B", "h100-sxm", batch=1), {"output_tok_s": 20})
    (row,) = found.rows
    assert row.reason.startswith(f"20 tok/s is possible, {row.over_ceiling:.0%} of the speed of the ceiling (")
    assert found.answer == f"{row.reason.rstrip('.')}."
    assert found.notes


def test_a_claim_about_what_does_not_fit():
    (row,) = claimed(make_scenario("llama-3.1-70b", "h100-sxm"), {"output_tok_s": 1}).rows
    assert (row.verdict, row.bound, row.ceiling, row.mix_up) == ("impossible", "capacity", None, None)
    assert "does not fit on h100-sxm" in row.reason


def test_rows_without_a_ceiling():
    base = {"model": "meta-llama/Meta-Llama-3-70B", "accelerator": "h100-sxm", "metric": "output_tok_s", "value": 9}
    report = rooflight.check(
        [{**base, "value": "x"}, {**base, "phase": "e2e_offline", "input_len": 9, "output_len": 9}]
    )
    unread, roomless = report.rows
    assert (unread.reason, unread.value, unread.model) == ("value is 'x', not a number", None, base["model"])
    assert roomless.reason == "the weights of meta-llama/Meta-Llama-3-70B do not fit on 1 x h100-sxm"
    assert (roomless.value, roomless.unit, roomless.ceiling) == (9, "tok/s", None)
    assert report.answer == "None of the 2 rows can be judged."


def test_the_public_function_gives_the_document():
    given = {"model": "llama-3.1-8b", "accelerator": "h100-sxm", "metric": "tpot_ms", "value": 100}
    document = rooflight.check(given).to_dict()
    assert document["schema"] == "rooflight.check/1"
    assert document["summary"]["rows"] == 1
    assert document["rows"][0]["given"]["value"] == "100"


def tally(words: list[str]) -> Tally:
    counts = {word.replace("-", "_"): words.count(word) for word in VERDICTS}
    return Tally(rows=len(words), judged=len(words) - counts["cannot_judge"], **counts)


@pytest.mark.parametrize(
    "words, said",
    [
        (["ok"], "The row is possible."),
        ([], "There are no rows to judge."),
        (["slow"], "The row is possible, and slower than expected."),
        (["fast"], "The row is possible, and faster than expected."),
        (["ok", "ok"], "No row of 2 is faster than physics allows."),
        (["impossible"], "The row is faster than physics allows."),
        (["cannot-judge"], "The row cannot be judged."),
        (["cannot-judge", "cannot-judge"], "None of the 2 rows can be judged."),
        (["impossible", "ok"], "1 of 2 rows is faster than physics allows."),
        (["impossible", "impossible", "slow"], "2 of 3 rows are faster than physics allows; 1 slower than expected."),
        (["ok", "cannot-judge"], "No row of 2 is faster than physics allows; 1 cannot be judged."),
    ],
)
def test_the_sentence(words, said):
    assert answer(tally(words)) == said
