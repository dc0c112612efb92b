"""Which function reads which model_type. A model line's module registers its readers when it is imported.

The table of lines says which module to import for a model_type, so that a model costs the module of its line only.
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

    whole           the reader says which head there is, not the class name
    max_context     where no key says it as it is
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
    whole: bool = False
    max_context: int | None = None
    max_source: int | None = None
    start_tokens: int = 0


Reader = Callable[[Config], Text]
TowerReader = Callable[[Config], tuple[Tower, ...]]
ShapesReader = Callable[[Config, str, tuple[Tower, ...]], tuple[Tower, ...]]

READERS: dict[str, Reader] = {}
TOWERS: dict[str, TowerReader] = {}
# Sizes that a config nested in a multimodal one leaves out: the defaults of transformers' config class.
DEFAULT_SIZES: dict[str, dict[str, int]] = {}

# Model line (a module of this folder) -> the model types it reads.
_LINES = {
    "bailing": "bailing_moe bailing_moe_v2 bailing_hybrid",
    "cohere": "cohere cohere2 cohere2_moe",
    "deepseek": "deepseek deepseek_v2 deepseek_v3 deepseek_v32 deepseek_v4 deepseek_vl_v2",
    "encoders": "bert roberta xlm-roberta camembert distilbert electra mpnet modernbert nomic_bert new eurobert",
    "exaone": "exaone exaone4 exaone_moe",
    "falcon": "falcon falcon_mamba falcon_h1",
    "gemma": (
        "gemma gemma2 gemma3_text vaultgemma gemma3n gemma3n_text gemma4 gemma4_text gemma4_unified"
        " gemma4_unified_text recurrent_gemma"
    ),
    "glm": ("chatglm glm glm4 glm4_moe glm4_moe_lite glm_moe_dsa glm4v glm4v_text glm4v_moe glm4v_moe_text"),
    "gpt": "gpt2 gptj gpt_neo gpt_neox gpt_bigcode gpt_oss bloom codegen mpt opt starcoder2 xglm",
    "glm_next": "glm5_next glm5_next_text",
    "granite": "granite granite_swa granitemoe granitemoeshared granitemoe_swa granitemoehybrid",
    "hunyuan": "hunyuan_v1_dense hunyuan_v1_moe hy_v3",
    "internlm": "internlm internlm2 internlm3",
    "kimi": "kimi_linear",
    "laguna": "laguna",
    "lfm": "lfm2 lfm2_moe lfm3",
    "llama": "llama llama4 llama4_text mllama mllama_text_model",
    "llava": "llava",
    "longcat": "longcat_flash",
    "mamba": "mamba mamba2 bamba jamba zamba zamba2",
    "mimo": "mimo mimo_v2 mimo_v2_flash",
    "minicpm": "minicpm minicpm3",
    "minimax": "minimax minimax_text_01 minimax_m1 minimax_m2 minimax_m3 minimax_m3_vl minimax_m3_vl_text",
    "mistral": "mistral ministral ministral3 mixtral mistral4",
    "molmo": "molmo",
    "muse": "muse_glimmer muse_glimmer_text",
    "nemotron": "nemotron nemotron_h nemotron-nas",
    "olmo": "olmo olmo2 olmo3 olmoe flex_olmo olmo_hybrid",
    "others": (
        "afmoe apertus aquila arcee axk1 baichuan cwm dbrx dots1 ernie4_5 ernie4_5_moe helium hyperclovax iquestcoder"
        " jais2 mellum nanochat orion panguembedded persimmon sarvam_mla sarvam_moe seed_oss skywork smollm3 solar_open"
        " spark2_5 stablelm xverse yi youtu"
    ),
    "phi": "phi-msft phi phi3 phi3small phimoe",
    "qwen": (
        "qwen qwen2 qwen2_moe qwen2_vl qwen2_vl_text qwen2_5_vl qwen2_5_vl_text qwen2_5_omni_text qwen3 qwen3_moe"
        " qwen3_vl qwen3_vl_text qwen3_vl_moe qwen3_vl_moe_text qwen3_omni_moe_text qwen3_next qwen3_5 qwen3_5_text"
        " qwen3_5_moe qwen3_5_moe_text logics"
    ),
    "seq2seq": "t5 mt5 umt5 bart mbart m2m_100 pegasus marian whisper",
    "step": "step3p5 step3p5_text step3p7 step3p7_text",
}
# The same, for the (outer) model types whose vision or audio towers it counts.
_TOWER_LINES = {
    "deepseek": "deepseek_vl_v2 multi_modality",
    "gemma": "gemma3 gemma4 paligemma",
    "glm": "glm4v glm4v_moe",
    "glm_next": "glm5_next",
    "hearing": "voxtral qwen2_audio",
    "kimi": "kimi_k25 kimi_vl",
    "llama": "llama4 mllama",
    "llava": "llava llava_next llava_next_video llava_onevision",
    "mistral": "mistral3 ministral3",
    "molmo": "molmo",
    "muse": "muse_glimmer",
    "phi": "phi3_v",
    "qwen": "qwen2_vl qwen2_5_vl qwen3_vl qwen3_vl_moe qwen3_5 qwen3_5_moe logics",
    "smolvlm": "idefics3 smolvlm",
    "step": "step3p7",
}
FAMILIES: dict[str, str] = {name: line for line, names in _LINES.items() for name in names.split()}
TOWER_FAMILIES: dict[str, str] = {name: line for line, names in _TOWER_LINES.items() for name in names.split()}


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


def default_sizes_of(model_type: str) -> dict[str, int]:
    """Sizes that a nested config of this type leaves out; none for most types."""
    reader_of(model_type)
    return DEFAULT_SIZES.get(model_type, {})


def tower_counter_of(model_type: str) -> TowerReader | None:
    """The tower counter of an outer model_type, None where nobody counts its towers."""
    module = TOWER_FAMILIES.get(model_type)
    if module is not None and model_type not in TOWERS:
        import_module(f"rooflight.catalog.config.{module}")
    return TOWERS.get(model_type)


def shapes_reader() -> ShapesReader:
    """What puts on towers of an outer model_type what they multiply, and their processor's rule."""
    found: ShapesReader = import_module("rooflight.catalog.config.sights").seen
    return found
