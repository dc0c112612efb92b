"""The printed commands: run, they give the very numbers of the page; and nothing is served that does not fit."""

from __future__ import annotations

import json
import random
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from rooflight.catalog.models import load
from rooflight.cli.app import app
from rooflight.errors import RooflightError
from rooflight.studio import commands
from rooflight.studio.page import Page
from rooflight.studio.picture import goals_of
from rooflight.studio.question import MACHINE, Question, scenario_of
from rooflight.studio.view import Asked
from rooflight.studio.views.throughput import throughput
from rooflight.words.analysis import analyzed

CONFIG = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 2048, "intermediate_size": 5632,
    "num_hidden_layers": 22, "num_attention_heads": 32, "num_key_value_heads": 4, "vocab_size": 32000,
    "max_position_embeddings": 2048, "torch_dtype": "bfloat16",
}  # fmt: skip
CARD = (Path(__file__).resolve().parents[3] / "docs/examples/my-card.toml").read_text()
# Each field with what it may be; a question takes some of them at random.
STATES = {
    "model": ["llama-3.1-8b", "qwen3-30b-a3b", "gpt-oss-20b", "llama-3.1-70b"],
    "on": ["h100-sxm", "2xh200-sxm", "8xh100-sxm", "mi300x", "rtx-4090", "rtx-4090+rtx-3090"],
    "bandwidth_times": [1.0, 1.0, 0.25, 1.41, 10.0],
    "peak_times": [1.0, 1.0, 3.5, 0.1],
    "batch": [1, 7, 64, 5000],
    "isl": [1024, 1, 8191],
    "osl": [256, 1, 0],
    "context": [None, 0, 4097],
    "tp": [1, 2, 4],
    "dp": [1, 2],
    "pp": [1, 2],
    "weights": [None, "fp8", "int4-g128"],
    "kv_cache": [None, "fp8"],
    "attention": ["flash", "naive"],
    "graphs": [True, False],
    "engine": [None, "vllm", "llama.cpp"],
    "gpu_memory_utilization": [None, None, 0.123456789, 1.0],
    "ignore_capacity": [False, True],
    "draft_tokens": [0, 0, 3],
    "acceptance": [0.7, 0.8123],
    "cached_prefix": [0, 0, 100],
    "prefill_batch": [1, 3],
    "chunk_tokens": [0, 0, 64],
    "memory": [None, None, "48GiB", 171041619968.0],
    "cpu_offload_gb": [None, None, 4, "13GB"],
    "network": [None, "400Gb/s,5us"],
    "schedule": [None, "served", "batch"],
    "max_num_seqs": [None, 16],
    "request_rate": [None, 0.5],
}


def some_questions(count):
    """Questions that can be answered, whether they fit or not, the same ones every time."""
    picked = random.Random(20)
    found = []
    while len(found) < count:
        names = picked.sample(sorted(STATES), picked.randint(2, 12))
        state = {name: picked.choice(STATES[name]) for name in names}
        if state.get("request_rate"):
            state = {name: value for name, value in state.items() if name not in ("batch", "schedule")}
        if picked.random() < 0.1:
            state |= {"config": CONFIG}
        if picked.random() < 0.1:
            state |= {"on": picked.choice([MACHINE, f"2x{MACHINE}"]), "machine": CARD}
        question = Question(**state)
        try:
            found.append((question, analyzed(scenario_of(question))))
        except RooflightError:
            continue
    return found


def numbers(value):
    """A document without the names of what was pasted or dropped, and texts in which they stand."""
    if isinstance(value, dict):
        return {name: numbers(one) for name, one in value.items()}
    if isinstance(value, list):
        return [numbers(one) for one in value]
    return None if isinstance(value, str) else value


