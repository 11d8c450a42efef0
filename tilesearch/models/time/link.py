"""Time of a collective over a link: bytes on the busiest link, hops by protocol, and one launch floor for all.

A collective of n ranks is a ring, and a ring is a pipeline: the bytes of the busiest link (`wire_bytes`, W) pass in k
slices, each of which costs a latency, and the last one has `fill` stages before it. ``(fill + k) (latency + W / (k
rate))`` is least at ``k^2 = fill W / (rate latency)``. All-reduce, all-gather and reduce-scatter keep every link busy
from the first step on (fill 1) and have at least a slice for each of their `hops`; a broadcast fills the whole ring.
The rate is the link's bandwidth by the share that the operation reaches; the fastest protocol counts. Beside that
stands the launch: a kernel runs `start` after the host asked, and nothing waited for is over before `launch_floor`.

**Bytes** of a message are those of the *input tensor that one rank holds*: the whole tensor for all-reduce,
reduce-scatter and broadcast, a rank's own piece for all-gather. Times are us, bandwidths B/us (MB/s).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from tilesearch.specs.devices import CollectiveOp, Device, Link, NvidiaDevice, load_device
from tilesearch.specs.devices.quantities import Quantity

Strength = Literal["calibrated", "datasheet only"]

COLLECTIVES: tuple[CollectiveOp, ...] = get_args(CollectiveOp)

REFERENCE = "h200"
"""The device whose link was measured: what another link reaches of its own bandwidth is taken from it."""

MEASURED_RANKS = 2
"""The ranks of the measurements: the time of more is the formula of a ring alone."""


@dataclass(frozen=True)
class LinkConstants:
    """What the physics of a link needs: B/us, us and shares; `errors` are quantiles of measured over predicted."""

    bandwidth: float
    domain: int
    shares: Mapping[str, float]
    protocols: Mapping[str, tuple[float, float]]
    """Name to the latency of a hop and the share of the bandwidth that is left."""
    launch_floor: float
    start: float
    enqueue: float
    handover: float
    overlap_progress: float
    strength: Strength


@dataclass(frozen=True)
class Transfer:
    """A collective by itself: what it takes on the device, and what a caller who waits for it sees.

    `floored`: the launch floor, not the bytes, decides what the caller sees.
    """

    op: str
    message_bytes: int
    wire_bytes: float
    protocol: str
    device_us: float
    single_us: float
    floored: bool


def link_of(device: Device) -> LinkConstants | str:
    """The link's constants, or what is missing for a prediction."""
    link = device.link
    if not isinstance(device, NvidiaDevice):
        return f"no link model for {device.name}: its constants describe NVIDIA GPUs"
    if link is None or link.bandwidth.value is None or link.domain.value is None:
        return f"no link model for {device.name}: its file has no [link] with bandwidth and domain (NVLink or PCIe)"
    if link.measured:
        return _constants(link, link, "calibrated")
    reference = load_device(REFERENCE).link
    assert reference is not None, "the reference device has a link"
    return _constants(link, reference, "datasheet only")


def _constants(own: Link, measured: Link, strength: Strength) -> LinkConstants:
    return LinkConstants(
        bandwidth=_number(own.bandwidth) * 1e-6,
        domain=int(_number(own.domain)),
        shares={op: _number(share) for op, share in measured.shares.items()},
        protocols={
            name: (_number(protocol.step_latency) * 1e6, _number(protocol.share))
            for name, protocol in measured.protocols.items()
        },
        launch_floor=_number(measured.launch_floor) * 1e6,
        start=_number(measured.start) * 1e6,
        enqueue=_number(measured.enqueue) * 1e6,
        handover=_number(measured.handover) * 1e6,
        overlap_progress=_number(measured.overlap_progress),
        strength=strength,
    )


def _number(quantity: Quantity | None) -> float:
    assert quantity is not None, "checked when the file was read"
    assert quantity.value is not None, "checked when the file was read"
    return float(quantity.value)


def wire_bytes(op: str, message_bytes: float, ranks: int) -> float:
    """Bytes that the busiest link carries in one direction, as rings send them.

    All-reduce ``2 (n - 1) / n``, reduce-scatter ``(n - 1) / n`` of the tensor, broadcast the tensor once (a pipeline);
    all-gather ``n - 1`` pieces of a rank, which is ``(n - 1) / n`` of what is gathered.
    """
    factor = {
        "all_reduce": 2 * (ranks - 1) / ranks,
        "reduce_scatter": (ranks - 1) / ranks,
        "all_gather": ranks - 1,
        "broadcast": 1 if ranks > 1 else 0,
    }[op]
    return message_bytes * factor


def hops(op: str, ranks: int) -> int:
    """Steps from rank to rank, one after the other: ``2 (n - 1)`` for all-reduce, ``n - 1`` for the others."""
    return (2 if op == "all_reduce" else 1) * (ranks - 1)


def transfer(op: str, message_bytes: int, ranks: int, link: LinkConstants) -> Transfer:
    """One collective by its fastest protocol; `single_us` is ``max(launch floor, start + device time)``."""
    wire = wire_bytes(op, message_bytes, ranks)
    rate = link.bandwidth * link.shares[op]
    choices = [
        (pipelined(op, ranks, wire / (rate * share), latency), name)
        for name, (latency, share) in link.protocols.items()
    ]
    device_us, name = min(choices)
    floored = link.start + device_us < link.launch_floor
    return Transfer(op, message_bytes, wire, name, device_us, waited_for(device_us, link), floored)


def pipelined(op: str, ranks: int, bytes_us: float, latency_us: float) -> float:
    """A pipeline at its best number of slices: ``(fill + k) (latency + bytes / k)``, k at least its least."""
    steps = hops(op, ranks)
    fill, least = (steps, 1) if op == "broadcast" else (1, steps)
    slices = max(float(least), math.sqrt(fill * bytes_us / latency_us))
    return (fill + slices) * (latency_us + bytes_us / slices)


def waited_for(device_us: float, link: LinkConstants) -> float:
    """One kernel, launched alone and waited for."""
    return max(link.launch_floor, link.start + device_us)
