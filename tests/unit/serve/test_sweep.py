"""A sweep says of every point what analyze says of it, and finds the same turning points as a scan."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

import rooflight
from rooflight.errors import BadInput, UnknownName
from rooflight.serve.sweep import BLOCK_POINTS
from rooflight.values.accelerator import Link
from rooflight.values.model import Reach
from unit.models import card, deepseek_v3, llama_3_8b, llama_3_70b, tiny_dense, tiny_hybrid, tiny_mla, tiny_moe

LINKED = card(link=Link(name="link", bytes_per_s=10.0), last_level_cache_bytes=300.0)


def as_columns(analysis, phase: str) -> dict[str, float]:
    """What analyze says, by the sweep's column names."""
    one = analysis.phases[phase]
    return {
        "bound": one.bound,
        "ceilings_s.compute": one.ceilings_s.compute,
        "ceilings_s.memory": one.ceilings_s.memory,
        "ceilings_s.link": one.ceilings_s.link,
        "ceilings_s.launch": one.ceilings_s.launch,
        "time_s.ceiling": one.time_s.ceiling,
        "time_s.roofline": one.time_s.roofline,
        "tokens_per_s.ceiling": one.tokens_per_s.ceiling,
        "tokens_per_s.expected": one.tokens_per_s.expected,
        "flop": one.flop,
        "bytes.weights": one.bytes.weights,
        "bytes.kv_read": one.bytes.kv_read,
        "bytes.kv_write": one.bytes.kv_write,
        "bytes.activations": one.bytes.activations,
        "link_bytes": one.link_bytes,
        "intensity_flop_per_byte": one.intensity_flop_per_byte,
        "fits": analysis.memory.fits,
        "max_batch": analysis.memory.max_batch,
    }


def agree(model, on, axes, phase, **fields) -> set[str]:
    """Compare every point with analyze; the bounds met on the way."""
    columns = rooflight.sweep(model, on, axes, phase=phase, **fields).columns()
    points = [dict(zip(axes, values, strict=True)) for values in np.ndindex(*(len(v) for v in axes.values()))]
    assert len(columns["bound"]) == len(points)
    for number, place in enumerate(points):
        point = {name: axes[name][index] for name, index in place.items()}
        alone = as_columns(rooflight.analyze(model, on, ignore_capacity=True, **{**fields, **point}), phase)
        for name, value in alone.items():
            close = value if isinstance(value, str) else pytest.approx(value, rel=1e-9)
            assert columns[name][number] == close, (name, point)
        for name, value in point.items():
            if name in columns:
                assert columns[name][number] == value
    return set(columns["bound"].tolist())


BATCHES, CONTEXTS = [1, 3, 8, 200], [0, 7, 40, 5000]


@pytest.mark.parametrize(
    ("model", "fields"),
    [
        (tiny_dense(), {}),
        (tiny_dense(Reach(window=16)), {"tp": 2}),
        (tiny_dense(Reach(chunk=16)), {}),
        (tiny_dense(Reach(stride=4, window=8, top_k=4)), {}),
        (tiny_moe(), {"dp": 4, "ep": 4}),
        (tiny_moe(shared=True), {"tp": 2, "weights": "fp8"}),
        (tiny_mla(), {"tp": 2, "pp": 2}),
        (tiny_hybrid(), {"kv_cache": "fp8", "attention": "naive"}),
    ],
)
def test_decode_over_batch_and_context(model, fields):
    agree(model, LINKED, {"batch": BATCHES, "context": CONTEXTS}, "decode", **fields)


@pytest.mark.parametrize("fields", [{}, {"tp": 2, "pp": 3}, {"dp": 3}, {"attention": "naive"}])
def test_prefill_over_prompts_and_their_length(fields):
    agree(tiny_dense(), LINKED, {"prefill_batch": [1, 2, 9], "isl": [1, 5, 300]}, "prefill", **fields)


def test_real_numbers_meet_three_bounds():
    """Llama-3-8B in FP8 over 4 H100: launch at one sequence, memory, then compute."""
    axes = {"batch": [1, 16, 256, 4096], "context": [0, 2048]}

    met = agree(llama_3_8b(), "4xh100-sxm", axes, "decode", weights="fp8")

    assert {"memory", "compute"} <= met


def test_deployments_are_swept_one_after_the_other_in_the_order_given():
    axes = {"tp": [1, 2, 4], "weights": ["bf16", "fp8"], "batch": [1, 8]}
    blocks = list(rooflight.sweep(tiny_dense(), LINKED, axes))

    assert [(block.tp, block.weights) for block in blocks] == [
        (tp, weights) for tp in (1, 2, 4) for weights in ("bf16", "fp8")
    ]
    for block in blocks:
        for index, batch in enumerate((1, 8)):
            alone = rooflight.analyze(
                tiny_dense(), LINKED, tp=block.tp, weights=block.weights, batch=batch, ignore_capacity=True
            )
            assert np.broadcast_to(block.time.ceiling_s, block.shape)[index] == alone.phases["decode"].time_s.ceiling


