"""Lower bounds on the period of a loop, each with what proves it."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from tilesearch.errors import InputError, Issue
from tilesearch.scheduling.cycles import Arc, Cycle, worst_cycle
from tilesearch.scheduling.problem import Loop

_MOST_CALLS = 20_000


@dataclass(frozen=True)
class Bounds:
    """Lower bounds on the period in cycles, and what lies behind them.

    `interval`: the longest interval of one task. `resource`: the heaviest set of tasks that exclude one
    another (`clique`). `recurrence`: edges of fixed distance alone. `buffers`: all edges, every buffer with
    as many versions as it may have. `window`: the same where tasks of one pipe start within one period, 0
    where they need not. `cycle` is the cycle of waits behind the larger of the last three.
    """

    interval: int
    resource: int
    recurrence: int
    buffers: int
    window: int
    clique: tuple[int, ...]
    cycle: Cycle

    @property
    def best(self) -> int:
        """The largest of them."""
        return max(self.interval, self.resource, self.recurrence, self.buffers, self.window, 1)


def lower_bounds(loop: Loop) -> Bounds:
    """All lower bounds of `loop`. Raises `InputError` where its waits are impossible at any period."""
    clique = heaviest_clique(loop)
    fixed = [a for a in arcs(loop, most_versions(loop)) if a.kind == "data"]
    stored = [a for a in arcs(loop, most_versions(loop)) if a.kind == "buffer"]
    recurrence, cycle = _worst(loop, fixed, 1)
    buffers, other = _worst(loop, [*fixed, *stored], recurrence)
    cycle = other if other.arcs else cycle
    window = 0
    if loop.windows:
        within = [Arc(a, b, 1, 1, "window") for a, b in loop.windows]
        window, other = _worst(loop, [*fixed, *stored, *within], buffers)
        chain = _longest_chain(loop, fixed)
        if chain.period > window:
            window, other = chain.period, chain
        cycle = other if other.arcs else cycle
    return Bounds(
        interval=max(t.interval for t in loop.tasks),
        resource=sum(loop.tasks[i].interval for i in clique),
        recurrence=recurrence,
        buffers=buffers,
        window=window,
        clique=clique,
        cycle=cycle,
    )


def _worst(loop: Loop, found: Sequence[Arc], start: int) -> tuple[int, Cycle]:
    period, cycle = worst_cycle(len(loop.tasks), found, start)
    if cycle.impossible:
        names = " -> ".join(loop.tasks[a.source].name for a in cycle.arcs)
        raise InputError(Issue(f"these tasks wait for one another within one iteration: {names}", "edges"))
    return period, cycle


def arcs(loop: Loop, versions: Sequence[int]) -> list[Arc]:
    """The edges of `loop` as arcs, every buffer with so many versions."""
    return [
        Arc(e.source, e.target, e.latency, e.distance)
        if e.buffer is None
        else Arc(e.source, e.target, e.latency, versions[e.buffer], "buffer", loop.buffers[e.buffer].name)
        for e in loop.edges
    ]


def most_versions(loop: Loop) -> list[int]:
    """The most versions that each buffer can have beside one version of its neighbours, at least 1."""
    caps = [loop.max_versions] * len(loop.buffers)
    for group in loop.groups:
        spare = group.capacity - sum(loop.buffers[b].size for b in group.members)
        for b in group.members:
            if loop.buffers[b].size:
                caps[b] = max(min(caps[b], 1 + spare // loop.buffers[b].size), 1)
    return caps


def _longest_chain(loop: Loop, fixed: Sequence[Arc]) -> Cycle:
    """A path within an iteration from a to b, exclusive on one pipe, ends with b before a starts again."""
    within = [a for a in fixed if a.distance == 0]
    following: dict[int, list[Arc]] = {}
    for arc in within:
        following.setdefault(arc.source, []).append(arc)
    excluded = {(x.first, x.second): x.back for x in loop.exclusions}
    excluded |= {(x.second, x.first): x.hold for x in loop.exclusions}
    best = Cycle()
    for a in sorted({a for a, _ in loop.windows}):
        for b, path in _paths_from(a, following).items():
            if b != a and (a, b) in excluded and (a, b) in loop.windows:
                cycle = Cycle((*path, Arc(b, a, excluded[a, b], 1, "pipe")))
                best = cycle if cycle.period > best.period else best
    return best


def _paths_from(start: int, following: dict[int, list[Arc]]) -> dict[int, tuple[Arc, ...]]:
    """The longest path from `start` to every task that it reaches. The arcs have no cycle."""
    longest: dict[int, tuple[int, tuple[Arc, ...]]] = {start: (0, ())}
    waiting = deque([start])
    while waiting:
        node = waiting.popleft()
        length, path = longest[node]
        for arc in following.get(node, ()):
            if arc.target != arc.source and length + arc.latency > longest.get(arc.target, (-1, ()))[0]:
                longest[arc.target] = length + arc.latency, (*path, arc)
                waiting.append(arc.target)
    return {node: path for node, (_, path) in longest.items() if path}


def heaviest_clique(loop: Loop) -> tuple[int, ...]:
    """Tasks that all exclude one another, with the largest sum of intervals: they queue in every period.

    Branch and bound, heaviest tasks first. Cut short on tangled problems: any such set is a bound.
    """
    neighbours: dict[int, set[int]] = {i: set() for i in range(len(loop.tasks))}
    weight = [t.interval for t in loop.tasks]
    for x in loop.exclusions:
        if x.hold >= weight[x.first] and x.back >= weight[x.second]:
            neighbours[x.first].add(x.second)
            neighbours[x.second].add(x.first)
    best: tuple[int, tuple[int, ...]] = (0, ())
    calls = 0

    def grow(chosen: tuple[int, ...], held: int, rest: list[int], left: int) -> None:
        nonlocal best, calls
        calls += 1
        if held > best[0]:
            best = (held, chosen)
        for place, task in enumerate(rest):
            if held + left <= best[0] or calls > _MOST_CALLS:
                return
            left -= weight[task]
            after = [other for other in rest[place + 1 :] if other in neighbours[task]]
            grow((*chosen, task), held + weight[task], after, sum(weight[o] for o in after))

    order = sorted(range(len(loop.tasks)), key=lambda i: -weight[i])
    grow((), 0, order, sum(weight))
    return tuple(sorted(best[1]))
