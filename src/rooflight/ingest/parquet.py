"""A Parquet log of requests, read some ten thousand rows at a time; needs the extra `parquet`."""

from __future__ import annotations

import io
from typing import Any

from rooflight.errors import BadConfig, MissingExtra
from rooflight.ingest.requests import WANT, Columns, Log, Rows, chosen

_ROWS_AT_ONCE = 65_536


def read_parquet(file: io.BufferedReader, name: str, named: Columns | None) -> Log:
    """The log of a Parquet file. Raises MissingExtra without pyarrow, BadConfig for a damaged file."""
    try:
        from pyarrow import ArrowException, BufferReader
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise MissingExtra(
            "Parquet logs are read with pyarrow", where=name, got="no pyarrow", want="the extra parquet",
            try_this="pip install 'rooflight[parquet]', or a log in CSV or JSON lines",
        ) from None  # fmt: skip
    rows = Rows()
    try:
        table = ParquetFile(file if file.seekable() else BufferReader(file.read()))
        columns = chosen(table.schema_arrow.names, named, name)
        wanted = [one for one in columns if one is not None]
        line = 0
        for batch in table.iter_batches(batch_size=_ROWS_AT_ONCE, columns=wanted):
            cells: list[list[Any]] = [batch.column(one).to_pylist() for one in wanted]
            for row in zip(*cells, strict=True):
                line += 1
                rows.add(line, *row)
    except ArrowException as error:
        raise BadConfig(f"{name} is damaged", where=name, got=str(error)[:200], want=WANT) from None
    return rows.log(name, columns, ())
