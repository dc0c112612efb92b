"""Checkpoints of safetensors: exact bytes of each part, whatever packs them, beside the config that names the shape."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

from rooflight.catalog import models
from rooflight.catalog.files import safetensors
from rooflight.errors import BadInput
from rooflight.work import count
from unit.catalog.files.writing import safetensors as written

Tensors = dict[str, tuple[str, tuple[int, ...]]]
QWEN = models.expanded(tomllib.loads((models._FOLDER / "qwen__qwen3-8b.toml").read_text())["config"])
HIDDEN, WIDTH, VOCAB, LAYERS = 4096, 12288, 151936, 36
AWQ = {"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}}
FP8 = {"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}


def qwen3_8b() -> Tensors:
    tensors: Tensors = {
        "model.embed_tokens.weight": ("BF16", (VOCAB, HIDDEN)), "lm_head.weight": ("BF16", (VOCAB, HIDDEN)),
        "model.norm.weight": ("BF16", (HIDDEN,)),
    }  # fmt: skip
    for number in range(LAYERS):
        own = f"model.layers.{number}."
        tensors |= {own + f"{name}_layernorm.weight": ("BF16", (HIDDEN,)) for name in ("input", "post_attention")}
        tensors |= {own + f"self_attn.{name}_norm.weight": ("BF16", (128,)) for name in "qk"}
        for name, rows in (("q", 4096), ("k", 1024), ("v", 1024), ("o", 4096)):
            tensors[own + f"self_attn.{name}_proj.weight"] = ("BF16", (rows, HIDDEN))
        tensors |= {own + f"mlp.{name}_proj.weight": ("BF16", (WIDTH, HIDDEN)) for name in ("gate", "up")}
        tensors[own + "mlp.down_proj.weight"] = ("BF16", (HIDDEN, WIDTH))
    return tensors


def as_awq(tensors: Tensors) -> Tensors:
    """AutoAWQ's packing: eight 4-bit weights in an int32, a 16-bit scale and a 4-bit zero a group of 128."""
    packed: Tensors = {}
    for name, (kind, shape) in tensors.items():
        if "_proj." not in name:
            packed[name] = (kind, shape)
            continue
        outputs, inputs = shape
        module = name.removesuffix("weight")
        packed[module + "qweight"] = ("I32", (inputs, outputs // 8))
        packed[module + "qzeros"] = ("I32", (inputs // 128, outputs // 8))
        packed[module + "scales"] = ("F16", (inputs // 128, outputs))
    return packed


def as_fp8(tensors: Tensors) -> Tensors:
    """An fp32 scale a block of 128 x 128."""
    packed: Tensors = {}
    for name, (kind, shape) in tensors.items():
        packed[name] = ("F8_E4M3" if "_proj." in name else kind, shape)
        if "_proj." in name:
            packed[name + "_scale_inv"] = ("F32", (shape[0] // 128, shape[1] // 128))
    return packed


def folder(tmp_path: Path, tensors: Tensors, more: dict[str, object] | None = None, parts: int = 1) -> Path:
    (tmp_path / "config.json").write_text(json.dumps({**QWEN, **(more or {})}))
    if parts == 1:
        (tmp_path / "model.safetensors").write_bytes(written(tensors))
        return tmp_path
    names = [f"model-{number + 1:05d}-of-{parts:05d}.safetensors" for number in range(parts)]
    placed = {tensor: names[place % parts] for place, tensor in enumerate(tensors)}
    for name in names:
        own = {tensor: tensors[tensor] for tensor, file in placed.items() if file == name}
        (tmp_path / name).write_bytes(written(own))
    index = {"metadata": {"total_size": 16381470720}, "weight_map": placed}
    (tmp_path / safetensors.INDEX).write_text(json.dumps(index))
    return tmp_path


# total_size in Qwen/Qwen3-8B's model.safetensors.index.json
PUBLISHED = 16_381_470_720


@pytest.mark.parametrize("parts", [1, 5])
def test_a_checkpoint_is_read_to_the_byte(parts, tmp_path):
    model = models.load(folder(tmp_path, qwen3_8b(), parts=parts))

    assert count.weight_bytes(model) == PUBLISHED
    assert len(model.layers) == 1
    assert model.warnings == ()
    assert "those of the tensors" in "".join(model.assumptions)


def test_one_file_with_its_config_beside_it_is_read(tmp_path):
    folder(tmp_path, qwen3_8b(), parts=5)
    for file in (tmp_path / "model-00002-of-00005.safetensors", tmp_path / safetensors.INDEX, tmp_path):
        assert count.weight_bytes(models.load(file)) == PUBLISHED
    (tmp_path / "config.json").unlink()
    with pytest.raises(BadInput, match=r"no config\.json beside"):
        models.load(tmp_path / "model-00002-of-00005.safetensors")


def test_packed_weights_are_what_they_take(tmp_path):
    matrices = LAYERS * ((4096 + 2 * 1024 + 4096) * HIDDEN + 3 * WIDTH * HIDDEN)
    rest = PUBLISHED - 2 * matrices
    (tmp_path / "awq").mkdir()
    awq = models.load(folder(tmp_path / "awq", as_awq(qwen3_8b()), AWQ))
    assert count.weight_bytes(awq) == rest + matrices * (4 + (16 + 4) / 128) / 8
    assert awq.quantization == "awq-int4-g128"

    (tmp_path / "fp8").mkdir()
    fp8 = models.load(folder(tmp_path / "fp8", as_fp8(qwen3_8b()), FP8))
    assert count.weight_bytes(fp8) == rest + matrices + matrices // (128 * 128) * 4
    assert {linear.format for layer in fp8.layers for linear in layer.mlp} == {"fp8-block128"}


def test_experts_in_blocks_are_read_to_the_byte(tmp_path):
    """gpt-oss-20b: MXFP4 experts as blocks of 16 bytes and a scale each, all else in bf16."""
    config = models.expanded(tomllib.loads((models._FOLDER / "openai__gpt-oss-20b.toml").read_text())["config"])
    hidden, count_of, vocab = 2880, 32, 201088
    tensors: Tensors = {f"{name}.weight": ("BF16", (vocab, hidden)) for name in ("model.embed_tokens", "lm_head")}
    tensors["model.norm.weight"] = ("BF16", (hidden,))
    for number in range(24):
        own = f"model.layers.{number}."
        tensors |= {own + f"{name}_layernorm.weight": ("BF16", (hidden,)) for name in ("input", "post_attention")}
        tensors |= {own + "self_attn.sinks": ("BF16", (64,)), own + "mlp.router.bias": ("BF16", (count_of,))}
        tensors[own + "mlp.router.weight"] = ("BF16", (count_of, hidden))
        for name, rows, width in (("q", 4096, hidden), ("k", 512, hidden), ("v", 512, hidden), ("o", hidden, 4096)):
            tensors[own + f"self_attn.{name}_proj.weight"] = ("BF16", (rows, width))
            tensors[own + f"self_attn.{name}_proj.bias"] = ("BF16", (rows,))
        for name, rows in (("gate_up", 2 * hidden), ("down", hidden)):
            tensors[own + f"mlp.experts.{name}_proj_blocks"] = ("U8", (count_of, rows, hidden // 32, 16))
            tensors[own + f"mlp.experts.{name}_proj_scales"] = ("U8", (count_of, rows, hidden // 32))
            tensors[own + f"mlp.experts.{name}_proj_bias"] = ("BF16", (count_of, rows))
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "model.safetensors").write_bytes(written(tensors))
    model = models.load(tmp_path)

    assert count.weight_bytes(model) == count.weight_bytes(models.load("openai/gpt-oss-20b"))
    assert (model.quantization, model.warnings) == ("mxfp4", ())


def test_what_a_checkpoint_keeps_wide_is_wide(tmp_path):
    """A config that quantises all, and a file that keeps the last layer as it was: the file counts."""
    tensors = as_fp8(qwen3_8b())
    wide = {name: one for name, one in qwen3_8b().items() if ".35." in name}
    tensors = {name: one for name, one in tensors.items() if ".35." not in name} | wide
    model = models.load(folder(tmp_path, tensors, FP8))

    formats = {layer.mlp[0].format: layer.count for layer in model.layers}
    assert formats == {"fp8-block128": 35, "bf16": 1}


def test_packed_numbers_nobody_explains_are_said(tmp_path):
    model = models.load(folder(tmp_path, as_awq(qwen3_8b())))

    assert "nothing says how" in "".join(model.warnings)
    assert model.quantization == "int4"


def test_an_encoder_and_a_draft_in_the_file_stand_apart(tmp_path):
    more: Tensors = {
        "visual.blocks.0.attn.qkv.weight": ("BF16", (3840, 1280)), "mtp.layers.0.mlp.up_proj.weight": ("BF16", (8, 8)),
        "model.layers.36.mlp.up_proj.weight": ("BF16", (16, 16)),
    }  # fmt: skip
    model = models.load(folder(tmp_path, qwen3_8b() | more))

    assert count.weight_bytes(model) == PUBLISHED
    assert count.tower_bytes(model) == 3840 * 1280 * 2
    assert f"{2 * (8 * 8 + 16 * 16):,} bytes of multi-token-prediction" in "".join(model.assumptions)


def test_an_index_alone_is_said(tmp_path):
    folder(tmp_path, qwen3_8b(), parts=5)
    for file in tmp_path.glob("*.safetensors"):
        file.unlink()
    model = models.load(tmp_path)

    assert f"{PUBLISHED:,} bytes in all" in "".join(model.assumptions)
    assert count.weight_bytes(model) == PUBLISHED  # by the config


def test_half_a_download_is_refused(tmp_path):
    folder(tmp_path, qwen3_8b(), parts=5)
    (tmp_path / "model-00003-of-00005.safetensors").unlink()
    with pytest.raises(BadInput, match="1 of the 5 files") as caught:
        models.load(tmp_path)
    assert "model-00003-of-00005.safetensors" in caught.value.got


def test_the_weights_of_another_model_are_refused(tmp_path):
    renamed = {name.replace("model.layers", "encoder.stage"): one for name, one in qwen3_8b().items()}
    with pytest.raises(BadInput, match="are not those of the model"):
        models.load(folder(tmp_path, renamed))


def test_a_config_by_its_own_path_is_the_config_alone(tmp_path):
    tensors = qwen3_8b()
    tensors["model.norm.weight"] = ("F32", (HIDDEN,))
    folder(tmp_path, tensors)
    wider = 2 * HIDDEN

    assert count.weight_bytes(models.load(tmp_path)) == PUBLISHED + wider
    assert count.weight_bytes(models.load(tmp_path / "config.json")) == PUBLISHED


class EntryNotFoundError(Exception):
    """As the client's: what there is not in a repository."""


class RemoteEntryNotFoundError(EntryNotFoundError):
    """What newer versions of the client raise in its place."""


class Hub:
    """Stands for huggingface_hub: one repository, whose files are a folder here; what is asked is kept."""

    def __init__(self, served: Path, tensors: Tensors | None = None) -> None:
        self.served, self.tensors = served, tensors
        self.asked: list[str] = []
        self.brought = 0

    def hf_hub_download(self, repo: str, file: str, *, local_files_only: bool) -> str:
        self.asked.append(file)
        if not (self.served / file).exists():
            raise RemoteEntryNotFoundError(f"{repo} has no {file}")
        return str(self.served / file)

    def get_safetensors_metadata(self, repo: str) -> SimpleNamespace:
        self.asked.append("headers")
        if self.tensors is None:
            raise ConnectionError("the line is cut")
        from unit.catalog.files.writing import safetensors as made

        raw = json.loads(made(self.tensors)[8:])
        infos = {
            name: SimpleNamespace(dtype=one["dtype"], shape=one["shape"], data_offsets=tuple(one["data_offsets"]))
            for name, one in raw.items()
        }
        return SimpleNamespace(files_metadata={"model.safetensors": SimpleNamespace(tensors=infos)})

    def list_repo_files(self, repo: str) -> list[str]:
        return [file.name for file in sorted(self.served.iterdir())]

    def HfFileSystem(self) -> Hub:
        return self

    def open(self, path: str, mode: str, *, block_size: int) -> Far:
        name = path.rpartition("/")[2]
        self.asked.append(name)
        if not (self.served / name).exists():
            raise FileNotFoundError(path)
        return Far(self, (self.served / name).read_bytes())


class Far:
    """A file of a hub: every read is a range."""

    def __init__(self, hub: Hub, raw: bytes) -> None:
        self.hub, self.raw, self.at, self.size = hub, raw, 0, len(raw) + (1 << 40)

    def __enter__(self) -> Far:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def seek(self, at: int) -> None:
        self.at = at

    def read(self, count: int) -> bytes:
        self.hub.brought += count
        return (self.raw + bytes(count))[self.at : self.at + count]


@pytest.fixture
def serve(monkeypatch):
    def start(hub: Hub) -> Hub:
        monkeypatch.setitem(__import__("sys").modules, "huggingface_hub", hub)
        monkeypatch.setattr(models, "_hub_in_reach", lambda: True)
        return hub

    return start


def test_a_repository_is_read_by_its_headers(serve, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({**QWEN, **FP8}))
    hub = serve(Hub(tmp_path, as_fp8(qwen3_8b())))
    model = models.load("someone/qwen3-8b-fp8")

    assert model.id == "someone/qwen3-8b-fp8"
    assert hub.asked == ["config.json", "hf_quant_config.json", "headers"]
    folder(tmp_path, as_fp8(qwen3_8b()), FP8)
    assert count.weight_bytes(model) == count.weight_bytes(models.load(tmp_path))


def test_without_a_network_the_cache_is_read(monkeypatch, tmp_path):
    hub = Hub(folder(tmp_path, as_fp8(qwen3_8b()), FP8, parts=5))
    monkeypatch.setitem(__import__("sys").modules, "huggingface_hub", hub)
    monkeypatch.setattr(models, "_hub_in_reach", lambda: False)
    whole = models.load("someone/qwen3-8b")
    assert whole.id == "someone/qwen3-8b"
    assert count.weight_bytes(whole) == count.weight_bytes(models.load(tmp_path))
    (tmp_path / "model-00003-of-00005.safetensors").unlink()
    assert models.load("someone/qwen3-8b").table_bytes is None  # by the config
    assert "headers" not in hub.asked


def test_headers_that_do_not_come_are_said(serve, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(QWEN))
    serve(Hub(tmp_path))
    model = models.load("someone/qwen3-8b")

    assert count.weight_bytes(model) == PUBLISHED
    assert "were not read from the hub (ConnectionError)" in "".join(model.assumptions)


class NotASafetensorsRepoError(Exception):
    """As the client's: a repository without weights that it reads."""


def test_gguf_files_beside_a_config_on_the_hub_are_said(serve, tmp_path, monkeypatch):
    def refuse(_hub: Hub, repo: str) -> SimpleNamespace:
        raise NotASafetensorsRepoError(repo)

    monkeypatch.setattr(Hub, "get_safetensors_metadata", refuse)
    (tmp_path / "config.json").write_text(json.dumps(QWEN))
    serve(Hub(tmp_path))
    assert models.load("someone/qwen3-8b").warnings == ()

    (tmp_path / "q-Q8_0.gguf").write_bytes(b"GGUF")
    warnings = models.load("someone/qwen3-8b").warnings
    assert warnings == (
        "read from the config alone; a GGUF file beside it is read by its own path: someone/qwen3-8b/q-Q8_0.gguf",
    )


def test_a_gguf_file_of_the_hub_is_read_by_its_header(serve, tmp_path):
    from unit.catalog.files import listings
    from unit.catalog.files.writing import write_gguf

    file = write_gguf(tmp_path / "model-Q4_K_M.gguf", listings.LLAMA_KEYS, listings.llama_8b())
    hub = serve(Hub(tmp_path))
    local = models.load(file)
    model = models.load("someone/model-GGUF/model-Q4_K_M.gguf")

    assert (model.id, model.layers) == ("someone/model-GGUF/model-Q4_K_M", local.layers)
    assert hub.brought < file.stat().st_size + (8 << 20)
    assert models.load("someone/model-GGUF").layers == local.layers  # the only one in it
    write_gguf(tmp_path / "model-Q8_0.gguf", listings.LLAMA_KEYS, listings.llama_8b())
    with pytest.raises(BadInput, match="2 GGUF models") as caught:
        models.load("someone/model-GGUF")
    assert "someone/model-GGUF/model-Q4_K_M.gguf" in caught.value.got
    with pytest.raises(BadInput, match="could not be read from the hub"):
        models.load("someone/model-GGUF/other.gguf")


def test_a_hub_file_needs_the_extra_and_the_network(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "huggingface_hub", None)
    with pytest.raises(BadInput, match="needs huggingface-hub"):
        models.load("someone/model-GGUF/model.gguf")
    monkeypatch.setitem(__import__("sys").modules, "huggingface_hub", SimpleNamespace())
    monkeypatch.setattr(models, "_hub_in_reach", lambda: False)
    with pytest.raises(BadInput, match="out of reach"):
        models.load("someone/model-GGUF/model.gguf")


def test_a_directory_here_wins_over_the_hub(tmp_path, monkeypatch):
    (tmp_path / "someone" / "qwen").mkdir(parents=True)
    folder(tmp_path / "someone" / "qwen", qwen3_8b())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(__import__("sys").modules, "huggingface_hub", None)

    assert count.weight_bytes(models.load("someone/qwen")) == PUBLISHED


def test_an_eagle3_head_with_its_weights_beside_it_is_read_by_its_config(tmp_path):
    """Its files name one `midlayer` and tables of tokens, which no decoder has."""
    config = {
        "architectures": ["LlamaForCausalLMEagle3"], "model_type": "llama", "hidden_size": 64, "intermediate_size": 96,
        "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 1, "vocab_size": 300,
        "draft_vocab_size": 100, "torch_dtype": "bfloat16",
    }  # fmt: skip
    tensors = {
        "fc.weight": ("BF16", [64, 192]), "midlayer.self_attn.q_proj.weight": ("BF16", [64, 128]),
        "lm_head.weight": ("BF16", [100, 64]), "d2t": ("I64", [100]),
    }  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "model.safetensors").write_bytes(written(tensors))
    model = models.load(str(tmp_path))
    # fc; q, k and v of two inputs, o; the feed-forward; four norms; the head
    by_hand = 192 * 64 + 128 * (64 + 2 * 32) + 64 * 64 + 3 * 64 * 96 + 4 * 64 + 100 * 64

    assert count.parameters(model) == by_hand
    assert "parts are sized by the config" in "".join(model.assumptions)
