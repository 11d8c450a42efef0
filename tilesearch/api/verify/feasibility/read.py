"""Reading files of builds: comma-separated tables of Triton kernels, lines of JSON of TileLang kernels."""

from __future__ import annotations

import csv
import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from tilesearch.api.verify.feasibility.rows import Build, Skipped
from tilesearch.api.verify.feasibility.tilelang import tilelang_build
from tilesearch.api.verify.feasibility.triton import first_set_build, second_set_build
from tilesearch.errors import InputError, Issue

Reader = Callable[[int | str, dict[str, Any]], Build | Skipped]


def read_builds(files: list[Path]) -> Iterator[Build | Skipped]:
    """Every row of `files`. Raises `InputError` for a file whose columns are those of no known kind."""
    for path in files:
        rows = list(table_rows(path))
        reader = _reader_of(path, rows)
        for number, row in enumerate(rows):
            place = number if len(files) == 1 else f"{path.name}:{number}"
            try:
                yield reader(place, row)
            except (KeyError, ValueError, TypeError) as error:
                message = f"the row cannot be read: {type(error).__name__}: {error}"
                raise InputError(Issue(message, f"row {number}", str(path))) from None


def table_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a comma-separated table or of lines of JSON, which may be compressed by gzip."""
    try:
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(Issue("is not a text file (UTF-8), nor one compressed by gzip", source=str(path))) from None
    except (OSError, EOFError, zlib.error) as fault:
        raise InputError(Issue(f"the file cannot be read: {fault}", source=str(path))) from None
    if text.lstrip().startswith("{"):
        try:
            yield from (json.loads(line) for line in text.splitlines() if line.strip())
        except ValueError as error:
            raise InputError(Issue(f"lines of JSON are wanted: {error}", source=str(path))) from None
    else:
        yield from csv.DictReader(text.splitlines())


def _is_transposed(path: Path) -> bool:
    """Whether a file of TileLang builds says by its name that B is transposed: feasibility_nt.jsonl."""
    return "nt" in re.split(r"[._-]", path.name)


def _reader_of(path: Path, rows: list[dict[str, Any]]) -> Reader:
    columns = set(rows[0]) if rows else set()
    known: tuple[tuple[set[str], Reader], ...] = (
        ({"kernel", "spec", "ok", "shared"}, first_set_build),
        ({"kind", "config", "ok", "shared"}, second_set_build),
        ({"block_M", "threads", "status"}, partial(tilelang_build, _is_transposed(path))),
    )
    for wanted, reader in known:
        if wanted <= columns:
            return reader
    hint = "columns wanted: " + "; or ".join(", ".join(sorted(wanted)) for wanted, _ in known)
    raise InputError(Issue("these rows are no builds that can be replayed", source=str(path), hint=hint))
