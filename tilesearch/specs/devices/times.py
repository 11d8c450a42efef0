"""Constants of the time model as device files hold them, and how far its predictions were off."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import Field, StrictStr, model_validator

from tilesearch.specs.devices.quantities import Quantity, Spec
from tilesearch.specs.validation import Fault, faults

_LARGEST = {"": 1e9, "s": 1.0, "B/s": 1e18, "B": 1e18, "cycles": 1e9, "B/clk/SM": 1e9, "FLOP/clk/SM": 1e9}
"""For each unit the largest value that is not absurd: sums of such constants stay finite."""

_RATES = ("B/s", "B/clk/SM", "FLOP/clk/SM")
"""Units of what times are divided by."""

TIME_UNITS = tuple(_LARGEST)


class TimeConstant(Quantity):
    """A constant of the time model.

    `kind`: measured alone; fitted to times together with others; pinned at a value that earlier fits, counters or the
    architecture gave. `spread` is relative: of repeated measurements, or of fits that each left out some shapes.
    """

    kind: Literal["measured", "fitted", "pinned", "reported"] = "reported"
    spread: Annotated[float, Field(ge=0)] | None = None

    @model_validator(mode="after")
    def _known_unit(self) -> Self:
        if self.unit not in TIME_UNITS:
            raise faults([Fault(f"unknown unit {self.unit!r}", f"units: {', '.join(TIME_UNITS[1:])}", key="unit")])
        return self

    @model_validator(mode="after")
    def _in_range(self) -> Self:
        most, rate = _LARGEST.get(self.unit, 0.0), self.unit in _RATES
        if self.value is not None and (not 0 <= self.value <= most or (rate and self.value == 0)):
            least = "above 0" if rate else "of at least 0"
            raise faults([Fault(f"a number {least} and at most {most:g} is wanted, got {self.value}", key="value")])
        return self


class TimeError(Spec):
    """Quantiles of measured over predicted time in one class of candidates, over shapes that no constant had seen.

    `low_80` and `high_80` hold 80 % of the rows between them, `low_90` and `high_90` 90 %.
    """

    low_80: float
    high_80: float
    low_90: float
    high_90: float
    rows: int = 0
    source: StrictStr = ""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        found = list(self._faults())
        if found:
            raise faults(found)
        return self

    def _faults(self) -> Iterator[Fault]:
        if not 0 < self.low_90 <= self.low_80 <= self.high_80 <= self.high_90:
            yield Fault("0 < low_90 <= low_80 <= high_80 <= high_90 is wanted", key="low_80")
