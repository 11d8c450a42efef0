"""Many tiles against every rule at once: one model, a column for each variable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilesearch.answers import Metrics, Verdict
from tilesearch.rules.columns import Column, ColumnEvaluator, value_columns
from tilesearch.rules.expr import Expr
from tilesearch.rules.model import Model, Rule
from tilesearch.rules.occupancy import UNLIMITED

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class JudgedTiles:
    """The judgement of many tiles. Every column has one entry a tile, in the order they were given."""

    model: Model
    tiles: Sequence[Mapping[str, int]]

    @cached_property
    def _read(self) -> ColumnEvaluator:
        columns = value_columns(self.model.names, self.tiles)
        return ColumnEvaluator(columns, {name: sorted(set(map(int, c))) for name, c in columns.items()})

    def column(self, tree: Expr) -> Column:
        """The value of `tree` for each tile."""
        return np.broadcast_to(self._read(tree), (len(self.tiles),))

    @cached_property
    def broken(self) -> dict[str, Mask]:
        """For each rule whose limit is known, which tiles break it."""
        decided = [rule for rule in self.model.rules if rule.limit is not None or rule.value.is_bool]
        return {rule.id: ~self.column(rule.holds).astype(bool) for rule in decided}

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """The verdict of each tile."""
        hard = self._any(rule.id for rule in self.model.hard)
        soft = self._any(rule.id for rule in self.model.soft)
        unknown = np.zeros(len(self.tiles), dtype=bool)
        for rule in self.model.undecided:
            unknown |= True if rule.when is None else self.column(rule.when).astype(bool)
        codes = np.where(hard, 0, np.where(unknown, 1, np.where(soft, 2, 3)))
        names: tuple[Verdict, ...] = ("infeasible", "unknown", "spills", "fits")
        return [names[code] for code in codes]

    def _any(self, ids: Any) -> Mask:
        mask = np.zeros(len(self.tiles), dtype=bool)
        for name in ids:
            mask |= self.broken[name]
        return mask

    def violations(self, place: int) -> list[str]:
        """The rules that one tile breaks, in rule order."""
        return [name for name, mask in self.broken.items() if mask[place]]

    def undecided(self, place: int) -> list[str]:
        """The hard rules that cannot be judged for one tile: a limit is not known."""
        rules = self.model.undecided
        return [rule.id for rule in rules if rule.when is None or self.column(rule.when)[place]]

    @cached_property
    def _metrics(self) -> dict[str, list[int]]:
        wanted = {
            name: metric.expr
            for name, metric in self.model.metrics.items()
            if metric.expr is not None and (name in Metrics.model_fields or name.startswith("blocks_by_"))
        }
        return {name: self.column(tree).tolist() for name, tree in wanted.items()}

    @cached_property
    def _tail_fill(self) -> list[float] | None:
        pair = self.model.fractions.get("tail_fill")
        if pair is None:
            return None
        top, bottom = (self.column(tree).tolist() for tree in pair)
        return [t / b for t, b in zip(top, bottom, strict=True)]

    def metrics(self, place: int) -> Metrics:
        """The metrics of one tile; None where the model has none."""
        values: dict[str, Any] = {}
        by: dict[str, int | None] = {}
        for name, column in self._metrics.items():
            value = column[place]
            if name.startswith("blocks_by_"):
                by[name.removeprefix("blocks_by_")] = None if value == UNLIMITED else value
            else:
                values[name] = value
        if self._tail_fill is not None:
            values["tail_fill"] = self._tail_fill[place]
        return Metrics(blocks_by=by, **values)


def soft_registers(rules: Sequence[Rule]) -> list[str]:
    """The soft rules on registers: breaking one is what `spills` means."""
    return [rule.id for rule in rules if not rule.hard and rule.id.startswith("C2.")]
