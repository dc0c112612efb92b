"""Ceilings against everyone else's measurements: real ones are possible, those beyond physics are not."""

from __future__ import annotations

import csv
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

import rooflight
from conformance.test_machines_measured import NOT_FOUND
from rooflight.catalog import accelerators, spelled
from rooflight.errors import RooflightError
from rooflight.values.measurement import Report, Verdict

# A row that 0.1.0 called impossible: what memory does not hold at once runs in waves, and the first of them end early.
WAVES = "anl-1822"
# A served run of which the collection says that the batch is the engine's setting: its first token and its time per
# token are those of far fewer in flight.
SIBLING = "sil-qwen3_32b_qwen3_32b_h100_sxm_vllm_agg_4000x1000_c_tp1_0_epnone_4"
# Rows marked as beyond physics that are not above the ceiling, each with the arithmetic.
NOT_BEYOND = {
    "prem-0053": (
        "Llama-2-7B in int4 at 358 tok/s on an A100 of 2,039 GB/s: 6.48 G weights in 4.25 bits, a 16-bit head and "
        "the cache of 256 tokens are 3.84 GB a token: 1,377 GB/s, 68 % of the bandwidth. No ceiling forbids it."
    )
}
# Rows that the command judges in a process of its own: they end between two runs.
FIRST = 500
# Share of measured2.csv that is judged.
JUDGED = 0.95
# Rows of measured2.csv that are wrong as they stand, by the run their source names.
WRONG = {
    "_tp1x4_": "the run's name says four instances of one card each, the row one card: 128 x 768 tokens of Gemma-4-12B "
    "are 2.2 PFLOP, 128 x 256 tokens at 3,425 tok/s take 9.6 s: 234 TFLOP/s of a card of 71",
    "_tp1x1_": "the prompt was cached: 512 tokens of Gemma-4-12B are 11.3 TFLOP, in 57 ms 197 TFLOP/s of a card of 71 "
    "(142 with fp16 sums) limited to 220 W, and the same 50 ms on one card, two and four",
    "_tp1x2_": "two instances of one card each; the prompt was cached: the same 11.3 TFLOP in 38 ms are 297 TFLOP/s",
}
# Rows above the ceiling of what they state, each with the arithmetic.
NOT_AS_STATED = {
    # a checkpoint named MXFP4-Q4: its attention and head are in 4 bits too, where the row says mxfp4, which leaves them
    # in 16: 76.7 tok/s x 3.72 GB = 285 GB/s of 273; with 1.2 GB less a token it is 193
    "m2-llmfit-0154",
    # "ollama default (assumed)": 31 G weights in 4.5 bits are 17 GB a token, 47.2 tok/s of it 820 GB/s of 614, and 33.2
    # of it 580 of 307: drafts, or another model under that tag
    "m2-llmfit-0180", "m2-llmfit-0208",
}  # fmt: skip
# Rows above the ceiling of the format that is assumed for them; the sources do not state the weights' format.
UNSTATED = "the row does not say which it ran"
# Rows whose weights alone are more than the stated devices hold: they ran on something else.
TOO_BIG = "possible, but not as stated: the weights of"


@pytest.fixture(scope="module")
def folders(data: Path) -> list[Path]:
    return [data / "configs", data / "configs_reconstructed"]


@pytest.fixture(scope="module")
def measured(data: Path, folders) -> Report:
    return rooflight.check(data / "measured.csv", configs=folders)


@pytest.fixture(scope="module")
def measured2(data: Path, folders) -> Report:
    return rooflight.check(data / "measured2.csv", configs=folders)


@pytest.fixture(scope="module")
def served(data: Path, folders) -> Report:
    return rooflight.check(data / "served.csv", configs=folders)


@pytest.fixture(scope="module")
def served2(data: Path, folders) -> Report:
    return rooflight.check(data / "served2.csv", configs=folders)


@pytest.fixture(scope="module")
def doubtful(data: Path, folders) -> Report:
    return rooflight.check(data / "doubtful.csv", configs=folders)


