"""Scheduling instances as the reference files hold them, turned into problems."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr, model_validator

from tilesearch.scheduling import Buffer, Edge, Exclusion, Group, Line, Loop, Task
from tilesearch.specs.validation import fault

PIPE_BITS = ("MTE1", "MTE2", "MTE3", "M", "V", "FIX", "S")
"""The pipes in the order of their bits."""

_MOST_TASKS = 2_000

Count = Annotated[StrictInt, Field(ge=0)]
Times = Annotated[list[Count], Field(min_length=1, max_length=_MOST_TASKS)]
Pairs = list[tuple[Count, Count]]


class _Args(BaseModel):
    model_config = ConfigDict(extra="ignore")

    latencies: Times
    iis: Times
    resource_flags: Times
    resource_deps: Pairs = Field(default_factory=list)
    owner_exclusion_deps: list[tuple[Count, Count, Count, Count]] = Field(default_factory=list)
    pipe_order_deps: Pairs = Field(default_factory=list)

    @model_validator(mode="after")
    def _one_entry_a_task(self) -> Self:
        count = len(self.latencies)
        for name in ("iis", "resource_flags"):
            if len(getattr(self, name)) != count:
                raise fault(f"{count} entries are wanted, as in latencies, got {len(getattr(self, name))}", key=name)
        return self

    def tasks(self) -> tuple[Task, ...]:
        """The tasks, named by their numbers."""
        columns = zip(self.latencies, self.iis, self.resource_flags, strict=True)
        return tuple(Task(f"task {n}", late, held, _pipes(mask)) for n, (late, held, mask) in enumerate(columns))

    def exclusions(self) -> tuple[Exclusion, ...]:
        """Pairs on one pipe or port, then pairs on one buffer."""
        count = len(self.iis)
        shared = [
            Exclusion(i, j, self.iis[i] if i < count else 0, self.iis[j] if j < count else 0, "pipe")
            for i, j in self.resource_deps
        ]
        return (*shared, *(Exclusion(i, j, a, b, "buffer") for i, j, a, b in self.owner_exclusion_deps))


class LineArgs(_Args):
    """A straight line: edges are (source, target, latency)."""

    data_deps: list[tuple[Count, Count, Count]] = Field(default_factory=list)

    def problem(self) -> Line:
        """The straight line to schedule."""
        edges = tuple(Edge(u, v, latency) for u, v, latency in self.data_deps)
        return Line(self.tasks(), edges, self.exclusions(), tuple(self.pipe_order_deps))


class LoopArgs(_Args):
    """A loop: edges are (source, target, distance, latency), a distance of -(b + 1) standing for buffer b."""

    num_stages: Annotated[StrictInt, Field(ge=1, le=1024)]
    data_deps: list[tuple[Count, Count, StrictInt, Count]] = Field(default_factory=list)
    buffer_sizes: list[Count] = Field(default_factory=list)
    memory_groups: list[Annotated[list[StrictInt], Field(min_length=1)]] = Field(default_factory=list)
    stage_order_deps: Pairs = Field(default_factory=list)
    enable_offset: StrictBool = True
    manual_stages: list[Count] = Field(default_factory=list)
    manual_schedule: StrictBool = False

    def problem(self) -> Loop:
        """The loop to schedule."""
        edges = [
            Edge(u, v, latency, d) if d >= 0 else Edge(u, v, latency, 0, -d - 1) for u, v, d, latency in self.data_deps
        ]
        groups = [Group(f"memory {n}", g[0], tuple(g[1:])) for n, g in enumerate(self.memory_groups)]
        return Loop(
            tasks=self.tasks(),
            edges=tuple(edges),
            exclusions=self.exclusions(),
            buffers=tuple(Buffer(f"buffer {n}", size) for n, size in enumerate(self.buffer_sizes)),
            groups=tuple(groups),
            max_versions=self.num_stages,
            offset=self.enable_offset,
            stage_order=tuple(self.stage_order_deps),
            pipe_order=tuple(self.pipe_order_deps),
            stages=tuple(self.manual_stages) if self.manual_schedule else None,
        )


class Reference(BaseModel):
    """What is known of the optimum: the best period or makespan, and whether it is proved."""

    model_config = ConfigDict(extra="ignore")

    best_II_known: StrictInt | None = None  # noqa: N815 - the file's spelling
    best_makespan_known: StrictInt | None = None
    status: StrictStr = ""

    @property
    def best(self) -> int | None:
        """The best value known."""
        return self.best_makespan_known if self.best_II_known is None else self.best_II_known

    @property
    def proved(self) -> bool:
        """Whether the file calls it the optimum."""
        return self.status in ("proved", "lower bound met")


class Recorded(BaseModel):
    """The shipped scheduler's answer, of which only its CPU time and its period are compared."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)

    ii: StrictInt | None = Field(default=None, alias="II")
    solve_cpu_seconds: float | None = None


class _Row(BaseModel):
    """What is known of an instance, whatever its kind."""

    model_config = ConfigDict(extra="ignore")

    id: StrictStr | None = None
    answer: Recorded = Recorded()
    reference: Reference = Reference()


class LoopRow(_Row):
    """A loop and what is known of it."""

    kind: Literal["loop"]
    args: LoopArgs


class LineRow(_Row):
    """A straight line and what is known of it."""

    kind: Literal["line"]
    args: LineArgs


def _pipes(mask: int) -> frozenset[str]:
    return frozenset(name for bit, name in enumerate(PIPE_BITS) if mask >> bit & 1)
