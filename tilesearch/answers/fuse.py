"""The answer of `fuse`: the versions side by side, the one that wins, and the criterion that decided."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tilesearch.answers import Record

Criterion = Literal["bytes", "onchip", "parallelism", "units", "numerics", "reuse"]


class FuseOption(Record):
    """One version. `bytes` are what it must move (or, on request, only outputs and partials).

    `onchip_bytes` is what a block keeps alive, `waves` the rounds of resident blocks over all launches,
    `bound_us` the least time with this grid. `fits` is False for a version that the chip cannot hold.
    """

    name: str
    bytes: int
    onchip_bytes: int
    grid: int
    waves: int | None
    new_work: str
    output_bytes: int
    launches: int
    tile: dict[str, int]
    fits: bool
    bound_us: float | None


class FuseQuestion(Record):
    """One of the four questions on a fusion, with its answer in numbers."""

    id: Literal["bytes", "onchip", "grid", "work"]
    question: str
    answer: str


class FuseAnswer(Record):
    """Fuse or split: the winner's name, the criterion that decided, and why.

    Without `complete`, not all tiles were seen, and a version may have a better one.
    """

    decision: str
    criterion: Criterion
    options: list[FuseOption]
    questions: list[FuseQuestion]
    reason: str
    moves_more: bool
    device: str
    policy: str
    complete: bool = True
    notes: list[str] = Field(default_factory=list)
