"""Hostile and unusual configs (configs_odd): answered as EXPECTED.md asks, or refused with the cause."""

from __future__ import annotations

from pathlib import Path

import pytest

from rooflight.catalog.config import read_model
from rooflight.errors import BadConfig
from rooflight.values.model import Model
from rooflight.work import count


def odd(data: Path, stem: str) -> Path:
    return data / "configs_odd" / f"{stem}.json"


def read(data: Path, stem: str) -> Model:
    return read_model(odd(data, stem))


def refusal(data: Path, stem: str) -> BadConfig:
    with pytest.raises(BadConfig) as caught:
        read(data, stem)
    assert caught.value.exit_status == 2
    assert stem in (caught.value.where or "")
    return caught.value


def test_llama_1_without_kv_heads_is_mha(data: Path) -> None:
    """32 K/V heads of 128: 2 x 32 x 32 x 128 x 2 bytes a token, and the assumption is said."""
    model = read(data, "01_kv_heads_missing_llama1")

    assert model.type == "llama"
    assert count.kv_bytes_per_token(model) == 2 * 32 * 32 * 128 * 2
    assert any("num_key_value_heads" in note for note in model.assumptions)


def test_null_is_absent(data: Path) -> None:
    model = read(data, "02_nulls_everywhere")
    (layer,) = model.layers

    assert (layer.mixer.kv_heads, layer.mixer.head_dim, layer.mixer.reach.window) == (32, 128, None)
    assert not model.tied
    assert model.quantization is None


def test_numbers_as_strings_are_read_with_a_warning(data: Path) -> None:
    model = read(data, "03_string_numbers")

    assert model.hidden == 4096
    assert not model.tied, "the string 'false' is false"
    assert len([warning for warning in model.warnings if "is the string" in warning]) >= 2


def test_chatglm_by_its_own_key_names(data: Path) -> None:
    """28 layers, a vocabulary of 65,024, 2 K/V heads of 128: 28,672 bytes a token."""
    model = read(data, "05_remote_code_only_chatglm_names")
    (layer,) = model.layers
    qkv, _ = layer.projections

    assert (layer.count, model.vocab, model.max_context) == (28, 65024, 8192)
    assert [linear.outputs for linear in layer.mlp] == [2 * 13696, 4096]
    assert qkv.bias == qkv.outputs == (32 + 2 * 2) * 128
    assert count.kv_bytes_per_token(model) == 2 * 28 * 2 * 128 * 2 == 28672


def test_nan_and_infinity_in_keys_that_do_not_matter(data: Path) -> None:
    assert count.parameters(read(data, "07_nan_infinity_harmless")) == 8_030_261_248


def test_heads_that_do_not_divide(data: Path) -> None:
    error = refusal(data, "09_heads_do_not_divide")

    assert "4096" in error.what
    assert "28" in error.what


def test_an_adapter_names_its_base_model(data: Path) -> None:
    error = refusal(data, "11_adapter_config_not_model")

    assert "r=16" in error.what
    assert "meta-llama/Llama-3.1-8B" in error.what


def test_lfs_pointer_and_cut_download(data: Path) -> None:
    assert "Git LFS pointer" in refusal(data, "12_git_lfs_pointer").what
    assert "ends at line 13 column 37" in refusal(data, "12d_truncated").what


def test_byte_order_mark_and_windows_line_ends(data: Path) -> None:
    assert count.parameters(read(data, "12c_utf8_bom_and_crlf")) == 8_030_261_248


def test_layer_types_of_another_length(data: Path) -> None:
    error = refusal(data, "13_layer_types_length_mismatch")

    assert "24" in error.what
    assert "12" in error.what


def test_zero_experts_are_dense(data: Path) -> None:
    model = read(data, "14_moe_zero_experts_dense_hybrid")

    assert all(layer.experts is None for layer in model.layers)
    assert count.parameters(model) == count.active_parameters(model)


def test_the_last_of_two_equal_keys_counts(data: Path) -> None:
    model = read(data, "17_duplicate_keys")

    assert model.hidden == 8192
    assert any("hidden_size" in warning and "twice" in warning for warning in model.warnings)


def test_deep_nesting(data: Path) -> None:
    assert "nested too deeply" in refusal(data, "18_deep_nesting").what
