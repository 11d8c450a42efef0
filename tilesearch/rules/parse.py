"""Users' rules: a small, safe expression language, parsed into the same tree that built-in rules are.

Allowed: integer and decimal numbers, names of variables, operator constants and metrics, ``+ - * // % /``,
comparisons (chained too), ``and or not``, ``in (1, 2)``, ``x if c else y``, and min, max, ceildiv. Nothing is
ever executed. Decimals and ``/`` are exact fractions; they may be added, multiplied and compared.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import prod

from tilesearch.errors import InputError, Issue, suggest
from tilesearch.rules.columns import ColumnEvaluator
from tilesearch.rules.evaluate import Domains, bounds, evaluate, undefined
from tilesearch.rules.expr import (
    FALSE,
    Const,
    Expr,
    all_of,
    any_of,
    as_bool,
    as_int,
    ceildiv,
    maximum,
    member,
    minimum,
    negate,
    select,
)
from tilesearch.specs.kernels import ALIASES

MAX_LENGTH = 20_000
_MAX_UNDEFINED_GRID = 4_000_000


@dataclass(frozen=True)
class Ratio:
    """An exact fraction of two integer trees; the denominator is positive everywhere."""

    numerator: Expr
    denominator: Expr


Value = Expr | Ratio
Names = Mapping[str, Value]


class _RefusedError(Exception):
    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


def parse_rule(text: str, names: Names, domains: Domains, where: str = "", source: str = "") -> Expr:
    """The Boolean tree of a user's rule over `names`.

    Raises `InputError` for anything outside the language, for a name that does not exist (with the nearest
    one), for an expression that is no relation, and for one that divides by zero within `domains`.
    """
    return _settled(text, where, source, lambda: _guarded(_relation(text, names, domains), domains))


def parse_rules(texts: Sequence[str], names: Names, domains: Domains, where: str = "", source: str = "") -> list[Expr]:
    """The trees of rules that are always enforced together, each by itself as `parse_rule` gives it.

    A rule may divide by zero where another one is false anyway; there it counts as false too. Raises one
    `InputError` with the faults of all rules, each named by its number after `where`.
    """
    issues: list[Issue] = []

    def each(step: Callable[[int], Expr]) -> list[Expr]:
        trees = []
        for number, text in enumerate(texts):
            try:
                trees.append(_settled(text, f"{where}[{number}]", source, partial(step, number)))
            except InputError as error:
                issues.extend(error.issues)
        if issues:
            raise InputError(issues)
        return trees

    trees = each(lambda number: _relation(texts[number], names, domains))
    sure = [tree for tree in trees if undefined(tree, domains) is FALSE]
    return each(lambda number: _guarded(trees[number], domains, sure))


def parse_integer(
    text: str, names: Names, domains: Domains, where: str = "", source: str = "", given: Sequence[Expr] = ()
) -> Expr:
    """The integer tree of a user's expression (an objective); as `parse_rule` otherwise.

    It may divide by zero where one of the rules `given` is false.
    """

    def read() -> Expr:
        value = _parse(text, names, domains)
        if isinstance(value, Ratio):
            raise _RefusedError("is a fraction", "use // for whole numbers")
        value = as_int(value)
        _doubtful(value, domains, [rule for rule in given if undefined(rule, domains) is FALSE])
        return value

    return _settled(text, where, source, read)


def _settled(text: str, where: str, source: str, read: Callable[[], Expr]) -> Expr:
    try:
        return read()
    except _RefusedError as refused:
        raise InputError(Issue(f"{shorten(text)!r}: {refused.message}", where, source, refused.hint)) from None


def _relation(text: str, names: Names, domains: Domains) -> Expr:
    value = _parse(text, names, domains)
    if isinstance(value, Ratio) or not value.is_bool:
        raise _RefusedError("is not a relation", "write a comparison, such as block_k >= 32")
    return value


def _guarded(value: Expr, domains: Domains, given: Sequence[Expr] = ()) -> Expr:
    """The tree, false where it would divide by zero; that may be only where some of `given` are false."""
    doubtful = _doubtful(value, domains, given)
    return value if doubtful is FALSE else all_of(negate(doubtful), value)


def shorten(text: str) -> str:
    """`text` on one line, cut where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= 100 else line[:97] + "..."


