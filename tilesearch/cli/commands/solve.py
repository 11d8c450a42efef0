"""`tilesearch solve`."""

from __future__ import annotations

from tilesearch.cli.command import Output, Reply, command
from tilesearch.cli.problem import ProblemOptions
from tilesearch.cli.progress import interruptible, progress


@command
def solve(given: ProblemOptions, output: Output) -> Reply:
    """List the tiles that fit, best first."""
    from tilesearch.answers import SolveAnswer
    from tilesearch.api.solve import solve_problem
    from tilesearch.engines.base import Deadline
    from tilesearch.report.solve import solve_report

    def status(answer: SolveAnswer) -> int:
        if answer.status in ("feasible", "unknown"):
            return 3
        some = any(c.verdict == "fits" for c in answer.candidates) or bool(answer.counts.feasible)
        return 0 if some else 1

    with given.opened() as problem:
        deadline = Deadline(problem.search.time_limit_s)
        with interruptible(deadline), progress("searching", output.quiet) as report:
            answer = solve_problem(problem, report, deadline)
    return Reply(solve_report(answer), status(answer))
