"""The rates of a device that bound an operator, under a calibration policy."""

from __future__ import annotations

from dataclasses import dataclass

from tilesearch.errors import InputError, Issue, TilesearchError
from tilesearch.program.form import Program
from tilesearch.specs.devices import Device, Effective


@dataclass(frozen=True)
class Rates:
    """Bandwidth in B/s and the declared roof in FLOP/s, both as `policy` calibrates them.

    `declared` is the roof's name as the operator has it; `roof` may be that of its accumulator.
    """

    device: Device
    policy: str
    bandwidth: Effective
    declared: str
    roof: Effective

    @property
    def balance(self) -> float:
        """Intensity at which the declared roof and the memory take equal time. Unit: FLOP/B."""
        return self.balance_of(self.roof)

    def balance_of(self, roof: Effective) -> float:
        """Intensity at which `roof` and the memory take equal time. Unit: FLOP/B."""
        return roof.value / self.bandwidth.value

    def find(self, name: str, policy: str | None = None) -> Effective | None:
        """A roof of the device; None where it has none, or its rate is not known under the policy."""
        return self.look_up(name, policy)[0]

    def look_up(self, name: str, policy: str | None = None) -> tuple[Effective | None, str]:
        """As `find`, with the reason where there is no rate."""
        if name == self.declared and policy is None:
            return self.roof, ""
        try:
            return self.device.effective_roof(name, policy or self.policy), ""
        except TilesearchError as error:
            return None, str(error)

    def constant(self, name: str) -> float | None:
        """A constant of the device's [time] table, in its own unit; None where nobody measured it."""
        entry = self.device.time.get(name)
        return None if entry is None or entry.value is None else float(entry.value)

    @property
    def launch_floor(self) -> float | None:
        """Time of an empty launch. Unit: s."""
        return self.constant("launch_floor")

    @property
    def matrix_roof(self) -> Effective | None:
        """The matrix unit's fp16 roof: the figure that a datasheet leads with."""
        return self.find("tensor_core.fp16")


def rates_for(program: Program, device: Device, policy: str, read_share: float | None = None) -> Rates:
    """The rates that bound `program`: the roof it declares, for its accumulator, and the bandwidth.

    Raises `InputError` for a roof that the device does not have and `UnknownLimitError` for a rate that is not
    known: half a bound would be read as a whole one (seed 3.3 on the Analyzer).
    """
    if not device.roofs:
        message = f"{device.name} has no roofs: only the limits of its architecture are known"
        raise InputError(Issue(message, "device", hint="name a product, such as h200 for cc90"))
    accumulator = None
    if program.contraction is not None and program.roof.startswith("tensor_core") and "@" not in program.roof:
        accumulator = program.contraction.acc.name
    roof = device.effective_roof(program.roof, policy, accumulator)
    return Rates(device, policy, device.effective_bandwidth(policy, read_share), program.roof, roof)
