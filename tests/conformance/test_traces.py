"""Real logs of requests: read whole, in the statistics published with them, and cards ranked by them."""

from __future__ import annotations

import json

import pytest

import rooflight
from rooflight.ingest.log import read_log

MODEL = "meta-llama/Meta-Llama-3.1-8B"
FILES = {
    "azure_code": "azure_code_2023.csv",
    "azure_conv": "azure_conv_2023.csv",
    "mooncake_conversation": "mooncake_conversation.csv",
}


@pytest.fixture(scope="module")
def traces(data):
    return data / "traces"


@pytest.mark.parametrize("name", FILES)
def test_a_trace_has_its_published_statistics(traces, name):
    wanted = json.loads((traces / "stats.json").read_text())[name]
    log = read_log(traces / FILES[name])
    given = log.requests
    assert (len(given.isl), log.bad_rows, log.notes) == (wanted["n"], 0, ())
    for lengths, part in ((given.isl, wanted["input"]), (given.osl, wanted["output"])):
        assert lengths.mean() == pytest.approx(part["mean"], abs=0.05)
        assert (lengths.min(), lengths.max()) == (part["min"], part["max"])


def test_packed_json_lines_hold_the_same_requests(traces):
    packed, plain = (read_log(traces / f"mooncake_conversation.{end}") for end in ("jsonl.gz", "csv"))
    assert packed.requests.isl.tolist() == plain.requests.isl.tolist()
    assert packed.requests.osl.tolist() == plain.requests.osl.tolist()


def test_cached_prefixes_save_their_share(traces):
    """37 % of the prompt tokens are in an unlimited cache; the rest still attends them, so less than 37 % is saved."""
    columns = ["input_length", "output_length", "cached_prefix_tokens_infinite"]
    path = traces / "mooncake_conversation.csv"
    warm, cold = (
        rooflight.compare(MODEL, ["h200"], log=path, log_columns=names, batch=8).compared[0].prefill.time_s.ceiling
        for names in (columns, None)
    )
    assert 0.63 < warm / cold < 0.75


@pytest.mark.parametrize("basis", ["ceiling", "expected"])
def test_code_and_chat_rank_cards_differently(traces, basis):
    """The A100 has 2.1 times the compute of the H20, the H20 2.0 times its bandwidth.

    2,048 tokens in and 28 out in the mean: the A100 is faster. 1,155 in and 211 out: the H20.
    """
    speed = {}
    for name in ("azure_code", "azure_conv"):
        answer = rooflight.compare(MODEL, ["a100", "h20"], log=traces / FILES[name], batch=8)
        speed[name] = getattr(answer.compared[1].request.speed_up, basis)
    assert speed["azure_code"] < 1 < speed["azure_conv"]
