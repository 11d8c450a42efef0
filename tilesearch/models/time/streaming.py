"""Kernels without matrix instructions that stream their operands: whole rows, and matrix-vector products."""

from __future__ import annotations

import numpy as np

from tilesearch.models.time.block import Block, Chip
from tilesearch.models.time.constants import Constants
from tilesearch.models.time.launch import Launch, Values
from tilesearch.models.time.traffic import Memory

_WARP, _VECTOR = 32, 16  # threads of a warp; bytes of the widest load


def rows_launch(launch: Launch, c: Constants) -> tuple[Block, Chip, Memory]:
    """A block loads its rows at once, reduces and writes them: one step, ranked by the elements of a thread.

    Fused rows are rows of several tokens; a block may take several tiles of them in turn.
    """
    program = launch.program
    warps, held = launch["num_warps"], launch["accumulators_per_thread"]
    columns = float(program.dim("d").extent if program.kind == "rows" else program.dims[-1].extent)
    size = program.tensors[0].dtype.bits / 8
    rows = launch["block_m"] * launch["tokens_per_block"] * launch["rows_per_block"]
    loaded = rows * columns * size
    live = np.maximum(0.0, launch["live_registers"] - launch["register_cap"])
    spill = np.where(live > 0, c.row_spill * held * warps / c.clock, 0)
    start = c.row_start if program.kind == "rows" else 0.0
    work = (start + c.row_element * held) * warps / c.clock
    sums = c.l2_latency * np.log2(np.maximum(2.0, warps)) / 8  # partial sums of warps meet in shared memory
    latency = c.l2_latency + c.dram_latency + loaded / c.stage_rate
    parts = {"arithmetic": work, "spills": spill}
    return streamed(launch, c, latency, work + spill, sums, launch["row_steps"], parts)


def vector_launch(launch: Launch, c: Constants) -> tuple[Block, Chip, Memory]:
    """A matrix streamed against `batch` vectors: block_n rows of it, block_k elements a step, loads to registers."""
    program = launch.program
    batch, k = float(program.extent("batch")), float(program.extent("k"))
    size = program.tensor("b").dtype.bits / 8
    n, bk, warps, split = launch["block_n"], launch["block_k"], launch["num_warps"], launch["split_k"]
    threads = warps * _WARP
    # Narrow pieces waste their load instructions: each thread wants 16 B of a row of the matrix.
    operands = batch * bk / threads
    products, outputs = n * bk * batch / threads, n * batch
    issue = c.vector_step + c.vector_product * products + c.vector_output * outputs + c.vector_operand * operands
    issue = issue * warps / c.clock
    loads = np.maximum(1.0, _VECTOR / np.maximum(size, n * bk * size / threads))
    latency = c.l2_latency + c.dram_latency + n * bk * size / c.stage_rate * loads
    steps = np.ceil(np.ceil(k / bk) / split)
    return streamed(launch, c, latency, issue, np.zeros_like(n), steps, {"arithmetic": issue})


def streamed(
    launch: Launch, c: Constants, latency: Values, added: Values, alone: Values, steps: Values, parts: dict[str, Values]
) -> tuple[Block, Chip, Memory]:
    """The launch of blocks that stream: `added`, `alone` and `latency` of a step in ns, `steps` of a block."""
    program = launch.program
    zero = np.zeros_like(added)
    resident = np.maximum(launch["blocks_per_sm"], 1)
    ends = c.stream_ends + zero
    split = launch["split_k"]
    outputs = float(sum(t.elements for t in program.outputs))
    follows = (split > 1) | (launch["second"] > 0)
    partial = np.where(follows, split * outputs * 4, 0.0)
    grid = launch["grid"] / launch["row_steps"]
    block = Block(
        grid=grid,
        resident=resident,
        steps=steps,
        added=added,
        alone=alone + added,
        latency=latency,
        ahead=np.ones_like(added),
        ends=ends,
        ends_again=ends,
        persistent=zero,
        extra=np.where(follows, c.second_launch + 2 * partial / c.dram_stream, 0),
        parts=parts,
    )
    moved = zero + float(program.compulsory_bytes)
    chip = Chip(
        dram=(moved + np.minimum(moved, c.dirty_lines)) / c.dram_stream,
        l2=launch["traffic_bytes"] / c.l2_to_sm,
        lines=zero,
        dispatch=grid * c.block_dispatch,
    )
    written = float(sum(program.tensor_bytes(t) for t in program.outputs))
    reads = moved - written
    memory = Memory(reads, zero + written, np.ones_like(zero), partial, least=reads, most=reads)
    return block, chip, memory
