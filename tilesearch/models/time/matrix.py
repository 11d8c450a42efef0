"""Matrix products: what one step of the K loop costs on an SM, and what a block costs at its ends."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tilesearch.models.time import other_products, shares
from tilesearch.models.time.block import Block, Chip, norm
from tilesearch.models.time.constants import Constants
from tilesearch.models.time.launch import Launch, Values
from tilesearch.models.time.traffic import Matrix, Memory, Order, memory_of, misaligned, order_of
from tilesearch.program.form import Program, Tensor

_WARP, _GROUP = 32, 4  # threads of a warp, warps of a warpgroup
_FRAGMENT_M, _FRAGMENT_N = 16, 8  # the accumulator of one mma, which is also a warp's share of a wgmma's rows
_K_BYTES = 32  # of K that one matrix instruction consumes, of every operand type
_WGMMA_M, _WGMMA_N = 64, 256  # rows of a wgmma, and its most columns
_VECTOR = 16  # bytes that a thread stores at once where rows are aligned
_TMA_LINE = 128  # bytes of a row of a TMA box with the widest swizzle
_HELD_BACK = 65  # registers of a thread that stay in use beside what is spilled (ptxas, 255 - 190)


def matrix_of(program: Program) -> Matrix:
    """Extents and element sizes of the program's first product."""
    product = program.contractions[0]
    a, b, out = program.tensor(product.a), program.tensor(product.b), program.outputs[0]
    return Matrix(
        m=float(program.extent(product.m)),
        n=float(program.extent(product.n)),
        k=float(program.extent(product.k)),
        a_bytes=a.dtype.bits / 8,
        b_bytes=b.dtype.bits / 8,
        out_bytes=out.dtype.bits / 8,
        a_row=_row_bytes(a),
        b_row=_row_bytes(b),
        integer=not product.acc.is_float,
    )


