"""Stream-K: blocks, one an SM, that take equal shares of all steps of all tiles.

There are no waves and no tail but the last step. What it costs: every share begins and ends inside a tile, so that a
block fills its pipeline once more; and the sums of a cut tile pass through memory. Neighbouring blocks stand at
different places along K from the start, so L2 serves them as it serves blocks that have drifted apart.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tilesearch.models.time.block import Block
from tilesearch.models.time.constants import Constants
from tilesearch.models.time.launch import Launch
from tilesearch.models.time.traffic import Matrix, Memory, Order

_SUM_BYTES = 4
"""Of an accumulator, fp32 or int32."""


def in_shares(launch: Launch) -> bool:
    """Whether the kernel takes equal shares: a property of the kernel, alike for all of its tiles."""
    return bool((launch["stream"] > 0).any())


def apart(order: Order, memory: Memory, launch: Launch) -> tuple[Order, Memory]:
    """The order and memory of shares: no two blocks ask for a panel together."""
    if not in_shares(launch):
        return order, memory
    alone = np.ones_like(order.run_a)
    return replace(order, run_a=alone, run_b=alone), replace(memory, reads=memory.most)


def shared_out(block: Block, launch: Launch, matrix: Matrix, order: Order, c: Constants) -> Block:
    """The block of a share: its steps, and the ends of every tile that it touches: first loads, then results or sums.

    Where shares cut tiles, a block touches one more, and adds to one cut tile or two; the last at a tile asks for the
    count, reads the sums back and leaves zeros.
    """
    if not in_shares(launch):
        return block
    tiles = order.tiles * _planes(launch)
    steps = tiles * np.ceil(matrix.k / launch["block_k"])
    blocks = np.minimum(steps, c.sms)
    cut = np.where(tiles % blocks == 0, 0.0, 1.0)
    each = np.maximum(0.0, block.ends - c.block_ends)
    sums = launch["block_m"] * launch["block_n"] * _SUM_BYTES
    added_up = 2 * sums / c.epilogue_rate + 2 * c.l2_latency + sums / c.stage_rate
    ends = c.block_ends + (tiles / blocks + cut) * each + cut * added_up
    return replace(
        block,
        grid=blocks,
        resident=np.ones_like(blocks),
        steps=np.ceil(steps / blocks),
        ends=ends,
        ends_again=ends,
        persistent=np.zeros_like(blocks),
    )


def _planes(launch: Launch) -> float:
    product = launch.program.contractions[0]
    within = {launch.program.owner(name).name for name in (product.m, product.n)}
    return float(np.prod([dim.extent for dim in launch.program.parallel if dim.name not in within]))
