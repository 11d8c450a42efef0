"""The reports of `prune`, `port` and `export`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from tilesearch.answers import Metrics
from tilesearch.answers.languages import ExportAnswer, Judged, PortAnswer, PruneAnswer
from tilesearch.report.base import Records, Report
from tilesearch.report.document import Code, Column, Document, Listing, Table, Text, notes
from tilesearch.report.words import (
    ABSENT,
    count_of,
    integer,
    kilobytes,
    megabytes,
    microseconds,
    nearest_text,
    tile_text,
)

_MOST_REJECTED = 20


def prune_report(answer: PruneAnswer, subject: str = "", hints: Sequence[str] = ()) -> Report:
    """How an answer of `prune` is shown; `hints` are said beside its own notes."""
    said = [*answer.notes, *hints]
    return Report(answer, partial(_prune_document, answer, subject, said), partial(_prune_records, answer), said)


def _prune_document(answer: PruneAnswer, subject: str, said: Sequence[str]) -> Document:
    whole = len(answer.kept) + len(answer.rejected)
    header = f"{count_of(whole, 'configuration')}: {len(answer.kept)} kept, {len(answer.rejected)} dropped"
    timed = _timed(item.metrics for item in answer.kept)
    columns = [
        Column("rank", right=True),
        Column("configuration", wraps=True),
        Column("verdict"),
        *_metric_columns(timed),
    ]
    kept = [
        [str(rank), _config(item.config), item.verdict, *_metrics(item.metrics, timed)]
        for rank, item in zip(_ranks(answer), answer.kept, strict=True)
    ]
    dropped = [f"{_config(item.config)}: {', '.join(item.violations)}" for item in answer.rejected[:_MOST_REJECTED]]
    more = len(answer.rejected) - len(dropped)
    return Document().add(
        Text(header, strong=True),
        Text(subject),
        Table(columns, kept, f"kept, ranked by {answer.rank}"),
        Listing("dropped", dropped),
        Text(f"and {more} more; --format json lists all" if more else "", note=True),
        notes(said),
    )


def _ranks(answer: PruneAnswer) -> list[int]:
    """The place of each kept configuration among those of the same M."""
    seen: dict[Any, int] = {}
    ranks = []
    for item in answer.kept:
        m = item.config.get("M") if isinstance(item.config, dict) else None
        seen[str(m)] = seen.get(str(m), 0) + 1
        ranks.append(seen[str(m)])
    return ranks


def _timed(metrics: Iterable[Metrics]) -> bool:
    """Whether a model of time has filled any of them."""
    return any(m.time_us is not None for m in metrics)


def _metric_columns(timed: bool) -> list[Column]:
    return [
        *([Column("time us")] if timed else []),
        Column("traffic MB", right=True, drop=1),
        Column("shared KB", right=True),
        Column("regs", right=True, drop=2),
        Column("waves", right=True, drop=2),
    ]


def _metrics(metrics: Metrics, timed: bool) -> list[str]:
    return [
        *([microseconds(metrics)] if timed else []),
        ABSENT if metrics.traffic_bytes is None else megabytes(metrics.traffic_bytes),
        ABSENT if metrics.shared_bytes is None else kilobytes(metrics.shared_bytes),
        integer(metrics.registers_per_thread),
        integer(metrics.waves),
    ]


_PLAIN = (
    "time_us", "time_low_us", "time_high_us", "l2_bytes", "dram_bytes", "traffic_bytes", "shared_bytes",
    "registers_per_thread", "waves",
)  # fmt: skip
"""Metrics in a CSV file, in plain units."""


def _plain(metrics: Metrics) -> list[Any]:
    return [getattr(metrics, name) for name in _PLAIN]


def _config(config: Any) -> str:
    return json.dumps(config, default=str)


def _prune_records(answer: PruneAnswer) -> Records:
    rows: list[list[Any]] = [[_config(k.config), k.verdict, "", *_plain(k.metrics)] for k in answer.kept]
    blank = [None] * len(_PLAIN)
    rows += [[_config(r.config), "infeasible", " ".join(r.violations), *blank] for r in answer.rejected]
    return Records(["config", "verdict", "violations", *_PLAIN], rows)


def port_report(answer: PortAnswer, subject: str = "", hints: Sequence[str] = ()) -> Report:
    """How an answer of `port` is shown; `hints` are said beside its own notes."""
    said = [*answer.target.notes, *hints]
    return Report(answer, partial(_port_document, answer, subject, said), partial(_port_records, answer), said)


def _port_document(answer: PortAnswer, subject: str, said: Sequence[str]) -> Document:
    verdicts = f"{_judged(answer.origin)}; {_judged(answer.target)}"
    timed = _timed(c.metrics for c in answer.best)
    columns = [Column("rank", right=True), Column("tile", wraps=True), Column("verdict"), *_metric_columns(timed)]
    rows = [
        [f"{c.rank}{'=' if (c.tied or 1) > 1 else ' '}", tile_text(c.tile), c.verdict, *_metrics(c.metrics, timed)]
        for c in answer.best
    ]
    ties = (
        "= shares its key with others; pipelined tiles stand first"
        if any((c.tied or 1) > 1 for c in answer.best)
        else ""
    )
    return Document().add(
        Text(f"{tile_text(answer.tile)}: {verdicts}", strong=True),
        Text(subject),
        Listing("broken", [f"{r.id}{'' if r.hard else ' (soft)'}: {r.detail}" for r in answer.broken]),
        Listing("nearest that fit", [nearest_text(near) for near in answer.target.nearest], numbered=True),
        Table(columns, rows, f"the best on {answer.target.device}, ranked by {answer.rank}"),
        Text(ties, note=True),
        notes(said),
    )


def _judged(judged: Judged) -> str:
    kernel = " ".join(str(value) for value in judged.kernel.values())
    return f"{judged.device} {judged.verdict} ({kernel})"


def _port_records(answer: PortAnswer) -> Records:
    rows: list[list[Any]] = [[c.rank, c.tied, tile_text(c.tile), c.verdict, *_plain(c.metrics)] for c in answer.best]
    return Records(["rank", "tied", "tile", "verdict", *_PLAIN], rows)


def export_report(answer: ExportAnswer) -> Report:
    """How an answer of `export` is shown: the code as it is, or the parameters."""
    return Report(answer, partial(_export_document, answer), partial(_export_records, answer), answer.notes)


def _export_document(answer: ExportAnswer) -> Document:
    if answer.code is not None:
        return Document().add(Code(answer.code, "python"))
    return Document().add(Code(json.dumps(answer.parameters, indent=2), "json"))


def _export_records(answer: ExportAnswer) -> Records:
    return Records(["parameter", "value"], [[name, value] for name, value in answer.parameters.items()])
