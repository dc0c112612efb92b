"""Two models of known size as config files, and a way to run the command line in this process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import rooflight
from rooflight.cli.app import app

# Llama-3.1-8B: 8,030,261,248 parameters, 131,072 bytes of KV cache a token in bf16.
LLAMA_8B = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "num_hidden_layers": 32,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}
# Llama-3.1-70B: 70,553,706,496 parameters; 141 GB in bf16 do not fit on a card of 80 GB.
LLAMA_70B = {
    **LLAMA_8B,
    "hidden_size": 8192,
    "intermediate_size": 28672,
    "num_attention_heads": 64,
    "num_hidden_layers": 80,
}


@pytest.fixture(scope="session")
def models(tmp_path_factory) -> dict[str, str]:
    """Paths of the configs by short name."""
    folder = tmp_path_factory.mktemp("configs")
    paths = {}
    for name, config in (("8b", LLAMA_8B), ("70b", LLAMA_70B)):
        paths[name] = str(folder / f"llama-{name}.json")
        Path(paths[name]).write_text(json.dumps(config), encoding="utf-8")
    return paths


@pytest.fixture
def ask(models):
    """Run a command line; `8b` and `70b` stand for the configs."""

    def run(*words: str) -> Result:
        args = [models.get(word, word) for word in words]
        return CliRunner().invoke(app, args)

    return run


@pytest.fixture
def process(models):
    """The same as a process of its own."""

    def run(*words: str, code: str | None = None, **options: object) -> subprocess.CompletedProcess[bytes]:
        args = [models.get(word, word) for word in words]
        source = str(Path(rooflight.__file__).parents[1])
        env = {**os.environ, "PYTHONPATH": source, **options.pop("env", {})}
        start = ["-m", "rooflight"] if code is None else ["-c", code]
        return subprocess.run(
            [sys.executable, *start, *args], capture_output=True, env=env, timeout=120, check=False, **options
        )

    return run
