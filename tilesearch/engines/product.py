"""A set of tiles as a product of tables: variables that no rule ties together stay apart.

Tables hold positions in the domains, a column a variable. A relation joins the tables that it touches and
keeps the rows that it allows; what it does not touch is never written out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesearch.engines.base import Deadline, Tiles
from tilesearch.engines.lowering import Domains, Grid, points, tabulate
from tilesearch.errors import UnsupportedError
from tilesearch.rules.columns import PIECE, ColumnEvaluator, read_rows
from tilesearch.rules.evaluate import Ranges, evaluate
from tilesearch.rules.expr import Expr

MAX_ROWS = 50_000_000
"""Most rows that one table or one list of tiles may have; a larger set is left to the solver engines."""

_CELLS = 1 << 22  # of a truth table that is looked up at once
_GRID = 1 << 20  # points at which a ranking is written out

Positions = NDArray[Any]
Mask = NDArray[np.bool_]


class StoppedError(Exception):
    """The deadline came while tables were being joined."""


@dataclass(frozen=True)
class Table:
    """Rows of positions in the domains, one column a variable."""

    columns: Mapping[str, Positions]
    rows: int

    def take(self, rows: Mask | slice) -> Table:
        """Some of the rows."""
        columns = {name: column[rows] for name, column in self.columns.items()}
        return Table(columns, len(next(iter(columns.values()))))


class Product:
    """Disjoint tables that cover all variables; the tiles are all combinations of their rows."""

    def __init__(self, domains: Domains, deadline: Deadline, ranges: Ranges | None = None) -> None:
        self.domains = domains
        self.deadline = deadline
        self.ranges: Ranges = {} if ranges is None else ranges
        self.values = {name: np.asarray(domain, dtype=np.int64) for name, domain in domains.items()}
        self.tables = [Table({name: _positions(len(domain))}, len(domain)) for name, domain in domains.items()]

    def fork(self) -> Product:
        """A copy whose further relations leave this one alone."""
        other = Product(self.domains, self.deadline, self.ranges)
        other.tables = list(self.tables)
        return other

    @property
    def size(self) -> int:
        """How many tiles there are."""
        return prod(table.rows for table in self.tables)

    def clear(self) -> None:
        """Keep nothing."""
        self.tables = [table.take(slice(0)) for table in self.tables]

    def head(self) -> Product:
        """The first tile alone; empty if there is none."""
        other = self.fork()
        other.tables = [table.take(slice(1)) for table in self.tables]
        return other

    def touched(self, names: Iterable[str]) -> list[Table]:
        """The tables that hold any of `names`, largest first."""
        wanted = set(names)
        return sorted((t for t in self.tables if wanted & t.columns.keys()), key=lambda t: -t.rows)

    def keep_grid(self, grid: Grid) -> None:
        """Keep the tiles where the grid is true."""
        if not grid.names:
            if not grid.values.all():
                self.clear()
            return
        base, *others = self.touched(grid.names)
        if others:
            self._replace([base, *others], _join_by_grid(self, grid, base, others))
        else:
            self._replace([base], base.take(grid.values.ravel()[_flat(base, grid)]))

    def keep_tree(self, test: Expr) -> None:
        """As `keep_grid` for a test whose grid is too large: it is evaluated on the rows themselves."""
        if not test.variables:
            if not evaluate(test, {}):
                self.clear()
            return
        base, *others = self.touched(test.variables)
        rest = _cross(others)
        names = [name for name in self.domains if name in test.variables]
        width = rest.rows
        inner = {name: self.values[name][rest.columns[name]] for name in names if name in rest.columns}

        def truth(start: int, stop: int) -> Mask:
            outer = {name: base.columns[name][start:stop, None] for name in names if name in base.columns}
            columns = inner | {name: self.values[name][positions] for name, positions in outer.items()}
            mask: Mask = ColumnEvaluator(columns, self.domains, self.ranges)(test)
            return np.broadcast_to(mask, (stop - start, width))

        self._replace([base, *others], _join(self, base, rest, truth, min(_CELLS, PIECE)))

    def joined(self, names: Iterable[str]) -> Table:
        """All combinations of the tables that hold `names`, as one table."""
        return _cross(self.touched(names))

    def value_counts(self) -> dict[str, list[int]]:
        """For each variable, how many tiles take each value of its domain."""
        size = self.size
        found: dict[str, list[int]] = {}
        for table in self.tables:
            times = size // table.rows if table.rows else 0
            for name, column in table.columns.items():
                found[name] = [int(n) * times for n in np.bincount(column, minlength=len(self.domains[name]))]
        return found

    def least(self, key: Expr, count: int) -> list[int]:
        """The `count` smallest values of `key` over all tiles, ascending, one for each tile that has it."""
        size = self.size
        if size == 0:
            return []
        if not key.variables:
            return [int(evaluate(key, {}))] * min(size, count)
        table = self.joined(key.variables)
        times = size // table.rows
        values, repeats = self._key_values(key, table)
        smallest: list[int] = []
        for place in np.argsort(values, kind="stable"):
            smallest += [int(values[place])] * min(int(repeats[place]) * times, count - len(smallest))
            if len(smallest) == count:
                break
        return smallest

    def _key_values(self, key: Expr, table: Table) -> tuple[Positions, Positions]:
        """Values of `key` on the rows of a table, and how often each comes."""
        if points(key, self.domains) <= _GRID:
            grid = tabulate(key, self.domains, self.ranges)
            if not grid.names:
                return grid.values.reshape(1), np.array([table.rows])
            repeats = np.bincount(_flat(table, grid), minlength=grid.values.size)
            there = np.flatnonzero(repeats)
            return grid.values.ravel()[there], repeats[there]
        columns = {name: self.values[name][table.columns[name]] for name in key.variables}
        return np.unique(read_rows(key, columns, self.domains, table.rows, self.ranges), return_counts=True)

    def _replace(self, old: Sequence[Table], new: Table) -> None:
        self.tables = [table for table in self.tables if not any(table is gone for gone in old)]
        self.tables.append(new)

    def check_rows(self, rows: int) -> None:
        """Refuse what does not fit in memory, and stop at the deadline."""
        if self.deadline.expired:
            raise StoppedError
        if rows > MAX_ROWS:
            raise UnsupportedError(f"{rows} tiles or parts of tiles survive, at most {MAX_ROWS} are listed")

    def tiles(self) -> Tiles:
        """All tiles as values, in the order of the variables, column by column in memory."""
        size = self.size
        self.check_rows(size)
        names = list(self.domains)
        tiles = np.empty((size, len(names)), dtype=np.int64, order="F")
        if size == 0:
            return tiles
        inner = size
        for table in self.tables:
            inner //= table.rows
            for name, column in table.columns.items():
                target = tiles[:, names.index(name)].reshape(-1, table.rows, inner)
                target[:] = self.values[name][column][None, :, None]
        return tiles


def _positions(size: int) -> Positions:
    return np.arange(size, dtype=np.uint8 if size <= 1 << 8 else np.uint16 if size <= 1 << 16 else np.uint32)


def _flat(table: Table, grid: Grid) -> Positions:
    """Where each row of `table`, which holds all variables of `grid`, stands in the flattened grid."""
    return _flat_of([table.columns[name] for name in grid.names], grid.values.shape)


def _flat_of(columns: Sequence[Positions], shape: Sequence[int]) -> Positions:
    flat: Positions = columns[0].astype(np.int32)
    for column, size in zip(columns[1:], shape[1:], strict=True):
        flat *= size
        flat += column
    return flat


def _cross(tables: Sequence[Table]) -> Table:
    """All combinations of the tables' rows, the last table fastest; without tables, one row of nothing."""
    if len(tables) == 1:
        return tables[0]
    rows = prod(table.rows for table in tables)
    if rows > MAX_ROWS:
        raise UnsupportedError(f"{rows} parts of tiles survive, at most {MAX_ROWS} are listed")
    columns: dict[str, Positions] = {}
    outer, inner = 1, rows
    for table in tables:
        inner = inner // table.rows if table.rows else 0
        columns |= {name: np.tile(np.repeat(column, inner), outer) for name, column in table.columns.items()}
        outer *= table.rows
    return Table(columns, rows)


