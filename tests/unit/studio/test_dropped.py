"""Recorded files in the studio: what `rooflight diagnose` says of them, read from bytes, within limits."""

from __future__ import annotations

import asyncio
import base64
import builtins
import gzip
import io
import json
import os
from pathlib import Path

import pytest

import rooflight
from rooflight.errors import BadConfig
from rooflight.ingest.recorded.read import recorded, recorded_bytes
from rooflight.show import diagnosis as shows
from rooflight.studio import answers, dropped, guard
from rooflight.studio.dropped import MOST_BYTES, MOST_FILES, MOST_UNPACKED
from rooflight.studio.question import MACHINE, MOST_DOTS

from .test_guard import HOSTILE

DCGM = Path(__file__).parents[3] / "docs" / "examples" / "dcgm.prom"
COUNTERS = DCGM.read_bytes()
OTHER_MACHINE = Path(__file__).parents[2] / "measured_h100.toml"
MODEL = "meta-llama/Meta-Llama-3.1-8B"
# Names neither a model nor a device.
RESULTS = b"""
============ Serving Benchmark Result ============
Successful requests:                     100
Maximum request concurrency:             8
Benchmark duration (s):                  50.00
Total input tokens:                      102400
Total generated tokens:                  25600
Request throughput (req/s):              2.00
Output token throughput (tok/s):         512.00
Mean TTFT (ms):                          80.00
Mean TPOT (ms):                          15.50
==================================================
"""


def file(data: bytes, name: str = "a.txt") -> dict[str, str]:
    return {"name": name, "data": base64.b64encode(data).decode()}


def asked(*files: bytes, **more):
    return {"files": [file(one, f"{place}.txt") for place, one in enumerate(files)], **more}


def plain(value):
    return json.loads(json.dumps(value))


def problem(answer, status: int = 422) -> dict[str, str]:
    assert answer.status_code == status
    (found,) = answer.json()["problems"]
    return found


@pytest.mark.parametrize("data", [COUNTERS, gzip.compress(COUNTERS)], ids=["plain", "packed"])
def test_the_document_is_the_library_one(studio, data):
    found = studio.post("/api/diagnose", {"files": [file(data, str(DCGM))], "under": "files"}).json()
    own = rooflight.diagnose(DCGM)

    assert found["diagnosis"] == plain(own.to_dict())
    assert found["taken"] == ""
    said = [one["text"] for one in found["verdict"] if one["block"] == "prose"]
    assert said == ["Bound: memory, confidence high."]
    (table,) = found["tables"]
    (text,) = shows.tables(own)
    assert table["rows"] == plain(text.rows)
    assert [one["command"] for one in found["next"]] == [one.command for one in own.next]
    assert found["sources"][0]["items"] == [f"{DCGM}: device-metrics, exporter"]


def test_the_chart_is_the_usual_one_of_a_page(studio):
    """One row of monitoring: a bar. Of a profile with bytes and FLOP: dots, with the names of their numbers."""
    chart = studio.post("/api/diagnose", asked(COUNTERS, width=400)).json()["chart"]
    assert chart["kind"] == "timeline"
    assert [bar["bound"] for bar in chart["spec"]["datasets"]["bars"]] == ["memory"]
    assert chart["spec"]["width"] == "container"

    chart = studio.post("/api/diagnose", asked(trace(), dark=True)).json()["chart"]
    assert chart["kind"] == "kernels"
    assert [dot["operator"] for dot in chart["spec"]["datasets"]["samples"]] == ["gemm"]
    assert chart["notes"][0] == "By number: 1 gemm."
    assert studio.post("/api/diagnose", asked(RESULTS)).json()["chart"] is None


