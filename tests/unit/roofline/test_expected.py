"""The expected time of kernels: Check lines hold, more work is never faster, nothing beats its own ceiling."""

from __future__ import annotations

import inspect
import itertools
import re
from typing import Any

import numpy as np
import pytest

from rooflight.catalog.calibration import calibration, families
from rooflight.roofline import expected
from rooflight.values.calibration import DecodeFit, ElementwiseFit, GemmFit, LinkFit, PrefillFit
from rooflight.work.formulas import least_touched_experts, touched_experts

# The fits of round numbers that Check lines call `example`.
EXAMPLES: dict[str, Any] = {
    # floor 2 us; quantising 3e6 bytes at half of 3e12/s, 2 us; memory the same, 2 us; 3e9 flop x 1.5 for a short loop
    # at 0.45 of 1e15/s, 10 us; sharpness 1 adds them: 16 us
    "gemm_s": GemmFit(
        floor_s=2e-6, quantise_floor_s=0.0, quantise_efficiency=0.5, memory_efficiency=0.5, ramp_s=0.0,
        ramp_inputs=1000, compute_efficiency=0.45, throttle=0.0, short_inputs=500, wave_share=0.1, sharpness=1,
        low=0.8, high=1.25,
    ),
    # floor 5 us; half the ramp, 1 us; memory 2 us; a second item of 1 us x 1 x (1 + 16/8), 3 us: 11 us
    "decode_attention_s": DecodeFit(
        floor_s=5e-6, floor_dims=0.2, ramp_s=2e-6, ramp_tokens=1000, memory_efficiency=0.5, item_s=1e-6,
        group_share=1 / 8, compute_efficiency=0.5, sharpness=1, low=0.8, high=1.25,
    ),
    # floor 2 us; 1.5e6 bytes read and written, 1 us; memory 2 us; a second tile, 2 us;
    # 1e9 flop x 1.25 (mask) x 1.5 (softmax) at half of 1e15/s, 3.75 us
    "prefill_attention_s": PrefillFit(
        floor_s=2e-6, memory_efficiency=0.5, compute_efficiency=0.5, softmax_dims=64, masked_keys=125, item_s=2e-6,
        unpacked=0.0, wave_share=0.0, throttle=0.0, sharpness=1, low=0.8, high=1.25,
    ),
    # 2 us + 3e6 bytes at half of 3e12/s
    "elementwise_s": ElementwiseFit(floor_s=2e-6, memory_efficiency=0.5, low=0.6, high=1.7),
    # 4 devices: 0.6 of the rate, latency 5 + 2 x 1 us
    "collective": LinkFit(
        latency_s=5e-6, hop_s=1e-6, sync_s=2e-6, efficiency=0.8, start_share=1.0, contention=0.0, low=0.8, high=1.25
    ),
}  # fmt: skip
EXAMPLES["expert_gemm_s"] = EXAMPLES["gemm_s"]
EXAMPLES["decode_floor_s"] = EXAMPLES["decode_attention_s"]
for _name in ("collective_rate_bytes_per_s", "all_reduce_s", "exchange_s"):
    EXAMPLES[_name] = EXAMPLES["collective"]
CHECK = re.compile(r"Check: (.+?)\.(?= |$)")
FORMULAS = [
    function
    for name, function in vars(expected).items()
    if inspect.isfunction(function) and function.__module__ == expected.__name__ and not name.startswith("_")
]


def check_lines():
    for function in FORMULAS:
        for line in CHECK.findall(" ".join((inspect.getdoc(function) or "").split())):
            yield function, line


@pytest.mark.parametrize(("function", "line"), list(check_lines()), ids=lambda part: getattr(part, "__name__", None))
def test_the_check_line_is_true(function, line):
    example = EXAMPLES.get(function.__name__, EXAMPLES["gemm_s"])
    if "->" not in line:
        left, right = (eval(side, vars(expected) | {"example": example}) for side in line.split(" == "))
        assert left == right
        return
    given, wanted = line.split(" -> ")
    pairs = dict(part.split(" ", 1) for part in given.split(", "))
    assert set(pairs) == set(inspect.signature(function).parameters)
    values = {name: example if text == "example" else float(text) for name, text in pairs.items()}

    assert function(**values) == pytest.approx(float(wanted), rel=5e-4)


@pytest.mark.parametrize("function", FORMULAS, ids=lambda function: function.__name__)
def test_every_formula_has_a_check(function):
    assert CHECK.search(" ".join((inspect.getdoc(function) or "").split()))


