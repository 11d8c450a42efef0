"""The vector engine: complete enumeration on numpy columns.

Where rejected candidates are to be counted, rules are applied in rule order, each to the product of tables
that the rules before it left; what a rule rejects is the size before less the size after. Otherwise domains
are narrowed first and relations are joined from the most selective up. Either way a rule is evaluated once
for each distinct setting of the variables it reads, never once for each candidate.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesearch.engines.base import Outcome, Request, Status, Tiles, empty_tiles
from tilesearch.engines.lowering import Grid, Limits, points, tabulate
from tilesearch.engines.narrowing import conjuncts, narrow, pose
from tilesearch.engines.product import MAX_ROWS, Product, StoppedError
from tilesearch.rules.columns import ColumnEvaluator, read_rows
from tilesearch.rules.evaluate import bounds
from tilesearch.rules.expr import FALSE, Expr, negate
from tilesearch.rules.model import Model, Rule

__all__ = ["MAX_ROWS", "VectorEngine"]

_GRID = 1 << 20  # points of the largest truth table
_SMALL_GRID = 1 << 14  # a truth table of so many points costs less than thinking about it
_SHARED_GRID = 1 << 16  # points up to which the parts of rules are kept for the rules after them
_SHARED_AXES = 24  # numpy allows only some dozens
_TREE_DENSITY = 0.5  # what a test is guessed to keep whose truth table is too large to count


class VectorEngine:
    """Lists everything; the default wherever the surviving set can be held in memory."""

    name = "vector"

    def enumerate(self, request: Request) -> Outcome:
        """Every tile that satisfies the enforced rules, with each rejected candidate counted under its rule."""
        try:
            return _counted(request) if request.attribute else _listed(request)
        except StoppedError:
            return _partial(request)

    def product(self, request: Request) -> Product:
        """Every tile that satisfies the enforced rules, not written out. Raises `StoppedError` at the deadline."""
        return _product(request)

    def best(self, request: Request, key: Expr, k: int) -> Outcome:
        """The tiles up to the k-th best key, from the complete list."""
        outcome = self.enumerate(request)
        if outcome.status is Status.COMPLETE and len(outcome.tiles) > k:
            names = request.model.names
            columns = {name: outcome.tiles[:, i] for i, name in enumerate(names)}
            values = read_rows(key, columns, request.model.domains, len(outcome.tiles), request.model.ranges)
            threshold = np.partition(values, k - 1)[k - 1] if values.dtype != object else sorted(values)[k - 1]
            outcome.tiles = outcome.tiles[values <= threshold]
            outcome.listed, outcome.status = False, Status.OPTIMAL
        return outcome

    def first(self, request: Request) -> Outcome:
        """One tile of the product of tables."""
        try:
            tiles = _product(request).head().tiles()
        except StoppedError:
            return _partial(request)
        return Outcome(Status.FEASIBLE if len(tiles) else Status.INFEASIBLE, tiles, listed=not len(tiles))

    def core(self, request: Request, rules: Sequence[Rule]) -> tuple[Rule, ...] | None:
        """The rules up to the one that empties the table; None when a tile survives them all."""
        work = _RuleByRule(request)
        taken = []
        try:
            for rule in rules:
                taken.append(rule)
                work.keep(rule.holds)
                if work.size == 0:
                    return tuple(taken)
        except StoppedError:
            raise TimeoutError("the time limit ended the search for a conflict") from None
        return None


def _counted(request: Request) -> Outcome:
    """The list, and what each hard rule rejects of what the rules before it left."""
    model, work = request.model, _RuleByRule(request)
    rejected: dict[str, int] = {}
    for place, rule in enumerate(model.hard):
        request.report(f"rule {rule.id}", place / max(1, len(model.rules)))
        rejected[rule.id] = work.keep(rule.holds)
    unknown = sum(work.keep(_does_not_apply(rule)) for rule in model.undecided)
    fitting = work.fork() if request.allow_soft else work
    soft = sum(fitting.keep(rule.holds) for rule in model.soft)
    tiles = work.product.tiles()
    status = Status.COMPLETE if len(tiles) else Status.INFEASIBLE
    return Outcome(status, tiles, True, fitting.size, soft, unknown, rejected)


def _listed(request: Request) -> Outcome:
    tiles = _product(request).tiles()
    return Outcome(Status.COMPLETE if len(tiles) else Status.INFEASIBLE, tiles, True, feasible=len(tiles))


def _partial(request: Request) -> Outcome:
    """After a stop: what a shallow look at the candidates gives, so that something is in hand."""
    tiles = _sample(request.model, request.enforced())
    status = Status.FEASIBLE if len(tiles) else Status.UNKNOWN
    return Outcome(status, tiles, False, notes=["stopped by a limit before the list was complete"])


def _does_not_apply(rule: Rule) -> Expr:
    """Where a rule that cannot be decided leaves the tile alone."""
    return FALSE if rule.when is None else negate(rule.when)


class _RuleByRule:
    """Rules applied in the caller's order, with the parts that they share evaluated once."""

    def __init__(self, request: Request) -> None:
        self.model = request.model
        self.product = Product(self.model.domains, request.deadline, self.model.ranges)
        self.axes = [name for name, domain in self.model.domains.items() if len(domain) > 1]
        self.shared = ColumnEvaluator(self._columns(), self.model.domains, self.model.ranges)

    def _columns(self) -> dict[str, NDArray[np.int64]]:
        shape = {name: [-1 if other == name else 1 for other in self.axes] for name in self.axes}
        return {name: values.reshape(shape.get(name, [])) for name, values in self.product.values.items()}

    def fork(self) -> _RuleByRule:
        """A copy whose further rules leave this one alone."""
        other = object.__new__(_RuleByRule)
        other.__dict__ |= self.__dict__ | {"product": self.product.fork()}
        return other

    @property
    def size(self) -> int:
        """Tiles that are left."""
        return self.product.size

    def keep(self, test: Expr) -> int:
        """Drop the tiles where `test` is false; how many there were."""
        before = self.size
        for part in conjuncts([test]):
            if self.size == 0:
                break
            low, high = bounds(part, self.model.domains, self.model.ranges)
            if high == 0:
                self.product.clear()
            elif low == 0:
                self._keep(part)
        return before - self.size

    def _keep(self, test: Expr) -> None:
        cells = points(test, self.model.domains)
        rows = prod(table.rows for table in self.product.touched(test.variables))
        if cells <= max(_SMALL_GRID, min(_GRID, 2 * rows)):
            self.product.keep_grid(self._grid(test, cells))
        else:
            self.product.keep_tree(test)

    def _grid(self, test: Expr, cells: int) -> Grid:
        if cells > _SHARED_GRID or len(self.axes) > _SHARED_AXES:
            return tabulate(test, self.model.domains, self.model.ranges)
        values = self.shared(test)
        names = tuple(name for name in self.axes if name in test.variables)
        full = [len(self.model.domains[name]) if name in names else 1 for name in self.axes]
        return Grid(names, np.broadcast_to(values, full).reshape([len(self.model.domains[name]) for name in names]))


