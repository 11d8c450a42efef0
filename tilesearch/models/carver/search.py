"""Carver's best-first search over output tiles (carver notes, section 7)."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from math import prod

from tilesearch.models.carver.factors import divisors
from tilesearch.models.carver.graph import Graph, Sizes
from tilesearch.models.carver.result import Row

MOST_VISITED = 2000
"""The search stops when it has met more tiles than this; it looks only between two expansions."""

_EXTRA_STEPS = (2, 4, 8, 16, 32)


def base_tile(graph: Graph) -> Sizes:
    """Where the search starts: ones, but the whole extent where that strictly lowers the work an output item costs.

    The work is the sum of all nodes' tiles over the output tile; only chains of nodes ever gain.
    """

    def work(tile: list[int]) -> float:
        return sum(prod(t) for t in graph.node_tiles(tuple(tile))) / prod(tile)

    tile = [1] * len(graph.output.space)
    least = work(tile)
    for axis, extent in enumerate(graph.output.space):
        tile[axis] = extent
        if work(tile) < least:
            least = work(tile)
        else:
            tile[axis] = 1
    return tuple(tile)


def ladder(extent: int, start: int) -> Sizes:
    """The steps of an axis: divisors from `start` up, and small powers of two between its ends."""
    steps = [d for d in divisors(extent) if d >= start]
    extra = [s for s in _EXTRA_STEPS if steps[0] < s < steps[-1] and s not in steps]
    return tuple(sorted(steps + extra))


def search(steps: tuple[Sizes, ...], evaluate: Callable[[Sizes], Row]) -> tuple[list[Row], bool]:
    """Every tile met, in order, and whether the search was cut off.

    The best open tile (ties: the smaller tile) is expanded by one ladder step an axis, the last axis first. A
    rejected tile counts as met but is never expanded, so whatever lies only behind it is not seen.
    """
    rows: list[Row] = []
    place: dict[Sizes, Sizes] = {}
    heap: list[tuple[float, Sizes]] = []

    def meet(position: Sizes) -> None:
        tile = tuple([axis[i] for axis, i in zip(steps, position, strict=True)])
        if tile in place:
            return
        place[tile] = position
        row = evaluate(tile)
        rows.append(row)
        if row.priority is not None:
            heapq.heappush(heap, (row.priority, tile))

    meet((0,) * len(steps))
    while heap and len(rows) <= MOST_VISITED:
        position = place[heapq.heappop(heap)[1]]
        for axis in reversed(range(len(steps))):
            if position[axis] + 1 < len(steps[axis]):
                meet((*position[:axis], position[axis] + 1, *position[axis + 1 :]))
    return rows, len(rows) > MOST_VISITED


def rank(rows: list[Row]) -> tuple[int, ...]:
    """The numbers of the valid rows, best priority first; ties keep the order of the search."""
    keyed = [(row.priority, number) for number, row in enumerate(rows) if row.priority is not None]
    return tuple(number for _, number in sorted(keyed))
