"""GGUF files by their name alone: sizes that public listings print, within one per cent.

A file holds, beyond its tensors, the tokenizer and the names (5 to 20 MB).
"""

from __future__ import annotations

import pytest

from rooflight.catalog.models import load
from rooflight.work.count import weight_bytes
from rooflight.work.weights import held

# model, then GB of the file by name
LISTED = {
    # bartowski/Meta-Llama-3.1-70B-Instruct-GGUF, as listed by ozeki.chat/p_8590, read 2026-11-28
    "meta-llama-3.1-70b": {
        "q8_0": 74.98, "q6_k": 57.89, "q5_k_l": 50.60, "q5_k_m": 49.95, "q5_k_s": 48.66, "q4_k_l": 43.30,
        "q4_k_m": 42.52, "q4_k_s": 40.35, "q4_0": 40.12, "q3_k_xl": 38.06, "iq4_xs": 37.90, "q3_k_l": 37.14,
        "q3_k_m": 34.27, "iq3_m": 31.94, "q3_k_s": 30.91, "iq2_s": 22.24, "iq2_xs": 21.14, "iq2_xxs": 19.10,
        "iq1_m": 16.75,
    },
    # bartowski/Mixtral-8x22B-v0.1-GGUF, its page, read 2026-11-28 (eight experts have rules of their own). Its IQ4_NL
    # and IQ4_XS were made without an importance matrix, which keeps down matrices of the first eighth in Q5_K: below.
    "mixtral-8x22b-v0.1": {
        "q5_k_m": 99.96, "q5_k_s": 96.97, "q4_k_m": 85.58, "q4_k_s": 80.47, "q3_k_l": 72.57, "q3_k_m": 67.78,
        "iq3_m": 64.49, "iq3_s": 61.49, "q3_k_s": 61.49, "iq3_xs": 58.22, "q2_k": 52.10,
    },
    # bartowski/Qwen_Qwen3-14B-GGUF, as listed in a public guide to running models at home, read 2026-11-28
    "qwen3-14b": {
        "q8_0": 15.70, "q6_k_l": 12.50, "q6_k": 12.12, "q5_k_l": 10.99, "q5_k_m": 10.51, "q5_k_s": 10.26,
        "q4_k_l": 9.58, "q4_1": 9.39, "q4_k_m": 9.00, "q3_k_xl": 8.58, "q4_k_s": 8.57, "q4_0": 8.54, "iq4_nl": 8.54,
        "iq4_xs": 8.11, "q3_k_l": 7.90, "q3_k_m": 7.32, "iq3_m": 6.88, "q3_k_s": 6.66, "q2_k_l": 6.51, "iq3_xs": 6.38,
        "iq3_xxs": 5.94, "q2_k": 5.75, "iq2_m": 5.32, "iq2_s": 4.96, "iq2_xs": 4.69,
    },
    # The cards of these repositories of bartowski's, as public repositories keep them, read 2026-11-28.
    # Qwen2.5-72B-Instruct-GGUF: rows of 29,568 are 115.5 blocks of 256, so down matrices take types of small blocks
    "qwen2.5-72b": {
        "q8_0": 77.26, "q6_k": 64.35, "q5_k_m": 54.45, "q4_k_m": 47.42, "q4_0": 41.38, "q3_k_xl": 40.60,
        "iq4_xs": 39.71, "q3_k_l": 39.51, "q3_k_m": 37.70, "iq3_m": 35.50, "q3_k_s": 34.49, "iq3_xxs": 31.85,
        "q2_k_l": 31.03, "q2_k": 29.81, "iq2_m": 29.34, "iq2_xs": 27.06, "iq2_xxs": 25.49, "iq1_m": 23.74,
    },
    # aya-23-8B-GGUF: a table of 256,000 rows that is the head too
    "aya-23-8b": {
        "q8_0": 8.54, "q6_k": 6.59, "q5_k_m": 5.80, "q5_k_s": 5.66, "q4_k_m": 5.05, "q4_k_s": 4.82, "iq4_nl": 4.81,
        "iq4_xs": 4.60, "q3_k_l": 4.52, "q3_k_m": 4.22, "iq3_m": 3.99, "iq3_s": 3.88, "q3_k_s": 3.87, "iq3_xs": 3.72,
        "iq3_xxs": 3.41, "q2_k": 3.43, "iq2_m": 3.08, "iq2_s": 2.89, "iq2_xs": 2.79, "iq2_xxs": 2.58, "iq1_m": 2.35,
        "iq1_s": 2.20,
    },
    # Yi-1.5-34B-Chat-GGUF and LLaMA3-iterative-DPO-final-GGUF: the smallest
    "yi-34b": {"iq2_m": 11.79, "iq2_s": 10.89, "iq2_xs": 10.30, "iq2_xxs": 9.30, "iq1_m": 8.17, "iq1_s": 7.49},
    "meta-llama-3-8b": {"iq2_s": 2.75, "iq2_xs": 2.60, "iq2_xxs": 2.39, "iq1_m": 2.16, "iq1_s": 2.01},
    # Qwen's own files, as people who ran them say: a hybrid, whose gated delta layers count among the value matrices
    "qwen3-next-80b-a3b-instruct": {"q4_k_m": 48.4},
    "qwen3-30b-a3b": {"q4_k_m": 18.6},
    # unsloth/gpt-oss-20b-GGUF at d449b42 (bytes, in a public catalogue of files) and ggml-org/gpt-oss-20b-GGUF
    "gpt-oss-20b": {"q8_0": 12.109567168, "q4_k_m": 11.624759488, "mxfp4_moe": 12.11},
    # AlexsJones/llmfit#973
    "gpt-oss-120b": {"q8_0": 63.4},
}  # fmt: skip


@pytest.mark.parametrize(
    ("model", "name", "file_gb"),
    [(model, name, size) for model, files in LISTED.items() for name, size in files.items()],
)
def test_the_name_of_a_file_says_its_size(model, name, file_gb):
    assert weight_bytes(held(load(model), name)) / 1e9 == pytest.approx(file_gb, rel=0.01)


def test_without_an_importance_matrix_iq4_files_are_a_little_larger():
    """Down matrices of the first eighth in Q5_K: 7 of 56 layers, 8 experts of 16,384 x 6,144, at 5.5 for 4.25 bits."""
    added = 56 // 8 * 8 * 16_384 * 6_144 * (5.5 - 4.25) / 8
    size = weight_bytes(held(load("mixtral-8x22b-v0.1"), "iq4_xs")) + added

    assert size / 1e9 == pytest.approx(76.35, rel=0.001)
