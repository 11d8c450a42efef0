"""A kernel on one AI core: what runs in its loop, what once a tile, and the buffers between the statements."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from tilesearch.rules.ascend.costs import WHOLE, Clock, Cost
from tilesearch.rules.expr import Expr, as_expr, ceildiv, const, maximum, select, total

MEMORIES = ("L1", "L0A", "L0B", "L0C", "UB", "BT", "Fixpipe")
"""The on-chip memories, in the order in which rules name them."""


@dataclass(frozen=True)
class Statement:
    """One task: its cost, and the buffers that it reads and writes."""

    name: str
    cost: Cost
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Store:
    """A buffer: its memory, its bytes in one version, and whether iterations of the loop have versions of it.

    A `pipelined` buffer has `stages` versions; an `elastic` one as many of them as its memory has room for.
    """

    name: str
    memory: str
    size: Expr
    pipelined: bool = False
    elastic: bool = False


@dataclass(frozen=True)
class Kernel:
    """A tile's work: `before`, then `trips` iterations of `body`, then `after`; and how many tiles there are.

    Where `body` is all there is, its iterations are the tiles of a persistent block. `stages` is the most
    versions of a pipelined buffer. Costs are in ticks of `clock`.
    """

    body: tuple[Statement, ...]
    trips: Expr
    stores: tuple[Store, ...]
    stages: Expr
    before: tuple[Statement, ...] = ()
    after: tuple[Statement, ...] = ()
    clock: Clock = WHOLE
    notes: tuple[str, ...] = ()

    def memory_bytes(self, memory: str) -> Expr:
        """Bytes that the buffers of a memory take at least: all versions of the pipelined ones. Unit: B."""
        return total(s.size * self.stages if s.pipelined else s.size for s in self.stores if s.memory == memory)

    def load(self, pipe: str, statements: Iterable[Statement] | None = None) -> Expr:
        """Ticks that one iteration of the body (or other `statements`) holds a pipe."""
        chosen = self.body if statements is None else statements
        return total(s.cost.less.get(pipe, s.cost.interval) for s in chosen if pipe in s.cost.pipes)

    def tile_load(self, pipe: str) -> Expr:
        """Ticks that a whole tile holds a pipe: all iterations of the body, and what is done once."""
        times = [self.load(pipe) * self.trips] if any(pipe in s.cost.pipes for s in self.body) else []
        once = [s for s in (*self.before, *self.after) if pipe in s.cost.pipes]
        return total([*times, *([self.load(pipe, once)] if once else [])])


def either(condition: Expr, then: Cost, otherwise: Cost) -> Cost:
    """One cost or the other, on the same pipes."""
    return replace(
        then,
        latency=select(condition, then.latency, otherwise.latency),
        interval=select(condition, then.interval, otherwise.interval),
    )


def cycles(clock: Clock, ticks: Expr) -> Expr:
    """Whole cycles of so many ticks, rounded up."""
    return ticks if clock.rounds else ceildiv(ticks, clock.ticks)


def queues(statements: Iterable[Statement]) -> dict[str, Expr]:
    """What statements queue for, by pipe and by port to memory, with the ticks that they hold it together."""
    held: dict[str, list[Expr]] = {}
    for s in statements:
        names = [p for p in s.cost.pipes if p != "S"] + [f"port {p}" for p in s.cost.ports]
        for name in sorted(names):
            held.setdefault(name, []).append(s.cost.interval)
    return {name: total(times) for name, times in sorted(held.items())}


def chain(statements: Iterable[Statement]) -> Expr:
    """Ticks of statements one after the other."""
    return total(s.cost.latency for s in statements)


def period_bound(kernel: Kernel) -> Expr:
    """A lower bound on the period of the body, in ticks: pipes, ports, accumulators, and buffers' versions.

    A buffer is held from the start of its first writer to the end of its last reader, through everything that
    waits in between; it has up to `stages` versions if it is pipelined or elastic, one otherwise. `schedule` finds
    the period.
    """
    terms: list[Expr] = [*queues(kernel.body).values()]
    for store in kernel.stores:
        path = held(kernel.body, store.name)
        if path is not None:
            terms.append(ceildiv(path, kernel.stages) if store.pipelined or store.elastic else path)
    return maximum(*terms) if terms else const(1)


def held(body: tuple[Statement, ...], name: str) -> Expr | None:
    """The longest wait between two accesses of a buffer, of which the second may be of the next iteration."""
    users = [i for i, s in enumerate(body) if name in s.reads or name in s.writes]
    if not any(name in body[i].writes for i in users):
        return None
    first, last = users[0], users[-1]
    if first == last:
        return body[first].cost.latency
    longest = _path(body, first, last)
    return body[last].cost.latency if longest is None else longest + body[last].cost.latency


def _path(body: tuple[Statement, ...], start: int, end: int) -> Expr | None:
    """The longest wait from the start of one statement to that of a later one, within an iteration."""
    waits: dict[int, Expr] = {start: as_expr(0)}
    for target in range(start + 1, end + 1):
        ways = [
            wait + body[source].cost.latency for source, wait in waits.items() if depends(body[source], body[target])
        ]
        if ways:
            waits[target] = maximum(*ways)
    return waits.get(end)


def depends(first: Statement, second: Statement) -> bool:
    """Whether `second` must wait for `first`: one of them writes what the other one touches."""
    touched = {*second.reads, *second.writes}
    return bool(touched & {*first.writes}) or bool({*second.writes} & {*first.reads})
