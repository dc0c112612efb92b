"""Pools as engines report them, beside what memory should hold."""

from __future__ import annotations

import msgspec
import pytest

from rooflight.answers.diagnose.memory import MemoryFound, adds_up, memory
from rooflight.answers.diagnose.setting import Setting
from rooflight.library.questions import make_scenario
from rooflight.serve.memory import memory as answered
from rooflight.units import to_base
from rooflight.values.recorded import Measurements, Record, Recorded, Stated
from rooflight.words.diagnosis.memory import told

GIB = to_base(1, "GiB")
# Llama-3.1-8B in 16 bits: 32 layers x 8 heads x 128 x 2 x 2 B
TOKEN_BYTES = 32 * 8 * 128 * 2 * 2
VLLM = Stated(
    engine="vllm", engine_version="0.12.0", kv_cache="bf16", weights="bf16", tp=1, pp=1, dp=1, gpus=1,
    context_tokens=32_768, max_num_seqs=256, max_num_batched_tokens=8192, memory_share=0.9,
)  # fmt: skip


def file(stated: Stated, *, lacks: tuple[str, ...] = (), **measured) -> Recorded:
    record = Record(stated=stated, measured=Measurements(**measured))
    return Recorded(file="start.log", format="vllm-log", records=(record,), lacks=lacks)


def setting(model="llama-3.1-8b", on="h100-sxm", given=frozenset(), **fields) -> Setting:
    sc = make_scenario(model, on, **fields)
    return Setting(model=sc.checkpoint, card=sc.accelerator, scenario=sc, given=given)


def expected_bytes(**fields) -> float:
    """Of the pool of one H100 by the library itself, asked as the log says."""
    asked = {
        "engine": "vllm", "engine_version": "0.12.0", "max_num_seqs": 256, "max_num_batched_tokens": 8192,
        "gpu_memory_utilization": 0.9, "max_model_len": 32_768, "isl": 32_767, "osl": 1,
    }  # fmt: skip
    return answered(make_scenario("llama-3.1-8b", "h100-sxm", **asked | fields)).kv_pool.bytes.expected


def judged(stated: Stated, beside: Setting | None = None, **measured) -> MemoryFound:
    found = memory([file(stated, **measured)], beside or Setting())
    assert found is not None
    return found


def test_nothing_recorded_of_memory_is_no_finding():
    assert memory([], Setting()) is None
    assert memory([file(VLLM, output_tokens_per_s=3.0)], Setting()) is None


