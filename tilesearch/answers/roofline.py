"""The answer of `roofline`: ledger, roofs, bound, class, and what would be misread here."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from tilesearch.answers import Record

Class = Literal["memory", "compute"]


class Named(Record):
    """Base of records with a key called ``class``, which is `class_` in Python."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True, serialize_by_alias=True)


class LedgerTerm(Record):
    """One line of the ledger: operations on a unit, or bytes (unit ``memory``)."""

    name: str
    flops: int
    bytes: int
    unit: str


class RoofLine(Named):
    """What one roof would make of the operator. Rates in FLOP/s; None and ``unknown`` where there is no rate."""

    name: str
    peak_flops: float | None
    balance: float | None
    class_: Literal["memory", "compute", "unknown"] = Field(alias="class")
    compute_us: float | None
    calibration: str | None
    edition: str
    note: str


class UnitTime(Record):
    """The operations that one unit does, special functions as a unit of their own, and their time there."""

    unit: str
    flops: int
    compute_us: float | None


class Misreading(Record):
    """A common misreading: whether it would bite here, and by what factor (None: it cannot be known)."""

    id: str
    holds: bool
    factor: float | None
    text: str


class RateUsed(Record):
    """A calibrated rate and where it comes from: B/s for bandwidth, FLOP/s for a roof."""

    name: str
    value: float
    theoretical: float | None
    calibration: str
    kind: str
    edition: str
    source: str
    note: str


class PolicyUsed(Record):
    """The calibration policy and the two rates it chose."""

    name: str
    bandwidth: RateUsed
    roof: RateUsed


class MeasuredTime(Record):
    """A measured time against the bound. `efficiency` is the bound over the time; rates in GB/s and TFLOP/s."""

    time_us: float
    efficiency: float
    band: Literal["no traction", "below", "at the top", "above the bound", "anomaly"]
    implied_gbs: float
    implied_tflops: float
    suspect: str | None
    text: str


class MeasuredBytes(Record):
    """Measured main-memory bytes against the ledger's and a tile's. `caught`: share of re-reads a cache caught."""

    bytes: int
    compulsory_bytes: int
    tile: dict[str, int]
    tile_bytes: int
    followed: Literal["compulsory", "tile", "between", "below", "above", "either"]
    caught: float | None
    text: str


class SweepRow(Named):
    """The bound at one size."""

    size: int
    flops: int
    bytes: int
    intensity: float
    class_: Class = Field(alias="class")
    sol_us: float
    latency_bound: bool | None


class Flip(Record):
    """The first size, to the unit, at which the answer turns from one to the other."""

    what: Literal["class", "launch floor"]
    size: int
    before: str
    after: str


class Sweep(Record):
    """The bound over sizes of the named keys, all set to the same value."""

    keys: list[str]
    rows: list[SweepRow]
    flips: list[Flip]


class Analyzer(Record):
    """What TileLang's Analyzer would add up for a kernel with this tile: for reconciliation only.

    `gemm_bound_us` is the bound of those two sums alone; `not_counted` is what they leave out.
    """

    tile: dict[str, int]
    gemm_flops: int
    ledger_flops: int
    global_bytes: int
    ledger_bytes: int
    not_counted: list[str]
    gemm_bound_us: float


class RooflineAnswer(Named):
    """A lower bound on time and the class that follows; every rate as the named policy calibrates it.

    `flops` counts a special function as one, and `special` says how many there are. All operations are priced
    on the declared `roof`; `units` prices each on its own. Times in microseconds; `launch_floor_us` and
    `latency_bound` are None where the device's launch floor is not known.
    """

    flops: int
    bytes: int
    intensity: float
    terms: list[LedgerTerm]
    roofs: list[RoofLine]
    roof: str
    memory_us: float
    compute_us: float
    sol_us: float
    class_: Class = Field(alias="class")
    misreadings: list[Misreading]
    balance: float
    latency_bound: bool | None
    launch_floor_us: float | None
    payload_bytes: int
    lookup_bytes: int
    special: int
    units: list[UnitTime]
    policy: PolicyUsed
    measured: MeasuredTime | None = None
    measured_bytes: MeasuredBytes | None = None
    sweep: Sweep | None = None
    analyzer: Analyzer | None = None
    notes: list[str] = Field(default_factory=list)
