"""What an accelerator really does, in under eight minutes: for fits, and for the pages that show measured machines.

    python bench/card.py                 on the machine with the card; card.jsonl and card-samples.jsonl are added to
    python bench/card.py --small         the same stages on whatever there is, with a model of two layers, in a minute

Every line of card.jsonl is a stage: {"schema": "rooflight.card/1", "stage", "status": "ok", "failed" or "left-out",
"seconds", "limit_s", "why", "commands", "answers": the JSON documents of the commands}. A stage has its own limit of
time; one that fails is a line that says so, and the next goes on. Samples go to the file beside it.

roofs       bandwidth, peaks, caches, the cost of a call: `rooflight measure`
gemms       products and attention of Llama-3-8B at batch 1 to 512, in bf16 and in fp8: `rooflight measure kernels`
step        decode steps of the whole model, captured as a graph where the device has them: `rooflight measure model`
engine      vLLM with random weights on the loopback, where it is installed: time per output token at concurrency 1 to
            256, which over the steps' own time is the host's; time to first token of a burst, and of a closed loop
cache       the same with an FP8 cache, eight layers of it
experts     a mixture of experts, eight layers of it
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

SCHEMA = "rooflight.card/1"
TOTAL_S = 470.0
LLAMA = "meta-llama/Meta-Llama-3-8B"
EXPERTS = "Qwen/Qwen3-30B-A3B"
CUT = {"num_hidden_layers": 8}
SMALL = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 128, "intermediate_size": 256,
    "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2, "vocab_size": 512,
    "max_position_embeddings": 2048, "torch_dtype": "bfloat16",
}  # fmt: skip
# What an engine's own config classes want of a checkpoint's config beside what shapes it.
LLAMA_CONFIG = {
    **SMALL, "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32, "num_key_value_heads": 8,
    "num_hidden_layers": 32, "vocab_size": 128256, "max_position_embeddings": 8192, "rope_theta": 500000.0,
    "rms_norm_eps": 1e-5, "hidden_act": "silu", "tie_word_embeddings": False, "bos_token_id": 0, "eos_token_id": 1,
}  # fmt: skip
EXPERTS_CONFIG = {
    **LLAMA_CONFIG, "architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "hidden_size": 2048,
    "intermediate_size": 6144, "num_key_value_heads": 4, "head_dim": 128, "num_hidden_layers": 48,
    "vocab_size": 151936, "num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768,
    "norm_topk_prob": True, "decoder_sparse_step": 1, "mlp_only_layers": [], "rope_theta": 1000000.0,
}  # fmt: skip


class LeftOut(Exception):
    """Why a stage cannot be had here."""


class Failed(Exception):
    """What a command or a server said when it failed."""


class Stage(NamedTuple):
    """A stage: its name, the most seconds it may take, and what it does, given when it must be done."""

    name: str
    limit_s: float
    work: Callable[[Bench, float], None]


class Bench:
    """One run: where its files are, and what the stage under way has asked and heard."""

    def __init__(self, out: Path, device: str | None, small: bool) -> None:
        self.out, self.small = out, small
        self.samples = out.with_name(f"{out.stem}-samples.jsonl")
        self.folder = out.with_name(f"{out.stem}-files")
        self.folder.mkdir(parents=True, exist_ok=True)
        self.machine = self.folder / "card.toml"
        self.device = [] if device is None else ["--device", device]
        self.commands: list[str] = []
        self.answers: list[Any] = []

    def ask(self, *words: str, until: float, document: bool = True) -> None:
        """A command of rooflight, whose document is kept. Raises Failed, TimeoutExpired."""
        self.commands.append(" ".join(["rooflight", *words]))
        line = [sys.executable, "-m", "rooflight", *words, *(["--json"] if document else [])]
        done = subprocess.run(
            line, capture_output=True, text=True, timeout=max(1.0, until - time.monotonic()), check=False
        )
        if done.returncode:
            raise Failed(complaint(done.stderr) or f"exit status {done.returncode}")
        self.answers.append(json.loads(done.stdout) if document else done.stdout.strip())

    def model(self, name: str, config: dict[str, Any]) -> str:
        """A folder with a config and a tokenizer of plain words, as an engine wants to have it."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        (folder / "config.json").write_text(json.dumps(config))
        vocab = {"<unk>": 0, "</s>": 1} | {f"w{number}": number for number in range(2, config["vocab_size"])}
        model = {"type": "WordLevel", "vocab": vocab, "unk_token": "<unk>"}
        (folder / "tokenizer.json").write_text(
            json.dumps({"version": "1.0", "added_tokens": [], "pre_tokenizer": {"type": "Whitespace"}, "model": model})
        )
        (folder / "tokenizer_config.json").write_text(
            json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "<unk>", "eos_token": "</s>"})
        )
        return str(folder)


