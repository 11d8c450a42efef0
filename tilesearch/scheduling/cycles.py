"""Cycles of waits: the one that asks for the longest period, by Bellman and Ford with a growing period."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Arc:
    """``s_target - s_source >= latency - II * distance``, and why."""

    source: int
    target: int
    latency: int
    distance: int
    kind: str = "data"
    about: str = ""


@dataclass(frozen=True)
class Cycle:
    """Arcs that lead back to their beginning: the period is at least the sum of latencies over that of distances."""

    arcs: tuple[Arc, ...] = ()

    @property
    def latency(self) -> int:
        """Cycles that the arcs wait, together."""
        return sum(a.latency for a in self.arcs)

    @property
    def distance(self) -> int:
        """Iterations that the arcs span, together."""
        return sum(a.distance for a in self.arcs)

    @property
    def period(self) -> int:
        """The least whole period at which the cycle is possible; 0 where no period is too short."""
        if self.latency <= 0:
            return 0
        return -(-self.latency // self.distance) if self.distance > 0 else 0

    @property
    def impossible(self) -> bool:
        """Whether no period is long enough."""
        return self.latency > 0 and self.distance <= 0


def worst_cycle(count: int, arcs: Sequence[Arc], start: int = 1) -> tuple[int, Cycle]:
    """The least period (at least `start`) that all cycles allow, and the cycle that forbids a shorter one.

    The cycle is empty where `start` itself is allowed; an `impossible` cycle comes with the last period tried.
    Every positive cycle found gives a longer period to try, so few rounds are needed.
    """
    period, last = start, Cycle()
    while True:
        found = positive_cycle(count, arcs, period)
        if found is None:
            return period, last
        last = found
        if found.impossible:
            return period, last
        period = max(found.period, period + 1)


def positive_cycle(count: int, arcs: Sequence[Arc], period: int) -> Cycle | None:
    """A cycle whose waits add up to more than `period` times its iterations; None where there is none."""
    weights = [(a.source, a.target, a.latency - period * a.distance, a) for a in arcs]
    longest = [0] * count
    into: list[Arc | None] = [None] * count
    for _ in range(count + 1):
        changed = -1
        for source, target, weight, arc in weights:
            if longest[source] + weight > longest[target]:
                longest[target] = longest[source] + weight
                into[target] = arc
                changed = target
        if changed < 0:
            return None
        cycle = _behind(into, changed)
        if cycle is not None:
            return cycle
    raise AssertionError("a longest path with more arcs than nodes has a cycle behind it")


def _behind(into: Sequence[Arc | None], node: int) -> Cycle | None:
    """The cycle that following the last improvements back from `node` ends in, if it ends in one."""
    seen: dict[int, int] = {}
    trail: list[Arc] = []
    while node not in seen:
        seen[node] = len(trail)
        arc = into[node]
        if arc is None:
            return None
        trail.append(arc)
        node = arc.source
    return Cycle(tuple(reversed(trail[seen[node] :])))
