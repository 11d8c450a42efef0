"""`tilesearch tune`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tilesearch.cli.command import Output, Reply, command
from tilesearch.cli.problem import ProblemOptions
from tilesearch.cli.progress import progress

_TOP = 10


@command
def tune(
    given: ProblemOptions,
    output: Output,
    diverse: Annotated[
        bool, typer.Option("--diverse", help="A list that covers what the time model cannot tell apart.")
    ] = False,
    file: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write what `verify times` reads.")
    ] = None,
) -> Reply:
    """Compile the first tiles and time them on the GPU at hand (extra `gpu`)."""
    from tilesearch.api.shortlist import by_time
    from tilesearch.measure.table import write
    from tilesearch.measure.tune import tune as measure
    from tilesearch.report.measured import tune_report

    with given.opened() as problem, progress("compiling", output.quiet) as say:
        problem = by_time(problem) if given.rank is None else problem
        count = problem.search.top if given.top is not None else _TOP
        answer = measure(problem, count, diverse, say=say)
    if file is not None:
        write([answer], file)
    return Reply(tune_report(answer), 0 if any(row.time_us is not None for row in answer.rows) else 1)