def trace() -> bytes:
    """A product of two 4,096 x 4,096 matrices in bf16, as PyTorch's profiler writes it."""
    sizes = [[4096, 4096], [4096, 4096]]
    host = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 100.0, "dur": 20.0,
            "args": {"External id": 7, "Input Dims": sizes, "Input type": ["c10::BFloat16"] * 2}}  # fmt: skip
    launch = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 105.0, "dur": 5.0,
              "args": {"External id": 7, "correlation": 9}}  # fmt: skip
    kernel = {"ph": "X", "cat": "kernel", "name": "ampere_bf16_s16816gemm_bf16_128x128_tn", "pid": 0, "tid": 7,
              "ts": 130.0, "dur": 250.0,
              "args": {"External id": 7, "correlation": 9, "device": 0, "stream": 7}}  # fmt: skip
    devices = [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}]
    return json.dumps({"deviceProperties": devices, "traceEvents": [host, launch, kernel]}).encode()


def test_what_files_name_is_kept_and_the_page_says_the_rest(studio):
    found = studio.post("/api/diagnose", asked(COUNTERS, question={"on": "mi300x", "model": "qwen3-8b"})).json()

    assert found["diagnosis"]["accelerator"] == "h100-sxm"
    assert found["diagnosis"]["model"] == "Qwen/Qwen3-8B"
    assert found["taken"] == "Put under this page's model Qwen/Qwen3-8B: the files name no model."
    assert found["taken"] in found["diagnosis"]["notes"]


@pytest.mark.parametrize(
    ("under", "on", "said"),
    [
        ("either", "h200-sxm", "the files name no model and no accelerator."),
        ("files", None, ""),
        ("page", "h200-sxm", f"Put under this page's model {MODEL} and accelerator h200-sxm."),
    ],
)
def test_files_that_name_nothing_are_put_under_what_is_asked_for(studio, under, on, said):
    question = {"on": "h200-sxm", "weights": "fp8", "bandwidth_times": 2.0}
    found = studio.post("/api/diagnose", asked(RESULTS, question=question, under=under)).json()
    own = rooflight.diagnose(recorded_bytes(RESULTS, "0.txt", most=1 << 20), model=on and MODEL, on=on,
                             **({"weights": "fp8"} if on else {}))  # fmt: skip

    assert found["diagnosis"]["accelerator"] == on
    assert found["diagnosis"]["answer"] == own.answer
    assert found["taken"].endswith(said)
    assert (found["taken"] == "") == (under == "files")


def test_the_page_stands_for_the_files_where_that_is_asked_for(studio):
    found = studio.post("/api/diagnose", asked(COUNTERS, question={"on": "h200-sxm"}, under="page")).json()

    assert found["diagnosis"]["accelerator"] == "h200-sxm"


def test_a_page_that_cannot_stand_in_is_said_and_left_out(studio):
    """7 devices: no layout of 32 heads. Where the page's was asked for, that is refused."""
    question = {"tp": 7}
    found = studio.post("/api/diagnose", asked(RESULTS, question=question)).json()
    assert (found["diagnosis"]["model"], found["diagnosis"]["accelerator"]) == (None, None)
    assert found["taken"].startswith("This page's model and accelerator cannot stand in")

    assert "7" in problem(studio.post("/api/diagnose", asked(RESULTS, question=question, under="page")))["what"]
    unknown = {"model": "gpt-99"}
    refused = problem(studio.post("/api/diagnose", asked(RESULTS, question=unknown, under="page")))
    assert refused["field"] == "model"


def test_a_measured_machine_of_the_page_is_a_roof_too(studio):
    question = {"on": MACHINE, "machine": OTHER_MACHINE.read_text(encoding="utf-8")}
    found = studio.post("/api/diagnose", asked(trace(), question=question, under="page")).json()

    assert found["diagnosis"]["accelerator"] == "our-h100"
    assert {row["kind"] for row in found["chart"]["spec"]["datasets"]["roofs"]} >= {"measured", "datasheet"}


def test_several_files_are_one_diagnosis(studio):
    found = studio.post("/api/diagnose", asked(COUNTERS, gzip.compress(RESULTS))).json()

    assert [one["file"] for one in found["diagnosis"]["sources"]] == ["0.txt", "1.txt"]
    assert found["diagnosis"]["recorded"]


