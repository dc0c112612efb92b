"""Vision towers of common build, counted to the parameter: CLIP, SigLIP, Pixtral, Qwen-VL, and their projectors."""

from __future__ import annotations

from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.hybrid_parts import scaled
from rooflight.catalog.config.reading import text_section
from rooflight.catalog.config.registry import counts_towers
from rooflight.catalog.config.traits import DEFAULT_SIZES
from rooflight.values.model import Tower


def linear(inputs: int, outputs: int, bias: bool = True) -> int:
    """Parameters of one matrix."""
    return inputs * outputs + (outputs if bias else 0)


def block(
    hidden: int,
    width: int,
    *,
    gated: bool = False,
    attention_bias: bool = True,
    mlp_bias: bool = True,
    norm_vectors: int = 2,
) -> int:
    """Parameters of one encoder layer: four attention matrices, a feed-forward, two norms of norm_vectors each."""
    attention = 4 * linear(hidden, hidden, attention_bias)
    up = (2 if gated else 1) * linear(hidden, width, mlp_bias)
    return attention + up + linear(width, hidden, mlp_bias) + 2 * norm_vectors * hidden


def patches(cfg: Config, hidden: int, *, bias: bool, patch: int, frames: int = 1) -> int:
    """The convolution (or matrix) that makes a vector of a patch of `frames` images."""
    size = cfg.integer("patch_size", default=patch)
    channels = cfg.integer("num_channels", "in_channels", "in_chans", default=3, said=False)
    return linear(channels * frames * size * size, hidden, bias)


