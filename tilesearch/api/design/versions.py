"""Versions of a design: a tile, everything that is computed of it, and the rows of the sheet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tilesearch.answers import Metrics, Verdict
from tilesearch.answers.design import TileRow
from tilesearch.api.ranking import metrics_of
from tilesearch.api.tiles import movement, smallest_of
from tilesearch.explanation.judge import binding_of, verdict_of
from tilesearch.ledger import Bound
from tilesearch.ledger.signals import Launch, Signals
from tilesearch.program import Program
from tilesearch.rules.evaluate import Memo, evaluate
from tilesearch.rules.limits import number
from tilesearch.rules.model import Model
from tilesearch.specs.devices import NvidiaDevice


@dataclass(frozen=True)
class Sheet:
    """What all versions share: the operator and its bound, the device, the model of the problem's language."""

    program: Program
    bound: Bound
    device: NvidiaDevice
    model: Model

    @cached_property
    def sms(self) -> int:
        """SMs of the device."""
        return number(self.device, "sm_count")

    def version(self, tile: Mapping[str, int]) -> Version:
        """One version, with a value for each variable of the model."""
        return Version(self, {name: tile[name] for name in self.model.names})

    def naive(self) -> Version:
        """Every block as small as the space allows, by as few warps; nothing pipelined, split or grouped."""
        return self.version(smallest_of(self.program, self.model.variables))


@dataclass(frozen=True)
class Version:
    """One tile of a sheet."""

    sheet: Sheet
    tile: dict[str, int]

    @cached_property
    def _memo(self) -> Memo:
        return {}

    @cached_property
    def metrics(self) -> Metrics:
        """The metrics that every other answer shows too."""
        return metrics_of(self.sheet.model, self.tile, self._memo)

    @cached_property
    def verdict(self) -> Verdict:
        """Whether the tile fits."""
        return verdict_of(self.sheet.model, self.tile, self._memo)

    @property
    def binding(self) -> str | None:
        """The rule with the least slack."""
        return binding_of(self.sheet.model, self.tile, self._memo)

    @cached_property
    def signals(self) -> Signals:
        """What the criteria read."""
        moved, metrics, model = movement(self.sheet.program, self.tile), self.metrics, self.sheet.model
        threads = int(evaluate(model.metric("threads_per_block"), self.tile, self._memo))
        size = self.sheet.device.l2_bytes.value
        return Signals(
            program=self.sheet.program,
            bound=self.sheet.bound,
            tile=self.tile,
            launch=Launch(
                grid=metrics.grid or 0,
                waves=metrics.waves or 0,
                tail_fill=metrics.tail_fill or 0.0,
                blocks_per_sm=metrics.blocks_per_sm or 0,
                shared=metrics.shared_bytes or 0,
                accumulators=metrics.accumulators_per_thread or 0,
                threads=threads,
            ),
            payload=moved.payload,
            lookup=moved.lookup,
            partial=moved.partial,
            sms=self.sheet.sms,
            l2_size=None if size is None else int(size),
        )

    def row(self, above: Version | None = None) -> TileRow:
        """The version as a line of the sheet's table; `above` is the line before it."""
        s, metrics = self.signals, self.metrics
        slots = (metrics.blocks_per_sm or 0) * self.sheet.sms
        return TileRow(
            tile=self.tile,
            verdict=self.verdict,
            rows=s.outputs_per_block,
            grid=s.launch.grid,
            waves=metrics.waves,
            waves_resident=-(-s.launch.grid // slots) if slots else None,
            blocks_per_sm=s.launch.blocks_per_sm,
            tail_fill=metrics.tail_fill,
            onchip_bytes=s.launch.shared,
            saves=None if above is None else 1 - s.traffic / above.signals.traffic,
            binding=self.binding,
            **self.moved(),
        )

    def moved(self) -> dict[str, Any]:
        """The traffic taken apart, and the times that follow from it."""
        s = self.signals
        return {
            "payload_bytes": s.payload,
            "lookup_bytes": s.lookup,
            "partial_bytes": s.partial,
            "total_bytes": s.traffic,
            "vs_ideal": s.over_ideal,
            "memory_us": s.memory_s * 1e6,
            "dispatch_us": None if s.dispatch_s is None else s.dispatch_s * 1e6,
        }
