"""check: does this configuration fit, what stops it, what is the nearest that fits; and bare occupancy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tilesearch.answers import CheckAnswer, OccupancyAnswer, RuleReport, Tile, Verdict
from tilesearch.api.context import DeviceLike, KernelLike, make, model_of, resolve_device
from tilesearch.api.ranking import metrics_of, timed
from tilesearch.api.timing import Filters, Times, require_times, timing_of
from tilesearch.engines.base import Deadline
from tilesearch.errors import InputError, Issue
from tilesearch.explanation.judge import judge
from tilesearch.explanation.nearest import nearest
from tilesearch.rules.columns import Column
from tilesearch.rules.evaluate import evaluate
from tilesearch.rules.expr import const
from tilesearch.rules.model import Model
from tilesearch.rules.occupancy import UNLIMITED, Load, exact
from tilesearch.specs.devices import NvidiaDevice
from tilesearch.specs.ops import OpSpec
from tilesearch.specs.problems import Problem, parse_tile, warp_of


def check(
    op: OpSpec | Problem,
    device: DeviceLike | None = None,
    tile: str | Mapping[str, int] | None = None,
    *,
    kernel: KernelLike | None = None,
    space: Mapping[str, Any] | None = None,
    rules: Sequence[str] | Mapping[str, Any] | None = None,
    model: Mapping[str, Any] | None = None,
    time_limit_s: float | None = None,
) -> CheckAnswer:
    """Judge one tile by every rule.

    `tile` maps variables to values, or is text such as ``"block_m=128,block_n=256"``; variables left out take
    their defaults. The answer lists all violations, the binding rule and the nearest tiles that fit.
    """
    search = None if time_limit_s is None else {"time_limit_s": time_limit_s}
    problem = make(op, device, kernel=kernel, space=space, rules=rules, model=model, search=search)
    return check_problem(problem, tile or {})


def check_problem(problem: Problem, tile: str | Mapping[str, int]) -> CheckAnswer:
    """`check` for a problem that is ready."""
    deadline = Deadline(problem.search.time_limit_s)
    values = parse_tile(tile, warp_of(problem.device))
    built = model_of(problem)
    full = complete_tile(built, values)
    wide = built.with_domains({v.name: tuple(sorted({*v.domain, full[v.name]})) for v in built.variables})
    judgement = judge(wide, full)
    timing, filters = timing_of(problem, wide), Filters(problem, built)
    require_times(filters, timing, problem.rules.extra)
    columns = {name: np.array([value], dtype=np.int64) for name, value in full.items()}
    times = timing.of(wide, columns) if judgement.verdict in ("fits", "spills") else None
    reports = _timed_reports(filters, columns, times)
    slow = [report.id for report in reports if report.ok is False]
    verdict: Verdict = "infeasible" if slow else judgement.verdict
    fine = verdict == "fits"
    return CheckAnswer(
        verdict=verdict,
        feasible=verdict in ("fits", "spills"),
        tile=Tile(**full),
        violations=[*judgement.violations, *slow],
        binding=judgement.binding,
        rules=[*judgement.reports, *reports],
        metrics=timed(metrics_of(wide, full), times, 0),
        nearest=[] if fine else nearest(built, full, deadline),
        notes=[
            *built.notes,
            *(remark.text for remark in built.remarks if evaluate(remark.when, full)),
            *(f"{m.name}: {m.reason}" for m in built.metrics.values() if m.expr is None),
            *timing.notes(),
            *([f"time: {timing.story(times, 0)}"] if times is not None else []),
        ],
    )


def _timed_reports(filters: Filters, columns: dict[str, Column], times: Times | None) -> list[RuleReport]:
    """How the tile fares under users' rules on times; not judged where it has no time."""
    if not filters:
        return []
    passed = {} if times is None else filters.passed(columns, times)
    shown = "the tile has no time" if times is None else f"time_us = {float(times.prediction.time_us[0]):.4g}"
    return [
        RuleReport(
            id=name,
            ok=bool(passed[name][0]) if passed else None,
            hard=True,
            value=None,
            limit=None,
            unit="us",
            slack=None,
            formula=filters.texts[int(name.removeprefix("user."))],
            detail=shown,
            source=filters.problem.source or "the user",
        )
        for name in filters.trees
    ]


def complete_tile(model: Model, values: Mapping[str, int]) -> dict[str, int]:
    """`values` with defaults for what it leaves out, in the order of the model's variables.

    Raises `InputError` for a variable that the model lacks, or that has no default and is left out.
    """
    issues = [
        Issue("this operator has no such variable", f"tile.{name}", hint=f"variables: {', '.join(model.names)}")
        for name in values
        if name not in model.names
    ]
    full: dict[str, int] = {}
    for variable in model.variables:
        value = values.get(variable.name, variable.default or None)
        if value == 0 and 0 not in variable.universe:
            issues.append(Issue("must be at least 1 in this language, got 0", f"tile.{variable.name}"))
        elif value is not None:
            full[variable.name] = value
        elif len(variable.domain) == 1:
            full[variable.name] = variable.domain[0]
        else:
            issues.append(Issue("is required and absent", f"tile.{variable.name}", hint="it has no default"))
    if issues:
        raise InputError(issues)
    return full


def occupancy(
    device: DeviceLike,
    *,
    registers_per_thread: int,
    threads_per_block: int,
    shared_bytes: int = 0,
    carveout_percent: int | None = None,
    barriers: int | None = None,
) -> OccupancyAnswer:
    """Resident blocks per SM by the exact CUDA arithmetic, and every resource that binds.

    `shared_bytes` is static plus dynamic shared memory of a block, the system's reservation left out.
    `carveout_percent` is the driver's hint (0..100; None: the largest carve-out), `barriers` the named
    barriers of a block. Raises `InputError` for a device that is not NVIDIA's or a number out of range.
    """
    resolved = resolve_device(device)
    if not isinstance(resolved, NvidiaDevice):
        raise InputError(
            Issue(f"occupancy is defined for NVIDIA devices, {resolved.name} is {resolved.vendor}", "device")
        )
    _require("registers_per_thread", registers_per_thread, 0, 1024)
    _require("threads_per_block", threads_per_block, 1, 65_536)
    _require("shared_bytes", shared_bytes, 0, 2**31 - 1)
    if carveout_percent is not None:
        _require("carveout_percent", carveout_percent, 0, 100)
    if barriers is not None:
        _require("barriers", barriers, 0, 65_536)
    load = Load(
        threads=const(threads_per_block),
        registers=const(registers_per_thread),
        shared=const(shared_bytes),
        barriers=const(1 if barriers is None else barriers),
    )
    residency = exact(resolved, load, carveout_percent)
    limits = {name: int(evaluate(tree, {})) for name, tree in residency.by.items()}
    blocks = int(evaluate(residency.blocks, {}))
    return OccupancyAnswer(
        blocks_per_sm=blocks,
        limiting=[name for name, value in limits.items() if value == blocks],
        blocks_by={name: None if value == UNLIMITED else value for name, value in limits.items()},
        allocated_registers=int(evaluate(residency.allocated_registers, {})),
        allocated_shared_bytes=int(evaluate(residency.allocated_shared, {})),
    )


def _require(name: str, value: int, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InputError(Issue(f"a whole number from {low} to {high} is wanted, got {value!r}", name))
