"""The roofline: a lower bound on time, and the class that follows from it (seed 2.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tilesearch.ledger.account import Ledger
from tilesearch.ledger.rates import Rates
from tilesearch.specs.devices import Effective

Class = Literal["memory", "compute"]


@dataclass(frozen=True)
class Bound:
    """``time >= max(bytes / bandwidth, flops / peak)``, all operations priced on the declared roof.

    The class compares the intensity with the balance. `latency_bound` says that the bound is below the time of
    an empty launch, where the model has no traction; None where the device's launch floor is not known.
    """

    ledger: Ledger
    rates: Rates

    @property
    def memory_s(self) -> float:
        """Time to move the ledger's bytes. Unit: s."""
        return self.ledger.bytes / self.rates.bandwidth.value

    @property
    def compute_s(self) -> float:
        """Time of all operations on the declared roof. Unit: s."""
        return self.compute_on(self.rates.roof)

    @property
    def sol_s(self) -> float:
        """The bound itself (SOL, speed of light). Unit: s."""
        return max(self.memory_s, self.compute_s)

    @property
    def kind(self) -> Class:
        """Whether memory or the declared roof binds."""
        return self.class_on(self.rates.roof)

    @property
    def latency_bound(self) -> bool | None:
        """Whether the bound is below the launch floor."""
        floor = self.rates.launch_floor
        return None if floor is None else self.sol_s < floor

    def compute_on(self, roof: Effective) -> float:
        """Time of all operations on another roof. Unit: s."""
        return self.ledger.flops / roof.value

    def class_on(self, roof: Effective) -> Class:
        """The class that another roof would give."""
        return "memory" if self.ledger.intensity < self.rates.balance_of(roof) else "compute"

    def own_units(self) -> dict[str, float | None]:
        """Time of each unit over its own operations alone, None where its rate is not known. Unit: s."""
        times: dict[str, float | None] = {}
        for unit, flops in self.ledger.flops_by_unit.items():
            rate = self.rates.find(unit)
            times[unit] = None if rate is None else flops / rate.value
        return times


def bound_of(ledger: Ledger, rates: Rates) -> Bound:
    """The bound of a ledger under these rates."""
    return Bound(ledger, rates)
