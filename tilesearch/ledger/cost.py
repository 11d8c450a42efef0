"""What a version of an operator costs at least, its grid included: the measure by which versions are compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tilesearch.ledger.rates import Rates

TIE = 1.01
"""Bounds nearer than this are a tie, which the version with fewer bytes wins."""

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


Key = TypeVar("Key", bound=str)
Grid = TypeVar("Grid", float, NDArray[np.float64])


def fill(grid: Grid, sms: int) -> Grid:
    """The share of the SMs' time that a grid can use: ``grid / (sms * ceil(grid / sms))``, in (0, 1].

    A grid below the number of SMs leaves the others idle, whatever the residency.
    """
    return grid / (sms * -(-grid // sms))


def fuller(grids: Iterable[int], sms: int) -> int:
    """The grid among them that uses the SMs best."""
    return max(grids, key=lambda grid: fill(float(grid), sms))


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
    """The bound of one launch by `bounds_s`. Unit: s."""
    return float(bounds_s(work.memory, work.cached, compute_s(work.flops, rates, work.serial), work.grid, rates, sms))


Counts = float | NDArray[np.float64]
"""A number, or a column of them: one for each launch in question."""


def bounds_s(
    memory: Counts, cached: Counts, compute: Counts, grid: Counts, rates: Rates, sms: int
) -> NDArray[np.float64]:
    """``max(memory, L2, compute) / fill``: a bound that knows the grid. Bytes and `compute` in s. Unit: s.

    The L2 term is left out where the device's file has no bandwidth for it.
    """
    times = np.maximum(np.asarray(memory, dtype=np.float64) / rates.bandwidth.value, compute)
    rate = rates.constant(L2_BANDWIDTH)
    if rate is not None:
        times = np.maximum(times, np.asarray(cached, dtype=np.float64) / rate)
    filled: NDArray[np.float64] = times / fill(np.asarray(grid, dtype=np.float64), sms)
    return filled


@dataclass(frozen=True)
class Cost:
    """What versions are compared by: the bound's time in s (or cycles), and the bytes that break a tie."""

    time: float
    bytes: int


def best_of(costs: Mapping[Key, Cost]) -> Key:
    """The version with the least time; of those within `TIE` of it, the one with the fewest bytes."""
    least = min(cost.time for cost in costs.values())
    near = {key: cost for key, cost in costs.items() if cost.time <= least * TIE}
    return min(near, key=lambda key: (near[key].bytes, near[key].time))


def decisive(winner: Cost, loser: Cost, without: Mapping[Key, Cost]) -> Key | None:
    """The term that decided: the one without which `loser` would not have lost, each tried alone.

    `without` has the loser's cost with one term brought to what the winner has. Of several that would turn the
    decision, or where none would by itself, the one that makes the loser fastest; None where none makes it faster.
    """
    turning = {key: cost for key, cost in without.items() if best_of({"loser": cost, "winner": winner}) == "loser"}
    faster = {key: cost for key, cost in without.items() if cost.time < loser.time}
    among = turning or faster
    return min(among, key=lambda key: among[key].time) if among else None