def _join_by_grid(product: Product, grid: Grid, base: Table, others: Sequence[Table]) -> Table:
    """The rows of `base` with the rows of `others` that the grid allows."""
    rest = _cross(others)
    mine = [name for name in grid.names if name in base.columns]
    theirs = [name for name in grid.names if name not in base.columns]
    sizes = dict(zip(grid.names, grid.values.shape, strict=True))
    allowed = grid.values.transpose([grid.names.index(name) for name in (*mine, *theirs)])
    allowed = allowed.reshape(prod(sizes[name] for name in mine), -1)
    codes = _flat_of([rest.columns[name] for name in theirs], [sizes[name] for name in theirs])
    keys = _flat_of([base.columns[name] for name in mine], [sizes[name] for name in mine])
    if len(allowed) <= base.rows and len(allowed) * rest.rows <= _CELLS:
        return _join_by_key(product, base, rest, keys, allowed[:, codes])
    return _join(product, base, rest, lambda start, stop: allowed[keys[start:stop, None], codes], _CELLS)


def _join(product: Product, base: Table, rest: Table, truth: Callable[[int, int], Mask], cells: int) -> Table:
    """Rows of `base` and `rest` together, where the truth over (some rows of base) x rest says so."""
    step = max(1, cells // max(1, rest.rows))
    counts, codes = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int32)]
    total = 0
    for start in range(0, base.rows, step):
        mask = truth(start, min(start + step, base.rows))
        counts.append(np.count_nonzero(mask, axis=1))
        total += int(counts[-1].sum())
        product.check_rows(total)
        codes.append(np.nonzero(mask)[1].astype(np.int32))
    return _combined(base, rest, np.concatenate(counts), np.concatenate(codes))


def _join_by_key(product: Product, base: Table, rest: Table, keys: Positions, allowed: Mask) -> Table:
    """As `_join` where many rows of `base` share a key: what a key allows is looked up once."""
    per_key = np.count_nonzero(allowed, axis=1)
    starts = np.cumsum(per_key) - per_key
    listed = np.nonzero(allowed)[1].astype(np.int32)
    counts = per_key[keys]
    total = int(counts.sum())
    product.check_rows(total)
    offsets = starts[keys] - (np.cumsum(counts) - counts)
    codes = listed[np.repeat(offsets, counts) + np.arange(total)]
    return _combined(base, rest, counts, codes)


def _combined(base: Table, rest: Table, counts: Positions, codes: Positions) -> Table:
    columns = {name: np.repeat(column, counts) for name, column in base.columns.items()}
    columns |= {name: column[codes] for name, column in rest.columns.items()}
    return Table(columns, len(codes))
