"""All tiles of a problem that fit, and the one with the least time by a bound that knows the grid."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tilesearch.answers import Metrics
from tilesearch.api.context import model_of
from tilesearch.api.ranking import metrics_of, rank_tiles
from tilesearch.engines.base import Deadline, Request, Status
from tilesearch.engines.registry import engine
from tilesearch.errors import InfeasibleError, Issue
from tilesearch.ledger import Bound
from tilesearch.ledger.cost import TIE, Work, bounds_s, compute_s
from tilesearch.program.form import Program
from tilesearch.rules.columns import ColumnEvaluator
from tilesearch.rules.geometry import Geometry
from tilesearch.specs.problems import Problem

CUT_SHORT = "stopped by the time limit"
"""How an answer begins to say that not all tiles were seen."""


@dataclass(frozen=True)
class Choice:
    """A tile, what its launch does, and the least time that its grid leaves. Unit: s."""

    tile: dict[str, int]
    metrics: Metrics
    work: Work
    time_s: float


class TileSet:
    """Every tile of a problem that fits, with the least time of each: ``max(memory, L2, compute) / fill``.

    `splits` opens the split variable to these values, whatever the problem's space says. Raises
    `InfeasibleError` where nothing fits.
    """

    def __init__(self, problem: Problem, program: Program, bound: Bound, splits: tuple[int, ...] = ()) -> None:
        self.bound = bound
        model = model_of(problem)
        split = program.split
        if splits and split is not None:
            model = model.with_domains({split.variable: splits})
        self.model = model
        self.split = split.variable if split is not None and split.variable in model.names else None
        outcome = engine("vector").enumerate(Request(model, deadline=Deadline(problem.search.time_limit_s)))
        self.tiles = outcome.tiles
        self.complete = outcome.status in (Status.COMPLETE, Status.INFEASIBLE)
        if not len(self.tiles) and not self.complete:
            raise TimeoutError(f"{CUT_SHORT} before a tile was found")
        if not len(self.tiles):
            raise InfeasibleError(Issue("no tile fits", "space", problem.source, "`tilesearch explain` says why"))
        self.sms = int(model.constants["sm_count"])
        geometry = Geometry(program, frozenset(model.names))
        read = ColumnEvaluator(
            {name: self.tiles[:, place] for place, name in enumerate(model.names)}, model.domains, model.ranges
        )
        rows = (len(self.tiles),)
        self.grid, self.traffic, self.partial = (
            np.broadcast_to(read(tree), rows).astype(np.float64)
            for tree in (model.metric("grid"), model.metric("traffic_bytes"), geometry.partial_bytes())
        )
        self.times = self._times()

    def _times(self) -> NDArray[np.float64]:
        rates, ledger = self.bound.rates, self.bound.ledger
        compute = compute_s(ledger.flops_by_unit, rates)
        return bounds_s(ledger.bytes + self.partial, self.traffic, compute, self.grid, rates, self.sms)

    def alike(self, tile: Mapping[str, int], free: Collection[str]) -> list[dict[str, int]]:
        """The tiles that differ from `tile` in the variables `free` at most."""
        rows = np.ones(len(self.tiles), dtype=bool)
        for place, name in enumerate(self.model.names):
            if name not in free:
                rows &= self.tiles[:, place] == tile[name]
        return [dict(zip(self.model.names, map(int, row), strict=True)) for row in self.tiles[rows]]

    def best(self, split: int | None = None) -> Choice | None:
        """The tile with the least time, of those with the least traffic; with `split`, among its tiles."""
        rows = np.arange(len(self.tiles))
        if split is not None and self.split is not None:
            rows = rows[self.tiles[:, self.model.names.index(self.split)] == split]
        if not len(rows):
            return None
        rows = rows[self.times[rows] <= self.times[rows].min() * TIE]
        rows = rows[self.traffic[rows] == self.traffic[rows].min()]
        chosen = rank_tiles(self.model, self.tiles[rows], self.model.metric("traffic_bytes"), 1, True).tiles[0]
        place = int(rows[np.flatnonzero((self.tiles[rows] == chosen).all(axis=1))[0]])
        tile = {name: int(value) for name, value in zip(self.model.names, chosen, strict=True)}
        work = Work(
            memory=self.bound.ledger.bytes + int(self.partial[place]),
            cached=int(self.traffic[place]),
            flops=self.bound.ledger.flops_by_unit,
            grid=int(self.grid[place]),
        )
        return Choice(tile, metrics_of(self.model, tile), work, float(self.times[place]))
