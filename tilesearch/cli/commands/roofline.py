"""`tilesearch roofline`."""

from __future__ import annotations

from typing import Annotated

import typer

from tilesearch.cli.command import Reply, command
from tilesearch.cli.problem import SourceOptions


@command
def roofline(
    given: SourceOptions,
    sweep: Annotated[
        str | None,
        typer.Option("--sweep", metavar="KEY=SIZES", help="Sizes to try: m=16..8192 (doubling), m=n=k=64,128,…"),
    ] = None,
    measured_us: Annotated[
        float | None, typer.Option("--measured-us", metavar="T", help="A kernel's time, to judge against the bound.")
    ] = None,
    measured_bytes: Annotated[
        float | None,
        typer.Option("--measured-bytes", metavar="B", help="What main memory moved: which bound did it follow?"),
    ] = None,
    tile: Annotated[
        str | None,
        typer.Option("--tile", metavar="TILE", help="The tile of the measured kernel [default: the smallest]."),
    ] = None,
    analyzer: Annotated[
        bool, typer.Option("--analyzer", help="What TileLang's Analyzer would add up, beside the ledger.")
    ] = False,
) -> Reply:
    """Give the lower bound on time, the class, and what would be misread."""
    from tilesearch.api.roofline import Question, roofline_problem
    from tilesearch.report.roofline import roofline_report
    from tilesearch.report.words import subject

    with given.opened() as problem:
        answer = roofline_problem(problem, Question(sweep, measured_us, measured_bytes, tile, analyzer))
        about = subject(problem.op.model_dump(exclude_none=True), problem.device.name, problem.kernel.language)
    return Reply(roofline_report(answer, about))
