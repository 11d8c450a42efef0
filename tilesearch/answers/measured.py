"""Answers of what was measured on a GPU: tiles that were timed, constants that were calibrated."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from tilesearch.answers import Record, Tile


class TunedRow(Record):
    """One tile that was compiled and timed; times in microseconds.

    `predicted_*`: by the time model, with the interval that holds 80 %. `time_us` is the median of `launches`
    launches, `least_us` and `most_us` their range; None where the tile did not run, and `error` says why.
    `compile_s` are seconds of the process that compiled it.
    """

    rank: int
    tile: Tile
    predicted_us: float | None = None
    predicted_low_us: float | None = None
    predicted_high_us: float | None = None
    time_us: float | None = None
    least_us: float | None = None
    most_us: float | None = None
    launches: int = 0
    relative_error: float | None = None
    registers: int | None = None
    spills: int | None = None
    shared_bytes: int | None = None
    compile_s: float | None = None
    error: str = ""


class TuneSeconds(Record):
    """Where the seconds went: choosing tiles, starting processes, compiling (wall, and of all processes), timing."""

    listing: float = 0.0
    starting: float = 0.0
    compiling: float = 0.0
    compiling_processes: float = 0.0
    timing: float = 0.0


class TuneAnswer(Record):
    """A short list, measured. `rows` are in the order of their time, those that did not run last.

    `resolution`: how far medians of the same launch lie apart between rounds, relative; `mean_error`: mean of
    |predicted / measured - 1|; `within_interval`: share of rows whose 80 % interval holds the measured time.
    """

    problem: str
    device: str
    gpu: str
    op: dict[str, Any]
    kernel: dict[str, Any]
    chosen: str
    rows: list[TunedRow]
    compiles: int
    seconds: TuneSeconds
    resolution: float | None = None
    mean_error: float | None = None
    within_interval: float | None = None
    before: dict[str, float] = Field(default_factory=dict)
    after: dict[str, float] = Field(default_factory=dict)
    notes: list[str] = Field(default_factory=list)


class Calibrated(Record):
    """One constant that was measured: its value, and the spread of repeated measurements, relative.

    `known` is the value of the device that it is compared with, `kind` how that came about, and `within` whether the
    two agree within both spreads (None where there is nothing to compare with).
    """

    name: str
    value: float
    unit: str
    spread: float
    note: str
    known: float | None = None
    known_kind: str = ""
    known_spread: float | None = None
    within: bool | None = None


class CalibrateAnswer(Record):
    """What was measured on a GPU, beside the device it is compared with. `kept`: constants taken over from there."""

    name: str
    gpu: str
    nearest: str
    rows: list[Calibrated]
    kept: list[str]
    failed: dict[str, str]
    seconds: float
    before: dict[str, float] = Field(default_factory=dict)
    after: dict[str, float] = Field(default_factory=dict)
    notes: list[str] = Field(default_factory=list)
