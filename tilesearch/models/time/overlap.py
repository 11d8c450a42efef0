"""A matrix product and a collective in a queue: one after the other, or in chunks on two streams.

The first kernel runs `start` after the host asked, the host issues the others `enqueue` apart. A chunk's second kernel
waits for its first and begins `handover` after it, each stream keeps its order, and a product beside a running
collective goes on at `overlap_progress` of its speed, since the collective holds SMs and memory. All in us.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tilesearch.models.time.link import LinkConstants

First = Literal["gemm", "collective"]


@dataclass(frozen=True)
class Span:
    """When a kernel runs."""

    start: float
    end: float


@dataclass(frozen=True)
class Queue:
    """A sharded product as launches: each chunk is a GEMM and a collective, `first` says which feeds the other."""

    gemm_us: Sequence[float]
    collective_us: Sequence[float]
    first: First
    link: LinkConstants

    @property
    def total_us(self) -> float:
        """From the first launch to the end of the last kernel, seen by who waits for it."""
        collectives, gemms = self.spans()
        return max(collectives[-1].end, gemms[-1].end, self.link.launch_floor)

    @property
    def launches(self) -> int:
        """Kernels that the host issues."""
        return 2 * len(self.gemm_us)

    @property
    def issue_us(self) -> float:
        """What the host takes to issue them all."""
        return self.launches * self.link.enqueue

    def spans(self) -> tuple[list[Span], list[Span]]:
        """When the collectives run and when the products do."""
        collectives: list[Span] = []
        gemms: list[Span] = []
        start, step, handover = self.link.start, self.link.enqueue, self.link.handover
        for i, (gemm, collective) in enumerate(zip(self.gemm_us, self.collective_us, strict=True)):
            first, second = start + 2 * i * step, start + (2 * i + 1) * step
            if self.first == "gemm":
                gemms.append(self._product(max(first, _end(gemms)), gemm, collectives))
                collectives.append(_run(max(second, gemms[i].end + handover, _end(collectives)), collective))
            else:
                collectives.append(_run(max(first, _end(collectives)), collective))
        if self.first == "collective":
            for i, gemm in enumerate(self.gemm_us):
                ready = max(start + (2 * i + 1) * step, collectives[i].end + handover, _end(gemms))
                gemms.append(self._product(ready, gemm, collectives))
        return collectives, gemms

    def _product(self, start: float, work: float, collectives: Sequence[Span]) -> Span:
        """A product from `start` on, slowed while one of the collectives runs."""
        now, left = start, work
        for span in collectives:
            if span.end <= now:
                continue
            alone = max(0.0, span.start - now)
            if left <= alone:
                return Span(start, now + left)
            now, left = now + alone, left - alone
            beside = (span.end - now) * self.link.overlap_progress
            if left <= beside:
                return Span(start, now + left / self.link.overlap_progress)
            now, left = span.end, left - beside
        return Span(start, now + left)

    def losses(self) -> dict[str, float]:
        """What each cost adds to the total, found by taking it away.

        ``launches``: without the host's time between launches after the first; ``contention``: if a product kept its
        speed beside a collective.
        """
        own = self.total_us
        free = replace(self, link=replace(self.link, enqueue=0.0)).total_us
        alone = replace(self, link=replace(self.link, overlap_progress=1.0)).total_us
        return {"launches": own - free, "contention": own - alone}


def _run(start: float, length: float) -> Span:
    return Span(start, start + length)


def _end(spans: Sequence[Span]) -> float:
    return spans[-1].end if spans else 0.0