def above(report: Report) -> list[Verdict]:
    return [row for row in report.rows if row.verdict == "impossible"]


def test_nothing_measured_is_impossible(measured: Report) -> None:
    assert {row.given["id"]: row.reason for row in above(measured)} == {}


def test_no_other_row_is_above_its_ceiling_unless_its_format_is_not_stated(measured: Report) -> None:
    over = [row for row in measured.rows if (row.over_ceiling or 0) > 1.005 and row.verdict != "impossible"]

    assert all(row.verdict == "cannot-judge" and UNSTATED in row.reason for row in over)
    assert all(not row.given["weights"] for row in over)
    assert len(over) < 10


def test_a_batch_that_memory_does_not_hold_at_once_runs_in_waves(measured: Report) -> None:
    """32 sequences of 2,048 + 2,048 tokens on a die of an MI250: 68.7 GB of cache and 13.5 GB of weights in 64 GB."""
    (row,) = [row for row in measured.rows if row.given["id"] == WAVES]

    needed_bytes = 32 * 4095 * 524_288 + 13.5e9
    assert needed_bytes > rooflight.accelerator("mi250").memory_bytes
    assert "package" in row.given["accelerator_note"]
    assert row.over_ceiling < 1


def test_rows_with_a_config_and_a_card_are_judged(measured: Report) -> None:
    """What is left over lacks a fact: a link, a peak, a layout that is none, lengths, room for the weights."""
    known = [row for row in measured.rows if row.given["has_config"] == row.given["has_accelerator"] == "True"]
    unjudged = [row for row in known if row.verdict == "cannot-judge"]
    facts = (
        "neither a link nor a PCIe",
        "does not divide",
        "no dense",
        "not both stated",
        "do not fit",
        TOO_BIG,
        UNSTATED,
    )

    assert [row.reason for row in unjudged if not any(fact in row.reason for fact in facts)] == []
    assert len(unjudged) < 0.06 * len(known)


def test_what_is_beyond_physics_is_called_impossible(doubtful: Report) -> None:
    physics = {row.given["id"]: row for row in doubtful.rows if row.given["kind"] == "physics"}

    assert {name for name, row in physics.items() if row.verdict != "impossible"} == NOT_BEYOND.keys()
    assert physics["prem-0053"].over_ceiling == pytest.approx(358.49 * 3.84e9 / 2.039e12, rel=0.01)


def test_every_doubtful_row_above_its_ceiling_is_called_impossible_and_none_of_the_rest(doubtful: Report) -> None:
    judged = [row for row in doubtful.rows if row.over_ceiling is not None]

    assert all((row.verdict == "impossible") == (row.over_ceiling > 1.005) for row in judged)
    assert {row.given["kind"] for row in above(doubtful)} == {"physics", "not_monotonic"}
    for row in above(doubtful):
        named = row.mix_up is not None and f"it would be right {row.mix_up}" in row.reason
        assert named or "none of the usual mix-ups explains it" in row.reason


def test_the_fixed_offsets_and_cold_cards_are_slow_not_impossible(doubtful: Report) -> None:
    calm = [row for row in doubtful.rows if row.given["kind"] in ("fixed_offset", "cold_or_clock", "mislabelled")]

    assert len(calm) == 67 + 12 + 4
    assert not [row.given["id"] for row in calm if row.verdict == "impossible"]


def test_served_rows_are_possible(served: Report) -> None:
    """TPOT and TTFT at known concurrency, but where the data themselves doubt layout (tp 72 of 128 heads) or batch."""
    report = served

    assert SIBLING in {row.given["id"].rsplit("-", 1)[0] for row in report.rows if row.verdict == "fast"}
    assert all(row.given["use"].startswith("no") for row in above(report))
    unjudged = [row for row in report.rows if row.verdict == "cannot-judge"]
    assert all(TOO_BIG in row.reason and "disagree" in row.given["note"] for row in unjudged)
    assert report.summary.cannot_judge == 26


