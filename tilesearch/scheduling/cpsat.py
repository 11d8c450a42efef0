"""The same question for CP-SAT: stages and residues as integers, one Boolean a pair of exclusive tasks."""

from __future__ import annotations

from typing import Any

from ortools.sat.python import cp_model

from tilesearch.scheduling.probe import Answer, Budget, Question, Reply, most_stages, normalised

_WORK = 20.0  # deterministic time of one question, in CP-SAT's unit (about a second)
_LARGEST = 2**60


class CpSatEngine:
    """OR-tools CP-SAT, one worker, so that its CPU time is its wall time."""

    name = "cpsat"

    def ask(self, question: Question, budget: Budget) -> Reply:
        """Decide `question`; gives up after a fixed amount of work, or when the budget's time ends."""
        if question.ii * (most_stages(question) + 2) >= _LARGEST:
            return Reply(Answer.UNKNOWN, engine=self.name, notes=("the times pass CP-SAT's range",))
        model = cp_model.CpModel()
        stages, residues = _variables(model, question)
        starts = [k * question.ii + r for k, r in zip(stages, residues, strict=True)]
        _waits(model, question, starts)
        _exclusions(model, question, residues)
        _orders(model, question, stages, residues)
        _limits(model, question, starts)
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.max_deterministic_time = _WORK
        if budget.left != float("inf"):
            solver.parameters.max_time_in_seconds = budget.left
        status = solver.solve(model)
        if status == cp_model.INFEASIBLE:
            return Reply(Answer.NO, engine=self.name)
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return Reply(Answer.UNKNOWN, engine=self.name)
        found = [solver.value(k) * question.ii + solver.value(r) for k, r in zip(stages, residues, strict=True)]
        return Reply(Answer.YES, normalised(question.loop, question.ii, found), self.name)


def _variables(model: Any, question: Question) -> tuple[list[Any], list[Any]]:
    most = most_stages(question)
    tasks = question.loop.tasks
    given = question.loop.stages
    stages = [model.new_int_var(0, most, f"k{i}") for i in range(len(tasks))]
    if given is not None:
        stages = [model.new_constant(k) for k in given]
    return stages, [model.new_int_var(0, question.ii - 1, f"r{i}") for i in range(len(tasks))]


def _waits(model: Any, question: Question, starts: list[Any]) -> None:
    loop, ii = question.loop, question.ii
    versions = [model.new_int_var(1, loop.max_versions, f"v{i}") for i in range(len(loop.buffers))]
    for e in loop.edges:
        distance = e.distance if e.buffer is None else versions[e.buffer]
        apart = 0 if e.source == e.target else starts[e.target] - starts[e.source]
        if isinstance(distance, int) and isinstance(apart, int):
            if ii * distance < e.latency:
                model.add_bool_or([])
        else:
            model.add(apart + ii * distance >= e.latency)
    for a, b in loop.windows:
        model.add(starts[b] - starts[a] >= 1 - ii)
    groups = [(g.capacity, g.members) for g in loop.groups if g.members]
    if question.storage is not None:
        groups.append((question.storage, tuple(range(len(loop.buffers)))))
    for capacity, members in groups:
        model.add(sum(versions[b] * loop.buffers[b].size for b in members) <= capacity)


def _exclusions(model: Any, question: Question, residues: list[Any]) -> None:
    ii = question.ii
    for x in question.loop.exclusions:
        ahead = residues[x.second] - residues[x.first]
        first = model.new_bool_var("")
        model.add(ahead >= x.hold).only_enforce_if(first)
        model.add(ahead <= ii - x.back).only_enforce_if(first)
        model.add(-ahead >= x.back).only_enforce_if(~first)
        model.add(-ahead <= ii - x.hold).only_enforce_if(~first)


def _orders(model: Any, question: Question, stages: list[Any], residues: list[Any]) -> None:
    for i, j in question.loop.pipe_order:
        model.add(residues[i] <= residues[j])
    for u, w in question.loop.stage_order:
        model.add(stages[u] <= stages[w])


def _limits(model: Any, question: Question, starts: list[Any]) -> None:
    if question.iteration is None:
        return
    begin = model.new_int_var(0, question.ii * (most_stages(question) + 1), "begin")
    for s, task in zip(starts, question.loop.tasks, strict=True):
        model.add(s >= begin)
        model.add(s + task.latency <= begin + question.iteration)
