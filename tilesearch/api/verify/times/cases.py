"""Measured rows with their launches: one model for the rows of a problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tilesearch.api.check import complete_tile
from tilesearch.api.context import make, model_of
from tilesearch.api.timing import Timing, timing_of
from tilesearch.api.verify.feasibility.rows import Skipped
from tilesearch.api.verify.times.read import read_times
from tilesearch.api.verify.times.rows import DEVICE, Timed
from tilesearch.errors import InputError
from tilesearch.models.time import Constants, Launch, launch_of
from tilesearch.models.time.model import classes_of
from tilesearch.program import lower
from tilesearch.rules.columns import ColumnEvaluator, value_columns
from tilesearch.rules.model import Model
from tilesearch.specs.devices import load_device

__all__ = ["DEVICE", "Case", "cases_of"]


@dataclass(frozen=True)
class Case:
    """Rows of one problem; the columns of `launch` are in their order. `timing` is the device's own."""

    rows: Sequence[Timed]
    launch: Launch
    timing: Timing
    carver: NDArray[np.float64] | None
    traffic: NDArray[np.float64]

    @property
    def kinds(self) -> NDArray[np.int64]:
        """The class of each row."""
        return classes_of(self.launch)

    @property
    def constants(self) -> Constants:
        """The constants of the device; a case has some."""
        assert self.timing.constants is not None
        return self.timing.constants


def cases_of(files: list[Path]) -> tuple[list[Case], list[Skipped]]:
    """The cases in `files`, and the rows that are left out. Raises `InputError` for what is no tile of its kernel."""
    groups: dict[str, list[Timed]] = {}
    skipped: list[Skipped] = []
    for row in read_times(files):
        if isinstance(row, Skipped):
            skipped.append(row)
        else:
            groups.setdefault(row.problem, []).append(row)
    cases = []
    for rows in groups.values():
        case = _case(rows)
        if isinstance(case, Case):
            cases.append(case)
        else:
            skipped += [Skipped(row.place, case) for row in rows]
    return cases, skipped


def _case(rows: list[Timed]) -> Case | str:
    """The case of rows of one problem, or the reason why there are no times to compare them with."""
    first = rows[0]
    try:
        device = load_device(first.device)
    except InputError:
        return f"the device {first.device} is not known"
    problem = make(first.build_op or first.op, device, kernel=first.kernel)
    model = model_of(problem)
    timing = timing_of(problem, model)
    if timing.constants is None:
        return timing.reason
    columns = value_columns(model.names, [_tile(model, row) for row in rows])
    names = {name for row in rows for name in row.extra}
    extra = {name: [float(row.extra.get(name, 1)) for row in rows] for name in names}
    launch = launch_of(lower(first.op), model, columns, extra)
    own = model if first.build_op is None else model_of(make(first.op, device, kernel=first.kernel))
    read = ColumnEvaluator(columns, {name: sorted({int(v) for v in values}) for name, values in columns.items()})
    return Case(rows, launch, timing, _key(own, read, "carver", len(rows)), _traffic(own, read, len(rows)))


def _tile(model: Model, row: Timed) -> dict[str, int]:
    try:
        return complete_tile(model, row.tile)
    except InputError as error:
        raise InputError([replace(issue, source=f"row {row.place}") for issue in error.issues]) from None


def _key(model: Model, read: ColumnEvaluator, name: str, count: int) -> NDArray[np.float64] | None:
    tree = model.keys.get(name)
    return None if tree is None else np.broadcast_to(np.asarray(read(tree), dtype=np.float64), (count,))


def _traffic(model: Model, read: ColumnEvaluator, count: int) -> NDArray[np.float64]:
    found = _key(model, read, "traffic", count)
    assert found is not None, "every GPU model counts its traffic"
    return found
