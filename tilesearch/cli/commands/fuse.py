"""`tilesearch fuse`."""

from __future__ import annotations

from tilesearch.cli.command import Reply, command
from tilesearch.cli.problem import RuleOptions


@command
def fuse(given: RuleOptions) -> Reply:
    """Fuse a chain or keep it apart; split a reduction over blocks or not."""
    from tilesearch.api.fuse import fuse_problem
    from tilesearch.report.fuse import fuse_report
    from tilesearch.report.words import subject

    with given.opened() as problem:
        answer = fuse_problem(problem)
        about = subject(problem.op.model_dump(exclude_none=True), problem.device.name, problem.kernel.language)
    return Reply(fuse_report(answer, about), 0 if answer.complete else 3)
