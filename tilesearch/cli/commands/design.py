"""`tilesearch design`."""

from __future__ import annotations

from tilesearch.cli.command import Reply, command
from tilesearch.cli.problem import ProblemOptions


@command
def design(given: ProblemOptions) -> Reply:
    """Walk the whole design on one sheet: ledger, tile, pipeline, special paths, review, skeleton."""
    from tilesearch.api.design import design_problem
    from tilesearch.report.design import design_report
    from tilesearch.report.words import subject

    with given.opened() as problem:
        answer = design_problem(problem)
        about = subject(answer.op, answer.device, problem.kernel.language)
    return Reply(design_report(answer, about), 0 if answer.complete else 3)
