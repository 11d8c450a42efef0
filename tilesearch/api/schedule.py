"""schedule: the shortest period of a tile's loop on an Ascend AI core, proved, with a schedule that reaches it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tilesearch.answers.schedule import CriticalCycle, CycleStep, ScheduleAnswer, TaskRow, TileLoop
from tilesearch.api.check import complete_tile
from tilesearch.api.context import DeviceLike, KernelLike, context_of, make
from tilesearch.errors import InputError, Issue
from tilesearch.explanation.judge import judge
from tilesearch.kernels import build_model
from tilesearch.kernels.ascend import kernel_of, tile_variables
from tilesearch.kernels.base import Context
from tilesearch.rules.evaluate import evaluate
from tilesearch.rules.geometry import Geometry
from tilesearch.rules.model import Model
from tilesearch.scheduling import Goal, Loop, Schedule, schedule_loop
from tilesearch.scheduling.check import violations
from tilesearch.scheduling.explain import PIPE_NAMES, Explanation, explain
from tilesearch.scheduling.kernel import Tiled
from tilesearch.scheduling.probe import Budget
from tilesearch.specs.devices import AscendDevice
from tilesearch.specs.ops import OpSpec
from tilesearch.specs.problems import Problem, parse_tile

_MEMORIES = {"L1": "l1", "L0A": "l0a", "L0B": "l0b", "L0C": "l0c", "UB": "ub", "BT": "bt", "Fixpipe": "fixpipe"}


def schedule(
    op: OpSpec | Problem,
    device: DeviceLike | None = None,
    tile: str | Mapping[str, int] | None = None,
    *,
    kernel: KernelLike | None = None,
    rules: Sequence[str] | Mapping[str, Any] | None = None,
    model: Mapping[str, Any] | None = None,
    engine: str = "auto",
    time_limit_s: float | None = None,
) -> ScheduleAnswer:
    """Pipeline one tile's loop: smallest initiation interval with proof, then iteration, then buffer bytes.

    A tile that no number of versions makes fit has no schedule: ``infeasible``, with the rules that it breaks.
    `engine` is ``auto``, ``search``, ``cpsat`` or ``z3``. Raises `InputError` for a problem that is not of an
    Ascend device, and `UnknownLimitError` where the device file does not know what a task costs.
    """
    search = None if time_limit_s is None else {"time_limit_s": time_limit_s}
    kernel = kernel if kernel is not None or isinstance(op, Problem) else "ascend"
    problem = make(op, device, kernel=kernel, rules=rules, model=model, search=search)
    return schedule_problem(problem, tile or {}, engine)


def schedule_problem(
    problem: Problem, tile: str | Mapping[str, int], engine: str = "auto", budget: Budget | None = None
) -> ScheduleAnswer:
    """`schedule` for a problem that is ready."""
    context = context_of(problem)
    if not isinstance(context.device, AscendDevice) or context.kernel.language != "ascend":
        message = "schedules are of Ascend devices in the ascend language"
        hint = 'device = "ascend950" and language = "ascend"'
        raise InputError(
            Issue(f"{message}, not of {context.device.name} in {context.kernel.language}", "device", hint=hint)
        )
    model = build_model(context)
    full = complete_tile(model, parse_tile(tile))
    stopped, remarks = _verdict(model, full)
    if stopped:
        return _no_schedule(context, full, stopped)
    geometry = Geometry(context.program, frozenset(tile_variables(context.program)))
    most = _most_versions(model, full)
    if most is not None and full.get("num_stages", 1) > most:
        remarks.append(f"num_stages {full['num_stages']}: the schedule has {most} versions at most, one an event id")
    tiled = Tiled(kernel_of(context, geometry), full, _capacities(context), most)
    budget = budget or Budget(problem.search.time_limit_s)
    body = tiled.body()
    found = schedule_loop(body, engine=engine, goal=Goal.BYTES, budget=budget)
    found = replace(found, notes=(*found.notes, *remarks))
    return _answer(context, tiled, body, found, engine, budget)


def _verdict(model: Model, tile: Mapping[str, int]) -> tuple[list[str], list[str]]:
    """What stops the tile, and what else it breaks, each with its numbers.

    The tile is judged with one version of everything: how many there are is for the schedule to find. A rule of
    the user's, or one that was required, filters tiles; the kernel runs without it.
    """
    one = {name: 1 if name == "num_stages" else value for name, value in tile.items()}
    stopped: list[str] = []
    remarks: list[str] = []
    for report in judge(model, one).reports:
        if report.ok is False and report.hard:
            ours = report.id.startswith("C")
            (stopped if ours else remarks).append(f"{report.id} is broken: {report.detail}")
        elif report.ok is None:
            remarks.append(f"{report.id} is {report.detail}")
    return stopped, remarks


def _most_versions(model: Model, tile: Mapping[str, int]) -> int | None:
    """As many versions as there are event ids, where the rule holds and the device file knows them."""
    rule = next((r for r in model.rules if r.id == "C4.event_ids" and r.limit is not None), None)
    return None if rule is None or rule.limit is None else int(evaluate(rule.limit, tile))


def _no_schedule(context: Context, tile: Mapping[str, int], stopped: list[str]) -> ScheduleAnswer:
    return ScheduleAnswer(
        ii=None,
        status="infeasible",
        lower_bounds={},
        starts={},
        stages={},
        versions={},
        latency=None,
        critical_cycle=None,
        binding=None,
        tile=dict(tile),
        latency_model=context.model.latency,
        notes=[*stopped, "the tile does not fit, whatever its versions: `check` names the nearest that do"],
    )


def _capacities(context: Context) -> dict[str, int]:
    """Bytes of each memory that the device file knows. SIMT functions take a part of UB for their threads."""
    device = context.device
    assert isinstance(device, AscendDevice)
    known = {}
    for memory, key in _MEMORIES.items():
        simt = memory == "UB" and device.ub_simt_bytes.applies and context.kernel.variant in (None, "simt")
        value = (device.ub_simt_bytes if simt else getattr(device, f"{key}_bytes")).value
        if value is not None:
            known[memory] = int(value)
    return known


def _answer(context: Context, tiled: Tiled, body: Loop, found: Schedule, engine: str, budget: Budget) -> ScheduleAnswer:
    bounds = found.bounds
    lower = {"proved": found.lower, "iteration": found.iteration_lower}
    if bounds is not None:
        named = ("interval", "resource", "recurrence", "buffers", "window")
        lower = {**{name: getattr(bounds, name) for name in named if getattr(bounds, name)}, **lower}
    common: dict[str, Any] = {
        "status": found.status,
        "lower_bounds": lower,
        "trips": tiled.trips,
        "tasks": _rows(body, found),
        "pipes": {PIPE_NAMES.get(name, name): tiled.time(tiled.kernel.load(name)) for name in body.pipes},
        "tile": dict(tiled.tile),
        "latency_model": context.model.latency,
        "engines": found.engines,
        "notes": [*tiled.kernel.notes, *found.notes],
    }
    if not found.starts:
        return ScheduleAnswer(
            ii=None, starts={}, stages={}, versions={}, latency=None, critical_cycle=None, binding=None, **common
        )
    why = explain(body, found)
    return ScheduleAnswer(
        ii=found.ii,
        starts=_named(body, found.starts),
        stages=_named(body, [s // found.ii for s in found.starts]),
        versions={b.name: v for b, v in zip(body.buffers, found.versions, strict=True)},
        latency=body.latency(found.ii, found.starts, tiled.trips),
        critical_cycle=_cycle(body, why),
        binding=why.binding,
        iteration=found.iteration,
        iteration_status=found.iteration_status,
        buffer_bytes=found.bytes,
        bytes_status=found.bytes_status,
        tiles=_tile_loop(context, tiled, body, found, engine, budget),
        violations=violations(body, found.ii, found.starts, found.versions),
        **common,
    )


def _named(loop: Loop, values: Sequence[int]) -> dict[str, int]:
    return {t.name: int(v) for t, v in zip(loop.tasks, values, strict=True)}


def _rows(loop: Loop, found: Schedule) -> list[TaskRow]:
    starts: Sequence[int | None] = found.starts or [None] * len(loop.tasks)
    return [
        TaskRow(
            name=t.name,
            pipes=sorted(PIPE_NAMES.get(p, p) for p in t.pipes),
            latency=t.latency,
            interval=t.interval,
            start=s,
            stage=None if s is None else s // found.ii,
        )
        for t, s in zip(loop.tasks, starts, strict=True)
    ]


def _cycle(loop: Loop, why: Explanation) -> CriticalCycle:
    kinds = {"data": "data", "window": "within one period", "pipe": "pipe"}
    steps = [
        CycleStep(
            source=loop.tasks[a.source].name,
            target=loop.tasks[a.target].name,
            cycles=a.latency,
            iterations=a.distance,
            why=f"frees {a.about}" if a.kind == "buffer" else kinds[a.kind],
        )
        for a in why.cycle.arcs
    ]
    return CriticalCycle(
        cycles=why.cycle.latency,
        iterations=why.cycle.distance,
        steps=steps,
        order_matters=why.order_matters,
        text=why.text,
    )


def _tile_loop(
    context: Context, tiled: Tiled, body: Loop, found: Schedule, engine: str, budget: Budget
) -> TileLoop | None:
    """The tiles of a persistent block; cycles of the whole problem are the first tile and the periods after it."""
    loop = tiled.tiles(body, found)
    if loop is None:
        return None
    best = schedule_loop(loop, engine=engine, goal=Goal.ITERATION, budget=budget)
    if not best.starts:
        return TileLoop(ii=0, status=best.status, starts={}, latency=0, tiles_per_core=None, cycles=None, tasks=[])
    device = context.device
    assert isinstance(device, AscendDevice)
    rounds = None
    if device.cube_cores.value is not None:
        tiles = int(evaluate(Geometry(context.program, frozenset(tiled.tile)).grid(), tiled.tile))
        rounds = -(-tiles // int(device.cube_cores.value))
    return TileLoop(
        ii=best.ii,
        status=best.status,
        starts=_named(loop, best.starts),
        latency=best.iteration,
        tiles_per_core=rounds,
        cycles=None if rounds is None else best.iteration + (rounds - 1) * best.ii,
        tasks=_rows(loop, best),
    )
