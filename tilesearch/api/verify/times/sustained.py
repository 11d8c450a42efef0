"""Times back to back against the power model, for the rows that were also measured so."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilesearch.api.verify.times.cases import DEVICE, Case
from tilesearch.api.verify.times.score import Values
from tilesearch.models.time.power import Power, power_of, sustained_us
from tilesearch.specs.devices import Device, load_device

REST_US, REST_POWER = 60.0, 1.0
"""Between two launches stood a flush of L2: 256 MiB written at 4.7 TB/s, taken to draw the whole limit."""


def sustained(
    cases: Sequence[Case], times: Sequence[Values], power: Power
) -> list[tuple[str, str, float, float, float]]:
    """Kind, shape, measured time back to back, the predicted one, and the prediction at the full clock."""
    rows = []
    for case, predicted in zip(cases, times, strict=True):
        hot = sustained_us(case.launch, predicted, power, REST_US, REST_POWER)
        for row, value, cool in zip(case.rows, hot, predicted, strict=True):
            if row.hot_us is not None and not np.isnan(value):
                rows.append((row.kind, row.shape, row.hot_us, float(value), float(cool)))
    return rows


def sustained_stats(
    cases: Sequence[Case], times: Sequence[Values], device: Device | None = None
) -> dict[str, float] | None:
    """Mean errors of the sustained time, and of the cool one taken for it; None where no row can say."""
    power = power_of(device or load_device(DEVICE))
    rows = [] if power is None else sustained(cases, times, power)
    if not rows:
        return None
    measured, hot, cool = (np.array([row[i] for row in rows]) for i in (2, 3, 4))
    return {
        "rows": float(len(rows)),
        "mape": float(np.abs(hot / measured - 1).mean()),
        "mape_of_the_cool_time": float(np.abs(cool / measured - 1).mean()),
    }
