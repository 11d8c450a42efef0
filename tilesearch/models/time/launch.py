"""What the physics is told of a launch: columns over the candidates, from the kernel's model and the program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tilesearch.program.form import Program
from tilesearch.rules.columns import Column, ColumnEvaluator
from tilesearch.rules.model import Model

Values = NDArray[np.float64]

_METRICS = ("blocks_per_sm", "accumulators_per_thread", "grid", "traffic_bytes")
_VARIABLES = ("block_m", "block_n", "block_k", "num_stages", "num_warps", "split_k", "group_m")
_PER_BLOCK = ("tokens_per_block", "rows_per_block")


@dataclass(frozen=True)
class Launch:
    """Candidates of one program as columns of floats, all of one length.

    `columns` holds the tile variables (1 where there is none), some of the model's metrics and its facts:

    wgmma: the product runs on the warpgroup instruction, else on mma. tma: tiles arrive through the TMA.
    buffers: stages that the operand with fewest keeps. narrow: operands loaded an element at a time.
    live_registers, register_cap: what a thread must hold, and may. persistent: blocks walk the tiles.
    warps_m: warps along M, 0 where the Triton rule gives them. producer: a warpgroup of its own feeds the others.
    programs_per_sm, flat: of a persistent kernel. row_steps: tiles of rows that a block takes in turn.
    stream: blocks take equal shares of all steps. second: a kernel that adds partial results follows whatever split_k.
    """

    program: Program
    columns: Mapping[str, Values]
    rows: int

    def __getitem__(self, name: str) -> Values:
        """A column by name."""
        return self.columns[name]

    def with_columns(self, extra: Mapping[str, Values]) -> Launch:
        """The same launch with some columns replaced."""
        return replace(self, columns={**self.columns, **extra})


DEFAULTS = {
    "wgmma": 0.0, "tma": 0.0, "buffers": 1.0, "narrow": 0.0, "live_registers": 0.0, "register_cap": 255.0,
    "persistent": 0.0, "warps_m": 0.0, "producer": 0.0, "programs_per_sm": 1.0, "flat": 1.0, "second": 0.0,
    "row_steps": 1.0, "stream": 0.0,
}  # fmt: skip


def launch_of(
    program: Program, model: Model, tiles: Mapping[str, Column], extra: Mapping[str, Sequence[float]] | None = None
) -> Launch:
    """The launch of `tiles`, columns by variable, of a kernel's model; `extra` replaces columns of facts."""
    rows = len(next(iter(tiles.values())))
    read = _reader(model, tiles)
    columns: dict[str, Values] = {}
    for name in (*_VARIABLES, *_PER_BLOCK):
        columns[name] = tiles[name].astype(np.float64) if name in tiles else np.ones(rows)
    for name in _METRICS:
        metric = model.metrics.get(name)
        if metric is not None and metric.expr is not None:
            columns[name] = _column(read(metric.expr), rows)
    for name, default in DEFAULTS.items():
        fact = model.facts.get(name)
        columns[name] = np.full(rows, default) if fact is None else _column(read(fact), rows)
    for name, values in (extra or {}).items():
        columns[name] = np.asarray(values, dtype=np.float64)
    return Launch(program, columns, rows)


def _reader(model: Model, tiles: Mapping[str, Column]) -> ColumnEvaluator:
    """A reader of the model's trees, which shares its bounds where the tiles lie within its domains."""
    inside = all(
        min(domain) <= int(tiles[name].min()) and int(tiles[name].max()) <= max(domain)
        for name, domain in model.domains.items()
    )
    if inside:
        return ColumnEvaluator(tiles, model.domains, model.ranges)
    return ColumnEvaluator(tiles, {name: tuple(int(v) for v in np.unique(c)) for name, c in tiles.items()})


def _column(values: Column, rows: int) -> Values:
    return np.broadcast_to(np.asarray(values, dtype=np.float64), (rows,))
