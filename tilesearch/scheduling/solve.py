"""The shortest period with proof, then the shortest iteration at it, then the fewest buffer bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal

from tilesearch.scheduling.bounds import Bounds, lower_bounds
from tilesearch.scheduling.engines import engines_named
from tilesearch.scheduling.probe import Answer, Budget, Engine, Question, Reply
from tilesearch.scheduling.problem import Line, Loop

Status = Literal["optimal", "feasible", "infeasible", "unknown"]


class Goal(StrEnum):
    """How far to go. Each goal includes those before it."""

    PERIOD = "period"
    ITERATION = "iteration"
    BYTES = "bytes"


@dataclass(frozen=True)
class Schedule:
    """Start times, and how good they are proved to be.

    `status` is about the period (for a straight line, the makespan): ``optimal`` is proved, ``feasible`` is the
    best found so far with `lower` proved, ``infeasible`` is proved to have no schedule, ``unknown`` found none.
    `iteration_status` and `bytes_status` are about the goals after it, given the ones before. `engines` says
    who answered how many questions.
    """

    status: Status
    ii: int = 0
    lower: int = 1
    starts: tuple[int, ...] = ()
    versions: tuple[int, ...] = ()
    iteration: int = 0
    iteration_lower: int = 0
    iteration_status: Status = "unknown"
    bytes: int = 0
    bytes_status: Status = "unknown"
    bounds: Bounds | None = None
    engines: dict[str, int] = field(default_factory=dict)
    nodes: int = 0
    notes: tuple[str, ...] = ()


def schedule_loop(
    loop: Loop, *, engine: str = "auto", goal: Goal | str = Goal.BYTES, budget: Budget | None = None
) -> Schedule:
    """The best schedule of `loop`.

    `engine` is ``auto`` (the project's own search; what that gives up goes to CP-SAT), ``search``, ``cpsat``
    or ``z3``. Raises `InputError` where the tasks wait for one another within one iteration.
    """
    run = _Run(loop, engine, budget or Budget())
    bounds = lower_bounds(loop)
    found = run.least_period(bounds)
    if not found.starts or goal == Goal.PERIOD:
        return run.finished(found)
    found = run.shortest_iteration(found)
    if goal == Goal.BYTES:
        found = run.fewest_bytes(found)
    return run.finished(found)


def schedule_line(line: Line, *, engine: str = "auto", budget: Budget | None = None) -> Schedule:
    """The shortest makespan of tasks that run once: `ii` of the answer is the makespan."""
    loop, period = line.as_loop()
    run = _Run(loop, engine, budget or Budget())
    first = run.ask(period)
    if first.answer is not Answer.YES:
        return run.finished(Schedule("infeasible" if first.answer is Answer.NO else "unknown"))
    found = run.shortest_iteration(run.schedule(first, period, "optimal"))
    return run.finished(replace(found, ii=found.iteration, status=found.iteration_status, lower=found.iteration_lower))


class _Run:
    """One problem, the engines that are asked in turn, and what they answered."""

    def __init__(self, loop: Loop, engine: str, budget: Budget) -> None:
        self.loop, self.budget = loop, budget
        self.engines: Sequence[Engine] = engines_named(engine)
        self.answered: dict[str, int] = {}
        self.notes: dict[str, None] = {}
        self.nodes = 0

    def ask(self, ii: int, iteration: int | None = None, storage: int | None = None, *, hard: bool = True) -> Reply:
        """The first engine's answer that is no "unknown". Only `hard` questions go past the first engine."""
        question = Question(self.loop, ii, iteration, storage)
        reply = Reply(Answer.UNKNOWN)
        budget = self.budget if hard else self.budget.lighter()
        for engine in self.engines if hard else self.engines[:1]:
            reply = engine.ask(question, budget)
            self.nodes += reply.nodes
            self.notes |= dict.fromkeys(f"{engine.name}: {note}" for note in reply.notes if note)
            if reply.answer is not Answer.UNKNOWN:
                self.answered[engine.name] = self.answered.get(engine.name, 0) + 1
                return reply
            if self.budget.spent:
                return reply
        return reply

    def schedule(self, reply: Reply, ii: int, status: Status, lower: int = 1) -> Schedule:
        """A reply as a schedule, with the versions that its start times need."""
        versions = self.loop.versions(ii, reply.starts)
        return Schedule(
            status,
            ii,
            lower,
            reply.starts,
            versions,
            iteration=self.loop.iteration(reply.starts),
            bytes=self.loop.bytes_of(versions),
        )

    def least_period(self, bounds: Bounds) -> Schedule:
        """The least period: a longer one always works where a shorter one does, so a proof below it is enough."""
        crowded = self._too_full()
        if crowded:
            return Schedule("infeasible", lower=bounds.best, bounds=bounds, notes=crowded)
        most = max(self.loop.sequential, bounds.best)
        bracket = _least(bounds.best, most, self.ask)
        if bracket.reply is None:
            status: Status = "infeasible" if bracket.lower > most else "unknown"
            return Schedule(status, lower=min(bracket.lower, most), bounds=bounds)
        status = "optimal" if bracket.lower == bracket.value else "feasible"
        return replace(self.schedule(bracket.reply, bracket.value, status, bracket.lower), bounds=bounds)

    def _too_full(self) -> tuple[str, ...]:
        """Memories that cannot hold one version of each of their buffers."""
        used = {g: sum(self.loop.buffers[b].size for b in g.members) for g in self.loop.groups if g.members}
        return tuple(
            f"{g.name}: one version of {', '.join(self.loop.buffers[b].name for b in g.members)} takes "
            f"{taken} B > {g.capacity} B"
            for g, taken in used.items()
            if taken > g.capacity
        )

    def shortest_iteration(self, found: Schedule) -> Schedule:
        """The shortest iteration at the period of `found`."""
        low = max(t.latency for t in self.loop.tasks)
        bracket = _least(low, found.iteration - 1, lambda value, hard=True: self.ask(found.ii, value, hard=hard))
        if bracket.reply is None:
            status: Status = "optimal" if bracket.lower >= found.iteration else "feasible"
            return replace(found, iteration_lower=min(bracket.lower, found.iteration), iteration_status=status)
        better = self.schedule(bracket.reply, found.ii, found.status, found.lower)
        status = "optimal" if bracket.lower == better.iteration else "feasible"
        return replace(better, bounds=found.bounds, iteration_lower=bracket.lower, iteration_status=status)

    def fewest_bytes(self, found: Schedule) -> Schedule:
        """The fewest bytes of all buffers at the period and the iteration of `found`."""
        low = self.loop.bytes_of([1] * len(self.loop.buffers))
        if found.bytes == low:
            return replace(found, bytes_status="optimal")
        ask = lambda value, hard=True: self.ask(found.ii, found.iteration, value, hard=hard)  # noqa: E731
        bracket = _least(low, found.bytes - 1, ask)
        if bracket.reply is None:
            return replace(found, bytes_status="optimal" if bracket.lower >= found.bytes else "feasible")
        better = self.schedule(bracket.reply, found.ii, found.status)
        status: Status = "optimal" if bracket.lower == better.bytes else "feasible"
        return replace(found, starts=better.starts, versions=better.versions, bytes=better.bytes, bytes_status=status)

    def finished(self, found: Schedule) -> Schedule:
        """The schedule with what it took to find it."""
        notes = (*found.notes, *self.notes)
        return replace(found, engines=self.answered, nodes=self.nodes, notes=notes)


@dataclass(frozen=True)
class _Bracket:
    """The least value with a yes and its reply, and `lower`: everything below it is proved to be no."""

    value: int
    lower: int
    reply: Reply | None


def _least(low: int, high: int, ask: Callable[..., Reply]) -> _Bracket:
    """The least value in [low, high] that is answered yes, where yes stays yes for larger values.

    First `low` itself, which is often the answer; then doubling steps to the first yes; then bisection. An
    "unknown" moves the search up but proves nothing, so `lower` stops there; at the end the values between are
    asked again, with all engines.
    """
    lower, value, reply = low, high + 1, None
    step, at = 0, low
    while at <= high:
        answer = ask(at, hard=False)
        if answer.answer is Answer.YES:
            value, reply = at, answer
            break
        if answer.answer is Answer.NO:
            lower = at + 1
        if at == high:
            break
        step = 2 * step or 1
        at = min(at + step, high)
    floor = lower  # below it nothing is worth asking: no, or given up
    while floor < value:
        middle = (floor + value) // 2
        answer = ask(middle, hard=True)
        if answer.answer is Answer.YES:
            value, reply = middle, answer
        else:
            floor = middle + 1
            lower = max(lower, floor) if answer.answer is Answer.NO else lower
    return _Bracket(value, lower, reply)
