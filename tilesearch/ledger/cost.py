"""What a version of an operator costs at least, its grid included: the measure by which versions are compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilesearch.ledger.rates import Rates

L2_BANDWIDTH = "l2_bandwidth"
"""The constant of the device's [time] table: bytes a second from L2 to the SMs."""


@dataclass(frozen=True)
class Work:
    """What a launch does: bytes of main memory, bytes between L2 and the blocks, operations by unit, blocks.

    `serial` says that an SM has one block at a time whose phases run on different units: their times add up.
    """

    memory: int
    cached: int
    flops: Mapping[str, int]
    grid: int
    serial: bool = False


def fill(grid: int, sms: int) -> float:
    """The share of the SMs' time that a grid can use: ``grid / (sms * ceil(grid / sms))``, in (0, 1].

    A grid below the number of SMs leaves the others idle, whatever the residency.
    """
    return grid / (sms * -(-grid // sms))


def compute_s(flops: Mapping[str, int], rates: Rates, serial: bool = False) -> float:
    """Time of the slowest unit over its own operations, or of all in turn where they are `serial`. Unit: s.

    A unit without a rate counts on the declared roof.
    """
    times = []
    for unit, count in flops.items():
        rate = rates.find(unit) or rates.roof
        times.append(count / rate.value)
    return sum(times) if serial else max(times, default=0.0)


def least_s(work: Work, rates: Rates, sms: int) -> float:
    """``max(memory, L2, compute) / fill``: a bound that knows the grid. Unit: s.

    The L2 term is left out where the device's file has no bandwidth for it.
    """
    times = [work.memory / rates.bandwidth.value, compute_s(work.flops, rates, work.serial)]
    cached = rates.constant(L2_BANDWIDTH)
    if cached is not None:
        times.append(work.cached / cached)
    return max(times) / fill(work.grid, sms)
