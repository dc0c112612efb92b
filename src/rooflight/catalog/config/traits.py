"""What sets one plain decoder family apart from another: a table of flags, not of code.

Sources: the config and modelling files of transformers 5.24 (shapes and key defaults only), and the model
repositories named where transformers has no such type. Every row of a transformers type is checked against
parameter counts of real modules (tests/unit/catalog/architectures.json).
"""

from __future__ import annotations

from typing import Literal

import msgspec

# A fixed answer, or the config keys that decide (tried in order, separated by blanks) and what their absence means.
Flag = bool | tuple[str, bool]

# How window layers are laid out where no layer_types says so:
# none         no windows, whatever sliding_window says
# all          every layer, once sliding_window is set
# from         from layer max_window_layers on
# every        all but each n-th layer (n = sliding_window_pattern, else `pattern`): 3 local, 1 global, ...
# every-first  the same, the global layer being the first of each n
# below        every second layer, the first one local, below max_window_layers
# nope         the layers without rotary positions (no_rope_layers 0)
Windows = Literal["none", "all", "from", "every", "every-first", "below", "nope"]


class Traits(msgspec.Struct, frozen=True, kw_only=True):
    """A decoder family as differences from a plain one: gated feed-forward, two RMS norms a layer, no biases.

    norms           norms over the hidden size in a layer
    post_norms_if   a key that adds a norm behind attention and one behind the feed-forward
    one_norm_if     a key that leaves one norm a layer (attention and feed-forward in parallel)
    norm_vectors    parameters of each norm per element: 0 none, 1 weight, 2 weight and bias
    qk_norm         norms of queries and keys: "head" one vector of head_dim for all heads, "heads" one a head,
                    "bare" without parameters
    qk_vectors      parameters of each of them per element
    tied            tie_word_embeddings where the config is silent
    head_dim        where the config is silent (None: hidden size over heads)
    window          sliding_window where the key is absent (an explicit null means none)
    window_if       the key that switches windows on
    positions       the key of the learned position table, and how many rows it has beyond that
    embedding_norm  a norm between the embedding and the first layer
    extra           further parameters a layer (activation scalars)
    output_gate     a gate of the attention output, as wide as the query, without bias
    """

    qkv_bias: Flag = False
    o_bias: Flag = False
    mlp_bias: Flag = False
    head_bias: Flag = False
    gated: bool = True
    norms: int = 2
    post_norms_if: Flag = False
    one_norm_if: Flag = False
    norm_vectors: int = 1
    qk_norm: Literal["none", "head", "heads", "bare"] = "none"
    qk_norm_if: Flag = True
    qk_vectors: int = 1
    tied: bool = False
    head_dim: int | None = None
    windows: Windows = "none"
    window: int | None = None
    window_if: Flag = True
    pattern: int = 0
    positions: tuple[str, int] | None = None
    final_norm: Flag = True
    embedding_norm: bool = False
    extra: int = 0
    sinks: bool = False
    output_gate: bool = False


ATTENTION_BIAS = ("attention_bias", False)
MLP_BIAS = ("mlp_bias", False)
QWEN_WINDOW = ("use_sliding_window", False)
_BIAS = ("bias", True)

LLAMA = Traits(qkv_bias=ATTENTION_BIAS, o_bias=ATTENTION_BIAS, mlp_bias=MLP_BIAS)
PLAIN = Traits()

