"""`tilesearch devices`: the list, one device, the difference of two."""

from __future__ import annotations

from typing import Annotated

import typer

from tilesearch.cli.command import Reply, command, group

app = typer.Typer(rich_markup_mode=None)

Name = Annotated[str, typer.Argument(metavar="DEVICE", help="A name, an alias, or a device file.")]


@app.callback(invoke_without_command=True)
@group
def devices(context: typer.Context) -> Reply | None:
    """Show devices, each number with its source."""
    return _list() if context.invoked_subcommand is None else None


def _list() -> Reply:
    from tilesearch.api.devices import devices as all_devices
    from tilesearch.report.devices import list_report

    return Reply(list_report(all_devices()))


@app.command("list")
@command
def list_devices() -> Reply:
    """List the devices that ship with tilesearch."""
    return _list()


@app.command("show")
@command
def show(device: Name) -> Reply:
    """Show every number of a device with its source, and the roofs under each policy."""
    from tilesearch.api.devices import device_sheet
    from tilesearch.report.devices import sheet_report

    return Reply(sheet_report(device_sheet(device)))


@app.command("diff")
@command
def diff(
    a: Annotated[str, typer.Argument(metavar="A", help="A device.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another.")],
) -> Reply:
    """Show only what differs between two devices."""
    from tilesearch.api.devices import device_diff
    from tilesearch.report.devices import diff_report

    return Reply(diff_report(device_diff(a, b)))
