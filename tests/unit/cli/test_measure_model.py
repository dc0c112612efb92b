"""`rooflight measure model`: what is run, what stands beside it, and what is refused. No speed is asserted."""

from __future__ import annotations

import csv
import io
import json
import tomllib

import msgspec
import pytest

import rooflight
from kernel_tables import MACHINE, made
from rooflight.ingest.samples import read_samples
from rooflight.show import toml

pytest.importorskip("torch", reason="models run through torch, which is not installed")

TINY = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "intermediate_size": 96,
    "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 4, "vocab_size": 256,
    "max_position_embeddings": 2048, "tie_word_embeddings": False, "torch_dtype": "float32",
}  # fmt: skip
MAMBA = {"architectures": ["MambaForCausalLM"], "model_type": "mamba", "hidden_size": 64, "state_size": 16,
         "num_hidden_layers": 2, "vocab_size": 256, "conv_kernel": 4, "expand": 2, "time_step_rank": 4}  # fmt: skip


@pytest.fixture
def tiny(tmp_path):
    path = tmp_path / "tiny.json"
    path.write_text(json.dumps(TINY))
    return str(path)


@pytest.fixture
def with_tables(tmp_path):
    """The measured machine's file with tables of fp32, as `rooflight measure` writes them."""
    path = tmp_path / "machine.toml"
    # a cache so small that little need lie outside of it
    raw = tomllib.loads(MACHINE.read_text().replace('value = 260\nunit = "MiB"', 'value = 64\nunit = "KiB"'))
    raw["measured"]["tables"] = msgspec.to_builtins(made("fp32"))
    path.write_text(toml.text(raw))
    return str(path)


def measured(ask, tiny, on, *words):
    sizes = ("--batch", "1,2", "--context", "8", "--prefill", "4", "--budget", "0.01")
    return ask("measure", "model", tiny, "--on", on, "--device", "cpu", *sizes, *words)


