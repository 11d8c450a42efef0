"""What is to be scheduled: tasks with latencies and intervals, what they wait for, and what they share.

Times are whole cycles. A task of iteration t starts at ``s + t * II``; II, the initiation interval or period,
is what is looked for. Stage and residue of a task are ``s // II`` and ``s % II``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from tilesearch.errors import InputError, Issue

LONGEST = 2**40
"""The longest latency or interval, in cycles, and the largest buffer, in bytes; sums of them stay within 64 bits."""

FURTHEST = 1024
"""The most iterations that an edge spans, and the most versions of a buffer: so do periods times them."""


@dataclass(frozen=True)
class Task:
    """One statement of a loop body.

    `latency` is from its start to its result; its pipes are held for `interval` cycles. `pipes` are the
    names of the pipes it runs on.
    """

    name: str
    latency: int
    interval: int
    pipes: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Edge:
    """`target` of some iterations later waits for `source`: ``s_target - s_source >= latency - II * distance``.

    The distance is that many iterations, or the number of versions of `buffer`, by which a reader of a
    buffer holds back its next writer.
    """

    source: int
    target: int
    latency: int
    distance: int = 0
    buffer: int | None = None


@dataclass(frozen=True)
class Exclusion:
    """Two tasks that never overlap, whichever comes first: they share a pipe, a port to memory, or a buffer.

    `hold` is how long `first` keeps `second` away when it comes first, `back` the other way round.
    """

    first: int
    second: int
    hold: int
    back: int
    reason: str = ""


@dataclass(frozen=True)
class Buffer:
    """On-chip storage of one version, in bytes. Several versions let iterations overlap."""

    name: str
    size: int


@dataclass(frozen=True)
class Group:
    """A memory of so many bytes, and the buffers that live in it."""

    name: str
    capacity: int
    members: tuple[int, ...]


@dataclass(frozen=True)
class Loop:
    """A loop body to be pipelined.

    A buffer has 1 to `max_versions` versions. Without `offset` all tasks of one pipe start within one period.
    `stage_order` pairs (u, w) want stage(u) <= stage(w); `pipe_order` pairs (i, j) want residue(i) <=
    residue(j); `stages` fixes every task's stage, as a schedule by hand does.
    """

    tasks: tuple[Task, ...]
    edges: tuple[Edge, ...]
    exclusions: tuple[Exclusion, ...] = ()
    buffers: tuple[Buffer, ...] = ()
    groups: tuple[Group, ...] = ()
    max_versions: int = 1
    offset: bool = True
    stage_order: tuple[tuple[int, int], ...] = ()
    pipe_order: tuple[tuple[int, int], ...] = ()
    stages: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        issues = [*_faults(self.tasks, self.edges, self.exclusions), *self._own_faults()]
        if issues:
            raise InputError(issues)

    def _own_faults(self) -> list[Issue]:
        count, held = len(self.tasks), len(self.buffers)
        pairs = [p for pair in (*self.stage_order, *self.pipe_order) for p in pair]
        issues = [Issue(f"there is no task {p}", "order") for p in pairs if not 0 <= p < count]
        inside = [b for group in self.groups for b in group.members]
        inside += [e.buffer for e in self.edges if e.buffer is not None]
        issues += [Issue(f"there is no buffer {b}", "buffers") for b in inside if not 0 <= b < held]
        issues += [
            Issue(f"0 to {LONGEST} B are wanted, got {b.size}", b.name)
            for b in self.buffers
            if not 0 <= b.size <= LONGEST
        ]
        issues += [
            Issue(f"at most {2 * LONGEST} B are wanted, got {g.capacity}", g.name)
            for g in self.groups
            if abs(g.capacity) > 2 * LONGEST
        ]
        stages = [s for s in self.stages or () if not 0 <= s <= FURTHEST]
        issues += [Issue(f"a stage from 0 to {FURTHEST} is wanted, got {s}", "stages") for s in stages]
        if self.stages is not None and len(self.stages) != count:
            issues.append(Issue(f"{count} stages are wanted, got {len(self.stages)}", "stages"))
        if not 1 <= self.max_versions <= FURTHEST:
            issues.append(Issue(f"1 to {FURTHEST} versions are wanted, got {self.max_versions}", "max_versions"))
        far = [e.distance for e in self.edges if not 0 <= e.distance <= FURTHEST]
        issues += [Issue(f"a distance of 0 to {FURTHEST} iterations is wanted, got {d}", "edges") for d in far]
        return issues

    @cached_property
    def pipes(self) -> dict[str, tuple[int, ...]]:
        """The tasks of each pipe."""
        names = sorted(frozenset().union(*(t.pipes for t in self.tasks)))
        return {name: tuple(i for i, t in enumerate(self.tasks) if name in t.pipes) for name in names}

    @cached_property
    def windows(self) -> tuple[tuple[int, int], ...]:
        """Ordered pairs that start less than a period apart because the loop has no offset."""
        if self.offset:
            return ()
        return tuple({(a, b) for tasks in self.pipes.values() for a in tasks for b in tasks if a != b})

    @property
    def absolute(self) -> bool:
        """Whether the place of the period's start matters: orders of stages and of residues refer to it."""
        return self.stages is not None or bool(self.stage_order) or bool(self.pipe_order)

    @property
    def sequential(self) -> int:
        """A period at which nothing overlaps: the latencies, or the intervals if they are longer, added up."""
        return max(sum(t.latency for t in self.tasks), sum(t.interval for t in self.tasks), 1)

    def iteration(self, starts: Sequence[int]) -> int:
        """Cycles from the first start of one iteration to its last result."""
        return max(s + t.latency for s, t in zip(starts, self.tasks, strict=True)) - min(starts)

    def latency(self, ii: int, starts: Sequence[int], trips: int) -> int:
        """Cycles of the whole loop: one iteration, and a period for each further trip."""
        return self.iteration(starts) + ii * (trips - 1)

    def bytes_of(self, versions: Sequence[int]) -> int:
        """Bytes of all versions of all buffers."""
        return sum(v * b.size for v, b in zip(versions, self.buffers, strict=True))

    def versions(self, ii: int, starts: Sequence[int]) -> tuple[int, ...]:
        """The fewest versions of each buffer that these starts need."""
        need = [1] * len(self.buffers)
        for e in self.edges:
            if e.buffer is not None:
                need[e.buffer] = max(need[e.buffer], -(-(e.latency + starts[e.source] - starts[e.target]) // ii))
        return tuple(need)


@dataclass(frozen=True)
class Line:
    """Tasks that run once, in any order that respects their edges (of distance 0) and exclusions.

    `order` pairs (i, j) want ``s_i <= s_j``.
    """

    tasks: tuple[Task, ...]
    edges: tuple[Edge, ...]
    exclusions: tuple[Exclusion, ...] = ()
    order: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        issues = _faults(self.tasks, self.edges, self.exclusions)
        if any(e.distance or e.buffer is not None for e in self.edges):
            issues.append(Issue("an edge of a straight line has no distance", "edges"))
        if issues:
            raise InputError(issues)

    def as_loop(self) -> tuple[Loop, int]:
        """The same question of a loop at a period so long that iterations never meet, and that period."""
        held = [max(e.hold, e.back) for e in self.exclusions]
        longest = sum(max(t.latency, t.interval) for t in self.tasks) + sum(e.latency for e in self.edges) + sum(held)
        stages = (0,) * len(self.tasks) if self.order else None
        loop = Loop(self.tasks, self.edges, self.exclusions, pipe_order=self.order, stages=stages)
        return loop, longest + 1


def _faults(tasks: Sequence[Task], edges: Sequence[Edge], exclusions: Sequence[Exclusion]) -> list[Issue]:
    issues = [] if tasks else [Issue("there is nothing to schedule", "tasks")]
    for task in tasks:
        if not (0 <= task.latency <= LONGEST and 0 <= task.interval <= LONGEST):
            message = f"0 to {LONGEST} cycles are wanted, got {task.latency} and {task.interval}"
            issues.append(Issue(message, task.name))
    ends = [(p, "edges") for e in edges for p in (e.source, e.target)]
    ends += [(p, "exclusions") for e in exclusions for p in (e.first, e.second)]
    issues += [Issue(f"there is no task {p}", where) for p, where in ends if not 0 <= p < len(tasks)]
    times = [(e.latency, "edges") for e in edges] + [(h, "exclusions") for x in exclusions for h in (x.hold, x.back)]
    issues += [
        Issue(f"0 to {LONGEST} cycles are wanted, got {t}", where) for t, where in times if not 0 <= t <= LONGEST
    ]
    issues += [Issue("an exclusion is between two tasks", "exclusions") for e in exclusions if e.first == e.second]
    return issues