# One device of each family that was fitted: bf16 FLOP/s, bytes/s, compute units, link bytes/s (datasheets, rounded).
DEVICES = {
    "Ampere": (312e12, 2039e9, 108, 300e9), "Ada": (362e12, 864e9, 142, 32e9), "Hopper": (989e12, 3350e9, 132, 450e9),
    "Blackwell": (2250e12, 8000e9, 148, 900e9), "Xe2": (98e12, 456e9, 20, 32e9),
}  # fmt: skip
TOKENS = (1, 7, 16, 64, 200, 1024, 16384)
SIZES = (128, 1024, 4096, 28672)


def gemm_given(tokens, inputs, outputs, device, **changes):
    flop_per_s, bytes_per_s, units, _ = DEVICES[device]
    return {
        "tokens": tokens, "step_tokens": tokens, "inputs": inputs, "flop": 2.0 * tokens * inputs * outputs,
        "quantised_bytes": 0.0,
        "moved_bytes": 2.0 * (inputs * outputs + tokens * (inputs + outputs)), "cached": 0.0,
        "flop_per_s": flop_per_s, "memory_bytes_per_s": bytes_per_s, "compute_units": units,
    } | changes  # fmt: skip


def decode_given(sequences, context, device, **changes):
    flop_per_s, bytes_per_s, units, _ = DEVICES[device]
    return {
        "sequences": sequences, "kv_heads": 8, "group": 4, "head_dim": 128, "context": context,
        "flop": 4.0 * sequences * 32 * 128 * context, "moved_bytes": 4.0 * sequences * 8 * 128 * context,
        "cached": 0.0, "flop_per_s": flop_per_s, "memory_bytes_per_s": bytes_per_s, "compute_units": units,
    } | changes  # fmt: skip


def prefill_given(sequences, new, device, **changes):
    flop_per_s, bytes_per_s, units, _ = DEVICES[device]
    keys = (new + 1) / 2
    return {
        "sequences": sequences, "kv_heads": 8, "group": 4, "new": new, "keys": keys, "head_dim": 128,
        "flop": 4.0 * sequences * 32 * 128 * new * keys, "moved_bytes": 2.0 * sequences * new * 128 * 80,
        "stored_bytes": 4.0 * sequences * new * 128 * 8, "cached": 0.0, "flop_per_s": flop_per_s,
        "memory_bytes_per_s": bytes_per_s, "compute_units": units,
    } | changes  # fmt: skip


def cases():
    """(formula, fit, arguments) over every family, format and a grid of shapes."""
    for family in DEVICES:
        fits = calibration(family)
        for fit in fits.gemm.values():
            for tokens, inputs, outputs in itertools.product(TOKENS, SIZES, SIZES):
                yield expected.gemm_s, fit, gemm_given(tokens, inputs, outputs, family)
        for fit in fits.decode.values():
            for sequences, context in itertools.product((1, 8, 64, 512), (1, 100, 3000, 100_000)):
                yield expected.decode_attention_s, fit, decode_given(sequences, context, family)
        for fit in fits.prefill.values():
            for sequences, new in itertools.product((1, 16), (1, 100, 3000, 100_000)):
                yield expected.prefill_attention_s, fit, prefill_given(sequences, new, family)


def test_expected_is_never_under_its_ceiling():
    """Without cache, no fit beats the datasheet's bandwidth or peak (a ceiling's rates are no lower than those)."""
    beaten = [
        (formula.__name__, given)
        for formula, fit, given in cases()
        if formula(**given, fit=fit)
        < max(given["flop"] / given["flop_per_s"], given["moved_bytes"] / given["memory_bytes_per_s"])
    ]

    assert not beaten


@pytest.mark.parametrize("name", ["flop", "moved_bytes"])
def test_more_work_is_never_faster(name):
    slower = [
        given for formula, fit, given in cases()
        if formula(**given | {name: given[name] * 1.3}, fit=fit) < formula(**given, fit=fit)
    ]  # fmt: skip

    assert not slower


@pytest.mark.parametrize("name", ["flop_per_s", "memory_bytes_per_s"])
def test_a_faster_machine_is_never_slower(name):
    slower = [
        given for formula, fit, given in cases()
        if formula(**given | {name: given[name] * 1.3}, fit=fit) > formula(**given, fit=fit)
    ]  # fmt: skip

    assert not slower


