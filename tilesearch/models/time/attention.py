"""Flash attention: two products and a softmax a step; prefill with many rows, decode against a long cache."""

from __future__ import annotations

import numpy as np

from tilesearch.models.time import keys
from tilesearch.models.time.block import Block, Chip, norm
from tilesearch.models.time.constants import Constants
from tilesearch.models.time.launch import Launch, Values
from tilesearch.models.time.traffic import Memory
from tilesearch.program.form import Program

_GROUP, _FRAGMENT, _K_BYTES, _WGMMA_M = 4, 16, 32, 64


class Shape:
    """Extents of an attention program."""

    def __init__(self, program: Program) -> None:
        scores, values = program.contractions
        self.rows, self.keys = float(program.extent(scores.m)), float(program.extent(scores.n))
        self.head, self.value = float(program.extent(scores.k)), float(program.extent(values.n))
        self.size = program.tensor(scores.b).dtype.bits / 8
        self.out = program.outputs[0].dtype.bits / 8
        pairs = next(t for t in program.terms if t.name == "softmax exponential")
        whole = self.rows * self.keys
        planes = 1.0
        for dim in program.parallel:
            if dim.name not in (program.owner(scores.m).name, program.owner(values.n).name):
                planes *= dim.extent
        self.planes = planes
        self.kept = program.term_flops(pairs) / (planes * whole)  # share of the scores that the mask keeps
        self.edges = keys.edges(program)
        self.bytes = float(program.compulsory_bytes)
        self.cache = sum(float(program.tensor_bytes(program.tensor(p.b))) for p in program.contractions)


def attention_launch(launch: Launch, c: Constants) -> tuple[Block, Chip, Memory]:
    """One block, the chip-wide times and the bytes of memory; a causal mask shortens the mean block."""
    shape, f = Shape(launch.program), c.clock
    m, n, warps, split = launch["block_m"], launch["block_n"], launch["num_warps"], launch["split_k"]
    wgmma = launch["wgmma"] > 0
    k_steps = (shape.head + shape.value) * shape.size / _K_BYTES
    flops = 2 * m * n * (shape.head + shape.value)
    tensor = np.where(wgmma, flops, flops / c.mma_share) / c.tensor_flops / f
    tensor = np.where(wgmma, np.maximum(tensor, k_steps * (m / _WGMMA_M) * c.wgmma_least / f), tensor)
    # Rows that two warpgroups share are reduced across both and their scores exchanged.
    copies = np.where(wgmma, np.maximum(1, warps * _FRAGMENT / m), 1)
    scores = m * n * copies * (1 / c.special_rate + c.softmax_operations / c.fp32_lanes)
    # Every step scales the output that was accumulated so far.
    softmax = (scores + m * shape.value * c.rescale_operations / c.fp32_lanes) / f
    overhead = c.loop_overhead * (warps / _GROUP) ** c.loop_warps
    tile = n * (shape.head + shape.value) * shape.size
    # Copies by pointers are issued by the warps that compute, 512 B an instruction.
    overhead = overhead + np.where(launch["tma"] > 0, 0, tile / 512 * c.async_issue / f)
    overhead = overhead + np.where(wgmma, 0, c.mma_issue * (m / 16) * (n / 8) * k_steps / f)
    chain = k_steps * np.where(wgmma, c.wgmma_chain, c.mma_chain) / f
    added = norm(c.norm_sm, tensor, softmax) + overhead
    alone = norm(c.norm_sm, tensor, chain) + c.softmax_serial * softmax * _GROUP / np.minimum(warps, _GROUP)
    live = np.maximum(0.0, launch["live_registers"] - launch["register_cap"])
    spill = live * warps * 32 * 8 / c.local_rate / f
    added, alone = added + spill, alone + spill
    latency = c.l2_latency + c.dram_latency * np.where(shape.rows > m, 0.5, 1.0) + tile / c.stage_rate
    resident = np.maximum(launch["blocks_per_sm"], 1)
    grid = np.ceil(shape.rows / m) * shape.planes * split
    steps = np.maximum(1.0, _steps(shape, m, n, split))
    epilogue = m * shape.value * np.where(split > 1, 4.0, shape.out) / c.epilogue_rate
    fills = 2 if shape.kept < 1 else 1  # the masked tiles have a loop, and a pipeline, of their own
    ends = c.block_ends + fills * latency + epilogue
    zero = np.zeros_like(m)
    partial = np.where(split > 1, split, 0) * shape.rows * shape.planes * shape.value * 4
    follows = (split > 1) | (launch["second"] > 0)
    block = Block(
        grid=grid,
        resident=resident,
        steps=steps,
        added=added,
        alone=alone,
        latency=latency,
        ahead=keys.ahead(launch),
        ends=ends,
        ends_again=ends,
        persistent=zero,
        extra=np.where(follows, c.second_launch + 2 * partial / c.dram_stream, 0),
        longest=np.minimum(np.ceil(np.ceil(shape.keys / n) / split), keys.most_steps(launch.program, m, n)),
        parts={"tensor cores": tensor, "softmax": softmax, "spills": spill, "issue": overhead},
    )
    reads = np.full_like(m, shape.bytes)
    chip = Chip(
        dram=(reads + np.minimum(reads, c.dirty_lines)) / c.dram_stream,
        l2=grid * steps * tile / c.l2_to_sm,
        lines=zero,
        dispatch=grid * c.block_dispatch,
    )
    memory = Memory(reads, partial, np.ones_like(m), partial, least=reads, most=reads)
    return block, chip, memory


def _steps(shape: Shape, m: Values, n: Values, split: Values) -> Values:
    """Steps of the mean block: the tiles of scores that the mask does not hide whole."""
    whole = np.ceil(np.ceil(shape.keys / n) / split)
    if shape.kept >= 1:
        return whole
    cut = 0.5 * shape.edges * np.maximum(1.0, m / n)
    return np.minimum(whole, shape.kept * shape.keys / n / split + cut)
