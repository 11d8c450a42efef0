"""The questions of the engine protocol, asked of a solver that can only find, list and minimise.

Everything here is independent of the solver: narrowing, splitting into components, climbing from the best
key to the k-th, and the partial answer when time runs out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from tilesearch.engines.base import Outcome, Request, Status, Tiles, empty_tiles
from tilesearch.engines.keys import Key
from tilesearch.engines.lowering import Grid, Limits, points
from tilesearch.engines.narrowing import Problem, components, narrow, pose, restrict
from tilesearch.errors import UnsupportedError
from tilesearch.rules.expr import Expr
from tilesearch.rules.model import Rule

_MOST_ROWS = 50_000_000  # of an answer, as in the vector engine
_LISTED_AT_ONCE = 2048  # rows that a step above the optimum may bring before the step is made smaller
_LEVELS = 256  # values of a ranked key that a solver minimises over at once


@dataclass
class Found:
    """Rows of values, a column a variable of the model; `done` says that the question is settled.

    Only the columns of the problem's own variables, and of those with one value, mean anything.
    """

    rows: Tiles
    done: bool = False


class Session(ABC):
    """One problem, loaded into a solver."""

    @abstractmethod
    def first(self) -> Found:
        """One row; done and empty when there is none."""

    @abstractmethod
    def every(self, most: int | None = None) -> Found:
        """All rows. Stops, not done, when there are more than `most`."""

    @abstractmethod
    def least(self, key: Grid | Expr) -> Found:
        """A row with the least key, last; the rows before it came up on the way."""


class Refuter(ABC):
    """Rules loaded into a solver, each behind a switch."""

    @abstractmethod
    def conflict(self, rules: Sequence[Rule]) -> list[Rule] | None:
        """Some of `rules` that exclude each other, or None when all of them hold somewhere.

        Raises TimeoutError when the deadline ends the search undecided.
        """


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
        with search.interruptible():
            search.list_all()
        return search.outcome()

    def first(self, request: Request) -> Outcome:
        """Any one tile, or INFEASIBLE."""
        search = _Search(self, request)
        with search.interruptible():
            search.find_one()
        return search.outcome()

    def best(self, request: Request, key: Expr, k: int) -> Outcome:
        """Every tile whose key is at most the k-th smallest key, proved."""
        search = _Search(self, request)
        with search.interruptible():
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


def rows_of(problem: Problem, positions: Sequence[Sequence[int]] | NDArray[np.int64]) -> Tiles:
    """Rows of values from positions in the domains of the problem's own variables."""
    rows = _blank(problem, len(positions))
    places = np.asarray(positions, dtype=np.int64).reshape(len(positions), len(problem.names))
    columns = {name: column for column, name in enumerate(problem.domains)}
    for place, name in enumerate(problem.names):
        rows[:, columns[name]] = np.array(problem.domains[name], dtype=np.int64)[places[:, place]]
    return rows


def report(request: Request, name: str, count: int) -> None:
    """Tell the user how many tiles were found; the fraction is of the time limit."""
    deadline = request.deadline
    fraction = min(1.0, deadline.elapsed / deadline.seconds) if deadline.seconds else 0.0
    request.report(f"{name}: {count} found", fraction)


class _Search:
    """One question, and what is known so far: it can be answered at any moment."""

    def __init__(self, engine: SolverEngine, request: Request) -> None:
        self.engine = engine
        self.request = request
        self.limits = engine.limits
        self.rows = empty_tiles(request.model)
        self.status: Status | None = None  # set once everything that was asked for is settled
        self.notes: list[str] = []

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Ctrl-C ends the search, not the answer."""
        try:
            yield
        except KeyboardInterrupt:
            self.request.deadline.interrupted = True
            self.status = None

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
            answers.append((part, self._listed(part, 1) if part.free else self._open(part).first()))
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
        climb = _Climb(self, part, -(-k // len(rest.rows)))
        try:
            climb.run(key)
        finally:  # an interrupt leaves what was found so far
            found, count = _product(problem, [(part, climb.found), (other, rest)], _MOST_ROWS)
            self.rows = found
        if climb.found.done and rest.done and self._is_whole(count):
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
            rows = _blank(part, len(part.domains[name]))
            rows[:, list(part.domains).index(name)] = part.domains[name]
            return Found(rows, True)
        return self._open(part).every(most)

    def _open(self, part: Problem) -> Session:
        return self.engine.open(part, self.request)

    def _is_whole(self, count: int) -> bool:
        if count > _MOST_ROWS:
            self.notes.append(f"{count} tiles are too many to list: the first {_MOST_ROWS} are given")
        return count <= _MOST_ROWS


def _blank(problem: Problem, count: int) -> Tiles:
    """Rows with the first value of every domain, column by column in memory, as they are written and read."""
    rows = np.empty((count, len(problem.domains)), dtype=np.int64, order="F")
    for column, domain in enumerate(problem.domains.values()):
        rows[:, column] = domain[0]
    return rows


def _product(problem: Problem, answers: Sequence[tuple[Problem, Found]], most: int) -> tuple[Tiles, int]:
    """Every combination of the components' rows, at most `most` of them; and how many there are."""
    count = prod(len(found.rows) for _, found in answers)
    if len(answers) == 1:
        return answers[0][1].rows[:most], count
    tiles = _blank(problem, min(count, most))
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


