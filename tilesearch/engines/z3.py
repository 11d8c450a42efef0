"""The z3 engine: unsat cores, and a third opinion on every set.

Rules come as clauses over one literal a value, which z3's finite-domain core searches without arithmetic.
Only what is too large for a table becomes integer terms; a factor or divisor that is a table is taken case
by case, so that products and quotients stay linear.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from operator import mod, truediv
from typing import TYPE_CHECKING, Any

from tilesearch.engines.base import Deadline, Request
from tilesearch.engines.lowering import Grid, Limits, Plan, tabulate
from tilesearch.engines.narrowing import Problem
from tilesearch.engines.search import SolverEngine
from tilesearch.engines.session import Found, Refuter, Session, interrupt_noted, interruptible, report, rows_of
from tilesearch.engines.translate import Case, Integer, Literal, Translator, load, load_switched
from tilesearch.errors import UnsupportedError
from tilesearch.rules.expr import Expr
from tilesearch.rules.model import Rule

if TYPE_CHECKING:
    import z3

_SEED = 1
_PAIRWISE = 5  # literals that exclude each other by plain clauses; more go into one cardinality constraint
_MOST_CASES = 1024
_BRIEFLY_S = 0.05  # a check that takes longer goes to a thread, so that Ctrl-C can stop it
_FOREVER = 2**32 - 1  # z3's "no timeout", in milliseconds


class Z3Translator(Translator):
    """Collects z3 assertions."""

    def __init__(self, plan: Plan) -> None:
        import z3

        super().__init__(plan)
        self.z3 = z3
        self.context = z3.Context()  # of its own: in a shared one, earlier terms change later searches
        self.assertions: list[Any] = []
        self.arithmetic = False
        self._names = 0

    def fresh(self) -> Literal:
        """A new Boolean constant."""
        return self.z3.Bool(self._name("b"), self.context)

    def _name(self, prefix: str) -> str:
        self._names += 1
        return f"{prefix}{self._names}"

    def opposite(self, literal: Literal) -> Literal:
        """The negation, without piling up double ones."""
        return literal.arg(0) if self.z3.is_not(literal) else self.z3.Not(literal)

    def add_clause(self, literals: list[Literal]) -> None:
        """At least one of `literals`."""
        if not literals:
            self.assertions.append(self.z3.BoolVal(False, self.context))
        else:
            self.assertions.append(self.z3.Or(literals) if len(literals) > 1 else literals[0])

    def add_exactly_one(self, literals: list[Literal]) -> None:
        """Exactly one of `literals`."""
        self.add_clause(literals)
        if len(literals) > _PAIRWISE:
            self.assertions.append(self.z3.PbEq([(literal, 1) for literal in literals], 1))
        else:
            for a, b in combinations(literals, 2):
                self.add_clause([self.opposite(a), self.opposite(b)])

    def total(self, node: Expr, terms: list[tuple[int, Integer]], constant: int) -> Integer:
        """A linear term."""
        self.arithmetic = True
        parts = [term if weight == 1 else weight * term for weight, term in terms]
        return self.z3.Sum([self._number(constant), *parts])

    def truth(self, literal: Literal) -> Integer:
        """1 or 0."""
        return self.z3.If(literal, self._number(1), self._number(0))

    def compare(self, relation: str, node: Expr, value: Integer) -> Literal:
        """The relation itself is a literal."""
        return value <= 0 if relation == "le" else value == 0

    def product(self, node: Expr) -> Integer:
        """Case by case over a factor that is a table; otherwise z3's own product, which is incomplete."""
        a, b = node.args
        if self.tabulated(a) is None:
            a, b = b, a
        cases, other = self.tabulated(a), self._term(b)
        if cases is None:
            return self._term(a) * other
        return self._chain(cases, lambda weight: weight * other)

    def quotient(self, node: Expr) -> Integer:
        """Case by case over a divisor that is a table; otherwise by the definition of floor division."""
        a, b = node.args
        low, high = self.plan.range(b)
        value = self._term(a)
        cases = [(low, True)] if low == high else self.tabulated(b)
        if cases is not None:  # z3's division by a positive constant rounds down, as Python's does
            divide = truediv if node.op == "floordiv" else mod
            return self._chain(cases, lambda by: divide(value, self._number(by)))
        divisor = self._term(b)
        quotient = self.z3.Int(self._name("q"), self.context)
        rest = value - quotient * divisor
        self.assertions += [rest >= 0, rest < divisor]
        return quotient if node.op == "floordiv" else rest

    def extremum(self, node: Expr) -> Integer:
        """The smaller or larger argument."""
        a, b = (self._term(argument) for argument in node.args)
        return self.z3.If(a <= b, a, b) if node.op == "min" else self.z3.If(a >= b, a, b)

    def chosen(self, node: Expr, condition: Literal) -> Integer:
        """One branch or the other."""
        return self.z3.If(condition, self._term(node.args[1]), self._term(node.args[2]))

    def _number(self, value: int) -> Any:
        self.arithmetic = True
        return self.z3.IntVal(value, self.context)

    def _term(self, node: Expr) -> Any:
        value = self.integer(node)
        return self._number(value) if isinstance(value, int) else value

    def _chain(self, cases: Sequence[Case], value: Callable[[int], Any]) -> Any:
        """`value` of the case that holds."""
        if len(cases) > _MOST_CASES:
            # Loading nested choices cannot be interrupted, and its time grows much faster than their number.
            raise UnsupportedError(
                f"z3: a product or quotient with {len(cases)} cases, at most {_MOST_CASES} are loaded"
            )
        term = value(cases[-1][0])
        for case, literal in cases[:-1]:
            term = value(case) if literal is True else self.z3.If(literal, value(case), term)
        return term


