"""The link between devices of one domain, as device files hold it: bandwidth, latency, launches, overlap."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import Field, StrictStr, model_validator

from tilesearch.specs.devices.quantities import BytesPerSecond, Count, Quantity, Spec
from tilesearch.specs.devices.times import TimeConstant, TimeError
from tilesearch.specs.validation import Fault, faults

CollectiveOp = Literal["all_reduce", "all_gather", "reduce_scatter", "broadcast"]
"""The collectives that a link has a share for."""


class Protocol(Spec):
    """How a collective hands bytes on: seconds for one hop from rank to rank, and what is left of the bandwidth.

    The fastest protocol for a message is the one that is used: flags beside every word reach the peer soon and
    waste bandwidth, large slices the other way round.
    """

    step_latency: TimeConstant
    share: TimeConstant


class Link(Spec):
    """What joins the devices of one domain.

    `bandwidth` is what one device sends in one direction by the datasheet, `domain` how many devices are joined so.
    The rest is measured or fitted, and absent from the file of a device on which nobody did: `shares` of the
    bandwidth that a collective reaches on its busiest link; `launch_floor`, seconds that anything launched and waited
    for takes at least; `start`, seconds until the first kernel of a queue runs; `enqueue`, seconds of the host for
    one launch; `handover`, seconds between a kernel and the collective that waits for it, or the other way round;
    `overlap_progress`, the speed of a matrix product beside a running collective, as a share of its speed alone.
    """

    bandwidth: BytesPerSecond
    domain: Count
    shares: dict[CollectiveOp, TimeConstant] = Field(default_factory=dict)
    protocols: dict[StrictStr, Protocol] = Field(default_factory=dict)
    launch_floor: TimeConstant | None = None
    start: TimeConstant | None = None
    enqueue: TimeConstant | None = None
    handover: TimeConstant | None = None
    overlap_progress: TimeConstant | None = None
    errors: dict[Annotated[StrictStr, Field(min_length=1)], TimeError] = Field(default_factory=dict)

    @property
    def measured(self) -> bool:
        """Whether anything but the datasheet stands behind it."""
        return bool(self.shares)

    @model_validator(mode="after")
    def _whole(self) -> Self:
        found = list(self._faults())
        if found:
            raise faults(found)
        return self

    def _faults(self) -> Iterator[Fault]:
        names = ("launch_floor", "start", "enqueue", "handover", "overlap_progress")
        constants: dict[str, Quantity | None] = {name: getattr(self, name) for name in names}
        for name, quantity in constants.items():
            if self.measured and (quantity is None or quantity.value is None):
                yield Fault("is needed beside the shares of collectives", key=name)
        if self.measured and not self.protocols:
            yield Fault("is needed beside the shares of collectives", key="protocols")
        ratios = {f"shares.{op}": share for op, share in self.shares.items()}
        ratios |= {f"protocols.{name}.share": p.share for name, p in self.protocols.items()}
        if self.overlap_progress is not None:
            ratios["overlap_progress"] = self.overlap_progress
        for key, ratio in ratios.items():
            if ratio.value is None or not 0 < ratio.value <= 1:
                yield Fault(f"a share in (0, 1] is wanted, got {ratio}", key=key)
