"""Ordering what an engine delivered, and filling in the metrics of what is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesearch.answers import Candidate, Metrics, Tile
from tilesearch.api.timing import Times
from tilesearch.engines.base import Tiles
from tilesearch.explanation.judge import binding_of, verdict_of
from tilesearch.program.form import Program
from tilesearch.rules.columns import Column, ColumnEvaluator, read_rows
from tilesearch.rules.evaluate import Memo, evaluate
from tilesearch.rules.expr import Expr
from tilesearch.rules.model import Model
from tilesearch.rules.occupancy import UNLIMITED

Keys = NDArray[np.int64]

_EXACT_FLOAT = 2**26  # two fractions with smaller denominators never round to the same double unless equal


@dataclass(frozen=True)
class Ranked:
    """Tiles in rank order and, for each, how many share its key (None where the set was not listed)."""

    tiles: Tiles
    tied: list[int | None]


def rank_tiles(model: Model, tiles: Tiles, key: Expr | Keys, top: int, listed: bool) -> Ranked:
    """The first `top` tiles by `key`, a tree or its values, smaller first.

    Ties: higher tail_fill, then larger smallest slack over the C1 and C2 rules, both compared as exact
    fractions, then the tile's values, larger first, in the order of the variables.
    """
    if not len(tiles):
        return Ranked(tiles, [])
    keys = rank_keys(model, tiles, key)
    top = min(top, len(tiles))
    threshold = np.partition(keys, top - 1)[top - 1]
    near = tiles[keys <= threshold]
    near_keys = keys[keys <= threshold]
    order = _order(model, near, near_keys)[:top]
    shown = near_keys[order]
    sizes = dict(zip(*np.unique(near_keys, return_counts=True), strict=True))
    tied: list[int | None] = [int(sizes[k]) for k in shown] if listed else [None] * len(order)
    return Ranked(near[order], tied)


_PIPELINED = 3
_ROW_BYTES = 128
_HALF_BITS = 16


def element_bits(program: Program) -> int:
    """Bits of an element of the first operand that a block stages."""
    return program.dtype_of(program.contractions[0].a).bits if program.contractions else _HALF_BITS


def idleness(model: Model, tiles: Tiles, element_bits: int) -> NDArray[np.int64]:
    """Which of several tiles with the same key waits least for memory, least first.

    The keys do not see stages and block_k, and the best key is shared by tiles with one stage and short rows.
    On an H200 no configuration with one stage, and 4 of 50 winners with two, came within 2 % of the best: three
    stages and more count alike, then rows of a whole swizzle (128 B) and more.
    """
    worst = np.zeros(len(tiles), dtype=np.int64)
    if "num_stages" in model.names:
        worst += 2 * (_PIPELINED - np.minimum(tiles[:, model.names.index("num_stages")], _PIPELINED))
    if "block_k" in model.names:
        worst += tiles[:, model.names.index("block_k")] * element_bits < 8 * _ROW_BYTES
    return worst


def rank_order(
    model: Model, tiles: Tiles, key: Expr | Keys, preferred: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Places of all `tiles`, which may repeat, in rank order; `preferred`, smaller first, decides ties first."""
    return _order(model, tiles, rank_keys(model, tiles, key), preferred)


def rank_keys(model: Model, tiles: Tiles, key: Expr | Keys) -> Keys:
    """The values of `key`, a tree or its values, for each tile."""
    if isinstance(key, Expr):
        return _dense(read_rows(key, tile_columns(model, tiles), model.domains, len(tiles), model.ranges))
    return key


