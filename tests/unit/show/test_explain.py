"""An operator's arithmetic as written out: every line's terms make its value, and the values are the analysis' own."""

from __future__ import annotations

import math
from collections import Counter

import pytest

import rooflight
from rooflight.errors import MissingFact, UnknownName
from rooflight.library.questions import make_scenario
from rooflight.serve import phases
from rooflight.show.explain import Line, explain

SCENARIOS = [
    ("llama-3.1-8b", "h100-sxm", {"batch": 32}),
    ("llama-3.1-8b", "2xh100-sxm", {"batch": 4, "attention": "naive", "weights": "fp8"}),
    ("llama-3.1-8b", "l40s", {"weights": "int4-g128", "kv_cache": "fp8"}),
    ("deepseek-ai/DeepSeek-V3", "8xh200-sxm", {"batch": 32, "context": 4096}),
    ("openai/gpt-oss-120b", "2xh100-sxm", {"batch": 8}),
    ("Qwen/Qwen3-Next-80B-A3B-Instruct", "4xh100-sxm", {"batch": 8}),
]
APPLY = {"×": math.prod, "+": sum, "max": max, "÷": lambda values: values[0] / values[1]}


def every(model, on, fields):
    sc = make_scenario(model, on, **fields)
    for phase, step in (("decode", phases.decode(sc)), ("prefill", phases.prefill(sc))):
        seen = Counter()
        for row in step.time.operators:
            seen[row.operator.name] += 1
            yield row, explain(sc, phase, numbered(row.operator.name, seen[row.operator.name]))


def numbered(name, place):
    return name if place == 1 else f"{name}#{place}"


def line(found, what) -> Line:
    return next(one for one in found.lines if one.what == what)


@pytest.mark.parametrize(("model", "on", "fields"), SCENARIOS)
def test_the_terms_of_a_line_make_its_value(model, on, fields):
    for _, found in every(model, on, fields):
        for one in found.lines:
            if one.terms:
                made = APPLY[one.sign]([term.value for term in one.terms])
                assert made == pytest.approx(one.value, rel=1e-12), (found.name, one)


@pytest.mark.parametrize(("model", "on", "fields"), SCENARIOS)
def test_the_last_lines_are_the_analysis_own(model, on, fields):
    for row, found in every(model, on, fields):
        work = row.operator.work
        if work.flop:
            assert line(found, "FLOP").value == work.flop
        one = line(found, "one run: the longest").value
        assert one * row.operator.count == pytest.approx(row.time_s)
        longest = max((part for part in found.lines if part.what in ("compute", "memory", "link", "launch")),
                      key=lambda part: part.value)  # fmt: skip
        assert longest.what == found.bound or longest.value == pytest.approx(line(found, found.bound).value)


def test_products_and_attention_are_written_out_in_full():
    """Llama-3.1-8B, 32 sequences: qkv is 4096 -> 6144; attention has 32 heads of 128 + 128 over 1,151 + 1 keys."""
    sc = make_scenario("llama-3.1-8b", "h100-sxm", batch=32)
    qkv, attention = explain(sc, "decode", "qkv"), explain(sc, "decode", "attention")

    assert [term.value for term in line(qkv, "FLOP").terms] == [2, 32, 4096, 6144]
    assert [term.value for term in line(qkv, "weights read").terms] == [4096, 6144, 2]
    assert [term.value for term in line(attention, "FLOP").terms] == [2, 32, 1, 1152, 32, 256]
    assert [term.value for term in line(attention, "cache read").terms] == [32, 1151, 8 * 256 * 2]
    assert line(qkv, "FLOP").terms[2].text == "4,096 inputs"


def test_an_operator_nobody_has_is_refused_with_those_there_are():
    sc = make_scenario("llama-3.1-8b", "h100-sxm")

    with pytest.raises(UnknownName, match="no operator 'router'") as caught:
        explain(sc, "decode", "router")
    assert "lm_head" in (caught.value.want or "")


def test_operators_of_an_analysis_can_all_be_explained():
    answer = rooflight.analyze("deepseek-ai/DeepSeek-V3", "8xh200-sxm")
    sc = make_scenario("deepseek-ai/DeepSeek-V3", "8xh200-sxm")

    for phase, block in answer.phases.items():
        for op in block.operators:
            assert op.count >= explain(sc, phase, op.name).count > 0


def test_without_a_compute_peak_an_operator_is_explained_by_its_bytes():
    """Of arithmetic nothing is known but its amount; a prompt's operators have no times to explain."""
    sc = make_scenario("llama-3.1-8b", "grace")
    found = explain(sc, "decode", "qkv")

    assert found.bound == "memory"
    assert line(found, "FLOP").value == 2 * 4096 * 6144
    assert not [one for one in found.lines if one.what.startswith(("ridge point", "compute"))]
    with pytest.raises(MissingFact):
        explain(sc, "prefill", "qkv")
