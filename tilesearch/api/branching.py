"""rank = "time" on sets too large to list: branch and bound on the time model's own lower bounds.

A thinned grid of the space is timed before all else, so that something is in hand whenever the search ends. Boxes of
the tile space wait in order of the least time that any of their tiles can have (`models.time.least`). The first one is
cut in two, or listed and timed where it is small; a box that cannot beat the tiles in hand is dropped. What remains
open when a limit ends the search gives the proved gap.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from math import log2, prod

import numpy as np
from numpy.typing import NDArray

from tilesearch.api.ranking import tile_columns
from tilesearch.api.timing import Times, Timing
from tilesearch.engines.base import Outcome, Request, Status, Tiles, empty_tiles
from tilesearch.engines.registry import engine
from tilesearch.errors import UnsupportedError
from tilesearch.models.time.least import Box, least_time_us
from tilesearch.rules.evaluate import Ranges, bounds
from tilesearch.rules.model import Model

LISTED = 400_000
"""Most fitting tiles that are timed one and all; above it, boxes are searched."""

LEAF = 1 << 16
"""Candidates of a box that is listed and not cut further, and of the grid that is timed first."""

_FACTS = ("wgmma", "tma", "narrow", "producer", "persistent", "stream", "second")
_METRICS = ("grid", "blocks_per_sm")
_WEIGHT = {"block_m": 1.0, "block_n": 1.0, "block_k": 0.7, "split_k": 0.8, "num_warps": 0.4, "num_stages": 0.4}
_OTHER = 0.05
_PICO = 10**6

Domains = Mapping[str, Sequence[int]]
Keep = Callable[[Tiles, Times], NDArray[np.bool_]]


@dataclass(frozen=True)
class Proof:
    """How far the search went: no tile takes less than `bound_us` by the model; `gap` is the best found over that."""

    bound_us: float
    gap: float


@dataclass
class _Hand:
    """The best tiles so far, every one whose time is not above the `top`-th."""

    top: int
    tiles: Tiles
    keys: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    timed: int = 0
    first: frozenset[tuple[int, ...]] = frozenset()

    def start(self, tiles: Tiles, keys: NDArray[np.int64]) -> None:
        """Take in the first tiles. A box holds them once more; there they count no second time."""
        self.add(tiles, keys)
        self.first = frozenset(map(tuple, self.tiles.tolist()))

    def add(self, tiles: Tiles, keys: NDArray[np.int64]) -> None:
        """Take in tiles with their times in whole picoseconds."""
        self.timed += len(tiles)
        near = keys <= self.limit
        tiles, keys = tiles[near], keys[near]
        new = np.array([tuple(tile) not in self.first for tile in tiles.tolist()], dtype=bool)
        self.tiles, self.keys = np.concatenate([self.tiles, tiles[new]]), np.concatenate([self.keys, keys[new]])
        near = self.keys <= self.limit
        self.tiles, self.keys = self.tiles[near], self.keys[near]

    @property
    def limit(self) -> int:
        """The `top`-th time; without so many tiles, no limit."""
        if len(self.keys) < self.top:
            return 2**62
        return int(np.partition(self.keys, self.top - 1)[self.top - 1])


def size_of(request: Request) -> int | None:
    """How many tiles satisfy the rules, without listing them; None where that cannot be counted."""
    from tilesearch.engines.product import StoppedError
    from tilesearch.engines.vector import VectorEngine

    try:
        return VectorEngine().product(request).size
    except (UnsupportedError, StoppedError):
        return None


def fastest(request: Request, timing: Timing, top: int, keep: Keep | None = None) -> tuple[Outcome, Proof | None]:
    """The `top` fastest tiles and those that tie with them, with what was proved.

    `keep` says which tiles pass users' rules on times. The outcome is OPTIMAL where no open box could hold a better
    tile, FEASIBLE where a limit came first.
    """
    hand = _Hand(top, empty_tiles(request.model))
    search = _Search(request, timing, keep)
    boxes: list[tuple[float, int, int, Domains]] = []
    number = count()

    def put(domains: Domains) -> None:
        least = search.least(domains)
        if least is not None:
            heapq.heappush(boxes, (least, prod(map(len, domains.values())), next(number), domains))

    put(request.model.domains)
    if boxes:
        hand.start(*search.timed(search.some()))
    while boxes and int(boxes[0][0] * _PICO) <= hand.limit:
        if request.deadline.expired:
            break
        least, size, _, domains = heapq.heappop(boxes)
        if size > LEAF:
            for half in _halves(domains):
                put(half)
            continue
        tiles, complete = search.listed(domains)
        if not complete:
            heapq.heappush(boxes, (least, size, next(number), domains))
            break
        hand.add(*search.timed(tiles))
        request.report(f"{hand.timed} tiles timed, {len(boxes)} boxes open", 0.0)
    return _answer(hand, boxes)


def _answer(hand: _Hand, boxes: Sequence[tuple[float, int, int, Domains]]) -> tuple[Outcome, Proof | None]:
    closed = not boxes or int(boxes[0][0] * _PICO) > hand.limit
    found = len(hand.tiles) > 0
    if closed:
        status = Status.OPTIMAL if found else Status.INFEASIBLE
    else:
        status = Status.FEASIBLE if found else Status.UNKNOWN
    outcome = Outcome(status, hand.tiles, listed=False)
    how = f"branch and bound: {hand.timed} tiles timed, {len(boxes)} boxes open"
    if not found:
        outcome.notes.append(how)
        return outcome, None
    best = int(hand.keys.min()) / _PICO
    bound = best if closed else min(best, boxes[0][0])
    proof = Proof(bound, best / bound - 1)
    said = "the first is proved" if proof.gap == 0 else f"gap {proof.gap:.1%}"
    outcome.notes.append(
        f"{how}; by the model no tile is faster than {bound:.4g} us, the first takes {best:.4g}: {said}"
    )
    return outcome, proof


class _Search:
    """Boxes of one question: whether anything can fit, the least time, the list and its times."""

    def __init__(self, request: Request, timing: Timing, keep: Keep | None = None) -> None:
        self.request, self.timing, self.keep = request, timing, keep
        self.model: Model = request.model
        self.trees = {name: self.model.facts[name] for name in _FACTS if name in self.model.facts}
        for name in _METRICS:
            metric = self.model.metrics.get(name)
            if metric is not None and metric.expr is not None:
                self.trees[name] = metric.expr
        self.rules = [rule.holds for rule in request.enforced()]

    def least(self, domains: Domains) -> float | None:
        """The least time of a box in us; None where no tile of it fits."""
        memo: Ranges = {}
        for rule in self.rules:
            if bounds(rule, domains, memo)[1] == 0:
                return None
        ranges = {name: bounds(tree, domains, memo) for name, tree in self.trees.items()}
        constants = self.timing.constants
        assert constants is not None
        return least_time_us(Box(self.timing.program, domains, ranges), constants)

    def listed(self, domains: Domains) -> tuple[Tiles, bool]:
        """The tiles of a box that fit, and whether these are all."""
        model = self.model.with_domains({name: tuple(values) for name, values in domains.items()})
        outcome = engine("vector").enumerate(replace(self.request, model=model, attribute=False, progress=None))
        return outcome.tiles, outcome.listed

    def some(self) -> Tiles:
        """Tiles that fit, from a thinned grid of the whole space; any one tile where none of the grid fits."""
        tiles, _ = self.listed(_thinned(self.model.domains, LEAF))
        if len(tiles):
            return tiles
        try:
            return engine("vector").first(replace(self.request, attribute=False, progress=None)).tiles
        except UnsupportedError:
            return tiles

    def timed(self, tiles: Tiles) -> tuple[Tiles, NDArray[np.int64]]:
        """Those of `tiles` that pass the users' rules on times, with their times in whole picoseconds."""
        times = self.timing.of(self.model, tile_columns(self.model, tiles)) if len(tiles) else None
        if times is None:
            return tiles[:0], np.empty(0, dtype=np.int64)
        kept = np.ones(len(tiles), dtype=bool) if self.keep is None else self.keep(tiles, times)
        return tiles[kept], times.picoseconds[kept]


