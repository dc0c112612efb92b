"""Public start-up logs of three engines: what each file must give, and what must not be claimed of it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from rooflight.answers.diagnose.memory import MemoryFound, memory
from rooflight.answers.diagnose.setting import Setting
from rooflight.errors import BadConfig
from rooflight.ingest.recorded.read import recorded
from rooflight.library.questions import make_scenario
from rooflight.units import to_base
from rooflight.values.recorded import Measurements, Recorded, Stated
from rooflight.words.diagnosis.memory import told

GIB, MIB = to_base(1, "GiB"), to_base(1, "MiB")
# Keys of expected.json: the field that has the value, and how many base units one of theirs is.
MEASURED: dict[str, tuple[str, float]] = {
    "weights_gib_per_gpu": ("weights_bytes_per_accelerator", GIB), "kv_gib_per_gpu": ("kv_bytes_per_accelerator", GIB),
    "graph_gib": ("graph_bytes_per_accelerator", GIB), "total_gib": ("total_bytes_per_accelerator", GIB),
    "usable_gib": ("usable_bytes_per_accelerator", GIB), "non_torch_gib": ("other_bytes_per_accelerator", GIB),
    "activation_peak_gib": ("activation_bytes_per_accelerator", GIB), "kv_tokens": ("kv_tokens", 1),
    "avail_after_pool_gib": ("free_bytes_per_accelerator", GIB), "max_concurrency": ("max_concurrency", 1),
    "distributed_gib": ("network_bytes_per_accelerator", GIB), "weights_gib": ("weights_bytes", GIB),
    "max_total_num_tokens_per_rank": ("kv_tokens_per_replica", 1), "bpw": ("bits_per_weight", 1),
    "cpu_weights_mib": ("host_weights_bytes", MIB), "kv_mib": ("kv_bytes", MIB),
    "compute_mib": ("compute_bytes_per_accelerator", MIB), "compute_mib_wanted": ("wanted_bytes", MIB),
    "projected_mib": ("projected_bytes_per_accelerator", MIB), "kv_mib_by_gpu": ("kv_bytes_by_accelerator", MIB),
}  # fmt: skip
STATED = {
    "gpus": "gpus", "tp": "tp", "dp": "dp", "max_model_len": "context_tokens", "context_len": "context_tokens",
    "n_ctx": "context_tokens", "gpu_memory_utilization": "memory_share", "max_num_seqs": "max_num_seqs",
    "max_num_batched_tokens": "max_num_batched_tokens", "chunked_prefill_size": "max_num_batched_tokens",
    "kv_cache": "kv_cache",
}  # fmt: skip
# Told by analysis, or by words.
OTHERS = {
    "model", "accelerator", "engine", "weights", "note", "not_in_file", "kv_bytes_per_token_per_gpu_by_division",
    "offloaded", "partial_offload", "gpu_weights_mib",
}  # fmt: skip
ENGINES = {"vllm_log": "vllm-log", "sglang_log": "sglang-log", "llamacpp_log": "llamacpp-log"}


@pytest.fixture(scope="module")
def logs(data: Path) -> dict[str, tuple[dict[str, Any], Recorded]]:
    """Every log with what must come out of it."""
    folder = data / "results"
    if not (folder / "expected.json").exists():
        pytest.skip("results/expected.json is not here")
    wanted = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    return {
        name: (values, recorded(folder / name)) for name, values in wanted.items() if name.partition("/")[0] in ENGINES
    }


def parts(found: Recorded) -> tuple[Stated, Measurements]:
    (one,) = found.records
    return one.stated, one.measured


def test_every_log_is_read_by_the_reader_of_its_engine(logs):
    assert len(logs) >= 18
    for name, (_, found) in logs.items():
        assert found.format == ENGINES[name.partition("/")[0]], name
        assert len(found.records) == 1, name


def test_every_value_comes_out_in_base_units(logs):
    """What is not in the file may be left out, and nothing is different; no key is forgotten here."""
    wrong = []
    for name, (wanted, found) in logs.items():
        stated, seen = parts(found)
        for key, value in wanted.items():
            if key in MEASURED:
                field, factor = MEASURED[key]
                got = getattr(seen, field)
                same = _same(got, value, factor)
            elif key in STATED:
                got = getattr(stated, STATED[key])
                same = got == value
            else:
                assert key in OTHERS, (name, key)
                continue
            if not same and not (got is None and key in wanted.get("not_in_file", ())):
                wrong.append((name, key, value, got))
    assert wrong == []


def _same(got: Any, value: Any, factor: float) -> bool:
    if isinstance(value, list):
        return got is not None and all(_same(one, other, factor) for one, other in zip(got, value, strict=True))
    if value is None or got is None:
        return got is value
    return math.isclose(got, value * factor, rel_tol=1e-6)


def test_devices_layers_and_offload_of_llama_cpp(logs):
    for name, (wanted, found) in logs.items():
        seen = parts(found)[1]
        if "gpu_weights_mib" in wanted:
            each = wanted["gpu_weights_mib"]
            several = each if isinstance(each, list) else [each]
            got = seen.weights_bytes_by_accelerator or (seen.weights_bytes_per_accelerator,)
            assert list(got) == pytest.approx([one * MIB for one in several]), name
        if "offloaded" in wanted:
            assert f"{seen.offloaded_layers}/{seen.layers}" == wanted["offloaded"], name


def test_formats_of_weights_are_told_where_the_file_tells_them(logs):
    for name, (wanted, found) in logs.items():
        if "weights" in wanted:
            named = wanted["weights"].partition(" ")[0]
            assert named in (parts(found)[0].weights or ""), name


def test_bytes_a_token_follow_by_division(logs):
    for name, (wanted, found) in logs.items():
        if (value := wanted.get("kv_bytes_per_token_per_gpu_by_division")) is not None:
            judged = memory([found], Setting())
            assert judged is not None
            assert round(judged.kept.token_bytes) == value, name


def test_a_log_that_ends_before_the_weights_says_what_it_lacks(logs):
    found = logs["sglang_log/h200_8_before_kv.log"][1]
    judged = memory([found], Setting())

    assert found.lacks == ("the size of the weights", "the size of the KV pool")
    assert judged.cannot_tell
    assert judged.bound is None
    assert "does not say the size of the weights and the size of the KV pool" in told(judged).answer


# Logs with the model and the card that the file, its name or its thread says, and what is then expected.
@pytest.mark.parametrize(
    ("name", "model", "on"),
    [
        ("nvidia-5090_RedHatAI_Qwen3-14B-FP8-dynamic_tp1", "Qwen/Qwen3-14B", "rtx-5090"),
        ("nvidia-3090_meta-llama_Meta-Llama-3.1-8B-Instruct_tp1", "llama-3.1-8b", "rtx-3090"),
        ("nvidia-a100_openai_gpt-oss-20b_tp1", "openai/gpt-oss-20b", "a100-sxm4-40gb"),
        ("nvidia-ada5000_cpatonn_Qwen3-Coder-30B-A3B-Instruct-GPTQ-4bit_tp1", "Qwen/Qwen3-30B-A3B", "rtx-5000-ada"),
        ("v0_profiling_llama3-8b", "meta-llama/Meta-Llama-3-8B", "h100-sxm"),
    ],
)
def test_pools_of_vllm_are_as_expected(logs, name, model, on):
    judged = _beside(logs[f"vllm_log/{name}.log"][1], model, on)

    assert judged.kept.as_expected
    assert judged.bound is None
    assert judged.confidence == "high"
    assert abs(judged.kept.gap) < 0.01
    assert ": as expected (" in told(judged).answer


def _beside(found: Recorded, model: str, on: str) -> MemoryFound:
    sc = make_scenario(model, on)
    judged = memory([found], Setting(model=sc.checkpoint, card=sc.accelerator, scenario=sc))
    assert judged is not None
    return judged


def test_a_first_start_on_rocm_is_named(logs):
    name = "vllm_log/amd-r9700_meta-llama_Meta-Llama-3.1-8B-Instruct_tp2.log"
    judged = _beside(logs[name][1], "llama-3.1-8b", "2xradeon-ai-pro-r9700")

    assert [one.kind for one in judged.kept.causes] == ["first_start"]
    assert "first start on ROCm" in told(judged).answer


def test_a_card_of_twice_the_memory_is_doubted(logs):
    """13.70 + 21.09 GiB of 40 GB at 0.9; of 80 GB they are a share of 0.45 or so."""
    judged = _beside(logs["vllm_log/nvidia-a100_openai_gpt-oss-20b_tp1.log"][1], "openai/gpt-oss-20b", "a100-sxm4-80gb")

    assert not judged.kept.as_expected
    assert [one.kind for one in judged.kept.causes] in (["share"], ["taken"])


def test_another_share_explains_a_smaller_pool(logs):
    """158,656 tokens x 131,072 B = 19.37 GiB; 44.4 x s - 14.99 - 0.6 = 19.4 -> s = 0.79, in two digits 0.8."""
    judged = _beside(logs["vllm_log/v1_kv_llama31-8b_l40s.log"][1], "llama-3.1-8b", "l40s")

    assert judged.kept.worked_out
    assert judged.kept.pool_bytes == 158_656 * 131_072
    assert [(one.kind, one.value) for one in judged.kept.causes] == [("share", 0.8)]


def test_one_request_of_the_full_length_does_not_fit(logs):
    """46,611 tokens of the pool, 131,072 of a request."""
    found = logs["sglang_log/qwq-32b_tp4_24gb.log"][1]

    for judged in (memory([found], Setting()), _beside(found, "Qwen/QwQ-32B", "4xa10g")):
        assert (judged.bound, judged.confidence, judged.kept.trouble) == ("capacity", "high", "one_request")
        assert judged.kept.sequences == pytest.approx(46_611 / 131_072)
        assert told(judged).answer == ("One request of 131,072 tokens does not fit: the pool of SGLang holds 46,611.")
    assert [one.value for one in judged.kept.causes] == [0.85]  # 15.54 + 2.84 of 21.63 GiB


def test_weights_in_the_hosts_memory_are_no_full_offload(logs):
    found = logs["llamacpp_log/ik_qwen3-235b_mix.log"][1]
    judged = memory([found], Setting())

    assert judged.kept.trouble == "host"
    assert judged.kept.host_share == pytest.approx(90_339.87 / (90_339.87 + 19_053.73))
    assert "although 95/95 layers count as offloaded" in told(judged).answer
    # tables of a model whose layers are all on the card are no such thing
    tables = memory([logs["llamacpp_log/ik_gemma3-27b_iq4ks.log"][1]], Setting())
    assert tables.bound is None


def test_a_scratch_buffer_is_neither_weights_nor_cache(logs):
    judged = memory([logs["llamacpp_log/ik_qwen3-235b_oom.log"][1]], Setting())

    assert judged.kept.record.measured.wanted_for == "compute"
    assert "for the compute buffer" in told(judged).answer


def test_more_than_a_card_has_cannot_be(logs):
    """59,851.68 + 9,216 MiB = 67.45 GiB on 32."""
    judged = _beside(logs["llamacpp_log/gpt-oss-120b_5090_oom.log"][1], "openai/gpt-oss-120b", "rtx-5090")

    assert judged.kept.trouble == "cannot_be"
    assert judged.kept.placed_bytes == pytest.approx((59_851.68 + 9216) * MIB)
    assert told(judged).answer.startswith("This cannot be: 67.45 GiB")


def test_terms_of_a_profile_add_up(logs):
    """71.29 - 14.96 - 1.79 - 1.26 - 53.29 = -0.01 GiB, which is rounding."""
    judged = memory([logs["vllm_log/v0_profiling_llama3-8b.log"][1]], Setting())

    assert judged.kept.unaccounted == pytest.approx(-0.01 * GIB, rel=1e-3)
    assert "the terms that vLLM prints add up to what it may use" in told(judged).notes


def test_a_negative_size_of_graphs_is_no_saving(logs):
    name = "vllm_log/nvidia-5090_RedHatAI_Qwen3-14B-FP8-dynamic_tp1.log"
    notes = told(memory([logs[name][1]], Setting())).notes

    assert any("less than nothing" in note for note in notes)


def test_results_of_benchmarks_are_no_logs(data):
    """No file of a load generator is taken for an engine's log."""
    from rooflight.ingest.recorded.read import formats

    logs = {form.name for form in formats("logs")}
    folder = data / "results"
    if not folder.is_dir():
        pytest.skip("results/ is not here")
    for path in sorted(folder.glob("*/*")):
        if path.parent.name in ENGINES or not path.is_file():
            continue
        try:
            found = recorded(path)
        except BadConfig:
            continue
        assert found.format not in logs, path.name
