"""The report of `design`: the sheet, step by step, from the ledger to the skeleton."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from tilesearch.answers.design import DesignAnswer, PipelineAnswer, Symptoms, TileRow
from tilesearch.report.base import Records, Report
from tilesearch.report.document import Block, Code, Column, Document, Listing, Table, Text, notes
from tilesearch.report.roofline import (
    headline,
    ledger_table,
    measured_bytes,
    measured_time,
    misreadings_table,
    rates_text,
    roofs_table,
)
from tilesearch.report.words import ABSENT, integer, kilobytes, percent, tile_text


def design_report(answer: DesignAnswer, subject: str = "") -> Report:
    """How an answer of `design` is shown; `subject` says which operator on which device was asked about."""
    return Report(answer, partial(_document, answer, subject), partial(_records, answer), answer.notes)


def _document(answer: DesignAnswer, subject: str) -> Document:
    document = Document().add(Text(headline(answer.ledger), strong=True), Text(subject))
    for step in (_model, _tile, _pipeline, _paths, _diagnosis, _review):
        document.add(*step(answer))
    document.add(*_skeletons(answer))
    return document.add(notes([*rates_text(answer.ledger), *answer.notes]))


def _model(answer: DesignAnswer) -> list[Block]:
    rows = [[item.what, "yes" if item.worth else "no", item.text] for item in answer.advice.items]
    models = [[m.model, m.answers, m.says] for m in answer.advice.models]
    return [
        Text("Step 1: the model", strong=True),
        ledger_table(answer.ledger),
        roofs_table(answer.ledger),
        misreadings_table(answer.ledger),
        Text(answer.advice.text),
        Table([Column("worth doing?"), Column(""), Column("why", wraps=True)], rows),
        Table(
            [Column("model", wraps=True), Column("answers", wraps=True), Column("says", wraps=True)],
            models,
            title="which model answers what",
        ),
    ]


def _tile(answer: DesignAnswer) -> list[Block]:
    sheet = answer.tile
    title = f"the best tile for each grid, ranked by {sheet.rank}; MB"
    if sheet.assumed_blocks_per_sm is not None:
        title += f"; waves by {sheet.assumed_blocks_per_sm} blocks an SM as assumed, in brackets by what the SM allows"
    blocks: list[Block] = [
        Text("Step 2: the tile", strong=True),
        _candidates(sheet.candidates, sheet.chosen, title),
        Text(f"{sheet.criterion.verdict}: {sheet.criterion.text}"),
    ]
    if sheet.enough is not None and sheet.enough.grid > sheet.chosen.grid:
        less = 100 * (1 - sheet.chosen.total_bytes / sheet.enough.total_bytes)
        text = (
            f"{tile_text(sheet.enough.tile)} re-reads no more than a few per cent: beyond it {less:.1f} % fewer bytes"
        )
        blocks.append(Text(f"{text} cost {sheet.enough.grid - sheet.chosen.grid} of {sheet.enough.grid} blocks"))
    if sheet.alternative is not None:
        text = f"with idle SMs counted, {tile_text(sheet.alternative.tile)} has the least bound"
        blocks.append(Text(f"{text}: {sheet.alternative.grid} blocks, {sheet.alternative.total_bytes / 1e6:,.1f} MB"))
    return blocks


def _candidates(rows: Sequence[TileRow], chosen: TileRow, title: str) -> Table:
    columns = [
        Column(""),
        Column("tile"),
        Column("rows", right=True),
        Column("grid", right=True),
        Column("waves", right=True),
        Column("tail %", right=True, drop=2),
        Column("chip KB", right=True),
        Column("payload", right=True),
        Column("look-up", right=True),
        Column("total", right=True),
        Column("x ideal", right=True),
        Column("saves %", right=True, drop=1),
        Column("dispatch us", right=True, drop=3),
    ]
    return Table(columns, [_candidate(row, chosen) for row in rows], title=title)


def _candidate(row: TileRow, chosen: TileRow) -> list[str]:
    other = "" if row.waves_resident in (None, row.waves) else f" ({row.waves_resident})"
    return [
        "*" if row.tile == chosen.tile else "",
        tile_text(row.tile),
        str(row.rows),
        str(row.grid),
        f"{integer(row.waves)}{other}",
        percent(row.tail_fill),
        kilobytes(row.onchip_bytes),
        f"{(row.payload_bytes + row.partial_bytes) / 1e6:,.2f}",
        f"{row.lookup_bytes / 1e6:,.2f}",
        f"{row.total_bytes / 1e6:,.2f}",
        f"{row.vs_ideal:.2f}",
        percent(row.saves),
        ABSENT if row.dispatch_us is None else f"{row.dispatch_us:,.1f}",
    ]


def _pipeline(answer: DesignAnswer) -> list[Block]:
    found: PipelineAnswer = answer.pipeline
    changed = ", ".join(f"{name} {a} -> {b}" for name, (a, b) in found.changes.items())
    moved = [Text(f"{changed}: {tile_text(found.tile)} moves the same bytes")] if changed else []
    return [Text("Step 3: the pipeline", strong=True), Text(found.text), *moved]


def _paths(answer: DesignAnswer) -> list[Block]:
    rows = [[p.path, p.decision, p.signal] for p in answer.special_paths]
    columns = [Column("path", wraps=True), Column("decision"), Column("signal", wraps=True)]
    return [
        Text("Step 4: special paths", strong=True),
        Table(columns, rows),
        Listing("what they would cost", [f"{p.path}: {p.cost}" for p in answer.special_paths if p.decision == "use"]),
    ]


def _diagnosis(answer: DesignAnswer) -> list[Block]:
    found = answer.diagnosis
    return [
        Text("Diagnosis", strong=True),
        _symptoms("the smallest tile", found.naive),
        _symptoms("the chosen tile", found.chosen),
        Text(f"the smallest tile moves {found.gap:.2f} times what the chosen one does; {found.verify}"),
        *([measured_time(answer.ledger.measured)] if answer.ledger.measured else []),
        *([measured_bytes(answer.ledger.measured_bytes)] if answer.ledger.measured_bytes else []),
        Listing("risks that remain", found.risks),
    ]


def _symptoms(name: str, symptoms: Symptoms) -> Listing:
    parts = {
        "payload": symptoms.payload_bytes,
        "look-up": symptoms.lookup_bytes,
        "partials": symptoms.partial_bytes,
    }
    account = " + ".join(f"{what} {count / 1e6:,.2f}" for what, count in parts.items() if count)
    total = f"total {symptoms.total_bytes / 1e6:,.2f} MB = {account}; {symptoms.vs_ideal:.2f} times the ideal"
    return Listing(f"{name}, {tile_text(symptoms.tile)}", [total, *symptoms.findings])


def _review(answer: DesignAnswer) -> list[Block]:
    columns = [Column("", right=True), Column("anti-pattern", wraps=True), Column(""), Column("because", wraps=True)]
    marks = {"pass": "pass", "fail": "FAIL", "not applicable": ABSENT}
    rows = [[str(i.id), i.pattern, marks[i.verdict], i.text] for i in answer.review]
    return [Table(columns, rows, title="review")]


def _skeletons(answer: DesignAnswer) -> list[Block]:
    return [
        Text("Step 5: the code", strong=True),
        Text("Triton"),
        Code(answer.skeleton.triton, "python"),
        Text("TileLang"),
        Code(answer.skeleton.tilelang, "python"),
    ]


def _records(answer: DesignAnswer) -> Records:
    launch = ["rows", "grid", "waves", "waves_resident", "blocks_per_sm", "onchip_bytes"]
    moved = ["payload_bytes", "lookup_bytes", "partial_bytes", "total_bytes", "vs_ideal", "memory_us", "dispatch_us"]
    header = [*answer.tile.chosen.tile, *launch, *moved]
    names = header[len(answer.tile.chosen.tile) :]
    return Records(header, [[*row.tile.values(), *(getattr(row, n) for n in names)] for row in answer.tile.candidates])
