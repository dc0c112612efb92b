"""Work of PyTorch's operators from the sizes of their inputs, by hand."""

from __future__ import annotations

import json

import pytest

from rooflight.ingest.recorded.traces.shapes import OPERATORS, asked

BF16, FP8 = "c10::BFloat16", "c10::Float8_e4m3fn"


def of(name, dims, types=None, concrete=()):
    types = [BF16] * len(dims) if types is None else types
    return asked(name, json.dumps(dims).encode(), json.dumps(types).encode(), json.dumps(list(concrete)).encode())


def test_a_product_asks_for_2mnk_and_each_matrix_once():
    found = of("aten::mm", [[8944, 1024], [1024, 1024]])

    assert found.flop == 2 * 8944 * 1024 * 1024 == 18_756_927_488
    assert found.bytes == 2 * (8944 * 1024 + 1024 * 1024 + 8944 * 1024) == 38_731_776
    assert dict(found.sizes) == {"tokens": 8944, "inputs": 1024, "outputs": 1024}
    assert (found.format, found.family) == ("bf16", "gemm")


@pytest.mark.parametrize(
    ("name", "dims"),
    [
        ("aten::addmm", [[32], [8, 64], [64, 32], [], []]),
        ("aten::linear", [[2, 4, 64], [32, 64], [32]]),
        ("aten::matmul", [[8, 64], [64, 32]]),
        ("_C::cutlass_scaled_mm", [[8, 32], [8, 64], [64, 32]]),
        ("vllm::rocm_unquantized_gemm", [[8, 64], [32, 64], []]),
    ],
)
def test_the_same_product_asks_for_the_same_under_other_names(name, dims):
    assert of(name, dims).flop == 2 * 8 * 64 * 32
    assert of(name, dims).bytes == 2 * (8 * 64 + 64 * 32 + 8 * 32)


def test_batches_of_products_add_up():
    found = of("aten::bmm", [[3, 8, 64], [3, 64, 32]])

    assert found.flop == 3 * 2 * 8 * 64 * 32
    assert dict(found.sizes)["batch"] == 3


def test_a_result_of_8_bit_factors_has_two_bytes():
    found = of("aten::_scaled_mm", [[8, 64], [64, 32], [], []], [FP8, FP8, "float", "float"])

    assert (found.format, found.bytes) == ("fp8", 8 * 64 + 64 * 32 + 2 * 8 * 32)


def test_causal_attention_counts_the_pairs_it_computes():
    """16 sequences of 559 tokens, 16 heads of 64: half of all pairs, and each token with itself."""
    query = [16, 559, 16, 64]
    said = ["", "", "", "", "", "559", "559", "0.", "True", "False"]
    found = of("aten::_flash_attention_forward", [query, query, query, [], [], [], [], [], [], []], concrete=said)

    assert found.flop == 4 * 16 * 16 * 64 * (559 * 560 / 2) == 10_257_694_720
    assert found.bytes == 4 * 16 * 559 * 16 * 64 * 2 == 73_269_248
    assert found.family == "attention"


def test_heads_may_stand_first_and_be_shared():
    """One query token of 2 sequences on 100 keys, 8 heads of 64 over 2 of the cache."""
    key = [2, 2, 100, 64]
    said = ["", "", "", "0.", "False"]
    found = of("aten::_scaled_dot_product_flash_attention", [[2, 8, 1, 64], key, key, [], []], concrete=said)

    assert found.flop == 4 * 2 * 8 * 64 * 100
    assert found.bytes == 2 * (2 * 2 * 8 * 64 + 2 * 2 * 2 * 100 * 64)


QUERY = [1, 8, 4, 64]


@pytest.mark.parametrize(
    ("name", "dims", "types", "concrete"),
    [
        ("aten::mm", [[8, 64], [63, 32]], None, ()),
        ("aten::mm", [[8, 64]], None, ()),
        ("aten::mm", [[8, -64], [-64, 32]], None, ()),
        ("aten::mm", [[8, 64], [64, 32]], [BF16, "float"], ()),
        ("aten::mm", [[8, 64], [64, 32]], ["c10::complex<float>"] * 2, ()),
        ("aten::mm", [8, 64], None, ()),
        ("aten::mm", {"a": 1}, None, ()),
        ("aten::add", [[8, 64], [8, 64]], None, ()),
        # sequences of differing lengths, or aligned to an unknown end
        ("aten::_flash_attention_forward", [QUERY, QUERY, QUERY, [5], [5]], None, [""] * 8 + ["True"]),
        ("aten::_flash_attention_forward", [QUERY, [1, 9, 4, 64], [1, 9, 4, 64], [], []], None, [""] * 8 + ["True"]),
        ("aten::_flash_attention_forward", [QUERY, QUERY, QUERY, [], []], None, [""] * 9),
        ("aten::_flash_attention_forward", [QUERY, QUERY, QUERY, [], []], None, ()),
    ],
)  # fmt: skip
def test_what_sizes_do_not_say_is_not_guessed(name, dims, types, concrete):
    assert of(name, dims, types, concrete) is None


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("raw", [b"", b"[]", b"[[]]", b"null", b"[[1e400, 2], 3]", b"{", b'"x"', b"[[[[[]]]]]"])
def test_no_text_makes_it_fail(name, raw):
    assert asked(name, raw, raw, raw) is None
