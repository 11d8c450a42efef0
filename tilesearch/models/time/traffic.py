"""Which bytes move: from L2 to the SMs, from memory, and how often blocks in flight share a tile.

Blocks walk the output tiles in groups of group_m rows of tiles, down the rows first; the blocks that are resident at
once are a wave. Within a wave blocks share panels of A and B; a panel that a later wave wants again is still in L2
where the bytes touched in between are below what L2 holds (`l2_reach`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd

import numpy as np

from tilesearch.models.time.constants import Constants
from tilesearch.models.time.launch import Launch, Values

_LINE = 128
"""Bytes of a cache line, which a row of a tile may straddle."""


@dataclass(frozen=True)
class Matrix:
    """Extents and sizes of a matrix product: elements, and bytes an element."""

    m: float
    n: float
    k: float
    a_bytes: float
    b_bytes: float
    out_bytes: float
    a_row: float  # B from one row of A in memory to the next
    b_row: float
    integer: bool


@dataclass(frozen=True)
class Order:
    """How the blocks of a launch walk the tiles; all columns.

    `tiles` of the output, `resident` blocks an SM, `flight`: tiles in flight at once. `tile_rows`, `tile_columns`:
    distinct ones within a wave. `run_a`, `run_b`: neighbouring blocks that load the same panel together.
    """

    rows: Values
    columns: Values
    tiles: Values
    resident: Values
    flight: Values
    tile_rows: Values
    tile_columns: Values
    group: Values
    run_a: Values
    run_b: Values


@dataclass(frozen=True)
class Memory:
    """Bytes that a launch moves from and to memory, and the share of its loads that L2 does not have.

    `least` and `most` bound the reads, whose place in between depends on how far blocks drift apart.
    """

    reads: Values
    writes: Values
    miss: Values
    output: Values
    least: Values
    most: Values

    def of_planes(self, planes: Values) -> Memory:
        """The bytes of `planes` products like this one."""
        moved = ("reads", "writes", "output", "least", "most")
        return replace(self, **{name: getattr(self, name) * planes for name in moved})


def order_of(launch: Launch, matrix: Matrix, constants: Constants) -> Order:
    """The raster order of the blocks."""
    rows, columns = np.ceil(matrix.m / launch["block_m"]), np.ceil(matrix.n / launch["block_n"])
    tiles = rows * columns
    resident = np.maximum(launch["blocks_per_sm"], 1)
    walking = np.minimum(resident, np.maximum(launch["programs_per_sm"], 1))
    resident = np.where(launch["persistent"] > 0, walking, resident)
    flight = np.minimum(tiles, np.maximum(1, np.floor(constants.sms * resident / launch["split_k"])))
    group = np.minimum(launch["group_m"], rows)
    in_group = np.minimum(group * columns, tiles)
    return Order(
        rows=rows,
        columns=columns,
        tiles=tiles,
        resident=resident,
        flight=flight,
        tile_rows=np.minimum(rows, group * np.maximum(1, (flight - 1) / in_group + 1)),
        tile_columns=np.minimum(columns, (flight - 1) / group + 1),
        group=group,
        run_a=np.where(group > 1, 1.0, np.minimum(columns, flight)),
        run_b=group,
    )


def memory_of(launch: Launch, matrix: Matrix, order: Order, constants: Constants) -> Memory:
    """Reads and writes of DRAM: what every kernel must move, and what L2 has lost by the time it is wanted again.

    The blocks of the first wave start in step. They drift apart from wave to wave, faster where an SM holds several of
    them, and what L2 serves then depends on how far apart in time blocks are that want the same panel. `least` and
    `most` are the reads at either end of this; between them stands the share that has drifted.
    """
    split = launch["split_k"]
    a, b = matrix.m * matrix.k * matrix.a_bytes, matrix.n * matrix.k * matrix.b_bytes
    panels = _Panels(launch, matrix, order, constants)
    in_step = panels.in_step()
    apart = np.where(order.resident > 1, constants.drift_shared, constants.drift_alone)
    share = 1 - np.exp(-apart * (np.ceil(order.tiles / order.flight) - 1))
    reads, drifted = in_step, in_step
    for _ in range(_ROUNDS):
        drifted = panels.drifted(reads)
        reads = (1 - share) * in_step + share * drifted
    output = matrix.m * matrix.n * matrix.out_bytes * split
    writes = output * np.clip((output + a + b) / constants.l2_reach - 0.5, 0, 1)
    touched = panels.touched
    miss = np.clip(reads / np.maximum(1, touched * np.maximum(1, order.tiles / order.flight)), 0, 1)
    return Memory(
        reads=reads,
        writes=writes,
        miss=miss,
        output=output,
        least=np.minimum(in_step, drifted),
        most=np.maximum(in_step, drifted),
    )


_ROUNDS = 4
"""Rounds in which drifted blocks settle: what they fetch again pushes out what others want. More change nothing."""


class _Panels:
    """How often panels of A and B are read from memory, by the two ways in which blocks may walk K."""

    def __init__(self, launch: Launch, matrix: Matrix, order: Order, constants: Constants) -> None:
        self.order, self.c = order, constants
        self.a, self.b = matrix.m * matrix.k * matrix.a_bytes, matrix.n * matrix.k * matrix.b_bytes
        self.panel_a, self.panel_b = matrix.k * matrix.a_bytes, matrix.k * matrix.b_bytes
        block_m, block_n = launch["block_m"], launch["block_n"]
        in_group = np.minimum(order.group * order.columns, order.tiles)
        tile_out = block_m * block_n * matrix.out_bytes
        rows, columns = order.tile_rows * block_m * self.panel_a, order.tile_columns * block_n * self.panel_b
        self.touched = rows + columns
        self.wave = self.touched + order.flight * tile_out
        group = order.group * block_m * self.panel_a + matrix.n * self.panel_b + in_group * tile_out
        self.group_bytes = np.maximum(self.wave, group)
        self.one_wave = order.tiles <= order.flight
        self.groups = np.maximum(1, np.minimum(order.rows / order.group, order.tiles / order.flight))

    def in_step(self) -> Values:
        """Reads where the blocks of a wave want the same step of K together: L2 serves all but the first.

        A row panel is wanted by every wave that touches its group, a column panel by every group and again where the
        end of a wave cuts it.
        """
        order = self.order
        waves = np.ceil(order.tiles / order.flight)
        waves_a = np.minimum(1 + (waves - 1) / np.ceil(order.rows / order.group), order.columns)
        cut_b = self.groups * np.minimum(1, (order.group - 1) / order.flight)
        reads_a = 1 + (waves_a - 1) * self._lost(self.wave)
        reads_b = 1 + (self.groups - 1) * self._lost(self.group_bytes) + cut_b * self._lost(self.wave)
        return np.where(self.one_wave, self.a + self.b, self.a * reads_a + self.b * reads_b)

    def drifted(self, reads: Values) -> Values:
        """Reads where blocks are anywhere along K: a panel is there if another block wanted it shortly before.

        `reads` are those of the whole launch, of which a wave's time sees a wave's share. Users of a panel come at
        random, so the bytes in between are spread exponentially.
        """
        order = self.order
        fetched = np.maximum(self.wave, reads * order.flight / order.tiles)
        together_a = np.maximum(1, order.flight / order.tile_rows)
        together_b = np.maximum(1, order.flight / (order.tile_columns * order.group))
        reads_a = 1 + np.maximum(order.columns - 1, 0) * self._gone(fetched / together_a)
        near = np.maximum(order.rows / order.group - self.groups, 0) * self._gone(fetched / together_b)
        reads_b = 1 + (self.groups - 1) * self._lost(self.group_bytes) + near
        return np.where(self.one_wave, self.a + self.b, self.a * reads_a + self.b * reads_b)

    def _lost(self, distance: Values) -> Values:
        """Share of a panel that L2 no longer has, by the bytes touched since: a sharp fall at its reach."""
        power = np.minimum(distance / self.c.l2_reach, 1e6) ** self.c.l2_sharpness
        return np.asarray(power / (1 + power))

    def _gone(self, mean: Values) -> Values:
        """The same where the bytes touched since are spread exponentially about `mean`, each line held in
        `l2_copies` partitions.
        """
        return np.exp(-np.minimum(self.c.l2_reach / (self.c.l2_copies * mean), 700.0))


def misaligned(launch: Launch, matrix: Matrix) -> Values:
    """Share of a line by which rows of a TMA tile miss its boundary; 0 with rows of whole lines."""
    a, b = (1 - gcd(int(row), _LINE) / _LINE for row in (matrix.a_row, matrix.b_row))
    shares = (a * launch["block_m"] + b * launch["block_n"]) / (launch["block_m"] + launch["block_n"])
    return np.where(launch["tma"] > 0, shares, 0)


def l2_bytes(matrix: Matrix, order: Order, launch: Launch) -> Values:
    """Bytes from L2 into the SMs: each tile's panels along K. Rows and columns past the edge are loaded too, by the TMA
    as by pointers (the profiler counts them); misaligned rows take more lines.
    """
    rows, columns = order.rows * launch["block_m"], order.columns * launch["block_n"]
    loaded = rows * order.columns * matrix.a_bytes + columns * order.rows * matrix.b_bytes
    planes = np.maximum(1, launch["grid"] / (order.tiles * launch["split_k"]))
    planes = np.where(launch["persistent"] > 0, 1, planes)
    return np.asarray(loaded * matrix.k * planes * (1 + _LINE_SHARE * misaligned(launch, matrix)))


_LINE_SHARE = 0.25
"""A row of 128 B that starts inside a line is fetched in sectors of 32 B: a quarter of a line more at most."""
