"""verify: replay reference data or a user's own measurements, and list every disagreement.

One module a kind. Each recomputes every row from the row's inputs alone, by the same functions that answer
users, and compares.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from tilesearch.answers import VerifyAnswer
from tilesearch.api.context import DeviceLike, resolve_device
from tilesearch.api.verify.ascend import verify_schedules, verify_tasks
from tilesearch.api.verify.carver import verify_carver
from tilesearch.api.verify.cases import verify_cases
from tilesearch.api.verify.collectives.verify import verify_collectives
from tilesearch.api.verify.feasibility import verify_feasibility
from tilesearch.api.verify.figures import verify_figures
from tilesearch.api.verify.ncu import verify_ncu
from tilesearch.api.verify.occupancy import verify_occupancy
from tilesearch.api.verify.spaces import verify_spaces
from tilesearch.api.verify.times.verify import verify_times
from tilesearch.errors import InputError, Issue, suggest
from tilesearch.specs.devices import Device

VERIFY_KINDS: dict[str, Callable[[list[Path]], VerifyAnswer]] = {
    "ascend-schedules": verify_schedules,
    "ascend-tasks": verify_tasks,
    "carver": verify_carver,
    "cases": verify_cases,
    "collectives": verify_collectives,
    "feasibility": verify_feasibility,
    "figures": verify_figures,
    "ncu": verify_ncu,
    "occupancy": verify_occupancy,
    "spaces": verify_spaces,
    "times": verify_times,
}
"""Kind to replay: the one place where a new kind is registered."""

DEVICE_KINDS: dict[str, Callable[[list[Path], Device], VerifyAnswer]] = {"times": verify_times}
"""Kinds whose rows can be judged by a device that the caller gives."""


def verify(kind: str, files: Sequence[str | Path], device: DeviceLike | None = None) -> VerifyAnswer:
    """Replay `files` of one kind.

    `device`, a name or a file, judges the rows that were measured on the device of that name; others are skipped. Only
    `DEVICE_KINDS` take one.
    The answer counts the rows that agree, those skipped with the reason in its notes, and lists the others.
    Raises `InputError` for an unknown kind and for files that do not hold what the kind needs.
    """
    if kind not in VERIFY_KINDS:
        raise InputError(Issue(f"unknown kind {kind!r}", "kind", hint=suggest(kind, list(VERIFY_KINDS))))
    if not files:
        raise InputError(Issue("no file was given", "files"))
    paths = [Path(file) for file in files]
    if device is None:
        return VERIFY_KINDS[kind](paths)
    if kind not in DEVICE_KINDS:
        hint = f"only rows of {', '.join(DEVICE_KINDS)} are judged by a device that is given"
        raise InputError(Issue(f"verify {kind} takes no device", "device", hint=hint))
    return DEVICE_KINDS[kind](paths, _device(device))


def _device(device: DeviceLike) -> Device:
    try:
        return resolve_device(device)
    except InputError as error:
        raise InputError([i if i.where or i.source else replace(i, where="device") for i in error.issues]) from None
