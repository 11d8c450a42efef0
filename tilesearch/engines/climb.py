"""From the least key to the k-th: a proved optimum, then windows above it."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from tilesearch.engines.base import Tiles
from tilesearch.engines.keys import Key
from tilesearch.engines.lowering import Limits, points
from tilesearch.engines.narrowing import Problem, narrow
from tilesearch.engines.session import Found, Session, blank_rows
from tilesearch.errors import UnsupportedError
from tilesearch.rules.expr import Expr

_LISTED_AT_ONCE = 2048  # rows that a step above the optimum may bring before the step is made smaller
_LEVELS = 256  # values of a ranked key that a solver minimises over at once


class Lister(Protocol):
    """What a climb needs of the search that it is part of."""

    limits: Limits

    def open(self, problem: Problem) -> Session:
        """Load a problem into the solver."""
        ...

    def every(self, problem: Problem, most: int | None = None) -> Found:
        """All rows of a problem, or more than `most` of them."""
        ...


class Climb:
    """The least key first, then windows above it until `need` rows are known."""

    def __init__(self, search: Lister, problem: Problem, need: int) -> None:
        self.search = search
        self.problem = problem
        self.need = need
        self.exhausted = False  # every row of the problem was found
        self.found = Found(np.empty((0, len(problem.domains)), dtype=np.int64))

    def run(self, expr: Expr) -> None:
        """Fill `found`; ranks stand in for a key that the solver's integers cannot hold."""
        limits = self.search.limits
        size = points(expr, self.problem.domains)
        ranked = size <= limits.key
        try:
            self._climb(Key(expr, self.problem.domains, limits, ranked))
        except UnsupportedError:
            if ranked or size > limits.last_resort:
                raise
            self._climb(Key(expr, self.problem.domains, limits, True))

    def _climb(self, key: Key) -> None:
        low = self._optimum(key)
        if low is None:
            return
        proved: list[Tiles] = []
        count = width = 0
        while count < self.need and low <= key.high:
            high = min(key.high, low + width)
            most = None if low == high else max(_LISTED_AT_ONCE, 4 * self.need)
            found = self._between(key, low, high, most)
            if not found.done and most is not None and len(found.rows) > most:
                width = self._narrower(key, low, high, self.need - count, found.rows)
                continue
            proved.append(found.rows)
            self.found.rows = np.concatenate(proved)
            if not found.done:
                return
            count += len(found.rows)
            width = max(2 * width + 1, key.step(low))
            low = high + 1
        self.exhausted = low > key.high
        self._cut(key)

    def _optimum(self, key: Key) -> int | None:
        """The least score, proved; None when there is no row or the deadline came first.

        A ranked key is searched from below in growing windows, halved once a row is known, because a
        solver's presolve suffers from an objective with many levels.
        """
        low, size, known = key.low, _LEVELS, None
        while low <= key.high:
            if not key.ranked:
                high = key.high
            elif known is None:
                high, size = min(key.high, low + size - 1), size * 8
            else:
                high = known if known - low < _LEVELS else (low + known) // 2
            exact = not key.ranked or high - low < _LEVELS
            found = self._probe(key, low, high, exact)
            if len(found.rows):
                self.found.rows = found.rows
                known = key.scores(found.rows[-1:])[0]
            if not found.done:
                return None
            if not len(found.rows):
                low = high + 1
            elif exact:
                return known
        self.found.done = self.exhausted = True
        return None

    def _probe(self, key: Key, low: int, high: int, exact: bool) -> Found:
        """The least row of a window, or any."""
        problem = self._window(key, low, high)
        if problem is None:
            return Found(self.found.rows[:0], True)
        if not problem.names:
            return Found(blank_rows(problem, 1), True)
        session = self.search.open(problem)
        return session.least(key.objective(problem.domains, low, high)) if exact else session.first()

    def _window(self, key: Key, low: int, high: int) -> Problem | None:
        relations, rules = key.window(low, high)
        return narrow(self.problem, self.search.limits, rules, relations)

    def _between(self, key: Key, low: int, high: int, most: int | None) -> Found:
        problem = self._window(key, low, high)
        return Found(self.found.rows[:0], True) if problem is None else self.search.every(problem, most)

    def _narrower(self, key: Key, low: int, high: int, need: int, rows: Tiles) -> int:
        """A width that is known to suffice, or half of what brought too many rows."""
        enough = sorted(key.scores(rows))[need - 1]
        return (enough if enough < high else (low + high) // 2) - low

    def _cut(self, key: Key) -> None:
        """Keep the rows up to the key of the `need`-th."""
        scores = np.array(key.scores(self.found.rows), dtype=object)
        if len(scores) > self.need:
            keep = scores <= np.sort(scores)[self.need - 1]
            self.exhausted = self.exhausted and bool(keep.all())
            self.found.rows = self.found.rows[keep.astype(bool)]
        self.found.done = True
