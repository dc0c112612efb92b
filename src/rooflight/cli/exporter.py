"""`rooflight exporter`: what binds, published for Prometheus to scrape."""

from __future__ import annotations

import signal
import sys
import time
from typing import TYPE_CHECKING, Any

import click

from rooflight.cli import app, complete, options
from rooflight.cli.app import HELP_NAMES
from rooflight.cli.values import Whole
from rooflight.cli.watched import watching_options
from rooflight.errors import BadInput, RooflightError
from rooflight.values.question import FIELDS, NOT_CLAIMED
from rooflight.values.question import asked as asked_of

if TYPE_CHECKING:
    from rooflight.values.watching import Watching

_FIELDS = tuple(field for name, field in FIELDS.items() if name not in NOT_CLAIMED)
PORT = 9877


@click.command("exporter", cls=app.Command, context_settings=HELP_NAMES)
@click.option("--model", metavar="MODEL", shell_complete=complete.models,
              help="What runs, as in analyze; left out: what the metrics name.")  # fmt: skip
@options.on_option(several=False)
@click.option("--host", default="127.0.0.1", metavar="HOST", help="Address to listen on. [127.0.0.1]")
@click.option("--port", type=Whole(), default=PORT, metavar="PORT", help=f"Port to listen on. [{PORT}]")
@click.option("--dashboard", is_flag=True, help="Print a Grafana dashboard of these metrics, and stop.")
@click.option("--rules", is_flag=True, help="Print alert rules for Prometheus, and stop.")
@watching_options
@options.field_options(*_FIELDS)
def command(
    model: str | None,
    on: str | None,
    host: str,
    port: int,
    dashboard: bool,
    rules: bool,
    watching: Watching | None,
    **given: Any,
) -> int:
    """Publish what `diagnose` says of a running deployment as metrics, read anew each --interval.

    It watches a Prometheus server or /metrics addresses, and serves /metrics on --host and --port: which ceiling
    binds, the share of it that is reached, MBU and MFU, tokens a second beside what is expected. docs/exporter.md
    lists them. --dashboard and --rules print what Grafana imports and what Prometheus loads.

    \b
    rooflight exporter --prometheus http://localhost:9090 --range 2m --model llama-3.1-8b --on h100
    rooflight exporter --scrape http://localhost:8000/metrics --model llama-3.1-8b --on h100
    rooflight exporter --dashboard > rooflight.json
    rooflight exporter --rules > rooflight.yml
    """
    from rooflight.show.exported import files

    if dashboard and rules:
        raise BadInput(
            "these are two files",
            where="--dashboard, --rules",
            got="both",
            want="one of them",
            try_this="one after the other",
        )
    if dashboard or rules:
        click.echo(files.dashboard() if dashboard else files.rules(), nl=False)
        return 0
    if watching is None:
        raise BadInput(
            "there is nothing to publish", where="rooflight exporter", got="neither --prometheus nor --scrape",
            want="one of them", try_this="rooflight exporter --help",
        )  # fmt: skip
    asked: dict[str, Any] = {"model": model, "on": on, **options.fields(given)}
    return _publish(watching, asked, host, port)


def _publish(watching: Watching, asked: dict[str, Any], host: str, port: int) -> int:
    """Serve until an interrupt. What is wrong with the question is raised at once; sources may fail and come back."""
    from prometheus_client import CollectorRegistry, start_http_server

    from rooflight.library.live import Watcher

    held, named = _Held(), f"[{host}]" if ":" in host else host
    registry = CollectorRegistry(auto_describe=False)
    registry.register(held)
    _check(asked)
    try:
        server, thread = start_http_server(port, host, registry)
    except (OSError, OverflowError) as error:
        raise BadInput(
            "that address cannot be listened on", where="--host, --port", got=f"{named}:{port}: {error}"[:160],
            want="a host of this machine, and a free port",
        ) from None  # fmt: skip
    click.echo(f"http://{named}:{server.server_port}/metrics, read anew each {watching.interval_s:g} s", err=True)
    watcher = Watcher(watching)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what a container or systemd stops it with
    try:
        while True:
            held.read(watcher, asked)
            time.sleep(watching.interval_s)
    except KeyboardInterrupt:
        return 0
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _check(asked: dict[str, Any]) -> None:
    """Raises what is wrong with the question itself, whatever the sources say."""
    from rooflight.answers.diagnose.setting import check_kind
    from rooflight.library.questions import accelerator, make_scenario
    from rooflight.library.questions import model as model_of

    stated = {name: value for name, value in asked.items() if name not in ("model", "on")}
    asked_of(None, None, stated)
    if asked["model"] is not None and asked["on"] is not None:
        check_kind(make_scenario(**asked).accelerator)
    elif asked["model"] is not None:
        model_of(asked["model"])
    elif asked["on"] is not None:
        accelerator(asked["on"].partition("x")[2] if asked["on"][:1].isdigit() else asked["on"])


class _Held:
    """The last reading, and the last that succeeded; Prometheus asks for them whenever it likes."""

    def __init__(self) -> None:
        self._last: Any = None
        self._good: Any = None
        self._said = ""

    def collect(self) -> Any:
        """What prometheus_client asks a collector for."""
        from rooflight.show.exported.metrics import metrics

        return metrics(self._last, self._good)

    def read(self, watcher: Any, asked: dict[str, Any]) -> None:
        """Read the sources; a failure is said, and shown as rooflight_up 0."""
        from rooflight.library.diagnosed import diagnose
        from rooflight.show.exported.metrics import Read

        began, clock = time.time(), time.monotonic()
        try:
            found = diagnose(watching=watcher, **asked)
        except RooflightError as error:
            self._say(str(error))
            found = None
        except Exception as error:  # what stops one reading must not stop the next
            self._say(f"this is a bug in rooflight: {type(error).__name__}; please report it")
            found = None
        self._last = Read(diagnosis=found, time_s=began, took_s=time.monotonic() - clock)
        if found is not None:
            self._good = self._last
            self._say("")

    def _say(self, text: str) -> None:
        """What is wrong, once; and that it is over."""
        if text != self._said:
            print(text or "the sources are read again", file=sys.stderr, flush=True)
            self._said = text
