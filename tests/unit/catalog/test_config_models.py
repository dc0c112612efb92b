"""The catalog of models: every file is read, names resolve, and nothing else is fetched unasked."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from rooflight.catalog import models
from rooflight.catalog.config.registry import FAMILIES, TOWER_FAMILIES
from rooflight.errors import BadConfig, BadInput, MissingExtra, UnknownName
from rooflight.work import count

FILES = sorted((Path(models.__file__).parent / "models").glob("*.toml"))
# Published parameter counts, to the unit (the text model where there is a tower).
PRINTED = {
    "meta-llama/Meta-Llama-3-8B": 8_030_261_248,
    "meta-llama/Llama-3.1-70B": 70_553_706_496,
    "meta-llama/Llama-2-7b-hf": 6_738_415_616,
    "mistralai/Mixtral-8x7B-v0.1": 46_702_792_704,
    "mistralai/Mistral-Nemo-Base-2407": 12_247_782_400,
    "deepseek-ai/DeepSeek-V3": 671_026_404_352,
    "openai/gpt-oss-120b": 116_829_156_672,
    "google/gemma-2-9b": 9_241_705_984,
    "THUDM/glm-4-9b": 9_399_951_360,
    "microsoft/Phi-3-small-8k-instruct": 7_392_272_384,
    "microsoft/Phi-3.5-MoE-instruct": 41_873_153_344,
}


def test_there_are_many():
    assert len(FILES) >= 80
    assert len(models.ids()) == len(FILES)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_file_is_named_after_its_id_and_says_where_it_was_read(file):
    document = tomllib.loads(file.read_text(encoding="utf-8"))
    model = models.load(document["id"])

    assert file.stem == document["id"].replace("/", "__").lower()
    assert document["source"]
    assert document["read"].year == 2026
    assert (model.id, model.warnings) == (document["id"], ())
    assert count.parameters(model) > 0
    assert len(file.read_bytes()) < 2000, "only the keys the shape hangs on"


@pytest.mark.parametrize(
    ("name", "id"),
    [
        ("Llama-3.3-70B-Instruct", "meta-llama/Meta-Llama-3.1-70B"),  # behind the slash of an alias
        ("QwQ-32B", "Qwen/Qwen2.5-32B"),
        ("DeepSeek-R1-Distill-Llama-70B", "meta-llama/Meta-Llama-3.1-70B"),
        ("llama-2-7b-chat", "meta-llama/Llama-2-7b-hf"),  # of Llama-2-7b-chat-hf
        ("Qwen3-Coder-480B-A35B", "Qwen/Qwen3-Coder-480B-A35B-Instruct"),
        ("LLaMA-13B", "meta-llama/Llama-2-13b-hf"),
    ],
)
def test_names_as_people_write_them(name, id):
    assert models.load(name).id == id


def test_a_name_of_two_shapes_is_refused():
    """v0.1 has 32,000 tokens, v0.3 32,768."""
    with pytest.raises(UnknownName, match="could be more than one model"):
        models.load("Mistral-7B-Instruct")


def test_no_alias_stands_for_two_models():
    seen: dict[str, str] = {}
    for file in FILES:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
        for name in (document["id"], *document.get("aliases", ())):
            assert seen.setdefault(name.lower(), file.name) == file.name, name


@pytest.mark.parametrize("name", PRINTED)
def test_published_parameter_counts(name):
    assert count.parameters(models.load(name)) == PRINTED[name]


@pytest.mark.parametrize(
    "name, found",
    [
        ("meta-llama/Meta-Llama-3-8B", "meta-llama/Meta-Llama-3-8B"),
        ("META-LLAMA/meta-llama-3-8b", "meta-llama/Meta-Llama-3-8B"),
        ("llama-3.1-70b", "meta-llama/Meta-Llama-3.1-70B"),
        ("Llama 3.1 70B", "meta-llama/Meta-Llama-3.1-70B"),
        ("meta-llama-3.1-70b", "meta-llama/Meta-Llama-3.1-70B"),
        ("qwen3-8b", "Qwen/Qwen3-8B"),
        ("gpt-oss-20b", "openai/gpt-oss-20b"),
        ("deepseek_v3", "deepseek-ai/DeepSeek-V3"),
    ],
)
def test_names(name, found):
    assert models.load(name).id == found


def test_a_variant_says_whose_shape_it_has():
    model = models.load("meta-llama/Llama-3.3-70B-Instruct")

    assert model.id == "meta-llama/Meta-Llama-3.1-70B"
    assert "meta-llama/Llama-3.3-70B-Instruct has the shape of meta-llama/Meta-Llama-3.1-70B" in model.assumptions
    assert "meta-llama/Llama-3.3-70B-Instruct" in models.aliases("llama-3.1-70b")


def test_a_catalog_entry_is_the_config_it_was_read_from(data):
    """The shortened entries give the very model their full files give, but for the name and origin.

    Llama 4 was read from fuller copies than those of its own name.
    """
    differ = []
    for file in sorted((data / "configs").glob("*.json")):
        name = file.stem.replace("__", "/", 1)
        shipped = (models._FOLDER / f"{file.stem.lower()}.toml").is_file()
        if shipped and not sidecar(data, file) and "Llama-4" not in name:
            ours, theirs = models.load(name), models.load(file)
            if (ours.layers, ours.head, ours.towers) != (theirs.layers, theirs.head, theirs.towers):
                differ.append(name)

    assert not differ


@pytest.fixture
def data() -> Path:
    folder = Path(__file__).resolve().parents[4] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the collected data is not here")
    return folder


def sidecar(data: Path, file: Path) -> bool:
    return (data / "configs_quant" / f"{file.stem}_hf_quant_config.json").exists()


def test_paths_are_read_as_files(tmp_path):
    config = {
        "model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 4,
        "num_hidden_layers": 1, "intermediate_size": 96, "vocab_size": 100,
    }  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config))

    assert models.load(tmp_path).hidden == 64
    assert models.load(str(tmp_path / "config.json")).hidden == 64
    with pytest.raises(BadInput, match="there is no file"):
        models.load("./nowhere/config.json")
    with pytest.raises(BadInput, match="there is no file"):
        models.load("./llama.gguf")
    (tmp_path / "pytorch_model.bin").write_bytes(b"PK")
    with pytest.raises(BadInput, match="weight file"):
        models.load(str(tmp_path / "pytorch_model.bin"))


@pytest.mark.parametrize(
    "name, near", [("llama-3.1-7b", "meta-llama/Meta-Llama-3.1-8B"), ("deepsek-v3", "deepseek-ai/DeepSeek-V3")]
)
def test_an_unknown_name_gets_suggestions(name, near):
    with pytest.raises(UnknownName) as caught:
        models.load(name)

    assert near in caught.value.try_this
    assert caught.value.exit_status == 2


@pytest.mark.parametrize("name", ["", "   "])
def test_no_name(name):
    with pytest.raises(BadInput, match="no model is named"):
        models.load(name)


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/../b", "x\x00y", "é" * 5000, "org/na me"])
def test_strange_names_are_refused_in_words(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)

    with pytest.raises(BadInput):
        models.load(name)


def test_the_hub_needs_an_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)

    with pytest.raises(MissingExtra, match="someone/some-model") as caught:
        models.load("someone/some-model")
    assert "rooflight[hub]" in caught.value.try_this


class FakeHub:
    """Stands for huggingface_hub: serves config.json of one repository."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.asked: list[str] = []

    def hf_hub_download(self, repo: str, file: str, *, local_files_only: bool) -> str:
        self.asked.append(file)
        if self.folder is None or not (self.folder / file).exists():
            raise FileNotFoundError(f"{repo} has no {file}\nand a long story")
        return str(self.folder / file)