def _thinned(domains: Domains, most: int) -> Domains:
    """At most `most` candidates spread over the space: of each variable its ends and values in equal ratios."""
    counts = {name: len(values) for name, values in domains.items()}
    while prod(counts.values()) > most and max(counts.values()) > 1:
        widest = max(counts, key=lambda name: counts[name])
        counts[widest] = (counts[widest] + 1) // 2
    return {name: _spread(values, counts[name]) for name, values in domains.items()}


def _spread(values: Sequence[int], number: int) -> Sequence[int]:
    """At most `number` of `values`, in equal ratios from the least to the largest."""
    if number >= len(values):
        return values
    ordered = np.sort(np.asarray(values, dtype=np.int64))
    logs = np.log(np.maximum(ordered, 1))
    places = np.searchsorted(logs, np.linspace(logs[0], logs[-1], number)).clip(max=len(values) - 1)
    found: list[int] = ordered[np.unique(places)].tolist()
    return found


def _halves(domains: Domains) -> list[Domains]:
    """A box cut in two along the variable whose spread loosens its bound most."""

    def spread(name: str) -> float:
        values = domains[name]
        if len(values) < 2:
            return -1.0
        return _WEIGHT.get(name, _OTHER) * log2(max(values) / max(1, min(values)) + 1) + 1e-6 * len(values)

    name = max(domains, key=spread)
    values = domains[name]
    middle = len(values) // 2
    return [{**domains, name: values[:middle]}, {**domains, name: values[middle:]}]
