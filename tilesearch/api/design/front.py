"""The tiles worth a line of the sheet: for each size of grid the one that moves least, as long as that falls."""

from __future__ import annotations

import numpy as np

from tilesearch.api.tilesets import TileSet

MOST = 12
"""Lines of the table."""


def front(tiles: TileSet) -> list[dict[str, int]]:
    """From the largest grid to the smallest, each tile moving fewer bytes than all before it."""
    order = np.lexsort((tiles.traffic, -tiles.grid))
    found: list[int] = []
    grid, least = None, np.inf
    for row in order:
        if tiles.grid[row] == grid:
            continue
        grid = tiles.grid[row]
        if tiles.traffic[row] < least:
            least = tiles.traffic[row]
            found.append(int(row))
    return [
        {name: int(value) for name, value in zip(tiles.model.names, tiles.tiles[row], strict=True)}
        for row in _thinned(found)
    ]


def _thinned(rows: list[int]) -> list[int]:
    """At most `MOST` of them, evenly, the first and the last among them."""
    if len(rows) <= MOST:
        return rows
    places = {round(i * (len(rows) - 1) / (MOST - 1)) for i in range(MOST)}
    return [rows[place] for place in sorted(places)]