TRAITS: dict[str, Traits] = {
    "llama": LLAMA,
    "iquestcoder": LLAMA,
    "hyperclovax": msgspec.structs.replace(LLAMA, post_norms_if=("use_post_norm", True)),
    "granite": LLAMA,
    "mistral": Traits(windows="all", window=4096),
    "ministral": Traits(windows="all", window=4096),
    "ministral3": Traits(windows="all"),
    "qwen2": Traits(qkv_bias=True, windows="from", window_if=QWEN_WINDOW),
    "qwen3": Traits(
        qkv_bias=ATTENTION_BIAS,
        o_bias=ATTENTION_BIAS,
        qk_norm="head",
        head_dim=128,
        windows="from",
        window_if=QWEN_WINDOW,
    ),
    "mimo": Traits(qkv_bias=("attention_bias", True), windows="from", window_if=QWEN_WINDOW),
    "gemma": Traits(qkv_bias=ATTENTION_BIAS, o_bias=ATTENTION_BIAS, tied=True, head_dim=256),
    "gemma2": Traits(
        qkv_bias=ATTENTION_BIAS,
        o_bias=ATTENTION_BIAS,
        tied=True,
        head_dim=256,
        norms=4,
        windows="every",
        pattern=2,
        window=4096,
    ),
    "gemma3_text": Traits(
        qkv_bias=ATTENTION_BIAS,
        o_bias=ATTENTION_BIAS,
        tied=True,
        head_dim=256,
        norms=4,
        qk_norm="head",
        windows="every",
        pattern=6,
        window=4096,
    ),
    "vaultgemma": Traits(
        qkv_bias=ATTENTION_BIAS, o_bias=ATTENTION_BIAS, tied=True, head_dim=256, windows="every", pattern=2, window=4096
    ),
    "phi": Traits(
        qkv_bias=True,
        o_bias=True,
        mlp_bias=True,
        head_bias=True,
        gated=False,
        norms=1,
        norm_vectors=2,
        qk_norm="head",
        qk_norm_if=("qk_layernorm", False),
        qk_vectors=2,
    ),
    "phi3": Traits(windows="all"),
    "olmo": Traits(qkv_bias=ATTENTION_BIAS, o_bias=ATTENTION_BIAS, norm_vectors=0),
    "olmo2": Traits(qkv_bias=ATTENTION_BIAS, o_bias=ATTENTION_BIAS, qk_norm="heads"),
    "olmo3": Traits(
        qkv_bias=ATTENTION_BIAS, o_bias=ATTENTION_BIAS, qk_norm="heads", windows="every", pattern=4, window=4096
    ),
    "cohere": Traits(
        qkv_bias=ATTENTION_BIAS,
        o_bias=ATTENTION_BIAS,
        norms=1,
        tied=True,
        qk_norm="heads",
        qk_norm_if=("use_qk_norm", False),
    ),
    "cohere2": Traits(
        qkv_bias=ATTENTION_BIAS, o_bias=ATTENTION_BIAS, norms=1, tied=True, windows="every", pattern=4, window=4096
    ),
    "granite_swa": Traits(
        qkv_bias=ATTENTION_BIAS,
        o_bias=ATTENTION_BIAS,
        mlp_bias=MLP_BIAS,
        tied=True,
        sinks=True,
        windows="every-first",
        pattern=4,
        window=128,
    ),
    "cwm": Traits(mlp_bias=MLP_BIAS, head_dim=128, windows="every-first", pattern=4, window=8192),
    "starcoder2": Traits(
        qkv_bias=("use_bias", True),
        o_bias=("use_bias", True),
        mlp_bias=("use_bias", True),
        gated=False,
        norm_vectors=2,
        tied=True,
        windows="all",
    ),
    "stablelm": Traits(
        qkv_bias=("use_qkv_bias", False),
        norm_vectors=2,
        one_norm_if=("use_parallel_residual", False),
        qk_norm="heads",
        qk_norm_if=("qk_layernorm", False),
    ),
    "glm": Traits(qkv_bias=("attention_bias", True), head_dim=128),
    "glm4": Traits(qkv_bias=("attention_bias", True), head_dim=128, norms=4),
    "exaone4": Traits(qk_norm="head", windows="every", pattern=4, window=4096),
    "smollm3": Traits(
        qkv_bias=ATTENTION_BIAS,
        o_bias=ATTENTION_BIAS,
        mlp_bias=MLP_BIAS,
        tied=True,
        windows="nope",
        window_if=QWEN_WINDOW,
        pattern=4,
    ),
    "nemotron": Traits(qkv_bias=ATTENTION_BIAS, o_bias=ATTENTION_BIAS, mlp_bias=MLP_BIAS, gated=False, norm_vectors=2),
    "arcee": Traits(qkv_bias=ATTENTION_BIAS, o_bias=ATTENTION_BIAS, mlp_bias=MLP_BIAS, gated=False),
    "seed_oss": Traits(
        qkv_bias=("attention_bias", True), o_bias=("attention_out_bias", False), mlp_bias=MLP_BIAS, head_dim=128
    ),
    "hunyuan_v1_dense": Traits(qkv_bias=ATTENTION_BIAS, o_bias=ATTENTION_BIAS, qk_norm="head"),
    "ernie4_5": Traits(
        qkv_bias=("use_bias", False), o_bias=("use_bias", False), mlp_bias=("use_bias", False), tied=True, head_dim=128
    ),
    "apertus": Traits(qkv_bias=ATTENTION_BIAS, o_bias=ATTENTION_BIAS, gated=False, qk_norm="head", extra=2),
    "persimmon": Traits(
        qkv_bias=True,
        o_bias=True,
        mlp_bias=True,
        gated=False,
        norm_vectors=2,
        qk_norm="head",
        qk_norm_if=("qk_layernorm", True),
        qk_vectors=2,
    ),
    "helium": Traits(qkv_bias=ATTENTION_BIAS, mlp_bias=MLP_BIAS),
    "jais2": Traits(
        qkv_bias=("attention_bias", True),
        o_bias=("attention_bias", True),
        mlp_bias=("mlp_bias", True),
        gated=False,
        norm_vectors=2,
    ),
    "nanochat": Traits(qkv_bias=ATTENTION_BIAS, o_bias=ATTENTION_BIAS, gated=False, norm_vectors=0, qk_norm="bare"),
    "internlm3": Traits(
        qkv_bias=("qkv_bias attention_bias", False),
        o_bias=("bias attention_bias", False),
        mlp_bias=("bias mlp_bias", False),
    ),
    "gpt_neox": Traits(
        qkv_bias=("attention_bias", True),
        o_bias=("attention_bias", True),
        mlp_bias=True,
        gated=False,
        norm_vectors=2,
    ),
    # not in transformers: the shapes of their own repositories' code
    "internlm": Traits(qkv_bias=_BIAS, o_bias=_BIAS),
    "internlm2": Traits(qkv_bias=("bias", False), o_bias=("bias", False)),
    "baichuan": PLAIN,
    "xverse": PLAIN,
    "orion": Traits(norm_vectors=2),
    "aquila": PLAIN,
    "yi": PLAIN,
    "skywork": PLAIN,
}

