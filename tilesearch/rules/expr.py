"""The expression tree that rules and metrics are written in.

A tree holds exact integers and Booleans only. It is built with Python's operators on `Var` and `Const` and
read by many: `evaluate` (one tile), `columns` (numpy), the solver engines and the printer. Division is
floor division, as in Python; a tree that can divide by zero is refused before any reader sees it.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from functools import reduce
from typing import Final

ARITHMETIC: Final = frozenset({"add", "sub", "mul", "floordiv", "ceildiv", "mod", "min", "max"})
COMPARISON: Final = frozenset({"le", "lt", "ge", "gt", "eq", "ne"})
LOGIC: Final = frozenset({"and", "or", "not"})


class Expr:
    """One node: an operation over `args`. Nodes are immutable and shared, so readers memoise by node (identity)."""

    __slots__ = ("args", "op", "variables")

    def __init__(self, op: str, args: tuple[Expr, ...] = (), variables: frozenset[str] | None = None) -> None:
        self.op = op
        self.args = args
        self.variables: frozenset[str] = (
            variables if variables is not None else frozenset().union(*(a.variables for a in args))
        )

    @property
    def is_bool(self) -> bool:
        """Whether the node is a truth value (a relation) rather than an integer."""
        if self.op == "select":
            return self.args[1].is_bool
        return self.op in COMPARISON or self.op in LOGIC or self.op == "member"

    def __add__(self, other: Expr | int) -> Expr:
        return _arithmetic("add", self, other)

    def __radd__(self, other: int) -> Expr:
        return _arithmetic("add", other, self)

    def __sub__(self, other: Expr | int) -> Expr:
        return _arithmetic("sub", self, other)

    def __rsub__(self, other: int) -> Expr:
        return _arithmetic("sub", other, self)

    def __mul__(self, other: Expr | int) -> Expr:
        return _arithmetic("mul", self, other)

    def __rmul__(self, other: int) -> Expr:
        return _arithmetic("mul", other, self)

    def __floordiv__(self, other: Expr | int) -> Expr:
        return _arithmetic("floordiv", self, other)

    def __rfloordiv__(self, other: int) -> Expr:
        return _arithmetic("floordiv", other, self)

    def __mod__(self, other: Expr | int) -> Expr:
        return _arithmetic("mod", self, other)

    def __rmod__(self, other: int) -> Expr:
        return _arithmetic("mod", other, self)

    def __le__(self, other: Expr | int) -> Expr:
        return _compare("le", self, other)

    def __lt__(self, other: Expr | int) -> Expr:
        return _compare("lt", self, other)

    def __ge__(self, other: Expr | int) -> Expr:
        return _compare("ge", self, other)

    def __gt__(self, other: Expr | int) -> Expr:
        return _compare("gt", self, other)

    def eq(self, other: Expr | int) -> Expr:
        """``self == other`` as a node (``==`` itself stays identity, so that nodes can be dict keys)."""
        return _compare("eq", self, other)

    def ne(self, other: Expr | int) -> Expr:
        """``self != other`` as a node."""
        return _compare("ne", self, other)

    def __bool__(self) -> bool:
        raise TypeError("an expression has no truth value until it is evaluated; use all_of / any_of / negate")

    def __repr__(self) -> str:
        from tilesearch.rules.printing import symbolic

        return f"<{symbolic(self)}>"


class Const(Expr):
    """An exact integer; `name` is what a printer may call it."""

    __slots__ = ("name", "value")

    def __init__(self, value: int, name: str = "") -> None:
        super().__init__("const", (), frozenset())
        self.value = int(value)
        self.name = name


class Var(Expr):
    """A decision variable."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        super().__init__("var", (), frozenset((name,)))
        self.name = name


class Named(Expr):
    """A sub-expression with a name: a metric. Every reader looks through it, printers may stop at it.

    Printers always stop at an `opaque` one: its formula explains nothing to a person.
    """

    __slots__ = ("name", "opaque", "unit")

    def __init__(self, name: str, body: Expr, unit: str = "", opaque: bool = False) -> None:
        super().__init__("named", (body,))
        self.name = name
        self.unit = unit
        self.opaque = opaque

    @property
    def is_bool(self) -> bool:
        """As the named body."""
        return self.args[0].is_bool


class Member(Expr):
    """``args[0] in values``."""

    __slots__ = ("values",)

    def __init__(self, item: Expr, values: Iterable[int]) -> None:
        super().__init__("member", (item,))
        self.values: tuple[int, ...] = tuple(sorted(set(values)))


class Table(Expr):
    """A pure integer function of one integer expression, for what no closed form in the tree can say.

    `function` maps an int to an int and must be monotone or bounded by itself: `bounds` evaluates it over
    every value that the argument can take, so the argument should be a single decision variable.
    """

    __slots__ = ("function", "name")

    def __init__(self, name: str, function: Callable[[int], int], argument: Expr) -> None:
        super().__init__("table", (argument,))
        self.name = name
        self.function = function


TRUE: Final[Expr] = Expr("and")
FALSE: Final[Expr] = Expr("or")


def const(value: int, name: str = "") -> Const:
    """An integer constant."""
    return Const(value, name)


def as_expr(value: Expr | int) -> Expr:
    """`value` itself when it is a node, a constant otherwise."""
    return value if isinstance(value, Expr) else Const(value)


