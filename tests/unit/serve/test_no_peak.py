"""A card without a compute peak: decode is answered from its bandwidth, prompts are withheld, by every door alike."""

from __future__ import annotations

import json
import math
from pathlib import Path

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner, Result

import rooflight
from rooflight.answers.outcome import dot
from rooflight.catalog import accelerators
from rooflight.cli.app import app
from rooflight.errors import MissingFact
from rooflight.library.questions import make_scenario
from rooflight.serve import phases
from rooflight.show.sweep import answer
from rooflight.values.accelerator import Accelerator

MODEL = "meta-llama/Llama-2-7b-hf"
# The weights but for the input embedding, and the keys and values of 512 tokens in 32 layers, in 16 bits.
STREAMED_BYTES = 2 * (6_738_415_616 - 32_000 * 4096)
CACHE_BYTES = 2 * 32 * 4096 * 2 * 512
PROMPTS = ("ttft_s", "request_s", "requests_per_s", "output_tokens_per_s", "output_tokens_per_s_per_accelerator")


def ask(*words: str) -> Result:
    """The command line in this process."""
    return CliRunner().invoke(app, words)


def facts(**figures: tuple[float, str]) -> str:
    return "".join(
        f'[[fact]]\nwhat = "{name.replace("_", "-")}"\nvalue = {value}\nunit = "{unit}"\n'
        for name, (value, unit) in figures.items()
    )


@pytest.fixture
def bare(tmp_path: Path) -> str:
    """One's own card with a bandwidth and a size, and nothing else."""
    path = tmp_path / "mine.toml"
    path.write_text('id = "mine"\n' + facts(memory_bandwidth=(500, "GB/s"), memory_label=(64, "GB")), encoding="utf-8")
    return str(path)


def without_peaks() -> list[Accelerator]:
    return [card for card in accelerators.all_accelerators() if not card.peak_flop_per_s]


