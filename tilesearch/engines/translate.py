"""From trees to a solver's terms: the part that does not depend on the solver.

A variable is one literal a value, exactly one of which is true. A table becomes a decision diagram over
those literals, so that most rules reach a solver as plain clauses; what is too large for a table goes
through the solver's own integers. Every literal that is made here is a function of the variables' values,
so a solver that counts solutions counts tiles.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from tilesearch.engines.diagram import build
from tilesearch.engines.lowering import Grid, Plan
from tilesearch.engines.narrowing import Problem
from tilesearch.errors import UnsupportedError
from tilesearch.rules.expr import Const, Expr, Member, Named, Table, as_int
from tilesearch.rules.model import Rule
from tilesearch.rules.printing import symbolic

Literal = Any  # a solver's Boolean, or a Python bool where the value is known
Integer = Any  # a solver's integer term, or a Python int
Case = tuple[int, Literal]

_MOST_CASES = 4096


class Translator(ABC):
    """Makes a solver's terms from trees, memoised by node; solvers supply the primitives."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._choices: dict[str, list[Literal]] = {}
        self._literals: dict[Expr, Literal] = {}
        self._integers: dict[Expr, Integer] = {}
        self._cases: dict[Expr, list[Case]] = {}

    # Primitives of a solver

    @abstractmethod
    def fresh(self) -> Literal:
        """A new Boolean."""

    @abstractmethod
    def opposite(self, literal: Literal) -> Literal:
        """The negation of a literal that is not a Python bool."""

    @abstractmethod
    def add_clause(self, literals: list[Literal]) -> None:
        """At least one of `literals`, none of which is a Python bool."""

    @abstractmethod
    def add_exactly_one(self, literals: list[Literal]) -> None:
        """Exactly one of `literals`, none of which is a Python bool."""

    @abstractmethod
    def total(self, node: Expr, terms: list[tuple[int, Integer]], constant: int) -> Integer:
        """``sum(weight * term) + constant``, the value of `node`."""

    @abstractmethod
    def truth(self, literal: Literal) -> Integer:
        """1 where `literal` (not a Python bool) holds, else 0."""

    @abstractmethod
    def compare(self, relation: str, node: Expr, value: Integer) -> Literal:
        """Whether `value`, of which `node` is the tree, is ``le`` or ``eq`` 0."""

    @abstractmethod
    def product(self, node: Expr) -> Integer:
        """The product of the node's two arguments, neither of them constant."""

    @abstractmethod
    def quotient(self, node: Expr) -> Integer:
        """``floordiv`` or ``mod`` by a positive divisor."""

    @abstractmethod
    def extremum(self, node: Expr) -> Integer:
        """``min`` or ``max`` of the node's two arguments."""

    @abstractmethod
    def chosen(self, node: Expr, condition: Literal) -> Integer:
        """The second or third argument of `node`, as `condition` holds or not."""

    # Booleans

    def negation(self, literal: Literal) -> Literal:
        """The negation of any literal."""
        return (not literal) if isinstance(literal, bool) else self.opposite(literal)

    def clause(self, literals: Iterable[Literal]) -> None:
        """At least one of `literals`."""
        literals = list(literals)
        if not any(literal is True for literal in literals):
            self.add_clause([literal for literal in literals if literal is not False])

    def disjunction(self, literals: Iterable[Literal]) -> Literal:
        """A literal that holds where one of `literals` does."""
        literals = list(literals)
        if any(literal is True for literal in literals):
            return True
        literals = [literal for literal in literals if literal is not False]
        if len(literals) < 2:
            return literals[0] if literals else False
        result = self.fresh()
        self.clause([*literals, self.negation(result)])
        for literal in literals:
            self.clause([self.negation(literal), result])
        return result

    def conjunction(self, literals: Iterable[Literal]) -> Literal:
        """A literal that holds where all of `literals` do."""
        return self.negation(self.disjunction(self.negation(literal) for literal in literals))

    def one_of(self, count: int) -> list[Literal]:
        """`count` literals of which exactly one holds."""
        if count == 1:
            return [True]
        if count == 2:
            first = self.fresh()
            return [first, self.negation(first)]
        literals = [self.fresh() for _ in range(count)]
        self.add_exactly_one(literals)
        return literals

    def choice(self, name: str) -> list[Literal]:
        """For each value of the variable's domain, in order, whether the variable has it."""
        if name not in self._choices:
            self._choices[name] = self.one_of(len(self.plan.domains[name]))
        return self._choices[name]

    # Tables

    def cases(self, grid: Grid) -> list[Case]:
        """Each value that the grid holds, and a literal that is true where it holds it."""
        diagram = build(grid)
        below: list[Literal] = [True]
        for number, layer in enumerate(diagram.layers):
            last = number == len(diagram.layers) - 1
            width = len(diagram.terminals) if last else len(diagram.layers[number + 1])
            below = self._descend(self.choice(diagram.names[number]), below, layer.tolist(), width)
        return list(zip(diagram.terminals, below, strict=True))

    def _descend(
        self, choice: Sequence[Literal], above: list[Literal], layer: list[list[int]], width: int
    ) -> list[Literal]:
        if len(layer) == 1:
            groups: list[list[Literal]] = [[] for _ in range(width)]
            for literal, child in zip(choice, layer[0], strict=True):
                groups[child].append(literal)
            return [self.disjunction(group) for group in groups]
        below = self.one_of(width)
        self._link(choice, above, layer, below)
        return below

    def _link(
        self, choice: Sequence[Literal], above: list[Literal], layer: list[list[int]], below: list[Literal]
    ) -> None:
        """Being at a node and at a value of its variable leads to a node below."""
        leave = [self.negation(node) for node in above]
        avoid = [self.negation(literal) for literal in choice]
        for node, row in zip(leave, layer, strict=True):
            for value, child in zip(avoid, row, strict=True):
                self.clause((node, value, below[child]))

    def require_grid(self, grid: Grid) -> None:
        """Assert a Boolean grid."""
        diagram = build(grid)
        if len(diagram.terminals) == 1:
            self.clause([bool(diagram.terminals[0])])
            return
        below: list[Literal] = [True]
        for name, layer, lower in zip(diagram.names, diagram.layers, diagram.layers[1:], strict=False):
            below = self._descend(self.choice(name), below, layer.tolist(), len(lower))
        # Ending in `false` is a plain clause: no literals are needed for the terminals.
        self._link(self.choice(diagram.names[-1]), below, diagram.layers[-1].tolist(), [False, True])

    # Trees

    def literal(self, node: Expr) -> Literal:
        """A literal that holds where the Boolean `node` does."""
        if node not in self._literals:
            self._literals[node] = self._literal(node)
        return self._literals[node]

    def literal_of(self, node: Expr, as_table: bool) -> Literal:
        """As `literal`; `as_table` writes out a grid that is larger than usual."""
        grid = self.plan.grid(node, self.plan.limits.last_resort) if as_table else None
        return self.literal(node) if grid is None else dict(self.cases(grid)).get(1, False)

    def _literal(self, node: Expr) -> Literal:
        low, high = self.plan.range(node)
        if low == high:
            return bool(low)
        if (grid := self.plan.grid(node)) is not None:
            return dict(self.cases(grid)).get(1, False)
        if isinstance(node, Named):
            return self.literal(node.args[0])
        if node.op == "not":
            return self.negation(self.literal(node.args[0]))
        if node.op in ("and", "or"):
            parts = [self.literal(a) for a in node.args]
            return self.conjunction(parts) if node.op == "and" else self.disjunction(parts)
        if node.op == "select":
            condition, then, otherwise = (self.literal(a) for a in node.args)
            taken = self.conjunction((condition, then))
            return self.disjunction((taken, self.conjunction((self.negation(condition), otherwise))))
        if isinstance(node, Member):
            return self._member(node)
        return self._comparison(node)

    def _member(self, node: Member) -> Literal:
        item = as_int(node.args[0])
        low, high = self.plan.range(item)
        values = [v for v in node.values if low <= v <= high]
        return self.disjunction(self.literal(item.eq(v)) for v in values)

    def _comparison(self, node: Expr) -> Literal:
        a, b = node.args
        difference, relation = {
            "le": (a - b, "le"),
            "lt": (a - b + 1, "le"),
            "ge": (b - a, "le"),
            "gt": (b - a + 1, "le"),
            "eq": (a - b, "eq"),
            "ne": (a - b, "eq"),
        }[node.op]
        value = self.integer(difference)
        if isinstance(value, int):  # the difference cancels out, which intervals do not see
            literal: Literal = value <= 0 if relation == "le" else value == 0
        else:
            literal = self.compare(relation, difference, value)
        return self.negation(literal) if node.op == "ne" else literal

    def integer(self, node: Expr) -> Integer:
        """The value of the integer `node` (of a Boolean one: 1 or 0)."""
        if node not in self._integers:
            if node.is_bool:
                literal = self.literal(node)
                self._integers[node] = int(literal) if isinstance(literal, bool) else self.truth(literal)
            elif (cases := self.tabulated(node)) is not None:
                self._integers[node] = self._by_cases(node, cases)
            else:
                self._integers[node] = self._sum(node)
        return self._integers[node]

    def tabulated(self, node: Expr) -> list[Case] | None:
        """The node's cases when it is a variable or a small table, but no sum that is better left one."""
        if node not in self._cases:
            grid = None if self.plan.is_sum(node) else self.plan.grid(node)
            if node.op == "var":
                self._cases[node] = list(zip(*self._variable(node), strict=True))
            elif grid is not None:
                self._cases[node] = self.cases(grid)
        return self._cases.get(node)

    def _variable(self, node: Expr) -> tuple[Sequence[int], Sequence[Literal]]:
        (name,) = node.variables
        return self.plan.domains[name], self.choice(name)

    def _by_cases(self, node: Expr, cases: list[Case]) -> Integer:
        base = cases[0][0]
        known = [value for value, literal in cases if literal is True]
        if known:
            return known[0]
        live = [(value, literal) for value, literal in cases[1:] if literal is not False]
        return self.total(node, [(value - base, self.truth(literal)) for value, literal in live], base)

    def _sum(self, node: Expr) -> Integer:
        linear = self.plan.linear(node)
        if linear.terms == ((1, node),):
            return self._atom(node)
        terms = [(weight, self.integer(atom)) for weight, atom in linear.terms]
        fixed = sum(weight * term for weight, term in terms if isinstance(term, int))
        live = [(weight, term) for weight, term in terms if not isinstance(term, int)]
        return self.total(node, live, linear.constant + fixed) if live else linear.constant + fixed

    def of_key(self, key: Grid | Expr) -> Integer:
        """The term to minimise."""
        return self._by_cases(Const(0), self.cases(key)) if isinstance(key, Grid) else self.integer(key)

    def _atom(self, node: Expr) -> Integer:
        if node.op == "mul":
            return self.product(node)
        if node.op in ("floordiv", "ceildiv", "mod"):
            plain = self.plan.division(node)
            return self.quotient(node) if plain is node else self.integer(plain)
        if node.op in ("min", "max"):
            return self.extremum(node)
        if node.op == "select":
            condition = self.literal(node.args[0])
            if isinstance(condition, bool):
                return self.integer(node.args[1] if condition else node.args[2])
            return self.chosen(node, condition)
        if isinstance(node, Table):
            return self._image(node)
        raise AssertionError(node.op)

    def _image(self, node: Table) -> Integer:
        item = node.args[0]
        low, high = self.plan.range(item)
        if high - low >= _MOST_CASES:
            raise UnsupportedError(
                f"{symbolic(node)}: its argument takes up to {high - low + 1} values, and at most "
                f"{_MOST_CASES} of a table can be listed"
            )
        cases = [(node.function(v), self.literal(item.eq(v))) for v in range(low, high + 1)]
        return self._by_cases(node, cases)


