"""A diagnosis as its reader has it: the parts of the answer go together, and what it says to do can be done."""

from __future__ import annotations

import shlex

import pytest
from click.testing import CliRunner

from rooflight.cli.app import app
from rooflight.library.diagnosed import diagnose

IDLE = """DCGM_FI_DEV_GPU_UTIL{gpu="0",modelName="NVIDIA H100 80GB HBM3"} 0
DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu="0",modelName="NVIDIA H100 80GB HBM3"} 0.0
DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{gpu="0",modelName="NVIDIA H100 80GB HBM3"} 0.0
DCGM_FI_PROF_DRAM_ACTIVE{gpu="0",modelName="NVIDIA H100 80GB HBM3"} 0.0
"""
RUNS = """vllm:num_requests_running{engine="0",model_name="meta-llama/Llama-3.1-8B-Instruct"} 3.0
vllm:num_requests_waiting{engine="0",model_name="meta-llama/Llama-3.1-8B-Instruct"} 0.0
vllm:kv_cache_usage_perc{engine="0",model_name="meta-llama/Llama-3.1-8B-Instruct"} 0.02
"""
ALONE = "batch=1 tpot_ms=12"


@pytest.fixture
def idle(tmp_path):
    path = tmp_path / "idle.prom"
    path.write_text(IDLE)
    return str(path)


@pytest.mark.parametrize(
    ("named", "missing", "other"),
    [({"model": "qwen2.5-14b"}, "the accelerator", "the model"), ({"on": "l40s"}, "the model", "the accelerator")],
)
def test_which_of_model_and_accelerator_is_missing_is_said(named, missing, other):
    one = diagnose(points=[ALONE], **named)
    assert f"without {missing}:" in one.answer
    assert other not in one.answer
    assert one.next[0].what == f"Name {missing}."


def test_what_was_named_is_not_asked_for_again():
    """u60: drafts tell no ceiling, and naming the model once more would not either."""
    texts = ["batch=1 output_tok_s=52 draft_tokens=0", "batch=1 output_tok_s=108 draft_tokens=7"]
    one = diagnose(points=texts, model="deepseek-r1", on="8xb200")
    assert not [step for step in one.next if "MODEL" in (step.command or "") or "ame the model" in step.what]


def test_the_command_that_names_what_is_missing_runs_when_it_is_filled_in():
    one = diagnose(points=[ALONE, "batch=33 tpot_ms=15.2"], model="qwen2.5-14b")
    words = shlex.split((one.next[0].command or "").replace("ACCELERATOR", "l40s"))
    assert words[:2] == ["rooflight", "diagnose"]
    assert words.count("--point") == 2
    got = CliRunner().invoke(app, [*words[1:], "--weights", "int4-g128"])
    assert "Memory bandwidth binds" in got.output
    assert got.exit_code == 0


def test_rate_and_time_make_what_is_in_flight():
    """faults.md 1: 760 tok/s x 95 ms = 72 at once."""
    one = diagnose(points=["output_tok_s=760 tpot_ms=95 isl=300 osl=200"], model="qwen2.5-14b", on="l40s")
    assert one.bound == "memory"
    assert "72.2 in flight" in one.answer


def test_a_batch_that_rate_and_time_do_not_make_is_no_batch():
    """faults.md 8: 640 tok/s x 22.2 ms = 14.2 at once, not 32."""
    text = "output_tok_s=640 tpot_ms=22.2 batch=32 isl=1000 osl=500"
    one = diagnose(points=[text], model="qwen3-32b", on="h100", weights="fp8")
    assert "14.2 in flight (by rate and times, not the 32 that were set)" in one.answer
    assert one.confidence != "high"


def test_long_prompts_may_take_the_time_in_which_fewer_decode():
    """Prompts 40 times as long as answers: that 3.2 of 16 decode (80 x 0.04) leaves the rest to prefill."""
    one = diagnose(points=["output_tok_s=80 tpot_ms=40 batch=16 isl=8000 osl=200"])
    assert "16 in flight" in one.answer
    assert any("the others wait or are in prefill" in note for note in one.notes)


