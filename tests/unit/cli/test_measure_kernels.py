"""`rooflight measure kernels` and `measure show`: what they time, keep and show. No speed is asserted."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import pytest

import rooflight
from rooflight.ingest.samples import read_samples

pytest.importorskip("torch", reason="kernels run through torch, which is not installed")

# One layer of 64, 4 heads of 16 on 2, 96 wide, 256 words: a millisecond a step.
TINY = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "intermediate_size": 96,
    "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2, "vocab_size": 256,
    "max_position_embeddings": 2048, "tie_word_embeddings": False, "torch_dtype": "float32",
}  # fmt: skip
MOE = {**TINY, "architectures": ["MixtralForCausalLM"], "model_type": "mixtral", "num_local_experts": 4,
       "num_experts_per_tok": 2}  # fmt: skip
MEASURED = Path(__file__).parents[2] / "measured.toml"


@pytest.fixture
def files(tmp_path):
    """The models, and a measured machine with a cache so small that nothing large is drawn."""
    paths = {name: tmp_path / f"{name}.json" for name in ("tiny", "moe")}
    for name, config in (("tiny", TINY), ("moe", MOE)):
        paths[name].write_text(json.dumps(config))
    paths["machine"] = tmp_path / "machine.toml"
    paths["machine"].write_text(MEASURED.read_text().replace('value = 260\nunit = "MiB"', 'value = 64\nunit = "KiB"'))
    return {name: str(path) for name, path in paths.items()}


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """A few runs of each kernel are enough to see what is run."""
    from rooflight.library import kernels as library

    monkeypatch.setattr(library, "_EACH_S", 0.001)


def kernels(ask, files, *words, model="tiny"):
    return ask("measure", "kernels", files[model], "--on", files["machine"], "--device", "cpu", *words)


def test_the_operators_of_a_step_are_timed_each_once(ask, files):
    """Two batches and a prompt: products, attention, norm and activation of each; the head of a prompt is batch 1's."""
    result = kernels(ask, files, "--batch", "1,4", "--context", "16", "--prefill", "8", "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["schema"] == "rooflight.measure-kernels/1"
    names = [
        (one["phase"], one["sample"]["batch"] or one["sample"]["isl"], one["operator"]) for one in found["kernels"]
    ]
    step = ["norm", "qkv", "attention", "o", "gate_up", "act", "down", "lm_head"]
    wanted = [(phase, at, name) for phase, at in (("decode", 1), ("decode", 4), ("prefill", 8)) for name in step]
    wanted.remove(("prefill", 8, "lm_head"))
    assert sorted(names) == sorted(wanted)
    assert found["complete"]
    assert found["on"]["measured"] == "2026-11-28T22:00:00Z"
    assert any("rope_cache" in line for line in found["left_out"])


def test_sizes_under_tensor_parallelism_are_those_of_one_device(ask, files):
    """4 query heads and 2 of the cache, 16 wide, over two: (4 + 2 x 2) x 16 / 2 = 64 outputs; 96 / 2 = 48 inputs."""
    result = kernels(ask, files, "--batch", "1", "--context", "16", "--prefill", "8", "--tp", "2", "--json")
    found = {one["operator"]: one["sample"]["shape"] for one in json.loads(result.stdout)["kernels"]}
    assert found["qkv"] == {"tokens": 8, "inputs": 64, "outputs": 64} or found["qkv"]["outputs"] == 64
    assert found["down"]["inputs"] == 48
    assert found["attention"]["kv_heads"] == 1
    assert any("all_reduce" in line for line in json.loads(result.stdout)["left_out"])


def test_routed_experts(ask, files):
    """One row chooses 2 of 4: two experts with a row each."""
    result = kernels(ask, files, "--batch", "1", "--context", "16", "--prefill", "8", "--json", model="moe")
    found = [one for one in json.loads(result.stdout)["kernels"] if one["operator"] == "expert_gate_up"]
    assert found[0]["sample"]["shape"] == {"matrices": 2, "tokens": 2, "inputs": 64, "outputs": 192}


def test_one_product_without_a_model(ask, files):
    result = ask("measure", "kernels", "--gemm", "8,32,64", "--weights", "bf16", "--on", files["machine"],
                 "--device", "cpu", "--json")  # fmt: skip
    (one,) = json.loads(result.stdout)["kernels"]
    assert one["phase"] == "product"
    assert one["sample"]["flop"] == 2 * 8 * 32 * 64
    assert one["sample"]["bytes"] == 2 * (32 * 64 + 8 * (32 + 64))
    assert one["sample"]["shape"] == {"tokens": 8, "inputs": 64, "outputs": 32}


def test_text_markdown_and_csv(ask, files):
    words = ("--batch", "1", "--context", "16", "--prefill", "8")
    text = kernels(ask, files, *words).stdout
    assert "Decode, batch 1 at 16 tokens of context:" in text
    assert "Prefill of 8 tokens:" in text
    assert "fastest" in text
    rows = list(csv.DictReader(io.StringIO(kernels(ask, files, *words, "--format", "csv").stdout)))
    assert {row["operator"] for row in rows} >= {"qkv", "attention"}
    assert all(float(row["time_s.median"]) > 0 for row in rows)


def test_samples_are_added_to_a_file(ask, files, tmp_path):
    path = tmp_path / "k.jsonl"
    words = ("--batch", "1", "--context", "16", "--prefill", "8", "-o", str(path))
    first = kernels(ask, files, *words)
    count = len(read_samples(path).samples)
    kernels(ask, files, *words)
    found = read_samples(path)
    assert first.exit_code == 0
    assert len(found.samples) == 2 * count
    assert found.lost == ()
    assert {one.model for one in found.samples} == {"tiny"}


def test_an_interrupt_keeps_what_is_done(ask, files, tmp_path, monkeypatch):
    from rooflight.probe import kernels as probe

    path, real, left = tmp_path / "k.jsonl", probe.sample, iter(range(3))

    def sample(*given, **named):
        if next(left, None) is None:
            raise KeyboardInterrupt
        return real(*given, **named)

    monkeypatch.setattr(probe, "sample", sample)
    result = kernels(ask, files, "--batch", "1", "--context", "16", "--prefill", "8", "-o", str(path))
    assert result.exit_code == 130
    assert len(read_samples(path).samples) == 3
    assert "(interrupted)" in result.stdout


def test_what_finds_no_time_is_said(ask, files, monkeypatch):
    from rooflight.library import kernels as library

    clock = iter([0.0, *[0.5] * 3, *[1e6] * 100])
    monkeypatch.setattr(library.time, "monotonic", lambda: next(clock))
    result = kernels(ask, files, "--batch", "1", "--context", "16", "--prefill", "8", "--budget", "60", "--json")
    found = json.loads(result.stdout)
    assert not found["complete"]
    assert any("no time was left" in line for line in found["left_out"])


@pytest.mark.parametrize(
    "words, status, said",
    [
        (("--weights", "int4"), 2, "torch multiplies no int4 on"),
        (("--weights", "q4_k_m"), 2, "torch multiplies no"),
        (("--device", "cuda:9"), 2, "no device cuda:9"),
        (("--tp", "3"), 2, "tp 3 does not divide"),
        (("--batch", "0"), 2, "batch"),
        (("--prefill", "0"), 2, "prefill"),
        (("--context", "-1"), 2, "context"),
        (("--budget", "0"), 2, "no kernel could be timed"),
        (("--threads", "0"), 2, "threads"),
        (("--gemm", "8,8,8"), 2, "kernels are of a model, or of one product"),
        (("-o", "none/k.jsonl"), 2, "cannot be added to"),
        (("-o", "none/k.json"), 2, "cannot be written"),
    ],
)
def test_questions_that_have_no_answer(ask, files, words, status, said):
    words = words if "--device" in words else ("--device", "cpu", *words)
    result = ask("measure", "kernels", files["tiny"], "--on", files["machine"], *words)
    assert result.exit_code == status
    assert said in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("text", ["8,8", "8,8,x", "0,8,8", "8,-8,8", "8,8,8,8", ""])
def test_sizes_that_are_none(ask, text):
    result = ask("measure", "kernels", "--gemm", text, "--on", "h100")
    assert result.exit_code == 2
    assert "--gemm" in result.stderr


def test_neither_a_model_nor_a_product(ask):
    result = ask("measure", "kernels", "--on", "h100")
    assert result.exit_code == 2
    assert "there is nothing to time" in result.stderr


@pytest.fixture
def stored(ask, files, tmp_path):
    path = tmp_path / "k.jsonl"
    kernels(ask, files, "--batch", "1", "--context", "16", "--prefill", "8", "-o", str(path))
    return path


def test_a_file_is_shown_without_measuring(ask, stored, monkeypatch):
    from rooflight.probe import timing

    monkeypatch.setattr(timing, "timed", None)
    result = ask("measure", "show", str(stored))
    assert result.exit_code == 0, result.stderr
    assert f"{stored} holds 15 kernels on" in " ".join(result.stdout.split())
    assert "batch 1, context 16" in " ".join(result.stdout.split())
    assert len(list(csv.DictReader(io.StringIO(ask("measure", "show", str(stored), "--format", "csv").stdout)))) == 15


def test_two_files_side_by_side(ask, stored, tmp_path):
    """The second has half of the times of the first, and lacks one kernel: 14 are in both."""
    import msgspec

    from rooflight.ingest.samples import append

    def halved(one):
        time_s = msgspec.structs.replace(
            one.time_s, median=one.time_s.median / 2, low=one.time_s.low / 2, high=one.time_s.high / 2
        )
        return msgspec.structs.replace(one, time_s=time_s)

    other = tmp_path / "b.jsonl"
    append(other, [halved(one) for one in read_samples(stored).samples[1:]])
    result = ask("measure", "show", str(stored), str(other), "--json")
    found = json.loads(result.stdout)
    assert found["schema"] == "rooflight.samples/1"
    ratios = [one["ratio"] for one in found["kinds"]]
    assert [ratio for ratio in ratios if ratio is not None] == pytest.approx([2.0] * 14)
    assert ratios.count(None) == 1
    assert "2 times as fast" in found["answer"]
    text = " ".join(ask("measure", "show", str(stored), str(other)).stdout.split())
    assert "2 / 1 is how many times as fast the second is" in text


def test_other_kinds_are_listed_too(ask, tmp_path):
    path = tmp_path / "r.jsonl"
    one = '{"schema":"rooflight.sample/1","kind":"%s","name":"x","time_s":{"median":1,"low":1,"high":1,"n":1}}\n'
    path.write_text("".join(one % kind for kind in ("request", "step", "bandwidth", "interval", "collective")))
    text = ask("measure", "show", str(path)).stdout
    assert all(f"\n{title}:" in text for title in ("Requests", "Steps", "Bandwidths", "Intervals", "Collectives"))


def test_a_packed_file_cut_short_ends_as_a_plain_one_does(ask, stored, tmp_path):
    """Half of the packed bytes hold some of the 15 lines; what is behind them is one lost line, and status 2."""
    packed = tmp_path / "k.jsonl.gz"
    whole = gzip.compress(stored.read_bytes())
    packed.write_bytes(whole[: len(whole) // 2])
    result = ask("measure", "show", str(packed), "--json")
    assert result.exit_code == 2
    (file,) = json.loads(result.stdout)["files"]
    assert 0 < len(file["samples"]) < 15
    assert "to its end" in file["lost"][0]["why"]


def test_damaged_lines_are_said_and_the_rest_is_shown(ask, stored):
    stored.write_text(stored.read_text() + '{"schema":"rooflight.sample/1","ki')
    result = ask("measure", "show", str(stored))
    assert result.exit_code == 2
    assert "line 16: the line is cut short" in " ".join(result.stdout.split())
    result = ask("measure", "show", str(stored), "--format", "csv")
    assert "line 16: the line is cut short" in result.stderr


def test_files_that_hold_no_samples(ask, files, tmp_path):
    assert "holds no sample" in ask("measure", "show", files["tiny"]).stderr
    assert "there is no file" in ask("measure", "show", str(tmp_path / "none")).stderr
    assert ask("measure", "show", files["tiny"]).exit_code == 2


@pytest.mark.slow
def test_pictures(ask, files, stored, tmp_path):
    pytest.importorskip("altair", reason="charts are not installed")
    for words in (("show", str(stored), "--on", files["machine"]),):
        path = tmp_path / "k.svg"
        result = ask("measure", *words, "-o", str(path))
        assert result.exit_code == 0, result.stderr
        assert "kernels reach" in path.read_text()


def test_the_same_from_python(files, stored):
    found = rooflight.measure_kernels(
        files["tiny"], files["machine"], batch=[1], context=16, prefill=[8], device="cpu", budget_s=20
    )
    assert found.to_dict()["schema"] == "rooflight.measure-kernels/1"
    assert len(found.records()) == len(found.kernels)
    assert "**" not in found.answer
    kept = rooflight.samples(stored)
    assert kept.to_dict()["schema"] == "rooflight.samples/1"
    assert kept.files[0].samples == read_samples(stored).samples
