"""`tilesearch check`."""

from __future__ import annotations

from typing import Annotated

import typer

from tilesearch.cli.command import Reply, command
from tilesearch.cli.problem import ProblemOptions

_STATUS = {"fits": 0, "spills": 0, "infeasible": 1, "unknown": 3}


@command
def check(
    given: ProblemOptions,
    tile: Annotated[
        str, typer.Option("--tile", metavar="TILE", help="The tile: block_m=128,block_n=256,block_k=64,num_stages=4.")
    ],
) -> Reply:
    """Judge one tile: what stops it, and the nearest that fits."""
    from tilesearch.api.check import check_problem
    from tilesearch.report.check import check_report
    from tilesearch.report.words import subject

    with given.opened() as problem:
        answer = check_problem(problem, tile)
        about = subject(problem.op.model_dump(exclude_none=True), problem.device.name, problem.kernel.language)
    return Reply(check_report(answer, about), _STATUS[answer.verdict])