def test_later_served_rows_are_possible_disaggregated_ones_too(served2: Report) -> None:
    assert above(served2) == []
    judged = [row for row in served2.rows if row.verdict != "cannot-judge"]
    assert len(judged) > 0.99 * len(served2.rows)
    assert sum(row.given["mode"] == "disagg" for row in judged) > 160


def test_runs_of_which_nobody_says_whether_drafts_were_used_name_them(served2: Report) -> None:
    open_ = [row for row in served2.rows if row.given["speculative"] == "unknown" and row.metric == "tpot_ms"]

    assert len(open_) == 39
    fast = [row for row in open_ if row.verdict == "fast"]
    assert len(fast) > 30
    assert all("as expected with speculative decoding" in row.reason for row in fast)


def test_no_batch_is_never_a_reason_for_slowness(measured: Report) -> None:
    """What is slow without a batch is slow at any: less than one sequence alone gets."""
    blank = [row for row in measured.rows if not row.given["batch"] and row.verdict == "slow"]

    assert all("even of one sequence alone" in row.reason for row in blank)


def test_prompts_that_came_from_a_cache_are_not_called_possible(data: Path, folders) -> None:
    """Rates over a prompt that was cached already: whatever can be judged lies above its ceiling, or is fast."""
    report = rooflight.check(data / "doubtful2.csv", configs=folders)
    cached = [row for row in report.rows if row.given["kind"] == "prefix_cache" and row.verdict != "cannot-judge"]

    assert len(cached) == 32  # all of them
    assert {row.verdict for row in cached} == {"impossible", "fast"}
    assert sum(row.verdict == "impossible" for row in cached) == 31


def process(*words: object) -> subprocess.CompletedProcess[bytes]:
    source = str(Path(rooflight.__file__).parents[1])
    return subprocess.run(
        [sys.executable, "-m", "rooflight", "check", *map(str, words)],
        capture_output=True, check=False, env={**os.environ, "PYTHONPATH": source},
    )  # fmt: skip


def test_every_row_is_written_and_nearly_all_are_judged(data: Path, folders, measured: Report, tmp_path: Path) -> None:
    """The command on the first rows says what the function said of all."""
    lines = (data / "measured.csv").read_text(encoding="utf-8").splitlines(keepends=True)[: 1 + FIRST]
    (tmp_path / "first.csv").write_text("".join(lines), encoding="utf-8")
    done = process(tmp_path / "first.csv", "--format", "csv", *(w for one in folders for w in ("--configs", one)))

    assert done.returncode == 0  # nothing is impossible
    found = list(csv.DictReader(io.StringIO(done.stdout.decode())))
    assert [row["verdict"] for row in found] == [row.verdict for row in measured.rows[:FIRST]]
    assert len(measured.rows) == 5514
    assert measured.summary.judged > 4500


def test_rows_come_back_as_they_were(data: Path, folders) -> None:
    done = process(data / "doubtful.csv", "--format", "csv", "--configs", folders[0])
    with (data / "doubtful.csv").open(encoding="utf-8", newline="") as file:
        given = list(csv.DictReader(file))
    found = list(csv.DictReader(io.StringIO(done.stdout.decode())))

    for before, after in zip(given, found, strict=True):
        before["input_reason"] = before.pop("reason")
        assert before.items() <= after.items()


