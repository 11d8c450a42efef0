"""`tilesearch verify`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tilesearch.cli.command import Output, Reply, command
from tilesearch.cli.progress import progress


@command
def verify(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="What the files hold: occupancy, carver, …")],
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Files of reference data or measurements.")],
    output: Output,
) -> Reply:
    """Replay reference data or your measurements."""
    from tilesearch.api import VERIFY_KINDS
    from tilesearch.api import verify as replay
    from tilesearch.errors import InputError, Issue, suggest
    from tilesearch.report.verify import verify_report

    if kind not in VERIFY_KINDS:
        raise InputError(Issue(f"unknown kind {kind!r}", "KIND", hint=suggest(kind, list(VERIFY_KINDS))))
    with progress(f"verifying {kind}", output.quiet):
        answer = replay(kind, files)
    return Reply(verify_report(answer), 1 if answer.disagree else 0)
