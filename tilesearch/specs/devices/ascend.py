"""Huawei Ascend devices: buffers of one AI core with their alignments, cores, and the costs of its pipes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Annotated, ClassVar, Literal

from pydantic import Field, StrictInt, StrictStr

from tilesearch.specs.devices.base import Device
from tilesearch.specs.devices.quantities import Bytes, Count, Quantity, Spec
from tilesearch.specs.validation import Fault

Pipe = Literal["MTE1", "MTE2", "MTE3", "M", "V", "FIX", "S"]
"""The instruction queues of an AI core: three data movers, Cube (M), Vector, FixPipe and Scalar."""
Port = Literal["AIV", "AIC", "STORE"]
"""What paths to main memory share: two copies that share a port do not overlap."""
Cycles = Annotated[StrictInt, Field(ge=0)]
Positive = Annotated[StrictInt, Field(ge=1)]
Unknown = Literal["unknown"]


class Band(Spec):
    """The bandwidth of rows of at least `from_bytes`, until the next band begins. Unit: B/cycle.

    Exactly one of: a fixed `bandwidth`; `per_byte` = (a, b), which grows with the row, ``a * w // b``; or
    `transaction` with `peak`: rows are moved in whole transactions, ``peak * w // (t * ceil(w / t))``. What
    comes out is at least 1 and at most the path's bandwidth. `base` replaces the path's latency in cycles.
    """

    from_bytes: Cycles
    bandwidth: Positive | None = None
    per_byte: tuple[Positive, Positive] | None = None
    transaction: Positive | None = None
    peak: Positive | None = None
    base: Cycles | None = None


class Strided(Spec):
    """What a path does when its rows are not contiguous on both sides. `unknown` stands for a row of unknown width.

    `base` replaces the path's latency.
    """

    base: Cycles | None = None
    bands: tuple[Band, ...]
    unknown: Band


class Path(Spec):
    """How long one copy on a path takes, in cycles; `bandwidth` in B/cycle.

    ``latency = base + ceil(bytes / rate)`` and
    ``interval = max(min_interval, issue + ceil(bytes / bandwidth), ceil(bytes / rate))``, where the rate is
    the bandwidth unless rows are `strided`. `lanes` is by what the bytes of one Vector core are multiplied:
    both Vector cores of a group move together. A compiler that takes the copy for a Vector block of so many
    calls, as TileLang does for two of them, is described by `shipped_calls`.
    """

    pipe: Pipe
    ports: tuple[Port, ...] = ()
    base: Cycles | Unknown
    bandwidth: Positive | Unknown
    issue: Cycles = 0
    min_interval: Cycles = 1
    lanes: Positive = 1
    shipped_calls: Cycles = 0
    strided: Strided | None = None
    source: StrictStr = ""
    note: StrictStr = ""


class CubeRate(Spec):
    """The Cube unit for one input type: operations per cycle, latency in cycles, and the step of K in elements.

    Operations are ``2 * M * N * K``, each rounded up to the device's fractal and `k_group`. With
    `min_larger` the larger of M and N is not counted below it.
    """

    operations: Positive | Unknown
    base: Cycles | Unknown
    k_group: Positive
    min_larger: Positive = 1
    source: StrictStr = ""
    note: StrictStr = ""


class VectorRate(Spec):
    """The Vector unit: operations per cycle by class, and the bytes it reads in a cycle.

    Classes in `unrecognised` cost what a call costs in the compiler as it ships, whatever the table says.
    """

    read_bandwidth: Positive
    operations: dict[str, Positive]
    call_cycles: Cycles
    unknown_trip: Positive
    unrecognised: tuple[str, ...] = ()
    source: StrictStr = ""
    note: StrictStr = ""


class Scatter(Spec):
    """Vector cycles that turn rows into fractals (ND to NZ) before a copy from UB to L1.

    ``max(minimum, setup + p * pass_cycles + ceil(rows * p * quarter_row / 4))`` with ``p = ceil(columns / v)``
    passes, v = `wide` elements for fp32 sources and `narrow` for others.
    """

    minimum: Cycles
    setup: Cycles
    pass_cycles: Cycles
    quarter_row: Cycles
    wide: Positive
    narrow: Positive
    source: StrictStr = ""


class AscendDevice(Device):
    """An Ascend AI processor, by its vendor's terms. Sizes and alignments in bytes, costs in cycles.

    An AI core is one Cube core with `vector_per_cube` Vector cores. L1, L0A, L0B, L0C, BT (bias table) and the
    Fixpipe buffer belong to the Cube core, UB to each Vector core; `ub_simt_bytes` is what is left of UB when a
    kernel holds a SIMT vector function. `_alignment` is what an access needs, `_allocation` the granularity at
    which TileLang allocates. `event_ids` counts the flags of one pair of pipes.
    """

    PRODUCT_FACTS: ClassVar[tuple[str, ...]] = (*Device.PRODUCT_FACTS, "cube_cores", "vector_cores")

    vendor: Literal["ascend"]
    architecture: StrictStr

    cube_cores: Count
    vector_cores: Count
    vector_per_cube: Count
    event_ids: Count

    l1_bytes: Bytes
    l0a_bytes: Bytes
    l0b_bytes: Bytes
    l0c_bytes: Bytes
    ub_bytes: Bytes
    ub_simt_bytes: Bytes
    bt_bytes: Bytes
    fixpipe_bytes: Bytes

    l1_alignment: Bytes
    l0a_alignment: Bytes
    l0b_alignment: Bytes
    l0c_alignment: Bytes
    ub_alignment: Bytes
    bt_alignment: Bytes
    fixpipe_alignment: Bytes

    l1_allocation: Bytes
    l0a_allocation: Bytes
    l0b_allocation: Bytes
    l0c_allocation: Bytes
    ub_allocation: Bytes

    fractal_m: Count
    fractal_n: Count
    fractal_bytes: Bytes

    paths: dict[str, Path] = Field(default_factory=dict)
    cube: dict[str, CubeRate] = Field(default_factory=dict)
    vector: VectorRate | None = None
    scatter: dict[str, Scatter] = Field(default_factory=dict)

    # The name of the other vendors for the same thing, for what holds for all of them.

    @property
    def sm_count(self) -> Quantity:
        """The Cube cores: what the tiles of a launch are dealt to."""
        return self.cube_cores

    def _faults(self) -> Iterator[Fault]:
        yield from super()._faults()
        for name, path in self.paths.items():
            for band in path.strided.bands if path.strided else ():
                ways = [band.bandwidth is not None, band.per_byte is not None, band.transaction is not None]
                if sum(ways) != 1 or (band.transaction is None) != (band.peak is None):
                    message = "a band has one of bandwidth, per_byte, or transaction with peak"
                    yield Fault(message, key=f"paths.{name}.strided")
            begins = [band.from_bytes for band in path.strided.bands] if path.strided else [0]
            if begins[:1] != [0] or any(a >= b for a, b in pairwise(begins)):
                message = f"bands begin at 0 bytes and rise, got {begins}"
                yield Fault(message, key=f"paths.{name}.strided.bands")
        cubes, vectors, pair = (q.value for q in (self.cube_cores, self.vector_cores, self.vector_per_cube))
        if None not in (cubes, vectors, pair) and cubes * pair != vectors:  # type: ignore[operator]
            yield Fault(f"{cubes} Cube cores have {vectors} Vector cores, not {pair} each", key="vector_cores")
