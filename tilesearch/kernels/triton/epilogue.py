"""Shared memory that the epilogue needs to bring the accumulators into the order in which they are stored."""

from __future__ import annotations

from tilesearch.kernels.triton.compiler import Compiler
from tilesearch.kernels.triton.operands import is_hinted
from tilesearch.program.form import Tensor
from tilesearch.rules.expr import Expr, all_of, const, maximum, minimum, select
from tilesearch.rules.model import named
from tilesearch.rules.nvidia import TileShape

_LANES = 32
_INSTRUCTION_ROWS = 16  # of one warp, in wgmma as in mma
_PAIRED_ROW = 8  # the row distance between the two halves of a warp's accumulator


def conversion_scratch(compiler: Compiler, out: Tensor, tile: TileShape) -> Expr:
    """Bytes through which a wgmma accumulator tile of `out`'s type is reordered before it is stored. Unit: B.

    The tile passes in as many rounds as there are row bits that both layouts keep in the registers of a thread:
    a warp's accumulator holds rows 8 apart, and every 16 x (warps along M) rows again; the store layout holds a
    row again after each pass of the whole block over the rows. (Triton's linear-layout swizzling, checked on
    every one-stage build of facts/h200; all sizes are powers of two, so the quotients are exact.) Narrow stores
    pass the tile in one round unless one warp covers a row.
    """
    hinted = is_hinted(compiler, out)
    widest = max(1, 8 * compiler.number("vector_bytes") // out.dtype.bits) if hinted else 1
    per_thread = maximum(1, tile.m * tile.n // (tile.warps * _LANES))
    vector = minimum(widest, per_thread)
    lanes = minimum(_LANES, maximum(1, tile.n // vector))
    warps_along = minimum(tile.warps, maximum(1, tile.n // (vector * lanes)))
    rows_of_pass = _LANES * tile.warps // (lanes * warps_along)
    rows_of_warps = _INSTRUCTION_ROWS * minimum(tile.warps, maximum(1, tile.m // _INSTRUCTION_ROWS))
    again = maximum(1, tile.m // maximum(rows_of_warps, rows_of_pass))
    rounds = select(rows_of_pass <= _PAIRED_ROW, 2 * again, again)
    if not hinted:
        rounds = select(all_of(rows_of_pass.eq(1)), rounds, const(1))
    size = tile.m * tile.n * out.dtype.bits // 8
    return named("epilogue_scratch", size // rounds, "B")