def _order(
    model: Model, tiles: Tiles, keys: NDArray[np.int64], preferred: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    columns = [-tiles[:, c] for c in reversed(range(tiles.shape[1]))]
    read = _read(model, tiles)
    order: NDArray[np.int64] = np.lexsort(
        (
            *columns,
            -_smallest_slack(model, read, len(tiles)),
            -_tail_fill(model, read, len(tiles)),
            *(() if preferred is None else (preferred,)),
            keys,
        )
    )
    return order


def tile_columns(model: Model, tiles: Tiles) -> dict[str, Column]:
    """Tiles as columns by variable."""
    return {name: tiles[:, i] for i, name in enumerate(model.names)}


def _read(model: Model, tiles: Tiles) -> ColumnEvaluator:
    return ColumnEvaluator(tile_columns(model, tiles), model.domains, model.ranges)


def _dense(values: Column) -> NDArray[np.int64]:
    """Values as int64; wider integers as their dense rank, which orders and ties the same."""
    if values.dtype != object:
        return values.astype(np.int64)
    return np.unique(values, return_inverse=True)[1].astype(np.int64).reshape(len(values))


def breaks_soft(model: Model, tiles: Tiles) -> NDArray[np.bool_]:
    """For each tile, whether it breaks a soft rule."""
    broken = np.zeros(len(tiles), dtype=bool)
    if len(tiles):
        read = _read(model, tiles)
        for rule in model.soft:
            broken |= ~np.broadcast_to(np.asarray(read(rule.holds), dtype=bool), (len(tiles),))
    return broken


def _tail_fill(model: Model, read: ColumnEvaluator, rows: int) -> NDArray[np.float64]:
    pair = model.fractions.get("tail_fill")
    return np.zeros(rows) if pair is None else _fractions(read, rows, [pair])


def _smallest_slack(model: Model, read: ColumnEvaluator, rows: int) -> NDArray[np.float64]:
    rules = [r for r in model.rules if r.has_slack and r.limit is not None and r.id[:2] in ("C1", "C2")]
    pairs = [(r.limit - r.value, r.limit) for r in rules if r.limit is not None]
    return _fractions(read, rows, pairs) if pairs else np.zeros(rows)


def _fractions(read: ColumnEvaluator, rows: int, pairs: Sequence[tuple[Expr, Expr]]) -> NDArray[np.float64]:
    """The least of the fractions `pairs` for each tile, as numbers that order and tie exactly."""
    columns = [(np.broadcast_to(read(top), (rows,)), np.broadcast_to(read(bottom), (rows,))) for top, bottom in pairs]
    exact = all(
        top.dtype != object and bottom.dtype != object and np.abs(top).max() < 2**52 and bottom.max() < _EXACT_FLOAT
        for top, bottom in columns
    )
    if exact:
        least: NDArray[np.float64] = np.min([top / bottom for top, bottom in columns], axis=0)
        return least
    values = [min(Fraction(int(t[i]), int(b[i])) for t, b in columns) for i in range(rows)]
    places = {value: float(place) for place, value in enumerate(sorted(set(values)))}
    return np.array([places[value] for value in values])


def candidates(model: Model, ranked: Ranked, keep_soft: bool) -> list[Candidate]:
    """The ranked tiles with their metrics, verdict and binding rule. Without `keep_soft` all of them fit."""
    result = []
    for place, (row, memo) in enumerate(zip(ranked.tiles, _memos(model, ranked.tiles), strict=True)):
        tile = {name: int(value) for name, value in zip(model.names, row, strict=True)}
        result.append(
            Candidate(
                rank=place + 1,
                tied=ranked.tied[place],
                verdict=verdict_of(model, tile, memo) if keep_soft else "fits",
                tile=Tile(**tile),
                metrics=metrics_of(model, tile, memo),
                binding=binding_of(model, tile, memo),
            )
        )
    return result


def _memos(model: Model, tiles: Tiles) -> list[Memo]:
    """For each tile, the values of all trees that a candidate shows, computed column by column."""
    if not len(tiles):
        return []
    trees = [metric.expr for metric in model.metrics.values() if metric.expr is not None]
    trees += [tree for pair in model.fractions.values() for tree in pair]
    for rule in model.rules:
        trees += [t for t in (rule.when, *((rule.value, rule.limit) if rule.has_slack else ())) if t is not None]
    read = _read(model, tiles)
    columns = [np.broadcast_to(read(tree), (len(tiles),)).tolist() for tree in trees]
    return [dict(zip(trees, values, strict=True)) for values in zip(*columns, strict=True)]


def metrics_of(model: Model, tile: Mapping[str, int], memo: Memo | None = None) -> Metrics:
    """The metrics of one tile; None where the model has none."""
    memo = {} if memo is None else memo
    values: dict[str, Any] = {}
    by: dict[str, int | None] = {}
    for name, metric in model.metrics.items():
        if metric.expr is None:
            continue
        if name.startswith("blocks_by_"):
            by[name.removeprefix("blocks_by_")] = _blocks(evaluate(metric.expr, tile, memo))
        elif name in Metrics.model_fields:
            values[name] = int(evaluate(metric.expr, tile, memo))
    if "tail_fill" in model.fractions:
        top, bottom = (int(evaluate(e, tile, memo)) for e in model.fractions["tail_fill"])
        values["tail_fill"] = top / bottom
    return Metrics(blocks_by=by, **values)


def timed(metrics: Metrics, times: Times | None, place: int) -> Metrics:
    """The metrics with those that models of time fill."""
    return metrics if times is None else metrics.model_copy(update=times.metrics(place))


def _blocks(value: int | bool) -> int | None:
    return None if value == UNLIMITED else int(value)
