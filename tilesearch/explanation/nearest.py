"""The nearest tiles that fit: fewest changed variables first, then fewest steps along the domains."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np

from tilesearch.answers import Nearest, Tile
from tilesearch.engines.base import Deadline, Request, Status, Tiles
from tilesearch.engines.vector import VectorEngine
from tilesearch.errors import UnsupportedError
from tilesearch.rules.model import Model

COUNT = 3


def nearest(model: Model, tile: Mapping[str, int], deadline: Deadline, allow_soft: bool = False) -> list[Nearest]:
    """The three nearest tiles that satisfy every rule; fewer when fewer exist or the time ends.

    A step is a position in the variable's domain. A value outside its domain is placed where it would stand,
    and may be kept, since the user chose it. Ties: larger values first.
    """
    wide = _with_tile(model, tile)
    changeable = [v.name for v in wide.variables if len(v.domain) > 1]
    found: list[Nearest] = []
    for count in range(1, len(changeable) + 1):
        tiles = _changed(wide, tile, changeable, count, deadline, allow_soft)
        found += _closest(wide, tile, tiles, COUNT - len(found))
        if len(found) >= COUNT or deadline.expired:
            break
    return found


def _with_tile(model: Model, tile: Mapping[str, int]) -> Model:
    domains = {v.name: tuple(sorted({*v.domain, tile[v.name]})) for v in model.variables}
    return model.with_domains(domains)


def _changed(
    model: Model, tile: Mapping[str, int], changeable: list[str], count: int, deadline: Deadline, allow_soft: bool
) -> Tiles:
    """Fitting tiles that differ from `tile` in exactly `count` variables."""
    parts = [np.empty((0, len(model.variables)), dtype=np.int64)]
    for chosen in combinations(changeable, count):
        if deadline.expired:
            break
        domains = {
            v.name: tuple(x for x in v.domain if x != tile[v.name]) if v.name in chosen else (tile[v.name],)
            for v in model.variables
        }
        request = Request(model.with_domains(domains), allow_soft=allow_soft, deadline=deadline)
        try:
            outcome = VectorEngine().enumerate(request)
        except UnsupportedError:
            continue
        if outcome.status is Status.COMPLETE:
            parts.append(outcome.tiles)
    return np.concatenate(parts)


def _closest(model: Model, tile: Mapping[str, int], tiles: Tiles, count: int) -> list[Nearest]:
    if not len(tiles):
        return []
    steps = np.zeros(len(tiles), dtype=np.int64)
    for column, variable in enumerate(model.variables):
        domain = np.asarray(variable.domain)
        here = int(np.searchsorted(domain, tile[variable.name]))
        steps += np.abs(np.searchsorted(domain, tiles[:, column]) - here)
    order = np.lexsort((*(-tiles[:, c] for c in reversed(range(tiles.shape[1]))), steps))
    return [_change(model, tile, tiles[row]) for row in order[:count]]


def _change(model: Model, tile: Mapping[str, int], row: Tiles) -> Nearest:
    new = {v.name: int(value) for v, value in zip(model.variables, row, strict=True)}
    changes = {name: [tile[name], value] for name, value in new.items() if tile[name] != value}
    return Nearest(tile=Tile(**new), changes=changes)
