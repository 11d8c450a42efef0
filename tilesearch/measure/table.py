"""Measured tiles as the table that `tilesearch verify times` reads."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from tilesearch.answers.measured import TuneAnswer
from tilesearch.api.verify.times.tuned import COLUMNS
from tilesearch.errors import InputError, Issue
from tilesearch.report.words import tile_text

POWER_LIMITED_US = 10_000.0
"""Launches longer than this are not cool: one of them is longer than the bursts that keep the clock up."""


def records(answer: TuneAnswer) -> list[dict[str, Any]]:
    """A row for each tile that ran, under `COLUMNS`; times in microseconds."""
    shape = "x".join(str(answer.op[name]) for name in ("batch", "m", "n", "k") if _says(answer.op, name))
    named = shape or "_".join(f"{name}{_plain(value)}" for name, value in answer.op.items() if name != "kind")
    variant = answer.kernel.get("variant") or "pointer"
    found = []
    for row in answer.rows:
        if row.time_us is None:
            continue
        values = row.model_dump(exclude={"tile", "error", "rank"})
        found.append(
            {
                **values,
                "kind": f"tune_{answer.op.get('kind', 'op')}_{variant}",
                "shape": named,
                "config": tile_text(row.tile),
                "op": json.dumps(answer.op),
                "kernel": json.dumps(answer.kernel),
                "tile": json.dumps(row.tile.as_dict()),
                "cool": int(row.time_us < POWER_LIMITED_US),
                "device": answer.device,
                "gpu": answer.gpu,
            }
        )
    return found


def _says(op: dict[str, Any], name: str) -> bool:
    return name in op and (name != "batch" or op[name] != 1)


def _plain(value: Any) -> str:
    return str(value).replace(" ", "").strip("[]()").replace(",", "x")


def write(answers: list[TuneAnswer], path: Path) -> None:
    """Write all rows to a comma-separated file. Raises `InputError` where it cannot be written."""
    try:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            for answer in answers:
                writer.writerows(records(answer))
    except OSError as error:
        raise InputError(Issue(f"cannot be written: {error.strerror}", "--output", str(path))) from None
