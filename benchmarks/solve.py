"""A warm `solve` of the main job, one by time over 10,000 candidates, and `import tilesearch`.

    python -m benchmarks.solve [--check]

Times are medians of one run; the import is the wall time of an interpreter that imports tilesearch, less that
of one that does not. The ranking by time is also printed as a ratio to the same question ranked by traffic, and over
10,000 tiles that fit. `--check` exits with 1 where a target is missed: 10 ms, 50 ms for 10,000 candidates, 0.3 s.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

import tilesearch as ts
from benchmarks.timing import median_seconds, shown

PROBLEMS = ("gemm4096", "seed_carver_4096")
TARGET_SOLVE_S = 0.010
TARGET_TIME_S = 0.050
TARGET_IMPORT_S = 0.3

ORDERS = [1, 2, 4, 8, 16, 32, 64, 128]
"""With them the default space of a Triton GEMM has 10,000 candidates."""


def interpreter(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="exit with 1 where a target is missed")
    options = parser.parse_args()
    times = {}
    for name in PROBLEMS:
        problem = ts.load_problem(name)
        times[f"solve {name}"] = median_seconds(lambda problem=problem: ts.solve(problem))
    op = ts.Gemm(m=4096, n=4096, k=4096, dtype="fp16")

    def ranked(rank: str, orders: list[int]) -> ts.SolveAnswer:
        return ts.solve(op, "h200", kernel="triton", space={"group_m": orders}, rank=rank)

    first = ranked("time", ORDERS)
    assert first.space.cartesian == 10_000
    assert first.counts.feasible is not None
    many = list(range(1, 1 + -(-10_000 * len(ORDERS) // first.counts.feasible)))
    times["by time, 10,000 candidates"] = median_seconds(lambda: ranked("time", ORDERS))
    times["by traffic, the same"] = median_seconds(lambda: ranked("traffic", ORDERS))
    times["by time, 10,000 that fit"] = median_seconds(lambda: ranked("time", many))
    bare = median_seconds(lambda: interpreter("pass"), least_runs=9)
    times["import tilesearch"] = median_seconds(lambda: interpreter("import tilesearch"), least_runs=9) - bare
    for name, seconds in times.items():
        print(f"{name:<28}{shown(seconds):>12}")
    ratio = times["by time, 10,000 candidates"] / times["by traffic, the same"]
    print(f"by time over by traffic: {ratio:.2f}")
    good = (
        times["solve gemm4096"] < TARGET_SOLVE_S
        and times["by time, 10,000 candidates"] < TARGET_TIME_S
        and times["import tilesearch"] < TARGET_IMPORT_S
    )
    return 0 if good or not options.check else 1


if __name__ == "__main__":
    sys.exit(main())