def _parse(text: str, names: Names, domains: Domains) -> Value:
    if len(text) > MAX_LENGTH:
        raise _RefusedError(f"is {len(text)} characters long, at most {MAX_LENGTH} are read")
    try:
        with warnings.catch_warnings():  # of Python's parser, about Python; the user wrote a rule
            warnings.simplefilter("ignore")
            tree = ast.parse(text.strip(), mode="eval")
        return _Reader(names, domains).read(tree.body)
    except SyntaxError as error:
        raise _RefusedError(f"cannot be read: {error.msg}", "see docs/rules.md for the language") from None
    except (RecursionError, MemoryError):
        raise _RefusedError("is nested too deeply") from None
    except ValueError as error:
        raise _RefusedError(f"cannot be read: {error}") from None


def _doubtful(value: Expr, domains: Domains, given: Sequence[Expr] = ()) -> Expr:
    """Where `value` divides by zero; refused if it does at a point of `domains` that all of `given` allow."""
    doubtful = undefined(value, domains)
    if doubtful is FALSE:
        return FALSE
    scope = sorted(doubtful.variables)
    size = prod(len(domains[name]) for name in scope)
    if size > _MAX_UNDEFINED_GRID:
        raise _RefusedError("may divide by zero", "keep zero out of the divisor, for example with max(x, 1)")
    if not scope:
        if evaluate(doubtful, {}):
            raise _RefusedError("divides by zero")
        return FALSE
    import numpy as np

    axes = np.ix_(*(np.asarray(domains[name], dtype=np.int64) for name in scope))
    read = ColumnEvaluator(dict(zip(scope, axes, strict=True)), domains)
    shape = tuple(len(domains[name]) for name in scope)
    if not read(doubtful).any():
        return FALSE
    allowed = [rule for rule in given if rule.variables <= doubtful.variables]
    hits = np.argwhere(np.broadcast_to(read(all_of(doubtful, *allowed)), shape))
    if len(hits):
        point = ", ".join(f"{n} = {domains[n][i]}" for n, i in zip(scope, hits[0], strict=True))
        raise _RefusedError(f"divides by zero at {point}", "guard it: x == 0 or y % x == 0")
    return doubtful


