"""Stream-K in Triton: one block an SM, each with an equal share of all steps of all tiles.

A tile that a share's end cuts is summed up in memory: every block adds its sums to the tile's place with atomics, and
the last of them reads the whole and stores the result. A split of K besides would be counted twice, so there is none.
"""

from __future__ import annotations

from dataclasses import replace

from tilesearch.errors import InputError, Issue
from tilesearch.kernels.base import Context
from tilesearch.kernels.triton.compiler import Compiler
from tilesearch.kernels.triton.registers import Registers
from tilesearch.rules.expr import Var, ceildiv, const, maximum, minimum, select
from tilesearch.rules.geometry import Geometry
from tilesearch.rules.limits import constant_of, known
from tilesearch.rules.metrics import EqualShares
from tilesearch.rules.model import Rule, constant
from tilesearch.rules.nvidia import TileShape


def require_gemm(context: Context) -> None:
    """Raises `InputError` for other products: tiles of groups or windows have no common row of steps."""
    if context.program.kind != "gemm":
        message = f"the variant stream_k has rules for gemm, not for {context.program.kind}"
        raise InputError(Issue(message, "kernel.variant", context.source))


def shares_of(context: Context, geometry: Geometry, tile: TileShape) -> EqualShares:
    """The steps that blocks share, and the bytes of the tiles that two or more of them add up.

    A share's end cuts a tile unless whole tiles go round evenly. Each cut adds one more block to a tile; a tile's sums
    are read once and set to zero again.
    """
    program, device = context.program, context.device
    product = program.contractions[0]
    tiles = geometry.grid()
    steps = tiles * ceildiv(program.extent(product.k), tile.k)
    blocks = minimum(steps, constant_of(device, "sm_count")) if known(device, "sm_count") else steps
    cut = minimum(blocks - 1, tiles)
    sums = tile.m * tile.n * product.acc.bits // 8
    moved = select((tiles % blocks).eq(0), const(0), sums * (blocks - 1 + 3 * cut))
    return EqualShares(steps, blocks, moved)


def registers_of(compiler: Compiler, registers: Registers) -> Registers:
    """The pointer kernel's, and an address for every sum that is added to memory."""
    row = compiler.data["registers"]["used"]["stream_k"]
    wanted = int(row["base"]) + registers.accumulators * int(row["accumulator"]) // 100
    return replace(registers, used=minimum(registers.cap, maximum(registers.used, wanted)))


def no_split() -> Rule:
    """C3.split_k: the shares cut K already."""
    return Rule(
        id="C3.split_k",
        sentence="split_k is 1: stream-K's shares cut K already",
        value=Var("split_k"),
        limit=constant("one", 1),
        relation="le",
        unit="parts",
        source="how the variant is written",
    )
