"""Kernels built for timing: what they compute is what their operator says, out of copies that lie apart."""

from __future__ import annotations

import itertools
import math

import pytest

from rooflight.values.work import Gemm, Operator, Rows, Scores, Work

torch = pytest.importorskip("torch", reason="kernels run through torch, which is not installed")

from rooflight.probe import kernels  # noqa: E402 - after torch is known to be there
from rooflight.probe.device import Device, state  # noqa: E402

CPU = Device(kind="cpu", name="a processor")
MB = 1 << 20


def pool(cold_bytes=0, most_bytes=64 * MB):
    return kernels.Pool(CPU, cold_bytes=cold_bytes, most_bytes=most_bytes)


def product(tokens=2, inputs=64, outputs=32, stored="fp32", kind="linear", **more):
    weight_bytes = inputs * outputs * 4 * more.get("matrices", 1)
    work = Work(flop=2 * tokens * inputs * outputs, weight_bytes=weight_bytes, activation_bytes=4, launches=1)
    shape = Gemm(tokens=tokens, inputs=inputs, outputs=outputs, stored=stored, **more)
    return Operator(name="up", kind=kind, count=1, compute="fp32", work=work, shape=shape)


def attention(*, decoding, sequences=2, new=1, keys=5.0, heads=4, kv_heads=2, head_dim=16):
    shape = Scores(
        decoding=decoding, sequences=sequences, new=new, keys=keys, heads=heads, kv_heads=kv_heads, head_dim=head_dim
    )
    flop = 4 * sequences * new * keys * heads * head_dim
    work = Work(flop=flop, kv_read_bytes=8, launches=1)
    return Operator(name="attention", kind="attention", count=1, compute="fp32", work=work, shape=shape)


def test_copies_lie_apart_and_are_together_larger_than_the_cache():
    """1,000 fp32 take 4,000 bytes, begin 1,024 elements apart, and 16 of them are the first to exceed 64,000 bytes."""
    found = pool(cold_bytes=64_000).copies("fp32", (10, 100))
    assert len(found) == 16
    assert all(one.shape == (10, 100) for one in found)
    assert {b.data_ptr() - a.data_ptr() for a, b in itertools.pairwise(found)} == {1024 * 4}
    assert all(torch.isfinite(one).all() for one in found)


def test_one_copy_where_it_is_larger_than_the_cache_itself():
    assert len(pool(cold_bytes=1000).copies("fp32", (1024,))) == 1


def test_no_more_copies_than_memory_holds():
    """64 KiB hold 15 of 4 KiB and some: 16 times 1,024 elements of 4 bytes."""
    assert len(pool(cold_bytes=MB, most_bytes=65536).copies("fp32", (1024,))) == 16
    assert "it takes" in pool(most_bytes=1000).copies("fp32", (1024,))


@pytest.mark.parametrize(
    "op, taken",
    [
        # weights, in blocks of 256 elements, then what comes in and what goes out, all of 4 bytes
        (product(tokens=4096, inputs=16, outputs=4096), (16 * 4096 + 4096 * 16 + 4096 * 4096) * 4),
        (product(tokens=4096, inputs=4096, outputs=16), (16 * 4096 + 4096 * 4096 + 4096 * 16) * 4),
        (product(tokens=4096, inputs=16, outputs=4096, kind="experts", matrices=1.0),
         (16 * 4096 + 4096 * 16 + 4096 * 4096) * 4),
        (attention(decoding=False, sequences=1, new=4096, keys=2048.5, heads=64, kv_heads=1),
         (2 * 4096 * 16 + 2 * 64 * 4096 * 16) * 4),
    ],
)  # fmt: skip
def test_what_comes_in_and_goes_out_counts_as_well(op, taken, monkeypatch):
    monkeypatch.setattr(kernels, "filled", lambda *_: pytest.fail("made all the same"))
    said = kernels.bench(op, CPU, pool(most_bytes=taken - 1), "fp32")
    assert said.startswith("it takes ")
    monkeypatch.undo()
    assert not isinstance(kernels.bench(op, CPU, pool(most_bytes=taken), "fp32"), str)


def test_rows_that_find_no_memory_are_left_out(monkeypatch):
    """Twice 1,024 rows of 64 read and 32 written, 4 bytes each."""
    work = Work(flop=1, activation_bytes=4, launches=1)
    op = Operator(name="act", kind="elementwise", count=1, compute="fp32", work=work,
                  shape=Rows(tokens=1024, read=64, written=32))  # fmt: skip
    taken = 2 * 1024 * (64 + 32) * 4
    assert "it takes" in kernels.bench(op, CPU, pool(most_bytes=taken - 1), "fp32")
    assert not isinstance(kernels.bench(op, CPU, pool(most_bytes=taken), "fp32"), str)


def test_a_product_takes_another_copy_each_time():
    one = kernels.bench(product(), CPU, pool(cold_bytes=3 * 64 * 32 * 4), "fp32")
    assert one.run(0).shape == (2, 32)
    assert not torch.equal(one.run(0), one.run(1))
    assert torch.equal(one.run(0), one.run(3))  # three copies
    assert one.shape == {"tokens": 2, "inputs": 64, "outputs": 32}
    assert one.name == "linear 2 x 64 x 32 fp32"


