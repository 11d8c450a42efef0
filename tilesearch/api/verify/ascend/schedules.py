"""Replay of scheduling instances: the shortest period or makespan, judged by an independent checker."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from tilesearch.answers import VerifyAnswer
from tilesearch.api.verify.ascend.instances import LineRow, LoopRow
from tilesearch.api.verify.replay import Place, Tally
from tilesearch.errors import InputError, Issue
from tilesearch.scheduling import Goal, Schedule, schedule_line, schedule_loop
from tilesearch.scheduling.check import line_violations, violations
from tilesearch.scheduling.probe import Budget
from tilesearch.specs.validation import find_issues, load_json, shown

SECONDS = 60.0
"""Wall-clock limit of one instance."""

SMALL = 28
"""Loops of up to so many tasks are counted by how many are proved."""


def verify_schedules(files: list[Path]) -> VerifyAnswer:
    """Schedule every instance of `files`.

    A row agrees where the period (of a straight line, the makespan) is not larger than the best known, the
    start times are valid, and it is proved wherever the file calls the optimum proved. The stats compare CPU
    time, for the least period with its proof, with what the file records of the shipped scheduler.
    """
    tally = Tally("ascend-schedules")
    measured: list[tuple[LoopRow, Schedule, float]] = []
    for place, row in _rows(files):
        begin = time.process_time()
        try:
            found, wrong = _solved(row)
        except InputError as error:
            raise InputError([Issue(str(issue), str(place)) for issue in error.issues]) from None
        spent = time.process_time() - begin
        _judge(tally, place, row, found, wrong)
        if isinstance(row, LoopRow):
            measured.append((row, found, spent))
    tally.stats |= _stats(measured)
    return tally.answer()


def _solved(row: LoopRow | LineRow) -> tuple[Schedule, list[str]]:
    if isinstance(row, LineRow):
        line = row.args.problem()
        found = schedule_line(line, budget=Budget(SECONDS))
        return found, line_violations(line, found.starts)
    loop = row.args.problem()
    found = schedule_loop(loop, goal=Goal.PERIOD, budget=Budget(SECONDS))
    return found, violations(loop, found.ii, found.starts, found.versions)


def _judge(tally: Tally, place: Place, row: LoopRow | LineRow, found: Schedule, wrong: list[str]) -> None:
    best = row.reference.best
    expected: dict[str, Any] = {
        "at most": best,
        "status": "optimal" if row.reference.proved else "any",
        "violations": [],
    }
    good = not wrong and (best is None or found.ii <= best)
    if good and (found.status == "optimal" or not row.reference.proved):
        tally.agree += 1
    else:
        tally.differ(place, expected, {"at most": found.ii, "status": found.status, "violations": wrong})


def _stats(measured: list[tuple[LoopRow, Schedule, float]]) -> dict[str, Any]:
    timed = [(row.answer.solve_cpu_seconds, spent) for row, _, spent in measured if row.answer.solve_cpu_seconds]
    small = [found.status == "optimal" for row, found, _ in measured if len(row.args.latencies) <= SMALL]
    shorter = [row.id for row, found, _ in measured if row.reference.best and found.ii < row.reference.best]
    stats: dict[str, Any] = {
        "loops": len(measured),
        "optimal": sum(found.status == "optimal" for _, found, _ in measured),
        "shorter_than_best_known": shorter,
        f"proved_up_to_{SMALL}_tasks": sum(small) / len(small) if small else None,
        "cpu_seconds": sum(spent for *_, spent in measured),
    }
    if timed:
        stats["recorded_cpu_seconds"] = sum(old for old, _ in timed)
        stats["cpu_ratio_total"] = sum(old for old, _ in timed) / max(sum(new for _, new in timed), 1e-9)
        stats["cpu_ratio_median"] = median(old / max(new, 1e-9) for old, new in timed)
    return stats


def _rows(files: list[Path]) -> list[tuple[Place, LoopRow | LineRow]]:
    """Every instance, checked before the first is scheduled."""
    rows: list[tuple[Place, LoopRow | LineRow]] = []
    issues: list[Issue] = []
    for path in files:
        data = load_json(path)
        instances = data.get("instances") if isinstance(data, Mapping) else data
        if not isinstance(instances, list) or not instances:
            got = "there are no rows" if not instances else f"got {shown(instances)}"
            message = f"a list of rows under 'instances' is wanted, {got}"
            raise InputError(Issue(message, "instances", str(path)))
        for number, entry in enumerate(instances):
            found = _row(entry, str(path), f"instances[{number}]")
            if isinstance(found, list):
                issues += found
            else:
                rows.append((found.id or number, found))
    if issues:
        raise InputError(issues)
    return rows


def _row(entry: Any, source: str, where: str) -> LoopRow | LineRow | list[Issue]:
    if not isinstance(entry, Mapping):
        return [Issue(f"a row is an object, got {shown(entry)}", where, source)]
    model: type[LoopRow | LineRow] = LineRow if entry.get("kind") == "line" else LoopRow
    return find_issues(model, entry, source, where)
