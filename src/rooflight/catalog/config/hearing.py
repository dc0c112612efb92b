"""Audio towers: Whisper's encoder under a language model, counted to the parameter."""

from __future__ import annotations

from rooflight.catalog.config import towers
from rooflight.catalog.config.fields import Config
from rooflight.catalog.config.registry import counts_towers
from rooflight.values.model import Tower

_TAPS = 3  # frames of a convolution


@counts_towers("voxtral", "qwen2_audio")
def hearing_tower(outer: Config) -> tuple[Tower, ...]:
    """Voxtral: two matrices without biases, the first of four positions; Qwen2-Audio: one with a bias."""
    audio = outer.section("audio_config")
    if audio is None:
        outer.assume("the file has no audio_config: the audio tower is counted with the architecture's defaults")
        audio = Config({}, origin=outer.origin, path="audio_config.", parent=outer)
    hidden, out = audio.integer("d_model", "hidden_size", default=1280), towers.text_hidden(outer)
    if outer.raw("model_type") == "qwen2_audio":
        projector = towers.linear(hidden, out)
    else:
        projector = towers.linear(4 * hidden, out, bias=False) + towers.linear(out, out, bias=False)
    return (Tower(name="audio", parameters=_whisper(audio, hidden) + projector),)


def _whisper(audio: Config, hidden: int) -> int:
    """Two convolutions, a table of positions (computed, but stored), layers whose keys have no bias, a last norm.

    Whisper-large-v3's: 636,968,960.
    """
    width = audio.integer("encoder_ffn_dim", "intermediate_size", default=5120)
    count = audio.integer("encoder_layers", "num_hidden_layers", default=32)
    mels = audio.integer("num_mel_bins", default=128)
    convolutions = towers.linear(_TAPS * mels, hidden) + towers.linear(_TAPS * hidden, hidden)
    positions = audio.integer("max_source_positions", default=1500, said=False) * hidden
    return convolutions + positions + count * (towers.block(hidden, width) - hidden) + 2 * hidden
