"""The vector engine: complete enumeration on numpy columns.

Rules are joined in rule order: the table of surviving partial tiles is extended by the variables that the
next rule reads, the rule's truth is looked up, and what it rejects is counted under it, times the values of
the variables not yet joined. Each rule is evaluated once for each distinct setting of the variables it reads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesearch.engines.base import Outcome, Request, Status, Tiles, empty_tiles
from tilesearch.errors import UnsupportedError
from tilesearch.rules.columns import ColumnEvaluator
from tilesearch.rules.evaluate import Domains, bounds
from tilesearch.rules.expr import Expr
from tilesearch.rules.model import Model, Rule

MAX_ROWS = 50_000_000
"""Most tiles that are listed; a larger set is left to the solver engines."""

_CHUNK = 1 << 21
_GRID = 1 << 22

Indices = NDArray[Any]


@dataclass
class _Table:
    """Partial tiles: one column of domain positions for each variable that has been joined."""

    columns: dict[str, Indices]
    rows: int


class _StoppedError(Exception):
    """The deadline came while a table was being extended."""


class VectorEngine:
    """Lists everything; the default wherever the surviving set can be held in memory."""

    name = "vector"

    def enumerate(self, request: Request) -> Outcome:
        """Every tile that satisfies the enforced rules, with each rejected candidate counted under its rule."""
        model = request.model
        join = _Join(model, request)
        rejected: dict[str, int] = {}
        try:
            for place, rule in enumerate(model.hard):
                request.report(f"rule {rule.id}", place / max(1, len(model.rules)))
                rejected[rule.id] = join.keep(rule)
            unknown = self._undecided(join, model)
            hard_feasible = join.size
            if not request.allow_soft:
                for rule in model.soft:
                    join.keep(rule)
            soft = self._soft(join, model, hard_feasible, request)
            tiles = join.tiles()
        except _StoppedError:
            return self._partial(request)
        status = Status.COMPLETE if len(tiles) else Status.INFEASIBLE
        return Outcome(status, tiles, True, join.size - (soft if request.allow_soft else 0), soft, unknown, rejected)

    @staticmethod
    def _undecided(join: _Join, model: Model) -> int:
        """Takes the tiles out that an undecidable rule applies to, and counts them."""
        before = join.size
        for rule in model.undecided:
            join.keep_where(rule.when, wanted=False)
        return before - join.size

    @staticmethod
    def _soft(join: _Join, model: Model, hard_feasible: int, request: Request) -> int:
        if not model.soft:
            return 0
        if not request.allow_soft:
            return hard_feasible - join.size
        fork = join.fork()
        for rule in model.soft:
            fork.keep(rule)
        return hard_feasible - fork.size

    def _partial(self, request: Request) -> Outcome:
        """After a stop: what a shallow look at the first tiles gives, so that something is in hand."""
        tiles = _Join(request.model, request).sample(request.enforced())
        status = Status.FEASIBLE if len(tiles) else Status.UNKNOWN
        return Outcome(status, tiles, False, notes=["stopped by a limit before the list was complete"])

    def best(self, request: Request, key: Expr, k: int) -> Outcome:
        """The tiles up to the k-th best key, from the complete list."""
        outcome = self.enumerate(request)
        if outcome.status is Status.COMPLETE and len(outcome.tiles) > k:
            names = request.model.names
            columns = {name: outcome.tiles[:, i] for i, name in enumerate(names)}
            values = np.broadcast_to(ColumnEvaluator(columns, request.model.domains)(key), (len(outcome.tiles),))
            threshold = np.partition(values, k - 1)[k - 1] if values.dtype != object else sorted(values)[k - 1]
            outcome.tiles = outcome.tiles[values <= threshold]
            outcome.listed, outcome.status = False, Status.OPTIMAL
        return outcome

    def first(self, request: Request) -> Outcome:
        """One tile from the complete list."""
        outcome = self.enumerate(request)
        outcome.tiles = outcome.tiles[:1]
        return outcome

    def core(self, request: Request, rules: Sequence[Rule]) -> tuple[Rule, ...] | None:
        """The rules up to the one that empties the table; None when a tile survives them all."""
        join = _Join(request.model, request)
        taken = []
        try:
            for rule in rules:
                taken.append(rule)
                join.keep(rule)
                if join.size == 0:
                    return tuple(taken)
        except _StoppedError:
            raise TimeoutError("the time limit ended the search for a conflict") from None
        return None


class _Join:
    """The table of partial tiles, and the variables not yet joined."""

    def __init__(self, model: Model, request: Request) -> None:
        self.model = model
        self.request = request
        self.domains: Domains = model.domains
        self.values = {name: np.asarray(domain, dtype=np.int64) for name, domain in model.domains.items()}
        self.table = _Table({}, 1)
        self._bounds = model.ranges

    def fork(self) -> _Join:
        """A copy whose further joins leave this one alone."""
        other = _Join(self.model, self.request)
        other.table = _Table(dict(self.table.columns), self.table.rows)
        return other

    @property
    def size(self) -> int:
        """Tiles that the table stands for: its rows times the values of the variables not yet joined."""
        rest = prod(len(d) for name, d in self.domains.items() if name not in self.table.columns)
        return self.table.rows * rest

    def keep(self, rule: Rule) -> int:
        """Drop what breaks `rule`; the number of candidates dropped."""
        before = self.size
        self.keep_where(rule.holds, wanted=True)
        return before - self.size

    def keep_where(self, test: Expr | None, wanted: bool) -> None:
        """Keep the rows where `test` is `wanted`; None counts as true everywhere."""
        if self.table.rows == 0:
            return
        low, high = (1, 1) if test is None else bounds(test, self.domains, self._bounds)
        if low == high:
            if bool(low) is not wanted:
                self.table = _Table({n: c[:0] for n, c in self.table.columns.items()}, 0)
            return
        if test is not None:
            self._filter(test, wanted)

    def _filter(self, test: Expr, wanted: bool) -> None:
        scope = [name for name in self.model.names if name in test.variables]
        new = [name for name in scope if name not in self.table.columns]
        width = prod(len(self.domains[name]) for name in new)
        truth = self._truth(test, scope, width)
        chunk = max(1, _CHUNK // width)
        kept: list[dict[str, Indices]] = []
        total = 0
        for start in range(0, self.table.rows, chunk):
            if self.request.deadline.expired:
                raise _StoppedError
            part = self._extend(new, width, start, min(start + chunk, self.table.rows))
            mask = truth(part)
            part = {name: column[mask if wanted else ~mask] for name, column in part.items()}
            kept.append(part)
            total += len(next(iter(part.values())))
            if total > MAX_ROWS:
                raise UnsupportedError(f"more than {MAX_ROWS} partial tiles survive: too many to list")
        columns = {name: np.concatenate([p[name] for p in kept]) for name in kept[0]}
        self.table = _Table(columns, total)

    def _extend(self, new: Sequence[str], width: int, start: int, stop: int) -> dict[str, Indices]:
        """Rows start..stop crossed with every value of the variables `new`, the last one fastest."""
        rows = stop - start
        part = {name: np.repeat(column[start:stop], width) for name, column in self.table.columns.items()}
        inner = width
        for name in new:
            size = len(self.domains[name])
            inner //= size
            index = np.arange(size, dtype=_index_type(size))
            part[name] = np.tile(np.repeat(index, inner), rows * (width // (size * inner)))
        return part

    def _truth(self, test: Expr, scope: Sequence[str], width: int) -> Callable[[dict[str, Indices]], NDArray[np.bool_]]:
        """How to read `test` on rows: from a table over the grid of its scope, or by evaluating the rows."""
        shape = tuple(len(self.domains[name]) for name in scope)
        if prod(shape) <= max(1 << 14, min(_GRID, 2 * self.table.rows * width)):
            axes = np.ix_(*(self.values[name] for name in scope))
            grid = ColumnEvaluator(dict(zip(scope, axes, strict=True)), self.domains)(test)
            flat = np.ascontiguousarray(np.broadcast_to(grid, shape)).ravel()
            return lambda part: flat[_flat_index([part[name] for name in scope], shape)]

        def direct(part: dict[str, Indices]) -> NDArray[np.bool_]:
            columns = {name: self.values[name][part[name]] for name in scope}
            size = len(next(iter(part.values())))
            return np.broadcast_to(ColumnEvaluator(columns, self.domains)(test), (size,))

        return direct

    def tiles(self) -> Tiles:
        """The surviving tiles with all variables joined, as values in model order."""
        if self.size == 0:
            return empty_tiles(self.model)
        if self.size > MAX_ROWS:
            raise UnsupportedError(f"{self.size} tiles survive, at most {MAX_ROWS} are listed")
        missing = [name for name in self.model.names if name not in self.table.columns]
        width = prod(len(self.domains[name]) for name in missing)
        columns = self._extend(missing, width, 0, self.table.rows) if missing else self.table.columns
        return np.stack([self.values[name][columns[name]] for name in self.model.names], axis=1)

    def sample(self, rules: Sequence[Rule], limit: int = 100_000) -> Tiles:
        """Tiles among `limit` evenly spread candidates that satisfy `rules`."""
        sizes = [len(self.domains[name]) for name in self.model.names]
        whole = prod(sizes)
        picks = [i * whole // min(limit, whole) for i in range(min(limit, whole))]
        columns: dict[str, Indices] = {}
        for name, size in zip(reversed(self.model.names), reversed(sizes), strict=True):
            columns[name] = self.values[name][np.array([p % size for p in picks])]
            picks = [p // size for p in picks]
        read = ColumnEvaluator(columns, self.domains)
        mask = np.ones(len(picks), dtype=bool)
        for rule in rules:
            mask &= read(rule.holds)
        return np.stack([columns[name][mask] for name in self.model.names], axis=1)


def _index_type(size: int) -> type[np.unsignedinteger[Any]]:
    return np.uint8 if size <= 1 << 8 else np.uint16 if size <= 1 << 16 else np.uint32


def _flat_index(columns: Sequence[Indices], shape: tuple[int, ...]) -> Indices:
    flat: Indices = columns[0].astype(np.int32)
    for column, size in zip(columns[1:], shape[1:], strict=True):
        flat *= size
        flat += column
    return flat
