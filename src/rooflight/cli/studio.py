"""`rooflight studio`: the web page, served from this machine."""

from __future__ import annotations

import importlib.util
import socket

import click

from rooflight.cli import options
from rooflight.cli.app import HELP_NAMES, Command
from rooflight.errors import BadInput, MissingExtra
from rooflight.studio.address import is_loopback

PORT = 8765
_PACKAGES = ("fastapi", "uvicorn", "jinja2", "altair", "vl_convert")


@click.command("studio", cls=Command, context_settings=HELP_NAMES)
@click.option("--host", metavar="ADDRESS", default="127.0.0.1", help="Where to listen. [127.0.0.1]")
@click.option("--port", metavar="N", type=click.IntRange(0, 65535), default=PORT,
              help=f"Port; 0 takes a free one. [{PORT}]")  # fmt: skip
@click.option("--open/--no-open", "opened", default=True, help="Open the page in the browser.")
@click.option("--allow-remote", is_flag=True, help="Listen on an address that other machines reach.")
@options.calibration_option
def command(host: str, port: int, opened: bool, allow_remote: bool, calibration: str | None) -> int:
    """A web page to play with: choose model and cards, drag sliders, watch the dots march.

    It listens on this machine alone, loads nothing from elsewhere and keeps nothing. Ctrl-C ends it.

    \b
    rooflight studio
    rooflight studio --port 9000 --no-open
    rooflight studio --calibration own.toml
    """
    _check_host(host, allow_remote)
    _check_extra()
    from rooflight.library.questions import own_of
    from rooflight.studio.own import Own
    from rooflight.studio.serve import serve

    found = own_of(calibration)
    own = None if calibration is None or found is None else Own(calibration, found)
    with _listening(host, port) as listening:
        return serve(listening, opened=opened, say=click.echo, own=own)


def _check_extra() -> None:
    """Raises MissingExtra where a package of the extra is not installed."""
    missing = [name for name in _PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingExtra(
            f"the studio needs what is not installed: {', '.join(missing)}",
            where="rooflight studio",
            got="an installation without the extra `studio`",
            want="fastapi, uvicorn, jinja2, altair and vl-convert-python",
            try_this="pip install 'rooflight[studio]'",
        )


def _check_host(host: str, allowed: bool) -> None:
    """Only this machine, unless it was said otherwise; then with a warning. Raises BadInput."""
    if is_loopback(host):
        return
    if not allowed:
        raise BadInput(
            f"{host} is reached by other machines, and the studio has no password",
            where="--host",
            got=host,
            want="127.0.0.1, ::1 or localhost",
            try_this="--allow-remote, on a network you trust",
        )
    click.echo(f"warning: anyone who reaches {host} can use this page; it has no password", err=True)


def _listening(host: str, port: int) -> socket.socket:
    """A socket that listens there. Raises BadInput where it cannot."""
    found = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        found = socket.socket(family, kind, protocol)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(128)
    except OSError as error:
        if found is not None:
            found.close()
        raise BadInput(
            f"the studio cannot listen on {host} port {port}",
            where="--host, --port",
            got=error.strerror or str(error),
            want="an address of this machine and a port that is free",
            try_this="--port 0",
        ) from None
    return found
