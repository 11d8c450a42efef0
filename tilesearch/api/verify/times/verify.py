"""verify times: ranking and errors of the time model on measured launches, beside carver, traffic and chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tilesearch.answers import VerifyAnswer
from tilesearch.api.verify.replay import Tally
from tilesearch.api.verify.times.cases import Case, cases_of
from tilesearch.api.verify.times.score import Pool, Values, errors, pools, ranking, within
from tilesearch.api.verify.times.sustained import sustained_stats
from tilesearch.errors import InputError, Issue
from tilesearch.models.time import predict
from tilesearch.specs.devices import Device

RANKINGS = ("time", "carver", "traffic", "random")
NEAR = 0.1


def verify_times(files: list[Path], device: Device | None = None) -> VerifyAnswer:
    """Rank the measured configurations of each shape, and compare predicted with measured times. Only reports.

    stats, over all rows and again by kind under ``kinds``: for each ranking `topN` (geometric mean over shapes of
    the best time over the best among the first N; rows that tie are drawn at random) and `topN_worst`; `mape`,
    `median_ape`, `coverage_80` and `coverage_90` over rows with a cool measurement; `within_10`: rows predicted
    within 10 % of the best, their median number and the worst shape's loss. ``sustained``: mean error of the time
    back to back, where it was measured, and that of the cool prediction taken for it. `device` judges the rows that
    name it, by its own constants; rows of other devices are skipped.
    """
    cases, skipped = cases_of(files, device)
    tally = Tally("times")
    for row in skipped:
        tally.skip(row.place, row.reason)
    tally.agree = sum(len(case.rows) for case in cases)
    if not cases:
        reasons = "; ".join(sorted({row.reason for row in skipped})) or "no row has a time"
        raise InputError(Issue(f"nothing can be compared: {reasons}", source=", ".join(map(str, files))))
    times = predicted(cases)
    by_pool = pools(cases, times)
    kinds = sorted({kind for kind, _ in by_pool})
    judged = _judged(cases, times)
    tally.stats.update(_stats(list(by_pool.values()), judged))
    tally.stats["kinds"] = {
        kind: _stats(
            [pool for (name, _), pool in by_pool.items() if name == kind], [row for row in judged if row[0] == kind]
        )
        for kind in kinds
    }
    hot = sustained_stats(cases, times, device)
    if hot is not None:
        tally.stats["sustained"] = hot
    answer = tally.answer()
    known = len({row.shape for case in cases if case.seen for row in case.rows})
    answer.notes.append(
        f"{known} shapes had a part in fitting the constants: each is judged by constants of a fit that left it out"
    )
    for kind in kinds:
        if not any(row[0] == kind for row in judged):
            answer.notes.append(f"{kind}: no row has a cool measurement, so no errors are given")
    return answer


def predicted(cases: Sequence[Case]) -> list[Values]:
    """Predicted times in us of every row, by constants that had not seen its shape."""
    return [predict(case.launch, case.fair).time_us for case in cases]


Judged = tuple[str, float, float, bool, bool]
"""Kind, measured and predicted time, whether the 80 % and the 90 % interval hold the measured one."""


def _judged(cases: Sequence[Case], times: Sequence[Values]) -> list[Judged]:
    """The rows with a cool measurement."""
    rows: list[Judged] = []
    for case, values in zip(cases, times, strict=True):
        bounds = [case.timing.interval(case.kinds, share) for share in (80, 90)]
        for i, row in enumerate(case.rows):
            if row.cool:
                ratio = row.time_us / values[i]
                held = [bool(low[i] <= ratio <= high[i]) for low, high in bounds]
                rows.append((row.kind, row.time_us, float(values[i]), held[0], held[1]))
    return rows


def _stats(chosen: Sequence[Pool], judged: Sequence[Judged]) -> dict[str, Any]:
    stats: dict[str, Any] = {"shapes": len(chosen)}
    stats |= {key: _ranking(chosen, key) for key in RANKINGS}
    if judged:
        measured, values = (np.array(column) for column in list(zip(*judged, strict=True))[1:3])
        stats |= errors(measured, values)
        stats["coverage_80"] = float(np.mean([row[3] for row in judged]))
        stats["coverage_90"] = float(np.mean([row[4] for row in judged]))
    count, best = within(chosen, NEAR)
    stats["within_10"] = {"median_rows": count, "worst_efficiency": best}
    return stats


def _ranking(chosen: Sequence[Pool], key: str) -> Mapping[str, float] | None:
    known = [pool for pool in chosen if key == "random" or not np.isnan(pool.keys[key]).any()]
    return ranking(known, key) if len(known) == len(chosen) else None
