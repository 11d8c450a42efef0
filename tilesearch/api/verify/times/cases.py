"""Measured rows with their launches: one model for the rows of a problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tilesearch.api.check import complete_tile
from tilesearch.api.context import make, model_of
from tilesearch.api.verify.feasibility.rows import Skipped
from tilesearch.api.verify.times.read import read_times
from tilesearch.api.verify.times.rows import Timed
from tilesearch.models.time import Launch, launch_of
from tilesearch.models.time.model import classes_of
from tilesearch.program import lower
from tilesearch.rules.columns import ColumnEvaluator, value_columns
from tilesearch.rules.model import Model

DEVICE = "h200"
"""The device that these files were measured on."""


@dataclass(frozen=True)
class Case:
    """Rows of one problem; the columns of `launch` are in their order."""

    rows: Sequence[Timed]
    launch: Launch
    carver: NDArray[np.float64] | None
    traffic: NDArray[np.float64]

    @property
    def kinds(self) -> NDArray[np.int64]:
        """The class of each row."""
        return classes_of(self.launch)


def cases_of(files: list[Path]) -> tuple[list[Case], list[Skipped]]:
    """The cases in `files`, and the rows that are left out."""
    groups: dict[str, list[Timed]] = {}
    skipped: list[Skipped] = []
    for row in read_times(files):
        if isinstance(row, Skipped):
            skipped.append(row)
        else:
            groups.setdefault(row.problem, []).append(row)
    return [_case(rows) for rows in groups.values()], skipped


def _case(rows: list[Timed]) -> Case:
    first = rows[0]
    model = model_of(make(first.build_op or first.op, DEVICE, kernel=first.kernel))
    columns = value_columns(model.names, [complete_tile(model, row.tile) for row in rows])
    names = {name for row in rows for name in row.extra}
    extra = {name: [float(row.extra.get(name, 1)) for row in rows] for name in names}
    launch = launch_of(lower(first.op), model, columns, extra)
    own = model if first.build_op is None else model_of(make(first.op, DEVICE, kernel=first.kernel))
    read = ColumnEvaluator(columns, {name: sorted({int(v) for v in values}) for name, values in columns.items()})
    return Case(rows, launch, _key(own, read, "carver", len(rows)), _traffic(own, read, len(rows)))


def _key(model: Model, read: ColumnEvaluator, name: str, count: int) -> NDArray[np.float64] | None:
    tree = model.keys.get(name)
    return None if tree is None else np.broadcast_to(np.asarray(read(tree), dtype=np.float64), (count,))


def _traffic(model: Model, read: ColumnEvaluator, count: int) -> NDArray[np.float64]:
    found = _key(model, read, "traffic", count)
    assert found is not None, "every GPU model counts its traffic"
    return found
