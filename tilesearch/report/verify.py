"""The report of `verify`: how far reference data and this program agree, and where they do not."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from tilesearch.answers import VerifyAnswer
from tilesearch.report.base import Records, Report
from tilesearch.report.document import Column, Document, Table, Text, notes


def verify_report(answer: VerifyAnswer) -> Report:
    """How an answer of `verify` is shown."""
    return Report(answer, partial(_document, answer), partial(_records, answer), answer.notes)


def _document(answer: VerifyAnswer) -> Document:
    header = f"{answer.kind}: {answer.rows} rows, {answer.agree} agree, {len(answer.disagree)} disagree"
    skipped = f", {answer.skipped} skipped" if answer.skipped else ""
    columns = [Column("row", right=True), Column("expected", wraps=True), Column("got", wraps=True)]
    rows = [[str(d.row), _shown(d.expected), _shown(d.got)] for d in answer.disagree]
    stats = [[name, _shown(value)] for name, value in answer.stats.items()]
    return Document().add(
        Text(header + skipped, strong=True),
        Table(columns, rows, "disagreements"),
        Table([Column("statistic"), Column("value", wraps=True)], stats),
        notes(answer.notes),
    )


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _records(answer: VerifyAnswer) -> Records:
    return Records(
        ["kind", "row", "expected", "got"],
        [[answer.kind, d.row, _shown(d.expected), _shown(d.got)] for d in answer.disagree],
    )