@pytest.mark.parametrize("family", DEVICES)
def test_more_tokens_sequences_or_context_are_never_faster(family):
    fits = calibration(family)
    for fit in fits.gemm.values():
        for inputs, outputs in itertools.product(SIZES, SIZES):
            times = [expected.gemm_s(**gemm_given(tokens, inputs, outputs, family), fit=fit) for tokens in TOKENS]
            assert times == sorted(times)
    for fit in fits.decode.values():
        for context in (1, 1000, 100_000):
            times = [expected.decode_attention_s(**decode_given(n, context, family), fit=fit) for n in (1, 3, 40, 500)]
            assert times == sorted(times)
        for sequences in (1, 64):
            contexts = (1, 50, 1000, 100_000)
            times = [expected.decode_attention_s(**decode_given(sequences, c, family), fit=fit) for c in contexts]
            assert times == sorted(times)
    for fit in fits.prefill.values():
        times = [expected.prefill_attention_s(**prefill_given(1, new, family), fit=fit) for new in (1, 99, 999, 99_999)]
        assert times == sorted(times)


def test_arrays_equal_scalars():
    """Every formula broadcasts, and an element is what the plain number gives."""
    fits = calibration("Hopper")
    tokens = np.array(TOKENS, dtype=float)
    together = expected.gemm_s(**gemm_given(tokens, 4096.0, 4096.0, "Hopper"), fit=fits.gemm["fp8"])
    alone = [expected.gemm_s(**gemm_given(float(m), 4096.0, 4096.0, "Hopper"), fit=fits.gemm["fp8"]) for m in TOKENS]
    assert together == pytest.approx(alone, rel=1e-12)

    sequences = np.array([1.0, 16.0, 256.0])
    together = expected.decode_attention_s(**decode_given(sequences, 2000.0, "Hopper"), fit=fits.decode["bf16"])
    alone = [
        expected.decode_attention_s(**decode_given(n, 2000.0, "Hopper"), fit=fits.decode["bf16"])
        for n in sequences.tolist()
    ]
    assert together == pytest.approx(alone, rel=1e-12)

    new = np.array([1.0, 100.0, 5000.0])
    together = expected.prefill_attention_s(**prefill_given(2.0, new, "Hopper"), fit=fits.prefill["bf16"])
    alone = [
        expected.prefill_attention_s(**prefill_given(2.0, n, "Hopper"), fit=fits.prefill["bf16"]) for n in new.tolist()
    ]
    assert together == pytest.approx(alone, rel=1e-12)

    payload = np.array([1e3, 1e6, 1e9])
    link = fits.links["nvlink/all_reduce"]
    together = expected.all_reduce_s(payload_bytes=payload, devices=8, link_bytes_per_s=450e9, fit=link)
    alone = [
        expected.all_reduce_s(payload_bytes=b, devices=8, link_bytes_per_s=450e9, fit=link) for b in payload.tolist()
    ]
    assert together == pytest.approx(alone, rel=1e-12)


@pytest.mark.parametrize("family", DEVICES)
@pytest.mark.parametrize("devices", [2, 4, 8])
def test_a_collective_never_beats_its_bytes(family, devices):
    """With in-switch reduction a device sends (n - 1)/n of an all_reduce; without any, nothing does with less."""
    rate = DEVICES[family][3]
    for name, fit in calibration(family).links.items():
        formula = expected.all_reduce_s if name.endswith("all_reduce") else expected.exchange_s
        times = [
            formula(payload_bytes=payload, devices=devices, link_bytes_per_s=rate, fit=fit)
            for payload in (1e2, 1e5, 1e8)
        ]
        assert times == sorted(times)
        assert times[-1] > 1e8 * (devices - 1) / devices / rate


def test_a_cached_matrix_is_faster_and_a_spilt_one_is_not():
    fit = calibration("Ada").gemm["bf16"]
    given = gemm_given(16, 1024, 1024, "Ada")

    assert expected.gemm_s(**given | {"cached": 1.0}, fit=fit) < expected.gemm_s(**given, fit=fit)
    shares = [
        expected.cached_share(moved_bytes=b, cache_bytes=50e6, reach=0.5, steepness=8) for b in (1e6, 25e6, 1e9)
    ]  # fmt: skip
    assert shares == pytest.approx([1, 0.5, 0], abs=0.01)


