"""Which bytes move: from L2 to the SMs, from memory, and how often blocks in flight share a tile.

Blocks walk the output tiles in groups of group_m rows of tiles, down the rows first; the blocks that are resident at
once are a wave. Within a wave blocks share panels of A and B; a panel that a later wave wants again is still in L2
where the bytes touched in between are below what L2 holds (`l2_reach`).
"""

from __future__ import annotations

from dataclasses import dataclass
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
    """Bytes that a launch moves from and to memory, and the share of its loads that L2 does not have."""

    reads: Values
    writes: Values
    miss: Values
    output: Values


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
    """Reads and writes of DRAM: what every kernel must move, and what L2 has lost by the time it is wanted again."""
    block_m, block_n, split = launch["block_m"], launch["block_n"], launch["split_k"]
    a, b = matrix.m * matrix.k * matrix.a_bytes, matrix.n * matrix.k * matrix.b_bytes
    one_wave = order.tiles <= order.flight
    in_group = np.minimum(order.group * order.columns, order.tiles)
    # Waves that touch a row panel while its group is walked, groups that touch a column panel, and column panels that
    # the end of a wave cuts.
    waves_a = np.where(one_wave, 1, np.minimum(1 + (in_group - 1) / order.flight, order.columns))
    groups_b = np.maximum(1, np.minimum(order.rows / order.group, order.tiles / order.flight))
    groups_b = np.where(one_wave, 1, groups_b)
    cut_b = np.where(one_wave, 0, groups_b * np.minimum(1, (order.group - 1) / order.flight))
    panel_a, panel_b = matrix.k * matrix.a_bytes, matrix.k * matrix.b_bytes
    tile_out = block_m * block_n * matrix.out_bytes
    wave = order.tile_rows * block_m * panel_a + order.tile_columns * block_n * panel_b + order.flight * tile_out
    group = np.maximum(wave, order.group * block_m * panel_a + matrix.n * panel_b + in_group * tile_out)

    def lost(distance: Values) -> Values:
        power = np.minimum(distance / constants.l2_reach, 1e6) ** constants.l2_sharpness
        return power / (1 + power)

    # Blocks of a wave do not walk K in step: those that share a panel are up to `wave_drift` of the wave apart.
    apart = lost(constants.wave_drift * wave)
    reads_a = 1 + (waves_a - 1) * lost(wave) + np.maximum(order.columns - waves_a, 0) * apart
    reads_b = 1 + (groups_b - 1) * lost(group) + cut_b * lost(wave)
    reads_b = reads_b + np.maximum(order.rows - groups_b - cut_b, 0) * apart
    reads = a * reads_a + b * reads_b
    output = matrix.m * matrix.n * matrix.out_bytes * split
    writes = output * np.clip((output + a + b) / constants.l2_reach - 0.5, 0, 1)
    touched = order.tile_rows * block_m * panel_a + order.tile_columns * block_n * panel_b
    miss = np.clip(reads / np.maximum(1, touched * np.maximum(1, order.tiles / order.flight)), 0, 1)
    return Memory(reads=reads, writes=writes, miss=miss, output=output)


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
