"""The answer of `shard`: one product over several devices, its collective, and whether overlapping them pays."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from tilesearch.answers import Record

Verdict = Literal["sequence", "pays", "a draw", "does not pay"]


Limit = Literal["", "launch floor", "contention", "smaller parts"]
"""What eats most of what overlap could save."""


class LocalGemm(Record):
    """The product of one rank: its operator, the best tile by time, and us.

    `sustained_us` is what it takes when it runs again and again under the power limit, and what the totals use; None
    where no sustained rate is known, and then they use `time_us`.
    """

    op: dict[str, Any]
    kernel: str
    variant: str | None
    tile: dict[str, int]
    time_us: float
    low_us: float
    high_us: float
    sustained_us: float | None


class CollectiveTime(Record):
    """A collective over all ranks, us. `message_bytes` are those of the input tensor that one rank holds.

    `wire_bytes` cross the busiest link one way; `device_us` is the collective in a queue, `single_us` what a caller
    who waits for it alone sees, launch floor included, with its 80 % interval.
    """

    op: str
    message_bytes: int
    wire_bytes: int
    protocol: str
    device_us: float
    single_us: float
    low_us: float
    high_us: float
    floored: bool


class Option(Record):
    """The whole in so many chunks of rows; 1 is in sequence. Times in us, with an 80 % interval.

    `gemm_us` and `collective_us` are sums over the chunks, `issue_us` what the host takes to issue `launches`;
    `gain` is the share of the sequence's time that is saved, `limit` what eats most of what overlap could save:
    launches of the host (``launch floor``), SMs and memory shared (``contention``), or ``smaller parts``.
    """

    chunks: int
    rows: int
    total_us: float
    low_us: float
    high_us: float
    gemm_us: float
    collective_us: float
    launches: int
    issue_us: float
    gain: float
    verdict: Verdict
    limit: Limit
    reason: str


class ShardAnswer(Record):
    """A product split over ranks: each rank's part, the collective, in sequence and overlapped; the best of them.

    `unsharded_us` is the same product on one device. `strength` is that of the link's constants: measured on this
    device, or the datasheet's bandwidth with the rest kept from a measured one.
    """

    problem: str
    device: str
    op: dict[str, Any]
    split: Literal["row", "column"]
    ranks: int
    domain: int
    local: LocalGemm
    collective: CollectiveTime
    sequential_us: float
    unsharded_us: float
    options: list[Option]
    best: Option
    strength: Literal["calibrated", "not validated", "datasheet only"]
    launch_floor_us: float
    enqueue_us: float
    notes: list[str] = Field(default_factory=list)
