"""How T.gemm shares an accumulator tile out over the warps of a block (TileLang's `Square` policy)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tilesearch.rules.expr import FALSE, Expr, all_of, as_expr, ceildiv, const, divides, maximum, minimum, select
from tilesearch.rules.model import Rule, named
from tilesearch.rules.nvidia import TileShape

MOST_WARPS = 32
"""Warps of the largest block."""

_SCORES = 10**6  # resolution with which the scores of two partitions are told apart
_NONE = 2**40  # above every key of a legal partition


@dataclass(frozen=True)
class Partition:
    """`m` x `n` warps share the tile, as trees; `m` is 0 where no partition is legal. `wgmma`: it is the warpgroup
    instruction that runs, one whose N is `columns` cut into legal pieces.
    """

    m: Expr
    n: Expr
    wgmma: Expr
    columns: Expr
    rules: tuple[Rule, ...]


def warp_partition(data: Mapping[str, Any], tile: TileShape, has_wgmma: bool) -> Partition:
    """The partition that TileLang chooses: of the legal ones the one whose warp tile is nearest the block's shape.

    Legal: m x n = warps, each warp has whole 16 x 8 tiles of the accumulator, and with wgmma whole warpgroups
    stand along m. TileLang's score is ``|(block_m / 16m) / (block_n / 8n) - block_m / block_n|``, which is
    ``block_m / block_n`` times ``|n / 2m - 1|``: the block's shape does not matter. wgmma is chosen by
    block_m and the warps alone; where it then has no legal partition, lowering fails and nothing falls back.
    """
    wide = data["wgmma"]
    wgmma = named("wgmma", all_of(tile.m >= wide["min_m"], divides(wide["warps"], tile.warps))) if has_wgmma else FALSE
    on_warps = _best(data, tile, range(1, MOST_WARPS + 1))
    key = on_warps
    if has_wgmma:
        key = select(wgmma, _best(data, tile, range(wide["warps"], MOST_WARPS + 1, wide["warps"])), on_warps)
    m = named("warps_m", select(key >= _NONE, 0, key % (MOST_WARPS + 1)), "warps", opaque=True)
    n = named("warps_n", tile.warps // maximum(m, 1), "warps", opaque=True)
    columns = named("columns_per_warpgroup", tile.n // maximum(n, 1), "elements")
    exists = Rule(
        id="C3.warps",
        sentence="the warps can share the tile: whole 16 x 8 pieces a warp, and whole warpgroups along M for wgmma",
        value=m,
        limit=const(1),
        relation="ge",
        unit="warps along M",
        source=data["warp_tile"]["source"],
    )
    return Partition(m, n, wgmma, columns, (exists,))


def _best(data: Mapping[str, Any], tile: TileShape, candidates: range) -> Expr:
    """The least of ``score * (MOST_WARPS + 1) + m`` over the legal m."""
    share = data["warp_tile"]
    keys = []
    for m in candidates:
        legal = all_of(
            divides(m, tile.warps),
            divides(share["m"] * m, tile.m),
            divides(share["n"] * maximum(tile.warps // m, 1), tile.n),
        )
        square = 2 * m * m
        score = maximum(tile.warps - square, square - tile.warps) * _SCORES // square
        keys.append(select(legal, score * (MOST_WARPS + 1) + m, _NONE))
    return minimum(*keys)


def instruction_columns(data: Mapping[str, Any], partition: Partition) -> Expr:
    """N of the wgmma instruction: the columns of a warpgroup, halved until one instruction takes them."""
    most = data["wgmma"]["max_n"]
    columns = partition.columns
    pieces = as_expr(1)
    for doublings in (1, 2):
        pieces = select(columns > most * doublings, 2 * doublings, pieces)
    return named("instruction_n", ceildiv(columns, pieces), "elements")
