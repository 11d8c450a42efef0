"""The commands by name. A new command is a module in `cli.commands` and a line here."""

from __future__ import annotations

import typer

from tilesearch.cli.command import group
from tilesearch.cli.commands import (
    calibrate,
    check,
    design,
    devices,
    explain,
    export,
    fuse,
    port,
    prune,
    roofline,
    schedule,
    schema,
    shard,
    solve,
    tune,
    verify,
)

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.command("solve")(solve.solve)
app.command("check")(check.check)
app.command("explain")(explain.explain)
app.command("design")(design.design)
app.command("fuse")(fuse.fuse)
app.command("roofline")(roofline.roofline)
app.command("schedule")(schedule.schedule)
app.command("shard")(shard.shard)
app.command("port")(port.port)
app.command("export")(export.export)
app.command("prune")(prune.prune)
app.command("tune")(tune.tune)
app.command("calibrate")(calibrate.calibrate)
app.command("verify")(verify.verify)
app.add_typer(devices.app, name="devices")
app.command("schema")(schema.schema)


@app.callback()
@group
def _root() -> None:
    """Which tiles fit, which rule stops the others, and the nearest tile that fits."""