def complaint(said: str) -> str:
    """What a command said when it failed: of an error in JSON what is wrong and what was seen."""
    last = said.strip().rpartition("\n")[2]
    with contextlib.suppress(ValueError, TypeError, KeyError):
        error = json.loads(last)
        return ": ".join(str(error[part]) for part in ("what", "got") if error[part] is not None)
    return said.strip()[-600:]


def roofs(bench: Bench, until: float) -> None:
    """The machine's file, which every later stage stands under."""
    quick = ["--quick"] if bench.small else []
    bench.ask("measure", *quick, *bench.device, "--samples", str(bench.samples), "-o", str(bench.machine),
              until=until, document=False)  # fmt: skip
    bench.ask("accelerators", str(bench.machine), until=until)


def gemms(bench: Bench, until: float) -> None:
    """Decode and prefill kernels of the model, in each format that is there."""
    name = bench.model("small", SMALL) if bench.small else LLAMA
    batch, prefill = ("1,2", "16") if bench.small else ("1:512:x2", "512,2048")
    for weights in ("bf16",) if bench.small else ("bf16", "fp8"):
        seconds = 10 if bench.small else (until - time.monotonic()) * (0.5 if weights == "bf16" else 0.8)
        words = ["--on", str(bench.machine), *bench.device, "--weights", weights, "--batch", batch,
                 "--prefill", prefill, "--budget", f"{seconds:.0f}"]  # fmt: skip
        bench.ask("measure", "kernels", name, *words, until=until)
    keep(bench)


def keep(bench: Bench) -> None:
    """The samples in the stage's documents, beside the others."""
    from rooflight.files import append_lines

    found = [one["sample"] for answer in bench.answers if isinstance(answer, dict) for one in answer.get("kernels", ())]
    append_lines(bench.samples, (json.dumps(one) for one in found))


def step(bench: Bench, until: float) -> None:
    """Steps of the whole model."""
    name = bench.model("small", SMALL) if bench.small else LLAMA
    batch, prefill = ("1,2", "16") if bench.small else ("1,8,64,256", "512")
    seconds = 5 if bench.small else (until - time.monotonic()) * 0.6  # building the model takes the rest
    words = ["--on", str(bench.machine), *bench.device, "--weights", "bf16", "--batch", batch, "--prefill", prefill,
             "--budget", f"{seconds:.0f}"]  # fmt: skip
    bench.ask("measure", "model", name, *words, until=until)


def engine(bench: Bench, until: float) -> None:
    """Time per output token against concurrency; first tokens in a burst and in a closed loop."""
    config = SMALL if bench.small else LLAMA_CONFIG
    with served(bench, bench.model("engine", config), [], until) as url:
        for count in (1,) if bench.small else (1, 8, 32, 128, 256):
            endpoint(bench, url, LLAMA, ["--concurrency", str(count), "--num-prompts", str(2 * count)], 32, 64, until)
        for load in (["--burst"], ["--concurrency", "16"]):
            endpoint(bench, url, LLAMA, [*load, "--num-prompts", "4" if bench.small else "64"], 1024, 8, until)


def cache(bench: Bench, until: float) -> None:
    """An FP8 cache at a long context."""
    config = SMALL if bench.small else {**LLAMA_CONFIG, **CUT}
    with served(bench, bench.model("cache", config), ["--kv-cache-dtype", "fp8"], until) as url:
        endpoint(bench, url, None, ["--concurrency", "64", "--num-prompts", "64"], 2048, 64, until)


def experts(bench: Bench, until: float) -> None:
    """A mixture of experts at small and at large batch."""
    if bench.small:
        raise LeftOut("a mixture of experts is for a card")
    with served(bench, bench.model("experts", {**EXPERTS_CONFIG, **CUT}), [], until) as url:
        for count in (1, 16, 128):
            endpoint(bench, url, None, ["--concurrency", str(count), "--num-prompts", str(2 * count)], 32, 64, until)


