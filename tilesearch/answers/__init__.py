"""The shapes of answers: what the commands print as JSON and the Python API returns."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Verdict = Literal["fits", "spills", "infeasible", "unknown"]


class Record(BaseModel):
    """Base of all answers."""

    model_config = ConfigDict(extra="forbid")


class Tile(BaseModel):
    """The values of the decision variables, as attributes and as a mapping."""

    model_config = ConfigDict(extra="allow", frozen=True)

    def as_dict(self) -> dict[str, int]:
        """Variable to value, in the order of the tile variables."""
        return dict(self.model_extra or {})

    def __getitem__(self, name: str) -> int:
        return self.as_dict()[name]

    def __getattr__(self, name: str) -> int:
        extra = object.__getattribute__(self, "__pydantic_extra__") or {}
        if name in extra:
            return int(extra[name])
        raise AttributeError(f"this tile has no variable {name!r}")


class Metrics(Record):
    """What is known of a tile. None means that no model covers it here: the answer's notes say why.

    Bytes, registers, blocks; `tail_fill` is the filled share of the last wave; times in microseconds, with
    an 80 % interval. On Ascend: bytes of each memory with all versions, the period `ii`, the versions that it
    needs, and cycles of the whole problem.
    """

    traffic_bytes: int | None = None
    shared_bytes: int | None = None
    accumulators_per_thread: int | None = None
    registers_per_thread: int | None = None
    registers_per_block: int | None = None
    blocks_per_sm: int | None = None
    blocks_by: dict[str, int | None] = Field(default_factory=dict)
    grid: int | None = None
    waves: int | None = None
    tail_fill: float | None = None
    priority: int | None = None
    time_us: float | None = None
    time_low_us: float | None = None
    time_high_us: float | None = None
    time_sustained_us: float | None = None
    dram_bytes: int | None = None
    dram_low_bytes: int | None = None
    dram_high_bytes: int | None = None
    l2_bytes: int | None = None
    cycles: int | None = None
    ii: int | None = None
    stages_needed: int | None = None
    hbm_cycles: int | None = None
    l1_bytes: int | None = None
    l0a_bytes: int | None = None
    l0b_bytes: int | None = None
    l0c_bytes: int | None = None
    ub_bytes: int | None = None


class Candidate(Record):
    """One tile of a ranked list. `tied` counts the candidates that share its rank key.

    `key` is the value of a ranking that was written out; named ones stand among the metrics.
    """

    rank: int
    tied: int | None
    verdict: Verdict
    tile: Tile
    metrics: Metrics
    binding: str | None
    key: int | None = Field(default=None, exclude_if=lambda value: value is None)


class Counts(Record):
    """Four disjoint groups that add up to `candidates`; None where an engine did not count one by one."""

    candidates: int
    feasible: int | None
    soft: int | None
    unknown: int | None
    rejected: dict[str, int] | None


class SpaceSummary(Record):
    """The domains that were searched and the size of their product."""

    variables: dict[str, list[int]]
    cartesian: int


class SolveAnswer(Record):
    """Which tiles fit, best first.

    Where times were searched and not listed, by the model no tile takes less than `bound_us`, and the first takes
    `gap` more than that, as a share.
    """

    problem: str
    device: str
    op: dict[str, Any]
    kernel: str
    engine: str
    rank: str
    space: SpaceSummary
    counts: Counts
    status: Literal["complete", "optimal", "feasible", "infeasible", "unknown"]
    complete: bool
    proved_optimal: bool
    elapsed_s: float
    candidates: list[Candidate]
    notes: list[str]
    bound_us: float | None = None
    gap: float | None = None

    @property
    def best(self) -> Candidate:
        """The first candidate. Raises LookupError with the reason when there is none."""
        if not self.candidates:
            raise LookupError(f"no tile: the answer is {self.status}; ask explain why")
        return self.candidates[0]


class RuleReport(Record):
    """One rule at one tile. `ok` is None where the rule was not judged; `detail` says why."""

    id: str
    ok: bool | None
    hard: bool
    value: int | None
    limit: int | None
    unit: str
    slack: float | None
    formula: str
    detail: str
    source: str


class Nearest(Record):
    """A tile that fits, and what it changes: variable to [from, to]."""

    tile: Tile
    changes: dict[str, list[int]]


class CheckAnswer(Record):
    """Whether one tile fits, and every rule's account of it."""

    verdict: Verdict
    feasible: bool
    tile: Tile
    violations: list[str]
    binding: str | None
    rules: list[RuleReport]
    metrics: Metrics
    nearest: list[Nearest]
    notes: list[str] = Field(default_factory=list)


class ExplainAnswer(Record):
    """Why nothing fits: a minimal conflict, minimal corrections, and the nearest tiles that fit.

    `core` is empty when something fits. Each correction is a smallest set of rules to drop.
    """

    feasible: bool
    core: list[str]
    corrections: list[list[str]]
    nearest: list[Nearest]
    rules: dict[str, str] = Field(default_factory=dict)
    notes: list[str] = Field(default_factory=list)


class OccupancyAnswer(Record):
    """Resident blocks per SM. `blocks_by` is None where a resource sets no limit."""

    blocks_per_sm: int
    limiting: list[str]
    blocks_by: dict[str, int | None]
    allocated_registers: int
    allocated_shared_bytes: int


class DeviceRow(Record):
    """A line of the device list."""

    name: str
    vendor: str
    compute_capability: str | None
    aliases: list[str]


class DeviceNumber(Record):
    """One number of a device file, or several that belong together; in words where it is not known."""

    key: str
    value: int | float | str | list[int | float | str]
    unit: str
    source: str
    note: str


class PolicyRate(Record):
    """The rate that a policy takes for a roof, and from which calibration."""

    value: float
    calibration: str
    note: str


class CalibrationRow(Record):
    """One figure for what a unit really reaches; `value` is None for a ratio of an unknown peak."""

    id: str
    kind: str
    value: float | None
    ratio: float | None
    conditions: str
    source: str
    note: str


class DeviceRoof(Record):
    """A peak rate, what each policy takes for it (None: nothing), and the calibrations to choose from."""

    name: str
    acc: str | None
    theoretical: float | None
    unit: str
    source: str
    note: str
    policies: dict[str, PolicyRate | None]
    calibrations: list[CalibrationRow]


class DeviceSheet(Record):
    """Everything that is known of a device, each number with its source. The first roof is the bandwidth."""

    name: str
    vendor: str
    compute_capability: str | None
    aliases: list[str]
    inherits: str | None
    limits_only: bool
    note: str
    numbers: list[DeviceNumber]
    roofs: list[DeviceRoof]


class DeviceDifference(Record):
    """A key at which two devices differ; None where a device has no such key."""

    key: str
    unit: str
    a: int | float | str | list[int | float | str] | None
    b: int | float | str | list[int | float | str] | None


class DeviceDiff(Record):
    """Only what differs between two devices."""

    a: str
    b: str
    differences: list[DeviceDifference]


class Disagreement(Record):
    """One row whose recorded answer differs from the computed one."""

    row: int | str
    expected: Any
    got: Any


class VerifyAnswer(Record):
    """How far reference data and this program agree."""

    kind: str
    rows: int
    agree: int
    skipped: int
    disagree: list[Disagreement]
    stats: dict[str, Any] = Field(default_factory=dict)
    notes: list[str] = Field(default_factory=list)
