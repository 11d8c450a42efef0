"""`tilesearch design`."""

from __future__ import annotations

from typing import Annotated

import typer

from tilesearch.cli.command import Reply, command
from tilesearch.cli.problem import SearchOptions


@command
def design(
    given: SearchOptions,
    measured_us: Annotated[
        float | None, typer.Option("--measured-us", metavar="T", help="The time of a kernel with the chosen tile.")
    ] = None,
    measured_bytes: Annotated[
        float | None, typer.Option("--measured-bytes", metavar="B", help="What main memory moved under it.")
    ] = None,
) -> Reply:
    """Walk the whole design on one sheet: ledger, tile, pipeline, special paths, review, skeleton."""
    from tilesearch.api.design.sheet import Measured, design_problem
    from tilesearch.report.design import design_report
    from tilesearch.report.words import subject

    with given.opened() as problem:
        answer = design_problem(problem, Measured(measured_us, measured_bytes))
        about = subject(answer.op, answer.device, problem.kernel.language)
    return Reply(design_report(answer, about), 0 if answer.complete else 3)
