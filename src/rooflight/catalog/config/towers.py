"""What vision and audio towers are built of, counted to the parameter: matrices, blocks, and the common encoders."""

from __future__ import annotations

from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.reading import text_section
from rooflight.catalog.config.registry import default_sizes_of
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
    sizes = default_sizes_of(section.text("model_type", default="").lower())
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


ENCODERS = {"clip_vision_model": clip, "siglip_vision_model": siglip, "pixtral": pixtral}


def vision(parameters: int) -> tuple[Tower, ...]:
    """A vision tower and nothing else."""
    return (Tower(name="vision", parameters=parameters),)


def not_counted(outer: Config, what: str) -> tuple[Tower, ...]:
    """A vision tower nobody counts, which is said."""
    outer.assume(f"{what} is not counted")
    return (Tower(name="vision", parameters=None),)