def _product(request: Request) -> Product:
    """The enforced rules and the undecidable ones, joined from the most selective relation up."""
    model = request.model
    tests = [rule.holds for rule in request.enforced()] + [_does_not_apply(rule) for rule in model.undecided]
    problem = narrow(pose(model.domains), Limits(), tests)
    product = Product(model.domains if problem is None else problem.domains, request.deadline)
    if problem is None:
        product.clear()
        return product
    waiting: list[tuple[float, Grid | Expr]] = [(float(grid.values.mean()), grid) for grid in problem.relations]
    waiting += [(_TREE_DENSITY, tree) for tree in problem.rest]
    count = len(waiting)
    while waiting and product.size:
        request.report("joining the rules", 1 - len(waiting) / count)
        rows = [density * prod(t.rows for t in product.touched(_names(part))) for density, part in waiting]
        part = waiting.pop(rows.index(min(rows)))[1]
        if isinstance(part, Grid):
            product.keep_grid(part)
        else:
            product.keep_tree(part)
    return product


def _names(part: Grid | Expr) -> Sequence[str] | frozenset[str]:
    return part.names if isinstance(part, Grid) else part.variables


def _sample(model: Model, rules: Sequence[Rule], limit: int = 100_000) -> Tiles:
    """Tiles among `limit` evenly spread candidates that satisfy `rules`."""
    sizes = [len(domain) for domain in model.domains.values()]
    whole = prod(sizes)
    picks = [i * whole // min(limit, whole) for i in range(min(limit, whole))]
    columns: dict[str, NDArray[Any]] = {}
    for name, size in zip(reversed(model.names), reversed(sizes), strict=True):
        columns[name] = np.asarray(model.domains[name], dtype=np.int64)[np.array([p % size for p in picks])]
        picks = [p // size for p in picks]
    read = ColumnEvaluator(columns, model.domains, model.ranges)
    mask = np.ones(len(picks), dtype=bool)
    for rule in rules:
        mask &= read(rule.holds)
    if not mask.any():
        return empty_tiles(model)
    return np.stack([columns[name][mask] for name in model.names], axis=1)
