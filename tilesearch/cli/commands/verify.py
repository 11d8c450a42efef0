"""`tilesearch verify`."""

from __future__ import annotations

from dataclasses import replace
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
    device: Annotated[
        str | None,
        typer.Option("--device", metavar="NAME|FILE", help="times: judge the rows of this device, by its constants."),
    ] = None,
) -> Reply:
    """Replay reference data or your measurements."""
    from tilesearch.api import VERIFY_KINDS
    from tilesearch.api import verify as replay
    from tilesearch.errors import InputError, Issue, suggest
    from tilesearch.report.verify import verify_report

    if kind not in VERIFY_KINDS:
        raise InputError(Issue(f"unknown kind {kind!r}", "KIND", hint=suggest(kind, list(VERIFY_KINDS))))
    try:
        with progress(f"verifying {kind}", output.quiet):
            answer = replay(kind, files, device)
    except InputError as error:
        named = [replace(i, where="--device") if i.where == "device" and not i.source else i for i in error.issues]
        raise type(error)(named) from None
    return Reply(verify_report(answer), 1 if answer.disagree else 0)
