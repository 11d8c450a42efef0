"""What a tree becomes before a solver sees it: tables over small grids, exact ranges, linear forms.

Both solvers are given the same plan, so a question of meaning (a masked branch, the sign of a divisor) is
settled once, here, and the solver modules hold encodings only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import numpy as np

from tilesearch.rules.columns import Column, ColumnEvaluator
from tilesearch.rules.evaluate import Ranges, bounds
from tilesearch.rules.expr import Const, Expr, Named, Table, Var, maximum, select, walk

Domains = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class Limits:
    """How many grid points may be written out.

    `function`: an integer node that becomes a table; `relation`: a Boolean node that becomes a decision
    diagram; `key`: a ranking that is replaced by the position of its values; `last_resort`: either of
    these, where a solver's arithmetic has refused the node.
    """

    function: int = 256
    relation: int = 1 << 20
    key: int = 1 << 17
    last_resort: int = 1 << 22


@dataclass(frozen=True)
class Grid:
    """A node's value at every point of its variables' domains: one axis a variable with several values."""

    names: tuple[str, ...]
    values: Column


@dataclass(frozen=True)
class Linear:
    """``sum(coefficient * atom) + constant``. An atom that is Boolean counts as 0 or 1."""

    terms: tuple[tuple[int, Expr], ...]
    constant: int


def points(node: Expr, domains: Domains) -> int:
    """How many points the grid of the node's variables has."""
    return prod(len(domains[name]) for name in node.variables)


def tabulate(node: Expr, domains: Domains, ranges: Ranges | None = None) -> Grid:
    """The node over its whole grid. Where a guard keeps it from dividing by zero, the value is arbitrary."""
    names = tuple(n for n in domains if n in node.variables and len(domains[n]) > 1)
    columns: dict[str, Column] = {}
    for name in node.variables:
        values = np.array(domains[name], dtype=np.int64)
        # A variable with one value needs no axis: numpy allows only some dozens of them.
        shape = [-1 if other == name else 1 for other in names] if name in names else []
        columns[name] = values.reshape(shape)
    result = ColumnEvaluator(columns, domains, ranges)(node)
    return Grid(names, np.broadcast_to(result, [len(domains[n]) for n in names]))


class Plan:
    """One reading of trees over fixed domains, memoised by node."""

    def __init__(self, domains: Domains, limits: Limits) -> None:
        self.domains = domains
        self.limits = limits
        self._grids: dict[Expr, Grid] = {}
        self._points: dict[Expr, int] = {}
        self._ranges: Ranges = {}
        self._seeded: set[Expr] = set()
        self._sums: dict[Expr, bool] = {}
        self._divisions: dict[Expr, Expr] = {}

    def grid(self, node: Expr, limit: int | None = None) -> Grid | None:
        """The node as a table when its grid is small enough, or when nothing else can say it."""
        if node not in self._points:
            self._points[node] = points(node, self.domains)
        if limit is None:
            limit = self.limits.relation if node.is_bool else self.limits.function
        only_as_table = isinstance(node, Table) and isinstance(node.args[0], Var)
        if self._points[node] > limit and not only_as_table:
            return None
        if node not in self._grids:
            self._grids[node] = tabulate(node, self.domains)
        return self._grids[node]

    def range(self, node: Expr) -> tuple[int, int]:
        """Bounds of the node's value (Booleans as 0 and 1); exact where it is a table."""
        if node not in self._ranges:
            self._seed_ranges(node)
        return bounds(node, self.domains, self._ranges)

    def _seed_ranges(self, root: Expr) -> None:
        # Tables give exact ranges; interval arithmetic goes on from there.
        stack = [root]
        while stack:
            node = stack.pop()
            if node in self._seeded:
                continue
            self._seeded.add(node)
            grid = None if isinstance(node, Const) else self.grid(node, self.limits.function)
            if grid is None:
                stack.extend(node.args)
            else:
                self._ranges[node] = (int(grid.values.min()), int(grid.values.max()))

    def linear(self, root: Expr) -> Linear:
        """The node as a sum. Sums of variables stay sums; any other small node becomes one table atom."""
        weights: dict[Expr, int] = {}
        constant = 0
        stack: list[tuple[int, Expr]] = [(1, root)]
        while stack:
            weight, node = stack.pop()
            low, high = self.range(node)
            if low == high:
                constant += weight * low
            elif (parts := self._addends(node)) is not None and (node is root or self._keeps(node)):
                stack.extend((weight * factor, part) for factor, part in parts)
            else:
                weights[node] = weights.get(node, 0) + weight
        return Linear(tuple((w, n) for n, w in weights.items() if w), constant)

    def _keeps(self, node: Expr) -> bool:
        """Whether a sum is better left a sum than written out as one table."""
        return self.is_sum(node) or self.grid(node, self.limits.function) is None

    def is_sum(self, node: Expr) -> bool:
        """Whether the node is linear in the variables themselves (a variable alone is)."""
        if node not in self._sums:
            for part in walk(node):  # children first: sums may be deeper than Python's stack
                addends = self._addends(part)
                self._sums[part] = isinstance(part, Const | Var) or (
                    addends is not None and all(self._sums.get(a, True) for _, a in addends)
                )
        return self._sums[node]

    def _addends(self, node: Expr) -> list[tuple[int, Expr]] | None:
        """The node as weighted parts, or None when it is not a sum."""
        if isinstance(node, Named):
            return [(1, node.args[0])]
        if node.op in ("add", "sub"):
            return [(1, node.args[0]), (1 if node.op == "add" else -1, node.args[1])]
        if node.op == "mul":
            for factor, other in (node.args, node.args[::-1]):
                low, high = self.range(factor)
                if low == high:
                    return [(low, other)]
        if node.op == "select" and not node.is_bool:
            (a, b), (c, d) = self.range(node.args[1]), self.range(node.args[2])
            if a == b and c == d:  # c + (a - c) * condition
                return [(a - c, node.args[0]), (1, Const(c))]
        return None

    def division(self, node: Expr) -> Expr:
        """An equal tree (where `node` is defined) that divides, rounding down, by positive numbers only."""
        if node not in self._divisions:
            self._divisions[node] = self._division(node)
        return self._divisions[node]

    def _division(self, node: Expr) -> Expr:
        a, b = node.args
        low, high = self.range(b)
        if low > 0:
            return node if node.op != "ceildiv" else (a + (b - 1)) // b
        positive = self._by_positive(node.op, a, maximum(b, 1))
        if high > 0 and low == 0:
            return positive
        negative = self._by_negative(node.op, a, maximum(0 - b, 1))
        return negative if high <= 0 else select(b > 0, positive, negative)

    @staticmethod
    def _by_positive(op: str, a: Expr, b: Expr) -> Expr:
        if op == "mod":
            return a % b
        return a // b if op == "floordiv" else (a + (b - 1)) // b

    @staticmethod
    def _by_negative(op: str, a: Expr, b: Expr) -> Expr:
        """The operation on ``a`` and ``-b`` for a positive `b`."""
        if op == "mod":
            return 0 - (0 - a) % b
        return (0 - a) // b if op == "floordiv" else 0 - a // b
