"""Costs of statements that are issued one after the other: sequences, loops, branches, and cores that wait.

A pair (L, I) is the latency of a piece of code and the time after which the next one may begin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

Pair = tuple[int, int]


def sequence(parts: Sequence[Pair]) -> Pair:
    """Statements in order: ``(L1, I1); (L2, I2) = (max(L1, I1 + L2), I1 + I2)``; a pair with I = 0 is neutral."""
    return reduce(_then, (part for part in parts if part[1]), (0, 0))


def _then(first: Pair, second: Pair) -> Pair:
    return max(first[0], first[1] + second[0]), first[1] + second[1]


def loop(body: Pair, trips: int) -> Pair:
    """A serial loop: ``((n - 1) I + L, n I)``; `LatencyModel.trips` says what n is where it is not known."""
    return ((trips - 1) * body[1] + body[0], trips * body[1]) if trips else (0, 0)


def branch(ways: Sequence[Pair]) -> Pair:
    """One of several ways, which is not known: the larger of each component."""
    return max((w[0] for w in ways), default=0), max((w[1] for w in ways), default=0)


@dataclass(frozen=True)
class Phase:
    """What the cores do between two waits for each other: one pair for each candidate that runs beside the others."""

    candidates: tuple[Pair, ...]


def per_core(phases: Sequence[Phase], repeats: int = 1) -> Pair:
    """Phases that are separated by waits between cores add up, candidates within one run side by side.

    With a wait (more than one phase, or a repeated one) nothing of the next task starts before the end, so
    the interval is the latency.
    """
    pairs = [branch(phase.candidates) for phase in phases]
    if len(pairs) == 1 and repeats == 1:
        return pairs[0]
    latency = repeats * sum(p[0] for p in pairs)
    return latency, latency
