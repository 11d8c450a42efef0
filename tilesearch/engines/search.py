"""The questions of the engine protocol, asked of a solver that can only find, list and minimise.

Everything here is independent of the solver: narrowing, splitting into components, putting the components'
rows together, and the partial answer when time runs out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from math import prod

import numpy as np

from tilesearch.engines.base import Outcome, Request, Status, Tiles, empty_tiles
from tilesearch.engines.climb import Climb
from tilesearch.engines.lowering import Limits
from tilesearch.engines.narrowing import Problem, components, narrow, pose, restrict
from tilesearch.engines.session import Found, Refuter, Session, blank_rows, interrupt_noted
from tilesearch.rules.expr import Expr
from tilesearch.rules.model import Rule

_MOST_ROWS = 50_000_000  # of an answer, as in the vector engine


class SolverEngine(ABC):
    """The protocol of `base.Engine` on top of sessions."""

    name: str

    def __init__(self, limits: Limits) -> None:
        self.limits = limits

    @abstractmethod
    def open(self, problem: Problem, request: Request) -> Session:
        """Load a problem."""

    @abstractmethod
    def refuter(self, rules: Sequence[Rule], request: Request) -> Refuter:
        """Load rules over the model's domains."""

    def enumerate(self, request: Request) -> Outcome:
        """Every tile that satisfies the enforced rules."""
        search = _Search(self, request)
        with interrupt_noted(request.deadline):
            search.list_all()
        return search.outcome()

    def first(self, request: Request) -> Outcome:
        """Any one tile, or INFEASIBLE."""
        search = _Search(self, request)
        with interrupt_noted(request.deadline):
            search.find_one()
        return search.outcome()

    def best(self, request: Request, key: Expr, k: int) -> Outcome:
        """Every tile whose key is at most the k-th smallest key, proved."""
        search = _Search(self, request)
        with interrupt_noted(request.deadline):
            search.find_best(key, k)
        return search.outcome()

    def core(self, request: Request, rules: Sequence[Rule]) -> tuple[Rule, ...] | None:
        """A subset of `rules` that no tile satisfies together; minimal unless time ran out."""
        known = [rule for rule in rules if rule.limit is not None]
        if not all(request.model.domains.values()):
            return ()
        refuter = self.refuter(known, request)
        core = refuter.conflict(known)
        if core is None:
            return None
        with suppress(TimeoutError):  # what is in hand is a core already
            for rule in list(core):
                smaller = refuter.conflict([r for r in core if r is not rule]) if rule in core else None
                core = core if smaller is None else smaller
        return tuple(rule for rule in known if rule in core)