class _Solver:
    """A z3 solver that follows a translator's assertions and a deadline."""

    def __init__(self, translator: Z3Translator, deadline: Deadline) -> None:
        self.translator = translator
        self.deadline = deadline
        self._solver: z3.Solver | None = None
        self._loaded = 0
        self._arithmetic = False

    def check(self, *assumptions: Literal) -> bool | None:
        """Whether the assertions can hold; None when the deadline or Ctrl-C came first."""
        solver = self.current()
        if self.deadline.expired:
            return None
        answer = self._timed(solver, assumptions, _BRIEFLY_S)
        if answer == self.translator.z3.unknown and not self.deadline.expired:
            stop = self.translator.context.interrupt
            answer = interruptible(lambda: self._timed(solver, assumptions, float("inf")), stop, self.deadline)
        if answer == self.translator.z3.unknown:
            reason = solver.reason_unknown()
            if not self.deadline.expired and reason not in ("timeout", "canceled"):
                raise UnsupportedError(f"z3 gives up on products or quotients that it cannot list: {reason}")
            return None
        return bool(answer == self.translator.z3.sat)

    def _timed(self, solver: z3.Solver, assumptions: Sequence[Literal], seconds: float) -> Any:
        left = min(seconds, self.deadline.left)
        solver.set("timeout", _FOREVER if left == float("inf") else min(_FOREVER, int(left * 1000) + 1))
        return solver.check(*assumptions)

    def current(self) -> z3.Solver:
        """The solver with every assertion made so far: the finite-domain one while there are no integers."""
        translator = self.translator
        if self._solver is None or self._arithmetic != translator.arithmetic:
            self._arithmetic, self._loaded = translator.arithmetic, 0
            make, context = translator.z3, translator.context
            self._solver = make.Solver(ctx=context) if self._arithmetic else make.SolverFor("QF_FD", context)
            self._solver.set("random_seed", _SEED)
            self._solver.set("ctrl_c", False)
        self._solver.add(translator.assertions[self._loaded :])
        self._loaded = len(translator.assertions)
        return self._solver


