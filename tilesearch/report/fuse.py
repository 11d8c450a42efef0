"""The report of `fuse`: the decision, the versions side by side, the four questions."""

from __future__ import annotations

from functools import partial

from tilesearch.answers.fuse import FuseAnswer, FuseOption
from tilesearch.report.base import Records, Report
from tilesearch.report.document import Column, Document, Listing, Table, Text, notes
from tilesearch.report.words import ABSENT, integer, tile_text


def fuse_report(answer: FuseAnswer, subject: str = "") -> Report:
    """How an answer of `fuse` is shown; `subject` says which operators on which device were asked about."""
    return Report(answer, partial(_document, answer, subject), partial(_records, answer), answer.notes)


def _document(answer: FuseAnswer, subject: str) -> Document:
    more = ", though it moves more bytes" if answer.moves_more else ""
    headline = f"{answer.decision}{more}: decided by {answer.criterion}"
    work = [f"{option.name}: {option.new_work}" for option in answer.options if option.new_work]
    return Document().add(
        Text(headline, strong=True),
        Text(subject),
        Text(answer.reason),
        _options(answer),
        Listing("new work", work),
        Listing("four questions", [f"{q.question} {q.answer}" for q in answer.questions], numbered=True),
        notes(answer.notes),
    )


def _options(answer: FuseAnswer) -> Table:
    columns = [
        Column(""),
        Column("version"),
        Column("MB", right=True),
        Column("on chip KB", right=True),
        Column("grid", right=True),
        Column("waves", right=True),
        Column("bound us", right=True),
        Column("launches", right=True, drop=1),
        Column("tile", drop=2),
    ]
    return Table(columns, [_row(option, answer.decision) for option in answer.options])


def _row(option: FuseOption, decision: str) -> list[str]:
    bound = ABSENT if option.bound_us is None else f"{option.bound_us:.4g}"
    return [
        "*" if option.name == decision else "" if option.fits else "NO",
        option.name,
        f"{option.bytes / 1e6:,.1f}",
        f"{option.onchip_bytes / 1024:,.1f}",
        str(option.grid),
        integer(option.waves),
        bound,
        str(option.launches),
        tile_text(option.tile),
    ]


def _records(answer: FuseAnswer) -> Records:
    sizes = ["bytes", "output_bytes", "onchip_bytes", "grid", "waves", "bound_us", "launches"]
    header = ["name", *sizes, "fits", "new_work"]
    return Records(header, [[getattr(option, name) for name in header] for option in answer.options])
