"""Plain readings of a tree: one tile's value, exact bounds over a box, and where it is undefined."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tilesearch.rules.expr import (
    COMPARISON,
    FALSE,
    INTEGER_OPS,
    RELATIONS,
    Const,
    Expr,
    Member,
    Table,
    Var,
    all_of,
    any_of,
    negate,
    select,
    walk,
)

Domains = Mapping[str, Sequence[int]]
Memo = dict[Expr, int | bool]
Range = tuple[int, int]
Ranges = dict[Expr, Range]


def evaluate(expr: Expr, tile: Mapping[str, int], memo: Memo | None = None) -> int | bool:
    """The value of `expr` at one tile, in Python's exact integers.

    Raises ZeroDivisionError where the expression is undefined and KeyError for a variable without a value.
    """
    memo = {} if memo is None else memo
    if expr not in memo:
        memo[expr] = _evaluate(expr, tile, memo)
    return memo[expr]


def _evaluate(expr: Expr, tile: Mapping[str, int], memo: Memo) -> int | bool:
    op, args = expr.op, expr.args
    if isinstance(expr, Const):
        return expr.value
    if isinstance(expr, Var):
        return tile[expr.name]
    if op == "and":
        return all(evaluate(a, tile, memo) for a in args)
    if op == "or":
        return any(evaluate(a, tile, memo) for a in args)
    if op == "select":
        return evaluate(args[1] if evaluate(args[0], tile, memo) else args[2], tile, memo)
    values = [evaluate(a, tile, memo) for a in args]
    if op in INTEGER_OPS:
        return INTEGER_OPS[op](values[0], values[1])
    if op in RELATIONS:
        return RELATIONS[op](values[0], values[1])
    if op == "not":
        return not values[0]
    if isinstance(expr, Member):
        return values[0] in expr.values
    if isinstance(expr, Table):
        return expr.function(values[0])
    return values[0]  # named


def bounds(expr: Expr, domains: Domains, memo: Ranges | None = None) -> Range:
    """Least and largest value that interval arithmetic allows over the box of `domains` (Booleans as 0, 1).

    Sound for every point of the box; not tight. The expression must be defined on the box. A `memo` may be
    shared by everyone who reads trees over the same box.
    """
    memo = {} if memo is None else memo
    if expr not in memo:
        for node in walk(expr, memo):
            memo[node] = bounds_of_node(node, domains, memo)
    return memo[expr]


def bounds_of_node(node: Expr, domains: Domains, memo: Ranges) -> Range:
    """One step of `bounds`: a node whose arguments are in `memo`."""
    if isinstance(node, Const):
        return node.value, node.value
    if isinstance(node, Var):
        domain = domains[node.name]
        return min(domain), max(domain)
    arguments = [memo[a] for a in node.args]
    op = node.op
    if op in _CORNERS:
        return _CORNERS[op](arguments[0], arguments[1])
    if op in COMPARISON:
        return _relation_bounds(op, arguments[0], arguments[1])
    if op in ("floordiv", "ceildiv", "mod"):
        return _division_bounds(op, arguments[0], arguments[1])
    if op == "select":
        (condition_low, condition_high), then, otherwise = arguments
        branches = [then] * (condition_high > 0) + [otherwise] * (condition_low < 1)
        return min(b[0] for b in branches), max(b[1] for b in branches)
    if op == "named":
        return arguments[0]
    if isinstance(node, Table):
        return _table_bounds(node, domains, arguments[0])
    return _truth_bounds(node, arguments)


def _table_bounds(node: Table, domains: Domains, argument: Range) -> Range:
    inner = node.args[0]
    keys = domains[inner.name] if isinstance(inner, Var) else range(argument[0], argument[1] + 1)
    images = [node.function(int(k)) for k in keys]
    return min(images), max(images)


def _product_bounds(a: Range, b: Range) -> Range:
    if a[0] >= 0 and b[0] >= 0:
        return a[0] * b[0], a[1] * b[1]
    corners = (a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1])
    return min(corners), max(corners)


_CORNERS: dict[str, Callable[[Range, Range], Range]] = {
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "sub": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "mul": _product_bounds,
    "min": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    "max": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
}


def _division_bounds(op: str, a: Range, b: Range) -> Range:
    # Zero is cut out of the divisor: where it could be zero the tree is refused or guarded elsewhere.
    pieces = [(max(b[0], 1), b[1])] * (b[1] > 0) + [(b[0], min(b[1], -1))] * (b[0] < 0)
    if not pieces:
        return 0, 0
    if op == "mod":
        low = min((p[0] + 1 for p in pieces if p[0] < 0), default=0)
        high = max((p[1] - 1 for p in pieces if p[1] > 0), default=0)
        if a[0] >= 0 and low == 0:
            high = min(high, a[1])
        return low, high
    corners = [INTEGER_OPS[op](x, y) for x in a for piece in pieces for y in piece]
    return min(corners), max(corners)


def _relation_bounds(op: str, left: Range, right: Range) -> Range:
    (a, b), (c, d) = left, right
    if op in ("le", "lt"):
        always, possible = (b <= c, a <= d) if op == "le" else (b < c, a < d)
    elif op in ("ge", "gt"):
        always, possible = (a >= d, b >= c) if op == "ge" else (a > d, b > c)
    else:
        same, apart = a == b == c == d, b < c or d < a
        always, possible = (same, not apart) if op == "eq" else (apart, not same)
    return int(always), int(possible)


def _truth_bounds(node: Expr, arguments: Sequence[Range]) -> Range:
    op = node.op
    if op == "and":
        return int(all(a[0] for a in arguments)), int(all(a[1] for a in arguments))
    if op == "or":
        return int(any(a[0] for a in arguments)), int(any(a[1] for a in arguments))
    if op == "not":
        return 1 - arguments[0][1], 1 - arguments[0][0]
    assert isinstance(node, Member)
    low, high = arguments[0]
    inside = [v for v in node.values if low <= v <= high]
    return int(len(inside) == high - low + 1), int(bool(inside))


def undefined(expr: Expr, domains: Domains) -> Expr:
    """A Boolean tree that is true where `expr` divides by zero, honouring short circuits.

    Divisors whose interval excludes zero are settled here, so the usual answer is the constant FALSE.
    """
    box: Ranges = {}
    bounds(expr, domains, box)
    found: dict[Expr, Expr] = {}
    for node in walk(expr):
        found[node] = _undefined(node, found, box)
    return found[expr]


def _undefined(node: Expr, found: Mapping[Expr, Expr], box: Ranges) -> Expr:
    parts = [found[a] for a in node.args]
    if node.op in ("and", "or"):
        return _undefined_chain(node, parts)
    if node.op == "select":
        condition, then, otherwise = parts
        branch = FALSE if then is FALSE and otherwise is FALSE else select(node.args[0], then, otherwise)
        return _join([condition, branch])
    if node.op in ("floordiv", "ceildiv", "mod"):
        low, high = box[node.args[1]]
        if low <= 0 <= high:
            parts.append(node.args[1].eq(0))
    return _join(parts)


def _undefined_chain(node: Expr, parts: list[Expr]) -> Expr:
    reached: list[Expr] = []
    cases = []
    for argument, part in zip(node.args, parts, strict=True):
        if part is not FALSE:
            cases.append(all_of(*reached, part) if reached else part)
        reached.append(argument if node.op == "and" else negate(argument))
    return _join(cases)


def _join(parts: Sequence[Expr]) -> Expr:
    live = [p for p in parts if p is not FALSE]
    return any_of(*live) if live else FALSE
