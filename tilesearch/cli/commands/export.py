"""`tilesearch export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tilesearch.cli.command import Reply, command
from tilesearch.cli.problem import ProblemOptions
from tilesearch.errors import InputError, Issue


@command
def export(
    given: ProblemOptions,
    to: Annotated[str, typer.Option("--to", metavar="triton|tilelang|cutlass|json", help="What to write.")],
    tile: Annotated[
        str | None, typer.Option("--tile", metavar="TILE", help="The tile [default: the best that fits].")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the code to a file as well.")
    ] = None,
) -> Reply:
    """Write a tile as code that runs, or as another program's parameters."""
    from tilesearch.api.export import export_problem
    from tilesearch.report.languages import export_report

    with given.opened() as problem:
        answer = export_problem(problem, to, tile)
    if output is not None:
        text = answer.code if answer.code is not None else answer.model_dump_json(include={"parameters"}, indent=2)
        try:
            output.write_text(text, encoding="utf-8")
        except OSError as error:
            raise InputError(Issue(f"cannot be written: {error.strerror}", "--output", str(output))) from None
    return Reply(export_report(answer))