def sized(card: Accelerator, folder: Path) -> str:
    """The card, with 64 GB where no source says how many it has: what fits is not asked here."""
    if card.memory_bytes is not None:
        return card.id
    source = Path(accelerators.__file__).parent / "accelerators" / f"{card.id}.toml"
    path = folder / f"{card.id}.toml"
    path.write_text(source.read_text(encoding="utf-8") + facts(memory_label=(64, "GB")), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("name", accelerators.ids())
def test_every_card_answers_decode_or_says_that_it_has_no_bandwidth(name, tmp_path):
    card = accelerators.load(name)[0]
    on = sized(card, tmp_path)
    if card.memory_bytes_per_s is None:
        with pytest.raises(MissingFact, match="no memory bandwidth"):
            rooflight.analyze("Qwen/Qwen2.5-0.5B", on=on)
        return
    found = rooflight.analyze("Qwen/Qwen2.5-0.5B", on=on, ignore_capacity=True)
    assert found.answered
    decode = found.phases["decode"]
    assert decode is not None
    assert 0 < decode.time_s.ceiling <= decode.time_s.roofline <= decode.time_s.expected < math.inf
    assert ("prefill" not in found.phases) == (not card.peak_flop_per_s)
    json.dumps(found.to_dict(), allow_nan=False)


def test_all_cards_that_the_issue_names_are_without_a_peak_and_have_a_bandwidth():
    named = {"grace", "graviton4", "apple-m5", "apple-m5-pro", "apple-m5-max-40", "apple-m5-ultra", "tt-p100a",
             "tt-p150", "mi308x"}  # fmt: skip
    found = {card.id: card for card in without_peaks()}

    assert named <= found.keys()
    assert all(found[name].memory_bytes_per_s for name in named)


def test_decode_is_what_memory_allows(bare):
    found = rooflight.analyze(MODEL, on=bare, context=512)
    phases, runs = found.phases, found.runs
    decode, one = phases["decode"], runs["alone"]

    assert decode.time_s.ceiling == pytest.approx((STREAMED_BYTES + CACHE_BYTES) / 500e9, rel=2e-3)
    assert (decode.bound, decode.ceilings_s.compute, decode.ridge_flop_per_byte) == ("memory", None, None)
    assert "prefill" not in phases
    assert [getattr(one, name) for name in PROMPTS] == [None] * len(PROMPTS)
    assert one.tpot_s is not None
    assert found.served is None
    assert found.request is None
    assert 'has no published bf16 or fp16 peak (a [[fact]] with what = "peak"' in found.answer


def test_with_the_peak_added_decode_stays_and_prompts_are_told(bare, tmp_path):
    """The fact that the answer asks for is all that is missing."""
    text = Path(bare).read_text(encoding="utf-8")
    full = tmp_path / "full.toml"
    full.write_text(
        text + '[[fact]]\nwhat = "peak"\ndtype = "fp16"\nvalue = 1000\nunit = "TFLOP/s"\nkind = "dense"\n',
        encoding="utf-8",
    )
    less, more = (rooflight.analyze(MODEL, on=str(path)) for path in (bare, full))
    assert less.answered
    assert more.answered
    one, other = less.phases["decode"], more.phases["decode"]
    assert one is not None
    assert other is not None

    assert one.time_s.ceiling == other.time_s.ceiling
    assert one.bytes == other.bytes
    assert "prefill" in more.phases
    assert more.served is not None


def test_runs_keep_what_a_prompt_does_not_decide(bare):
    """Alone and in lock-step a token is a step; served beside others' prompts it takes nobody knows how long."""
    runs = rooflight.analyze(MODEL, on=bare, batch=4).runs
    together = runs["batch"]

    assert together.tpot_s is not None
    assert (together.running, together.waiting, together.decoding) == (4, 0, None)
    assert "served" not in runs


@pytest.mark.parametrize("phase", ["decode", "prefill"])
def test_a_sweep_keeps_its_rows_and_says_what_it_knows(bare, phase):
    """Beside a card that has a peak; by itself there is nothing to say of prefill."""
    axis = {"batch": [1, 8]} if phase == "decode" else {"isl": [128, 1024]}
    columns = rooflight.sweep(MODEL, [bare, "h100-sxm"], axis, phase=phase).columns()
    mine = columns["accelerator"] == "mine"

    assert np.isnan(columns["ceilings_s.compute"][mine]).all()
    assert np.isnan(columns["time_s.expected"][mine]).all() == (phase == "prefill")
    assert not np.isnan(columns["time_s.expected"][~mine]).any()
    if phase == "prefill":
        with pytest.raises(MissingFact):
            rooflight.sweep(MODEL, bare, axis, phase=phase)
    else:
        expected = [rooflight.analyze(MODEL, on=bare, batch=batch).phases["decode"].time_s.expected for batch in (1, 8)]
        assert columns["time_s.expected"][mine].tolist() == expected


def test_a_sweep_of_runs_has_tokens_alone(bare):
    columns = rooflight.sweep(MODEL, bare, {"batch": [1, 8]}, schedule="served").columns()

    assert np.isnan(columns["ttft_s.expected"]).all()
    assert np.isnan(columns["tpot_s.expected"]).tolist() == [False, True]


def test_goals_need_the_peak(bare):
    with pytest.raises(MissingFact, match="no dense"):
        rooflight.sweep(MODEL, bare, {"batch": [1, 8]}, ttft_slo_ms=500).goals()
    with pytest.raises(MissingFact, match="no dense"):
        rooflight.analyze(MODEL, on=bare, request_rate=1)


def test_compare_tells_decode_of_it(bare):
    found = rooflight.compare(MODEL, on=[bare, "h100-sxm"], batch=1)
    mine, other = found.compared
    step = rooflight.analyze(MODEL, on=bare).phases["decode"].time_s

    assert (mine.request, mine.prefill) == (None, None)
    assert mine.decode is not None
    assert mine.decode.step_s.ceiling == step.ceiling
    assert mine.decode.share is None
    assert mine.reason is not None
    assert "no dense" in mine.reason
    assert other.request is not None
    assert found.winner == "h100-sxm"


def test_compare_of_such_cards_alone_is_an_answer(bare):
    found = rooflight.compare(MODEL, on=[bare, "tt-p150"], batch=1)

    assert found.answered
    assert found.winner is None
    assert "tt-p150 takes" in found.answer
    assert found.answer.index("tt-p150 takes") < found.answer.index("mine takes")  # 512 against 500 GB/s


def test_moves_compare_decode_and_withhold_what_needs_arithmetic(bare):
    found = rooflight.moves(MODEL, on=bare)
    before = found.before
    assert before is not None
    by_kind = {one.kind: one for one in found.moves}

    assert before.prefill is None
    assert before.request_s is None
    for kind in ("batch", "speculative-decoding", "card-compute"):
        assert by_kind[kind].verdict == "not-possible"
        assert "peak of mine" in by_kind[kind].because
    helped = [one for one in found.moves if one.verdict == "helps"]
    assert {"weights", "card-bandwidth"} <= {one.kind for one in helped}
    assert all(set(one.gains or {}) == {"decode", "throughput"} for one in helped)
    assert "decode alone is compared" in found.answer
    with pytest.raises(MissingFact):
        rooflight.moves(MODEL, on=bare, objective="ttft")


def test_no_move_counts_on_a_path_that_nobody_published(bare):
    """Narrow formats are kept narrow and multiplied wide."""
    titles = [one.title for one in rooflight.moves(MODEL, on=bare).moves if one.kind == "weights"]

    assert any("fp8-weight-only" in title for title in titles)


ROW = {"model": MODEL, "accelerator": "grace", "gpus": 1, "engine": "llama.cpp", "weights": "q4_0", "batch": 1}


def verdicts(tmp_path: Path, *rows: dict[str, object]) -> list[tuple[str, str]]:
    path = tmp_path / "rows.csv"
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = [",".join(names), *(",".join(str(row.get(name, "")) for name in names) for row in rows)]
    path.write_text("\n".join(lines), encoding="utf-8")
    return [(row.verdict, row.reason) for row in rooflight.check(str(path)).rows]


def test_check_judges_decode_and_not_prompts(tmp_path):
    """Llama-2-7B in q4_0 streams 3.75 GB: 461 GB/s give 120 tok/s and no more."""
    token = {**ROW, "phase": "decode", "input_len": 512, "output_len": 2, "metric": "output_tok_s_per_user"}
    found = verdicts(
        tmp_path, {**token, "value": 50}, {**token, "value": 500},
        {**ROW, "phase": "prefill", "input_len": 512, "metric": "ttft_ms", "value": 900},
        {**ROW, "phase": "e2e_offline", "input_len": 512, "output_len": 128, "metric": "output_tok_s", "value": 500},
    )  # fmt: skip

    assert [verdict for verdict, _ in found] == ["ok", "impossible", "cannot-judge", "impossible"]
    assert "no dense" in found[2][1]


def test_slow_is_not_said_where_arithmetic_may_be_why(tmp_path):
    """One sequence does next to none; what 64 do on a socket nobody published."""
    token = {**ROW, "phase": "decode", "input_len": 512, "output_len": 2, "metric": "output_tok_s_per_user"}
    alone, together = verdicts(tmp_path, {**token, "value": 2}, {**token, "batch": 64, "value": 0.2})

    assert alone[0] == "slow"
    assert together[0] == "cannot-judge"
    assert "arithmetic of 64 sequences may take the difference" in together[1]


def test_the_slower_of_two_bandwidths_is_expected_and_the_faster_the_ceiling(tmp_path):
    """One file with 400 GB/s in doubt of 500: a ceiling of 500, a roofline of 400."""
    text = 'id = "mine"\n' + facts(memory_bandwidth=(500, "GB/s"), memory_label=(64, "GB"))
    text += facts(memory_bandwidth=(400, "GB/s")) + 'doubt = "older"\n'
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    decode = rooflight.analyze(MODEL, on=str(path), context=512).phases["decode"]

    assert decode.time_s.ceiling == pytest.approx((STREAMED_BYTES + CACHE_BYTES) / 500e9, rel=2e-3)
    assert decode.time_s.roofline == pytest.approx((STREAMED_BYTES + CACHE_BYTES) / 400e9, rel=2e-2)


@pytest.mark.parametrize("kind", ["roofline", "intensity", "traffic", "memory", "waterfall"])
def test_charts_draw_the_slope_and_no_roof(bare, kind):
    pytest.importorskip("altair")
    found = rooflight.analyze(MODEL, on=bare)
    chart = rooflight.chart(found, kind)

    assert chart.spec
    assert "Infinity" not in json.dumps(msgspec.to_builtins(chart.spec))
    if kind == "roofline":
        assert [row["roof"] for row in chart.spec["datasets"]["roofs"]] == ["mine memory"] * 2
        assert chart.spec["datasets"]["ridges"] == []


def test_charts_of_several_draw_it_beside_one_that_has_roofs(bare):
    pytest.importorskip("altair")
    both = [rooflight.analyze(MODEL, on=name) for name in (bare, "h100-sxm")]

    from rooflight.show.charts.roofline import rows

    table = rows(*both)["table"]
    assert [row["peak"] == "not known" for row in table] == [True, False]
    assert [row["prefill"] == "not known" for row in table] == [True, False]


@pytest.mark.parametrize("batch", [1, 4])
def test_every_door_gives_one_decode(bare, batch):
    """To the last digit; NumPy's powers may differ in that one."""
    step = rooflight.analyze(MODEL, on=bare, batch=batch).phases["decode"]
    moved = rooflight.moves(MODEL, on=bare, batch=batch).before
    compared = rooflight.compare(MODEL, on=[bare], batch=batch).compared[0]
    columns = rooflight.sweep(MODEL, bare, {"batch": [batch]}).columns()
    assert moved is not None
    assert compared.decode is not None
    assert compared.run is not None

    assert moved.decode.time_s == compared.decode.step_s == step.time_s
    assert moved.decode.bound == compared.decode.bound == step.bound
    assert moved.run == compared.run
    assert "compute" not in moved.decode.terms_s
    for name in ("ceiling", "roofline", "expected", "low", "high"):
        assert columns[f"time_s.{name}"][0] == pytest.approx(getattr(step.time_s, name), rel=1e-12)


def test_a_claim_is_held_against_the_decode_step():
    """The document's ceiling is analyze's."""
    said = ["--model", MODEL, "--on", "grace", "--batch", "1", "--isl", "128", "--osl", "128"]
    result = ask("check", *said, "--tpot-ms", "40", "--json")
    (row,) = json.loads(result.stdout)["rows"]
    step = rooflight.analyze(MODEL, on="grace", isl=128, osl=128).phases["decode"].time_s

    assert result.exit_code == 0
    assert (row["verdict"], row["bound"]) == ("ok", "memory")
    assert row["ceiling"] == pytest.approx(step.ceiling / 1e-3)
    assert row["expected"] == pytest.approx(step.expected / 1e-3)


@pytest.mark.parametrize("words", [("analyze",), ("moves",), ("compare", "--batch", "1"), ("sweep", "--batch", "1,2")])
def test_every_command_answers_in_words(bare, words):
    command, *options = words
    result = ask(command, MODEL, "--on", bare, *options)

    assert result.exit_code == 0
    assert "peak" in result.stdout


def test_a_card_of_vector_units_is_a_card_like_others(tmp_path):
    """RX 6900 XT: 46.1 TFLOP/s of packed fp16, 512 GB/s; a prompt is answered, and what its peak is is said."""
    rates = {"vector": None, "dense": None}
    for kind in rates:
        path = tmp_path / f"{kind}.toml"
        peak = f'[[fact]]\nwhat = "peak"\ndtype = "fp16"\nvalue = 46.1\nunit = "TFLOP/s"\nkind = "{kind}"\n'
        rest = facts(memory_bandwidth=(512, "GB/s"), memory_label=(24, "GB"))
        path.write_text(f'id = "rx"\nvendor = "AMD"\n{peak}{rest}', encoding="utf-8")
        rates[kind] = rooflight.analyze(MODEL, on=str(path))
    vector, dense = rates.values()
    assert vector is not None
    assert dense is not None

    assert vector.phases == dense.phases
    assert vector.answered
    assert "prefill" in vector.phases
    assert any("are its vector units'" in line for line in vector.assumptions)
    assert not any("vector" in line for line in dense.assumptions)


def test_what_people_measured_on_such_cards_is_possible():
    """4 p150 with 8-bit weights: 72.9 GB at 4 x 512 GB/s are 36 ms a token, and 67.6 were measured."""
    of = {"on": "4xtt-p150", "tp": 4, "weights": "q8_0", "isl": 128, "osl": 128}
    step = rooflight.analyze("meta-llama/Meta-Llama-3.1-70B", **of).phases["decode"].time_s

    assert step.ceiling == pytest.approx(36.6e-3, rel=0.03)
    assert step.ceiling < 67.6e-3 < step.high


@pytest.mark.parametrize("model", ["HuggingFaceTB/SmolLM2-135M", "openai-community/gpt2"])
def test_a_step_that_may_lie_in_caches_has_no_ceiling(model, tmp_path):
    """0.27 GB of weights beside 0.38 GB of cache: without a peak nothing bounds the step."""
    card = tmp_path / "cpu.toml"
    cached = facts(memory_bandwidth=(461, "GB/s"), last_level_cache=(384, "MB"), memory_label=(64, "GB"))
    card.write_text(f'id = "cpu"\nkind = "cpu"\nfamily = "CPU"\n{cached}', encoding="utf-8")
    for ask in (rooflight.analyze, rooflight.moves):
        with pytest.raises(rooflight.MissingFact, match="may all lie in its caches"):
            ask(model, str(card))


def test_a_card_with_neither_peak_nor_size_is_swept():
    sweep = rooflight.sweep("llama-3.1-8b", "grace", {"batch": [1, 2]})
    (mark,) = sweep.landmarks()

    assert (mark.kv_limit, mark.rated) == (None, False)
    assert "no source says how much memory there is" in answer("llama-3.1-8b", [mark])


def test_what_binds_is_among_the_terms_of_a_step():
    """A small model in fp32, of which the card has no peak, lies in its cache: only arithmetic takes time at best."""
    sc = make_scenario("facebook/bart-base", "ascend-950dt")
    found = dot(sc, phases.decode(sc))

    assert sc.unrated == ("fp32",)
    assert found.bound == "compute"
    assert found.terms_s["compute"] == found.time_s.ceiling
    assert ask("moves", "facebook/bart-base", "--on", "ascend-950dt").exit_code == 0
