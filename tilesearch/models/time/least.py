"""Lower bounds of predicted times over boxes of tiles, for a search that cannot list them.

Every formula here is one of the model's with each variable at the end of its range that makes it smallest, so that no
tile of the box is predicted to be faster. What a bound leaves out is never negative in the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tilesearch.models.time.attention import Shape
from tilesearch.models.time.block import norm
from tilesearch.models.time.constants import Constants
from tilesearch.models.time.launch import DEFAULTS, Values
from tilesearch.models.time.matrix import matrix_of
from tilesearch.program.form import Program

_FULL_WAVES = 3
"""From so many waves of the whole chip on, the model lets the edges of waves blur."""

_ROUNDING = 1 - 1e-9
"""Sums of floats in another order may differ in their last digits."""

Range = tuple[float, float]


@dataclass(frozen=True)
class Box:
    """Tiles whose variables take the `values`, and the `ranges` of metrics and facts over all of them."""

    program: Program
    values: Mapping[str, Sequence[int]]
    ranges: Mapping[str, Range]

    def all_of(self, name: str) -> Values:
        """The values of a variable."""
        return np.asarray(self.values.get(name, (1,)), dtype=np.float64)

    def least(self, name: str) -> float:
        """The least value of a variable, or of a fact."""
        if name in self.ranges:
            return self.ranges[name][0]
        return float(min(self.values[name])) if name in self.values else DEFAULTS.get(name, 1.0)

    def most(self, name: str) -> float:
        """The largest value of a variable, or of a fact."""
        if name in self.ranges:
            return self.ranges[name][1]
        return float(max(self.values[name])) if name in self.values else DEFAULTS.get(name, 1.0)


def least_time_us(box: Box, c: Constants) -> float:
    """No tile of `box` is predicted to take less, in us."""
    if box.program.contractions and box.program.kind != "attention":
        sm, dram, l2, grid = _Matrix(box, c).parts()
    else:
        sm, dram, l2, grid = _streamed(box, c)
    chip = float(norm(c.norm_chip, *(np.array([max(0.0, part)]) for part in (sm, dram, l2)))[0])
    second = c.second_launch if box.least("split_k") > 1 or box.least("second") > 0 else 0.0
    return (max(chip, grid * c.block_dispatch) + c.launch_floor + second) * _ROUNDING * 1e-3


def _streamed(box: Box, c: Constants) -> tuple[float, float, float, float]:
    """Rows, matrix-vector products and attention: compulsory bytes, and of attention the products."""
    program = box.program
    moved = float(program.compulsory_bytes)
    dram = (moved + min(moved, c.dirty_lines)) / c.dram_stream
    sm, grid = min(c.block_ends, c.stream_ends) + c.l2_latency, box.least("grid")
    if program.kind == "attention":
        shape = Shape(program)
        flops = 2 * shape.rows * shape.planes * shape.kept * shape.keys * (shape.head + shape.value)
        sm = max(sm, flops / c.tensor_flops / c.clock / c.sms)
        grid = float(np.ceil(shape.rows / box.most("block_m"))) * shape.planes * box.least("split_k")
    return sm, dram, 0.0, grid


class _Matrix:
    """The parts of a matrix product's time: totals over the launch where tiles differ, one block where it must run."""

    def __init__(self, box: Box, c: Constants) -> None:
        self.box, self.c, self.matrix = box, c, matrix_of(box.program)
        self.rows, self.whole_m = _cut(self.matrix.m, box.all_of("block_m"))
        self.columns, self.whole_n = _cut(self.matrix.n, box.all_of("block_n"))
        self.steps, self.whole_k = _cut(self.matrix.k, box.all_of("block_k"))
        self.m, self.n = box.least("block_m"), box.least("block_n")
        self.split = box.most("split_k")
        self.tiles = self.rows * self.columns
        self.wgmma = box.least("wgmma") > 0
        self.narrow = box.least("narrow") > 0 and box.most("tma") <= 0
        copied = box.most("tma") <= 0 and box.most("producer") <= 0 and box.most("narrow") <= 0
        self.by_threads = copied and min(box.least("num_stages"), box.least("buffers")) > 1
        self.per_product, self.per_read = self._rates()

    def parts(self) -> tuple[float, float, float, float]:
        """Least times in ns of the SMs, memory and L2, and the fewest blocks."""
        grid = self.tiles * self.box.least("split_k")
        if self.box.most("stream") > 0:  # shares of steps, not tiles: no block need run a whole tile
            return self._shared_out(), self._dram(), self._l2(), 0.0
        return max(self._shared_out(), self._one_block(), self._waves(grid)), self._dram(), self._l2(), grid

    def _rates(self) -> tuple[float, float]:
        """Time in ns that an SM needs for an element of M x N x K: by the tensor cores, by reads of shared memory."""
        c, box, size = self.c, self.box, self.matrix.a_bytes
        columns = min(256.0, max(8.0, box.most("block_n")))
        wgmma = size / c.tensor_flops * max(1.0, c.wgmma_least * c.tensor_flops / 2048 / columns)
        even = all(value & (value - 1) == 0 for value in box.values.get("num_warps", (1,)))
        mma = size / c.tensor_flops / c.mma_share * (1.0 if even else 0.5)
        read = size / 64 * (64 / columns + 1) / c.shared_rate if self.wgmma else 0.0
        if self.wgmma:
            return wgmma / c.clock, read / c.clock
        return (mma if box.most("wgmma") <= 0 else min(mma, wgmma)) / c.clock, 0.0

    def _busy(self, elements: float, steps: float, panel_a: float, panel_b: float) -> float:
        """Time in ns that an SM is busy with so many products in so many steps, with elements of A and B loaded."""
        c = self.c
        copied = (panel_a * c.narrow_a + panel_b * c.narrow_b) * self.matrix.a_bytes / 512 * c.copy_issue / c.clock
        parts = (self.per_product * elements, self.per_read * elements, copied if self.narrow else 0.0)
        issued = (panel_a * self.matrix.a_bytes + panel_b * self.matrix.b_bytes) / 512 * c.async_issue / c.clock
        overhead = steps * self._overhead() + (issued if self.by_threads else 0.0)
        return float(norm(c.norm_sm, *(np.array([part]) for part in parts))[0]) + overhead

    def _overhead(self) -> float:
        groups, share = self.box.least("num_warps") / 4, 1.0
        if self.box.most("producer") > 0:
            groups, share = min(groups, 1.0), min(1.0, self.c.producer_overhead)
        return float(self.c.loop_overhead * groups**self.c.loop_warps * share)

    def _ends(self) -> float:
        """Start, first load and epilogue of a block."""
        c, box, matrix = self.c, self.box, self.matrix
        bytes_k = box.least("block_k") * (self.m * matrix.a_bytes + self.n * matrix.b_bytes)
        ways = [c.direct_epilogue] if box.most("producer") > 0 else []
        ways += [1.0] if box.most("tma") > 0 else []
        ways += [c.pointer_epilogue] if box.least("tma") <= 0 else []
        stored = self.m * self.n * matrix.out_bytes / c.epilogue_rate * min(ways)
        return float(c.block_ends + c.l2_latency + bytes_k / c.stage_rate + stored)

    def _shared_out(self) -> float:
        """All the work over all SMs, and the ends of each wave that no other block hides."""
        c, box = self.c, self.box
        panel_a, panel_b = self.whole_m * self.columns * self.whole_k, self.whole_n * self.rows * self.whole_k
        products = self.whole_m * self.whole_n * self.whole_k
        busy = self._busy(products, self.tiles * self.steps, panel_a, panel_b) / c.sms
        if box.most("persistent") > 0:
            return busy
        resident = max(1.0, box.most("blocks_per_sm"))
        waves = max(1.0, self.tiles * box.least("split_k") / (c.sms * resident))
        return float(busy + waves * c.ends_hidden * resident**-c.ends_overlap * self._ends())

    def _one_block(self) -> float:
        """The chain of one block: its products, or its loads against the stages in front of them."""
        c, matrix = self.c, self.matrix
        along = self.whole_k / self.split
        alone = self.m * self.n * along * self.per_product
        loads = along * (self.m * matrix.a_bytes + self.n * matrix.b_bytes) / c.stage_rate
        steps = max(1.0, self.steps / self.split)
        loads += steps * c.l2_latency
        ring = max(1.0, self.box.most("num_stages"))
        ring = 1.0 if self.narrow and self.box.most("producer") <= 0 else ring
        later = max(0.0, 1 - ring / steps)  # the first loads leave together, and the ends hold one wait for them
        return max(alone, later * (loads + alone) / ring) + self._ends()

    def _waves(self, grid: float) -> float:
        """Whole blocks on the fullest SM, where the launch is too short for waves to blur."""
        most = _most_tiles(self.matrix.m, self.m) * _most_tiles(self.matrix.n, self.n) * self.split
        planes = max(1.0, self.box.most("grid") / max(1.0, grid))
        if most * planes >= _FULL_WAVES * self.c.sms:
            return 0.0
        along = self.whole_k / self.split
        steps = max(1.0, self.steps / self.split)
        block = self._busy(self.m * self.n * along, steps, self.m * along, self.n * along)
        return float(np.ceil(grid / self.c.sms)) * block

    def _dram(self) -> float:
        c, matrix = self.c, self.matrix
        reads = matrix.m * matrix.k * matrix.a_bytes + matrix.n * matrix.k * matrix.b_bytes
        output = matrix.m * matrix.n * matrix.out_bytes * self.box.least("split_k")
        moved = reads + output * min(1.0, max(0.0, (output + reads) / c.l2_reach - 0.5))
        return (moved + min(moved, c.dirty_lines)) / c.dram_stream

    def _l2(self) -> float:
        """Panels of all tiles, those of neighbouring blocks merged as far as the order of blocks may allow."""
        c, matrix, most = self.c, self.matrix, self.box.most("group_m")
        share_a = 1.0 if self.box.least("group_m") > 1 and self.rows > 1 else c.merged_share
        share_b = c.merged_share + (1 - c.merged_share) / max(1.0, most)
        panels_a = self.whole_m * self.columns * matrix.a_bytes * share_a
        panels_b = self.whole_n * self.rows * matrix.b_bytes * share_b
        return (panels_a + panels_b) * self.whole_k * c.merge_floor / c.l2_to_sm


def _cut(extent: float, blocks: Values) -> tuple[float, float]:
    """The fewest blocks along an axis, and the least length that whole blocks cover."""
    count = np.ceil(extent / blocks)
    return float(count.min()), float((count * blocks).min())


def _most_tiles(extent: float, block: float) -> float:
    return float(np.ceil(extent / block))
