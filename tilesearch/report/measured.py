"""The reports of `tune` and `calibrate`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from tilesearch.answers.measured import CalibrateAnswer, Calibrated, TuneAnswer, TunedRow
from tilesearch.report.base import Records, Report
from tilesearch.report.document import Column, Document, Listing, Table, Text, notes
from tilesearch.report.words import ABSENT, subject, tile_text


def tune_report(answer: TuneAnswer) -> Report:
    """How measured tiles are shown."""
    return Report(answer, partial(_tune_document, answer), partial(_tune_records, answer), answer.notes)


def _tune_document(answer: TuneAnswer) -> Document:
    seconds = answer.seconds
    header = f"{answer.problem} on {answer.gpu}: {len(answer.rows)} tiles, chosen {answer.chosen}"
    columns = [
        Column("tile"),
        Column("time us", right=True),
        Column("predicted", right=True),
        Column("80 %", right=True, drop=1),
        Column("off %", right=True),
        Column("error", right=True, drop=2),
        Column("rank", right=True, drop=1),
    ]
    failed = [f"{tile_text(row.tile)}: {row.error}" for row in answer.rows if row.error]
    spent = (
        f"{answer.compiles} compiled in {seconds.compiling:.1f} s ({seconds.compiling_processes:.1f} s of processes, "
        f"which took {seconds.starting:.1f} s to start), timed in {seconds.timing:.1f} s"
    )
    return Document().add(
        Text(header, strong=True),
        Text(subject(answer.op, answer.device, str(answer.kernel.get("language", "")))),
        Table(columns, [_tuned_cells(row) for row in answer.rows if row.time_us is not None]),
        Listing("did not run", failed),
        Text(_judged(answer)),
        Text(spent, note=True),
        Text(_state(answer.before, answer.after), note=True),
        notes(answer.notes),
    )


def _tuned_cells(row: TunedRow) -> list[str]:
    predicted, time = row.predicted_us, row.time_us or 0.0
    interval = ABSENT
    if row.predicted_low_us is not None and row.predicted_high_us is not None:
        interval = f"{row.predicted_low_us:.1f} to {row.predicted_high_us:.1f}"
    return [
        tile_text(row.tile),
        f"{time:.2f}",
        ABSENT if predicted is None else f"{predicted:.2f}",
        interval,
        ABSENT if predicted is None or not time else f"{100 * (predicted / time - 1):+.1f}",
        ABSENT if row.relative_error is None else f"{row.relative_error:.1e}",
        str(row.rank),
    ]


def _judged(answer: TuneAnswer) -> str:
    if answer.mean_error is None:
        return ""
    held = f", {100 * (answer.within_interval or 0.0):.0f} % within the 80 % interval"
    apart = "" if answer.resolution is None else f"; the same launch differs by {100 * answer.resolution:.1f} %"
    return f"predictions are {100 * answer.mean_error:.1f} % off in the mean{held}{apart}"


def _state(before: Mapping[str, float], after: Mapping[str, float]) -> str:
    def words(state: Mapping[str, float]) -> str:
        return ", ".join(f"{name} {value:g}" for name, value in state.items())

    return f"before: {words(before)}; after: {words(after)}" if before or after else ""


def _tune_records(answer: TuneAnswer) -> Records:
    names = [name for name in TunedRow.model_fields if name != "tile"]
    rows = [[tile_text(row.tile), *(getattr(row, name) for name in names)] for row in answer.rows]
    return Records(["tile", *names], rows)


def calibrate_report(answer: CalibrateAnswer) -> Report:
    """How calibrated constants are shown."""
    return Report(answer, partial(_calibrate_document, answer), partial(_calibrate_records, answer), answer.notes)


_SCALES = {"s": (1e9, "ns"), "B/s": (1e-9, "GB/s"), "Hz": (1e-6, "MHz"), "FLOP/s": (1e-12, "TFLOP/s")}


def _shown(value: float | None, unit: str) -> str:
    if value is None:
        return ABSENT
    scale, name = _SCALES.get(unit, (1.0, unit))
    return f"{value * scale:,.4g} {name}".strip()


def _calibrate_document(answer: CalibrateAnswer) -> Document:
    columns = [
        Column("constant"),
        Column("measured", right=True),
        Column("spread %", right=True),
        Column(answer.nearest, right=True),
        Column("which is", drop=1),
        Column("agrees"),
        Column("how", wraps=True, drop=2),
    ]
    kept = f"{len(answer.kept)} constants of {answer.nearest} were not measured: {', '.join(answer.kept)}"
    return Document().add(
        Text(f"{answer.gpu}, measured in {answer.seconds:.0f} s, beside {answer.nearest}", strong=True),
        Table(columns, [_calibrated_cells(row) for row in answer.rows]),
        Listing("could not be measured", [f"{title}: {why}" for title, why in answer.failed.items()]),
        Text(kept if answer.kept else "", note=True),
        Text(_state(answer.before, answer.after), note=True),
        notes(answer.notes),
    )


def _calibrated_cells(row: Calibrated) -> list[str]:
    agrees = ABSENT if row.within is None else "yes" if row.within else "NO"
    return [
        row.name,
        _shown(row.value, row.unit),
        f"{100 * row.spread:.1f}",
        _shown(row.known, row.unit),
        row.known_kind or ABSENT,
        agrees,
        row.note,
    ]


def _calibrate_records(answer: CalibrateAnswer) -> Records:
    names = list(Calibrated.model_fields)
    return Records(names, [[getattr(row, name) for name in names] for row in answer.rows])
