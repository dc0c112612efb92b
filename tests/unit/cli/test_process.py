"""The command line as a process: exit statuses, pipes, what it imports, that it never ends in a traceback."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest

import rooflight

pytestmark = pytest.mark.slow  # starts a process for every test
ANALYZE = ("analyze", "8b", "--on", "h100-sxm")


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (ANALYZE, 0),
        (("analyze", "70b", "--on", "h100-sxm"), 1),
        (("analyze", "8b", "--on", "h100-sxm", "--batch", "0"), 2),
        (("analyze", "8b", "--on", "no-such-card"), 2),
        (("analyze", "no-such-model", "--on", "h100-sxm"), 2),
        (("sweep", "8b", "--on", "h100-sxm", "--batch", "1,2"), 0),
        (("sweep", "70b", "--on", "h100-sxm", "--batch", "1,2"), 1),
        (("models", "8b"), 0),
        (("accelerators", "h100-sxm"), 0),
        (("no-such-command",), 2),
        ((), 2),
        (("--help",), 0),
    ],
)
def test_exit_status(process, words, status):
    done = process(*words)
    assert done.returncode == status
    assert b"Traceback" not in done.stdout + done.stderr


def test_version(process):
    done = process("--version")
    assert done.stdout.decode() == f"rooflight {rooflight.__version__}\n"


@pytest.mark.parametrize("command", ["analyze", "sweep", "models", "accelerators"])
def test_help_of_every_command(process, command):
    for option in ("-h", "--help"):
        assert process(command, option).stdout.startswith(f"Usage: rooflight {command}".encode())


_MODULES = """
import atexit, sys
atexit.register(lambda: print(*sorted(sys.modules), file=sys.stderr))
from rooflight.cli import main
sys.exit(main())
"""


def test_one_point_in_json_imports_neither_numpy_nor_rich(process):
    done = process(*ANALYZE, "--json", code=_MODULES)
    assert done.returncode == 0
    json.loads(done.stdout)
    loaded = {name.partition(".")[0] for name in done.stderr.decode().split()}
    assert "rooflight" in loaded
    assert not loaded & {"numpy", "rich", "huggingface_hub", "torch", "pandas"}


def test_one_point_in_text_imports_neither_numpy_nor_rich(process):
    """In a pipe: a screen has colours, which are rich's to draw."""
    done = process(*ANALYZE, code=_MODULES)
    assert done.returncode == 0
    loaded = {name.partition(".")[0] for name in done.stderr.decode().split()}
    assert "rooflight" in loaded
    assert not loaded & {"numpy", "rich", "huggingface_hub", "torch", "pandas"}


def test_a_reader_that_leaves_is_no_error(process, models):
    """`rooflight sweep ... --format csv | head -1`: quiet."""
    words = [
        sys.executable,
        "-m",
        "rooflight",
        "sweep",
        models["8b"],
        "--on",
        "h100-sxm",
        "--batch",
        "1:50000",
        "--format",
        "csv",
    ]
    source = str(rooflight.__path__[0]).removesuffix("rooflight")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={"PYTHONPATH": source}) as running:
        assert running.stdout.readline().startswith(b"accelerator,")
        running.stdout.close()
        assert running.stderr.read() == b""
        assert running.wait(60) == 141


@pytest.mark.parametrize("form", ["csv", "json", "text"])
def test_several_processes_give_the_same_rows(process, models, tmp_path, form):
    sweep = ("sweep", models["8b"], "--on", "h100-sxm,h200", "--batch", "1:20000", "--format", form)
    rows = tmp_path / "rows.csv"
    known = [f"llama-3.1-8b,h100,tpot_ms,{value},{batch}" for value in (1, 9, 100) for batch in range(1, 40)]
    kinds = [*known, *["nobody-knows,h100,tpot_ms,1,1"] * 16_384, *known]  # more than are judged together
    rows.write_text("model,accelerator,metric,value,batch\n" + "\n".join(kinds) + "\n", encoding="utf-8")

    for words in (sweep, ("check", str(rows), "--format", form)):
        one, two = (process(*words, "--jobs", jobs) for jobs in ("1", "2"))
        assert one.stdout == two.stdout
        assert one.returncode == two.returncode
        assert len(one.stdout) > 500


