"""Decision diagrams: a table over many points as a few shared nodes, which become clauses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tilesearch.engines.lowering import Grid

Ids = NDArray[np.int64]


@dataclass(frozen=True)
class Diagram:
    """Layer by layer: row r of a layer names, for each value of its variable, the node of the next layer.

    The first layer has one node, the root. Below the last layer stand the terminals: number t is the
    value ``terminals[t]``, ascending.
    """

    names: tuple[str, ...]
    layers: tuple[Ids, ...]
    terminals: tuple[int, ...]

    @property
    def edges(self) -> int:
        """How many clauses the diagram costs, about."""
        return sum(layer.size for layer in self.layers)


def build(grid: Grid) -> Diagram:
    """Merge equal parts of the grid, from the last variable up. A grid without axes has no layers."""
    distinct, places = np.unique(grid.values, return_inverse=True)
    current: Ids = places.reshape(grid.values.shape).astype(np.int64)
    layers: list[Ids] = []
    while current.ndim:
        rows, inverse = _unique_rows(current.reshape(-1, current.shape[-1]))
        layers.append(rows)
        current = inverse.reshape(current.shape[:-1])
    return Diagram(grid.names, tuple(layers[::-1]), tuple(int(v) for v in distinct))


def _unique_rows(rows: Ids) -> tuple[Ids, Ids]:
    """The distinct rows in order of first appearance, and for each row the position of its like."""
    packed = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.itemsize * rows.shape[1])))
    _, first, inverse = np.unique(packed.ravel(), return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return rows[first[order]], place[inverse.ravel()]
