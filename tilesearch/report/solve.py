"""The report of `solve`: a header, what was counted, the ranked tiles, what was proved."""

from __future__ import annotations

from functools import partial

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


def _ascend_table(answer: SolveAnswer, varying: set[str], mixed: bool) -> Table:
    columns = [
        Column("#", right=True),
        Column("tile"),
        *([Column("verdict")] if mixed else []),
        *([Column("key", right=True)] if answer.rank not in _KEYS else []),
        Column("cycles", right=True),
        Column("II", right=True, drop=1),
        Column("stages", right=True, drop=5),
        Column("L1 KB", right=True, drop=6),
        Column("L0C KB", right=True, drop=7),
        Column("UB KB", right=True, drop=8),
        Column("traffic MB", right=True, drop=2),
        Column("tiles", right=True, drop=9),
        Column("rounds", right=True, drop=3),
        Column("tail %", right=True, drop=4),
    ]
    rows = []
    for c in answer.candidates:
        m = c.metrics
        rows.append(
            [
                f"{c.rank}{'=' if (c.tied or 1) > 1 else ' '}",
                tile_text(c.tile, varying),
                *([c.verdict] if mixed else []),
                *([_key(answer, c)] if answer.rank not in _KEYS else []),
                *(integer(value) for value in (m.cycles, m.ii, m.stages_needed)),
                *(kilobytes(value) for value in (m.l1_bytes, m.l0c_bytes, m.ub_bytes)),
                megabytes(m.traffic_bytes),
                integer(m.grid),
                integer(m.waves),
                percent(m.tail_fill),
            ]
        )
    return Table(columns, rows)


_LEVELS = (Column("L2 MB", right=True, drop=1), Column("DRAM MB", right=True, drop=2))
"""Bytes from L2 into the SMs, and from DRAM into L2."""


def _table(answer: SolveAnswer) -> Table:
    varying = {name for name, domain in answer.space.variables.items() if len(domain) > 1}
    timed = any(c.metrics.time_us is not None for c in answer.candidates)
    mixed = any(c.verdict != "fits" for c in answer.candidates)
    if _is_ascend(answer):
        return _ascend_table(answer, varying, mixed)
    columns = [
        Column("#", right=True),
        Column("tile"),
        *([Column("verdict")] if mixed else []),
        *([Column("time us"), *_LEVELS] if timed else []),
        Column("traffic MB", right=True, drop=9 if timed else 2),
        Column("shared KB", right=True, drop=3),
        Column("acc", right=True, drop=5),
        Column("blocks/SM", drop=4),
        Column("grid", right=True, drop=8),
        Column("waves", right=True, drop=6),
        Column("tail %", right=True, drop=7),
        *([] if answer.rank == "time" else [Column("key", right=True, drop=1)]),
    ]
    rows = []
    for candidate in answer.candidates:
        m = candidate.metrics
        rows.append(
            [
                f"{candidate.rank}{'=' if _shares(answer, candidate) else ' '}",
                tile_text(candidate.tile, varying),
                *([candidate.verdict] if mixed else []),
                *([microseconds(m), megabytes(m.l2_bytes), megabytes(m.dram_bytes)] if timed else []),
                megabytes(m.traffic_bytes),
                kilobytes(m.shared_bytes),
                integer(m.accumulators_per_thread),
                residency(m),
                integer(m.grid),
                integer(m.waves),
                percent(m.tail_fill),
                *([] if answer.rank == "time" else [_key(answer, candidate)]),
            ]
        )
    return Table(columns, rows)


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
