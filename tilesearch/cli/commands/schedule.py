"""`tilesearch schedule`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tilesearch.cli.command import Reply, command
from tilesearch.cli.problem import ProblemOptions

_STATUS = {"optimal": 0, "feasible": 3, "unknown": 3, "infeasible": 1}
# The engines of a problem's search, and those of schedules.
_ENGINES = {"vector": "search"}


@command
def schedule(
    given: ProblemOptions,
    tile: Annotated[
        str, typer.Option("--tile", metavar="TILE", help="The tile: block_m=256,block_n=224,block_k=128,num_stages=2.")
    ],
    svg: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE", help="Draw the schedule into an SVG file as well.")
    ] = None,
) -> Reply:
    """Pipeline one tile on an Ascend AI core: the shortest period, with proof, and what binds it."""
    from tilesearch.api.schedule import schedule_problem
    from tilesearch.errors import InputError, Issue
    from tilesearch.report.gantt import svg_gantt
    from tilesearch.report.schedule import schedule_report
    from tilesearch.report.words import subject

    with given.opened() as problem:
        engine = problem.search.engine
        answer = schedule_problem(problem, tile, _ENGINES.get(engine, engine))
        about = subject(problem.op.model_dump(exclude_none=True), problem.device.name, problem.kernel.language)
        if svg is not None:
            try:
                svg.write_text(svg_gantt(answer), encoding="utf-8")
            except OSError as error:
                raise InputError(Issue(f"cannot be written: {error.strerror}", str(svg))) from None
    return Reply(schedule_report(answer, about), _STATUS[answer.status])
