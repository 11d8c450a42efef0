"""The answer of `schedule`."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

ScheduleStatus = Literal["optimal", "feasible", "infeasible", "unknown"]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid")


class CycleStep(_Record):
    """One wait of the critical cycle: `source` keeps `target`, so many iterations on, waiting so many cycles."""

    source: str
    target: str
    cycles: int
    iterations: int
    why: str


class CriticalCycle(_Record):
    """What makes the period no shorter: waits that lead back to their beginning.

    `order_matters` says that another order of the tasks has no such cycle; that none of them has a shorter
    period was then proved by search, where the status is ``optimal``. There are no steps where nothing forbids
    a shorter period.
    """

    cycles: int
    iterations: int
    steps: list[CycleStep]
    order_matters: bool
    text: str


class TaskRow(_Record):
    """A task of the loop, with its cost in cycles and its place in the schedule."""

    name: str
    pipes: list[str]
    latency: int
    interval: int
    start: int | None
    stage: int | None


class TileLoop(_Record):
    """The loop over the tiles of a persistent block: `latency` is of one tile, each further one takes `ii`."""

    ii: int
    status: ScheduleStatus
    starts: dict[str, int]
    latency: int
    tiles_per_core: int | None
    cycles: int | None
    tasks: list[TaskRow]


class ScheduleAnswer(_Record):
    """The schedule of a tile's inner loop: shortest period, then shortest iteration, then fewest buffer bytes.

    All times in cycles. `latency` is of the whole inner loop; `lower_bounds` holds each bound on the period by
    its name, `proved` (below it nothing is possible), and the bound on one iteration. `starts` and `versions`
    are the witness that the checker accepted: `violations` is empty, or there is no schedule.
    """

    ii: int | None
    status: ScheduleStatus
    lower_bounds: dict[str, int]
    starts: dict[str, int]
    stages: dict[str, int]
    versions: dict[str, int]
    latency: int | None
    critical_cycle: CriticalCycle | None
    binding: str | None
    iteration: int | None = None
    iteration_status: ScheduleStatus = "unknown"
    trips: int = 1
    buffer_bytes: int | None = None
    bytes_status: ScheduleStatus = "unknown"
    tasks: list[TaskRow] = Field(default_factory=list)
    pipes: dict[str, int] = Field(default_factory=dict)
    tile: dict[str, int] = Field(default_factory=dict)
    tiles: TileLoop | None = None
    latency_model: str = ""
    engines: dict[str, int] = Field(default_factory=dict)
    violations: list[str] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)
