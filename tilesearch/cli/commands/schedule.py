"""`tilesearch schedule`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from tilesearch.cli.command import Reply, command
from tilesearch.cli.problem import ProblemOptions
from tilesearch.errors import InputError, Issue

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
    png: Annotated[
        Path | None, typer.Option("--png", metavar="FILE", help="The same as a PNG file (needs the extra `png`).")
    ] = None,
) -> Reply:
    """Pipeline one tile on an Ascend AI core: the shortest period, with proof, and what binds it."""
    from tilesearch.api.schedule import schedule_problem
    from tilesearch.report.gantt import png_gantt, svg_gantt
    from tilesearch.report.schedule import schedule_report
    from tilesearch.report.words import subject

    with given.opened() as problem:
        engine = problem.search.engine
        answer = schedule_problem(problem, tile, _ENGINES.get(engine, engine))
        about = subject(problem.op.model_dump(exclude_none=True), problem.device.name, problem.kernel.language)
        _write(svg, lambda: svg_gantt(answer).encode())
        _write(png, lambda: png_gantt(answer))
    return Reply(schedule_report(answer, about), _STATUS[answer.status])


def _write(file: Path | None, picture: Callable[[], bytes]) -> None:
    if file is None:
        return
    try:
        file.write_bytes(picture())
    except OSError as error:
        raise InputError(Issue(f"cannot be written: {error.strerror}", str(file))) from None