# Rows of which nobody says that they were offloaded and whose weights alone are more than the label in full GiB: the
# GB of weights in the stated format (bf16 where none is) and what so many cards hold at most.
TOO_LARGE = {
    ("meta-llama__Meta-Llama-3.1-70B", "rtx-4090", "1"): (42.5, 24),  # its note: "ran on GPU/CPU"
    ("meta-llama__Llama-2-70b-hf", "mi250", "2"): (137.9, 2 * 64),  # a package of two devices is meant
    ("meta-llama__Meta-Llama-3-70B", "mi250", "2"): (141.1, 2 * 64),
    ("mistralai__Mixtral-8x7B-v0.1", "mi250", "1"): (93.4, 64),
    ("meta-llama__Meta-Llama-3.1-70B", "tt-n150", "8"): (141.1, 8 * 12),  # 8 bits and fewer are common there
    ("llama-3.3-70b", "tt-n150", "8"): (141.1, 8 * 12),
    ("Qwen__Qwen2.5-72B", "tt-n150", "8"): (145.4, 8 * 12),
    ("meta-llama__Meta-Llama-3.1-8B", "tt-n150", "1"): (16.1, 12),
    **{("falcon-7b", "tt-n150", gpus): (13.8, 12) for gpus in ("1", "8", "32")},  # 8 and 32 are replicas, dp
    ("Qwen__Qwen2.5-14B", "rtx-5070", "1"): (29.5, 12),
    ("Qwen__Qwen2.5-7B-Instruct", "rtx-5070", "1"): (15.2, 12),
    ("gemma-4-e4b", "rtx-5070", "1"): (15.0, 12),  # 7.5 G with its tables by layer; "gemma-4-e4b-it", no format stated
    ("phi-4", "rtx-2080", "1"): (9.05, 8),  # 14.7 G in 4.94 bits; 16.72 tok/s is a third of what the card reads
    # 15.32 GiB of file; the same host's later rows say partial_offload, at the same 2.8 tok/s
    ("Qwen__Qwen3-30B-A3B", "nvidia-geforce-gtx-1650-super", "1"): (16.45, 4),
}


def test_later_measurements_are_possible_but_for_wrong_rows(measured2: Report) -> None:
    """Formats by part, files of a known size, engines of Macs, weights on the host: none is above its ceiling."""
    for row in above(measured2):
        assert any(run in row.given["source"] for run in WRONG), (row.given["id"], row.reason)


def test_later_measurements_can_be_judged(measured2: Report) -> None:
    """0.1.0 judged 44 %; what is left lacks a model or a card in the catalog."""
    assert measured2.summary.judged >= JUDGED * measured2.summary.rows
    unjudged = [row for row in measured2.rows if row.verdict == "cannot-judge"]
    of_names = ("there is no model", "nothing is known of the accelerator")
    assert sum(not row.reason.startswith(of_names) for row in unjudged) < 0.04 * len(measured2.rows)


def test_rows_with_a_part_on_the_host_are_below_their_ceilings_and_nearly_all_as_expected(measured2: Report) -> None:
    """llama.cpp, ik_llama.cpp, ktransformers and ollama. None says its split, but for those with all weights or the
    cache on the host; few name the host. Outside: an old desktop, prompts that a slow processor multiplied, a routed
    model known by its size alone, and the cache on the host."""
    rows = [row for row in measured2.rows if row.given["partial_offload"]]
    known = [row for row in rows if row.low is not None and row.high is not None]
    inside = [row for row in known if row.low <= row.value <= row.high]

    assert len(rows) == len(known) == 261
    assert [row.given["id"] for row in rows if row.over_ceiling > 1] == []
    assert len(inside) >= 0.95 * len(rows)
    outside = {(row.given["model"], row.given["accelerator"]) for row in known if row not in inside}
    assert outside <= {
        ("Qwen__Qwen3-30B-A3B", "nvidia-geforce-gtx-1650-super"), ("deepseek2-671b", "rtx-4080"),
        ("deepseek2-671b", "rtx-a6000"),
        ("deepseek-v3", "rtx-4090-d"), ("ornith-1.0-35b", "rx-7900-xt"), ("meta-llama__Llama-2-7b-hf", "rtx-3090-ti"),
    }  # fmt: skip


def test_experts_on_a_host_that_is_named_take_what_is_expected(measured2: Report, folders) -> None:
    """ktransformers' notes name it: sockets of eight channels of DDR5-4800, 8 x 8 B x 4.8 GT/s = 307.2 GB/s each.

    A token of DeepSeek-V3 runs 58 x 8 x 3 x 7168 x 2048 = 20.4 G of experts, 12.4 GB in 4.85 bits: 31 ms of 0.65 x
    614.4 GB/s, and 10 GB of the device at 1,008 GB/s: some 45 ms or 22 tok/s; 12 to 13.5 were measured.
    """
    rows = [row.given for row in measured2.rows if row.given["engine"] == "ktransformers"]
    socket = 8 * 8 * 4.8
    named = [
        row | {"n_cpu_moe": "61", "host_memory_bandwidth": f"{socket * (1 if '1 socket' in row['note'] else 2)}GB/s"}
        for row in rows
    ]
    judged = rooflight.check(named, configs=folders).rows

    assert len(judged) == 12
    assert {row.verdict for row in judged} == {"ok"}
    assert all(row.over_ceiling < 0.4 for row in judged)
    assert all(row.high < 5 * row.low for row in judged if row.metric == "output_tok_s_per_user")