def test_a_pool_that_is_as_the_library_expects_is_said_to_be():
    pool = expected_bytes()
    found = judged(VLLM, setting(), kv_tokens=pool // TOKEN_BYTES, kv_bytes_per_accelerator=pool)

    assert (found.bound, found.confidence, found.cannot_tell) == (None, "high", False)
    assert found.kept.as_expected
    assert found.kept.gap == pytest.approx(0, abs=1e-4)  # whole pages
    assert found.kept.causes == ()
    assert ": as expected (" in told(found).answer


@pytest.mark.parametrize(("times", "kind"), [(0.5, "half"), (2, "twice"), (1.3, "bytes")])
def test_bytes_a_token_tell_another_format_of_the_cache(times, kind):
    """The pool is as large as ever; half the bytes a token are twice the tokens."""
    pool = expected_bytes()
    tokens = pool / (TOKEN_BYTES * times)
    found = judged(VLLM, setting(), kv_tokens=tokens, kv_bytes_per_accelerator=pool)

    assert [(one.kind, pytest.approx(one.value)) for one in found.kept.causes] == [(kind, times)]
    assert not found.kept.as_expected
    assert found.kept.gap == pytest.approx(1 / times - 1, abs=0.001)


def test_a_cache_that_is_stated_narrow_is_expected_narrow():
    stated = msgspec.structs.replace(VLLM, kv_cache="fp8")
    pool = expected_bytes(kv_cache="fp8")
    found = judged(stated, setting(), kv_tokens=pool / (TOKEN_BYTES / 2), kv_bytes_per_accelerator=pool)

    assert found.kept.expected.token_bytes == TOKEN_BYTES / 2
    assert found.kept.causes == ()


def test_another_share_explains_the_gap_where_none_is_stated():
    stated = msgspec.structs.replace(VLLM, memory_share=None)
    found = judged(stated, setting(), kv_bytes_per_accelerator=expected_bytes(gpu_memory_utilization=0.7))

    assert [(one.kind, one.value) for one in found.kept.causes] == [("share", 0.7)]
    assert "a share of 0.7 of the memory would explain it" in told(found).answer


def test_a_stated_share_leaves_the_gap_to_something_else():
    pool = expected_bytes()
    found = judged(VLLM, setting(), kv_bytes_per_accelerator=pool - 8 * GIB)

    assert [(one.kind, pytest.approx(one.value)) for one in found.kept.causes] == [("taken", 8 * GIB)]
    assert found.confidence == "medium"
    assert "8.00 GiB a device are taken by something else" in told(found).answer


def test_the_share_that_a_user_stated_counts_before_the_logs():
    beside = setting(given=frozenset({"gpu_memory_utilization"}), engine="vllm", gpu_memory_utilization=0.5)
    found = judged(VLLM, beside, kv_bytes_per_accelerator=expected_bytes(gpu_memory_utilization=0.5))

    assert found.kept.expected.share == 0.5
    assert found.kept.as_expected


def test_other_weights_are_named_and_taken_off_the_pool():
    """Weights of 8 GiB where 15 are expected leave 7 more."""
    plain = judged(VLLM, setting(), kv_bytes_per_accelerator=expected_bytes())
    more = plain.kept.expected.weights_bytes - 8 * GIB
    found = judged(
        VLLM, setting(), kv_bytes_per_accelerator=expected_bytes() + more, weights_bytes_per_accelerator=8 * GIB
    )

    assert [one.kind for one in found.kept.causes] == ["weights"]
    assert found.kept.gap == pytest.approx(more / expected_bytes())
    assert "the weights take 0.5" in told(found).answer


def test_the_format_of_weights_that_fits_those_measured_is_taken():
    """A log's fp8 where a checkpoint of 16 bits is named: 8 GiB are fp8, 15 are not."""
    stated = msgspec.structs.replace(VLLM, weights="fp8")
    narrow = judged(stated, setting(), kv_bytes_per_accelerator=GIB, weights_bytes_per_accelerator=8.5 * GIB)
    wide = judged(stated, setting(), kv_bytes_per_accelerator=GIB, weights_bytes_per_accelerator=15 * GIB)

    assert narrow.kept.expected.weights_bytes < 0.7 * wide.kept.expected.weights_bytes


def test_a_request_that_does_not_fit_binds_capacity():
    found = judged(VLLM, kv_tokens=16_384.0, kv_bytes_per_accelerator=16_384.0 * TOKEN_BYTES)

    assert (found.bound, found.confidence, found.kept.trouble) == ("capacity", "high", "one_request")
    assert found.kept.sequences == 0.5
    said = told(found)
    assert said.answer == "One request of 32,768 tokens does not fit: the pool of vLLM holds 16,384."
    assert said.next[0].command == "--max-model-len 16384"
    # half the bytes a token: once more as many
    assert (said.next[1].command, said.next[1].gain) == ("--kv-cache-dtype fp8", 2.0)


def test_a_start_that_failed_says_what_its_engine_said():
    found = judged(
        VLLM, needed_kv_bytes_per_accelerator=4 * GIB, kv_bytes_per_accelerator=2 * GIB, longest_tokens=16_384.0,
        out_of_memory=True,
    )  # fmt: skip

    assert (found.bound, found.kept.trouble) == ("capacity", "one_request")
    assert told(found).answer == (
        "One request of 32,768 tokens does not fit: its cache takes 4.00 GiB a device, and 2.00 GiB are left for it; "
        "16,384 tokens would."
    )


def test_nothing_left_for_the_cache():
    found = judged(VLLM, kv_bytes_per_accelerator=-1.5 * GIB, weights_bytes_per_accelerator=20 * GIB)

    assert found.bound == "capacity"
    assert told(found).answer == "Weights and activations leave vLLM nothing for the KV cache (-1.50 GiB a device)."


def test_fewer_full_requests_than_the_limit_bind_nothing():
    """2 requests of the full length, a limit of 256: what counts is how long they are."""
    found = judged(VLLM, kv_tokens=65_536.0, max_concurrency=2.0)

    assert found.bound is None
    assert any("256 tokens in the mean" in note for note in told(found).notes)  # 2 x 32,768 / 256


def test_gains_are_the_librarys_and_of_what_the_log_holds():
    pool = expected_bytes()
    found = judged(VLLM, setting(), kv_tokens=pool // TOKEN_BYTES, kv_bytes_per_accelerator=pool)
    gains = {one.field: one for one in found.kept.gains}

    assert gains.keys() == {"kv_cache", "gpu_memory_utilization"}
    assert gains["kv_cache"].times == pytest.approx(2, rel=0.01)
    share = expected_bytes(gpu_memory_utilization=0.95) / pool
    assert gains["gpu_memory_utilization"].times == pytest.approx(share)
    assert gains["gpu_memory_utilization"].sequences == pytest.approx(found.kept.sequences * share)


def test_terms_that_do_not_add_up_are_said():
    found = judged(
        VLLM, usable_bytes_per_accelerator=72 * GIB, weights_bytes_per_accelerator=15 * GIB,
        activation_bytes_per_accelerator=1 * GIB, other_bytes_per_accelerator=1 * GIB,
        kv_bytes_per_accelerator=50 * GIB,
    )  # fmt: skip

    assert adds_up(found.kept) is False
    assert "the terms that vLLM prints leave 5.00 GiB unexplained" in told(found).notes  # 72 - 15 - 1 - 1 - 50


def test_layers_on_the_host_are_capacity_and_tables_are_not():
    stated = Stated(engine="llama.cpp", gpus=1, context_tokens=4096)
    some = judged(
        stated, weights_bytes_per_accelerator=3 * GIB, host_weights_bytes=1 * GIB, offloaded_layers=24, layers=33
    )
    tables = judged(
        stated, weights_bytes_per_accelerator=3 * GIB, host_weights_bytes=1 * GIB, kv_bytes=GIB, kv_tokens=4096.0,
        offloaded_layers=33, layers=33,
    )  # fmt: skip

    assert (some.bound, some.confidence, some.kept.trouble) == ("capacity", "medium", "host")
    assert told(some).answer == (
        "24 of 33 layers are on the accelerator, and 1.00 GiB of the weights (25%) lie in the host's memory."
    )
    assert tables.bound is None
    assert any("tables of which a token reads a row" in note for note in told(tables).notes)


def test_a_cpu_alone_is_no_trouble():
    found = judged(Stated(engine="llama.cpp"), host_weights_bytes=4 * GIB, kv_bytes=GIB, offloaded_layers=0, layers=33)

    assert found.bound is None


def test_windows_that_are_kept_in_full_are_named():
    """gpt-oss: half of its layers have a window of 128, so at 32,768 tokens nearly half could be saved."""
    token = 24 * 8 * 64 * 2 * 2
    stated = Stated(engine="llama.cpp", gpus=1, context_tokens=32_768, kv_cache="f16")
    found = judged(
        stated, setting("openai/gpt-oss-20b"), kv_bytes=32_768.0 * token, kv_tokens=32_768.0,
        kv_bytes_per_accelerator=32_768.0 * token,
    )  # fmt: skip

    assert [one.kind for one in found.kept.causes] == ["full_layers"]
    assert found.kept.causes[0].value == pytest.approx(2 * 32_768 / (32_768 + 128), rel=0.01)


def test_more_than_the_card_has_cannot_be():
    found = judged(VLLM, setting(), weights_bytes_per_accelerator=60 * GIB, kv_bytes_per_accelerator=40 * GIB)

    assert (found.bound, found.kept.trouble) == ("capacity", "cannot_be")
    assert told(found).answer.startswith("This cannot be: 100.00 GiB")


def test_a_log_that_ends_early_cannot_tell_and_says_how_to_record():
    found = memory(
        [file(VLLM, lacks=("the size of the weights",), free_before_bytes_per_accelerator=80 * GIB)], Setting()
    )

    assert (found.cannot_tell, found.bound, found.confidence) == (True, None, "low")
    said = told(found)
    assert "does not say the size of the weights" in said.answer
    assert said.next[0].command == "vllm serve MODEL 2>&1 | tee start.log"


def test_the_start_with_trouble_leads():
    good = file(VLLM, kv_tokens=100_000.0)
    bad = file(VLLM, kv_tokens=1000.0)
    found = memory([bad, good], Setting())

    assert found.kept.tokens == 1000.0
    assert found.others == 1
    assert any("of 2 accounts" in note for note in told(found).notes)


def test_a_card_without_a_known_size_is_answered_from_the_log_alone():
    stated = msgspec.structs.replace(VLLM, engine="nobody-knows")
    found = judged(stated, setting(), kv_tokens=65_536.0)

    assert found.kept.expected is None
    assert told(found).answer == "The pool holds 65,536 tokens, 2 requests of 32,768."


def test_memory_that_ran_out_beside_the_cache_asks_for_a_lower_share():
    """A start that fails with its cache in place gains nothing from a larger share or a narrower cache."""
    found = judged(
        VLLM, setting(), kv_tokens=400_000.0, kv_bytes_per_accelerator=400_000 * TOKEN_BYTES, out_of_memory=True,
        wanted_bytes=GIB / 2, total_bytes_per_accelerator=80 * GIB, weights_bytes_per_accelerator=15 * GIB,
    )  # fmt: skip
    said = told(found)

    assert said.answer == (
        "vLLM ran out of memory: it asked for 512 MiB of a device of 80.00 GiB, with 15.00 GiB of weights and "
        "48.83 GiB of cache on it."
    )
    assert "A lower share of the memory" in said.next[0].what
    assert {one.field for one in found.kept.gains} <= {"tp"}


def test_a_buffer_larger_than_the_device_is_a_fault_of_its_own():
    stated = Stated(engine="llama.cpp", gpus=1)
    found = judged(
        stated, wanted_bytes=352 * GIB, wanted_for="compute", out_of_memory=True, total_bytes_per_accelerator=24 * GIB
    )

    assert told(found).answer == (
        "llama.cpp ran out of memory: it asked for 352.00 GiB for the compute buffer of a device of 24.00 GiB, more "
        "than it has at all."
    )


def test_a_narrower_cache_of_llama_cpp_is_by_its_own_options():
    """q8_0 keeps 32 elements in 34 bytes: 16 / 8.5 times as many as 16 bits."""
    stated = Stated(engine="llama.cpp", gpus=1, context_tokens=8192, kv_cache="f16")
    found = judged(
        stated, needed_kv_bytes_per_accelerator=2 * GIB, kv_bytes_per_accelerator=GIB, weights_bytes_per_accelerator=GIB
    )
    gain = told(found).next[-1]

    assert gain.command == "-ctk q8_0 -ctv q8_0"
    assert gain.gain == pytest.approx(16 / 8.5)


def test_nothing_is_expected_of_a_layout_that_cannot_be():
    """32 heads over 3 ranks: the log's own account is all there is."""
    stated = msgspec.structs.replace(VLLM, tp=3, gpus=3)
    found = judged(stated, setting(), kv_tokens=65_536.0)

    assert found.kept.expected is None or found.kept.gap is None
    assert told(found).answer == "The pool holds 65,536 tokens, 2 requests of 32,768."


def test_a_pool_in_bytes_alone_is_said_in_bytes():
    assert told(judged(VLLM, kv_bytes_per_accelerator=10 * GIB)).answer == "The pool is 10.00 GiB a device."


def test_weights_alone_cannot_tell_of_a_pool():
    found = judged(Stated(engine="llama.cpp", gpus=1), weights_bytes_per_accelerator=GIB)

    assert found.cannot_tell
    assert "does not say the size of the KV pool" in told(found).answer


def test_the_expected_terms_stand_beside_those_of_the_log():
    """Share x memory - weights - activations - the engine's own = the pool."""
    found = judged(VLLM, setting(), kv_bytes_per_accelerator=expected_bytes())
    should = found.kept.expected
    kept = should.weights_bytes + should.activation_bytes + should.engine_bytes

    assert 0.9 * should.given_bytes - kept == pytest.approx(should.pool_bytes.expected, rel=1e-6)
    named = {one.what for one in told(found).evidence}
    assert {"weights on a device, expected", "kept by the engine itself, expected"} <= named
