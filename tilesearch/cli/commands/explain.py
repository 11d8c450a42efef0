"""`tilesearch explain`."""

from __future__ import annotations

from tilesearch.cli.command import Output, Reply, command
from tilesearch.cli.problem import ProblemOptions
from tilesearch.cli.progress import interruptible, progress


@command
def explain(given: ProblemOptions, output: Output) -> Reply:
    """Say which rules contradict each other, and what to give up."""
    from tilesearch.api.explain import explain_problem
    from tilesearch.engines.base import Deadline
    from tilesearch.report.explain import explain_report
    from tilesearch.report.words import subject

    with given.opened() as problem:
        deadline = Deadline(problem.search.time_limit_s)
        with interruptible(deadline), progress("looking for the conflict", output.quiet):
            answer = explain_problem(problem, deadline)
        about = subject(problem.op.model_dump(exclude_none=True), problem.device.name, problem.kernel.language)
    return Reply(explain_report(answer, about), 0 if answer.feasible else 1)
