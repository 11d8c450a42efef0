"""`tilesearch shard`."""

from __future__ import annotations

from typing import Annotated

import typer

from tilesearch.cli.command import Reply, command
from tilesearch.cli.problem import SourceOptions


@command
def shard(
    given: SourceOptions,
    ranks: Annotated[int, typer.Option("--ranks", metavar="N", help="Devices of one domain.")] = 2,
    split: Annotated[
        str, typer.Option("--split", metavar="row|column", help="Split K and add up, or split N and gather A.")
    ] = "row",
    collective: Annotated[
        str | None,
        typer.Option(
            "--collective",
            metavar="OP",
            help="all-reduce or reduce-scatter for row, all-gather for column [default: the first].",
        ),
    ] = None,
    chunks: Annotated[
        list[int] | None,
        typer.Option("--chunks", metavar="C", help="Chunks of rows that overlap. Repeatable [default: 2, 4, 8]."),
    ] = None,
) -> Reply:
    """Split a GEMM over devices: each rank's part, the collective, and whether overlap pays."""
    from tilesearch.api.shard import shard_problem
    from tilesearch.report.shard import shard_report
    from tilesearch.report.words import subject

    with given.opened() as problem:
        answer = shard_problem(problem, ranks, split, collective, chunks or None)
        about = subject(answer.op, answer.device, answer.local.kernel)
    return Reply(shard_report(answer, about))