def test_every_step_stands_beside_what_was_predicted(ask, tiny, with_tables):
    """Two batches and a prompt: their measured rates over those that an analysis gives."""
    result = measured(ask, tiny, with_tables, "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["schema"] == "rooflight.measure-model/1"
    assert (found["engine"], found["layers"], found["run"]) == ("torch", 4, 4)
    assert set(found["pace"]) == {"memory", "arithmetic"}
    steps = [(one["phase"], one["sequences"], one["new"], one["context"]) for one in found["steps"]]
    assert steps == [("decode", 1, 1, 8), ("decode", 2, 1, 8), ("prefill", 1, 4, 0)]
    asked = {"weights": "fp32", "activations": "fp32", "kv_cache": "fp32", "engine": "torch", "context": 8,
             "graphs": False}  # fmt: skip
    one = rooflight.analyze(tiny, with_tables, batch=2, **asked).phases["decode"]
    step = found["steps"][1]
    assert step["predicted"]["expected"] == one.time_s.expected
    assert step["tokens_per_s"] == pytest.approx(2 / step["time_s"]["median"])
    assert step["over_expected"] == pytest.approx(one.time_s.expected / step["time_s"]["median"])


def test_samples_are_kept_as_lines(ask, tiny, with_tables, tmp_path):
    """Each step is a sample; they are added to what is there."""
    file = tmp_path / "steps.jsonl"
    for _ in range(2):
        result = measured(ask, tiny, with_tables, "-o", str(file))
        assert result.exit_code == 0, result.stderr
    found = read_samples(file).samples
    assert [one.operator for one in found] == ["decode", "decode", "prefill"] * 2
    assert {one.kind for one in found} == {"step"}
    assert found[0].shape == {"sequences": 1, "new": 1, "context": 8, "layers": 4}


@pytest.mark.parametrize("turns, kept", [(2, 2), (8, 3)])
def test_an_interrupt_keeps_the_steps_that_were_timed(ask, tiny, with_tables, tmp_path, monkeypatch, turns, kept):
    """A turn has three steps and two kernels for the pace: after two turns of one two steps stand, after eight all."""
    from rooflight.probe import steps

    real, left, file = steps.timed, iter(range(turns)), tmp_path / "steps.jsonl"

    def timed(*given, **named):
        if next(left, None) is None:
            raise KeyboardInterrupt
        return real(*given, **named)

    monkeypatch.setattr(steps, "timed", timed)
    result = measured(ask, tiny, with_tables, "-o", str(file))
    assert result.exit_code == 130
    assert len(read_samples(file).samples) == kept
    assert "interrupted: the steps are those" in " ".join(result.stdout.split())


def test_an_interrupt_before_any_step_was_timed_keeps_nothing(ask, tiny, with_tables, tmp_path, monkeypatch):
    from rooflight.probe import steps

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(steps, "timed", interrupted)
    result = measured(ask, tiny, with_tables, "-o", str(tmp_path / "steps.jsonl"))
    assert result.exit_code == 130
    assert result.stdout == ""
    assert not (tmp_path / "steps.jsonl").exists()


def test_rows_and_page_say_the_same(ask, tiny, with_tables):
    rows = list(csv.DictReader(io.StringIO(measured(ask, tiny, with_tables, "--format", "csv").stdout)))
    assert [row["phase"] for row in rows] == ["decode", "decode", "prefill"]
    page = measured(ask, tiny, with_tables).stdout
    assert "decode, batch 2 at 8" in page
    assert "the prediction was made before anything ran" in page


def test_layers_that_do_not_fit_are_added_in_proportion(ask, tiny, with_tables, monkeypatch):
    """Room for two layers of four: half of what the layers take is extrapolated, and said."""
    from rooflight.library import whole
    from rooflight.probe import network

    size = network.size(rooflight.model(tiny), "fp32", sequences=2, positions=9)
    room = size.outside + 2.5 * size.layers[0]
    monkeypatch.setattr(whole, "_free_bytes", lambda _: room / whole._SHARE)
    found = json.loads(measured(ask, tiny, with_tables, "--json").stdout)
    assert (found["layers"], found["run"]) == (4, 2)
    assert any("2 of 4 layers fitted" in note for note in found["notes"])
    for step in found["steps"]:
        assert step["sample"]["shape"]["layers"] == 2
        assert step["sample"]["tokens_per_s"] is None
        assert 0 <= step["extrapolated"] <= 0.5
        assert step["time_s"]["median"] >= step["sample"]["time_s"]["median"]


def test_without_tables_the_mean_of_the_engines_is_expected_and_said(ask, tiny, tmp_path):
    raw = tomllib.loads(MACHINE.read_text())
    del raw["measured"]["tables"]
    machine = tmp_path / "bare.toml"
    machine.write_text(toml.text(raw))
    result = measured(ask, tiny, str(machine), "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert (found["engine"], found["pace"]) == ("", {})
    assert any("no tables of kernels" in note for note in found["notes"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--weights", "int4"), "--weights"),
        (("--batch", "0"), "--batch"),
        (("--prefill", "1"), "no such prefill"),
        (("--device", "tpu"), "no device tpu"),
        (("--device", "cpu", "--threads", "100000"), "threads"),
    ],
)
def test_what_cannot_be_run_is_refused(ask, tiny, with_tables, words, said):
    result = ask("measure", "model", tiny, "--on", with_tables, *words)
    assert result.exit_code == 2
    assert said in result.stderr


def test_other_layers_are_refused_by_name(ask, tmp_path, with_tables):
    path = tmp_path / "mamba.json"
    path.write_text(json.dumps(MAMBA))
    result = ask("measure", "model", str(path), "--on", with_tables, "--device", "cpu", "--weights", "fp32")
    assert result.exit_code == 2
    assert "layers that no network is made of" in result.stderr


def test_without_transformers_its_extra_is_named(ask, tiny, with_tables, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "transformers", None)
    result = measured(ask, tiny, with_tables, "--transformers")
    assert result.exit_code == 2
    assert "pip install transformers" in result.stderr


def test_from_python(tiny, with_tables):
    """The same as values, with a document and rows."""
    kept = []
    found = rooflight.measure_model(
        tiny, with_tables, weights="fp32", batch=[1], prefill=[], context=4, device="cpu", budget_s=0.01,
        keep=kept.append,
    )  # fmt: skip
    assert kept == [one.sample for one in found.steps]
    assert found.to_dict()["steps"][0]["phase"] == "decode"
    assert len(found.records()) == 1