def endpoint(bench: Bench, url: str, model: str | None, load: list[str], isl: int, osl: int, until: float) -> None:
    """One load on a server; beside the predicted run where its model is whole."""
    beside = [] if model is None or bench.small else ["--model", model, "--on", str(bench.machine), "--engine", "vllm"]
    bench.ask("measure", "endpoint", url, *beside, *load, "--isl", str(isl), "--osl", str(osl), until=until)


@contextlib.contextmanager
def served(bench: Bench, model: str, more: list[str], until: float) -> Iterator[str]:
    """vLLM on the loopback, ended by its process group; what it printed stands in a file. Raises LeftOut, Failed."""
    if importlib.util.find_spec("vllm") is None:
        raise LeftOut("vLLM is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", model, "--load-format", "dummy",
               "--host", "127.0.0.1", "--port", str(port), "--max-model-len", "4096", *more]  # fmt: skip
    bench.commands.append(" ".join(command[1:]))
    log = bench.folder / "engine.log"
    with log.open("ab") as file:
        server = subprocess.Popen(
            command, stdout=file, stderr=file, start_new_session=True,
            env={**os.environ, "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"},
        )  # fmt: skip
    try:
        url = f"http://127.0.0.1:{port}"
        wait_for(server, url, until, log)
        yield url
    finally:
        end(server)


def wait_for(server: subprocess.Popen[bytes], url: str, until: float, log: Path) -> None:
    """Until the server answers. Raises Failed where it ends before, or is not there in time."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while time.monotonic() < until:
        if server.poll() is not None:
            raise Failed(f"the engine ended with {server.returncode}: {log.read_text(errors='replace')[-400:]}")
        with contextlib.suppress(OSError), direct.open(f"{url}/health", timeout=2):
            return
        time.sleep(0.5)
    raise Failed("the engine was not ready in time")


def end(server: subprocess.Popen[bytes]) -> None:
    """The server and what it started: asked first, then made to."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, sign)
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(10)
            return


STAGES = (
    Stage("roofs", 140, roofs), Stage("gemms", 60, gemms), Stage("step", 30, step), Stage("engine", 140, engine),
    Stage("cache", 50, cache), Stage("experts", 50, experts),
)  # fmt: skip


def told(bench: Bench, stage: Stage, left_s: float) -> dict[str, Any]:
    """A stage carried out, as the line that says how it went."""
    bench.commands, bench.answers = [], []
    limit_s = min(stage.limit_s, left_s)
    began = time.monotonic()
    status, why = "ok", None
    try:
        if limit_s > 0:
            stage.work(bench, began + limit_s)
        else:
            status, why = "left-out", "no time was left"
    except LeftOut as reason:
        status, why = "left-out", str(reason)
    except subprocess.TimeoutExpired:
        status, why = "failed", f"it was not done within {limit_s:.0f} s"
    except (Failed, OSError, ValueError) as error:
        status, why = "failed", str(error) or type(error).__name__
    return {
        "schema": SCHEMA, "stage": stage.name, "status": status, "seconds": round(time.monotonic() - began, 3),
        "limit_s": round(max(limit_s, 0), 3), "why": why, "commands": bench.commands, "answers": bench.answers,
    }  # fmt: skip


def main() -> None:
    """Carry the stages out, a line each; the exit status is 0 where every stage has its line."""
    from rooflight.files import append_lines

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("card.jsonl"))
    parser.add_argument("--device", help="as torch names it; left out: the fastest kind there is")
    parser.add_argument("--small", action="store_true", help="a model of two layers, on whatever there is")
    parser.add_argument("--stages", default=",".join(stage.name for stage in STAGES), help="some of them")
    given = parser.parse_args()
    bench = Bench(given.out, given.device, given.small)
    end_s = time.monotonic() + TOTAL_S
    for stage in STAGES:
        if stage.name in given.stages.split(","):
            line = told(bench, stage, end_s - time.monotonic())
            append_lines(bench.out, [json.dumps(line)])
            why = f" ({line['why']})" if line["why"] else ""
            print(f"{stage.name}: {line['status']} in {line['seconds']:.0f} s{why}", flush=True)


if __name__ == "__main__":
    main()
