"""The answer of `design`: the whole loop on one sheet, from the ledger to a kernel's skeleton."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from tilesearch.answers import Record, Verdict
from tilesearch.answers.roofline import Class, Named, RooflineAnswer


class AdviceItem(Record):
    """Something that one might do: whether it is worth doing here, by which number, and why."""

    what: Literal["bytes", "matrix unit", "tile", "stages", "launches"]
    worth: bool
    number: float | None
    text: str


class ModelAnswer(Record):
    """Which model answered what, and what it said here (seed 3.5)."""

    model: str
    answers: str
    says: str


class Advice(Record):
    """What is worth doing at all, and whose word that is."""

    text: str
    items: list[AdviceItem]
    models: list[ModelAnswer]


class TileRow(Record):
    """One tile's budget. Sizes in B, times in us; `vs_ideal` is the total over the ledger's bytes.

    `rows` are the index points of the tiled parallel dimensions in a block: rows, for a row operator. `waves` and
    `tail_fill` are by the residency that the problem assumes, `waves_resident` by `blocks_per_sm`, which is what
    registers, shared memory and threads allow. `saves` is the share of the row above's traffic that this one saves.
    `memory_us` is the time if main memory sees all of the traffic, `dispatch_us` that of handing out the blocks.
    """

    tile: dict[str, int]
    verdict: Verdict
    rows: int
    grid: int
    waves: int | None
    waves_resident: int | None
    blocks_per_sm: int
    tail_fill: float | None
    onchip_bytes: int
    payload_bytes: int
    lookup_bytes: int
    partial_bytes: int
    total_bytes: int
    vs_ideal: float
    saves: float | None
    memory_us: float
    dispatch_us: float | None
    binding: str | None


class SizeAnswer(Record):
    """Large tile, or small tile and many waves: what decides, and whether the chosen tile obeys."""

    verdict: Literal["large", "smaller or split", "by re-reads", "neither"]
    obeyed: bool
    text: str


class TileSheet(Record):
    """The chosen tile, the best for each size of grid, and the criterion on its size.

    `enough` is the one with the most blocks that re-reads no more than a few per cent of the ideal.
    `alternative` is the tile with the least bound, its grid counted, where the chosen one leaves SMs idle.
    """

    chosen: TileRow
    candidates: list[TileRow]
    rank: str
    tied: int | None
    feasible: int | None
    assumed_blocks_per_sm: int | None
    criterion: SizeAnswer
    enough: TileRow | None
    alternative: TileRow | None


class PipelineAnswer(Record):
    """Stages by the criterion ``1 + ceil(latency / step)``; times in ns, bytes an SM.

    `tile` is the chosen tile with its block_k and stages by that criterion, `changes` what that changed; the steps
    that follow are about it.
    """

    tile: dict[str, int]
    changes: dict[str, list[int]]
    chosen: int | None
    needed: int | None
    covered: bool | None
    steps: int
    step_ns: float
    latency_ns: float | None
    in_flight_bytes: int
    in_flight_needed_bytes: int | None
    text: str


class SpecialPathAnswer(Record):
    """A special instruction or layout: the signal that asks for it or not, and what it would cost."""

    path: str
    decision: Literal["use", "leave", "not applicable", "unknown"]
    signal: str
    cost: str


class Symptoms(Record):
    """One version's traffic taken apart. `excess_bytes` is what it moves beyond the ledger's bytes."""

    tile: dict[str, int]
    verdict: Verdict
    total_bytes: int
    payload_bytes: int
    lookup_bytes: int
    partial_bytes: int
    excess_bytes: int
    lookup_share: float
    vs_ideal: float
    memory_us: float
    dispatch_us: float | None
    findings: list[str]


class Diagnosis(Record):
    """The naive version beside the chosen one, what a measurement should look for, and the risks that remain."""

    naive: Symptoms
    chosen: Symptoms
    gap: float
    verify: str
    risks: list[str]


class ReviewItem(Record):
    """One of the sixteen anti-patterns."""

    id: int
    pattern: str
    verdict: Literal["pass", "fail", "not applicable"]
    number: float | None
    text: str


class Skeleton(Record):
    """A kernel to start from, with the chosen tile: source text. What the operator computes is left to fill in."""

    triton: str
    tilelang: str


class DesignAnswer(Named):
    """The design sheet of one operator on one device. Without `complete`, not all tiles were seen."""

    op: dict[str, Any]
    device: str
    ledger: RooflineAnswer
    class_: Class = Field(alias="class")
    advice: Advice
    tile: TileSheet
    pipeline: PipelineAnswer
    special_paths: list[SpecialPathAnswer]
    diagnosis: Diagnosis
    review: list[ReviewItem]
    skeleton: Skeleton
    complete: bool
    notes: list[str] = Field(default_factory=list)
