"""Logs cut, shuffled and doubled: what is odd is left out, and nothing crashes."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from effort import examples
from engine_logs import LLAMACPP, SGLANG, V1
from rooflight.answers.diagnose.memory import memory
from rooflight.answers.diagnose.setting import Setting
from rooflight.errors import BadConfig
from rooflight.ingest.recorded.read import recorded
from rooflight.words.diagnosis.memory import told

LINES = [*V1.splitlines(), *SGLANG.splitlines(), *LLAMACPP.splitlines()]
NOISE = st.sampled_from(["", "{", "nan", "9" * 400, "-1", "\x00", "\u2028", ",,,", "1e999", "=", "(", "\x1b["])


@st.composite
def logs(draw) -> bytes:
    """Lines of all three engines in any order, some cut and some with something else in place of a word."""
    found = []
    for line in draw(st.lists(st.sampled_from(LINES), min_size=1, max_size=30)):
        at = draw(st.integers(0, len(line)))
        odd = draw(NOISE)
        changed = [line, line[:at], line[:at] + odd + line[at:], odd.join(line.split(" ", 3))]
        found.append(draw(st.sampled_from(changed)))
    return draw(st.sampled_from(["\n", "\r\n", "\r"])).join(found).encode("utf-8", "surrogatepass")


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(raw=logs())
def test_no_log_crashes_a_reader_or_what_comes_after(tmp_path, raw):
    path = tmp_path / "odd.log"
    path.write_bytes(raw)
    try:
        found = recorded(path)
    except BadConfig:
        return
    assert found.to_dict()
    for record in found.records:
        assert record.measured.kv_tokens != 0 or "0" in raw.decode("utf-8", "replace")
    if (judged := memory([found], Setting())) is not None:
        assert told(judged).answer.endswith(".")


@pytest.mark.parametrize(
    "text",
    [
        "GPU KV cache size: 9" + "9" * 300 + " tokens\n",
        "load_tensors: CUDA0 model buffer size = 1" + "0" * 60 + " MiB\n",
    ],
)
def test_a_number_that_is_none_is_left_out(tmp_path, text):
    path = tmp_path / "odd.log"
    path.write_text("INFO 05-01 10:00:00 [core.py:1] vLLM API server version 0.12.0\n" + text)

    assert all(one.measured.kv_tokens is None for one in recorded(path).records)


def test_a_line_without_an_end_is_read_as_far_as_is_looked_at(tmp_path):
    path = tmp_path / "long.log"
    path.write_text("GPU KV cache size: 1,024 tokens " + "KV cache memory model weights take " * 200_000)

    assert recorded(path).records[0].measured.kv_tokens == 1024
