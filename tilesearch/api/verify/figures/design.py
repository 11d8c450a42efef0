"""Figures of the worked example's designs (sections 6.3 to 6.6) from its design sheet."""

from __future__ import annotations

from functools import cache

from tilesearch.answers.design import DesignAnswer, TileRow
from tilesearch.api.design import design
from tilesearch.api.verify.figures.ledger import worked_example
from tilesearch.api.verify.figures.registry import figure
from tilesearch.api.verify.figures.roofs import DEVICE, POLICY

_ROWS = {"A": 1, "B": 8, "C": 40}
"""Rows a block of the text's three designs."""

_SPACE = {"tokens_per_block": 1, "rows_per_block": [1, 2, 4, 5, 8, 10, 20, 40], "num_warps": 4}
_RESIDENT = 8
"""Blocks an SM that the text assumes."""


@cache
def sheet() -> DesignAnswer:
    """The design sheet of the worked example as the text accounts for it."""
    model = {"blocks_per_sm": _RESIDENT}
    return design(worked_example(), DEVICE, space=_SPACE, model=model, rank="traffic", policy=POLICY)


def _design(name: str) -> TileRow:
    return next(row for row in sheet().tile.candidates if row.rows == _ROWS[name])


@figure("qk.{}.grid")
def grid(name: str) -> float:
    """Blocks."""
    return _design(name).grid


@figure("qk.{}.waves")
def waves(name: str) -> float:
    """Waves by the residency assumed."""
    return _design(name).waves or 0


@figure("qk.{}.onchip")
def onchip_kib(name: str) -> float:
    """Bytes on chip, KB of 1024 B."""
    return _design(name).onchip_bytes / 1024


@figure("qk.{}.lookup")
def lookup_mb(name: str) -> float:
    """Traffic of the tables, MB."""
    return _design(name).lookup_bytes / 1e6


@figure("qk.{}.total")
def total_mb(name: str) -> float:
    """All traffic, MB."""
    return _design(name).total_bytes / 1e6


@figure("qk.{}.ratio")
def over_ideal(name: str) -> float:
    """Traffic over the ideal."""
    return _design(name).vs_ideal


@figure("qk.{}.time")
def memory_us(name: str) -> float:
    """Time if main memory sees all of the traffic, us."""
    return _design(name).memory_us


@figure("qk.{}.excess")
def excess_mb(name: str) -> float:
    """Bytes beyond the ideal, MB."""
    return (_design(name).total_bytes - sheet().ledger.bytes) / 1e6


@figure("qk.{}.tail")
def tail_fill(name: str) -> float:
    """How full the last wave is."""
    return _design(name).tail_fill or 0.0


@figure("m6.actual_share")
def tables_share_of_actual() -> float:
    """Tables in the traffic of the naive design, per cent."""
    return 100 * sheet().diagnosis.naive.lookup_share
