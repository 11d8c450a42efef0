"""Fits what the time model knows of L2 to a profiler's counts of DRAM reads, and judges it on shapes left out.

    python -m benchmarks.fit_traffic FILE…

FILE are counters as `tilesearch verify ncu` reads them. The four constants marked fitted to DRAM reads in
hardware/h200.toml move in logarithms to the least robust error (soft L1 beyond 5 %) of log(modelled / counted). Then
each shape is left out in turn: the error printed is of predictions by constants that had not seen the shape, the
spread of a constant its standard deviation over these fits. Needs scipy.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.fit_time import TRAFFIC
from tilesearch.api.verify.ncu import profiled
from tilesearch.models.time import Constants, Launch, constants_of
from tilesearch.models.time.matrix import matrix_of
from tilesearch.models.time.traffic import memory_of, order_of
from tilesearch.specs.devices import load_device

ROBUST = 0.05

Shape = tuple[Launch, np.ndarray]
"""Launches of one shape and kernel as columns, and their counted reads."""


def gathered(files: list[Path]) -> dict[str, list[Shape]]:
    """The rows of each shape, those of one program together."""
    rows: dict[str, list[tuple[Launch, float]]] = defaultdict(list)
    for path in files:
        for one in profiled(path):
            rows[one.row.shape].append((one.launch, one.reads))
    result = {}
    for shape, pairs in rows.items():
        first = pairs[0][0]
        columns = {name: np.concatenate([launch[name] for launch, _ in pairs]) for name in first.columns}
        launch = replace(first, columns=columns, rows=len(pairs))
        result[shape] = [(launch, np.array([reads for _, reads in pairs]))]
    return result


def ratios(shapes: list[Shape], constants: Constants) -> np.ndarray:
    """Modelled over counted reads."""
    found = []
    for launch, counted in shapes:
        matrix = matrix_of(launch.program)
        reads = memory_of(launch, matrix, order_of(launch, matrix, constants), constants).reads
        found.append(reads / counted)
    return np.concatenate(found)


def fit(start: Constants, shapes: list[Shape]) -> Constants:
    """`start` with the constants of L2 fitted to `shapes`."""
    from scipy.optimize import minimize

    def moved(x: np.ndarray) -> Constants:
        return replace(start, **{n: getattr(start, n) * float(np.exp(v)) for n, v in zip(TRAFFIC, x, strict=True)})

    def cost(x: np.ndarray) -> float:
        return float(np.sum(np.sqrt(1 + (np.log(ratios(shapes, moved(x))) / ROBUST) ** 2) - 1))

    options = {"maxfev": 600, "initial_simplex": np.vstack([np.zeros(len(TRAFFIC)), 0.3 * np.eye(len(TRAFFIC))])}
    return moved(minimize(cost, np.zeros(len(TRAFFIC)), method="Nelder-Mead", options=options).x)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="+", type=Path)
    given = parser.parse_args()
    start = constants_of(load_device("h200"))
    assert isinstance(start, Constants), start
    shapes = gathered(given.files)
    everything = [one for found in shapes.values() for one in found]
    best = fit(start, everything)
    fits, left_out = [], []
    for name, own in shapes.items():
        fits.append(fit(best, [one for other, found in shapes.items() if other != name for one in found]))
        left_out.append(ratios(own, fits[-1]))
    for title, found in (("in sample", ratios(everything, best)), ("shapes left out", np.concatenate(left_out))):
        error = np.abs(found - 1)
        print(f"{title}: {len(error)} launches, mean error {error.mean():.1%}, median {np.median(error):.1%}")
    for name in TRAFFIC:
        spread = np.std([np.log(getattr(one, name)) for one in fits])
        print(f"{name} = {getattr(best, name):.4g}, spread {spread:.3f}")


if __name__ == "__main__":
    main()