class Z3Session(Session):
    """One problem as z3 assertions."""

    def __init__(self, problem: Problem, limits: Limits, request: Request) -> None:
        self.request = request
        self.problem = problem
        self.plan = Plan(problem.domains, limits)
        self.translator = load(lambda: Z3Translator(self.plan), problem)
        self.choices = [self.translator.choice(name) for name in problem.names]
        self.solver = _Solver(self.translator, request.deadline)

    def first(self) -> Found:
        """One check."""
        answer = self.solver.check()
        return self._found([self._position()] if answer else [], answer is not None)

    def every(self, most: int | None = None) -> Found:
        """Check, and forbid what was found, until nothing is left."""
        rows: list[tuple[int, ...]] = []
        done = False
        with interrupt_noted(self.request.deadline):
            while answer := self.solver.check():
                rows.append(self._position())
                if most is not None and len(rows) > most:
                    return self._found(rows, False)
                self._forbid(rows[-1])
                if len(rows) % 256 == 1:
                    report(self.request, "z3", len(rows))
            done = answer is False
        return self._found(rows, done)

    def _forbid(self, row: Sequence[int]) -> None:
        chosen = (choice[place] for choice, place in zip(self.choices, row, strict=True))
        self.translator.clause([self.translator.opposite(literal) for literal in chosen])

    def least(self, key: Grid | Expr) -> Found:
        """Halve the interval in which the least key can lie."""
        low = int(key.values.min()) if isinstance(key, Grid) else self.plan.range(key)[0]
        rows: list[tuple[int, ...]] = []
        with interrupt_noted(self.request.deadline):
            high = low
            answer = self.solver.check()
            while answer is not None:
                if answer:
                    rows.append(self._position())
                    high = self._score(key, rows[-1])
                if low >= high:
                    return self._found(rows, True)
                middle = (low + high) // 2
                literal = self._at_most(key, middle)
                answer = literal if isinstance(literal, bool) else self.solver.check(literal)
                if answer is False:
                    low = middle + 1
        return self._found(rows, False)

    def _at_most(self, key: Grid | Expr, bound: int) -> Literal:
        if isinstance(key, Grid):
            cases = self.translator.cases(Grid(key.names, key.values <= bound))
            return dict(cases).get(1, False)
        return self.translator.literal(key <= bound)

    def _score(self, key: Grid | Expr, places: Sequence[int]) -> int:
        where = dict(zip(self.problem.names, places, strict=True))
        if isinstance(key, Grid):
            return int(key.values[tuple(where[name] for name in key.names)])
        tile = {name: (domain[where.get(name, 0)],) for name, domain in self.problem.domains.items()}
        return int(tabulate(key, tile).values)

    def _position(self) -> tuple[int, ...]:
        """Where in its domain each variable stands in the model that z3 found."""
        model = self.solver.current().model()
        is_true, evaluated = self.translator.z3.is_true, model.eval
        return tuple(
            next(place for place, literal in enumerate(choice) if is_true(evaluated(literal, True)))
            for choice in self.choices
        )

    def _found(self, rows: list[tuple[int, ...]], done: bool) -> Found:
        return Found(rows_of(self.problem, rows), done)


class Z3Refuter(Refuter):
    """Rules behind assumptions."""

    def __init__(self, rules: Sequence[Rule], limits: Limits, request: Request) -> None:
        plan = Plan(request.model.domains, limits)
        translator, self.switches = load_switched(lambda: Z3Translator(plan), rules)
        self.solver = _Solver(translator, request.deadline)

    def conflict(self, rules: Sequence[Rule]) -> list[Rule] | None:
        """z3's unsat core."""
        answer = self.solver.check(*(self.switches[rule] for rule in rules))
        if answer is None:
            raise TimeoutError("z3: no answer about these rules before the deadline")
        if answer:
            return None
        names = {literal.decl().name() for literal in self.solver.current().unsat_core()}
        return [rule for rule in rules if self.switches[rule].decl().name() in names]


class Z3Engine(SolverEngine):
    """The engine protocol on z3."""

    name = "z3"

    def __init__(self, limits: Limits | None = None) -> None:
        super().__init__(limits or Limits())

    def open(self, problem: Problem, request: Request) -> Session:
        """z3 assertions of the problem."""
        return Z3Session(problem, self.limits, request)

    def refuter(self, rules: Sequence[Rule], request: Request) -> Refuter:
        """z3 assertions of the rules."""
        return Z3Refuter(rules, self.limits, request)
