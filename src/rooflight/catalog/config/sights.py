"""What vision and audio towers multiply, and the rule their processor cuts by: read where a tower is.

Processors' own files are not read: their sizes here are those of the published checkpoints (preprocessor_config.json).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from rooflight.catalog.config import towers
from rooflight.catalog.config.fields import Config
from rooflight.values.model import Encoder, EncoderLayer, Linear, Processor, Tower

Seen = tuple[Encoder, Processor]
# Sizes of encoders where a file leaves them out.
_CLIP = {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16}
_SO400M = {"hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 27, "num_attention_heads": 16}
_LLAMA4 = {"hidden_size": 1408, "intermediate_size": 5632, "num_hidden_layers": 34, "num_attention_heads": 16}


def matrix(name: str, inputs: int, outputs: int, *, bias: bool = True) -> Linear:
    """A matrix of an encoder."""
    return Linear(name=name, inputs=inputs, outputs=outputs, bias=outputs if bias else 0)


def layers(
    count: int, hidden: int, width: int, heads: int, *, gated: bool = False, attention_bias: bool = True,
    mlp_bias: bool = True, window: int = 0,
) -> EncoderLayer:  # fmt: skip
    """`count` plain transformer layers: queries, keys and values in one matrix, output, feed-forward."""
    return EncoderLayer(
        count=count, heads=heads, head_dim=max(hidden // heads, 1), window=window,
        linears=(
            matrix("qkv", hidden, 3 * hidden, bias=attention_bias), matrix("o", hidden, hidden, bias=attention_bias),
            matrix("gate_up" if gated else "up", hidden, (2 if gated else 1) * width, bias=mlp_bias),
            matrix("down", width, hidden, bias=mlp_bias),
        ),
    )  # fmt: skip


def front(cfg: Config, hidden: int, *, patch: int, frames: int = 1, bias: bool = False) -> tuple[tuple[Linear, int]]:
    """What makes a vector of a patch of `frames` images."""
    side = _size(cfg, "patch_size", default=patch)
    channels = _size(cfg, "num_channels", "in_channels", "in_chans", default=3)
    return ((matrix("patch", channels * frames * side * side, hidden, bias=bias), 1),)


def _size(cfg: Config, *keys: str, default: int) -> int:
    """A size that the tower's count has asked for already, or that says no more than the architecture does."""
    number: int = cfg.integer(*keys, default=default, said=False)
    return number


def _plain(
    cfg: Config, usual: Mapping[str, int] = _CLIP, *, gated: bool = False, bias: bool = True, patch: int = 14
) -> Encoder:
    """An encoder under CLIP's keys, without a projector."""
    hidden, width, count, heads = (_size(cfg, key, default=size) for key, size in usual.items())
    each = layers(count, hidden, width, heads, gated=gated, attention_bias=bias, mlp_bias=bias)
    return Encoder(front=front(cfg, hidden, patch=patch), layers=(each,), projector=())


def clip(cfg: Config) -> Encoder:
    """CLIP: a class vector beside the patches."""
    return msgspec.structs.replace(_plain(cfg), extra=1)


def up_to(encoder: Encoder, last: object) -> Encoder:
    """The layers up to the one whose output is taken, -1 being the last: engines need not run those behind it."""
    count = encoder.layers[0].count
    if type(last) is not int or not -count <= last < count:
        return encoder
    needed = last if last > 0 else count + 1 + last if last < 0 else 1
    return msgspec.structs.replace(
        encoder, layers=(msgspec.structs.replace(encoder.layers[0], count=max(needed, 1)),)
    )  # fmt: skip


def siglip(cfg: Config) -> Encoder:
    """SigLIP, without its pooling head, which no language model has a use for."""
    return _plain(cfg, _SO400M)


def pixtral(cfg: Config) -> Encoder:
    """Pixtral: gated, no bias."""
    return _plain(cfg, gated=True, bias=False, patch=16)


_ENCODERS = {"clip_vision_model": clip, "siglip_vision_model": siglip, "pixtral": pixtral}


def _with(encoder: Encoder, *projector: Linear) -> Encoder:
    return msgspec.structs.replace(encoder, projector=projector)


def _mlp(inputs: int, middle: int, outputs: int, *, bias: bool = True) -> tuple[Linear, Linear]:
    return (
        matrix("projector", inputs, middle, bias=bias),
        matrix("projector_out", middle, outputs, bias=bias),
    )


