"""`rooflight models`: the catalog's models, or one with its parameters, bytes and layer plan."""

from __future__ import annotations

from typing import TextIO

import click

from rooflight.cli import complete
from rooflight.cli.app import HELP_NAMES, Command
from rooflight.cli.output import Answer, Output, emit, output_options


@click.command("models", cls=Command, context_settings=HELP_NAMES)
@click.argument("name", metavar="[ID|FILE]", required=False, shell_complete=complete.models)
@output_options
def command(name: str | None, output: Output) -> int:
    """The models of the catalog, or one: parameters by part, weight bytes, KV cache a token, state, the layer plan.

    FILE is a config.json, a GGUF or safetensors file, or a directory that holds one; no weights are read and no code of
    the model is run.

    \b
    rooflight models
    rooflight models ./config.json --json
    rooflight models ./model-Q4_K_M.gguf
    """
    emit(output, _list() if name is None else _one(name))
    return 0


def _one(name: str) -> Answer:
    from rooflight.library.questions import model
    from rooflight.show import models as show
    from rooflight.show.data import write_json

    document = show.page(model(name))

    def json(stream: TextIO) -> None:
        write_json(document, stream)

    return Answer(lambda: document.answer, lambda: show.page_blocks(document), lambda: show.page_rows(document), json)


def _list() -> Answer:
    from rooflight.library.questions import models
    from rooflight.show import models as show
    from rooflight.show.data import write_json

    document = show.listing(models())

    def json(stream: TextIO) -> None:
        write_json(document, stream)

    return Answer(lambda: document.answer, lambda: show.list_blocks(document), lambda: show.list_rows(document), json)
