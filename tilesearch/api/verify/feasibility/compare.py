"""Predicting every build and counting where prediction and fact part."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tilesearch.answers import VerifyAnswer
from tilesearch.api.check import complete_tile
from tilesearch.api.context import make, model_of
from tilesearch.api.judging import JudgedTiles, soft_registers
from tilesearch.api.verify.feasibility.read import read_builds
from tilesearch.api.verify.feasibility.rows import Build, Counted, Skipped
from tilesearch.api.verify.replay import Tally

DEVICE = "h200"
"""The device that these files were measured on."""


def verify_feasibility(files: list[Path]) -> VerifyAnswer:
    """Predict verdict, shared bytes and spills of every build from its inputs alone, and compare.

    stats: `false_fits` and `false_rejects` (counts), `exact_bytes`, `spill_precision` and `spill_recall`
    (shares). A build that spills and runs is feasible. Spills are compared on builds that ran.
    """
    tally, counted = Tally("feasibility"), Counted()
    builds: list[Build] = []
    for row in read_builds(files):
        if isinstance(row, Skipped):
            tally.skip(row.place, row.reason)
        else:
            builds.append(row)
    for build, got in _predicted(builds):
        tally.compare(build.place, _facts(build), got)
        _count(counted, build, got)
    tally.stats.update(counted.stats())
    return tally.answer()


def _facts(build: Build) -> dict[str, Any]:
    facts: dict[str, Any] = {"feasible": build.ran}
    if build.shared_bytes is not None:
        facts["shared_bytes"] = build.shared_bytes
    if build.ran and build.spills is not None:
        facts["spills"] = build.spills
    return facts


def _predicted(builds: Iterable[Build]) -> Iterable[tuple[Build, dict[str, Any]]]:
    """Each build with its prediction: one model for the builds of a problem."""
    groups: dict[str, list[Build]] = {}
    for build in builds:
        groups.setdefault(build.problem, []).append(build)
    for group in groups.values():
        model = model_of(make(group[0].op, DEVICE, kernel=group[0].kernel))
        judged = JudgedTiles(model, [complete_tile(model, b.tile) for b in group])
        shared = judged.column(model.metric("shared_bytes")).tolist()
        registers = soft_registers(model.soft)
        for place, build in enumerate(group):
            verdict = judged.verdicts[place]
            spills = any(judged.broken[name][place] for name in registers)
            yield (
                build,
                {
                    "feasible": verdict in ("fits", "spills"),
                    "shared_bytes": shared[place],
                    "spills": spills,
                    "violations": judged.violations(place),
                },
            )


def _count(counted: Counted, build: Build, got: dict[str, Any]) -> None:
    counted.false_fits += got["feasible"] and not build.ran
    counted.false_rejects += build.ran and not got["feasible"]
    counted.ran += build.ran
    if build.shared_bytes is not None:
        counted.with_bytes += 1
        counted.exact_bytes += build.shared_bytes == got["shared_bytes"]
    if build.ran and build.spills is not None and (build.spills or got["spills"]):
        counted.spills["hit" if build.spills and got["spills"] else "missed" if build.spills else "false"] += 1
