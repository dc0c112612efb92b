"""The formats that keys and values are cached in: one for both, or one each."""

from __future__ import annotations

import msgspec

from rooflight.catalog.calibration import engine_id
from rooflight.errors import BadInput, Named
from rooflight.values.deployment import Deployment
from rooflight.values.formats import format_named
from rooflight.work.storage import element_bytes

# Formats that engines keep KV caches in (vLLM, SGLang, TensorRT-LLM, llama.cpp).
CACHE_FORMATS = (
    "bf16",
    "fp16",
    "fp32",
    "fp8",
    "int8",
    "nvfp4",
    "mxfp4",
    "mxfp8",
    "q8_0",
    "q5_0",
    "q5_1",
    "q4_0",
    "q4_1",
    "iq4_nl",
)
_GROUPED = ("int4", "int4-g32", "int4-g64", "int4-g128")
# mlx_lm quantises a cache as it does weights (--kv-bits, --kv-group-size); TurboQuant is of caches alone
_FAMILIES = ("mlx-", "turboquant-")
# llama.cpp's names of what others call otherwise
_SPELLED = {"f16": "fp16", "f32": "fp32"}


class Cache(msgspec.Struct, frozen=True, kw_only=True):
    """Formats of the keys and of the values in a cache."""

    keys: str
    values: str

    @property
    def name(self) -> str:
        """One name where both are alike, else keys/values."""
        return self.keys if self.keys == self.values else f"{self.keys}/{self.values}"

    @property
    def compute(self) -> str:
        """The format attention multiplies in: the cache's where both have products of their own."""
        found = {format_named(name).compute for name in (self.keys, self.values)}
        only = found.pop() if len(found) == 1 else None
        return only if only in ("fp32", "fp16", "fp8") else "bf16"

    def element_bytes(self, key_share: float) -> float:
        """Bytes of an element in the mean, where keys are such a share of them.

        Check: keys q8_0 (8.5 bits) and values q4_0 (4.5), half and half -> 6.5 / 8 = 0.8125.
        """
        if self.keys == self.values:
            return element_bytes(self.keys)
        return key_share * element_bytes(self.keys) + (1 - key_share) * element_bytes(self.values)


def cache_of(deployment: Deployment, blank: str) -> Cache:
    """The cache a deployment asks for: `kv_cache` (keys/values, or one for both) and the field of each; else `blank`.

    Raises UnknownName, and BadInput for a format that only weights are packed in.
    """
    said = deployment.kv_cache
    whole = blank if said in (None, "auto") else said
    keys, _, values = str(whole).replace(",", "/").partition("/")
    return Cache(
        keys=_format(deployment.cache_type_k or keys, "cache_type_k" if deployment.cache_type_k else "kv_cache"),
        values=_format(
            deployment.cache_type_v or values or keys, "cache_type_v" if deployment.cache_type_v else "kv_cache"
        ),
    )


def _format(name: str, field: str) -> str:
    said = name.strip().lower()
    form = format_named(_SPELLED.get(said, said), field).id
    if form not in (*CACHE_FORMATS, *_GROUPED) and not form.startswith(_FAMILIES):
        raise BadInput(
            f"no engine keeps its KV cache in {name}",
            where=Named.of(field),
            got=name,
            want="one of "
            + ", ".join((*CACHE_FORMATS, "int4", "mlx-Bbit-gN", "turboquant-Nbit"))
            + ", or KEYS/VALUES of them",
        )
    return form


def suite_cache(engine: str | None, weights: str | None, *, native: bool) -> str | None:
    """The KV cache format of a served suite's row that leaves it blank, or None where an engine's default is likelier.

    Suites state an FP8 cache in the recipes of FP8, NVFP4 and MXFP4 checkpoints and not in their results. Read so,
    runs that no fit saw are nearer: vLLM's Llama-3.1-70B of FP8 weights on Hopper 4 % off in the mean, else 6,
    gpt-oss-120b 11 %, else 12. Not read so: SGLang's FP8 (Llama-3.1-8B 16 % off, with a cache in 16 bit 11), and models
    published in FP8 (native), whose engine logs show BF16 caches and whose runs do not tell. No default of any engine.
    """
    if weights == "fp8":
        return None if native or engine_id(engine or "") == "sglang" else "fp8"
    return "fp8" if weights in ("nvfp4", "mxfp4") else None
