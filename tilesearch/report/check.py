"""The report of `check`: the verdict in words, every rule with its numbers, the nearest tiles that fit."""

from __future__ import annotations

from functools import partial

from tilesearch.answers import CheckAnswer, RuleReport
from tilesearch.report.base import Records, Report
from tilesearch.report.document import Column, Document, Listing, Table, Text, notes
from tilesearch.report.words import (
    ABSENT,
    amount,
    kilobytes,
    megabytes,
    microseconds,
    nearest_text,
    percent,
    residency_text,
    tile_text,
)


def check_report(answer: CheckAnswer, subject: str = "") -> Report:
    """How an answer of `check` is shown; `subject` says which operator on which device was asked about."""
    return Report(answer, partial(_document, answer, subject), partial(_records, answer), answer.notes)


def _document(answer: CheckAnswer, subject: str) -> Document:
    document = Document().add(Text(f"{tile_text(answer.tile)} {_verdict(answer)}", strong=True), Text(subject))
    document.add(_rules(answer), Listing("violated", [_account(r) for r in answer.rules if r.ok is False]))
    document.add(Text(_metrics(answer)), _nearest(answer))
    return document.add(_sources(answer), notes(answer.notes))


def _verdict(answer: CheckAnswer) -> str:
    broken = ", ".join(answer.violations)
    unknown = ", ".join(r.id for r in answer.rules if r.ok is None and r.limit is None)
    tightest = next((r for r in answer.rules if r.id == answer.binding), None)
    left = f"; the tightest rule is {tightest.id}, {percent(tightest.slack)} % left" if tightest else ""
    return {
        "fits": f"fits{left}",
        "spills": f"runs, but badly: it breaks {broken}",
        "infeasible": f"does not fit: it breaks {broken}",
        "unknown": f"cannot be judged: a limit is not known that {unknown} needs",
    }[answer.verdict]


def _mark(rule: RuleReport) -> str:
    if rule.ok is None:
        return "?" if rule.limit is None else ABSENT
    if rule.ok:
        return "ok"
    return "NO" if rule.hard else "soft"


_ORDER = {"NO": 0, "soft": 1, "?": 2, "ok": 3, ABSENT: 4}


def _rules(answer: CheckAnswer) -> Table:
    columns = [
        Column(""),
        Column("rule"),
        Column("value", right=True),
        Column("limit", right=True),
        Column("slack %", right=True, drop=1),
        Column("in numbers", wraps=True, drop=2),
    ]
    rows = [
        [_mark(r), r.id, amount(r.value, r.unit), amount(r.limit, r.unit), percent(r.slack), _working(r)]
        for r in sorted(answer.rules, key=lambda rule: _ORDER[_mark(rule)])
    ]
    return Table(columns, rows)


def _working(rule: RuleReport) -> str:
    """The detail without what other columns say: the result and the limit."""
    if rule.ok is None:
        return rule.detail.partition(" (")[0]
    before, result, _ = rule.detail.rpartition(f" = {rule.value}")
    return before if result else rule.detail


def _account(rule: RuleReport) -> str:
    return f"{rule.id}: {rule.detail}; wanted: {rule.formula}"


def _metrics(answer: CheckAnswer) -> str:
    m = answer.metrics
    parts = {
        "traffic {} MB": None if m.traffic_bytes is None else megabytes(m.traffic_bytes),
        "shared {} KB": None if m.shared_bytes is None else kilobytes(m.shared_bytes),
        "{} registers a thread": m.registers_per_thread,
        "{}": None if m.blocks_per_sm is None else residency_text(m),
        "grid {}": m.grid,
        "waves {}": m.waves,
        "tail {} %": None if m.tail_fill is None else percent(m.tail_fill),
        "L2 to SMs {} MB": None if m.l2_bytes is None else megabytes(m.l2_bytes),
        "DRAM reads {} MB": None if m.dram_bytes is None else megabytes(m.dram_bytes),
        "time {} us": None if m.time_us is None else microseconds(m),
        "{} us back to back": None if m.time_sustained_us is None else f"{m.time_sustained_us:.4g}",
        "period {} cycles": m.ii,
        "{} versions needed": m.stages_needed,
        "{} cycles": m.cycles,
        "{} cycles of main memory if nothing hits L2": m.hbm_cycles,
    }
    return ", ".join(text.format(value) for text, value in parts.items() if value is not None)


def _nearest(answer: CheckAnswer) -> Listing | Text:
    if answer.nearest:
        return Listing("nearest that fit", [nearest_text(n) for n in answer.nearest], numbered=True)
    return Text("" if answer.verdict == "fits" else "no tile near it fits: `tilesearch explain` says why")


def _sources(answer: CheckAnswer) -> Listing:
    """The sources of the limits, each with the rules that rest on it."""
    rules: dict[str, list[str]] = {}
    for rule in answer.rules:
        if rule.source and not rule.id.startswith("user."):
            rules.setdefault(rule.source, []).append(rule.id)
    return Listing("limits from", [f"{source}: {', '.join(ids)}" for source, ids in rules.items()], note=True)


def _records(answer: CheckAnswer) -> Records:
    header = ["id", "ok", "hard", "value", "limit", "unit", "slack", "formula", "detail", "source"]
    return Records(header, [[getattr(rule, name) for name in header] for rule in answer.rules])
