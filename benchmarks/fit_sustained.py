"""Fits the power model to times measured back to back, and judges it on shapes left out.

    python -m benchmarks.fit_sustained FILE…

FILE are measured times as `tilesearch verify times` reads them; rows with a hot reading count. Predicted cool times
are those of constants that had not seen the shape. The three constants of power move in logarithms to the least mean
error of log(predicted / measured). Needs scipy.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

import numpy as np

from tilesearch.api.verify.times.cases import DEVICE, Case, cases_of
from tilesearch.api.verify.times.score import Values
from tilesearch.api.verify.times.sustained import sustained
from tilesearch.api.verify.times.verify import predicted
from tilesearch.models.time.power import Power, power_of
from tilesearch.specs.devices import load_device

NAMES = [f.name for f in fields(Power)]


def fit(start: Power, cases: Sequence[Case], times: Sequence[Values]) -> Power:
    """`start` with its constants fitted to `cases`."""
    from scipy.optimize import minimize

    def moved(x: np.ndarray) -> Power:
        return Power(**{n: getattr(start, n) * float(np.exp(v)) for n, v in zip(NAMES, x, strict=True)})

    def cost(x: np.ndarray) -> float:
        rows = sustained(cases, times, moved(x))
        return float(np.mean([abs(np.log(hot / measured)) for _, _, measured, hot, _ in rows]))

    simplex = np.vstack([np.zeros(len(NAMES)), 0.2 * np.eye(len(NAMES))])
    found = minimize(
        cost, np.zeros(len(NAMES)), method="Nelder-Mead", options={"maxfev": 150, "initial_simplex": simplex}
    )
    return moved(found.x)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="+", type=Path)
    given = parser.parse_args()
    start = power_of(load_device(DEVICE))
    assert start is not None, "the device's file has no power constants to start from"
    pairs = [(case, time) for case, time in zip(*_hot(given.files), strict=True)]
    best = fit(start, *zip(*pairs, strict=True))
    fits, errors, cool = [], [], []
    for shape in sorted({case.rows[0].shape for case, _ in pairs}):
        others = [pair for pair in pairs if pair[0].rows[0].shape != shape]
        own = [pair for pair in pairs if pair[0].rows[0].shape == shape]
        fits.append(fit(best, *zip(*others, strict=True)))
        for _, _, measured, hot, full in sustained(*zip(*own, strict=True), fits[-1]):
            errors.append(abs(hot / measured - 1))
            cool.append(abs(full / measured - 1))
    print(f"shapes left out: {len(errors)} rows, error {np.mean(errors):.1%}; of the cool time {np.mean(cool):.1%}")
    for name in NAMES:
        spread = np.std([np.log(getattr(one, name)) for one in fits])
        print(f"power_{name} = {getattr(best, name):.4g}, spread {spread:.3f}")


def _hot(files: list[Path]) -> tuple[list[Case], list[Values]]:
    """The cases with a row whose sustained time is predicted and was measured."""
    cases, _ = cases_of(files)
    times = predicted(cases)
    power = power_of(load_device(DEVICE))
    assert power is not None
    kept = [(case, time) for case, time in zip(cases, times, strict=True) if sustained([case], [time], power)]
    return [case for case, _ in kept], [time for _, time in kept]


if __name__ == "__main__":
    main()
