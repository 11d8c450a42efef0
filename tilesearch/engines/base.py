"""What every engine takes and gives back."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tilesearch.rules.expr import Expr
from tilesearch.rules.model import Model, Rule

Tiles = NDArray[np.int64]
Progress = Callable[[str, float], None]


class Status(StrEnum):
    """How far an answer goes."""

    COMPLETE = "complete"  # the whole set was listed
    OPTIMAL = "optimal"  # the best k are proved, the set was not listed
    FEASIBLE = "feasible"  # stopped by a limit with something in hand
    INFEASIBLE = "infeasible"  # proved that nothing fits
    UNKNOWN = "unknown"  # stopped by a limit with nothing in hand


class Deadline:
    """A time limit that the engines poll, and a flag that Ctrl-C sets."""

    def __init__(self, seconds: float | None = None) -> None:
        self.start = time.monotonic()
        self.seconds = seconds
        self.interrupted = False

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.start

    @property
    def left(self) -> float:
        """Seconds that remain; infinite without a limit, never negative."""
        return float("inf") if self.seconds is None else max(0.0, self.seconds - self.elapsed)

    @property
    def expired(self) -> bool:
        """Whether to stop now."""
        return self.interrupted or self.left <= 0


@dataclass
class Outcome:
    """What an engine found.

    `tiles` has one row a tile, one column a variable in model order, values not indices. `rejected` counts
    each candidate under the first hard rule it breaks, in rule order; it is None where candidates were not
    counted one by one. `listed` says that `tiles` is the whole feasible set, soft ones included when asked;
    a `best` that is not listed holds every tile whose key is not above the k-th best key.
    """

    status: Status
    tiles: Tiles
    listed: bool
    feasible: int | None = None
    soft: int | None = None
    unknown: int | None = None
    rejected: dict[str, int] | None = None
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Request:
    """One question to an engine.

    `attribute` asks for each rejected candidate to be counted under the rule that it breaks; without it an
    engine may take the rules in any order.
    """

    model: Model
    allow_soft: bool = False
    deadline: Deadline = field(default_factory=Deadline)
    progress: Progress | None = None
    attribute: bool = True

    def enforced(self) -> tuple[Rule, ...]:
        """The rules that a returned tile must satisfy."""
        return self.model.hard if self.allow_soft else (*self.model.hard, *self.model.soft)

    def report(self, text: str, fraction: float) -> None:
        """Tell the user how far the work is; `fraction` in 0..1."""
        if self.progress is not None:
            self.progress(text, fraction)


class Engine(Protocol):
    """The one protocol. Rules whose limit is unknown are not enforced: the caller reports them."""

    name: str

    def enumerate(self, request: Request) -> Outcome:
        """Every tile that satisfies the enforced rules."""
        ...

    def best(self, request: Request, key: Expr, k: int) -> Outcome:
        """Every tile whose key is at most the k-th smallest key, proved."""
        ...

    def first(self, request: Request) -> Outcome:
        """Any one tile, or INFEASIBLE."""
        ...

    def core(self, request: Request, rules: Sequence[Rule]) -> tuple[Rule, ...] | None:
        """A subset of `rules` that no tile satisfies together (not yet minimal); None when some tile does.

        Raises TimeoutError when the deadline ends the search undecided.
        """
        ...


def empty_tiles(model: Model) -> Tiles:
    """No tiles, in the right shape."""
    return np.empty((0, len(model.variables)), dtype=np.int64)