def test_accelerators_are_an_axis():
    swept = rooflight.sweep(llama_3_8b(), ["h100-sxm", "h200-sxm"], {"batch": [1]}, context=0)
    h100, h200 = list(swept)

    assert (h100.accelerator, h200.accelerator) == ("h100-sxm", "h200-sxm")
    assert h100.time.ceiling_s / h200.time.ceiling_s == pytest.approx(4.8 / 3.35)
    assert swept.axes == ("accelerator", "batch")


@pytest.mark.parametrize("spelling", [None, "auto", "bf16"])
def test_a_block_names_the_cache_format_that_is_used(spelling):
    """As analyze does: "auto" is no format."""
    swept = rooflight.sweep(tiny_dense(), LINKED, {"batch": [1]}, kv_cache=spelling)

    assert next(iter(swept)).kv_cache == "bf16"
    assert swept.landmarks()[0].kv_cache == "bf16"


def test_rows_that_do_not_fit_stay_and_are_marked():
    """Llama-3-8B with 8k tokens a sequence: a few dozen fit on an H100, a thousand do not."""
    batches = [1, 16, 1024, 4096]
    swept = rooflight.sweep(llama_3_8b(), "h100-sxm", {"batch": batches, "isl": [8192]}, phase="decode")
    columns = swept.columns()

    assert swept.points == len(columns["fits"]) == 4
    assert columns["fits"].tolist() == [
        rooflight.analyze(llama_3_8b(), "h100-sxm", batch=batch, isl=8192).fits for batch in batches
    ]
    assert columns["fits"].tolist() == [True, True, False, False]


def test_a_model_that_fits_nowhere_keeps_its_rows():
    columns = rooflight.sweep(llama_3_70b(), "h100-sxm", {"batch": [1, 2]}).columns()

    assert columns["fits"].tolist() == [False, False]
    assert columns["max_batch"].tolist() == [0, 0]


@pytest.mark.parametrize(
    "axes", [{"batch": 40, "context": 1000}, {"context": 30_000}, {"batch": 7, "osl": 11, "context": 600}]
)
def test_blocks_are_bounded_and_every_point_is_in_one(axes):
    values = {name: list(range(1, size + 1)) for name, size in axes.items()}
    swept = rooflight.sweep(tiny_dense(), LINKED, values)
    blocks = list(swept)

    assert all(block.points <= BLOCK_POINTS for block in blocks)
    assert sum(block.points for block in blocks) == swept.points == np.prod(list(axes.values()))
    columns = swept.columns()
    met = set(zip(*(columns[name].astype(int).tolist() for name in axes), strict=True))
    assert len(met) == swept.points


@pytest.mark.parametrize(
    ("axes", "phase"),
    [
        ({"batch": [1]}, "decode"),
        ({"isl": [1]}, "prefill"),
        ({"prefill_batch": [1]}, "prefill"),
        ({"isl": [1], "batch": [1]}, "decode"),
        ({"isl": [1], "context": [1]}, "decode"),
        ({"tp": [1]}, "decode"),
    ],
)
def test_which_phase_is_meant(axes, phase):
    assert rooflight.sweep(tiny_dense(), LINKED, axes).phase == phase


def test_what_is_swept_is_not_assumed():
    swept = rooflight.sweep(tiny_dense(), LINKED, {"batch": [1], "weights": ["bf16"]})

    assert not [line for line in swept.assumptions if line.startswith(("batch ", "weights "))]
    assert [line for line in swept.assumptions if line.startswith("isl 1024")]


def test_a_card_read_by_a_short_name_is_said_of_each():
    swept = rooflight.sweep(tiny_dense(), ["h100", "mi300"], {"batch": [1]})

    assert [line.split(" (")[0] for line in swept.assumptions if " read as " in line] == [
        "h100 read as h100-sxm", "mi300 read as mi300x",
    ]  # fmt: skip


def test_a_swept_cache_format_is_not_assumed():
    swept = rooflight.sweep(tiny_dense(), LINKED, {"kv_cache": ["auto", "fp8"]})

    assert not [line for line in swept.assumptions if line.startswith("KV cache")]


@pytest.mark.parametrize(
    ("axes", "error", "word"),
    [
        ({"batchsize": [1]}, UnknownName, "batchsize cannot be swept"),
        ({"batch": []}, BadInput, "no values"),
        ({"batch": [0, 1]}, BadInput, "at least 1"),
        ({"batch": [1, -5]}, BadInput, "at least 1"),
        ({"batch": [1.5, 2.0]}, BadInput, "whole number"),
        ({"batch": [1, float("nan")]}, BadInput, "whole number"),
        ({"batch": [1, 2.0**41]}, BadInput, "too large"),
        ({"context": ["long"]}, BadInput, "whole number"),
        ({"tp": [1, 3]}, BadInput, "does not divide"),
        ({"weights": ["int5"]}, UnknownName, "int5"),
    ],
)
def test_what_cannot_be_swept_is_refused(axes, error, word):
    with pytest.raises(error, match=word):
        rooflight.sweep(tiny_dense(), LINKED, axes)


