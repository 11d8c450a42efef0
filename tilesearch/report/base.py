"""A report: one answer in four formats. Each kind of answer has a module that makes its `Report`."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from pydantic import BaseModel

from tilesearch.report.document import Document
from tilesearch.report.markdown import markdown
from tilesearch.report.terminal import terminal


class Format(StrEnum):
    """How an answer is printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MD = "md"


@dataclass(frozen=True)
class Records:
    """The rows of a CSV file, in plain units: bytes, microseconds, FLOP/s. None is an empty cell."""

    header: Sequence[str]
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class Report:
    """An answer and how it is shown. `notes` are what a CSV file has no place for."""

    answer: BaseModel | Sequence[BaseModel] | dict[str, Any]
    document: Callable[[], Document]
    records: Callable[[], Records]
    notes: Sequence[str] = field(default_factory=tuple)
    only_json: bool = False


def json_report(answer: dict[str, Any]) -> Report:
    """A report of what is JSON by nature, and printed as JSON in every format."""
    return Report(answer, Document, lambda: Records((), ()), only_json=True)


def render(report: Report, style: Format, *, quiet: bool = False, width: int = 100, bold: bool = False) -> str:
    """The text of a report. `quiet` leaves the notes of a table out; `width` and `bold` are the terminal's."""
    if style is Format.JSON or report.only_json:
        return to_json(report.answer)
    if style is Format.CSV:
        return to_csv(report.records())
    document = report.document()
    if style is Format.MD:
        return markdown(document, quiet=quiet)
    return terminal(document, width=width, bold=bold, quiet=quiet)


def to_json(answer: BaseModel | Sequence[BaseModel] | dict[str, Any]) -> str:
    """Exactly the model, as JSON. A float that JSON cannot hold (infinite, undefined) is null."""
    if isinstance(answer, BaseModel):
        return answer.model_dump_json(indent=2, by_alias=True) + "\n"
    if isinstance(answer, dict):
        return json.dumps(answer, indent=2, ensure_ascii=False) + "\n"
    rows = [json.loads(row.model_dump_json(by_alias=True)) for row in answer]
    return json.dumps(rows, indent=2, ensure_ascii=False) + "\n"


def to_csv(records: Records) -> str:
    """RFC 4180 with bare newlines."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(records.header)
    writer.writerows(["" if cell is None else _plain(cell) for cell in row] for row in records.rows)
    return buffer.getvalue()


def _plain(cell: Any) -> Any:
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return cell
