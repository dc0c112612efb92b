"""Where an answer goes and in which form: --format, --json, -o FILE, --ascii."""

from __future__ import annotations

import errno
import functools
import io
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TextIO, cast

import click

from rooflight.cli.values import Choice
from rooflight.errors import BadInput, printable
from rooflight.files import refuse_no_target

if TYPE_CHECKING:
    from rooflight.show.blocks import Block
    from rooflight.show.charts.chart import Chart
    from rooflight.show.data import Rows

_ENDINGS = {".json": "json", ".csv": "csv", ".md": "md", ".txt": "text"}
_CHARTS = {".svg": "svg", ".png": "png", ".html": "html"}
_MACHINE = {".toml": "toml"}
_SAMPLES = {".jsonl": "jsonl"}
# Of each value; show.charts.draw.KINDS, which a test compares, is not imported for --help.
CHARTS = {
    "Analysis": ("roofline", "waterfall", "traffic", "memory", "intensity"),
    "Sweep": ("batch", "pareto"),
    "Diagnosis": ("roofline", "timeline"),
}
_MOST_HELD = 1 << 20  # characters
_FORMATS = ("text", "json", "csv", "md")


class Output(NamedTuple):
    """file None: stdout."""

    format: str
    file: str | None
    ascii: bool


def output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the output options; it is called with one argument `output` for them."""
    words = ".json .csv .md .txt, or as a picture: .svg .png .html"
    return _with_output(command, _ENDINGS | _CHARTS, words)


def machine_output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The same for a command that measures a machine: no pictures, and the machine's file, which --on takes."""
    return _with_output(command, _ENDINGS | _MACHINE, ".toml, which --on takes, .json .csv .md .txt")


def calibration_output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The same for a command that makes a calibration, which is not drawn."""
    return _with_output(command, _ENDINGS | _MACHINE, ".toml, which --calibration takes, .json .csv .md .txt")


def sample_output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The same for a command that measures what runs on a machine: with a file that its samples are added to."""
    words = ".json .csv .md .txt, as a picture: .svg .png .html, or its samples added to a file: .jsonl"
    return _with_output(command, _ENDINGS | _CHARTS | _SAMPLES, words)


def text_output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The same for a command whose answer is not drawn."""
    return _with_output(command, _ENDINGS, ".json .csv .md .txt")


def request_output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The same for a command that measures requests, which are not drawn: with a file that they are added to."""
    words = ".json .csv .md .txt, or its requests added to a file as samples: .jsonl"
    return _with_output(command, _ENDINGS | _SAMPLES, words)


def _with_output(command: Callable[..., Any], endings: Mapping[str, str], words: str) -> Callable[..., Any]:
    @functools.wraps(command)
    def with_output(*, form: str | None, as_json: bool, output: str | None, plain: bool, **rest: Any) -> Any:
        return command(output=choose(form, as_json, output, plain, endings), **rest)

    options = (
        click.option("--format", "form", type=Choice(*_FORMATS), metavar="|".join(_FORMATS), help="Form. [text]"),
        click.option("--json", "as_json", is_flag=True, help="Short for --format json; errors are JSON too."),
        click.option("-o", "--output", type=click.Path(), metavar="FILE",
                     help=f"Write to FILE, in the form its ending says: {words}"),
        click.option("--ascii", "plain", is_flag=True, help="Text in plain ASCII characters."),
    )  # fmt: skip
    for option in reversed(options):
        with_output = option(with_output)
    return with_output


