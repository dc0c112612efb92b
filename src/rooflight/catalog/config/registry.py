"""Which function reads which model_type. A family module registers its readers when it is imported.

`FAMILIES` says which module to import for a model_type, so that a model costs one family module only.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import msgspec

from rooflight.catalog.config.fields import Config
from rooflight.values.model import Layer, Linear, Tower


class Text(msgspec.Struct, frozen=True, kw_only=True):
    """What a family reader makes of a text config: the plan, before formats and names are put on it.

    Meanings as in values.model.Model. `layers` stands in the order of the stack (equal neighbours may be
    merged into one with a count, distant ones not), because checkpoints name the formats of single layers;
    equal layers are merged after the formats are known. `modules` is not needed: a Linear's `name` is what
    quantisation exclusions are matched against (see quantization.py).
    """

    hidden: int
    vocab: int
    layers: tuple[Layer, ...]
    tied: bool
    head: Linear | None
    embedding_parameters: int
    embedding_row: int
    outside: tuple[Linear, ...] = ()
    vector_parameters: int = 0


Reader = Callable[[Config], Text]
TowerReader = Callable[[Config], tuple[Tower, ...]]

READERS: dict[str, Reader] = {}
TOWERS: dict[str, TowerReader] = {}

_BY_MODULE = {
    "decoder": (
        "llama iquestcoder hyperclovax granite granite_swa mistral ministral ministral3 qwen2 qwen3 mimo gemma"
        " gemma2 gemma3_text vaultgemma phi phi3 olmo olmo2 olmo3 cohere cohere2 cwm starcoder2 stablelm glm glm4"
        " exaone4 smollm3 nemotron arcee seed_oss hunyuan_v1_dense ernie4_5 apertus persimmon helium jais2"
        " nanochat internlm internlm2 internlm3 gpt_neox baichuan xverse orion aquila yi skywork"
    ),
    "moe": (
        "mixtral qwen2_moe qwen3_moe olmoe flex_olmo phimoe granitemoe granitemoeshared granitemoe_swa gpt_oss glm4_moe"
        " exaone_moe hunyuan_v1_moe ernie4_5_moe dots1 minimax_m2 mimo_v2_flash mimo_v2 afmoe solar_open mellum hy_v3"
        " sarvam_moe cohere2_moe deepseek bailing_moe bailing_moe_v2 minicpm"
    ),
    "mla": (
        "deepseek_v2 deepseek_v3 deepseek_v32 glm_moe_dsa glm4_moe_lite sarvam_mla axk1 mistral4 youtu minicpm3"
        " longcat_flash"
    ),
    "named_otherwise": (
        "gpt2 gptj gpt_neo codegen xglm bloom phi-msft gpt_bigcode opt mpt falcon chatglm qwen exaone dbrx phi3small"
        " nemotron-nas"
    ),
    "linear_attention": (
        "qwen3_next qwen3_5 qwen3_5_text qwen3_5_moe qwen3_5_moe_text olmo_hybrid kimi_linear bailing_hybrid"
        " minimax minimax_text_01 minimax_m1"
    ),
    "mamba": "mamba falcon_mamba mamba2 jamba bamba falcon_h1 granitemoehybrid nemotron_h zamba zamba2",
    "convolution": "lfm2 lfm2_moe lfm3 recurrent_gemma",
    "gemma_shared": "gemma4 gemma4_text gemma4_unified gemma4_unified_text gemma3n gemma3n_text",
    "windows": (
        "llama4 llama4_text mllama mllama_text_model step3p5 step3p7 step3p5_text step3p7_text"
        " minimax_m3 minimax_m3_vl minimax_m3_vl_text"
    ),
    "compressed": "deepseek_v4",
    "wrapped": (
        "qwen2_vl qwen2_vl_text qwen2_5_vl qwen2_5_vl_text qwen3_vl qwen3_vl_text qwen3_vl_moe qwen3_vl_moe_text"
        " qwen2_5_omni_text qwen3_omni_moe_text glm4v glm4v_text glm4v_moe glm4v_moe_text llava logics deepseek_vl_v2"
    ),
    "towers": "",
}
FAMILIES: dict[str, str] = {name: module for module, names in _BY_MODULE.items() for name in names.split()}

# (outer) model_type -> module that counts its vision or audio towers
_TOWERS_BY_MODULE = {
    "towers": (
        "llava llava_next llava_next_video llava_onevision phi3_v gemma3 paligemma idefics3 smolvlm mistral3 ministral3"
        " qwen2_vl qwen2_5_vl qwen3_vl qwen3_vl_moe"
        " qwen3_5 qwen3_5_moe multi_modality logics deepseek_vl_v2"
    ),
    "towers_own": "llama4 mllama gemma4 kimi_k25 kimi_vl glm4v glm4v_moe step3p7",
}
TOWER_FAMILIES: dict[str, str] = {name: module for module, names in _TOWERS_BY_MODULE.items() for name in names.split()}


def reads(*model_types: str) -> Callable[[Reader], Reader]:
    """Register a reader of text configs for these model_types (lower case)."""

    def register(reader: Reader) -> Reader:
        for model_type in model_types:
            READERS[model_type] = reader
        return reader

    return register


def counts_towers(*model_types: str) -> Callable[[TowerReader], TowerReader]:
    """Register a counter of vision/audio towers for these (outer) model_types. It gets the outermost Config."""

    def register(counter: TowerReader) -> TowerReader:
        for model_type in model_types:
            TOWERS[model_type] = counter
        return counter

    return register


def reader_of(model_type: str) -> Reader | None:
    """The reader of a model_type, its family imported on first use; None where nobody reads it."""
    module = FAMILIES.get(model_type)
    if module is not None and model_type not in READERS:
        import_module(f"rooflight.catalog.config.{module}")
    return READERS.get(model_type)


def tower_counter_of(model_type: str) -> TowerReader | None:
    """The tower counter of an outer model_type, None where nobody counts its towers."""
    module = TOWER_FAMILIES.get(model_type)
    if module is not None and model_type not in TOWERS:
        import_module(f"rooflight.catalog.config.{module}")
    return TOWERS.get(model_type)
