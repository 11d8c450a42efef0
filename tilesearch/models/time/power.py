"""Sustained load: a kernel run back to back draws more than the power limit allows, and the clock falls.

Power, as a share of the limit at the full clock, is what the chip draws whatever it does plus a share for each
operation a second; the clock falls until the limit holds, which takes voltage with it, so that time grows with a power
below one of what is too much.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tilesearch.models.time.launch import Launch, Values
from tilesearch.specs.devices import Device

LEAST_FLOPS = 1e11
"""Products below this many operations were hardly slowed where they were measured: nothing is said of them."""


@dataclass(frozen=True)
class Power:
    """Shares of the power limit: `base` at any rate, `product` for one 16-bit operation a second; and the exponent."""

    base: float
    product: float
    exponent: float


def power_of(device: Device) -> Power | None:
    """What the [time] table of a device says of its power; None where it says nothing."""
    values = [device.time[name].value if name in device.time else None for name in _NAMES]
    base, product, exponent = (None if value is None else float(value) for value in values)
    if base is None or product is None or exponent is None:
        return None
    return Power(base, product, exponent)


_NAMES = ("power_base", "power_product", "power_exponent")


def sustained_us(launch: Launch, time_us: Values, power: Power, rest_us: float = 0, rest_power: float = 0) -> Values:
    """Time in us of each candidate run back to back; NaN where nothing was measured: anything but 16-bit products of
    1e11 operations and more. Between two runs may lie `rest_us` of other work that draws `rest_power`.
    """
    program = launch.program
    if program.kind != "gemm" or program.dtype_of(program.contractions[0].a).bits != _BITS:
        return np.full(launch.rows, np.nan)
    flops = float(program.flops)
    if flops < LEAST_FLOPS:
        return np.full(launch.rows, np.nan)
    drawn = power.base + power.product * flops / (time_us * 1e-6)
    mean = (drawn * time_us + rest_power * rest_us) / (time_us + rest_us)
    return np.asarray(time_us * np.maximum(1, mean) ** power.exponent)


_BITS = 16
