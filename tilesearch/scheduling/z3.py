"""The same question for z3, in linear integer arithmetic; a second opinion on what the other engines prove."""

from __future__ import annotations

from typing import Any

import z3

from tilesearch.scheduling.probe import Answer, Budget, Question, Reply, most_stages, normalised

_WORK = 20_000_000  # z3's resource limit of one question


class Z3Engine:
    """z3's integer solver."""

    name = "z3"

    def ask(self, question: Question, budget: Budget) -> Reply:
        """Decide `question`; gives up after a fixed amount of work, or when the budget's time ends."""
        solver = z3.SolverFor("QF_LIA")
        solver.set("rlimit", _WORK)
        if budget.left != float("inf"):
            solver.set("timeout", max(1, int(budget.left * 1000)))
        count = len(question.loop.tasks)
        stages, residues = z3.IntVector("k", count), z3.IntVector("r", count)
        starts = [k * question.ii + r for k, r in zip(stages, residues, strict=True)]
        for clause in _clauses(question, stages, residues, starts):
            solver.add(clause)
        verdict = solver.check()
        if verdict == z3.unsat:
            return Reply(Answer.NO, engine=self.name)
        if verdict != z3.sat:
            return Reply(Answer.UNKNOWN, engine=self.name, notes=(solver.reason_unknown(),))
        model = solver.model()
        values = [model.eval(s, model_completion=True).as_long() for s in starts]
        return Reply(Answer.YES, normalised(question.loop, question.ii, values), self.name)


def _clauses(question: Question, stages: Any, residues: Any, starts: list[Any]) -> list[Any]:
    loop, ii = question.loop, question.ii
    most = most_stages(question)
    clauses = [z3.And(k >= 0, k <= most, r >= 0, r < ii) for k, r in zip(stages, residues, strict=True)]
    versions = z3.IntVector("v", len(loop.buffers))
    clauses += [z3.And(v >= 1, v <= loop.max_versions) for v in versions]
    for e in loop.edges:
        distance = e.distance if e.buffer is None else versions[e.buffer]
        clauses.append(starts[e.target] - starts[e.source] + ii * distance >= e.latency)
    clauses += [starts[b] - starts[a] >= 1 - ii for a, b in loop.windows]
    for x in loop.exclusions:
        ahead = residues[x.second] - residues[x.first]
        clauses.append(
            z3.Or(z3.And(ahead >= x.hold, ahead <= ii - x.back), z3.And(-ahead >= x.back, -ahead <= ii - x.hold))
        )
    groups = [(g.capacity, g.members) for g in loop.groups if g.members]
    if question.storage is not None:
        groups.append((question.storage, tuple(range(len(loop.buffers)))))
    clauses += [z3.Sum([versions[b] * loop.buffers[b].size for b in m]) <= capacity for capacity, m in groups]
    clauses += [residues[i] <= residues[j] for i, j in loop.pipe_order]
    clauses += [stages[u] <= stages[w] for u, w in loop.stage_order]
    if loop.stages is not None:
        clauses += [k == given for k, given in zip(stages, loop.stages, strict=True)]
    if question.iteration is not None:
        begin = z3.Int("begin")
        for s, task in zip(starts, loop.tasks, strict=True):
            clauses += [s >= begin, s + task.latency <= begin + question.iteration]
    return clauses
