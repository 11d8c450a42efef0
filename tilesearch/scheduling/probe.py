"""One question to an engine: is there a schedule at this period, within these limits?"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from tilesearch.scheduling.problem import Loop


class Answer(StrEnum):
    """What an engine says of a question."""

    YES = "yes"
    NO = "no"  # proved
    UNKNOWN = "unknown"  # given up


class Budget:
    """How long engines may work: seconds of wall clock in all, search nodes a question."""

    def __init__(self, seconds: float | None = None, nodes: int = 40_000) -> None:
        self.end = float("inf") if seconds is None else time.monotonic() + seconds
        self.nodes = nodes

    def lighter(self) -> Budget:
        """The same time with a tenth of the nodes, for questions that may be skipped."""
        light = Budget(nodes=max(self.nodes // 10, 1))
        light.end = self.end
        return light

    @property
    def left(self) -> float:
        """Seconds that remain, never negative."""
        return max(0.0, self.end - time.monotonic())

    @property
    def spent(self) -> bool:
        """Whether to stop now."""
        return self.left <= 0


@dataclass(frozen=True)
class Question:
    """Start times for `loop` at period `ii`, one iteration within `iteration` cycles, buffers within `storage` bytes.

    A limit of None is no limit.
    """

    loop: Loop
    ii: int
    iteration: int | None = None
    storage: int | None = None


@dataclass(frozen=True)
class Reply:
    """The answer; start times where it is yes; `nodes` and `engine` say what it took."""

    answer: Answer
    starts: tuple[int, ...] = ()
    engine: str = ""
    nodes: int = 0
    notes: tuple[str, ...] = field(default_factory=tuple)


class Engine(Protocol):
    """Every engine answers the same question, and every yes carries start times that `check` accepts."""

    name: str

    def ask(self, question: Question, budget: Budget) -> Reply:
        """Decide `question`, or give up within `budget`."""
        ...


def normalised(loop: Loop, ii: int, starts: list[int]) -> tuple[int, ...]:
    """The same schedule, beginning at 0: moved freely where the period's start does not matter, else by periods."""
    first = min(starts)
    shift = first if not loop.absolute else (0 if loop.stages is not None else first // ii * ii)
    return tuple(s - shift for s in starts)


def most_stages(question: Question) -> int:
    """More stages than any schedule needs, once tasks that nothing ties together are brought near each other.

    A tree of waits joins the tasks of a connected component; none of them is longer than the longest wait of
    an edge and a period (see `System._tie`). Given stages count as they are.
    """
    loop, ii = question.loop, question.ii
    if loop.stages is not None:
        return max(loop.stages)
    if question.iteration is not None:
        return question.iteration // ii + 1
    waits = [max(e.latency, ii * max(e.distance, loop.max_versions)) for e in loop.edges]
    return (max([*waits, ii]) + ii) * len(loop.tasks) // ii + 1
