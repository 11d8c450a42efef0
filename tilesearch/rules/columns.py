"""Trees on numpy columns: every candidate at once, in exact integers.

A node whose bounds pass int64 is evaluated on Python integers (object columns): slower, never wrapped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesearch.rules.evaluate import Domains, Ranges, bounds_of_node
from tilesearch.rules.expr import Const, Expr, Member, Table, Var, walk

Column = NDArray[Any]

_INT64_SAFE = 2**62

PIECE = 1 << 18
"""Rows, or points, at which a tree is evaluated at once where there are very many."""


class ColumnEvaluator:
    """Evaluates trees over columns of decision variables.

    `columns` maps a variable to an integer array; the arrays must broadcast against each other, so a column
    of shape (n, 1) beside one of shape (m,) evaluates each sub-expression only over the variables that it
    reads. Results are memoised for as long as the evaluator lives. `ranges` are bounds over `domains` that
    other readers share.
    """

    def __init__(self, columns: Mapping[str, Column], domains: Domains, ranges: Ranges | None = None) -> None:
        self.columns = columns
        self.domains = domains
        self._ranges: Ranges = {} if ranges is None else ranges
        self._values: dict[Expr, Column] = {}

    def __call__(self, expr: Expr) -> Column:
        """The value of `expr` for each row: int64, object (exact Python integers) or bool."""
        if expr not in self._values:
            for node in walk(expr, self._values):
                if node not in self._ranges:  # those of its arguments are there: they have values already
                    self._ranges[node] = bounds_of_node(node, self.domains, self._ranges)
                self._values[node] = self._evaluate(node)
        return self._values[expr]

    def _evaluate(self, node: Expr) -> Column:
        if isinstance(node, Const):
            return _constant(node.value)
        if isinstance(node, Var):
            return self.columns[node.name]
        arguments = [self._values[a] for a in node.args]
        op = node.op
        if op in _ARITHMETIC:
            return self._arithmetic(node, arguments[0], arguments[1])
        if op in _COMPARE:
            return np.asarray(_COMPARE[op](arguments[0], arguments[1]), dtype=bool)
        if op == "named":
            return arguments[0]
        if op in ("and", "or"):
            return _chain(op, arguments)
        if op == "not":
            return np.logical_not(arguments[0])
        if op == "select":
            return np.where(arguments[0], arguments[1], arguments[2])
        if isinstance(node, Member):
            return _contained(node.values, arguments[0])
        assert isinstance(node, Table)
        return _mapped(node, arguments[0])

    def _arithmetic(self, node: Expr, a: Column, b: Column) -> Column:
        if node.op in ("floordiv", "ceildiv", "mod"):
            low, high = self._ranges[node.args[1]]
            if low == high == 0:  # only in a branch that no row takes
                return np.zeros_like(b)
            if low <= 0 <= high:  # undefined rows are refused or masked by the tree itself;
                b = np.where(b == 0, high or low, b)  # what stands there stays within the node's bounds
        low, high = self._ranges[node]
        fits = low > -_INT64_SAFE and high < _INT64_SAFE
        if not fits or object in (a.dtype, b.dtype):  # numpy cannot mix int64 with integers that pass it
            a, b = a.astype(object), b.astype(object)
        # Without axes, numpy gives a bare Python int for objects and would pick uint64 for some of them.
        result: Column = np.asarray(_ARITHMETIC[node.op](a, b), dtype=np.int64 if fits else object)
        return result


_ARITHMETIC: dict[str, Any] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "floordiv": np.floor_divide,
    "ceildiv": lambda a, b: -(-a // b),
    "mod": np.remainder,
    "min": np.minimum,
    "max": np.maximum,
}
_COMPARE: dict[str, Any] = {
    "le": np.less_equal,
    "lt": np.less,
    "ge": np.greater_equal,
    "gt": np.greater,
    "eq": np.equal,
    "ne": np.not_equal,
}


def _constant(value: int) -> Column:
    return np.array(value, dtype=np.int64 if abs(value) < _INT64_SAFE else object)


def _chain(op: str, arguments: Sequence[Column]) -> Column:
    if not arguments:
        return np.array(op == "and")
    combine = np.logical_and if op == "and" else np.logical_or
    result = arguments[0]
    for argument in arguments[1:]:
        result = combine(result, argument)
    return result


def _contained(values: Sequence[int], column: Column) -> Column:
    wide = any(abs(v) >= _INT64_SAFE for v in values)  # numpy would round such a list to floats
    found: Column = np.isin(column, np.array(values, dtype=object if wide else np.int64))
    return found


def _mapped(node: Table, column: Column) -> Column:
    keys, places = np.unique(column, return_inverse=True)
    images = [node.function(int(key)) for key in keys]
    wide = any(abs(v) >= _INT64_SAFE for v in images)
    values: Column = np.array(images, dtype=object if wide else np.int64)
    return values[places].reshape(column.shape)


def read_rows(
    expr: Expr, columns: Mapping[str, Column], domains: Domains, rows: int, ranges: Ranges | None = None
) -> Column:
    """`expr` on each of `rows` rows, piece by piece: what lies between is never in memory for all rows at once."""
    ranges = {} if ranges is None else ranges
    pieces = []
    for start in range(0, max(rows, 1), PIECE):
        stop = min(start + PIECE, rows)
        read = ColumnEvaluator({name: column[start:stop] for name, column in columns.items()}, domains, ranges)
        pieces.append(np.broadcast_to(read(expr), (stop - start,)))
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


def value_columns(variables: Sequence[str], tiles: Sequence[Mapping[str, int]]) -> dict[str, Column]:
    """One int64 column a variable from a list of tiles."""
    return {name: np.array([tile[name] for tile in tiles], dtype=np.int64) for name in variables}
