"""`tilesearch check`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tilesearch.cli.command import Reply, command
from tilesearch.cli.commands.prune import pruned
from tilesearch.cli.problem import ProblemOptions

_STATUS = {"fits": 0, "spills": 0, "infeasible": 1, "unknown": 3}


@command
def check(
    given: ProblemOptions,
    context: typer.Context,
    tile: Annotated[
        str | None,
        typer.Option("--tile", metavar="TILE", help="The tile: block_m=128,block_n=256,block_k=64,num_stages=4."),
    ] = None,
    configs: Annotated[
        Path | None,
        typer.Option("--configs", metavar="FILE", help="Many: a JSON list, a CSV, or vLLM's JSON keyed by M."),
    ] = None,
) -> Reply:
    """Judge one tile: what stops it, and the nearest that fits. With --configs, judge a file of them."""
    from tilesearch.api.check import check_problem
    from tilesearch.report.check import check_report
    from tilesearch.report.words import subject

    if (tile is None) == (configs is None):
        raise typer.BadParameter("one of --tile and --configs is wanted", ctx=context, param_hint="--tile")
    if configs is not None:
        return pruned(given, configs)
    with given.opened() as problem:
        answer = check_problem(problem, tile or {})
        about = subject(problem.op.model_dump(exclude_none=True), problem.device.name, problem.kernel.language)
    return Reply(check_report(answer, about), _STATUS[answer.verdict])