# For the readers of configs with other key names (named_otherwise.py).
GPT = Traits(qkv_bias=True, o_bias=True, mlp_bias=True, gated=False, norm_vectors=2, tied=True)
RENAMED: dict[str, Traits] = {
    "gpt2": msgspec.structs.replace(GPT, positions=("max_position_embeddings", 0)),
    "gpt_bigcode": msgspec.structs.replace(GPT, positions=("max_position_embeddings", 0)),
    "gpt_neo": msgspec.structs.replace(GPT, qkv_bias=False, positions=("max_position_embeddings", 0), windows="none"),
    "gptj": msgspec.structs.replace(GPT, qkv_bias=False, o_bias=False, head_bias=True, norms=1, tied=False),
    "codegen": msgspec.structs.replace(GPT, qkv_bias=False, o_bias=False, head_bias=True, norms=1, tied=False),
    "opt": msgspec.structs.replace(
        GPT,
        qkv_bias=("enable_bias", True),
        o_bias=("enable_bias", True),
        mlp_bias=("enable_bias", True),
        positions=("max_position_embeddings", 2),
        final_norm=("do_layer_norm_before", True),
    ),
    "xglm": GPT,
    "bloom": msgspec.structs.replace(GPT, embedding_norm=True),
    "mpt": Traits(gated=False, tied=True),
    "phi-msft": msgspec.structs.replace(GPT, head_bias=True, norms=1, tied=False),
    "chatglm": Traits(
        qkv_bias=("add_qkv_bias", False), o_bias=("add_bias_linear", False), mlp_bias=("add_bias_linear", False)
    ),
    "qwen": Traits(qkv_bias=True),
    "exaone": PLAIN,
    "phi3small": Traits(qkv_bias=True, o_bias=True, mlp_bias=True, norm_vectors=2, tied=True),
}

# Sizes a config nested in a multimodal one leaves out: the defaults of transformers' config class.
DEFAULT_SIZES: dict[str, dict[str, int]] = {
    "llama": {
        "vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
        "num_attention_heads": 32,
    },
    "mistral": {
        "vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8,
    },
    "qwen2": {
        "vocab_size": 151936, "hidden_size": 4096, "intermediate_size": 22016, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 32,
    },
    "qwen3": {
        "vocab_size": 151936, "hidden_size": 4096, "intermediate_size": 22016, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 32,
    },
    "gemma": {
        "vocab_size": 256000, "hidden_size": 3072, "intermediate_size": 24576, "num_hidden_layers": 28,
        "num_attention_heads": 16, "num_key_value_heads": 16,
    },
    "gemma2": {
        "vocab_size": 256000, "hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 26,
        "num_attention_heads": 8, "num_key_value_heads": 4,
    },
    "gemma3_text": {
        "vocab_size": 262208, "hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 26,
        "num_attention_heads": 8, "num_key_value_heads": 4,
    },
}  # fmt: skip