Made = TypeVar("Made", bound=Translator)


def load(make: Callable[[], Made], problem: Problem) -> Made:
    """A translator that asserts the whole problem."""

    def assert_all(translator: Made, tables: set[Expr]) -> None:
        for grid in problem.relations:
            translator.require_grid(grid)
        for node in problem.rest:
            with _blame(node):
                translator.clause([translator.literal_of(node, node in tables)])

    return _retried(make, assert_all)


def load_switched(make: Callable[[], Made], rules: Sequence[Rule]) -> tuple[Made, dict[Rule, Literal]]:
    """A translator that asserts each rule where the rule's switch, a literal, is on."""
    switches: dict[Rule, Literal] = {}

    def assert_all(translator: Made, tables: set[Expr]) -> None:
        for rule in rules:
            switches[rule] = translator.fresh()
            with _blame(rule.holds):
                literal = translator.literal_of(rule.holds, rule.holds in tables)
            translator.clause([translator.opposite(switches[rule]), literal])

    return _retried(make, assert_all), switches


class _RefusedError(Exception):
    """A top-level tree that the solver's arithmetic cannot hold."""

    def __init__(self, node: Expr, reason: UnsupportedError) -> None:
        super().__init__(node)
        self.node = node
        self.reason = reason


@contextmanager
def _blame(node: Expr) -> Iterator[None]:
    try:
        yield
    except UnsupportedError as reason:
        raise _RefusedError(node, reason) from reason


def _retried(make: Callable[[], Made], assert_all: Callable[[Made, set[Expr]], None]) -> Made:
    """Start over with a table, where its grid allows one, for each tree that arithmetic refuses."""
    tables: set[Expr] = set()
    while True:
        translator = make()
        try:
            assert_all(translator, tables)
        except _RefusedError as refused:
            if refused.node in tables or translator.plan.grid(refused.node, translator.plan.limits.last_resort) is None:
                raise refused.reason from None
            tables.add(refused.node)
        else:
            return translator
