"""Counting the operations of a vector block: every node of the body by how often its loops run it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Loop:
    """A loop around the body: its variable and its trips, None where they are not constant."""

    variable: str
    trips: int | None


@dataclass(frozen=True)
class Node:
    """One operation of the body: its class (``add``, ``div``, ``special``, …) and the variables it depends on.

    The variables count wherever they stand in the node's operands, in the indices of loads too.
    """

    kind: str
    variables: frozenset[str] = frozenset()


def count(loops: Sequence[Loop], body: Sequence[Node], unknown_trips: int) -> list[tuple[str, int]]:
    """(class, how often) for each node: the trips of all loops, outermost first, down to the deepest that it needs.

    A node that needs no loop runs once. Loops of one trip do not exist for the compiler.
    `unknown_trips` stands for a number of trips that is not constant (see `LatencyModel.trips`).
    """
    live = [loop for loop in loops if loop.trips != 1]
    return [(node.kind, _often(live, node, unknown_trips)) for node in body]


def _often(loops: Sequence[Loop], node: Node, unknown_trips: int) -> int:
    depth = max((i for i, loop in enumerate(loops, start=1) if loop.variable in node.variables), default=0)
    often = 1
    for loop in loops[:depth]:
        often *= unknown_trips if loop.trips is None else loop.trips
    return often