def test_a_limit_on_those_in_flight_is_no_load():
    """5 requests a second of 2.45 s (0.06 + 199 x 0.012) keep 12.2 in flight, whatever the limit allows."""
    text = "concurrency=128 request_rate=5 requests_per_s=5 ttft_ms=60 tpot_ms=12 isl=500 osl=200"
    one = diagnose(points=[text], model="llama-3.1-8b", on="h100")
    assert one.bound == "starved"
    assert not [note for note in one.notes if "Little" in note]
    assert all(value.supports for value in one.evidence if value.what.startswith("in flight"))


def test_as_many_requests_as_in_flight_are_one_batch():
    """u69: 200 requests at 200."""
    text = "concurrency=200 requests_per_s=3.28 output_tok_s=714 requests=200"
    one = diagnose(points=[text], model="llama-3.3-70b", on="4xa100-sxm4-80gb")
    assert any("are one batch" in note for note in one.notes)


def test_a_figure_and_its_prediction_speak_the_same_way():
    """62 ms where 27 are expected speak for the host, and the 27 no less."""
    one = diagnose(points=["isl=8 ttft_ms=62 batch=1"], model="llama-3-8b", on="rtx-a5000")
    assert one.bound == "launch"
    assert {value.supports for value in one.evidence if "time to first token" in value.what} == {True}
    assert not [value for value in one.evidence if value.what == "of the first token, waiting"]  # one waits for none


def test_several_measurements_outweigh_the_prediction_of_one():
    """u11: 1.43 times the memory gives 1.04 times the speed, so memory is at most 9 % whatever the prediction says."""
    texts = [f"device={card} batch=120 isl=128 osl=2048 output_tok_s={rate}" for card, rate in CARDS]
    one = diagnose(points=texts, model="mistral-7b", weights="fp8")
    assert one.bound == "launch"
    assert not [step for step in one.next if "narrower" in step.what]


CARDS = (("h100", 8623), ("h200", 8950))


def test_a_narrower_format_that_is_slower_is_the_verdict():
    texts = ["weights=fp16 batch=8 tpot_ms=20", "weights=awq batch=8 tpot_ms=26"]
    one = diagnose(points=texts, model="llama-2-7b", on="a100")
    assert one.bound is None
    assert not one.cannot_tell
    assert one.answer.startswith("The narrower format is not faster")


def test_files_that_name_another_accelerator_or_model_are_said(idle, tmp_path):
    other = tmp_path / "runs.prom"
    other.write_text(RUNS)
    one = diagnose(idle, other, model="qwen3-32b", on="l4")
    assert any("name the accelerator NVIDIA H100 80GB HBM3, and l4 was named" in note for note in one.notes)
    assert any("and Qwen/Qwen3-32B was named" in note for note in one.notes)


def test_a_name_that_is_read_as_itself_is_no_note(tmp_path):
    path = tmp_path / "runs.prom"
    path.write_text(RUNS.replace("meta-llama/Llama-3.1-8B-Instruct", "Qwen/Qwen3-32B"))
    assert not [note for note in diagnose(path).notes if "read as" in note]


def test_an_option_against_what_files_count_is_said():
    one = diagnose(points=["concurrency=64 tpot_ms=20 isl=1024 osl=256"], model="qwen2.5-7b", on="h100", batch=8)
    assert "The files say batch 64, and 8 was stated, which counts." in one.notes


def test_counters_of_an_idle_time_do_not_outweigh_a_run(idle):
    run = "concurrency=64 output_tok_s=2844 ttft_ms=480 tpot_ms=20.5 isl=1024 osl=256"
    one = diagnose(idle, points=[run], model="qwen2.5-7b")
    assert one.bound == "memory"
    assert not [value for value in one.evidence if "DRAM" in value.what]


def test_requests_that_run_while_the_gpu_does_not_are_elsewhere(idle, tmp_path):
    path = tmp_path / "runs.prom"
    path.write_text(RUNS)
    one = diagnose(idle, path)
    assert one.confidence == "low"
    assert "on another GPU" in one.answer


def test_amd_devices_are_not_sent_to_another_vendors_tools(tmp_path):
    path = tmp_path / "smi.csv"
    path.write_text(
        "device,GPU use (%),GFX Activity,GPU Memory Allocated (VRAM%),Memory Activity\ncard0,100,99,92,40\n"
    )
    commands = " ".join(step.command or "" for step in diagnose(path).next)
    assert "dcgm" not in commands
    assert "rocprof" in commands


