"""The CP-SAT engine: OR-tools for spaces too large to enumerate, and for optima with a proof.

Rules come as clauses over one literal a value; what is too large for a table goes through CP-SAT's own
linear, product and division constraints. CP-SAT computes in 64 bits, so every term carries its bounds and
a term that could pass them is refused by name instead of wrapping.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tilesearch.engines.base import Deadline, Request
from tilesearch.engines.lowering import Grid, Limits, Plan
from tilesearch.engines.narrowing import Problem
from tilesearch.engines.search import SolverEngine
from tilesearch.engines.session import Found, Refuter, Session, interruptible, report, rows_of
from tilesearch.engines.translate import Integer, Literal, Translator, load, load_switched
from tilesearch.errors import UnsupportedError
from tilesearch.rules.expr import Expr
from tilesearch.rules.model import Rule
from tilesearch.rules.printing import symbolic

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

_RANGE = 2**61  # differences of two terms stay below 2**62, where CP-SAT refuses a model
_SEED = 20240607
_UNPACKING_S = 5e-7  # what a listed tile costs after the search: time to keep back from the deadline
_WORKERS = 2  # for optima: a second strategy beside the default search


@dataclass(frozen=True)
class _Term:
    """A linear expression, or a constant, and what it can reach."""

    expr: Any
    low: int
    high: int


class CpSatTranslator(Translator):
    """Builds a CP-SAT model."""

    def __init__(self, plan: Plan) -> None:
        from ortools.sat.python import cp_model

        super().__init__(plan)
        self.cp_model = cp_model
        self.model = cp_model.CpModel()
        self._variables: dict[Expr, _Term] = {}

    def fresh(self) -> Literal:
        """A new Boolean variable."""
        return self.model.new_bool_var("")

    def opposite(self, literal: Literal) -> Literal:
        """The negated literal."""
        return ~literal

    def add_clause(self, literals: list[Literal]) -> None:
        """At least one of `literals`."""
        self.model.add_bool_or(literals)

    def add_exactly_one(self, literals: list[Literal]) -> None:
        """Exactly one of `literals`."""
        self.model.add_exactly_one(literals)

    def total(self, node: Expr, terms: list[tuple[int, Integer]], constant: int) -> Integer:
        """A linear expression."""
        low = high = constant
        for weight, term in terms:
            ends = (weight * term.low, weight * term.high)
            low, high = low + min(ends), high + max(ends)
        self._check(node, low, high)
        for weight, _ in terms:
            self._check(node, weight, weight)
        expressions = [term.expr for _, term in terms]
        weights = [weight for weight, _ in terms]
        total = self.cp_model.LinearExpr.weighted_sum(expressions, weights)
        return _Term(total + constant if constant else total, low, high)

    def truth(self, literal: Literal) -> Integer:
        """A literal is a term as it stands."""
        return _Term(literal, 0, 1)

    def compare(self, relation: str, node: Expr, value: Integer) -> Literal:
        """A literal that is true exactly where ``value <= 0`` or ``value == 0``."""
        literal = self.fresh()
        if relation == "le":
            self.model.add(value.expr <= 0).only_enforce_if(literal)
            self.model.add(value.expr >= 1).only_enforce_if(~literal)
        else:
            self.model.add(value.expr == 0).only_enforce_if(literal)
            self.model.add(value.expr != 0).only_enforce_if(~literal)
        return literal

    def product(self, node: Expr) -> Integer:
        """A variable that is the product."""
        a, b = (self._as_variable(argument) for argument in node.args)
        target = self._target(node)
        self.model.add_multiplication_equality(target.expr, [a.expr, b.expr])
        return target

    def quotient(self, node: Expr) -> Integer:
        """CP-SAT's division rounds towards zero, so the dividend is moved up to where that is the floor."""
        a, b = (self._as_variable(argument) for argument in node.args)
        shift = max(0, -(a.low // b.low))
        if shift:  # ``(a + shift * b) // b == a // b + shift``, and the remainder stays
            self._check(node, shift, a.high + shift * b.high)
            moved = self.model.new_int_var(0, a.high + shift * b.high, "")
            self.model.add(moved == a.expr + shift * b.expr)
            a = _Term(moved, 0, a.high + shift * b.high)
        if node.op == "mod":
            target = self._target(node)
            self.model.add_modulo_equality(target.expr, a.expr, b.expr)
            return target
        low, high = self.plan.range(node)
        self._check(node, low, high + shift)
        quotient = self.model.new_int_var(low + shift, high + shift, "")
        self.model.add_division_equality(quotient, a.expr, b.expr)
        return _Term(quotient - shift, low, high)

    def extremum(self, node: Expr) -> Integer:
        """A variable that is the least or largest."""
        expressions = [self._constant_or(argument).expr for argument in node.args]
        target = self._target(node)
        if node.op == "min":
            self.model.add_min_equality(target.expr, expressions)
        else:
            self.model.add_max_equality(target.expr, expressions)
        return target

    def chosen(self, node: Expr, condition: Literal) -> Integer:
        """A variable that is one branch or the other."""
        target = self._target(node)
        then, otherwise = (self._constant_or(argument).expr for argument in node.args[1:])
        self.model.add(target.expr == then).only_enforce_if(condition)
        self.model.add(target.expr == otherwise).only_enforce_if(~condition)
        return target

    def _target(self, node: Expr) -> _Term:
        low, high = self.plan.range(node)
        self._check(node, low, high)
        return _Term(self.model.new_int_var(low, high, ""), low, high)

    def _constant_or(self, node: Expr) -> _Term:
        value = self.integer(node)
        if isinstance(value, int):
            self._check(node, value, value)
            return _Term(value, value, value)
        assert isinstance(value, _Term)
        return value

    def _as_variable(self, node: Expr) -> _Term:
        """The node as one variable: products and divisions take nothing else."""
        if node not in self._variables:
            term = self._constant_or(node)
            if not isinstance(term.expr, int):
                low, high = self.plan.range(node)
                variable = self.model.new_int_var(low, high, "")
                self.model.add(variable == term.expr)
                term = _Term(variable, low, high)
            self._variables[node] = term
        return self._variables[node]

    def _check(self, node: Expr, low: int, high: int) -> None:
        for number in (low, high):
            if abs(number) >= _RANGE:
                raise UnsupportedError(f"cpsat: {symbolic(node)} can reach {number}, beyond CP-SAT's integers (2**61)")

    def validated(self) -> cp_model.CpModel:
        """The model, once CP-SAT finds nothing wrong with it."""
        problem = self.model.validate()
        if problem:
            raise UnsupportedError(f"cpsat: the model is refused: {problem}")
        return self.model


def _run(
    model: cp_model.CpModel, deadline: Deadline, callback: Any = None, **parameters: object
) -> tuple[cp_model.CpSolver, str]:
    """Solve within the deadline; the solver and its status by name."""
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    if deadline.expired:
        return solver, "UNKNOWN"
    settings: Any = solver.parameters
    settings.random_seed = _SEED
    settings.num_workers = 1
    settings.catch_sigint_signal = False
    if deadline.seconds is not None:
        settings.max_time_in_seconds = deadline.left
    for name, value in parameters.items():
        setattr(settings, name, value)
    status = interruptible(lambda: solver.solve(model, callback), solver.stop_search, deadline)
    return solver, solver.status_name(status)


class CpSatSession(Session):
    """One problem as a CP-SAT model."""

    def __init__(self, problem: Problem, limits: Limits, request: Request) -> None:
        self.request = request
        self.problem = problem
        self.translator = load(lambda: CpSatTranslator(Plan(problem.domains, limits)), problem)
        self.choices = [self.translator.choice(name) for name in problem.names]

    def first(self) -> Found:
        """Solve with one worker: the same row every time."""
        return self._solve(most=1)

    def every(self, most: int | None = None) -> Found:
        """CP-SAT's own enumeration. It counts models, and here each model is another tile."""
        return self._solve(None if most is None else most + 1, enumerate_all_solutions=True)

    def least(self, key: Grid | Expr) -> Found:
        """Minimise; CP-SAT proves the bound."""
        term = self.translator.of_key(key)
        if isinstance(term, int):
            return self.first()
        self.translator.model.minimize(term.expr)
        return self._solve(num_workers=_WORKERS)

    def _solve(self, most: int | None = None, **parameters: object) -> Found:
        recorder = _recorder(self.choices, self.request, most)
        model = self.translator.validated()
        status = _run(model, self.request.deadline, recorder, **parameters)[1]
        done = status in ("OPTIMAL", "INFEASIBLE") or (most == 1 and recorder.count == 1)
        places = np.frombuffer(recorder.places, dtype=np.int64).reshape(recorder.count, len(self.choices))
        return Found(rows_of(self.problem, _distinct(places, self.problem)), done)


def _recorder(choices: Sequence[Sequence[Any]], request: Request, most: int | None) -> Any:
    """A callback that keeps the position of each variable's value, and stops at `most` rows."""
    from ortools.sat.python import cp_model

    indices = [[literal.index for literal in choice] for choice in choices]

    class Recorder(cp_model.CpSolverSolutionCallback):
        def __init__(self) -> None:
            super().__init__()
            self.count = 0
            self.stopped = False
            self.places = array("q")  # flat: a million tuples take longer to unpack than to find

        def on_solution_callback(self) -> None:
            value = self.SolutionBooleanValue
            self.places.extend([next(i for i, index in enumerate(choice) if value(index)) for choice in indices])
            self.count += 1
            if self.count % 1024 == 1:
                report(request, "cpsat", self.count)
                self.stopped = request.deadline.left < self.count * _UNPACKING_S
            self.stopped = self.stopped or self.count == most
            if self.stopped:
                self.stop_search()

    return Recorder()


def _distinct(places: NDArray[np.int64], problem: Problem) -> NDArray[np.int64]:
    """Each row once, in the order found: CP-SAT promises no more than that every solution comes up."""
    if problem.size >= _RANGE:
        _, first = np.unique(places, axis=0, return_index=True)
        return places[np.sort(first)]
    codes = np.zeros(len(places), dtype=np.int64)
    for column, name in enumerate(problem.names):
        codes = codes * len(problem.domains[name]) + places[:, column]
    if len(np.unique(codes)) == len(codes):
        return places
    _, first = np.unique(codes, return_index=True)
    return places[np.sort(first)]


class CpSatRefuter(Refuter):
    """Rules behind assumptions."""

    def __init__(self, rules: Sequence[Rule], limits: Limits, request: Request) -> None:
        self.request = request
        plan = Plan(request.model.domains, limits)
        self.translator, self.switches = load_switched(lambda: CpSatTranslator(plan), rules)

    def conflict(self, rules: Sequence[Rule]) -> list[Rule] | None:
        """CP-SAT's sufficient assumptions."""
        model = self.translator.validated()
        model.clear_assumptions()
        model.add_assumptions([self.switches[rule] for rule in rules])
        solver, status = _run(model, self.request.deadline)
        if status in ("OPTIMAL", "FEASIBLE"):
            return None
        if status != "INFEASIBLE":
            raise TimeoutError("cpsat: no answer about these rules before the deadline")
        indices = set(solver.sufficient_assumptions_for_infeasibility())
        # Should CP-SAT ever name no assumption, all of them are a core still.
        return [rule for rule in rules if self.switches[rule].index in indices] or list(rules)


class CpSatEngine(SolverEngine):
    """The engine protocol on CP-SAT."""

    name = "cpsat"

    def __init__(self, limits: Limits | None = None) -> None:
        super().__init__(limits or Limits())

    def open(self, problem: Problem, request: Request) -> Session:
        """A CP-SAT model of the problem."""
        return CpSatSession(problem, self.limits, request)

    def refuter(self, rules: Sequence[Rule], request: Request) -> Refuter:
        """A CP-SAT model of the rules."""
        return CpSatRefuter(rules, self.limits, request)
