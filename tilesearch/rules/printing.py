"""Trees as text: the formula with its names, and the same formula with one tile's numbers in it."""

from __future__ import annotations

from collections.abc import Mapping

from tilesearch.rules.evaluate import evaluate
from tilesearch.rules.expr import Const, Expr, Member, Named, Table, Var

_SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "floordiv": "//", "mod": "%",
    "le": "<=", "lt": "<", "ge": ">=", "gt": ">", "eq": "==", "ne": "!=", "and": "and", "or": "or",
}  # fmt: skip
_STRENGTH = {
    "or": 1, "and": 2, "not": 3, "le": 4, "lt": 4, "ge": 4, "gt": 4, "eq": 4, "ne": 4, "member": 4,
    "add": 5, "sub": 5, "mul": 6, "floordiv": 6, "mod": 6,
}  # fmt: skip
_ATOM = 9


def symbolic(expr: Expr, expand: bool = False) -> str:
    """The formula with names; `expand` writes named parts out instead of naming them."""
    return _render(expr, None, expand, set())[0]


def numeric(expr: Expr, tile: Mapping[str, int], expand: bool = True) -> str:
    """The formula with one tile's numbers in place of the variables."""
    return _render(expr, tile, expand, set())[0]


def _render(expr: Expr, tile: Mapping[str, int] | None, expand: bool, open_names: set[str]) -> tuple[str, int]:
    if isinstance(expr, Const):
        return (expr.name if expr.name and tile is None else str(expr.value)), _ATOM
    if isinstance(expr, Var):
        return (expr.name if tile is None else str(tile[expr.name])), _ATOM
    if isinstance(expr, Named):
        if expand and not expr.opaque:
            return _render(expr.args[0], tile, expand, open_names)
        return (expr.name if tile is None else str(evaluate(expr, tile))), _ATOM
    if expr.op == "select" and tile is not None:  # with numbers, what is not taken only distracts
        return _render(expr.args[1 if evaluate(expr.args[0], tile) else 2], tile, expand, open_names)
    inner = [_render(a, tile, expand, open_names) for a in expr.args]
    if expr.op in ("ceildiv", "min", "max"):
        return f"{expr.op}({', '.join(text for text, _ in inner)})", _ATOM
    if isinstance(expr, Table):
        return f"{expr.name}({inner[0][0]})", _ATOM
    if expr.op == "select":
        return f"({inner[1][0]} if {inner[0][0]} else {inner[2][0]})", _ATOM
    if expr.op == "not":
        return f"not {_wrap(inner[0], 4)}", 3
    if isinstance(expr, Member):
        return f"{_wrap(inner[0], 5)} in {{{', '.join(map(str, expr.values))}}}", 4
    return _infix(expr.op, inner)


def _infix(op: str, inner: list[tuple[str, int]]) -> tuple[str, int]:
    if not inner:
        return ("true" if op == "and" else "false"), _ATOM
    strength = _STRENGTH[op]
    left = _wrap(inner[0], strength)
    tail = strength if op in ("add", "mul", "and", "or") else strength + 1
    rest = [_wrap(item, tail) for item in inner[1:]]
    return f" {_SIGNS[op]} ".join([left, *rest]), strength


def _wrap(item: tuple[str, int], at_least: int) -> str:
    text, strength = item
    return text if strength >= at_least else f"({text})"