def _row_bytes(tensor: Tensor) -> float:
    return float(tensor.axes[-1].extent * tensor.dtype.bits // 8)


def matrix_launch(launch: Launch, constants: Constants) -> tuple[Block, Chip, Memory]:
    """One block of the launch, the chip-wide times and the bytes of memory."""
    matrix = matrix_of(launch.program)
    order = order_of(launch, matrix, constants)
    memory = memory_of(launch, matrix, order, constants)
    if launch.program.kind != "gemm":
        memory = other_products.at_least(memory, launch.program, _batches(launch, order))
    order, memory = shares.apart(order, memory, launch)
    step = _Step(launch, matrix, order, constants)
    block = other_products.walked(step.block(memory), launch.program)
    block = shares.shared_out(block, launch, matrix, order, constants)
    return block, step.chip(block, memory), memory.of_planes(_batches(launch, order))


class _Step:
    """One step of the K loop of each candidate: times in ns."""

    def __init__(self, launch: Launch, matrix: Matrix, order: Order, constants: Constants) -> None:
        self.launch, self.matrix, self.order, self.c = launch, matrix, order, constants
        self.m, self.n, self.k = launch["block_m"], launch["block_n"], launch["block_k"]
        self.warps, self.size = launch["num_warps"], matrix.a_bytes
        self.wgmma, self.tma = launch["wgmma"] > 0, launch["tma"] > 0
        self.narrow, self.producer = launch["narrow"] > 0, launch["producer"] > 0
        self.k_steps = self.k * self.size / _K_BYTES
        buffers = np.where(self.wgmma, launch["buffers"], launch["num_stages"])
        self.pipelined = (buffers > 1) & ~self.narrow
        self.threads = self.warps * _WARP
        self.accumulators = self.m * self.n / self.threads
        self.tile_bytes = (self.m * self.size + self.n * matrix.b_bytes) * self.k
        self._warp_tiles()
        self._services()

    def _warp_tiles(self) -> None:
        """How the warps share the tile: rows first for wgmma; for mma alternately, towards square shares."""
        along_m = np.full_like(self.m, float(_GROUP))
        for _ in range(3):
            along_m = np.where((along_m < self.warps) & (_FRAGMENT_M * along_m < self.m), 2 * along_m, along_m)
        known = self.launch["warps_m"]
        self.warps_m = np.where(known > 0, known, along_m)
        self.warps_n = np.maximum(1, self.warps / self.warps_m)
        self.columns = np.minimum(_WGMMA_N, np.maximum(_FRAGMENT_N, self.n / self.warps_n))
        rows, columns = np.ones_like(self.m), np.ones_like(self.m)
        for _ in range(5):
            more = rows * columns < self.warps
            taller = self.m / _FRAGMENT_M / rows >= self.n / (2 * _FRAGMENT_N) / columns
            taller = taller & (rows < self.m / _FRAGMENT_M)
            rows, columns = np.where(more & taller, 2 * rows, rows), np.where(more & ~taller, 2 * columns, columns)
        self.warp_rows = np.maximum(_FRAGMENT_M, self.m / rows)
        self.warp_columns = np.maximum(_FRAGMENT_N, self.n / columns)

    def _services(self) -> None:
        c, f = self.c, self.c.clock
        instructions = np.maximum(1, self.m / _WGMMA_M) * (self.n / self.columns) * self.k_steps
        wgmma_flops = 2 * _WGMMA_M * _K_BYTES / 2  # a column of one instruction, 16-bit operands
        per_instruction = np.maximum(self.columns * wgmma_flops / c.tensor_flops, c.wgmma_least)
        mma_flops = self.warps * self.warp_rows * self.warp_columns * self.k * self.size  # of 16-bit operands
        mma = mma_flops / c.tensor_flops / c.mma_share
        self.tensor = np.where(self.wgmma, instructions * per_instruction, mma) / f
        wgmma_read = instructions * (_WGMMA_M + self.columns) * _K_BYTES
        mma_read = self.warps * (self.warp_rows + self.warp_columns) * self.k * self.size
        self.shared = np.where(self.wgmma, wgmma_read, mma_read) / c.shared_rate / f
        by_element = np.where(self.narrow, self.m * c.narrow_a + self.n * c.narrow_b, self.m + self.n)
        copies = self.k * self.size * by_element / 512 * c.copy_issue / f  # 512 B: 16 B of each thread of a warp
        self.copies = np.where(~self.pipelined & ~self.tma, copies, 0)
        by_threads = self.pipelined & ~self.tma & ~self.producer
        self.asynchronous = np.where(by_threads, self.tile_bytes / 512 * c.async_issue / f, 0)
        self.spill = self._spilled() * self.threads * 8 * (1 + self.k * self.size / 128) / c.local_rate / f
        # A block whose loads a warpgroup of its own issues pays the loop's bookkeeping once for its consumers.
        groups = np.where(self.producer, np.minimum(self.warps, _GROUP), self.warps) / _GROUP
        overhead = c.loop_overhead * groups**c.loop_warps * np.where(self.producer, c.producer_overhead, 1)
        fragments = self.warp_rows / _FRAGMENT_M * self.warp_columns / _FRAGMENT_N * self.k_steps
        issued = np.where(self.wgmma, 0, c.mma_issue * fragments * self.warps / _GROUP / f)
        self.overhead = overhead + self.asynchronous + issued
        added = norm(c.norm_sm, self.tensor, self.shared, self.copies) + self.spill + self.overhead
        chain = self.m / _WGMMA_M / (self.warps_m / _GROUP) * (self.n / self.columns / self.warps_n)
        chain = np.where(self.wgmma, chain * c.wgmma_chain, c.mma_chain) * self.k_steps / f
        # Consumers of a producer warpgroup wait for their products before they hand a stage back.
        self.waits = self.producer | self._unpipelined_products()
        handed = norm(c.norm_sm, self.tensor, self.shared)
        chained = norm(c.norm_sm, self.tensor, self.shared, chain) + self._serialised()
        self.alone = np.where(self.producer, handed, chained) + self.spill
        self.added = added

    def _spilled(self) -> Values:
        """Registers of a thread that live in local memory."""
        live, cap = self.launch["live_registers"], np.minimum(self.launch["register_cap"], 255)
        held = np.where(self.narrow, live, self.accumulators)  # without hints a thread holds a pointer an element
        return np.where(live > cap, np.maximum(8.0, held - (cap - _HELD_BACK)), 0)

    def _unpipelined_products(self) -> NDArray[np.bool_]:
        """Whether a step waits for its own wgmma: int8 ones, and fp8 ones of two and more warpgroups."""
        return np.asarray(self.wgmma & (self.size == 1) & ((self.warps > _GROUP) | self.matrix.integer), dtype=np.bool_)

    def _serialised(self) -> Values:
        """8-bit products that wait for their wgmma within each step have their sums added up on the CUDA cores
        meanwhile.

        Seen in times only (8 shapes of fp8, 4 of int8), which grow with the accumulators of the block; the compiler's
        reason is not known.
        """
        added = self.m * self.n * self.c.serialised_8bit / self.c.fp32_lanes
        return np.where(self._unpipelined_products(), added / self.c.clock, 0)

    def _out_of_bounds(self) -> Values:
        """Rows of TMA boxes outside the tensor, which the chip fills at a rate that all blocks share: 64 rows more in
        boxes of 128 cost 30 ns a step with 48 blocks, 350 with 128 (an H200, M from 8 to 64).
        """
        rows = np.where(self.tma & ~self.producer, self.order.rows * self.m - self.matrix.m, 0)
        lines = rows * np.ceil(self.matrix.k / self.k) * self.k * self.size / _TMA_LINE
        return np.asarray(lines * self.order.columns * self.c.out_of_bounds_row)

    def block(self, memory: Memory) -> Block:
        """The block that loops over these steps."""
        c, launch, order, matrix = self.c, self.launch, self.order, self.matrix
        split = launch["split_k"]
        self.aligned = 1 + c.misaligned * misaligned(launch, matrix)
        latency = c.l2_latency + memory.miss * c.dram_latency + self.aligned * self.tile_bytes / c.stage_rate
        ahead = np.where(self.pipelined, np.maximum(1, launch["num_stages"] - 1), 1)
        ahead = np.where(self.producer, np.maximum(1, launch["num_stages"]), ahead)
        # While a wgmma runs the loads behind it are issued, into the buffer of the one before.
        ring = np.where(self.wgmma & self.pipelined & ~self.waits, np.maximum(launch["num_stages"], ahead), ahead)
        panels = order.tile_rows * self.m + order.tile_columns * self.n
        fill = latency + memory.miss * panels * self.k * self.size / c.dram_stream
        by_pointers = c.pointer_epilogue * np.where(self.narrow, _VECTOR / matrix.out_bytes, 1)
        slower = np.where(self.producer, c.direct_epilogue, np.where(self.tma, 1, by_pointers))
        epilogue = self.m * self.n * matrix.out_bytes / c.epilogue_rate * slower
        ends = c.block_ends + fill + epilogue
        persistent = launch["persistent"] > 0
        again = c.persistent_ends + np.where(launch["flat"] > 0, c.flat_ends, 1) * (fill + epilogue)
        planes = _batches(launch, order)
        grid = order.tiles * split * planes
        follows = (split > 1) | (launch["second"] > 0)
        summed = (memory.output + matrix.m * matrix.n * matrix.out_bytes) * planes / c.dram_stream
        return Block(
            grid=grid,
            resident=order.resident,
            steps=np.ceil(np.ceil(matrix.k / self.k) / split),
            added=self.added,
            alone=self.alone,
            latency=latency + self.copies + self.asynchronous,
            ahead=ahead,
            ring=ring,
            lead=np.where(persistent, 0, ahead),
            ends=ends,
            ends_again=np.where(persistent, again, ends),
            persistent=persistent.astype(np.float64),
            extra=np.where(follows, c.second_launch + summed, 0),
            parts={
                "tensor cores": self.tensor,
                "shared memory": self.shared,
                "copies through registers": self.copies,
                "spills": self.spill,
                "issue": self.overhead,
            },
        )

    def chip(self, block: Block, memory: Memory) -> Chip:
        """Chip-wide: memory, L2 to SM with merged requests, and the slices that hold a line many blocks want."""
        c, order, matrix = self.c, self.order, self.matrix
        moved = (memory.reads + memory.writes) * _batches(self.launch, order)
        waves = np.maximum(1, block.grid / (c.sms * order.resident))
        merged = c.merge_floor + (1 - c.merge_floor) * np.minimum(1, 2 - 2 / order.resident) * (1 - 1 / waves) ** 2
        share_a = c.merged_share + (1 - c.merged_share) / order.run_a
        share_b = c.merged_share + (1 - c.merged_share) / order.run_b
        asked = self.k * (self.m * self.size * share_a + self.n * matrix.b_bytes * share_b)
        flight = np.minimum(block.grid, c.sms * order.resident)
        rows = flight / order.tile_rows * self.m / np.minimum(self.m, matrix.m)
        columns = flight / order.tile_columns * self.n / np.minimum(self.n, matrix.n)
        wanted = block.grid / flight * block.steps * np.maximum(rows, columns) * c.shared_line / c.clock
        return Chip(
            dram=(moved + np.minimum(moved, c.dirty_lines)) / c.dram_stream,
            l2=block.grid * block.steps * asked * self.aligned * merged / c.l2_to_sm,
            lines=np.maximum(wanted, self._out_of_bounds() * _batches(self.launch, order)),
            dispatch=block.grid * c.block_dispatch,
        )


def _batches(launch: Launch, order: Order) -> Values:
    """Copies of the plane of tiles that the launch holds: a batch, or groups."""
    persistent = launch["persistent"] > 0
    planes = np.where(persistent, 1.0, launch["grid"] / (order.tiles * launch["split_k"]))
    return np.maximum(1.0, planes)
