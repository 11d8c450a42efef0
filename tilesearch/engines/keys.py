"""A ranking as a solver sees it: the value itself, or its position among the values that occur."""

from __future__ import annotations

import numpy as np

from tilesearch.engines.base import Tiles
from tilesearch.engines.lowering import Domains, Grid, Limits, Plan, tabulate
from tilesearch.rules.columns import Column, ColumnEvaluator
from tilesearch.rules.expr import Expr, Named, all_of


class Key:
    """Scores of tiles: integers in ``low..high`` that order tiles as the key does.

    With `ranked`, a score is the position of the key's value among the values on the key's grid: no number
    is too large for that, and near scores are near in rank however far apart the values are.
    """

    def __init__(self, expr: Expr, domains: Domains, limits: Limits, ranked: bool) -> None:
        self.domains = domains
        self.ranked = ranked
        self._plan = Plan(domains, limits)
        self.expr = _stripped(expr, self._plan)
        self.low, self.high = 0, 0
        if ranked:
            self._grid = tabulate(self.expr, domains)
            self._levels: Column = np.unique(self._grid.values)
            self.high = len(self._levels) - 1
        else:
            self.low, self.high = self._plan.range(self.expr)

    def window(self, low: int, high: int) -> tuple[list[Grid], list[Expr]]:
        """What holds where the score lies in ``low..high``."""
        if self.ranked:
            lowest, highest = self._levels[low], self._levels[high]
            inside = (self._grid.values >= lowest) & (self._grid.values <= highest)
            return [Grid(self._grid.names, inside.astype(bool))], []
        return [], [all_of(self.expr >= low, self.expr <= high)]

    def objective(self, domains: Domains, low: int, high: int) -> Grid | Expr:
        """The score over narrower domains, for a solver that only looks at ``low..high``."""
        if not self.ranked:
            return self.expr
        grid = tabulate(self.expr, domains)
        scores = np.searchsorted(self._levels, grid.values)
        return Grid(grid.names, np.clip(scores, low, min(high + 1, self.high)))

    def scores(self, rows: Tiles) -> list[int]:
        """The score of each row."""
        columns = {name: rows[:, column] for column, name in enumerate(self.domains)}
        values = np.broadcast_to(ColumnEvaluator(columns, self.domains)(self.expr), [len(rows)])
        found = np.searchsorted(self._levels, values) if self.ranked else values
        return [int(v) for v in found]

    def step(self, score: int) -> int:
        """A first step upwards that is small beside `score`."""
        return 0 if self.ranked else abs(score) >> 8


def _stripped(expr: Expr, plan: Plan) -> Expr:
    """The key without what changes no order: added constants and positive factors."""
    while True:
        inner: Expr | None = None
        if isinstance(expr, Named):
            inner = expr.args[0]
        elif expr.op in ("add", "sub", "mul"):
            a, b = expr.args
            low, high = plan.range(b)
            if low == high and (expr.op != "mul" or low > 0):
                inner = a
            elif expr.op != "sub":
                low, high = plan.range(a)
                inner = b if low == high and (expr.op != "mul" or low > 0) else None
        if inner is None:
            return expr
        expr = inner
