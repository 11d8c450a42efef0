"""Clocks and timers that the programs of a launch read at both ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Stamps:
    """A row for each program: its SM, cycles of that SM, and nanoseconds of the GPU's timer, before and after."""

    sm: Ints
    cycles_before: Ints
    cycles_after: Ints
    ns_before: Ints
    ns_after: Ints

    @classmethod
    def of(cls, tensor: Any) -> Stamps:
        """Read what a kernel wrote: five numbers a program."""
        return cls(*np.asarray(tensor.cpu().numpy(), dtype=np.int64).reshape(-1, 5).T)

    def _spans(self, before: Ints, after: Ints) -> Ints:
        """For each SM, from the first start to the last end."""
        order = np.unique(self.sm)
        return np.array([after[self.sm == s].max() - before[self.sm == s].min() for s in order], dtype=np.int64)

    def hertz(self) -> float:
        """The SM clock: the median over SMs of cycles over time, from the first program's start to the last end."""
        cycles = self._spans(self.cycles_before, self.cycles_after)
        ns = self._spans(self.ns_before, self.ns_after)
        return float(np.median(cycles[ns > 0] / ns[ns > 0]) * 1e9)

    def seconds(self) -> float:
        """From the first start to the last end."""
        return float(self.ns_after.max() - self.ns_before.min()) * 1e-9

    def cycles_each(self) -> float:
        """Cycles of an SM for each program that it ran, all of its programs together: the median over SMs."""
        spans = self._spans(self.cycles_before, self.cycles_after)
        counts = np.array([(self.sm == s).sum() for s in np.unique(self.sm)])
        return float(np.median(spans / counts))
