"""The page with sliders holds every point as the library returns it, and draws in a browser without a network."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import pytest

import rooflight
from rooflight.library.questions import make_scenario
from rooflight.serve.landmarks import landmarks
from rooflight.show.charts.explore import explore

pytestmark = pytest.mark.slow  # draws pictures

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def text():
    return explore(make_scenario("llama-3.1-8b", "h100-sxm", batch=6))


@pytest.fixture(scope="module")
def data(text):
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])


def test_it_begins_where_was_asked(data):
    assert data["axes"]["batch"][data["start"]["batch"]] == 6
    assert data["axes"]["context"][data["start"]["context"]] == 1151
    assert set(data["points"]) == {f"{b}/{c}" for b in data["axes"]["batch"] for c in data["axes"]["context"]}


@pytest.mark.parametrize("batch", [1, 6, 32])
@pytest.mark.parametrize("context", [256, 1151, 8192])
def test_points_are_what_the_library_answers(data, batch, context):
    """The context that was left open stays open: its memory is that of whole requests."""
    given = {} if context == 1151 else {"context": context}
    answer = rooflight.analyze("llama-3.1-8b", "h100-sxm", batch=batch, **given)
    point = data["points"][f"{batch}/{context}"]
    assert point["answer"] == answer.answer
    shown = {row["name"]: (row["x"], row["y"]) for row in point["both"]["roofline-chart"]["phases"]}
    assert shown == {
        name: (phase.intensity_flop_per_byte, phase.flop / phase.time_s.roofline)
        for name, phase in answer.phases.items()
    }
    assert point["both"]["memory-chart"]["parts"][1]["bytes"] == answer.memory.kv_bytes
    steps = point["both"]["waterfall-chart"]["steps"]
    assert steps[-1]["time_s"] == answer.phases["decode"].time_s.expected


def test_the_axes_stay_while_dots_move(data):
    corners = [point["both"]["roofline-chart"]["corners"] for point in data["points"].values()]
    assert all(one == corners[0] for one in corners)


def test_past_what_fits_the_page_says_so(data):
    most = landmarks(make_scenario("llama-3.1-8b", "h100-sxm", batch=6)).kv_limit
    over = next(size for size in data["axes"]["batch"] if size > most)
    point = data["points"][f"{over}/1151"]
    assert f"at most {most:,} fit at once" in point["answer"]
    assert [dot["name"] for dot in point["both"]["roofline-chart"]["phases"]] == ["prefill"]


def test_it_is_small_and_loads_nothing(text):
    assert len(text.encode()) < 3_000_000
    assert not re.search(r'(src|href)="https?:', text)
    assert "unsafe-eval" not in text[:2000]


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
def test_a_browser_draws_it(text, tmp_path):
    """Under its policy, with Vega's interpreter: charts, table and sentence are there, and the console is silent."""
    path = tmp_path / "page.html"
    path.write_text(text, encoding="utf-8")
    words = ("--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=10000", "--enable-logging=stderr")
    done = subprocess.run(
        [BROWSER, *words, f"--user-data-dir={tmp_path}/profile", "--dump-dom", path.as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert done.stdout.count('class="marks"') == 4
    assert "gate_up x 32" in done.stdout
    assert "memory-bound" in done.stdout
    assert "CONSOLE" not in done.stderr