def test_a_format_is_no_reason_not_to_judge(measured2: Report) -> None:
    assert [row.reason for row in measured2.rows if "there is no number format" in row.reason] == []
    assert [row.reason for row in measured2.rows if "no engine keeps its KV cache" in row.reason] == []


def test_rows_by_a_files_size_are_at_most_as_fast_as_the_memory(measured2: Report) -> None:
    """Devstral-2-123B, Q3_K_S of 50.63 GiB, two R9700 in turn: 54.4 GB / 640 GB/s is 85 ms, so 11.8 tok/s at most."""
    (row,) = [row for row in measured2.rows if row.given["id"] == "m2-r9700-0002"]

    assert float(row.given["value"]) == 7.37
    assert row.ceiling == pytest.approx(640e9 / (50.63 * 2**30), rel=0.03)
    assert "weights of 54,363,548,549 bytes in all, as stated: those of q3_k_s, 54,359,015,424 bytes" in row.reason


@pytest.mark.parametrize("name", ["measured", "measured2"])
def test_nothing_measured_is_too_large_but_what_arithmetic_shows(request: pytest.FixtureRequest, name) -> None:
    report: Report = request.getfixturevalue(name)

    assert not [row for row in report.rows if row.bound == "capacity"]
    large = [row for row in report.rows if TOO_BIG in row.reason and not row.given.get("partial_offload")]
    for row in large:
        weights_gb, label_gib = TOO_LARGE[row.given["model"], row.given["accelerator"], row.given["gpus"]]
        assert weights_gb * 1e9 > label_gib * 2**30, row.given["id"]
    assert len(large) <= 71  # of measured.csv, six of them falcon-7b's, which the catalog has by now


def test_rows_whose_table_knew_nothing_of_the_card_are_judged(measured2: Report) -> None:
    """What is left over lacks a model or a length, no card."""
    unknown = [row for row in measured2.rows if row.given["has_accelerator"] == "False"]

    assert {row.given["accelerator"] for row in unknown if "nothing is known of" in row.reason} == NOT_FOUND
    assert sum(row.verdict != "cannot-judge" for row in unknown) > 250


def test_no_row_of_later_measurements_is_above_its_ceiling(measured2: Report) -> None:
    """Unified memory and processors among them: Apple's, Strix Halo, GB10, Ryzen, Xeon."""
    above = [row for row in measured2.rows if row.verdict == "impossible"]
    wrong = {row.given["id"] for row in above if any(run in row.given["source"] for run in WRONG)}

    assert {row.given["id"] for row in above} <= NOT_AS_STATED | wrong
    assert {row.given["model"] for row in above if row.given["id"] in wrong} == {"gemma-4-12b"}
    assert len(wrong) == 17


def test_processors_and_unified_memory_are_judged_and_below(measured2: Report) -> None:
    kinds = {card.id: card.kind for card in accelerators.all_accelerators()}
    seen = {"cpu": 0, "apu": 0}
    for row in measured2.rows:
        if row.over_ceiling is None or row.given["id"] in NOT_AS_STATED or row.given["speculative"]:
            continue
        try:
            kind = kinds.get(spelled.accelerator(row.given["accelerator"])[0].id, "gpu")
        except RooflightError:
            continue
        if kind in seen and "drafts" not in row.reason:
            seen[kind] += 1
            assert row.over_ceiling <= 1, (row.given["id"], row.reason)

    assert seen["cpu"] > 100
    assert seen["apu"] > 400
