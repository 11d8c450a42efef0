"""Constants for judging the fit: for each shape that the fit has seen, those of a fit that left the shape out.

`h200_folds.toml` is written by benchmarks/fit_time.py. A measured shape that is not listed there had no part in the
fit: the device file's own constants judge it.
"""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import Any

from tilesearch.models.time.constants import Constants


def fold_of(shape: str, folds: int) -> int:
    """The fold of a shape: by its name alone, so that it is the same in every kind of kernel."""
    return int.from_bytes(hashlib.sha256(shape.encode()).digest()[:4], "big") % folds


@cache
def _table(device: str) -> dict[str, Any] | None:
    place = resources.files("tilesearch.models.time").joinpath(f"{device}_folds.toml")
    return tomllib.loads(place.read_text(encoding="utf-8")) if place.is_file() else None


def seen(device: str, shape: str) -> bool:
    """Whether the constants of `device` were fitted to times of that shape."""
    table = _table(device)
    return table is not None and shape in table["shapes"]


def constants_without(constants: Constants, device: str, shape: str) -> Constants:
    """`constants` of `device` as a fit has them that knew nothing of `shape`."""
    table = _table(device)
    if table is None or not seen(device, shape):
        return constants
    folds = table["fold"]
    values: dict[str, Any] = folds[fold_of(shape, len(folds))]
    return replace(constants, **values)