CONFIG = b'{"model_type": "llama", "hidden_size": 2048}'
SAMPLE = json.dumps({
    "schema": "rooflight.sample/1", "kind": "kernel", "name": "gemm", "flop": 2.0e9, "bytes": 1.0e8,
    "time_s": {"median": 1e-4, "low": 0.9e-4, "high": 1.2e-4, "n": 9},
}).encode()  # fmt: skip


def test_a_config_and_samples_are_told_by_their_content_and_left_to_their_fields(studio):
    found = studio.post("/api/diagnose", asked(CONFIG, COUNTERS, SAMPLE)).json()
    assert found["elsewhere"] == [{"file": 0, "field": "config"}, {"file": 2, "field": "samples"}]
    assert [one["file"] for one in found["diagnosis"]["sources"]] == ["1.txt"]

    alone = studio.post("/api/diagnose", asked(CONFIG)).json()
    assert (alone["diagnosis"], alone["verdict"], alone["chart"]) == (None, [], None)


@pytest.mark.parametrize(
    "data", [b"", b" \n", b"hello", b"\x00\xff" * 50, b"{}", b"[1, 2]", b"\x1f\x8bbroken", b"{" * 99]
)
def test_a_file_that_nobody_knows_is_refused_in_the_reader_own_words(studio, data, tmp_path):
    path = tmp_path / "odd"
    path.write_bytes(data)
    with pytest.raises(BadConfig) as caught:
        recorded(path)
    found = problem(studio.post("/api/diagnose", {"files": [file(COUNTERS), file(data, str(path))]}))

    assert found["field"] == "files"
    assert (found["what"], found["want"]) == (caught.value.what, caught.value.want)


@pytest.mark.parametrize(
    ("body", "field", "said"),
    [
        ({}, "files", "required"),
        ({"files": []}, "files", "at least 1"),
        ({"files": [file(COUNTERS)] * (MOST_FILES + 1)}, "files", "at most 16"),
        ({"files": [{"name": "x", "data": "no base64!"}]}, "files", "base64"),
        ({"files": [{"name": "x", "data": "\u00e9"}]}, "files", "base64"),
        ({"files": [file(COUNTERS, "n" * 201)]}, "files", "at most 200"),
        ({"files": [file(COUNTERS)], "path": "/etc/passwd"}, "path", "not permitted"),
        ({"files": [file(COUNTERS)], "under": "roof"}, "under", "either"),
        ({"files": [file(COUNTERS)], "width": 9}, "width", "280"),
        ({"files": [file(COUNTERS)], "question": {"batch": 0}}, "question", "greater than or equal to 1"),
    ],
)
def test_a_refusal_names_its_field(studio, body, field, said):
    found = problem(studio.post("/api/diagnose", body))

    assert found["field"] == field
    assert said in found["what"]


def test_what_is_no_json_is_refused(studio):
    for body in (b"", b"{", b"[" * 100_000, b"\xff"):
        assert "JSON" in problem(studio.request("POST", "/api/diagnose", content=body), 400)["what"]


