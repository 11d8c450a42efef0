"""`tilesearch schema`."""

from __future__ import annotations

from typing import Annotated

import typer

from tilesearch.cli.command import Reply, command


@command
def schema(
    name: Annotated[str, typer.Argument(metavar="NAME", help="An answer (solve, check, …), or problem, or device.")],
) -> Reply:
    """Print the JSON Schema of an answer or a file."""
    from tilesearch.api.schema import schema as schema_of
    from tilesearch.report import json_report

    return Reply(json_report(schema_of(name)))
