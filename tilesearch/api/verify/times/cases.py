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
from tilesearch.models.time.folds import constants_without, seen
from tilesearch.models.time.model import classes_of
from tilesearch.program import lower
from tilesearch.rules.columns import ColumnEvaluator, value_columns
from tilesearch.rules.model import Model
from tilesearch.specs.devices import Device, list_devices, load_device

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

    @property
    def seen(self) -> bool:
        """Whether the constants were fitted to times of this shape: those of a file that a user gives were not."""
        device = self.timing.device
        fitted = device.name in list_devices() and device == load_device(device.name)
        return fitted and seen(device.name, self.rows[0].shape)

    @property
    def fair(self) -> Constants:
        """Constants that had not seen the shape."""
        if not self.seen:
            return self.constants
        return constants_without(self.constants, self.timing.device.name, self.rows[0].shape)


def cases_of(files: list[Path], device: Device | None = None) -> tuple[list[Case], list[Skipped]]:
    """The cases in `files`, and the rows that are left out. Raises `InputError` for what is no tile of its kernel.

    A `device` that is given judges the rows that name it, and no others.
    """
    groups: dict[str, list[Timed]] = {}
    skipped: list[Skipped] = []
    for row in read_times(files):
        if isinstance(row, Skipped):
            skipped.append(row)
        else:
            groups.setdefault(row.problem, []).append(row)
    cases = []
    for rows in groups.values():
        case = _case(rows, device)
        if isinstance(case, Case):
            cases.append(case)
        else:
            skipped += [Skipped(row.place, case) for row in rows]
    return cases, skipped


def _device(name: str, given: Device | None) -> Device | str:
    """The device that judges rows of the device `name`, or the reason why none does."""
    if given is not None and given.name == name:
        return given
    try:
        device: Device | None = load_device(name)
    except InputError:
        device = None
    if given is None:
        return device or f"the device {name} is not known: give its file (--device FILE)"
    same = device is not None and device.name == given.name
    return given if same else f"measured on {name}, not on {given.name}"


def _case(rows: list[Timed], given: Device | None) -> Case | str:
    """The case of rows of one problem, or the reason why there are no times to compare them with."""
    first = rows[0]
    device = _device(first.device, given)
    if isinstance(device, str):
        return device
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
