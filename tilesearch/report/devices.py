"""The reports of `devices`: the list, one device's sheet, and what differs between two."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from tilesearch.answers import CalibrationRow, DeviceDiff, DeviceRoof, DeviceRow, DeviceSheet, PolicyRate
from tilesearch.report.base import Records, Report
from tilesearch.report.document import Column, Document, Listing, Table, Text
from tilesearch.report.words import ABSENT

_SCALES = {"FLOP/s": (1e12, "TFLOP/s"), "B/s": (1e9, "GB/s"), "Hz": (1e6, "MHz")}

Value = int | float | str | list[int | float | str] | None


def list_report(rows: Sequence[DeviceRow]) -> Report:
    """How the list of devices is shown."""
    columns = [Column("name"), Column("vendor"), Column("capability"), Column("also called", wraps=True)]
    cells = [[r.name, r.vendor, r.compute_capability or ABSENT, ", ".join(r.aliases)] for r in rows]
    header = ["name", "vendor", "compute_capability", "aliases"]
    records = [[r.name, r.vendor, r.compute_capability, ";".join(r.aliases)] for r in rows]
    return Report(list(rows), lambda: Document().add(Table(columns, cells)), lambda: Records(header, records))


def sheet_report(sheet: DeviceSheet) -> Report:
    """How one device is shown."""
    return Report(sheet, partial(_sheet, sheet), partial(_sheet_records, sheet), [sheet.note] if sheet.note else [])


class _Sources:
    """Sources by number, in the order in which they are first cited."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def cite(self, text: str) -> str:
        """The mark that stands for a source in a table."""
        if not text:
            return ABSENT
        if text not in self.texts:
            self.texts.append(text)
        return f"[{self.texts.index(text) + 1}]"


def _sheet(sheet: DeviceSheet) -> Document:
    names = f", also called {', '.join(sheet.aliases)}" if sheet.aliases else ""
    capability = f", compute capability {sheet.compute_capability}" if sheet.compute_capability else ""
    origin = f"limits from {sheet.inherits}" if sheet.inherits else ""
    only = "limits only: what differs between the products of the architecture is unknown" if sheet.limits_only else ""
    sources = _Sources()
    document = Document().add(
        Text(f"{sheet.name}: {sheet.vendor}{capability}{names}", strong=True),
        Text("; ".join(part for part in (origin, only, sheet.note) if part)),
        _numbers(sheet, sources),
        _roofs(sheet, sources),
        *(_calibrations(roof, sources) for roof in sheet.roofs),
    )
    return document.add(Listing("sources", sources.texts, numbered=True))


def _numbers(sheet: DeviceSheet, sources: _Sources) -> Table:
    columns = [Column("limit"), Column("value", wraps=True), Column("source"), Column("note", wraps=True)]
    rows = [[n.key, shown(n.value, n.unit), sources.cite(n.source), n.note] for n in sheet.numbers]
    return Table(columns, rows)


def _roofs(sheet: DeviceSheet, sources: _Sources) -> Table:
    policies = list(dict.fromkeys(p for roof in sheet.roofs for p in roof.policies if p != "datasheet"))
    columns = [
        Column("roof"),
        Column("acc", drop=9),
        Column("peak", right=True),
        *(Column(name, right=True, drop=number) for number, name in enumerate(policies, start=1)),
        Column("source"),
    ]
    rows = [
        [
            roof.name,
            roof.acc or ABSENT,
            shown("unknown" if roof.theoretical is None else roof.theoretical, roof.unit),
            *(_policy(roof.policies.get(name), roof) for name in policies),
            sources.cite("; ".join(part for part in (roof.source, roof.note) if part)),
        ]
        for roof in sheet.roofs
    ]
    return Table(columns, rows, "roofs: the peak, and what each policy takes")


def _policy(rate: PolicyRate | None, roof: DeviceRoof) -> str:
    return ABSENT if rate is None else shown(rate.value, roof.unit)


def _calibrations(roof: DeviceRoof, sources: _Sources) -> Table:
    columns = [
        Column("calibration"),
        Column("rate", right=True),
        Column("used by", drop=1),
        Column("source"),
        Column("conditions", wraps=True),
    ]
    rows = [
        [
            c.id,
            shown(c.value, roof.unit),
            _users(roof, c),
            sources.cite(c.source),
            "; ".join(part for part in (", ".join(filter(None, (c.kind, c.conditions))), c.note) if part),
        ]
        for c in roof.calibrations
    ]
    return Table(columns, rows, f"calibrations of {roof.name}")


def _users(roof: DeviceRoof, calibration: CalibrationRow) -> str:
    return ", ".join(name for name, rate in roof.policies.items() if rate and rate.calibration == calibration.id)


def shown(value: Value, unit: str) -> str:
    """A number of a device file for people: rates scaled, on-chip sizes in bytes with KB beside them."""
    if value is None:
        return ABSENT
    if isinstance(value, list):
        return ", ".join(str(item) for item in value) + (f" {unit}" if unit else "")
    if isinstance(value, str):
        return value
    if unit in _SCALES:
        scale, name = _SCALES[unit]
        return f"{value / scale:.5g} {name}"
    if unit == "B" and 1024 <= value < 2**20:
        return f"{value} B = {value / 1024:g} KB"
    return f"{value:.6g} {unit}".strip() if isinstance(value, float) else f"{value} {unit}".strip()


def _sheet_records(sheet: DeviceSheet) -> Records:
    """One row a number: limits, peaks, policies' rates."""
    rows: list[list[Any]] = [[sheet.name, n.key, _cell(n.value), n.unit, n.source, n.note] for n in sheet.numbers]
    for roof in sheet.roofs:
        peak = "unknown" if roof.theoretical is None else roof.theoretical
        rows.append([sheet.name, roof.name, peak, roof.unit, roof.source, roof.note])
        rows += [
            [sheet.name, f"{roof.name} ({policy})", rate.value, roof.unit, f"calibration {rate.calibration}", rate.note]
            for policy, rate in roof.policies.items()
            if rate is not None
        ]
    return Records(["device", "key", "value", "unit", "source", "note"], rows)


def diff_report(diff: DeviceDiff) -> Report:
    """How the difference of two devices is shown."""
    return Report(diff, partial(_diff, diff), partial(_diff_records, diff))


def _diff(diff: DeviceDiff) -> Document:
    number = len(diff.differences)
    if not number:
        return Document().add(Text(f"{diff.a} and {diff.b} do not differ", strong=True))
    columns = [
        Column("key"),
        Column(diff.a, right=True, wraps=True),
        Column(diff.b, right=True, wraps=True),
        Column("ratio", right=True, drop=1),
    ]
    rows = [[d.key, shown(d.a, d.unit), shown(d.b, d.unit), _ratio(d.a, d.b)] for d in diff.differences]
    return Document().add(Text(f"{diff.a} and {diff.b} differ in {number} numbers", strong=True), Table(columns, rows))


def _ratio(a: Value, b: Value) -> str:
    if isinstance(a, int | float) and isinstance(b, int | float) and a:
        return f"{b / a:.3g}"
    return ABSENT


def _diff_records(diff: DeviceDiff) -> Records:
    rows = [[d.key, d.unit, _cell(d.a), _cell(d.b)] for d in diff.differences]
    return Records(["key", "unit", diff.a, diff.b], rows)


def _cell(value: Value) -> Any:
    return ";".join(str(item) for item in value) if isinstance(value, list) else value
