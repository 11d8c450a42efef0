"""The table that `tilesearch tune` writes: a row for each tile that was timed."""

from __future__ import annotations

import json
from typing import Any

from tilesearch.api.verify.tables import positive
from tilesearch.api.verify.times.rows import DEVICE, Timed
from tilesearch.specs.ops import parse_op
from tilesearch.specs.problems import parse_tile

COLUMNS = (
    "kind", "shape", "config", "op", "kernel", "tile", "time_us", "least_us", "most_us", "launches", "cool",
    "predicted_us", "predicted_low_us", "predicted_high_us", "relative_error", "registers", "spills", "shared_bytes",
    "compile_s", "device", "gpu",
)  # fmt: skip
"""`op`, `kernel` and `tile` are JSON, as problem files have them; times in microseconds, seconds to compile."""

WANTED = {"kind", "shape", "config", "op", "kernel", "tile", "time_us"}


def tuned_row(place: int | str, row: dict[str, Any]) -> Timed | None:
    """One row; None where it has no time."""
    if not row["time_us"]:
        return None
    kernel = json.loads(row["kernel"])
    if not isinstance(kernel, dict) or not isinstance(kernel.get("language"), str):
        raise ValueError(f"kernel: an object with a language is wanted, got {row['kernel']}")
    device = row.get("device") or DEVICE
    return Timed(
        place=place,
        kind=row["kind"] if device == DEVICE else f"{row['kind']} on {device}",
        shape=row["shape"],
        op=parse_op(json.loads(row["op"])),
        kernel=kernel,
        tile=parse_tile(json.loads(row["tile"])),
        config=row["config"],
        time_us=positive(row, "time_us"),
        cool=row.get("cool", "1") != "0",
        device=device,
    )
