"""Tables of measurements: rows of a file read one by one, every fault named with its file and row."""

from __future__ import annotations

import csv
import gzip
import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from tilesearch.errors import InputError, Issue

T = TypeVar("T")
Row = dict[str, Any]
Reader = Callable[[int | str, Row], T]
Known = Sequence[tuple[set[str], Reader[T]]]
"""Readers of rows, each with the columns that it needs."""

_FAULTS = (KeyError, ValueError, TypeError, AttributeError, ArithmeticError)


def read_tables(
    files: Sequence[Path],
    readers: Callable[[Path], Known[T]],
    what: str,
    rows_of: Callable[[Path], list[Row]] | None = None,
) -> Iterator[T]:
    """Every row of `files`, by the first of its `readers` whose columns a file has.

    Raises `InputError` for a file whose columns no reader knows (it holds no `what`), and for a row that the reader
    cannot read.
    """
    for path in files:
        rows = rows_of(path) if rows_of is not None else list(table_rows(path))
        reader = _reader_of(path, rows, readers(path), what)
        for number, row in enumerate(rows):
            place = number if len(files) == 1 else f"{path.name}:{number}"
            yield read_row(path, number, partial(reader, place, row))


def read_row(path: Path, number: int, read: Callable[[], T]) -> T:
    """What `read` makes of a row. Raises `InputError` that names file and row for whatever it stumbles over."""
    try:
        return read()
    except InputError as error:
        where = f"row {number}"
        issues = [replace(i, source=str(path), where=f"{where}: {i.where}" if i.where else where) for i in error.issues]
        raise InputError(issues) from None
    except _FAULTS as error:
        message = f"the row cannot be read: {type(error).__name__}: {error}"
        raise InputError(Issue(message, f"row {number}", str(path))) from None


def _reader_of(path: Path, rows: Sequence[Row], known: Known[T], what: str) -> Reader[T]:
    columns = set(rows[0]) if rows else set()
    for wanted, reader in known:
        if wanted <= columns:
            return reader
    hint = "columns wanted: " + "; or ".join(", ".join(sorted(wanted)) for wanted, _ in known)
    raise InputError(Issue(f"these rows are no {what} that can be replayed", source=str(path), hint=hint))


def table_rows(path: Path) -> Iterator[Row]:
    """The rows of a comma-separated table or of lines of JSON, which may be compressed by gzip."""
    try:
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(Issue("is not a text file (UTF-8), nor one compressed by gzip", source=str(path))) from None
    except (OSError, EOFError, zlib.error) as fault:
        raise InputError(Issue(f"the file cannot be read: {fault}", source=str(path))) from None
    yield from _json_lines(text, path) if text.lstrip().startswith("{") else _cells(text, path)


def _json_lines(text: str, path: Path) -> Iterator[Row]:
    for number, line in enumerate(line for line in text.splitlines() if line.strip()):
        try:
            row = json.loads(line)
        except ValueError as error:
            raise InputError(Issue(f"lines of JSON are wanted: {error}", f"row {number}", str(path))) from None
        if not isinstance(row, dict):
            raise InputError(Issue("lines of JSON objects are wanted", f"row {number}", str(path)))
        yield row


def _cells(text: str, path: Path) -> Iterator[Row]:
    try:
        for number, row in enumerate(csv.DictReader(text.splitlines())):
            if None in row or None in row.values():
                raise InputError(Issue("the row has more or fewer cells than the header", f"row {number}", str(path)))
            yield row
    except csv.Error as error:
        raise InputError(Issue(f"is no comma-separated table: {error}", source=str(path))) from None


_LEAST, _MOST = 1e-9, 1e18


def positive(row: Mapping[str, Any], name: str) -> float:
    """A figure that only makes sense above zero. Raises `ValueError` for another, also for nan and what is absurd."""
    value = float(row[name])
    if not _LEAST <= value <= _MOST:
        raise ValueError(f"{name}: a number from {_LEAST:g} to {_MOST:g} is wanted, got {row[name]!r}")
    return value
