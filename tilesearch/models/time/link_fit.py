"""Fitting a link's constants to measured collectives: physics with a share for each operation, never a row.

The launch floor and the host's time for a launch are read alone, off messages too small to matter; the shares are
fitted one by one, each to its own operation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tilesearch.models.time.link import COLLECTIVES, LinkConstants, transfer
from tilesearch.models.time.overlap import Queue

FLOOR_BYTES = 512 * 1024
"""Messages up to this size show the launch floor when called alone."""
QUEUE_BYTES = 2 * 1024**2
"""Messages up to this size show the host's time for a launch when called back to back."""
START_BYTES = 16 * 1024**2
"""Messages from this size on keep the device busy when called back to back: what a call alone takes more is `start`."""
SHARE_BYTES = 4 * 1024**2
"""Messages from this size on show the bandwidth."""

_SHARES = np.linspace(0.2, 1.0, 801)
_PROGRESS = np.linspace(0.01, 1.0, 100)
_HANDOVERS = np.linspace(0, 60, 121)


@dataclass(frozen=True)
class Call:
    """A measured collective: us when called alone, and for each of many in a queue."""

    op: str
    message_bytes: int
    single_us: float
    back_to_back_us: float


@dataclass(frozen=True)
class Chunked:
    """A measured product in chunks and in sequence, us; the link in the queues is replaced in a fit."""

    whole: Queue
    queue: Queue
    sequential_us: float
    chunked_us: float


def fit_link(calls: Sequence[Call], ranks: int, start: LinkConstants) -> LinkConstants:
    """`start` with the floor, the host's time and the shares that `calls` show; an operation without calls keeps its.

    Shares minimise the squared logarithm of predicted over measured `single_us`.
    """
    floor = [c.single_us for c in calls if c.message_bytes <= FLOOR_BYTES]
    waits = [c.single_us - c.back_to_back_us for c in calls if c.message_bytes >= START_BYTES]
    queued = [c.back_to_back_us for c in calls if c.message_bytes <= QUEUE_BYTES]
    found = replace(
        start,
        launch_floor=float(np.median(floor)) if floor else start.launch_floor,
        start=float(np.median(waits)) if waits else start.start,
        enqueue=float(np.median(queued)) if queued else start.enqueue,
    )
    shares: dict[str, float] = dict(start.shares)
    for op in COLLECTIVES:
        seen = [c for c in calls if c.op == op and c.message_bytes >= SHARE_BYTES]
        if seen:
            shares[op] = float(min(_SHARES, key=lambda share: _loss(seen, ranks, _with_share(found, op, share))))
    return replace(found, shares=shares)


def _with_share(link: LinkConstants, op: str, share: float) -> LinkConstants:
    changed: Mapping[str, float] = {**link.shares, op: float(share)}
    return replace(link, shares=changed)


def _loss(calls: Sequence[Call], ranks: int, link: LinkConstants) -> float:
    errors = [np.log(transfer(c.op, c.message_bytes, ranks, link).single_us / c.single_us) for c in calls]
    return float(np.sum(np.square(errors)))


def fit_progress(rows: Sequence[Chunked], link: LinkConstants) -> float:
    """The speed of a product beside a collective: least mean |log| of the ratio of chunks to sequence.

    Ratios, so that an error of the product's own time does not count; absolute, since hosts differ from run to run.
    """

    def loss(progress: float) -> float:
        tried = replace(link, overlap_progress=progress)
        errors = [
            np.log(replace(row.queue, link=tried).total_us / replace(row.whole, link=tried).total_us)
            - np.log(row.chunked_us / row.sequential_us)
            for row in rows
        ]
        return float(np.mean(np.abs(errors)))

    return float(min(_PROGRESS, key=loss))


def fit_handover(rows: Sequence[tuple[Queue, float]], link: LinkConstants) -> float:
    """Us between a product and its collective: least mean squared log of predicted over measured time in sequence."""

    def loss(handover: float) -> float:
        tried = replace(link, handover=handover)
        return float(np.mean([np.log(replace(queue, link=tried).total_us / us) ** 2 for queue, us in rows]))

    return float(min(_HANDOVERS, key=loss))