class _Reader:
    """Turns Python's syntax tree into ours, refusing everything that is not listed."""

    def __init__(self, names: Names, domains: Domains) -> None:
        self.names = names
        self.domains = domains

    def read(self, node: ast.expr) -> Value:
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise _RefusedError(f"{type(node).__name__} is not part of the rule language")
        value: Value = method(node)
        return value

    def _integer(self, node: ast.expr, what: str) -> Expr:
        value = self.read(node)
        if isinstance(value, Ratio):
            raise _RefusedError(f"{what} needs whole numbers", "use // instead of /, and no decimals here")
        return as_int(value)

    def _condition(self, node: ast.expr) -> Expr:
        value = self.read(node)
        if isinstance(value, Ratio):
            raise _RefusedError("a fraction is not a condition", "compare it with something")
        return as_bool(value)

    def _constant(self, node: ast.Constant) -> Value:
        value = node.value
        if isinstance(value, bool):
            return Const(1).eq(1 if value else 0)
        if isinstance(value, int):
            return Const(value)
        if isinstance(value, float):
            exact = Fraction(ast.unparse(node)) if value == value and abs(value) != float("inf") else None
            if exact is None:
                raise _RefusedError("is not a finite number")
            return Ratio(Const(exact.numerator), Const(exact.denominator))
        raise _RefusedError(f"{value!r} is not a number")

    def _name(self, node: ast.Name) -> Value:
        if node.id in self.names:
            return self.names[node.id]
        hint = suggest(node.id, list(self.names))
        if not hint.startswith("did you mean"):  # other spellings of a variable would crowd out the metrics
            hint = suggest(node.id, [name for name in self.names if name.islower() and name not in ALIASES])
        raise _RefusedError(f"there is no {node.id!r}", hint)

    def _unaryop(self, node: ast.UnaryOp) -> Value:
        if isinstance(node.op, ast.Not):
            return negate(self._condition(node.operand))
        value = self.read(node.operand)
        if isinstance(node.op, ast.UAdd):
            return value
        if isinstance(node.op, ast.USub):
            if isinstance(value, Ratio):
                return Ratio(0 - value.numerator, value.denominator)
            return 0 - as_int(value)
        raise _RefusedError("~ is not part of the rule language")

    def _binop(self, node: ast.BinOp) -> Value:
        op = node.op
        if isinstance(op, ast.FloorDiv | ast.Mod):
            sign = "//" if isinstance(op, ast.FloorDiv) else "%"
            left, right = self._integer(node.left, sign), self._integer(node.right, sign)
            return left // right if sign == "//" else left % right
        if isinstance(op, ast.Div):
            return self._divide(self.read(node.left), self.read(node.right))
        if not isinstance(op, ast.Add | ast.Sub | ast.Mult):
            raise _RefusedError(f"the operator {type(op).__name__} is not part of the rule language")
        return self._combine(op, self.read(node.left), self.read(node.right))

    def _combine(self, op: ast.operator, left: Value, right: Value) -> Value:
        if isinstance(left, Ratio) or isinstance(right, Ratio):
            a, b = _ratio(left), _ratio(right)
            if isinstance(op, ast.Mult):
                return Ratio(a.numerator * b.numerator, a.denominator * b.denominator)
            x, y = a.numerator * b.denominator, b.numerator * a.denominator
            return Ratio(x + y if isinstance(op, ast.Add) else x - y, a.denominator * b.denominator)
        x, y = as_int(left), as_int(right)
        if isinstance(op, ast.Add):
            return x + y
        return x - y if isinstance(op, ast.Sub) else x * y

    def _divide(self, left: Value, right: Value) -> Ratio:
        a, b = _ratio(left), _ratio(right)
        if bounds(b.numerator, self.domains)[0] <= 0:
            if bounds(b.numerator, self.domains) == (0, 0):
                raise _RefusedError("divides by zero")
            raise _RefusedError("/ needs a divisor that is always positive", "use //, or guard the divisor")
        return Ratio(a.numerator * b.denominator, a.denominator * b.numerator)

    def _boolop(self, node: ast.BoolOp) -> Expr:
        parts = [self._condition(value) for value in node.values]
        return all_of(*parts) if isinstance(node.op, ast.And) else any_of(*parts)

    def _ifexp(self, node: ast.IfExp) -> Value:
        then, otherwise = self.read(node.body), self.read(node.orelse)
        if isinstance(then, Ratio) or isinstance(otherwise, Ratio):
            raise _RefusedError("x if c else y needs whole numbers")
        return select(self._condition(node.test), then, otherwise)

    def _compare(self, node: ast.Compare) -> Expr:
        left: ast.expr = node.left
        parts = []
        for op, right in zip(node.ops, node.comparators, strict=True):
            parts.append(self._relation(op, left, right))
            left = right
        return all_of(*parts)

    def _relation(self, op: ast.cmpop, left: ast.expr, right: ast.expr) -> Expr:
        if isinstance(op, ast.In | ast.NotIn):
            inside = member(self._integer(left, "in"), self._values(right))
            return inside if isinstance(op, ast.In) else negate(inside)
        name = _RELATIONS.get(type(op))
        if name is None:
            raise _RefusedError(f"{type(op).__name__} is not part of the rule language")
        a, b = self.read(left), self.read(right)
        if isinstance(a, Ratio) or isinstance(b, Ratio):
            x, y = _ratio(a), _ratio(b)
            return Expr(name, (x.numerator * y.denominator, y.numerator * x.denominator))
        return Expr(name, (as_int(a), as_int(b)))

    def _values(self, node: ast.expr) -> Sequence[int]:
        if not isinstance(node, ast.Tuple | ast.List | ast.Set):
            raise _RefusedError("in needs a list of numbers", "write x in (64, 128)")
        values = []
        for item in node.elts:
            value = self.read(item)
            if not isinstance(value, Const):
                raise _RefusedError("in needs a list of whole numbers", "write x in (64, 128)")
            values.append(value.value)
        return values

    def _call(self, node: ast.Call) -> Expr:
        name = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)
        if name not in _FUNCTIONS or node.keywords:
            raise _RefusedError(f"{name}() cannot be called", f"functions: {', '.join(_FUNCTIONS)}")
        arguments = [self._integer(a, f"{name}()") for a in node.args]
        least, most, function = _FUNCTIONS[name]
        if not least <= len(arguments) <= most:
            raise _RefusedError(f"{name}() takes {least if least == most else 'two or more'} arguments")
        return function(*arguments)


def _ratio(value: Value) -> Ratio:
    return value if isinstance(value, Ratio) else Ratio(as_int(value), Const(1))


_RELATIONS: dict[type[ast.cmpop], str] = {
    ast.LtE: "le", ast.Lt: "lt", ast.GtE: "ge", ast.Gt: "gt", ast.Eq: "eq", ast.NotEq: "ne",
}  # fmt: skip
_FUNCTIONS: dict[str, tuple[int, int, Callable[..., Expr]]] = {
    "min": (2, 100, minimum),
    "max": (2, 100, maximum),
    "ceildiv": (2, 2, ceildiv),
    "cdiv": (2, 2, ceildiv),
}
