"""Medians of repeated runs, and the line that a benchmark prints of them."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable


def median_seconds(
    run: Callable[[], object], least_runs: int = 3, budget_s: float = 2.0, most_runs: int = 200
) -> float:
    """The median wall time of `run` after one run that is not counted."""
    run()
    times: list[float] = []
    while len(times) < least_runs or (sum(times) < budget_s and len(times) < most_runs):
        gc.collect()
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def shown(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return f"{seconds * 1e3:.2f} ms" if seconds < 1 else f"{seconds:.2f} s"
