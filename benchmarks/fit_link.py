"""Fit the link's constants of a device file to measured collectives, and print them with spread and errors.

    python -m benchmarks.fit_link FILE

Floor and host's time are medians of small messages; a share an operation; the speed of a product beside a collective.
The spread is relative: of repeated values for what is measured alone, of fits that each left out a message size (a
product) for what is fitted. Errors are quantiles of measured over predicted time, of rows that their fit left out.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from tilesearch.api.verify.collectives.judge import Judge
from tilesearch.api.verify.collectives.rows import read_run
from tilesearch.models.time.link import LinkConstants, link_of, transfer
from tilesearch.models.time.link_fit import FLOOR_BYTES, QUEUE_BYTES, START_BYTES, fit_link


def main(path: Path) -> None:
    run = read_run(path)
    start = link_of(run.device)
    assert isinstance(start, LinkConstants), start
    link = fit_link(run.calls, run.ranks, start)
    judge = Judge(run, link)
    sizes = sorted({c.message_bytes for c in run.calls})
    others = [judge.without_size(size) for size in sizes]
    floor = [c.single_us for c in run.calls if c.message_bytes <= FLOOR_BYTES]
    queued = [c.back_to_back_us for c in run.calls if c.message_bytes <= QUEUE_BYTES]
    waits = [c.single_us - c.back_to_back_us for c in run.calls if c.message_bytes >= START_BYTES]
    line("launch_floor", link.launch_floor * 1e-6, quartiles(floor))
    line("start", link.start * 1e-6, quartiles(waits))
    line("enqueue", link.enqueue * 1e-6, quartiles(queued))
    for op, share in link.shares.items():
        line(f"shares.{op}", share, np.ptp([o.shares[op] for o in others]) / share / 2)
    full = judge.without_product(None)
    each = [judge.without_product(product) for product in run.products]
    line("handover", full.handover * 1e-6, np.ptp([e.handover for e in each]) / full.handover / 2)
    speeds = [e.overlap_progress for e in each]
    line("overlap_progress", full.overlap_progress, np.ptp(speeds) / full.overlap_progress / 2)
    errors(judge, dict(zip(sizes, others, strict=True)))


def errors(judge: Judge, others: dict[int, LinkConstants]) -> None:
    classes: dict[str, list[float]] = {"collective": [], "launch floor": [], "in sequence": [], "in chunks": []}
    for call in judge.run.calls:
        link = others[call.message_bytes]
        moved = transfer(call.op, call.message_bytes, judge.run.ranks, link)
        classes["launch floor" if moved.floored else "collective"].append(call.single_us / moved.single_us)
    for product in judge.run.products:
        link = judge.without_product(product)
        classes["in sequence"].append(product.sequential_us / judge.total(product, 1, link))
        classes["in chunks"] += [us / judge.total(product, n, link) for n, us in product.chunked_us.items()]
    for name, ratios in classes.items():
        low, high, least, most = np.quantile(ratios, (0.1, 0.9, 0.05, 0.95))
        print(
            f"errors {name}: low_80 {low:.3f} high_80 {high:.3f} low_90 {least:.3f} high_90 {most:.3f}, {len(ratios)}"
        )


def quartiles(values: list[float]) -> float:
    """Half the distance of the quartiles over the median."""
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75))
    return float((high - low) / 2 / middle)


def line(name: str, value: float, spread: float) -> None:
    print(f"{name} = {value:.4g}, spread {spread:.3f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