def _qwen(vision: Config, encoder: Encoder, out: int, *, patch: int, taps: int = 0) -> Seen:
    """The merger behind the layers, and those behind some of them; patches in twos or more a side are a token."""
    merge = _size(vision, "spatial_merge_size", default=2)
    joined = encoder.front[0][0].outputs * merge * merge
    patch = _size(vision, "patch_size", default=patch)
    # Qwen2-VL and 2.5: min_pixels 56 x 56, max_pixels 28 x 28 x 16,384; Qwen3-VL: 256 x 256 and 4,096 x 4,096
    least, most = (3136, 12_845_056) if patch == 14 else (65_536, 16_777_216)
    how = Processor(kind="merged-patches", patch=patch, merge=merge, least_pixels=least, most_pixels=most)
    return _with(encoder, *_mlp(joined, joined, out) * (1 + taps)), how


def qwen2_vl(outer: Config) -> Seen:
    """Qwen2-VL: all layers attend the whole image."""
    vision = towers.vision_of(outer)
    hidden = _size(vision, "embed_dim", default=1280)
    frames, count = _size(vision, "temporal_patch_size", default=2), _size(vision, "depth", default=32)
    each = layers(count, hidden, vision.scaled("mlp_ratio", hidden, 4), _size(vision, "num_heads", default=16))
    encoder = Encoder(front=front(vision, hidden, patch=14, frames=frames), layers=(each,), projector=())
    return _qwen(vision, encoder, _size(vision, "hidden_size", default=towers.text_hidden(outer)), patch=14)