def chart_option(value: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command --chart, with the kinds of charts of its value."""
    kinds = CHARTS[value]
    words = f"Which picture -o FILE.svg, .png or .html is: {', '.join(kinds)}. [{kinds[0]}]"
    return click.option("--chart", "kind", type=Choice(*kinds), metavar="KIND", help=words)


def choose(
    form: str | None, as_json: bool, file: str | None, plain: bool, endings: Mapping[str, str] = _ENDINGS | _CHARTS
) -> Output:
    """What the output options mean together. Raises BadInput where they contradict each other."""
    if as_json and form not in (None, "json"):
        raise BadInput(
            "two forms were asked for", where="--json, --format", got=f"--json and --format {form}", want="one"
        )
    asked = "json" if as_json else form
    if file is None or file == "-":
        return Output(asked or "text", None, plain)
    if file.endswith(os.sep) or os.path.isdir(file):
        raise _cannot(file, "it is a directory")
    ending = Path(file).suffix.lower()
    named = endings.get(ending)
    if named is None and asked is None:
        raise BadInput(
            f"the ending {ending} does not say which form is meant" if ending
            else f"{file} has no ending that says which form is meant", where="--output", got=file,
            want=f"a file ending in {', '.join(endings)}", try_this="--format json",
        )  # fmt: skip
    if named is not None and asked not in (None, named):
        raise BadInput(
            f"{ending} and {asked} contradict each other", where="--output, --format", got=file,
            want="an ending and a form that agree, or one of them left out",
        )  # fmt: skip
    return Output(asked or named or "text", file, plain)


def require_writable(file: str | None) -> None:
    """Raises BadInput where a file can never be written: before what goes into it is measured for minutes."""
    if file is None or file == "-":
        return
    if Path(file).suffix.lower() in _SAMPLES:
        refuse_no_target(file)
        return
    folder = Path(os.path.realpath(file)).parent
    if not folder.is_dir():
        raise _cannot(file, "there is no such directory")
    if not os.access(file if os.path.exists(file) else folder, os.W_OK):
        raise _cannot(file, "it may not be written")


class Answer(NamedTuple):
    """An answer in its forms, each made only when asked for.

    sentence    what a colleague could repeat
    blocks      for text and Markdown
    rows        for CSV
    json        writes the document
    chart       its picture; None where the answer has none
    page        a page of its own to play with; None where the picture alone is the page
    machine     the file of an accelerator or a calibration; None where the answer is none
    """

    sentence: Callable[[], str]
    blocks: Callable[[], Iterable[Block]]
    rows: Callable[[], Rows]
    json: Callable[[TextIO], None]
    chart: Callable[[], Chart] | None = None
    page: Callable[[], str] | None = None
    machine: Callable[[], str] | None = None


def emit(output: Output, answer: Answer) -> None:
    """Write the answer in its form; where it goes to a file, stdout says the one sentence and the file's name."""
    if output.file is None:
        _write(output, answer, sys.stdout)
        return
    write_file(output, answer)
    try:
        print(answer.sentence())
        print(f"written to {printable(output.file)}")
    except OSError as error:
        if error.errno != errno.EBADF:  # no standard output at all: the answer is in the file
            raise


def write_file(output: Output, answer: Answer) -> None:
    """Write the answer to its file. Raises BadInput where that cannot be done, MissingExtra for a picture."""
    if output.file is None:
        return
    drawn = _drawn(output, answer) if output.format in _CHARTS.values() else None
    with open_whole(output.file) as stream:
        if drawn is None:
            _write(output, answer, stream)
        else:
            stream.write_bytes(drawn)


def _drawn(output: Output, answer: Answer) -> bytes:
    """The picture in its form. Raises BadInput where the answer has none, MissingExtra."""
    if answer.chart is None:
        raise BadInput(
            "this answer has no chart", where="--output", got=output.file,
            want=f"a file ending in {', '.join(_ENDINGS)}",
            try_this="analyze, sweep, compare, moves and check draw charts; compare where something fits",
        )  # fmt: skip
    if output.format == "html" and answer.page is not None:
        return answer.page().encode()
    return answer.chart().encoded(f".{output.format}")


def _write(output: Output, answer: Answer, stream: TextIO) -> None:
    if output.format == "json":
        with _held(stream) as held:
            answer.json(held)
    elif output.format == "csv":
        from rooflight.show.data import write_csv

        with _held(stream) as held:
            write_csv(answer.rows(), held)
    elif output.format == "md":
        from rooflight.show.markdown import write as write_markdown

        write_markdown(answer.blocks(), stream)
    elif output.format == "toml" and answer.machine is not None:
        stream.write(answer.machine())
    else:
        from rooflight.show.text import write as write_text

        write_text(answer.blocks(), stream, ascii_only=output.ascii)


class _Held(io.TextIOBase):
    """Text on its way to a stream: what fails within the first megabyte fails before any of it is out."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._kept: list[str] = []
        self._left = _MOST_HELD

    def write(self, text: str) -> int:
        if self._left < 0:
            return self._stream.write(text)
        self._kept.append(text)
        self._left -= len(text)
        if self._left < 0:
            self.release()
        return len(text)

    def release(self) -> None:
        """Let go of what is held."""
        self._stream.write("".join(self._kept))
        self._kept = []


@contextmanager
def _held(stream: TextIO) -> Iterator[TextIO]:
    held = _Held(stream)
    yield cast(TextIO, held)
    held.release()


class WholeFile(io.TextIOWrapper):
    """A text file to write. What cannot be written is BadInput; errors of whoever makes the text are left alone."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        super().__init__(file, encoding="utf-8", errors="backslashreplace", newline="")
        self._called = name

    def write(self, text: str) -> int:
        with _said(self._called):
            return super().write(text)

    def write_bytes(self, data: bytes) -> None:
        """Write what is no text."""
        with _said(self._called):
            self.buffer.write(data)

    def flush(self) -> None:
        with _said(self._called):
            super().flush()

    def close(self) -> None:
        with _said(self._called):
            super().close()


@contextmanager
def open_whole(name: str) -> Iterator[WholeFile]:
    """A file that appears when it is complete: written beside and renamed. Raises BadInput where it cannot be."""
    with _said(name):
        mode = os.stat(name).st_mode if os.path.exists(name) else None
    if mode is None or stat.S_ISREG(mode):
        with _replacing(name, mode) as stream:
            yield stream
        return
    if stat.S_ISDIR(mode):
        raise _cannot(name, "it is a directory")
    with _open_special(name) as stream:
        yield stream


@contextmanager
def _said(name: str) -> Iterator[None]:
    """Raises BadInput for what the system says of writing."""
    try:
        yield
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise _cannot(name, reason) from error


def _open_special(name: str) -> WholeFile:
    """A device, or a pipe that somebody reads: opening one that nobody reads would wait for ever. Raises BadInput."""
    with _said(name):
        try:
            number = os.open(name, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0))
        except OSError as error:
            if error.errno == errno.ENXIO:
                raise OSError(errno.ENXIO, "nobody reads the pipe") from None
            raise
        os.set_blocking(number, True)
        return WholeFile(open(number, "wb"), name)


@contextmanager
def _replacing(name: str, mode: int | None) -> Iterator[WholeFile]:
    path = Path(os.path.realpath(name))
    beside = path.with_name(f".{path.name[:100]}.{os.urandom(4).hex()}")
    if mode is not None and not os.access(path, os.W_OK):
        raise _cannot(name, "it may not be written")
    try:  # from before the file is there: an interrupt may come as soon as it is
        with _said(name):
            file = beside.open("xb")
        with WholeFile(file, name) as stream:
            yield stream
        with _said(name):
            if mode is not None:
                beside.chmod(stat.S_IMODE(mode))
            beside.replace(path)
    except BaseException:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise


def _cannot(name: str, reason: str) -> BadInput:
    return BadInput(
        f"{name} cannot be written", where="--output", got=reason, want="a file in a directory that may be written"
    )