def test_times_of_the_slowest_alone_are_said_to_be_that():
    one = diagnose(
        points=["tp=2 pp=2 e2e_p90_s=10.2", "tp=4 e2e_p90_s=6.4"], model="llama-2-13b", on="4xa100-sxm4-40gb"
    )
    assert "percentiles alone" in one.answer


def test_what_waits_before_a_first_token_is_said_without_a_model():
    """20 of 30 s."""
    one = diagnose(points=["concurrency=64 requests_per_s=2 ttft_ms=20000 e2e_s=30"])
    assert "67 % of a request over before its first token" in one.answer


def test_steps_and_notes_are_sentences():
    texts = ["batch=1 tpot_ms=12", "batch=33 tpot_ms=15.2"]
    one = diagnose(points=texts, model="qwen2.5-14b", on="l40s", weights="int4-g128")
    assert all(step.what[0].isupper() and step.what.endswith(".") for step in one.next)
    assert "Two points make any line exactly: a third would say whether it holds" in one.notes


def test_a_prediction_without_a_length_says_that():
    said = "No length is stated: the prediction is of an empty cache, and a longer one takes longer"
    assert said in diagnose(points=[ALONE], model="qwen2.5-14b", on="l40s").notes
    assert said not in diagnose(points=[f"{ALONE} depth=512"], model="qwen2.5-14b", on="l40s").notes


def test_those_that_run_of_those_that_were_sent_show_the_pool():
    """u34: 72 of 256 run where memory holds about 89 of 1,070 tokens (80,992 x 57,344 B are left of 24 GB)."""
    text = "concurrency=256 running=72 ttft_p50_s=60 isl=1000 osl=70"
    one = diagnose(points=[text], model="qwen2.5-7b", on="a10g")
    assert one.bound == "capacity"
    assert "72 of 256 in flight run" in one.answer


BUSY = """DCGM_FI_DEV_GPU_UTIL{gpu="0",modelName="NVIDIA H100 80GB HBM3"} 95
DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu="0",modelName="NVIDIA H100 80GB HBM3"} 0.95
DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{gpu="0",modelName="NVIDIA H100 80GB HBM3"} 0.80
DCGM_FI_PROF_DRAM_ACTIVE{gpu="0",modelName="NVIDIA H100 80GB HBM3"} 0.20
"""
LOG = "INFO 01-01 10:00:00 [kv_cache_utils.py:868] GPU KV cache size: 400,000 tokens\n"


def test_what_was_seen_of_the_device_leads_and_the_contradiction_is_said_once(tmp_path):
    """Tensor cores at 80 % say arithmetic; the run beside its prediction says memory, and is only a prediction."""
    path = tmp_path / "busy.prom"
    path.write_text(BUSY)
    run = "concurrency=64 output_tok_s=4500 ttft_ms=100 tpot_ms=14 isl=1024 osl=256"
    alone = diagnose(points=[run], model="llama-3.1-8b", on="h100")
    one = diagnose(path, points=[run], model="llama-3.1-8b", on="h100")

    assert (alone.bound, one.bound) == ("memory", "compute")
    said = [text for text in one.findings if text.startswith("They do not agree")]
    assert len(said) == 1
    assert said[0].endswith("what was seen of the device counts before a prediction.")
    assert one.confidence != diagnose(path, model="llama-3.1-8b", on="h100").confidence  # a step less
    assert not [step for step in one.next if "larger batch" in step.what and "gains nothing" not in step.what]


def test_an_account_of_memory_names_no_ceiling_of_what_else_was_given(tmp_path):
    """By itself the log is answered; beside a file that says nothing of a ceiling that cannot be told."""
    log, other = tmp_path / "start.log", tmp_path / "util.prom"
    log.write_text(LOG)
    other.write_text('DCGM_FI_DEV_FB_USED{gpu="0",modelName="NVIDIA H100 80GB HBM3"} 70000\n')
    alone, beside = diagnose(log), diagnose(log, other)

    assert (alone.bound, alone.cannot_tell) == (None, False)
    assert beside.cannot_tell
    assert "cannot be told" in beside.answer
    assert alone.answer in beside.findings