class _Search:
    """One question, and what is known so far: it can be answered at any moment."""

    def __init__(self, engine: SolverEngine, request: Request) -> None:
        self.engine = engine
        self.request = request
        self.limits = engine.limits
        self.rows = empty_tiles(request.model)
        self.status: Status | None = None  # set once everything that was asked for is settled
        self.notes: list[str] = []

    def outcome(self) -> Outcome:
        """The answer, from whatever is known."""
        listed = self.status in (Status.COMPLETE, Status.INFEASIBLE)
        status = self.status or (Status.FEASIBLE if len(self.rows) else Status.UNKNOWN)
        count = len(self.rows) if listed else None
        return Outcome(status, self.rows, listed, feasible=count, notes=self.notes)

    def _narrowed(self) -> Problem | None:
        """The whole question; None when it is refuted already."""
        rules = [rule.holds for rule in self.request.enforced()]
        problem = narrow(pose(self.request.model.domains), self.limits, rules)
        if problem is None:
            self.status = Status.INFEASIBLE
        return problem

    def _accept(self, found: Found, status: Status) -> None:
        self.rows = found.rows
        if found.done:
            self.status = status if len(found.rows) else Status.INFEASIBLE

    def list_all(self) -> None:
        """Answer `enumerate`."""
        problem = self._narrowed()
        if problem is not None:
            self._accept(self.every(problem), Status.COMPLETE)

    def find_one(self) -> None:
        """Answer `first`."""
        problem = self._narrowed()
        if problem is None:
            return
        answers = []
        for part in components(problem):
            answers.append((part, self._listed(part, 1) if part.free else self.open(part).first()))
            if not len(answers[-1][1].rows):
                self._accept(answers[-1][1], Status.FEASIBLE)
                return
        rows, _ = _product(problem, answers, 1)
        self._accept(Found(rows, True), Status.FEASIBLE)

    def find_best(self, key: Expr, k: int) -> None:
        """Answer `best`: climb the key's component; what the key does not touch multiplies its rows."""
        problem = self._narrowed()
        if problem is None:
            return
        ranking = {name for name in key.variables if name in problem.names}
        if not ranking:  # every tile ties
            self._accept(self.every(problem), Status.COMPLETE)
            return
        (part,) = [p for p in components(problem, ranking) if ranking & set(p.names)]
        other = restrict(problem, set(problem.names) - set(part.names))
        rest = self.every(other)
        if not len(rest.rows):
            self._accept(rest, Status.COMPLETE)
            return
        climb = Climb(self, part, max(1, -(-k // len(rest.rows))))
        try:
            climb.run(key)
        finally:  # an interrupt leaves what was found so far
            found, count = _product(problem, [(part, climb.found), (other, rest)], _MOST_ROWS)
            self.rows = found
        if climb.found.done and not len(climb.found.rows):
            self.status = Status.INFEASIBLE
        elif climb.found.done and rest.done and self._is_whole(count):
            self._accept(Found(found, True), Status.COMPLETE if climb.exhausted else Status.OPTIMAL)

    def every(self, problem: Problem, most: int | None = None) -> Found:
        """All rows of a problem, component by component."""
        answers: list[tuple[Problem, Found]] = []
        for part in components(problem):
            answers.append((part, self._listed(part, most)))
            if not len(answers[-1][1].rows):  # refuted, or out of time with nothing to combine
                return answers[-1][1]
        rows, count = _product(problem, answers, _MOST_ROWS if most is None else most + 1)
        whole = count <= most if most is not None else self._is_whole(count)
        return Found(rows, whole and all(found.done for _, found in answers))

    def _listed(self, part: Problem, most: int | None) -> Found:
        if part.free:
            (name,) = part.names
            rows = blank_rows(part, len(part.domains[name]))
            rows[:, list(part.domains).index(name)] = part.domains[name]
            return Found(rows, True)
        return self.open(part).every(most)

    def open(self, part: Problem) -> Session:
        """Load a problem into the solver."""
        return self.engine.open(part, self.request)

    def _is_whole(self, count: int) -> bool:
        if count > _MOST_ROWS:
            self.notes.append(f"{count} tiles are too many to list: the first {_MOST_ROWS} are given")
        return count <= _MOST_ROWS


def _product(problem: Problem, answers: Sequence[tuple[Problem, Found]], most: int) -> tuple[Tiles, int]:
    """Every combination of the components' rows, at most `most` of them; and how many there are."""
    count = prod(len(found.rows) for _, found in answers)
    if len(answers) == 1:
        return answers[0][1].rows[:most], count
    tiles = blank_rows(problem, min(count, most))
    columns = {name: column for column, name in enumerate(problem.domains)}
    stride = 1
    for part, found in answers:
        length = len(found.rows)
        for name in part.names:
            # Each value stays for `stride` rows, and the whole column starts again after the last.
            once = np.repeat(found.rows[: -(-most // stride), columns[name]], stride)
            _fill(tiles[:, columns[name]], once[:most])
        stride = min(most, stride * max(1, length))
    return tiles, count


def _fill(column: Tiles, period: Tiles) -> None:
    """Write `period` again and again."""
    if not len(column):
        return
    whole = len(column) // len(period) * len(period)
    column[:whole].reshape(-1, len(period))[:] = period
    column[whole:] = period[: len(column) - whole]