def test_every_prompt_of_a_sweep_must_be_longer_than_its_cached_prefix():
    """As analyze asks of one: else there would be less than no token to prefill."""
    with pytest.raises(BadInput, match="no prompt token"):
        rooflight.sweep(tiny_dense(), LINKED, {"isl": [10, 100]}, cached_prefix=50)


def test_a_phase_that_is_none_is_refused():
    with pytest.raises(BadInput, match="decode or prefill"):
        rooflight.sweep(tiny_dense(), LINKED, {"batch": [1]}, phase="verify")


# --- landmarks -----------------------------------------------------------------------------------------------------

SCANNED = 4096
TURNING = [
    (llama_3_8b(), "h100-sxm", {"context": 0}),
    (llama_3_8b(), "h100-sxm", {"context": 128}),
    (llama_3_8b(), "h100-sxm", {"context": 4096}),  # KV reads keep it below the ridge for ever
    (llama_3_8b(), "a100-sxm4-80gb", {"context": 64, "weights": "int4-g128"}),
    (llama_3_8b(), "4xh100-sxm", {"context": 64, "weights": "fp8"}),
    (llama_3_70b(), "8xh200-sxm", {"context": 256, "kv_cache": "fp8"}),
    (tiny_dense(), LINKED, {"context": 5}),
]


def scan(model, on, fields):
    swept = rooflight.sweep(model, on, {"batch": list(range(1, 2 * SCANNED + 1))}, **fields)
    ridge = {block.ridge_flop_per_byte for block in swept}
    assert len(ridge) == 1
    return swept.columns(), ridge.pop(), swept.landmarks()[0]


def first(condition) -> int | None:
    """The smallest of the scanned batches for which it holds."""
    return int(np.argmax(condition)) + 1 if condition.any() else None


@pytest.mark.parametrize(("model", "on", "fields"), TURNING)
def test_landmarks_are_where_a_scan_finds_them(model, on, fields):
    columns, ridge, found = scan(model, on, fields)
    time = columns["time_s.roofline"]
    alone, doubled = time[:SCANNED], time[1::2]  # batches 1, 2, 3 ... and 2, 4, 6 ...
    expected = {
        "ridge_batch": first(columns["intensity_flop_per_byte"] >= ridge),
        "compute_batch": first(columns["bound"] == "compute"),
        "knee_batch": first(2 * alone / doubled < 1.5),
    }

    for name, batch in expected.items():
        got = getattr(found, name)
        assert got == batch if batch is not None else got is None or got > SCANNED, name


@pytest.mark.parametrize(("model", "on", "fields"), TURNING[1:])
def test_the_kv_limit_is_the_last_batch_that_fits(model, on, fields):
    columns, _, found = scan(model, on, fields)
    fits = columns["fits"]

    assert fits[0]
    assert not fits[-1] or found.kv_limit > 2 * SCANNED
    if not fits[-1]:
        assert found.kv_limit == int(np.argmin(fits))  # the batch before the first that does not


def test_swept_contexts_have_the_landmarks_of_their_ends():
    """Of the shortest and the longest, each as if it were asked for alone."""
    swept = rooflight.sweep(llama_3_8b(), "h100-sxm", {"context": [4096, 128, 1024], "batch": [1]})
    alone = [rooflight.sweep(llama_3_8b(), "h100-sxm", {"batch": [1]}, context=end) for end in (128, 4096)]

    assert swept.landmarks() == tuple(one.landmarks()[0] for one in alone)


def test_warnings_of_a_sweep_are_those_of_its_extreme():
    short = msgspec.structs.replace(tiny_dense(), max_context=100)

    assert rooflight.sweep(short, LINKED, {"context": [5, 99]}).warnings == ()
    assert len(rooflight.sweep(short, LINKED, {"context": [5, 100], "tp": [1, 2]}).warnings) == 1


def test_experts_that_few_tokens_share_are_no_knee():
    """From 1 to 2 tokens DeepSeek-V3 reads nearly twice the experts: a gain of little, but not for long.

    The knee is where doubling stops paying for good, so a doubling above it must not pay again.
    """
    swept = rooflight.sweep(deepseek_v3(), "8xh200-sxm", {"batch": [1]}, weights="fp8", context=1024)
    knee = swept.landmarks()[0].knee_batch
    above = [knee * 2**power for power in range(1, 10)]
    time = rooflight.sweep(
        deepseek_v3(), "8xh200-sxm", {"batch": [*above, above[-1] * 2]}, weights="fp8", context=1024
    ).columns()["time_s.roofline"]

    assert all(2 * time[:-1] / time[1:] < 1.5)
