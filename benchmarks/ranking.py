"""Prints how well configurations are ranked: the time model, carver, traffic, chance, and nvMatmulHeuristics.

    python -m benchmarks.ranking FILE… [--nvmmh FILE] [--json FILE]

FILE are measured times as `tilesearch verify times` reads them. Each shape that had a part in fitting the constants is
judged by constants of a fit that left it out. `--nvmmh` takes recorded answers of nvMatmulHeuristics: each of its
configurations stands for the measured one of the same block tile with the nearest stages and the best warps and kernel,
which is generous, since it does not say them for Triton. Efficiency is best time over best time of the first k.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from tilesearch.api.verify.times.cases import Case, cases_of
from tilesearch.api.verify.times.score import FIRST
from tilesearch.api.verify.times.verify import predicted, verify_times

KINDS = {"gemm_ptr": "HSH", "gemm_tma": "HSH"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--nvmmh", type=Path)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    answer = verify_times(given.files)
    stats: dict[str, Any] = dict(answer.stats)
    cases, _ = cases_of(given.files)
    if given.nvmmh is not None and given.nvmmh.is_file():
        recorded = json.loads(given.nvmmh.read_text(encoding="utf-8"))
        for kind in KINDS:
            found = heuristics(cases, recorded, kind)
            if found and kind in stats["kinds"]:
                stats["kinds"][kind] |= found
    for kind, values in stats["kinds"].items():
        _print(kind, values)
    for note in answer.notes:
        print(note)
    print()
    print("\n".join(gaps(cases, predicted(cases))))
    if given.json is not None:
        given.json.write_text(json.dumps(stats, indent=1), encoding="utf-8")


def _print(kind: str, stats: Mapping[str, Any]) -> None:
    print(f"{kind}, {stats['shapes']} shapes" + (f": {_errors(stats)}" if "mape" in stats else ""))
    near = stats["within_10"]
    print(
        f"  all within 10 %: {near['median_rows']:.0f} rows in the median, worst shape {near['worst_efficiency']:.3f}"
    )
    for name, values in stats.items():
        if isinstance(values, Mapping) and "top1" in values:
            lists = "  ".join(f"top{k} {values[f'top{k}']:.3f} ({values[f'top{k}_worst']:.2f})" for k in FIRST)
            print(f"  {name:34} {lists}")


def _errors(stats: Mapping[str, Any]) -> str:
    return (
        f"mean error {stats['mape']:.1%}, median {stats['median_ape']:.1%}, intervals hold "
        f"{stats['coverage_80']:.1%} of 80 % and {stats['coverage_90']:.1%} of 90 %"
    )


def heuristics(cases: Sequence[Case], recorded: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Efficiency of the recorded answers for the H200 with both operands row-major, by target."""
    columns = recorded["config_columns"]
    measured: dict[tuple[int, ...], list[tuple[dict[str, int], float]]] = {}
    for case in cases:
        for row in case.rows:
            if row.kind == kind:
                shape = tuple(map(int, row.shape.split("x")))
                measured.setdefault(shape, []).append((dict(row.tile), row.time_us))
    result: dict[str, Any] = {}
    for run in recorded["runs"]:
        if run["device"] != "H200_SXM" or run["layout"] != "NN_ROW" or run["precision"] != KINDS[kind]:
            continue
        lists = []
        for entry in run["shapes"]:
            rows = measured.get(tuple(entry["mnk"]))
            if rows:
                configs = [dict(zip(columns, values, strict=True)) for values in entry["configs"]]
                lists.append((min(time for _, time in rows), [_nearest(config, rows) for config in configs]))
        if lists:
            result[f"nvMatmulHeuristics {run['target']} {run['flags'][:4]}"] = _lists(lists)
    return result


def _nearest(config: Mapping[str, Any], rows: Sequence[tuple[dict[str, int], float]]) -> float:
    """The measured time that stands for a recorded configuration: the same tile where it was measured."""

    def distance(tile: Mapping[str, int]) -> tuple[float, float]:
        sizes = ("m", "n", "k")
        apart = sum(abs(np.log2(tile[f"block_{axis}"] / config[f"cta_{axis}"])) for axis in sizes)
        return float(apart), float(abs(tile["num_stages"] - config["stages"]))

    nearest = min(distance(tile) for tile, _ in rows)
    return min(time for tile, time in rows if distance(tile) == nearest)


def _lists(lists: Sequence[tuple[float, Sequence[float]]]) -> dict[str, float]:
    stats: dict[str, float] = {}
    for count in FIRST:
        values = np.array([best / min(times[:count]) for best, times in lists])
        stats[f"top{count}"] = float(np.exp(np.log(values).mean()))
        stats[f"top{count}_worst"] = float(values.min())
    return stats


def gaps(cases: Sequence[Case], times: Sequence[Any]) -> list[str]:
    """How often two configurations are in the right order, by how far apart their predictions are."""
    edges = (0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4)
    right, total = np.zeros(len(edges) - 1), np.zeros(len(edges) - 1)
    for case, predicted_times in zip(cases, times, strict=True):
        measured = np.array([row.time_us for row in case.rows])
        order = np.argsort(predicted_times)[:200]
        for i, j in pairwise(order):
            for other in (j, order[-1]):
                gap = predicted_times[other] / predicted_times[i] - 1
                place = int(np.searchsorted(edges, gap, side="right")) - 1
                if 0 <= place < len(total):
                    right[place] += measured[other] >= measured[i]
                    total[place] += 1
    return [
        f"predictions {low:.0%} to {high:.0%} apart: {good / of:.0%} in the right order"
        for low, high, good, of in zip(edges, edges[1:], right, total, strict=False)
        if of
    ]


if __name__ == "__main__":
    main()
