"""A monitored deployment on loopback: what a GPU exporter and an engine would export, and a real Prometheus that
scrapes it. The counters of the engine grow as time goes by.
"""

from __future__ import annotations

import contextlib
import http.server
import json
import shutil
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

PROMETHEUS = shutil.which("prometheus")
# A decode at a small batch: the memory works, the tensor cores do not.
DCGM = """\
# TYPE DCGM_FI_DEV_GPU_UTIL gauge
DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-0",device="nvidia0",modelName="NVIDIA H100 80GB HBM3",Hostname="node"} 95
DCGM_FI_DEV_GPU_UTIL{gpu="1",UUID="GPU-1",device="nvidia1",modelName="NVIDIA H100 80GB HBM3",Hostname="node"} 0
# TYPE DCGM_FI_PROF_GR_ENGINE_ACTIVE gauge
DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu="0",UUID="GPU-0",modelName="NVIDIA H100 80GB HBM3",Hostname="node"} 0.94
DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu="1",UUID="GPU-1",modelName="NVIDIA H100 80GB HBM3",Hostname="node"} 0.0
# TYPE DCGM_FI_PROF_PIPE_TENSOR_ACTIVE gauge
DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{gpu="0",UUID="GPU-0",modelName="NVIDIA H100 80GB HBM3",Hostname="node"} 0.06
DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{gpu="1",UUID="GPU-1",modelName="NVIDIA H100 80GB HBM3",Hostname="node"} 0.0
# TYPE DCGM_FI_PROF_DRAM_ACTIVE gauge
DCGM_FI_PROF_DRAM_ACTIVE{gpu="0",UUID="GPU-0",modelName="NVIDIA H100 80GB HBM3",Hostname="node"} 0.78
DCGM_FI_PROF_DRAM_ACTIVE{gpu="1",UUID="GPU-1",modelName="NVIDIA H100 80GB HBM3",Hostname="node"} 0.0
DCGM_FI_PROF_SM_ACTIVE{gpu="0",UUID="GPU-0",modelName="NVIDIA H100 80GB HBM3",Hostname="node"} 0.9
DCGM_FI_PROF_SM_ACTIVE{gpu="1",UUID="GPU-1",modelName="NVIDIA H100 80GB HBM3",Hostname="node"} 0.0
DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-0",modelName="NVIDIA H100 80GB HBM3",Hostname="node"} 420
"""


def vllm(seconds: float) -> str:
    """An engine's metrics after so long: 4 requests in flight, 100 tokens a second each, 2 requests a second."""
    tokens, requests = 400 * seconds, 2 * seconds
    label = '{engine="0",model_name="meta-llama/Llama-3.1-8B-Instruct"}'
    inner = label[1:-1]
    lines = [
        f"vllm:num_requests_running{label} 4.0",
        f"vllm:num_requests_waiting{label} 0.0",
        f"vllm:kv_cache_usage_perc{label} 0.02",
        f"vllm:prompt_tokens_total{label} {requests * 512}",
        f"vllm:generation_tokens_total{label} {tokens}",
        f'vllm:request_success_total{{{inner},finished_reason="length"}} {requests}',
    ]
    for name, mean in (("inter_token_latency", 0.01), ("time_to_first_token", 0.05), ("e2e_request_latency", 2.0)):
        count = tokens if name == "inter_token_latency" else requests
        lines += [
            f'vllm:{name}_seconds_bucket{{{inner},le="+Inf"}} {count}',
            f"vllm:{name}_seconds_count{label} {count}",
            f"vllm:{name}_seconds_sum{label} {count * mean}",
        ]
    return "\n".join([*lines, ""])


@contextlib.contextmanager
def served(pages: dict[str, Callable[[], tuple[int, str]]]) -> Iterator[str]:
    """Pages by path on a free port of loopback, each made when it is asked for; gives the address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            page = pages.get(self.path.partition("?")[0])
            status, text = (404, "nothing here") if page is None else page()
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with contextlib.suppress(OSError):
                self.wfile.write(body)

        def do_POST(self):
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.do_GET()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextlib.contextmanager
def deployment() -> Iterator[str]:
    """The address of both exporters: /dcgm and /metrics."""
    began = time.monotonic()
    pages = {"/dcgm": lambda: (200, DCGM), "/metrics": lambda: (200, vllm(time.monotonic() - began + 100))}
    with served(pages) as address:
        yield address


@contextlib.contextmanager
def prometheus(folder: Path, targets: dict[str, str], rules: str | None = None) -> Iterator[str]:
    """A Prometheus that scrapes targets (job: host:port/path) each second; gives its address once it answers."""
    port = free_port()
    jobs = [
        {
            "job_name": job,
            "metrics_path": "/" + target.partition("/")[2],
            "static_configs": [{"targets": [target.partition("/")[0]]}],
        }
        for job, target in targets.items()
    ]
    config = {"global": {"scrape_interval": "1s", "evaluation_interval": "1s"}, "scrape_configs": jobs}
    if rules is not None:
        (folder / "rules.yml").write_text(rules)
        config["rule_files"] = [str(folder / "rules.yml")]
    (folder / "prometheus.yml").write_text(json.dumps(config))  # JSON is YAML
    assert PROMETHEUS
    log = (folder / "log").open("wb")
    process = subprocess.Popen(
        [
            PROMETHEUS,
            f"--config.file={folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}",
        ],
        stdout=subprocess.DEVNULL,
        stderr=log,
    )
    try:
        address = f"http://127.0.0.1:{port}"
        _wait(lambda: ask(address, "/-/ready") is not None, "Prometheus is not ready")
        yield address
    finally:
        process.terminate()
        process.wait(20)
        log.close()


def ask(address: str, path: str) -> str | None:
    """What a server answers; None: nothing yet."""
    try:
        with urllib.request.urlopen(address + path, timeout=5) as answer:
            return answer.read().decode()
    except OSError:
        return None


def wait_for(address: str, query: str, times: int = 1) -> None:
    """Until a query of Prometheus has at least so many series."""
    from urllib.parse import quote

    def has() -> bool:
        text = ask(address, f"/api/v1/query?query={quote(query)}")
        return text is not None and len(json.loads(text)["data"]["result"]) >= times

    _wait(has, f"no {query}")


def _wait(done: Callable[[], bool], otherwise: str, seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not done():
        if time.monotonic() > until:
            raise TimeoutError(otherwise)
        time.sleep(0.2)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]
