"""Timing one launch as the data behind the time model were timed.

Events around one launch, behind a 256 MB fill that leaves L2 cold and full of dirty lines. The queue is ahead of the
GPU (a spinning kernel holds it up while the burst is queued), so that no gap of the host is in the reading. Bursts are
short and followed by rest, so that the clock stays up. `triton.testing.do_bench` flushes in the same way.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Launch = Callable[[], object]

FLUSH_BYTES = 256 * 1024 * 1024
BURST_US = 8_000.0
"""Most time that the launches of one burst take together."""

REST = 2.0
"""Rest after a burst, in bursts."""

_FEWEST, _MOST = 3, 20
_LEAD = 1.5
_SPIN_HZ = 2e9  # cycles of the spinning kernel that last at least a second


@dataclass(frozen=True)
class Reading:
    """Times of one launch in microseconds: the median, and how far single readings lie apart."""

    median_us: float
    least_us: float
    most_us: float
    launches: int

    @property
    def spread(self) -> float:
        """Longest over shortest reading, less one."""
        return self.most_us / self.least_us - 1 if self.least_us else 0.0


def reading_of(times_us: list[float]) -> Reading:
    """The median and range of single readings."""
    return Reading(statistics.median(times_us), min(times_us), max(times_us), len(times_us))


@dataclass
class Timer:
    """Times launches on the current device of `torch`."""

    torch: Any
    flush_bytes: int = FLUSH_BYTES
    rest: float = REST
    _flush: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._flush = self.torch.empty(self.flush_bytes // 4, dtype=self.torch.int32, device="cuda")

    def burst(self, launch: Launch, count: int, rest: bool = True) -> list[float]:
        """`count` readings in microseconds, one launch each, and a rest after them."""
        torch = self.torch
        host_s = self._host_seconds(launch)
        events = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(count)]
        torch.cuda.synchronize()
        start = time.perf_counter()
        torch.cuda._sleep(int(_LEAD * host_s * count * _SPIN_HZ))
        for before, after in events:
            self._flush.zero_()
            before.record()
            launch()
            after.record()
        torch.cuda.synchronize()
        if rest:
            time.sleep(self.rest * (time.perf_counter() - start))
        return [1e3 * before.elapsed_time(after) for before, after in events]

    def _host_seconds(self, launch: Launch) -> float:
        """What the host needs to queue one launch, its flush and its events: with a margin for the latter two."""
        self.torch.cuda.synchronize()
        start = time.perf_counter()
        launch()
        seconds = time.perf_counter() - start
        self.torch.cuda.synchronize()
        return min(seconds, 2e-3) + 3e-5

    def quick(self, launch: Launch) -> Reading:
        """A few readings, after one launch that is not counted."""
        launch()
        return reading_of(self.burst(launch, _FEWEST, rest=False))

    def full(self, launch: Launch, about_us: float, bursts: int = 1) -> Reading:
        """As many readings as fit `bursts` short bursts; `about_us` is a first guess at one of them."""
        count = max(_FEWEST, min(_MOST, int(BURST_US / max(about_us, 1.0))))
        medians, times = [], []
        for _ in range(bursts):
            burst = self.burst(launch, count)
            medians.append(statistics.median(burst))
            times += burst
        return Reading(statistics.median(medians), min(times), max(times), len(times))

    def interleaved(self, launches: Mapping[str, Launch], rounds: int = 5) -> dict[str, list[float]]:
        """Medians of one burst each, round after round, so that a drift of the clock meets all alike."""
        found: dict[str, list[float]] = {name: [] for name in launches}
        for name, launch in launches.items():
            found[name].append(self.quick(launch).median_us)
        for _ in range(rounds):
            for name, launch in launches.items():
                found[name].append(self.full(launch, found[name][0]).median_us)
        return {name: values[1:] for name, values in found.items()}


def resolution(rounds: Mapping[str, list[float]]) -> float:
    """How far medians of the same launch lie apart between rounds: the median of (largest / smallest - 1)."""
    found = [max(values) / min(values) - 1 for values in rounds.values() if len(values) > 1]
    return statistics.median(found) if found else 0.0