@pytest.mark.slow
def test_the_printed_command_gives_the_numbers_of_the_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "this.toml").write_text(CARD)
    met = set()
    for question, shown in some_questions(90):
        line = commands.of(question, shown)["rooflight"]
        found = CliRunner().invoke(app, [*shlex.split(line)[1:], "--json"])
        assert found.exit_code in (0, 1), (line, found.output)
        assert numbers(json.loads(found.output)) == numbers(json.loads(json.dumps(shown.to_dict()))), line
        met |= set(question.model_dump(exclude_defaults=True)) | {f"fits {shown.memory.fits}"}
    assert met >= {*STATES, "config", "machine", "fits True", "fits False"} - {"tp", "dp", "pp"}


def test_rates_that_are_tried_are_options():
    line = commands.rooflight(Question(bandwidth_times=1.5, peak_times=2.0), "org/m")
    assert line == "rooflight analyze org/m --on h100-sxm --bandwidth-times 1.5 --peak-times 2.0"


def test_a_scenario_on_several_cards_is_said_by_their_count():
    assert commands.asking("org/m", "4xh100-sxm", {"tp": None, "batch": 8}) == (
        "rooflight analyze org/m --on 4xh100-sxm --batch 8"
    )


def both(**state):
    question = Question(**state)
    return commands.of(question, analyzed(scenario_of(question)))


def test_what_does_not_fit_is_not_served():
    assert both(model="llama-3.1-70b")["vllm"] == "# nothing to serve: it does not fit"
    assert both(model="llama-3.1-70b", ignore_capacity=True)["vllm"].startswith("# nothing to serve")
    assert both(model="llama-3.1-70b")["rooflight"].startswith("rooflight analyze meta-llama/Meta-Llama-3.1-70B ")


def test_what_fits_in_part_is_served_and_the_others_wait():
    assert "--max-num-seqs 5000" in both(batch=5000)["vllm"]


def test_layers_on_the_host_are_no_option_of_vllm_and_streamed_weights_are():
    assert both(n_gpu_layers=10)["vllm"].startswith("# nothing to serve")
    assert "--cpu-offload-gb 4" in both(cpu_offload_gb=4)["vllm"]


def test_a_share_that_is_needed_is_stated():
    """8.03 B parameters in BF16 are 16.06 GB: of 17 GB they leave room for a sequence with more than 0.9 alone."""
    question = Question(memory="17GB", isl=64, osl=8)
    shown = analyzed(scenario_of(question))
    assert shown.memory.share_needed is not None
    share = float(shlex.split(commands.of(question, shown)["vllm"])[4])
    assert shown.memory.share_needed <= share < shown.memory.share_needed + 0.01 or share == 1
    assert load("llama-3.1-8b").id in commands.of(question, shown)["vllm"]


def test_the_longest_sequence_that_the_engine_is_started_for_is_as_stated():
    assert "--max-model-len 9000" in commands.vllm(Question(max_model_len=9000), "org/m")


@pytest.mark.parametrize(
    "state",
    [
        {"batch": 64}, {"model": "llama-3.1-70b", "on": "4xh100-sxm", "bandwidth_times": 1.5, "batch": 8},
        {"weights": "fp8", "schedule": "served", "kv_cache": "fp8"}, {"engine": "vllm", "graphs": False, "isl": 4096},
    ],
)  # fmt: skip
def test_the_command_of_goals_reaches_as_far_as_the_page_says(state):
    question = Question(**state)
    page = Page(scenarios=[question], tpot_slo_ms=30.5)
    line = commands.of(question, analyzed(scenario_of(question)), goals_of(page))["goals"]
    found = CliRunner().invoke(app, [*shlex.split(line)[1:], "--json"])
    answer = json.loads(found.output)["answer"]

    assert line.startswith("rooflight sweep ")
    assert line.endswith(" --tpot-slo-ms 30.5")
    assert throughput(Asked(page=page)).answer.startswith(answer)


def test_without_goals_or_where_it_does_not_fit_there_is_no_such_command():
    assert both()["goals"] == ""
    question = Question(model="llama-3.1-70b")
    assert commands.of(question, analyzed(scenario_of(question)), {"tpot_slo_ms": 40.0})["goals"] == ""
