"""The report of `schedule`: the period and why, every task's place, the picture, the loop over tiles."""

from __future__ import annotations

from functools import partial

from tilesearch.answers.schedule import ScheduleAnswer, TaskRow, TileLoop
from tilesearch.report.base import Records, Report
from tilesearch.report.document import Code, Column, Document, Listing, Table, Text, notes
from tilesearch.report.gantt import text_gantt
from tilesearch.report.words import ABSENT, integer, kilobytes, tile_text


def schedule_report(answer: ScheduleAnswer, subject: str = "") -> Report:
    """How an answer of `schedule` is shown; `subject` says which operator on which device was asked about."""
    return Report(answer, partial(_document, answer, subject), partial(_records, answer), answer.notes)


def _document(answer: ScheduleAnswer, subject: str) -> Document:
    document = Document().add(Text(f"{tile_text(answer.tile)}: {_headline(answer)}", strong=True), Text(subject))
    if answer.critical_cycle is not None:
        document.add(Text(_why(answer)))
    timeline = Code("\n".join(text_gantt(answer)), "text")
    if answer.tasks:
        document.add(_tasks(answer.tasks, "the loop"))
    document.add(timeline, Text(_buffers(answer)), Text(_bounds(answer)))
    if answer.tiles is not None:
        document.add(Text(_tiles(answer.tiles)), _tasks(answer.tiles.tasks, "the loop over tiles"))
    document.add(Listing("not valid", answer.violations), notes(answer.notes))
    return document


def _headline(answer: ScheduleAnswer) -> str:
    if answer.ii is None:
        return {
            "infeasible": "no schedule: proved",
            "unknown": "no schedule was found in time, and none was ruled out",
        }.get(answer.status, answer.status)
    proved = (
        "proved shortest"
        if answer.status == "optimal"
        else f"the best found; {answer.lower_bounds['proved']} is proved"
    )
    return f"a period of {answer.ii} cycles, {proved}"


def _why(answer: ScheduleAnswer) -> str:
    cycle = answer.critical_cycle
    assert cycle is not None
    if not cycle.order_matters:
        return cycle.text
    others = "every other order of the tasks was ruled out by search"
    return f"{cycle.text}; {others if answer.status == 'optimal' else 'another order may have a shorter period'}"


def _tasks(tasks: list[TaskRow], title: str) -> Table:
    columns = [
        Column("task"),
        Column("pipe"),
        Column("start", right=True),
        Column("stage", right=True),
        Column("interval", right=True),
        Column("latency", right=True),
    ]
    rows = [
        [t.name, "+".join(t.pipes), integer(t.start), integer(t.stage), str(t.interval), str(t.latency)] for t in tasks
    ]
    return Table(columns, rows, title)


def _buffers(answer: ScheduleAnswer) -> str:
    if not answer.versions:
        return ""
    versions = ", ".join(f"{name} x{count}" for name, count in answer.versions.items())
    fewest = " (fewest)" if answer.bytes_status == "optimal" else ""
    return f"buffers: {versions}; {kilobytes(answer.buffer_bytes)} KB{fewest}"


def _bounds(answer: ScheduleAnswer) -> str:
    if answer.ii is None:
        return ""
    shortest = "shortest" if answer.iteration_status == "optimal" else "best found"
    bounds = ", ".join(f"{name} {value}" for name, value in answer.lower_bounds.items() if name != "iteration")
    loads = ", ".join(f"{pipe} {load}" for pipe, load in answer.pipes.items())
    loop = f"one iteration {answer.iteration} cycles ({shortest}); {answer.trips} of them {answer.latency}"
    return f"{loop}. Lower bounds: {bounds}. Pipes held: {loads}"


def _tiles(tiles: TileLoop) -> str:
    rounds = ABSENT if tiles.tiles_per_core is None else str(tiles.tiles_per_core)
    whole = f"; {rounds} tiles a core: {tiles.cycles} cycles" if tiles.cycles is not None else ""
    return f"one tile {tiles.latency} cycles, each further one {tiles.ii} ({tiles.status}){whole}"


def _records(answer: ScheduleAnswer) -> Records:
    header = ["task", "pipes", "start", "stage", "interval", "latency"]
    rows = [[t.name, "+".join(t.pipes), t.start, t.stage, t.interval, t.latency] for t in answer.tasks]
    return Records(header, rows)
