"""Reading files of builds: comma-separated tables of Triton kernels, lines of JSON of TileLang kernels."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tilesearch.api.verify.feasibility.rows import Build, Skipped
from tilesearch.api.verify.feasibility.tilelang import tilelang_build
from tilesearch.api.verify.feasibility.triton import first_set_build, second_set_build
from tilesearch.api.verify.tables import Known, read_tables


def read_builds(files: list[Path]) -> Iterator[Build | Skipped]:
    """Every row of `files`. Raises `InputError` for a file whose columns are those of no known kind."""
    return read_tables(files, _readers, "builds")


def _readers(path: Path) -> Known[Build | Skipped]:
    return (
        ({"kernel", "spec", "ok", "shared"}, first_set_build),
        ({"kind", "config", "ok", "shared"}, second_set_build),
        ({"block_M", "threads", "status"}, partial(tilelang_build, _is_transposed(path))),
    )


def _is_transposed(path: Path) -> bool:
    """Whether a file of TileLang builds says by its name that B is transposed: feasibility_nt.jsonl."""
    return "nt" in re.split(r"[._-]", path.name)
