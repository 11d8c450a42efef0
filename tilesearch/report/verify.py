"""The report of `verify`: how far reference data and this program agree, and where they do not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from tilesearch.answers import VerifyAnswer
from tilesearch.report.base import Records, Report
from tilesearch.report.document import Column, Document, Table, Text, notes

_MOST_ITEMS = 6


def verify_report(answer: VerifyAnswer) -> Report:
    """How an answer of `verify` is shown."""
    return Report(answer, partial(_document, answer), partial(_records, answer), answer.notes)


def _document(answer: VerifyAnswer) -> Document:
    header = f"{answer.kind}: {answer.rows} rows, {answer.agree} agree, {len(answer.disagree)} disagree"
    skipped = f", {answer.skipped} skipped" if answer.skipped else ""
    columns = [Column("row", right=True), Column("expected", wraps=True), Column("got", wraps=True)]
    rows = [[str(d.row), _shown(d.expected), _shown(d.got)] for d in answer.disagree]
    stats = [row for name, value in answer.stats.items() for row in _statistic(name, value)]
    return Document().add(
        Text(header + skipped, strong=True),
        Table(columns, rows, "disagreements"),
        Table([Column("statistic", wraps=True), Column("value", wraps=True)], stats),
        notes(answer.notes),
    )


def _statistic(name: str, value: Any) -> list[list[str]]:
    """One row for a number, one for each entry of a table."""
    if not isinstance(value, Mapping):
        return [[name, _shown(value)]]
    rows = []
    for key, entry in value.items():
        rows += (
            _statistic(f"{name}: {key}", entry) if isinstance(entry, Mapping) else [[f"{name}: {key}", _shown(entry)]]
        )
    return rows


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list) and len(value) > _MOST_ITEMS:
        return f"{len(value)}: {', '.join(map(str, value[:_MOST_ITEMS]))}, …"
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _records(answer: VerifyAnswer) -> Records:
    return Records(
        ["kind", "row", "expected", "got"],
        [[answer.kind, d.row, _shown(d.expected), _shown(d.got)] for d in answer.disagree],
    )