@pytest.mark.parametrize("jobs", ["0", "-1", "1000", "x", "1.5", "nan", "inf"])
def test_a_number_of_processes_that_cannot_be(process, models, jobs):
    done = process("sweep", models["8b"], "--on", "h100-sxm", "--jobs", jobs)

    assert done.returncode == 2
    assert b"--jobs" in done.stderr


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize(("sent", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_is_quiet_and_leaves_no_file(models, tmp_path, sent, status, jobs):
    words = [sys.executable, "-m", "rooflight", "sweep", models["8b"], "--on", "h100-sxm", "--batch", "1:3000000"]
    source = str(rooflight.__path__[0]).removesuffix("rooflight")
    path = tmp_path / "rows.csv"
    words += ["--jobs", jobs]
    with subprocess.Popen([*words, "-o", str(path)], stderr=subprocess.PIPE, env={"PYTHONPATH": source}) as running:
        while not list(tmp_path.iterdir()):
            assert running.poll() is None
        running.send_signal(sent)
        assert running.wait(60) == status
        assert b"Traceback" not in running.stderr.read()
    assert list(tmp_path.iterdir()) == []


_INTERRUPTED = """
import runpy, sys
class Interrupting:
    def find_spec(self, name, *_):
        if name == "rooflight.cli.app":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupting())
runpy.run_module("rooflight", run_name="__main__")
"""


def test_an_interrupt_while_starting_is_quiet(process):
    done = process(*ANALYZE, code=_INTERRUPTED)
    assert (done.returncode, done.stderr) == (130, b"")


def test_an_answer_without_standard_output_is_lost_and_that_is_said(models, tmp_path):
    def closed(*words: str) -> subprocess.CompletedProcess[bytes]:
        source = str(rooflight.__path__[0]).removesuffix("rooflight")
        line = ["sh", "-c", '"$@" >&-', "sh", sys.executable, "-m", "rooflight", "models", models["8b"], *words]
        return subprocess.run(line, stderr=subprocess.PIPE, env={"PYTHONPATH": source}, check=False, timeout=60)

    lost, kept = closed("--json"), closed("-o", str(tmp_path / "a.json"))
    assert (lost.returncode, json.loads(lost.stderr)["what"]) == (2, "the answer cannot be written")
    assert (kept.returncode, kept.stderr) == (0, b"")
    assert json.loads((tmp_path / "a.json").read_text())["model"]


_BROKEN = """
import sys
import rooflight.library.questions
def analyze(*args, **options):
    raise ZeroDivisionError("by zero")
rooflight.library.questions.analyze = analyze
from rooflight.cli import main
sys.exit(main())
"""


def test_a_bug_is_one_line_and_status_70(process):
    done = process(*ANALYZE, code=_BROKEN)
    assert done.returncode == 70
    assert done.stderr.decode().startswith("this is a bug in rooflight: ZeroDivisionError: by zero\n")
    assert b"Traceback" not in done.stderr
    shown = process(*ANALYZE, code=_BROKEN, env={"ROOFLIGHT_TRACEBACK": "1"})
    assert b"Traceback" in shown.stderr


def test_a_full_disk_is_said(process):
    with open("/dev/full", "w") as full:
        words = [sys.executable, "-m", "rooflight", "accelerators"]
        source = str(rooflight.__path__[0]).removesuffix("rooflight")
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, env={"PYTHONPATH": source}, check=False)
    assert done.returncode == 2
    assert done.stderr.decode().startswith("the answer cannot be written")


def test_an_ascii_terminal_gets_ascii(process):
    done = process(*ANALYZE, env={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert done.stdout.isascii()


def test_no_colour_where_nobody_looks(process):
    assert b"\x1b" not in process(*ANALYZE).stdout


def test_bash_completion(process):
    script = process(env={"_ROOFLIGHT_COMPLETE": "bash_source"})
    assert b"_rooflight_completion" in script.stdout

    def completed(line: str) -> list[str]:
        words = line.split(" ")
        env = {"_ROOFLIGHT_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
        return [one.partition(",")[2] for one in process(env=env).stdout.decode().split()]

    assert completed("rooflight swe") == ["sweep"]
    assert "h100-sxm" in completed("rooflight analyze x --on h100")
    assert "8xh100-sxm" in completed("rooflight analyze x --on 8xh100-s")
    assert "fp8" in completed("rooflight analyze x --weights fp8")
    assert completed("rooflight analyze x --format cs") == ["csv"]
    assert completed("rooflight explain tens") == ["tensor-active"]
    assert completed("rooflight explain dcgm_fi_prof_d") == ["DCGM_FI_PROF_DRAM_ACTIVE"]


def test_a_bug_is_json_where_json_was_asked_for(process):
    done = process(*ANALYZE, "--json", code=_BROKEN)
    document = json.loads(done.stderr)
    assert (done.returncode, done.stdout) == (70, b"")
    assert document["what"] == "this is a bug in rooflight: ZeroDivisionError: by zero"
    assert set(document) == {"error", "what", "where", "got", "want", "try"}
    shown = process(*ANALYZE, "--json", code=_BROKEN, env={"ROOFLIGHT_TRACEBACK": "1"})
    assert "Traceback" in json.loads(shown.stderr)["got"]


def test_closed_standard_input_is_said(models):
    source = str(rooflight.__path__[0]).removesuffix("rooflight")
    line = ["sh", "-c", '"$@" <&-', "sh", sys.executable, "-m", "rooflight", "check", "-"]
    done = subprocess.run(line, capture_output=True, env={"PYTHONPATH": source}, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"standard input is closed\n")


def test_next_to_nothing_is_imported_before_an_interrupt_is_caught(process):
    """Whatever runs before main() ends in a traceback when Ctrl-C meets it."""
    code = "import sys; before = set(sys.modules); import rooflight.cli; print(*sorted(set(sys.modules) - before))"
    done = process(code=code)
    assert done.stdout.decode().split() == ["__future__", "rooflight", "rooflight.cli", "rooflight.cli.status"]
