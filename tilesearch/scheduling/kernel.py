"""From a kernel's trees and one tile to loops that can be scheduled: the loop over its body, and the one over tiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tilesearch.rules.ascend.kernel import Kernel, Statement, Store
from tilesearch.rules.evaluate import Memo, evaluate
from tilesearch.rules.expr import Expr
from tilesearch.scheduling.problem import Buffer, Edge, Exclusion, Group, Loop, Task
from tilesearch.scheduling.solve import Schedule


@dataclass(frozen=True)
class Piece:
    """A task with what it touches. `first` is when it first touches a buffer after its start, in cycles."""

    task: Task
    ports: frozenset[str]
    reads: frozenset[str]
    writes: frozenset[str]
    first: Mapping[str, int]


@dataclass(frozen=True)
class Tiled:
    """A kernel at one tile: numbers instead of trees. `most` limits the versions of every buffer."""

    kernel: Kernel
    tile: Mapping[str, int]
    capacity: Mapping[str, int]
    most: int | None = None

    def value(self, tree: Expr) -> int:
        """The value of a tree at this tile."""
        memo: Memo = {}
        return int(evaluate(tree, self.tile, memo))

    def time(self, ticks: Expr) -> int:
        """Whole cycles of so many ticks, rounded up."""
        return -(-self.value(ticks) // self.kernel.clock.ticks)

    @property
    def trips(self) -> int:
        """Iterations of the body."""
        return self.value(self.kernel.trips)

    @property
    def stages(self) -> int:
        """The most versions of a pipelined buffer."""
        given = self.value(self.kernel.stages)
        return given if self.most is None else min(given, self.most)

    def piece(self, statement: Statement) -> Piece:
        """A statement as a task."""
        cost = statement.cost
        task = Task(statement.name, self.time(cost.latency), self.time(cost.interval), cost.pipes)
        return Piece(task, cost.ports, frozenset(statement.reads), frozenset(statement.writes), {})

    def body(self) -> Loop:
        """The loop over the body, its pipelined buffers with up to `stages` versions."""
        pieces = [self.piece(s) for s in self.kernel.body]
        stores = [s for s in self.kernel.stores if s.pipelined or s.elastic]
        return _loop(pieces, stores, self.value, self._groups(stores), self.stages)

    def tiles(self, body: Loop, found: Schedule) -> Loop | None:
        """The loop over tiles, the whole loop over the body one of its tasks; None where there is nothing else."""
        kernel = self.kernel
        if not kernel.after:
            return None
        outer = (*kernel.before, *kernel.after)
        whole = body.latency(found.ii, found.starts, self.trips)
        inner = [self.piece(s) for s in kernel.body]
        touched = frozenset().union(*(p.reads | p.writes for p in inner))
        pipes = frozenset().union(*(p.task.pipes for p in inner))
        first = {
            name: min(s for s, p in zip(found.starts, inner, strict=True) if name in p.reads | p.writes)
            for name in touched
        }
        loop = Piece(
            Task("loop", whole, whole, pipes),
            frozenset().union(*(p.ports for p in inner)),
            frozenset().union(*(p.reads for p in inner)),
            frozenset().union(*(p.writes for p in inner)),
            first,
        )
        pieces = [*(self.piece(s) for s in kernel.before), loop, *(self.piece(s) for s in kernel.after)]
        names = {name for s in outer for name in (*s.reads, *s.writes)}
        own = [s for s in kernel.stores if s.name in names and s.name not in touched]
        return _loop(pieces, own, self.value, self._groups(own), 1, offset=True)

    def _groups(self, versioned: Sequence[Store]) -> tuple[Group, ...]:
        """The memories, less what has one version only."""
        chosen = {s.name: i for i, s in enumerate(versioned)}
        groups = []
        for memory, capacity in self.capacity.items():
            members = tuple(chosen[s.name] for s in self.kernel.stores if s.memory == memory and s.name in chosen)
            fixed = sum(self.value(s.size) for s in self.kernel.stores if s.memory == memory and s.name not in chosen)
            if members:
                groups.append(Group(memory, capacity - fixed, members))
        return tuple(groups)


def _loop(
    pieces: Sequence[Piece],
    versioned: Sequence[Store],
    value: Callable[[Expr], int],
    groups: tuple[Group, ...],
    stages: int,
    *,
    offset: bool = True,
) -> Loop:
    """A loop over `pieces`: whoever writes what another one touches keeps it waiting.

    Within an iteration in program order; across iterations by as many as the buffer has versions, or by one.
    The wait is the first one's whole latency, also of a reader: a buffer is free when it has been read.
    """
    number = {s.name: i for i, s in enumerate(versioned)}
    edges = []
    for u, first in enumerate(pieces):
        for v, second in enumerate(pieces):
            for name in sorted((first.reads | first.writes) & (second.reads | second.writes)):
                if name not in first.writes | second.writes:
                    continue
                late = max(0, first.task.latency - second.first.get(name, 0))
                if u < v:
                    edges.append(Edge(u, v, late))
                elif u > v or name in first.writes:
                    edges.append(Edge(u, v, late, 0 if name in number else 1, number.get(name)))
    buffers = tuple(Buffer(s.name, value(s.size)) for s in versioned)
    tasks = tuple(p.task for p in pieces)
    return Loop(tasks, tuple(dict.fromkeys(edges)), _exclusions(pieces), buffers, groups, stages, offset)


def _exclusions(pieces: Sequence[Piece]) -> tuple[Exclusion, ...]:
    """Tasks that share a pipe (scalar statements wait for nobody) or a port to main memory."""
    found = []
    for j, second in enumerate(pieces):
        for i, first in enumerate(pieces[:j]):
            pipes = sorted((first.task.pipes & second.task.pipes) - {"S"})
            ports = sorted(first.ports & second.ports)
            if pipes or ports:
                reason = pipes[0] if pipes else f"port {ports[0]}"
                found.append(Exclusion(i, j, first.task.interval, second.task.interval, reason))
    return tuple(found)
