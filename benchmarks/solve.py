"""A warm `solve` of the main job, and `import tilesearch`.

    python -m benchmarks.solve [--check]

Times are medians of one run; the import is the wall time of an interpreter that imports tilesearch, less that
of one that does not. `--check` exits with 1 where a target is missed: 10 ms and 0.3 s.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

import tilesearch as ts
from benchmarks.timing import median_seconds, shown

PROBLEMS = ("gemm4096", "seed_carver_4096")
TARGET_SOLVE_S = 0.010
TARGET_IMPORT_S = 0.3


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
    bare = median_seconds(lambda: interpreter("pass"), least_runs=9)
    times["import tilesearch"] = median_seconds(lambda: interpreter("import tilesearch"), least_runs=9) - bare
    for name, seconds in times.items():
        print(f"{name:<26}{shown(seconds):>12}")
    good = times["solve gemm4096"] < TARGET_SOLVE_S and times["import tilesearch"] < TARGET_IMPORT_S
    return 0 if good or not options.check else 1


if __name__ == "__main__":
    sys.exit(main())