def test_the_hub_gives_config_json_only(monkeypatch, tmp_path):
    source = tomllib.loads((models._FOLDER / "qwen__qwen3-8b.toml").read_text())["config"]
    (tmp_path / "config.json").write_text(json.dumps(source))
    hub = FakeHub(tmp_path)
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    monkeypatch.setattr(models, "_hub_in_reach", lambda: True)
    model = models.load("someone/qwen3-8b-tuned")

    assert model.id == "someone/qwen3-8b-tuned"
    assert model.layers == models.load("Qwen/Qwen3-8B").layers
    assert hub.asked == ["config.json", "hf_quant_config.json"]


def test_no_network_is_said_in_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", FakeHub(None))
    monkeypatch.setattr(models, "_hub_in_reach", lambda: False)

    with pytest.raises(BadInput, match="could not be fetched") as caught:
        models.load("someone/some-model")
    assert "\n" not in caught.value.got


def test_run_lengths_and_nulls_are_written_out():
    value = {"a": [{"repeat": ["x", "y"], "times": 2}, "z"], "b": {"c": "null"}, "d": [[1], {"e": 2}]}

    assert models.expanded(value) == {"a": ["x", "y", "x", "y", "z"], "b": {"c": None}, "d": [[1], {"e": 2}]}


def test_a_file_with_wrong_keys_is_refused(tmp_path, monkeypatch):
    (tmp_path / "a__b.toml").write_text('id = "a/b"\nsource = "x"\nsauce = "y"\nread = 2026-01-01\n[config]\n')
    monkeypatch.setattr(models, "_FOLDER", tmp_path)

    with pytest.raises(BadConfig, match="wrong keys"):
        models.load("a/b")


def test_one_model_costs_the_module_of_its_line():
    """Loading a Llama imports no reader of another line, no reader of quantisation, and no numpy."""
    code = (
        "import sys; from rooflight.catalog import models; models.load('meta-llama/Meta-Llama-3-8B');"
        "print(*sorted(name.removeprefix('rooflight.catalog.config.') for name in sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())

    assert loaded & {*FAMILIES.values(), *TOWER_FAMILIES.values()} == {"llama"}
    assert not loaded & {"latent", "states", "quantization", "packed", "numpy", "rich"}