class _Climb:
    """The least key first, then windows above it until `need` rows are known."""

    def __init__(self, search: _Search, problem: Problem, need: int) -> None:
        self.search = search
        self.problem = problem
        self.need = need
        self.exhausted = False  # every row of the problem was found
        self.found = Found(np.empty((0, len(problem.domains)), dtype=np.int64))

    def run(self, expr: Expr) -> None:
        """Fill `found`; ranks stand in for a key that the solver's integers cannot hold."""
        limits = self.search.limits
        size = points(expr, self.problem.domains)
        ranked = size <= limits.key
        try:
            self._climb(Key(expr, self.problem.domains, limits, ranked))
        except UnsupportedError:
            if ranked or size > limits.last_resort:
                raise
            self._climb(Key(expr, self.problem.domains, limits, True))

    def _climb(self, key: Key) -> None:
        low = self._optimum(key)
        if low is None:
            return
        proved: list[Tiles] = []
        count = width = 0
        while count < self.need and low <= key.high:
            high = min(key.high, low + width)
            most = None if low == high else max(_LISTED_AT_ONCE, 4 * self.need)
            found = self._between(key, low, high, most)
            if not found.done and most is not None and len(found.rows) > most:
                width = self._narrower(key, low, high, self.need - count, found.rows)
                continue
            proved.append(found.rows)
            self.found.rows = np.concatenate(proved)
            if not found.done:
                return
            count += len(found.rows)
            width = max(2 * width + 1, key.step(low))
            low = high + 1
        self.exhausted = low > key.high
        self._cut(key)

    def _optimum(self, key: Key) -> int | None:
        """The least score, proved; None when there is no row or the deadline came first.

        A ranked key is searched from below in growing windows, halved once a row is known, because a
        solver's presolve suffers from an objective with many levels.
        """
        low, size, known = key.low, _LEVELS, None
        while low <= key.high:
            if not key.ranked:
                high = key.high
            elif known is None:
                high, size = min(key.high, low + size - 1), size * 8
            else:
                high = known if known - low < _LEVELS else (low + known) // 2
            exact = not key.ranked or high - low < _LEVELS
            found = self._probe(key, low, high, exact)
            if len(found.rows):
                self.found.rows = found.rows
                known = key.scores(found.rows[-1:])[0]
            if not found.done:
                return None
            if not len(found.rows):
                low = high + 1
            elif exact:
                return known
        self.found.done = self.exhausted = True
        return None

    def _probe(self, key: Key, low: int, high: int, exact: bool) -> Found:
        """The least row of a window, or any."""
        problem = self._window(key, low, high)
        if problem is None:
            return Found(self.found.rows[:0], True)
        if not problem.names:
            return Found(_blank(problem, 1), True)
        session = self.search.engine.open(problem, self.search.request)
        return session.least(key.objective(problem.domains, low, high)) if exact else session.first()

    def _window(self, key: Key, low: int, high: int) -> Problem | None:
        relations, rules = key.window(low, high)
        return narrow(self.problem, self.search.limits, rules, relations)

    def _between(self, key: Key, low: int, high: int, most: int | None) -> Found:
        problem = self._window(key, low, high)
        return Found(self.found.rows[:0], True) if problem is None else self.search.every(problem, most)

    def _narrower(self, key: Key, low: int, high: int, need: int, rows: Tiles) -> int:
        """A width that is known to suffice, or half of what brought too many rows."""
        enough = sorted(key.scores(rows))[need - 1]
        return (enough if enough < high else (low + high) // 2) - low

    def _cut(self, key: Key) -> None:
        """Keep the rows up to the key of the `need`-th."""
        scores = np.array(key.scores(self.found.rows), dtype=object)
        if len(scores) > self.need:
            keep = scores <= np.sort(scores)[self.need - 1]
            self.exhausted = self.exhausted and bool(keep.all())
            self.found.rows = self.found.rows[keep.astype(bool)]
        self.found.done = True
