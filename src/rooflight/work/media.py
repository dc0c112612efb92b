"""How many tokens a processor makes of an image or a sound, and what of it the encoder sees: a pure rule a kind.

Sizes are height and width in pixels. Tokens are those that a processor puts in place of an image's mark: embeddings,
and separators that depend on its size; marks that stand around every image alike count as text. The rules are those
of the processors in transformers (src/transformers/models/<type>) and vLLM (vllm/model_executor/models/<type>.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from rooflight.values.model import Processor, View

# Whisper's spectra: so many frames a second, windows of so many seconds, two frames a position.
MEL_FRAMES_PER_S = 100
WINDOW_S = 30
WINDOW_POSITIONS = WINDOW_S * MEL_FRAMES_PER_S // 2

# Published processors of models, which worked numbers are of.
QWEN2_5_VL = Processor(kind="merged-patches", patch=14, merge=2, least_pixels=3136, most_pixels=12_845_056)
SMOLVLM = Processor(kind="split-images", patch=16, merge=4, image=512, most_pixels=2048)


def smart_resize(height: int, width: int, *, factor: int, least: int, most: int) -> tuple[int, int]:
    """Both sides rounded to multiples of `factor`, the area between `least` and `most` pixels.

    Source: smart_resize in transformers, qwen2_vl/image_processing_qwen2_vl.py.
    Check: smart_resize(1024, 1024, factor=28, least=3136, most=12845056) == (1036, 1036).
    """
    rows, columns = max(factor, round(height / factor) * factor), max(factor, round(width / factor) * factor)
    if rows * columns > most:
        shrink = math.sqrt(height * width / most)
        rows = max(factor, math.floor(height / shrink / factor) * factor)
        columns = max(factor, math.floor(width / shrink / factor) * factor)
    elif rows * columns < least:
        grow = math.sqrt(least / (height * width))
        rows, columns = math.ceil(height * grow / factor) * factor, math.ceil(width * grow / factor) * factor
    return rows, columns


def merged_patches(height: int, width: int, how: Processor) -> View:
    """Qwen2-VL and later, GLM-4V: the image resized to whole tokens, each of merge x merge patches.

    Qwen2.5-VL: 1024 x 1024 -> 1036 / 14 = 74 x 74 patches, 37 x 37 tokens.
    Check: merged_patches(1024, 1024, QWEN2_5_VL).tokens == 1369.
    """
    side = how.patch * how.merge
    rows, columns = smart_resize(height, width, factor=side, least=how.least_pixels, most=how.most_pixels)
    tokens = (rows // side) * (columns // side)
    return View(tokens=tokens, crops=1, rows=rows // how.patch, columns=columns // how.patch, projected=tokens)


def fixed(_height: int, _width: int, how: Processor) -> View:
    """One crop of one size, whatever the image: Gemma 3 (256 tokens), PaliGemma, LLaVA 1.5 (576).

    Check: fixed(480, 640, Processor(kind="fixed", patch=14, image=336)).tokens == 576.
    """
    side = how.image // how.patch
    tokens = how.tokens or side * side
    return View(tokens=tokens, crops=1, rows=side, columns=side, projected=tokens)


def tile_grid(height: int, width: int, *, side: int, most: int) -> tuple[int, int]:
    """Rows and columns of Llama 4's tiles: the canvas that needs least enlarging, else least shrinking; the smallest.

    Source: get_best_fit in transformers, llama4/image_processing_llama4_fast.py.
    Check: tile_grid(1024, 1024, side=336, most=16) == (4, 4).
    """
    grids = [(rows, count // rows) for count in range(most, 0, -1) for rows in range(1, count + 1) if not count % rows]
    scales = {grid: min(grid[0] * side / height, grid[1] * side / width) for grid in grids}
    enlarging = [scale for scale in scales.values() if scale >= 1]
    chosen = min(enlarging) if enlarging else max(scales.values())
    return min((grid for grid in grids if scales[grid] == chosen), key=lambda grid: grid[0] * grid[1])


def tiled(height: int, width: int, how: Processor) -> View:
    """Llama 4: tiles and, where there are several, the whole image as one more; separators behind each, three marks.

    tokens = (tiles + 1) x 144 + tiles + 3; one tile: 144 + 3 (processing_llama4.py, _prompt_split_image).
    1024 x 1024 are 4 x 4 tiles: 17 x 144 + 16 + 3.
    Check: tiled(1024, 1024, Processor(kind="tiled", patch=14, merge=2, image=336, crops=16)).tokens == 2467.
    """
    rows, columns = tile_grid(height, width, side=how.image, most=how.crops)
    tiles = rows * columns
    crops = tiles + 1 if tiles > 1 else 1
    side = how.image // how.patch
    each = (side // how.merge) ** 2
    tokens = crops * each + (tiles if tiles > 1 else 0) + 3
    return View(tokens=tokens, crops=crops, rows=side, columns=side, projected=crops * each)


def closest_grid(height: int, width: int, *, side: int, most: int) -> tuple[int, int]:
    """Rows and columns of InternVL's tiles: the nearest aspect ratio; of two the larger, if the image fills half of it.

    Source: find_closest_aspect_ratio in vllm/model_executor/models/internvl.py.
    Check: closest_grid(1024, 1024, side=448, most=12) == (3, 3).
    """
    grids = sorted(
        {(wide, high) for wide in range(1, most + 1) for high in range(1, most + 1) if wide * high <= most},
        key=lambda grid: grid[0] * grid[1],
    )
    best, least = (1, 1), math.inf
    for wide, high in grids:
        apart = abs(width / height - wide / high)
        if apart < least or (apart == least and height * width > 0.5 * side * side * wide * high):
            best, least = (wide, high), apart
    return best[1], best[0]


def dynamic_tiles(height: int, width: int, how: Processor) -> View:
    """InternVL: up to 12 tiles of 448 and, where there are several, a thumbnail; 256 tokens each.

    1024 x 1024 are 3 x 3 tiles and a thumbnail: 10 x 256.
    Check: dynamic_tiles(1024, 1024, Processor(kind="", patch=14, merge=2, image=448, crops=12)).tokens == 2560.
    """
    rows, columns = closest_grid(height, width, side=how.image, most=how.crops)
    crops = rows * columns + (1 if rows * columns > 1 else 0)
    side = how.image // how.patch
    tokens = crops * (side // how.merge) ** 2
    return View(tokens=tokens, crops=crops, rows=side, columns=side, projected=tokens)


def broken_rows(height: int, width: int, how: Processor) -> View:
    """Pixtral and Mistral Small: shrunk to the longest side, whole tokens, a break behind each row, the last an end.

    tokens = rows x (columns + 1) (processing_pixtral.py; image_processing_pixtral.py, get_resize_output_image_size).
    Mistral Small 3.1: 1024 x 1024, tokens of 28 pixels: 37 x (37 + 1).
    Check: broken_rows(1024, 1024, Processor(kind="", patch=14, merge=2, image=1540)).tokens == 1406.
    """
    shrink = max(height / how.image, width / how.image)
    if shrink > 1:
        height, width = math.floor(height / shrink), math.floor(width / shrink)
    side = how.patch * how.merge
    rows, columns = (max(height, 1) - 1) // side + 1, (max(width, 1) - 1) // side + 1
    patches = rows * how.merge, columns * how.merge
    return View(
        tokens=rows * (columns + 1), crops=1, rows=patches[0], columns=patches[1], projected=rows * columns
    )  # fmt: skip


def best_canvas(height: int, width: int, sizes: tuple[tuple[int, int], ...]) -> tuple[int, int]:
    """The canvas that keeps most of an image's pixels, then wastes least of its own.

    Source: select_best_resolution in transformers, image_processing_utils.py.
    Check: best_canvas(1024, 1024, ((336, 672), (672, 336), (672, 672))) == (672, 672).
    """

    def worth(size: tuple[int, int]) -> tuple[int, int]:
        scale = min(size[1] / width, size[0] / height)
        kept = min(int(width * scale) * int(height * scale), width * height)
        return kept, kept - size[0] * size[1]

    return max(sizes, key=worth)


def any_resolution(height: int, width: int, how: Processor) -> View:
    """LLaVA-NeXT: the whole image and the crops of a canvas, their padding cut off, a separator behind each row.

    Source: _get_number_of_features and _get_unpadded_features in transformers, llava_next/processing_llava_next.py.
    1024 x 1024, canvas 672 x 672: 576 + 48 x 48 + 48 tokens of 5 crops.
    Check: any_resolution(1024, 1024, Processor(kind="", patch=14, image=336, sizes=((672, 672),))).tokens == 2928.
    """
    canvas = best_canvas(height, width, how.sizes)
    side = how.image // how.patch
    rows, columns = (length // how.image * side for length in canvas)
    if width / height > columns / rows:
        filled = int(round(height * (columns / width), 7))
        rows -= (rows - filled) // 2 * 2
    else:
        filled = int(round(width * (rows / height), 7))
        columns -= (columns - filled) // 2 * 2
    crops = canvas[0] // how.image * (canvas[1] // how.image) + 1
    tokens = side * side + rows * columns + rows
    return View(tokens=tokens, crops=crops, rows=side, columns=side, projected=crops * side * side)


def split_images(height: int, width: int, how: Processor) -> View:
    """Idefics3 and SmolVLM: the longest side resized to `most_pixels`, cut into crops, the whole image beside.

    Each crop has its tokens and two marks, a line's end behind each row; the whole image two marks more at its end:
    tokens = crops x (64 + 2) + rows + 1 + 64 + 3, of one crop 64 + 3 (processing_idefics3.py, get_image_prompt_string;
    image_processing_idefics3.py; tokens that the tokenizer makes of `<row_1_col_1>` and line ends taken as one each).
    1024 x 1024, side 2048, crops of 512 with 64 tokens: 16 x 66 + 4 + 1 + 67.
    Check: split_images(1024, 1024, SMOLVLM).tokens == 1128.
    """
    ratio = width / height
    if width >= height:
        width = how.most_pixels
        height = math.ceil(int(width / ratio) / 2) * 2
    else:
        height = how.most_pixels
        width = math.ceil(int(height * ratio) / 2) * 2
    rows, columns = (max(1, math.ceil(length / how.image)) for length in (height, width))
    side = how.image // how.patch
    each = (side // how.merge) ** 2
    split = rows * columns > 1
    tokens = each + 3 + (rows * columns * (each + 2) + rows + 1 if split else 0)
    crops = rows * columns + 1 if split else 1
    return View(tokens=tokens, crops=crops, rows=side, columns=side, projected=crops * each)


def high_definition(height: int, width: int, how: Processor) -> View:
    """Phi-3-vision: the widest grid of up to `crops` crops of 336 in the image's shape, and the whole image.

    tokens = (rows x columns + 1) x 144 + 1 + (rows + 1) x 12: separators behind each row of tokens and between.
    Source: processing_phi3_v.py of microsoft/Phi-3-vision-128k-instruct; vllm/model_executor/models/phi3v.py.
    1024 x 1024 are 4 x 4 crops: 17 x 144 + 1 + 5 x 12.
    Check: high_definition(1024, 1024, Processor(kind="", merge=2, image=336, crops=16)).tokens == 2509.
    """
    turned = width < height
    ratio = max(width, height) / min(width, height)
    scale = 1
    while scale * math.ceil(scale / ratio) <= how.crops:
        scale += 1
    wide = (scale - 1) * how.image
    long, short = scale - 1, math.ceil(int(wide / ratio) / how.image)
    rows = long if turned else short
    side = how.image // how.patch
    each = (side // how.merge) ** 2
    crops = long * short + 1
    tokens = crops * each + 1 + (rows + 1) * (side // how.merge)
    return View(tokens=tokens, crops=crops, rows=side, columns=side, projected=crops * each)


IMAGES: dict[str, Callable[[int, int, Processor], View]] = {
    "merged-patches": merged_patches, "fixed": fixed, "tiled": tiled, "dynamic-tiles": dynamic_tiles,
    "broken-rows": broken_rows, "any-resolution": any_resolution, "split-images": split_images,
    "high-definition": high_definition,
}  # fmt: skip


def whisper_positions(seconds: float) -> int:
    """Positions of Whisper's encoder: every window of 30 s, begun or whole, is padded to 3,000 frames, 1,500 positions.

    Source: WhisperFeatureExtractor (chunk_length 30, hop_length 160 at 16 kHz) and WhisperEncoder (a stride of 2).
    Check: whisper_positions(30) == 1500.
    """
    return math.ceil(seconds / WINDOW_S) * WINDOW_POSITIONS


def frames(seconds: float) -> int:
    """Frames of the spectrum, 160 samples each at 16 kHz. Check: frames(30) == 3000."""
    return int(seconds * MEL_FRAMES_PER_S)


def qwen2_audio(seconds: float, _how: Processor) -> View:
    """Qwen2-Audio: one window of 30 s, longer sound cut off; the tokens of its own length, pooled by two.

    tokens = ((frames - 1) // 2 + 1 - 2) // 2 + 1 (processing_qwen2_audio.py).
    Check: qwen2_audio(30, Processor(kind="")).tokens == 750.
    """
    heard = frames(min(seconds, WINDOW_S))
    tokens = max((max(heard - 1, 0) // 2 + 1 - 2) // 2 + 1, 1)
    return View(tokens=tokens, crops=1, rows=1, columns=WINDOW_POSITIONS, projected=tokens)


def windows(seconds: float, how: Processor) -> View:
    """Voxtral: every window of 30 s padded, `merge` positions a token.

    Source: VoxtralProcessor (transformers, voxtral), vllm/model_executor/models/voxtral.py.
    Check: windows(30, Processor(kind="", merge=4)).tokens == 375.
    """
    crops = math.ceil(seconds / WINDOW_S)
    tokens = crops * WINDOW_POSITIONS // how.merge
    return View(tokens=tokens, crops=crops, rows=1, columns=WINDOW_POSITIONS, projected=tokens)


def own_length(seconds: float, how: Processor) -> View:
    """Ultravox: windows of 30 s, the tokens of the sound's own frames: ceil(frames / (2 x merge)) in each.

    Source: UltravoxProcessor (fixie-ai/ultravox, encoder_ds_factor 2, stack_factor 8); vllm/.../ultravox.py.
    Check: own_length(30, Processor(kind="", merge=8)).tokens == 188.
    """
    crops = math.ceil(seconds / WINDOW_S)
    last = seconds - (crops - 1) * WINDOW_S
    each = [*[frames(WINDOW_S)] * (crops - 1), frames(last)]
    tokens = sum(max(1, math.ceil(one / (2 * how.merge))) for one in each)
    return View(tokens=tokens, crops=crops, rows=1, columns=WINDOW_POSITIONS, projected=tokens)


def chunked(seconds: float, how: Processor) -> View:
    """Qwen2.5-Omni: chunks of `image` frames attend themselves alone; the tokens are a quarter of the frames.

    tokens = ((frames - 1) // 2 + 1 - 2) // 2 + 1 (processing_qwen2_5_omni.py).
    Check: chunked(30, Processor(kind="", image=200)).tokens == 750.
    """
    heard = max(frames(seconds), 1)
    tokens = max((((heard - 1) // 2 + 1) - 2) // 2 + 1, 1)
    return View(
        tokens=tokens, crops=math.ceil(heard / how.image), rows=1, columns=how.image // 2, projected=tokens
    )  # fmt: skip


SOUNDS: dict[str, Callable[[float, Processor], View]] = {
    "qwen2-audio": qwen2_audio, "windows": windows, "own-length": own_length, "chunked": chunked,
}  # fmt: skip