def qwen2_5_vl(outer: Config) -> Seen:
    """Qwen2.5-VL: windows of 112 pixels, whole images in four layers."""
    vision = towers.vision_of(outer)
    hidden, width = _size(vision, "hidden_size", default=1280), _size(vision, "intermediate_size", default=3420)
    count, heads = _size(vision, "depth", default=32), _size(vision, "num_heads", default=16)
    whole = vision.items("fullatt_block_indexes", of="number")
    whole = [7, 15, 23, 31] if whole is None else whole
    full = len({place for place in whole if place < count})
    side = max(_size(vision, "window_size", default=112) // _size(vision, "patch_size", default=14), 1)
    stack = tuple(
        layers(some, hidden, width, heads, gated=True, window=window)
        for some, window in ((full, 0), (count - full, side))
        if some
    )
    frames = _size(vision, "temporal_patch_size", default=2)
    encoder = Encoder(front=front(vision, hidden, patch=14, frames=frames), layers=stack, projector=())
    return _qwen(vision, encoder, _size(vision, "out_hidden_size", default=towers.text_hidden(outer)), patch=14)


def qwen3_vl(outer: Config) -> Seen:
    """Qwen3-VL and Qwen3.5: the former has further mergers behind some layers."""
    vision = towers.vision_of(outer)
    hidden, count = _size(vision, "hidden_size", default=1152), _size(vision, "depth", default=27)
    width, heads = _size(vision, "intermediate_size", default=4304), _size(vision, "num_heads", default=16)
    frames = _size(vision, "temporal_patch_size", default=2)
    start = front(vision, hidden, patch=16, frames=frames, bias=True)
    taps = vision.items("deepstack_visual_indexes", of="number")
    further = 0
    if str(outer.raw("model_type")).startswith("qwen3_vl"):
        further = 3 if taps is None else len(taps)
    encoder = Encoder(front=start, layers=(layers(count, hidden, width, heads),), projector=())
    out = _size(vision, "out_hidden_size", default=towers.text_hidden(outer))
    return _qwen(vision, encoder, out, patch=16, taps=further)


def gemma3(outer: Config) -> Seen:
    """Gemma 3: 896 x 896 pixels pooled to 256 tokens; pan and scan is off unless it is asked for."""
    vision = towers.vision_of(outer)
    encoder = siglip(vision)
    out = matrix("projector", encoder.front[0][0].outputs, towers.text_hidden(outer), bias=False)
    how = Processor(
        kind="fixed", patch=_size(vision, "patch_size", default=14), image=_size(vision, "image_size", default=896),
        tokens=_size(outer, "mm_tokens_per_image", default=256),
    )  # fmt: skip
    return _with(encoder, out), how


def paligemma(outer: Config) -> Seen:
    """PaliGemma: every patch is a token."""
    vision = towers.vision_of(outer)
    encoder = siglip(vision)
    out = _size(outer, "projection_dim", default=towers.text_hidden(outer))
    patch, image = _size(vision, "patch_size", default=14), _size(vision, "image_size", default=224)
    projector = matrix("projector", encoder.front[0][0].outputs, out)
    return _with(encoder, projector), Processor(kind="fixed", patch=patch, image=image)


def llama4(outer: Config) -> Seen:
    """Llama 4: tiles of 336 pixels, up to 16 and one of all; four patches shuffled into one."""
    vision = towers.vision_of(outer)
    encoder = _plain(vision, _LLAMA4)
    width = encoder.layers[0].linears[-1].inputs
    middle = _size(vision, "projector_input_dim", default=4096)
    last = _size(vision, "projector_output_dim", default=4096)
    out = matrix(
        "projector_text", _size(vision, "vision_output_dim", default=7680), towers.text_hidden(outer), bias=False
    )
    encoder = msgspec.structs.replace(encoder, extra=1)
    how = Processor(
        kind="tiled", patch=_size(vision, "patch_size", default=14), merge=2,
        image=_size(vision, "image_size", default=336), crops=16,
    )  # fmt: skip
    return _with(encoder, *_mlp(width, middle, last, bias=False), out), how


def llava(outer: Config) -> Seen | None:
    """LLaVA 1.5 under CLIP or SigLIP, Pixtral under its own encoder, LLaVA-NeXT with its canvases."""
    vision = outer.section("vision_config") or Config({}, origin=outer.origin, path="vision_config.", parent=outer)
    named = vision.text("model_type", default="clip_vision_model")
    make = _ENCODERS.get(named)
    if make is None or outer.raw("model_type") not in ("llava", "llava_next"):
        return None
    last = outer.raw("vision_feature_layer", "mm_vision_select_layer")
    encoder, out = up_to(make(vision), -2 if last is None else last), towers.text_hidden(outer)
    hidden = encoder.front[0][0].outputs
    encoder = _with(encoder, *_mlp(hidden, out, out, bias=outer.flag("multimodal_projector_bias", default=True)))
    patch = _size(vision, "patch_size", default=16 if named == "pixtral" else 14)
    if named == "pixtral":
        return encoder, Processor(kind="broken-rows", patch=patch, image=_size(vision, "image_size", default=1024))
    image = _size(vision, "image_size", default=336)
    if outer.raw("model_type") == "llava":
        return encoder, Processor(kind="fixed", patch=patch, image=image)
    sizes = outer.items("image_grid_pinpoints", of="list") or []
    canvases = tuple((one[0], one[1]) for one in sizes if len(one) == 2 and all(type(side) is int for side in one))
    usual = ((336, 672), (672, 336), (672, 672), (1008, 336), (336, 1008))
    canvases = tuple(one for one in canvases if min(one) >= image and max(one) <= 64 * image) or usual
    return encoder, Processor(kind="any-resolution", patch=patch, image=image, sizes=canvases)


def mistral3(outer: Config) -> Seen:
    """Mistral Small 3.1 and Ministral 3: Pixtral, a matrix that merges patches, two more."""
    vision = towers.vision_of(outer)
    encoder, out, merge = pixtral(vision), towers.text_hidden(outer), _size(outer, "spatial_merge_size", default=2)
    hidden, bias = encoder.front[0][0].outputs, outer.flag("multimodal_projector_bias")
    joined = matrix("merge", hidden * merge * merge, hidden, bias=False)
    how = Processor(
        kind="broken-rows", patch=_size(vision, "patch_size", default=14), merge=merge,
        image=_size(vision, "image_size", default=1540),
    )  # fmt: skip
    return _with(encoder, joined, *_mlp(hidden, out, out, bias=bias)), how


def phi3_v(outer: Config) -> Seen:
    """Phi-3-vision: CLIP over crops, four patches joined; num_crops 16 as published."""
    vision = Config({}, origin=outer.origin, path="img_processor.", parent=outer)
    out = towers.text_hidden(outer)
    how = Processor(kind="high-definition", patch=14, merge=2, image=336, crops=16)
    return _with(up_to(clip(vision), -2), *_mlp(4 * 1024, out, out)), how


def idefics3(outer: Config) -> Seen:
    """Idefics3 and SmolVLM: crops as large as the encoder's images, the longest side of four of them."""
    vision = towers.vision_of(outer)
    encoder, merge = siglip(vision), _size(outer, "scale_factor", default=2)
    joined = matrix("projector", encoder.front[0][0].outputs * merge * merge, towers.text_hidden(outer), bias=False)
    image = _size(vision, "image_size", default=364)
    how = Processor(
        kind="split-images", patch=_size(vision, "patch_size", default=14), merge=merge, image=image,
        most_pixels=4 * image,
    )  # fmt: skip
    return _with(encoder, joined), how


def internvl(outer: Config) -> Seen:
    """InternVL: InternViT over tiles of 448 pixels, four patches shuffled into one, two matrices."""
    vision = towers.vision_of(outer)
    encoder = _plain(vision)
    encoder = msgspec.structs.replace(encoder, extra=1)
    out = towers.text_hidden(outer)
    sizes = vision.raw("image_size")
    image = sizes if type(sizes) is int and 14 <= sizes <= 1 << 14 else 448
    sizes = vision.raw("patch_size")
    patch = sizes if type(sizes) is int and 1 <= sizes <= image // 2 else 14
    crops = min(_size(outer, "max_dynamic_patch", default=12), 64)
    how = Processor(kind="dynamic-tiles", patch=patch, merge=2, image=image, crops=crops)
    return _with(encoder, *_mlp(4 * encoder.front[0][0].outputs, out, out)), how


def whisper(audio: Config) -> Encoder:
    """Whisper's encoder: two convolutions of three frames, the second with a stride of two, plain layers."""
    hidden = _size(audio, "d_model", "hidden_size", default=1280)
    mels = _size(audio, "num_mel_bins", default=128)
    starts = (matrix("conv1", 3 * mels, hidden), 2), (matrix("conv2", 3 * hidden, hidden), 1)
    each = layers(
        _size(audio, "encoder_layers", "num_hidden_layers", default=32), hidden,
        _size(audio, "encoder_ffn_dim", "intermediate_size", default=5120),
        _size(audio, "encoder_attention_heads", "num_attention_heads", default=20),
    )  # fmt: skip
    return Encoder(front=starts, layers=(each,), projector=())


def _audio_of(outer: Config) -> Config:
    section = outer.section("audio_config")
    return Config({}, origin=outer.origin, path="audio_config.", parent=outer) if section is None else section


def qwen2_audio(outer: Config) -> Seen:
    """Qwen2-Audio: Whisper, positions pooled by two, one matrix."""
    encoder = whisper(_audio_of(outer))
    out = matrix("projector", encoder.front[0][0].outputs, towers.text_hidden(outer))
    return _with(encoder, out), Processor(kind="qwen2-audio")


def voxtral(outer: Config) -> Seen:
    """Voxtral: Whisper, four positions a token, two matrices."""
    encoder, out = whisper(_audio_of(outer)), towers.text_hidden(outer)
    inputs = 4 * encoder.front[0][0].outputs
    return _with(encoder, *_mlp(inputs, out, out, bias=False)), Processor(kind="windows", merge=4)


SEEN: dict[tuple[str, str], Callable[[Config], Seen | None]] = {
    **{("vision", name): qwen2_vl for name in ("qwen2_vl",)},
    **{("vision", name): qwen2_5_vl for name in ("qwen2_5_vl",)},
    **{("vision", name): qwen3_vl for name in ("qwen3_vl", "qwen3_vl_moe", "qwen3_5", "qwen3_5_moe")},
    **{("vision", name): llava for name in ("llava", "llava_next")},
    **{("vision", name): mistral3 for name in ("mistral3", "ministral3")},
    **{("vision", name): idefics3 for name in ("idefics3", "smolvlm")},
    **{("vision", name): internvl for name in ("internvl", "internvl_chat")},
    ("vision", "gemma3"): gemma3, ("vision", "paligemma"): paligemma, ("vision", "llama4"): llama4,
    ("vision", "phi3_v"): phi3_v, ("audio", "qwen2_audio"): qwen2_audio, ("audio", "voxtral"): voxtral,
}  # fmt: skip


def seen(outer: Config, model_type: str, found: tuple[Tower, ...]) -> tuple[Tower, ...]:
    """The towers with what they multiply and the rule of their processor, where both are known."""
    return tuple(_seen(outer, model_type, tower) for tower in found)


def _seen(outer: Config, model_type: str, tower: Tower) -> Tower:
    read = SEEN.get((tower.name, model_type))
    made = None if read is None else read(outer)
    if made is None or 0 < made[1].image < made[1].patch * max(made[1].merge, 1):  # not a token in a crop
        return tower
    encoder = _stored(made[0], tower.format)
    return msgspec.structs.replace(tower, encoder=encoder, processor=made[1])


def _stored(encoder: Encoder, form: str) -> Encoder:
    """With every matrix in the tower's format."""

    def kept(linear: Linear) -> Linear:
        return msgspec.structs.replace(linear, format=form)

    stack = (
        msgspec.structs.replace(layer, linears=tuple(map(kept, layer.linears))) for layer in encoder.layers
    )  # fmt: skip
    return msgspec.structs.replace(
        encoder, front=tuple((kept(linear), times) for linear, times in encoder.front), layers=tuple(stack),
        projector=tuple(map(kept, encoder.projector)),
    )  # fmt: skip