def test_all_files_together_are_bounded(studio):
    """Two halves that are one byte more than what is taken, within what a body may hold."""
    half = b" " * (MOST_BYTES // 2)
    found = problem(studio.post("/api/diagnose", asked(half + b" ", half)))
    assert (found["what"], found["field"]) == ("the files are too large", "files")

    longest = {"content-length": str(guard.MOST_FILES_BYTES + 1)}
    refused = studio.request("POST", "/api/diagnose", content=b"{}", headers=longest)
    assert problem(refused, 413)["field"] == "files"


def test_a_packed_file_is_unpacked_so_far_and_no_farther(studio):
    """A thousand times what it comes as: text of the format's own, so that its reader wants all of it."""
    bomb = gzip.compress(COUNTERS + b"# more of it\n" * (MOST_UNPACKED // 13 + 1))
    found = problem(studio.post("/api/diagnose", asked(bomb)))

    assert len(bomb) < MOST_UNPACKED // 100
    assert (found["what"], found["got"]) == ("0.txt is too large", f"more than {MOST_UNPACKED:,} bytes, unpacked")


def test_bytes_are_read_as_files_are():
    told = recorded(DCGM)
    assert recorded_bytes(COUNTERS, str(DCGM), most=len(COUNTERS)) == told
    assert recorded_bytes(gzip.compress(COUNTERS), str(DCGM), most=len(COUNTERS)) == told
    with pytest.raises(BadConfig, match="too large"):
        recorded_bytes(COUNTERS, "x", most=len(COUNTERS) - 1)


def test_long_lists_are_left_out_and_said(studio):
    """A run more than an answer lists."""
    runs = b"\n".join(llama_bench("NVIDIA L40S", 90.0) for _ in range(MOST_DOTS + 1))
    found = studio.post("/api/diagnose", asked(runs)).json()

    assert found["diagnosis"]["recorded"] == []
    assert "2,001 recorded" in found["diagnosis"]["notes"][-1]


def test_names_in_files_stay_text(studio):
    """Marks of HTML come as they are: the page sets them as text."""
    odd = COUNTERS.replace(b'Hostname="node"', b'Hostname="<img src=x onerror=alert(1)>"')
    found = studio.post("/api/diagnose", {"files": [file(odd, "<b>.prom")]}).json()

    assert "<img src=x onerror=alert(1)>" in found["tables"][0]["rows"][0][0]
    assert found["sources"][0]["items"][0].startswith("<b>.prom")


def llama_bench(device: str, tokens_per_s: float) -> bytes:
    return json.dumps({
        "build_commit": "abc", "build_number": 1, "cpu_info": "x", "gpu_info": device, "backends": "CUDA",
        "model_filename": "/etc/passwd", "model_type": "llama 8B F16", "n_prompt": 0, "n_gen": 128, "n_depth": 0,
        "avg_ts": tokens_per_s, "stddev_ts": 1.0, "avg_ns": 1, "n_batch": 2048, "n_ubatch": 512, "n_gpu_layers": 99,
    }).encode()  # fmt: skip


def named(said: str) -> dict[str, object]:
    """A request whose files and machine are called that."""
    runs = b"\n".join(llama_bench(device, 90.0) for device in (said, "NVIDIA A100-SXM4-80GB"))
    machine = OTHER_MACHINE.read_text(encoding="utf-8").replace('id = "our-h100"', f"id = {json.dumps(said)}")
    question = {"on": MACHINE, "machine": machine}
    return {"files": [file(runs, said), file(COUNTERS, said)], "question": question, "under": "page"}


@pytest.fixture(scope="module")
def read(studio):
    """What is read once is read."""
    studio.post("/api/diagnose", named("plain"))


@pytest.mark.parametrize("name", [*HOSTILE, "8xthis", "2x-", "3x/etc/passwd", "2xmy.toml"])
def test_no_name_in_a_request_or_a_file_reaches_the_file_system(studio, read, name, monkeypatch):
    asking = named(name)
    touched = []
    for module, call in ((builtins, "open"), (io, "open"), (os, "stat"), (os, "lstat"), (os, "open"), (os, "listdir")):
        real = getattr(module, call)

        def watched(path, *rest, real=real, **more):
            touched.append(str(path))
            return real(path, *rest, **more)

        monkeypatch.setattr(module, call, watched)
    for under in ("page", "files", "either"):
        assert studio.post("/api/diagnose", {**asking, "under": under}).status_code < 500

    end = name.rpartition("x")[2] or name
    assert not [path for path in touched if path in (name, end) or path.endswith(f"/{end.strip('./~')}")]


def body_of(length: int) -> dict[bytes, bytes]:
    return {"content-type": "application/json", "content-length": str(length)}


def test_few_large_bodies_are_held_at_once():
    """As many as may be wait for their rest; one more is told to come back, a small one is answered meanwhile."""

    async def tried():
        release, statuses = asyncio.Event(), []

        async def app(scope, receive, send):
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b""})

        limit = guard.BodyLimit(app)

        async def one(length: int, path: str = guard.FILES_AT[0]):
            async def receive():
                await (release.wait() if length > 9 else asyncio.sleep(0))
                return {"type": "http.request", "body": b"{}", "more_body": False}

            async def send(message):
                if message["type"] == "http.response.start":
                    statuses.append((length, message["status"], dict(message["headers"]).get(b"retry-after")))

            await limit({"type": "http", "path": path, "headers": [(b"content-length", str(length).encode())]},
                        receive, send)  # fmt: skip

        large = guard.MOST_BODY_BYTES + 1
        held = [asyncio.create_task(one(large)) for _ in range(guard.MOST_LARGE)]
        await asyncio.sleep(0)
        await one(large)
        await one(9)
        await one(large, "/api/picture")
        release.set()
        await asyncio.gather(*held)
        await one(large)
        return statuses, limit.large

    statuses, left = asyncio.run(tried())
    large = guard.MOST_BODY_BYTES + 1
    assert statuses[:3] == [(large, 503, b"1"), (9, 200, None), (large, 413, None)]
    assert statuses[3:] == [(large, 200, None)] * (guard.MOST_LARGE + 1)
    assert left == 0


@pytest.mark.slow  # starts processes
def test_a_file_that_takes_too_long_ends_with_its_process_and_others_are_answered(monkeypatch):
    """Two at once, of which one is given up: the other's answer is that of this process."""
    import gc
    import warnings

    from starlette.exceptions import HTTPException

    from rooflight.studio.workers import Workers

    body = json.dumps(asked(COUNTERS)).encode()

    async def both():
        workers = Workers(2, deadline_s=0.5, wait_s=60)
        long = asyncio.create_task(workers(exec, "while True: pass"))
        for _ in range(9):  # it has come as far as it can: its deadline is set
            await asyncio.sleep(0)
        workers.deadline_s = 60
        found = await workers(answers.diagnose, body)
        with pytest.raises(HTTPException) as caught:
            await long
        return found, caught.value.status_code

    found, status = asyncio.run(both())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
    assert status == 503
    assert found == answers.diagnose(body)


def test_the_schema_is_that_of_the_body(studio):
    document = studio.get("/api/openapi.json").json()
    body = document["paths"]["/api/diagnose"]["post"]["requestBody"]["content"]["application/json"]["schema"]

    assert body["properties"]["question"]["$ref"] in ("#/components/schemas/Question",)
    assert "Question" in document["components"]["schemas"]
    assert set(body["properties"]) == set(dropped.Dropped.model_fields)


@pytest.mark.parametrize(
    "data, view",
    [
        (b"isl,osl\n1000,200\n", "compare"),
        (b"\xef\xbb\xbfTIMESTAMP,ContextTokens,GeneratedTokens\n1,1000,200\n", "compare"),
        (b"input_length;output_length\n1000;200\n", "compare"),
        (b"metric,value\ntpot_ms,11\n", "check"),
        (b"model,accelerator,metric,value,input_len,output_len\nllama-3.1-8b,h100-sxm,tpot_ms,11,1024,256\n", "check"),
    ],
)
def test_a_table_is_for_the_view_that_its_columns_name(studio, data, view):
    answer = studio.post("/api/diagnose", asked(data))
    assert answer.status_code == 200
    assert answer.json()["elsewhere"] == [{"file": 0, "field": view}]
    assert answer.json()["diagnosis"] is None


@pytest.mark.parametrize("data", [b"a,b\n1,2\n", b"isl\n1\n", b"input,output\n"])
def test_any_other_table_is_refused_as_before(studio, data):
    assert studio.post("/api/diagnose", asked(data)).status_code == 422