def grid(cfg: Config, *, image: int, patch: int) -> int:
    """Patches of one image."""
    return (cfg.integer("image_size", default=image) // cfg.integer("patch_size", default=patch)) ** 2


def vision_of(outer: Config) -> Config:
    """The vision section; where the file has none, an empty one, so that the architecture's defaults count."""
    section = outer.section("vision_config", "visual")
    if section is not None:
        return section
    outer.assume("the file has no vision_config: the vision tower is counted with the architecture's defaults")
    return Config({}, origin=outer.origin, path="vision_config.", parent=outer)


def text_hidden(outer: Config) -> int:
    """The width of the text model, which the projector ends in."""
    section = text_section(outer)
    sizes = DEFAULT_SIZES.get(section.text("model_type", default="").lower(), {})
    if not sizes:
        return section.integer("hidden_size")
    return section.integer("hidden_size", default=sizes["hidden_size"], said=False)


def clip(cfg: Config) -> int:
    """CLIP's encoder: a class vector, learned positions, norms before and after the layers."""
    hidden, width = cfg.integer("hidden_size", default=1024), cfg.integer("intermediate_size", default=4096)
    positions = 1 + grid(cfg, image=336, patch=14)
    ends = hidden + patches(cfg, hidden, bias=False, patch=14) + positions * hidden + 4 * hidden
    return ends + cfg.integer("num_hidden_layers", default=24) * block(hidden, width)


def siglip(cfg: Config) -> int:
    """SigLIP's encoder: learned positions, a norm behind the layers, a pooling head unless vision_use_head is false."""
    hidden, width = cfg.integer("hidden_size", default=1152), cfg.integer("intermediate_size", default=4304)
    ends = patches(cfg, hidden, bias=True, patch=14) + grid(cfg, image=224, patch=14) * hidden + 2 * hidden
    layers = cfg.integer("num_hidden_layers", default=27) * block(hidden, width)
    # the head is a layer whose query is one learned vector
    head = block(hidden, width) - 2 * hidden + hidden if cfg.flag("vision_use_head", default=True) else 0
    return ends + layers + head


def pixtral(cfg: Config) -> int:
    """Pixtral's encoder: gated feed-forwards, no bias, rotary positions, a norm in front."""
    hidden, width = cfg.integer("hidden_size", default=1024), cfg.integer("intermediate_size", default=4096)
    layer = block(hidden, width, gated=True, attention_bias=False, mlp_bias=False, norm_vectors=1)
    return patches(cfg, hidden, bias=False, patch=16) + hidden + cfg.integer("num_hidden_layers", default=24) * layer


_ENCODERS = {"clip_vision_model": clip, "siglip_vision_model": siglip, "pixtral": pixtral}


def _not_counted(outer: Config, what: str) -> tuple[Tower, ...]:
    outer.assume(f"{what} is not counted")
    return (Tower(name="vision", parameters=None),)


@counts_towers("llava", "llava_next", "llava_next_video", "llava_onevision")
def llava(outer: Config) -> tuple[Tower, ...]:
    """LLaVA: an encoder named by its section or its repository, two matrices, and after 1.5 a separator vector."""
    vision = outer.section("vision_config")
    named = outer.text("mm_vision_tower", default="openai/clip-vit-large-patch14-336")
    if vision is None and "clip-vit-large-patch14-336" not in named:
        return _not_counted(outer, f"the vision tower {named}")
    if vision is None:
        vision = Config({}, origin=outer.origin, path="vision_config.", parent=outer)
    encoder = _ENCODERS.get(vision.text("model_type", default="clip_vision_model"))
    if encoder is None:
        return _not_counted(outer, f"the vision tower ({vision.raw('model_type')})")
    hidden, out = vision.integer("hidden_size", default=1024), text_hidden(outer)
    bias = outer.flag("multimodal_projector_bias", default=True)
    projector = linear(hidden, out, bias) + linear(out, out, bias)
    newline = 0 if outer.raw("model_type") == "llava" else out
    return (Tower(name="vision", parameters=encoder(vision) + projector + newline),)


@counts_towers("phi3_v")
def phi3_vision(outer: Config) -> tuple[Tower, ...]:
    """Phi-3-vision: CLIP-L/14 at 336, four patches joined, two matrices, two separator vectors."""
    image = outer.section("img_processor")
    if image is None or "clip-vit-large-patch14-336" not in image.text("model_name", default=""):
        return _not_counted(outer, "the vision tower (img_processor)")
    encoder = clip(Config({}, origin=outer.origin, path="img_processor.", parent=outer))
    joined, out = 4 * image.integer("image_dim_out", default=1024), text_hidden(outer)
    return (Tower(name="vision", parameters=encoder + linear(joined, out) + linear(out, out) + 2 * joined),)


@counts_towers("gemma3")
def gemma3(outer: Config) -> tuple[Tower, ...]:
    """Gemma 3: SigLIP without its head, a norm and one matrix."""
    vision = outer.section("vision_config")
    if vision is None:
        return ()
    hidden = vision.integer("hidden_size", default=1152)
    return (Tower(name="vision", parameters=siglip(vision) + hidden * text_hidden(outer) + hidden),)


@counts_towers("paligemma")
def paligemma(outer: Config) -> tuple[Tower, ...]:
    """PaliGemma: SigLIP without its head, one matrix with bias."""
    vision = vision_of(outer)
    hidden = vision.integer("hidden_size", default=1152)
    headless = Config({"vision_use_head": False, **vision.data}, origin=vision.origin, path=vision.path, parent=vision)
    out = outer.integer("projection_dim", default=text_hidden(outer))
    return (Tower(name="vision", parameters=siglip(headless) + linear(hidden, out)),)


@counts_towers("idefics3", "smolvlm")
def idefics3(outer: Config) -> tuple[Tower, ...]:
    """Idefics3 and SmolVLM: SigLIP without its head; scale_factor squared patches joined by one matrix."""
    vision = vision_of(outer)
    headless = Config({"vision_use_head": False, **vision.data}, origin=vision.origin, path=vision.path, parent=vision)
    joined = vision.integer("hidden_size", default=1152) * outer.integer("scale_factor", default=2) ** 2
    return (Tower(name="vision", parameters=siglip(headless) + joined * text_hidden(outer)),)


@counts_towers("mistral3", "ministral3")
def mistral3(outer: Config) -> tuple[Tower, ...]:
    """Mistral Small 3.1 and Ministral 3: Pixtral, patches merged two by two, two matrices."""
    vision = outer.section("vision_config")
    if vision is None:
        return ()
    hidden, out = vision.integer("hidden_size", default=1024), text_hidden(outer)
    merge = outer.integer("spatial_merge_size", default=2) ** 2 * hidden * hidden
    bias = outer.flag("multimodal_projector_bias")
    projector = hidden + merge + linear(hidden, out, bias) + linear(out, out, bias)
    return (Tower(name="vision", parameters=pixtral(vision) + projector),)


def _merger(merged: int, out: int, norm: int) -> int:
    return norm + linear(merged, merged) + linear(merged, out)


@counts_towers("qwen2_vl")
def qwen2_vl(outer: Config) -> tuple[Tower, ...]:
    """Qwen2-VL: rotary positions, two frames a patch, a merger of four patches."""
    vision = vision_of(outer)
    hidden = vision.integer("embed_dim", default=1280)
    width = scaled(vision, "mlp_ratio", hidden, 4)
    merged = hidden * vision.integer("spatial_merge_size", default=2) ** 2
    frames = vision.integer("temporal_patch_size", default=2)
    encoder = patches(vision, hidden, bias=False, patch=14, frames=frames)
    encoder += vision.integer("depth", default=32) * block(hidden, width)
    out = vision.integer("hidden_size", default=text_hidden(outer))
    return (Tower(name="vision", parameters=encoder + _merger(merged, out, 2 * hidden)),)


@counts_towers("qwen2_5_vl")
def qwen2_5_vl(outer: Config) -> tuple[Tower, ...]:
    """Qwen2.5-VL: as Qwen2-VL with gated feed-forwards and norms without bias."""
    vision = vision_of(outer)
    hidden = vision.integer("hidden_size", default=1280)
    merged = hidden * vision.integer("spatial_merge_size", default=2) ** 2
    frames = vision.integer("temporal_patch_size", default=2)
    layer = block(hidden, vision.integer("intermediate_size", default=3420), gated=True, norm_vectors=1)
    encoder = patches(vision, hidden, bias=False, patch=14, frames=frames) + vision.integer("depth", default=32) * layer
    out = vision.integer("out_hidden_size", default=text_hidden(outer))
    return (Tower(name="vision", parameters=encoder + _merger(merged, out, hidden)),)


def _qwen3_encoder(outer: Config) -> tuple[int, int, int, Config]:
    """Encoder and merger of Qwen3-VL and Qwen3.5, the merged width and the output width."""
    vision = vision_of(outer)
    hidden = vision.integer("hidden_size", default=1152)
    merged = hidden * vision.integer("spatial_merge_size", default=2) ** 2
    frames = vision.integer("temporal_patch_size", default=2)
    encoder = patches(vision, hidden, bias=True, patch=16, frames=frames)
    encoder += vision.integer("num_position_embeddings", default=2304) * hidden
    encoder += vision.integer("depth", default=27) * block(hidden, vision.integer("intermediate_size", default=4304))
    out = vision.integer("out_hidden_size", default=text_hidden(outer))
    return encoder + _merger(merged, out, 2 * hidden), merged, out, vision


@counts_towers("qwen3_vl", "qwen3_vl_moe")
def qwen3_vl(outer: Config) -> tuple[Tower, ...]:
    """Qwen3-VL: learned positions, and further mergers for the layers that feed the text model's first layers."""
    parameters, merged, out, vision = _qwen3_encoder(outer)
    taps = vision.items("deepstack_visual_indexes")
    further = 3 if taps is None else len(taps)
    return (Tower(name="vision", parameters=parameters + further * _merger(merged, out, 2 * merged)),)


@counts_towers("qwen3_5", "qwen3_5_moe")
def qwen3_5(outer: Config) -> tuple[Tower, ...]:
    """Qwen3.5 and 3.6: the encoder of Qwen3-VL with one merger."""
    return (Tower(name="vision", parameters=_qwen3_encoder(outer)[0]),)


@counts_towers("multi_modality", "logics", "deepseek_vl_v2")
def several(outer: Config) -> tuple[Tower, ...]:
    """Janus, Logics and DeepSeek-VL2/OCR: towers of several encoders, named but not counted."""
    names = {
        "multi_modality": "SigLIP encoder, image generator (VQ) and their aligners",
        "logics": "ConvNeXt and SigLIP2 encoders and their projector",
        "deepseek_vl_v2": "image encoder and projector",
    }
    return _not_counted(outer, names.get(outer.text("model_type"), "the vision tower"))
