"""Fits the constants of the time model to measured times, and says how well they carry over to unseen shapes.

    python -m benchmarks.fit_time FILE… [--folds 5] [--cross] [--write-folds FILE]

Method. Constants that were measured alone or pinned (see hardware/h200.toml) stay; the others start from the device
file and move in logarithms to the least robust error (soft L1 beyond 10 %) of log(predicted / measured), over rows
with a cool measurement, kinds of kernels weighted so that none drowns the others, with a weak pull (0.3 of a unit of
log) to the start. `--cross` leaves out one fifth of the shapes at a time, over all kinds at once (a shape that is left
out is left out of every kind), fits the rest from the same start and predicts what was left out: the figures printed
are of these predictions. The spread of a constant is its standard deviation over these fits. `--write-folds` writes
the constants of each fold, with which `verify times` judges the shapes that the fit has seen. Needs scipy, which the
package itself does not.
"""

from __future__ import annotations

import argparse
import hashlib
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from tilesearch.api.verify.times.cases import Case, cases_of
from tilesearch.api.verify.times.score import report
from tilesearch.api.verify.times.verify import predicted
from tilesearch.models.time import CLASSES, Constants, Launch, constants_of, predict
from tilesearch.models.time.folds import fold_of
from tilesearch.specs.devices import load_device

ROWS = 3000
"""Rows of one kind that a fit sees at most."""

PULL = 0.3
ROBUST = 0.1


def thinned(cases: list[Case], keep: Any) -> list[tuple[Launch, np.ndarray, np.ndarray]]:
    """Launches with only the rows that a fit sees, their measured times, and weights."""
    wanted: dict[str, int] = {}
    for case in cases:
        for row in case.rows:
            if keep(row) and _fits_in(row):
                wanted[row.kind] = wanted.get(row.kind, 0) + 1
    result = []
    for case in cases:
        chosen = [
            i for i, row in enumerate(case.rows) if keep(row) and _fits_in(row) and _draw(row) * wanted[row.kind] < ROWS
        ]
        if not chosen:
            continue
        columns = {name: values[chosen] for name, values in case.launch.columns.items()}
        launch = replace(case.launch, columns=columns, rows=len(chosen))
        times = np.array([case.rows[i].time_us for i in chosen])
        weight = np.sqrt(np.array([max(1.0, 400 / wanted[case.rows[i].kind]) for i in chosen]))
        result.append((launch, times, np.minimum(weight, 2.0)))
    return result


def _fits_in(row: Any) -> bool:
    """Cool rows, and those without hints, of which there are only others; of small shapes, so that it hardly counts."""
    return bool(row.cool or row.build_op is not None)


def _draw(row: Any) -> float:
    """A number in 0 .. 1 that depends on the row's name alone."""
    digest = hashlib.sha256(f"{row.kind} {row.shape} {row.config}".encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


def fit(start: Constants, names: list[str], cases: list[Case], keep: Any) -> Constants:
    """`start` with the constants `names` fitted to the rows that `keep` takes."""
    from scipy.optimize import least_squares

    data = thinned(cases, keep)

    def residuals(x: np.ndarray) -> np.ndarray:
        moved = replace(start, **{n: getattr(start, n) * float(np.exp(v)) for n, v in zip(names, x, strict=True)})
        errors = [w * (np.log(predict(launch, moved).time_us) - np.log(times)) for launch, times, w in data]
        return np.concatenate([*errors, PULL * x])

    found = least_squares(residuals, np.zeros(len(names)), loss="soft_l1", f_scale=ROBUST, max_nfev=20)
    return replace(start, **{n: getattr(start, n) * float(np.exp(v)) for n, v in zip(names, found.x, strict=True)})


def _one_fold(task: tuple[Constants, list[str], list[Path], int, int]) -> Constants:
    start, names, files, fold, folds = task
    cases, _ = cases_of(files)
    return fit(start, names, cases, lambda row: fold_of(row.shape, folds) != fold)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--device", default="h200")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--cross", action="store_true")
    parser.add_argument("--intervals", action="store_true", help="only print the intervals of the folds on file")
    parser.add_argument("--write-folds", type=Path, help="where to write the constants of each fold")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    device = load_device(given.device)
    start = constants_of(device)
    assert isinstance(start, Constants), start
    cases, _ = cases_of(given.files)
    names = [
        f.name
        for f in fields(Constants)
        if f.name in device.time and device.time[f.name].kind == "fitted" and f.name not in TRAFFIC
    ]
    if given.intervals:
        _intervals(cases, predicted(cases))
        return
    best = fit(start, names, cases, lambda row: True)
    print(f"in sample, {len(names)} constants fitted")
    print(report(cases, [predict(case.launch, best).time_us for case in cases]))
    spread: dict[str, float] = {}
    if given.cross:
        tasks = [(start, names, given.files, fold, given.folds) for fold in range(given.folds)]
        with ProcessPoolExecutor(given.jobs) as pool:
            fits = list(pool.map(_one_fold, tasks))
        times = []
        for case in cases:
            fold = np.array([fold_of(row.shape, given.folds) for row in case.rows])
            each = np.stack([predict(case.launch, one).time_us for one in fits])
            times.append(each[fold, np.arange(len(fold))])
        print(f"shapes left out, {given.folds} folds")
        print(report(cases, times))
        spread = {n: float(np.std([np.log(getattr(one, n)) for one in fits])) for n in names}
        _intervals(cases, times)
        if given.write_folds:
            given.write_folds.write_text(_folds(cases, names, fits), encoding="utf-8")
    for name in names:
        value = f"{getattr(best, name):.4g}"
        print(f"{name} = {value}" + (f", spread {spread[name]:.3f}" if spread else ""))


TRAFFIC = ("l2_reach", "l2_sharpness", "wave_drift")
"""Constants fitted to counters of memory traffic, not to times."""


def _folds(cases: list[Case], names: list[str], fits: list[Constants]) -> str:
    shapes = sorted({row.shape for case in cases for row in case.rows})
    lines = [
        "# Written by benchmarks/fit_time.py: the shapes that the constants of this device were fitted to, and the",
        "# constants (ns, B/ns, cycles) of fits that left out a fifth of them each, by tilesearch.models.time.folds.",
        f"shapes = {shapes!r}".replace("'", '"'),
    ]
    for one in fits:
        lines += ["", "[[fold]]", *(f"{name} = {getattr(one, name):.5g}" for name in names)]
    return "\n".join(lines) + "\n"


def _intervals(cases: list[Case], times: list[np.ndarray]) -> None:
    """Quantiles of measured over predicted time of shapes that the constants had not seen, by class."""
    ratios: dict[str, list[float]] = {name: [] for name in CLASSES}
    for case, values in zip(cases, times, strict=True):
        for row, value, kind in zip(case.rows, values, case.kinds, strict=True):
            if _fits_in(row):
                ratios[CLASSES[kind]].append(row.time_us / value)
    for name, found in ratios.items():
        if found:
            bounds = zip(("low_80", "high_80", "low_90", "high_90"), (0.1, 0.9, 0.05, 0.95), strict=True)
            shown = ", ".join(f"{key} = {np.quantile(found, q):.3f}" for key, q in bounds)
            print(f'"{name}" = {{ {shown}, rows = {len(found)} }}')


if __name__ == "__main__":
    main()
