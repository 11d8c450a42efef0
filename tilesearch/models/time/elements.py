"""Independent elements: a block loads its elements of every input at once, works on them and writes the outputs."""

from __future__ import annotations

import numpy as np

from tilesearch.models.time.block import Block, Chip
from tilesearch.models.time.constants import Constants
from tilesearch.models.time.launch import Launch, Values
from tilesearch.models.time.streaming import streamed
from tilesearch.models.time.traffic import Memory
from tilesearch.program.form import Program, Role
from tilesearch.program.units import SPECIAL

_WARP, _VECTOR = 32, 16  # threads of a warp; bytes of the widest load or store
_ADDRESS = 4  # instructions of one load or store of a thread: address, mask, the access itself, its conversion


def elements_launch(launch: Launch, c: Constants) -> tuple[Block, Chip, Memory]:
    """One step a block: DRAM's bytes, the dispatch of blocks, and the latency of the loads bound it, seldom its work.

    A thread moves its elements in vectors of 16 B, or of what it has where that is less.
    """
    program, elements = launch.program, launch["block_m"]
    threads = launch["num_warps"] * _WARP
    each = np.maximum(1.0, elements / threads)
    sizes = [(t.dtype.bits / 8, t.role is Role.OUTPUT) for t in program.tensors]
    accesses: Values = sum((np.ceil(each * size / _VECTOR) for size, _ in sizes), np.zeros_like(each))
    plain, special = _operations(program)
    work = (threads * accesses * _ADDRESS + elements * plain) / c.fp32_lanes + elements * special / c.special_rate
    loaded = elements * sum(size for size, written in sizes if not written)
    latency = c.l2_latency + c.dram_latency + loaded / c.stage_rate
    issue = work / c.clock
    nothing = np.zeros_like(issue)
    return streamed(launch, c, latency, issue, nothing, np.ones_like(issue), {"arithmetic": issue})


def _operations(program: Program) -> tuple[float, float]:
    """Operations on CUDA cores and special functions of one element."""
    special = sum(term.per_point for term in program.terms if term.unit == SPECIAL)
    return float(sum(term.per_point for term in program.terms) - special), float(special)