def test_experts_with_few_rows_pay_for_sixteen():
    """Two rows an expert cost the arithmetic of sixteen; imbalance slows the busiest device."""
    fit = EXAMPLES["gemm_s"]
    given = gemm_given(16, 1000, 1000, "Hopper", moved_bytes=0.0, compute_units=0)
    del given["tokens"]

    full = expected.expert_gemm_s(rows=32, touched=2, imbalance=1, **given, fit=fit)
    sparse = expected.expert_gemm_s(rows=32, touched=16, imbalance=1, **given, fit=fit)
    skewed = expected.expert_gemm_s(rows=32, touched=2, imbalance=1.5, **given, fit=fit)
    assert sparse - fit.floor_s == pytest.approx(8 * (full - fit.floor_s))
    assert skewed > full
    lone = expected.expert_gemm_s(rows=80, touched=80, imbalance=1, **given | {"step_tokens": 8}, fit=fit)
    assert lone == pytest.approx(full), "a step of eight tokens or fewer runs on the vector units"


def test_a_few_tokens_idle_no_rows_and_nine_do():
    """A small GPU's arithmetic: what one token takes must not be what sixteen take."""
    fit = EXAMPLES["gemm_s"]
    times = [
        expected.gemm_s(**gemm_given(tokens, 1000, 1000, "Hopper", moved_bytes=0.0, compute_units=0), fit=fit)
        for tokens in (1, 8, 9, 16)
    ]
    bodies = [seconds - fit.floor_s for seconds in times]
    assert [body / bodies[-1] for body in bodies] == pytest.approx([1 / 16, 1 / 2, 1, 1])


def test_imbalance_shrinks_with_rows_and_with_experts_and_is_bounded():
    by_rows = [expected.load_imbalance(rows=rows, held=16, devices=8) for rows in (1, 100, 10_000)]
    by_experts = [expected.load_imbalance(rows=1e9, held=held, devices=8) for held in (1, 16, 256)]

    for values in (by_rows, by_experts):
        assert values == sorted(values, reverse=True)
        assert 1.1 < values[-1] < values[0] <= 8
    assert expected.load_imbalance(rows=1, held=1, devices=2) <= 2
    assert expected.load_imbalance(rows=10, held=128, devices=1) == 1


@pytest.mark.parametrize(("experts", "chosen"), [(8, 2), (128, 8), (256, 8), (512, 10), (4, 4)])
def test_uneven_experts_are_touched_by_one_token_as_chosen_and_by_many_less_than_even_ones(experts, chosen):
    tokens = np.array([1, 2, 8, 64, 1024, 1e6])
    likely = expected.likely_experts(held=experts, chance=chosen / experts, rows=tokens * chosen)
    even = touched_experts(experts=experts, chosen=chosen, tokens=tokens)

    assert likely[0] == pytest.approx(chosen)
    assert (np.diff(likely) >= 0).all()
    assert (likely <= even * (1 + 1e-9)).all()
    assert (likely * (1 + 1e-9) >= least_touched_experts(experts=experts, chosen=chosen, tokens=tokens)).all()
    split = expected.likely_experts(held=experts / 4, chance=chosen / experts, rows=tokens * chosen / 4)
    assert split * 4 == pytest.approx(likely)


def test_experts_that_are_all_alike_are_touched_as_by_chance(monkeypatch):
    monkeypatch.setattr(expected, "EVENNESS", 1e7)
    tokens = np.array([1, 8, 64])

    likely = expected.likely_experts(held=128, chance=1 / 16, rows=tokens * 8)

    assert likely == pytest.approx(touched_experts(experts=128, chosen=8, tokens=tokens), rel=1e-5)
    assert expected.load_imbalance(rows=1e12, held=16, devices=8) == pytest.approx(1, abs=1e-3)


def test_experts_are_as_uneven_as_is_plausible():
    """Between a sixteenth of the experts doing half of the work and a fifth of them (an exponential spread)."""
    assert 0.2 <= expected.EVENNESS <= 1


def test_wider_heads_have_a_higher_floor_and_storing_keys_takes_time():
    decode, prefill = EXAMPLES["decode_attention_s"], EXAMPLES["prefill_attention_s"]

    floors = [expected.decode_floor_s(head_dim=dim, fit=decode) for dim in (64, 128, 256)]
    assert floors == pytest.approx([4.5e-6, 5e-6, 6e-6])
    given = prefill_given(1, 1000, "Hopper")
    more = expected.prefill_attention_s(**given | {"stored_bytes": given["stored_bytes"] * 2}, fit=prefill)
    extra = 2 * given["stored_bytes"] / given["memory_bytes_per_s"]
    assert more - expected.prefill_attention_s(**given, fit=prefill) == pytest.approx(extra)


def test_families_of_the_grid_are_those_with_a_fit():
    assert set(DEVICES) == set(families())
