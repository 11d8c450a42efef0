"""`tilesearch calibrate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tilesearch.cli.command import Output, Reply, command
from tilesearch.cli.progress import progress


@command
def calibrate(
    output: Output,
    name: Annotated[
        str, typer.Option("--device-name", metavar="NAME", help="What the device is to be called.")
    ] = "mine",
    file: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write a device file.")] = None,
    against: Annotated[
        str | None,
        typer.Option("--against", metavar="DEVICE", help="Compare with this device [default: the GPU's own]."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer repeats.")] = False,
) -> Reply:
    """Measure constants of the GPU at hand that can be measured alone (extra `gpu`)."""
    from tilesearch.measure.calibrate import calibrate as measure
    from tilesearch.measure.calibrate import versions
    from tilesearch.measure.device_file import check_name, device_text, write
    from tilesearch.report.measured import calibrate_report

    check_name(name)
    with progress("measuring", output.quiet) as say:
        answer, gpu, found = measure(name, against=against, quick=quick, say=say)
    if file is not None:
        write(device_text(answer, gpu, found, versions()), file)
    return Reply(calibrate_report(answer))
