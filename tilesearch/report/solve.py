"""The report of `solve`: a header, what was counted, the ranked tiles, what was proved."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tilesearch.answers import Candidate, Counts, Metrics, SolveAnswer
from tilesearch.report.base import Records, Report
from tilesearch.report.document import Column, Document, Table, Text, notes
from tilesearch.report.operators import op_text
from tilesearch.report.words import (
    ABSENT,
    count_of,
    integer,
    kilobytes,
    megabytes,
    microseconds,
    percent,
    residency,
    tile_text,
)

_KEYS = {
    "carver": ("priority", "(traffic + 1) x waves"),
    "traffic": ("traffic_bytes", "bytes between L2 and the SMs"),
    "time": ("time_us", "estimated time"),
}
_METRICS = tuple(name for name in Metrics.model_fields if name != "blocks_by")


def solve_report(answer: SolveAnswer) -> Report:
    """How an answer of `solve` is shown."""
    return Report(answer, partial(_document, answer), partial(_records, answer), answer.notes)


def _document(answer: SolveAnswer) -> Document:
    meaning = _KEYS.get(answer.rank, ("", ""))[1]
    if answer.rank == "time" and _is_ascend(answer):
        meaning = "cycles for the whole problem"
    header = (
        f"{answer.problem} on {answer.device}: {op_text(answer.op)}; {answer.kernel} kernel; "
        f"ranked by {answer.rank}{f', {meaning}' if meaning else ''}"
    )
    document = Document().add(Text(header, strong=True), Text(counts_text(answer.counts)))
    document.add(_table(answer), Text(_ties(answer), note=True), Text(_proved(answer)), notes(answer.notes))
    return document


def counts_text(counts: Counts) -> str:
    """``1200 candidates: 934 fit, 266 rejected: C1.shared_memory 102, …``."""
    parts = []
    if counts.feasible is not None:
        parts.append(f"{counts.feasible} fit")
    if counts.soft:
        parts.append(f"{counts.soft} break only soft rules")
    if counts.unknown:
        parts.append(f"{counts.unknown} need a limit that is not known")
    if counts.rejected is not None:
        rules = ", ".join(f"{name} {number}" for name, number in counts.rejected.items() if number)
        parts.append(f"{sum(counts.rejected.values())} rejected{f': {rules}' if rules else ''}")
    whole = count_of(counts.candidates, "candidate")
    return f"{whole}: {', '.join(parts)}" if parts else f"{whole}, not counted one by one"


def _is_ascend(answer: SolveAnswer) -> bool:
    """Whether the tiles are of an Ascend kernel, which has other memories and counts cycles."""
    return answer.kernel == "ascend"


Cell = tuple[Column, Callable[[Candidate], str]]
"""A column and what stands in it for one candidate."""


def _metric(name: str, title: str, show: Callable[[Any], str], drop: int = 0) -> Cell:
    return Column(title, right=True, drop=drop), lambda c: show(getattr(c.metrics, name))


def _table(answer: SolveAnswer) -> Table:
    varying = {name for name, domain in answer.space.variables.items() if len(domain) > 1}
    mixed = any(c.verdict != "fits" for c in answer.candidates)
    cells: list[Cell] = [
        (Column("#", right=True), lambda c: f"{c.rank}{'=' if _shares(answer, c) else ' '}"),
        (Column("tile"), lambda c: tile_text(c.tile, varying)),
        *([(Column("verdict"), lambda c: str(c.verdict))] if mixed else []),
        *(_ascend_cells(answer) if _is_ascend(answer) else _gpu_cells(answer)),
    ]
    return Table([column for column, _ in cells], [[show(c) for _, show in cells] for c in answer.candidates])


def _ascend_cells(answer: SolveAnswer) -> list[Cell]:
    key: Cell = (Column("key", right=True), lambda c: _key(answer, c))
    return [
        *([] if answer.rank in _KEYS else [key]),
        _metric("cycles", "cycles", integer),
        _metric("ii", "II", integer, 1),
        _metric("stages_needed", "stages", integer, 5),
        _metric("l1_bytes", "L1 KB", kilobytes, 6),
        _metric("l0c_bytes", "L0C KB", kilobytes, 7),
        _metric("ub_bytes", "UB KB", kilobytes, 8),
        _metric("traffic_bytes", "traffic MB", megabytes, 2),
        _metric("grid", "tiles", integer, 9),
        _metric("waves", "rounds", integer, 3),
        _metric("tail_fill", "tail %", percent, 4),
    ]


def _gpu_cells(answer: SolveAnswer) -> list[Cell]:
    timed = any(c.metrics.time_us is not None for c in answer.candidates)
    key: Cell = (Column("key", right=True, drop=1), lambda c: _key(answer, c))
    times: list[Cell] = [
        (Column("time us"), lambda c: microseconds(c.metrics)),
        _metric("l2_bytes", "L2 MB", megabytes, 1),  # from L2 into the SMs
        _metric("dram_bytes", "DRAM MB", megabytes, 2),
    ]
    return [
        *(times if timed else []),
        _metric("traffic_bytes", "traffic MB", megabytes, 9 if timed else 2),
        _metric("shared_bytes", "shared KB", kilobytes, 3),
        _metric("accumulators_per_thread", "acc", integer, 5),
        (Column("blocks/SM", drop=4), lambda c: residency(c.metrics)),
        _metric("grid", "grid", integer, 8),
        _metric("waves", "waves", integer, 6),
        _metric("tail_fill", "tail %", percent, 7),
        *([] if answer.rank == "time" else [key]),
    ]


def _key(answer: SolveAnswer, candidate: Candidate) -> str:
    name = _KEYS.get(answer.rank, ("", ""))[0]
    value = candidate.key if candidate.key is not None else getattr(candidate.metrics, name, None)
    return ABSENT if value is None else str(value)


def _by_time(answer: SolveAnswer) -> bool:
    """Whether times with intervals rank the tiles."""
    return answer.rank == "time" and not _is_ascend(answer)


def _shares(answer: SolveAnswer, candidate: Candidate) -> bool:
    """Whether others tie with a tile; of a set that was not listed, only those shown can be compared by time."""
    if candidate.tied is not None or not _by_time(answer):
        return (candidate.tied or 1) > 1
    first, one = answer.candidates[0].metrics, candidate.metrics
    if first.time_high_us is None or one.time_low_us is None:
        return False
    return len(answer.candidates) > 1 and one.time_low_us <= first.time_high_us


def _ties(answer: SolveAnswer) -> str:
    first = next((c for c in answer.candidates if _shares(answer, c)), None)
    if first is None:
        return ""
    what = "overlaps the best tile's time interval" if _by_time(answer) else "shares its key with others"
    of = f"rank {first.rank} is one of {first.tied}" if first.tied is not None else "how many do was not counted"
    return f"= {what}: {of}"


def _proved(answer: SolveAnswer) -> str:
    shown = count_of(len(answer.candidates), "tile")
    text = {
        "complete": f"complete: every candidate was judged; {shown} listed",
        "optimal": f"proved: no tile is better than the {shown} listed; the others were not listed",
        "feasible": f"partial: stopped by a limit; the {shown} listed fit, better ones may exist",
        "infeasible": "proved: no tile fits; `tilesearch explain` says which rules contradict each other",
        "unknown": "undecided: stopped by a limit before any tile was found",
    }[answer.status]
    if answer.status == "unknown" and answer.counts.unknown:
        text = "undecided: no tile is known to fit, and a limit that others need is not known"
    return f"{text} ({answer.engine} engine, {answer.elapsed_s:.3g} s)"


def _records(answer: SolveAnswer) -> Records:
    variables = list(answer.space.variables)
    by = list(dict.fromkeys(name for c in answer.candidates for name in c.metrics.blocks_by))
    header = ["rank", "tied", "key", "verdict", *variables, *_METRICS, *(f"blocks_by_{name}" for name in by), "binding"]
    rows = [
        [
            c.rank,
            c.tied,
            c.key,
            c.verdict,
            *(c.tile.as_dict().get(name) for name in variables),
            *(getattr(c.metrics, name) for name in _METRICS),
            *(c.metrics.blocks_by.get(name) for name in by),
            c.binding,
        ]
        for c in answer.candidates
    ]
    return Records(header, rows)
