"""Shared memory that the epilogue needs to bring the accumulators into the order in which they are stored."""

from __future__ import annotations

from dataclasses import dataclass

from tilesearch.kernels.triton.compiler import Compiler
from tilesearch.kernels.triton.operands import is_hinted
from tilesearch.kernels.triton.paths import Path
from tilesearch.kernels.versions import since
from tilesearch.program.form import Tensor
from tilesearch.rules.expr import Expr, all_of, any_of, maximum, minimum, select
from tilesearch.rules.model import named
from tilesearch.rules.nvidia import TileShape


@dataclass(frozen=True)
class _Layouts:
    """Rows and warps of the two layouts: of the accumulator, and of the coalesced store.

    `rows_of_warps` are the rows that all warps hold at once, `rows_of_pass` those that one pass of the block
    stores, `vector` the elements of one store, `warps_n` the warps side by side in the accumulator.
    """

    rows_of_warps: Expr
    rows_of_pass: Expr
    vector: Expr
    warps_n: Expr


def conversion_scratch(compiler: Compiler, out: Tensor, tile: TileShape, path: Path) -> Expr:
    """Bytes through which an accumulator tile of `out`'s type is reordered before it is stored. Unit: B.

    All sizes are powers of two, so every quotient is exact.
    """
    hinted, bits = is_hinted(compiler, out), out.dtype.bits
    rules = since(compiler.data["epilogue"], compiler.version)
    layouts = _layouts(compiler, tile, path, bits, hinted, rules["rows_first"])
    if rules["padded"]:
        rows = minimum(tile.m, maximum(layouts.rows_of_warps, layouts.rows_of_pass))
        pad = 8 * compiler.number("vector_bytes") // bits
        return named("epilogue_scratch", rows * (tile.n + pad) * bits // 8, "B", opaque=True)
    size = tile.m * tile.n * bits // 8
    return named("epilogue_scratch", size // _rounds(compiler, tile, path, layouts, bits, hinted), "B", opaque=True)


def _layouts(compiler: Compiler, tile: TileShape, path: Path, bits: int, hinted: bool, rows_first: bool) -> _Layouts:
    widest = max(1, 8 * compiler.number("vector_bytes") // bits) if hinted else 1
    vector = minimum(widest, maximum(1, tile.m * tile.n // (tile.warps * compiler.lanes)))
    lanes = minimum(compiler.lanes, maximum(1, tile.n // vector))
    along = minimum(tile.warps, maximum(1, tile.n // (vector * lanes)))
    warps_m = select(path.wgmma, _warps_of_wgmma(compiler, tile), _warps_of_mma(compiler, tile, rows_first))
    return _Layouts(
        rows_of_warps=compiler.fragment_rows * warps_m,
        rows_of_pass=compiler.lanes * tile.warps // (lanes * along),
        vector=vector,
        warps_n=maximum(1, tile.warps // warps_m),
    )


def _warps_of_wgmma(compiler: Compiler, tile: TileShape) -> Expr:
    """Warps along M: as many as the tile has rows for."""
    return minimum(tile.warps, maximum(1, tile.m // compiler.fragment_rows))


def _warps_of_mma(compiler: Compiler, tile: TileShape, rows_first: bool) -> Expr:
    """Warps along M: the longer side of the tile is halved until it is the shorter, then both in turn.

    `rows_first` says which side takes the odd one (AccelerateMatmul.cpp, warpsPerTile).
    """
    lead = minimum(tile.warps, maximum(1, tile.m // tile.n))
    rest = maximum(1, select(tile.m >= tile.n, tile.warps * tile.n // tile.m, tile.warps * tile.m // tile.n))
    two, four = (2, 8) if rows_first else (4, 16)
    root = select(rest >= four, 4, select(rest >= two, 2, 1))
    return minimum(maximum(1, tile.m // compiler.fragment_rows), lead * root)


def _rounds(compiler: Compiler, tile: TileShape, path: Path, layouts: _Layouts, bits: int, hinted: bool) -> Expr:
    """Rounds in which the tile passes: one for each row bit that both layouts keep in the registers of a thread.

    A thread of the accumulator holds rows 8 apart and those beyond the rows of all warps; a thread of the store
    holds those beyond a pass. (Triton's linear layouts.) Without stmatrix, which takes 16-bit elements, shared
    bits first widen the stores to vectors of 16 B and only the rest are rounds; where a warp's store covers a
    whole row of the tile nothing is widened. Checked on 58 compiles; narrow accumulators of other widths may
    take fewer rounds than this says.
    """
    again = maximum(1, tile.m // maximum(layouts.rows_of_warps, layouts.rows_of_pass))
    common = select(layouts.rows_of_pass <= compiler.data["fragment"]["paired_row"], 2 * again, again)
    if not hinted:
        return select(layouts.rows_of_pass.eq(1), common, 1)
    if bits == 16 and compiler.has_stmatrix:
        return common
    widened = max(1, 8 * compiler.number("vector_bytes") // bits // 2)
    fewer = maximum(1, common // widened)
    whole_rows = all_of(compiler.lanes * layouts.vector >= tile.n, layouts.warps_n <= 4, tile.n >= compiler.lanes * 8)
    return select(any_of(path.wgmma, path.tcgen05), fewer, select(whole_rows, common, fewer))