def test_experts_are_whole_with_rows_of_their_own():
    """2.6 of 4 experts are touched by 4 rows in the mean: 3 run, each with round(4 / 3) = 1 row, 3/4 of the flop."""
    op = product(tokens=4, kind="experts", matrices=2.6, held=4, chance=0.5)
    one = kernels.bench(op, CPU, pool(), "fp32")
    assert one.run(0).shape == (3, 1, 32)
    assert one.op.work.flop == pytest.approx(op.work.flop * 3 / 4)
    assert one.op.work.weight_bytes == pytest.approx(3 * 64 * 32 * 4)
    assert one.shape == {"matrices": 3, "tokens": 3, "inputs": 64, "outputs": 32}


def test_decode_attention_is_attention_of_every_head():
    """Heads 0 and 1 share the first keys, 2 and 3 the second: what a softmax by hand gives."""
    fixed = pool()
    one = kernels.bench(attention(decoding=True), CPU, fixed, "fp32")
    got = one.run(0)  # sequences, kv heads, group, head_dim
    (cache,) = fixed.copies("fp32", (2, 2, 2, 5, 16))
    q = one.run.__closure__ and next(
        cell.cell_contents for cell in one.run.__closure__ if hasattr(cell.cell_contents, "ndim")
    )
    scores = torch.softmax(q @ cache[0].transpose(-1, -2) / math.sqrt(16), -1)
    assert got.shape == (2, 2, 2, 16)
    assert torch.allclose(got, scores @ cache[1], atol=1e-5)


def test_prefill_attention_is_causal():
    """The first of 6 positions attends itself alone: its output is its value."""
    fixed = pool()
    op = attention(decoding=False, sequences=1, new=6, keys=3.5)
    got = kernels.bench(op, CPU, fixed, "fp32").run(0)
    (cache,) = fixed.copies("fp32", (2, 1, 2, 6, 16))
    assert got.shape == (1, 4, 6, 16)
    assert torch.allclose(got[0, 1, 0], cache[1][0, 0, 0], atol=1e-6)


@pytest.mark.parametrize(
    "op, why",
    [
        (attention(decoding=False, sequences=1, new=6, keys=3.0), "other than to all positions"),  # a window
        (attention(decoding=True, heads=3), "other than to all positions"),
        (product(inputs=0.5), "no whole numbers"),
        (Operator(name="rope_cache", kind="elementwise", count=1, compute="bf16", work=Work()), "no kernel of torch"),
        (
            Operator(
                name="act", kind="elementwise", count=1, compute="bf16", work=Work(),
                shape=Rows(tokens=2, read=5, written=3),
            ),
            "no activation function",
        ),
    ],
)  # fmt: skip
def test_what_torch_has_no_kernel_for_is_said(op, why):
    assert why in kernels.bench(op, CPU, pool(), "fp32")


@pytest.mark.parametrize(
    "name, read, written, shape",
    [
        ("norm", 32, 32, (3, 16)),
        ("final_norm", 32, 32, (3, 16)),
        ("inner_norm", 16, 16, (3, 16)),
        ("act", 32, 16, (3, 16)),
        ("expert_act (moe)", 16, 16, (3, 16)),
    ],
)
def test_element_wise_kernels_write_rows_of_their_width(name, read, written, shape):
    op = Operator(
        name=name, kind="elementwise", count=1, compute="bf16", work=Work(activation_bytes=8),
        shape=Rows(tokens=3, read=read, written=written),
    )  # fmt: skip
    one = kernels.bench(op, CPU, pool(), "bf16")
    made = one.run(0)
    last = made[-1] if isinstance(made, tuple) else made
    assert last.shape == shape
    assert last.dtype == torch.bfloat16
    assert one.shape == {"tokens": 3, "width": 16}


def test_a_sample_says_what_ran_and_where():
    """Flop and bytes are the operator's: 2 x 2 x 64 x 32 and 64 x 32 x 4 + 4."""
    one = kernels.bench(product(), CPU, pool(), "fp32")
    found = kernels.sample(one, CPU, state=state(CPU, 2), budget_s=0.01, least=3, command="a command")
    assert (found.kind, found.operator, found.device) == ("kernel", "up", "a processor")
    assert (found.flop, found.bytes) == (2 * 2 * 64 * 32, 64 * 32 * 4 + 4)
    assert found.time_s.n >= 3
    assert found.time_s.low <= found.time_s.median <= found.time_s.high
    assert found.source.command == "a command"
    assert "torch" in found.machine.versions


def test_what_torch_refuses_is_a_reason():
    bad = kernels.Bench(lambda _: torch.ones(2) @ torch.ones(3), "bad", product(), {}, "fp32")
    assert "torch refuses it" in kernels.sample(bad, CPU, state=state(CPU, 2), budget_s=0.01, least=3)


def test_formats_of_a_device():
    assert kernels.run_in("w8a8-int8", ("fp32", "int8")) == "int8"
    assert kernels.run_in("int4-g128", ("fp32", "int8")) is None
    assert kernels.storable(("fp32", "fp8")) == ("fp32", "fp8", "fp8-channel")