def as_int(value: Expr | int) -> Expr:
    """An integer node; a Boolean counts as 1 or 0."""
    node = as_expr(value)
    return Expr("select", (node, Const(1), Const(0))) if node.is_bool else node


def as_bool(node: Expr) -> Expr:
    """A Boolean node; an integer is true when it is not zero."""
    return node if node.is_bool else node.ne(0)


def _arithmetic(op: str, left: Expr | int, right: Expr | int) -> Expr:
    a, b = as_int(left), as_int(right)
    if isinstance(a, Const) and isinstance(b, Const) and not (a.name or b.name):
        folded = _fold(op, a.value, b.value)
        if folded is not None:
            return Const(folded)
    if _is_identity(op, b):
        return a
    if op in ("add", "mul") and _is_identity(op, a):
        return b
    return Expr(op, (a, b))


def _is_identity(op: str, node: Expr) -> bool:
    if not isinstance(node, Const) or node.name:
        return False
    neutral = {"add": 0, "sub": 0, "mul": 1, "floordiv": 1, "ceildiv": 1}
    return neutral.get(op) == node.value


def _fold(op: str, a: int, b: int) -> int | None:
    if op in ("floordiv", "ceildiv", "mod") and b == 0:
        return None
    return INTEGER_OPS[op](a, b)


def _compare(op: str, left: Expr | int, right: Expr | int) -> Expr:
    return Expr(op, (as_int(left), as_int(right)))


INTEGER_OPS: Final[dict[str, Callable[[int, int], int]]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "ceildiv": lambda a, b: -(-a // b),
    "mod": lambda a, b: a % b,
    "min": min,
    "max": max,
}

RELATIONS: Final[dict[str, Callable[[int, int], bool]]] = {
    "le": lambda a, b: a <= b,
    "lt": lambda a, b: a < b,
    "ge": lambda a, b: a >= b,
    "gt": lambda a, b: a > b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
}


def ceildiv(a: Expr | int, b: Expr | int) -> Expr:
    """``ceil(a / b)`` for integers."""
    return _arithmetic("ceildiv", a, b)


def round_up(a: Expr | int, granule: Expr | int) -> Expr:
    """The smallest multiple of `granule` that is not below `a`."""
    return ceildiv(a, granule) * granule


def minimum(*items: Expr | int) -> Expr:
    """The least of `items`."""
    return reduce(lambda a, b: _arithmetic("min", a, b), items[1:], as_int(items[0]))


def maximum(*items: Expr | int) -> Expr:
    """The largest of `items`."""
    return reduce(lambda a, b: _arithmetic("max", a, b), items[1:], as_int(items[0]))


def product(items: Iterable[Expr | int]) -> Expr:
    """The product of `items`; 1 when there are none."""
    return reduce(lambda a, b: a * b, items, as_expr(1))


def total(items: Iterable[Expr | int]) -> Expr:
    """The sum of `items`; 0 when there are none."""
    return reduce(lambda a, b: a + b, items, as_expr(0))


def select(condition: Expr, then: Expr | int, otherwise: Expr | int) -> Expr:
    """``then if condition else otherwise``; only the chosen branch needs to be defined."""
    a, b = as_expr(then), as_expr(otherwise)
    if condition is TRUE or condition is FALSE:
        return a if condition is TRUE else b
    if a.is_bool != b.is_bool:
        a, b = as_int(a), as_int(b)
    return Expr("select", (as_bool(condition), a, b))


def all_of(*conditions: Expr) -> Expr:
    """Conjunction, left to right: a later condition needs to be defined only where the earlier ones hold."""
    flat = [c for item in conditions for c in (item.args if item.op == "and" else (as_bool(item),))]
    return flat[0] if len(flat) == 1 else Expr("and", tuple(flat))


def any_of(*conditions: Expr) -> Expr:
    """Disjunction, left to right: a later condition needs to be defined only where the earlier ones fail."""
    flat = [c for item in conditions for c in (item.args if item.op == "or" else (as_bool(item),))]
    return flat[0] if len(flat) == 1 else Expr("or", tuple(flat))


def negate(condition: Expr) -> Expr:
    """``not condition``."""
    if condition is TRUE or condition is FALSE:
        return FALSE if condition is TRUE else TRUE
    return Expr("not", (as_bool(condition),))


def implies(condition: Expr, conclusion: Expr) -> Expr:
    """``condition -> conclusion``."""
    return any_of(negate(condition), conclusion)


def divides(divisor: Expr | int, value: Expr | int) -> Expr:
    """``value % divisor == 0``."""
    return (as_expr(value) % divisor).eq(0)


def member(item: Expr, values: Iterable[int]) -> Expr:
    """``item in values``."""
    return Member(item, values)


def walk(root: Expr, known: Container[Expr] = frozenset()) -> Iterator[Expr]:
    """Every distinct node below `root`, children before parents (iterative: trees may be deep).

    What is `known` already is left out with all below it; a reader that files each node as it comes may pass
    its own memo.
    """
    done: set[Expr] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if node in done or node in known:
            continue
        if node.args:
            waiting = [child for child in node.args if child not in done and child not in known]
            if waiting:
                stack.append(node)
                stack.extend(reversed(waiting))
                continue
        done.add(node)
        yield node
